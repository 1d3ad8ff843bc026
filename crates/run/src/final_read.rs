//! The last transaction of a run: one read of everything, in the order of the keys, after all clients have ended.
//!
//! It shows what became of writes that no transaction read, and of transactions of unknown outcome. Keys that could exist and
//! do not are recorded as absent where they are known.

use std::time::Duration;

use databases::{FailureKind, Session, Setting, Where};
use history::{Bound, Datum};
use record::{Recorder, SessionRecorder};

use crate::attempt::{Abilities, Attempt, KeyedRow, Stop};
use crate::relation::{Relation, integer};
use crate::runner::Job;
use crate::{RunError, start};

/// A final read may fail as any transaction may.
const TRIES: usize = 20;

/// Reads everything and records it as a session of its own; gives back the rows of each table, or why they could not be
/// read.
pub(crate) fn read_everything(
    job: &Job<'_>,
    recorder: Option<&Recorder>,
    patience: Duration,
) -> Result<Result<Everything, String>, RunError> {
    let Job { database, workload, .. } = *job;
    let setting = job.setting_of(0);
    let name = Datum::from("final read");
    let mut recorder = recorder.map(|recorder| job.record(recorder, 0, Some(&name))).transpose()?;
    // A node that is gone does not take the final read with it, as long as there is another.
    let mut nodes = (0..database.node_count().max(1)).cycle();
    for _ in 0..TRIES {
        let mut session = match start::connect_to_any(database, patience, &mut nodes) {
            Ok(session) => session,
            Err(failure) if failure.kind == FailureKind::Refused => {
                return Err(RunError::of("the final read", &failure));
            }
            Err(failure) => return Ok(Err(failure.reason())),
        };
        let relations = workload.relations();
        match attempt(session.as_mut(), setting, &relations, recorder.as_mut(), Abilities::of(database))? {
            Ok(rows) => return Ok(Ok(rows)),
            Err(Stop::Failed(failure)) if failure.kind == FailureKind::Refused => {
                return Err(RunError::of("the final read", &failure));
            }
            Err(_) => {}
        }
    }
    Ok(Err(format!("aborted each of the {TRIES} times that it was tried")))
}

type Everything = Vec<Vec<KeyedRow>>;

/// One try: what it read, or why it did not commit.
fn attempt(
    session: &mut dyn Session,
    setting: &Setting,
    relations: &[&Relation],
    mut recorder: Option<&mut SessionRecorder>,
    abilities: Abilities,
) -> Result<Result<Everything, Stop>, RunError> {
    if let Some(recorder) = &mut recorder {
        recorder.begin();
    }
    let result = session.begin(setting).map_err(Stop::Failed).and_then(|()| {
        let mut attempt = Attempt::new(session, recorder.as_deref_mut(), &|| None, abilities);
        let rows = relations.iter().map(|relation| read_table(&mut attempt, relation));
        let rows = rows.collect::<Result<Everything, Stop>>()?;
        if let Some(recorder) = &mut recorder {
            recorder.ending();
        }
        session.commit().map_err(Stop::Failed)?;
        Ok(rows)
    });
    if let Some(recorder) = recorder {
        // It only reads: whether its commit was heard does not matter to anybody else.
        match &result {
            Ok(_) => recorder.commit()?,
            Err(_) => recorder.abort()?,
        }
    }
    Ok(result)
}

fn read_table(attempt: &mut Attempt<'_>, relation: &Relation) -> Result<Vec<KeyedRow>, Stop> {
    if relation.is_by_condition {
        return attempt.select(relation, &Where::All);
    }
    if attempt.abilities().ranges {
        let rows = attempt.rows(relation, Bound::Unbounded, Bound::Unbounded)?;
        note_absent(attempt, relation, &rows);
        return Ok(rows);
    }
    let mut rows = Vec::new();
    for key in 0..i64::from(relation.key_limit.unwrap_or(0)) {
        let row = attempt.read(relation, key)?;
        rows.extend(row.map(|row| (Datum::Int(key), row)));
    }
    Ok(rows)
}

/// Rows come in the order of their keys, so the gaps between them are what does not exist.
fn note_absent(attempt: &mut Attempt<'_>, relation: &Relation, rows: &[KeyedRow]) {
    let mut present = rows.iter().map(|(key, _)| integer(key)).peekable();
    for key in 0..i64::from(relation.key_limit.unwrap_or(0)) {
        while present.next_if(|&found| found < key).is_some() {}
        if present.next_if_eq(&key).is_none() {
            attempt.note_row(relation, &Datum::Int(key), None);
        }
    }
}
