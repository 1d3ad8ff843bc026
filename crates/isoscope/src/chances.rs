//! How much a history could have shown: the pairs of transactions in which an anomaly would have been visible.
//!
//! A run without conflicts satisfies every level and says nothing. Pairs are of different sessions and, where there are
//! times, of transactions that may have overlapped. Pairs on one key are counted by sorting the writers of the key,
//! pairs on two keys by walking from each reader to the writers of its keys.
//!
//! A large history is counted in part: some keys, and some readers with the writers of their keys. A few readers tell
//! what walking takes; beyond a budget even fewer are walked from, and only to some writers of each key. What is counted
//! in part is an estimate with an error (the sample is random, but the same for the same history). So counting takes one
//! pass over the operations and some milliseconds, and no index: walking from all readers of a million
//! transactions took a quarter of a whole check.

mod touches;

use history::{History, KeyId, Outcome, TxnId};

use crate::LazyIndex;
use touches::{Reads, Touches, Writer};

/// The pairs; a pair counts once for each key (or pair of keys) on which it conflicts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Chances {
    /// A transaction that reads a key and one that writes it.
    pub read_conflicts: u64,
    /// Two transactions that write the same key.
    pub write_conflicts: u64,
    /// Two transactions that both read and write the same key: one update could have been lost.
    pub lost_update: u64,
    /// A transaction that reads two keys and one that writes both: half of a write could have been seen.
    pub read_skew: u64,
    /// Two transactions each of which reads a key that the other writes.
    pub write_skew: u64,
    /// The errors of what was estimated from a sample; `None` if everything was counted.
    pub errors: Option<ChanceErrors>,
}

/// Two standard errors of each estimate: the true number is within them in 95 of 100 samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct ChanceErrors {
    /// That of [`Chances::read_conflicts`].
    pub read_conflicts: u64,
    /// That of [`Chances::write_conflicts`].
    pub write_conflicts: u64,
    /// That of [`Chances::lost_update`].
    pub lost_update: u64,
    /// That of [`Chances::read_skew`].
    pub read_skew: u64,
    /// That of [`Chances::write_skew`].
    pub write_skew: u64,
}

/// How much is counted.
#[derive(Clone, Copy)]
struct Budget {
    /// Operations of the readers that are walked from, and of the writers of the keys whose pairs are counted.
    operations: usize,
    /// Steps of walking: some milliseconds.
    steps: u64,
}

const BUDGET: Budget = Budget { operations: 20_000, steps: 50_000 };

/// The readers from which it is estimated what walking takes.
const PILOT_READERS: usize = 100;

/// In a sample, about so many writers of a key are looked at from each read.
const WRITERS_OF_SAMPLE: usize = 32;

impl Chances {
    /// Counts. The index is built only where ranges are read.
    pub fn of(history: &History, index: &LazyIndex) -> Self {
        Self::within(history, Reads::of(history, index), BUDGET)
    }

    fn within(history: &History, reads: Reads<'_>, budget: Budget) -> Self {
        let is_committed = |&txn: &TxnId| history.outcome(txn) == Outcome::Committed;
        let mut readers: Vec<TxnId> = history.txns().filter(is_committed).collect();
        let all = readers.len();
        let kept = share_within(all, history.op_count(), budget.operations);
        choose(&mut readers, kept);
        let keys = history.keys().len();
        let stride = keys.div_ceil(share_within(keys, history.op_count(), budget.operations).max(1)).max(1);
        let touches = Touches::of(history, reads, &readers, stride);
        let pairs = Pairs::of(history, &touches, stride);
        let crossings = Crossings::of(history, touches, readers, all, budget.steps);
        let [conflicts, read_skew, write_skew] = crossings.estimates();
        let errors = ChanceErrors {
            read_conflicts: conflicts.1,
            write_conflicts: pairs.write_conflicts.1,
            lost_update: pairs.lost_update.1,
            // Each pair on two keys was seen twice: from both of its keys, or from both of its transactions.
            read_skew: read_skew.1 / 2,
            write_skew: write_skew.1 / 2,
        };
        Self {
            read_conflicts: conflicts.0,
            write_conflicts: pairs.write_conflicts.0,
            lost_update: pairs.lost_update.0,
            read_skew: read_skew.0 / 2,
            write_skew: write_skew.0 / 2,
            errors: (stride > 1 || crossings.is_sample).then_some(errors),
        }
    }

