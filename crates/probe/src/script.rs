//! A schedule for people and for other tools: in the notation of schedules, or as SQL with a column for each session.
//!
//! The SQL is plain enough for every database that has transactions; dialects differ in how a transaction begins.

use databases::{Reply, Statement};
use history::Datum;

use crate::{Action, Condition, Schedule, ScheduleStep, TABLE};

/// What the dialects differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SqlDialect {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    /// SQLite.
    Sqlite,
}

impl SqlDialect {
    /// The dialect of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "postgres" | "postgresql" => Some(Self::Postgres),
            "mysql" | "mariadb" => Some(Self::Mysql),
            "sqlite" => Some(Self::Sqlite),
            _ => None,
        }
    }

    fn begin(self, isolation: Option<&str>) -> String {
        match (self, isolation) {
            (Self::Postgres, Some(isolation)) => format!("BEGIN ISOLATION LEVEL {isolation};"),
            (Self::Mysql, Some(isolation)) => {
                format!("SET TRANSACTION ISOLATION LEVEL {isolation}; START TRANSACTION;")
            }
            (Self::Mysql, None) => "START TRANSACTION;".to_owned(),
            (Self::Postgres, None) | (Self::Sqlite, _) => "BEGIN;".to_owned(),
        }
    }
}

/// The schedule as a file of schedules has it, for `probe --schedules`.
///
/// # Errors
/// If the notation has no words for a step or a value.
pub fn notation(schedule: &Schedule) -> Result<String, String> {
    let rows = schedule.table.rows.iter().map(|(key, values)| match &values[..] {
        [value] => Ok(format!("{}={}", word(key)?, word(value)?)),
        _ => Err("rows have one column in a schedule that is written".to_owned()),
    });
    let rows: Vec<String> = rows.collect::<Result<_, _>>()?;
    let steps: Vec<String> = schedule.steps.iter().map(step_text).collect::<Result<_, _>>()?;
    Ok(format!(
        "schedule {}\nabout    {}\ninit     {}\nsteps    {}\n{}",
        schedule.name,
        schedule.about,
        rows.join(" "),
        steps.join(" "),
        shown(schedule)
    ))
}

/// What must be seen, as far as the notation says it: which transactions committed, and which values were read.
fn shown(schedule: &Schedule) -> String {
    let conditions = schedule.shown.iter().flatten().filter_map(|condition| match condition {
        Condition::Committed(txns) => {
            let numbers: Vec<String> = txns.iter().map(|txn| txn.number().to_string()).collect();
            Some(format!("committed {}", numbers.join(" ")))
        }
        Condition::Answered(txn, _, Reply::Row(Some(row))) => {
            Some(format!("{} saw {}", txn.number(), row.first()?))
        }
        _ => None,
    });
    let conditions: Vec<String> = conditions.collect();
    match conditions.is_empty() {
        true => String::new(),
        false => format!("shown    {}\n", conditions.join(" and ")),
    }
}

/// A key or value as a word of the notation.
fn word(datum: &Datum) -> Result<String, String> {
    match datum {
        Datum::Int(int) => Ok(int.to_string()),
        Datum::Str(text) if !text.is_empty() && text.chars().all(|char| char.is_ascii_alphanumeric()) => {
            Ok(text.to_string())
        }
        other => Err(format!("{other} is no word of a schedule")),
    }
}

fn step_text(step: &ScheduleStep) -> Result<String, String> {
    let number = step.txn.number();
    let statement = match &step.action {
        Action::Commit => return Ok(format!("c{number}")),
        Action::Abort => return Ok(format!("a{number}")),
        Action::Ask(statement) => statement,
    };
    match statement {
        Statement::Read { key, .. } => Ok(format!("r{number}({})", word(key)?)),
        Statement::Write { key, value, .. } => Ok(format!("w{number}({})={}", word(key)?, word(value)?)),
        Statement::Put { key, values, .. } | Statement::Insert { key, values, .. } => match &values[..] {
            [value] => Ok(format!("i{number}({})={}", word(key)?, word(value)?)),
            _ => Err("rows have one column in a schedule that is written".to_owned()),
        },
        Statement::Delete { key, .. } => Ok(format!("d{number}({})", word(key)?)),
        _ => Err("only reads, writes, inserts and deletes of keys are written".to_owned()),
    }
}

