//! Keys and values in the notation, read and written.
//!
//! | written | is |
//! |---|---|
//! | `nil` `true` `false` | themselves |
//! | `12` `-3` | an integer of any size |
//! | `1.5` `1e-9` `+inf` `-inf` `+nan` | a float |
//! | `x` `"any text\n"` | a string |
//! | `:word` `:"any text"` | a keyword |
//! | `'word` `'"any text"` | a symbol |
//! | `[1 2]` | a list |
//! | `{a: 1, b: 2}` | a row |
//! | `<inst "2020">` | a tagged value |
//! | `<1>` | the value itself, where brackets would mean something else |
//! | `<float-bits 7ff0000000000001>` | a float by its bits |

use std::fmt::Write;

use history::Datum;

use super::cursor::{Cursor, is_bare_string, is_word};
use crate::Error;
use crate::edn::MAX_DEPTH;

const FLOAT_BITS: &str = "float-bits ";

/// The bits of the float that `+nan` stands for.
const PLAIN_NAN: u64 = 0x7ff8_0000_0000_0000;

impl Cursor<'_> {
    /// A key or a value.
    pub fn datum(&mut self) -> Result<Datum, Error> {
        match self.small_int() {
            Some(int) => Ok(Datum::Int(int)),
            None => self.nested_datum(0),
        }
    }

    /// An integer as most are: few digits, no sign, and nothing behind it that would make it something else.
    fn small_int(&mut self) -> Option<i64> {
        let bytes = self.rest().as_bytes();
        let length = bytes.iter().take(18).take_while(|byte| byte.is_ascii_digit()).count();
        let is_whole = matches!(bytes.get(length), None | Some(b' ' | b')' | b',' | b'}' | b']'));
        let value = bytes[..length].iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        (length > 0 && is_whole).then(|| {
            self.advance(length);
            value
        })
    }

    fn nested_datum(&mut self, depth: usize) -> Result<Datum, Error> {
        if depth > MAX_DEPTH {
            return Err(self.error(format!("at most {MAX_DEPTH} brackets inside each other")));
        }
        match self.peek() {
            b'"' => Ok(Datum::Str(self.quoted()?.into())),
            b':' => self.prefixed_text("a keyword after `:`").map(Datum::Keyword),
            b'\'' => self.prefixed_text("a symbol after `'`").map(Datum::Symbol),
            b'[' => self.list(depth).map(Datum::List),
            b'{' => self.row(depth),
            b'<' => self.angled(depth),
            b'+' | b'-' | b'0'..=b'9' => self.number(),
            _ => self.bare(),
        }
    }

    fn bare(&mut self) -> Result<Datum, Error> {
        let start = *self;
        match self.word() {
            "" => Err(start.error("a key or a value")),
            "nil" => Ok(Datum::Nil),
            "true" => Ok(Datum::Bool(true)),
            "false" => Ok(Datum::Bool(false)),
            word => Ok(word.into()),
        }
    }

    fn prefixed_text(&mut self, expected: &str) -> Result<Box<str>, Error> {
        self.advance(1);
        if self.peek() == b'"' {
            return Ok(self.quoted()?.into());
        }
        match self.word() {
            "" => Err(self.error(expected)),
            word => Ok(word.into()),
        }
    }

    fn number(&mut self) -> Result<Datum, Error> {
        let start = *self;
        for (text, bits) in
            [("+inf", f64::INFINITY.to_bits()), ("-inf", f64::NEG_INFINITY.to_bits()), ("+nan", PLAIN_NAN)]
        {
            if self.eat(text) {
                return self.end_number(&start, Datum::Float(bits));
            }
        }
        if self.digits().is_empty() {
            return Err(start.error("a number"));
        }
        let is_float = self.fraction() | self.exponent();
        let text = self.since(&start);
        let number = match is_float {
            true => text.parse().ok().filter(|float: &f64| float.is_finite()).map(Datum::float),
            false => Datum::int_from_decimal(text),
        };
        let number = number.ok_or_else(|| start.error("a number"))?;
        self.end_number(&start, number)
    }

    fn fraction(&mut self) -> bool {
        let bytes = self.rest().as_bytes();
        let is_next = bytes.first() == Some(&b'.') && bytes.get(1).is_some_and(u8::is_ascii_digit);
        if is_next {
            self.advance(1);
            self.digits();
        }
        is_next
    }

    fn exponent(&mut self) -> bool {
        let mut ahead = *self;
        let is_next = (ahead.eat("e") || ahead.eat("E")) && !ahead.digits().is_empty();
        if is_next {
            *self = ahead;
        }
        is_next
    }

    fn end_number(&self, start: &Self, number: Datum) -> Result<Datum, Error> {
        let mut ahead = *self;
        if ahead.word().is_empty() {
            return Ok(number);
        }
        Err(start.error("a number, or a text in quotes"))
    }

    fn list(&mut self, depth: usize) -> Result<Box<[Datum]>, Error> {
        let mut items = Vec::new();
        self.expect("[")?;
        loop {
            self.skip_blanks();
            if self.eat("]") {
                return Ok(items.into());
            }
            items.push(self.nested_datum(depth + 1)?);
        }
    }

    fn row(&mut self, depth: usize) -> Result<Datum, Error> {
        let start = *self;
        let mut columns = Vec::new();
        self.expect("{")?;
        loop {
            self.skip_blanks();
            if self.eat("}") {
                break;
            }
            let name = self.nested_datum(depth + 1)?;
            self.expect(":")?;
            self.skip_blanks();
            columns.push((name, self.nested_datum(depth + 1)?));
        }
        let count = columns.len();
        match Datum::row(columns) {
            Datum::Row(columns) if columns.len() < count => Err(start.error("a row without repeated names")),
            row => Ok(row),
        }
    }

    fn angled(&mut self, depth: usize) -> Result<Datum, Error> {
        self.advance(1);
        if self.eat(FLOAT_BITS) {
            return self.float_bits();
        }
        let start = *self;
        let first = self.nested_datum(depth + 1)?;
        self.skip_blanks();
        if self.eat(">") {
            return Ok(first);
        }
        let Datum::Str(tag) = first else {
            return Err(start.error("a tag, which is a word or a text in quotes"));
        };
        let value = self.nested_datum(depth + 1)?;
        self.skip_blanks();
        self.expect(">")?;
        Ok(Datum::Tagged(Box::new((tag, value))))
    }

    fn float_bits(&mut self) -> Result<Datum, Error> {
        let start = *self;
        let digits = self.rest().bytes().take_while(u8::is_ascii_hexdigit).count();
        self.advance(digits);
        let bits = u64::from_str_radix(self.since(&start), 16);
        let bits = bits.map_err(|_| start.error("the bits of a float, up to 16 hexadecimal digits"))?;
        self.expect(">")?;
        Ok(Datum::Float(bits))
    }

    fn quoted(&mut self) -> Result<String, Error> {
        let start = *self;
        self.expect("\"")?;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find(['"', '\\']).ok_or_else(|| start.error("a text that ends with `\"`"))?;
            text.push_str(&rest[..plain]);
            self.advance(plain);
            if self.eat("\"") {
                return Ok(text);
            }
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        let start = *self;
        self.advance(1);
        let kind = self.peek();
        self.advance(usize::from(kind.is_ascii() && kind != 0));
        match kind {
            b'n' => Ok('\n'),
            b't' => Ok('\t'),
            b'r' => Ok('\r'),
            b'"' => Ok('"'),
            b'\\' => Ok('\\'),
            b'u' => self.code_point().ok_or_else(|| start.error("`\\u{` and the number of a character")),
            _ => Err(start.error("one of the escapes \\n \\t \\r \\\" \\\\ \\u{...}")),
        }
    }

    fn code_point(&mut self) -> Option<char> {
        let digits = self.rest().strip_prefix('{')?;
        let digits = &digits[..digits.find('}')?];
        self.advance(digits.len() + 2);
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        char::from_u32(u32::from_str_radix(digits, 16).ok().filter(|_| is_plain)?)
    }
}

