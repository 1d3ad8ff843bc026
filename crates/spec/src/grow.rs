//! Decides forward levels by growing an order from its beginning.
//!
//! A transaction is placed only after those that must precede it; its reads then choose among the writers already
//! placed, and what it sees is settled. Unknown outcomes are transactions that need not be placed. With n transactions
//! at most n! prefixes are visited; on random histories of 7 transactions it is a few dozen.

use crate::core::Base;
use crate::forward::Forward;
use crate::matrix::{Matrix, Placed, ones};
use crate::oracle::Explanation;
use crate::small::{Outcome, SmallHistory};

/// Why a forward level allows a history, or nothing if it does not.
pub(crate) fn decide(history: &SmallHistory, forward: &Forward<'_>) -> Option<Explanation> {
    let whole = Whole::new(history, &forward.order);
    let mut growth = Growth {
        history,
        forward,
        whole: &whole,
        order: Vec::new(),
        sources: history.txns.iter().map(|txn| vec![0; txn.reads.len()]).collect(),
    };
    let nothing = Matrix::default();
    let levels: Vec<Option<&str>> = history.txns.iter().map(|txn| txn.level.as_deref()).collect();
    let start = Placed {
        session: nothing,
        real_time: nothing,
        commit_real_time: nothing,
        begin_real_time: nothing,
        conflict: nothing,
        reads_from: nothing,
        before: nothing,
        earlier: nothing,
        placed: 1,
        levels: &levels,
        writers: &whole.writers,
        readers: &whole.readers,
    };
    growth.extend(&start).then(|| growth.explanation())
}

/// The relations among all transactions that may commit, placed or not; transaction 0 is the initial one.
struct Whole {
    session: Matrix,
    real_time: Matrix,
    commit_real_time: Matrix,
    begin_real_time: Matrix,
    conflict: Matrix,
    /// What must precede each, if both commit.
    required: Matrix,
    writers: Vec<u16>,
    readers: Vec<u16>,
    committed: u16,
    possible: u16,
}

impl Whole {
    fn new(history: &SmallHistory, order: &[(Base, Option<&str>)]) -> Self {
        let count = history.txns.len();
        let objects = history.object_count();
        let mut whole = Self {
            session: related(count, |a, b| history.in_session_order(a, b)),
            real_time: related(count, |a, b| history.in_real_time(a, b)),
            commit_real_time: related(count, |a, b| history.in_commit_real_time(a, b)),
            begin_real_time: related(count, |a, b| history.in_begin_real_time(a, b)),
            conflict: Matrix::default(),
            required: Matrix::default(),
            writers: vec![1; objects],
            readers: vec![0; objects],
            committed: outcomes(history, |outcome| outcome == Outcome::Committed),
            possible: outcomes(history, |outcome| outcome != Outcome::Aborted),
        };
        for txn in 1..=count {
            whole.session.0[txn] |= 1;
        }
        for txn in ones(whole.possible) {
            let small = &history.txns[txn - 1];
            small.writes.iter().for_each(|&(object, _)| whole.writers[object] |= 1 << txn);
            small.reads.iter().for_each(|&(object, _)| whole.readers[object] |= 1 << txn);
        }
        for &set in &whole.writers {
            ones(set).for_each(|txn| whole.conflict.0[txn] |= set & !(1 << txn));
        }
        for &(base, level) in order {
            let is_at = |txn: usize| level.is_none() || history.txns[txn - 1].level.as_deref() == level;
            let columns = match base {
                Base::Session => whole.session,
                Base::RealTime => whole.real_time,
                _ => whole.commit_real_time,
            };
            (1..=count).filter(|&txn| is_at(txn)).for_each(|txn| whole.required.0[txn] |= columns.0[txn]);
        }
        whole
    }
}

fn related(count: usize, relation: impl Fn(usize, usize) -> bool) -> Matrix {
    let mut matrix = Matrix::default();
    for first in 0..count {
        for second in 0..count {
            matrix.0[second + 1] |= u16::from(relation(first, second)) << (first + 1);
        }
    }
    matrix
}

