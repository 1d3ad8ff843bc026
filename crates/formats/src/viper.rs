//! Viper JSON: a folder of `J*.log` files, each one session, one transaction a line.
//!
//! `docs/formats/viper.md` describes it, with the spelling of operations as arrays and as objects. There are neither
//! transaction numbers nor aborted transactions. A line with `"isInitial": true` is the initial state; without one
//! every key starts with some value that no transaction wrote. A value of 0 is null.
//!
//! Lines are scanned without a tree; the operations of a line wait in a small vector, as what follows them may say
//! that the line is the initial state.

mod array_op;
mod object_op;

use history::{
    Backwards, Bound, Builder, Datum, InitialDefault, InitialState, OpTimes, Outcome, RangeRead, Row,
    SessionId, TxnTimes, ValueId,
};

use crate::error::Error;
use crate::input::Folder;
use crate::scan::Json;
use crate::{Format, Loaded, ReadOptions, Source};

/// Whether the first line is an object that begins with one of Viper's fields and is no Jepsen operation.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Some(fields) = line.trim_ascii_start().strip_prefix(b"{") else {
        return false;
    };
    let fields = fields.trim_ascii_start();
    let is_first = |name: &&[u8]| fields.starts_with(name);
    const FIRST: [&[u8]; 4] = [b"\"value\"", b"\"preBeginTS\"", b"\"isInitial\"", b"\"postBeginTS\""];
    let is_jepsen = [&b"\"type\""[..], b"\"process\""]
        .iter()
        .any(|name| line.windows(name.len()).any(|window| window == *name));
    FIRST.iter().any(is_first) && !is_jepsen
}

/// Reads one log: a history of one session.
pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let mut reader = Reader::default();
    reader.log(source, None)?;
    Ok(reader.finish())
}

/// Reads a folder of logs.
pub(crate) fn read_folder(folder: &Folder<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let mut reader = Reader::default();
    for log in folder.logs() {
        let (name, mut source) = log?;
        reader.log(&mut source, name)?;
    }
    Ok(reader.finish())
}

/// An operation, with values as the model has them.
enum ViperOp {
    Read(Datum, ValueId),
    Write(Datum, ValueId),
    Insert(Datum, ValueId),
    Delete(Datum, ValueId),
    Append(Datum, ValueId),
    Range(RangeRead),
}

/// What waits for the end of its line.
struct Waiting {
    op: ViperOp,
    is_failed: bool,
    times: OpTimes,
}

struct Reader {
    builder: Builder,
    waiting: Vec<Waiting>,
    has_initial: bool,
}

impl Default for Reader {
    fn default() -> Self {
        let mut builder = Builder::new();
        builder.initial = InitialState::unknown();
        Self { builder, waiting: Vec::new(), has_initial: false }
    }
}

impl Reader {
    fn log(&mut self, source: &mut Source<'_>, name: Option<Datum>) -> Result<(), Error> {
        let mut json = Json::new(source);
        let mut session = None;
        let mut is_only_initial = false;
        while json.peek()?.is_some() {
            let line = self.line(&mut json)?;
            if line.is_initial {
                is_only_initial |= session.is_none();
                self.take_initial(&mut json)?;
            } else {
                let session = *session.get_or_insert_with(|| new_session(&mut self.builder, &name));
                let place = json.place();
                self.add_txn(session, line.times)
                    .map_err(|backwards| Error::backwards(json.source.file(), place, &backwards))?;
            }
            json.source.check_memory(&self.builder)?;
        }
        if session.is_none() && !is_only_initial {
            new_session(&mut self.builder, &name);
        }
        Ok(())
    }

    /// A line with its fields; the operations are then waiting.
    fn line(&mut self, json: &mut Json<'_, '_>) -> Result<Line, Error> {
        json.expect(b'{', "a transaction: `{`")?;
        self.waiting.clear();
        let mut line = Line::default();
        let mut has_value = false;
        loop {
            let field = Field::named(json.string("the name of a field")?);
            json.expect(b':', "`:` after the name of a field")?;
            match field {
                Field::Value if has_value => return Err(json.error("`value` only once")),
                Field::Value => {
                    has_value = true;
                    self.ops(json)?;
                }
                Field::Initial => line.is_initial = json.bool("true or false")?,
                Field::Time(place) => line.set_time(place, json)?,
                Field::Other => json.skip()?,
            }
            if !json.more(b'}', "`,` or `}` after a field")? {
                break;
            }
        }
        match has_value {
            true => Ok(line),
            false => Err(json.error("a transaction with a field `value`")),
        }
    }

    fn ops(&mut self, json: &mut Json<'_, '_>) -> Result<(), Error> {
        json.expect(b'[', "an array of operations")?;
        if json.take(b']')? {
            return Ok(());
        }
        loop {
            match json.peek()? {
                Some(b'{') => self.object_op(json)?,
                _ => self.array_op(json)?,
            }
            if !json.more(b']', "`,` or `]` after an operation")? {
                return Ok(());
            }
        }
    }

    fn wait(&mut self, op: ViperOp, is_failed: bool) {
        self.waiting.push(Waiting { op, is_failed, times: OpTimes::default() });
    }

    fn add_txn(&mut self, session: SessionId, times: TxnTimes) -> Result<(), Backwards> {
        self.builder.begin(session);
        self.builder.set_times(times)?;
        for waiting in self.waiting.drain(..) {
            add_op(&mut self.builder, waiting)?;
        }
        self.builder.end(Outcome::Committed);
        Ok(())
    }

