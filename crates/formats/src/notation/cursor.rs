//! A place in one line of the notation, with the few moves that the parser is made of.

use history::Backwards;

use crate::error::excerpt;
use crate::{Error, Place};

/// Where the parser is.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
    file: &'t str,
    line: u64,
}

impl<'t> Cursor<'t> {
    /// The start of a line.
    pub fn new(file: &'t str, line: u64, text: &'t str) -> Self {
        Self { text, at: 0, file, line }
    }

    /// What is left of the line.
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next byte, or 0 at the end.
    pub fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// The bytes since an earlier state of this cursor.
    pub fn since(&self, earlier: &Self) -> &'t str {
        &self.text[earlier.at..self.at]
    }

    /// Moves on; the count ends at a character.
    pub fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Takes a text if it comes next.
    pub fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// Takes a text, or says that it was expected.
    pub fn expect(&mut self, text: &str) -> Result<(), Error> {
        if self.eat(text) {
            return Ok(());
        }
        Err(self.error(format!("`{text}`")))
    }

    /// Passes blanks and commas, and a comment, which goes to the end of the line.
    pub fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b',') {
            self.at += 1;
        }
        if self.peek() == b'#' {
            self.at = self.text.len();
        }
    }

    /// Whether nothing is left.
    pub fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Takes an `=` with the blanks around it, if there is one.
    pub fn eat_equals(&mut self) -> bool {
        let mut ahead = *self;
        ahead.skip_blanks();
        let is_next = ahead.eat("=");
        if is_next {
            ahead.skip_blanks();
            *self = ahead;
        }
        is_next
    }

    /// A bare word: a letter or `_`, then letters, digits, `_` and `-`. Empty if there is none.
    pub fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let word = &rest[..word_length(rest)];
        self.at += word.len();
        word
    }

    /// Digits with an optional sign, as they stand. Empty if there are none.
    pub fn digits(&mut self) -> &'t str {
        let bytes = self.rest().as_bytes();
        let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
        let digits = bytes[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length = if digits == 0 { 0 } else { sign + digits };
        self.at += length;
        &self.text[self.at - length..self.at]
    }

    /// An integer of 64 bits that can be stored as a time or a version.
    pub fn stored_int(&mut self, what: &str) -> Result<i64, Error> {
        let start = *self;
        let parsed = self.digits().parse::<i64>().ok();
        // The smallest one stands for "not recorded" in the columns.
        parsed
            .filter(|&int| int != i64::MIN)
            .ok_or_else(|| start.error(format!("{what}, an integer of 64 bits")))
    }

    /// An error here.
    pub fn error(&self, expected: impl Into<String>) -> Error {
        let found = match self.rest() {
            "" => "the end of the line".into(),
            rest => excerpt(rest.as_bytes()),
        };
        let place = Place::Column(self.line, self.at as u64 + 1);
        Error::input(self.file, place, expected, found).with_hint("docs/formats/notation.md has the grammar")
    }

    /// An error about the times that were just read.
    pub fn backwards(&self, backwards: &Backwards) -> Error {
        Error::backwards(self.file, Place::Column(self.line, self.at as u64), backwards)
    }
}

fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_plain = |&&byte: &&u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let length = bytes.iter().take_while(is_plain).count();
    let begins_well = bytes.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_');
    if bytes.get(length).is_none_or(u8::is_ascii) && (begins_well || bytes.first().is_none_or(u8::is_ascii)) {
        return if begins_well { length } else { 0 };
    }
    word_length_in_chars(text)
}

/// The same where not all is ASCII.
fn word_length_in_chars(text: &str) -> usize {
    let mut length = 0;
    for char in text.chars() {
        let is_inner = length > 0 && (char.is_numeric() || char == '-');
        if !(char.is_alphabetic() || char == '_' || is_inner) {
            break;
        }
        length += char.len_utf8();
    }
    length
}

/// Whether a text is a word that can stand without quotes behind a prefix.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && word_length(text) == text.len()
}

/// Whether a text can stand without quotes and is a string then.
pub(super) fn is_bare_string(text: &str) -> bool {
    is_word(text) && !matches!(text, "nil" | "true" | "false")
}
