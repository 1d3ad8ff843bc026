//! What saturation left undecided, as a problem for the solver.
//!
//! Two kinds of variables: for two writers of a key, whose version is earlier; for an open read, each of its
//! candidates. A version order that is decided brings the order of the two writers and, for every read of the earlier
//! version, the edge from the reader to the later writer, all at once. Edges that depend on a candidate and on a version
//! order have both as conditions. A third kind says that a transaction of unknown outcome committed.
//!
//! A pair of writers becomes a variable only if it is undecided and a read, or the level, makes it matter. Undecided
//! ones lie between two positions on each chain, so they are found without looking at the others.

use history::{KeyId, OpId, TxnId};
use order::EdgeId;
use rustc_hash::FxHashMap;
use solve::{Lit, Setup};

use crate::known::Reason;
use crate::options::{Limit, Options, Patience};
use crate::problem::{INITIAL, OPEN, Problem, Status, UNUSED};
use crate::saturate::Saturation;
use crate::time;

/// What a variable stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// The first one's version is earlier than the second one's; the negation says the opposite.
    Earlier(TxnId, TxnId),
    /// The first one's version is earlier; the negation says nothing (one of them may not have committed).
    MaybeEarlier(TxnId, TxnId),
    /// The read came from this write, or `INITIAL`.
    Source(u32, u32),
    /// The unknown transaction committed.
    Committed(TxnId),
}

/// Why a conditional edge is there when its conditions hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Because {
    /// `commit` of the earlier to `install` of the later writer.
    Versions { earlier: TxnId, later: TxnId },
    /// `commit` of the writer to `begin` of the reader.
    ReadFrom { read: u32, source: u32 },
    /// The same, as the history tells: the number of that order.
    Told(u32),
    /// `commit` of an unknown transaction to `begin` of a later one of its session.
    Session { from: u32, to: u32 },
    /// An event of an unknown transaction to the line of time.
    Time,
    /// `begin` of the reader to `commit` of a later writer.
    Overwritten { read: u32, source: u32, later: TxnId },
}

/// What a clause that is given to the solver says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Given {
    /// A read came from one of its candidates.
    OneSource { read: u32 },
    /// What was read was committed.
    SourceCommitted { read: u32, source: u32 },
    /// If a committed transaction read an element, the element's appender committed.
    Listed { op: OpId, txn: TxnId },
    /// Of two writers of a key that both committed, one was earlier.
    OneEarlier(TxnId, TxnId),
}

/// The solver's problem, and what its parts mean.
pub(crate) struct Choices {
    pub setup: Setup,
    pub meanings: Vec<Meaning>,
    pub because: Vec<Because>,
    pub given: Vec<Given>,
    /// Edges that turned out to be known.
    pub known: Vec<(u32, u32, Reason)>,
    pub undecided_pairs: u64,
    pub undecided_reads: u64,
}

impl Choices {
    fn version_condition(&self, edge: EdgeId) -> Option<Lit> {
        let is_version =
            |lit: &Lit| matches!(self.meanings[lit.var()], Meaning::Earlier(..) | Meaning::MaybeEarlier(..));
        self.setup.conditions(edge).find(is_version)
    }

    /// Whether a version order is among the conditions of an edge.
    pub(crate) fn is_about_versions(&self, edge: EdgeId) -> bool {
        self.version_condition(edge).is_some()
    }

    /// Whether it is there as the negation of the opposite order.
    pub(crate) fn is_by_negation(&self, edge: EdgeId) -> bool {
        self.version_condition(edge).is_some_and(Lit::is_negative)
    }
}

/// How two versions stand to each other.
enum Versions {
    Known,
    Opposite,
    Open(Lit),
}

pub(crate) struct Collect<'s, 'p, 'a> {
    state: &'s Saturation<'p, 'a>,
    /// Whether saturation added what follows from the versions that it knows to be later.
    is_saturated: bool,
    choices: Choices,
    pairs: FxHashMap<u64, (Lit, Lit)>,
    committed: FxHashMap<TxnId, Lit>,
    /// Room for the conditions of an edge.
    conditions: Vec<Lit>,
    patience: Patience<'s>,
    /// How many conditional edges there may be, and how many there were when limits were last asked for.
    most_edges: usize,
    counted: usize,
}

/// What a conditional edge takes, in the tables of the solver too.
const BYTES_PER_EDGE: usize = 128;

impl<'s, 'p, 'a> Collect<'s, 'p, 'a> {
    pub(crate) fn new(
        state: &'s Saturation<'p, 'a>,
        is_saturated: bool,
        memory_bytes: usize,
        options: &'s Options<'s>,
    ) -> Self {
        let choices = Choices {
            setup: Setup::default(),
            meanings: Vec::new(),
            because: Vec::new(),
            given: Vec::new(),
            known: Vec::new(),
            undecided_pairs: 0,
            undecided_reads: 0,
        };
        Self {
            state,
            is_saturated,
            choices,
            pairs: FxHashMap::default(),
            committed: FxHashMap::default(),
            conditions: Vec::new(),
            patience: Patience::new(options.limit),
            most_edges: memory_bytes / BYTES_PER_EDGE,
            counted: 0,
        }
    }