    /// Whether no transaction met another one: whatever the database did, isolation could not have been violated
    /// between clients.
    pub fn is_without_conflicts(&self) -> bool {
        self.errors.is_none() && self.read_conflicts == 0 && self.write_conflicts == 0
    }
}

/// How many of some things to look at, so that about so many of the operations are looked at.
fn share_within(all: usize, operations: usize, most: usize) -> usize {
    match operations <= most {
        true => all,
        false => (all as u128 * most as u128 / operations as u128) as usize,
    }
}

/// Keeps so many of the transactions, at random but alike for the same number, in their order.
fn choose(txns: &mut Vec<TxnId>, kept: usize) {
    if kept >= txns.len() {
        return;
    }
    let mut state = 1;
    for place in 0..kept {
        let left = (txns.len() - place) as u64;
        txns.swap(place, place + (random(&mut state) % left) as usize);
    }
    txns.truncate(kept);
    txns.sort_unstable();
}

/// Pairs of writers of one key, over every so many keys: the number, and two standard errors.
struct Pairs {
    write_conflicts: (u64, u64),
    lost_update: (u64, u64),
}

impl Pairs {
    fn of(history: &History, touches: &Touches<'_>, stride: usize) -> Self {
        let keys = history.keys().len();
        let (mut conflicts, mut lost, mut seen) = (Sum::default(), Sum::default(), 0);
        let (mut writers, mut updaters) = (Vec::new(), Vec::new());
        for key in (0..keys).step_by(stride) {
            let of_key = touches.writers_of(KeyId::from_index(key));
            writers.clear();
            writers.extend(of_key.iter().map(|writer| writer.txn));
            updaters.clear();
            updaters.extend(of_key.iter().filter(|writer| writer.is_update).map(|writer| writer.txn));
            conflicts.add(concurrent_pairs(history, &writers));
            lost.add(concurrent_pairs(history, &updaters));
            seen += 1;
        }
        Self { write_conflicts: conflicts.scaled(seen, keys), lost_update: lost.scaled(seen, keys) }
    }
}

/// The pairs of different sessions that may have overlapped.
fn concurrent_pairs(history: &History, txns: &[TxnId]) -> u64 {
    let pairs = |count: u64| count * count.saturating_sub(1) / 2;
    if txns.len() < 2 {
        return 0;
    }
    if !history.has_times() {
        let mut sessions: Vec<_> = txns.iter().map(|&txn| history.session_of(txn)).collect();
        sessions.sort_unstable();
        let same: u64 =
            sessions.chunk_by(|left, right| left == right).map(|run| pairs(run.len() as u64)).sum();
        return pairs(txns.len() as u64) - same;
    }
    let mut ends: Vec<i64> = txns.iter().map(|&txn| history.times(txn).end().unwrap_or(i64::MAX)).collect();
    ends.sort_unstable();
    let apart = |&txn: &TxnId| match history.times(txn).start() {
        Some(start) => ends.partition_point(|&end| end < start) as u64,
        None => 0,
    };
    pairs(txns.len() as u64).saturating_sub(txns.iter().map(apart).sum())
}

/// The writers of a key by the time of their ends.
struct Writers {
    txns: Vec<TxnId>,
    ends: Vec<i64>,
    /// For each writer the earliest start of it and those after it.
    earliest_starts: Vec<i64>,
}

