//! A run as people read it: a column for each session, time going down.

use databases::{Failure, Reply};
use history::Datum;

use crate::{Detail, End, Event, Judgement, Run, Schedule};

/// The widest column; what is longer goes on to the right.
const WIDEST: usize = 34;

/// The transcript, without its last line break.
pub fn transcript(schedule: &Schedule, run: &Run, judgement: &Judgement) -> String {
    let cells: Vec<String> = run.events.iter().map(cell).collect();
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).clamp(10, WIDEST);
    let mut lines = vec![head(run.ends.len(), width)];
    for (event, cell) in run.events.iter().zip(&cells) {
        lines.push(format!("  {}{cell}", " ".repeat(event.txn.0 * (width + 2))));
    }
    lines.push(String::new());
    lines.push(format!(
        "  left at the end: {}",
        shown_rows(&run.left.clone().into_iter().collect::<Vec<_>>())
    ));
    lines.extend(ends(run));
    lines.push(format!("  {}", conclusion(schedule, run, judgement)));
    lines.join("\n")
}

fn head(count: usize, width: usize) -> String {
    let names = (1..=count).map(|number| format!("{:<width$}", format!("session {number}")));
    format!("  {}", names.collect::<Vec<_>>().join("  ").trim_end())
}

fn cell(event: &Event) -> String {
    let text = &event.text;
    match &event.detail {
        Detail::Answered(answer) => format!("{text}{}", shown_answer(answer)),
        Detail::AnsweredLate(answer) => format!("… {text}{}", shown_answer(answer)),
        Detail::Ended => text.clone(),
        Detail::EndedLate => format!("… {text}"),
        Detail::Waits => format!("{text} waits"),
        Detail::Failed(failure) => format!("{text} ✗ {}", code_of(failure)),
        Detail::Skipped => format!("({text})"),
        Detail::Stuck => format!("{text} never answers"),
    }
}

fn code_of(failure: &Failure) -> String {
    failure.code.clone().unwrap_or_else(|| "rolled back".to_owned())
}

fn shown_answer(answer: &Reply) -> String {
    match answer {
        Reply::Done => String::new(),
        Reply::Count(0) => " → no row".to_owned(),
        Reply::Count(1) => " → 1 row".to_owned(),
        Reply::Count(count) => format!(" → {count} rows"),
        Reply::Row(None) => " → nothing".to_owned(),
        Reply::Row(Some(row)) => format!(" → {}", shown_row(row)),
        Reply::Rows(rows) => format!(" → {}", shown_rows(rows)),
    }
}

fn shown_row(row: &[Datum]) -> String {
    match row {
        [value] => value.to_string(),
        _ => {
            let values: Vec<String> = row.iter().map(Datum::to_string).collect();
            format!("({})", values.join(","))
        }
    }
}

fn shown_rows(rows: &[(Datum, Vec<Datum>)]) -> String {
    let rows: Vec<String> =
        rows.iter().map(|(key, row)| format!("{}={}", shown_key(key), shown_row(row))).collect();
    match rows.is_empty() {
        true => "nothing".to_owned(),
        false => rows.join(" "),
    }
}

/// Keys are written as the notation writes them: words without quotes.
fn shown_key(key: &Datum) -> String {
    match key {
        Datum::Str(word) => word.to_string(),
        other => other.to_string(),
    }
}

fn ends(run: &Run) -> impl Iterator<Item = String> {
    run.ends.iter().enumerate().filter_map(|(place, end)| {
        let number = place + 1;
        match end {
            End::Committed => None,
            End::Aborted => Some(format!("  session {number} was asked to roll back")),
            End::Stuck => Some(format!("  session {number} never came to an end")),
            End::RolledBack(failure) => {
                Some(format!("  session {number} was rolled back: {}", failure.message))
            }
        }
    })
}

fn conclusion(schedule: &Schedule, run: &Run, judgement: &Judgement) -> String {
    let word = judgement.cell.word();
    let serial = match &judgement.serial_order {
        _ if run.committed().is_empty() => "nothing committed".to_owned(),
        Some(order) if order.len() == 1 => format!("the same as session {} alone", order[0].number()),
        Some(order) => {
            let names: Vec<String> = order.iter().map(|txn| txn.number().to_string()).collect();
            format!("the same as sessions {} one after another", names.join(", "))
        }
        None => "no serial order of what committed gives this".to_owned(),
    };
    format!("{}: {word}; {serial}", schedule.name)
}
