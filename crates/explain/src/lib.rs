//! Contradictions as sentences: witnesses, reasons and anomaly names.
//!
//! A certificate of a violation is a derivation of the empty clause. [`explain`] walks back from its end, turns each
//! propagation into a reason ("this is before that, because"), takes the shortest cycle among the facts that need no
//! assumption, and tells it: the transactions that take part, what each saw and did, why each step of the cycle must be there.
//! The result is plain data; nothing here knows a terminal.
//!
//! The price is that of the part of the derivation that the contradiction rests on, with bounds on depth and length;
//! what lies beyond them is left to the certificate, and said so.

mod anomaly;
mod argument;
mod block;
mod cases;
mod cycle;
mod edge;
mod finding;
mod no_order;
mod read;
mod tell;
mod terms;

pub use anomaly::Anomaly;
pub use edge::{Edge, EdgeKind};
pub use read::session_phrase;

use certify::{Certificate, Level, Rule, Step};
use history::{History, TxnId};
use index::{Index, Scope};

use terms::Terms;

/// A violation for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The named pattern.
    pub anomaly: Anomaly,
    /// The keys on which it shows.
    pub keys: Vec<history::KeyId>,
    /// The transactions that take part, in the order in which they are told.
    pub transactions: Vec<TxnId>,
    /// The violation in half a line: `lost update on key 17 (G-single), 2 transactions`.
    pub headline: String,
    /// What each of the transactions saw and did, as far as it matters: `T812 (session 3) read 17 = 40`.
    pub participants: Vec<String>,
    /// The cycle of transactions, if the contradiction is one; each edge leads to the transaction of the next.
    pub cycle: Vec<Edge>,
    /// Why there is a contradiction, sentence by sentence.
    pub lines: Vec<Line>,
}

/// A sentence of an explanation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// How deep it is nested: a line explains the last line before it that is less deep.
    pub depth: usize,
    /// The sentence.
    pub text: String,
}

impl std::fmt::Display for Line {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:1$}{2}", "", 2 * self.depth, self.text)
    }
}

/// Explains a certificate of a violation of this level; `None` for one that says that the level holds.
///
/// The certificate should be one that [`certify::check`] accepts for the history; of any other the text makes no sense.
pub fn explain(
    history: &History,
    index: &Index,
    level: &Level,
    certificate: &Certificate,
) -> Option<Explanation> {
    let Certificate::Violated { steps, keys } = certificate else {
        return None;
    };
    // What predicates may have done is told for the keys that the certificate speaks of.
    let told = index::has_predicates(history)
        .then(|| Index::about(history, &Scope { keys: keys.as_deref(), clock_skew: level.window() }));
    let index = told.as_ref().unwrap_or(index);
    if let [Step { rule: Rule::NoOrder, .. }] = steps[..] {
        return Some(no_order::explain(&Terms::new(history, index, level)));
    }
    match cases::simplest(steps) {
        Some(case) => Some(cases::explain(history, index, level, steps, case)),
        None => Some(explain_steps(history, index, level, steps)),
    }
}

fn explain_steps(history: &History, index: &Index, level: &Level, steps: &[Step]) -> Explanation {
    let terms = Terms::new(history, index, level);
    let mut argument = argument::Argument::of(&terms, steps);
    read::read(&terms, &mut argument, steps)
}

#[cfg(test)]
mod tests;
