//! Known anomalies: a file of those that are accepted, so that a run fails on new ones only.
//!
//! An anomaly is known by what it is (the level, the name of the pattern, and the kinds of its steps in their circle), not
//! by its transactions, keys or values, which differ from run to run.

use std::path::Path;

use isoscope::Witness;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;
use crate::files::write_whole;
use crate::screen::Form;

/// An anomaly that is accepted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Known {
    /// The level that it violates.
    pub level: String,
    /// The name of the pattern.
    pub anomaly: String,
    /// The kinds of its steps, from the smallest rotation of their circle.
    pub edges: Vec<String>,
}

/// The file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// The anomalies.
    pub accepted: Vec<Known>,
}

impl Known {
    /// What a witness shows.
    pub fn of(witness: &Witness) -> Self {
        let edges: Vec<String> = witness.edges.iter().map(|edge| edge.kind.name().to_owned()).collect();
        let rotations = (0..edges.len().max(1)).map(|by| {
            let mut rotated = edges.clone();
            rotated.rotate_left(by.min(edges.len()));
            rotated
        });
        Self {
            level: witness.level.name().to_owned(),
            anomaly: witness.name().to_owned(),
            edges: rotations.min().unwrap_or_default(),
        }
    }

    /// `serializable: write skew (rw rw)`.
    pub fn shown(&self) -> String {
        match self.edges.is_empty() {
            true => format!("{}: {}", self.level, self.anomaly),
            false => format!("{}: {} ({})", self.level, self.anomaly, self.edges.join(" ")),
        }
    }
}

impl Baseline {
    /// All that these witnesses show.
    pub fn of(witnesses: &[Witness]) -> Self {
        let mut accepted: Vec<Known> = witnesses.iter().map(Known::of).collect();
        accepted.sort();
        accepted.dedup();
        Self { accepted }
    }

    /// Reads the file.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(file).map_err(|error| Failure::about(file, &error))?;
        serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!(
                "{}: {error}; expected a file that check --write-baseline wrote",
                file.display()
            ))
        })
    }

    /// Writes the file.
    pub fn write(&self, file: &Path) -> Result<(), Failure> {
        write_whole(file, Form::Json, |out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            Ok(out.write_all(b"\n")?)
        })
    }

    /// What the witnesses show: that which is accepted, and the rest.
    pub fn compare(&self, witnesses: &[Witness]) -> (Vec<Known>, Vec<Known>) {
        let found = Self::of(witnesses).accepted;
        found.into_iter().partition(|known| self.accepted.contains(known))
    }
}
