//! `isoscope demo`: what isolation two databases really give, without a server or any set-up, in some seconds.
//!
//! SQLite (in a folder that is removed again) and the simulated store are asked the litmus schedules at several
//! settings, and then a story of two doctors; what the story shows is checked, and put into words.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use databases::{Database, Setting};
use formats::{Format, Temporary};
use history::Summary;
use isoscope::{Check, LazyIndex};
use picture::Page;
use probe::{Cell, Patience, Suite};
use serde_json::json;

use super::probe::html::table as html_table_of;
use super::probe::{go_on, text, until_interrupted};
use crate::args::OutputArguments;
use crate::connect;
use crate::exit::{Exit, Failure};
use crate::files::{flags, keep_apart};
use crate::interrupt;
use crate::load::Subject;
use crate::progress::Progress;
use crate::refused;
use crate::report::shown::{Bar, Shown};
use crate::report::{self, Report};
use crate::screen::Screen;
use crate::terminal::{Style, Tone, visible};

/// The flags of `demo`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    output: OutputArguments,
    /// Where to write the report with tables and pictures, an HTML file [default: isoscope-demo.html in the folder of
    /// temporary files]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Two doctors are on call, and each may leave as long as the other stays.
const HISTORY: &str = "\
init alice=1 bob=1
one: r(alice)=1 r(bob)=1 w(alice)=0
two: r(alice)=1 r(bob)=1 w(bob)=0
three: r(alice)=0 r(bob)=0
";

const INTRODUCTION: &str = "\
Sixteen small schedules, asked step by step of SQLite and of a simulated store:
which anomalies does each isolation setting allow?";

const STORY: &str = "\
Two doctors are on call, and the rule is that one of them must stay.
Session one sees both on call and lets alice go; session two, at the same time, sees both and lets bob go.
Then session three finds nobody.";

const NEXT: &str = "\
`isoscope probe URL` makes the table of your database; `isoscope check FILE` checks a history of your own.
`isoscope levels snapshot-isolation` explains a level; `isoscope --help` lists the commands.";

/// What is asked of the simulated store.
const SIMULATED: [&str; 4] = ["serializable", "snapshot", "read-committed", "read-uncommitted"];

/// What is asked of SQLite.
const SQLITE: [&str; 2] = ["deferred", "immediate"];

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    keep_apart(&[], &flags([("--html", &arguments.html)]))?;
    let subject = subject()?;
    // From before its folder is there until it is removed.
    let tables = interrupt::while_deciding(|| tables(&subject))?;
    let check = Check::new(&subject.history);
    let answered = check.run().map_err(|error| refused::failure(&subject, error))?;
    let witnesses = check.witnesses(&answered.answers).map_err(|error| refused::failure(&subject, error))?;
    let report = Report {
        subject: &subject,
        answers: answered.answers,
        not_asked: Vec::new(),
        stats: None,
        witnesses,
        shown: Shown::of(&subject.history, &LazyIndex::default(), Bar::ReadsOthers),
        run: None,
    };
    let page = write_page(arguments, &tables, &report)?;
    match arguments.output.json {
        true => print_json(&tables, &report)?,
        false => print(&tables, &report, page.as_deref())?,
    }
    // The demonstration succeeded, whatever it found.
    Ok(Exit::Holds)
}

fn subject() -> Result<Subject, Failure> {
    let history = formats::notation::parse(HISTORY).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Subject {
        name: "doctors".to_owned(),
        summary: Summary::of(&history),
        history,
        format: Format::Notation,
        warnings: Vec::new(),
        read_time: Duration::ZERO,
    })
}

/// What each database did: the sixteen schedules, and the story as one more.
fn tables(subject: &Subject) -> Result<Vec<probe::Report>, Failure> {
    let progress = Progress::start("asking SQLite and a simulated store");
    let place = std::env::temp_dir();
    let folder = Temporary::folder_in(&place).map_err(|error| Failure::about(&place, &error))?;
    let open = |url: String| connect::open(&connect::urls(&[url])?);
    let sqlite = open(format!("sqlite:{}/demo.db?mode=wal", folder.path().display()))?;
    let simulated = open("sim:".to_owned())?;
    let story = probe::from_history("doctors", &subject.history).map_err(Failure::new)?;
    let story = Suite { name: "story".to_owned(), schedules: vec![story] };
    let asked: [(&dyn Database, &[&str]); 2] = [(sqlite.as_ref(), &SQLITE), (simulated.as_ref(), &SIMULATED)];
    let reports = asked.into_iter().map(|(database, names)| table(database, names, &story)).collect();
    drop(progress);
    reports
}

