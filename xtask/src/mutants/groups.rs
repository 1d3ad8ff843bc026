//! What is mutated, and the tests that should notice.

/// Files that are mutated together, in one build.
pub struct Group {
    pub name: &'static str,
    /// Crates and their files.
    pub crates: &'static [(&'static str, &'static [&'static str])],
    /// Whether parts of conditions, bounds and checks are mutated too, not only conditions and calls.
    pub is_thorough: bool,
    /// The test programs by crate and name; those that fail most quickly come first.
    pub programs: &'static [(&'static str, &'static str)],
    /// How many histories the tests of many histories try for each mutant.
    pub histories: u64,
}

/// Tests that take as long as all others together: with them all mutants take hours.
pub const SLOW_TESTS: [&str; 2] = ["every_small_history", "recordings_of_the_manifest"];

/// Test programs with quick or narrow histories, and how many times as many they try.
pub const QUICK_PROGRAMS: [(&str, u64); 4] =
    [("testkit/checker", 12), ("testkit/rules", 10), ("verify/attacks", 20), ("testkit/text_claims", 4)];

/// Saturation, choices, the solver and the orders under it.
pub const ENGINE: Group = Group {
    name: "engine",
    crates: &[
        (
            "verify",
            &[
                "saturate.rs",
                "saturate/simple.rs",
                "saturate/open.rs",
                "saturate/follow.rs",
                "saturate/pass.rs",
                "windows.rs",
                "windows/key.rs",
                "known.rs",
                "matrix.rs",
                "choices.rs",
                "refute.rs",
                "versions.rs",
            ],
        ),
        (
            "solve",
            &[
                "analyze.rs",
                "choices.rs",
                "clauses.rs",
                "propagate.rs",
                "search.rs",
                "solver.rs",
                "theory.rs",
            ],
        ),
        ("order", &["incremental.rs", "reach.rs", "topological.rs", "components.rs"]),
    ],
    is_thorough: false,
    // Attacks on certificates take long, and kill what the others have killed.
    programs: &[
        ("order", "isoscope_order"),
        ("solve", "isoscope_solve"),
        ("solve", "brute_force"),
        ("verify", "isoscope_verify"),
        ("verify", "hints"),
        ("verify", "unordered"),
        ("verify", "versions"),
        ("verify", "few_values"),
        ("verify", "alone"),
        ("verify", "oracle"),
        ("verify", "corpus"),
        ("verify", "rows"),
    ],
    histories: 200,
};

/// The checker: an error in it lets a false claim pass, so it has more kinds of mutants.
pub const CHECKER: Group = Group {
    name: "checker",
    crates: &[(
        "certify",
        &[
            "certificate.rs",
            "check.rs",
            "clause.rs",
            "effects.rs",
            "effects/contents.rs",
            "effects/one_key.rs",
            "execution.rs",
            "facts.rs",
            "fingerprint.rs",
            "level.rs",
            "lists.rs",
            "named.rs",
            "observe.rs",
            "orders.rs",
            "propagate.rs",
            "read.rs",
            "replay.rs",
            "replay/registers.rs",
            "rows.rs",
            "rows/table.rs",
            "rules.rs",
            "store.rs",
            "text.rs",
            "text/cases.rs",
            "text/document.rs",
            "text/facts.rs",
            "text/facts/collect.rs",
            "text/facts/collect/scans.rs",
            "text/facts/collect/touches.rs",
            "text/facts/lists.rs",
            "text/facts/predicates.rs",
            "text/facts/timeline.rs",
            "text/facts/unmatched.rs",
            "text/facts/versions.rs",
            "text/judge.rs",
            "text/judge/accepted.rs",
            "text/judge/clocks.rs",
            "text/judge/guarantees.rs",
            "text/judge/nearby.rs",
            "text/judge/suspects.rs",
            "text/matrix.rs",
            "text/plan.rs",
            "text/reach.rs",
            "text/saturate.rs",
            "text/small.rs",
            "times.rs",
        ],
    )],
    is_thorough: true,
    programs: &[
        ("certify", "by_hand"),
        ("certify", "texts_by_hand"),
        ("certify", "replayed"),
        ("certify", "documents"),
        ("certify", "parts"),
        ("verify", "oracle"),
        ("testkit", "checker"),
        ("isoscope", "no_false_word"),
        ("isoscope", "weak_predicates"),
        ("isoscope", "lists"),
        ("isoscope", "versions"),
        ("isoscope", "guarantees"),
        ("certify", "isoscope_certify"),
        ("testkit", "documents"),
        ("verify", "attacks"),
        ("testkit", "rules"),
        ("testkit", "text_claims"),
        ("isoscope", "texts"),
        ("verify", "rows"),
    ],
    histories: 60,
};
