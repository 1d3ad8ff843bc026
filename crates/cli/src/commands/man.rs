//! `isoscope man`: manual pages, from the definitions of the flags.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use crate::exit::{Exit, Failure};
use crate::files::write_whole;
use crate::screen::{Form, Screen};

/// The flags of `man`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Write isoscope.1 and a page for each command into this folder, instead of printing the first
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut command = crate::args::Arguments::command();
    command.build();
    match &arguments.folder {
        Some(folder) => write_all(&command, folder)?,
        None => {
            let mut out = Screen::over(std::io::stdout().lock(), Form::Text);
            out.write_all(&page(&command, "isoscope")?)?;
            out.flush()?;
        }
    }
    Ok(Exit::Holds)
}

fn write_all(command: &Command, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::about(folder, &error))?;
    let write = |name: &str, command: &Command| {
        let page = page(command, name)?;
        write_whole(&folder.join(format!("{name}.1")), Form::Text, |out| Ok(out.write_all(&page)?))
    };
    write("isoscope", command)?;
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    commands.into_iter().try_for_each(|command| write(&format!("isoscope-{}", command.get_name()), command))
}

fn page(command: &Command, name: &str) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let name: &'static str = name.to_owned().leak();
    Man::new(command.clone().name(name)).render(&mut page)?;
    Ok(page)
}
