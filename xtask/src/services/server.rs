//! One server: how it was started, written down in a file so that another command can find, end and restart it.
//!
//! A file holds the password of a throw-away server and is readable by its owner alone.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::Folder;
use super::user::User;
use super::{postgres, process};
use crate::run::{Done, target};

/// How often a server that was killed is tried again.
const RESTARTS: u32 = 10;

/// A server that was started.
pub struct Server {
    /// What it is called, such as `galera-2`.
    pub name: String,
    /// The process.
    pub pid: u32,
    /// Where it listens.
    pub port: u16,
    /// How to reach it, with its password.
    pub url: String,
    /// Everything it has written.
    pub data: PathBuf,
    /// The user of its package.
    pub user: String,
    /// The program and its words, for starting it again.
    pub command: Vec<String>,
}

impl Server {
    /// The server of a name, if it was started, whether or not it still runs.
    pub fn load(folder: &Folder, name: &str) -> Done<Option<Server>> {
        let file = file_of(folder, name);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", file.display())),
        };
        let server = serde_json::from_str(&text).ok().and_then(|value| Server::from_json(&value));
        let broken = || format!("{}: not what services wrote; remove it and end the server", file.display());
        server.map(Some).ok_or_else(broken)
    }

    /// The server of a name if it runs; one that was killed is started again.
    pub fn running(folder: &Folder, name: &str) -> Done<Option<Server>> {
        match Server::load(folder, name)? {
            Some(mut server) => {
                server.start_again(folder)?;
                Ok(Some(server))
            }
            None => Ok(None),
        }
    }

    /// Starts the process and writes down that it runs.
    pub fn start(&mut self, folder: &Folder) -> Done {
        let (program, words) = self.command.split_first().ok_or("a server without a command")?;
        let user = User::of_package(&self.user)?;
        let mut command = user.command(Path::new(program));
        // The folder that the command was called from may be closed to the server's user.
        command.args(words).current_dir("/");
        self.pid = process::spawn(&mut command, &self.log())?;
        self.save(folder)?;
        let listens = process::wait_for_port(self.pid, self.port, &self.log());
        listens.map_err(|error| format!("{}: {error}", self.name))?;
        match self.name == "postgres" {
            true => postgres::wait_until_ready(self.port),
            false => Ok(()),
        }
    }

    /// Starts it on its data and its port unless it runs.
    ///
    /// What is left of a killed server may take a moment to let go of its memory and its port.
    pub fn start_again(&mut self, folder: &Folder) -> Done {
        for _ in 0..RESTARTS {
            if self.is_running() || self.start(folder).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(300));
        }
        self.start(folder)
    }

    /// Whether its process runs.
    pub fn is_running(&self) -> bool {
        process::is_running(self.pid) && process::has_argument(self.pid, &self.data.to_string_lossy())
    }

    /// Ends it as a crash would.
    pub fn kill(&self) -> Done {
        match self.is_running() {
            true => process::end(self.pid, "KILL"),
            false => Ok(()),
        }
    }

    /// Ends it with its children.
    pub fn stop(&self) -> Done {
        // PostgreSQL's children end with their parent if it has the time to tell them.
        let signal = if self.name == "postgres" { "QUIT" } else { "KILL" };
        if self.is_running() { process::end(self.pid, signal) } else { Ok(()) }
    }

    /// Ends it and removes its data.
    pub fn remove(&self, folder: &Folder) -> Done {
        self.stop()?;
        let removed = match std::fs::remove_dir_all(&self.data) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => std::fs::remove_file(file_of(folder, &self.name)),
        };
        removed.map_err(|error| format!("{}: {error}", self.data.display()))
    }

    /// The file that the process writes its messages to.
    pub fn log(&self) -> PathBuf {
        self.data.join("server.log")
    }

    /// Writes down what is known of it.
    pub fn save(&self, folder: &Folder) -> Done {
        let value = json!({
            "name": self.name, "pid": self.pid, "port": self.port, "url": self.url,
            "data": self.data, "user": self.user, "command": self.command,
        });
        let file = file_of(folder, &self.name);
        let written =
            std::fs::create_dir_all(&folder.0).and_then(|()| write_privately(&file, &format!("{value:#}\n")));
        written.map_err(|error| format!("{}: {error}", file.display()))
    }

    fn from_json(value: &Value) -> Option<Server> {
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        let words = value.get("command")?.as_array()?.iter();
        Some(Server {
            name: text("name")?,
            pid: value.get("pid")?.as_u64()?.try_into().ok()?,
            port: value.get("port")?.as_u64()?.try_into().ok()?,
            url: text("url")?,
            data: text("data")?.into(),
            user: text("user")?,
            command: words.map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        })
    }
}

fn file_of(folder: &Folder, name: &str) -> PathBuf {
    folder.0.join(format!("{name}.json"))
}

/// An empty folder for a server's data that its user owns: beside the note about it, or among the temporary files when
/// that user may not enter the target folder.
pub fn new_data_folder(folder: &Folder, name: &str, user: &User) -> Done<PathBuf> {
    let near = std::path::absolute(folder.0.join(name))
        .map_err(|error| format!("{}: {error}", target().display()))?;
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(&folder.0).map_err(|error| failed(&folder.0, error))?;
    let data = match user.can_enter(&folder.0) {
        true => near,
        false => std::env::temp_dir().join(format!("isoscope-{name}-{}", random_word()?)),
    };
    if data.exists() {
        std::fs::remove_dir_all(&data).map_err(|error| failed(&data, error))?;
    }
    std::fs::create_dir_all(&data).map_err(|error| failed(&data, error))?;
    user.own(&data)?;
    Ok(data)
}

/// A word that cannot be guessed, for a password.
pub fn random_word() -> Done<String> {
    let mut bytes = [0_u8; 12];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| format!("/dev/urandom: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file that only its owner can read.
pub fn write_privately(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut options = std::fs::File::options();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?.write_all(text.as_bytes())
}
