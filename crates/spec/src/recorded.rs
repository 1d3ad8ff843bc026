//! The level of a history whose transactions record the levels they ran at.
//!
//! Each transaction is bound by its own level: there is one order for all, what leads into a transaction in that order
//! and what is visible to it are taken from the text of its level (Bouajjani, Enea and Román-Calvo, CAV 2025). So the
//! whole is a level like any other, a union of texts, each restricted to the transactions that ran at it. If all ran at
//! one level, it is that level.

use std::fmt;

use history::{History, Outcome, TxnId};

use crate::core::{Base, Formula, Framework, Level, Rel, Sort};
use crate::library;

/// The name under which the level is asked.
pub const NAME: &str = "recorded";

/// Why a history has no such level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoRecordedLevel {
    /// No transaction says at which level it ran.
    None,
    /// A transaction does not say at which level it ran.
    Missing(TxnId),
    /// A transaction names a level that is not known.
    Unknown(TxnId, String),
    /// A transaction names a level whose text cannot be restricted to some transactions.
    NotMixable(TxnId, String),
}

impl NoRecordedLevel {
    /// The reason as a sentence about a history.
    pub fn sentence(&self, history: &History) -> String {
        match self {
            Self::None => {
                "no transaction of this history records the level it ran at; write `\"l\":\"serializable\"` \
                           on its line, or `at serializable` in the notation"
                    .to_owned()
            }
            Self::Missing(txn) => format!(
                "{} (session {}) does not record the level it ran at, though others do",
                history.txn_label(*txn),
                history.session_label(history.session_of(*txn))
            ),
            Self::Unknown(txn, name) => {
                format!("{} records the level {name:?}, which is not known", history.txn_label(*txn))
            }
            Self::NotMixable(txn, name) => format!(
                "{} records the level {name}, which is more than one order and what is visible in it, and cannot be mixed with \
                 others",
                history.txn_label(*txn)
            ),
        }
    }
}

impl fmt::Display for NoRecordedLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(out, "no transaction records the level it ran at"),
            Self::Missing(txn) => {
                write!(out, "transaction {} does not record the level it ran at", txn.0 + 1)
            }
            Self::Unknown(txn, name) => {
                write!(out, "transaction {} records the unknown level {name:?}", txn.0 + 1)
            }
            Self::NotMixable(txn, name) => {
                write!(out, "transaction {} records the level {name}, which cannot be mixed", txn.0 + 1)
            }
        }
    }
}

impl std::error::Error for NoRecordedLevel {}

/// A recorded name as the library writes it: case, blanks, underscores and aliases do not matter.
pub fn canonical(name: &str) -> String {
    let name = name.trim().to_lowercase().replace(['_', ' '], "-");
    library::level(&name).map_or(name, |level| level.name.clone())
}

/// The level that the transactions of a history together record.
///
/// # Errors
/// If a transaction that may have committed records no level, or one that is not known or cannot be mixed.
pub fn level(history: &History) -> Result<Level, NoRecordedLevel> {
    if !history.has_levels() {
        return Err(NoRecordedLevel::None);
    }
    let (names, places) = history.level_table();
    let mut first: Vec<Option<TxnId>> = vec![None; names.len()];
    for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
        let place = places[txn.index()].ok_or(NoRecordedLevel::Missing(txn))?;
        first[place as usize].get_or_insert(txn);
    }
    let mut known: Vec<(&'static Level, TxnId)> = Vec::new();
    for (name, txn) in names.iter().zip(first) {
        let Some(txn) = txn else { continue };
        let Some(level) = library::level(&canonical(name)) else {
            return Err(NoRecordedLevel::Unknown(txn, name.clone()));
        };
        if known.iter().all(|(other, _)| other.name != level.name) {
            known.push((level, txn));
        }
    }
    match known[..] {
        [(only, _)] => Ok(Level { name: NAME.to_owned(), aliases: Vec::new(), ..only.clone() }),
        _ => mixed(&known),
    }
}

