//! The words that the language knows from the start: relations of a history and of its witness.
//!
//! One table, from which the checker resolves names, the messages take their suggestions and `docs/spec.md` its list.

use crate::core::{Base, Framework, Sort};

/// A relation that needs no definition.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// Its name in the language.
    pub name: &'static str,
    /// The name the literature uses, which is accepted too.
    pub short: &'static str,
    /// What it stands for.
    pub base: Base,
    /// What it means.
    pub meaning: &'static str,
}

const fn word(name: &'static str, short: &'static str, base: Base, meaning: &'static str) -> Word {
    Word { name, short, base, meaning }
}

/// All of them.
pub const WORDS: [Word; 16] = [
    word(
        "session",
        "so",
        Base::Session,
        "the first precedes the second in its session; the initial one precedes all",
    ),
    word(
        "reads_from",
        "wr",
        Base::ReadsFrom,
        "the second reads a value that the first wrote; `reads_from[x]` for one object",
    ),
    word(
        "real_time",
        "rt",
        Base::RealTime,
        "the first ended before the second began, by the recorded clocks",
    ),
    word(
        "commit_real_time",
        "rtc",
        Base::CommitRealTime,
        "the first committed before the second committed, by the clocks",
    ),
    word(
        "begin_real_time",
        "rtb",
        Base::BeginRealTime,
        "the first began before the second committed, by the clocks",
    ),
    word("before", "co", Base::Before, "the witness: a total order that begins with the initial transaction"),
    word("visible", "vis", Base::Visible, "the witness: what each transaction sees"),
    word("conflict", "conf", Base::Conflict, "two different transactions that write the same object"),
    word("writers", "writes_to", Base::Writers, "(object, txn): `writers[x]` are those that write x"),
    word(
        "readers",
        "reads_of",
        Base::Readers,
        "(object, txn): `readers[x]` are those that read x from another",
    ),
    word(
        "writes",
        "final_writes",
        Base::Writes,
        "(txn, object, value): the last value a transaction writes to an object",
    ),
    word(
        "reads",
        "external_reads",
        Base::Reads,
        "(txn, object, value): a value it reads that is not its own",
    ),
    word("initial", "t0", Base::Initial, "the transaction that wrote the initial state"),
    word(
        "reads_then",
        "then",
        Base::ReadsThen,
        "(object, txn, txn, txn): `reads_then[x]` (s, t, r): r reads something from s and later x from t",
    ),
    word(
        "earlier",
        "seen",
        Base::Earlier,
        "only in `visible = ...`: the second had read from the first before the read that is judged",
    ),
    word(
        "reads_from_on",
        "wr_on",
        Base::ReadsFromOn,
        "(object, txn, txn): what `reads_from[x]` takes its pairs from",
    ),
];

impl Base {
    /// The sorts of its columns.
    pub fn sorts(self) -> &'static [Sort] {
        use Sort::{Object, Txn, Value};
        match self {
            Self::Initial => &[Txn],
            Self::Writers | Self::Readers => &[Object, Txn],
            Self::ReadsFromOn => &[Object, Txn, Txn],
            Self::Writes | Self::Reads => &[Txn, Object, Value],
            Self::ReadsThen => &[Object, Txn, Txn, Txn],
            _ => &[Txn, Txn],
        }
    }

    /// Whether a witness of the framework gives it.
    pub fn is_in(self, framework: Framework) -> bool {
        match self {
            Self::Before => framework != Framework::History,
            Self::Visible => framework == Framework::Visibility,
            _ => true,
        }
    }
}

/// The relation of a name; `ar` is the arbitration of the visibility framework, so it means `before` as well.
pub(crate) fn base_of(name: &str) -> Option<Base> {
    if name == "ar" {
        return Some(Base::Before);
    }
    WORDS.iter().find(|word| word.name == name || word.short == name).map(|word| word.base)
}

/// The known name closest to a wrong one, if it is close.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Everything is close to a name of one letter, and the time for a long one is the square of its length.
    if !(3..=64).contains(&wrong.len()) {
        return None;
    }
    known
        .filter(|name| name.len() <= 2 * wrong.len())
        .map(|name| (edit_distance(wrong, name), name))
        .filter(|&(distance, name)| distance <= 1 + name.len().min(wrong.len()) / 4)
        .min()
        .map(|(_, name)| name)
}

fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &to) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
