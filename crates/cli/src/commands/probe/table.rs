//! What the table of a suite shows: a row for each setting, a column for each class of anomalies.

use probe::{Cell, Finding, Report, Suite};

/// What one place of the table shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// All schedules of the class show the same, or the strongest of the ways in which they are prevented.
    Cell(Cell),
    /// Only schedules that write what a predicate finds show the anomaly.
    ReadOnly,
    /// The database could not be asked.
    Refused,
}

impl Mark {
    /// As the table shows it.
    pub fn symbol(self) -> &'static str {
        match self {
            Mark::Cell(Cell::Possible) => "✗",
            Mark::Cell(Cell::Prevented) => "✓",
            Mark::Cell(Cell::Waits) => "✓w",
            Mark::Cell(Cell::Aborts) => "✓a",
            Mark::Cell(Cell::Stuck) => "stuck",
            Mark::ReadOnly => "r/o",
            Mark::Refused => "?",
        }
    }

    /// What the symbol means.
    pub fn meaning(self) -> &'static str {
        match self {
            Mark::Cell(Cell::Possible) => "can occur",
            Mark::Cell(Cell::Prevented) => "prevented",
            Mark::Cell(Cell::Waits) => "prevented by waiting",
            Mark::Cell(Cell::Aborts) => "prevented by abort",
            Mark::Cell(Cell::Stuck) => "a session never answered",
            Mark::ReadOnly => "prevented only for reads",
            Mark::Refused => "could not be asked",
        }
    }
}

/// The table of a suite.
pub struct ClassTable<'r> {
    /// The classes.
    pub columns: Vec<&'r str>,
    /// What each class means.
    pub meanings: Vec<&'r str>,
    /// For each setting, a mark for each class.
    pub rows: Vec<Vec<Mark>>,
}

/// Whether a suite is shown as a table; the others are counted.
pub fn is_table(suite: &Suite) -> bool {
    !["coo", "predicates"].contains(&suite.name.as_str())
}

/// The table of the suite at this place.
pub fn table_of(report: &Report, place: usize) -> ClassTable<'_> {
    let suite = &report.suites[place];
    let mut columns: Vec<&str> = Vec::new();
    for name in suite.schedules.iter().map(column_of) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    let marks = |findings: &[Finding]| {
        let pairs = || suite.schedules.iter().zip(findings);
        let of_column = |column: &&str| {
            let column = *column;
            mark(
                pairs()
                    .filter(|(schedule, _)| column_of(schedule) == column)
                    .map(|(schedule, finding)| (schedule.name.contains("-write"), finding.cell())),
            )
        };
        columns.iter().map(of_column).collect()
    };
    let rows = report.rows.iter().map(|row| marks(&row.findings[place])).collect();
    let meaning = |column: &&str| {
        let of_class = suite.schedules.iter().find(|schedule| column_of(schedule) == *column);
        of_class.map_or("", |schedule| schedule.about.as_str())
    };
    let meanings = columns.iter().map(meaning).collect();
    ClassTable { columns, meanings, rows }
}

fn column_of(schedule: &probe::Schedule) -> &str {
    if schedule.class.is_empty() { &schedule.name } else { &schedule.class }
}

/// One mark for the schedules of a class: whether each writes what a predicate finds, and its cell.
fn mark(cells: impl Iterator<Item = (bool, Option<Cell>)>) -> Mark {
    let cells: Vec<(bool, Option<Cell>)> = cells.collect();
    let is_possible = |(_, cell): &&(bool, Option<Cell>)| *cell == Some(Cell::Possible);
    let possible: Vec<_> = cells.iter().filter(is_possible).collect();
    if !possible.is_empty() {
        let only_writes = possible.iter().all(|(writes, _)| *writes);
        let reads_are_fine = cells.iter().any(|(writes, _)| !*writes);
        return if only_writes && reads_are_fine { Mark::ReadOnly } else { Mark::Cell(Cell::Possible) };
    }
    let worst = [Cell::Stuck, Cell::Aborts, Cell::Waits, Cell::Prevented];
    let found = worst.into_iter().find(|cell| cells.iter().any(|(_, found)| *found == Some(*cell)));
    found.map_or(Mark::Refused, Mark::Cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_one_mark() {
        let possible = Some(Cell::Possible);
        let waits = Some(Cell::Waits);
        assert_eq!(mark([(false, waits), (true, possible)].into_iter()), Mark::ReadOnly);
        assert_eq!(mark([(false, possible), (true, waits)].into_iter()), Mark::Cell(Cell::Possible));
        assert_eq!(mark([(true, possible)].into_iter()), Mark::Cell(Cell::Possible));
        assert_eq!(
            mark([(false, Some(Cell::Prevented)), (true, waits)].into_iter()),
            Mark::Cell(Cell::Waits)
        );
        assert_eq!(mark([(false, None)].into_iter()), Mark::Refused);
    }
}
