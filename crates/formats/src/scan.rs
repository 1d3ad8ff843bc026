//! Small scanners that several formats share: decimal numbers in a slice, and JSON from a source.
//!
//! The JSON scanner pulls values one at a time and builds no tree, so an array of any length costs nothing; the
//! caller says what it expects next. Line breaks are counted where JSON allows them, between tokens.

mod digits;

use history::Datum;

use crate::error::{Error, Place, excerpt};
use crate::source::Source;
pub(crate) use digits::{decimal, digits_and_blanks, small_decimal};

/// How deep values may nest that are skipped.
const DEEPEST: usize = 64;

/// The longest string or number that is taken into memory.
const LONGEST_TOKEN: usize = 1 << 20;

/// A JSON text that is pulled from a source.
pub(crate) struct Json<'s, 'a> {
    pub source: &'s mut Source<'a>,
    line: u64,
    line_start: u64,
    token: Vec<u8>,
}

impl<'s, 'a> Json<'s, 'a> {
    pub fn new(source: &'s mut Source<'a>) -> Self {
        Self { line_start: source.offset(), source, line: 1, token: Vec::new() }
    }

    /// The next byte of a token, after white space; `None` at the end.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, Error> {
        loop {
            match self.source.peek_byte()? {
                Some(b'\n') => {
                    self.source.skip_byte();
                    self.line += 1;
                    self.line_start = self.source.offset();
                }
                Some(b' ' | b'\t' | b'\r') => self.source.skip_byte(),
                other => return Ok(other),
            }
        }
    }

    /// Where the next byte is.
    pub fn place(&self) -> Place {
        Place::Column(self.line, self.source.offset() - self.line_start + 1)
    }

    /// An error at the next byte.
    #[cold]
    pub fn error(&mut self, expected: impl Into<String>) -> Error {
        let place = self.place();
        let found = match self.source.peek(20) {
            Err(error) => return error,
            Ok([]) => "the end of the file".into(),
            Ok(ahead) => excerpt(&ahead[..ahead.len().min(20)]),
        };
        Error::input(self.source.file(), place, expected, found)
    }

    /// Takes a punctuation mark if it is next.
    #[inline]
    pub fn take(&mut self, mark: u8) -> Result<bool, Error> {
        let is_next = self.peek()? == Some(mark);
        if is_next {
            self.source.skip_byte();
        }
        Ok(is_next)
    }

    /// Takes a punctuation mark that must be next.
    #[inline]
    pub fn expect(&mut self, mark: u8, expected: &str) -> Result<(), Error> {
        match self.take(mark)? {
            true => Ok(()),
            false => Err(self.error(expected)),
        }
    }

    /// After an element of an array or object: whether another one follows, or else takes the closing mark.
    #[inline]
    pub fn more(&mut self, close: u8, expected: &str) -> Result<bool, Error> {
        match self.peek()? {
            Some(b',') => {
                self.source.skip_byte();
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.source.skip_byte();
                Ok(false)
            }
            _ => Err(self.error(expected)),
        }
    }

    /// An unsigned integer.
    #[inline]
    pub fn unsigned(&mut self, expected: &str) -> Result<u64, Error> {
        self.peek()?;
        // Twenty digits and the byte behind them decide.
        let ahead = self.source.peek(21)?;
        let mut digits = 0;
        let number = decimal(ahead, &mut digits).filter(|_| digits == 1 || ahead[0] != b'0');
        match (number, ahead.get(digits)) {
            (None, _) | (_, Some(b'.' | b'e' | b'E')) => Err(self.error(expected)),
            (Some(number), _) => {
                self.source.consume(digits);
                Ok(number)
            }
        }
    }

    /// A signed integer that fits in 64 bits.
    #[inline]
    pub fn signed(&mut self, expected: &str) -> Result<i64, Error> {
        let is_negative = self.take(b'-')?;
        let magnitude = self.unsigned(expected)?;
        let number = match is_negative {
            true => 0i64.checked_sub_unsigned(magnitude),
            false => i64::try_from(magnitude).ok(),
        };
        number.ok_or_else(|| self.error(expected))
    }

    /// `true` or `false`.
    #[inline]
    pub fn bool(&mut self, expected: &str) -> Result<bool, Error> {
        match self.peek()? {
            Some(b't') => self.word(b"true", expected).map(|()| true),
            Some(b'f') => self.word(b"false", expected).map(|()| false),
            _ => Err(self.error(expected)),
        }
    }

    /// Takes `null` if it is next.
    #[inline]
    pub fn null(&mut self, expected: &str) -> Result<bool, Error> {
        match self.peek()? {
            Some(b'n') => self.word(b"null", expected).map(|()| true),
            _ => Ok(false),
        }
    }

    fn word(&mut self, word: &[u8], expected: &str) -> Result<(), Error> {
        match self.source.peek(word.len())?.starts_with(word) {
            true => {
                self.source.consume(word.len());
                Ok(())
            }
            false => Err(self.error(expected)),
        }
    }

    /// A string; it stays until the next one is taken.
    #[inline]
    pub fn string(&mut self, expected: &str) -> Result<&str, Error> {
        self.expect(b'"', expected)?;
        let place = self.place();
        self.token.clear();
        loop {
            let ahead = self.source.peek(1)?;
            let is_plain = |&byte: &u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
            let plain = ahead.iter().position(|byte| !is_plain(byte)).unwrap_or(ahead.len());
            if self.token.len() + plain > LONGEST_TOKEN {
                return Err(self.error("a string of at most 1 MiB"));
            }
            self.token.extend_from_slice(&ahead[..plain]);
            self.source.consume(plain);
            match self.source.peek_byte()? {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(byte) if byte >= 0x20 => {}
                _ => return Err(self.error("the end of the string")),
            }
        }
        self.source.skip_byte();
        let file = self.source.file();
        std::str::from_utf8(&self.token)
            .map_err(|_| Error::input(file, place, "text in UTF-8", excerpt(&self.token)))
    }

    fn escape(&mut self) -> Result<(), Error> {
        const EXPECTED: &str = "an escape as JSON knows it";
        self.source.skip_byte();
        let char = match self.source.peek_byte()? {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(EXPECTED),
            _ => return Err(self.error(EXPECTED)),
        };
        self.source.skip_byte();
        self.token.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn unicode_escape(&mut self, expected: &str) -> Result<(), Error> {
        let mut code = self.hex_escape(expected)?;
        if (0xd800..0xdc00).contains(&code) {
            self.word(b"\\", expected)?;
            let low = self.hex_escape(expected)?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(self.error(expected));
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        let char = char::from_u32(code).ok_or_else(|| self.error(expected))?;
        self.token.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn hex_escape(&mut self, expected: &str) -> Result<u32, Error> {
        self.word(b"u", expected)?;
        let ahead = self.source.peek(4)?;
        let digits = ahead.get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let code = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                self.source.consume(4);
                Ok(code)
            }
            None => Err(self.error(expected)),
        }
    }

    /// An integer or a string, as a key can be.
    pub fn scalar(&mut self, expected: &str) -> Result<Datum, Error> {
        match self.peek()? {
            Some(b'"') => Ok(Datum::str(self.string(expected)?)),
            _ => Ok(Datum::Int(self.signed(expected)?)),
        }
    }

    /// Passes over a value of any shape.
    pub fn skip(&mut self) -> Result<(), Error> {
        self.skip_nested(0)
    }

    fn skip_nested(&mut self, depth: usize) -> Result<(), Error> {
        const EXPECTED: &str = "a JSON value";
        if depth == DEEPEST {
            return Err(self.error("values that nest less deeply"));
        }
        match self.peek()? {
            Some(b'"') => self.string(EXPECTED).map(|_| ()),
            Some(b't' | b'f') => self.bool(EXPECTED).map(|_| ()),
            Some(b'n') => self.null(EXPECTED).map(|_| ()),
            Some(b'[') => self.skip_elements(b'[', b']', depth),
            Some(b'{') => self.skip_elements(b'{', b'}', depth),
            _ => self.skip_number(EXPECTED),
        }
    }

    fn skip_elements(&mut self, open: u8, close: u8, depth: usize) -> Result<(), Error> {
        self.expect(open, "a value")?;
        if self.take(close)? {
            return Ok(());
        }
        loop {
            if open == b'{' {
                self.string("the name of a field")?;
                self.expect(b':', "`:` after the name of a field")?;
            }
            self.skip_nested(depth + 1)?;
            if !self.more(close, "`,` or the end of the value")? {
                return Ok(());
            }
        }
    }

    fn skip_number(&mut self, expected: &str) -> Result<(), Error> {
        let mut digits = 0;
        while let Some(byte @ (b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) = self.source.peek_byte()? {
            digits += usize::from(byte.is_ascii_digit());
            self.source.skip_byte();
        }
        match digits {
            0 => Err(self.error(expected)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;

    fn with_json<T>(text: &str, scan: impl FnOnce(&mut Json<'_, '_>) -> T) -> T {
        let mut source = Source::new("t", text.as_bytes(), &ReadOptions::default());
        scan(&mut Json::new(&mut source))
    }

    #[test]
    fn a_decimal_number_ends_where_its_digits_end() {
        let mut index = 1;
        assert_eq!(decimal(b"x18446744073709551615,", &mut index), Some(u64::MAX));
        assert_eq!(index, 21);
        assert_eq!(decimal(b"18446744073709551616", &mut 0), None);
        assert_eq!(decimal(b"-1", &mut 0), None);
    }

    #[test]
    fn strings_have_the_escapes_of_json() {
        let text = r#" "a\n\u00e9\ud83d\ude00\"" "#;
        assert_eq!(with_json(text, |json| json.string("").unwrap().to_owned()), "a\né😀\"");
        for wrong in [r#""\ud83d""#, r#""\x""#, "\"a", "\"\n\"", r#""\u00g0""#] {
            assert!(with_json(wrong, |json| json.string("").is_err()), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_exact_or_refused() {
        assert_eq!(with_json("-9223372036854775808", |json| json.signed("")), Ok(i64::MIN));
        assert_eq!(with_json("18446744073709551615", |json| json.unsigned("")), Ok(u64::MAX));
        for wrong in ["9223372036854775808", "1.5", "1e3", "01", "-", ""] {
            assert!(with_json(wrong, |json| json.signed("").is_err()), "{wrong}");
        }
    }

    #[test]
    fn skipping_passes_over_any_value_but_not_into_the_abyss() {
        let text = r#"{"a": [1, -2.5e3, {"b": null}], "c": true} 7"#;
        assert_eq!(with_json(text, |json| json.skip().and_then(|()| json.unsigned(""))), Ok(7));
        assert!(with_json(&"[".repeat(100_000), |json| json.skip().is_err()));
    }

    #[test]
    fn an_error_names_line_and_column() {
        let error = with_json("[\n  1,\n  x]", |json| {
            json.expect(b'[', "").unwrap();
            json.unsigned("").unwrap();
            json.more(b']', "").unwrap();
            json.unsigned("a number").unwrap_err()
        });
        assert_eq!(error.to_string(), "t:3:3: expected a number, found `x]`");
    }
}
