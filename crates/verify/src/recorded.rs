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
//!
//! Transactions of many sessions lie far apart in memory, and keys in no order. So what the next events need is looked up
//! for sixteen of them at a time (`Run::fetch`), which waits for memory once instead of once for each.
//! A long recording is run in two halves at the same time (`recorded/halves.rs`).

mod access;
mod halves;
mod pieces;
mod run;

use certify::{Certificate, Level, Node};
use history::{History, KeyId, Outcome, TxnId, TxnTimes};
use order::parallel::join_if;

use crate::hints;
use crate::options::{Limit, Patience};
pub use pieces::RecordedRun;
use run::{NONE, Run};

/// An order that explains a history of reads and writes of single keys, as far as its times lead to one that is
/// accepted: the checker has to say whether an order does.
pub fn explain_as_recorded(
    history: &History,
    level: &Level,
    limit: &(dyn Fn() -> Option<Limit> + Sync),
    accepts: &dyn Fn(&Certificate) -> bool,
) -> Option<Certificate> {
    let is_of_another_kind = history.has_predicates() || history.has_ranges();
    if !history.has_times() || is_of_another_kind || has_long_txns(history) {
        return None;
    }
    let own = |order: Certificate| Some(order).filter(accepts);
    let translated =
        |order: Certificate| hints::translate(&Level::SERIALIZABLE, &order, level).filter(accepts);
    match level.events_per_txn() {
        2 => explain(history, 2, limit, &own).or_else(|| explain(history, 1, limit, &translated)),
        events_per_txn => explain(history, events_per_txn, limit, &own),
    }
}

/// The order of the halves or of the whole, whichever is accepted first.
fn explain(
    history: &History,
    events_per_txn: u32,
    limit: &(dyn Fn() -> Option<Limit> + Sync),
    accepted: &dyn Fn(Certificate) -> Option<Certificate>,
) -> Option<Certificate> {
    const LARGE: usize = 50_000;
    let is_large = history.txn_count() >= LARGE;
    let moments = moments(history, events_per_txn, is_large);
    if halves::is_cut(history, &moments) {
        let [first, second] = halves::run(history, &moments, events_per_txn, halves::OVERLAP, limit);
        let first = first?;
        let joined = second.map(|second| halves::joined(history, events_per_txn, &first, &second));
        if let Some(order) = joined.and_then(accepted) {
            return Some(order);
        }
    }
    let mut run = whole(history, events_per_txn, true);
    run_by_time(&mut run, &moments, (0, 0, moments.closes.len()), &mut Patience::new(limit))?;
    accepted(run.finish())
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

fn moments(history: &History, events_per_txn: u32, is_large: bool) -> Moments {
    let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).count();
    let room = live * events_per_txn as usize;
    let mut moments = Moments { opens: Vec::with_capacity(room), closes: Vec::with_capacity(room) };
    for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
        moments.add(&history.times(txn), history.outcome(txn), txn, events_per_txn);
    }
    // Sessions come one after the other and run forwards, so these sorts merge as many runs as there are sessions.
    let Moments { opens, closes } = &mut moments;
    join_if(is_large, || opens.sort_by_key(|&(time, _)| time), || closes.sort_by_key(|&(time, _)| time));
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

/// What so many events need is looked up at the same time before they open.
const AHEAD: usize = 16;

/// Opens and closes events in the order of time, from one of the ends to another; those that end before `needed_from` may
/// fail. Of two moments at the same time the end comes first, so that events of one session stay in their order.
fn run_by_time(
    run: &mut Run<&History>,
    moments: &Moments,
    (from, needed_from, to): (usize, usize, usize),
    patience: &mut Patience<'_>,
) -> Option<()> {
    let (opens, closes) = (&moments.opens, &moments.closes);
    let begun = closes[..from].last().map_or(i64::MIN, |&(end, _)| end);
    let mut opened = opens.partition_point(|&(start, _)| start < begun);
    opens[..opened].iter().for_each(|&(_, opening)| run.open(opening));
    let mut fetched = opened;
    for (place, &(end, closing)) in closes.iter().enumerate().take(to).skip(from) {
        while let Some(&(_, opening)) = opens.get(opened).filter(|&&(start, _)| start < end) {
            patience.spend(4).ok()?;
            if opened == fetched {
                fetched = opens.len().min(opened + AHEAD);
                run.fetch(opens[opened..fetched].iter().map(|&(_, node)| node));
            }
            run.open(opening);
            opened += 1;
        }
        patience.spend(4).ok()?;
        if !run.close(closing) && place >= needed_from {
            return None;
        }
    }
    Some(())
}

/// A run with all keys and transactions of a history, from its beginning or from some other moment.
fn whole(history: &History, events_per_txn: u32, is_from_start: bool) -> Run<&History> {
    let mut run = Run::new(history, events_per_txn);
    run.reserve(history.txn_count(), history.keys().len());
    for key in (0..history.keys().len()).map(KeyId::from_index) {
        run.add_key(history.initial().value_of(key).filter(|_| is_from_start));
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
        let accepts = |order: &Certificate| certify::check(&history, level, order).is_ok();
        explain_as_recorded(&history, level, &|| None, &accepts).is_some()
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
