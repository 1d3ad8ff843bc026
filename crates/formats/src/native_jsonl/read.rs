//! Native lines to a history.

use history::{Builder, Clock, Datum, InitialDefault, KeyId, Outcome, SessionId, TxnTimes, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::VERSION;
use super::flat_row::RowReader;
use super::json::{Json, Number};
use super::ops::OpReader;
use crate::key_cache::KeyCache;
use crate::parts::Parts;
use crate::source::{Block, line_breaks};
use crate::{Error, Format, Loaded, ReadOptions, Source, Warning};

const LINE_KINDS: &str =
    "one of the members s, session, initial, default, default?, keys, note, recording, before";

/// Whether an input begins with the header.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let after_brace = head.trim_ascii_start().strip_prefix(b"{");
    after_brace.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"isoscope\""))
}

/// Reads native JSON Lines; a last line that was cut off is left out with a warning.
pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let mut reader = Reader::default();
    reader.all(source)?;
    if !reader.has_header {
        return Err(source.error("the header {\"isoscope\":1}", "the end of the file"));
    }
    Ok(reader.finish())
}

/// Reads a large file on several threads; `None` if it has to be read from beginning to end.
///
/// All parts but the first are read without knowing what comes before them. That does not matter for transactions,
/// which are nearly all lines; a part with a line for which it does is an error, and then there is no answer.
pub(crate) fn read_parts(parts: &Parts<'_>) -> Option<Loaded> {
    let readers = parts.read(|source, place| {
        let mut reader = Reader { has_header: place > 0, is_later_part: place > 0, ..Reader::default() };
        reader.all(source).map(|()| reader)
    })?;
    let mut readers = readers.into_iter();
    let mut whole = readers.next().filter(|first| first.has_header && first.levels.is_empty())?;
    readers.try_for_each(|part| whole.join(part))?;
    Some(whole.finish())
}

/// Reads lines into a history.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) builder: Builder,
    pub(super) has_header: bool,
    /// Whether these lines are a part of a recording that begins before them.
    is_later_part: bool,
    /// Whether the recorder said last that it would say when it is done (true), or that it is done (false).
    recording: Option<bool>,
    /// Lines that were read.
    lines: u64,
    /// The number of the last line, if it was cut off.
    torn_line: Option<u64>,
    pub(super) sessions: FxHashMap<u64, SessionId>,
    /// What a reader that follows the recording has to know besides.
    pub(super) followed: Followed,
    /// The level of the transactions of a session that name none themselves.
    levels: FxHashMap<u64, Box<str>>,
    initial: FxHashMap<KeyId, ValueId>,
    elements: Vec<ValueId>,
    cache: KeyCache,
    row_reader: RowReader,
}

/// What lines say to a reader that follows a recording.
#[derive(Default)]
pub(super) struct Followed {
    /// Sessions of blocks that were read before.
    pub earlier: FxHashSet<u64>,
    /// Sessions that were introduced, with their names.
    pub introduced: Vec<(u64, Option<Datum>)>,
    /// The session of each transaction, in the order of the lines.
    pub order: Vec<SessionId>,
    /// Whether a transaction has a name.
    pub has_names: bool,
    /// The latest mark.
    pub before: Option<i64>,
    /// Whether a line said what keys hold at first.
    pub has_initial: bool,
    /// Whether a line said that the recording is closed.
    pub is_closed: bool,
    /// Whether the lines are of several files, each of which may have a header.
    pub is_rotated: bool,
}

impl Reader {
    /// Takes what was read so far, and goes on with an empty history of the same kind.
    pub(super) fn take(&mut self) -> Builder {
        let mut next = Builder::new();
        next.clock = self.builder.clock;
        next.initial.default = match self.builder.initial.default {
            InitialDefault::Value(value) => {
                InitialDefault::Value(next.values.intern(self.builder.values.original(value)))
            }
            InitialDefault::UnknownButOne => InitialDefault::UnknownButOne,
        };
        self.followed.earlier.extend(self.sessions.drain().map(|(number, _)| number));
        self.initial.clear();
        self.cache = KeyCache::default();
        std::mem::replace(&mut self.builder, next)
    }

    /// Whether the recorder said that it would say when it is done, and has not yet.
    pub(super) fn is_open(&self) -> bool {
        self.recording == Some(true)
    }

    /// Reads to the end.
    fn all(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        while let Some(block) = source.next_block()? {
            self.block(block)?;
            source.check_memory(&self.builder)?;
        }
        self.lines = source.lines();
        Ok(())
    }

