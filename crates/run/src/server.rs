//! A server process that the run starts itself, so that the nemesis may kill it.
//!
//! The command runs in a shell in a process group of its own. Killing it kills everything that descends from it, as a
//! crash of the machine would: a PostgreSQL whose backends outlived it could not be started again. The processes are
//! found through `/proc`, and signals are sent by the shell's own `kill`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long processes may take to go.
const PATIENCE: Duration = Duration::from_secs(20);
const INTERVAL: Duration = Duration::from_millis(20);

/// A server and the command that starts it. Dropping it stops the server.
#[derive(Debug)]
pub struct Server {
    command: String,
    log: PathBuf,
    child: Child,
}

impl Server {
    /// Starts a server; it stays in the foreground of the command. What it prints goes to a log file, which exists.
    pub fn start(command: &str, log: &Path) -> io::Result<Self> {
        let child = spawn(command, log)?;
        Ok(Self { command: command.to_owned(), log: log.to_owned(), child })
    }

    /// Kills it and all its descendants, waits until they are gone, and starts it again.
    pub fn kill_and_restart(&mut self) -> io::Result<()> {
        self.end("KILL");
        self.child = spawn(&self.command, &self.log)?;
        Ok(())
    }

    /// Whether the command has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Where its output is.
    pub fn log(&self) -> &Path {
        &self.log
    }

    fn end(&mut self, signal: &str) {
        let all = descendants(self.child.id());
        send(signal, &all);
        let deadline = Instant::now() + PATIENCE;
        loop {
            // A process that has ended stays a zombie until it is waited for.
            let _ = self.child.try_wait();
            let alive: Vec<u32> = all.iter().copied().filter(|&pid| is_alive(pid)).collect();
            if alive.is_empty() {
                break;
            }
            if Instant::now() > deadline {
                send("KILL", &alive);
                break;
            }
            std::thread::sleep(INTERVAL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end("TERM");
    }
}

fn spawn(command: &str, log: &Path) -> io::Result<Child> {
    let out = File::options().append(true).open(log)?;
    let errors = out.try_clone()?;
    Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(errors)
        .process_group(0)
        .spawn()
}

fn send(signal: &str, pids: &[u32]) {
    let list: Vec<String> = pids.iter().map(u32::to_string).collect();
    // Some may be gone already, which is what is wanted.
    let _ = Command::new("sh")
        .args(["-c", &format!("kill -{signal} {} 2>/dev/null", list.join(" "))])
        .stdin(Stdio::null())
        .status();
}

/// A process and everything that descends from it.
fn descendants(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some((_, parent)) = state_and_parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut all = vec![root];
    let mut next = 0;
    while next < all.len() {
        all.extend(children.get(&all[next]).into_iter().flatten());
        next += 1;
    }
    all
}

fn is_alive(pid: u32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| state != 'Z')
}

/// From `/proc/PID/stat`: after the name, which may hold anything and ends at the last bracket.
fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_killed_with_its_descendants() {
        let log = std::env::temp_dir().join(format!("isoscope-server-{}.log", std::process::id()));
        File::create(&log).unwrap();
        let mut server = Server::start("echo up; sh -c 'sleep 1000 & wait' & wait", &log).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while descendants(server.child.id()).len() < 3 && Instant::now() < deadline {
            std::thread::sleep(INTERVAL);
        }
        let before = descendants(server.child.id());
        assert!(before.len() >= 3, "{before:?}");
        server.kill_and_restart().unwrap();
        assert!(before.iter().all(|&pid| !is_alive(pid)));
        assert!(!server.has_ended());
        let pid = server.child.id();
        drop(server);
        assert!(!is_alive(pid));
        let _ = fs::remove_file(log);
    }
}
