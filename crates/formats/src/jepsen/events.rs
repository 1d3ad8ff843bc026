//! The maps of a history, one after the other, from a window of the input.
//!
//! If the window ends inside a map it is doubled and the map scanned again, so the work stays linear.

use crate::edn::{Scanner, Stop, Syntax};
use crate::error::excerpt;
use crate::{Error, Place, Source};

use super::pairing::Pairing;
use super::plain_op::plain_vector;
use crate::source::line_breaks as count_lines;

/// What a map says happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Invoke,
    Ok,
    Fail,
    Info,
}

impl Kind {
    /// The word of the format.
    pub fn word(self) -> &'static [u8] {
        match self {
            Self::Invoke => b"invoke",
            Self::Ok => b"ok",
            Self::Fail => b"fail",
            Self::Info => b"info",
        }
    }
}

/// The process of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Process {
    /// A client.
    Client(i64),
    /// A process that is no client, such as the nemesis.
    Other,
    /// The map does not say.
    Missing,
}

/// One map.
#[derive(Clone, Copy)]
pub(super) struct Event<'w> {
    pub kind: Kind,
    pub process: Process,
    pub index: Option<i64>,
    /// Whether `:f` is `:init`, which gives the initial state.
    pub is_init: bool,
    /// The spelling of the process, for notes.
    pub process_text: &'w [u8],
    /// The spelling of `:f`, for notes.
    pub f: &'w [u8],
    /// The window, placed at the value.
    pub value: Option<Scanner<'w>>,
    /// Where the value ends.
    pub value_end: usize,
    /// The line at which the map begins.
    pub line: u64,
}

/// Reads all maps.
pub(super) fn read_all(source: &mut Source<'_>, syntax: Syntax, pairing: &mut Pairing) -> Result<(), Error> {
    const EVENTS_BETWEEN_CHECKS: u64 = 1 << 12;
    let mut place = Frame::default();
    let mut extra = String::new();
    let mut wanted = 1;
    let mut count = 0u64;
    loop {
        let window = source.peek(wanted)?;
        let is_last = window.len() < wanted;
        let step = place.next(window, syntax, is_last, pairing, &mut extra);
        match step {
            Ok(Advance::Passed(length)) => {
                place.lines += count_lines(&window[..length]);
                source.consume(length);
                wanted = 1;
            }
            Ok(Advance::End) => return Ok(()),
            Err(Failure::Stop(Stop::Incomplete)) if !is_last => wanted = (window.len() * 2).max(1 << 16),
            Err(failure) => {
                let error = place.error(window, failure);
                return Err(error.in_file(source.file()));
            }
        }
        count += 1;
        if count.is_multiple_of(EVENTS_BETWEEN_CHECKS) {
            source.check_memory(pairing.builder())?;
        }
    }
}

/// Why an event could not be taken.
pub(super) enum Failure {
    Stop(Stop),
    Error(Error),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

enum Advance {
    /// So many bytes are done with.
    Passed(usize),
    /// Nothing is left.
    End,
}

/// Where we are in the file.
#[derive(Default)]
struct Frame {
    /// The bracket that ends the vector or list of all maps, if there is one.
    closer: Option<u8>,
    has_begun: bool,
    has_ended: bool,
    /// Line breaks before the window.
    lines: u64,
}

impl Frame {
    fn next(
        &mut self,
        window: &[u8],
        syntax: Syntax,
        is_last: bool,
        pairing: &mut Pairing,
        extra: &mut String,
    ) -> Result<Advance, Failure> {
        let mut scanner = Scanner::new(window, syntax);
        match scanner.skip_blanks() {
            // A comment in the last line may end with the file.
            Err(Stop::Incomplete) if is_last && window[scanner.at..].starts_with(b";") => {
                scanner.at = window.len()
            }
            skipped => skipped?,
        }
        let Some(&byte) = window.get(scanner.at) else {
            return match is_last {
                true => self.end(&scanner),
                false if scanner.at > 0 => Ok(Advance::Passed(scanner.at)),
                false => Err(Stop::Incomplete.into()),
            };
        };
        if self.has_ended {
            return Err(scanner.bad("nothing after the end of the history").into());
        }
        match byte {
            b'[' | b'(' if !self.has_begun => {
                self.closer = Some(if byte == b'[' { b']' } else { b')' });
                scanner.at += 1;
            }
            closer if self.closer == Some(closer) => {
                self.has_ended = true;
                scanner.at += 1;
            }
            _ => {
                let line = self.lines + count_lines(&window[..scanner.at]) + 1;
                let event = event(&mut scanner, line, extra)?;
                pairing.event(&event, extra)?;
            }
        }
        self.has_begun = true;
        Ok(Advance::Passed(scanner.at))
    }

    fn end(&self, scanner: &Scanner<'_>) -> Result<Advance, Failure> {
        match self.closer.is_some() && !self.has_ended {
            true => Err(scanner.bad("the bracket that ends the history").into()),
            false => Ok(Advance::End),
        }
    }

