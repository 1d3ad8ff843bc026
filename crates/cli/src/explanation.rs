//! Why a level is violated, whatever the argument came from: the engine's certificate, validation, or a definition.

use ::run::forbidden::{facts, forbids};
use history::{History, Index, TxnId};

use crate::ask::{Answer, Decision};
use crate::terminal::visible;

/// A violation for people. All texts are safe to print.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The name of the pattern, if it has one.
    pub anomaly: Option<&'static str>,
    /// The violation in half a line.
    pub headline: String,
    /// The transactions that take part.
    pub transactions: Vec<TxnId>,
    /// What each of them saw and did, as far as it matters.
    pub participants: Vec<String>,
    /// Why that cannot be, sentence by sentence.
    pub lines: Vec<Line>,
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
    pub fn of(history: &History, index: &Index, answer: &Answer) -> Option<Self> {
        if answer.decision != Decision::Violated || answer.follows_from.is_some() {
            return None;
        }
        match &answer.certificate {
            Some((level, certificate)) => {
                explain::explain(history, index, level, certificate).map(Self::of_certificate)
            }
            None => Self::of_finding(history, index, &answer.level),
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
            headline: visible(&explanation.headline),
            transactions: explanation.transactions,
            participants: explanation.participants.iter().map(|text| visible(text)).collect(),
            lines: lines.collect(),
        }
    }

    /// What validation found that a level forbids, in a history that no engine takes.
    fn of_finding(history: &History, index: &Index, level: &str) -> Option<Self> {
        let finding = facts(history, index).find(|finding| forbids(level, finding.kind))?;
        let other = finding.other.map(|op| history.txn_of(op));
        let mut transactions = vec![finding.txn];
        transactions.extend(other.filter(|&other| other != finding.txn));
        let key = history.keys().original(finding.key).to_string();
        Some(Self {
            anomaly: Some(finding.kind.name()),
            headline: format!("{} on key {}", finding.kind.name(), visible(&key)),
            transactions,
            participants: Vec::new(),
            lines: vec![Line { depth: 0, text: visible(&finding.sentence(history)) }],
        })
    }
}
