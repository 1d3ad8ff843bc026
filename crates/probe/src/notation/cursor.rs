//! A place in a line, with the few moves that the parser is made of.

use history::Datum;

use super::excerpt;
use crate::Txn;
use crate::schedule::MOST_TXNS;

/// Where the parser is.
pub(crate) struct Cursor<'t> {
    rest: &'t str,
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// What is left.
    pub fn rest(&self) -> &'t str {
        self.rest
    }

    pub fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    /// Takes a text if it comes next.
    pub fn eat(&mut self, text: &str) -> bool {
        let after = self.rest.strip_prefix(text);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Takes a word that is followed by none of its own letters.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let ends = |after: &str| !after.starts_with(|char: char| char.is_alphanumeric() || char == '_');
        let after = self.rest.strip_prefix(word).filter(|after| ends(after));
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    pub fn expect(&mut self, text: &str) -> Result<(), String> {
        match self.eat(text) {
            true => Ok(()),
            false => Err(self.error(&format!("`{text}`"))),
        }
    }

    /// The characters that satisfy a condition.
    pub fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|char| !is_part(char)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    pub fn integer(&mut self) -> Result<i64, String> {
        let before = self.rest;
        let sign = if self.eat("-") { "-" } else { "" };
        let digits = self.take_while(|char| char.is_ascii_digit());
        format!("{sign}{digits}").parse().map_err(|_| {
            self.rest = before;
            self.error("an integer")
        })
    }

    /// An integer, as a value.
    pub fn value(&mut self) -> Result<Datum, String> {
        self.integer().map(Datum::Int)
    }

    /// An integer or a word, as a key.
    pub fn key(&mut self) -> Result<Datum, String> {
        if self.peek().is_some_and(|char| char.is_ascii_digit() || char == '-') {
            return self.value();
        }
        match self.take_while(|char| char.is_alphanumeric() || char == '_' || char == '-') {
            "" => Err(self.error("a key, an integer or a word")),
            word => Ok(Datum::str(word)),
        }
    }

    /// The number of a transaction.
    pub fn txn(&mut self) -> Result<Txn, String> {
        match self.peek().and_then(|char| char.to_digit(10)) {
            Some(number) if number >= 1 && number as usize <= MOST_TXNS => {
                self.next();
                Ok(Txn(number as usize - 1))
            }
            _ => Err(self.error("the number of a transaction, 1 to 9")),
        }
    }

    pub fn error(&self, expected: &str) -> String {
        match self.rest {
            "" => format!("expected {expected}, found the end of the line"),
            rest => format!("expected {expected}, found `{}`", excerpt(rest)),
        }
    }
}
