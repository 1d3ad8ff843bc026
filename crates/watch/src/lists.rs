//! Lists of numbers for numbers, and what graphs need of them: an order that follows the edges, and components.
//!
//! A list for each number is kept as one vector with places in it: two allocations, however many lists there are.

/// A list for each number, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// From pairs of a number below `count` and an item; the items of a number stay in their order.
    pub fn of(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        // Shifted by two, so that filling leaves the starts where they belong.
        let mut start = vec![0u32; count + 2];
        let mut length = 0;
        for (number, _) in pairs.clone() {
            start[number as usize + 2] += 1;
            length += 1;
        }
        for number in 2..start.len() {
            start[number] += start[number - 1];
        }
        let mut items = vec![0; length];
        for (number, item) in pairs {
            let next = &mut start[number as usize + 1];
            items[*next as usize] = item;
            *next += 1;
        }
        start.pop();
        Self { start, items }
    }

    #[inline]
    pub fn get(&self, number: u32) -> &[u32] {
        &self.items[self.start[number as usize] as usize..self.start[number as usize + 1] as usize]
    }
}

/// The edges of a graph: those that were there at first, and those that were added.
pub(crate) struct Edges<'g>(pub &'g Lists, pub &'g Lists);

impl Edges<'_> {
    #[inline]
    fn of(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        self.0.get(node).iter().chain(self.1.get(node)).copied()
    }

    /// Marks every node that a marked one leads to; `found` are those that are marked.
    pub fn spread(&self, is_marked: &mut [bool], mut found: Vec<u32>) {
        while let Some(node) = found.pop() {
            for next in self.of(node) {
                if !std::mem::replace(&mut is_marked[next as usize], true) {
                    found.push(next);
                }
            }
        }
    }
}

/// An order of all nodes that follows the edges; `None` if there is a cycle.
pub(crate) fn topological(count: usize, edges: &[(u32, u32)]) -> Option<Vec<u32>> {
    let out = Lists::of(count, edges.iter().copied());
    let mut missing = vec![0u32; count];
    edges.iter().for_each(|&(_, to)| missing[to as usize] += 1);
    let mut order: Vec<u32> = (0..count as u32).filter(|&node| missing[node as usize] == 0).collect();
    let mut place = 0;
    while let Some(&node) = order.get(place) {
        place += 1;
        for &next in out.get(node) {
            missing[next as usize] -= 1;
            if missing[next as usize] == 0 {
                order.push(next);
            }
        }
    }
    (order.len() == count).then_some(order)
}

/// Strongly connected components of the nodes that are not left out, by Tarjan's algorithm without recursion.
pub(crate) fn components(edges: &Edges<'_>, is_left_out: &[bool]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let count = is_left_out.len();
    let (mut number, mut low, mut component) = (vec![NONE; count], vec![0u32; count], vec![NONE; count]);
    let (mut stack, mut calls): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
    let (mut next_number, mut next_component) = (0, 0);
    let next_edge = |node: u32, place: u32| {
        let (first, second) = (edges.0.get(node), edges.1.get(node));
        let to = |place: usize| first.get(place).or_else(|| second.get(place - first.len())).copied();
        let mut places = place as usize..first.len() + second.len();
        places.find_map(|place| Some((place, to(place).filter(|&to| !is_left_out[to as usize])?)))
    };
    for root in (0..count as u32).filter(|&node| !is_left_out[node as usize]) {
        if number[root as usize] != NONE {
            continue;
        }
        calls.push((root, 0));
        while let Some(&(node, place)) = calls.last() {
            let at = node as usize;
            if place == 0 {
                (number[at], low[at]) = (next_number, next_number);
                next_number += 1;
                stack.push(node);
            }
            if let Some((place, to)) = next_edge(node, place) {
                let top = calls.len() - 1;
                calls[top].1 = place as u32 + 1;
                if number[to as usize] == NONE {
                    calls.push((to, 0));
                } else if component[to as usize] == NONE {
                    low[at] = low[at].min(number[to as usize]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent as usize] = low[parent as usize].min(low[at]);
            }
            if low[at] == number[at] {
                while let Some(member) = stack.pop() {
                    component[member as usize] = next_component;
                    if member == node {
                        break;
                    }
                }
                next_component += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_order_of_their_items() {
        let lists = Lists::of(3, [(2, 7), (0, 1), (2, 5), (0, 9)].into_iter());
        assert_eq!(lists.get(0), [1, 9]);
        assert!(lists.get(1).is_empty());
        assert_eq!(lists.get(2), [7, 5]);
    }

    #[test]
    fn components_use_both_lists_of_edges() {
        let (first, second) =
            (Lists::of(4, [(0, 1), (1, 2)].into_iter()), Lists::of(4, [(2, 1), (2, 3)].into_iter()));
        let found = components(&Edges(&first, &second), &[false; 4]);
        assert!(found[1] == found[2] && found[0] != found[1] && found[3] != found[1]);
        let found = components(&Edges(&first, &second), &[false, false, true, false]);
        assert!(found[2] == u32::MAX && found[0] != found[1]);
    }

    #[test]
    fn an_order_follows_the_edges() {
        assert_eq!(topological(3, &[(2, 0), (0, 1)]), Some(vec![2, 0, 1]));
        assert_eq!(topological(2, &[(0, 1), (1, 0)]), None);
    }
}
