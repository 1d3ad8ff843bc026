//! Unit propagation with two watched literals per clause (Moskewicz and others 2001), and the trail.

use crate::Lit;
use crate::clauses::{ClauseId, NO_CLAUSE};
use crate::solver::{LevelStart, Solver};

/// A clause that watches a literal, with another literal of it: if that one is true, the clause need not be opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    clause: ClauseId,
    blocker: Lit,
}

impl Solver<'_> {
    pub(crate) fn current_level(&self) -> u32 {
        self.level_start.len() as u32
    }

    /// Watches a clause and assigns what it forces now; false if it contradicts the decisions of level 0.
    pub(crate) fn attach(&mut self, id: ClauseId) -> bool {
        let lits = self.clauses.lits_mut(id);
        // Watch the two literals that were or will be unassigned last, so that backtracking needs no repair.
        let (value, level) = (&self.value, &self.level);
        let rank = |lit: Lit| match value[lit.var()] {
            Some(value) if value == lit.is_negative() => level[lit.var()],
            _ => u32::MAX,
        };
        lits.sort_by_key(|&lit| std::cmp::Reverse(rank(lit)));
        let (first, second) = (lits.first().copied(), lits.get(1).copied());
        if let (Some(first), Some(second)) = (first, second) {
            self.watches[(!first).index()].push(Watch { clause: id, blocker: second });
            self.watches[(!second).index()].push(Watch { clause: id, blocker: first });
        }
        let Some(first) = first else { return false };
        match (self.value(first), second.and_then(|second| self.value(second))) {
            (Some(false), _) => self.current_level() > 0 || self.refute(id),
            (None, None) if second.is_some() => true,
            (None, Some(true)) => true,
            (None, _) => {
                self.assign(first, id);
                true
            }
            (Some(true), _) => true,
        }
    }

    /// Makes a literal true.
    pub(crate) fn assign(&mut self, lit: Lit, reason: ClauseId) {
        debug_assert!(self.value(lit).is_none());
        let var = lit.var();
        self.value[var] = Some(!lit.is_negative());
        self.level[var] = self.current_level();
        self.reason[var] = reason;
        self.trail_place[var] = self.trail.len() as u32;
        self.trail.push(lit);
        self.revisit_choices_of(var);
    }

    /// Opens a new level with a decision.
    pub(crate) fn decide(&mut self, lit: Lit) {
        self.counts.decisions += 1;
        self.level_start.push(LevelStart { trail: self.trail.len(), asserted: self.asserted.len() });
        self.assign(lit, NO_CLAUSE);
    }

    /// Takes back everything above a level.
    pub(crate) fn backtrack(&mut self, level: u32) {
        let Some(&start) = self.level_start.get(level as usize) else {
            return;
        };
        self.level_start.truncate(level as usize);
        for lit in self.trail.split_off(start.trail) {
            self.value[lit.var()] = None;
            self.reason[lit.var()] = NO_CLAUSE;
            self.revisit_choices_of(lit.var());
        }
        self.retract_edges(start.asserted);
        self.next_clause_lit = start.trail.min(self.next_clause_lit);
        self.next_edge_lit = start.trail.min(self.next_edge_lit);
    }

    /// Propagates clauses and edges to a fixed point; a clause whose literals are all false is a conflict.
    pub(crate) fn propagate(&mut self) -> Result<(), ClauseId> {
        loop {
            while self.next_clause_lit < self.trail.len() {
                let lit = self.trail[self.next_clause_lit];
                self.next_clause_lit += 1;
                self.propagate_clauses(lit)?;
            }
            let Some(&lit) = self.trail.get(self.next_edge_lit) else {
                return Ok(());
            };
            self.assert_edges(lit)?;
            self.next_edge_lit += 1;
        }
    }

    fn propagate_clauses(&mut self, lit: Lit) -> Result<(), ClauseId> {
        let mut watches = std::mem::take(&mut self.watches[lit.index()]);
        let mut conflict = None;
        let mut kept = 0;
        for place in 0..watches.len() {
            let watch = watches[place];
            if conflict.is_some() || self.value(watch.blocker) == Some(true) {
                watches[kept] = watch;
                kept += 1;
                continue;
            }
            match self.visit_watch(watch.clause, !lit) {
                Visit::Moved => {}
                Visit::Keep(blocker) => {
                    watches[kept] = Watch { blocker, ..watch };
                    kept += 1;
                }
                Visit::Conflict => {
                    conflict = Some(watch.clause);
                    watches[kept] = watch;
                    kept += 1;
                }
            }
        }
        watches.truncate(kept);
        debug_assert!(self.watches[lit.index()].is_empty());
        self.watches[lit.index()] = watches;
        conflict.map_or(Ok(()), Err)
    }

    /// The watched literal `falsified` became false: finds another one, or a unit, or a conflict.
    fn visit_watch(&mut self, clause: ClauseId, falsified: Lit) -> Visit {
        let value = &self.value;
        let is_false = |lit: Lit| value[lit.var()] == Some(lit.is_negative());
        let lits = self.clauses.lits_mut(clause);
        if lits[0] == falsified {
            lits.swap(0, 1);
        }
        let first = lits[0];
        if let Some(place) = (2..lits.len()).find(|&place| !is_false(lits[place])) {
            lits.swap(1, place);
            let watched = lits[1];
            self.watches[(!watched).index()].push(Watch { clause, blocker: first });
            return Visit::Moved;
        }
        match self.value(first) {
            Some(true) => Visit::Keep(first),
            Some(false) => Visit::Conflict,
            None => {
                self.assign(first, clause);
                Visit::Keep(first)
            }
        }
    }
}

enum Visit {
    Moved,
    Keep(Lit),
    Conflict,
}
