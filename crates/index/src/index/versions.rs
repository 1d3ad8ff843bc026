//! The order of versions that a history tells: by its lists, or because the database recorded it.

use super::Index;
use history::{History, KeyId, OpId, Outcome, TxnId};

/// One version of a key is known to be earlier than another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VersionOrder {
    /// The number of the earlier final write.
    pub earlier: u32,
    /// The number of the later final write.
    pub later: u32,
    /// What tells.
    pub telling: Telling,
}

impl VersionOrder {
    /// The transaction whose read tells.
    pub fn teller(&self, history: &History) -> Option<TxnId> {
        match self.telling {
            Telling::List(op) => Some(history.txn_of(op)),
            Telling::Recorded => None,
        }
    }
}

/// What tells the order of two versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Telling {
    /// A list that was read: the later version is further on in it, or not in it at all.
    List(OpId),
    /// The versions that were recorded with the writes.
    Recorded,
}

impl Index {
    /// Writes of a key whose places among its versions were recorded are in that order.
    pub(super) fn order_recorded_versions(&mut self, history: &History) {
        if !history.has_versions() {
            return;
        }
        let mut seen: Vec<(KeyId, i64, OpId, bool)> = Vec::new();
        for (number, read) in self.reads.iter().enumerate() {
            let version = history.op_version(read.op);
            let is_initial = self.sources(number).initial;
            seen.extend(version.map(|version| (read.key, version, read.op, is_initial)));
            self.unindexed = self.unindexed.or(version.and_then(|_| self.twofold(history, number)));
        }
        seen.sort_unstable();
        for key in history.keys().iter().map(|(key, _)| key) {
            let start = seen.partition_point(|&(known, ..)| known < key);
            let end = seen.partition_point(|&(known, ..)| known <= key);
            self.order_versions_of(history, key, &seen[start..end]);
        }
    }

    /// A read whose version an unknown transaction wrote, or which was that of the initial state if it did not commit:
    /// that is not decided.
    fn twofold(&self, history: &History, read: usize) -> Option<OpId> {
        let is_unknown = |&write: &u32| history.outcome(self.writes[write as usize].txn) == Outcome::Unknown;
        let sources = self.sources(read);
        (sources.initial && sources.writes.iter().any(is_unknown)).then(|| self.reads[read].op)
    }

    fn order_versions_of(&mut self, history: &History, key: KeyId, seen: &[(KeyId, i64, OpId, bool)]) {
        let writes = self.writes_to(key);
        let placed = writes
            .iter()
            .filter_map(|&write| Some((history.op_version(self.writes[write as usize].op)?, write)));
        let mut placed: Vec<(i64, u32)> = placed.collect();
        placed.sort_unstable();
        if placed.is_empty() && seen.is_empty() {
            return;
        }
        let all_differ = placed.windows(2).all(|pair| pair[0].0 != pair[1].0);
        let is_whole =
            all_differ && placed.len() == writes.len() && self.is_plain_initial(history, &placed, seen);
        if !is_whole {
            // A place that only some tell, or that two writes share, needs more than an order of writes.
            let first = seen.first().map(|&(_, _, op, _)| op);
            let first = first.or(placed.first().map(|&(_, write)| self.writes[write as usize].op));
            self.unindexed = self.unindexed.or(first);
        }
        for (place, &(_, earlier)) in placed.iter().enumerate() {
            let is_committed =
                |write: u32| history.outcome(self.writes[write as usize].txn) == Outcome::Committed;
            for &(_, later) in &placed[place + 1..] {
                self.version_order.push(VersionOrder { earlier, later, telling: Telling::Recorded });
                // An unknown one may not be there to hand the order on.
                if is_committed(later) {
                    break;
                }
            }
        }
    }

    /// Whether what reads say of the place of the initial state is one place, before all that an unknown transaction may
    /// have written.
    fn is_plain_initial(
        &self,
        history: &History,
        placed: &[(i64, u32)],
        seen: &[(KeyId, i64, OpId, bool)],
    ) -> bool {
        let of_initial = seen.iter().filter(|&&(.., is_initial)| is_initial);
        let mut of_initial = of_initial.map(|&(_, version, ..)| version);
        let Some(first) = of_initial.next() else { return true };
        let is_known = |&(version, write): &(i64, u32)| {
            version > first || history.outcome(self.writes[write as usize].txn) == Outcome::Committed
        };
        of_initial.all(|version| version == first) && placed.iter().all(is_known)
    }
}
