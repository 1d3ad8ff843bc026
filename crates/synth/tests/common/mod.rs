//! What the tests of this crate share.
#![allow(dead_code)]

pub mod literal;

use spec::{Level, library, oracle};
use synth::{Found, Options, Outcome, Problem, Scope};

/// A shipped level.
pub fn level(name: &str) -> &'static Level {
    library::level(name).unwrap_or_else(|| panic!("no level {name}"))
}

/// A problem of shipped levels, named with commas.
pub fn problem(allow: &str, forbid: &str, options: Options) -> Problem<'static> {
    let levels = |names: &str| names.split(',').filter(|name| !name.is_empty()).map(level).collect();
    Problem { allow: levels(allow), forbid: levels(forbid), options }
}

/// A scope in short.
pub fn scope(txns: usize, objects: usize, values: usize) -> Scope {
    Scope { txns, objects, values }
}

/// The reference semantics must say of a history what its finder claims.
pub fn confirm(problem: &Problem<'_>, found: &Found) {
    for (levels, expected) in [(&problem.allow, true), (&problem.forbid, false)] {
        for level in levels {
            assert_eq!(
                oracle::holds(&found.history, level),
                expected,
                "{} on\n{}",
                level.name,
                found.history
            );
        }
    }
}

/// Whether there is a history in exactly this scope; what is found is confirmed.
pub fn is_found(problem: &Problem<'_>, scope: Scope) -> bool {
    match synth::synth_within(problem, scope) {
        Outcome::Found(found) => {
            confirm(problem, &found);
            true
        }
        Outcome::None(_) => false,
    }
}
