//! Strongly connected components (Tarjan 1972), without recursion: O(nodes + edges), and no stack to overflow.

use crate::NONE;

/// The component of each node.
#[derive(Clone, Debug)]
pub struct Components {
    /// The component of each node; numbered so that an edge never leads to a higher one.
    pub of: Vec<u32>,
    /// How many components there are.
    pub count: usize,
}

impl Components {
    /// How many nodes each component has.
    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.count];
        for &component in &self.of {
            sizes[component as usize] += 1;
        }
        sizes
    }
}

/// The strongly connected components of a graph given by its successors.
pub fn components<S: Iterator<Item = u32>>(node_count: usize, successors: impl Fn(u32) -> S) -> Components {
    let mut search = ComponentSearch {
        index: vec![NONE; node_count],
        low: vec![0; node_count],
        of: vec![NONE; node_count],
        stack: Vec::new(),
        visited: 0,
        count: 0,
    };
    for root in 0..node_count as u32 {
        if search.index[root as usize] == NONE {
            search.visit(root, &successors);
        }
    }
    Components { of: search.of, count: search.count }
}

struct ComponentSearch {
    index: Vec<u32>,
    low: Vec<u32>,
    of: Vec<u32>,
    stack: Vec<u32>,
    visited: u32,
    count: usize,
}

impl ComponentSearch {
    fn visit<S: Iterator<Item = u32>>(&mut self, root: u32, successors: &impl Fn(u32) -> S) {
        let mut path = vec![(root, self.enter(root, successors))];
        while let Some((node, rest)) = path.last_mut() {
            let node = *node;
            match rest.next() {
                Some(to) if self.index[to as usize] == NONE => {
                    let rest = self.enter(to, successors);
                    path.push((to, rest));
                }
                Some(to) => {
                    if self.of[to as usize] == NONE {
                        self.lower(node, self.index[to as usize]);
                    }
                }
                None => {
                    path.pop();
                    if let Some(&(parent, _)) = path.last() {
                        self.lower(parent, self.low[node as usize]);
                    }
                    self.close(node);
                }
            }
        }
    }

    fn enter<S: Iterator<Item = u32>>(&mut self, node: u32, successors: &impl Fn(u32) -> S) -> S {
        self.index[node as usize] = self.visited;
        self.low[node as usize] = self.visited;
        self.visited += 1;
        self.stack.push(node);
        successors(node)
    }

    fn lower(&mut self, node: u32, low: u32) {
        let entry = &mut self.low[node as usize];
        *entry = (*entry).min(low);
    }

    fn close(&mut self, node: u32) {
        if self.low[node as usize] != self.index[node as usize] {
            return;
        }
        while let Some(member) = self.stack.pop() {
            self.of[member as usize] = self.count as u32;
            if member == node {
                break;
            }
        }
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cycles_and_a_bridge() {
        let edges: [&[u32]; 5] = [&[1], &[0, 2], &[3], &[2, 4], &[]];
        let found = components(5, |node| edges[node as usize].iter().copied());
        assert_eq!(found.count, 3);
        assert_eq!(found.of[0], found.of[1]);
        assert_eq!(found.of[2], found.of[3]);
        assert!(found.of[1] > found.of[2] && found.of[3] > found.of[4]);
        assert_eq!(found.sizes(), [1, 2, 2]);
    }

    #[test]
    fn a_long_path_does_not_overflow() {
        let found = components(300_000, |node| (node + 1 < 300_000).then_some(node + 1).into_iter());
        assert_eq!(found.count, 300_000);
    }
}
