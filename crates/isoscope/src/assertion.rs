//! An assertion for the tests of a database.

use crate::{Check, Decision, History, LevelId};

/// Panics, with the explanation, unless a recording satisfies a level.
///
/// A level that is not decided panics too: a test must not pass because nothing was shown.
#[track_caller]
pub fn assert_isolation(recording: &History, level: LevelId) {
    let report = match Check::new(recording).level(level).run() {
        Ok(report) => report,
        Err(error) => panic!("{level} could not be checked: {error}"),
    };
    let Some(answer) = report.answer(level) else {
        panic!("{level} could not be asked of this recording; a real-time level needs timestamps");
    };
    match answer.decision {
        Decision::Holds => {}
        Decision::Violated => {
            let explanation = answer.explanation.as_ref();
            let text = explanation.map(|explanation| explanation.paragraphs().join("\n")).unwrap_or_default();
            panic!("{level} is violated\n{text}");
        }
        Decision::Undecided(_) => panic!("{level} is not decided: {}", answer.reason().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(text: &str) -> History {
        crate::parse(text).expect("the notation is right")
    }

    #[test]
    fn a_level_that_holds_passes() {
        assert_isolation(&history("a: w(x)=1\nb: r(x)=1\n"), LevelId::Serializable);
    }

    #[test]
    #[should_panic(expected = "serializable is violated")]
    fn a_violation_panics_with_its_explanation() {
        assert_isolation(
            &history("a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n"),
            LevelId::Serializable,
        );
    }

    #[test]
    #[should_panic(expected = "the history has no times")]
    fn a_level_that_cannot_be_asked_panics() {
        assert_isolation(&history("a: w(x)=1\nb: r(x)=1\n"), LevelId::StrictSerializable);
    }
}
