//! Single stages of the engine against the brute-force oracle, with the stages before them switched off.
//!
//! The stages conclude much alike: what saturation misses the search finds, and an order that is tried first hides what
//! both say. So an error in one of them is seen only where the others do not help. Histories here have many transactions
//! of unknown outcome and few values, since for these the search has most to decide. `ISOSCOPE_SOAK` says how many
//! histories each test draws.

use certify::{Certificate, Core, Level};
use history::History;
use index::Index;
use isoscope_verify::{Options, Stages, Verdict, verify};
use testkit::generate::{self, Shape};
use testkit::generate_rows::{self, RowKind};
use testkit::{Random, agree_if_decided, oracle};

/// The search over choices, after what `stages` names.
fn search_after(stages: &[&str]) -> Stages {
    let mut left = Stages::default();
    let before = ["versions", "schedule", "frontier", "repair", "saturate", "windows", "guess"];
    for name in before.into_iter().filter(|name| !stages.contains(name)) {
        assert!(left.switch_off(name), "{name} is a stage");
    }
    left
}

fn engine(history: &History, level: &Level, stages: Stages) -> Option<(bool, Certificate)> {
    let options = Options { stages, ..Options::default() };
    match verify(history, &Index::of(history), level, &options).ok()?.verdict {
        Verdict::Holds(certificate) => Some((true, certificate)),
        Verdict::Violated(certificate) => Some((false, certificate)),
        Verdict::Undecided(limit) => panic!("no limit was set, but {limit:?} was reached"),
    }
}

fn count(default: u64) -> u64 {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

/// Compares on random histories at every level.
fn agreement(stages: Stages, first_seed: u64, draw: impl Fn(u64) -> History) {
    for seed in first_seed..first_seed + count(600) {
        let history = draw(seed);
        let has_lists = history.has_lists();
        for (_, level) in Level::NAMED {
            if has_lists && level.core == Core::Prefix || oracle::refusal(&history).is_some() {
                continue;
            }
            let asked = |history: &History, level: &Level| engine(history, level, stages);
            if let Err(disagreement) = agree_if_decided(&history, &level, &asked) {
                panic!("seed {seed}: {disagreement}");
            }
        }
    }
}

/// Registers of few values; most outcomes are not known.
fn registers(seed: u64) -> History {
    let mut random = Random::new(seed);
    let values = *random.pick(&[1, 2, 3]);
    let shape = Shape {
        most_txns: 6,
        values: Some(values),
        unknown: *random.pick(&[30, 60]),
        times: random.percent(30),
        ..Shape::default()
    };
    generate::history(seed, &shape)
}

#[test]
fn soak_the_search_alone() {
    agreement(search_after(&[]), 20_000_000, registers);
}

#[test]
fn soak_the_search_after_saturation() {
    agreement(search_after(&["saturate"]), 21_000_000, registers);
}

#[test]
fn soak_the_search_after_saturation_by_windows() {
    agreement(search_after(&["saturate", "windows"]), 22_000_000, registers);
}

#[test]
fn soak_the_search_of_lists() {
    agreement(search_after(&[]), 23_000_000, |seed| generate_rows::history(seed, RowKind::Lists));
}

#[test]
fn soak_saturation_of_lists() {
    let stages = search_after(&["saturate", "windows"]);
    agreement(stages, 24_000_000, |seed| generate_rows::history(seed, RowKind::Lists));
}

#[test]
fn soak_the_search_of_recorded_versions() {
    agreement(search_after(&[]), 25_000_000, |seed| generate_rows::history(seed, RowKind::Versions));
}

/// Histories in which a read must have come from a transaction of unknown outcome: the other writer of the value read
/// something from the reader. What the transaction did then contradicts the rest, or needs another transaction.
const MUST_HAVE_COMMITTED: [(&str, &str); 7] = [
    (
        "a read of the initial value comes before a write that may have committed",
        "u: w(x)=1 w(y)=1 unknown\nv: r(z)=1 w(y)=1\nb: {r(y)=1} {r(x)=0 w(z)=1}\n",
    ),
    (
        "so does a read whose source is open, if it is the initial state",
        "u: w(x)=1 w(y)=1 unknown\nv: r(z)=1 w(y)=1\nt: r(z)=1 w(x)=0\nb: {r(y)=1} {r(x)=0 w(z)=1}\n",
    ),
    (
        "a session goes on after a transaction that may have committed",
        "a: w(x)=1 w(y)=1 unknown @[0,1]\na: r(x)=0 @[10,11]\nb: r(y)=1 w(z)=1 @[20,21]\nv: r(z)=1 w(y)=1 @[30,31]\n",
    ),
    (
        "a transaction that may have committed began after a reader of its reader had ended",
        "b: r(y)=1 w(z)=1 @[0,100]\nc: r(z)=1 @[10,11]\nu: w(y)=1 unknown @[30,31]\nv: r(z)=1 w(y)=1 @[40,50]\n",
    ),
    (
        "a writer that may have committed does not overlap a known later writer",
        "init m=1 k=9\na: w(m)=0 unknown\na: w(m)=0 unknown\na: r(m)=0 r(k)=9\nb: w(k)=5 r(m)=1 w(m)=2\n",
    ),
    (
        "a list that a transaction read tells an order if it committed",
        "init x=nil\nu: r(x)=[2 1] w(y)=1 unknown\ns: {a(x)=1} {a(x)=2}\nb: r(y)=1 w(z)=1\nv: r(z)=1 w(y)=1\n",
    ),
    (
        "the elements of a list that a transaction read were appended if it committed",
        "init x=nil\nw: a(x)=1 unknown\nt: a(x)=2\nu: r(x)=[1 2] w(y)=1 unknown\nb: r(y)=1 w(z)=1\nv: r(z)=1 w(y)=1\n",
    ),
];

#[test]
fn what_a_transaction_did_counts_if_it_must_have_committed() {
    for (what, text) in MUST_HAVE_COMMITTED {
        let history = formats::notation::parse(text).unwrap_or_else(|error| panic!("{what}: {error}"));
        for stages in [search_after(&[]), search_after(&["saturate"]), search_after(&["saturate", "windows"])]
        {
            for (name, level) in Level::NAMED {
                if history.has_lists() && level.core == Core::Prefix {
                    continue;
                }
                let asked = |history: &History, level: &Level| engine(history, level, stages);
                if let Err(disagreement) = agree_if_decided(&history, &level, &asked) {
                    panic!("{what}, {name}: {disagreement}");
                }
            }
        }
    }
}
