//! The transactions around a witness, for the report: those that may have overlapped it or are next to it in its
//! sessions, and how the others are spread over sessions and time.
//!
//! At most 200 transactions are listed and 64 sessions drawn, so the size does not depend on the history.

use std::fmt::Write;

use history::{History, TxnId, visible};
use isoscope::Witness;
use isoscope::units::{count, counted};
use isoscope::witness::op_text;

use crate::text::{short, text};

/// So many transactions are listed.
const LISTED: usize = 200;
/// So many sessions are drawn.
const SESSIONS: usize = 64;
/// So many cells has a session.
const CELLS: usize = 96;
/// Without times, so many transactions before and after each one of the witness.
const NEIGHBOURS: usize = 3;
/// So many operations of a transaction are written.
const OPERATIONS: usize = 8;

/// The section, closed until the reader opens it.
pub fn around(history: &History, witness: &Witness) -> String {
    let (near, left_out) = near(history, witness);
    if near.is_empty() {
        return String::new();
    }
    let mut out = String::from("<details class=\"around\"><summary>The transactions around it</summary>\n");
    put_density(&mut out, history, witness);
    for session in history.sessions() {
        let txns: Vec<TxnId> =
            near.iter().copied().filter(|&txn| history.session_of(txn) == session).collect();
        if txns.is_empty() {
            continue;
        }
        let name = text(&short(&history.session_label(session), 60));
        let _ = writeln!(out, "<h4>session {name}</h4>\n<ul class=\"plain\">");
        for txn in txns {
            put_txn(&mut out, history, txn, witness.txns.contains(&txn));
        }
        out.push_str("</ul>\n");
    }
    if left_out > 0 {
        let _ = writeln!(out, "<p>{} more overlapped the witness and are not listed.</p>", count(left_out));
    }
    out.push_str("</details>\n");
    out
}

/// The transactions of the witness and those next to it, and how many more there would be.
fn near(history: &History, witness: &Witness) -> (Vec<TxnId>, usize) {
    let mut near: Vec<TxnId> = Vec::new();
    for &txn in &witness.txns {
        let session: Vec<TxnId> = history.session_txns(history.session_of(txn)).collect();
        let place = history.place_in_session(txn);
        let (from, to) = (place.saturating_sub(NEIGHBOURS), (place + NEIGHBOURS + 1).min(session.len()));
        near.extend(&session[from..to]);
    }
    near.sort_unstable();
    near.dedup();
    let spans: Vec<(i64, i64)> = witness
        .txns
        .iter()
        .filter_map(|&txn| Some((history.times(txn).start()?, history.times(txn).end().unwrap_or(i64::MAX))))
        .collect();
    let overlaps = |txn: &TxnId| {
        let times = history.times(*txn);
        let (Some(start), end) = (times.start(), times.end().unwrap_or(i64::MAX)) else { return false };
        spans.iter().any(|&(from, to)| start <= to && from <= end)
    };
    let is_new = |txn: &TxnId| near.binary_search(txn).is_err();
    let mut more: Vec<TxnId> = match spans.is_empty() {
        true => Vec::new(),
        false => history.txns().filter(is_new).filter(overlaps).collect(),
    };
    let left_out = more.len().saturating_sub(LISTED.saturating_sub(near.len()));
    more.truncate(more.len() - left_out);
    near.extend(more);
    near.truncate(LISTED);
    near.sort_unstable();
    (near, left_out)
}

fn put_txn(out: &mut String, history: &History, txn: TxnId, is_in_witness: bool) {
    let name = text(&short(&visible(&history.txn_label(txn)), 40));
    let mut ops: Vec<String> =
        history.ops(txn).take(OPERATIONS).map(|(_, op)| text(&short(&op_text(history, op), 60))).collect();
    let more = history.op_range(txn).len().saturating_sub(OPERATIONS);
    if more > 0 {
        ops.push(format!("and {}", counted(more, "more operation")));
    }
    let name = match is_in_witness {
        true => format!("<strong>{name}</strong> (of the witness)"),
        false => name,
    };
    let _ = writeln!(out, "<li>{name}: {}</li>", ops.join(", "));
}

/// Where each transaction is: by its begin, or by its place in its session.
fn position(history: &History, txn: TxnId, span: Option<(i64, i64)>) -> usize {
    let share = match (span, history.times(txn).start()) {
        (Some((from, to)), Some(start)) => (start as f64 - from as f64) / (to as f64 - from as f64).max(1.0),
        _ => {
            let length = history.session_txns(history.session_of(txn)).len();
            history.place_in_session(txn) as f64 / length.max(1) as f64
        }
    };
    ((share * CELLS as f64) as usize).min(CELLS - 1)
}

fn put_density(out: &mut String, history: &History, witness: &Witness) {
    const CELL: f64 = 6.0;
    const ROW: usize = 12;
    let starts = || history.txns().filter_map(|txn| history.times(txn).start());
    let span = starts().min().zip(starts().max());
    let sessions: Vec<_> = history.sessions().take(SESSIONS).collect();
    let (width, height) = (CELLS as f64 * CELL, sessions.len() * ROW);
    let by = if span.is_some() { "time" } else { "place in the session" };
    let label = format!(
        "{} in {}, by {by}; the transactions of the witness are marked",
        counted(history.txn_count(), "transaction"),
        counted(history.session_count(), "session")
    );
    let _ = writeln!(
        out,
        "<p>{label}.</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"where the transactions are\"><svg class=\"density\" \
         role=\"img\" aria-label=\"{label}\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
    );
    for (row, &session) in sessions.iter().enumerate() {
        let mut cells = [0usize; CELLS];
        history.session_txns(session).for_each(|txn| cells[position(history, txn, span)] += 1);
        let most = cells.iter().copied().max().unwrap_or(0).max(1);
        for (class, least) in [("few", 0.0), ("some", 0.34), ("many", 0.67)] {
            let is_in = |&number: &usize| {
                let share = number as f64 / most as f64;
                number > 0 && share > least && share <= least + 0.34
            };
            let path: String = (0..CELLS)
                .filter(|&cell| is_in(&cells[cell]))
                .map(|cell| format!("M{} {}h5v9h-5z", cell as f64 * CELL, row * ROW + 1))
                .collect();
            if !path.is_empty() {
                let _ = writeln!(out, "<path class=\"{class}\" d=\"{path}\"/>");
            }
        }
    }
    for &txn in &witness.txns {
        let session = history.session_of(txn).index();
        if session < sessions.len() {
            let x = position(history, txn, span) as f64 * CELL;
            let _ = writeln!(
                out,
                "<rect class=\"mark\" x=\"{x}\" y=\"{}\" width=\"5\" height=\"11\"/>",
                session * ROW
            );
        }
    }
    out.push_str("</svg></div>\n");
}
