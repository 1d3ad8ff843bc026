//! Operations in native lines, read.
//!
//! The first member of the array says what follows, so that nothing has to be looked at twice; a question mark means
//! that the client never learned the answer.

use history::{
    Bound, Builder, Change, Datum, KeyId, OpTimes, PredicateRead, PredicateWrite, RangeRead, Row, ValueId,
};

use super::flat_row::RowReader;
use super::json::{Json, Number, PlainOp};
use crate::Error;
use crate::key_cache::KeyCache;

/// Reads operations into the open transaction of a builder.
pub(super) struct OpReader<'r, 'b> {
    pub json: &'r mut Json<'b>,
    pub builder: &'r mut Builder,
    /// Room for the elements of a list, kept from one list to the next.
    pub elements: &'r mut Vec<ValueId>,
    pub cache: &'r mut KeyCache,
    pub row_reader: &'r mut RowReader,
}

impl OpReader<'_, '_> {
    /// Reads the array of a transaction's operations.
    pub fn ops(&mut self) -> Result<(), Error> {
        self.json.expect(b'[', "an array of operations")?;
        let mut is_first = true;
        while self.json.next_item(is_first)? {
            if !self.plain_op() {
                self.op()?;
            }
            is_first = false;
        }
        Ok(())
    }

    /// Reads a read or a write as most are; says whether it was one.
    #[inline]
    fn plain_op(&mut self) -> bool {
        let start = self.json.position();
        let Some(PlainOp { code, key, value }) = self.json.plain_op() else { return false };
        if !matches!(code, b'r' | b'w') {
            self.json.go_to(start);
            return false;
        }
        let key = self.builder.keys.intern_int(key);
        let value = self.builder.values.intern_int(value);
        match code {
            b'r' => self.builder.read(key, value),
            _ => self.builder.write(key, value),
        };
        true
    }

    fn op(&mut self) -> Result<(), Error> {
        self.json.expect(b'[', "an operation such as [\"r\",\"x\",1]")?;
        let start = self.json.position();
        let code = self.json.string("the code of an operation in quotes")?;
        self.json.expect(b',', "`,`")?;
        match code.as_bytes() {
            b"r" => {
                let (key, value) = self.key_value()?;
                self.builder.read(key, value);
            }
            b"w" => {
                let (key, value) = self.key_value()?;
                self.builder.write(key, value);
            }
            b"a" => {
                let (key, value) = self.key_value()?;
                self.builder.append(key, value);
            }
            b"l" => self.list()?,
            _ => return self.rarer_op(&code, start),
        }
        self.end_op()
    }

    fn rarer_op(&mut self, code: &str, start: usize) -> Result<(), Error> {
        match code {
            "r?" => {
                let key = self.json.key(self.builder, self.cache)?;
                self.builder.read_unknown(key);
            }
            "l?" => {
                let key = self.json.key(self.builder, self.cache)?;
                self.builder.read_list_unknown(key);
            }
            "i" => {
                let (key, value) = self.key_value()?;
                self.builder.insert(key, value);
            }
            "d" => {
                let key = self.json.key(self.builder, self.cache)?;
                self.builder.delete(key, None);
            }
            "d=" => {
                let (key, mark) = self.key_value()?;
                self.builder.delete(key, Some(mark));
            }
            "range" | "range?" => self.range(code == "range")?,
            "p" | "p?" => self.predicate_read(code == "p")?,
            "pw" | "pd" => return self.predicate_write(code == "pw"),
            _ => {
                let known = "one of the operations r r? w l l? a i d d= range range? p p? pw pd";
                return Err(self.json.error_at(start, known));
            }
        }
        self.end_op()
    }

    #[inline]
    fn key_value(&mut self) -> Result<(history::KeyId, ValueId), Error> {
        let key = self.json.key(self.builder, self.cache)?;
        self.json.expect(b',', "`,` and a value")?;
        Ok((key, self.json.value(self.builder)?))
    }

