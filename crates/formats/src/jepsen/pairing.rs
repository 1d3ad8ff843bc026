//! Invocations and completions to transactions and sessions.
//!
//! An invocation pairs with the next completion of its process. `:ok` committed, `:fail` did not happen, `:info` may
//! have; a process is over after `:info`, and if its number is used again that is another session. A process that has
//! several invocations open completes the oldest one with the same operations, and its transactions are sessions of
//! their own from then on.

use std::collections::{BTreeMap, VecDeque};

use history::{Builder, Clock, Datum, History, Note, Outcome, SessionId, TxnTimes};
use rustc_hash::FxHashMap;

use super::events::{Event, Failure, Kind, Process};
use super::micro_ops::{KeyKinds, MicroOps, count};
use super::same_ops::{Difference, difference};
use crate::edn::{Scanner, Stop, Syntax};
use crate::error::excerpt;
use crate::{Error, Place, Warning};

/// An invocation without its completion, so far.
struct Pending {
    position: i64,
    index: Option<i64>,
    line: u64,
    is_init: bool,
    /// The bytes of the value, with blanks behind it, so that eight bytes can be taken at a time.
    value: Vec<u8>,
    /// Members of the map that the model has no place for.
    extra: String,
}

/// A client.
#[derive(Default)]
struct JepsenProcess {
    session: Option<SessionId>,
    /// Oldest first; more than one only if it invoked something before what it had invoked was completed.
    pending: VecDeque<Pending>,
    /// Whether that happened: from then on each of its transactions is a session of its own, since they have no order.
    has_overlapped: bool,
}

/// How many invocations of one process wait for their completions; of more the oldest is of unknown outcome.
const MOST_PENDING: usize = 64;

/// The history in the making.
pub(super) struct Pairing {
    builder: Builder,
    kinds: KeyKinds,
    syntax: Syntax,
    clients: FxHashMap<i64, JepsenProcess>,
    /// The client of maps without a process; each of its transactions is a session of its own.
    no_process: JepsenProcess,
    has_processes: Option<bool>,
    indices: Indices,
    /// How many maps came before.
    position: i64,
    /// Maps without a process among others that have one.
    left_out: u64,
    /// Invocations after which their process invoked something else.
    overlapping: u64,
    has_initial: bool,
    has_invocations: bool,
}

impl Pairing {
    pub fn new(syntax: Syntax) -> Self {
        let mut builder = Builder::new();
        builder.clock = Clock::Position;
        Self {
            builder,
            kinds: KeyKinds::default(),
            syntax,
            clients: FxHashMap::default(),
            no_process: JepsenProcess::default(),
            has_processes: None,
            indices: Indices::default(),
            position: 0,
            left_out: 0,
            overlapping: 0,
            has_initial: false,
            has_invocations: false,
        }
    }

    /// What was read so far.
    pub fn builder(&self) -> &Builder {
        &self.builder
    }

    /// Takes the next map.
    pub fn event(&mut self, event: &Event<'_>, extra: &str) -> Result<(), Failure> {
        self.indices.add(event)?;
        let has_process = event.process != Process::Missing;
        let has_processes = *self.has_processes.get_or_insert(has_process);
        let number = match event.process {
            Process::Client(number) if has_processes => Some(number),
            Process::Missing if !has_processes => None,
            Process::Other if has_processes => {
                self.note(event, extra);
                self.position += 1;
                return Ok(());
            }
            Process::Missing if has_processes => {
                self.left_out += 1;
                self.position += 1;
                return Ok(());
            }
            _ => return Err(mixed_processes(event)),
        };
        let client = match number {
            Some(number) => self.clients.entry(number).or_default(),
            None => &mut self.no_process,
        };
        let client = std::mem::take(client);
        let client = self.client_event(client, number, event, extra)?;
        match number {
            Some(number) => *self.clients.entry(number).or_default() = client,
            None => self.no_process = client,
        }
        self.position += 1;
        Ok(())
    }

    /// Keeps what a process that is no client did, such as the nemesis, as a note.
    fn note(&mut self, event: &Event<'_>, extra: &str) {
        let value = event.value.map_or(&b""[..], |scanner| &scanner.bytes[scanner.at..event.value_end]);
        let words = [event.process_text, event.kind.word(), event.f, value, extra.as_bytes()];
        let words = words.map(|word| String::from_utf8_lossy(word.trim_ascii()).into_owned());
        let text = words.into_iter().filter(|word| !word.is_empty() && word != "nil");
        let text = text.collect::<Vec<_>>().join(" ");
        self.builder.notes.push(Note { time: self.position, text });
    }

