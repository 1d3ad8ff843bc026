//! Micro-operations as nearly all are: `[:r 21426 nil]`, `[:w 58666 25]`, `[:append 7 3]`, `[:r 7 [1 2 3]]`.
//!
//! A transaction is written twice, when it is invoked and when it is completed, and each of its micro-operations was
//! looked at six times: to find the end of the value (twice), to read it, and three times to compare the two. Here it is
//! taken apart once for each of these, eight digits at a time. Whatever looks otherwise is left to the general scanner,
//! which also says what is wrong with it.

use crate::edn::{Scanner, Syntax};
use crate::scan::{digits_and_blanks, small_decimal};

/// What a micro-operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PlainWord {
    Read,
    Write,
    Append,
}

/// What it read or wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PlainValue {
    Nil,
    Int(i64),
    /// A list of nothing but digits and blanks, so many bytes of them, which begin at this place of the text.
    List {
        start: usize,
        length: usize,
    },
}

/// A micro-operation on an integer key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlainOp {
    pub word: PlainWord,
    pub key: i64,
    pub value: PlainValue,
}

/// The micro-operation at the beginning of a text, and how long it is.
#[inline(always)]
pub(super) fn plain_op(text: &[u8]) -> Option<(PlainOp, usize)> {
    let (word, key_at) = match text.first_chunk()? {
        b"[:r " => (PlainWord::Read, 4),
        b"[:w " => (PlainWord::Write, 4),
        b"[:ap" if text.starts_with(b"[:append ") => (PlainWord::Append, 9),
        _ => return None,
    };
    let (key, key_length) = plain_int(&text[key_at..])?;
    let value_at = key_at + key_length + 1;
    let rest = text.get(value_at..)?;
    let (value, value_length) = match (word, rest.first()?) {
        (PlainWord::Read, b'[') => {
            let length = digits_and_blanks(&rest[1..]);
            let is_closed = rest.get(1 + length) == Some(&b']');
            is_closed.then_some((PlainValue::List { start: value_at + 1, length }, length + 2))?
        }
        (PlainWord::Read | PlainWord::Write, b'n') if rest.starts_with(b"nil") => (PlainValue::Nil, 3),
        _ => plain_int(rest).map(|(int, length)| (PlainValue::Int(int), length))?,
    };
    let is_plain = text[value_at - 1] == b' ' && rest.get(value_length) == Some(&b']');
    is_plain.then_some((PlainOp { word, key, value }, value_at + value_length + 1))
}

/// Adds the numbers of a list of digits and blanks, which ends at this place of the text; `None` if one is not plain.
#[inline]
pub(super) fn plain_elements(
    text: &[u8],
    start: usize,
    length: usize,
    mut add: impl FnMut(i64),
) -> Option<()> {
    let (mut at, end) = (start, start + length);
    loop {
        while at < end && text[at] == b' ' {
            at += 1;
        }
        if at == end {
            return Some(());
        }
        let (int, length) = plain_int(&text[at..])?;
        add(int);
        at += length;
    }
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
                let is_read = asked.word == PlainWord::Read;
                asked.word == done.word && asked.key == done.key && (is_read || asked.value == done.value)
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
        let text = "[[:r 1 [1 22 333]] [:append 58666 25][:r 0 []]] :rest of it";
        assert_eq!(plain_vector(&scanner(text)), Some(47));
        assert_eq!(plain_vector(&scanner("[]        ")), Some(2));
        for other in [
            "[[:r 1 nil] [:append 1 nil]]        ",
            "[[:r 1 nil] [:append 1 [2]]]        ",
            "[[:r 1 [2 -3]]]        ",
            "[[:r 1 [2 [3]]]]        ",
            "[[:r 1 (2 3)]]        ",
            "[[:r 1 nilly]]        ",
            "[[:r 01 nil]]        ",
            "[[:r :x nil]]        ",
            "[[:r 1]]        ",
            "[[:r 1 -5]]        ",
            "[[:r 1 2.5]]        ",
            "[[:r 1 2N]]        ",
            "[[:w 1 [2]]]        ",
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
        assert_eq!(same("[[:r 1 [5]] [:w 2 3]]        "), Some(true));
        assert_eq!(same("[[:r 1 [:x]] [:w 2 3]]        "), None);
    }

    #[test]
    fn elements_are_plain_numbers() {
        let elements = |list: &str| {
            let mut found = Vec::new();
            plain_elements(format!("{list}]        ").as_bytes(), 0, list.len(), |int| found.push(int))
                .map(|()| found)
        };
        assert_eq!(elements(""), Some(vec![]));
        assert_eq!(elements(" 1  22 123456789012 0 "), Some(vec![1, 22, 123_456_789_012, 0]));
        assert_eq!(elements("1 02"), None);
        assert_eq!(elements("99999999999999999999"), None);
    }
}