fn table(database: &dyn Database, names: &[&str], story: &Suite) -> Result<probe::Report, Failure> {
    let patience = Patience { without_views: Duration::from_millis(100), ..Patience::default() };
    let suites = probe::built_in("hermitage").into_iter().chain([story.clone()]).collect();
    let settings: Vec<Setting> =
        database.settings().into_iter().filter(|setting| names.contains(&setting.name.as_str())).collect();
    until_interrupted(|| probe::probe(database, suites, settings, patience, &mut |_, _| go_on()))
}

/// Writes the page where the user wants it, or else among the temporary files, if that is possible; says where it is.
fn write_page(
    arguments: &Arguments,
    tables: &[probe::Report],
    report: &Report<'_>,
) -> Result<Option<PathBuf>, Failure> {
    if arguments.output.json && arguments.html.is_none() {
        return Ok(None);
    }
    let title = "isoscope demo".to_owned();
    let page = Page { title, tables: tables.iter().map(html_table).collect(), ..report::html::page(report) };
    if let Some(file) = &arguments.html {
        report::html::write(file, &page)?;
        return Ok(Some(file.clone()));
    }
    let file = std::env::temp_dir().join("isoscope-demo.html");
    Ok(report::html::write(&file, &page).is_ok().then_some(file))
}

fn html_table(table: &probe::Report) -> picture::LitmusTable {
    picture::LitmusTable { title: name_of(table), ..html_table_of(table, 0) }
}

fn print_json(tables: &[probe::Report], report: &Report<'_>) -> Result<(), Failure> {
    let mut value = report::json::value(report)?;
    value["databases"] = tables.iter().map(|table| super::probe::json::value(table, None)).collect();
    report::json::print_value(&json!(value))
}

fn print(tables: &[probe::Report], report: &Report<'_>, html: Option<&Path>) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    write_lines(INTRODUCTION, style, &mut out)?;
    for table in tables {
        writeln!(out)?;
        let sentence = text::sentence(table).unwrap_or_default();
        out.paint(Tone::Strong, &style.wrap(&sentence, 0, 2))?;
        writeln!(out, "\n")?;
        text::write_table(table, 0, style, &mut out)?;
    }
    writeln!(out)?;
    if let Some(table) = tables.first() {
        text::write_meanings(table, 0, style, &mut out)?;
    }
    writeln!(out)?;
    write_lines(STORY, style, &mut out)?;
    writeln!(out)?;
    for line in HISTORY.lines() {
        write!(out, "    ")?;
        out.paint(Tone::Strong, line)?;
        writeln!(out)?;
    }
    writeln!(out)?;
    write_who_shows_it(tables, style, &mut out)?;
    writeln!(out, "\nWhich level is that?\n")?;
    report::text::write(report, style, &mut out)?;
    writeln!(out)?;
    write_lines(NEXT, style, &mut out)?;
    match html {
        Some(file) => {
            writeln!(out, "The tables and the picture are in {}.", visible(&file.display().to_string()))?
        }
        None => writeln!(out, "`isoscope demo --html demo.html` writes the tables and a picture to a file.")?,
    }
    Ok(out.flush()?)
}

fn write_lines(lines: &str, style: Style, out: &mut dyn Write) -> Result<(), Failure> {
    for line in lines.lines() {
        writeln!(out, "{}", style.wrap(line, 0, 0))?;
    }
    Ok(())
}

/// The product and its version: where the file was does not matter.
fn name_of(table: &probe::Report) -> String {
    match table.database.product.as_str() {
        "sim" => "a simulated store".to_owned(),
        product => format!("{product} {}, write-ahead log", table.database.version),
    }
}

/// At which settings the story happened.
fn write_who_shows_it(tables: &[probe::Report], style: Style, out: &mut dyn Write) -> Result<(), Failure> {
    for table in tables {
        for (row, _, finding) in table.named("doctors") {
            let what = match finding.cell() {
                Some(Cell::Possible) => "this happened",
                Some(Cell::Aborts) => "prevented: a transaction was rolled back",
                Some(Cell::Waits) => "prevented: a session had to wait",
                Some(Cell::Prevented) => "prevented: one session saw the write of the other",
                Some(Cell::Stuck) | None => "no answer",
            };
            let who = format!("{}, {}", table.database.product, row.setting.name);
            writeln!(out, "{}", style.wrap(&format!("{who:<24}  {what}"), 2, 4))?;
        }
    }
    Ok(())
}