    fn client_event(
        &mut self,
        mut client: JepsenProcess,
        number: Option<i64>,
        event: &Event<'_>,
        extra: &str,
    ) -> Result<JepsenProcess, Failure> {
        if event.kind == Kind::Invoke {
            if !client.pending.is_empty() {
                client.has_overlapped = true;
                client.session = None;
                self.overlapping += 1;
            }
            if client.pending.len() >= MOST_PENDING
                && let Some(oldest) = client.pending.pop_front()
            {
                self.unfinished(&mut client, number, oldest)?;
            }
            client.pending.push_back(self.pending(event, extra));
            return Ok(client);
        }
        let invoked = self.invocation_of(&mut client, event);
        self.completion(&mut client, number, event, invoked, extra)?;
        Ok(client)
    }

    /// The invocation that a completion belongs to: of several the oldest one with the same operations.
    fn invocation_of(&self, client: &mut JepsenProcess, event: &Event<'_>) -> Option<Pending> {
        if !client.has_overlapped {
            return client.pending.pop_front();
        }
        let is_completed = |pending: &Pending| {
            let asked = Scanner::new(&pending.value, self.syntax);
            event.value.is_some_and(|done| matches!(difference(asked, done), Ok(None)))
        };
        let place = client.pending.iter().position(is_completed);
        match place.or((client.pending.len() == 1).then_some(0)) {
            Some(place) => client.pending.remove(place),
            None => None,
        }
    }

    fn pending(&mut self, event: &Event<'_>, extra: &str) -> Pending {
        self.has_invocations |= !event.is_init;
        let mut value = match event.value {
            Some(scanner) => scanner.bytes[scanner.at..event.value_end].to_vec(),
            None => b"nil".to_vec(),
        };
        value.extend([b' '; 8]);
        Pending {
            position: self.position,
            index: event.index,
            line: event.line,
            is_init: event.is_init,
            value,
            extra: extra.to_owned(),
        }
    }

    fn completion(
        &mut self,
        client: &mut JepsenProcess,
        number: Option<i64>,
        event: &Event<'_>,
        invoked: Option<Pending>,
        extra: &str,
    ) -> Result<(), Failure> {
        if event.is_init && self.initial_state(event, invoked.as_ref())? {
            return Ok(());
        }
        let outcome = match event.kind {
            Kind::Ok => Outcome::Committed,
            Kind::Fail => Outcome::Aborted,
            Kind::Info | Kind::Invoke => Outcome::Unknown,
        };
        self.begin(client, number, event.index.unwrap_or(self.position));
        self.note_txn(invoked.as_ref().map_or("", |invoked| &invoked.extra), extra);
        match invoked.as_ref() {
            // A client that failed may return something else than its transaction, or only a part of it.
            Some(invoked) if outcome != Outcome::Committed && self.is_short_of(invoked, event) => {
                self.invoked_ops(invoked)?;
            }
            Some(invoked) if outcome == Outcome::Committed && !client.has_overlapped => {
                self.completed_ops(event, outcome)?;
                self.refuse_other_ops(invoked, event)?;
            }
            _ => self.completed_ops(event, outcome)?,
        }
        self.set_times(TxnTimes {
            begin_request: invoked.map(|invoked| invoked.position),
            commit_response: (outcome != Outcome::Unknown).then_some(self.position),
            ..TxnTimes::default()
        });
        self.end(client, outcome);
        Ok(())
    }

    /// An invocation without a completion: it may have happened.
    fn unfinished(
        &mut self,
        client: &mut JepsenProcess,
        number: Option<i64>,
        invoked: Pending,
    ) -> Result<(), Error> {
        if invoked.is_init {
            return Err(Error::input(
                "",
                Place::Line(invoked.line),
                "an initial state that was completed",
                "only its invocation",
            ));
        }
        self.begin(client, number, invoked.index.unwrap_or(invoked.position));
        self.note_txn(&invoked.extra, "");
        self.invoked_ops(&invoked)?;
        self.set_times(TxnTimes::span(invoked.position, None));
        self.end(client, Outcome::Unknown);
        Ok(())
    }

