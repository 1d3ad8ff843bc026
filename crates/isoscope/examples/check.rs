//! Checks a history: `cargo run --example check -- HISTORY [LEVEL ...]`.

use isoscope::Check;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("name a history")?;
    let history = isoscope::read(file)?;
    let mut check = Check::new(&history);
    for level in words {
        check = check.level(level.parse()?);
    }
    for answer in check.run()?.answers {
        println!("{}: {} {}", answer.level, answer.decision.word(), answer.reason().unwrap_or_default());
    }
    Ok(())
}
