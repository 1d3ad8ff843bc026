//! A throw-away PostgreSQL: `initdb` with a random password, no Unix socket, no syncing.
//!
//! A deadlock is looked for after 50 ms instead of a second, so that schedules with deadlocks do not wait; which
//! transaction is then rolled back is the server's choice as ever.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::server::{Server, new_data_folder, random_word, write_privately};
use super::user::User;
use super::{Folder, install, process};
use crate::run::{Done, output_of};

const SETTINGS: [&str; 6] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "full_page_writes=off",
    "deadlock_timeout=50ms",
    "max_connections=200",
];

/// Starts it, or finds it running.
pub fn start(folder: &Folder) -> Done<Server> {
    if let Some(server) = Server::running(folder, "postgres")? {
        return Ok(server);
    }
    let user = User::of_package("postgres")?;
    let data = new_data_folder(folder, "postgres", &user)?;
    let password = random_word()?;
    let cluster = data.join("cluster");
    let secret = data.join("password");
    write_privately(&secret, &password).map_err(|error| format!("{}: {error}", secret.display()))?;
    user.own(&data)?;
    let mut initdb = user.command(&install::program("initdb")?);
    initdb.args([
        "--username=isoscope",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--no-locale",
        "--no-sync",
    ]);
    initdb.arg(format!("--pwfile={}", secret.display())).arg("-D").arg(&cluster);
    output_of(initdb.current_dir("/"), &[0])?;
    let port = process::free_ports(1)?[0];
    let program = install::program("postgres")?.display().to_string();
    let mut command =
        vec![program, "-D".to_owned(), cluster.display().to_string(), "-p".to_owned(), port.to_string()];
    command.extend(SETTINGS.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]));
    let url = format!("postgres://isoscope:{password}@127.0.0.1:{port}/postgres");
    let (name, user) = ("postgres".to_owned(), "postgres".to_owned());
    let mut server = Server { name, pid: 0, port, url, data, user, command };
    server.start(folder)?;
    Ok(server)
}

/// Waits until it answers: it listens already while it replays what a killed server left.
pub fn wait_until_ready(port: u16) -> Done {
    let started = Instant::now();
    let mut ask = Command::new(install::program("pg_isready")?);
    ask.args(["-q", "-h", "127.0.0.1", "-p"]).arg(port.to_string()).stdin(Stdio::null());
    while !ask.status().is_ok_and(|status| status.success()) {
        if started.elapsed() > Duration::from_secs(60) {
            return Err(format!("PostgreSQL on port {port} does not become ready"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
