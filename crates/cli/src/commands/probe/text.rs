//! The answer for people.

use std::io::Write;

use probe::expect::Difference;
use probe::{Cell, Finding, Report, Row, Schedule, transcript};

use super::table::{ClassTable, Mark, is_table, table_of};
use crate::exit::Failure;
use crate::screen::Screen;
use crate::terminal::{Style, Tone, visible};
use isoscope::{LevelId, units};

/// Writes the tables.
pub fn write(report: &Report, all: bool, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
    if sentence(report).is_some() {
        write_sentence(report, style, out)?;
    }
    writeln!(out, "{}", style.wrap(&headline(report), 0, 2))?;
    for place in 0..report.suites.len() {
        writeln!(out)?;
        match is_table(&report.suites[place]) {
            true => {
                write_table(report, place, style, out)?;
                writeln!(out)?;
                write_meanings(report, place, style, out)?;
            }
            false => write_counts(report, place, out)?,
        }
        if all {
            write_all(report, place, out)?;
        }
    }
    write_refused(report, out)
}

/// What each setting looks like, in one sentence; `None` if the table of Hermitage was not made.
pub fn sentence(report: &Report) -> Option<String> {
    let mut groups: Vec<(Option<LevelId>, Vec<String>)> = Vec::new();
    report.suites.iter().find(|suite| suite.name == "hermitage")?;
    for row in &report.rows {
        let name = match row.setting.is_default {
            true => format!("{} (the default)", row.setting.name),
            false => row.setting.name.clone(),
        };
        let level = report.looks_like(row);
        match groups.iter_mut().find(|(known, _)| *known == level) {
            Some((_, names)) => names.push(name),
            None => groups.push((level, vec![name])),
        }
    }
    let clause = |(level, names): &(Option<LevelId>, Vec<String>)| {
        let gives = level.map_or("no level that isoscope knows", LevelId::phrase);
        format!("{gives} at {}", names.join(" and "))
    };
    let clauses: Vec<String> = groups.iter().map(clause).collect();
    let database = &report.database;
    Some(visible(&format!(
        "{} {} looks like {}.",
        database.product,
        short_version(&database.version),
        clauses.join(", ")
    )))
}

/// Writes the answer in one sentence; where there is none, which database it is.
pub fn write_sentence(report: &Report, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
    let text = sentence(report).unwrap_or_else(|| headline(report));
    out.paint(Tone::Strong, &style.wrap(&text, 0, 2))?;
    Ok(writeln!(out)?)
}

/// The digits of a version, without what a distribution adds.
pub fn short_version(version: &str) -> &str {
    let end = version.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(version.len());
    if end > 0 { &version[..end] } else { version }
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

/// The columns of a terminal where nothing says how many there are.
const USUAL_WIDTH: usize = 80;

/// Writes the table of the suite at this place; where it is too wide for the terminal, each row as a list.
pub fn write_table(report: &Report, place: usize, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
    let style = Style { width: style.width.or(Some(USUAL_WIDTH)), ..style };
    let table = table_of(report, place);
    let names: Vec<String> = report.rows.iter().map(|row| setting_name(&row.setting)).collect();
    let first = widest(names.iter().map(String::as_str)).max("setting".len());
    let width = 2 + first + table.columns.iter().map(|column| 1 + column_width(column)).sum::<usize>();
    match style.width.is_some_and(|limit| width > limit) {
        true => write_lists(&table, &names, style, out)?,
        false => write_rows(&table, &names, first, out)?,
    }
    write_legend(&table, names.iter().any(|name| name.ends_with('*')), style, out)
}

fn widest<'t>(texts: impl Iterator<Item = &'t str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// A column is as wide as its name, and as the widest mark.
fn column_width(column: &str) -> usize {
    const WIDEST_MARK: usize = 3;
    column.chars().count().max(WIDEST_MARK)
}

fn write_rows(
    table: &ClassTable<'_>,
    names: &[String],
    first: usize,
    out: &mut Screen<'_>,
) -> Result<(), Failure> {
    let heads = table.columns.iter().map(|column| format!(" {column:<width$}", width = column_width(column)));
    let line = format!("  {:<first$}{}", "setting", heads.collect::<String>());
    writeln!(out, "{}", line.trim_end())?;
    for (name, marks) in names.iter().zip(&table.rows) {
        write!(out, "  {name:<first$}")?;
        for (place, (column, mark)) in table.columns.iter().zip(marks).enumerate() {
            let is_last = place + 1 == marks.len();
            let width = if is_last { 0 } else { column_width(column) };
            write!(out, " ")?;
            out.paint(tone(*mark), &format!("{:<width$}", mark.symbol()))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_lists(
    table: &ClassTable<'_>,
    names: &[String],
    style: Style,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for (name, marks) in names.iter().zip(&table.rows) {
        writeln!(out, "{}", style.wrap(name, 2, 4))?;
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
    table: &ClassTable<'_>,
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

/// Writes what each column of the table means, a line each.
pub fn write_meanings(
    report: &Report,
    place: usize,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let style = Style { width: style.width.or(Some(USUAL_WIDTH)), ..style };
    let table = table_of(report, place);
    let first = widest(table.columns.iter().copied());
    for (column, meaning) in table.columns.iter().zip(&table.meanings).filter(|(_, text)| !text.is_empty()) {
        writeln!(out, "{}", style.wrap(&format!("{column:<first$}  {meaning}"), 2, 4 + first))?;
    }
    Ok(())
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
    report.named(name).try_for_each(|(row, schedule, finding)| write_transcript(row, schedule, finding, out))
}

/// Writes for each setting the first interleaving of a history that showed it, or the first one if none did.
pub fn write_history(report: &Report, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{}", headline(report))?;
    let schedules = report.suites.first().map_or(&[][..], |suite| &suite.schedules);
    for row in &report.rows {
        let findings = row.findings.first().map_or(&[][..], |of_suite| of_suite);
        let is_shown = |finding: &Finding| finding.cell() == Some(Cell::Possible);
        let place = findings.iter().position(is_shown).unwrap_or(0);
        let Some((schedule, finding)) = schedules.get(place).zip(findings.get(place)) else { continue };
        write_transcript(row, schedule, finding, out)?;
        if schedules.len() > 1 {
            let shown = findings.iter().filter(|finding| is_shown(finding)).count();
            let tried = units::counted(schedules.len(), "interleaving");
            writeln!(out, "  {tried} tried, {shown} of them showed the history")?;
        }
    }
    Ok(())
}

fn write_transcript(
    row: &Row,
    schedule: &Schedule,
    finding: &Finding,
    out: &mut dyn Write,
) -> Result<(), Failure> {
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
        let wide = table_at(80);
        assert!(wide.starts_with("  setting    G0  G1a "), "{wide}");
        assert!(wide.lines().all(|line| line.chars().count() <= 80), "{wide}");
        let narrow = table_at(40);
        assert!(narrow.starts_with("  snapshot *\n    G0 ✓a, G1a ✓, "), "{narrow}");
        assert!(narrow.contains("G2-item ✗") && narrow.contains("can occur"), "{narrow}");
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    }
}
