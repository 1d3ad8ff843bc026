//! Runs the built command in a folder of its own and gives back what it printed.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed at the end.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new one with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("isoscope-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = Self { path };
        for (name, text) in files {
            std::fs::write(folder.file(name), text).unwrap();
        }
        folder
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The command, to be run here.
    pub fn isoscope(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isoscope"));
        command.current_dir(&self.path).args(line.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// What a command line prints: standard output, then standard error, then how it ended.
    pub fn run(&self, line: &str) -> String {
        show(&self.isoscope(line).output().unwrap())
    }

    /// The same with something on standard input.
    pub fn run_with_input(&self, line: &str, input: &[u8]) -> String {
        let mut command = self.isoscope(line);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that fails early does not read it all.
        let _ = stdin.write_all(input);
        drop(stdin);
        show(&child.wait_with_output().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// What a command printed and how it ended.
pub fn show(output: &Output) -> String {
    let mut text = String::from_utf8(output.stdout.clone()).unwrap();
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    if !errors.is_empty() {
        text += "--- standard error\n";
        text += &errors;
    }
    let code = output.status.code().map_or("a signal".to_owned(), |code| code.to_string());
    text += &format!("--- exit {code}\n");
    text
}

/// Times made equal, so that a text can be compared.
pub fn without_times(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("_ms\": ") {
        Some((name, rest)) => format!("{name}_ms\": 0.0{}", if rest.ends_with(',') { "," } else { "" }),
        None => match line.split_once(" time=\"") {
            Some((before, rest)) => {
                let (_, after) = rest.split_once('"').unwrap();
                format!("{before} time=\"0\"{after}")
            }
            None => line.to_owned(),
        },
    });
    lines.map(|line| line + "\n").collect()
}
