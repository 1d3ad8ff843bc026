//! The words and signs of a predicate's text.

use super::{MAX_DEPTH, PredicateError};
use crate::Datum;

/// A place in a text.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// What is left, without blanks before it.
    pub fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let blanks = rest.len() - rest.trim_start().len();
        self.at += blanks;
        &self.text[self.at..]
    }

    pub fn is_at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// Takes a sign if it comes next.
    pub fn eat(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    pub fn expect(&mut self, sign: &str) -> Result<(), PredicateError> {
        match self.eat(sign) {
            true => Ok(()),
            false => Err(self.error(format!("`{sign}`"))),
        }
    }

    /// Takes a keyword if it comes next, in letters of either size.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let is_next = self.peek_word().eq_ignore_ascii_case(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    pub fn expect_word(&mut self, word: &str) -> Result<(), PredicateError> {
        match self.eat_word(word) {
            true => Ok(()),
            false => Err(self.error(format!("`{word}`"))),
        }
    }

    /// The word that comes next: a letter or `_`, then letters, digits, `_`, `.` and `-`. Empty if there is none.
    pub fn peek_word(&mut self) -> &'t str {
        let rest = self.rest();
        let is_inner = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.' | '-');
        let begins_well = rest.starts_with(|char: char| char.is_alphabetic() || char == '_');
        let length = rest.find(|char| !is_inner(char)).unwrap_or(rest.len());
        if begins_well { &rest[..length] } else { "" }
    }

    pub fn take_word(&mut self) -> &'t str {
        let word = self.peek_word();
        self.at += word.len();
        word
    }

    /// Goes one level deeper.
    pub fn enter(&mut self) -> Result<(), PredicateError> {
        self.depth += 1;
        match self.depth <= MAX_DEPTH {
            true => Ok(()),
            false => Err(self.error(format!("at most {MAX_DEPTH} parts inside each other"))),
        }
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// A number, if one comes next.
    pub fn number(&mut self) -> Result<Option<Datum>, PredicateError> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
        if !bytes.get(sign).is_some_and(u8::is_ascii_digit) {
            return Ok(None);
        }
        let length = sign + number_length(&bytes[sign..]);
        let text = &rest[..length];
        let number = match text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-')) {
            true => Datum::int_from_decimal(text),
            false => text.parse().ok().filter(|float: &f64| float.is_finite()).map(Datum::float),
        };
        let number = number.ok_or_else(|| self.error("a number"))?;
        self.at += length;
        Ok(Some(number))
    }

    /// A text between quotes, in which the quote is written twice.
    pub fn quoted(&mut self, quote: char) -> Result<String, PredicateError> {
        let start = self.rest();
        let mut text = String::new();
        let mut chars = start.char_indices().skip(1).peekable();
        while let Some((place, char)) = chars.next() {
            if char != quote {
                text.push(char);
            } else if chars.peek().is_some_and(|&(_, next)| next == quote) {
                chars.next();
                text.push(quote);
            } else {
                self.at += place + 1;
                return Ok(text);
            }
        }
        Err(self.error(format!("a text that ends with `{quote}`")))
    }

    pub fn error(&mut self, expected: impl Into<String>) -> PredicateError {
        let rest = self.rest();
        let found = match rest.char_indices().nth(20) {
            _ if rest.is_empty() => "the end".into(),
            Some((end, _)) => format!("`{}...`", &rest[..end]),
            None => format!("`{rest}`"),
        };
        PredicateError { expected: expected.into(), found, at: Some(self.at) }
    }
}

/// Digits, perhaps with a fraction and an exponent.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'-' | b'+')));
        let start = (length + 1 + sign).min(bytes.len());
        if digits(start) > 0 {
            length = start + digits(start);
        }
    }
    length
}
