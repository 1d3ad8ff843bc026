//! One history in a process of its own.
//!
//! The processes have process groups of their own, so that Ctrl-C reaches the batch alone: an answer of a check that was
//! interrupted would look like that of a check which reached its limit.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::lock;

/// The processes that run.
#[derive(Default)]
pub struct Children {
    running: Mutex<Vec<Arc<Mutex<Child>>>>,
}

impl Children {
    /// The answer about a history; a check that failed is an answer too.
    pub fn check(&self, path: &Path, words: &[OsString]) -> Value {
        let answered = self.answer(path, words);
        answered.unwrap_or_else(
            |error| json!({ "history": { "file": path.display().to_string() }, "error": error }),
        )
    }

    /// Ends all processes.
    pub fn kill(&self) {
        for child in lock(&self.running).iter() {
            // A process that has ended by itself cannot be killed, and need not.
            let _ = lock(child).kill();
        }
    }

    fn answer(&self, path: &Path, words: &[OsString]) -> Result<Value, String> {
        let (out, errors, status) = self.run(path, words).map_err(|error| error.to_string())?;
        match serde_json::from_slice(&out) {
            Ok(answer) => Ok(answer),
            Err(_) => Err(failure(&String::from_utf8_lossy(&errors), status)),
        }
    }

    /// What the process printed, and how it ended.
    fn run(&self, path: &Path, words: &[OsString]) -> io::Result<(Vec<u8>, Vec<u8>, ExitStatus)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(words).arg("--").arg(path).process_group(0);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let child = Arc::new(Mutex::new(child));
        lock(&self.running).push(Arc::clone(&child));
        let read = std::thread::scope(|scope| {
            let errors = scope.spawn(|| read_all(stderr));
            let out = read_all(stdout);
            let errors = errors.join().unwrap_or_else(|_| Err(io::Error::other("reading failed")));
            Ok::<_, io::Error>((out?, errors?))
        });
        let status = lock(&child).wait();
        lock(&self.running).retain(|other| !Arc::ptr_eq(other, &child));
        let (out, errors) = read?;
        Ok((out, errors, status?))
    }
}

fn read_all(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Why there is no answer, in the words of the check.
fn failure(errors: &str, status: ExitStatus) -> String {
    let text = errors.trim();
    match text.split_once("error: ") {
        Some((_, sentence)) => sentence.to_owned(),
        None if text.is_empty() => format!("the check ended without an answer ({status})"),
        None => format!("{text} ({status})"),
    }
}
