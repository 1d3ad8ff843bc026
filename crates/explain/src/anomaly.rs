//! The name of a violation, from the kinds of the edges of its cycle.
//!
//! After Adya (G0, G1, G-single, G2) and the names that have become usual since. A name is given only where the cycle
//! shows it; any other cycle is called a cycle.

use history::{Op, OpId};
use index::FindingKind;

use crate::edge::{Edge, EdgeKind};
use crate::terms::Terms;

/// A named pattern.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Anomaly {
    /// One read that cannot be explained at all.
    Finding(FindingKind),
    /// Two transactions overwrote each other's writes (G0).
    WriteCycle,
    /// Transactions saw each other's writes in a circle (G1c).
    CircularInformationFlow,
    /// As G1c, but the circle needs session order.
    SessionCycle,
    /// As G1c, but the circle needs real time.
    RealTimeCycle,
    /// A transaction saw or overwrote what was committed only after it had begun, or saw a commit and missed one that came
    /// before it while both writers overlapped: a serial order may explain that, a snapshot does not.
    LateSnapshot,
    /// A transaction overwrote a version of a key that it had not seen, after reading an earlier one.
    LostUpdate,
    /// A transaction saw a part of what another wrote.
    FracturedRead,
    /// A transaction saw one state of some keys and an earlier state of another (G-single).
    ReadSkew,
    /// A transaction missed what its own session had done or seen before.
    StaleSessionRead,
    /// A transaction missed what had been committed before it began.
    StaleRead,
    /// A session read a version of a key, and later an older version of the same key.
    NonMonotonicRead,
    /// A transaction saw an effect and missed its cause.
    CausalityViolation,
    /// Two transactions each overwrote what the other read (G2-item).
    WriteSkew,
    /// Two transactions each changed rows that a predicate or range of the other is about (G2).
    PredicateWriteSkew,
    /// A predicate or range read missed a change of its rows that must have come before it (G2).
    Phantom,
    /// A transaction that only reads saw a state that no serial order of the others passes through (G2-item).
    ReadOnlyAnomaly,
    /// Two readers saw two independent writes in opposite orders.
    LongFork,
    /// A cycle with several anti-dependencies, no two of them adjacent (G-nonadjacent).
    Nonadjacent,
    /// Any other cycle with several anti-dependencies (G2-item).
    AntiDependencyCycle,
    /// Any other cycle.
    Cycle,
    /// A read with several possible sources, each of which leads to a contradiction.
    UnexplainedRead,
    /// Any other contradiction.
    Contradiction,
}

