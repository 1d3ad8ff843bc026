//! Keys and values from EDN and JSON.
//!
//! What EDN has and the model has not becomes a tagged value: `\a` is `char`, `#{1}` is `set` (sorted), `1/2` is
//! `ratio`, `1.50M` is `decimal`; they are written back as they were.

use history::Datum;

use super::MAX_DEPTH;
use super::scanner::{Scanner, Stop, Syntax};

impl Scanner<'_> {
    /// A form as data; blanks before it were passed already.
    #[inline]
    pub fn datum(&mut self) -> Result<Datum, Stop> {
        match self.small_int() {
            Some(int) => Ok(Datum::Int(int)),
            None => self.nested_datum(0),
        }
    }

    /// An integer of at most eighteen digits, if that is what comes next.
    #[inline]
    pub fn small_int(&mut self) -> Option<i64> {
        let digits = &self.bytes[self.at.min(self.bytes.len())..];
        let (mut int, mut length) = (0i64, 0);
        while let Some(&digit) = digits.get(length)
            && digit.is_ascii_digit()
            && length < 18
        {
            int = int * 10 + i64::from(digit - b'0');
            length += 1;
        }
        let is_whole = matches!(digits.get(length), Some(b' ' | b',' | b']' | b')' | b'}'));
        let is_canonical = length > 0 && (length == 1 || digits[0] != b'0');
        (is_whole && is_canonical).then(|| {
            self.at += length;
            int
        })
    }

    fn nested_datum(&mut self, depth: usize) -> Result<Datum, Stop> {
        if depth > MAX_DEPTH {
            return Err(self.bad("fewer brackets inside each other"));
        }
        match self.peek()? {
            b'"' => self.string().map(Datum::Str),
            b'[' | b'(' => self.items(depth).map(|items| Datum::List(items.into())),
            b'{' => self.row(depth),
            b'#' if self.syntax == Syntax::Edn => self.dispatch(depth),
            b'\\' if self.syntax == Syntax::Edn => self.char(),
            _ => self.atom(),
        }
    }

    /// The forms between brackets of any sort.
    fn items(&mut self, depth: usize) -> Result<Vec<Datum>, Stop> {
        let closer = match self.peek()? {
            b'[' => b']',
            b'(' => b')',
            _ => b'}',
        };
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.eat(closer)? {
                return Ok(items);
            }
            items.push(self.nested_datum(depth + 1)?);
        }
    }

    fn row(&mut self, depth: usize) -> Result<Datum, Stop> {
        let start = self.at;
        let forms = self.items(depth)?;
        let count = forms.len();
        let mut forms = forms.into_iter();
        let mut columns = Vec::with_capacity(count / 2);
        while let (Some(name), Some(value)) = (forms.next(), forms.next()) {
            columns.push((name, value));
        }
        match Datum::row(columns) {
            Datum::Row(columns) if columns.len() * 2 == count => Ok(Datum::Row(columns)),
            _ => Err(Stop::Bad(start, "a map with a value for each key and no key twice")),
        }
    }

    fn dispatch(&mut self, depth: usize) -> Result<Datum, Stop> {
        let start = self.at;
        self.at += 1;
        if self.peek()? == b'{' {
            let mut items = self.items(depth)?;
            items.sort();
            return Ok(tagged("set", Datum::List(items.into())));
        }
        let tag = self.token()?;
        match tag {
            b"#NaN" => return Ok(Datum::float(f64::NAN)),
            b"#Inf" => return Ok(Datum::float(f64::INFINITY)),
            b"#-Inf" => return Ok(Datum::float(f64::NEG_INFINITY)),
            _ => {}
        }
        let tag = text(tag).filter(|tag| !tag.is_empty() && !tag.starts_with('#'));
        let tag = tag.ok_or(Stop::Bad(start, "a tag"))?;
        self.skip_blanks()?;
        Ok(tagged(tag, self.nested_datum(depth + 1)?))
    }

    fn char(&mut self) -> Result<Datum, Stop> {
        let start = self.at;
        self.skip_char()?;
        let name = text(&self.bytes[start + 1..self.at]);
        let char = match name {
            Some("newline") => Some('\n'),
            Some("return") => Some('\r'),
            Some("space") => Some(' '),
            Some("tab") => Some('\t'),
            Some("formfeed") => Some('\u{c}'),
            Some("backspace") => Some('\u{8}'),
            Some(name) if name.chars().count() == 1 => name.chars().next(),
            Some(name) => name
                .strip_prefix('u')
                .filter(|digits| digits.len() == 4)
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .and_then(char::from_u32),
            None => None,
        };
        let char = char.ok_or(Stop::Bad(start, "a character"))?;
        Ok(tagged("char", Datum::str(char.to_string())))
    }

    fn atom(&mut self) -> Result<Datum, Stop> {
        let start = self.at;
        let bytes = self.token()?;
        let token = text(bytes).ok_or(Stop::Bad(start, "text in UTF-8"))?;
        let is_json = self.syntax == Syntax::Json;
        let unsigned = token.strip_prefix(['-', '+']).unwrap_or(token);
        let datum = match token {
            "" => None,
            "true" => Some(Datum::Bool(true)),
            "false" => Some(Datum::Bool(false)),
            "nil" if !is_json => Some(Datum::Nil),
            "null" if is_json => Some(Datum::Nil),
            _ if unsigned.starts_with(|first: char| first.is_ascii_digit()) => number(token, is_json),
            _ if is_json => None,
            _ => Some(match token.strip_prefix(':') {
                Some("") => return Err(Stop::Bad(start, "a keyword")),
                Some(keyword) => Datum::Keyword(keyword.into()),
                None => Datum::Symbol(token.into()),
            }),
        };
        datum.ok_or(Stop::Bad(start, "a value"))
    }

    /// A string with its escapes decoded.
    pub fn string(&mut self) -> Result<Box<str>, Stop> {
        let start = self.at;
        let raw = self.raw_string()?;
        let raw = text(raw).ok_or(Stop::Bad(start, "text in UTF-8"))?;
        if !raw.contains('\\') {
            return Ok(raw.into());
        }
        let decoded = unescape(raw).ok_or(Stop::Bad(start, "a string with known escapes"))?;
        Ok(decoded.into())
    }
}

