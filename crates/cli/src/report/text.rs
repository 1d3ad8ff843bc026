//! The answer as text: the counts, what holds, what is violated and why.

use std::io::{self, BufWriter, Write};

use super::{Report, Ruling};
use crate::ask::Decision;
use crate::exit::Failure;
use crate::terminal::{Style, Tone};
use crate::units;

/// Where the names begin after the verdict.
const COLUMN: usize = 13;

/// Prints to standard output.
pub fn print(report: &Report<'_>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(report, Style::of_stdout(), &mut out)?;
    Ok(out.flush()?)
}

/// Writes the text.
pub fn write(report: &Report<'_>, style: Style, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}\n", style.wrap(&report.subject.headline(), 0, 2))?;
    let holding = report.names(|decision| decision == Decision::Holds);
    if !holding.is_empty() {
        line(out, style, Tone::Good, "holds", &holding.join(", "))?;
    }
    let (weakest, others) = report.weakest_violated();
    for violation in &weakest {
        let headline = violation.ruling.headline();
        let headline = headline.map_or_else(String::new, |headline| format!(": {headline}"));
        let text = format!("{}{headline}", violation.levels.join(", "));
        line(out, style, Tone::Bad, "violated", &text)?;
    }
    if !others.is_empty() {
        let text = format!("and so are {}", others.join(", "));
        line(out, style, Tone::Bad, "", &text)?;
    }
    undecided(report, style, out)?;
    not_asked(report, style, out)?;
    for violation in weakest {
        explain(violation.ruling, style, out)?;
    }
    if report.stats.is_some() {
        stats(report, out)?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, style: Style, tone: Tone, word: &str, text: &str) -> io::Result<()> {
    let wrapped = style.wrap(text, COLUMN, COLUMN);
    let padding = " ".repeat(COLUMN - 2 - word.len());
    let word = style.paint(tone, word);
    writeln!(out, "  {word}{padding}{}", &wrapped[COLUMN..])
}

fn undecided(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let names = report.names(|decision| matches!(decision, Decision::Undecided(_)));
    let limit = report.rulings.iter().find_map(|ruling| ruling.limit.as_deref());
    if names.is_empty() {
        return Ok(());
    }
    let text = format!("{}: {}", names.join(", "), limit.unwrap_or_default());
    line(out, style, Tone::Unsure, "undecided", &text)
}

fn not_asked(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = report.not_asked.first() else {
        return Ok(());
    };
    let names: Vec<_> = report.not_asked.iter().map(|left| left.level).collect();
    let text = format!("{}: {}", names.join(", "), first.reason);
    line(out, style, Tone::Faint, "not asked", &text)
}

fn explain(ruling: &Ruling, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let sentences = ruling.sentences();
    if !sentences.is_empty() {
        writeln!(out)?;
    }
    for sentence in sentences {
        let own_indent = sentence.len() - sentence.trim_start().len();
        let text = sentence.trim_start();
        writeln!(out, "{}", style.wrap(text, 2 + own_indent, 4 + own_indent))?;
    }
    Ok(())
}

fn stats(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(stats) = &report.stats else { return Ok(()) };
    let mut row = |name: &str, value: String| writeln!(out, "  {name:<28} {value:>14}");
    row("", String::new())?;
    row("read", format!("{} ms", stats.read_ms))?;
    row("index", format!("{} ms", stats.index_ms))?;
    for ruling in report
        .rulings
        .iter()
        .filter(|ruling| ruling.answer.follows_from.is_none())
    {
        row(&ruling.answer.level, units::duration(ruling.answer.time))?;
        for (stage, time) in &ruling.answer.stats.stages {
            row(&format!("  {stage}"), units::duration(*time))?;
        }
        for &(name, number) in &ruling.answer.stats.counts {
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
