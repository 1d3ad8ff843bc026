//! The answer for people.

use std::io::Write;

use probe::expect::Difference;
use probe::{Cell, Finding, Report, transcript};

use super::table::{Mark, Table, is_table, table_of};
use crate::exit::Failure;
use crate::terminal::{Style, Tone, visible};
use crate::units;

/// Writes the tables.
pub fn write(report: &Report, all: bool, style: Style, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}", style.paint(Tone::Strong, &headline(report)))?;
    for place in 0..report.suites.len() {
        writeln!(out)?;
        match is_table(&report.suites[place]) {
            true => write_table(report, place, style, out)?,
            false => write_counts(report, place, out)?,
        }
        if all {
            write_all(report, place, style, out)?;
        }
    }
    write_refused(report, out)
}

/// The product, its version and where it is.
pub fn headline(report: &Report) -> String {
    let database = &report.database;
    visible(&format!("{} {}, {}", database.product, database.version, database.urls.join(", ")))
}

/// The name of a setting, marked if it is the default.
pub fn setting_name(setting: &databases::Setting) -> String {
    let star = if setting.is_default { " *" } else { "" };
    visible(&format!("{}{star}", setting.name))
}

/// Writes the table of the suite at this place.
pub fn write_table(report: &Report, place: usize, style: Style, out: &mut dyn Write) -> Result<(), Failure> {
    let table = table_of(report, place);
    let names: Vec<String> = report.rows.iter().map(|row| setting_name(&row.setting)).collect();
    let first = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max("setting".len());
    let levels: Vec<&str> = report.rows.iter().map(|row| report.looks_like(row).unwrap_or("")).collect();
    let is_hermitage =
        report.suites[place].name == "hermitage" && levels.iter().any(|level| !level.is_empty());
    write!(out, "  {:<first$}", "setting")?;
    for column in &table.columns {
        write!(out, "  {column}")?;
    }
    writeln!(out, "{}", if is_hermitage { "  looks like" } else { "" })?;
    for ((name, marks), level) in names.iter().zip(&table.rows).zip(&levels) {
        write!(out, "  {name:<first$}")?;
        for (column, mark) in table.columns.iter().zip(marks) {
            let width = column.chars().count();
            write!(out, "  {}", style.paint(tone(*mark), &format!("{:<width$}", mark.symbol())))?;
        }
        writeln!(out, "{}", if is_hermitage { format!("  {level}") } else { String::new() })?;
    }
    write_legend(&table, names.iter().any(|name| name.ends_with('*')), out)
}

fn tone(mark: Mark) -> Tone {
    match mark {
        Mark::Cell(Cell::Possible) => Tone::Bad,
        Mark::ReadOnly | Mark::Refused | Mark::Cell(Cell::Stuck) => Tone::Unsure,
        Mark::Cell(_) => Tone::Good,
    }
}

fn write_legend(table: &Table<'_>, has_default: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let mut known: Vec<Mark> = Vec::new();
    for mark in table.rows.iter().flatten() {
        if !known.contains(mark) {
            known.push(*mark);
        }
    }
    known.sort_by_key(|mark| mark.meaning());
    let mut words: Vec<String> =
        known.iter().map(|mark| format!("{} {}", mark.symbol(), mark.meaning())).collect();
    if has_default {
        words.push("* the default".to_owned());
    }
    Ok(writeln!(out, "\n  {}", words.join(", "))?)
}

fn write_counts(report: &Report, place: usize, out: &mut dyn Write) -> Result<(), Failure> {
    let suite = &report.suites[place];
    let names: Vec<String> = report.rows.iter().map(|row| setting_name(&row.setting)).collect();
    let head = format!("{} ({} schedules)", suite.name, units::count(suite.schedules.len()));
    let first = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(head.chars().count());
    writeln!(out, "  {head:<first$}  avoid  rollback  anomaly")?;
    for (name, row) in names.iter().zip(&report.rows) {
        let counts = row.counts(place);
        write!(out, "  {name:<first$}  {:>5}  {:>8}  {:>7}", counts.avoid, counts.rollback, counts.anomaly)?;
        match counts.timeout {
            0 => writeln!(out)?,
            timeout => writeln!(out, "  and {timeout} without an answer")?,
        }
    }
    Ok(())
}

fn write_all(report: &Report, place: usize, style: Style, out: &mut dyn Write) -> Result<(), Failure> {
    let suite = &report.suites[place];
    let first = suite.schedules.iter().map(|schedule| schedule.name.len()).max().unwrap_or(0);
    let names: Vec<String> = report.rows.iter().map(|row| setting_name(&row.setting)).collect();
    let widths: Vec<usize> = names.iter().map(|name| name.chars().count().max("prevented".len())).collect();
    write!(out, "\n  {:<first$}", suite.name)?;
    for (name, width) in names.iter().zip(&widths) {
        write!(out, "  {name:<width$}")?;
    }
    writeln!(out)?;
    for (number, schedule) in suite.schedules.iter().enumerate() {
        write!(out, "  {:<first$}", schedule.name)?;
        for (row, width) in report.rows.iter().zip(&widths) {
            let cell = row.findings[place][number].cell();
            let word = cell.map_or("refused", Cell::word);
            let mark = cell.map_or(Mark::Refused, Mark::Cell);
            write!(out, "  {}", style.paint(tone(mark), &format!("{word:<width$}")))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Says once for each reason what the database could not be asked.
fn write_refused(report: &Report, out: &mut dyn Write) -> Result<(), Failure> {
    let findings = report.rows.iter().flat_map(|row| row.findings.iter().flatten());
    let mut reasons: Vec<&str> = Vec::new();
    let mut count = 0;
    for finding in findings {
        if let Finding::Refused(reason) = finding {
            count += 1;
            if !reasons.contains(&reason.as_str()) {
                reasons.push(reason);
            }
        }
    }
    for reason in reasons.iter().take(5) {
        writeln!(out, "\n  could not be asked: {}", visible(reason))?;
    }
    match count {
        0 => Ok(()),
        _ => Ok(writeln!(out, "\n  {} left out of the counts", units::count(count))?),
    }
}

/// Writes what happened at each setting.
pub fn write_transcripts(report: &Report, name: &str, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}", headline(report))?;
    for (row, schedule, finding) in report.named(name) {
        writeln!(out, "\n{} at {}", schedule.name, setting_name(&row.setting))?;
        if !schedule.about.is_empty() {
            writeln!(out, "{}", schedule.about)?;
        }
        match finding {
            Finding::Refused(reason) => writeln!(out, "\n  could not be asked: {}", visible(reason))?,
            Finding::Ran(ran) => {
                for line in transcript(schedule, &ran.0, &ran.1).lines() {
                    writeln!(out, "{}", visible(line))?;
                }
            }
        }
    }
    Ok(())
}

/// Writes how the table differs from what was expected.
pub fn write_differences(differences: &[Difference], out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out)?;
    if differences.is_empty() {
        return Ok(writeln!(out, "as expected")?);
    }
    writeln!(out, "{} not as expected:", units::count(differences.len()))?;
    for difference in differences {
        let Difference { line, setting, subject, expected, found } = difference;
        let text = format!("  {subject} at {setting}: expected {expected}, found {found} (line {line})");
        writeln!(out, "{}", visible(&text))?;
    }
    Ok(writeln!(out, "--transcript SCHEDULE shows step by step what happened")?)
}
