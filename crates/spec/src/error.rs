//! A mistake in a spec, with the place it was made at.
//!
//! One message, one place, one optional hint: the text of the file is shown with the offending words underlined.
//! Rendering is forty lines of our own rather than a dependency, because a spec error never has more than one label.

use std::fmt;
use std::ops::Range;

/// What kind of mistake a spec holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpecErrorKind {
    /// The text is not of the language.
    Syntax,
    /// A name that nothing defines.
    UnknownName,
    /// A name used where a thing of another sort belongs.
    WrongSort,
    /// A name given the wrong number of arguments, or a relation of the wrong width.
    WrongArity,
    /// Definitions that lead back to themselves.
    CyclicDefinition,
    /// A name defined twice.
    DuplicateName,
    /// A relation that the level's framework does not have.
    NotInFramework,
    /// A file that cannot be included.
    Include,
    /// An expression, or what its definitions expand to, beyond what is evaluated.
    TooLarge,
}

/// A mistake in a spec and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    /// What kind of mistake it is.
    pub kind: SpecErrorKind,
    /// What is wrong, in one line.
    pub message: String,
    /// What could be done about it, in one line.
    pub hint: Option<String>,
    /// The bytes of the text that are wrong.
    pub span: Range<usize>,
    /// The file, and its whole text.
    pub file: SourceFile,
}

/// A file of the language, by name and text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceFile {
    /// The path it was asked for by.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// Bytes of a line that is shown whole.
const LONGEST_LINE: usize = 300;

impl SpecError {
    pub(crate) fn new(kind: SpecErrorKind, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, span, file: SourceFile::default() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn in_file(mut self, file: &SourceFile) -> Self {
        if self.file.name.is_empty() {
            self.file = file.clone();
        }
        self
    }

    /// Line and column of the place, both counted from 1; columns count characters.
    pub fn place(&self) -> (usize, usize) {
        let before = &self.file.text[..self.span.start.min(self.file.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    fn marked_line(&self) -> (&str, usize, usize) {
        let text = &self.file.text;
        let start = self.span.start.min(text.len());
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let indent = text[line_start..start].chars().count();
        let marked_end = self.span.end.clamp(start, line_end);
        let width = text[start..marked_end].chars().count().max(1);
        if line_end - line_start <= LONGEST_LINE {
            return (&text[line_start..line_end], indent, width);
        }
        // Of a line that fills screens only what begins at the place is shown.
        let shown_end = text[start..line_end].char_indices().nth(LONGEST_LINE / 2);
        let shown_end = shown_end.map_or(line_end, |(offset, _)| start + offset);
        (&text[start..shown_end], 0, width.min(LONGEST_LINE / 2))
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.place();
        let (text, indent, width) = self.marked_line();
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(out, "error: {}", self.message)?;
        writeln!(out, "{margin}--> {}:{line}:{column}", self.file.name)?;
        writeln!(out, "{margin} |")?;
        writeln!(out, "{number} | {text}")?;
        write!(out, "{margin} | {}{}", " ".repeat(indent), "^".repeat(width))?;
        match &self.hint {
            Some(hint) => write!(out, "\n{margin} = {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SpecError {}
