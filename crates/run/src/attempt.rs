//! One transaction in progress: every call sends a statement and records what it returned.
//!
//! A write is recorded even if its answer never came, since others may see it; a read only if it was answered. An
//! update or delete that found no row is recorded as what it is: a read that found nothing.
//! The transaction is recorded as begun when its first statement was answered: most databases take their snapshot with
//! the first statement, whatever they answer to `BEGIN`.

use databases::{Comparison, Database, Failure, Reply, Session, Statement, StatementKind, Where};
use history::{Bound, Change, Datum};
use record::SessionRecorder;

use crate::nemesis::Disturbance;
use crate::relation::{Relation, numbers};

/// A row with its key.
pub type KeyedRow = (Datum, Vec<Datum>);

/// Why a transaction does not go on to its commit.
#[derive(Debug)]
pub enum Stop {
    /// A call failed.
    Failed(Failure),
    /// The client wants to abort.
    GiveUp,
    /// The nemesis cut the connection.
    Dropped,
}

/// What happened to a client that is in the way of its next statement.
pub type Interference<'a> = &'a dyn Fn() -> Option<Disturbance>;

/// A transaction that has begun.
pub struct Attempt<'a> {
    session: &'a mut dyn Session,
    recorder: Option<&'a mut SessionRecorder>,
    interference: Interference<'a>,
    abilities: Abilities,
    has_begun: bool,
}

/// What the database can do, as far as workloads have a choice.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    /// Reads of key ranges.
    pub ranges: bool,
    /// Updates by condition, which set several columns at once.
    pub updates: bool,
    /// Reads by condition.
    pub selects: bool,
    /// Updates by condition that return the rows they changed.
    pub returns_rows: bool,
}

impl Abilities {
    /// Those of a database.
    pub fn of(database: &dyn Database) -> Self {
        Self {
            ranges: database.supports(StatementKind::Range),
            updates: database.supports(StatementKind::Update),
            selects: database.supports(StatementKind::Select),
            returns_rows: database.supports(StatementKind::UpdateReturning),
        }
    }
}

impl<'a> Attempt<'a> {
    /// Goes on with a transaction that the session and the recorder have begun.
    pub fn new(
        session: &'a mut dyn Session,
        recorder: Option<&'a mut SessionRecorder>,
        interference: Interference<'a>,
        abilities: Abilities,
    ) -> Self {
        Self { session, recorder, interference, abilities, has_begun: false }
    }

    /// What the database can do.
    pub fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// The row of a key.
    pub fn read(&mut self, relation: &Relation, key: impl Into<Datum>) -> Result<Option<Vec<Datum>>, Stop> {
        let key = key.into();
        let statement = Statement::Read { table: relation.name().to_owned(), key: key.clone() };
        let row = row_of(self.execute(&statement)?)?;
        self.note_row(relation, &key, row.as_deref());
        Ok(row)
    }

    /// The row of a key in a table of integers; a client that does not find what it relies on gives up.
    pub fn row<const N: usize>(&mut self, relation: &Relation, key: i64) -> Result<[i64; N], Stop> {
        let row = self.read(relation, key)?;
        row.map(|row| numbers(&row)).ok_or(Stop::GiveUp)
    }

    /// The list of a key, empty if there is none.
    pub fn read_list(&mut self, relation: &Relation, key: impl Into<Datum>) -> Result<(), Stop> {
        let key = key.into();
        let statement = Statement::Read { table: relation.name().to_owned(), key: key.clone() };
        let row = row_of(self.execute(&statement)?)?;
        let elements = row.map_or_else(Vec::new, |row| list_of(&row));
        self.note(|recorder| recorder.read_list(&relation.recorded_key(&key), &elements));
        Ok(())
    }

    /// Sets all columns of a row; false if it does not exist.
    pub fn write(
        &mut self,
        relation: &Relation,
        key: impl Into<Datum>,
        values: Vec<Datum>,
    ) -> Result<bool, Stop> {
        let key = key.into();
        let recorded = relation.recorded_value(&values);
        let answer = self.execute(&self.write_statement(relation, &key, values));
        let found = !matches!(answer, Ok(Reply::Count(0)));
        let value = if found { &recorded } else { &Datum::Nil };
        let key = relation.recorded_key(&key);
        self.note(|recorder| match found {
            true => recorder.write(&key, value),
            false => recorder.read(&key, value),
        });
        answer.map(|_| found)
    }

