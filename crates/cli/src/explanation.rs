//! Why a level is violated, in sentences, whatever the argument came from.

use history::{History, Index, TxnId};

use crate::ask::{Answer, Decision, committed_findings};

/// A violation for people.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The name of the pattern, if it has one.
    pub anomaly: Option<String>,
    /// The transactions that take part.
    pub transactions: Vec<TxnId>,
    /// What happened, one sentence each.
    pub sentences: Vec<String>,
}

impl Explanation {
    /// Explains an answer; nothing for one that is not a violation or that follows from another.
    pub fn of(history: &History, index: &Index, answer: &Answer) -> Option<Self> {
        if answer.decision != Decision::Violated || answer.follows_from.is_some() {
            return None;
        }
        Self::of_finding(history, index)
    }

    /// What validation found is enough to explain any violation.
    fn of_finding(history: &History, index: &Index) -> Option<Self> {
        let finding = committed_findings(history, index).next()?;
        let other = finding.other.map(|op| history.txn_of(op));
        let mut transactions = vec![finding.txn];
        transactions.extend(other.filter(|&other| other != finding.txn));
        let key = history.keys().original(finding.key);
        Some(Self {
            anomaly: Some(format!("{} on key {key}", finding.kind.name())),
            transactions,
            sentences: vec![finding.sentence(history)],
        })
    }
}
