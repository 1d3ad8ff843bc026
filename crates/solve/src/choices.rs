//! Which choices does the current order violate?
//!
//! An open choice is fine if one of its options agrees with the order: every edge that the option would bring runs
//! forward. Conditions of an edge that are open themselves are read off the order where it tells them, and are taken
//! as false otherwise. A choice is looked at only when something around it changed: it waits in `pending`.
//!
//! Most choices that are looked at are fine, so first an option that agrees is looked for, beginning with the one that
//! agreed last; each other option is left at its first backward edge. Edges are counted only where no option agrees. The
//! same decisions for HD-10k took 745 million instructions and take 698 million.

use crate::Lit;
use crate::solver::{Choice, Solver};

/// The conditions of an edge but one.
fn others(conditions: &[Lit; 3], but: Lit) -> impl Iterator<Item = Lit> {
    conditions.iter().copied().filter(move |&lit| lit.is_some() && lit != but)
}

impl Solver<'_> {
    pub(crate) fn revisit_choices_of(&mut self, var: usize) {
        for place in 0..self.choices_of_var.of(var).len() {
            let choice = self.choices_of_var.of(var)[place];
            self.revisit(choice);
        }
    }

    pub(crate) fn revisit_choices_of_moved(&mut self) {
        let mut moved = std::mem::take(&mut self.moved);
        self.graph.take_moved(&mut moved);
        for &node in &moved {
            for place in 0..self.choices_of_node.of(node as usize).len() {
                let choice = self.choices_of_node.of(node as usize)[place];
                self.revisit(choice);
            }
        }
        self.moved = moved;
    }

    fn revisit(&mut self, choice: u32) {
        self.is_fine[choice as usize] = false;
        if !std::mem::replace(&mut self.is_pending[choice as usize], true) {
            self.pending.push(choice);
        }
    }

    /// The next literal to decide, or `None` if the order satisfies every choice.
    pub(crate) fn next_decision(&mut self) -> Option<Lit> {
        while let Some(choice) = self.pending.pop() {
            self.is_pending[choice as usize] = false;
            if self.is_fine[choice as usize] {
                continue;
            }
            self.work += u64::from(self.setup.choices[choice as usize].option_count);
            if let Some(lit) = self.decision_for(choice) {
                // The choice may need more decisions; it is looked at again when this one is made or taken back.
                return Some(lit);
            }
        }
        None
    }

    /// How many choices the order violates now, of all.
    pub fn violated_count(&mut self) -> u64 {
        for choice in 0..self.setup.choices.len() as u32 {
            self.is_fine[choice as usize] = self.decision_for(choice).is_none();
        }
        self.is_fine.iter().filter(|&&is_fine| !is_fine).count() as u64
    }

    fn decision_for(&mut self, choice: u32) -> Option<Lit> {
        let setup = self.setup;
        let Choice { guards, .. } = setup.choices[choice as usize];
        if guards.iter().any(|&guard| guard.is_some() && self.value(guard) != Some(true)) {
            return None;
        }
        let options = setup.options_of(&setup.choices[choice as usize]);
        if let Some(&held) = options.iter().find(|&&option| self.value(option) == Some(true)) {
            return self.open_condition(held);
        }
        if self.habits.lazy && self.has_agreeing(choice, options) {
            return None;
        }
        let mut best: Option<(u32, Lit)> = None;
        for &option in options.iter().filter(|&&option| self.value(option).is_none()) {
            let fewest = best.map_or(u32::MAX, |(fewest, _)| fewest);
            match self.backward_edges(option, fewest) {
                0 if self.habits.polarity => return Some(option),
                0 => best = best.or(Some((0, option))),
                count => {
                    if best.is_none_or(|(fewest, _)| self.habits.polarity && count < fewest) {
                        best = Some((count, option));
                    }
                }
            }
        }
        best.map(|(_, option)| option)
    }

    /// Whether an open option of a choice agrees with the order. The one that agreed last mostly does so again.
    fn has_agreeing(&mut self, choice: u32, options: &[Lit]) -> bool {
        let agrees = |&option: &Lit| self.value(option).is_none() && self.backward_edges(option, 1) == 0;
        if options.get(self.agreed[choice as usize] as usize).is_some_and(agrees) {
            return true;
        }
        let Some(place) = options.iter().position(agrees) else { return false };
        self.agreed[choice as usize] = place as u32;
        true
    }

    /// The edges of an option that run backward in the order if their other conditions are as the order tells, and those
    /// conditions.
    fn backward(&self, option: Lit) -> impl Iterator<Item = [Lit; 3]> {
        let edges = self.edges_of_lit.of(option.index()).iter().map(|&id| &self.setup.edges[id as usize]);
        let backward = edges.filter(|edge| !self.graph.is_before(edge.from, edge.to));
        let conditions = backward.map(|edge| edge.conditions);
        conditions.filter(move |lits| others(lits, option).all(|lit| self.is_told(lit)))
    }

    /// Counts backward edges up to a number, at least one, which only tells the option with the fewest. What an option
    /// needs counts as one.
    fn backward_edges(&self, option: Lit, most: u32) -> u32 {
        let needed = self.setup.needs[option.index()];
        let lacking = u32::from(needed.is_some() && self.value(needed) != Some(true));
        lacking + self.backward(option).take(most.saturating_sub(lacking) as usize).count() as u32
    }

    /// An open condition of a backward edge of an option.
    fn open_condition(&self, option: Lit) -> Option<Lit> {
        let is_open = |lit: &Lit| self.value(*lit).is_none();
        self.backward(option).find_map(|lits| others(&lits, option).find(is_open))
    }

    /// The value of a literal, read off the order while it is open.
    fn is_told(&self, lit: Lit) -> bool {
        if let Some(value) = self.value(lit) {
            return value;
        }
        match (self.setup.telling_edge[lit.index()], self.setup.telling_edge[(!lit).index()]) {
            (Some((from, to)), _) => self.graph.is_before(from, to),
            (None, Some((from, to))) => !self.graph.is_before(from, to),
            (None, None) => false,
        }
    }
}
