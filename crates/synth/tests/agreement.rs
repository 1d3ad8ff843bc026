//! The quick encoding against the literal one, against itself with techniques switched off, and the benchmark.

mod common;

use common::{is_found, level, literal, problem, scope};
use isoscope_synth::bench::problems;
use isoscope_synth::{Options, Problem};

const LEVELS: [&str; 16] = [
    "ra-b",
    "ra-c",
    "cc-b",
    "cc-c",
    "pc-b",
    "pc-c",
    "si-b",
    "si-c",
    "ser-b",
    "ser-c",
    "update-ser-b",
    "update-ser-c",
    "tap-ra",
    "nlu-c",
    "ua-c",
    "psi-c",
];

#[test]
fn the_literal_encoding_agrees() {
    for allow in LEVELS {
        for forbid in LEVELS {
            for blind_writes in [true, false] {
                let options = Options { blind_writes, ..Options::default() };
                let problem = problem(allow, forbid, options);
                let at = scope(2, 2, 3);
                assert_eq!(
                    is_found(&problem, at),
                    literal::is_found(&problem, at),
                    "{{{allow}, !{forbid}}} at {at:?}"
                );
            }
        }
    }
}

#[test]
fn the_literal_encoding_agrees_on_three_transactions() {
    let pairs = [
        ("ra-b", "cc-c"),
        ("nlu-c", "ua-c"),
        ("update-ser-b", "ser-c"),
        ("si-b", "pc-c"),
        ("serializable", "ra-c"),
    ];
    for (allow, forbid) in pairs {
        let problem = problem(allow, forbid, Options::default());
        let at = scope(3, 2, 3);
        assert_eq!(
            is_found(&problem, at),
            literal::is_found(&problem, at),
            "{{{allow}, !{forbid}}} at {at:?}"
        );
    }
}

/// Drafts that have no normal form: each is grounded as it is written.
const DRAFTS: &str = "
    include \"std/relations.iso\"
    level few over visibility : all t : txn . lone {s : txn | s visible t & !(s in initial)}
    level mutual over visibility : no s, t : txn . s visible t & s conflict t
    level last over commit_order : some t : txn . (all s : txn . s = t | s before t) & t in updates
    level values over history : no t : txn, x : object, v : value . writes(t, x, v) & reads(t, x, v) & !(t in initial)
";

#[test]
fn levels_without_a_normal_form_are_synthesised_too() {
    let spec = spec::Spec::parse("drafts.iso", DRAFTS).unwrap_or_else(|error| panic!("{error}"));
    let shipped = ["ra-b", "cc-c", "ser-c"].map(level);
    for draft in &spec.levels {
        for shipped in shipped {
            for (allow, forbid) in [(draft, shipped), (shipped, draft)] {
                let problem =
                    Problem { allow: vec![allow], forbid: vec![forbid], options: Options::default() };
                for at in [scope(1, 1, 3), scope(2, 1, 3), scope(2, 2, 3), scope(3, 1, 4)] {
                    let expected = literal::is_found(&problem, at);
                    assert_eq!(
                        is_found(&problem, at),
                        expected,
                        "{{{}, !{}}} at {at:?}",
                        allow.name,
                        forbid.name
                    );
                }
            }
        }
    }
}

#[test]
fn no_technique_changes_an_answer() {
    let plain = Options::default();
    let variants = [
        Options { break_symmetry: false, ..plain },
        Options { seed_orders: false, ..plain },
        Options { encode_cycles: false, ..plain },
        Options { break_symmetry: false, seed_orders: false, encode_cycles: false, ..plain },
    ];
    for allow in LEVELS {
        for forbid in LEVELS {
            let at = scope(3, 2, 3);
            let expected = is_found(&problem(allow, forbid, plain), at);
            for options in variants {
                let found = is_found(&problem(allow, forbid, options), at);
                assert_eq!(found, expected, "{{{allow}, !{forbid}}} at {at:?} with {options:?}");
            }
        }
    }
}

#[test]
fn all_46_problems_have_the_published_outcome() {
    let problems = problems();
    assert_eq!(problems.len(), 46);
    for options in [Options::default(), Options::isolde_compatible()] {
        for txns in 3..=10 {
            for problem in &problems {
                let row = problem.run(scope(txns, 5, 5), options, &mut || 0);
                assert!(row.as_published, "{} at {txns} transactions", row.problem);
            }
        }
    }
}

#[test]
fn what_the_benchmark_finds_is_right() {
    for benchmark in problems() {
        let levels = benchmark.allow.iter().map(|name| level(name)).collect();
        let problem =
            Problem { allow: levels, forbid: vec![level(benchmark.forbid)], options: Options::default() };
        for txns in 2..=5 {
            is_found(&problem, scope(txns, 5, 5));
        }
    }
}
