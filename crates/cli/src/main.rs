//! The isoscope command: parses the command line, runs a command, and turns its end into an exit code.

mod args;
mod baseline;
mod commands;
mod connect;
mod definitions;
mod dot;
mod exit;
mod files;
mod interrupt;
mod level_files;
mod load;
mod power;
mod progress;
mod refused;
mod report;
mod screen;
mod shares;
mod terminal;
mod watch;

use std::process::ExitCode;

use args::{Arguments, Command};
use clap::Parser;
use exit::{Exit, Failure};
use screen::say;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refused) => return refuse(&refused),
    };
    terminal::set_colour(arguments.color);
    interrupt::install();
    match run(&arguments.command) {
        Ok(exit) => exit.into(),
        Err(failure) => end_with(&failure),
    }
}

/// Says why there is no answer.
fn end_with(failure: &Failure) -> ExitCode {
    if !matches!(failure, Failure::BrokenPipe) {
        say(&failure.to_string());
    }
    failure.exit().into()
}

/// Says what is wrong with a command line, which may hold a URL with its password; or prints help.
fn refuse(refused: &clap::Error) -> ExitCode {
    if refused.use_stderr() {
        say(refused.to_string().trim_end());
        return Exit::Failed.into();
    }
    // Help has passwords only in its examples, and nothing from outside.
    match refused.print().map_err(Failure::from) {
        Ok(()) => Exit::Holds.into(),
        Err(failure) => end_with(&failure),
    }
}

fn run(command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Demo(arguments) => commands::demo::run(arguments),
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Batch(arguments) => commands::batch::run(arguments),
        Command::Explain(arguments) => commands::explain::run(arguments),
        Command::Shrink(arguments) => commands::shrink::run(arguments),
        Command::Diff(arguments) => commands::diff::run(arguments),
        Command::Elle(arguments) => commands::elle::run(arguments),
        Command::Certify(arguments) => commands::certify::run(arguments),
        Command::Convert(arguments) => commands::convert::run(arguments),
        Command::Stats(arguments) => commands::stats::run(arguments),
        Command::Run(arguments) => commands::run::run(arguments),
        Command::Watch(arguments) => commands::watch::run(arguments),
        Command::Generate(arguments) => commands::generate::run(arguments),
        Command::Levels(arguments) => commands::levels::run(arguments),
        Command::Synth(arguments) => commands::synth::run(arguments),
        Command::Probe(arguments) => commands::probe::run(arguments),
        Command::Compare(arguments) => commands::compare::run(arguments),
        Command::Completions(arguments) => commands::completions::run(arguments),
        Command::Man(arguments) => commands::man::run(arguments),
    }
}
