//! Keys and values as JSON.
//!
//! What JSON has stands for itself; an object with one member is the rest: `{":":"keyword"}`, `{"'":"symbol"}`,
//! `{"row":[[name,value]]}`, `{"tag":["inst",value]}`, `{"float":"7ff8000000000000"}` (by its bits).

use history::{Builder, Datum, KeyId, ValueId};

use super::json::{Json, Number};
use crate::Error;
use crate::edn::MAX_DEPTH;
use crate::key_cache::KeyCache;

impl Json<'_> {
    /// A key, interned; strings are looked up by their spelling.
    #[inline]
    pub fn key(&mut self, builder: &mut Builder, cache: &mut KeyCache) -> Result<KeyId, Error> {
        if let Some(int) = self.small_int() {
            return Ok(builder.keys.intern_int(int));
        }
        if self.peek() != b'"' {
            let key = self.datum(0)?;
            return Ok(builder.keys.intern(key));
        }
        let text = self.string("a string")?;
        if let Some(key) = cache.get(text.as_bytes()) {
            return Ok(key);
        }
        let key = builder.keys.intern(Datum::str(&*text));
        cache.put(text.as_bytes(), key);
        Ok(key)
    }

    /// A value, interned.
    #[inline]
    pub fn value(&mut self, builder: &mut Builder) -> Result<ValueId, Error> {
        if let Some(int) = self.small_int() {
            return Ok(builder.values.intern_int(int));
        }
        let value = self.datum(0)?;
        Ok(builder.values.intern(value))
    }

    /// A key or a value.
    #[inline]
    pub fn datum(&mut self, depth: usize) -> Result<Datum, Error> {
        self.skip_blanks();
        match self.peek() {
            b'-' | b'0'..=b'9' => self.number_datum(),
            b'"' => Ok(Datum::str(self.string("a string")?)),
            _ => self.other_datum(depth),
        }
    }

    #[inline]
    fn number_datum(&mut self) -> Result<Datum, Error> {
        let start = self.position();
        match self.number()? {
            Number::Int(int) => Ok(Datum::Int(int)),
            Number::Text(text) => long_number(text)
                .ok_or_else(|| self.error_at(start, "a number that a float of 64 bits can hold")),
        }
    }

    fn other_datum(&mut self, depth: usize) -> Result<Datum, Error> {
        if depth > MAX_DEPTH {
            return Err(self.error("fewer brackets inside each other"));
        }
        match self.peek() {
            b'[' => self.datums(depth).map(|items| Datum::List(items.into())),
            b'{' => self.marked_datum(depth),
            _ if self.eat_word("null") => Ok(Datum::Nil),
            _ if self.eat_word("true") => Ok(Datum::Bool(true)),
            _ if self.eat_word("false") => Ok(Datum::Bool(false)),
            _ => Err(self.error("a key or a value")),
        }
    }

    fn datums(&mut self, depth: usize) -> Result<Vec<Datum>, Error> {
        self.expect(b'[', "`[`")?;
        let mut items = Vec::new();
        while self.next_item(items.is_empty())? {
            items.push(self.datum(depth + 1)?);
        }
        Ok(items)
    }

    fn marked_datum(&mut self, depth: usize) -> Result<Datum, Error> {
        let start = self.position();
        self.expect(b'{', "`{`")?;
        let mark = self.next_key(true)?;
        let datum = match mark.as_deref() {
            Some(":") => Datum::Keyword(self.string("the text of a keyword")?.into()),
            Some("'") => Datum::Symbol(self.string("the text of a symbol")?.into()),
            Some("row") => self.row(depth)?,
            Some("tag") => self.tagged(depth)?,
            Some("float") => self.float_bits()?,
            _ => return Err(self.error_at(start, "an object with one of the members : ' row tag float")),
        };
        self.expect(b'}', "`}`")?;
        Ok(datum)
    }

    fn row(&mut self, depth: usize) -> Result<Datum, Error> {
        let start = self.position();
        let pairs = self.pairs(depth)?;
        let count = pairs.len();
        match Datum::row(pairs) {
            Datum::Row(columns) if columns.len() < count => {
                Err(self.error_at(start, "a row without repeated names"))
            }
            row => Ok(row),
        }
    }

    fn pairs(&mut self, depth: usize) -> Result<Vec<(Datum, Datum)>, Error> {
        self.expect(b'[', "`[`")?;
        let mut pairs = Vec::new();
        while self.next_item(pairs.is_empty())? {
            self.expect(b'[', "a pair `[name,value]`")?;
            let name = self.datum(depth + 1)?;
            self.expect(b',', "`,`")?;
            pairs.push((name, self.datum(depth + 1)?));
            self.expect(b']', "`]`")?;
        }
        Ok(pairs)
    }

    fn tagged(&mut self, depth: usize) -> Result<Datum, Error> {
        self.expect(b'[', "a pair `[tag,value]`")?;
        let tag = self.string("the text of a tag")?;
        self.expect(b',', "`,`")?;
        let value = self.datum(depth + 1)?;
        self.expect(b']', "`]`")?;
        Ok(Datum::Tagged(Box::new((tag.into(), value))))
    }

    fn float_bits(&mut self) -> Result<Datum, Error> {
        let start = self.position();
        let digits = self.string("the bits of a float")?;
        let is_hex = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u64::from_str_radix(&digits, 16).ok().filter(|_| is_hex);
        bits.map(Datum::Float).ok_or_else(|| self.error_at(start, "sixteen hexadecimal digits"))
    }
}

fn long_number(text: &str) -> Option<Datum> {
    let float = || text.parse().ok().filter(|float: &f64| float.is_finite()).map(Datum::float);
    Datum::int_from_decimal(text).or_else(float)
}
