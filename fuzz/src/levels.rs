//! Arbitrary text as definitions of levels: an error with its place, or levels that can be looked at.

use spec::{SmallHistory, Spec};

/// Formulas longer than this may take long to decide even on two transactions, which is no fault.
const LONGEST_DECIDED: usize = 200;

/// Parses a text; what it defines is normalized, and decided on a history of two transactions.
pub fn parse(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Spec::parse("input", text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(spec) => spec.levels.iter().for_each(|level| {
            let _ = (level.normal_form(false), level.normal_form(true));
            if text.len() <= LONGEST_DECIDED {
                let history = SmallHistory::parse("a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2").expect("it is right");
                let _ = spec::oracle::holds(&history, level);
            }
        }),
    }
}
