//! What is worth knowing about an input or an output although it is no failure.

use std::fmt;

/// A named warning: the name is stable and meant for scripts, the sentence is for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// A stable name such as `times-dropped`.
    pub name: &'static str,
    /// What happened, as a sentence without its full stop.
    pub sentence: String,
}

impl Warning {
    /// A warning.
    pub fn new(name: &'static str, sentence: impl Into<String>) -> Self {
        Self { name, sentence: sentence.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} [{}]", self.sentence, self.name)
    }
}
