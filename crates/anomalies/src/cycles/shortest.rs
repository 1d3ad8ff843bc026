//! The shortest cycle of a class in any of several parts, by breadth-first search in the product of graph and automaton.
//!
//! Each edge that can be part of a cycle starts a search. Cycles of up to `SHORT` edges are looked for in all parts, one
//! length after the other, so that the first one found is a shortest one and ends the search. A search that is bounded by
//! a length passes few nodes of a large part, and of its last edges it follows only those that lead back.
//!
//! If there is no short cycle, the searches have no bound but the best cycle so far. If the first of them find nothing
//! for a single anti-dependency, reachability of 64 edges at a time says which of them have a cycle at all. A part in
//! which `STEPS` edges were looked at is left with the best cycle so far.

use super::{Automaton, Local, Part, STATES, State};
use crate::class::Shape;
use crate::graph::{Edge, Kind};

/// How many edges the searches in one part look at, before and after starts are left out that cannot succeed.
const QUICK_STEPS: u64 = 1_500_000;
const STEPS: u64 = 30_000_000;

/// The share of the first steps that is for searches of bounded length.
const SHORT_STEPS: u64 = QUICK_STEPS / 2;

/// Up to this length one length is tried after the other.
const SHORT: u32 = 8;

/// The search for one class.
pub(super) struct ShortestSearch<'p> {
    automaton: Automaton,
    starts: Vec<Starts<'p>>,
    scratch: Scratch,
    /// The length of a cycle that is known from elsewhere.
    known: u32,
    best: Option<Vec<Edge>>,
}

/// The edges of a part from which searches start.
struct Starts<'p> {
    part: &'p Part,
    /// Those from which no search without a bound was made.
    edges: Vec<u32>,
    /// No cycle is shorter.
    least: u32,
    /// How many edges may still be looked at.
    steps: u64,
}

impl<'p> ShortestSearch<'p> {
    pub(super) fn new(parts: &'p [Part], automaton: Automaton, known: Option<usize>) -> Self {
        let starts = parts.iter().map(|part| Starts {
            part,
            edges: part.first_edges(automaton),
            least: automaton.least_length(),
            steps: QUICK_STEPS,
        });
        let starts: Vec<Starts> = starts.filter(|starts| !starts.edges.is_empty()).collect();
        let node_count = starts.iter().map(|starts| starts.part.node_count()).max().unwrap_or(0);
        let known = known.map_or(u32::MAX, |known| known as u32);
        Self { automaton, starts, scratch: Scratch::new(node_count), known, best: None }
    }

    pub(super) fn run(mut self) -> Option<Vec<Edge>> {
        let mut starts = std::mem::take(&mut self.starts);
        for length in self.automaton.least_length()..=SHORT {
            starts.iter_mut().for_each(|starts| self.try_length(starts, length));
        }
        starts.iter_mut().for_each(|starts| self.try_all(starts));
        starts.retain(|starts| !starts.edges.is_empty());
        if self.best.is_none() {
            for starts in &mut starts {
                starts.leave_out_hopeless(self.automaton);
                starts.steps = STEPS;
                self.try_all(starts);
            }
        }
        self.best
    }

    /// Searches for cycles of this length, unless there is a cycle already or the steps for that are used.
    fn try_length(&mut self, starts: &mut Starts, length: u32) {
        for &first in &starts.edges {
            if self.best.is_some() || starts.steps <= QUICK_STEPS - SHORT_STEPS {
                return;
            }
            self.search(starts.part, first, length, &mut starts.steps);
        }
        starts.least = length + 1;
    }

    /// Searches for cycles of any length that are shorter than the best, until all steps are used.
    fn try_all(&mut self, starts: &mut Starts) {
        let mut tried = 0;
        while tried < starts.edges.len() && starts.steps > 0 {
            let most = self.best.as_ref().map_or(u32::MAX, |best| (best.len() as u32).min(self.known) - 1);
            if most < starts.least {
                tried = starts.edges.len();
                break;
            }
            self.search(starts.part, starts.edges[tried], most, &mut starts.steps);
            tried += 1;
        }
        starts.edges.drain(..tried);
    }

    /// Keeps the shortest cycle that starts with an edge and has at most this many.
    fn search(&mut self, part: &Part, first: u32, most: u32, steps: &mut u64) {
        let mut search = ShortestCycleSearch { part, automaton: self.automaton, scratch: &mut self.scratch };
        let walk = search.from(first, most, steps);
        let cycle = walk.filter(|walk| part.is_simple(walk)).map(|walk| part.collapse(&walk));
        self.best = cycle.or_else(|| self.best.take());
    }
}

