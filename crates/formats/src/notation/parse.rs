//! Lines of the notation to a history.

use history::{Builder, Clock, Datum, History, InitialDefault, KeyId, Outcome, SessionId, TxnTimes, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cursor::Cursor;
use super::names::{Label, Name};
use super::ops;
use crate::Error;

/// A history in the making.
pub(super) struct Parser {
    builder: Builder,
    sessions: FxHashMap<Label, SessionId>,
    default: Option<InitialDefault>,
    initial_keys: FxHashSet<KeyId>,
    /// Keys of list operations: they start empty where nothing else is said.
    list_keys: Vec<KeyId>,
}

impl Parser {
    pub fn new() -> Self {
        Self {
            builder: Builder::new(),
            sessions: FxHashMap::default(),
            default: None,
            initial_keys: FxHashSet::default(),
            list_keys: Vec::new(),
        }
    }

    /// What was read so far.
    pub fn builder(&self) -> &Builder {
        &self.builder
    }

    /// Reads one line.
    pub fn line(&mut self, file: &str, number: u64, text: &str) -> Result<(), Error> {
        let mut cursor = Cursor::new(file, number, text);
        cursor.skip_blanks();
        if cursor.is_at_end() {
            return Ok(());
        }
        match directive(&mut cursor) {
            Some("init") => self.initial_values(&mut cursor),
            Some("keys") => self.keys(&mut cursor),
            Some("clock") => self.clock(&mut cursor),
            _ => self.session_line(&mut cursor),
        }
    }

    /// The history, once all lines were read.
    pub fn finish(mut self) -> History {
        self.builder.initial.default = match self.default {
            Some(default) => default,
            None => {
                self.start_lists_empty();
                InitialDefault::Value(ValueId(0))
            }
        };
        self.builder.finish()
    }

    fn start_lists_empty(&mut self) {
        let list_keys = std::mem::take(&mut self.list_keys);
        for key in list_keys {
            if self.initial_keys.insert(key) {
                self.builder.initial.recorded.push((key, ValueId::NIL));
            }
        }
    }

    fn initial_values(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        loop {
            cursor.skip_blanks();
            if cursor.is_at_end() {
                return Ok(());
            }
            match cursor.eat("*") {
                true => self.initial_default(cursor)?,
                false => self.initial_value(cursor)?,
            }
        }
    }

    fn initial_default(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        if !cursor.eat_equals() {
            return Err(cursor.error("`=` and the value with which all other keys start"));
        }
        if self.default.is_some() {
            return Err(cursor.error("one `init *`; there was one before"));
        }
        self.default = Some(if cursor.eat("?") {
            InitialDefault::UnknownButOne
        } else {
            InitialDefault::Value(self.builder.values.intern(cursor.datum()?))
        });
        Ok(())
    }

    fn initial_value(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let start = *cursor;
        let key = cursor.datum()?;
        if !cursor.eat_equals() {
            return Err(cursor.error("`=` and the value with which the key starts"));
        }
        let value = self.builder.values.intern(cursor.datum()?);
        let key = self.builder.keys.intern(key);
        if !self.initial_keys.insert(key) {
            return Err(start.error("a key that has no initial value yet"));
        }
        self.builder.initial.recorded.push((key, value));
        Ok(())
    }

    fn keys(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        loop {
            cursor.skip_blanks();
            if cursor.is_at_end() {
                return Ok(());
            }
            self.builder.keys.intern(cursor.datum()?);
        }
    }

    fn clock(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.skip_blanks();
        let start = *cursor;
        self.builder.clock = match cursor.word() {
            "nanoseconds" => Clock::Nanoseconds,
            "position" => Clock::Position,
            _ => return Err(start.error("`nanoseconds` or `position`")),
        };
        end_line(cursor)
    }

    fn session_line(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        if cursor.peek() == b'{' || ops::is_next(cursor) {
            let session = self.builder.session();
            return self.transactions(cursor, session, None);
        }
        let name = cursor.name()?;
        if let Some(label) = cursor.end_label(&name)? {
            let session = self.session(label);
            return self.transactions(cursor, session, None);
        }
        cursor.skip_blanks();
        if cursor.peek() != b'{' {
            return Err(cursor.error("`:` after the name of a session, or an operation such as r(x)=1"));
        }
        let session = self.builder.session();
        self.transactions(cursor, session, Some(name))
    }

    fn session(&mut self, label: Label) -> SessionId {
        if let Some(&session) = self.sessions.get(&label) {
            return session;
        }
        let session = match &label.name {
            Some(name) => self.builder.named_session(name.clone()),
            None => self.builder.session(),
        };
        self.sessions.insert(label, session);
        session
    }

    fn transactions<'t>(
        &mut self,
        cursor: &mut Cursor<'t>,
        session: SessionId,
        mut name: Option<Name<'t>>,
    ) -> Result<(), Error> {
        cursor.skip_blanks();
        if ops::is_next(cursor) {
            self.begin(session, None);
            self.operations(cursor)?;
            self.end(cursor)?;
            return end_line(cursor);
        }
        while !cursor.is_at_end() {
            if cursor.peek() != b'{' && name.is_none() {
                name = Some(cursor.name()?);
                cursor.skip_blanks();
            }
            cursor.expect("{")?;
            self.begin(session, name.take().map(Name::of_txn));
            self.operations(cursor)?;
            cursor.expect("}")?;
            self.end(cursor)?;
        }
        Ok(())
    }

    fn begin(&mut self, session: SessionId, name: Option<Datum>) {
        self.builder.begin(session);
        if let Some(name) = name {
            self.builder.name_txn(name);
        }
    }

    fn operations(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.skip_blanks();
        while ops::is_next(cursor) {
            ops::operation(cursor, &mut self.builder, &mut self.list_keys)?;
            cursor.skip_blanks();
        }
        Ok(())
    }

    /// Reads what became of the transaction and its times, in either order.
    fn end(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let (mut outcome, mut times, mut level) = (None, None, None);
        cursor.skip_blanks();
        loop {
            if times.is_none() && cursor.eat("@[") {
                times = Some(txn_times(cursor)?);
            } else if level.is_none() && eat_at(cursor) {
                level = Some(level_name(cursor)?);
            } else if outcome.is_none() {
                outcome = eat_outcome(cursor);
                if outcome.is_none() {
                    break;
                }
            } else {
                break;
            }
            cursor.skip_blanks();
        }
        if let Some(level) = level {
            self.builder.set_level(&level);
        }
        let times = self.builder.set_times(times.unwrap_or_default());
        times.map_err(|backwards| cursor.backwards(&backwards))?;
        self.builder.end(outcome.unwrap_or(Outcome::Committed));
        Ok(())
    }
}