    fn take_initial(&mut self, json: &mut Json<'_, '_>) -> Result<(), Error> {
        if std::mem::replace(&mut self.has_initial, true) {
            return Err(json.error("only one line with `isInitial`"));
        }
        self.builder.initial.default = InitialDefault::Value(ValueId::NIL);
        for waiting in std::mem::take(&mut self.waiting) {
            let recorded = &mut self.builder.initial.recorded;
            match waiting.op {
                ViperOp::Write(key, value) | ViperOp::Insert(key, value) => {
                    recorded.push((self.builder.keys.intern(key), value));
                }
                ViperOp::Range(range) => {
                    let rows = range.rows.unwrap_or_default();
                    recorded.extend(rows.iter().filter(|row| !row.is_dead).map(|row| (row.key, row.value)));
                }
                _ => return Err(json.error("an initial state of writes or of one range before this")),
            }
        }
        Ok(())
    }

    fn value(&mut self, json: &mut Json<'_, '_>) -> Result<ValueId, Error> {
        const EXPECTED: &str = "a value: an integer";
        match json.null(EXPECTED)? {
            true => Ok(ValueId::NIL),
            false => match json.signed(EXPECTED)? {
                0 => Ok(ValueId::NIL),
                int => Ok(self.builder.values.intern_int(int)),
            },
        }
    }

    /// The rows of a range, `{"id": .., "sk": .., "val": ..}`, into the vector.
    fn rows(&mut self, json: &mut Json<'_, '_>, is_dead: bool, rows: &mut Vec<Row>) -> Result<(), Error> {
        json.expect(b'[', "an array of rows")?;
        if json.take(b']')? {
            return Ok(());
        }
        loop {
            let row = self.row(json, is_dead)?;
            rows.push(row);
            if !json.more(b']', "`,` or `]` after a row")? {
                return Ok(());
            }
        }
    }

    fn row(&mut self, json: &mut Json<'_, '_>, is_dead: bool) -> Result<Row, Error> {
        json.expect(b'{', "a row: `{`")?;
        let (mut key, mut value) = (None, None);
        loop {
            let name = json.string("the name of a field")?;
            let (is_key, is_value) = (name == "id", name == "val");
            json.expect(b':', "`:` after the name of a field")?;
            match (is_key, is_value) {
                (true, _) => key = Some(self.builder.keys.intern(json.scalar(KEY)?)),
                (_, true) => value = Some(self.value(json)?),
                _ => json.skip()?,
            }
            if !json.more(b'}', "`,` or `}` after a field")? {
                break;
            }
        }
        match (key, value) {
            (Some(key), Some(value)) => Ok(Row { key, value, is_dead }),
            _ => Err(json.error("a row with `id` and `val` before this")),
        }
    }

    fn finish(self) -> Loaded {
        Loaded::new(self.builder.finish(), Format::Viper)
    }
}

const KEY: &str = "a key: an integer or a string";

/// A bound of a range; the text `nil` is none.
fn bound(json: &mut Json<'_, '_>) -> Result<Bound, Error> {
    Ok(match json.scalar("a key or \"nil\"")? {
        Datum::Str(text) if &*text == "nil" => Bound::Unbounded,
        key => Bound::Included(key),
    })
}

fn new_session(builder: &mut Builder, name: &Option<Datum>) -> SessionId {
    match name {
        Some(name) => builder.named_session(name.clone()),
        None => builder.session(),
    }
}

fn add_op(builder: &mut Builder, waiting: Waiting) -> Result<(), Backwards> {
    let mut key_of = |key: Datum| builder.keys.intern(key);
    match waiting.op {
        ViperOp::Read(key, value) => {
            let key = key_of(key);
            builder.read(key, value)
        }
        ViperOp::Write(key, value) => {
            let key = key_of(key);
            builder.write(key, value)
        }
        ViperOp::Insert(key, value) => {
            let key = key_of(key);
            builder.insert(key, value)
        }
        ViperOp::Delete(key, mark) => {
            let key = key_of(key);
            builder.delete(key, (mark != ValueId::NIL).then_some(mark))
        }
        ViperOp::Append(key, value) => {
            let key = key_of(key);
            builder.append(key, value)
        }
        ViperOp::Range(range) => builder.range_read(range),
    };
    if waiting.is_failed {
        builder.mark_failed();
    }
    match waiting.times == OpTimes::default() {
        true => Ok(()),
        false => builder.set_op_times(waiting.times),
    }
}

#[derive(Default)]
struct Line {
    is_initial: bool,
    times: TxnTimes,
}

impl Line {
    fn set_time(&mut self, place: usize, json: &mut Json<'_, '_>) -> Result<(), Error> {
        let time = Some(milliseconds(json)?);
        match place {
            0 => self.times.begin_request = time,
            1 => self.times.begin_response = time,
            2 => self.times.commit_request = time,
            _ => self.times.commit_response = time,
        }
        Ok(())
    }
}

/// A time in milliseconds, as nanoseconds.
fn milliseconds(json: &mut Json<'_, '_>) -> Result<i64, Error> {
    const EXPECTED: &str = "a time in milliseconds";
    let time = json.signed(EXPECTED)?;
    time.checked_mul(1_000_000).ok_or_else(|| json.error(EXPECTED))
}

enum Field {
    Value,
    Initial,
    Time(usize),
    Other,
}

impl Field {
    fn named(name: &str) -> Self {
        match name {
            "value" => Self::Value,
            "isInitial" => Self::Initial,
            "preBeginTS" => Self::Time(0),
            "postBeginTS" => Self::Time(1),
            "preCommitTS" => Self::Time(2),
            "postCommitTS" => Self::Time(3),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests;
