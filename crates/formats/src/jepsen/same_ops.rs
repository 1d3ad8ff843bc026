//! Whether a completion is about the operations that were invoked.
//!
//! An `:ok` completes what its process invoked: the same micro-operations on the same keys, with the same values where
//! they write. A recording in which it does not was damaged or mixed up, and what is left of it would hold at levels
//! that the whole transaction violates. Spellings are compared first, and parsed only where they differ, so the pass
//! costs little beside reading the values.

use super::plain_op::is_same_vector;
use crate::edn::{Scanner, Stop};
use crate::error::excerpt;

/// What was expected and what was found instead.
pub(super) struct Difference {
    pub expected: String,
    pub found: String,
}

/// Compares the micro-operations of an invocation with those of its completion; both must be well formed.
pub(super) fn difference<'w>(
    invoked: Scanner<'w>,
    completed: Scanner<'w>,
) -> Result<Option<Difference>, Stop> {
    if is_same_vector(&invoked, &completed) == Some(true) {
        return Ok(None);
    }
    let (mut invoked, mut completed) = (MicroOps::open(invoked)?, MicroOps::open(completed)?);
    let mut place = 0;
    loop {
        place += 1;
        match (invoked.next()?, completed.next()?) {
            (None, None) => return Ok(None),
            (Some(asked), Some(done)) if asked.is_completed_by(&done)? => {}
            (asked, done) => {
                let text = |op: Option<MicroOp<'_>>| op.map_or("nothing".into(), |op| excerpt(op.text()));
                let expected = format!("micro-operation {place} to be {} as it was invoked", text(asked));
                return Ok(Some(Difference { expected, found: text(done) }));
            }
        }
    }
}

/// The micro-operations of a vector or list, one after the other.
struct MicroOps<'w> {
    scanner: Scanner<'w>,
    closer: u8,
}

/// One of them, placed behind its word.
struct MicroOp<'w> {
    word: &'w [u8],
    start: usize,
    /// At the key or the predicate.
    scanner: Scanner<'w>,
}

impl<'w> MicroOps<'w> {
    fn open(mut scanner: Scanner<'w>) -> Result<Self, Stop> {
        let closer = open(&mut scanner)?;
        Ok(Self { scanner, closer })
    }

    fn next(&mut self) -> Result<Option<MicroOp<'w>>, Stop> {
        self.scanner.skip_blanks()?;
        if self.scanner.eat(self.closer)? {
            return Ok(None);
        }
        let mut inner = self.scanner;
        self.scanner.skip_form()?;
        let start = inner.at;
        open(&mut inner)?;
        let word = match inner.peek()? {
            b':' => &inner.token()?[1..],
            b'"' => inner.raw_string()?,
            _ => return Err(inner.bad("the name of a micro-operation such as :r")),
        };
        inner.skip_blanks()?;
        inner.bytes = &inner.bytes[..self.scanner.at];
        Ok(Some(MicroOp { word, start, scanner: inner }))
    }
}

fn open(scanner: &mut Scanner<'_>) -> Result<u8, Stop> {
    let closer = match scanner.peek()? {
        b'[' => b']',
        b'(' => b')',
        _ => return Err(scanner.bad("a vector of micro-operations such as [[:r 1 nil] [:w 2 3]]")),
    };
    scanner.at += 1;
    scanner.skip_blanks()?;
    Ok(closer)
}

impl MicroOp<'_> {
    fn text(&self) -> &[u8] {
        &self.scanner.bytes[self.start..]
    }

    /// Whether both are the same operation on the same key, with the same value if it is one that writes.
    fn is_completed_by(&self, done: &MicroOp<'_>) -> Result<bool, Stop> {
        let forms = match self.word {
            b"w" | b"append" | b"insert" => 2,
            _ => 1,
        };
        let (mut asked, mut found) = (self.scanner, done.scanner);
        let mut is_same = self.word == done.word;
        for _ in 0..forms {
            is_same = is_same && is_same_form(&mut asked, &mut found)?;
        }
        Ok(is_same)
    }
}

/// Whether the next form of both is the same, by its spelling or else by its value; passes over it.
fn is_same_form(left: &mut Scanner<'_>, right: &mut Scanner<'_>) -> Result<bool, Stop> {
    let (start_left, start_right) = (*left, *right);
    left.skip_form()?;
    right.skip_form()?;
    let is_same_spelling = left.bytes[start_left.at..left.at] == right.bytes[start_right.at..right.at];
    let (mut again_left, mut again_right) = (start_left, start_right);
    let is_same = is_same_spelling || again_left.datum()? == again_right.datum()?;
    left.skip_blanks()?;
    right.skip_blanks()?;
    Ok(is_same)
}
