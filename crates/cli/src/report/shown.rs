//! How much a history could have shown: a verdict `holds` about transactions that never met says nothing.
//!
//! Two bars. A file that is checked shows something if one committed transaction read a key that another transaction
//! wrote: without such a read no level can be violated. A run is a test of clients that work at the same time, so two of
//! them must have met. Where there are predicates, pairs are not counted, and a committed transaction is enough.

use history::{History, Outcome, SessionId, TxnId};
use index::Index;
use isoscope::{Chances, LazyIndex};

/// The name of the session in which a run reads everything at its end.
pub const FINAL_READ: &str = "final read";

/// What a history must have in it to count as a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bar {
    /// A committed transaction read what another transaction may have written.
    ReadsOthers,
    /// Two committed transactions of different clients, which may have overlapped, touched the same key.
    ClientsMeet,
}

/// How much a history could have shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The pairs of transactions in which an anomaly would have been visible; `None` where they are not counted.
    pub chances: Option<Chances>,
    /// Why nothing could have been shown, as a clause; `None` if something could.
    pub nothing: Option<&'static str>,
}

impl Shown {
    /// For a check that ended before pairs could be counted.
    pub fn not_counted() -> Self {
        Self { chances: None, nothing: None }
    }

    /// Looks at a history.
    pub fn of(history: &History, index: &LazyIndex, bar: Bar) -> Self {
        let chances = (!history.has_predicates()).then(|| Chances::of(history, index));
        Self { nothing: nothing(history, index, bar, chances.as_ref()), chances }
    }
}

fn nothing(
    history: &History,
    index: &LazyIndex,
    bar: Bar,
    chances: Option<&Chances>,
) -> Option<&'static str> {
    let is_client = |&txn: &TxnId| history.outcome(txn) == Outcome::Committed && !is_final(history, txn);
    if !history.txns().any(|txn| is_client(&txn)) {
        return Some("no transaction committed");
    }
    let chances = chances?;
    match bar {
        // Pairs of different sessions are counted already; the others are in the index.
        Bar::ReadsOthers if chances.read_conflicts > 0 => None,
        Bar::ReadsOthers => {
            let index = index.of(history);
            let reads_another = history.txns().filter(is_client).any(|txn| reads_another(index, txn));
            (!reads_another).then_some("no committed transaction read a key that another one wrote")
        }
        Bar::ClientsMeet if chances.is_without_conflicts() => {
            Some("no two clients touched the same key at the same time")
        }
        _ => None,
    }
}

fn reads_another(index: &Index, txn: TxnId) -> bool {
    let is_written_by_another = |key| {
        let mut writes = index.writes_to(key).iter();
        writes.any(|&write| index.writes()[write as usize].txn != txn)
    };
    index.reads()[index.reads_of(txn)].iter().any(|read| is_written_by_another(read.key))
}

fn is_final(history: &History, txn: TxnId) -> bool {
    is_final_read(history, history.session_of(txn))
}

/// Whether a session is the final read of a run rather than a client.
pub fn is_final_read(history: &History, session: SessionId) -> bool {
    history.session_name(session).is_some_and(|name| name == FINAL_READ.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing_in(text: &str, bar: Bar) -> Option<&'static str> {
        let history = formats::notation::parse(text).unwrap();
        Shown::of(&history, &LazyIndex::default(), bar).nothing
    }

    #[test]
    fn a_history_without_a_meeting_shows_nothing() {
        let none = "no transaction committed";
        assert_eq!(nothing_in("a: {w(x)=1} abort\n", Bar::ReadsOthers), Some(none));
        assert_eq!(nothing_in("a: r(x)=0 w(y)=1\n", Bar::ReadsOthers).unwrap().split(' ').next(), Some("no"));
        let alone = "a: {w(x)=1} {r(x)=1}\n";
        assert_eq!(nothing_in(alone, Bar::ReadsOthers), None);
        assert!(nothing_in(alone, Bar::ClientsMeet).is_some());
        assert_eq!(nothing_in("a: w(x)=1\nb: r(x)=1\n", Bar::ClientsMeet), None);
    }
}
