//! Figures of a run that are kept under a name, and how another run compares with them.
//!
//! `cargo xtask bench --save NAME` writes the times of every single run and the peaks to `target/bench/saved/NAME.json`;
//! `--against NAME` prints the ratio of medians for each figure of both, with the range that the single runs allow: the
//! fastest now against the slowest then, and the slowest now against the fastest then. A range that contains 1 shows no
//! difference.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::measure::median;
use super::table;
use crate::run::{Done, target};

/// The runs of one figure.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Figure {
    /// The time of each run.
    pub runs_ms: Vec<f64>,
    /// The largest peak of memory.
    pub peak_bytes: f64,
}

/// The figures of this run.
#[derive(Clone, Debug, Default)]
pub struct Figures(RefCell<BTreeMap<String, Figure>>);

impl Figures {
    /// Remembers a figure.
    pub fn add(&self, name: String, figure: Figure) {
        self.0.borrow_mut().insert(name, figure);
    }

    /// Keeps all figures under a name.
    pub fn save(&self, name: &str) -> Done {
        let path = path_of(name)?;
        let figures = self.0.borrow();
        let rows = figures.iter().map(|(name, figure)| {
            (name.clone(), json!({ "runs_ms": figure.runs_ms, "peak_bytes": figure.peak_bytes }))
        });
        let text = serde_json::to_string_pretty(&Value::Object(rows.collect()))
            .map_err(|error| error.to_string())?;
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("\nsaved {} figures in {}", figures.len(), path.display());
        Ok(())
    }

    /// Prints how the figures compare with those under a name.
    pub fn compare(&self, name: &str) -> Done {
        let before = load(name)?;
        println!("\n## against {name}\n");
        table::head(&["figure", name, "now", "ratio", "from single runs", "peak"]);
        for (name, now) in self.0.borrow().iter() {
            if let Some(before) = before.get(name) {
                table::row(&compared(name, before, now));
            }
        }
        Ok(())
    }
}

fn compared(name: &str, before: &Figure, now: &Figure) -> [String; 6] {
    let middle = |figure: &Figure| median(figure.runs_ms.iter().copied());
    let least = |figure: &Figure| figure.runs_ms.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |figure: &Figure| figure.runs_ms.iter().copied().fold(0.0, f64::max);
    let ratio = |now: f64, before: f64| format!("{:.2}", now / before.max(f64::MIN_POSITIVE));
    [
        name.to_owned(),
        table::ms(middle(before)),
        table::ms(middle(now)),
        ratio(middle(now), middle(before)),
        format!("{} to {}", ratio(least(now), most(before)), ratio(most(now), least(before))),
        ratio(now.peak_bytes, before.peak_bytes),
    ]
}

fn load(name: &str) -> Done<BTreeMap<String, Figure>> {
    let path = path_of(name)?;
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("{}: {error} (save one with --save {name})", path.display()))?;
    let rows: BTreeMap<String, Value> =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let figure = |row: Value| Figure {
        runs_ms: row["runs_ms"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect(),
        peak_bytes: row["peak_bytes"].as_f64().unwrap_or(0.0),
    };
    Ok(rows.into_iter().map(|(name, row)| (name, figure(row))).collect())
}

fn path_of(name: &str) -> Done<PathBuf> {
    if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
    {
        return Err(format!("{name} is no name for figures: use letters, digits, - and _"));
    }
    let folder = target().join("bench/saved");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder.join(format!("{name}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_the_range_that_the_runs_allow() {
        let figure = |runs: &[f64]| Figure { runs_ms: runs.to_vec(), peak_bytes: 2e6 };
        let row = compared("x", &figure(&[10.0, 20.0, 40.0]), &figure(&[5.0, 10.0, 20.0]));
        assert_eq!(row[3..], ["0.50", "0.12 to 2.00", "1.00"].map(str::to_owned));
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        assert!(path_of("../x").is_err() && path_of("").is_err());
    }
}