impl Writers {
    fn of(history: &History, writers: &[Writer]) -> Self {
        let by_end = writers.iter().map(|writer| (span(history, writer.txn).1, writer.txn));
        let mut by_end: Vec<(i64, TxnId)> = by_end.collect();
        by_end.sort_unstable();
        let mut earliest = i64::MAX;
        let mut earliest_starts: Vec<i64> = by_end
            .iter()
            .rev()
            .map(|&(_, txn)| {
                earliest = earliest.min(span(history, txn).0);
                earliest
            })
            .collect();
        earliest_starts.reverse();
        let (ends, txns) = by_end.into_iter().unzip();
        Self { txns, ends, earliest_starts }
    }

    /// The writers that may overlap a span; some of them begin after it.
    fn near(&self, (start, end): (i64, i64)) -> &[TxnId] {
        let first = self.ends.partition_point(|&other| other < start);
        let after = self.earliest_starts.partition_point(|&other| other <= end);
        &self.txns[first..after.max(first)]
    }
}

/// From when to when a transaction may have run.
fn span(history: &History, txn: TxnId) -> (i64, i64) {
    let times = history.times(txn);
    (times.start().unwrap_or(i64::MIN), times.end().unwrap_or(i64::MAX))
}

/// A sum over a sample.
#[derive(Default)]
struct Sum {
    sum: u64,
    squares: f64,
}

impl Sum {
    fn add(&mut self, number: u64) {
        self.sum += number;
        self.squares += (number as f64).powi(2);
    }

    /// The sum over all, of which `seen` are the sample, and two standard errors.
    fn scaled(&self, seen: usize, all: usize) -> (u64, u64) {
        if seen == all {
            return (self.sum, 0);
        }
        let (seen, all) = (seen as f64, all as f64);
        let mean = self.sum as f64 / seen.max(1.0);
        let variance = (self.squares - seen * mean * mean).max(0.0) / (seen - 1.0).max(1.0);
        let error = 2.0 * all * (variance / seen.max(1.0)).sqrt();
        ((mean * all).round() as u64, error.ceil() as u64)
    }
}

/// Counts pairs on two keys.
struct Crossings<'h> {
    history: &'h History,
    touches: Touches<'h>,
    /// The writers of the keys that were looked at.
    writers: Vec<Option<Box<Writers>>>,
    /// For each key the last reader that was looked from, and the last that also writes it.
    read_by: Vec<u32>,
    written_by: Vec<u32>,
    /// How many committed transactions there are, and from how many was looked.
    all: usize,
    seen: usize,
    /// Whether only some readers are looked from, or at some writers of a key only.
    is_sample: bool,
    /// What the current reader adds: read conflicts, read skews and write skews.
    of_reader: [u64; 3],
    sums: [Sum; 3],
    steps: u64,
    /// The steps that looking at all writers would have taken.
    whole_steps: u64,
    random: u64,
}

impl<'h> Crossings<'h> {
    /// Looks from all of these readers, or from fewer if that exceeds the steps.
    fn of(history: &'h History, touches: Touches<'h>, readers: Vec<TxnId>, all: usize, steps: u64) -> Self {
        let mut pilot = Self::new(history, touches, all, true);
        pilot.look_from_some(&mut readers.clone(), PILOT_READERS, steps);
        let estimate = pilot.whole_steps as u128 * readers.len() as u128 / (pilot.seen as u128).max(1);
        let is_too_much = estimate > u128::from(steps);
        let mut crossings = Self::new(history, pilot.touches, all, is_too_much);
        match is_too_much {
            true => crossings.look_from_some(&mut { readers }, usize::MAX, steps),
            false => crossings.look_from_all(&readers),
        }
        crossings.is_sample |= crossings.seen < all;
        crossings
    }

    fn new(history: &'h History, touches: Touches<'h>, all: usize, is_sample: bool) -> Self {
        let keys = history.keys().len();
        Self {
            history,
            touches,
            writers: (0..keys).map(|_| None).collect(),
            read_by: vec![u32::MAX; keys],
            written_by: vec![u32::MAX; keys],
            all,
            seen: 0,
            is_sample,
            of_reader: [0; 3],
            sums: Default::default(),
            steps: 0,
            whole_steps: 0,
            random: 0,
        }
    }