    /// Appends what a later part of the recording says; `None` if only a reader of the whole can say what it means.
    fn join(&mut self, part: Self) -> Option<()> {
        let introduced = part.followed.introduced.iter();
        if introduced.into_iter().any(|(number, _)| self.sessions.contains_key(number)) {
            return None;
        }
        let mut numbers: Vec<(SessionId, u64)> =
            part.sessions.iter().map(|(&number, &session)| (session, number)).collect();
        numbers.sort_unstable();
        let known: Vec<Option<SessionId>> =
            numbers.iter().map(|(_, number)| self.sessions.get(number).copied()).collect();
        let joined = self.builder.join(part.builder, &known).ok()?;
        self.sessions.extend(numbers.iter().map(|&(_, number)| number).zip(joined.sessions));
        self.recording = part.recording.or(self.recording);
        self.torn_line = part.torn_line.map(|line| self.lines + line);
        self.lines += part.lines;
        Some(())
    }

    fn finish(mut self) -> Loaded {
        let mut warnings: Vec<Warning> = self.torn_line.map(torn_line).into_iter().collect();
        warnings.extend(self.doubt_the_end());
        let mut loaded = Loaded::new(self.builder.finish(), Format::Native);
        loaded.warnings = warnings;
        loaded
    }

    pub(super) fn block(&mut self, block: Block<'_>) -> Result<(), Error> {
        let length = match is_torn(block) {
            Some(torn_at) => {
                self.torn_line = Some(block.first_line + line_breaks(&block.bytes[..torn_at]));
                torn_at
            }
            None => block.bytes.len(),
        };
        let mut json = Json::new(block, length)?;
        while !json.is_at_end() {
            self.line(&mut json)?;
            if !json.is_at_end() {
                json.expect(b'\n', "the end of the line")?;
            }
        }
        Ok(())
    }

    fn line(&mut self, json: &mut Json<'_>) -> Result<(), Error> {
        if self.has_header && json.ahead(4) == b"{\"s\"" {
            return self.transaction(json, json.position());
        }
        json.skip_blanks();
        if json.peek() == b'\n' {
            return Ok(());
        }
        let start = json.position();
        json.expect(b'{', "an object")?;
        let first = json.next_key(true)?.ok_or_else(|| json.error_at(start, LINE_KINDS))?;
        if !self.has_header {
            return self.header(json, &first, start);
        }
        match &*first {
            "initial" | "default" | "default?" if self.is_later_part => {
                Err(json.error_at(start, "no such line in a later part of a recording"))
            }
            "isoscope" if self.followed.is_rotated => self.header(json, &first, start),
            "s" | "n" | "l" | "o" | "t" | "ops" => self.transaction(json, start),
            "session" => self.session_line(json),
            "initial" => self.initial_line(json),
            "default" => {
                self.followed.has_initial = true;
                let value = json.value(&mut self.builder)?;
                self.builder.initial.default = InitialDefault::Value(value);
                end_object(json)
            }
            "default?" if json.eat_word("true") => {
                self.followed.has_initial = true;
                self.builder.initial.default = InitialDefault::UnknownButOne;
                end_object(json)
            }
            "keys" => self.keys_line(json),
            "note" => {
                json.skip_value(0)?;
                end_object(json)
            }
            "recording" => {
                let at = json.position();
                self.recording = match &*json.string("`\"open\"` or `\"closed\"`")? {
                    "open" => Some(true),
                    "closed" => {
                        self.followed.is_closed = true;
                        Some(false)
                    }
                    _ => return Err(json.error_at(at, "`\"open\"` or `\"closed\"`")),
                };
                end_object(json)
            }
            "before" => {
                let at = json.position();
                let expected = "a time: all transactions that began before it are recorded";
                let Ok(Number::Int(time)) = json.number() else { return Err(json.error_at(at, expected)) };
                self.followed.before = self.followed.before.max(Some(time));
                end_object(json)
            }
            _ => Err(json.error_at(start, LINE_KINDS)),
        }
    }

    /// A recording that broke off: what its last transactions saw may be of transactions that it does not have.
    fn doubt_the_end(&mut self) -> Option<Warning> {
        let doubted = if self.is_open() { self.builder.doubt_the_end() } else { return None };
        let (noun, are) = if doubted == 1 { ("transaction", "is") } else { ("transactions", "are") };
        Some(Warning::new(
            "unfinished-recording",
            format!(
                "the recording broke off; {doubted} {noun} at its end may have seen others that were not \
                 recorded any more, and {are} taken as unknown"
            ),
        ))
    }