impl Anomaly {
    /// The name as printed and as used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finding(kind) => kind.name(),
            Self::WriteCycle => "write cycle",
            Self::CircularInformationFlow => "circular information flow",
            Self::SessionCycle => "cycle with session order",
            Self::RealTimeCycle => "cycle with real time",
            Self::LateSnapshot => "late snapshot",
            Self::LostUpdate => "lost update",
            Self::FracturedRead => "fractured read",
            Self::ReadSkew => "read skew",
            Self::StaleSessionRead => "stale read in a session",
            Self::StaleRead => "stale read",
            Self::NonMonotonicRead => "non-monotonic read",
            Self::CausalityViolation => "causality violation",
            Self::WriteSkew => "write skew",
            Self::PredicateWriteSkew => "predicate write skew",
            Self::Phantom => "phantom",
            Self::ReadOnlyAnomaly => "read-only anomaly",
            Self::LongFork => "long fork",
            Self::Nonadjacent => "cycle of non-adjacent anti-dependencies",
            Self::AntiDependencyCycle => "cycle of anti-dependencies",
            Self::Cycle => "cycle",
            Self::UnexplainedRead => "unexplained read",
            Self::Contradiction => "contradiction",
        }
    }

    /// The class in Adya's terms, where it has one.
    pub fn class(self) -> Option<&'static str> {
        match self {
            Self::Finding(FindingKind::AbortedRead) => Some("G1a"),
            Self::Finding(FindingKind::IntermediateRead) => Some("G1b"),
            Self::WriteCycle => Some("G0"),
            Self::CircularInformationFlow => Some("G1c"),
            Self::LostUpdate | Self::FracturedRead | Self::ReadSkew => Some("G-single"),
            Self::WriteSkew | Self::LongFork | Self::ReadOnlyAnomaly | Self::AntiDependencyCycle => {
                Some("G2-item")
            }
            Self::PredicateWriteSkew | Self::Phantom => Some("G2"),
            Self::Nonadjacent => Some("G-nonadjacent"),
            _ => None,
        }
    }

    /// What happened, as a clause that ends a sentence: "updates were lost".
    pub fn clause(self) -> &'static str {
        match self {
            Self::Finding(kind) => finding_clause(kind),
            Self::WriteCycle => "transactions mixed their writes",
            Self::CircularInformationFlow => "transactions saw each other's writes",
            Self::SessionCycle | Self::RealTimeCycle => "a read came before its write",
            Self::LateSnapshot => "snapshots were taken after their transactions had begun",
            Self::LostUpdate => "updates were lost",
            Self::FracturedRead => "transactions were seen in part",
            Self::ReadSkew => "reads mixed two states",
            Self::StaleSessionRead => "sessions missed their own past",
            Self::StaleRead => "reads were stale",
            Self::NonMonotonicRead => "sessions went back in time",
            Self::CausalityViolation => "effects were seen without their cause",
            Self::WriteSkew => "there was write skew",
            Self::PredicateWriteSkew => "there was write skew by predicate",
            Self::Phantom => "there were phantoms",
            Self::ReadOnlyAnomaly => "a reader saw a state that never was",
            Self::LongFork => "readers saw writes in opposite orders",
            Self::Nonadjacent | Self::AntiDependencyCycle => {
                "transactions missed each other's writes in a circle"
            }
            Self::Cycle => "transactions depend on each other in a circle",
            Self::UnexplainedRead => "a read has no possible source",
            Self::Contradiction => "what clients saw contradicts itself",
        }
    }

    /// What it means for an application, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Finding(kind) => finding_meaning(kind),
            Self::WriteCycle => {
                "Two transactions mixed their writes: the rows that they leave behind fit neither of them."
            }
            Self::CircularInformationFlow => {
                "Transactions used each other's results before they were final, so none of them can be said to have \
                 run first."
            }
            Self::SessionCycle | Self::RealTimeCycle => {
                "A transaction used a result that was produced only after it had ended."
            }
            Self::LateSnapshot => {
                "What a transaction used was not all there at one moment before it began: something was committed only \
                 later, or something that was committed earlier is missing."
            }
            Self::LostUpdate => {
                "One of two updates of the same row vanished: a counter misses an increment, a balance misses a payment."
            }
            Self::FracturedRead => {
                "A reader saw half of what a transaction wrote: a transfer that has left one account and not reached \
                 the other."
            }
            Self::ReadSkew => {
                "A reader combined an older state of one row with a newer state of another, and may act on a total that \
                 never existed."
            }
            Self::StaleSessionRead => {
                "A client did not see what it had itself done or seen: a form shows the old value after it was saved."
            }
            Self::StaleRead => {
                "A transaction missed what had been committed before it began: a caller who was told \"done\" sees the \
                 state before."
            }
            Self::NonMonotonicRead => {
                "A client saw a value and then an older one: a page that is reloaded goes back in time."
            }
            Self::CausalityViolation => {
                "A reader saw an effect without its cause: an answer without the question that it answers."
            }
            Self::WriteSkew => {
                "Two transactions each checked a rule on the same state and changed different rows, and together they \
                 broke the rule: both doctors went off call."
            }
            Self::PredicateWriteSkew => {
                "Two transactions each checked which rows match and then changed matching rows: a room is booked twice."
            }
            Self::Phantom => {
                "A query missed rows that another transaction had added, changed or removed: a check for \"no such row\" \
                 is no protection."
            }
            Self::ReadOnlyAnomaly => {
                "A report saw a state that the transactions, whichever order they are put in, never passed through."
            }
            Self::LongFork => {
                "Two readers saw two events in opposite orders: two users will disagree about what happened first."
            }
            Self::Nonadjacent | Self::AntiDependencyCycle => {
                "Each transaction missed what the next one wrote, in a circle: no serial order gives these results."
            }
            Self::Cycle => "The transactions would each have to come before the next, in a circle.",
            Self::UnexplainedRead => {
                "Several transactions may have written the value that was read, and none of them can have been the one."
            }
            Self::Contradiction => {
                "Whatever is assumed about what was left open, what the clients saw contradicts itself."
            }
        }
    }

    pub(crate) fn of_cycle(terms: &Terms<'_>, cycle: &[Edge]) -> Self {
        let count = |kind| cycle.iter().filter(|edge| edge.kind == kind).count();
        if count(EdgeKind::Derived) > 0 || cycle.is_empty() {
            return Self::Cycle;
        }
        if is_lost_update(terms, cycle) {
            return Self::LostUpdate;
        }
        let (sessions, real_time) = (count(EdgeKind::So), count(EdgeKind::Rt));
        let dependencies = count(EdgeKind::Wr) + count(EdgeKind::Ww);
        match count(EdgeKind::Rw) {
            0 | 1 if cycle.iter().any(|edge| is_overlap(terms, edge)) => Self::LateSnapshot,
            1.. if cycle.iter().any(|edge| misses_by_predicate(terms, edge)) => match cycle.len() {
                2 if count(EdgeKind::Rw) == 2 => Self::PredicateWriteSkew,
                _ => Self::Phantom,
            },
            0 if real_time > 0 => Self::RealTimeCycle,
            0 if sessions > 0 => Self::SessionCycle,
            0 if count(EdgeKind::Wr) == 0 => Self::WriteCycle,
            0 => Self::CircularInformationFlow,
            1 if real_time > 0 => Self::StaleRead,
            1 if is_non_monotonic(cycle) => Self::NonMonotonicRead,
            1 if cycle.len() == 2 && sessions > 0 => Self::StaleSessionRead,
            1 if cycle.len() > 2 && count(EdgeKind::Wr) > 0 && count(EdgeKind::Ww) == 0 => {
                Self::CausalityViolation
            }
            1 if sessions > 0 => Self::StaleSessionRead,
            1 if cycle.len() == 2 && count(EdgeKind::Wr) == 1 && has_two_keys(cycle) => Self::FracturedRead,
            1 => Self::ReadSkew,
            2 if cycle.len() == 2 && has_two_keys(cycle) => Self::WriteSkew,
            2 if is_read_only_anomaly(terms, cycle) => Self::ReadOnlyAnomaly,
            2 if is_long_fork(cycle) => Self::LongFork,
            _ if sessions + real_time == 0 && dependencies > 0 && has_no_adjacent_rw(cycle) => {
                Self::Nonadjacent
            }
            _ => Self::AntiDependencyCycle,
        }
    }
}