/// Writes a key or a value.
pub(super) fn print_datum(out: &mut String, datum: &Datum) {
    match datum {
        Datum::Nil => out.push_str("nil"),
        Datum::Bool(truth) => put(out, truth),
        Datum::Int(int) => put(out, int),
        Datum::BigInt(digits) => out.push_str(digits),
        Datum::Float(bits) => print_float(out, *bits),
        Datum::Str(text) => print_text(out, text),
        Datum::Keyword(text) => print_prefixed(out, ':', text),
        Datum::Symbol(text) => print_prefixed(out, '\'', text),
        Datum::List(items) => print_list(out, items),
        Datum::Row(columns) => print_row(out, columns),
        Datum::Tagged(tagged) => print_tagged(out, &tagged.0, &tagged.1),
    }
}

fn put(out: &mut String, thing: impl std::fmt::Display) {
    write!(out, "{thing}").expect("a string takes everything");
}

fn print_float(out: &mut String, bits: u64) {
    let float = f64::from_bits(bits);
    match bits {
        _ if float.is_finite() => write!(out, "{float:?}").expect("a string takes everything"),
        PLAIN_NAN => out.push_str("+nan"),
        _ if float.is_nan() => put(out, format_args!("<{FLOAT_BITS}{bits:016x}>")),
        _ if float > 0.0 => out.push_str("+inf"),
        _ => out.push_str("-inf"),
    }
}

fn print_text(out: &mut String, text: &str) {
    match is_bare_string(text) {
        true => out.push_str(text),
        false => print_quoted(out, text),
    }
}

/// Writes a text in quotes, on one line whatever is in it.
pub(super) fn print_quoted(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            control if control.is_control() => put(out, format_args!("\\u{{{:x}}}", control as u32)),
            plain => out.push(plain),
        }
    }
    out.push('"');
}

fn print_prefixed(out: &mut String, prefix: char, text: &str) {
    out.push(prefix);
    match is_word(text) {
        true => out.push_str(text),
        false => print_quoted(out, text),
    }
}

fn print_list(out: &mut String, items: &[Datum]) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { " " });
        print_datum(out, item);
    }
    out.push(']');
}

fn print_row(out: &mut String, columns: &[(Datum, Datum)]) {
    out.push('{');
    for (index, (name, value)) in columns.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        print_datum(out, name);
        out.push_str(": ");
        print_datum(out, value);
    }
    out.push('}');
}

fn print_tagged(out: &mut String, tag: &str, value: &Datum) {
    out.push('<');
    match FLOAT_BITS.trim_end() == tag {
        true => print_quoted(out, tag),
        false => print_text(out, tag),
    }
    out.push(' ');
    print_datum(out, value);
    out.push('>');
}
