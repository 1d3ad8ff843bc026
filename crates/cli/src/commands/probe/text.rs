//! The answer for people.

use std::io::Write;

use probe::expect::Difference;
use probe::{Cell, Finding, Report, transcript};

use super::table::{Mark, Table, is_table, table_of};
use crate::exit::Failure;
use crate::screen::Screen;
use crate::terminal::{Style, Tone, visible};
use isoscope::units;

/// Writes the tables.
pub fn write(report: &Report, all: bool, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
    out.paint(Tone::Strong, &headline(report))?;
    writeln!(out)?;
    for place in 0..report.suites.len() {
        writeln!(out)?;
        match is_table(&report.suites[place]) {
            true => write_table(report, place, style, out)?,
            false => write_counts(report, place, out)?,
        }
        if all {
            write_all(report, place, out)?;
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

/// Writes the table of the suite at this place; where it is too wide for the terminal, each row as a list.
pub fn write_table(report: &Report, place: usize, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
    let table = table_of(report, place);
    let names: Vec<String> = report.rows.iter().map(|row| setting_name(&row.setting)).collect();
    let levels: Vec<&str> = report.rows.iter().map(|row| report.looks_like(row).unwrap_or("")).collect();
    let is_hermitage = report.suites[place].name == "hermitage";
    let levels = if is_hermitage { levels } else { vec![""; names.len()] };
    let first = widest(names.iter().map(String::as_str)).max("setting".len());
    let last = match widest(levels.iter().copied()) {
        0 => 0,
        level => 2 + level.max("looks like".len()),
    };
    let width =
        2 + first + table.columns.iter().map(|column| 2 + column.chars().count()).sum::<usize>() + last;
    match style.width.is_some_and(|limit| width > limit) {
        true => write_lists(&table, &names, &levels, style, out)?,
        false => write_rows(&table, &names, &levels, first, out)?,
    }
    write_legend(&table, names.iter().any(|name| name.ends_with('*')), style, out)
}

fn widest<'t>(texts: impl Iterator<Item = &'t str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

fn write_rows(
    table: &Table<'_>,
    names: &[String],
    levels: &[&str],
    first: usize,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    write!(out, "  {:<first$}", "setting")?;
    for column in &table.columns {
        write!(out, "  {column}")?;
    }
    let has_levels = levels.iter().any(|level| !level.is_empty());
    writeln!(out, "{}", if has_levels { "  looks like" } else { "" })?;
    for ((name, marks), level) in names.iter().zip(&table.rows).zip(levels) {
        write!(out, "  {name:<first$}")?;
        for (column, mark) in table.columns.iter().zip(marks) {
            let width = column.chars().count();
            write!(out, "  ")?;
            out.paint(tone(*mark), &format!("{:<width$}", mark.symbol()))?;
        }
        writeln!(out, "{}", if has_levels { format!("  {level}") } else { String::new() })?;
    }
    Ok(())
}

fn write_lists(
    table: &Table<'_>,
    names: &[String],
    levels: &[&str],
    style: Style,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for ((name, marks), level) in names.iter().zip(&table.rows).zip(levels) {
        let looks_like = if level.is_empty() { String::new() } else { format!(", looks like {level}") };
        writeln!(out, "{}", style.wrap(&format!("{name}{looks_like}"), 2, 4))?;
        let pairs = table.columns.iter().zip(marks);
        // A mark stays beside its anomaly.
        let list: Vec<String> =
            pairs.map(|(column, mark)| format!("{column}\u{a0}{}", mark.symbol())).collect();
        writeln!(out, "{}", style.wrap(&list.join(", "), 4, 4).replace('\u{a0}', " "))?;
    }
    Ok(())
}

fn tone(mark: Mark) -> Tone {
    match mark {
        Mark::Cell(Cell::Possible) => Tone::Bad,
        Mark::ReadOnly | Mark::Refused | Mark::Cell(Cell::Stuck) => Tone::Unsure,
        Mark::Cell(_) => Tone::Good,
    }
}

fn write_legend(
    table: &Table<'_>,
    has_default: bool,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), Failure> {
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
    Ok(writeln!(out, "\n{}", style.wrap(&words.join(", "), 2, 2))?)
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

fn write_all(report: &Report, place: usize, out: &mut Screen<'_>) -> Result<(), Failure> {
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
            write!(out, "  ")?;
            out.paint(tone(mark), &format!("{word:<width$}"))?;
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
    for reason in findings.filter_map(Finding::reason) {
        count += 1;
        if !reasons.contains(&reason) {
            reasons.push(reason);
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

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use databases::Url;
    use probe::Patience;

    use super::*;
    use crate::screen::Form;

    fn table_at(width: usize) -> String {
        let database = databases::open(&[Url::parse("sim:snapshot").unwrap()]).unwrap();
        let suites = vec![probe::built_in("hermitage").unwrap()];
        let go_on = &mut |_: &_, _: &_| ControlFlow::Continue(());
        let report = probe::probe(&*database, suites, database.settings(), Patience::default(), go_on);
        let mut out = Vec::new();
        let style = Style { colour: false, width: Some(width) };
        let mut screen = Screen::over(&mut out, Form::Text);
        write_table(&report.unwrap().unwrap(), 0, style, &mut screen).unwrap();
        drop(screen);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_that_is_too_wide_becomes_a_list() {
        let wide = table_at(100);
        assert!(wide.starts_with("  setting     G0  G1a  "), "{wide}");
        let narrow = table_at(40);
        assert!(
            narrow.starts_with("  snapshot *, looks like snapshot\n    isolation\n    G0 ✓a, G1a ✓, "),
            "{narrow}"
        );
        assert!(narrow.contains("G2-item –") && narrow.contains("can occur"), "{narrow}");
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    }
}
