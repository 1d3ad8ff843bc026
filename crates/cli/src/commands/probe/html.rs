//! The table of litmus tests for the HTML report: a transcript behind every cell.

use picture::{Cell, LitmusTable, Page};
use probe::{Finding, Report, transcript};

/// The page of one database.
pub fn page(report: &Report) -> Page<'static> {
    let tables = (0..report.suites.len()).map(|suite| table(report, suite));
    Page {
        title: super::text::headline(report),
        about: format!(
            "{} Every cell opens the transcript of its test.",
            super::text::sentence(report)
                .unwrap_or_else(|| "Which anomalies each setting allows.".to_owned())
        ),
        tables: tables.collect(),
        ..Page::default()
    }
}

/// The table of one suite.
pub fn table(report: &Report, suite: usize) -> LitmusTable {
    let schedules = &report.suites[suite].schedules;
    let row = |row: &probe::Row| {
        let cells =
            schedules.iter().zip(&row.findings[suite]).map(|(schedule, finding)| cell(schedule, finding));
        (row.setting.name.clone(), cells.collect())
    };
    LitmusTable {
        title: report.suites[suite].name.clone(),
        columns: schedules.iter().map(|schedule| schedule.name.clone()).collect(),
        rows: report.rows.iter().map(row).collect(),
    }
}

fn cell(schedule: &probe::Schedule, finding: &Finding) -> Cell {
    match finding {
        Finding::Ran(ran) => Cell {
            word: word(ran.1.cell).to_owned(),
            is_bad: ran.1.cell == probe::Cell::Possible,
            transcript: transcript(schedule, &ran.0, &ran.1),
        },
        Finding::Refused(reason) => {
            Cell { word: "not asked".to_owned(), is_bad: false, transcript: reason.clone() }
        }
    }
}

fn word(cell: probe::Cell) -> &'static str {
    match cell {
        probe::Cell::Possible => "possible",
        probe::Cell::Aborts => "aborts",
        probe::Cell::Waits => "waits",
        probe::Cell::Prevented => "prevented",
        probe::Cell::Stuck => "stuck",
    }
}