    /// Looks from so many of the readers in a random order, until the budget is spent. A sample needs some readers,
    /// whatever they take.
    fn look_from_some(&mut self, readers: &mut [TxnId], most: usize, budget: u64) {
        const LEAST: usize = 30;
        while self.seen < readers.len().min(most) && (self.steps <= budget || self.seen < LEAST) {
            let left = (readers.len() - self.seen) as u64;
            let chosen = self.seen + (random(&mut self.random) % left) as usize;
            readers.swap(self.seen, chosen);
            self.look_from(readers[self.seen]);
        }
    }

    fn look_from_all(&mut self, readers: &[TxnId]) {
        readers.iter().for_each(|&reader| self.look_from(reader));
    }

    /// The read conflicts, read skews and write skews of all readers, each with its error.
    fn estimates(&self) -> [(u64, u64); 3] {
        [0, 1, 2].map(|place| self.sums[place].scaled(self.seen, self.all))
    }

    fn look_from(&mut self, reader: TxnId) {
        let own = self.touches.of_txn(reader);
        self.touches.keys(own.reads()).iter().for_each(|key| self.read_by[key.index()] = reader.0);
        self.touches.keys(own.writes()).iter().for_each(|key| self.written_by[key.index()] = reader.0);
        // A skew is about two keys of the reader.
        let may_show_skew = own.all().len() > 1;
        self.of_reader = [0; 3];
        for place in own.reads() {
            let key = self.touches.keys(place..place + 1)[0];
            let writers = self.writers[key.index()].take().unwrap_or_else(|| self.writers_of(key));
            let near = writers.near(span(self.history, reader));
            let stride = if self.is_sample { near.len().div_ceil(WRITERS_OF_SAMPLE).max(1) } else { 1 };
            let first = (random(&mut self.random) % stride as u64) as usize;
            let before = self.steps;
            for &writer in near.iter().skip(first).step_by(stride) {
                self.look_at(reader, key, writer, stride as u64, may_show_skew);
            }
            self.whole_steps += (self.steps - before) * stride as u64;
            self.writers[key.index()] = Some(writers);
        }
        self.seen += 1;
        for (sum, number) in self.sums.iter_mut().zip(self.of_reader) {
            sum.add(number);
        }
    }

    fn writers_of(&mut self, key: KeyId) -> Box<Writers> {
        let of_key = self.touches.writers_of(key);
        self.steps += of_key.len() as u64;
        Box::new(Writers::of(self.history, of_key))
    }

    /// Looks at a writer that stands for so many.
    fn look_at(&mut self, reader: TxnId, key: KeyId, writer: TxnId, weight: u64, may_show_skew: bool) {
        let history = self.history;
        self.steps += 1;
        let is_later = span(history, writer).0 > span(history, reader).1;
        if is_later || history.session_of(reader) == history.session_of(writer) {
            return;
        }
        self.of_reader[0] += weight;
        if !may_show_skew {
            return;
        }
        let other = self.touches.of_txn(writer);
        self.steps += other.all().len() as u64;
        let is_other_key_read = |write: &&KeyId| **write != key && self.read_by[write.index()] == reader.0;
        let is_other_key_written = |read: &&KeyId| **read != key && self.written_by[read.index()] == reader.0;
        let read_skews = self.touches.keys(other.writes()).iter().filter(is_other_key_read).count();
        let write_skews = self.touches.keys(other.reads()).iter().filter(is_other_key_written).count();
        self.of_reader[1] += weight * read_skews as u64;
        self.of_reader[2] += weight * write_skews as u64;
    }
}