/// The union of several levels, each for the transactions that ran at it.
fn mixed(levels: &[(&'static Level, TxnId)]) -> Result<Level, NoRecordedLevel> {
    let none = || Rel::None(vec![Sort::Txn, Sort::Txn]);
    // Reads of transactions that may see uncommitted values are left out, so reads-from binds all others.
    let mut order = Rel::Base(Base::ReadsFrom);
    let mut visible = none();
    let mut names = Vec::new();
    for &(level, txn) in levels {
        names.push(level.name.as_str());
        if level.allows_uncommitted {
            continue;
        }
        let normal = level.normal_form(false);
        let sees = normal.visible.as_ref().filter(|_| {
            normal.framework == Framework::CommitOrder
                && normal.require == Formula::Const(true)
                && has_part(&normal.order, &Rel::Base(Base::ReadsFrom))
        });
        let Some(sees) = sees else { return Err(NoRecordedLevel::NotMixable(txn, level.name.clone())) };
        for part in parts(&normal.order) {
            if *part != Rel::Base(Base::ReadsFrom) {
                order = order.union(part.clone().into_level(&level.name));
            }
        }
        for part in parts(sees) {
            let part = part.clone().into_level(&level.name);
            visible = if visible == none() { part } else { visible.union(part) };
        }
    }
    Ok(Level {
        name: NAME.to_owned(),
        aliases: Vec::new(),
        description: format!("Each transaction is bound by the level that it ran at: {}.", names.join(", ")),
        framework: Framework::CommitOrder,
        allows_uncommitted: false,
        order,
        visible: Some(visible),
        require: Formula::Const(true),
        text: String::new(),
    })
}

/// Whether the level of a transaction lets it read what was never committed.
pub fn reads_uncommitted(history: &History, txn: TxnId) -> bool {
    let level = history.txn_level(txn).and_then(|name| library::level(&canonical(&name)));
    level.is_some_and(|level| level.allows_uncommitted)
}

fn parts(rel: &Rel) -> Vec<&Rel> {
    match rel {
        Rel::Union(left, right) => [parts(left), parts(right)].concat(),
        other => vec![other],
    }
}

fn has_part(rel: &Rel, part: &Rel) -> bool {
    parts(rel).contains(&part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SmallHistory, oracle};

    fn small(text: &str, levels: &[&str]) -> SmallHistory {
        let mut history = SmallHistory::parse(text).unwrap();
        for (txn, level) in history.txns.iter_mut().zip(levels) {
            txn.level = Some((*level).to_owned());
        }
        history
    }

    fn holds(text: &str, levels: &[&str]) -> bool {
        let small = small(text, levels);
        oracle::holds(&small, &level(&small.to_history()).unwrap())
    }

    #[test]
    fn the_level_of_the_reader_decides() {
        let skew = "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1";
        assert!(holds(skew, &["snapshot-isolation", "serializable"]));
        assert!(!holds(skew, &["serializable", "serializable"]));
        let fractured = "a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0";
        assert!(!holds(fractured, &["read-committed", "read-atomic"]));
        assert!(holds("a: w(x)=1 w(y)=1\nb: r(y)=0 r(x)=1", &["read-atomic", "read-committed"]));
    }

    #[test]
    fn a_transaction_without_a_level_is_an_error() {
        let history = SmallHistory::parse("a: w(x)=1\nb: r(x)=1").unwrap();
        assert_eq!(level(&history.to_history()).unwrap_err(), NoRecordedLevel::None);
        let history = small("a: w(x)=1\nb: r(x)=1", &["serializable"]).to_history();
        assert_eq!(level(&history).unwrap_err(), NoRecordedLevel::Missing(TxnId(1)));
        let history = small("a: w(x)=1", &["nonsense"]).to_history();
        assert!(matches!(level(&history), Err(NoRecordedLevel::Unknown(..))));
    }
}