fn tagged(tag: &str, value: Datum) -> Datum {
    Datum::Tagged(Box::new((tag.into(), value)))
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A number as EDN or JSON writes it.
pub(super) fn number(token: &str, is_json: bool) -> Option<Datum> {
    if let Some(int) = Datum::int_from_decimal(token) {
        return Some(int);
    }
    let is_decimal =
        |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_decimal(token) {
        return token.parse().ok().filter(|float: &f64| float.is_finite()).map(Datum::float);
    }
    if is_json {
        return None;
    }
    if let Some(int) = token.strip_suffix('N') {
        return Datum::int_from_decimal(int);
    }
    if let Some(decimal) = token.strip_suffix('M') {
        let is_number = is_decimal(decimal) && decimal.parse::<f64>().is_ok();
        return is_number.then(|| tagged("decimal", decimal.into()));
    }
    let (above, below) = token.split_once('/')?;
    let is_ratio =
        Datum::int_from_decimal(above).is_some() && below.bytes().all(|byte| byte.is_ascii_digit());
    (is_ratio && !below.is_empty()).then(|| tagged("ratio", token.into()))
}

/// The escapes of EDN and JSON, which are the same but for `\/`.
fn unescape(raw: &str) -> Option<String> {
    let mut decoded = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(place) = rest.find('\\') {
        decoded.push_str(&rest[..place]);
        rest = &rest[place + 1..];
        let kind = rest.chars().next()?;
        rest = &rest[kind.len_utf8()..];
        decoded.push(match kind {
            '"' | '\\' | '/' => kind,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => unicode_escape(&mut rest)?,
            _ => return None,
        });
    }
    decoded.push_str(rest);
    Some(decoded)
}

fn unicode_escape(rest: &mut &str) -> Option<char> {
    let unit = hex_unit(rest)?;
    if !(0xd800..0xdc00).contains(&unit) {
        return char::from_u32(unit);
    }
    *rest = rest.strip_prefix("\\u")?;
    let low = hex_unit(rest).filter(|low| (0xdc00..0xe000).contains(low))?;
    char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
}

fn hex_unit(rest: &mut &str) -> Option<u32> {
    let digits = rest.get(..4)?;
    *rest = &rest[4..];
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}
