//! The engine against the brute-force oracle: every history of small scopes, and seeded random ones. Every verdict's
//! certificate is checked. `ISOSCOPE_SOAK=300000` asks for that many random histories per level; the tests that take
//! it have `soak` in their names.

use certify::{Certificate, Level};
use history::{History, Outcome};
use index::Index;
use isoscope_verify::{Options, Stages, Verdict, verify};
use testkit::exhaustive::Scope;
use testkit::generate::{self, Shape};
use testkit::{Random, assert_agrees};

fn engine_with(stages: Stages) -> impl Fn(&History, &Level) -> (bool, Certificate) {
    move |history, level| {
        let options = Options { stages, ..Options::default() };
        match verify(history, &Index::of(history), level, &options).expect("only reads and writes").verdict {
            Verdict::Holds(certificate) => (true, certificate),
            Verdict::Violated(certificate) => (false, certificate),
            Verdict::Undecided(limit) => panic!("no limit was set, but {limit:?} was reached"),
        }
    }
}

fn random_histories_per_level(default: u64) -> u64 {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

/// Random histories of all shapes; both verdicts must be well represented.
fn random_agreement(level: Level, first_seed: u64) {
    let engine = engine_with(Stages::default());
    let count = random_histories_per_level(3_000);
    println!("seeds {first_seed} to {}", first_seed + count);
    let holds = std::cell::Cell::new(0);
    let counting = |history: &History, level: &Level| {
        let (verdict, certificate) = engine(history, level);
        holds.set(holds.get() + u64::from(verdict));
        (verdict, certificate)
    };
    for seed in first_seed..first_seed + count {
        let mut random = Random::new(seed);
        let mut shape = Shape::any(&mut random);
        // Which of two unknown transactions saw the initial value is a question that the engine leaves open.
        shape.unknown_initial = shape.unknown == 0 && random.percent(20);
        let history = generate::history(seed, &shape);
        let skew = if shape.times { *random.pick(&[0, 0, 1, 3]) } else { 0 };
        assert_agrees(&history, &level.with_clock_skew(skew), &counting);
    }
    let share = holds.get() as f64 / count as f64;
    assert!((0.15..=0.85).contains(&share), "{share} of the histories satisfy the level");
}

macro_rules! soak {
    ($($name:ident: $level:expr;)*) => {
        mod soak {
            use super::*;
            $(#[test]
            fn $name() {
                random_agreement($level, 1_000_000);
            })*
        }
    };
}

soak! {
    serializable: Level::SERIALIZABLE;
    session_serializable: Level::SESSION_SERIALIZABLE;
    strict_serializable: Level::STRICT_SERIALIZABLE;
    snapshot_isolation: Level::SNAPSHOT_ISOLATION;
    session_snapshot_isolation: Level::SESSION_SNAPSHOT_ISOLATION;
    generalized_si: Level::GENERALIZED_SI;
    strong_session_si: Level::STRONG_SESSION_SI;
    strong_si: Level::STRONG_SI;
    prefix: Level::PREFIX;
}

#[test]
fn every_small_history() {
    let engine = engine_with(Stages::default());
    let committed = vec![Outcome::Committed];
    let all = vec![Outcome::Committed, Outcome::Aborted, Outcome::Unknown];
    let scope = |sessions: &[usize], keys, ops, values, outcomes: &[Outcome]| Scope {
        sessions: sessions.to_vec(),
        keys,
        ops,
        values,
        outcomes: outcomes.to_vec(),
    };
    let scopes = [
        scope(&[1, 1], 2, 2, 3, &committed),
        scope(&[1, 1], 1, 3, 2, &all),
        scope(&[1, 1, 1], 2, 1, 2, &all),
        scope(&[1, 2], 2, 1, 2, &all),
        scope(&[1, 2], 1, 2, 2, &committed),
        scope(&[2, 2], 1, 1, 3, &all[..2]),
    ];
    for scope in scopes {
        let mut count = 0;
        for history in scope.histories() {
            count += 1;
            for (_, level) in Level::NAMED {
                assert_agrees(&history, &level, &engine);
            }
        }
        println!("{count} histories of {scope:?}");
        assert!(count > 100);
    }
}

/// Switching a stage off changes the time, never the answer.
#[test]
fn soak_every_stage_can_be_left_out() {
    for (number, name) in Stages::NAMES.into_iter().enumerate() {
        let mut stages = Stages::default();
        assert!(stages.switch_off(name));
        let engine = engine_with(stages);
        for seed in 0..random_histories_per_level(600) / 4 {
            let seed = seed + 5_000_000 * (number as u64 + 1);
            let mut random = Random::new(seed);
            let history = generate::history(seed, &Shape::any(&mut random));
            for (_, level) in Level::NAMED {
                assert_agrees(&history, &level, &engine);
            }
        }
    }
}
