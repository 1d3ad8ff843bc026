//! A predicate as a history records it, with its meaning where it has one.

use std::fmt;

use crate::{Datum, Predicate, PredicateError};

/// A predicate as the input wrote it, parsed once when it is read.
///
/// The text is kept even where it has no meaning: such a history is still written and shown, and not decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedPredicate {
    datum: Datum,
    meaning: Result<Predicate, PredicateError>,
}

impl RecordedPredicate {
    /// The predicate, as the input wrote it.
    pub fn datum(&self) -> &Datum {
        &self.datum
    }

    /// Which rows it is true of, or why that is not known.
    pub fn meaning(&self) -> Result<&Predicate, &PredicateError> {
        self.meaning.as_ref()
    }
}

impl From<Datum> for RecordedPredicate {
    fn from(datum: Datum) -> Self {
        Self { meaning: Predicate::parse(&datum), datum }
    }
}

/// A text is shown without its quotes.
impl fmt::Display for RecordedPredicate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.datum {
            Datum::Str(text) => write!(out, "{text}"),
            other => write!(out, "{other}"),
        }
    }
}
