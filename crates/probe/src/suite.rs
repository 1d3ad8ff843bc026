//! The schedules that come with isoscope, and those of a user's file.

use crate::notation::{self, Error};
use crate::{Class, Schedule};

/// Schedules that belong together and are shown as one table.
#[derive(Clone, PartialEq, Debug)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Its schedules.
    pub schedules: Vec<Schedule>,
}

const BUILT_IN: [(&str, &str); 3] = [
    ("hermitage", include_str!("../schedules/hermitage.schedules")),
    ("coo", include_str!("../schedules/coo.schedules")),
    ("predicates", include_str!("../schedules/predicates.schedules")),
];

/// A suite that comes with isoscope: `hermitage`, `coo` or `predicates`.
pub fn built_in(name: &str) -> Option<Suite> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    // The texts are part of the program, and a test reads them all.
    Suite::parse(name, text).ok()
}

impl Suite {
    /// Reads the schedules of a text.
    pub fn parse(name: &str, text: &str) -> Result<Suite, Error> {
        Ok(Suite { name: name.to_owned(), schedules: notation::parse(text)? })
    }
}

/// How many of each class, as 3TS-coo counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Committed and serializable.
    pub avoid: usize,
    /// Rolled back.
    pub rollback: usize,
    /// Committed and not serializable.
    pub anomaly: usize,
    /// Never answered.
    pub timeout: usize,
}

impl Counts {
    /// Counts classes.
    pub fn of(classes: impl IntoIterator<Item = Class>) -> Counts {
        let mut counts = Counts::default();
        for class in classes {
            *match class {
                Class::Avoid => &mut counts.avoid,
                Class::Rollback => &mut counts.rollback,
                Class::Anomaly => &mut counts.anomaly,
                Class::Timeout => &mut counts.timeout,
            } += 1;
        }
        counts
    }
}

/// `19/5/30`, with a fourth number only if something never answered.
impl std::fmt::Display for Counts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}/{}", self.avoid, self.rollback, self.anomaly)?;
        match self.timeout {
            0 => Ok(()),
            timeout => write!(out, "/{timeout}"),
        }
    }
}
