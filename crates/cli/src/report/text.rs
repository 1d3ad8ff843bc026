//! The answer as text: one sentence, the counts, what holds, what is violated and why.
//!
//! Colours agree with the exit code: red is only a level that decides it, and that is violated.

use std::io::{self, Write};

use isoscope::{Answer, units};

use super::{Report, Violation};
use crate::exit::{Exit, Failure};
use crate::power;
use crate::screen::Screen;
use crate::terminal::{Style, Tone};

/// Where the names begin after the verdict.
const COLUMN: usize = 13;

/// Prints to standard output; a blank line first if something was printed before.
pub fn print(report: &Report<'_>, is_quiet: bool, is_later: bool) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    match is_quiet {
        true => sentence(report, style, &mut out)?,
        false => {
            write!(out, "{}", if is_later { "\n" } else { "" })?;
            write(report, style, &mut out)?;
        }
    }
    Ok(out.flush()?)
}

/// Writes the text.
pub fn write(report: &Report<'_>, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
    sentence(report, style, out)?;
    writeln!(out, "{}\n", style.wrap(&report.subject.headline(), 0, 2))?;
    details(report, style, out)
}

/// Writes the answer in one sentence, in the colour of the exit code.
pub fn sentence(report: &Report<'_>, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
    out.paint(tone_of(report.exit()), &style.wrap(&report.sentence(), 0, 2))?;
    Ok(writeln!(out)?)
}

/// The colour of an exit code.
pub fn tone_of(exit: Exit) -> Tone {
    match exit {
        Exit::Holds => Tone::Good,
        Exit::Violated | Exit::Failed => Tone::Bad,
        Exit::Undecided | Exit::Interrupted | Exit::BrokenPipe => Tone::Unsure,
    }
}

/// Writes what is decided of each level, and why.
pub fn details(report: &Report<'_>, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
    holds(report, style, out)?;
    let (weakest, others) = report.weakest_violated();
    for violation in &weakest {
        let names = violation.levels.join(", ");
        let text = match &violation.answer.explanation {
            Some(explanation) => format!("{names}: {}", explanation.headline),
            None => names,
        };
        line(out, style, tone_of_violation(report, violation), "violated", &text)?;
    }
    if !others.is_empty() {
        let text = format!("and with it {}", others.join(", "));
        line(out, style, Tone::Bad, "", &text)?;
    }
    undecided(report, style, out)?;
    not_asked(report, style, out)?;
    for violation in weakest {
        explain(violation.answer, style, out)?;
    }
    skew(report, style, out)?;
    if report.stats.is_some() {
        stats(report, out)?;
    }
    Ok(())
}

fn tone_of_violation(report: &Report<'_>, violation: &Violation<'_>) -> Tone {
    match report.exit() == Exit::Violated && report.is_judged_through(&violation.answer.level) {
        true => Tone::Bad,
        false => Tone::Strong,
    }
}

/// The levels that hold, with how much the history could have shown.
fn holds(report: &Report<'_>, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
    let (strongest, implied) = report.strongest_holding();
    if strongest.is_empty() {
        return Ok(());
    }
    let tone = if report.nothing_shown().is_some() { Tone::Unsure } else { Tone::Good };
    line(out, style, tone, "holds", &strongest.join(", "))?;
    if !implied.is_empty() {
        let text = format!("and with it {}", implied.join(", "));
        line(out, style, tone, "", &text)?;
    }
    Ok(line(out, style, Tone::Faint, "", &power::line(report))?)
}

fn line(out: &mut Screen<'_>, style: Style, tone: Tone, word: &str, text: &str) -> io::Result<()> {
    let wrapped = style.wrap(text, COLUMN, COLUMN);
    let padding = " ".repeat(COLUMN - 2 - word.len());
    write!(out, "  ")?;
    out.paint(tone, word)?;
    writeln!(out, "{padding}{}", &wrapped[COLUMN..])
}

fn undecided(report: &Report<'_>, style: Style, out: &mut Screen<'_>) -> io::Result<()> {
    let mut sentences = report.undecided_sentences().into_iter();
    sentences.try_for_each(|sentence| line(out, style, Tone::Unsure, "undecided", &sentence))
}

fn not_asked(report: &Report<'_>, style: Style, out: &mut Screen<'_>) -> io::Result<()> {
    let Some(first) = report.not_asked.first() else {
        return Ok(());
    };
    let names: Vec<_> = report.not_asked.iter().map(|left| left.level).collect();
    let text = format!("{}: {}", names.join(", "), first.reason);
    line(out, style, Tone::Faint, "not asked", &text)
}

fn explain(answer: &Answer, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Some(explanation) = &answer.explanation else {
        return Ok(());
    };
    writeln!(out)?;
    for participant in &explanation.participants {
        writeln!(out, "{}", style.wrap(participant, 2, 4))?;
    }
    let indent = if explanation.participants.is_empty() { 2 } else { 4 };
    for line in &explanation.lines {
        let indent = indent + 2 * line.depth;
        writeln!(out, "{}", style.wrap(&line.text, indent, indent + 2))?;
    }
    Ok(())
}

fn skew(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let sentences = report.skew_sentences();
    if !sentences.is_empty() {
        writeln!(out)?;
    }
    let mut sentences = sentences.iter();
    sentences.try_for_each(|sentence| writeln!(out, "{}", style.wrap(sentence, 2, 4)))
}

fn stats(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(stats) = &report.stats else { return Ok(()) };
    let mut row = |name: &str, value: String| writeln!(out, "  {name:<28} {value:>14}");
    row("", String::new())?;
    row("read", format!("{} ms", stats.read_ms))?;
    row("index", format!("{} ms", stats.index_ms))?;
    for answer in report.answers.iter().filter(|answer| answer.follows_from.is_none()) {
        row(answer.level.name(), units::duration(answer.time))?;
        for (stage, time) in &answer.stats.stages {
            row(&format!("  {stage}"), units::duration(*time))?;
        }
        for &(name, number) in &answer.stats.counts {
            row(&format!("  {name}"), units::count(number as usize))?;
        }
    }
    row("total", format!("{} ms", stats.total_ms))?;
    row("history", units::size(stats.history_bytes))?;
    match stats.peak_memory_bytes {
        Some(bytes) => row("peak memory", units::size(bytes)),
        None => Ok(()),
    }
}