/// The schedule as SQL, to be pasted line by line into a terminal for each session; `session_of` gives the session of
/// each transaction, from 0.
///
/// # Errors
/// If a step is no statement on one key.
pub fn sql(
    schedule: &Schedule,
    session_of: &[usize],
    dialect: SqlDialect,
    isolation: Option<&str>,
) -> Result<String, String> {
    let key_type = match schedule.table.key {
        databases::ColumnType::Int => "BIGINT",
        _ => "VARCHAR(64)",
    };
    let mut lines = vec![
        format!("-- {}", schedule.about),
        "-- Set-up, in any session:".to_owned(),
        format!("DROP TABLE IF EXISTS {TABLE};"),
        format!("CREATE TABLE {TABLE} (k {key_type} PRIMARY KEY, v BIGINT);"),
    ];
    for (key, values) in &schedule.table.rows {
        let value = values.first().map_or_else(|| "NULL".to_owned(), literal);
        lines.push(format!("INSERT INTO {TABLE} VALUES ({}, {value});", literal(key)));
    }
    let cells = cells(schedule, session_of, dialect, isolation)?;
    lines.push("-- The steps, from top to bottom; each column is a session of its own:".to_owned());
    lines.extend(columns(&cells));
    lines
        .push(format!("-- Then, in any session:\nSELECT k, v FROM {TABLE} ORDER BY k;\nDROP TABLE {TABLE};"));
    Ok(lines.join("\n") + "\n")
}

/// The statements in their order, each with its session.
fn cells(
    schedule: &Schedule,
    session_of: &[usize],
    dialect: SqlDialect,
    isolation: Option<&str>,
) -> Result<Vec<(usize, String)>, String> {
    let mut asked = vec![0; schedule.txn_count()];
    let mut cells = Vec::new();
    for step in &schedule.steps {
        let txn = step.txn.0;
        let session = session_of.get(txn).copied().unwrap_or(txn);
        if asked[txn] == 0 {
            cells.push((session, dialect.begin(isolation)));
        }
        let expected = expected(schedule, step, asked[txn]);
        asked[txn] += 1;
        cells.push((session, statement_text(&step.action)? + &expected));
    }
    Ok(cells)
}

fn statement_text(action: &Action) -> Result<String, String> {
    let statement = match action {
        Action::Commit => return Ok("COMMIT;".to_owned()),
        Action::Abort => return Ok("ROLLBACK;".to_owned()),
        Action::Ask(statement) => statement,
    };
    match statement {
        Statement::Read { key, .. } => Ok(format!("SELECT v FROM {TABLE} WHERE k = {};", literal(key))),
        Statement::Write { key, value, .. } => {
            Ok(format!("UPDATE {TABLE} SET v = {} WHERE k = {};", literal(value), literal(key)))
        }
        Statement::Put { key, values, .. } | Statement::Insert { key, values, .. } => {
            let value = values.first().map_or_else(|| "NULL".to_owned(), literal);
            Ok(format!("INSERT INTO {TABLE} VALUES ({}, {value});", literal(key)))
        }
        Statement::Delete { key, .. } => Ok(format!("DELETE FROM {TABLE} WHERE k = {};", literal(key))),
        _ => Err("only reads, writes, inserts and deletes of keys are written as SQL".to_owned()),
    }
}

/// What a read answered in the history that the schedule was made from, as a comment.
fn expected(schedule: &Schedule, step: &ScheduleStep, place: usize) -> String {
    let answers = schedule.shown.iter().flatten().filter_map(|condition| match condition {
        Condition::Answered(txn, at, Reply::Row(row)) if *txn == step.txn && *at == place => Some(row),
        _ => None,
    });
    match (&step.action, answers.take(1).next()) {
        (Action::Ask(_), Some(Some(row))) => {
            row.first().map_or_else(String::new, |value| format!(" -- {value}"))
        }
        (Action::Ask(_), Some(None)) => " -- no row".to_owned(),
        _ => String::new(),
    }
}

/// A line for each statement, indented to the column of its session.
fn columns(cells: &[(usize, String)]) -> Vec<String> {
    let width = cells.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0) + 3;
    let sessions = cells.iter().map(|(session, _)| session + 1).max().unwrap_or(0);
    let head: String =
        (1..=sessions).map(|number| format!("{:<width$}", format!("-- session {number}"))).collect();
    let rows = cells.iter().map(|(session, text)| format!("{:1$}{text}", "", session * width));
    std::iter::once(head.trim_end().to_owned()).chain(rows).collect()
}

/// A value as SQL writes it.
fn literal(datum: &Datum) -> String {
    match datum {
        Datum::Nil => "NULL".to_owned(),
        Datum::Int(int) => int.to_string(),
        Datum::Str(text) => format!("'{}'", history::visible(text).replace('\\', "\\\\").replace('\'', "''")),
        other => format!("'{}'", history::visible(&other.to_string()).replace('\'', "''")),
    }
}
