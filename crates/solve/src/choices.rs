//! Which choices does the current order violate?
//!
//! An open choice is fine if one of its options agrees with the order: every edge that the option would bring runs
//! forward. Conditions of an edge that are open themselves are read off the order where it tells them, and are taken
//! as false otherwise. A choice is looked at only when something around it changed: it waits in `pending`.

use crate::Lit;
use crate::solver::Solver;

/// How an option stands to the order.
enum Agreement {
    Agrees,
    /// How many of its edges run backward, and an open condition of one of them.
    Disagrees(u32, Option<Lit>),
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
        if !std::mem::replace(&mut self.is_pending[choice as usize], true) {
            self.pending.push(choice);
        }
    }

    /// The next literal to decide, or `None` if the order satisfies every choice.
    pub(crate) fn next_decision(&mut self) -> Option<Lit> {
        while let Some(choice) = self.pending.pop() {
            self.is_pending[choice as usize] = false;
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
        (0..self.setup.choices.len() as u32).filter(|&choice| self.decision_for(choice).is_some()).count()
            as u64
    }

    fn decision_for(&self, choice: u32) -> Option<Lit> {
        let choice = self.setup.choices[choice as usize];
        if choice.guards.iter().any(|&guard| guard.is_some() && self.value(guard) != Some(true)) {
            return None;
        }
        let options = self.setup.options_of(&choice);
        if let Some(&held) = options.iter().find(|&&option| self.value(option) == Some(true)) {
            return match self.agreement(held, u32::MAX) {
                Agreement::Agrees => None,
                Agreement::Disagrees(_, open) => open,
            };
        }
        let mut best: Option<(u32, Lit)> = None;
        for &option in options.iter().filter(|&&option| self.value(option).is_none()) {
            let fewest = best.map_or(u32::MAX, |(fewest, _)| fewest);
            match self.agreement(option, fewest) {
                Agreement::Agrees if self.habits.lazy => return None,
                Agreement::Agrees if self.habits.polarity => return Some(option),
                Agreement::Agrees => best = best.or(Some((0, option))),
                Agreement::Disagrees(count, _) => {
                    if best.is_none_or(|(fewest, _)| self.habits.polarity && count < fewest) {
                        best = Some((count, option));
                    }
                }
            }
        }
        best.map(|(_, option)| option)
    }

    /// Counts backward edges up to a number, which only tells the option with the fewest.
    fn agreement(&self, option: Lit, most: u32) -> Agreement {
        let needed = self.setup.needs[option.index()];
        let mut backward = u32::from(needed.is_some() && self.value(needed) != Some(true));
        let mut open = None;
        for &id in self.edges_of_lit.of(option.index()) {
            let edge = &self.setup.edges[id as usize];
            if self.graph.is_before(edge.from, edge.to) {
                continue;
            }
            let others = || edge.conditions().filter(|&lit| lit != option);
            if others().all(|lit| self.is_told(lit)) {
                backward += 1;
                if backward >= most {
                    break;
                }
                open = open.or_else(|| others().find(|&lit| self.value(lit).is_none()));
            }
        }
        if backward == 0 { Agreement::Agrees } else { Agreement::Disagrees(backward, open) }
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
