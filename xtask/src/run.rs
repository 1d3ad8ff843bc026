//! Commands, from the root of the project.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The outcome of a chore; the error is a sentence for the person who started it.
pub type Done<T = ()> = Result<T, String>;

/// The root of the project.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

/// The folder that cargo builds into.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The cargo that runs this, with these words.
pub fn cargo(words: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(words);
    command
}

/// Runs a command and fails if it does.
pub fn expect_success(command: &mut Command) -> Done {
    let shown = shown(command);
    let status = command.status().map_err(|error| format!("{shown}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{shown}: {status}")),
    }
}

/// Runs a command and gives what it printed, whatever its exit code among those allowed.
pub fn output_of(command: &mut Command, allowed: &[i32]) -> Done<String> {
    let shown = shown(command);
    let output = command.stderr(Stdio::piped()).output().map_err(|error| format!("{shown}: {error}"))?;
    if !output.status.code().is_some_and(|code| allowed.contains(&code)) {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown}: {}\n{errors}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{shown}: {error}"))
}

/// A command as one would type it.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
