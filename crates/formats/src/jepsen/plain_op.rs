//! Micro-operations as nearly all are: `[:r 21426 nil]`, `[:w 58666 25]`.
//!
//! A transaction is written twice, when it is invoked and when it is completed, and each of its micro-operations was
//! looked at six times: to find the end of the value (twice), to read it, and three times to compare the two. Here it is
//! taken apart once for each of these, eight digits at a time. Whatever looks otherwise is left to the general scanner,
//! which also says what is wrong with it.

use crate::edn::{Scanner, Syntax};
use crate::scan::small_decimal;

/// A read or a write of an integer key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlainOp {
    pub is_write: bool,
    pub key: i64,
    /// `None` is nil.
    pub value: Option<i64>,
}

/// The micro-operation at the beginning of a text, and how long it is.
#[inline(always)]
pub(super) fn plain_op(text: &[u8]) -> Option<(PlainOp, usize)> {
    let &[b'[', b':', word @ (b'r' | b'w'), b' '] = text.first_chunk()? else { return None };
    let (key, key_length) = plain_int(&text[4..])?;
    let value_at = 4 + key_length + 1;
    let rest = text.get(value_at..)?;
    let (value, value_length) = match rest.starts_with(b"nil") {
        true => (None, 3),
        false => plain_int(rest).map(|(int, length)| (Some(int), length))?,
    };
    let is_plain = text[value_at - 1] == b' ' && rest.get(value_length) == Some(&b']');
    is_plain.then_some((PlainOp { is_write: word == b'w', key, value }, value_at + value_length + 1))
}

/// A number without zeros before it, which would mean something else.
#[inline(always)]
fn plain_int(text: &[u8]) -> Option<(i64, usize)> {
    let (number, length) = small_decimal(text)?;
    let is_decimal = length == 1 || text[0] != b'0';
    i64::try_from(number).ok().filter(|_| is_decimal).map(|int| (int, length))
}

/// How long a vector of plain micro-operations is that a scanner stands at; `None` if it is none.
pub(super) fn plain_vector(scanner: &Scanner<'_>) -> Option<usize> {
    let mut ops = PlainOps::open(scanner)?;
    while ops.next()?.is_some() {}
    Some(ops.at - scanner.at)
}

/// Whether a completion has the micro-operations of its invocation; `None` if they are not all plain.
pub(super) fn is_same_vector(invoked: &Scanner<'_>, completed: &Scanner<'_>) -> Option<bool> {
    let (mut invoked, mut completed) = (PlainOps::open(invoked)?, PlainOps::open(completed)?);
    loop {
        let is_same = match (invoked.next()?, completed.next()?) {
            (None, None) => return Some(true),
            (Some(asked), Some(done)) => {
                asked.is_write == done.is_write
                    && asked.key == done.key
                    && (!asked.is_write || asked.value == done.value)
            }
            _ => false,
        };
        if !is_same {
            return Some(false);
        }
    }
}

/// The plain micro-operations of a vector.
struct PlainOps<'w> {
    bytes: &'w [u8],
    at: usize,
}

impl<'w> PlainOps<'w> {
    #[inline]
    fn open(scanner: &Scanner<'w>) -> Option<Self> {
        let is_vector = scanner.syntax == Syntax::Edn && scanner.bytes.get(scanner.at) == Some(&b'[');
        is_vector.then(|| Self { bytes: scanner.bytes, at: scanner.at + 1 })
    }

    /// The next one, or nothing at the end of the vector; `None` if something else comes.
    #[inline]
    fn next(&mut self) -> Option<Option<PlainOp>> {
        if self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        if self.bytes.get(self.at) == Some(&b']') {
            self.at += 1;
            return Some(None);
        }
        let (op, length) = plain_op(&self.bytes[self.at..])?;
        self.at += length;
        Some(Some(op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanner(text: &str) -> Scanner<'_> {
        Scanner::new(text.as_bytes(), Syntax::Edn)
    }

    #[test]
    fn plain_vectors_have_their_length_and_others_none() {
        let text = "[[:r 1 nil] [:w 58666 25][:r 0 7]] :rest of it";
        assert_eq!(plain_vector(&scanner(text)), Some(34));
        assert_eq!(plain_vector(&scanner("[]        ")), Some(2));
        for other in [
            "[[:r 1 nil] [:append 1 2]]        ",
            "[[:r 1 nilly]]        ",
            "[[:r 01 nil]]        ",
            "[[:r :x nil]]        ",
            "[[:r 1]]        ",
            "[[:r 1 -5]]        ",
            "[[:r 1 2.5]]        ",
            "[[:r 1 2N]]        ",
            "[[:r 1 [2]]]        ",
            "[[:r 1 99999999999999999999]]        ",
            "([:r 1 2])        ",
            "[[:r 1 2]",
        ] {
            assert_eq!(plain_vector(&scanner(other)), None, "{other}");
        }
    }

    #[test]
    fn a_completion_has_the_same_operations_whatever_was_read() {
        let invoked = scanner("[[:r 1 nil] [:w 2 3]]        ");
        let same = |text: &str| is_same_vector(&invoked, &scanner(text));
        assert_eq!(same("[[:r 1 5] [:w 2 3]]        "), Some(true));
        assert_eq!(same("[[:r 1 5] [:w 2 4]]        "), Some(false));
        assert_eq!(same("[[:r 1 5]]        "), Some(false));
        assert_eq!(same("[[:w 1 5] [:w 2 3]]        "), Some(false));
        assert_eq!(same("[[:r 1 [5]] [:w 2 3]]        "), None);
    }
}