    fn error(&self, window: &[u8], failure: Failure) -> Error {
        let (at, expected) = match failure {
            Failure::Error(error) => return error,
            Failure::Stop(Stop::Bad(at, expected)) => (at, expected),
            Failure::Stop(Stop::Incomplete) => (window.len(), "the rest of an operation"),
        };
        let line = self.lines + count_lines(&window[..at]) + 1;
        let rest = window[at..].split(|&byte| byte == b'\n').next().unwrap_or_default();
        let found = match window.len() == at {
            true => "the end of the file".into(),
            false => excerpt(rest),
        };
        // A line that began before the window gives no column.
        let line_break = window[..at].iter().rposition(|&byte| byte == b'\n');
        let place = line_break.map_or(Place::Line(line), |before| Place::Column(line, (at - before) as u64));
        Error::input("", place, expected, found).with_hint("docs/formats/jepsen.md says what is read")
    }
}

/// Reads one map; a tag before it, as Jepsen writes it, says nothing more. Members that the model has no place for are
/// added to `extra` as they are written.
fn event<'w>(scanner: &mut Scanner<'w>, line: u64, extra: &mut String) -> Result<Event<'w>, Stop> {
    extra.clear();
    if scanner.syntax == Syntax::Edn && scanner.peek()? == b'#' {
        scanner.at += 1;
        if scanner.peek()? != b'{' {
            scanner.token()?;
            scanner.skip_blanks()?;
        }
    }
    let start = scanner.at;
    if !scanner.eat(b'{')? {
        return Err(scanner.bad("a map: an operation of a Jepsen history"));
    }
    let mut kind = None;
    let mut event = Event {
        kind: Kind::Invoke,
        process: Process::Missing,
        index: None,
        is_init: false,
        process_text: b"",
        f: b"",
        value: None,
        value_end: 0,
        line,
    };
    loop {
        scanner.skip_blanks()?;
        if scanner.eat(b'}')? {
            break;
        }
        let name = name(scanner)?;
        scanner.skip_blanks()?;
        let start = scanner.at;
        member(scanner, name, &mut event, &mut kind)?;
        let spelling = &scanner.bytes[start..scanner.at];
        match name {
            b"process" => event.process_text = spelling,
            b"f" => event.f = spelling,
            b"type" | b"value" | b"index" | b"time" | b"" => {}
            _ => add_extra(extra, name, spelling),
        }
    }
    event.kind = kind.ok_or(Stop::Bad(start, "an operation with a :type"))?;
    Ok(event)
}

/// More bytes than this of one member, and of all members of a map, are not kept.
const MOST_EXTRA: usize = 2_000;

/// Notes a member by its name and its spelling; what is too long ends with dots.
fn add_extra(extra: &mut String, name: &[u8], spelling: &[u8]) {
    if extra.len() >= MOST_EXTRA {
        return;
    }
    if !extra.is_empty() {
        extra.push_str(", ");
    }
    let shown = &spelling[..spelling.len().min(MOST_EXTRA)];
    extra.push_str(&String::from_utf8_lossy(name));
    extra.push(' ');
    extra.push_str(String::from_utf8_lossy(shown).trim_end());
    if shown.len() < spelling.len() {
        extra.push_str("...");
    }
}

/// The name of a member: a keyword in EDN, a string in JSON. Anything else names nothing that matters.
fn name<'w>(scanner: &mut Scanner<'w>) -> Result<&'w [u8], Stop> {
    match scanner.peek()? {
        b':' => Ok(&scanner.token()?[1..]),
        b'"' => scanner.raw_string(),
        b'}' | b']' | b')' => Err(scanner.bad("the key of a map")),
        _ => scanner.skip_form().map(|()| &b""[..]),
    }
}

fn member<'w>(
    scanner: &mut Scanner<'w>,
    name: &[u8],
    event: &mut Event<'w>,
    kind: &mut Option<Kind>,
) -> Result<(), Stop> {
    match name {
        b"type" if kind.is_none() => *kind = Some(event_kind(scanner)?),
        b"process" if event.process == Process::Missing => event.process = process(scanner)?,
        b"value" if event.value.is_none() => {
            event.value = Some(*scanner);
            match plain_vector(scanner) {
                Some(length) => scanner.at += length,
                None => scanner.skip_form()?,
            }
            event.value_end = scanner.at;
        }
        b"type" | b"process" | b"value" => return Err(scanner.bad("each key once")),
        b"index" => event.index = index(scanner)?,
        b"f" => event.is_init = word(scanner)? == Some(b"init"),
        _ => scanner.skip_form()?,
    }
    Ok(())
}

/// A keyword or a string, or `None` for something else, which is passed.
fn word<'w>(scanner: &mut Scanner<'w>) -> Result<Option<&'w [u8]>, Stop> {
    match scanner.peek()? {
        b':' => Ok(Some(&scanner.token()?[1..])),
        b'"' => scanner.raw_string().map(Some),
        _ => scanner.skip_form().map(|()| None),
    }
}

fn event_kind(scanner: &mut Scanner<'_>) -> Result<Kind, Stop> {
    let start = scanner.at;
    match word(scanner)? {
        Some(b"invoke") => Ok(Kind::Invoke),
        Some(b"ok") => Ok(Kind::Ok),
        Some(b"fail") => Ok(Kind::Fail),
        Some(b"info") => Ok(Kind::Info),
        _ => Err(Stop::Bad(start, ":invoke, :ok, :fail or :info")),
    }
}

fn process(scanner: &mut Scanner<'_>) -> Result<Process, Stop> {
    Ok(match integer(scanner)? {
        Some(number) => Process::Client(number),
        None => Process::Other,
    })
}

fn index(scanner: &mut Scanner<'_>) -> Result<Option<i64>, Stop> {
    let start = scanner.at;
    match integer(scanner)? {
        Some(index) => Ok(Some(index)),
        None if scanner.bytes[start..scanner.at] == *b"nil"
            || scanner.bytes[start..scanner.at] == *b"null" =>
        {
            Ok(None)
        }
        None => Err(Stop::Bad(start, "an integer")),
    }
}

/// An integer, or `None` for something else, which is passed.
fn integer(scanner: &mut Scanner<'_>) -> Result<Option<i64>, Stop> {
    if let Some(int) = scanner.small_int() {
        return Ok(Some(int));
    }
    let start = scanner.at;
    scanner.skip_form()?;
    let text = std::str::from_utf8(&scanner.bytes[start..scanner.at]);
    Ok(text.ok().and_then(|text| text.parse().ok()))
}
