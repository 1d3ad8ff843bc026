//! All histories of a scope that answer a problem, up to the names of transactions, sessions and objects.
//!
//! Each history found is excluded together with all its images under renumbering: n! m! clauses, so this is for small
//! scopes. Values need no such care, because the encoding has none.

use spec::SmallHistory;
use spec::circuit::Lit;
use spec::sat::Solver;

use crate::problem::{Problem, Scope};
use crate::search::Search;
use crate::unknown::Unknown;

/// The histories of a scope.
#[derive(Clone, Debug)]
pub struct All {
    /// One of each kind.
    pub histories: Vec<SmallHistory>,
    /// Whether there are no others in the scope.
    pub is_complete: bool,
}

/// Every history of exactly this scope that answers a problem, up to isomorphism, but no more than `most`.
pub fn all(problem: &Problem<'_>, scope: Scope, most: usize) -> All {
    let mut search = Search::new(problem, scope);
    let renumberings = permutations(scope.txns);
    let rearrangements = permutations(scope.objects);
    let mut histories = Vec::new();
    while let Some(history) = search.next() {
        if histories.len() == most {
            return All { histories, is_complete: false };
        }
        histories.push(history);
        let facts = facts(&search.encoder.unknown, &search.encoder.solver);
        for txns in &renumberings {
            for objects in &rearrangements {
                exclude(&mut search, &facts, txns, objects);
            }
        }
    }
    All { histories, is_complete: true }
}

/// Everything that makes a history what it is, as tuples with their truth.
struct Fact {
    kind: Kind,
    txns: (usize, usize),
    objects: (usize, usize),
    truth: bool,
}

#[derive(Clone, Copy)]
enum Kind {
    Writes,
    Source,
    Session,
    ReadOrder,
    /// Which of begin and commit of two transactions came first.
    Event(bool, bool),
}

impl Fact {
    fn lit(&self, unknown: &Unknown, txns: &[usize], objects: &[usize]) -> Lit {
        let txn = |number: usize| if number == 0 { 0 } else { txns[number - 1] + 1 };
        let (a, b) = (txn(self.txns.0), txn(self.txns.1));
        let (x, y) = (objects[self.objects.0], objects[self.objects.1]);
        match self.kind {
            Kind::Writes => unknown.writes[a][x],
            Kind::Source => unknown.source[x][a][b],
            Kind::Session => unknown.session[a][b],
            Kind::ReadOrder => unknown.read_order[a][x][y],
            Kind::Event(first, second) => {
                unknown.events[2 * a - usize::from(!first)][2 * b - usize::from(!second)]
            }
        }
    }
}

fn facts(unknown: &Unknown, solver: &Solver) -> Vec<Fact> {
    let (txns, objects) = (unknown.txns, unknown.objects);
    let mut facts = Vec::new();
    let mut add =
        |kind, txns, objects, lit: Lit| facts.push(Fact { kind, txns, objects, truth: solver.value(lit) });
    for a in 1..txns {
        for x in 0..objects {
            add(Kind::Writes, (a, 0), (x, 0), unknown.writes[a][x]);
            for t in 0..txns {
                add(Kind::Source, (t, a), (x, 0), unknown.source[x][t][a]);
            }
            // In which order a transaction reads matters only for what it reads.
            let reads = |x: usize| (0..txns).any(|t| solver.value(unknown.source[x][t][a]));
            for y in
                (0..objects).filter(|&y| y != x && !unknown.read_order.is_empty() && reads(x) && reads(y))
            {
                add(Kind::ReadOrder, (a, 0), (x, y), unknown.read_order[a][x][y]);
            }
        }
        for b in (1..txns).filter(|&b| b != a) {
            add(Kind::Session, (a, b), (0, 0), unknown.session[a][b]);
            if !unknown.events.is_empty() {
                for (first, second) in [(true, false), (true, true), (false, true)] {
                    let fact = Kind::Event(first, second);
                    let lit = unknown.events[2 * a - usize::from(!first)][2 * b - usize::from(!second)];
                    add(fact, (a, b), (0, 0), lit);
                }
            }
        }
    }
    facts
}

fn exclude(search: &mut Search<'_>, facts: &[Fact], txns: &[usize], objects: &[usize]) {
    let encoder = &mut search.encoder;
    let differs = |fact: &Fact| {
        let lit = fact.lit(&encoder.unknown, txns, objects);
        if fact.truth { !lit } else { lit }
    };
    let clause: Vec<Lit> = facts.iter().map(differs).collect();
    encoder.require_any(&clause);
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let insert = |shorter: Vec<usize>| {
        (0..count).map(move |at| {
            let mut longer = shorter.clone();
            longer.insert(at, count - 1);
            longer
        })
    };
    permutations(count - 1).into_iter().flat_map(insert).collect()
}
