//! Prints the benchmark: `cargo run --release -p isoscope-synth --example bench46 [FROM TO] [compat]`.
//! CPU time, the least of five runs: other work on the machine only ever adds.

use cpu_time::ThreadTime;
use isoscope_synth::Options;
use isoscope_synth::bench::{Row, run};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, usual: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let compatible = arguments.iter().any(|argument| argument == "compat");
    let options = if compatible { Options::isolde_compatible() } else { Options::default() };
    let start = ThreadTime::now();
    let mut clock = || start.elapsed().as_nanos();
    let mut least: Vec<Row> = Vec::new();
    for _ in 0..5 {
        for (at, row) in run(number(0, 3)..=number(1, 10), options, &mut clock).into_iter().enumerate() {
            match least.get_mut(at) {
                Some(known) if known.time_ns <= row.time_ns => {}
                Some(known) => *known = row,
                None => least.push(row),
            }
        }
    }
    for row in &least {
        let outcome = if row.found { "found" } else { "none" };
        let mark = if row.as_published { ' ' } else { '!' };
        let time_ms = row.time_ns as f64 / 1e6;
        let (candidates, clauses) = (row.candidates, row.clauses);
        let (class, problem, txns) = (row.class, &row.problem, row.txns);
        println!(
            "{class:8}{problem:34}n={txns:<3}{outcome:6}{mark}{time_ms:9.3} ms{candidates:4} candidates{clauses:7} clauses"
        );
    }
    let published: Vec<&Row> = least.iter().filter(|row| row.class != "hard").collect();
    let total: u128 = published.iter().map(|row| row.time_ns).sum();
    let slowest = published.iter().map(|row| row.time_ns).max().unwrap_or(0);
    let wrong = least.iter().filter(|row| !row.as_published).count();
    println!(
        "the 46: {:.0} ms together, slowest {:.2} ms; {wrong} not as expected",
        total as f64 / 1e6,
        slowest as f64 / 1e6
    );
}
