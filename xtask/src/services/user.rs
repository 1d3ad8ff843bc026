//! The system's users: servers refuse to run as root, so root starts them as the user that their package made.

use std::path::Path;
use std::process::Command;

use crate::run::{Done, expect_success};

/// The user that a server runs as.
pub struct User {
    /// User and group, if they are not those of the caller.
    ids: Option<(u32, u32)>,
}

impl User {
    /// The user of a package if root asks, else the caller.
    pub fn of_package(name: &str) -> Done<User> {
        if !is_root() {
            return Ok(User { ids: None });
        }
        let passwords =
            std::fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
        match ids_in(&passwords, name) {
            Some(ids) => Ok(User { ids: Some(ids) }),
            None => Err(format!("there is no user {name}; the package of its server makes one")),
        }
    }

    /// A command that runs as this user.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        #[cfg(unix)]
        if let Some((user, group)) = self.ids {
            std::os::unix::process::CommandExt::uid(&mut command, user);
            std::os::unix::process::CommandExt::gid(&mut command, group);
        }
        command
    }

    /// Makes this user the owner of a folder and of what is in it.
    pub fn own(&self, folder: &Path) -> Done {
        match self.ids {
            Some((user, group)) => {
                let owner = format!("{user}:{group}");
                expect_success(Command::new("chown").arg("-R").arg(owner).arg(folder))
            }
            None => Ok(()),
        }
    }

    /// Whether this user may enter a folder, which a home folder may forbid.
    pub fn can_enter(&self, folder: &Path) -> bool {
        let mut test = self.command(Path::new("test"));
        test.arg("-x").arg(folder).status().is_ok_and(|status| status.success())
    }
}

/// A command line for a shell that runs as the user of a package if root asks.
pub fn words(name: &str, command: &[String]) -> String {
    let quoted = command.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
    let line = quoted.collect::<Vec<_>>().join(" ");
    match is_root() {
        true => format!("setpriv --reuid={name} --regid={name} --init-groups {line}"),
        false => line,
    }
}

/// Whether root asks.
pub fn is_root() -> bool {
    #[cfg(unix)]
    if let Ok(own) = std::fs::metadata("/proc/self") {
        return std::os::unix::fs::MetadataExt::uid(&own) == 0;
    }
    false
}

/// User and group of a name in the text of `/etc/passwd`.
fn ids_in(passwords: &str, name: &str) -> Option<(u32, u32)> {
    let fields = passwords.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let fields = fields.into_iter().find(|fields| fields.first() == Some(&name))?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::ids_in;

    #[test]
    fn ids_are_found_by_the_whole_name() {
        let passwords = "root:x:0:0:root:/root:/bin/bash\npostgres:x:101:103:,,,:/var:/bin/bash\n";
        assert_eq!(ids_in(passwords, "postgres"), Some((101, 103)));
        assert_eq!(ids_in(passwords, "postgre"), None);
        assert_eq!(ids_in("broken:x", "broken"), None);
    }
}
