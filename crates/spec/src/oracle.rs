//! The reference semantics: whether a history is allowed by a level, by trying every witness.
//!
//! Slow and plain on purpose: every engine is tested against it. The only shortcuts are those that cannot be wrong:
//! an order is grown from its beginning and given up when a prefix already fails (see `forward.rs`), and reads
//! choose their source when their transaction is placed. Levels of any other shape are judged on complete witnesses.

use crate::core::{Framework, Level};
use crate::facts::{Columns, Facts, TxnSet, any_explanation};
use crate::forward::forward;
use crate::grow;
use crate::judge::{Judged, judge, required_columns};
use crate::small::{Outcome, SmallHistory};

/// Why a level allows a history: what to take as committed, where reads came from, and the witness.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// For each transaction of the history, whether it is taken as committed.
    pub committed: Vec<bool>,
    /// For each read of each committed transaction, the place of the transaction it came from; `None` is the initial
    /// state.
    pub sources: Vec<Vec<Option<usize>>>,
    /// The committed transactions in the witness's order; empty if the level asks for none.
    pub order: Vec<usize>,
    /// Pairs of transactions of which the second sees the first, where the witness has visibility.
    pub visible: Vec<(usize, usize)>,
}

/// Whether a level allows a history.
pub fn holds(history: &SmallHistory, level: &Level) -> bool {
    decide(history, level).is_some()
}

/// Why a level allows a history, or nothing if it does not.
pub fn decide(history: &SmallHistory, level: &Level) -> Option<Explanation> {
    match forward(level) {
        Some(forward) if history.txns.len() < crate::matrix::SIDE => grow::decide(history, &forward),
        _ => decide_by_complete_witnesses(history, level),
    }
}

/// Whether an explanation is one: the outcomes and sources are possible, and the level's text is true of the witness.
pub fn accepts(history: &SmallHistory, level: &Level, explanation: &Explanation) -> bool {
    let Explanation { committed, sources, order, visible } = explanation;
    let count = history.txns.len();
    if committed.len() != count || sources.len() != count {
        return false;
    }
    let is_possible = |place: usize| match history.txns[place].outcome {
        Outcome::Committed => committed[place],
        Outcome::Aborted => !committed[place],
        Outcome::Unknown => true,
    };
    let taken: Vec<usize> = (0..count).filter(|&place| committed[place]).collect();
    if !(0..count).all(is_possible) || !has_sources(history, &taken, sources) {
        return false;
    }
    let number = |place: Option<usize>| place.map_or(0, |place| place + 1);
    let from: Vec<Vec<usize>> =
        sources.iter().map(|of| of.iter().map(|&source| number(source)).collect()).collect();
    let facts = Facts::new(history, &taken, &from);
    let place_of = |place: &usize| taken.iter().position(|other| other == place).map(|at| at + 1);
    let Some(places) = order.iter().map(place_of).collect::<Option<Vec<usize>>>() else { return false };
    let mut judged = Judged { order: vec![0], visible: vec![0; facts.txn_count()] };
    judged.order.extend(places);
    for (seen, txn) in visible {
        let (Some(seen), Some(txn)) = (place_of(seen), place_of(txn)) else { return false };
        judged.visible[txn] |= 1 << seen;
    }
    judged.visible.iter_mut().skip(1).for_each(|view| *view |= 1);
    let mut sorted = judged.order.clone();
    sorted.sort_unstable();
    let is_total = level.framework == Framework::History || sorted.into_iter().eq(0..facts.txn_count());
    is_total && judge(&facts, &judged, &level.axioms().and(level.demand()))
}

/// Each read has the value of its source.
fn has_sources(history: &SmallHistory, taken: &[usize], sources: &[Vec<Option<usize>>]) -> bool {
    taken.iter().all(|&reader| {
        let txn = &history.txns[reader];
        let is_source = |(&(object, value), source): (&(usize, u32), &Option<usize>)| match *source {
            None => history.initial_value(object) == value,
            Some(writer) => {
                writer != reader
                    && taken.contains(&writer)
                    && history.txns[writer].written(object) == Some(value)
            }
        };
        txn.reads.len() == sources[reader].len() && txn.reads.iter().zip(&sources[reader]).all(is_source)
    })
}

