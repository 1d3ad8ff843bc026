//! `isoscope completions`: what a shell completes, from the definitions of the flags.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::screen::{Form, Screen};

/// The flags of `completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
bash: isoscope completions bash > ~/.local/share/bash-completion/completions/isoscope
zsh:  isoscope completions zsh > a folder of your $fpath, as _isoscope
fish: isoscope completions fish > ~/.config/fish/completions/isoscope.fish")]
pub struct Arguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::args::Arguments::command(), "isoscope", &mut script);
    let mut out = Screen::over(std::io::stdout().lock(), Form::Text);
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Holds)
}
