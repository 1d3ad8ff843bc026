//! Open reads: candidates are dropped as the closure shows that they cannot be, and a read with one left is settled.
//!
//! A candidate cannot be if the read comes before it, or if another writer came between the two. Reads are looked at
//! again in a pass, and then only when the closure improved at the reader or at a candidate.

use std::ops::Range;

use history::{OpId, TxnId};

use super::{Contradiction, Drop, Dropped, Saturation, Stop};
use crate::known::Reason;
use crate::problem::{INITIAL, Need, OPEN, Problem, Status, of_txn};
use crate::time::edges_of;
use crate::windows::{Windows, Writer};

/// For each write the open reads of which it was a candidate at first. There may be ten times as many pairs as reads:
/// they are counted and put in their places, since sorting them took 7 % of the instructions for HD-10k.
pub(super) struct OpenReaders {
    start: Vec<u32>,
    open: Vec<u32>,
}

impl OpenReaders {
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        if problem.open.is_empty() {
            return Self { start: Vec::new(), open: Vec::new() };
        }
        let candidates = || {
            let reads = problem.open.iter().enumerate();
            let pairs =
                reads.flat_map(|(open, entry)| entry.candidates.iter().map(move |&write| (write, open)));
            pairs.filter(|&(write, _)| write != INITIAL)
        };
        // Shifted by two, so that filling leaves the starts where they belong.
        let mut start = vec![0u32; problem.index.writes().len() + 2];
        candidates().for_each(|(write, _)| start[write as usize + 2] += 1);
        for write in 2..start.len() {
            start[write] += start[write - 1];
        }
        let mut all = vec![0; start.last().map_or(0, |&count| count as usize)];
        for (write, open) in candidates() {
            let next = &mut start[write as usize + 1];
            all[*next as usize] = open as u32;
            *next += 1;
        }
        Self { start, open: all }
    }

    /// The places of the reads of a write.
    fn range(&self, write: u32) -> Range<usize> {
        match (self.start.get(write as usize), self.start.get(write as usize + 1)) {
            (Some(&start), Some(&end)) => start as usize..end as usize,
            _ => 0..0,
        }
    }
}

impl Saturation<'_, '_> {
    pub(super) fn wake(&mut self, open: u32) {
        if !std::mem::replace(&mut self.is_waiting[open as usize], true) {
            self.waiting.push(open);
        }
    }

    pub(super) fn wake_readers_of(&mut self, write: u32) {
        for place in self.open_readers.range(write) {
            let open = self.open_readers.open[place];
            if self.problem.source[self.problem.open[open as usize].read as usize] == OPEN {
                self.wake(open);
            }
        }
    }

    /// Drops the candidates of an open read that cannot be; settles it if one is left.
    pub(super) fn narrow(&mut self, windows: &Windows, open: u32) -> Result<(), Stop> {
        let read = self.problem.open[open as usize].read;
        if self.problem.source[read as usize] != OPEN {
            return Ok(());
        }
        let candidates = self.problem.open[open as usize].candidates.len();
        self.patience.spend(candidates * (1 + self.reach.chains().len() / 8))?;
        self.drop_candidates(windows, open);
        let left = &self.problem.open[open as usize].candidates;
        match (left.len(), left.first().copied()) {
            _ if !self.problem.is_in(self.problem.reader(read)) => Ok(()),
            (0, _) => Err(Contradiction::Sourceless { read }.into()),
            (1, Some(only)) => {
                self.settle(read, only)?;
                self.follow_settled(windows, read, only)
            }
            _ => Ok(()),
        }
    }

    fn drop_candidates(&mut self, windows: &Windows, open: u32) {
        let read = self.problem.open[open as usize].read;
        let mut candidates = std::mem::take(&mut self.problem.open[open as usize].candidates);
        let edge_count = self.known.graph.edge_count() as u32;
        let by_windows = windows.is_narrow(self.problem.index.reads()[read as usize].key);
        candidates.retain(|&candidate| {
            let why = if by_windows {
                self.why_not_by_windows(windows, read, candidate)
            } else {
                self.why_not(read, candidate)
            };
            if let Some(why) = why {
                self.drops.push(Drop { read, candidate, why, edge_count });
            }
            why.is_none()
        });
        self.problem.open[open as usize].candidates = candidates;
    }

    fn why_not_by_windows(&self, windows: &Windows, read: u32, candidate: u32) -> Option<Dropped> {
        let (shape, external) = (self.problem.shape, self.problem.index.reads()[read as usize]);
        let begin = shape.begin(external.txn);
        let is_between = |other: &&Writer| other.txn != external.txn && other.reaches(&self.reach, begin);
        let between = match candidate {
            INITIAL => windows.first(external.key).find(is_between),
            // Only a transaction that took part and is on a chain has a window.
            _ if !windows.has_window(candidate) => return self.why_not(read, candidate),
            _ => {
                let writer = self.problem.writer(candidate);
                if self.reach.reaches(begin, shape.commit(writer)) {
                    return Some(Dropped::After);
                }
                let is_later = |other: &&Writer| other.is_reached(&self.reach, shape.install(writer));
                let newly_later = windows.unordered_with(candidate).iter().filter(is_later);
                windows.next(candidate).chain(newly_later).find(is_between)
            }
        };
        between.map(|other| Dropped::Between(other.txn))
    }

