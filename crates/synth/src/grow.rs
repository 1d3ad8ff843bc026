//! The smallest history: grow the scope until there is one, then make it smaller.
//!
//! Fewest transactions first, then fewest objects, then fewest operations: that is the order in which a reader finds a
//! history hard. Each step asks the same question in a smaller scope, so the result is the least, not just a local one.
//!
//! Nearly all of the time is the proof that one operation less will not do. Every transaction has an operation, so only
//! those beyond the first of each transaction are counted: the proof for seven transactions of `snapshot-isolation`
//! without `serializable` takes 3,048 conflicts instead of 8,695. What did not pay: sorting neighbours in the order that
//! could change places (6,837 conflicts with the old count, 3,164 with this one), leaving each transaction alone in its
//! session where no level speaks of sessions (4,748 instead of 4,335), and demanding that each transaction of a cycle is
//! also left (4,335 instead of 4,913).

use spec::circuit::{Circuit, Lit};

use crate::problem::{Found, NoneWithin, Problem, Scope, Synthesis};
use crate::search::{Search, evidence};

/// Bounds that the caller gives; what is not given is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Exactly this many transactions.
    pub txns: Option<usize>,
    /// At most this many objects.
    pub objects: Option<usize>,
    /// At most this many values of an object, the initial one counted.
    pub values: Option<usize>,
    /// Without `txns`: no more than this many.
    pub most_txns: Option<usize>,
}

/// Without bounds, histories of up to this many transactions are looked at.
pub const MOST_TXNS: usize = 5;

/// Without bounds, histories of up to this many objects are looked at.
pub const MOST_OBJECTS: usize = 3;

impl Bounds {
    /// Exactly one scope.
    pub fn exactly(scope: Scope) -> Self {
        Self {
            txns: Some(scope.txns),
            objects: Some(scope.objects),
            values: Some(scope.values),
            most_txns: None,
        }
    }

    /// The scopes to look at, smallest first.
    pub fn scopes(&self) -> Vec<Scope> {
        let counts = match self.txns {
            Some(txns) => txns..=txns,
            None => 1..=self.most_txns.unwrap_or(MOST_TXNS),
        };
        let scope = |txns: usize| Scope {
            txns,
            objects: self.objects.unwrap_or(MOST_OBJECTS),
            values: self.values.unwrap_or(txns + 1),
        };
        counts.map(scope).collect()
    }
}

/// The smallest history that answers a problem within bounds, with the evidence.
pub fn synth(problem: &Problem<'_>, bounds: Bounds) -> Synthesis {
    synth_telling(problem, bounds, &mut |_| {})
}

/// The same; `tell` hears of every history that is smaller than those before it, so that the last one is known when a limit
/// ends the search for a smaller one.
pub fn synth_telling(problem: &Problem<'_>, bounds: Bounds, tell: &mut dyn FnMut(&Found)) -> Synthesis {
    match first(problem, bounds) {
        Synthesis::Found(found) => {
            tell(&found);
            Synthesis::Found(Box::new(smallest(problem, *found, tell)))
        }
        none => none,
    }
}

/// The first history that answers a problem, of the fewest transactions but with any number of objects and operations.
pub fn first(problem: &Problem<'_>, bounds: Bounds) -> Synthesis {
    let mut none = None;
    for scope in bounds.scopes() {
        match Search::new(problem, scope).outcome() {
            found @ Synthesis::Found(_) => return found,
            Synthesis::None(within) => none = Some(within),
        }
    }
    let empty = Scope { txns: 0, objects: 0, values: 0 };
    Synthesis::None(none.unwrap_or(NoneWithin { scope: empty, effort: Default::default(), proof: None }))
}

fn smallest(problem: &Problem<'_>, found: Found, tell: &mut dyn FnMut(&Found)) -> Found {
    let scopes = (1..=found.scope.objects).map(|objects| Scope { objects, ..found.scope });
    for scope in scopes {
        let mut search = Search::new(problem, scope);
        let mut best = None;
        while let Some(history) = search.next() {
            let operations: usize = history.txns.iter().map(|txn| txn.reads.len() + txn.writes.len()).sum();
            let is_least = operations == scope.txns;
            let smaller = evidence(problem, history, scope, search.effort());
            tell(&smaller);
            best = Some(smaller);
            if is_least {
                break;
            }
            search.limit_operations(operations - 1 - scope.txns);
        }
        if let Some(smallest) = best {
            return Found { effort: search.effort(), ..smallest };
        }
    }
    found
}

impl Search<'_> {
    /// Demands that the history has at most this many reads and writes beside one of each transaction.
    fn limit_operations(&mut self, most: usize) {
        let encoder = &mut self.encoder;
        let of_txns = encoder.unknown.writes.iter().zip(&encoder.unknown.reads).skip(1);
        let further: Vec<Lit> = of_txns
            .flat_map(|(writes, reads)| {
                beyond_the_first(&mut encoder.circuit, &[&writes[..], reads].concat())
            })
            .collect();
        let few = encoder.circuit.at_most(&further, most);
        encoder.require(few);
    }
}

/// As many literals as there are given ones without the first; so many of them are true as of those, less one.
fn beyond_the_first(circuit: &mut Circuit, operations: &[Lit]) -> Vec<Lit> {
    (1..operations.len()).map(|most| !circuit.at_most(operations, most)).collect()
}