    /// Asks for the limits after every read and write that was looked at.
    fn ask(&mut self) -> Result<(), Limit> {
        let edges = self.choices.setup.edge_count();
        self.patience.spend(16 + edges - std::mem::replace(&mut self.counted, edges))?;
        if edges > self.most_edges { Err(Limit::Memory) } else { Ok(()) }
    }

    pub(crate) fn run(mut self) -> Result<Choices, Limit> {
        for read in 0..self.problem().source.len() as u32 {
            match self.problem().source[read as usize] {
                OPEN | UNUSED => {}
                source => self.known_read(read, source),
            }
            self.ask()?;
        }
        for open in 0..self.problem().open.len() {
            let read = self.problem().open[open].read;
            if self.problem().source[read as usize] == OPEN {
                self.open_read(open)?;
            }
        }
        if self.problem().shape.writers_exclude() {
            for write in 0..self.problem().index.writes().len() {
                self.exclusive_write(write);
                self.ask()?;
            }
        }
        self.told_if_committed();
        self.maybe_obligations();
        self.choices.undecided_pairs = self.pairs.len() as u64;
        Ok(self.choices)
    }

    fn problem(&self) -> &'s Problem<'a> {
        self.state.problem
    }

    /// A read whose source is known comes before every writer of a later version.
    fn known_read(&mut self, read: u32, source: u32) {
        let external = self.problem().index.reads()[read as usize];
        if source == INITIAL {
            let maybe: Vec<TxnId> = self.state.writers.maybe(external.key).collect();
            for later in maybe.into_iter().filter(|&later| later != external.txn) {
                let committed = self.committed(later);
                self.overwritten(read, source, later, &[committed]);
            }
            return;
        }
        if self.is_decided(source) {
            return;
        }
        let writer = self.problem().writer(source);
        for other in self.not_earlier(source, writer, external.key) {
            if other != external.txn {
                self.unless_earlier(read, source, other, &[]);
            }
        }
    }

    /// The options of an open read, each with its edges.
    fn open_read(&mut self, open: usize) -> Result<(), Limit> {
        self.choices.undecided_reads += 1;
        let entry = &self.problem().open[open];
        let reader = self.problem().reader(entry.read);
        let guard: Vec<Lit> = self.guard_of(reader).into_iter().collect();
        let mut options = Vec::with_capacity(entry.candidates.len());
        for &source in &entry.candidates {
            let option = self.choices.setup.new_var();
            self.choices.meanings.push(Meaning::Source(entry.read, source));
            options.push(option);
            self.option(entry.read, source, option);
            self.ask()?;
        }
        let clause = guard.iter().map(|&lit| !lit).chain(options.iter().copied()).collect();
        self.give(clause, Given::OneSource { read: entry.read });
        self.choices.setup.add_choice(&guard, &options);
        Ok(())
    }

    fn option(&mut self, read: u32, source: u32, option: Lit) {
        let problem = self.problem();
        let external = problem.index.reads()[read as usize];
        if source == INITIAL {
            for later in self.first_writers(external.key, |_| 0, external.txn) {
                self.overwritten(read, source, later, &[option]);
            }
            let maybe: Vec<TxnId> = self.state.writers.maybe(external.key).collect();
            for later in maybe.into_iter().filter(|&later| later != external.txn) {
                let committed = self.committed(later);
                self.overwritten(read, source, later, &[option, committed]);
            }
            return;
        }
        let shape = problem.shape;
        let writer = problem.writer(source);
        if let Some(committed) = self.guard_of(writer) {
            self.choices.setup.set_needs(option, committed);
            self.give(vec![!option, committed], Given::SourceCommitted { read, source });
        }
        self.edge(
            shape.commit(writer),
            shape.begin(external.txn),
            &[option],
            Because::ReadFrom { read, source },
        );
        let reach = &self.state.reach;
        let install = shape.install(writer);
        for later in self.first_writers(external.key, |chain| reach.first(install, chain), writer) {
            if later != external.txn && reach.reaches(install, shape.commit(later)) {
                self.overwritten(read, source, later, &[option]);
            }
        }
        for other in self.not_earlier(source, writer, external.key) {
            if other != external.txn {
                self.unless_earlier(read, source, other, &[option]);
            }
        }
    }

