//! A scanner for the JSON of one line at a time.

use std::borrow::Cow;

use history::Backwards;

use crate::Error;
use crate::edn::MAX_DEPTH;
use crate::scan::small_decimal;
use crate::source::Block;

/// Where the reader is in a block of lines.
pub(super) struct Json<'b> {
    text: &'b str,
    at: usize,
    block: Block<'b>,
}

/// A number as it is written.
pub(super) enum Number<'b> {
    /// An integer that fits in 64 bits.
    Int(i64),
    /// A larger integer, or one with a fraction or an exponent.
    Text(&'b str),
}

/// An operation on an integer key with an integer value.
pub(super) struct PlainOp {
    /// The letter that stands for the kind of operation.
    pub code: u8,
    pub key: i64,
    pub value: i64,
}

impl<'b> Json<'b> {
    /// The first bytes of a block, as text; fails where they are no UTF-8.
    pub fn new(block: Block<'b>, length: usize) -> Result<Self, Error> {
        let text = std::str::from_utf8(&block.bytes[..length])
            .map_err(|error| block.error(error.valid_up_to(), "text in UTF-8"))?;
        Ok(Self { text, at: 0, block })
    }

    /// The next byte, or a line break at the end, after which nothing of a line can come.
    #[inline]
    pub fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(b'\n')
    }

    /// Where it is, to come back with [`Json::go_to`].
    pub fn position(&self) -> usize {
        self.at
    }

    /// Goes to a place where it has been.
    pub fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    /// So many of the bytes that come next, or fewer at the end.
    pub fn ahead(&self, length: usize) -> &'b [u8] {
        let rest = &self.text.as_bytes()[self.at..];
        &rest[..length.min(rest.len())]
    }

    /// Whether the block is read.
    pub fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// An error here.
    #[cold]
    pub fn error(&self, expected: &str) -> Error {
        self.error_at(self.at, expected)
    }

    /// An error at an earlier place.
    #[cold]
    pub fn error_at(&self, position: usize, expected: &str) -> Error {
        self.block.error(position, expected).with_hint("docs/formats/native.md describes the lines")
    }

    /// An error about the times of the transaction or operation that begins there.
    #[cold]
    pub fn backwards_at(&self, position: usize, backwards: &Backwards) -> Error {
        Error::backwards(self.block.file, self.block.place(position), backwards)
    }

    #[inline]
    pub fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// Takes a byte, after blanks, if it comes next.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> bool {
        if self.peek() != byte {
            self.skip_blanks();
            if self.peek() != byte || self.is_at_end() {
                return false;
            }
        }
        self.at += 1;
        true
    }

    /// Takes a byte, after blanks, or says that something was expected.
    #[inline]
    pub fn expect(&mut self, byte: u8, expected: &str) -> Result<(), Error> {
        match self.eat(byte) {
            true => Ok(()),
            false => Err(self.error(expected)),
        }
    }

    /// Takes a word such as `null` if it comes next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let is_next = self.text[self.at..].starts_with(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// Whether another item of an array comes, or its end; passes the comma or the bracket.
    #[inline]
    pub fn next_item(&mut self, is_first: bool) -> Result<bool, Error> {
        if self.eat(b']') {
            return Ok(false);
        }
        if !is_first {
            self.expect(b',', "`,` or `]`")?;
        }
        Ok(true)
    }

    /// The next key of an object with its colon, or `None` at its end.
    #[inline]
    pub fn next_key(&mut self, is_first: bool) -> Result<Option<Cow<'b, str>>, Error> {
        if let Some(letter) = self.letter_key(is_first) {
            return Ok(Some(Cow::Borrowed(letter)));
        }
        if self.eat(b'}') {
            return Ok(None);
        }
        if !is_first {
            self.expect(b',', "`,` or `}`")?;
        }
        let key = self.string("a name in quotes")?;
        self.expect(b':', "`:`")?;
        Ok(Some(key))
    }

    /// A key of one letter, with its comma and its colon and without blanks, as transactions have them.
    #[inline]
    fn letter_key(&mut self, is_first: bool) -> Option<&'b str> {
        let text = self.text.as_bytes();
        let start = self.at + usize::from(!is_first);
        let &[b'"', letter, b'"', b':'] = text.get(start..)?.first_chunk()? else { return None };
        if !letter.is_ascii_lowercase() || !is_first && text[self.at] != b',' {
            return None;
        }
        self.at = start + 4;
        Some(&self.text[start + 1..start + 2])
    }

    /// A string.
    #[inline]
    pub fn string(&mut self, expected: &str) -> Result<Cow<'b, str>, Error> {
        self.expect(b'"', expected)?;
        let start = self.at;
        let length = plain_length(&self.text.as_bytes()[start..]);
        self.at += length;
        if self.peek() != b'"' {
            return self.string_with_escapes(start).map(Cow::Owned);
        }
        self.at += 1;
        Ok(Cow::Borrowed(&self.text[start..start + length]))
    }

    #[cold]
    fn string_with_escapes(&mut self, start: usize) -> Result<String, Error> {
        let mut decoded = self.text[start..self.at].to_owned();
        loop {
            match self.peek() {
                b'"' => break,
                b'\\' => decoded.push(self.escape()?),
                _ => return Err(self.error("`\"` at the end of a string")),
            }
            let length = plain_length(&self.text.as_bytes()[self.at..]);
            decoded.push_str(&self.text[self.at..self.at + length]);
            self.at += length;
        }
        self.at += 1;
        Ok(decoded)
    }

    fn escape(&mut self) -> Result<char, Error> {
        let start = self.at;
        self.at += 1;
        let kind = self.peek();
        let decoded = match kind {
            b'"' | b'\\' | b'/' => kind as char,
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                return self
                    .unicode_escape()
                    .ok_or_else(|| self.error_at(start, "`\\u` and four hexadecimal digits"));
            }
            _ => return Err(self.error_at(start, "an escape of JSON")),
        };
        self.at += 1;
        Ok(decoded)
    }

    /// The digits after `\u`, and a second such escape if the first is half of a pair.
    fn unicode_escape(&mut self) -> Option<char> {
        let unit = self.hex_unit()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return char::from_u32(unit);
        }
        if !self.text[self.at..].starts_with("\\u") {
            return None;
        }
        self.at += 1;
        let low = self.hex_unit().filter(|low| (0xdc00..0xe000).contains(low))?;
        char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
    }

    fn hex_unit(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at + 1..self.at + 5)?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
        self.at += 5;
        u32::from_str_radix(digits, 16).ok()
    }

    /// An integer as most are: no sign, and its comma or bracket right behind it.
    #[inline]
    pub fn small_int(&mut self) -> Option<i64> {
        let text = &self.text.as_bytes()[self.at..];
        let (int, length) = plain_int(text)?;
        matches!(text.get(length), Some(b',' | b']')).then(|| {
            self.at += length;
            int
        })
    }

    /// An operation as most are: its code is one letter, its key and its value are integers, and there are no blanks.
    #[inline]
    pub fn plain_op(&mut self) -> Option<PlainOp> {
        let text = &self.text.as_bytes()[self.at..];
        let &[b'[', b'"', code, b'"', b','] = text.first_chunk()? else { return None };
        let (key, key_length) = plain_int(&text[5..])?;
        let value_at = 5 + key_length + 1;
        let (value, value_length) = plain_int(text.get(value_at..)?)?;
        let end = value_at + value_length;
        if text[value_at - 1] != b',' || text.get(end) != Some(&b']') {
            return None;
        }
        self.at += end + 1;
        Some(PlainOp { code, key, value })
    }

    /// A number.
    #[inline]
    pub fn number(&mut self) -> Result<Number<'b>, Error> {
        self.skip_blanks();
        let start = self.at;
        let is_negative = self.peek() == b'-';
        self.at += usize::from(is_negative);
        let first_digit = self.at;
        let mut int = 0i64;
        while self.peek().is_ascii_digit() {
            int = int.wrapping_mul(10).wrapping_add(i64::from(self.peek() - b'0'));
            self.at += 1;
        }
        let digits = self.at - first_digit;
        let has_leading_zero = digits > 1 && self.text.as_bytes()[first_digit] == b'0';
        if digits == 0 || has_leading_zero {
            self.at = start;
            return Err(self.error("a value of JSON"));
        }
        // Eighteen digits fit in 64 bits whatever they are.
        if digits <= 18 && !matches!(self.peek(), b'.' | b'e' | b'E') {
            return Ok(Number::Int(if is_negative { -int } else { int }));
        }
        self.long_number(start)
    }

    #[cold]
    fn long_number(&mut self, start: usize) -> Result<Number<'b>, Error> {
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), b'-' | b'+'));
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        Ok(text.parse().map_or(Number::Text(text), Number::Int))
    }

    fn digits(&mut self) -> Result<(), Error> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => Err(self.error("a digit")),
        }
    }

    /// Passes a value of any kind. Recursion is as deep as the brackets, which are limited.
    pub fn skip_value(&mut self, depth: usize) -> Result<(), Error> {
        // Ours has up to four brackets around a value.
        if depth > MAX_DEPTH + 8 {
            return Err(self.error("fewer brackets inside each other"));
        }
        self.skip_blanks();
        match self.peek() {
            b'"' => self.string("a string").map(|_| ()),
            b'[' => self.skip_array(depth),
            b'{' => self.skip_object(depth),
            b'-' | b'0'..=b'9' => self.number().map(|_| ()),
            _ if self.eat_word("null") || self.eat_word("true") || self.eat_word("false") => Ok(()),
            _ => Err(self.error("a value of JSON")),
        }
    }

    fn skip_array(&mut self, depth: usize) -> Result<(), Error> {
        self.at += 1;
        let mut is_first = true;
        while self.next_item(is_first)? {
            self.skip_value(depth + 1)?;
            is_first = false;
        }
        Ok(())
    }

    fn skip_object(&mut self, depth: usize) -> Result<(), Error> {
        self.at += 1;
        let mut is_first = true;
        while self.next_key(is_first)?.is_some() {
            self.skip_value(depth + 1)?;
            is_first = false;
        }
        Ok(())
    }
}

/// The digits at the beginning of a text as JSON writes an integer, without zeros before it, and how many they are.
#[inline(always)]
fn plain_int(text: &[u8]) -> Option<(i64, usize)> {
    let (number, length) = small_decimal(text)?;
    let is_canonical = length == 1 || text[0] != b'0';
    i64::try_from(number).ok().filter(|_| is_canonical).map(|int| (int, length))
}

/// How many bytes of a string stand for themselves.
#[inline]
fn plain_length(bytes: &[u8]) -> usize {
    let is_special = |&byte: &u8| byte == b'"' || byte == b'\\' || byte < 0x20;
    bytes.iter().position(is_special).unwrap_or(bytes.len())
}
