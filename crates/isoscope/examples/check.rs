//! Checks a history: `cargo run --example check -- HISTORY`.

use isoscope::Check;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("name a history")?;
    let history = isoscope::read(file)?;
    for answer in Check::new(&history).run()?.answers {
        println!("{}: {} {}", answer.level, answer.decision.word(), answer.reason().unwrap_or_default());
    }
    Ok(())
}