    fn list(&mut self) -> Result<(), Error> {
        let key = self.json.key(self.builder, self.cache)?;
        self.json.expect(b',', "`,` and the list")?;
        self.json.expect(b'[', "`[` and the elements of the list")?;
        self.elements.clear();
        while self.json.next_item(self.elements.is_empty())? {
            self.elements.push(self.json.value(self.builder)?);
        }
        self.builder.read_list(key, self.elements);
        Ok(())
    }

    fn range(&mut self, has_rows: bool) -> Result<(), Error> {
        let from = self.bound()?;
        self.json.expect(b',', "`,` and the upper bound")?;
        let to = self.bound()?;
        let rows = self.rows_if(has_rows)?;
        self.builder.range_read(RangeRead { from, to, rows });
        Ok(())
    }

    fn bound(&mut self) -> Result<Bound, Error> {
        if self.json.eat_word("null") {
            return Ok(Bound::Unbounded);
        }
        self.json.expect(b'[', "a bound: null, [\"in\",key] or [\"ex\",key]")?;
        let start = self.json.position();
        let kind = self.json.string("`\"in\"` or `\"ex\"`")?;
        self.json.expect(b',', "`,` and a key")?;
        let key = self.json.datum(0)?;
        self.json.expect(b']', "`]`")?;
        match &*kind {
            "in" => Ok(Bound::Included(key)),
            "ex" => Ok(Bound::Excluded(key)),
            _ => Err(self.json.error_at(start, "`\"in\"` or `\"ex\"`")),
        }
    }

    fn predicate_read(&mut self, has_rows: bool) -> Result<(), Error> {
        let predicate = self.json.datum(0)?;
        let rows = self.rows_if(has_rows)?;
        self.builder.predicate_read(PredicateRead { predicate: predicate.into(), rows });
        Ok(())
    }

    fn rows_if(&mut self, has_rows: bool) -> Result<Option<Vec<Row>>, Error> {
        if !has_rows {
            return Ok(None);
        }
        self.json.expect(b',', "`,` and the rows")?;
        self.json.expect(b'[', "`[` and the rows")?;
        let mut rows = std::mem::take(&mut self.row_reader.room);
        rows.clear();
        self.row_reader.forget();
        while self.json.next_item(rows.is_empty())? {
            self.json.expect(b'[', "a row `[key,value]`")?;
            let key = self.json.key(self.builder, self.cache)?;
            self.json.expect(b',', "`,` and a value")?;
            let value = self.row_value(&mut rows)?;
            let is_dead = self.json.eat(b',');
            if is_dead && !self.json.eat_word("true") {
                return Err(self.json.error("`true`, for a dead row"));
            }
            self.json.expect(b']', "`]`")?;
            rows.push(Row { key, value, is_dead });
        }
        self.row_reader.assign(self.builder, &mut rows);
        let exact = rows.to_vec();
        self.row_reader.room = rows;
        Ok(Some(exact))
    }

    /// The value of a row; a row that looks like those before gets its id later.
    #[inline]
    fn row_value(&mut self, rows: &mut [Row]) -> Result<ValueId, Error> {
        self.json.skip_blanks();
        if let Some(length) = self.row_reader.read(self.json.ahead(usize::MAX)) {
            self.json.go_to(self.json.position() + length);
            return Ok(ValueId::NIL);
        }
        self.row_reader.assign(self.builder, rows);
        let value = self.json.value(self.builder)?;
        self.row_reader.remember(self.builder, value);
        Ok(value)
    }

    fn predicate_write(&mut self, sets: bool) -> Result<(), Error> {
        let predicate = self.json.datum(0)?;
        let mut change = Change::Delete;
        if sets {
            self.json.expect(b',', "`,` and what the rows are set to")?;
            change = Change::Set(self.json.datum(0)?);
        }
        let attributes = self.attributes(true)?;
        let keys = attributes.keys.clone();
        self.builder.predicate_write(PredicateWrite {
            predicate: predicate.into(),
            change,
            row_count: attributes.row_count,
            keys,
            is_returning: attributes.is_returning,
        });
        self.apply(&attributes)
    }

    #[inline]
    fn end_op(&mut self) -> Result<(), Error> {
        if self.json.eat(b']') {
            return Ok(());
        }
        let attributes = self.attributes(false)?;
        self.apply(&attributes)
    }

