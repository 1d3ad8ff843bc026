//! Prints the benchmark: `cargo run --release -p isoscope-synth --example bench46 [from] [to] [compat]`.

use cpu_time::ThreadTime;
use synth::Options;
use synth::bench::problems;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, usual: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let compatible = arguments.iter().any(|argument| argument == "compat");
    let options = if compatible { Options::isolde_compatible() } else { Options::default() };
    let start = ThreadTime::now();
    let mut clock = || start.elapsed().as_nanos();
    let (mut total, mut worst, mut wrong) = (0, 0, 0);
    for txns in number(0, 3)..=number(1, 10) {
        for problem in problems() {
            // CPU time, the least of five: other work on the machine only ever adds.
            let rows = (0..5).map(|_| problem.run(txns, options, &mut clock));
            let row = rows.min_by_key(|row| row.time_ns).expect("five rows");
            total += row.time_ns;
            worst = worst.max(row.time_ns);
            wrong += usize::from(!row.as_published);
            println!(
                "{:8} {:35} n={:2} {:5} {} {:9.3} ms {:4} candidates {:6} clauses",
                problem.class,
                row.problem,
                row.txns,
                if row.found { "found" } else { "none" },
                if row.as_published { " " } else { "!" },
                row.time_ns as f64 / 1e6,
                row.candidates,
                row.clauses
            );
        }
    }
    println!(
        "total {:.1} ms, slowest {:.2} ms, {wrong} not as published",
        total as f64 / 1e6,
        worst as f64 / 1e6
    );
}
