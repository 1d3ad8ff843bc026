//! Times one problem: `cargo run --release -p isoscope-synth --example hard -- ALLOW FORBID TXNS OBJECTS VALUES [compat]`.

use cpu_time::ThreadTime;
use spec::library::level;
use synth::{Options, Outcome, Problem, Scope};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let levels =
        |at: usize| arguments[at].split(',').map(|name| level(name).expect("a shipped level")).collect();
    let number = |at: usize| arguments[at].parse().expect("a number");
    let mut options = Options::default();
    for argument in &arguments[5..] {
        match argument.as_str() {
            "compat" => options = Options::isolde_compatible(),
            "no-blind" => options.blind_writes = false,
            "no-sym" => options.break_symmetry = false,
            _ => options.encode_cycles = false,
        }
    }
    let problem = Problem { allow: levels(0), forbid: levels(1), options };
    let start = ThreadTime::now();
    let outcome =
        synth::synth_within(&problem, Scope { txns: number(2), objects: number(3), values: number(4) });
    let time = start.elapsed();
    if let Outcome::Found(found) = &outcome {
        print!("{}", found.history);
    }
    println!(
        "{} in {time:?}, {:?}",
        if outcome.found().is_some() { "found" } else { "none" },
        outcome.effort()
    );
}