fn finding_clause(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::ThinAirRead => "values were read that no transaction wrote",
        FindingKind::AbortedRead => "aborted writes were read",
        FindingKind::IntermediateRead => "intermediate writes were read",
        FindingKind::FutureRead => "a value was read before it was written",
        FindingKind::NotMyOwnWrite | FindingKind::NotMyLastWrite => "transactions missed their own writes",
        FindingKind::NonRepeatableRead => "a row changed between two reads of one transaction",
        FindingKind::DuplicatedElement => "an append was applied twice",
        FindingKind::DuplicatedRow => "a query returned a row twice",
        FindingKind::RowOutOfBounds => "a query returned a row outside of its range",
        FindingKind::TombstoneServed => "a deleted row came back",
        FindingKind::RowNotMatching => "a query returned a row that does not match",
        FindingKind::UnexplainedRow => "what was seen of a row fits nothing that it can have held",
        FindingKind::WrongRowCount => "the number of changed rows is impossible",
    }
}

fn finding_meaning(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::ThinAirRead => {
            "A client was given a value that no client ever stored: data was corrupted or invented."
        }
        FindingKind::AbortedRead => {
            "A client acted on a change that was rolled back: an order is shipped for a payment that was never made."
        }
        FindingKind::IntermediateRead => {
            "A client acted on a value that its writer replaced before it committed: a step of a calculation, not its \
             result."
        }
        FindingKind::FutureRead => "A transaction was given a value before it wrote it.",
        FindingKind::NotMyOwnWrite => {
            "A transaction did not see its own change, so what it does next rests on the wrong state."
        }
        FindingKind::NotMyLastWrite => "A transaction saw a change of its own that it had replaced already.",
        FindingKind::NonRepeatableRead => {
            "A transaction read a row twice and got two answers: a check at its beginning does not hold at its end."
        }
        FindingKind::DuplicatedElement => {
            "A list has an element twice that was appended once: a retry was applied again."
        }
        FindingKind::DuplicatedRow => "One query returned a row twice: a total counts it twice.",
        FindingKind::RowOutOfBounds => "A query returned a row that it did not ask for.",
        FindingKind::TombstoneServed => "A row that was deleted came back.",
        FindingKind::RowNotMatching => "A query returned a row that does not satisfy its WHERE clause.",
        FindingKind::UnexplainedRow => {
            "What a transaction saw of one row fits no content that the row ever had."
        }
        FindingKind::WrongRowCount => {
            "The database reported another number of changed rows than it can have changed."
        }
    }
}