    fn set_times(&mut self, times: TxnTimes) {
        self.builder
            .set_times(times)
            .expect("places in a file ascend, and a process does one thing at a time");
    }

    fn begin(&mut self, client: &mut JepsenProcess, number: Option<i64>, index: i64) {
        let builder = &mut self.builder;
        let session = *client.session.get_or_insert_with(|| match number {
            Some(number) => builder.named_session(Datum::Int(number)),
            None => builder.session(),
        });
        builder.begin(session);
        builder.name_txn(Datum::Int(index));
    }

    /// Keeps what the invocation and the completion say beside the model; what both say is kept once.
    fn note_txn(&mut self, invoked: &str, completed: &str) {
        match (invoked.is_empty(), completed.is_empty()) {
            (true, true) => {}
            (true, false) => self.builder.note_txn(completed),
            (false, _) if completed.is_empty() || completed.starts_with(invoked) => {
                let longer = if completed.is_empty() { invoked } else { completed };
                self.builder.note_txn(longer);
            }
            (false, _) => self.builder.note_txn(&format!("{invoked}; {completed}")),
        }
    }

    fn end(&mut self, client: &mut JepsenProcess, outcome: Outcome) {
        self.builder.end(outcome);
        if outcome == Outcome::Unknown || self.has_processes == Some(false) || client.has_overlapped {
            client.session = None;
        }
    }

    /// Whether a completion has no operations, or fewer than its invocation.
    fn is_short_of(&self, invoked: &Pending, event: &Event<'_>) -> bool {
        let expected = count(Scanner::new(&invoked.value, self.syntax));
        match event.value.and_then(count) {
            None => true,
            Some(found) => expected.is_some_and(|expected| found < expected),
        }
    }

    fn completed_ops(&mut self, event: &Event<'_>, outcome: Outcome) -> Result<(), Failure> {
        let Some(scanner) = event.value else {
            return Err(
                Error::input("", Place::Line(event.line), "an operation with a :value", "none").into()
            );
        };
        self.micro_ops(scanner, outcome == Outcome::Committed)?;
        Ok(())
    }

    /// An `:ok` must complete the micro-operations that were invoked; an invocation without a value says nothing.
    fn refuse_other_ops(&self, invoked: &Pending, event: &Event<'_>) -> Result<(), Error> {
        let (Some(completed), false) = (event.value, invoked.value.starts_with(b"n")) else { return Ok(()) };
        let asked = Scanner::new(&invoked.value, self.syntax);
        let difference = difference(asked, completed).map_err(|_| {
            let expected = "an invocation with a vector of micro-operations";
            Error::input("", Place::Line(invoked.line), expected, excerpt(invoked.value.trim_ascii_end()))
        })?;
        match difference {
            None => Ok(()),
            Some(Difference { expected, found }) => {
                let hint = format!(
                    "its invocation is in line {}; the recording was changed, or two processes have one number",
                    invoked.line
                );
                Err(Error::input("", Place::Line(event.line), expected, found).with_hint(hint))
            }
        }
    }

    fn invoked_ops(&mut self, invoked: &Pending) -> Result<(), Error> {
        let scanner = Scanner::new(&invoked.value, self.syntax);
        self.micro_ops(scanner, false).map_err(|stop| {
            let (at, expected) = match stop {
                Stop::Bad(at, expected) => (at, expected),
                Stop::Incomplete => (0, "a vector of micro-operations"),
            };
            let found = excerpt(invoked.value[at..].trim_ascii_end());
            Error::input("", Place::Line(invoked.line), expected, found)
        })
    }

    fn micro_ops(&mut self, scanner: Scanner<'_>, is_ok: bool) -> Result<(), Stop> {
        MicroOps { scanner, builder: &mut self.builder, kinds: &mut self.kinds, is_ok }.all()
    }