    fn apply(&mut self, attributes: &Attributes) -> Result<(), Error> {
        if attributes.times != OpTimes::default() {
            let times = self.builder.set_op_times(attributes.times);
            times.map_err(|backwards| self.json.backwards_at(self.json.position(), &backwards))?;
        }
        if let Some(version) = attributes.version {
            self.builder.set_op_version(version);
        }
        if attributes.has_failed {
            self.builder.mark_failed();
        }
        Ok(())
    }

    /// The object at the end of an operation, if it is there, and the closing bracket.
    fn attributes(&mut self, counts_rows: bool) -> Result<Attributes, Error> {
        let mut attributes = Attributes::default();
        if self.json.eat(b']') {
            return Ok(attributes);
        }
        self.json.expect(b',', "`,` or `]`")?;
        self.json.expect(b'{', "`{` and what else is known of the operation")?;
        let mut is_first = true;
        loop {
            let start = self.json.position();
            let Some(name) = self.json.next_key(is_first)? else {
                break;
            };
            is_first = false;
            match &*name {
                "t" => attributes.times = self.op_times()?,
                "v" => attributes.version = self.json.optional_int()?,
                "f" if self.json.eat_word("true") => attributes.has_failed = true,
                "rows" if counts_rows => attributes.row_count = Some(self.row_count()?),
                "keys" if counts_rows => attributes.keys = Some(self.changed_keys()?),
                "returned" if counts_rows && self.json.eat_word("true") => attributes.is_returning = true,
                _ => {
                    return Err(self.json.error_at(
                        start,
                        "one of the members t, v, \"f\":true, and rows, keys and \"returned\":true for pw and pd",
                    ));
                }
            }
        }
        self.json.expect(b']', "`]`")?;
        Ok(attributes)
    }

    fn op_times(&mut self) -> Result<OpTimes, Error> {
        let [request, response] = self.json.times("[request,response], each null if not recorded")?;
        Ok(OpTimes { request, response })
    }

    fn changed_keys(&mut self) -> Result<Vec<KeyId>, Error> {
        self.json.expect(b'[', "`[` and the keys of the rows that were changed")?;
        let mut keys = Vec::new();
        while self.json.next_item(keys.is_empty())? {
            keys.push(self.json.key(self.builder, self.cache)?);
        }
        Ok(keys)
    }

    fn row_count(&mut self) -> Result<u64, Error> {
        let start = self.json.position();
        let count = match self.json.number()? {
            Number::Int(count) => u64::try_from(count).ok(),
            Number::Text(text) => text.parse().ok(),
        };
        count.ok_or_else(|| self.json.error_at(start, "a number of rows"))
    }
}

/// What an operation may carry besides its content.
#[derive(Default)]
struct Attributes {
    times: OpTimes,
    version: Option<i64>,
    has_failed: bool,
    row_count: Option<u64>,
    keys: Option<Vec<KeyId>>,
    is_returning: bool,
}

impl Json<'_> {
    /// A fixed number of times.
    pub fn times<const N: usize>(&mut self, expected: &str) -> Result<[Option<i64>; N], Error> {
        self.expect(b'[', expected)?;
        let mut times = [None; N];
        for (place, time) in times.iter_mut().enumerate() {
            if place > 0 {
                self.expect(b',', expected)?;
            }
            *time = self.optional_int()?;
        }
        self.expect(b']', expected)?;
        Ok(times)
    }

    /// An integer that can be stored as a time or a version, or null.
    #[inline]
    fn optional_int(&mut self) -> Result<Option<i64>, Error> {
        if let Some(int) = self.small_int() {
            return Ok(Some(int));
        }
        if self.eat_word("null") {
            return Ok(None);
        }
        let start = self.position();
        match self.number()? {
            // The smallest one stands for "not recorded" in the columns.
            Number::Int(int) if int != i64::MIN => Ok(Some(int)),
            _ => Err(self.error_at(start, "null or an integer of 64 bits")),
        }
    }

    /// A name of a session or of a transaction.
    pub fn name(&mut self) -> Result<Datum, Error> {
        self.datum(0)
    }
}
