//! What the tests of this crate share.
#![allow(dead_code)]

pub mod literal;

use isoscope_synth::{Found, Options, Problem, Scope, Synthesis};
use spec::{Level, SmallHistory, library, oracle};

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

/// The fast engine must say the same where it has the level.
pub fn confirm_by_engine(small: &SmallHistory, name: &str, expected: bool) {
    let name = match name {
        "ser-b" | "ser-c" => "session-serializable",
        "si-b" | "si-c" => "session-snapshot-isolation",
        "pc-b" | "pc-c" => "prefix",
        other => other,
    };
    let Some(level) = certify::Level::named(name) else { return };
    if !small.extra_session_order.is_empty() {
        return;
    }
    let history = small.to_history();
    let index = index::Index::of(&history);
    let answer =
        verify::verify(&history, &index, &level, &verify::Options::default()).expect("reads and writes only");
    match answer.verdict {
        verify::Verdict::Holds(_) => assert!(expected, "the engine accepts for {name}\n{small}"),
        verify::Verdict::Violated(_) => assert!(!expected, "the engine rejects for {name}\n{small}"),
        verify::Verdict::Undecided(_) => panic!("no limit was set"),
    }
}

/// Whether there is a history in exactly this scope; what is found is confirmed.
pub fn is_found(problem: &Problem<'_>, scope: Scope) -> bool {
    match isoscope_synth::synth_within(problem, scope) {
        Synthesis::Found(found) => {
            confirm(problem, &found);
            true
        }
        Synthesis::None(_) => false,
    }
}
