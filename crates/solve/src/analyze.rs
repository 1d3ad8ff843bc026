//! From a conflict to a clause that prevents it: first unique implication point (Marques-Silva and Sakallah 1999).
//!
//! The clauses resolved on the way, in the order of the trail, are the hints by which a checker repeats the argument
//! with unit propagation alone. Literals of level 0 are resolved away like all others, so the hints are complete.

use crate::Lit;
use crate::clauses::{ClauseId, NO_CLAUSE};
use crate::proof::Origin;
use crate::solver::Solver;

impl Solver<'_> {
    /// Learns from a conflict and continues; false if the conflict does not depend on any decision.
    pub(crate) fn resolve_conflict(&mut self, conflict: ClauseId) -> bool {
        self.counts.conflicts += 1;
        let top = self.clauses.lits(conflict).iter().map(|lit| self.level[lit.var()]).max().unwrap_or(0);
        if top == 0 {
            return self.refute(conflict);
        }
        self.backtrack(top);
        let (lits, hints) = self.first_unique_implication(conflict);
        let back = lits.iter().skip(1).map(|lit| self.level[lit.var()]).max().unwrap_or(0);
        self.backtrack(back);
        let learned = self.clauses.add(&lits, Origin::Learned(hints));
        self.attach(learned)
    }

    /// Derives the empty clause from a clause that level 0 makes false; always false, as an answer to "go on?".
    pub(crate) fn refute(&mut self, conflict: ClauseId) -> bool {
        let mut used = vec![(u32::MAX, conflict)];
        let mut stack: Vec<Lit> = self.clauses.lits(conflict).to_vec();
        let mut seen = vec![false; self.value.len()];
        while let Some(lit) = stack.pop() {
            if std::mem::replace(&mut seen[lit.var()], true) {
                continue;
            }
            let reason = self.reason[lit.var()];
            used.push((self.trail_place[lit.var()], reason));
            stack.extend(self.clauses.lits(reason).iter().filter(|other| other.var() != lit.var()));
        }
        used.sort_unstable();
        let hints = used.into_iter().map(|(_, clause)| clause).collect();
        self.clauses.add(&[], Origin::Learned(hints));
        false
    }

    fn first_unique_implication(&mut self, conflict: ClauseId) -> (Vec<Lit>, Vec<ClauseId>) {
        let top = self.current_level();
        let mut learned = vec![Lit::NONE];
        let mut used = vec![(u32::MAX, conflict)];
        let mut open_at_top = 0;
        let mut touched = Vec::new();
        let mut clause = conflict;
        let mut resolved = Lit::NONE;
        let mut place = self.trail.len();
        loop {
            let lits: Vec<Lit> = self.clauses.lits(clause).to_vec();
            for lit in lits.into_iter().filter(|&lit| lit != resolved) {
                if std::mem::replace(&mut self.seen[lit.var()], true) {
                    continue;
                }
                touched.push(lit.var());
                match self.level[lit.var()] {
                    0 => self.use_level_zero(lit, &mut used, &mut touched),
                    level if level == top => open_at_top += 1,
                    _ => learned.push(lit),
                }
            }
            loop {
                place -= 1;
                let lit = self.trail[place];
                if self.seen[lit.var()] && self.level[lit.var()] == top {
                    resolved = lit;
                    break;
                }
            }
            open_at_top -= 1;
            if open_at_top == 0 {
                break;
            }
            clause = self.reason[resolved.var()];
            debug_assert_ne!(clause, NO_CLAUSE);
            used.push((self.trail_place[resolved.var()], clause));
        }
        learned[0] = !resolved;
        touched.into_iter().for_each(|var| self.seen[var] = false);
        used.sort_unstable();
        used.dedup();
        (learned, used.into_iter().map(|(_, clause)| clause).collect())
    }

    /// A literal that is false at level 0 is left out of what is learned; its reasons become hints.
    fn use_level_zero(&mut self, lit: Lit, used: &mut Vec<(u32, ClauseId)>, touched: &mut Vec<usize>) {
        let mut stack = vec![lit];
        while let Some(lit) = stack.pop() {
            let reason = self.reason[lit.var()];
            used.push((self.trail_place[lit.var()], reason));
            for &other in self.clauses.lits(reason) {
                if !std::mem::replace(&mut self.seen[other.var()], true) {
                    touched.push(other.var());
                    stack.push(other);
                }
            }
        }
    }
}
