//! The windows of one key: for each writer, by its place in the order, those that it is not ordered with.

use history::TxnId;
use order::Reach;

use super::Writer;

/// For each place the earlier and the later places that it is not ordered with.
#[derive(Default)]
pub(super) struct KeyWindow {
    earlier_start: Vec<u32>,
    earlier: Vec<u32>,
    later_start: Vec<u32>,
    later: Vec<u32>,
}

impl KeyWindow {
    /// How many writers there are.
    fn len(&self) -> usize {
        self.earlier_start.len() - 1
    }

    /// Finds the windows of writers in topological order; false if that takes too long. A version is later if the
    /// `install` of its writer is reached.
    pub(super) fn find(
        &mut self,
        writers: &[(u32, Writer)],
        reach: &Reach,
        install: impl Fn(TxnId) -> u32,
    ) -> bool {
        let mut effort = 1 + writers.len() * (2 * reach.chains().len() + 8);
        self.earlier_start.clear();
        self.earlier_start.push(0);
        self.earlier.clear();
        for (place, (_, writer)) in writers.iter().enumerate() {
            let node = install(writer.txn);
            let spent = self.add_earlier(place, |other| writers[other].1.reaches(reach, node));
            if spent >= effort {
                return false;
            }
            effort -= spent;
            self.earlier_start.push(self.earlier.len() as u32);
        }
        self.turn_around();
        true
    }

    /// Adds the earlier ones that a place is not ordered with; says how many were asked.
    fn add_earlier(&mut self, place: usize, is_earlier: impl Fn(usize) -> bool) -> usize {
        for before in (0..place).rev() {
            if !is_earlier(before) {
                self.earlier.push(before as u32);
                continue;
            }
            let inherited = self.earlier_start[before] as usize..self.earlier_start[before + 1] as usize;
            let asked = place - before + inherited.len();
            for at in inherited {
                let other = self.earlier[at];
                if !is_earlier(other as usize) {
                    self.earlier.push(other);
                }
            }
            return asked;
        }
        place
    }

    /// Finds the later ones from the earlier ones.
    fn turn_around(&mut self) {
        let count = self.len();
        self.later_start.clear();
        self.later_start.resize(count + 2, 0);
        self.later.clear();
        self.later.resize(self.earlier.len(), 0);
        for &before in &self.earlier {
            self.later_start[before as usize + 2] += 1;
        }
        for place in 2..count + 2 {
            self.later_start[place] += self.later_start[place - 1];
        }
        for place in 0..count {
            for at in self.earlier_start[place] as usize..self.earlier_start[place + 1] as usize {
                let next = &mut self.later_start[self.earlier[at] as usize + 1];
                self.later[*next as usize] = place as u32;
                *next += 1;
            }
        }
    }

    /// Nearest first.
    #[inline]
    fn earlier(&self, place: usize) -> &[u32] {
        &self.earlier[self.earlier_start[place] as usize..self.earlier_start[place + 1] as usize]
    }

    /// Nearest first.
    #[inline]
    fn later(&self, place: usize) -> &[u32] {
        &self.later[self.later_start[place] as usize..self.later_start[place + 1] as usize]
    }

    /// All that a place is not ordered with, latest first.
    pub(super) fn unordered_with(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        self.later(place).iter().rev().chain(self.earlier(place)).map(|&other| other as usize)
    }

    /// Some that are known to be later than a place, among them all that nothing else comes before: the first that is,
    /// and those that are later but not ordered with that one.
    pub(super) fn next(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let mut unordered = self.later(place).iter().map(|&other| other as usize).peekable();
        let mut first = place + 1;
        while unordered.next_if_eq(&first).is_some() {
            first += 1;
        }
        let is_there = first < self.len();
        let rest = if is_there { self.later(first) } else { &[] };
        let rest = rest.iter().map(|&other| other as usize).filter(move |other| {
            while unordered.next_if(|unordered| unordered < other).is_some() {}
            unordered.peek() != Some(other)
        });
        is_there.then_some(first).into_iter().chain(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use order::{Chains, Digraph, Flat};

    /// Windows by asking every pair, on random graphs over four chains.
    #[test]
    fn windows_are_what_asking_every_pair_finds() {
        let mut seed = 11u64;
        let mut random = |bound: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) % u64::from(bound)) as u32
        };
        for _ in 0..300 {
            let mut graph = Digraph::new(20);
            let mut chains = Chains::new(20);
            for chain in 0..4 {
                let members: Vec<u32> = (0..20).filter(|node| node % 4 == chain).collect();
                for pair in members.windows(2) {
                    graph.add(pair[0], pair[1]);
                }
                chains.add(members);
            }
            for _ in 0..random(20) {
                let (from, to) = (random(20), random(20));
                if from < to {
                    graph.add(from, to);
                }
            }
            let mut reach = Reach::new(chains);
            let order: Vec<u32> = (0..20).collect();
            reach.rebuild(&Flat::successors(&graph), &Flat::predecessors(&graph), &order);
            let nodes: Vec<u32> = (0..20).filter(|_| random(2) == 0).collect();
            assert_windows(&nodes, &reach);
        }
    }

    fn assert_windows(nodes: &[u32], reach: &Reach) {
        let chains = reach.chains();
        let writer = |&node: &u32| {
            let (chain, position) = (chains.chain_of(node), chains.position_of(node));
            (node, Writer { txn: TxnId(node), chain, position })
        };
        let writers: Vec<_> = nodes.iter().map(writer).collect();
        let mut window = KeyWindow::default();
        assert!(window.find(&writers, reach, |txn| txn.0));
        for (place, &node) in nodes.iter().enumerate() {
            let is_later = |other: usize| other != place && reach.reaches(node, nodes[other]);
            let is_earlier = |other: usize| other != place && reach.reaches(nodes[other], node);
            let mut unordered: Vec<usize> = window.unordered_with(place).collect();
            unordered.reverse();
            let others = (0..nodes.len()).filter(|&other| other != place);
            assert_eq!(
                unordered,
                others.filter(|&other| !is_later(other) && !is_earlier(other)).collect::<Vec<_>>()
            );
            let next: Vec<usize> = window.next(place).collect();
            assert!(next.iter().all(|&other| is_later(other)));
            for later in (0..nodes.len()).filter(|&other| is_later(other)) {
                assert!(next.iter().any(|&other| reach.reaches(nodes[other], nodes[later])));
            }
        }
    }

    #[test]
    fn writers_without_any_order_are_given_up() {
        let mut chains = Chains::new(1000);
        chains.add(0..1);
        let reach = Reach::new(chains);
        let writers: Vec<_> =
            (0..1000).map(|node| (node, Writer { txn: TxnId(node), chain: 0, position: 1 })).collect();
        assert!(!KeyWindow::default().find(&writers, &reach, |txn| txn.0));
    }
}
