//! The part of a history that shows a violation: as few transactions and operations as possible, each step with its
//! reason, and the name of the pattern.
//!
//! A [`Witness`] is a value from which text, pictures and scripts are made. Its history violates the level by itself, and
//! holds without any one of its transactions: each smaller part was asked, and every verdict went through the checker.

mod edges;
mod mentioned;
mod of_class;
mod part;
mod plain;
mod shrink;

pub use edges::{WitnessEdge, op_text};
pub use part::Part;

use certify::{Certificate, Level};
use explain::Anomaly;
use history::{History, TxnId};
use index::{FindingKind, Index};

use crate::answer::{Answer, AskedLevel};
use crate::error::Error;
use crate::explanation::{Explanation, Line};

/// What shows a violation, for people.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The level that it violates.
    pub level: AskedLevel,
    /// Other levels that it violates, of which none implies another, and for which nothing can be left out either.
    pub also: Vec<AskedLevel>,
    /// The transactions and operations that the violation needs, called as in the whole history.
    pub history: History,
    /// For each transaction of the witness the one of the whole history.
    pub txns: Vec<TxnId>,
    /// The pattern, if it has a name.
    pub anomaly: Option<Anomaly>,
    /// The class of which it is a picture, if it is not one of a level: its name, and what it is.
    pub found: Option<(&'static str, String)>,
    /// The violation in half a line.
    pub headline: String,
    /// What each of the transactions saw and did.
    pub participants: Vec<String>,
    /// The steps from one transaction to the next, in the order of the argument.
    pub edges: Vec<WitnessEdge>,
    /// Reads of the witness whose source is certain, beside those of the argument.
    pub support: Vec<WitnessEdge>,
    /// Why the level is violated, sentence by sentence. All texts are safe to print.
    pub lines: Vec<Line>,
    /// The argument about the witness, which the checker accepted, with the level that it is about.
    pub certificate: Option<(Level, Certificate)>,
    /// Whether nothing can be left out; not so if a limit was reached first.
    pub is_minimal: bool,
}

impl Witness {
    /// The name of the pattern; what fits no name is called what it is.
    pub fn name(&self) -> &'static str {
        match &self.found {
            Some((name, _)) => name,
            None => self.anomaly.map_or("contradiction between choices", Anomaly::name),
        }
    }

    /// The levels that it violates, separated by commas.
    pub fn levels(&self) -> String {
        let all: Vec<&str> = std::iter::once(&self.level).chain(&self.also).map(AskedLevel::name).collect();
        all.join(", ")
    }

    /// The class in Adya's terms, if the pattern has one.
    pub fn class(&self) -> Option<&'static str> {
        self.anomaly.and_then(Anomaly::class)
    }

    /// What the pattern means for an application.
    pub fn meaning(&self) -> &str {
        match &self.found {
            Some((_, meaning)) => meaning,
            None => self.anomaly.unwrap_or(Anomaly::Contradiction).meaning(),
        }
    }

    /// The witness without one of its transactions; the level holds for it.
    pub fn without(&self, txn: TxnId) -> Option<History> {
        let kept = part::Kept { txn: &|other| other != txn, ..part::Kept::ALL };
        Some(part::part(&self.history, &kept)?.history)
    }

    /// The history of the witness with plain names: keys `x`, `y`, values 0, 1; `None` where names mean something.
    pub fn plain(&self) -> Option<History> {
        plain::plain(&self.history)
    }

    /// Shrinks a violation.
    pub(crate) fn of(
        history: &History,
        answer: &Answer,
        ask: &shrink::Ask<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, Error> {
        let found = shrink::shrink(history, answer, ask, stop)?;
        Ok(found.map(|found| Self::told(answer.level.clone(), found)))
    }

    /// Names the pattern after the contradiction of a stronger level.
    pub(crate) fn name_by(&mut self, level: &Level, certificate: &Certificate) {
        let index = Index::of(&self.history);
        if let Some(told) = explain::explain(&self.history, &index, level, certificate) {
            self.anomaly = Some(told.anomaly);
            self.headline = edges::headline(&self.history, &told);
        }
    }

    fn told(level: AskedLevel, found: shrink::Violating) -> Self {
        let history = found.part.history;
        let index = Index::of(&history);
        let certificate = found.answer.certificate;
        let told = certificate.as_ref();
        let told = told.and_then(|(level, argument)| explain::explain(&history, &index, level, argument));
        let short = found.answer.explanation.unwrap_or_default();
        let anomaly = match &told {
            Some(told) => Some(told.anomaly),
            None => by_name(&short),
        };
        let edges = match &told {
            Some(_) => edges::of(&history, &index, told.as_ref()),
            None => short.steps.iter().filter_map(|step| edges::with_ops(&history, step)).collect(),
        };
        let headline = match &told {
            Some(told) => edges::headline(&history, told),
            None => short.headline,
        };
        Self {
            level,
            also: Vec::new(),
            anomaly,
            found: None,
            headline,
            participants: edges::participants(&history),
            support: edges::support(&history, &index, &edges),
            edges,
            lines: short.lines,
            certificate,
            is_minimal: found.is_minimal,
            txns: found.part.txns,
            history,
        }
    }
}

/// The pattern of an explanation that has no certificate.
fn by_name(explanation: &Explanation) -> Option<Anomaly> {
    let thin_air = Anomaly::Finding(FindingKind::ThinAirRead);
    (explanation.anomaly == Some(thin_air.name())).then_some(thin_air)
}
