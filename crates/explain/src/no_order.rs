//! The explanation of a violation that was found by trying every order of a few transactions.
//!
//! There is no shorter argument, so the transactions are shown with what they saw and did.

use certify::Core;
use history::{Change, KeyId, Op, Outcome, Row, TxnId};

use crate::read::{headline, operation, sentence};
use crate::terms::Terms;
use crate::{Anomaly, Explanation, Line};

/// Transactions beyond this many are not shown.
const MOST_SHOWN: usize = 12;

pub(crate) fn explain(terms: &Terms<'_>) -> Explanation {
    let history = terms.history;
    let is_live = |txn: &TxnId| history.outcome(*txn) != Outcome::Aborted;
    let transactions: Vec<TxnId> = history.txns().filter(is_live).collect();
    let keys: Vec<KeyId> = (0..history.keys().len()).map(KeyId::from_index).collect();
    let shown = transactions.iter().take(MOST_SHOWN);
    Explanation {
        anomaly: Anomaly::Contradiction,
        headline: headline(terms, Anomaly::Contradiction, &[], transactions.len()),
        participants: shown.map(|&txn| participant(terms, txn)).collect(),
        lines: lines(terms, transactions.len()),
        transactions,
        keys,
        cycle: Vec::new(),
    }
}

/// A transaction with all that it did: any operation may be the one that contradicts the others.
fn participant(terms: &Terms<'_>, txn: TxnId) -> String {
    let ops = terms.history.ops(txn).map(|(_, op)| match op.key() {
        Some(key) => operation(terms, key, &op),
        None => of_rows(terms, &op),
    });
    sentence(terms, txn, ops.collect())
}

/// What an operation on several rows did.
fn of_rows(terms: &Terms<'_>, op: &Op<'_>) -> String {
    match op {
        Op::PredicateRead(read) => {
            format!("read the rows where {} and got {}", read.predicate, rows(terms, &read.rows))
        }
        Op::PredicateWrite(write) => match &write.change {
            Change::Set(value) => format!("set the rows where {} to {value}", write.predicate),
            Change::Delete => format!("deleted the rows where {}", write.predicate),
        },
        Op::RangeRead(read) => format!("read a range and got {}", rows(terms, &read.rows)),
        _ => "did nothing that is known".to_owned(),
    }
}

fn rows(terms: &Terms<'_>, rows: &Option<Vec<Row>>) -> String {
    let Some(rows) = rows else { return "an unknown answer".to_owned() };
    let told = rows.iter().map(|row| match row.is_dead {
        true => format!("{} deleted", terms.key(row.key)),
        false => format!("{} = {}", terms.key(row.key), terms.value(row.value)),
    });
    match rows.is_empty() {
        true => "none".to_owned(),
        false => told.collect::<Vec<_>>().join(", "),
    }
}

fn lines(terms: &Terms<'_>, count: usize) -> Vec<Line> {
    let events = match terms.level.core {
        Core::Serializable => "transactions",
        Core::Snapshot | Core::Prefix => "begins and commits",
    };
    let line = |text: String| Line { depth: 0, text };
    let mut lines = vec![line(format!(
        "Every order of the {events} that the level allows was tried; in each of them some operation returns \
         something else than it did."
    ))];
    if count > MOST_SHOWN {
        lines.push(line(format!("{} of the {count} transactions are not shown.", count - MOST_SHOWN)));
    }
    lines
}