/// Whether a line that begins here is one of the notation, judged by how it begins.
pub(super) fn begins_like_a_line(mut cursor: Cursor<'_>) -> bool {
    if directive(&mut cursor).is_some() || ops::is_next(&cursor) {
        return true;
    }
    if cursor.eat("{") {
        cursor.skip_blanks();
        return ops::is_next(&cursor);
    }
    let Ok(name) = cursor.name() else { return false };
    matches!(cursor.end_label(&name), Ok(Some(_))) || cursor.eat("{")
}

/// Takes the word with which a line begins, if it is one of those that are no session.
fn directive(cursor: &mut Cursor<'_>) -> Option<&'static str> {
    let mut ahead = *cursor;
    let word = ahead.word();
    let found = ["init", "keys", "clock"].into_iter().find(|known| *known == word)?;
    let stands_alone = matches!(ahead.peek(), 0 | b' ' | b'\t' | b'\r');
    stands_alone.then(|| {
        *cursor = ahead;
        found
    })
}

fn eat_outcome(cursor: &mut Cursor<'_>) -> Option<Outcome> {
    let mut ahead = *cursor;
    let outcome = match ahead.word() {
        "commit" | "committed" => Outcome::Committed,
        "abort" | "aborted" => Outcome::Aborted,
        "unknown" => Outcome::Unknown,
        _ => return None,
    };
    *cursor = ahead;
    Some(outcome)
}

/// Takes the word that stands before the name of an isolation level.
fn eat_at(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = *cursor;
    let is_at = ahead.word() == "at" && matches!(ahead.peek(), b' ' | b'\t' | b'"');
    if is_at {
        *cursor = ahead;
    }
    is_at
}

/// The name of an isolation level: a bare word with dashes, or a text in quotes.
fn level_name(cursor: &mut Cursor<'_>) -> Result<String, Error> {
    cursor.skip_blanks();
    let start = *cursor;
    match cursor.datum()? {
        Datum::Str(name) | Datum::Symbol(name) => Ok(name.into()),
        _ => Err(start.error("the name of an isolation level, such as read-committed")),
    }
}

/// `begin,commit]`, each a time or the interval `request..response`.
fn txn_times(cursor: &mut Cursor<'_>) -> Result<TxnTimes, Error> {
    let (begin, begin_response) = interval(cursor)?;
    cursor.expect(",")?;
    let (commit, commit_response) = interval(cursor)?;
    cursor.expect("]")?;
    // A single time is the outer end: when the client asked to begin, when it heard the outcome.
    let (commit_request, commit_response) = match commit_response {
        Some(response) => (commit, response),
        None => (None, commit),
    };
    Ok(TxnTimes {
        begin_request: begin,
        begin_response: begin_response.flatten(),
        commit_request,
        commit_response,
    })
}

type Interval = (Option<i64>, Option<Option<i64>>);

fn interval(cursor: &mut Cursor<'_>) -> Result<Interval, Error> {
    let first = ops::time(cursor)?;
    let second = if cursor.eat("..") { Some(ops::time(cursor)?) } else { None };
    Ok((first, second))
}

fn end_line(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    cursor.skip_blanks();
    if cursor.is_at_end() {
        return Ok(());
    }
    Err(cursor.error(
        "an operation such as r(x)=1, `abort`, `unknown`, a level such as `at read-committed`, times such as @[1,2], or \
         the end of the line",
    ))
}
