//! Why a history could not be read or written: the file, the place, what was expected, what was found, what to do.

use std::fmt;
use std::io;

use history::Backwards;

/// What sort of failure it is, so that a caller can tell a limit from bad input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The operating system refused to read or write.
    Io,
    /// The content is not what its format says.
    Input,
    /// No format was recognised.
    UnknownFormat,
    /// A limit on memory or on the size of the input was reached.
    Limit,
    /// The format that is to be written cannot express something of the history.
    CannotExpress,
}

/// Where in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// The file as a whole.
    #[default]
    Whole,
    /// A line, from 1.
    Line(u64),
    /// A line and a column in bytes, both from 1.
    Column(u64, u64),
    /// An offset in bytes, after decompression.
    Byte(u64),
}

/// A failure to read or write a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(Box<Details>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Details {
    kind: ErrorKind,
    file: String,
    place: Place,
    expected: String,
    found: String,
    hint: String,
}

impl Error {
    /// The content at a place is not what its format says; both texts read on after "expected" and "found".
    pub fn input(file: &str, place: Place, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, file, place, expected, found)
    }

    /// The times at a place run backwards.
    pub fn backwards(file: &str, place: Place, backwards: &Backwards) -> Self {
        Self::input(file, place, backwards.expected(), backwards.found()).with_hint(Backwards::HINT)
    }

    /// The operating system's answer.
    pub fn io(file: &str, error: &io::Error) -> Self {
        Self::new(ErrorKind::Io, file, Place::Whole, "", error.to_string())
    }

    /// A limit was reached; the text is a sentence.
    pub fn limit(file: &str, place: Place, sentence: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, file, place, "", sentence)
    }

    /// The format cannot express something of the history; the text is a sentence.
    pub fn cannot_express(sentence: impl Into<String>) -> Self {
        Self::new(ErrorKind::CannotExpress, "", Place::Whole, "", sentence)
    }

    /// No format was recognised; the text says what was seen.
    pub fn unknown_format(file: &str, found: impl Into<String>) -> Self {
        Self::new(
            ErrorKind::UnknownFormat,
            file,
            Place::Whole,
            "a history in one of the known formats",
            found,
        )
    }

    fn new(
        kind: ErrorKind,
        file: &str,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self(Box::new(Details {
            kind,
            file: file.to_owned(),
            place,
            expected: expected.into(),
            found: found.into(),
            hint: String::new(),
        }))
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = hint.into();
        self
    }

    /// Names the file, where the part that failed did not know it.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        if self.0.file.is_empty() {
            self.0.file = file.to_owned();
        }
        self
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file, as the user named it.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// Where in the file.
    pub fn place(&self) -> Place {
        self.0.place
    }

    /// What was expected there, if that is what was wrong.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }

    /// What was found instead, or what happened.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// What the user can do, if anything is known.
    pub fn hint(&self) -> &str {
        &self.0.hint
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = &*self.0;
        out.write_str(&details.file)?;
        match details.place {
            Place::Whole => {}
            Place::Line(line) => write!(out, ":{line}")?,
            Place::Column(line, column) => write!(out, ":{line}:{column}")?,
            Place::Byte(offset) => write!(out, ": byte {offset}")?,
        }
        if !details.file.is_empty() || details.place != Place::Whole {
            out.write_str(": ")?;
        }
        match details.expected.as_str() {
            "" => out.write_str(&details.found)?,
            expected => write!(out, "expected {expected}, found {}", details.found)?,
        }
        if !details.hint.is_empty() {
            write!(out, " ({})", details.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// For writers, which do not know the name of what they write to; see [`Error::in_file`].
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::io("", &error)
    }
}

/// A short printable rendering of bytes from the input, for the "found" of an error.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    if bytes.is_empty() {
        return "nothing".into();
    }
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    let rest = if bytes.len() > LONGEST { "..." } else { "" };
    let escaped: String = shown
        .chars()
        .map(
            |char| {
                if matches!(char, '"' | '\'') { char.to_string() } else { char.escape_debug().to_string() }
            },
        )
        .collect();
    format!("`{escaped}{rest}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_a_sentence_with_its_place() {
        let error = Error::input("a.txt", Place::Line(3), "`r(` or `w(`", excerpt(b"x(1"));
        assert_eq!(error.to_string(), "a.txt:3: expected `r(` or `w(`, found `x(1`");
        let error = Error::input("a", Place::Column(3, 7), "a digit", "`x`").with_hint("see docs");
        assert_eq!(error.to_string(), "a:3:7: expected a digit, found `x` (see docs)");
        let error = Error::limit("b", Place::Byte(9), "too large");
        assert_eq!(error.to_string(), "b: byte 9: too large");
        let error = Error::cannot_express("no lists").in_file("c");
        assert_eq!(error.to_string(), "c: no lists");
    }

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt(b""), "nothing");
        assert_eq!(excerpt(b"a\n\"b\""), "`a\\n\"b\"`");
        assert_eq!(excerpt(&[b'x'; 50]), format!("`{}...`", "x".repeat(40)));
    }
}