    /// An `UPDATE` of one column or of several; where there is none, the row is put in its place.
    fn write_statement(&self, relation: &Relation, key: &Datum, values: Vec<Datum>) -> Statement {
        let table = relation.name().to_owned();
        let names = relation.table.columns.iter().map(|(name, _)| name.clone());
        match <[Datum; 1]>::try_from(values) {
            Ok([value]) => {
                let column = relation.table.columns[0].0.clone();
                Statement::Write { table, key: key.clone(), column, value }
            }
            Err(values) if self.abilities.updates => {
                let predicate = Where::Compare("k".to_owned(), Comparison::Equal, key.clone());
                Statement::Update { table, predicate, set: names.zip(values).collect() }
            }
            Err(values) => Statement::Put { table, key: key.clone(), values },
        }
    }

    /// Appends to a list.
    pub fn append(&mut self, relation: &Relation, key: impl Into<Datum>, value: Datum) -> Result<(), Stop> {
        let key = key.into();
        let recorded = relation.recorded_key(&key);
        let statement = Statement::Append { table: relation.name().to_owned(), key, value: value.clone() };
        let answer = self.execute(&statement);
        self.note(|recorder| recorder.append(&recorded, &value));
        answer.map(drop)
    }

    /// Inserts a row; a row that exists ends the transaction.
    pub fn insert(
        &mut self,
        relation: &Relation,
        key: impl Into<Datum>,
        values: Vec<Datum>,
    ) -> Result<(), Stop> {
        let key = key.into();
        let (recorded_key, recorded) = (relation.recorded_key(&key), relation.recorded_value(&values));
        let answer = self.execute(&Statement::Insert { table: relation.name().to_owned(), key, values });
        self.note(|recorder| recorder.insert(&recorded_key, &recorded));
        answer.map(drop)
    }

    /// Deletes a row; false if there was none.
    pub fn delete(&mut self, relation: &Relation, key: impl Into<Datum>) -> Result<bool, Stop> {
        let key = key.into();
        let recorded = relation.recorded_key(&key);
        let answer = self.execute(&Statement::Delete { table: relation.name().to_owned(), key });
        let found = !matches!(answer, Ok(Reply::Count(0)));
        self.note(|recorder| match found {
            true => recorder.delete(&recorded, None),
            false => recorder.read(&recorded, &Datum::Nil),
        });
        answer.map(|_| found)
    }

    /// The rows between two keys, recorded as a read of the range; for a workload of one table.
    pub fn range(&mut self, relation: &Relation, from: Bound, to: Bound) -> Result<Vec<KeyedRow>, Stop> {
        let rows = self.range_rows(relation, from.clone(), to.clone())?;
        let recorded: Vec<_> = rows
            .iter()
            .map(|(key, values)| (relation.recorded_key(key), relation.recorded_value(values), false))
            .collect();
        self.note(|recorder| recorder.range(&from, &to, Some(&recorded)));
        Ok(rows)
    }

    /// The rows between two keys, recorded as a read of each row that was there.
    pub fn rows(&mut self, relation: &Relation, from: Bound, to: Bound) -> Result<Vec<KeyedRow>, Stop> {
        let rows = self.range_rows(relation, from, to)?;
        self.note_rows(relation, &rows);
        Ok(rows)
    }

    /// The rows that satisfy a condition, recorded as a read of each row that was there: for conditions on columns
    /// that never change.
    pub fn rows_where(&mut self, relation: &Relation, predicate: Where) -> Result<Vec<KeyedRow>, Stop> {
        let statement = Statement::Select { table: relation.name().to_owned(), predicate };
        let rows = rows_of(self.execute(&statement)?)?;
        self.note_rows(relation, &rows);
        Ok(rows)
    }

    /// The rows that satisfy a condition, recorded as a read by predicate; for a workload of one table.
    pub fn select(&mut self, relation: &Relation, predicate: &Where) -> Result<Vec<KeyedRow>, Stop> {
        let table = relation.name().to_owned();
        let rows = rows_of(self.execute(&Statement::Select { table, predicate: predicate.clone() })?)?;
        self.note_selected(relation, predicate, &rows);
        Ok(rows)
    }