impl Starts<'_> {
    /// Leaves out edges from which every search would fail, where that is quick to find out.
    fn leave_out_hopeless(&mut self, automaton: Automaton) {
        if automaton.shape == Shape::GSingle {
            self.edges = self.part.closed_without_rw(automaton, std::mem::take(&mut self.edges));
        }
    }
}

/// Columns of a search, by node and state.
struct Scratch {
    /// The search that reached it.
    stamp: Vec<u32>,
    /// From where, and by which edge.
    via: Vec<(u32, u32)>,
    /// After how many edges.
    length: Vec<u32>,
    /// The number of this search.
    round: u32,
    layer: Vec<u32>,
    next: Vec<u32>,
}

impl Scratch {
    fn new(node_count: usize) -> Self {
        let size = node_count * STATES;
        Self {
            stamp: vec![0; size],
            via: vec![(u32::MAX, u32::MAX); size],
            length: vec![0; size],
            round: 0,
            layer: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Notes how a place is reached; whether that is new, or shorter than before.
    fn reach(&mut self, place: u32, length: u32, via: (u32, u32)) -> bool {
        let at = place as usize;
        if self.stamp[at] == self.round && self.length[at] <= length {
            return false;
        }
        self.stamp[at] = self.round;
        self.length[at] = length;
        self.via[at] = via;
        true
    }

    fn trace(&self, end: u32) -> Vec<u32> {
        let mut walk = Vec::new();
        let mut place = end;
        while place != u32::MAX {
            let (before, edge) = self.via[place as usize];
            walk.push(edge);
            place = before;
        }
        walk.reverse();
        walk
    }
}

/// A search from one edge.
struct ShortestCycleSearch<'s> {
    part: &'s Part,
    automaton: Automaton,
    scratch: &'s mut Scratch,
}

impl ShortestCycleSearch<'_> {
    /// The shortest walk that starts with an edge, comes back, and has at most this many edges.
    fn from(&mut self, first: u32, most: u32, steps: &mut u64) -> Option<Vec<u32>> {
        let (origin, local) = (self.part.from(first), self.part.edges[first as usize]);
        let start = place_of(local.to, self.automaton.first_state(local.kind));
        self.scratch.round += 1;
        self.scratch.reach(start, 1, (u32::MAX, first));
        self.scratch.layer.clear();
        self.scratch.layer.push(start);
        let mut length = 1;
        while !self.scratch.layer.is_empty() && length <= most {
            self.scratch.next.clear();
            let mut at = 0;
            while let Some(&place) = self.scratch.layer.get(at) {
                at += 1;
                if self.scratch.length[place as usize] < length {
                    continue;
                }
                let (node, state) = (place / STATES as u32, (place % STATES as u32) as State);
                if node == origin && self.automaton.accepts(state) {
                    return Some(self.scratch.trace(place));
                }
                *steps = steps.saturating_sub(self.part.out(node).len() as u64);
                self.follow(place, length, origin, most);
            }
            let Scratch { layer, next, .. } = &mut *self.scratch;
            std::mem::swap(layer, next);
            length += 1;
        }
        None
    }

    /// Follows the edges of a place that was reached after so many. The last edge has to lead to the origin, or to a node
    /// from which others go on.
    fn follow(&mut self, place: u32, length: u32, origin: u32, most: u32) {
        let (node, state) = (place / STATES as u32, (place % STATES as u32) as State);
        for edge in self.part.out(node) {
            let Local { to, kind } = self.part.edges[edge];
            // An edge that only goes on does not count.
            let length_to = length + u32::from(kind != Kind::Through);
            let is_useless = length_to == most && to != origin && to < self.part.txn_count;
            if length_to > most || is_useless {
                continue;
            }
            let Some(state) = self.automaton.step(state, kind) else { continue };
            let place_to = place_of(to, state);
            if self.scratch.reach(place_to, length_to, (place, edge as u32)) {
                let Scratch { layer, next, .. } = &mut *self.scratch;
                if kind == Kind::Through { layer.push(place_to) } else { next.push(place_to) }
            }
        }
    }
}

fn place_of(node: u32, state: State) -> u32 {
    node * STATES as u32 + u32::from(state)
}