/// The same answer without growing: every explanation, every order, every visibility, judged whole.
pub fn decide_by_complete_witnesses(history: &SmallHistory, level: &Level) -> Option<Explanation> {
    let mut found = None;
    any_explanation(history, &mut |facts| {
        found = witness(facts, level).map(|judged| explanation(history, facts, &judged));
        found.is_some()
    });
    found
}

/// A witness for fixed outcomes and sources.
pub fn witness(facts: &Facts, level: &Level) -> Option<Judged> {
    let demand = level.demand();
    if level.framework == Framework::History {
        let judged = Judged::default();
        return judge(facts, &judged, &demand).then_some(judged);
    }
    let mut required = required_columns(facts, &level.order);
    if level.framework == Framework::Visibility {
        required.iter_mut().zip(&facts.reads_from).for_each(|(column, sources)| *column |= sources);
    }
    let mut search = OrderSearch { facts, level, demand: &demand, required, judged: Judged::default() };
    search.judged.visible = vec![0; facts.txn_count()];
    search.extend(0).then_some(search.judged)
}

struct OrderSearch<'a> {
    facts: &'a Facts,
    level: &'a Level,
    demand: &'a crate::core::Formula,
    required: Columns,
    judged: Judged,
}

impl OrderSearch<'_> {
    fn extend(&mut self, placed: TxnSet) -> bool {
        if self.judged.order.len() == self.facts.txn_count() {
            return judge(self.facts, &self.judged, self.demand);
        }
        // The initial transaction comes first in every witness.
        let choices = if placed == 0 { 0..1 } else { 1..self.facts.txn_count() };
        for txn in choices {
            let is_free = placed >> txn & 1 == 0 && self.required[txn] & !placed == 0;
            if is_free && self.place(txn, placed) {
                return true;
            }
        }
        false
    }

    fn place(&mut self, txn: usize, placed: TxnSet) -> bool {
        self.judged.order.push(txn);
        let accepted = if self.level.framework == Framework::Visibility {
            self.any_view(txn, placed)
        } else {
            self.extend(placed | 1 << txn)
        };
        if !accepted {
            self.judged.order.pop();
        }
        accepted
    }

    /// Tries every set that the transaction may see: all that it must see, nothing that comes later, and in it the
    /// source of each read is the last writer.
    fn any_view(&mut self, txn: usize, placed: TxnSet) -> bool {
        let must = self.required[txn] | (placed & 1);
        let may = placed & !must;
        let mut extra = may;
        loop {
            let view = must | extra;
            if self.reads_last_visible(txn, view) {
                self.judged.visible[txn] = view;
                if self.extend(placed | 1 << txn) {
                    return true;
                }
            }
            if extra == 0 {
                self.judged.visible[txn] = 0;
                return false;
            }
            extra = (extra - 1) & may;
        }
    }

    fn reads_last_visible(&self, txn: usize, view: TxnSet) -> bool {
        self.facts.reads[txn].iter().all(|&(object, _, source)| {
            let seen = view & self.facts.writers[object];
            self.judged.order.iter().rev().find(|&&other| seen >> other & 1 == 1) == Some(&source)
        })
    }
}

fn explanation(history: &SmallHistory, facts: &Facts, judged: &Judged) -> Explanation {
    let mut committed = vec![false; history.txns.len()];
    let mut sources = vec![Vec::new(); history.txns.len()];
    for (txn, &original) in facts.original.iter().enumerate() {
        let Some(place) = original else { continue };
        committed[place] = true;
        sources[place] = facts.reads[txn].iter().map(|&(_, _, source)| facts.original[source]).collect();
    }
    let order = judged.order.iter().filter_map(|&txn| facts.original[txn]).collect();
    let mut visible = Vec::new();
    for (txn, &view) in judged.visible.iter().enumerate() {
        let seen = (0..facts.txn_count()).filter(|other| view >> other & 1 == 1);
        visible.extend(seen.filter_map(|other| Some((facts.original[other]?, facts.original[txn]?))));
    }
    Explanation { committed, sources, order, visible }
}
