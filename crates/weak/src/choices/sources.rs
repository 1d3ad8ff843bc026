//! The sources of a read as choices, the likely ones first.
//!
//! A read of a row that is not there may have come from every transaction that deleted the row: with ranges these are
//! thousands for each read. So the clause of a read names the few possible sources that stand nearest to it in the guessed
//! order, the earlier ones first, and one literal for all others; if the solver falls back on that literal, twice as many are
//! named. Each clause is true of the whole list, and the lists end, so nothing is lost.
//!
//! Possible sources are sorted by the guess once for each group of reads that share them. 20,000 transactions of
//! `range-b` on PostgreSQL have more than two million possible sources, which made the level undecided before.

use std::rc::Rc;

use batsat::{Lit, SolverInterface, Var, lbool};
use certify::text::facts::Facts;
use rustc_hash::FxHashMap;

use super::{Choice, ChoiceSearch};

/// How many possible sources of a read are choices at first.
const FIRST: usize = 2;

/// A read whose source is a choice.
pub(super) struct OpenRead {
    pub(super) read: u32,
    /// The node that made it.
    reader: u32,
    /// The possible sources that are choices, with their variables.
    pub(super) tried: Vec<(u32, Var)>,
    /// All possible sources, by the guess.
    sorted: Rc<[u32]>,
    /// How many of them stand before the reader.
    earlier_count: usize,
    /// Stands for those that are not choices yet.
    others: Option<Var>,
}

impl OpenRead {
    /// The possible source that is tried after so many others: the nearest earlier one, and the nearest later one when there
    /// is none.
    fn candidate(&self, place: usize) -> u32 {
        match place < self.earlier_count {
            true => self.sorted[self.earlier_count - 1 - place],
            false => self.sorted[place],
        }
    }
}

/// The reads whose sources are choices.
pub(super) struct Sources {
    open: Vec<OpenRead>,
    /// For each group of possible sources the same sorted by the guess, once that was needed.
    sorted: FxHashMap<u32, Rc<[u32]>>,
    /// For each read whether it is open.
    is_open: Vec<bool>,
    /// How many possible sources became choices.
    pub(super) candidate_count: usize,
}

impl Sources {
    pub(super) fn new(facts: &Facts) -> Self {
        let is_open = vec![false; facts.reads().len()];
        Self { open: Vec::new(), sorted: FxHashMap::default(), is_open, candidate_count: 0 }
    }

    pub(super) fn open(&self) -> &[OpenRead] {
        &self.open
    }
}

impl ChoiceSearch<'_> {
    /// Each read of a node that is taken as committed has a source that is.
    pub(super) fn demand_sources(&mut self, node: u32) {
        let facts = self.facts;
        let not_in: Option<Lit> = self.out_of_known(node);
        let mut required: Vec<u32> = facts.listed_by(node).iter().map(|&(_, appender)| appender).collect();
        for read in facts.reads_of(node) {
            match facts.only_source(read) {
                Some(only) => required.push(only),
                None => self.open_read(read, node, not_in),
            }
        }
        for other in required {
            if let (Some(not_in), Some(out)) = (not_in, self.out(other)) {
                self.add(vec![not_in, !out], vec![node, other]);
            }
        }
    }

    fn open_read(&mut self, read: usize, reader: u32, not_in: Option<Lit>) {
        if std::mem::replace(&mut self.sources.is_open[read], true) {
            return;
        }
        let sorted = self.sorted_candidates(read);
        let guess = &self.guess;
        let earlier_count =
            sorted.partition_point(|&candidate| guess[candidate as usize] < guess[reader as usize]);
        let mut open =
            OpenRead { read: read as u32, reader, tried: Vec::new(), sorted, earlier_count, others: None };
        self.try_more(&mut open, FIRST, not_in);
        self.sources.open.push(open);
    }

    /// The possible sources of a read in the order of the guess.
    fn sorted_candidates(&mut self, read: usize) -> Rc<[u32]> {
        let (facts, guess) = (self.facts, &self.guess);
        let sort = || {
            let mut sorted = facts.candidates(read).to_vec();
            sorted.sort_by_key(|&candidate| guess[candidate as usize]);
            Rc::from(sorted)
        };
        match facts.group_of(read) {
            Some(group) => Rc::clone(self.sources.sorted.entry(group).or_insert_with(sort)),
            None => sort(),
        }
    }

    /// Makes so many more possible sources of a read choices. The clause holds unless `unless` is true.
    fn try_more(&mut self, open: &mut OpenRead, count: usize, unless: Option<Lit>) {
        let start = open.tried.len();
        let end = (start + count).min(open.sorted.len());
        self.sources.candidate_count += end - start;
        let mut clause: Vec<Lit> = unless.into_iter().collect();
        let mut nodes = vec![open.reader];
        for place in start..end {
            let candidate = open.candidate(place);
            let var = self.var(Choice::Source(open.read, candidate), place == 0);
            clause.push(Lit::new(var, true));
            nodes.push(candidate);
            open.tried.push((candidate, var));
            if let Some(out) = self.out(candidate) {
                self.add(vec![Lit::new(var, false), !out], vec![open.reader, candidate]);
            }
        }
        open.others = (end < open.sorted.len()).then(|| self.solver.new_var(lbool::FALSE, true));
        clause.extend(open.others.map(|var| Lit::new(var, true)));
        self.add(clause, nodes);
    }

    /// Names more possible sources of the reads for which the solver chose none of those that were named; false if there
    /// are no such reads.
    pub(super) fn ask_for_more_sources(&mut self) -> bool {
        let mut open = std::mem::take(&mut self.sources.open);
        let is_true = |search: &Self, var: Var| search.solver.value_var(var) == lbool::TRUE;
        let mut wanting: Vec<(usize, Var)> = Vec::new();
        for (place, read) in open.iter().enumerate() {
            let Some(others) = read.others.filter(|&others| is_true(self, others)) else { continue };
            if !read.tried.iter().any(|&(_, var)| is_true(self, var)) {
                wanting.push((place, others));
            }
        }
        for &(place, others) in &wanting {
            let count = open[place].tried.len();
            self.try_more(&mut open[place], count, Some(Lit::new(others, false)));
        }
        // New clauses may have opened the reads of unknown transactions in the meantime.
        open.append(&mut self.sources.open);
        self.sources.open = open;
        !wanting.is_empty()
    }

    /// The pairs of a chosen source and its reader, where the order contains them.
    pub(super) fn chosen_sources(&self, is_in: &[bool], source: &[u32]) -> Vec<(u32, u32)> {
        let ordered = self.sources.open.iter().filter(|open| {
            is_in[open.reader as usize] && self.known.is_read_ordered(self.facts, open.reader)
        });
        ordered.map(|open| (source[open.read as usize], open.reader)).filter(|&(from, _)| from != 0).collect()
    }
}
