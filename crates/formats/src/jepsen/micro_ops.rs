//! The micro-operations of a transaction into the model.
//!
//! `nil` read from a list and `nil` read from a register look alike, and so do reads whose answer is unknown; what a
//! key holds is known once an operation appends to it, writes it, or reads something from it. Reads that come before are
//! noted and settled at the end.

use history::{Builder, Datum, KeyId, OpId, PredicateRead, Row, ValueId};

use super::plain_op::{PlainValue, PlainWord, plain_elements, plain_op};
use crate::edn::{Scanner, Stop, Syntax};
use crate::key_cache::KeyCache;

const MICRO_OP: &str = "a micro-operation: [:r k v], [:w k v], [:append k v], [:insert k v], [:delete k] or [:rp predicate rows]";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    Register,
    List,
}

/// What is known of the keys so far.
#[derive(Default)]
pub(super) struct KeyKinds {
    kinds: Vec<Option<Holds>>,
    unsettled: Vec<(KeyId, OpId)>,
    elements: Vec<ValueId>,
    cache: KeyCache,
}

impl KeyKinds {
    fn of(&self, key: KeyId) -> Holds {
        self.kinds.get(key.index()).copied().flatten().unwrap_or(Holds::Nothing)
    }

    /// A list stays a list: a scalar read from one is for the checker to wonder about.
    fn note(&mut self, key: KeyId, holds: Holds) {
        if self.kinds.len() <= key.index() {
            self.kinds.resize(key.index() + 1, None);
        }
        let known = &mut self.kinds[key.index()];
        if *known != Some(Holds::List) {
            *known = Some(holds);
        }
    }

    /// Settles the reads of keys about which something was learned later; those about which nothing was learned are
    /// what the others are.
    pub fn settle(mut self, builder: &mut Builder) {
        let has = |wanted| self.kinds.contains(&Some(wanted));
        let rest = if has(Holds::List) && !has(Holds::Register) { Holds::List } else { Holds::Register };
        for (key, op) in std::mem::take(&mut self.unsettled) {
            let holds = match self.of(key) {
                Holds::Nothing => rest,
                known => known,
            };
            if holds == Holds::List {
                builder.make_list_read(op);
            }
        }
    }
}

/// How many micro-operations a value has, without reading them; `None` if it is no vector or list.
pub(super) fn count(mut scanner: Scanner<'_>) -> Option<usize> {
    let closer = match scanner.peek().ok()? {
        b'[' => b']',
        b'(' => b')',
        _ => return None,
    };
    scanner.at += 1;
    let mut count = 0;
    loop {
        scanner.skip_blanks().ok()?;
        if scanner.eat(closer).ok()? {
            return Some(count);
        }
        scanner.skip_form().ok()?;
        count += 1;
    }
}

/// Reads the micro-operations of one transaction.
pub(super) struct MicroOps<'r, 'w> {
    pub scanner: Scanner<'w>,
    pub builder: &'r mut Builder,
    pub kinds: &'r mut KeyKinds,
    /// Whether the client knows what it read: `nil` is an answer then.
    pub is_ok: bool,
}

impl MicroOps<'_, '_> {
    /// Reads the vector or list of them into the open transaction.
    pub fn all(&mut self) -> Result<(), Stop> {
        let closer = self.open("a vector of micro-operations such as [[:r 1 nil] [:w 2 3]]")?;
        loop {
            self.scanner.skip_blanks()?;
            if self.scanner.eat(closer)? {
                return Ok(());
            }
            self.one()?;
        }
    }

    fn open(&mut self, expected: &'static str) -> Result<u8, Stop> {
        let closer = match self.scanner.peek()? {
            b'[' => b']',
            b'(' => b')',
            _ => return Err(self.scanner.bad(expected)),
        };
        self.scanner.at += 1;
        self.scanner.skip_blanks()?;
        Ok(closer)
    }

