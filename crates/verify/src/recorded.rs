//! The order that the recorded times suggest, tried before anything is derived from the history.
//!
//! Most recordings hold, and an order explains them in which each event happens between the times that its client
//! recorded. So the events run against a store of one value for each key, in the order of their ends:
//!
//! - A transaction that changes nothing runs as soon as its reads match the store. That loses nothing.
//! - Any other event waits for its end, since until then it may run anywhere. If its reads do not match then, an open
//!   event that writes what it read runs first.
//! - Before an event overwrites a key, the open events that read what the key holds run.
//! - Where begins and commits are apart, an open commit of another writer of a key runs before a writer of the key
//!   begins.
//!
//! If an event still does not match at its end, the engine decides. The rules only guess: the checker of certificates
//! has to accept the order. Neither the index nor a graph is built, so a history that holds costs reading, this run
//! and the checker's: O(operations + transactions log transactions), 56 bytes for each key and 50 for each event.

mod access;
mod pieces;
mod run;

use certify::{Certificate, Level, Node};
use history::{History, KeyId, Outcome, TxnId, TxnTimes};
use order::parallel::join_if;

use crate::hints;
use crate::options::{Limit, Patience};
pub use pieces::RecordedRun;
use run::{NONE, Run};

/// An order that explains a history of reads and writes of single keys, as far as its times lead to one. The checker
/// has to say whether it does.
pub fn explain_as_recorded(
    history: &History,
    level: &Level,
    limit: &dyn Fn() -> Option<Limit>,
) -> Option<Certificate> {
    let is_of_another_kind = history.has_predicates() || history.has_ranges();
    if !history.has_times() || is_of_another_kind || has_long_txns(history) {
        return None;
    }
    const LARGE: usize = 50_000;
    let is_large = history.txn_count() >= LARGE;
    let run = |events_per_txn: u32| {
        let (mut run, moments) =
            join_if(is_large, || whole(history, events_per_txn), || moments(history, events_per_txn));
        run_by_time(&mut run, &moments, &mut Patience::new(limit))?;
        Some(run.finish())
    };
    match level.events_per_txn() {
        2 => run(2).or_else(|| hints::translate(&Level::SERIALIZABLE, &run(1)?, level)),
        events_per_txn => run(events_per_txn),
    }
}

/// Whether transactions are so long that looking a key up among the writes of its transaction, one by one, takes long.
fn has_long_txns(history: &History) -> bool {
    const LONG: usize = 256;
    let squares = history.txns().map(|txn| history.op_range(txn).len().pow(2));
    squares.sum::<usize>() > LONG * history.op_count().max(LONG)
}

/// The events in the order in which they can have begun, and those that ended in the order of their ends.
#[derive(Default)]
struct Moments {
    opens: Vec<(i64, Node)>,
    closes: Vec<(i64, Node)>,
}

fn moments(history: &History, events_per_txn: u32) -> Moments {
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).count();
    let room = live * events_per_txn as usize;
    let mut moments = Moments { opens: Vec::with_capacity(room), closes: Vec::with_capacity(room) };
    for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
        moments.add(&history.times(txn), history.outcome(txn), txn, events_per_txn);
    }
    // Sessions come one after the other and run forwards, so these sorts merge as many runs as there are sessions.
    moments.opens.sort_by_key(|&(time, _)| time);
    moments.closes.sort_by_key(|&(time, _)| time);
    moments
}

impl Moments {
    /// The times between which the events of a transaction happened. The commit of a transaction of unknown outcome has
    /// no end.
    fn add(&mut self, times: &TxnTimes, outcome: Outcome, txn: TxnId, events_per_txn: u32) {
        let start = times.begin_request.unwrap_or(i64::MIN);
        let end = times.commit_response.unwrap_or(i64::MAX);
        let is_committed = outcome == Outcome::Committed;
        let commit = Node::commit(txn, events_per_txn);
        if events_per_txn == 2 {
            let begin = Node::begin(txn, events_per_txn);
            self.opens.push((start, begin));
            let begun = times.begin_response.or(times.commit_request).unwrap_or(end);
            self.closes.extend(is_committed.then_some((begun, begin)));
            let asked = times.commit_request.or(times.begin_response).unwrap_or(start);
            self.opens.push((asked, commit));
        } else {
            self.opens.push((start, commit));
        }
        self.closes.extend(is_committed.then_some((end, commit)));
    }
}

/// Opens and closes events in the order of time. Of two moments at the same time the end comes first, so that events of
/// one session stay in their order.
fn run_by_time(run: &mut Run<&History>, moments: &Moments, patience: &mut Patience<'_>) -> Option<()> {
    let mut opens = moments.opens.iter().peekable();
    for &(end, closing) in &moments.closes {
        while let Some(&(_, opening)) = opens.next_if(|&&(start, _)| start < end) {
            patience.spend(4).ok()?;
            run.open(opening);
        }
        patience.spend(4).ok()?;
        run.close(closing).then_some(())?;
    }
    Some(())
}

/// A run with all keys and transactions of a history.
fn whole(history: &History, events_per_txn: u32) -> Run<&History> {
    let mut run = Run::new(history, events_per_txn);
    run.reserve(history.txn_count(), history.keys().len());
    for key in (0..history.keys().len()).map(KeyId::from_index) {
        run.add_key(history.initial().value_of(key));
    }
    for session in history.sessions() {
        // Looking back at each use would be quadratic in a session of unknown outcomes.
        let mut last = NONE;
        for txn in history.session_txns(session) {
            run.add_txn(last, history.op_range(txn).len());
            if history.outcome(txn) == Outcome::Committed {
                last = txn.0;
            }
        }
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_explained(text: &str, level: &Level) -> bool {
        let history = formats::notation::parse(text).unwrap();
        let order = explain_as_recorded(&history, level, &|| None);
        order.is_some_and(|order| certify::check(&history, level, &order).is_ok())
    }

    #[test]
    fn a_reader_that_ends_before_its_writer_runs_after_it() {
        let text = "a: w(x)=1 @[0,9]\nb: r(x)=1 @[1,2]\n";
        assert!(is_explained(text, &Level::STRICT_SERIALIZABLE));
        assert!(is_explained(text, &Level::STRONG_SI));
    }

    #[test]
    fn a_reader_that_ends_after_an_overwriter_runs_before_it() {
        let text = "a: w(x)=1 @[2,3]\nb: r(x)=0 w(y)=1 @[1,9]\n";
        assert!(is_explained(text, &Level::STRICT_SERIALIZABLE));
    }

    #[test]
    fn an_unknown_outcome_runs_where_it_was_read() {
        let text = "a: {w(x)=1} unknown @[0,1]\nb: r(x)=1 @[2,3]\nc: r(x)=1 @[4,5]\n";
        assert!(is_explained(text, &Level::STRICT_SERIALIZABLE));
        assert!(is_explained(text, &Level::STRONG_SI));
    }

    #[test]
    fn lists_run_like_values() {
        let text = "init *=nil\na: a(x)=1 @[0,5]\nb: {a(x)=2 r(x)=[1 2]} @[1,4]\nc: r(x)=[] @[0,9]\n";
        assert!(is_explained(text, &Level::STRICT_SERIALIZABLE));
    }

    #[test]
    fn a_stale_read_is_not_explained() {
        let text = "a: w(x)=1 @[0,1]\nb: r(x)=0 @[3,4]\n";
        assert!(!is_explained(text, &Level::STRICT_SERIALIZABLE));
    }
}
