//! How much a run could have shown, in words: a verdict "holds" of a run without conflicts says nothing.

use history::History;
use isoscope::units::{count, counted};
use isoscope::{Chances, LevelId};

use crate::report::Report;

/// What was counted, and the numbers.
pub fn rows(chances: &Chances) -> Vec<(String, String)> {
    let number =
        |number: Option<u64>| number.map_or("too many to count".to_owned(), |number| count(number as usize));
    vec![
        ("pairs that wrote the same key".to_owned(), number(Some(chances.write_conflicts))),
        ("chances for a lost update".to_owned(), number(Some(chances.lost_update))),
        ("chances for read skew".to_owned(), number(chances.read_skew)),
        ("chances for write skew".to_owned(), number(chances.write_skew)),
    ]
}

/// The line under every `holds`: what the history could have shown, and of a run what raises it if that is too little.
pub fn line(report: &Report<'_>) -> String {
    let Some(chances) = &report.shown.chances else {
        return "chances: not counted where there are predicates".to_owned();
    };
    let chance = |number: Option<u64>, noun: &str| match number {
        Some(number) => counted(number as usize, noun),
        None => format!("many {noun}s"),
    };
    let text = format!(
        "chances: {}, {}, {}",
        chance(Some(chances.lost_update), "lost update"),
        chance(chances.read_skew, "read skew"),
        chance(chances.write_skew, "write skew")
    );
    let missing: Vec<&str> =
        blind(chances).into_iter().filter(|anomaly| is_claimed(report, anomaly)).collect();
    let missing = missing.join(", ");
    match (missing.is_empty() || report.nothing_shown().is_some(), report.run.is_some()) {
        (true, _) => text,
        (false, true) => format!("{text}; too little for {missing}: {}", hint(chances)),
        (false, false) => format!("{text}; too little for {missing}"),
    }
}

/// Whether a level holds that forbids the anomaly.
fn is_claimed(report: &Report<'_>, anomaly: &str) -> bool {
    let weakest = match anomaly {
        "lost update" => LevelId::SnapshotIsolation,
        "write skew" => LevelId::Serializable,
        _ => LevelId::ReadAtomic,
    };
    let strongest = report.strongest();
    let mut holding = strongest.iter().filter_map(|answer| answer.level.shipped());
    holding.any(|level| level.implies(weakest))
}

/// The anomalies for which there was no chance at all.
pub fn blind(chances: &Chances) -> Vec<&'static str> {
    let all = [
        ("lost update", Some(chances.lost_update)),
        ("read skew", chances.read_skew),
        ("write skew", chances.write_skew),
    ];
    all.into_iter().filter(|&(_, number)| number == Some(0)).map(|(name, _)| name).collect()
}

/// A sentence that judges the numbers, with what raises them.
pub fn sentence(history: &History, chances: &Chances) -> String {
    let pairs = match history.has_times() {
        true => "pairs of transactions of different sessions that may have overlapped",
        false => "pairs of transactions of different sessions",
    };
    let blind = blind(chances);
    match blind.len() {
        0 => format!("Counted are {pairs}; each of these anomalies would have been visible."),
        _ => format!(
            "Counted are {pairs}. This run could not have shown {}: {}.",
            blind.join(", "),
            hint(chances)
        ),
    }
}

/// Which option of `run` gives more chances.
pub fn hint(chances: &Chances) -> &'static str {
    if chances.write_conflicts == 0 || blind(chances).len() == 3 {
        "fewer keys (run --keys) or more sessions (run --sessions) make transactions meet"
    } else if chances.lost_update == 0 {
        "writes that read their key first (run --read-modify-write-share) can lose updates"
    } else {
        "longer transactions (run --operations) with reads and writes of several keys can show it"
    }
}
