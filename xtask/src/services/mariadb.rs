//! A throw-away MariaDB: system tables made by its own script, one user with a random password, settings as Debian
//! ships them except for syncing and paths.
//!
//! Commits are written to the system at once but synced once a second, so that a killed process loses nothing.

use std::path::Path;

use super::server::{Server, new_data_folder, random_word, write_privately};
use super::user::User;
use super::{Folder, install, process};
use crate::run::{Done, output_of};

/// Starts it, or finds it running.
pub fn start(folder: &Folder) -> Done<Server> {
    if let Some(server) = Server::running(folder, "mariadb")? {
        return Ok(server);
    }
    let port = process::free_ports(1)?[0];
    let mut server = new_server(folder, "mariadb", port, &random_word()?)?;
    server.start(folder)?;
    Ok(server)
}

/// A server with its system tables, not yet started.
pub fn new_server(folder: &Folder, name: &str, port: u16, password: &str) -> Done<Server> {
    let user = User::of_package("mysql")?;
    let data = new_data_folder(folder, name, &user)?;
    let tables = data.join("tables");
    let first_words = data.join("first.sql");
    write_privately(&first_words, &init_file(password))
        .map_err(|error| format!("{}: {error}", data.display()))?;
    install_tables(&user, &tables)?;
    user.own(&data)?;
    let url = format!("mariadb://isoscope:{password}@127.0.0.1:{port}/isoscope");
    let command = command(&data, &tables, port)?;
    Ok(Server { name: name.to_owned(), pid: 0, port, url, data, user: "mysql".to_owned(), command })
}

fn install_tables(user: &User, tables: &Path) -> Done {
    let mut install = user.command(&install::program("mariadb-install-db")?);
    install.args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=socket"]);
    install.arg(format!("--datadir={}", tables.display())).current_dir("/");
    output_of(&mut install, &[0]).map(drop)
}

/// What the server does whenever it starts: its user is there, and no other user comes in over the network.
fn init_file(password: &str) -> String {
    format!(
        "CREATE DATABASE IF NOT EXISTS isoscope;\n\
         CREATE USER IF NOT EXISTS 'isoscope'@'127.0.0.1' IDENTIFIED BY '{password}';\n\
         GRANT ALL PRIVILEGES ON *.* TO 'isoscope'@'127.0.0.1';\n"
    )
}

fn command(data: &Path, tables: &Path, port: u16) -> Done<Vec<String>> {
    let mut command = vec![install::program("mariadbd")?.display().to_string()];
    // The first option must be this one: the settings of the machine are not those of the test.
    command.push("--no-defaults".to_owned());
    command.push(format!("--datadir={}", tables.display()));
    command.push(format!("--port={port}"));
    command.push(format!("--init-file={}", data.join("first.sql").display()));
    // Relative to the data folder, because the path of a socket may not be long.
    let fixed = ["--socket=socket", "--pid-file=pid", "--bind-address=127.0.0.1", "--skip-name-resolve"];
    command.extend(fixed.map(str::to_owned));
    command
        .extend(["--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=2"].map(str::to_owned));
    Ok(command)
}