    fn header(&mut self, json: &mut Json<'_>, first: &str, start: usize) -> Result<(), Error> {
        if first != "isoscope" {
            return Err(json.error_at(start, "the header {\"isoscope\":1} in the first line"));
        }
        self.has_header = true;
        let version_at = json.position();
        if !matches!(json.number()?, Number::Int(VERSION)) {
            let error = json.error_at(version_at, "version 1 of the native format");
            return Err(error.with_hint("a newer isoscope may read it"));
        }
        while let Some(name) = json.next_key(false)? {
            let at = json.position();
            match &*name {
                "clock" => self.builder.clock = clock(json)?,
                _ => return Err(json.error_at(at, "no other member than clock in the header")),
            }
        }
        Ok(())
    }

    fn session_line(&mut self, json: &mut Json<'_>) -> Result<(), Error> {
        let start = json.position();
        let number = session_number(json)?;
        let mut name = None;
        while let Some(member) = json.next_key(false)? {
            match &*member {
                "name" if name.is_none() => name = Some(json.name()?),
                "level" if !self.is_later_part => {
                    self.levels.insert(number, level(json)?);
                }
                _ => return Err(json.error("no other member than name and level, each once")),
            }
        }
        match self.introduce(number, name) {
            Some(_) => Ok(()),
            None => {
                let error = json.error_at(start, "the number of a session that did not occur yet");
                Err(error.with_hint("a session is named before its first transaction"))
            }
        }
    }

    /// A session that a line names before its first transaction; `None` if there was one already.
    fn introduce(&mut self, number: u64, name: Option<Datum>) -> Option<SessionId> {
        if self.sessions.contains_key(&number) || self.followed.earlier.contains(&number) {
            return None;
        }
        self.followed.introduced.push((number, name.clone()));
        let session = match name {
            Some(name) => self.builder.named_session(name),
            None => self.builder.session(),
        };
        self.sessions.insert(number, session);
        Some(session)
    }

    fn session(&mut self, number: u64) -> SessionId {
        let builder = &mut self.builder;
        *self.sessions.entry(number).or_insert_with(|| builder.session())
    }

    fn initial_line(&mut self, json: &mut Json<'_>) -> Result<(), Error> {
        self.followed.has_initial = true;
        json.expect(b'[', "an array of pairs `[key,value]`")?;
        let mut is_first = true;
        while json.next_item(is_first)? {
            is_first = false;
            let start = json.position();
            json.expect(b'[', "a pair `[key,value]`")?;
            let key = json.key(&mut self.builder, &mut self.cache)?;
            json.expect(b',', "`,` and a value")?;
            let value = json.value(&mut self.builder)?;
            json.expect(b']', "`]`")?;
            match self.initial.insert(key, value) {
                None => self.builder.initial.recorded.push((key, value)),
                Some(earlier) if earlier == value => {}
                Some(_) => {
                    return Err(json.error_at(start, "one initial value for each key; there was another"));
                }
            }
        }
        end_object(json)
    }

    fn keys_line(&mut self, json: &mut Json<'_>) -> Result<(), Error> {
        json.expect(b'[', "an array of keys")?;
        let mut is_first = true;
        while json.next_item(is_first)? {
            json.key(&mut self.builder, &mut self.cache)?;
            is_first = false;
        }
        end_object(json)
    }

    /// Reads a transaction whose members come in any order; they are read at once if the session comes first.
    fn transaction(&mut self, json: &mut Json<'_>, start: usize) -> Result<(), Error> {
        json.go_to(start);
        json.expect(b'{', "`{`")?;
        let mut members = Members::default();
        let mut ops_at = None;
        let mut is_first = true;
        loop {
            let at = json.position();
            let Some(name) = json.next_key(is_first)? else {
                break;
            };
            is_first = false;
            let is_new = match &*name {
                "s" => members.session.replace(session_number(json)?).is_none(),
                "o" => members.outcome.replace(outcome(json)?).is_none(),
                "n" => members.name.replace(json.name()?).is_none(),
                "l" => members.level.replace(level(json)?).is_none(),
                "t" => members.times.replace(txn_times(json)?).is_none(),
                "ops" if ops_at.is_none() => {
                    ops_at = Some((json.position(), self.ops(json, members.session)?));
                    true
                }
                "ops" => false,
                _ => return Err(json.error_at(at, "one of the members s, n, l, o, t, ops")),
            };
            if !is_new {
                return Err(json.error_at(at, "each member once"));
            }
        }
        match (members.session, ops_at) {
            (Some(session), Some((ops_at, is_read))) => {
                self.late_ops(json, session, ops_at, is_read)?;
                self.end(members, json, start)
            }
            _ => Err(json.error_at(start, "the members s, o and ops")),
        }
    }

