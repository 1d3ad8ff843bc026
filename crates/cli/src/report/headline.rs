//! The answer in one sentence: which isolation was given, which was not, and what happened.

use isoscope::{Answer, AskedLevel, Decision, LevelId};

use super::Report;

/// How a sentence speaks of its subject.
#[derive(Clone, Copy, Debug)]
pub struct Verbs {
    /// Before a level that holds.
    pub gives: &'static str,
    /// Before a level that is violated, where none holds.
    pub breaks: &'static str,
    /// Before the reason why nothing was shown.
    pub shows: &'static str,
}

/// For a file that was checked.
pub const OF_FILE: Verbs = Verbs { gives: "satisfies", breaks: "violates", shows: "shows" };
/// For a database that was run.
pub const OF_RUN: Verbs = Verbs { gives: "gave", breaks: "did not give", shows: "showed" };

/// The sentence, with its full stop.
pub fn sentence(report: &Report<'_>, subject: &str, verbs: Verbs) -> String {
    let violated = violated(report);
    if let (Some(reason), None) = (report.nothing_shown(), violated) {
        return format!("{subject} {} nothing: {reason}.", verbs.shows);
    }
    let open = undecided(report).map_or_else(String::new, |level| format!("; {level} is undecided"));
    let clause = violated
        .and_then(|answer| answer.explanation.as_ref()?.clause)
        .map_or_else(String::new, |clause| format!(": {clause}"));
    match (holding(report), violated.map(|answer| phrase(&answer.level))) {
        (Some(given), Some(not)) => format!("{subject} {} {given}, not {not}{clause}{open}.", verbs.gives),
        (Some(given), None) => format!("{subject} {} {given}{open}.", verbs.gives),
        (None, Some(not)) => format!("{subject} {} {not}{clause}{open}.", verbs.breaks),
        (None, None) => format!("{subject} is undecided: {}.", reason(report)),
    }
}

/// A level as a noun.
fn phrase(level: &AskedLevel) -> &str {
    level.shipped().map_or_else(|| level.name(), |level| level.phrase())
}

/// The strongest levels that hold, at most two of them.
fn holding(report: &Report<'_>) -> Option<String> {
    let strongest = report.strongest();
    let names: Vec<&str> = strongest.iter().take(2).map(|answer| phrase(&answer.level)).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// The violated level that says most: a weakest one, first of those that are known best.
fn violated<'r>(report: &'r Report<'_>) -> Option<&'r Answer> {
    let rank = |answer: &&Answer| match answer.level.shipped() {
        Some(LevelId::StrictSerializable) => (1, 0),
        Some(level) if level.needs_times() => (0, level as usize),
        Some(level) if level.engine().is_none() => (2, level as usize),
        Some(level) => (3, level as usize),
        None => (4, 0),
    };
    // A serial order in real time explains everything that clients saw. That a transaction read what was committed after
    // it began is then no more than an overlap.
    let is_strict =
        report.strongest().iter().any(|answer| answer.level.shipped() == Some(LevelId::StrictSerializable));
    let is_overlap = |answer: &&Answer| is_strict && answer.level.shipped().is_some_and(LevelId::needs_times);
    let weakest = report.weakest().into_iter().filter(|answer| !is_overlap(answer)).max_by_key(rank)?;
    Some(with_sessions(report, weakest).unwrap_or(weakest))
}

/// Where a level that ignores sessions holds, a weaker level that is violated demands the order of sessions: then the
/// violation to speak of is that of the same level with sessions.
fn with_sessions<'r>(report: &'r Report<'_>, violated: &Answer) -> Option<&'r Answer> {
    let weaker = violated.level.shipped()?;
    let holds = |level| report.strongest().iter().any(|answer| answer.level.shipped() == Some(level));
    let session = match weaker {
        _ if weaker.needs_times() => return None,
        _ if holds(LevelId::Serializable) => LevelId::SessionSerializable,
        _ if holds(LevelId::SnapshotIsolation) => LevelId::SessionSnapshotIsolation,
        _ => return None,
    };
    let is_it = |answer: &&Answer| answer.level.shipped() == Some(session);
    report.answers.iter().find(|answer| is_it(answer) && answer.decision == Decision::Violated)
}

/// The weakest level that is undecided.
fn undecided<'r>(report: &'r Report<'_>) -> Option<&'r str> {
    let open = report.answers.iter().filter(|answer| answer.decision.is_undecided());
    let weakest = open.max_by_key(|answer| answer.level.shipped().map(|level| level as usize));
    weakest.map(|answer| phrase(&answer.level))
}

fn reason(report: &Report<'_>) -> String {
    let undecided = report.answers.iter().find(|answer| matches!(answer.decision, Decision::Undecided(_)));
    undecided.and_then(|answer| answer.obstacle.clone()).unwrap_or_else(|| "no level was asked".to_owned())
}
