//! How much a run could have shown, in words: a verdict "holds" of a run without conflicts says nothing.

use history::History;
use isoscope::units::{count, counted};
use isoscope::{Chances, LevelId};

use crate::report::Report;

/// What was counted, and the numbers; an estimate has its error beside it.
pub fn rows(chances: &Chances) -> Vec<(String, String)> {
    let errors = chances.errors.unwrap_or_default();
    vec![
        ("pairs that wrote the same key".to_owned(), number(chances.write_conflicts, errors.write_conflicts)),
        ("chances for a lost update".to_owned(), number(chances.lost_update, errors.lost_update)),
        ("chances for read skew".to_owned(), number(chances.read_skew, errors.read_skew)),
        ("chances for write skew".to_owned(), number(chances.write_skew, errors.write_skew)),
    ]
}

/// A number, with its error if it is an estimate: `1,230,000 ± 57,000`.
pub fn number(number: u64, error: u64) -> String {
    match error {
        0 => count(number as usize),
        _ => {
            format!("{} ± {}", count(rounded(number, error) as usize), count(rounded(error, error) as usize))
        }
    }
}

/// A number without the digits that its error makes meaningless: two digits of the error are kept.
fn rounded(number: u64, error: u64) -> u64 {
    let unit = 10u64.pow(error.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (number + unit / 2) / unit * unit
}

/// The line under every `holds`: what the history could have shown, and of a run what raises it if that is too little.
pub fn line(report: &Report<'_>) -> String {
    let Some(chances) = &report.shown.chances else {
        return "chances: not counted where there are predicates".to_owned();
    };
    let errors = chances.errors.unwrap_or_default();
    let chance = |number: u64, error: u64, noun: &str| match chances.errors {
        None => counted(number as usize, noun),
        Some(_) => format!("about {}", counted(rounded(number, error) as usize, noun)),
    };
    let text = format!(
        "chances: {}, {}, {}",
        chance(chances.lost_update, errors.lost_update, "lost update"),
        chance(chances.read_skew, errors.read_skew, "read skew"),
        chance(chances.write_skew, errors.write_skew, "write skew")
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

/// The anomalies for which there was no chance at all. A sample that has none says nothing about the others.
pub fn blind(chances: &Chances) -> Vec<&'static str> {
    let is_counted = chances.errors.is_none();
    let all = [
        ("lost update", chances.lost_update == 0 && is_counted),
        ("read skew", chances.read_skew == 0 && is_counted),
        ("write skew", chances.write_skew == 0 && is_counted),
    ];
    all.into_iter().filter(|&(_, is_blind)| is_blind).map(|(name, _)| name).collect()
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
    if chances.write_conflicts == 0 && chances.errors.is_none() || blind(chances).len() == 3 {
        "fewer keys (run --keys) or more sessions (run --sessions) make transactions meet"
    } else if chances.lost_update == 0 {
        "writes that read their key first (run --read-modify-write-share) can lose updates"
    } else {
        "longer transactions (run --operations) with reads and writes of several keys can show it"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_has_its_error_and_no_more_digits() {
        assert_eq!(number(1_234_567, 0), "1,234,567");
        assert_eq!(number(1_234_567, 56_789), "1,235,000 ± 57,000");
        assert_eq!(number(12, 3), "12 ± 3");
    }

    #[test]
    fn a_sample_without_a_chance_is_not_blind() {
        let none = Chances { lost_update: 1, write_conflicts: 1, ..Chances::default() };
        assert_eq!(blind(&none), ["read skew", "write skew"]);
        assert_eq!(blind(&Chances { errors: Some(isoscope::ChanceErrors::default()), ..none }), [""; 0]);
    }
}
