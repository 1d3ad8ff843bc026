//! What is to be explained: the transactions that took part, and for each external read where it may have come from.
//!
//! A transaction of unknown outcome *may* have taken part. It certainly did if a transaction that took part can have read a
//! value from no other one, and certainly did not if it read something that cannot have been there. If no transaction that may
//! have taken part can have read from it, it is left out: removing a transaction that no other one read from never breaks an
//! explanation. What remains is rare, and is left to the search as `Maybe`.
//!
//! One pass over the reads; a work list for the consequences, so a chain of unknown transactions costs its length.

use certify::{Level, RealTime};
use history::{History, OpId, Outcome, TxnId};
use index::{Finding, Index, VersionOrder};

use crate::classes::Classes;
use crate::options::Limit;
use crate::shape::Shape;

/// How many candidates are listed between two questions whether a limit was reached.
const ASK_INTERVAL: usize = 1 << 16;

/// What a candidate takes, in the tables of saturation too.
const BYTES_PER_CANDIDATE: usize = 32;

/// Whether a transaction took part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    In,
    Maybe,
    Out,
}

/// The source of a read: the number of a final write, or one of these.
pub(crate) const INITIAL: u32 = u32::MAX;
pub(crate) const OPEN: u32 = u32::MAX - 1;
pub(crate) const UNUSED: u32 = u32::MAX - 2;

/// The problem. Reads and writes are numbered as in the index.
pub(crate) struct Problem<'a> {
    pub history: &'a History,
    pub index: &'a Index,
    pub level: &'a Level,
    pub shape: Shape,
    pub status: Vec<Status>,
    /// For each read its source, `INITIAL`, `OPEN`, or `UNUSED` if its transaction took no part.
    pub source: Vec<u32>,
    /// The reads whose source is open, or whose transaction may not have taken part.
    pub open: Vec<OpenRead>,
    /// Unknown transactions that cannot have committed, each with the read that shows it, in the order found.
    pub impossible: Vec<(TxnId, Refusal)>,
    /// Unknown transactions that must have committed, each with what shows it.
    pub needed: Vec<(TxnId, Need)>,
    links: &'a Links,
    /// Whether the outcome of some transaction is unknown; if not, everybody in the index took part.
    has_unknown: bool,
}

/// Every session is in order.
pub(crate) static ALL_LINKED: Links = Links { detached: Vec::new(), distance: 1 };

/// Which transactions are taken to come in the order of their session.
pub(crate) struct Links {
    /// Transactions that are as if they were alone in a session of their own; none if it is empty.
    detached: Vec<bool>,
    /// The least distance in a session at which two of the other transactions are taken to be in its order.
    pub distance: usize,
}

impl Links {
    /// Some transactions are in no session; the others are in the order of theirs from a distance on.
    pub(crate) fn without(detached: Vec<bool>, distance: usize) -> Self {
        Self { detached, distance }
    }

    /// Whether a transaction is linked to those before and after it in its session.
    pub(crate) fn is_linked(&self, txn: TxnId) -> bool {
        self.detached.is_empty() || !self.detached[txn.index()]
    }
}

/// Why an unknown transaction must have committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// This read can have come from no other transaction.
    Read(u32),
    /// The list that this operation read has its elements.
    Listed(OpId),
}

/// Why an unknown transaction cannot have committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// It contradicts itself: the finding's number.
    Finding(u32),
    /// This read has no source that can have committed.
    Sourceless(u32),
    /// The list that it read has elements of this transaction, which cannot have committed.
    Listed(OpId, TxnId),
}

/// A read with several possible sources.
#[derive(Clone, Debug)]
pub(crate) struct OpenRead {
    pub read: u32,
    /// Numbers of final writes, or `INITIAL`; those that were ruled out are removed. None before they are listed.
    pub candidates: Vec<u32>,
}

/// Something that no choice can repair.
#[derive(Clone, Debug)]
pub(crate) enum Flaw {
    /// A committed transaction contradicts itself, or read what no transaction can have written.
    Finding(Finding),
    /// A read of a transaction that took part has no source that can have committed.
    Sourceless(u32),
    /// The list that a transaction that took part read has elements of one that cannot have committed.
    Listed(OpId, TxnId),
}

