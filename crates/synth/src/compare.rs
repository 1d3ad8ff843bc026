//! Two levels, or many, by what they allow: histories decide, and the lattice is derived.

use std::fmt;

use spec::{Level, SmallHistory, ground};

use crate::grow::{Bounds, synth};
use crate::problem::{Found, Options, Problem, Synthesis};

/// How the histories that one level allows lie to those of another, within a scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// The same histories.
    Equivalent,
    /// The first allows less.
    Stronger,
    /// The first allows more.
    Weaker,
    /// Each allows something that the other forbids.
    Incomparable,
}

impl fmt::Display for Relation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Equivalent => "equivalent to",
            Self::Stronger => "stronger than",
            Self::Weaker => "weaker than",
            Self::Incomparable => "incomparable with",
        })
    }
}

/// Two levels, with the histories that tell them apart.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Allowed by the first, forbidden by the second.
    pub only_first: Option<Found>,
    /// Allowed by the second, forbidden by the first.
    pub only_second: Option<Found>,
}

impl Comparison {
    /// What the histories show.
    pub fn relation(&self) -> Relation {
        relation(self.only_first.is_some(), self.only_second.is_some())
    }
}

fn relation(only_first: bool, only_second: bool) -> Relation {
    match (only_first, only_second) {
        (false, false) => Relation::Equivalent,
        (false, true) => Relation::Stronger,
        (true, false) => Relation::Weaker,
        (true, true) => Relation::Incomparable,
    }
}

/// Compares two levels within bounds; each history is the smallest.
pub fn compare(first: &Level, second: &Level, options: Options, bounds: Bounds) -> Comparison {
    let only =
        |allow, forbid| match synth(&Problem { allow: vec![allow], forbid: vec![forbid], options }, bounds) {
            Synthesis::Found(found) => Some(*found),
            Synthesis::None(_) => None,
        };
    Comparison { only_first: only(first, second), only_second: only(second, first) }
}

/// Many levels, each with each.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The names, in the order given.
    pub names: Vec<String>,
    /// `separating[a][b]`: allowed by a, forbidden by b; nothing if there is none within the bounds.
    pub separating: Vec<Vec<Option<SmallHistory>>>,
}

impl Matrix {
    /// How two levels lie to one another.
    pub fn relation(&self, first: usize, second: usize) -> Relation {
        relation(self.separating[first][second].is_some(), self.separating[second][first].is_some())
    }

    /// Whether everything the first allows, the second allows.
    pub fn implies(&self, first: usize, second: usize) -> bool {
        self.separating[first][second].is_none()
    }
}

/// Compares every level with every other, scope by scope. A history found for one pair is tried on all, so most pairs
/// are settled without a search of their own.
pub fn matrix(levels: &[&Level], options: Options, bounds: Bounds) -> Matrix {
    let count = levels.len();
    let mut matrix = Matrix {
        names: levels.iter().map(|level| level.name.clone()).collect(),
        separating: vec![vec![None; count]; count],
    };
    for scope in bounds.scopes() {
        for first in 0..count {
            for second in (0..count).filter(|&second| second != first) {
                if matrix.separating[first][second].is_some() {
                    continue;
                }
                let problem = Problem { allow: vec![levels[first]], forbid: vec![levels[second]], options };
                if let Synthesis::Found(found) = synth(&problem, Bounds::exactly(scope)) {
                    spread(&mut matrix, levels, &found.history);
                }
            }
        }
    }
    matrix
}

fn spread(matrix: &mut Matrix, levels: &[&Level], history: &SmallHistory) {
    // A history without times says nothing about levels that speak of them.
    let has_times = history.txns.iter().any(|txn| txn.times.begin_request.is_some());
    let verdict = |level: &&Level| {
        (has_times || !level.needs_times()).then(|| ground::explain(history, level).is_some())
    };
    let verdicts: Vec<Option<bool>> = levels.iter().map(verdict).collect();
    for first in 0..levels.len() {
        for second in 0..levels.len() {
            let separates = verdicts[first] == Some(true) && verdicts[second] == Some(false);
            if separates && matrix.separating[first][second].is_none() {
                matrix.separating[first][second] = Some(history.clone());
            }
        }
    }
}
