//! `isoscope levels`: the lattice, or one level with its definition and examples.

use std::io::{self, Write};

use clap::Args;
use isoscope::LevelId;
use serde::Serialize;

use crate::args::OutputArguments;
use crate::exit::{Exit, Failure};
use crate::level_files::{find, further, is_file_name, read};
use crate::report::json::print_value;
use crate::screen::Screen;
use crate::terminal::{Style, Tone};

/// The flags of `levels`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The level to explain, by name or alias; without it all are listed
    #[arg(value_name = "NAME")]
    level: Option<String>,
    /// Print the definition in the language of levels, ready for a file of your own
    #[arg(long, requires = "level")]
    spec: bool,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Serialize)]
struct LevelJson {
    name: &'static str,
    aliases: &'static [String],
    description: &'static str,
    has_engine: bool,
    needs_times: bool,
    implies: Vec<&'static str>,
    spec: &'static str,
    allowed: &'static str,
    forbidden: &'static str,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(name) = arguments.level.as_ref().filter(|_| !arguments.output.json) {
        if is_file_name(name) {
            read(name)?
                .iter()
                .try_for_each(|level| if arguments.spec { print_spec(level) } else { print_text(level) })?;
            return Ok(Exit::Holds);
        }
        if name == spec::recorded::NAME {
            print_recorded()?;
            return Ok(Exit::Holds);
        }
    }
    match (&arguments.level, arguments.output.json) {
        (None, true) => print_value(&LevelId::ALL.into_iter().map(json).collect::<Vec<_>>())?,
        (None, false) => print_all()?,
        (Some(name), true) => print_value(&json(find(name)?))?,
        (Some(name), false) => match (further(name), arguments.spec) {
            (Some(level), true) => print_spec(level)?,
            (Some(level), false) => print_text(level)?,
            (None, true) => print_spec(find(name)?.spec())?,
            (None, false) => print_one(find(name)?)?,
        },
    }
    Ok(Exit::Holds)
}

fn json(level: LevelId) -> LevelJson {
    let (spec, example) = (level.spec(), level.example());
    LevelJson {
        name: level.name(),
        aliases: &spec.aliases,
        description: &spec.description,
        has_engine: level.engine().is_some(),
        needs_times: level.needs_times(),
        implies: names(level.directly_implies()),
        spec: &spec.text,
        allowed: example.allowed.text,
        forbidden: example.forbidden.text,
    }
}

fn names(levels: &[LevelId]) -> Vec<&'static str> {
    levels.iter().map(|level| level.name()).collect()
}

fn print_all() -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    out.paint(Tone::Strong, "Levels, strongest first\n")?;
    for level in LevelId::ALL {
        let note = match level.engine() {
            Some(_) => "",
            None => "  (decided from its text)",
        };
        write!(out, "\n  ")?;
        out.paint(Tone::Strong, level.name())?;
        writeln!(out, "{note}")?;
        writeln!(out, "{}", style.wrap(&one_line(&level.spec().description), 4, 4))?;
        let implied = names(level.directly_implies());
        if !implied.is_empty() {
            writeln!(out, "{}", style.wrap(&format!("implies {}", implied.join(", ")), 4, 6))?;
        }
        if !level.spec().aliases.is_empty() {
            let aliases = format!("also called {}", level.spec().aliases.join(", "));
            writeln!(out, "{}", style.wrap(&aliases, 4, 6))?;
        }
    }
    print_further(&mut out, style)?;
    writeln!(out, "\n`isoscope levels NAME` explains one, with its definition and examples.")?;
    Ok(out.flush()?)
}

/// The other levels of the standard library, which are asked by name only.
fn print_further(out: &mut Screen, style: Style) -> Result<(), Failure> {
    writeln!(out)?;
    out.paint(Tone::Strong, "Further levels, which `check` decides only if they are named\n")?;
    for level in spec::library::levels().iter().filter(|level| further(&level.name).is_some()) {
        let text = format!("{}: {}", level.name, one_line(&level.description));
        writeln!(out, "{}", style.wrap(&text, 2, 4))?;
    }
    Ok(())
}

/// What `recorded` means: its text depends on the history.
fn print_recorded() -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    out.paint(Tone::Strong, spec::recorded::NAME)?;
    let text = "Each transaction is bound by the level that the history records for it: there is one order for all, and \
                each read is bound by what is visible at the level of its own transaction. `check --level recorded` \
                makes the text from the history. With transactions at read-committed and at serializable it is:";
    writeln!(out, "\n\n{}", style.wrap(text, 2, 2))?;
    writeln!(out)?;
    let example = "level recorded :\n    order   = reads_from | (session :> @read-committed),\n    \
                   visible = (earlier :> @read-committed) | (before :> @serializable)";
    block(&mut out, example)?;
    Ok(out.flush()?)
}

/// A level outside the lattice: its description and its text.
fn print_text(level: &spec::Level) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    out.paint(Tone::Strong, &level.name)?;
    writeln!(out)?;
    if !level.description.is_empty() {
        writeln!(out, "\n{}", style.wrap(&one_line(&level.description), 2, 2))?;
    }
    if !level.aliases.is_empty() {
        writeln!(out, "\n  also called  {}", level.aliases.join(", "))?;
    }
    writeln!(out, "\n  definition")?;
    block(&mut out, &level.text)?;
    Ok(out.flush()?)
}

fn print_one(level: LevelId) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    out.paint(Tone::Strong, level.name())?;
    writeln!(out, "\n")?;
    writeln!(out, "{}", style.wrap(&one_line(&level.spec().description), 2, 2))?;
    let list = |names: Vec<&str>| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    let stronger = level.directly_implied_by().map(LevelId::name).collect();
    let engine = match (level.engine(), level.needs_times()) {
        (None, _) => "the text is evaluated, on histories of any size",
        (Some(_), true) => "complete; needs a history with times",
        (Some(_), false) => "complete",
    };
    let rows = [
        ("also called", list(level.spec().aliases.iter().map(String::as_str).collect())),
        ("implied by", list(stronger)),
        ("implies", list(names(level.directly_implies()))),
        ("engine", engine.to_owned()),
    ];
    writeln!(out)?;
    for (name, text) in rows {
        writeln!(out, "  {name:<12} {}", &style.wrap(&text, 15, 15)[15..])?;
    }
    writeln!(out, "\n  definition")?;
    block(&mut out, &level.spec().text)?;
    let example = level.example();
    for (word, sample) in [("allows ", example.allowed), ("forbids", example.forbidden)] {
        writeln!(out, "\n  {word}     {}", &style.wrap(sample.shows, 14, 14)[14..])?;
        block(&mut out, sample.text)?;
    }
    Ok(out.flush()?)
}

fn block(out: &mut dyn Write, text: &str) -> io::Result<()> {
    text.lines().try_for_each(|line| writeln!(out, "    {line}"))
}

fn print_spec(level: &spec::Level) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    writeln!(out, "include \"std/relations.iso\"\n")?;
    for line in level.description.lines() {
        writeln!(out, "/// {line}")?;
    }
    writeln!(out, "{}", level.text)?;
    Ok(out.flush()?)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
