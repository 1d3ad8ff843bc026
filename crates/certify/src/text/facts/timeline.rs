//! Which transactions ended before others began, without listing all pairs.
//!
//! Transactions are sorted by their ends, so that those that ended before a moment are a prefix. A transaction directly
//! follows those of the prefix that no other one of it follows: at most as many as ran at the same time. Clocks of
//! one session do not differ, so its transactions are looked at one by one. O(n log n) to make.

use super::{Facts, INITIAL};

/// When a transaction began and ended, as far as that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// The earliest moment at which it can have begun.
    pub begin: Option<i64>,
    /// The latest moment at which it can have committed.
    pub end: Option<i64>,
}

/// The transactions in the order of their ends.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Nodes with an end, and the ends.
    ended: Vec<(i64, u32)>,
    /// For each prefix of these the latest begin in it.
    latest_begin: Vec<i64>,
    /// For each node its place among them.
    place: Vec<u32>,
}

impl Timeline {
    pub(super) fn of(spans: &[Span]) -> Self {
        let ends = spans.iter().enumerate().filter_map(|(node, span)| Some((span.end?, node as u32)));
        let mut ended: Vec<(i64, u32)> = ends.collect();
        ended.sort_unstable();
        let mut latest_begin = vec![i64::MIN];
        let mut place = vec![u32::MAX; spans.len()];
        for (number, &(_, node)) in ended.iter().enumerate() {
            let begin = spans[node as usize].begin.unwrap_or(i64::MIN);
            latest_begin.push(begin.max(latest_begin[number]));
            place[node as usize] = number as u32;
        }
        Self { ended, latest_begin, place }
    }

    /// How many nodes have an end.
    pub fn len(&self) -> usize {
        self.ended.len()
    }

    /// Whether no node has an end.
    pub fn is_empty(&self) -> bool {
        self.ended.is_empty()
    }

    /// The node with this place among the ends.
    pub fn node(&self, place: usize) -> u32 {
        self.ended[place].1
    }

    /// The place of a node among the ends.
    pub fn place(&self, node: u32) -> Option<usize> {
        let place = self.place[node as usize];
        (place != u32::MAX).then_some(place as usize)
    }

    /// How many of the first nodes ended before a node began, whatever their sessions.
    pub fn ended_before(&self, facts: &Facts, node: u32) -> usize {
        let Some(begin) = facts.span(node).begin else { return 0 };
        self.ended.partition_point(|&(end, _)| end.saturating_add(facts.clock_skew()) < begin)
    }

    /// The nodes that a node directly follows in real time: all others that it follows are followed by one of these.
    pub fn directly_before(&self, facts: &Facts, node: u32, each: &mut dyn FnMut(u32)) {
        let count = self.ended_before(facts, node);
        let latest = self.latest_begin[count];
        for &(end, other) in self.ended[..count].iter().rev() {
            if end.saturating_add(facts.clock_skew()) < latest {
                break;
            }
            if other != node {
                each(other);
            }
        }
        Self::directly_before_in_session(facts, node, each);
    }

    /// The same within the node's session.
    pub fn directly_before_in_session(facts: &Facts, node: u32, each: &mut dyn FnMut(u32)) {
        let mut next = None;
        for before in (facts.session_start(node)..node).rev() {
            if next.is_some_and(|next| facts.is_real_time_before(before, next)) {
                break;
            }
            if facts.is_real_time_before(before, node) {
                each(before);
                next = Some(before);
            }
        }
    }
}

impl Facts {
    /// When a node's transaction began and ended.
    pub fn span(&self, node: u32) -> Span {
        self.spans.get(node as usize).copied().unwrap_or_default()
    }

    /// How far two clients' clocks may be apart.
    pub fn clock_skew(&self) -> i64 {
        self.clock_skew
    }

    /// Sets how far two clients' clocks may be apart.
    pub fn set_clock_skew(&mut self, skew: i64) {
        self.clock_skew = skew;
    }

    /// Whether the first ended before the second began.
    pub fn is_real_time_before(&self, first: u32, second: u32) -> bool {
        if first == INITIAL || first == second {
            return false;
        }
        let skew = if self.session_start(first) == self.session_start(second) { 0 } else { self.clock_skew };
        matches!(
            (self.span(first).end, self.span(second).begin),
            (Some(end), Some(begin)) if end.saturating_add(skew) < begin
        )
    }

    /// The transactions in the order of their ends.
    pub fn timeline(&self) -> &Timeline {
        self.timeline.get_or_init(|| Timeline::of(&self.spans))
    }
}
