//! The histories of the benchmark at its larger sizes: the solver of `spec`, which shares no encoding with the search,
//! and the fast engines where they have the level, must say of each what its finder claims.

mod common;

use common::{confirm_by_engine, scope};
use isoscope_synth::bench::problems;
use isoscope_synth::{Options, Problem, Synthesis, synth_within};
use spec::{ground, library};

#[test]
fn histories_of_six_to_ten_transactions_are_as_claimed() {
    let mut count = 0;
    for benchmark in problems() {
        let level = |name: &str| library::level(name).expect("a shipped level");
        let problem = Problem {
            allow: benchmark.allow.iter().map(|name| level(name)).collect(),
            forbid: vec![level(benchmark.forbid)],
            options: Options::default(),
        };
        for txns in [6, 8, 10] {
            let Synthesis::Found(found) = synth_within(&problem, scope(txns, 5, 5)) else { continue };
            count += 1;
            for (levels, expected) in [(&problem.allow, true), (&problem.forbid, false)] {
                for level in levels {
                    let answer = ground::decide(&found.history, level);
                    let is_allowed = matches!(answer, ground::GroundAnswer::Allowed(_));
                    assert_eq!(is_allowed, expected, "{} on\n{}", level.name, found.history);
                    confirm_by_engine(&found.history, &level.name, expected);
                }
            }
        }
    }
    assert_eq!(count, 25 * 3);
}
