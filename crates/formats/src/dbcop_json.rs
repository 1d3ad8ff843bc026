//! dbcop 0.2 JSON: an object with the sessions under `data`, or the bare array of sessions.
//!
//! A transaction is `{"events": [...], "committed": true}`, and an event `{"Read": {"variable": 1, "version": 2}}` or
//! `["r", 1, 2]`. A version that is null is the initial one; a variable starts with 0 unless a transaction writes 0 to it.
//! Events are pulled from the source one at a time, so a long file needs no tree.

use history::{Builder, Datum, Outcome, SessionId};

use crate::error::Error;
use crate::scan::Json;
use crate::zero_implied::ZeroImplied;
use crate::{Format, Loaded, ReadOptions, Source};

/// Whether the input begins like the wrapper, or like an array of arrays of objects with events.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let dense: Vec<u8> = head.iter().filter(|byte| !byte.is_ascii_whitespace()).take(200).copied().collect();
    let dense = dense.as_slice();
    let wrapper = [&b"{\"params\":{"[..], b"{\"data\":[["];
    let bare = [&b"[[{\"events\":["[..], b"[[{\"committed\":"];
    let is_start = |start: &&[u8]| dense.starts_with(start);
    wrapper.iter().any(is_start) || bare.iter().any(is_start)
}

/// Reads a whole history.
pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    let mut reader =
        Reader { json: Json::new(source), builder: Builder::new(), zero: ZeroImplied::default() };
    match reader.json.peek()? {
        Some(b'[') => reader.sessions()?,
        _ => reader.wrapper()?,
    }
    if reader.json.peek()?.is_some() {
        return Err(reader.json.error("the end of the file"));
    }
    Ok(Loaded::new(reader.zero.finish(reader.builder), Format::DbcopJson))
}

struct Reader<'s, 'a> {
    json: Json<'s, 'a>,
    builder: Builder,
    zero: ZeroImplied,
}

impl Reader<'_, '_> {
    fn wrapper(&mut self) -> Result<(), Error> {
        self.json.expect(b'{', "`{` or `[`")?;
        let mut has_data = false;
        loop {
            let is_data = self.field("data")?;
            match (is_data, has_data) {
                (true, false) => self.sessions()?,
                (true, true) => return Err(self.json.error("`data` only once")),
                (false, _) => self.json.skip()?,
            }
            has_data |= is_data;
            if !self.json.more(b'}', "`,` or `}` after a field")? {
                break;
            }
        }
        match has_data {
            true => Ok(()),
            false => Err(self.json.error("a field `data` with the sessions")),
        }
    }

    /// Takes the name of a field; whether it is this one.
    fn field(&mut self, name: &str) -> Result<bool, Error> {
        let is_same = self.json.string("the name of a field")? == name;
        self.json.expect(b':', "`:` after the name of a field")?;
        Ok(is_same)
    }

    fn sessions(&mut self) -> Result<(), Error> {
        self.elements("an array of sessions", |reader| {
            let session = reader.builder.session();
            reader.elements("an array of transactions", |reader| reader.txn(session))
        })
    }

    fn elements(
        &mut self,
        expected: &str,
        mut element: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.json.expect(b'[', expected)?;
        if self.json.take(b']')? {
            return Ok(());
        }
        loop {
            element(self)?;
            if !self.json.more(b']', "`,` or `]`")? {
                return Ok(());
            }
        }
    }

    fn txn(&mut self, session: SessionId) -> Result<(), Error> {
        self.json.expect(b'{', "a transaction: `{`")?;
        self.builder.begin(session);
        let mut has_events = false;
        let mut is_committed = None;
        loop {
            let name = self.json.string("the name of a field")?;
            let (is_events, is_outcome) = (name == "events", name == "committed");
            self.json.expect(b':', "`:` after the name of a field")?;
            match (is_events, is_outcome) {
                (true, _) if !has_events => {
                    has_events = true;
                    self.elements("an array of events", Self::event)?;
                }
                (_, true) if is_committed.is_none() => is_committed = Some(self.json.bool("true or false")?),
                (false, false) => self.json.skip()?,
                _ => return Err(self.json.error("each field only once")),
            }
            if !self.json.more(b'}', "`,` or `}` after a field")? {
                break;
            }
        }
        self.end_txn(has_events, is_committed)
    }

    fn end_txn(&mut self, has_events: bool, is_committed: Option<bool>) -> Result<(), Error> {
        let outcome = match (has_events, is_committed) {
            (true, Some(true)) => Outcome::Committed,
            (true, Some(false)) => Outcome::Aborted,
            _ => return Err(self.json.error("the fields `events` and `committed` before this")),
        };
        self.builder.end(outcome);
        self.json.source.check_memory(&self.builder)
    }