/// Whether an anti-dependency rests on a read by predicate or of a range.
fn misses_by_predicate(terms: &Terms<'_>, edge: &Edge) -> bool {
    let is_predicate = |op: OpId| matches!(terms.history.op(op), Op::RangeRead(_) | Op::PredicateRead(_));
    edge.kind == EdgeKind::Rw && edge.read.is_some_and(is_predicate)
}

/// Whether real time says of an edge only that the first transaction had begun or ended when the second, which it
/// overlapped, asked to commit.
fn is_overlap(terms: &Terms<'_>, edge: &Edge) -> bool {
    let (EdgeKind::Rt, Some(from), Some(to)) = (edge.kind, edge.from, edge.to) else { return false };
    let times = |txn| terms.history.times(txn);
    !matches!((times(from).end(), times(to).start()), (Some(end), Some(start)) if end < start)
}

/// A writer, a reader of what it wrote, and later in that reader's session one that misses the same write.
fn is_non_monotonic(cycle: &[Edge]) -> bool {
    use EdgeKind::{Rw, So, Wr};
    let is_it = |[a, b, c]: [&Edge; 3]| [a.kind, b.kind, c.kind] == [Rw, Wr, So] && a.key == b.key;
    match cycle {
        [a, b, c] => is_it([a, b, c]) || is_it([b, c, a]) || is_it([c, a, b]),
        _ => false,
    }
}

/// A transaction that only reads saw the last of two writers and missed the first, which missed the last.
fn is_read_only_anomaly(terms: &Terms<'_>, cycle: &[Edge]) -> bool {
    use EdgeKind::{Rw, Wr};
    let only_reads = |edge: &Edge| edge.from.is_some_and(|txn| terms.index.writes_of(txn).is_empty());
    let is_it =
        |[a, b, c]: [&Edge; 3]| [a.kind, b.kind, c.kind] == [Rw, Rw, Wr] && only_reads(a) && a.key != c.key;
    match cycle {
        [a, b, c] => is_it([a, b, c]) || is_it([b, c, a]) || is_it([c, a, b]),
        _ => false,
    }
}

fn has_two_keys(cycle: &[Edge]) -> bool {
    cycle.iter().any(|edge| edge.key != cycle[0].key)
}

/// Two transactions that both write one key, and one of them read a version of it that the other overwrote unseen.
fn is_lost_update(terms: &Terms<'_>, cycle: &[Edge]) -> bool {
    use EdgeKind::{Rw, Ww};
    let [first, second] = cycle else { return false };
    let (Some(a), Some(b), Some(key)) = (first.from, first.to, first.key) else {
        return false;
    };
    let writes = |txn| {
        let mut writes = terms.index.writes_of(txn);
        writes.any(|write| terms.index.writes()[write].key == key)
    };
    let read = |txn| {
        let mut reads = terms.index.reads_of(txn).map(|read| terms.index.reads()[read]);
        reads.find(|read| read.key == key).map(|read| read.observed)
    };
    let is_lost = match (first.kind, second.kind) {
        (Rw, Ww) | (Ww, Rw) => true,
        (Rw, Rw) => read(a) == read(b),
        _ => false,
    };
    is_lost && second.key == first.key && writes(a) && writes(b)
}

/// Reader, writer, reader, writer; each reader misses the next writer and saw the one before, or comes after it in its
/// session.
fn is_long_fork(cycle: &[Edge]) -> bool {
    let is_rw = |edge: &Edge| edge.kind == EdgeKind::Rw;
    let saw = |edge: &Edge| matches!(edge.kind, EdgeKind::Wr | EdgeKind::So);
    let is_fork = |[a, b, c, d]: [&Edge; 4]| is_rw(a) && saw(b) && is_rw(c) && saw(d) && a.key != c.key;
    match cycle {
        [a, b, c, d] => is_fork([a, b, c, d]) || is_fork([b, c, d, a]),
        _ => false,
    }
}

fn has_no_adjacent_rw(cycle: &[Edge]) -> bool {
    let next = cycle.iter().cycle().skip(1);
    let mut pairs = cycle.iter().zip(next);
    pairs.all(|(edge, next)| (edge.kind, next.kind) != (EdgeKind::Rw, EdgeKind::Rw))
}