    /// Sets columns of the rows that satisfy a condition, recorded as a write by predicate. Where the database returns the
    /// rows that it changed, as they were before, they are recorded as a read by the same predicate that comes first.
    pub fn update(
        &mut self,
        relation: &Relation,
        predicate: &Where,
        set: &[(String, Datum)],
    ) -> Result<(), Stop> {
        let table = relation.name().to_owned();
        let (where_clause, to) = (predicate.clone(), set.to_vec());
        let answer = self.execute(&match self.abilities.returns_rows {
            true => Statement::UpdateReturning { table, predicate: where_clause, set: to },
            false => Statement::Update { table, predicate: where_clause, set: to },
        });
        let columns = set.iter().map(|(name, value)| (Datum::str(name.as_str()), value.clone()));
        let change = Change::Set(Datum::row(columns.collect()));
        let count = match &answer {
            Ok(Reply::Rows(rows)) => {
                self.note_update(relation, predicate, &change, rows);
                return Ok(());
            }
            Ok(Reply::Count(count)) => Some(*count),
            _ => None,
        };
        self.note(|recorder| recorder.predicate_write(&predicate.to_datum(), &change, count));
        answer.map(drop)
    }

    /// Records an update that returned the rows it changed. A program may have returned their keys alone.
    fn note_update(&mut self, relation: &Relation, predicate: &Where, change: &Change, rows: &[KeyedRow]) {
        let width = relation.table.columns.len();
        let has_rows = rows.iter().all(|(_, values)| values.len() == width);
        if has_rows {
            self.note_selected(relation, predicate, rows);
        }
        let keys: Vec<Datum> = rows.iter().map(|(key, _)| relation.recorded_key(key)).collect();
        let predicate = predicate.to_datum();
        self.note(|recorder| {
            recorder.predicate_write(&predicate, change, Some(keys.len() as u64));
            recorder.changed_keys(&keys);
            if has_rows {
                recorder.returned_rows();
            }
        });
    }

    /// Records the rows that satisfy a condition.
    fn note_selected(&mut self, relation: &Relation, predicate: &Where, rows: &[KeyedRow]) {
        let recorded: Vec<_> = rows
            .iter()
            .map(|(key, values)| (relation.recorded_key(key), relation.recorded_value(values), false))
            .collect();
        let predicate = predicate.to_datum();
        self.note(|recorder| recorder.predicate_read(&predicate, Some(&recorded)));
    }

    fn range_rows(&mut self, relation: &Relation, from: Bound, to: Bound) -> Result<Vec<KeyedRow>, Stop> {
        rows_of(self.execute(&Statement::Range { table: relation.name().to_owned(), from, to })?)
    }

    fn note_rows(&mut self, relation: &Relation, rows: &[KeyedRow]) {
        for (key, values) in rows {
            self.note_row(relation, key, Some(values));
        }
    }

    /// Records what a key was found to hold.
    pub(crate) fn note_row(&mut self, relation: &Relation, key: &Datum, values: Option<&[Datum]>) {
        let key = relation.recorded_key(key);
        if relation.holds_lists {
            let elements = values.map_or_else(Vec::new, list_of);
            return self.note(|recorder| recorder.read_list(&key, &elements));
        }
        let value = values.map_or(Datum::Nil, |values| relation.recorded_value(values));
        self.note(|recorder| recorder.read(&key, &value));
    }

    fn note(&mut self, record: impl FnOnce(&mut SessionRecorder)) {
        if let Some(recorder) = &mut self.recorder {
            record(recorder);
        }
    }

    fn execute(&mut self, statement: &Statement) -> Result<Reply, Stop> {
        match (self.interference)() {
            Some(Disturbance::Drop) => return Err(Stop::Dropped),
            Some(Disturbance::Pause(time)) => std::thread::sleep(time),
            None => {}
        }
        let answer = self.session.execute(statement);
        if !std::mem::replace(&mut self.has_begun, true) {
            self.note(SessionRecorder::begun);
        }
        answer.map_err(Stop::Failed)
    }
}

fn list_of(values: &[Datum]) -> Vec<Datum> {
    match values.first() {
        Some(Datum::Str(text)) => databases::list_elements(text),
        _ => Vec::new(),
    }
}

fn row_of(answer: Reply) -> Result<Option<Vec<Datum>>, Stop> {
    match answer {
        Reply::Row(row) => Ok(row),
        other => Err(unexpected("a row", &other)),
    }
}

fn rows_of(answer: Reply) -> Result<Vec<KeyedRow>, Stop> {
    match answer {
        Reply::Rows(rows) => Ok(rows),
        other => Err(unexpected("rows", &other)),
    }
}

fn unexpected(expected: &str, found: &Reply) -> Stop {
    let found = match found {
        Reply::Done => "done",
        Reply::Count(_) => "a count",
        Reply::Row(_) => "a row",
        Reply::Rows(_) => "rows",
    };
    Stop::Failed(Failure::refused(format!("the driver answered a read with {found}, expected {expected}")))
}
