//! The explanation of a violation that was found by trying every order of a few transactions.
//!
//! There is no shorter argument, so the transactions are shown with what they saw and did.

use certify::Core;
use history::{KeyId, Outcome, TxnId};

use crate::read::{headline, participant};
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
        participants: shown.map(|&txn| participant(terms, txn, &keys)).collect(),
        lines: lines(terms, transactions.len()),
        transactions,
        keys,
        cycle: Vec::new(),
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
