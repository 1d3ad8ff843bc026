//! `cargo xtask services`: throw-away database servers on free loopback ports, for tests and for trying things out.
//!
//! PostgreSQL, MariaDB and a Galera cluster of three nodes, as Debian packages them. Each server has a data folder of
//! its own, a port of its own and a password that exists only for it, so that nothing here meets a cluster that the
//! distribution started. What runs is written down in one JSON file for each server under `target/services`; `stop`
//! ends the processes and removes their data. A server that was killed comes back on its data with `start`.
//!
//! The servers forget to sync: a killed process loses nothing, a machine that loses power may lose everything.

mod galera;
pub mod install;
mod mariadb;
mod postgres;
mod process;
mod server;
mod user;

use std::path::PathBuf;

use crate::run::{Done, target};
use server::Server;

/// What is printed after a wrong word.
const USAGE: &str =
    "usage: cargo xtask services [start|stop|status|kill] [postgres|mariadb|galera|SERVER ...]";

/// A kind of service and the servers that it is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// One PostgreSQL.
    Postgres,
    /// One MariaDB.
    Mariadb,
    /// Three MariaDBs that replicate to each other.
    Galera,
}

impl Service {
    const ALL: [Service; 3] = [Service::Postgres, Service::Mariadb, Service::Galera];

    fn name(self) -> &'static str {
        match self {
            Service::Postgres => "postgres",
            Service::Mariadb => "mariadb",
            Service::Galera => "galera",
        }
    }

    fn servers(self) -> &'static [&'static str] {
        match self {
            Service::Postgres => &["postgres"],
            Service::Mariadb => &["mariadb"],
            Service::Galera => &galera::NODES,
        }
    }

    /// The variable under which tests look for its URLs.
    fn variable(self) -> &'static str {
        match self {
            Service::Postgres => "ISOSCOPE_TEST_POSTGRES",
            Service::Mariadb => "ISOSCOPE_TEST_MARIADB",
            Service::Galera => "ISOSCOPE_TEST_GALERA",
        }
    }

    fn start(self, folder: &Folder) -> Done<Vec<Server>> {
        install::packages(self)?;
        match self {
            Service::Postgres => Ok(vec![postgres::start(folder)?]),
            Service::Mariadb => Ok(vec![mariadb::start(folder)?]),
            Service::Galera => galera::start(folder),
        }
    }
}

/// Where the servers of one user of this module are written down.
pub struct Folder(PathBuf);

impl Folder {
    /// The servers that `cargo xtask services` starts and stops.
    fn of_the_user() -> Folder {
        Folder(target().join("services"))
    }

    /// The servers of one run of the tests.
    fn of_the_tests() -> Folder {
        Folder(target().join("services-of-tests"))
    }
}

/// Runs the command.
pub fn run(words: &[&str]) -> Done {
    let (verb, names) = match words.split_first() {
        Some((&verb @ ("start" | "stop" | "status" | "kill"), names)) => (verb, names),
        _ => ("start", words),
    };
    let folder = Folder::of_the_user();
    match verb {
        "start" => start(&folder, names),
        "stop" => stop(&folder, &servers_named(names, &Service::ALL)?),
        "kill" => kill(&folder, &servers_named(names, &[])?),
        _ => status(&folder, &servers_named(names, &Service::ALL)?),
    }
}

/// Starts services (PostgreSQL and MariaDB unless told), or single servers that were killed, and prints their URLs.
fn start(folder: &Folder, names: &[&str]) -> Done {
    let names = if names.is_empty() { &["postgres", "mariadb"] } else { names };
    for name in names {
        match Service::ALL.into_iter().find(|service| service.name() == *name) {
            Some(service) => print_urls(service, &service.start(folder)?),
            None => restart(folder, &servers_named(&[name], &[])?)?,
        }
    }
    Ok(())
}

fn restart(folder: &Folder, names: &[&str]) -> Done {
    for name in names {
        let Some(mut server) = Server::load(folder, name)? else {
            return Err(format!("{name} has not been started: cargo xtask services start {}", kind_of(name)));
        };
        server.start_again(folder)?;
        println!("{name}: {}", server.url);
    }
    Ok(())
}

fn kill(folder: &Folder, names: &[&str]) -> Done {
    if names.is_empty() {
        return Err("which server? such as: cargo xtask services kill galera-2".to_owned());
    }
    for name in names {
        match Server::load(folder, name)? {
            Some(server) => server.kill()?,
            None => return Err(format!("{name} is not running")),
        }
        println!("{name}: killed; cargo xtask services start {name} brings it back on its data");
    }
    Ok(())
}

fn stop(folder: &Folder, names: &[&str]) -> Done {
    for name in names {
        if let Some(server) = Server::load(folder, name)? {
            server.remove(folder)?;
            println!("{name}: stopped, its data is removed");
        }
    }
    Ok(())
}