    /// For the snapshot core: two writers of a key do not overlap, whether a transaction read from them or not.
    fn exclusive_write(&mut self, write: usize) {
        if self.is_decided(write as u32) {
            return;
        }
        let final_write = self.problem().index.writes()[write];
        if self.problem().status[final_write.txn.index()] == Status::Out {
            return;
        }
        let shape = self.problem().shape;
        let mut others = self.not_earlier(write as u32, final_write.txn, final_write.key);
        if self.problem().status[final_write.txn.index()] == Status::Maybe {
            // Saturation orders a writer with the known later ones only if both committed.
            let (reach, install) = (&self.state.reach, shape.install(final_write.txn));
            let later =
                self.first_writers(final_write.key, |chain| reach.first(install, chain), final_write.txn);
            others.extend(later);
            others.sort_unstable();
            others.dedup();
        }
        for other in others {
            let (from, to) = (shape.commit(final_write.txn), shape.install(other));
            let Versions::Known = self.versions(final_write.txn, other) else { continue };
            let guards: Vec<Lit> =
                [final_write.txn, other].into_iter().filter_map(|txn| self.guard_of(txn)).collect();
            if !guards.is_empty() {
                let because = Because::Versions { earlier: final_write.txn, later: other };
                self.edge(from, to, &guards, because);
            } else if !self.state.reach.reaches(from, to) {
                self.choices.known.push((from, to, Reason::Exclusive(write as u32)));
            }
        }
    }

    /// Orders of versions that the history tells if a transaction of unknown outcome committed.
    fn told_if_committed(&mut self) {
        let problem = self.problem();
        for &(op, txn) in problem.index.listed() {
            let reader = problem.history.txn_of(op);
            if [reader, txn].iter().all(|txn| problem.status[txn.index()] == Status::Maybe) {
                let (reader, listed) = (self.committed(reader), self.committed(txn));
                self.give(vec![!reader, listed], Given::Listed { op, txn });
            }
        }
        for (number, order) in problem.index.version_order().iter().enumerate() {
            let mut tellers: Vec<TxnId> = problem.told_by(order).collect();
            let (from, to) = (problem.shape.commit(tellers[0]), problem.shape.install(tellers[1]));
            tellers.sort_unstable();
            tellers.dedup();
            let is_out = |txn: &TxnId| problem.status[txn.index()] == Status::Out;
            let guards: Vec<Lit> = tellers.iter().filter_map(|&txn| self.guard_of(txn)).collect();
            if !guards.is_empty() && !tellers.iter().any(is_out) {
                self.edge(from, to, &guards, Because::Told(number as u32));
            }
        }
    }

    /// What an unknown transaction that does not hand on orders, if it committed.
    fn maybe_obligations(&mut self) {
        let shape = self.problem().shape;
        let mut maybe: Vec<(TxnId, Lit)> = self.committed.iter().map(|(&txn, &lit)| (txn, lit)).collect();
        maybe.retain(|&(txn, _)| !self.problem().hands_on(txn));
        maybe.sort_unstable();
        for (txn, committed) in maybe {
            for later in self.problem().session_followers(txn) {
                let (from, to) = (shape.commit(txn), shape.begin(later));
                self.edge(from, to, &[committed], Because::Session { from, to });
            }
            for edge in time::edges_of(&self.state.maybe_edges, txn) {
                self.edge(edge.from, edge.to, &[committed], Because::Time);
            }
        }
    }

    /// The first writer on each chain from a position on, and those on no chain.
    fn first_writers(&self, key: KeyId, from: impl Fn(usize) -> u32, but: TxnId) -> Vec<TxnId> {
        let groups = self.state.writers.groups(key);
        let on_chains =
            groups.filter_map(|group| group.first_from(from(group.chain as usize), but).map(|(txn, _)| txn));
        let off_chain = self.state.writers.off_chain(key).iter().copied().filter(|&txn| txn != but);
        on_chains.chain(off_chain).collect()
    }

    /// Whether a write is ordered with all others of its key.
    #[inline]
    fn is_decided(&self, write: u32) -> bool {
        self.state.windows.is_ordered(write) && !self.state.writers.has_others()
    }

    /// The writers of a key whose version is not known to be earlier than that of a transaction, without those for
    /// which saturation did all there is to do.
    fn not_earlier(&self, write: u32, txn: TxnId, key: KeyId) -> Vec<TxnId> {
        let (reach, shape) = (&self.state.reach, self.problem().shape);
        let (install, commit) = (shape.install(txn), shape.commit(txn));
        let mut found = Vec::new();
        let windows = &self.state.windows;
        if windows.has_window(write) {
            let unordered = windows.unordered_with(write).iter().map(|other| other.txn);
            found.extend(unordered.filter(|&other| {
                !reach.reaches(shape.install(other), commit) && !reach.reaches(install, shape.commit(other))
            }));
        } else {
            for group in self.state.writers.groups(key) {
                let chain = group.chain as usize;
                let (from, to) =
                    (reach.end(commit, chain) + shape.install_gap(), reach.first(install, chain));
                found.extend(group.between(from, to));
                if !self.is_saturated {
                    found.extend(group.first_from(to, txn).map(|(txn, _)| txn));
                }
            }
        }
        let elsewhere =
            self.state.writers.off_chain(key).iter().copied().chain(self.state.writers.maybe(key));
        found.extend(elsewhere.filter(|&other| !reach.reaches(shape.install(other), commit)));
        found.retain(|&other| other != txn);
        found
    }