/// The next number of Steele's and Vigna's SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use index::Index;

    fn chances(text: &str) -> Chances {
        let history = formats::notation::parse(text).unwrap();
        Chances::of(&history, &LazyIndex::default())
    }

    #[test]
    fn each_pair_is_counted_once() {
        let skew = chances("a: r(x)=0 w(y)=1\nb: r(y)=0 w(x)=1\n");
        assert_eq!(skew.write_skew, 1);
        assert_eq!((skew.write_conflicts, skew.lost_update, skew.read_skew), (0, 0, 0));
        let lost = chances("a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2\nc: w(x)=3\n");
        assert_eq!((lost.write_conflicts, lost.lost_update), (3, 1));
        let fractured = chances("a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0\n");
        assert_eq!(fractured.read_skew, 1);
    }

    #[test]
    fn transactions_of_one_session_are_no_pair() {
        let none = chances("a: {r(x)=0 w(x)=1} {r(x)=1 w(x)=2}\n");
        assert_eq!(none, Chances::default());
        assert!(none.is_without_conflicts());
        assert!(!chances("a: w(x)=1\nb: r(x)=1\n").is_without_conflicts());
    }

    /// Pairs counted from all pairs of transactions, whatever that takes.
    fn all_pairs(history: &History, index: &Index) -> [u64; 3] {
        let (mut conflicts, mut read_skew, mut write_skew) = (0, 0, 0);
        let committed: Vec<TxnId> =
            history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed).collect();
        for (&left, &right) in
            committed.iter().flat_map(|left| committed.iter().map(move |right| (left, right)))
        {
            let (a, b) = (span(history, left), span(history, right));
            if history.session_of(left) == history.session_of(right) || a.1 < b.0 || b.1 < a.0 {
                continue;
            }
            let common = |reader: TxnId, writer: TxnId| -> Vec<KeyId> {
                let written =
                    |key| index.writes()[index.writes_of(writer)].iter().any(|write| write.key == key);
                let reads = index.reads()[index.reads_of(reader)].iter().map(|read| read.key);
                reads.filter(|&key| written(key)).collect()
            };
            let (there, back) = (common(left, right), common(right, left));
            conflicts += there.len() as u64;
            read_skew += (there.len() * there.len().saturating_sub(1)) as u64;
            write_skew +=
                there.iter().flat_map(|key| back.iter().filter(move |other| *other != key)).count() as u64;
        }
        [conflicts, read_skew / 2, write_skew / 2]
    }

    /// A generated history of 600 transactions, with times or without.
    fn busy(has_times: bool) -> History {
        let base = drive::simulate::Config::default();
        let config = drive::simulate::Config { transactions: 600, keys: 60, record_times: has_times, ..base };
        drive::simulate::generate(&config).unwrap()
    }

    #[test]
    fn a_sample_comes_near_to_all_pairs() {
        for has_times in [true, false] {
            let history = busy(has_times);
            let lazy = LazyIndex::default();
            let index = lazy.of(&history);
            let [conflicts, read_skew, write_skew] = all_pairs(&history, index);
            let reads = || Reads::of(&history, &lazy);
            let whole =
                Chances::within(&history, reads(), Budget { operations: usize::MAX, steps: u64::MAX });
            assert_eq!(
                [whole.read_conflicts, whole.read_skew, whole.write_skew],
                [conflicts, read_skew, write_skew]
            );
            assert_eq!(whole.errors, None);
            let part = Chances::within(&history, reads(), Budget { operations: usize::MAX, steps: 1000 });
            let errors = part.errors.expect("a budget of 1,000 steps is too small for all");
            // Two standard errors are exceeded now and then, four hardly ever.
            assert!(
                part.read_conflicts.abs_diff(conflicts) <= 2 * errors.read_conflicts,
                "{part:?} {conflicts}"
            );
            assert!(part.read_skew.abs_diff(read_skew) <= 2 * errors.read_skew, "{part:?} {read_skew}");
            assert!(part.write_skew.abs_diff(write_skew) <= 2 * errors.write_skew, "{part:?} {write_skew}");
        }
    }
}
