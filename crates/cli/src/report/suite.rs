//! What continuous integration sees of an answer: suites of cases, whichever command gave them.
//!
//! A case fails only if the exit code depends on it, so that the report and the exit code say the same.

use std::time::Duration;

use isoscope::{Answer, Decision};

use super::Report;
use crate::exit::Failure;

/// A history, a run or a database.
#[derive(Clone, Debug)]
pub struct Suite {
    /// What to call it.
    pub name: String,
    /// The file that results point to.
    pub file: String,
    /// What was asked of it.
    pub cases: Vec<Case>,
}

/// A level, or a schedule at a setting.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What it demands, in a sentence.
    pub about: String,
    /// What came of it.
    pub outcome: CaseOutcome,
    /// Why, in half a line.
    pub message: String,
    /// Why, in full.
    pub details: String,
    /// What stays the same from one run to the next, such as the name of the anomaly.
    pub kind: String,
    /// How long it took.
    pub time: Duration,
}

/// What came of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaseOutcome {
    /// As it should be.
    Passed,
    /// A violation, or something that is not as expected.
    Failed,
    /// No verdict, or a question that could not be asked.
    Undecided,
    /// Not asked, or the exit code does not depend on it.
    Skipped,
}

impl Suite {
    /// The levels of a history.
    pub fn of_report(report: &Report<'_>) -> Self {
        let name = report.run.as_ref().map_or(&report.subject.name, |run| &run.subject);
        let skipped = report.not_asked.iter().map(|left| Case {
            outcome: CaseOutcome::Skipped,
            message: left.reason.to_owned(),
            ..Case::named(left.level)
        });
        let cases = report.answers.iter().map(|answer| Case::of_answer(report, answer)).chain(skipped);
        Self { name: name.clone(), file: report.subject.name.clone(), cases: cases.collect() }
    }

    /// A question that could not be asked.
    pub fn of_failure(name: &str, failure: &Failure) -> Self {
        let case = Case {
            about: "The question could be asked.".to_owned(),
            outcome: CaseOutcome::Undecided,
            message: failure.to_string(),
            kind: "failure".to_owned(),
            ..Case::named("isoscope")
        };
        Self { name: name.to_owned(), file: name.to_owned(), cases: vec![case] }
    }

    /// How many cases ended so.
    pub fn count(&self, outcome: CaseOutcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }
}

impl Case {
    /// A case that passed, of which nothing is known but its name.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            about: String::new(),
            outcome: CaseOutcome::Passed,
            message: String::new(),
            details: String::new(),
            kind: String::new(),
            time: Duration::ZERO,
        }
    }

    fn of_answer(report: &Report<'_>, answer: &Answer) -> Self {
        let reason = answer.reason().unwrap_or_default();
        let explanation = answer.explanation.as_ref();
        let (outcome, prefix) = outcome(report, answer);
        let message = explanation.map_or(&reason, |explanation| &explanation.headline);
        let message = match (outcome, report.nothing_shown()) {
            (CaseOutcome::Undecided, Some(nothing)) if answer.decision == Decision::Holds => {
                format!("nothing was shown: {nothing}")
            }
            _ => format!("{prefix}{message}"),
        };
        let about = match answer.level.shipped() {
            Some(level) => level.spec().description.replace('\n', " "),
            None => "A level of the user's own.".to_owned(),
        };
        Self {
            about,
            outcome,
            message,
            details: explanation.map_or(reason, |explanation| explanation.paragraphs().join("\n")),
            kind: explanation.and_then(|explanation| explanation.anomaly).unwrap_or_default().to_owned(),
            time: answer.time,
            ..Self::named(answer.level.name())
        }
    }
}

/// What came of a level, and what is said before its message if the exit code does not depend on it.
fn outcome(report: &Report<'_>, answer: &Answer) -> (CaseOutcome, &'static str) {
    match (report.is_judged(&answer.level), answer.decision) {
        (true, Decision::Holds) if report.nothing_shown().is_some() => (CaseOutcome::Undecided, ""),
        (_, Decision::Holds) => (CaseOutcome::Passed, ""),
        (true, Decision::Violated) => (CaseOutcome::Failed, ""),
        (true, Decision::Undecided(_)) => (CaseOutcome::Undecided, ""),
        (false, Decision::Violated) => (CaseOutcome::Skipped, "not promised, and violated: "),
        (false, Decision::Undecided(_)) => (CaseOutcome::Skipped, "not promised, and undecided: "),
    }
}
