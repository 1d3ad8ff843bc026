//! How much a history could have shown: the pairs of transactions in which an anomaly would have been visible.
//!
//! A run without conflicts satisfies every level and says nothing. Pairs are of different sessions and, where there are
//! times, of transactions that may have overlapped. Pairs on one key are counted by sorting, O(n log n); pairs on two
//! keys by walking from each reader to the writers of its keys, and only up to a budget.

use history::{History, KeyId, Outcome, TxnId};
use index::Index;

/// The pairs; a pair counts once for each key (or pair of keys) on which it conflicts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Chances {
    /// A transaction that reads a key and one that writes it.
    pub read_conflicts: Option<u64>,
    /// Two transactions that write the same key.
    pub write_conflicts: u64,
    /// Two transactions that both read and write the same key: one update could have been lost.
    pub lost_update: u64,
    /// A transaction that reads two keys and one that writes both: half of a write could have been seen.
    pub read_skew: Option<u64>,
    /// Two transactions each of which reads a key that the other writes.
    pub write_skew: Option<u64>,
}

/// Steps that counting pairs on two keys may take: a second or so.
const BUDGET: u64 = 5_000_000;

impl Chances {
    /// Counts.
    pub fn of(history: &History, index: &Index) -> Self {
        let mut chances = Self::default();
        let is_update = updates(history, index);
        let (mut writers, mut updaters) = (Vec::new(), Vec::new());
        for key in 0..history.keys().len() {
            writers.clear();
            updaters.clear();
            for &write in index.writes_to(KeyId(key as u32)) {
                let txn = index.writer(write);
                if history.outcome(txn) == Outcome::Committed {
                    writers.push(txn);
                    updaters.extend(is_update[write as usize].then_some(txn));
                }
            }
            chances.write_conflicts += concurrent_pairs(history, &writers);
            chances.lost_update += concurrent_pairs(history, &updaters);
        }
        if let Some(crossings) = Crossings::of(history, index) {
            chances.read_conflicts = Some(crossings.read_conflicts);
            // Each unordered pair was seen from both of its transactions and keys.
            chances.read_skew = Some(crossings.read_skew / 2);
            chances.write_skew = Some(crossings.write_skew / 2);
        }
        chances
    }

    /// Whether no transaction met another one: whatever the database did, isolation could not have been violated
    /// between clients.
    pub fn is_without_conflicts(&self) -> bool {
        self.read_conflicts == Some(0) && self.write_conflicts == 0
    }
}

/// For each final write, whether its transaction read the key before. One pass in the order of the transactions: asking
/// at each key for the reads of its writers missed the cache for each of them.
fn updates(history: &History, index: &Index) -> Vec<bool> {
    let is_update = |txn: TxnId| {
        let reads = &index.reads()[index.reads_of(txn)];
        let writes = &index.writes()[index.writes_of(txn)];
        writes.iter().map(move |write| reads.iter().any(|read| read.key == write.key))
    };
    history.txns().flat_map(is_update).collect()
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

fn may_overlap(history: &History, left: TxnId, right: TxnId) -> bool {
    let (a, b) = (history.times(left), history.times(right));
    let before = |end: Option<i64>, start: Option<i64>| matches!((end, start), (Some(end), Some(start)) if end < start);
    history.session_of(left) != history.session_of(right)
        && !before(a.end(), b.start())
        && !before(b.end(), a.start())
}

/// The steps that walking from each reader to the writers of its keys takes at least: too many are given up before the
/// first.
fn least_steps(history: &History, index: &Index) -> u64 {
    let is_committed = |read: &&index::ExternalRead| history.outcome(read.txn) == Outcome::Committed;
    let committed = index.reads().iter().filter(is_committed);
    committed.map(|read| index.writes_to(read.key).len() as u64).sum()
}

/// Counts pairs on two keys.
struct Crossings<'h> {
    history: &'h History,
    index: &'h Index,
    /// For each key the last reader that was looked from, and the last that also writes it.
    read_by: Vec<u32>,
    written_by: Vec<u32>,
    read_conflicts: u64,
    read_skew: u64,
    write_skew: u64,
    steps: u64,
}

impl<'h> Crossings<'h> {
    /// `None` if there is too much to count.
    fn of(history: &'h History, index: &'h Index) -> Option<Self> {
        if least_steps(history, index) > BUDGET {
            return None;
        }
        let keys = history.keys().len();
        let mut crossings = Self {
            history,
            index,
            read_by: vec![u32::MAX; keys],
            written_by: vec![u32::MAX; keys],
            read_conflicts: 0,
            read_skew: 0,
            write_skew: 0,
            steps: 0,
        };
        for txn in history.txns() {
            crossings.look_from(txn);
            if crossings.steps > BUDGET {
                return None;
            }
        }
        Some(crossings)
    }

    fn look_from(&mut self, reader: TxnId) {
        let index = self.index;
        if self.history.outcome(reader) != Outcome::Committed {
            return;
        }
        let reads = &index.reads()[index.reads_of(reader)];
        for read in reads {
            self.read_by[read.key.index()] = reader.0;
        }
        for write in &index.writes()[index.writes_of(reader)] {
            self.written_by[write.key.index()] = reader.0;
        }
        for read in reads {
            for &write in index.writes_to(read.key) {
                self.look_at(reader, read.key, index.writes()[write as usize].txn);
            }
            if self.steps > BUDGET {
                return;
            }
        }
    }

    fn look_at(&mut self, reader: TxnId, key: KeyId, writer: TxnId) {
        self.steps += 1;
        if self.history.outcome(writer) != Outcome::Committed || !may_overlap(self.history, reader, writer) {
            return;
        }
        self.read_conflicts += 1;
        let index = self.index;
        for write in &index.writes()[index.writes_of(writer)] {
            self.steps += 1;
            let is_other_key_read = write.key != key && self.read_by[write.key.index()] == reader.0;
            self.read_skew += u64::from(is_other_key_read);
        }
        for read in &index.reads()[index.reads_of(writer)] {
            self.steps += 1;
            let is_other_key_written = read.key != key && self.written_by[read.key.index()] == reader.0;
            self.write_skew += u64::from(is_other_key_written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chances(text: &str) -> Chances {
        let history = formats::notation::parse(text).unwrap();
        Chances::of(&history, &Index::of(&history))
    }

    #[test]
    fn each_pair_is_counted_once() {
        let skew = chances("a: r(x)=0 w(y)=1\nb: r(y)=0 w(x)=1\n");
        assert_eq!(skew.write_skew, Some(1));
        assert_eq!((skew.write_conflicts, skew.lost_update, skew.read_skew), (0, 0, Some(0)));
        let lost = chances("a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2\nc: w(x)=3\n");
        assert_eq!((lost.write_conflicts, lost.lost_update), (3, 1));
        let fractured = chances("a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0\n");
        assert_eq!(fractured.read_skew, Some(1));
    }

    #[test]
    fn transactions_of_one_session_are_no_pair() {
        let none = chances("a: {r(x)=0 w(x)=1} {r(x)=1 w(x)=2}\n");
        let zero = Some(0);
        let expected =
            Chances { read_conflicts: zero, read_skew: zero, write_skew: zero, ..Chances::default() };
        assert_eq!(none, expected);
        assert!(none.is_without_conflicts());
        assert!(!chances("a: w(x)=1\nb: r(x)=1\n").is_without_conflicts());
    }
}
