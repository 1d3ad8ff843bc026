//! Why a level is violated, for people: from a certificate, from the text of a level, or from a value without a writer.

use explain::{Anomaly, Edge};
use history::{History, KeyId, OpId, TxnId, ValueId};
use index::{Finding, FindingKind, Index};

use crate::answer::{Answer, Decision};
use history::visible;

/// A violation for people. All texts are safe to print.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The name of the pattern, if it has one.
    pub anomaly: Option<&'static str>,
    /// What happened, as a clause that ends a sentence, if the pattern has a name.
    pub clause: Option<&'static str>,
    /// The violation in half a line.
    pub headline: String,
    /// The transactions that take part.
    pub transactions: Vec<TxnId>,
    /// What each of them saw and did, as far as it matters.
    pub participants: Vec<String>,
    /// Why that cannot be, sentence by sentence.
    pub lines: Vec<Line>,
    /// The steps from one transaction to another that sentences speak of, for levels that are decided from their texts.
    pub steps: Vec<Edge>,
}

/// A sentence; it explains the last one before it that is less deep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// How deep it is nested.
    pub depth: usize,
    /// The sentence.
    pub text: String,
}

impl Explanation {
    /// Explains an answer; nothing for one that is not a violation or that follows from another.
    pub(crate) fn of<'i>(
        history: &History,
        index: impl FnOnce() -> &'i Index,
        answer: &Answer,
    ) -> Option<Self> {
        if answer.decision != Decision::Violated {
            return None;
        }
        let (level, certificate) = answer.certificate.as_ref()?;
        explain::explain(history, index(), level, certificate).map(Self::of_certificate)
    }

    /// Explains that a committed transaction read a value that no transaction wrote.
    pub(crate) fn of_unwritten_read(history: &History, read: OpId, key: KeyId, value: ValueId) -> Self {
        let kind = FindingKind::ThinAirRead;
        let txn = history.txn_of(read);
        let finding = Finding { kind, txn, read, key, value, other: None };
        Self {
            anomaly: Some(kind.name()),
            clause: Some(Anomaly::Finding(kind).clause()),
            headline: format!(
                "{} on key {}",
                kind.name(),
                visible(&history.keys().original(key).to_string())
            ),
            transactions: vec![txn],
            participants: Vec::new(),
            lines: vec![Line { depth: 0, text: visible(&finding.sentence(history)) }],
            steps: Vec::new(),
        }
    }

    /// Everything there is to say, a line each, indented by depth.
    pub fn paragraphs(&self) -> Vec<String> {
        let lines = self.lines.iter();
        let lines = lines.map(|line| format!("{}{}", "  ".repeat(line.depth), line.text));
        self.participants.iter().cloned().chain(lines).collect()
    }

    fn of_certificate(explanation: explain::Explanation) -> Self {
        let lines =
            explanation.lines.into_iter().map(|line| Line { depth: line.depth, text: visible(&line.text) });
        Self {
            anomaly: Some(explanation.anomaly.name()),
            clause: Some(explanation.anomaly.clause()),
            headline: visible(&explanation.headline),
            transactions: explanation.transactions,
            participants: explanation.participants.iter().map(|text| visible(text)).collect(),
            lines: lines.collect(),
            steps: Vec::new(),
        }
    }
}
