//! Rows and steps.

use databases::Statement;
use history::Datum;

use super::cursor::Cursor;
use crate::predicate;
use crate::schedule::{Action, ScheduleStep, TABLE, Txn};

/// Rows, `x=0 y=(1,2)`, with so many columns.
pub(super) fn rows(cursor: &mut Cursor<'_>, width: usize) -> Result<Vec<(Datum, Vec<Datum>)>, String> {
    let mut rows: Vec<(Datum, Vec<Datum>)> = Vec::new();
    loop {
        cursor.skip_blanks();
        if cursor.is_at_end() {
            return Ok(rows);
        }
        let key = cursor.key()?;
        cursor.expect("=")?;
        if rows.iter().any(|(known, _)| *known == key) {
            return Err(format!("a second row `{key}`"));
        }
        rows.push((key, values(cursor, width)?));
    }
}

/// One value, or several in parentheses.
pub(super) fn values(cursor: &mut Cursor<'_>, width: usize) -> Result<Vec<Datum>, String> {
    if !cursor.eat("(") {
        return match width {
            1 => Ok(vec![cursor.value()?]),
            _ => Err(cursor.error(&format!("{width} values in parentheses"))),
        };
    }
    let mut values = vec![cursor.value()?];
    while cursor.eat(",") {
        cursor.skip_blanks();
        values.push(cursor.value()?);
    }
    cursor.expect(")")?;
    match values.len() == width {
        true => Ok(values),
        false => Err(format!("expected {width} values, one for each column, found {}", values.len())),
    }
}

/// Steps with blanks between them.
pub(super) fn parse(cursor: &mut Cursor<'_>, columns: &[String]) -> Result<Vec<ScheduleStep>, String> {
    let mut steps = Vec::new();
    loop {
        cursor.skip_blanks();
        if cursor.is_at_end() {
            return Ok(steps);
        }
        let before = cursor.rest();
        let step = StepParser { cursor: &mut *cursor, columns }.step()?;
        if !cursor.is_at_end() && !cursor.rest().starts_with(char::is_whitespace) {
            return Err(cursor.error("a blank after the step"));
        }
        let written = &before[..before.len() - cursor.rest().len()];
        steps.push(ScheduleStep { text: without_number(written), ..step });
    }
}

/// `w1(x)=1` as `w(x)=1`, `c1` as `commit`.
fn without_number(written: &str) -> String {
    match written.split_at(1) {
        ("c", _) => "commit".to_owned(),
        ("a", _) => "abort".to_owned(),
        (letter, rest) => format!("{letter}{}", &rest[1..]),
    }
}

struct StepParser<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    columns: &'c [String],
}

impl StepParser<'_, '_> {
    fn step(&mut self) -> Result<ScheduleStep, String> {
        const LETTERS: &str = "a step that begins with one of r, l, w, i, d, p, u, c, a";
        let letter = match self.cursor.peek() {
            Some(letter) if "rlwidpuca".contains(letter) => letter,
            _ => return Err(self.cursor.error(LETTERS)),
        };
        self.cursor.next();
        let txn = self.cursor.txn()?;
        let action = self.action(letter)?;
        Ok(ScheduleStep { txn: Txn(txn.0), action, text: String::new() })
    }

    fn action(&mut self, letter: char) -> Result<Action, String> {
        let table = TABLE.to_owned();
        let statement = match letter {
            'c' => return Ok(Action::Commit),
            'a' => return Ok(Action::Abort),
            'r' => Statement::Read { table, key: self.key()? },
            'l' => Statement::ReadForUpdate { table, key: self.key()? },
            'w' => self.write(table)?,
            'i' => {
                let key = self.key()?;
                self.cursor.expect("=")?;
                Statement::Insert { table, key, values: values(self.cursor, self.columns.len())? }
            }
            'd' if self.cursor.peek() == Some('[') => Statement::DeleteWhere {
                table,
                predicate: predicate::parse_bracketed(self.cursor, self.columns)?,
            },
            'd' => Statement::Delete { table, key: self.key()? },
            'p' => {
                Statement::Select { table, predicate: predicate::parse_bracketed(self.cursor, self.columns)? }
            }
            _ => self.update(table)?,
        };
        Ok(Action::Ask(statement))
    }

    fn key(&mut self) -> Result<Datum, String> {
        self.cursor.expect("(")?;
        let key = self.cursor.key()?;
        self.cursor.expect(")")?;
        Ok(key)
    }

    /// `(key)=value`, `(key.column)=value`, `(key)+=number`, `(key)-=number`.
    fn write(&mut self, table: String) -> Result<Statement, String> {
        self.cursor.expect("(")?;
        let key = self.cursor.key()?;
        let column = if self.cursor.eat(".") { self.column()? } else { self.only_column()? };
        self.cursor.expect(")")?;
        if self.cursor.eat("+=") {
            return Ok(Statement::Add { table, key, column, by: self.cursor.integer()? });
        }
        if self.cursor.eat("-=") {
            let by = self.cursor.integer()?.checked_neg().ok_or("expected a smaller number")?;
            return Ok(Statement::Add { table, key, column, by });
        }
        self.cursor.expect("=")?;
        Ok(Statement::Write { table, key, column, value: self.cursor.value()? })
    }

    /// `[predicate]=value`, `[predicate]column=value`.
    fn update(&mut self, table: String) -> Result<Statement, String> {
        let predicate = predicate::parse_bracketed(self.cursor, self.columns)?;
        let column = if self.cursor.peek() == Some('=') { self.only_column()? } else { self.column()? };
        self.cursor.expect("=")?;
        Ok(Statement::Update { table, predicate, set: vec![(column, self.cursor.value()?)] })
    }

    fn column(&mut self) -> Result<String, String> {
        let known = format!("a column, one of {}", self.columns.join(", "));
        let error = self.cursor.error(&known);
        let name = self.cursor.take_while(|char| char.is_ascii_alphanumeric() || char == '_');
        self.columns.iter().find(|column| *column == name).cloned().ok_or(error)
    }

    fn only_column(&self) -> Result<String, String> {
        match self.columns {
            [column] => Ok(column.clone()),
            _ => Err(self.cursor.error(&format!("one of the columns {}", self.columns.join(", ")))),
        }
    }
}
