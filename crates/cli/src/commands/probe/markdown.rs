//! The answer as Markdown, for the page of a CI job or a document.

use std::io::Write;

use isoscope::LevelId;
use probe::expect::Difference;
use probe::{Cell, Report};

use super::table::{Mark, is_table, table_of};
use super::text::{headline, sentence, setting_name};
use crate::exit::Failure;
use crate::report::markdown::escape;

/// Writes the tables, and a table with every schedule.
pub fn write(
    report: &Report,
    differences: Option<&[Difference]>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let headline = headline(report);
    let sentence = sentence(report).unwrap_or_else(|| headline.clone());
    writeln!(out, "### {}\n\n{}", escape(&sentence), escape(&headline))?;
    for place in 0..report.suites.len() {
        match is_table(&report.suites[place]) {
            true => write_table(report, place, out)?,
            false => write_counts(report, place, out)?,
        }
        write_all(report, place, out)?;
    }
    match differences {
        Some(differences) => write_differences(differences, out),
        None => Ok(()),
    }
}

fn write_row(out: &mut dyn Write, cells: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let cells: Vec<String> = cells.into_iter().collect();
    Ok(writeln!(out, "| {} |", cells.join(" | "))?)
}

fn write_rule(out: &mut dyn Write, columns: usize) -> Result<(), Failure> {
    Ok(writeln!(out, "|{}", "---|".repeat(columns))?)
}

fn write_table(report: &Report, place: usize, out: &mut dyn Write) -> Result<(), Failure> {
    let table = table_of(report, place);
    let is_hermitage = report.suites[place].name == "hermitage";
    let level = |row| report.looks_like(row).map_or("none", LevelId::name);
    let levels = is_hermitage.then(|| report.rows.iter().map(level).collect::<Vec<_>>());
    let last = levels.as_ref().map(|_| "looks like".to_owned());
    let head = std::iter::once("setting".to_owned()).chain(table.columns.iter().map(|name| escape(name)));
    writeln!(out)?;
    write_row(out, head.chain(last.clone()))?;
    write_rule(out, table.columns.len() + 1 + usize::from(last.is_some()))?;
    for (number, (row, marks)) in report.rows.iter().zip(&table.rows).enumerate() {
        let first = std::iter::once(escape(&setting_name(&row.setting)));
        let level = levels.as_ref().map(|levels| levels[number].to_owned());
        write_row(out, first.chain(marks.iter().map(|mark| mark.symbol().to_owned())).chain(level))?;
    }
    let mut marks: Vec<Mark> = table.rows.iter().flatten().copied().collect();
    marks.sort_by_key(|mark| mark.meaning());
    marks.dedup();
    let legend: Vec<String> =
        marks.iter().map(|mark| format!("{} {}", mark.symbol(), mark.meaning())).collect();
    writeln!(out, "\n{}\n", legend.join(", "))?;
    for (column, meaning) in table.columns.iter().zip(&table.meanings).filter(|(_, text)| !text.is_empty()) {
        writeln!(out, "- **{}**: {}", escape(column), escape(meaning))?;
    }
    Ok(())
}

fn write_counts(report: &Report, place: usize, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out)?;
    write_row(out, [&report.suites[place].name, "avoid", "rollback", "anomaly"].map(escape))?;
    write_rule(out, 4)?;
    for row in &report.rows {
        let counts = row.counts(place);
        let numbers = [counts.avoid, counts.rollback, counts.anomaly].map(|number| number.to_string());
        write_row(out, std::iter::once(escape(&setting_name(&row.setting))).chain(numbers))?;
    }
    Ok(())
}

fn write_all(report: &Report, place: usize, out: &mut dyn Write) -> Result<(), Failure> {
    let suite = &report.suites[place];
    let names = report.rows.iter().map(|row| escape(&setting_name(&row.setting)));
    writeln!(out)?;
    write_row(out, std::iter::once(escape(&suite.name)).chain(names))?;
    write_rule(out, report.rows.len() + 1)?;
    for (number, schedule) in suite.schedules.iter().enumerate() {
        let words =
            report.rows.iter().map(|row| row.findings[place][number].cell().map_or("refused", Cell::word));
        write_row(out, std::iter::once(escape(&schedule.name)).chain(words.map(str::to_owned)))?;
    }
    Ok(())
}

fn write_differences(differences: &[Difference], out: &mut dyn Write) -> Result<(), Failure> {
    if differences.is_empty() {
        return Ok(writeln!(out, "\nAs expected.")?);
    }
    writeln!(out)?;
    write_row(out, ["setting", "schedule", "expected", "found"].map(str::to_owned))?;
    write_rule(out, 4)?;
    for difference in differences {
        let Difference { setting, subject, expected, found, .. } = difference;
        write_row(out, [setting, subject, expected, found].map(|text| escape(text)))?;
    }
    Ok(())
}