impl<'a> Problem<'a> {
    pub(crate) fn new(
        history: &'a History,
        index: &'a Index,
        level: &'a Level,
        links: &'a Links,
    ) -> Result<Self, (Box<Self>, Flaw)> {
        let status = history.txns().map(|txn| match history.outcome(txn) {
            Outcome::Committed => Status::In,
            Outcome::Aborted => Status::Out,
            Outcome::Unknown => Status::Maybe,
        });
        let mut problem = Self {
            history,
            index,
            level,
            shape: Shape::of(level),
            status: status.collect(),
            source: Vec::new(),
            open: Vec::new(),
            impossible: Vec::new(),
            needed: Vec::new(),
            links,
            has_unknown: history.txns().any(|txn| history.outcome(txn) == Outcome::Unknown),
        };
        let flaw = problem.settle_unknown().err();
        problem.assign_sources();
        match flaw {
            None => Ok(problem),
            Some(flaw) => Err((Box::new(problem), flaw)),
        }
    }

    #[inline]
    pub(crate) fn is_in(&self, txn: TxnId) -> bool {
        self.status[txn.index()] == Status::In
    }

    /// Which transactions are taken to come in the order of their session.
    pub(crate) fn links(&self) -> &'a Links {
        self.links
    }

    /// Whether a transaction is linked to those before and after it in its session.
    pub(crate) fn is_linked(&self, txn: TxnId) -> bool {
        self.links.is_linked(txn)
    }

    /// Whether what comes before a transaction comes before what comes after it.
    ///
    /// That is so for one that took part. For one that may have, it is harmless where only sessions order it, since what
    /// is before it in its session is before what is after it anyway; with real time it is not.
    pub(crate) fn hands_on(&self, txn: TxnId) -> bool {
        self.is_in(txn) || self.level.real_time == RealTime::Ignored
    }

    /// The transactions of a session that directly follow one that does not hand on; none where only transactions at a
    /// distance are ordered.
    pub(crate) fn session_followers(&self, txn: TxnId) -> Vec<TxnId> {
        let session = self.history.session_of(txn);
        let mut followers = Vec::new();
        if self.links.distance > 1 {
            return followers;
        }
        let later = self.history.session_txns(session).filter(|&later| later > txn);
        for later in later.filter(|&later| self.is_linked(txn) && self.is_linked(later)) {
            if self.status[later.index()] == Status::Out {
                continue;
            }
            followers.push(later);
            if self.hands_on(later) {
                break;
            }
        }
        followers
    }

    #[inline]
    pub(crate) fn writer(&self, write: u32) -> TxnId {
        self.index.writer(write)
    }

    #[inline]
    pub(crate) fn reader(&self, read: u32) -> TxnId {
        self.index.reads()[read as usize].txn
    }

    /// The transactions without which an order of versions is not told: the writers, and who read the list.
    pub(crate) fn told_by(&self, order: &VersionOrder) -> impl Iterator<Item = TxnId> + use<> {
        let writers = [self.writer(order.earlier), self.writer(order.later)];
        writers.into_iter().chain(order.teller(self.history))
    }

    /// The sources of a read that may have committed: numbers of final writes, or `INITIAL`.
    pub(crate) fn live_sources(&self, read: u32) -> impl Iterator<Item = u32> + '_ {
        let sources = self.index.sources(read as usize);
        // A transaction's writes are numbered together, which spares a look at the writer.
        let own = self.index.writes_of(self.reader(read));
        let is_live = |write| !self.has_unknown || self.status[self.writer(write).index()] != Status::Out;
        let writes = sources.writes.iter().copied();
        let writes = writes.filter(move |&write| !own.contains(&(write as usize)) && is_live(write));
        sources.initial.then_some(INITIAL).into_iter().chain(writes)
    }

    /// Report first the findings that no alternative repairs.
    fn find_hopeless(&self) -> Option<Flaw> {
        let effects = self.index.effects();
        let is_hopeless = |finding: &&Finding| {
            let effect = effects.find(finding.txn, finding.key).map(|effect| &effects.all()[effect]);
            let has_none = effect.is_some_and(|effect| {
                effect.alternatives.iter().all(|alternative| alternative.seen.is_empty())
            });
            has_none && self.status[finding.txn.index()] == Status::In
        };
        self.index.findings().iter().find(is_hopeless).cloned().map(Flaw::Finding)
    }

    /// What else no order can explain.
    pub(crate) fn other_flaws<'f>(&'f self, flaw: &'f Flaw) -> impl Iterator<Item = Flaw> + use<'f, 'a> {
        let is_other = move |finding: &&Finding| {
            let is_it = matches!(flaw, Flaw::Finding(known) if known == *finding);
            self.status[finding.txn.index()] == Status::In && !is_it
        };
        self.index.findings().iter().filter(is_other).cloned().map(Flaw::Finding)
    }

    fn settle_unknown(&mut self) -> Result<(), Flaw> {
        if let Some(flaw) = self.find_hopeless() {
            return Err(flaw);
        }
        for (number, finding) in self.index.findings().iter().enumerate() {
            match self.status[finding.txn.index()] {
                Status::In => return Err(Flaw::Finding(finding.clone())),
                Status::Maybe => {
                    self.status[finding.txn.index()] = Status::Out;
                    self.impossible.push((finding.txn, Refusal::Finding(number as u32)));
                }
                Status::Out => {}
            }
        }
        if !self.has_unknown {
            return Ok(());
        }
        let result = self.follow_consequences();
        self.leave_out_useless();
        result
    }

    /// Looks at every read once, and again when few of its possible sources are left.
    fn follow_consequences(&mut self) -> Result<(), Flaw> {
        let mut sources = LiveSources::of(self);
        let mut queue: Vec<u32> = (0..self.index.reads().len() as u32).rev().collect();
        loop {
            let Some(read) = queue.pop() else {
                match self.follow_lists(&mut sources)? {
                    next if next.is_empty() => return Ok(()),
                    next => queue = next,
                }
                continue;
            };
            let txn = self.reader(read);
            let (only, others) = {
                let mut live = self.live_sources(read);
                (live.next(), live.next().is_some())
            };
            match (self.status[txn.index()], only) {
                (Status::In, None) => return Err(Flaw::Sourceless(read)),
                (Status::Maybe, None) => {
                    self.status[txn.index()] = Status::Out;
                    self.impossible.push((txn, Refusal::Sourceless(read)));
                    sources.remove(self.index, txn, &mut queue);
                }
                (Status::In, Some(write)) if !others && write != INITIAL => {
                    let writer = self.writer(write);
                    if self.status[writer.index()] == Status::Maybe {
                        self.status[writer.index()] = Status::In;
                        self.needed.push((writer, Need::Read(read)));
                        queue.extend(self.index.reads_of(writer).map(|read| read as u32));
                    }
                }
                _ => {}
            }
        }
    }

    /// If a committed transaction read an element of a list, the element's appender committed; if the appender did not,
    /// the reader did not. Gives back the reads to look at again.
    fn follow_lists(&mut self, sources: &mut LiveSources) -> Result<Vec<u32>, Flaw> {
        let mut again = Vec::new();
        for &(op, txn) in self.index.listed() {
            let reader = self.history.txn_of(op);
            match (self.status[reader.index()], self.status[txn.index()]) {
                (Status::In, Status::Out) => return Err(Flaw::Listed(op, txn)),
                (Status::In, Status::Maybe) => {
                    self.status[txn.index()] = Status::In;
                    self.needed.push((txn, Need::Listed(op)));
                    again.extend(self.index.reads_of(txn).map(|read| read as u32));
                }
                (Status::Maybe, Status::Out) => {
                    self.status[reader.index()] = Status::Out;
                    self.impossible.push((reader, Refusal::Listed(op, txn)));
                    sources.remove(self.index, reader, &mut again);
                    // A list may have lost a member: look at all of them again.
                    again.extend(self.index.reads_of(reader).map(|read| read as u32));
                }
                _ => {}
            }
        }
        Ok(again)
    }

    /// Pairs of a transaction that read a list and one of unknown outcome whose elements it has, sorted.
    pub(crate) fn listed_by_reader(&self) -> Vec<(TxnId, TxnId)> {
        let listed = self.index.listed().iter();
        let mut pairs: Vec<_> = listed.map(|&(op, listed)| (self.history.txn_of(op), listed)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Of the transactions that may have taken part, keeps those that a useful transaction may have read from. Reads of
    /// one class have the same sources, so each class is looked at once.
    fn leave_out_useless(&mut self) {
        let mut is_useful = vec![false; self.status.len()];
        let mut queue: Vec<TxnId> = self.history.txns().filter(|&txn| self.is_in(txn)).collect();
        let listed = self.listed_by_reader();
        let classes = Classes::of(self.index);
        let mut is_seen = vec![false; classes.count];
        while let Some(txn) = queue.pop() {
            let mut writers: Vec<TxnId> = of_txn(&listed, txn).collect();
            for read in self.index.reads_of(txn) {
                if !std::mem::replace(&mut is_seen[classes.of_read(read) as usize], true) {
                    let sources = self.index.sources(read).writes.iter();
                    writers.extend(sources.map(|&write| self.writer(write)));
                }
            }
            for writer in writers {
                if self.status[writer.index()] == Status::Maybe && !is_useful[writer.index()] {
                    is_useful[writer.index()] = true;
                    queue.push(writer);
                }
            }
        }
        for (status, is_useful) in self.status.iter_mut().zip(is_useful) {
            if *status == Status::Maybe && !is_useful {
                *status = Status::Out;
            }
        }
    }

    fn assign_sources(&mut self) {
        self.source = Vec::with_capacity(self.index.reads().len());
        for read in 0..self.index.reads().len() as u32 {
            let source = match self.status[self.reader(read).index()] {
                Status::Out => UNUSED,
                Status::Maybe => OPEN,
                Status::In => self.only_source(read),
            };
            self.source.push(source);
            if source == OPEN {
                self.open.push(OpenRead { read, candidates: Vec::new() });
            }
        }
    }

    /// How many possible sources the reads whose source is open have together.
    pub(crate) fn source_count(&self) -> usize {
        self.open.iter().map(|open| self.index.sources(open.read as usize).writes.len()).sum()
    }

    /// Whether the candidates of all open reads fit into the memory.
    pub(crate) fn has_room_for_candidates(&self, memory_bytes: usize) -> bool {
        self.source_count() <= memory_bytes / BYTES_PER_CANDIDATE
    }

    /// Leaves out the reads of committed transactions that have more than so many possible sources.
    /// A contradiction of what remains is one of the whole.
    pub(crate) fn relax(&mut self, most_sources: usize) {
        let (status, index) = (&self.status, self.index);
        let is_left_out = |open: &OpenRead| {
            let read = open.read as usize;
            status[index.reads()[read].txn.index()] == Status::In
                && index.sources(read).writes.len() > most_sources
        };
        let (left_out, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.open).into_iter().partition(is_left_out);
        self.open = kept;
        left_out.iter().for_each(|open| self.source[open.read as usize] = UNUSED);
    }

    /// Lists the candidates of the reads whose source is open.
    pub(crate) fn list_candidates(&mut self, limit: &dyn Fn() -> Option<Limit>) -> Result<(), Limit> {
        let mut listed = 0;
        for open in 0..self.open.len() {
            let candidates: Vec<u32> = self.live_sources(self.open[open].read).collect();
            listed += candidates.len();
            self.open[open].candidates = candidates;
            if listed >= ASK_INTERVAL {
                listed = 0;
                limit().map_or(Ok(()), Err)?;
            }
        }
        Ok(())
    }

    fn only_source(&self, read: u32) -> u32 {
        let mut live = self.live_sources(read);
        match (live.next(), live.next()) {
            (Some(INITIAL), None) => INITIAL,
            (Some(write), None) if !self.has_unknown || self.is_in(self.writer(write)) => write,
            _ => OPEN,
        }
    }
}

/// How many of the possible sources of each class of reads may have committed.
struct LiveSources {
    classes: Classes,
    live: Vec<u32>,
    /// Classes with their reads, sorted.
    reads: Vec<(u32, u32)>,
}

impl LiveSources {
    fn of(problem: &Problem<'_>) -> Self {
        let index = problem.index;
        let classes = Classes::of(index);
        let mut live = vec![0; classes.count];
        for (number, write) in index.writes().iter().enumerate() {
            let is_live = problem.status[write.txn.index()] != Status::Out;
            for class in classes.of_holder(write.key, number as u32).filter(|_| is_live) {
                live[class as usize] += 1;
            }
        }
        let reads = 0..index.reads().len() as u32;
        let mut reads: Vec<_> = reads.map(|read| (classes.of_read(read as usize), read)).collect();
        reads.sort_unstable();
        Self { classes, live, reads }
    }

    /// A transaction did not commit: collects the reads that have few sources left. One of them may be the reader's own
    /// write, which is no source.
    fn remove(&mut self, index: &Index, txn: TxnId, again: &mut Vec<u32>) {
        for write in index.writes_of(txn) {
            for class in self.classes.of_holder(index.writes()[write].key, write as u32) {
                let live = &mut self.live[class as usize];
                *live -= 1;
                if *live <= 2 {
                    let start = self.reads.partition_point(|&(known, _)| known < class);
                    let reads = self.reads[start..].iter().take_while(|&&(known, _)| known == class);
                    again.extend(reads.map(|&(_, read)| read));
                }
            }
        }
    }
}

/// What belongs to a transaction, among sorted pairs.
pub(crate) fn of_txn<T: Copy>(pairs: &[(TxnId, T)], txn: TxnId) -> impl Iterator<Item = T> + '_ {
    let place = pairs.partition_point(|&(known, _)| known < txn);
    pairs[place..].iter().take_while(move |&&(known, _)| known == txn).map(|&(_, of)| of)
}
