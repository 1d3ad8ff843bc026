//! Which pairs every order has, by sessions and by reads with one source: clocks over what is certain.
//!
//! n k numbers for n nodes and k sessions; where that is too much, only what one step shows is known.

use certify::text::facts::{Facts, INITIAL, Mask};
use certify::text::plan::{Plan, Readers};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

use crate::forced::visit_known;
use crate::sorted::Pairs;

/// More numbers than this are not kept: 256 MiB.
const MOST_ENTRIES: usize = 64 << 20;

/// Pairs that every order has.
pub(crate) struct Known {
    /// For each node the place of its session.
    session: Vec<u32>,
    /// For each node and session one more than the last node of the session that comes before it; empty if that is too
    /// much to keep.
    seen: Vec<u32>,
    width: usize,
    /// Before which nodes session order and reads-from are in every order.
    ordered: (Mask, Mask),
    /// Before which nodes real time is.
    timed: Mask,
    is_timed: bool,
    /// Whether session order is, before all of them.
    has_sessions: bool,
    /// Whether each node surely committed, so that what its lists show is known.
    is_certain: Vec<bool>,
}

impl Known {
    /// What is known, or nodes that are on a cycle of what is known.
    pub(crate) fn new(facts: &Facts, plan: &Plan, certain: &[u32]) -> Result<Self, Vec<u32>> {
        let count = facts.node_count();
        let mut is_in = vec![false; count];
        certain.iter().for_each(|&node| is_in[node as usize] = true);
        let source: Vec<u32> =
            (0..facts.reads().len()).map(|read| facts.only_source(read).unwrap_or(INITIAL)).collect();
        let pairs = Pairs::new(count, |add| visit_known(facts, plan, &is_in, &source, add));
        let order = pairs.order(certain).map_err(|left| pairs.cycle(&left))?;
        let mut session = vec![0; count];
        let mut width = 0;
        for node in 1..count as u32 {
            if facts.session_start(node) == node {
                width += 1;
            }
            session[node as usize] = width as u32 - 1;
        }
        let ordered = (facts.mask(&plan.session), facts.mask(&plan.reads_from));
        let has_sessions = plan.session.is_all();
        let (timed, is_timed) = (facts.mask(&plan.real_time), plan.real_time != Readers::None);
        let mut known = Self {
            timed,
            is_timed,
            session,
            seen: Vec::new(),
            width,
            ordered,
            has_sessions,
            is_certain: is_in,
        };
        if count * width <= MOST_ENTRIES {
            known.seen = vec![0; count * width];
            order.iter().for_each(|&node| pairs.after(node).iter().for_each(|&next| known.join(node, next)));
        }
        Ok(known)
    }

    fn join(&mut self, before: u32, node: u32) {
        let (from, to) = (before as usize * self.width, node as usize * self.width);
        for place in 0..self.width {
            self.seen[to + place] = self.seen[to + place].max(self.seen[from + place]);
        }
        let own = &mut self.seen[to + self.session[before as usize] as usize];
        *own = (*own).max(before + 1);
    }

    /// Whether session order puts the first before the second in every order.
    pub(crate) fn is_session_ordered(&self, facts: &Facts, first: u32, second: u32) -> bool {
        facts.is_in(second, &self.ordered.0) && facts.is_session_before(first, second)
    }

    /// Whether real time puts the first before the second in every order.
    pub(crate) fn is_time_ordered(&self, facts: &Facts, first: u32, second: u32) -> bool {
        self.is_timed && facts.is_in(second, &self.timed) && facts.is_real_time_before(first, second)
    }

    /// Whether every order has the sources of a node's reads before it.
    pub(crate) fn is_read_ordered(&self, facts: &Facts, node: u32) -> bool {
        facts.is_in(node, &self.ordered.1)
    }

    /// Nodes of a short way by which the first comes before the second: the ends of every run of session order.
    pub(crate) fn way(&self, facts: &Facts, first: u32, second: u32) -> Vec<u32> {
        let mut came: FxHashMap<u32, (u32, Option<u32>)> = FxHashMap::default();
        let mut queue = VecDeque::from([second]);
        while let Some(node) = queue.pop_front() {
            if node == first {
                break;
            }
            if self.is_session_ordered(facts, first, node) || self.is_time_ordered(facts, first, node) {
                came.insert(first, (node, None));
                break;
            }
            let reads = facts.reads_of(node).filter_map(|read| facts.only_source(read));
            let is_ordered = facts.is_in(node, &self.ordered.1);
            let reads = reads.filter(|&from| from != INITIAL && is_ordered).map(|from| (from, None));
            let told = facts.told().iter().filter(|&&(_, to, by)| to == node && self.is_certain[by as usize]);
            let told = told.map(|&(from, _, by)| (from, Some(by)));
            let is_certain = |before: u32| self.is_certain[before as usize];
            let session = facts.earlier_in_session(node, &self.ordered.0, is_certain);
            let session = session.map(|before| (before, None));
            let mut ended: Vec<(u32, Option<u32>)> = Vec::new();
            if self.is_timed && facts.is_in(node, &self.timed) {
                facts.timeline().directly_before(facts, node, &mut |before| ended.push((before, None)));
            }
            for (before, by) in session.chain(reads).chain(told).chain(ended) {
                let leads = before == first || self.is_before(facts, first, before);
                if leads && !came.contains_key(&before) {
                    came.insert(before, (node, by));
                    queue.push_back(before);
                }
            }
        }
        let mut nodes = vec![first];
        while let Some(&(next, by)) =
            came.get(nodes.last().expect("one node")).filter(|_| nodes.last() != Some(&second))
        {
            nodes.extend(by);
            nodes.push(next);
        }
        nodes
    }

    /// Whether the first comes before the second in every order.
    pub(crate) fn is_before(&self, facts: &Facts, first: u32, second: u32) -> bool {
        if first == INITIAL || self.seen.is_empty() {
            let reads = || facts.reads_of(second).any(|read| facts.only_source(read) == Some(first));
            return first == INITIAL
                || self.is_session_ordered(facts, first, second)
                || self.is_time_ordered(facts, first, second)
                || facts.is_in(second, &self.ordered.1) && reads();
        }
        let seen = self.seen[second as usize * self.width + self.session[first as usize] as usize];
        match self.has_sessions {
            // The clock of a node knows the certain ones before it; its session has others.
            true => seen > first || facts.is_session_before(first, second),
            // Without session order the last of a session says nothing about the others.
            false => seen == first + 1,
        }
    }
}