    /// Reads a micro-operation as nearly all are; says whether it was one.
    #[inline]
    fn plain(&mut self) -> bool {
        if self.scanner.syntax != Syntax::Edn {
            return false;
        }
        let text = &self.scanner.bytes[self.scanner.at..];
        let Some((op, length)) = plain_op(text) else { return false };
        if let PlainValue::List { start, length } = op.value {
            let elements = &mut self.kinds.elements;
            elements.clear();
            let values = &mut self.builder.values;
            if plain_elements(text, start, length, |int| elements.push(values.intern_int(int))).is_none() {
                return false;
            }
        }
        self.scanner.at += length;
        let key = self.builder.keys.intern_int(op.key);
        let value = match op.value {
            PlainValue::Int(int) => self.builder.values.intern_int(int),
            PlainValue::Nil | PlainValue::List { .. } => ValueId::NIL,
        };
        match (op.word, op.value) {
            (PlainWord::Write, _) => {
                self.kinds.note(key, Holds::Register);
                self.builder.write(key, value);
            }
            (PlainWord::Append, _) => {
                self.kinds.note(key, Holds::List);
                self.builder.append(key, value);
            }
            (PlainWord::Read, PlainValue::List { .. }) => {
                self.kinds.note(key, Holds::List);
                self.builder.read_list(key, &self.kinds.elements);
            }
            (PlainWord::Read, _) => self.read_value(key, value),
        }
        true
    }

    fn one(&mut self) -> Result<(), Stop> {
        if self.plain() {
            return Ok(());
        }
        let start = self.scanner.at;
        let closer = self.open(MICRO_OP)?;
        let word = match self.scanner.peek()? {
            b':' => &self.scanner.token()?[1..],
            b'"' => self.scanner.raw_string()?,
            _ => return Err(Stop::Bad(start, MICRO_OP)),
        };
        self.scanner.skip_blanks()?;
        match word {
            b"r" => self.read(closer)?,
            b"w" => {
                let (key, value) = (self.key()?, self.written(closer)?);
                self.kinds.note(key, Holds::Register);
                self.builder.write(key, value);
            }
            b"append" => {
                let (key, value) = (self.key()?, self.written(closer)?);
                self.kinds.note(key, Holds::List);
                self.builder.append(key, value);
            }
            b"insert" => {
                let (key, value) = (self.key()?, self.written(closer)?);
                self.kinds.note(key, Holds::Register);
                self.builder.insert(key, value);
            }
            b"delete" => {
                let (key, value) = (self.key()?, self.value(closer)?);
                self.kinds.note(key, Holds::Register);
                self.builder.delete(key, Some(value).filter(|&mark| mark != ValueId::NIL));
            }
            b"rp" => self.predicate_read(closer)?,
            _ => return Err(Stop::Bad(start, MICRO_OP)),
        }
        self.scanner.skip_blanks()?;
        match self.scanner.eat(closer)? {
            true => Ok(()),
            false => Err(self.scanner.bad("the end of the micro-operation")),
        }
    }

    #[inline]
    fn key(&mut self) -> Result<KeyId, Stop> {
        let key = match self.scanner.small_int() {
            Some(int) => self.builder.keys.intern_int(int),
            None => self.other_key()?,
        };
        self.scanner.skip_blanks()?;
        Ok(key)
    }

    /// A key that is no small integer; keywords and strings are looked up by their spelling.
    fn other_key(&mut self) -> Result<KeyId, Stop> {
        let mut ahead = self.scanner;
        let byte = ahead.peek()?;
        let is_simple = match byte {
            b'"' => ahead.raw_string().map(|_| true)?,
            b':' => ahead.token().map(|_| true)?,
            b']' | b')' | b'}' => return Err(self.scanner.bad("a key")),
            _ => false,
        };
        if !is_simple {
            let key = self.scanner.datum()?;
            return Ok(self.builder.keys.intern(key));
        }
        let spelling = &ahead.bytes[self.scanner.at..ahead.at];
        if let Some(key) = self.kinds.cache.get(spelling) {
            self.scanner = ahead;
            return Ok(key);
        }
        let datum = self.scanner.datum()?;
        let key = self.builder.keys.intern(datum);
        self.kinds.cache.put(spelling, key);
        Ok(key)
    }