    /// If the source's version is earlier than the other writer's, the read comes before the other writer.
    fn unless_earlier(&mut self, read: u32, source: u32, other: TxnId, conditions: &[Lit]) {
        let writer = self.problem().writer(source);
        let open = match self.versions(writer, other) {
            Versions::Opposite => return,
            Versions::Known => None,
            Versions::Open(lit) => Some(lit),
        };
        let mut all = std::mem::take(&mut self.conditions);
        all.clear();
        all.extend(conditions.iter().copied().chain(open).chain(self.guard_of(other)));
        self.overwritten(read, source, other, &all);
        self.conditions = all;
    }

    fn overwritten(&mut self, read: u32, source: u32, later: TxnId, conditions: &[Lit]) {
        let shape = self.problem().shape;
        let reader = self.problem().reader(read);
        if reader == later {
            return;
        }
        if conditions.is_empty() {
            self.choices.known.push((shape.begin(reader), shape.commit(later), Reason::Overwritten(read)));
            return;
        }
        let because = Because::Overwritten { read, source, later };
        self.edge(shape.begin(reader), shape.commit(later), conditions, because);
    }

    fn edge(&mut self, from: u32, to: u32, conditions: &[Lit], because: Because) -> EdgeId {
        self.choices.because.push(because);
        self.choices.setup.add_edge(from, to, conditions)
    }

    fn give(&mut self, clause: Vec<Lit>, given: Given) {
        self.choices.given.push(given);
        self.choices.setup.add_clause(clause, self.choices.given.len() as u32 - 1);
    }

    /// The literal that a transaction committed, if that is not certain.
    fn guard_of(&mut self, txn: TxnId) -> Option<Lit> {
        (self.problem().status[txn.index()] == Status::Maybe).then(|| self.committed(txn))
    }

    fn committed(&mut self, txn: TxnId) -> Lit {
        if let Some(&lit) = self.committed.get(&txn) {
            return lit;
        }
        let lit = self.choices.setup.new_var();
        self.choices.meanings.push(Meaning::Committed(txn));
        self.committed.insert(txn, lit);
        lit
    }

    /// Whether the first one's version is earlier than the second one's: known, or a literal.
    fn versions(&mut self, first: TxnId, second: TxnId) -> Versions {
        let (reach, shape) = (&self.state.reach, self.problem().shape);
        if reach.reaches(shape.install(first), shape.commit(second)) {
            return Versions::Known;
        }
        if reach.reaches(shape.install(second), shape.commit(first)) {
            return Versions::Opposite;
        }
        let (low, high) = (first.min(second), first.max(second));
        let name = u64::from(low.0) << 32 | u64::from(high.0);
        let (low_first, high_first) = match self.pairs.get(&name) {
            Some(&lits) => lits,
            None => {
                let lits = self.new_pair(low, high);
                self.pairs.insert(name, lits);
                lits
            }
        };
        Versions::Open(if first == low { low_first } else { high_first })
    }

    fn new_pair(&mut self, low: TxnId, high: TxnId) -> (Lit, Lit) {
        let shape = self.problem().shape;
        let low_first = (shape.commit(low), shape.install(high));
        let high_first = (shape.commit(high), shape.install(low));
        let guards: Vec<Lit> = [low, high].into_iter().filter_map(|txn| self.guard_of(txn)).collect();
        let lits = if guards.is_empty() || !shape.writers_exclude() {
            let lit = self.choices.setup.new_order_var(low_first, Some(high_first));
            self.choices.meanings.push(Meaning::Earlier(low, high));
            (lit, !lit)
        } else {
            let lits = [low_first, high_first].map(|edge| self.choices.setup.new_order_var(edge, None));
            self.choices
                .meanings
                .extend([Meaning::MaybeEarlier(low, high), Meaning::MaybeEarlier(high, low)]);
            let clause = guards.iter().map(|&guard| !guard).chain(lits).collect();
            self.give(clause, Given::OneEarlier(low, high));
            (lits[0], lits[1])
        };
        self.edge(low_first.0, low_first.1, &[lits.0], Because::Versions { earlier: low, later: high });
        self.edge(high_first.0, high_first.1, &[lits.1], Because::Versions { earlier: high, later: low });
        self.choices.setup.add_choice(&guards, &[lits.0, lits.1]);
        lits
    }
}