    fn why_not(&self, read: u32, candidate: u32) -> Option<Dropped> {
        let shape = self.problem.shape;
        let external = self.problem.index.reads()[read as usize];
        let begin = shape.begin(external.txn);
        let writer = (candidate != INITIAL).then(|| self.problem.writer(candidate));
        if writer.is_some_and(|writer| self.reach.reaches(begin, shape.commit(writer))) {
            return Some(Dropped::After);
        }
        let but = [external.txn, writer.unwrap_or(external.txn)];
        for group in self.writers.groups(external.key) {
            let chain = group.chain as usize;
            let from = writer.map_or(0, |writer| self.reach.first(shape.install(writer), chain));
            let between = group.between(from, self.reach.end(begin, chain));
            if let Some(&between) = between.iter().find(|txn| !but.contains(txn)) {
                return Some(Dropped::Between(between));
            }
        }
        None
    }

    fn follow_settled(&mut self, windows: &Windows, read: u32, source: u32) -> Result<(), Stop> {
        if source != INITIAL && !windows.has_window(source) {
            self.precede_next_versions(source)?;
        }
        self.follow_read(windows, read, source)
    }

    /// A read can only have come from there: it is a known read from now on. What follows is left to the caller.
    pub(super) fn settle(&mut self, read: u32, source: u32) -> Result<(), Stop> {
        self.settled += 1;
        self.problem.source[read as usize] = source;
        if source != INITIAL && !self.problem.is_in(self.problem.writer(source)) {
            self.take_in(self.problem.writer(source), Need::Read(read))?;
        }
        if source == INITIAL {
            return Ok(());
        }
        let shape = self.problem.shape;
        let (writer, reader) = (self.problem.writer(source), self.problem.reader(read));
        self.readers.add(source, read);
        self.add(shape.commit(writer), shape.begin(reader), Reason::ReadFrom(read))
    }

    /// The orders of versions that the history tells if this transaction committed.
    fn add_told(&mut self, txn: TxnId) -> Result<(), Stop> {
        let (shape, index) = (self.problem.shape, self.problem.index);
        let told: Vec<u32> = of_txn(self.told_by_txn(), txn).collect();
        for number in told {
            let order = &index.version_order()[number as usize];
            let (earlier, later) = (self.problem.writer(order.earlier), self.problem.writer(order.later));
            if self.problem.told_by(order).all(|txn| self.problem.is_in(txn)) {
                self.add(shape.commit(earlier), shape.install(later), Reason::Told(number))?;
            }
        }
        Ok(())
    }

    /// Pairs of a transaction and an order of versions that is not told without it, sorted; made when first asked for.
    fn told_by_txn(&mut self) -> &[(TxnId, u32)] {
        let problem = &*self.problem;
        self.told_by_txn.get_or_insert_with(|| {
            let orders = problem.index.version_order().iter().enumerate();
            let tellers = orders
                .flat_map(|(number, order)| problem.told_by(order).map(move |txn| (txn, number as u32)));
            let mut pairs: Vec<_> = tellers.collect();
            pairs.sort_unstable();
            pairs.dedup();
            pairs
        })
    }

    /// Pairs of a reader of a list and an element's transaction with the read, sorted; made when first asked for.
    fn listed_by_txn(&mut self) -> &[(TxnId, (OpId, TxnId))] {
        let problem = &*self.problem;
        self.listed_by_txn.get_or_insert_with(|| {
            let listed = problem.index.listed().iter();
            let mut pairs: Vec<_> =
                listed.map(|&(op, txn)| (problem.history.txn_of(op), (op, txn))).collect();
            pairs.sort_unstable();
            pairs
        })
    }

    /// An unknown transaction must have committed: its writes count for everybody, and its reads must be explained. So
    /// must the transactions whose elements are in the lists that it read. The next pass looks at all open reads again.
    pub(super) fn take_in(&mut self, txn: TxnId, because: Need) -> Result<(), Stop> {
        let mut waiting = vec![(txn, because)];
        while let Some((txn, because)) = waiting.pop() {
            if self.problem.is_in(txn) {
                continue;
            }
            self.take_in_alone(txn, because)?;
            let listed: Vec<_> = of_txn(self.listed_by_txn(), txn).collect();
            waiting.extend(listed.into_iter().map(|(op, listed)| (listed, Need::Listed(op))));
        }
        Ok(())
    }

    fn take_in_alone(&mut self, txn: TxnId, because: Need) -> Result<(), Stop> {
        // All that a derivation asks for is in place before the first edge that may contradict another.
        let hands_on = self.problem.hands_on(txn);
        self.problem.status[txn.index()] = Status::In;
        self.problem.needed.push((txn, because));
        self.is_stale = true;
        self.has_taken_in = true;
        if !hands_on {
            let shape = self.problem.shape;
            for later in self.problem.session_followers(txn) {
                self.add(shape.commit(txn), shape.begin(later), Reason::Session)?;
            }
            let edges = edges_of(&self.maybe_edges, txn).to_vec();
            edges.into_iter().try_for_each(|edge| self.add(edge.from, edge.to, Reason::Time))?;
        }
        self.add_told(txn)
    }
}
