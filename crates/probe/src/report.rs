//! Every schedule at every setting: the table that `isoscope probe` prints.

use std::ops::ControlFlow;

use databases::{Database, Description, Failure, FailureKind, Setting};
use levels::LevelId;

use crate::{Cell, Class, Counts, Judgement, Patience, Run, Runner, Schedule, Suite, judge};

/// What was found out about a database.
pub struct Report {
    /// Which database.
    pub database: Description,
    /// What was asked.
    pub suites: Vec<Suite>,
    /// What came of it, for each setting.
    pub rows: Vec<Row>,
}

/// What was found at one setting.
pub struct Row {
    /// The setting.
    pub setting: Setting,
    /// For each suite, for each of its schedules.
    pub findings: Vec<Vec<Finding>>,
}

/// What came of one schedule.
pub enum Finding {
    /// It was run.
    Ran(Box<(Run, Judgement)>),
    /// The database cannot be asked this, for this reason.
    Refused(String),
}

impl Finding {
    /// The cell, if it was run.
    pub fn cell(&self) -> Option<Cell> {
        match self {
            Finding::Ran(ran) => Some(ran.1.cell),
            Finding::Refused(_) => None,
        }
    }

    /// Why it was not run.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Finding::Ran(_) => None,
            Finding::Refused(reason) => Some(reason),
        }
    }

    /// The class, if it was run.
    pub fn class(&self) -> Option<Class> {
        match self {
            Finding::Ran(ran) => Some(ran.1.class),
            Finding::Refused(_) => None,
        }
    }
}

/// Runs every schedule at every setting; `progress` hears of each before it is run, and may end it all: `None`.
pub fn probe(
    database: &dyn Database,
    suites: Vec<Suite>,
    settings: Vec<Setting>,
    patience: Patience,
    progress: &mut dyn FnMut(&Setting, &Schedule) -> ControlFlow<()>,
) -> Result<Option<Report>, Failure> {
    let mut runner = Runner::new(database, patience);
    let mut rows = Vec::new();
    for setting in settings {
        let mut findings = Vec::new();
        for suite in &suites {
            let mut of_suite = Vec::new();
            for schedule in &suite.schedules {
                if progress(&setting, schedule).is_break() {
                    return Ok(None);
                }
                of_suite.push(find(&mut runner, schedule, &setting)?);
            }
            findings.push(of_suite);
        }
        rows.push(Row { setting, findings });
    }
    Ok(Some(Report { database: database.describe(), suites, rows }))
}

fn find(runner: &mut Runner<'_>, schedule: &Schedule, setting: &Setting) -> Result<Finding, Failure> {
    match runner.run(schedule, setting) {
        Ok(run) => {
            let judgement = judge(schedule, &run);
            Ok(Finding::Ran(Box::new((run, judgement))))
        }
        Err(failure) if failure.kind == FailureKind::Refused => Ok(Finding::Refused(failure.message)),
        Err(failure) => Err(failure),
    }
}

impl Row {
    /// How many of each class a suite has.
    pub fn counts(&self, suite: usize) -> Counts {
        Counts::of(self.findings[suite].iter().filter_map(Finding::class))
    }
}

impl Report {
    /// Why nothing could be asked; `None` if something was.
    pub fn refused(&self) -> Option<&str> {
        let findings = self.rows.iter().flat_map(|row| row.findings.iter().flatten());
        let mut reasons = findings.map(Finding::reason);
        let first = reasons.next()??;
        reasons.all(|reason| reason.is_some()).then_some(first)
    }

    /// The schedule of a name and what was found at each setting.
    pub fn named<'r>(&'r self, name: &'r str) -> impl Iterator<Item = (&'r Row, &'r Schedule, &'r Finding)> {
        self.rows.iter().flat_map(move |row| {
            let pairs = self.suites.iter().zip(&row.findings);
            let all = pairs.flat_map(|(suite, findings)| suite.schedules.iter().zip(findings));
            all.filter(move |(schedule, _)| schedule.name == name)
                .map(move |(schedule, finding)| (row, schedule, finding))
        })
    }

    /// The strongest level that no schedule of Hermitage's suite contradicts at a setting; `None` if that suite was not
    /// asked, if a schedule could not be, or if even dirty writes are possible.
    pub fn looks_like(&self, row: &Row) -> Option<LevelId> {
        let place = self.suites.iter().position(|suite| suite.name == "hermitage")?;
        let pairs = self.suites[place].schedules.iter().zip(&row.findings[place]);
        let mut possible = Vec::new();
        for (schedule, finding) in pairs {
            if finding.cell()? == Cell::Possible {
                possible.push(schedule.name.as_str());
            }
        }
        level_without(&possible)
    }
}

/// The strongest of some levels that forbids none of these anomalies.
///
/// What others call repeatable read and monotonic atomic view lies between read committed and the next level of the
/// lattice, so it is read committed here.
fn level_without(possible: &[&str]) -> Option<LevelId> {
    let only = |allowed: &[&str]| possible.iter().all(|name| allowed.contains(name));
    let none = |forbidden: &[&str]| !possible.iter().any(|name| forbidden.contains(name));
    match () {
        () if possible.is_empty() => Some(LevelId::Serializable),
        () if only(&["g2-item", "g2", "g2-two-edges"]) => Some(LevelId::SnapshotIsolation),
        () if none(&["g0", "g1a", "g1b", "g1c"]) => Some(LevelId::ReadCommitted),
        () if none(&["g0"]) => Some(LevelId::ReadUncommitted),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_which_nothing_could_be_asked_says_why() {
        let suite = crate::built_in("hermitage").unwrap();
        let refused = || Finding::Refused("no such table".to_owned());
        let setting = Setting { name: "only".to_owned(), is_default: true };
        let database = Description { product: "none".into(), version: "1".into(), urls: Vec::new() };
        let findings = vec![suite.schedules.iter().map(|_| refused()).collect()];
        let mut report = Report { database, suites: vec![suite], rows: vec![Row { setting, findings }] };
        assert_eq!(report.refused(), Some("no such table"));
        let count = report.suites[0].schedules[0].txn_count();
        let (answers, ends) = (vec![Vec::new(); count], vec![crate::End::Stuck; count]);
        let answered = Run { events: Vec::new(), answers, ends, left: Default::default() };
        let judgement = judge(&report.suites[0].schedules[0], &answered);
        report.rows[0].findings[0][0] = Finding::Ran(Box::new((answered, judgement)));
        assert_eq!(report.refused(), None);
    }

    #[test]
    fn a_row_is_named_by_what_it_allows() {
        assert_eq!(level_without(&[]), Some(LevelId::Serializable));
        assert_eq!(level_without(&["g2", "g2-item"]), Some(LevelId::SnapshotIsolation));
        assert_eq!(level_without(&["p4", "g-single", "g2"]), Some(LevelId::ReadCommitted));
        assert_eq!(level_without(&["otv", "p4"]), Some(LevelId::ReadCommitted));
        assert_eq!(level_without(&["g1a", "p4"]), Some(LevelId::ReadUncommitted));
        assert_eq!(level_without(&["g0"]), None);
    }
}
