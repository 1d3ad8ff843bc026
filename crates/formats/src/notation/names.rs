//! The names of sessions and transactions in the notation.
//!
//! A bare `T7` is transaction number 7, since that is how it is printed everywhere else, and a bare `_3` is a session
//! without a name; the texts of that look are put in quotes. `a/2` is another session that is also called `a`.

use history::Datum;

use super::cursor::Cursor;
use super::datum::{print_datum, print_quoted};
use crate::Error;

/// Words that end a transaction, so that they name none.
const RESERVED: [&str; 5] = ["commit", "committed", "abort", "aborted", "unknown"];

/// What lines of one session have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Label {
    /// The name, or `None` for a session without one.
    pub name: Option<Datum>,
    /// Tells sessions of one name apart.
    pub number: u64,
}

/// A name as it stands, before it is known what it names.
pub(super) struct Name<'t> {
    datum: Datum,
    text: &'t str,
}

impl<'t> Cursor<'t> {
    /// The name of a session or a transaction.
    pub fn name(&mut self) -> Result<Name<'t>, Error> {
        let start = *self;
        let datum = self.datum()?;
        let text = self.since(&start);
        Ok(Name { datum, text })
    }

    /// The rest of a label after its name: a number if there is one, and the colon. `None` if it is no label.
    pub fn end_label(&mut self, name: &Name<'_>) -> Result<Option<Label>, Error> {
        let mut ahead = *self;
        let mut number = 1;
        if ahead.eat("/") {
            let start = ahead;
            number = ahead
                .digits()
                .parse()
                .map_err(|_| start.error("the number of the session among those of its name"))?;
        }
        if !ahead.eat(":") {
            return Ok(None);
        }
        *self = ahead;
        Ok(Some(match numbered(name.text, '_') {
            Some(unnamed) => Label { name: None, number: unnamed },
            None => Label { name: Some(name.datum.clone()), number },
        }))
    }
}

impl Name<'_> {
    /// The name, taken as that of a transaction.
    pub fn of_txn(self) -> Datum {
        match numbered(self.text, 'T') {
            Some(number) => Datum::uint(number),
            None => self.datum,
        }
    }
}

/// The number of a text such as `T7`.
fn numbered(text: &str, letter: char) -> Option<u64> {
    let digits = text.strip_prefix(letter)?;
    let is_canonical = digits == "0" || !digits.starts_with(['0', '+']);
    digits.parse().ok().filter(|_| is_canonical)
}

/// Writes the name of a transaction.
pub(super) fn print_txn_name(out: &mut String, name: &Datum) {
    match name {
        Datum::Int(number) if *number >= 0 => {
            out.push('T');
            print_datum(out, name);
        }
        Datum::Str(text) if RESERVED.contains(&&**text) || numbered(text, 'T').is_some() => {
            print_quoted(out, text);
        }
        name => print_name(out, name),
    }
}

/// Writes the label of a session, with its colon.
pub(super) fn print_label(out: &mut String, label: &Label) {
    match &label.name {
        None => out.push_str(&format!("_{}", label.number)),
        Some(Datum::Str(text)) if numbered(text, '_').is_some() => print_quoted(out, text),
        Some(name) => print_name(out, name),
    }
    if label.name.is_some() && label.number != 1 {
        out.push_str(&format!("/{}", label.number));
    }
    out.push(':');
}

/// A row as a name would look like the operations of a transaction.
fn print_name(out: &mut String, name: &Datum) {
    let is_row = matches!(name, Datum::Row(_));
    out.push_str(if is_row { "<" } else { "" });
    print_datum(out, name);
    out.push_str(if is_row { ">" } else { "" });
}