    fn event(&mut self) -> Result<(), Error> {
        const EXPECTED: &str = "an event: `{\"Read\": ..}`, `{\"Write\": ..}` or `[\"r\" or \"w\", ..]`";
        match self.json.peek()? {
            Some(b'[') => self.compact_event(EXPECTED),
            Some(b'{') => self.tagged_event(EXPECTED),
            _ => Err(self.json.error(EXPECTED)),
        }
    }

    fn compact_event(&mut self, expected: &str) -> Result<(), Error> {
        self.json.expect(b'[', expected)?;
        let kind = self.json.string(expected)?;
        let kind = match kind {
            "r" => Some(false),
            "w" => Some(true),
            _ => None,
        };
        let is_write = kind.ok_or_else(|| self.json.error("`r` or `w` before this"))?;
        self.json.expect(b',', "`,` after the kind")?;
        let variable = self.json.unsigned("a variable: an unsigned number")?;
        self.json.expect(b',', "`,` after the variable")?;
        let version = self.version()?;
        self.json.expect(b']', "`]` after the version")?;
        self.add(is_write, variable, version)
    }

    fn tagged_event(&mut self, expected: &str) -> Result<(), Error> {
        self.json.expect(b'{', expected)?;
        let kind = match self.json.string(expected)? {
            "Read" => Some(false),
            "Write" => Some(true),
            _ => None,
        };
        let is_write = kind.ok_or_else(|| self.json.error("`Read` or `Write` before this"))?;
        self.json.expect(b':', "`:` after the kind")?;
        self.json.expect(b'{', "`{` after the kind")?;
        let (mut variable, mut version) = (None, None);
        loop {
            match self.field("variable")? {
                true if variable.is_none() => {
                    variable = Some(self.json.unsigned("a variable: an unsigned number")?)
                }
                false if version.is_none() => version = Some(self.version()?),
                _ => return Err(self.json.error("`variable` and `version`, each once")),
            }
            if !self.json.more(b'}', "`,` or `}` after a field")? {
                break;
            }
        }
        self.json.expect(b'}', "`}` after an event")?;
        match (variable, version) {
            (Some(variable), Some(version)) => self.add(is_write, variable, version),
            _ => Err(self.json.error("the fields `variable` and `version` before this")),
        }
    }

    /// A version; `None` for null, the initial one.
    fn version(&mut self) -> Result<Option<u64>, Error> {
        const EXPECTED: &str = "a version: an unsigned number or null";
        match self.json.null(EXPECTED)? {
            true => Ok(None),
            false => self.json.unsigned(EXPECTED).map(Some),
        }
    }

    fn add(&mut self, is_write: bool, variable: u64, version: Option<u64>) -> Result<(), Error> {
        let builder = &mut self.builder;
        let key = match i64::try_from(variable) {
            Ok(int) => builder.keys.intern_int(int),
            Err(_) => builder.keys.intern(Datum::uint(variable)),
        };
        let value = version.map(|version| match i64::try_from(version) {
            Ok(int) => builder.values.intern_int(int),
            Err(_) => builder.values.intern(Datum::uint(version)),
        });
        match (is_write, value) {
            (true, None) => return Err(self.json.error("a write with a version before this")),
            (false, None) => self.zero.read_initial(builder, key),
            (true, Some(value)) => self.zero.write(builder, key, value),
            (false, Some(value)) => _ = builder.read(key, value),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::{History, Summary};

    fn read_text(text: &str) -> Result<History, Error> {
        let options = ReadOptions::default();
        let mut source = Source::new("t", text.as_bytes(), &options);
        read(&mut source, &options).map(|loaded| loaded.history)
    }

    #[test]
    fn both_spellings_of_events_mean_the_same() {
        let tagged = r#"[[{"events": [{"Write": {"variable": 1, "version": 2}}, {"Read": {"version": null, "variable": 3}}], "committed": true}], []]"#;
        let compact = r#"{"params": {"id": 0}, "info": "", "data": [[{"committed": true, "events": [["w", 1, 2], ["r", 3, null]]}], []]}"#;
        let print = |text| format!("{:?}", read_text(text).unwrap());
        assert_eq!(print(tagged), print(compact));
        let summary = Summary::of(&read_text(tagged).unwrap());
        assert_eq!((summary.sessions, summary.committed, summary.operations), (2, 1, 2));
    }

    #[test]
    fn what_is_no_history_is_refused_with_its_place() {
        let refusal = |text| read_text(text).unwrap_err().to_string();
        assert_eq!(
            refusal("{\"params\": {}}"),
            "t:1:15: expected a field `data` with the sessions, found the end of the file"
        );
        assert_eq!(
            refusal("[[{\"events\": [[\"w\", 1, null]]"),
            "t:1:29: expected a write with a version before this, found `]`"
        );
        assert!(refusal("[[{\"events\": []}]]").contains("`events` and `committed`"));
        assert_eq!(refusal("[] x"), "t:1:4: expected the end of the file, found `x`");
    }
}
