//! Topological orders that stay close to a wanted one.
//!
//! Kahn's algorithm; of the nodes that are ready the one with the smallest number comes next, or the one that became
//! ready first. O(n log n + m), or O(n + m).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A graph of pairs that an order must contain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    start: Vec<u32>,
    next: Vec<u32>,
    waiting: Vec<u32>,
}

impl Pairs {
    /// The graph of the pairs that `visit` names; it is called twice.
    pub(crate) fn new(node_count: usize, visit: impl Fn(&mut dyn FnMut(u32, u32))) -> Self {
        let mut start = vec![0u32; node_count + 1];
        let mut waiting = vec![0u32; node_count];
        visit(&mut |from, to| {
            start[from as usize + 1] += 1;
            waiting[to as usize] += 1;
        });
        for node in 0..node_count {
            start[node + 1] += start[node];
        }
        let mut place = start.clone();
        let mut next = vec![0; start[node_count] as usize];
        visit(&mut |from, to| {
            next[place[from as usize] as usize] = to;
            place[from as usize] += 1;
        });
        Self { start, next, waiting }
    }

    pub(crate) fn after(&self, node: u32) -> &[u32] {
        &self.next[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }

    /// An order of `nodes`, those with smaller numbers first where the pairs allow it; if there is a cycle, the nodes
    /// that are on cycles or behind them.
    pub(crate) fn order_by(
        &self,
        nodes: &[u32],
        priority: impl Fn(u32) -> u64,
    ) -> Result<Vec<u32>, Vec<u32>> {
        let mut waiting = self.waiting.clone();
        let ready = nodes.iter().copied().filter(|&node| waiting[node as usize] == 0);
        let mut ready: BinaryHeap<Reverse<(u64, u32)>> =
            ready.map(|node| Reverse((priority(node), node))).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(Reverse((_, node))) = ready.pop() {
            order.push(node);
            for &next in self.after(node) {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    ready.push(Reverse((priority(next), next)));
                }
            }
        }
        self.finished(nodes, order, &waiting)
    }

    /// As [`Pairs::order_by`], from the end: a node that has to stand before another with a smaller number moves to the
    /// front, where `order_by` would move the other one to the back with everything that follows it.
    pub(crate) fn order_late(
        &self,
        nodes: &[u32],
        priority: impl Fn(u32) -> u64,
    ) -> Result<Vec<u32>, Vec<u32>> {
        let count = self.waiting.len();
        let backward = Self::new(count, |add| {
            for node in 0..count as u32 {
                self.after(node).iter().for_each(|&next| add(next, node));
            }
        });
        let mut order = backward.order_by(nodes, |node| u64::MAX - priority(node))?;
        order.reverse();
        Ok(order)
    }

    /// An order of `nodes` in which those that are ready first come first.
    pub(crate) fn order(&self, nodes: &[u32]) -> Result<Vec<u32>, Vec<u32>> {
        let mut waiting = self.waiting.clone();
        let mut ready: VecDeque<u32> =
            nodes.iter().copied().filter(|&node| waiting[node as usize] == 0).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(node) = ready.pop_front() {
            order.push(node);
            for &next in self.after(node) {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    ready.push_back(next);
                }
            }
        }
        self.finished(nodes, order, &waiting)
    }

    fn finished(&self, nodes: &[u32], order: Vec<u32>, waiting: &[u32]) -> Result<Vec<u32>, Vec<u32>> {
        match order.len() == nodes.len() {
            true => Ok(order),
            false => Err(nodes.iter().copied().filter(|&node| waiting[node as usize] > 0).collect()),
        }
    }

    /// A short cycle among nodes that an order was refused for: the nodes in order.
    ///
    /// Breadth first from some of them, no further than the best cycle so far, so the shortest through one of these. Only nodes of strongly connected components
    /// are looked at, so that every search ends with a cycle: the nodes behind a cycle are many more than those on it.
    pub(crate) fn cycle(&self, among: &[u32]) -> Vec<u32> {
        let component = self.components();
        let on_cycle: Vec<u32> =
            among.iter().copied().filter(|&node| component[node as usize] != u32::MAX).collect();
        let step = on_cycle.len().div_ceil(MOST_STARTS).max(1);
        let mut best: Vec<u32> = Vec::new();
        let mut by = vec![u32::MAX; self.waiting.len()];
        let mut work = 0;
        for &start in on_cycle.iter().step_by(step) {
            let most = if best.is_empty() { usize::MAX } else { best.len() - 1 };
            if let Some(cycle) = self.cycle_through(start, most, &component, (&mut by, &mut work)) {
                best = cycle;
            }
            if best.len() == 2 || work > MOST_WORK {
                break;
            }
        }
        best
    }

    /// For each node on a cycle the number of its strongly connected component, for all others the largest number.
    pub(crate) fn components(&self) -> Vec<u32> {
        let mut components = order::components(self.waiting.len(), |node| self.after(node).iter().copied());
        let sizes = components.sizes();
        for of in components.of.iter_mut().filter(|of| sizes[**of as usize] < 2) {
            *of = u32::MAX;
        }
        components.of
    }

    /// The shortest cycle through a node, if it has at most so many nodes.
    fn cycle_through(
        &self,
        start: u32,
        most: usize,
        component: &[u32],
        (by, work): (&mut [u32], &mut usize),
    ) -> Option<Vec<u32>> {
        let is_near = |&&node: &&u32| component[node as usize] == component[start as usize];
        // Each node with how many nodes the way to it has.
        let mut queue = VecDeque::from([(start, 1)]);
        let mut touched = Vec::new();
        let mut found = None;
        'search: while let Some((node, length)) = queue.pop_front() {
            if length > most {
                break;
            }
            for &next in self.after(node).iter().filter(is_near) {
                *work += 1;
                if next == start {
                    found = Some(node);
                    break 'search;
                }
                if by[next as usize] == u32::MAX {
                    by[next as usize] = node;
                    touched.push(next);
                    queue.push_back((next, length + 1));
                }
            }
        }
        let cycle = found.map(|last| {
            let mut cycle = vec![last];
            while *cycle.last().expect("one node") != start {
                cycle.push(by[*cycle.last().expect("one node") as usize]);
            }
            cycle.reverse();
            cycle
        });
        touched.into_iter().for_each(|node| by[node as usize] = u32::MAX);
        cycle
    }
}

/// From how many nodes cycles are looked for at first.
const MOST_STARTS: usize = 256;

/// How many steps the search for a shorter cycle takes at most once there is one.
const MOST_WORK: usize = 20_000_000;