    /// Reads the operations if the session is known, else passes over them and says so.
    fn ops(&mut self, json: &mut Json<'_>, session: Option<u64>) -> Result<bool, Error> {
        let Some(session) = session else {
            json.skip_value(0)?;
            return Ok(false);
        };
        let session = self.session(session);
        self.followed.order.push(session);
        self.builder.begin(session);
        let (builder, elements) = (&mut self.builder, &mut self.elements);
        let (cache, row_reader) = (&mut self.cache, &mut self.row_reader);
        OpReader { json, builder, elements, cache, row_reader }.ops()?;
        Ok(true)
    }

    fn late_ops(
        &mut self,
        json: &mut Json<'_>,
        session: u64,
        ops_at: usize,
        is_read: bool,
    ) -> Result<(), Error> {
        if is_read {
            return Ok(());
        }
        let end = json.position();
        json.go_to(ops_at);
        self.ops(json, Some(session))?;
        json.go_to(end);
        Ok(())
    }

    fn end(&mut self, members: Members, json: &Json<'_>, start: usize) -> Result<(), Error> {
        let outcome = members.outcome.ok_or_else(|| json.error_at(start, "the outcome: the member o"))?;
        if let Some(name) = members.name {
            self.followed.has_names = true;
            self.builder.name_txn(name);
        }
        let of_session = members.session.and_then(|session| self.levels.get(&session));
        if let Some(level) = members.level.as_ref().or(of_session) {
            self.builder.set_level(level);
        }
        let times = self.builder.set_times(members.times.unwrap_or_default());
        times.map_err(|backwards| json.backwards_at(start, &backwards))?;
        self.builder.end(outcome);
        Ok(())
    }
}

/// What a transaction has besides its operations.
#[derive(Default)]
struct Members {
    session: Option<u64>,
    outcome: Option<Outcome>,
    name: Option<Datum>,
    level: Option<Box<str>>,
    times: Option<TxnTimes>,
}

fn session_number(json: &mut Json<'_>) -> Result<u64, Error> {
    let start = json.position();
    match json.number()? {
        Number::Int(number) if number >= 0 => Ok(number as u64),
        _ => Err(json.error_at(start, "the number of a session")),
    }
}

fn level(json: &mut Json<'_>) -> Result<Box<str>, Error> {
    Ok(json.string("the name of an isolation level")?.into())
}

fn outcome(json: &mut Json<'_>) -> Result<Outcome, Error> {
    let start = json.position();
    match &*json.string("an outcome: \"c\", \"a\" or \"u\"")? {
        "c" => Ok(Outcome::Committed),
        "a" => Ok(Outcome::Aborted),
        "u" => Ok(Outcome::Unknown),
        _ => Err(json.error_at(start, "an outcome: \"c\", \"a\" or \"u\"")),
    }
}

fn clock(json: &mut Json<'_>) -> Result<Clock, Error> {
    let start = json.position();
    match &*json.string("\"nanoseconds\" or \"position\"")? {
        "nanoseconds" => Ok(Clock::Nanoseconds),
        "position" => Ok(Clock::Position),
        _ => Err(json.error_at(start, "\"nanoseconds\" or \"position\"")),
    }
}

fn txn_times(json: &mut Json<'_>) -> Result<TxnTimes, Error> {
    let expected = "four times: request and response of begin and of commit, each null if not recorded";
    let [begin_request, begin_response, commit_request, commit_response] = json.times(expected)?;
    Ok(TxnTimes { begin_request, begin_response, commit_request, commit_response })
}

fn end_object(json: &mut Json<'_>) -> Result<(), Error> {
    json.expect(b'}', "`}` and the end of the line")
}

/// Where the last line begins, if it has no line break and is no whole value: the recorder did not finish it.
fn is_torn(block: Block<'_>) -> Option<usize> {
    if block.bytes.ends_with(b"\n") {
        return None;
    }
    let start = block.bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let tail = Block { bytes: &block.bytes[start..], ..block };
    let is_whole = Json::new(tail, tail.bytes.len()).is_ok_and(|mut json| {
        let is_value = json.skip_value(0).is_ok();
        json.skip_blanks();
        is_value && json.is_at_end()
    });
    (!is_whole && !tail.bytes.trim_ascii().is_empty()).then_some(start)
}

fn torn_line(line: u64) -> Warning {
    Warning::new(
        "torn-line",
        format!(
            "line {line}, the last one, is cut off and was left out: its transaction is not part of the history"
        ),
    )
}