fn outcomes(history: &SmallHistory, keep: impl Fn(Outcome) -> bool) -> u16 {
    let kept = history.txns.iter().enumerate().filter(|(_, txn)| keep(txn.outcome));
    kept.fold(0, |set, (place, _)| set | 1 << (place + 1))
}

struct Growth<'a> {
    history: &'a SmallHistory,
    forward: &'a Forward<'a>,
    whole: &'a Whole,
    order: Vec<usize>,
    sources: Vec<Vec<usize>>,
}

impl Growth<'_> {
    fn extend(&mut self, state: &Placed<'_>) -> bool {
        let missing = self.whole.committed & !state.placed;
        if missing == 0 {
            return true;
        }
        for txn in ones(self.whole.possible & !state.placed) {
            let waits_for_another = self.whole.required.0[txn] & missing != 0;
            let comes_too_late = ones(state.placed).any(|other| self.whole.required.0[other] >> txn & 1 == 1);
            if waits_for_another || comes_too_late {
                continue;
            }
            self.order.push(txn);
            if self.place(state, txn) {
                return true;
            }
            self.order.pop();
        }
        false
    }

    fn place(&mut self, state: &Placed<'_>, txn: usize) -> bool {
        let mut next = state.clone();
        next.before.0[txn] = state.placed;
        next.session.0[txn] = self.whole.session.0[txn] & state.placed;
        next.real_time.0[txn] = self.whole.real_time.0[txn] & state.placed;
        next.commit_real_time.0[txn] = self.whole.commit_real_time.0[txn] & state.placed;
        next.begin_real_time.add_both_ways(&self.whole.begin_real_time, txn, state.placed);
        next.conflict.add_both_ways(&self.whole.conflict, txn, state.placed);
        next.placed |= 1 << txn;
        self.choose_source(next, txn, 0)
    }

    /// The source of a read is any placed writer of its value.
    fn choose_source(&mut self, mut state: Placed<'_>, txn: usize, at: usize) -> bool {
        let history = self.history;
        let Some(&(object, value)) = history.txns[txn - 1].reads.get(at) else {
            return self.is_allowed(&mut state, txn) && self.extend(&state);
        };
        for source in ones(state.placed & self.whole.writers[object] & !(1 << txn)) {
            let written = match source {
                0 => history.initial_value(object),
                writer => history.txns[writer - 1].written(object).expect("a writer writes"),
            };
            if written != value {
                continue;
            }
            self.sources[txn - 1][at] = source;
            let mut next = state.clone();
            next.reads_from.0[txn] |= 1 << source;
            if self.choose_source(next, txn, at + 1) {
                return true;
            }
        }
        false
    }

    /// Every visible writer of what the transaction reads must stand before the one it read from.
    fn is_allowed(&self, state: &mut Placed<'_>, txn: usize) -> bool {
        let reads = &self.history.txns[txn - 1].reads;
        let sources = &self.sources[txn - 1];
        let mut view = 0;
        if !self.forward.reads_matter && !reads.is_empty() {
            view = state.relation(self.forward.visible).0[txn];
        }
        for (at, &(object, _)) in reads.iter().enumerate() {
            if self.forward.reads_matter {
                state.earlier = Matrix::default();
                let before = self.history.txns[txn - 1].reads_before(at);
                state.earlier.0[txn] = sources[..before].iter().fold(0, |set, &source| set | 1 << source);
                view = state.relation(self.forward.visible).0[txn];
            }
            let source = sources[at];
            let others = view & self.whole.writers[object] & !(1 << source);
            if others & !state.before.0[source] != 0 {
                return false;
            }
        }
        self.forward.empty.iter().all(|rel| state.relation(rel).is_empty())
    }

    fn explanation(&self) -> Explanation {
        let place = |txn: usize| txn - 1;
        let mut committed = vec![false; self.history.txns.len()];
        let mut sources = vec![Vec::new(); self.history.txns.len()];
        for &txn in &self.order {
            committed[place(txn)] = true;
            sources[place(txn)] =
                self.sources[place(txn)].iter().map(|&source| source.checked_sub(1)).collect();
        }
        Explanation {
            committed,
            sources,
            order: self.order.iter().map(|&txn| place(txn)).collect(),
            visible: Vec::new(),
        }
    }
}
