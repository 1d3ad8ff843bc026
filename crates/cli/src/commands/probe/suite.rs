//! A probe as continuous integration sees it: a case for each schedule at each setting.
//!
//! A case fails if it differs from `--expect`; without that file there is nothing that it could differ from.

use probe::expect::Difference;
use probe::{Cell, Finding, Report, Row, Schedule, transcript};

use super::text::headline;
use crate::report::suite::{Case, CaseOutcome, Suite};

/// The suite.
pub fn of(report: &Report, differences: Option<&[Difference]>) -> Suite {
    let name = headline(report);
    let mut cases = Vec::new();
    for row in &report.rows {
        let pairs = report.suites.iter().zip(&row.findings);
        let all = pairs.flat_map(|(suite, findings)| suite.schedules.iter().zip(findings));
        cases.extend(all.map(|(schedule, finding)| case(row, schedule, finding)));
    }
    for difference in differences.unwrap_or_default() {
        note(&mut cases, difference);
    }
    Suite { file: name.clone(), name, cases }
}

fn case(row: &Row, schedule: &Schedule, finding: &Finding) -> Case {
    let word = finding.cell().map_or("refused", Cell::word);
    let (outcome, details) = match finding {
        Finding::Ran(ran) => (CaseOutcome::Passed, transcript(schedule, &ran.0, &ran.1)),
        Finding::Refused(reason) => (CaseOutcome::Skipped, reason.clone()),
    };
    let about = schedule.about.clone();
    Case {
        about,
        outcome,
        message: word.to_owned(),
        details,
        kind: word.to_owned(),
        ..Case::named(&name(&row.setting.name, &schedule.name))
    }
}

fn name(setting: &str, schedule: &str) -> String {
    format!("{setting}/{schedule}")
}

/// Makes the case of a difference fail; a line that is about no case becomes one.
fn note(cases: &mut Vec<Case>, difference: &Difference) {
    let Difference { line, setting, subject, expected, found } = difference;
    let name = name(setting, subject);
    let message = format!("expected {expected}, found {found} (line {line})");
    match cases.iter_mut().find(|case| case.name == name) {
        Some(case) => (case.outcome, case.message) = (CaseOutcome::Failed, message),
        None => cases.push(Case { outcome: CaseOutcome::Failed, message, ..Case::named(&name) }),
    }
}
