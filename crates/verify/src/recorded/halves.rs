//! The two halves of a long recording, run at the same time.
//!
//! The second half does not know what the first one leaves in the keys. So it begins some thousand ends earlier, with keys
//! that hold whatever is read of them first: by the middle it knows what the events that are open there depend on. What
//! the first half ran is left out of its order. Both halves are run for any number of threads, one after the other if
//! there is one, so that the order is always the same.
//!
//! The first half is the beginning of the run of the whole: if it has no explanation, the whole has none. If the second
//! one has none, or the checker refuses the order of both, the whole is run. Of 188 recordings of 600 transactions on 40
//! keys that the whole explains, both halves explain 156; of `million` they give the order of the whole.
//!
//! The second half began with reads of unknown keys that ran before the open events which wrote what they returned; the
//! order was refused for one read of `million` then. So such a read waits for its writer.

use certify::{Certificate, Node};
use history::{History, Outcome, TxnId};
use order::parallel::join;

use super::run::Ran;
use super::{Moments, run_by_time, whole};
use crate::options::{Limit, Patience};

/// A recording with fewer ends is run as a whole.
const LONG: usize = 200_000;

/// The second half begins so many ends earlier.
pub(super) const OVERLAP: usize = 4_096;

/// Whether a recording is run in halves. A list that is appended to has no length while its beginning is not known.
pub(super) fn is_cut(history: &History, moments: &Moments) -> bool {
    moments.closes.len() >= LONG && !history.has_lists()
}

/// Runs the halves; `None` for one that has no explanation.
pub(super) fn run(
    history: &History,
    moments: &Moments,
    events_per_txn: u32,
    overlap: usize,
    limit: &(dyn Fn() -> Option<Limit> + Sync),
) -> [Option<Ran>; 2] {
    let middle = moments.closes.len() / 2;
    let half = |from: usize, needed_from: usize, to: usize| {
        let mut run = whole(history, events_per_txn, from == 0);
        moments.closes[..from].iter().for_each(|&(_, node)| run.skip(node));
        run_by_time(&mut run, moments, (from, needed_from, to), &mut Patience::new(limit))?;
        Some(run.into_ran())
    };
    let (first, second) =
        join(|| half(0, 0, middle), || half(middle.saturating_sub(overlap), middle, moments.closes.len()));
    [first, second]
}

/// The order of both halves.
pub(super) fn joined(history: &History, events_per_txn: u32, first: &Ran, second: &Ran) -> Certificate {
    let has_run = |txn| {
        let commit = Node::commit(txn, events_per_txn);
        first.has(commit) || second.has(commit)
    };
    let later = second.order.iter().filter(|&&node| !first.has(node));
    let is_whole = |node: &&Node| has_run(TxnId(node.0 / events_per_txn));
    let order = first.order.iter().chain(later).filter(is_whole).copied().collect();
    let is_unknown = |&txn: &TxnId| history.outcome(txn) == Outcome::Unknown && has_run(txn);
    Certificate::Holds { order, committed_unknown: history.txns().filter(is_unknown).collect() }
}

#[cfg(test)]
mod tests {
    use certify::Level;
    use history::{Builder, InitialState, KeyId, SessionId, TxnTimes, ValueId};
    use testkit::Random;

    use super::super::moments;
    use super::*;

    /// Transactions that took effect one after the other, at a moment between their begin and their end.
    fn recording(random: &mut Random) -> History {
        const KEYS: usize = 40;
        const SESSIONS: usize = 6;
        let mut builder = Builder::new();
        builder.initial = InitialState::all(ValueId(0));
        let keys: Vec<KeyId> = (0..KEYS as i64).map(|key| builder.keys.intern_int(key)).collect();
        let sessions: Vec<SessionId> = (0..SESSIONS).map(|_| builder.session()).collect();
        let (mut store, mut free_from) = ([0; KEYS], [0; SESSIONS]);
        for number in 0..600_i64 {
            let session = number as usize % SESSIONS;
            let effect = 100 * (number + 1);
            builder.begin(sessions[session]);
            for place in 0..3 {
                let key = random.below(KEYS);
                builder.read(keys[key], ValueId(store[key]));
                if random.below(2) == 0 {
                    store[key] = number as u32 * 4 + place + 1;
                    builder.write(keys[key], ValueId(store[key]));
                }
            }
            let (begin, end) = (effect - random.below(280) as i64, effect + random.below(280) as i64);
            let times = TxnTimes {
                begin_request: Some(begin.max(free_from[session])),
                commit_response: Some(end),
                ..TxnTimes::default()
            };
            free_from[session] = end;
            builder.set_times(times).unwrap();
            builder.end(Outcome::Committed);
        }
        builder.finish()
    }

    #[test]
    fn both_halves_together_mostly_explain_what_the_whole_explains() {
        let mut random = Random::new(11);
        let mut explained = [0; 2];
        for level in [Level::STRICT_SERIALIZABLE, Level::SESSION_SNAPSHOT_ISOLATION] {
            for _ in 0..100 {
                let history = recording(&mut random);
                let events = level.events_per_txn();
                let moments = moments(&history, events, false);
                let is_right = |order: &Certificate| certify::check(&history, &level, order).is_ok();
                let mut run = whole(&history, events, true);
                let all = (0, 0, moments.closes.len());
                let by_time = run_by_time(&mut run, &moments, all, &mut Patience::new(&|| None));
                explained[0] += usize::from(by_time.is_some() && is_right(&run.finish()));
                let halves = super::run(&history, &moments, events, 100, &|| None);
                if let [Some(first), Some(second)] = halves {
                    explained[1] += usize::from(is_right(&joined(&history, events, &first, &second)));
                }
            }
        }
        assert!(explained[0] > 150 && 4 * explained[1] > 3 * explained[0], "{explained:?}");
    }
}