    /// A value that has to be there.
    #[inline]
    fn written(&mut self, closer: u8) -> Result<ValueId, Stop> {
        if self.scanner.peek()? == closer {
            return Err(self.scanner.bad("the value that is written"));
        }
        self.element()
    }

    /// A value; left out, it is nil.
    #[inline]
    fn value(&mut self, closer: u8) -> Result<ValueId, Stop> {
        if self.scanner.peek()? == closer {
            return Ok(ValueId::NIL);
        }
        self.element()
    }

    #[inline]
    fn element(&mut self) -> Result<ValueId, Stop> {
        if let Some(int) = self.scanner.small_int() {
            return Ok(self.builder.values.intern_int(int));
        }
        let value = self.scanner.datum()?;
        Ok(self.builder.values.intern(value))
    }

    fn read(&mut self, closer: u8) -> Result<(), Stop> {
        let key = self.key()?;
        if matches!(self.scanner.peek()?, b'[' | b'(') {
            return self.read_list(key);
        }
        let value = self.value(closer)?;
        self.read_value(key, value);
        Ok(())
    }

    fn read_value(&mut self, key: KeyId, value: ValueId) {
        if value != ValueId::NIL {
            self.kinds.note(key, Holds::Register);
            self.builder.read(key, value);
            return;
        }
        let op = match (self.is_ok, self.kinds.of(key)) {
            (true, Holds::List) => self.builder.read_list(key, &[]),
            (false, Holds::List) => self.builder.read_list_unknown(key),
            (true, _) => self.builder.read(key, ValueId::NIL),
            (false, _) => self.builder.read_unknown(key),
        };
        // A key that was written may still turn out to be a list.
        if self.kinds.of(key) != Holds::List {
            self.kinds.unsettled.push((key, op));
        }
    }

    fn read_list(&mut self, key: KeyId) -> Result<(), Stop> {
        let closer = self.open("a list")?;
        let mut elements = std::mem::take(&mut self.kinds.elements);
        elements.clear();
        loop {
            self.scanner.skip_blanks()?;
            if self.scanner.eat(closer)? {
                break;
            }
            elements.push(self.element()?);
        }
        self.kinds.note(key, Holds::List);
        self.builder.read_list(key, &elements);
        self.kinds.elements = elements;
        Ok(())
    }

    fn predicate_read(&mut self, closer: u8) -> Result<(), Stop> {
        let predicate = self.scanner.datum()?;
        self.scanner.skip_blanks()?;
        let rows = match self.scanner.peek()? {
            byte if byte == closer => None,
            b'{' => Some(self.rows()?),
            _ => {
                let start = self.scanner.at;
                if self.scanner.datum()? != Datum::Nil {
                    return Err(Stop::Bad(start, "nil or a map of the rows that were read"));
                }
                None
            }
        };
        self.builder.predicate_read(PredicateRead { predicate: predicate.into(), rows });
        Ok(())
    }

    fn rows(&mut self) -> Result<Vec<Row>, Stop> {
        self.scanner.at += 1;
        let mut rows = Vec::new();
        loop {
            self.scanner.skip_blanks()?;
            if self.scanner.eat(b'}')? {
                return Ok(rows);
            }
            let key = self.row_key()?;
            self.scanner.skip_blanks()?;
            let value = self.element()?;
            rows.push(Row { key, value, is_dead: false });
        }
    }

    /// The names of a JSON object are strings, so a number among them is an integer key.
    fn row_key(&mut self) -> Result<KeyId, Stop> {
        let is_json = self.scanner.syntax == Syntax::Json;
        let key = match self.scanner.datum()? {
            Datum::Str(text) if is_json => Datum::int_from_decimal(&text).unwrap_or(Datum::Str(text)),
            other => other,
        };
        Ok(self.builder.keys.intern(key))
    }
}
