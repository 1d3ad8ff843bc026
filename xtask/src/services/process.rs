//! Processes that outlive the command that started them, and the ports they listen on.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::{Done, shown};

/// How long a server may take to come up or to go away.
const PATIENCE: Duration = Duration::from_secs(90);

/// Between two looks at a process.
const PAUSE: Duration = Duration::from_millis(50);

/// Ports of the loopback device on which no program listens.
pub fn free_ports(count: usize) -> Done<Vec<u16>> {
    let failed = |error: std::io::Error| format!("no free port on 127.0.0.1: {error}");
    // All are held until the last is found, so that they differ.
    let held: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    held.iter().map(|listener| listener.local_addr().map(|address| address.port()).map_err(failed)).collect()
}

/// Starts a server in a process group of its own, so that Ctrl-C does not reach it, and gives its process id.
pub fn spawn(command: &mut Command, log: &Path) -> Done<u32> {
    let failed = |error: std::io::Error| format!("{}: {error}", log.display());
    let out = File::options().create(true).append(true).open(log).map_err(failed)?;
    let errors = out.try_clone().map_err(failed)?;
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let child = command.stdin(Stdio::null()).stdout(out).stderr(errors).spawn();
    child.map(|child| child.id()).map_err(|error| format!("{}: {error}", shown(command)))
}

/// Waits until a process listens on its port; the error shows the end of its log.
pub fn wait_for_port(pid: u32, port: u16, log: &Path) -> Done {
    let started = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if !is_running(pid) {
            return Err(format!("the server ended at once; {}", end_of(log)));
        }
        if started.elapsed() > PATIENCE {
            return Err(format!("the server does not listen on port {port}; {}", end_of(log)));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Whether a process runs; one that has ended but was not waited for does not.
pub fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which is in parentheses and may hold anything.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Whether a process has this word among its arguments: process ids are used again.
pub fn has_argument(pid: u32, part: &str) -> bool {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).split('\0').any(|word| word.contains(part))
}

/// Sends a signal and waits until the process is gone.
pub fn end(pid: u32, signal: &str) -> Done {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -s \"$0\" \"$1\"", signal]).arg(pid.to_string());
    let started = Instant::now();
    if !kill.status().is_ok_and(|status| status.success()) && is_running(pid) {
        return Err(format!("process {pid} belongs to someone else"));
    }
    while is_running(pid) {
        if started.elapsed() > PATIENCE {
            return Err(format!("process {pid} does not end"));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The last lines of a log.
pub fn end_of(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(15);
    format!("the end of {}:\n{}", log.display(), lines[from..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{free_ports, has_argument, is_running};

    #[test]
    fn free_ports_differ() {
        let mut ports = free_ports(8).unwrap();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 8);
    }

    #[test]
    fn this_process_runs() {
        assert!(is_running(std::process::id()));
        assert!(has_argument(std::process::id(), "xtask"));
        assert!(!has_argument(std::process::id(), "no such argument"));
        assert!(!is_running(u32::MAX));
    }
}
