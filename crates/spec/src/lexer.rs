//! Text to tokens.
//!
//! The language has a dozen symbols and names with inner dashes, so a scanner by hand is shorter than a generated one.
//! A dash belongs to a name only if a letter or digit follows it directly: `a-b` is a name, `a - b` is a difference.

use std::ops::Range;

use crate::error::{SpecError, SpecErrorKind};

/// A word or symbol of the language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    Name(String),
    /// The name of a level after `@`: the transactions that ran at it.
    RanAt(String),
    /// Text in double quotes, without them.
    Text(String),
    /// A line of `///`, without the slashes.
    Doc(String),
    Symbol(&'static str),
    End,
}

/// A token and the bytes it stands on.
#[derive(Clone, Debug)]
pub(crate) struct Spanned {
    pub token: Token,
    pub span: Range<usize>,
}

/// Longest first, so that `<=>` is never read as `<:` and a rest.
const SYMBOLS: [&str; 25] = [
    "<=>", "=>", "!=", "<:", ":>", "><", "=", ":", ",", ".", ";", "|", "&", "!", "-", "+", "*", "?", "~",
    "(", ")", "[", "]", "{", "}",
];

/// Splits a text; the last token is always [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Spanned>, SpecError> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = blank_length(rest);
        if length > 0 {
            at += length;
            continue;
        }
        let (token, length) = one_token(rest, at)?;
        found.push(Spanned { token, span: at..at + length });
        at += length;
    }
    // What is missing at the end is missing after the last word, not after the blank lines that follow.
    let end = text.trim_end().len();
    found.push(Spanned { token: Token::End, span: end..end });
    Ok(found)
}

fn blank_length(rest: &str) -> usize {
    if rest.starts_with("//") && !rest.starts_with("///") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    rest.len() - rest.trim_start().len()
}

fn one_token(rest: &str, at: usize) -> Result<(Token, usize), SpecError> {
    if let Some(doc) = rest.strip_prefix("///") {
        let line = doc.split('\n').next().unwrap_or("");
        return Ok((Token::Doc(line.trim().to_string()), 3 + line.len()));
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted_text(quoted, at);
    }
    if let Some(level) = rest.strip_prefix('@').filter(|level| !level.is_empty() && name_length(level) > 0) {
        let length = name_length(level);
        return Ok((Token::RanAt(level[..length].to_string()), length + 1));
    }
    let name = name_length(rest);
    if name > 0 {
        return Ok((Token::Name(rest[..name].to_string()), name));
    }
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        return Ok((Token::Symbol(symbol), symbol.len()));
    }
    let wrong = rest.chars().next().expect("a rest is not empty");
    Err(SpecError::new(
        SpecErrorKind::Syntax,
        at..at + wrong.len_utf8(),
        format!("`{wrong}` has no meaning in a spec"),
    ))
}

fn quoted_text(quoted: &str, at: usize) -> Result<(Token, usize), SpecError> {
    let line = quoted.split('\n').next().unwrap_or("");
    match line.find('"') {
        Some(end) => Ok((Token::Text(line[..end].to_string()), end + 2)),
        None => Err(SpecError::new(
            SpecErrorKind::Syntax,
            at..at + 1 + line.len(),
            "this text has no closing quote on its line",
        )),
    }
}

fn name_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    if !bytes[0].is_ascii_alphabetic() && bytes[0] != b'_' {
        return 0;
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut length = 1;
    while length < bytes.len() {
        let dash_inside = bytes[length] == b'-' && bytes.get(length + 1).copied().is_some_and(is_word);
        if !is_word(bytes[length]) && !dash_inside {
            break;
        }
        length += 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_join_names_only_from_inside() {
        let kinds: Vec<Token> =
            tokens("a-b - c // rest").unwrap().into_iter().map(|spanned| spanned.token).collect();
        let name = |text: &str| Token::Name(text.to_string());
        assert_eq!(kinds, [name("a-b"), Token::Symbol("-"), name("c"), Token::End]);
    }
}