fn status(folder: &Folder, names: &[&str]) -> Done {
    for name in names {
        match Server::load(folder, name)? {
            Some(server) if server.is_running() => {
                println!(
                    "{name}: process {}, {}\n  data in {}",
                    server.pid,
                    server.url,
                    server.data.display()
                );
            }
            Some(_) => println!("{name}: was killed; cargo xtask services start {name} brings it back"),
            None => println!("{name}: not started"),
        }
    }
    Ok(())
}

fn print_urls(service: Service, servers: &[Server]) {
    for server in servers {
        println!("{}: {}", server.name, server.url);
    }
    println!("export {}='{}'", service.variable(), urls_of(servers));
}

/// The URLs of a service as one variable holds them.
fn urls_of(servers: &[Server]) -> String {
    let urls: Vec<&str> = servers.iter().map(|server| server.url.as_str()).collect();
    urls.join(",")
}

/// The servers that words name: a server, or all those of a service.
fn servers_named(names: &[&str], unless_told: &[Service]) -> Done<Vec<&'static str>> {
    if names.is_empty() {
        return Ok(unless_told.iter().flat_map(|service| service.servers()).copied().collect());
    }
    let mut servers = Vec::new();
    for name in names {
        let found = Service::ALL.into_iter().find(|service| service.name() == *name);
        let all = || Service::ALL.iter().flat_map(|service| service.servers()).copied();
        match (found, all().find(|server| server == name)) {
            (Some(service), _) => servers.extend(service.servers()),
            (None, Some(server)) => servers.push(server),
            (None, None) => return Err(format!("no server is called {name}; {USAGE}")),
        }
    }
    Ok(servers)
}

/// The word that starts the service that a server belongs to.
fn kind_of(server: &str) -> &str {
    server.split('-').next().unwrap_or(server)
}

/// A server that was prepared and does not run: another program starts it with its command, and may kill it.
pub struct Spare {
    folder: Folder,
    /// How to reach it.
    pub url: String,
    /// What starts it in the foreground, as a line for a shell.
    pub command: String,
}

impl Spare {
    /// A PostgreSQL.
    pub fn postgres() -> Done<Self> {
        let mut spare = Self {
            folder: Folder(target().join("services-spare")),
            url: String::new(),
            command: String::new(),
        };
        // A run that was killed left its server behind.
        spare.remove()?;
        let servers = Service::Postgres.start(&spare.folder)?;
        let server = servers.first().ok_or("no server was started")?;
        server.stop()?;
        spare.url.clone_from(&server.url);
        spare.command = format!("exec {}", user::words(&server.user, &server.command));
        Ok(spare)
    }

    fn remove(&self) -> Done {
        Server::load(&self.folder, "postgres")?.map_or(Ok(()), |server| server.remove(&self.folder))
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            eprintln!("xtask: {error}");
        }
    }
}

/// The servers of one run of the tests; they end with it, however it ends.
pub struct Borrowed {
    folder: Folder,
    /// Variables for the tests.
    pub variables: Vec<(&'static str, String)>,
}

impl Borrowed {
    /// Starts PostgreSQL and MariaDB, except where the environment names a server already.
    pub fn start() -> Done<Borrowed> {
        let mut borrowed = Borrowed { folder: Folder::of_the_tests(), variables: Vec::new() };
        // A run that was killed left its servers behind.
        borrowed.stop()?;
        for service in [Service::Postgres, Service::Mariadb] {
            if std::env::var_os(service.variable()).is_some() {
                println!("{}: the server that {} names", service.name(), service.variable());
                continue;
            }
            let servers = service.start(&borrowed.folder)?;
            borrowed.variables.push((service.variable(), urls_of(&servers)));
        }
        Ok(borrowed)
    }

    /// Whether servers can be had: they are installed, or may be.
    pub fn possible() -> Done {
        [Service::Postgres, Service::Mariadb].into_iter().try_for_each(install::possible)
    }

    fn stop(&self) -> Done {
        let servers = Service::ALL.iter().flat_map(|service| service.servers());
        servers.copied().try_for_each(|name| match Server::load(&self.folder, name)? {
            Some(server) => server.remove(&self.folder),
            None => Ok(()),
        })
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("xtask: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Service, servers_named};

    #[test]
    fn a_service_or_a_server_is_named() {
        assert_eq!(servers_named(&["galera"], &[]).unwrap(), ["galera-1", "galera-2", "galera-3"]);
        assert_eq!(servers_named(&["galera-2", "postgres"], &[]).unwrap(), ["galera-2", "postgres"]);
        assert_eq!(servers_named(&[], &Service::ALL).unwrap().len(), 5);
        assert!(servers_named(&["oracle"], &[]).unwrap_err().contains("oracle"));
    }
}