    /// Takes a map of initial values; false if it is a transaction like any other.
    fn initial_state(&mut self, event: &Event<'_>, invoked: Option<&Pending>) -> Result<bool, Failure> {
        let is_map = event.value.is_some_and(|value| value.peek() == Ok(b'{'));
        if !is_map {
            return Ok(false);
        }
        let others = || self.clients.values().any(|client| !client.pending.is_empty());
        let is_first = self.builder.txn_count() == 0 && !self.has_initial && !others();
        self.has_initial = true;
        let (Kind::Ok, true, Some(mut scanner)) = (event.kind, is_first, event.value) else {
            let line = invoked.map_or(event.line, |invoked| invoked.line);
            let expected = "one initial state that was there before the first transaction";
            return Err(Error::input("", Place::Line(line), expected, "an :init of another sort").into());
        };
        let start = scanner.at;
        let Datum::Row(columns) = scanner.datum()? else {
            return Err(Stop::Bad(start, "a map of keys and values").into());
        };
        for (key, value) in columns {
            let key = match key {
                Datum::Str(text) if self.syntax == Syntax::Json => {
                    Datum::int_from_decimal(&text).unwrap_or(Datum::Str(text))
                }
                other => other,
            };
            let key = self.builder.keys.intern(key);
            let value = self.builder.values.intern(value);
            self.builder.initial.recorded.push((key, value));
        }
        Ok(true)
    }

    /// The history, once all maps were taken.
    pub fn finish(mut self) -> Result<(History, Vec<Warning>), Error> {
        let mut rest: Vec<_> = std::mem::take(&mut self.clients)
            .into_iter()
            .map(|(number, client)| (Some(number), client))
            .collect();
        rest.push((None, std::mem::take(&mut self.no_process)));
        rest.sort_by_key(|(_, client)| client.pending.front().map(|pending| pending.position));
        for (number, mut client) in rest {
            while let Some(invoked) = client.pending.pop_front() {
                self.unfinished(&mut client, number, invoked)?;
            }
        }
        self.kinds.settle(&mut self.builder);
        // Without a single invocation nothing is known to have begun after something else ended.
        if !self.has_invocations {
            self.builder.forget_times();
        }
        let mut warnings = warnings(self.left_out, self.has_processes == Some(false));
        if self.overlapping > 0 {
            let sentence = format!(
                "{} times a process invoked a transaction before its earlier one was completed; completions were paired \
                 with the oldest invocation of the same operations, and its transactions are not ordered by the session",
                self.overlapping
            );
            warnings.push(Warning::new("overlapping-invocations", sentence));
        }
        Ok((self.builder.finish(), warnings))
    }
}

fn warnings(left_out: u64, lacks_processes: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if left_out > 0 {
        let operations = if left_out == 1 { "operation" } else { "operations" };
        let sentence = format!("left out {left_out} {operations} without a process");
        warnings.push(Warning::new("not-a-client", sentence));
    }
    if lacks_processes {
        let sentence = "no operation has a process, so every transaction was taken as a session of its own";
        warnings.push(Warning::new("no-processes", sentence));
    }
    warnings
}

fn mixed_processes(event: &Event<'_>) -> Failure {
    let place = Place::Line(event.line);
    Error::input("", place, "a process in every operation or in none", "one of the second kind").into()
}

/// The indices seen, as ranges: in a recording they follow each other, so there is one.
#[derive(Default)]
struct Indices {
    /// From the first of a range to its last.
    ranges: BTreeMap<i64, i64>,
    is_numbered: Option<bool>,
    last: Option<(i64, i64)>,
}

impl Indices {
    fn add(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        let is_numbered = *self.is_numbered.get_or_insert(event.index.is_some());
        if !is_numbered {
            return Ok(());
        }
        let line = Place::Line(event.line);
        let Some(index) = event.index else {
            return Err(
                Error::input("", line, "an operation with an :index, as the first has", "none").into()
            );
        };
        match self.insert(index) {
            true => Ok(()),
            false => {
                let found = format!("{index} a second time");
                Err(Error::input("", line, "an :index that no other operation has", found).into())
            }
        }
    }

    /// Adds an index; false if it was there.
    fn insert(&mut self, index: i64) -> bool {
        if let Some((_, last)) = &mut self.last
            && index.checked_sub(1) == Some(*last)
            && !self.ranges.contains_key(&index)
        {
            *last = index;
            return true;
        }
        if let Some((first, last)) = self.last.take() {
            self.ranges.insert(first, last);
        }
        let before = self.ranges.range(..=index).next_back();
        if before.is_some_and(|(_, &last)| last >= index) {
            return false;
        }
        self.last = Some((index, index));
        true
    }
}
