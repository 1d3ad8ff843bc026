//! The name of a violation, from the kinds of the edges of its cycle.
//!
//! After Adya (G0, G1, G-single, G2) and the names that have become usual since. A name is given only where the cycle
//! shows it; any other cycle is called a cycle.

use history::FindingKind;

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
    /// Two transactions each overwrote what the other read (G2-item).
    WriteSkew,
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
            Self::LostUpdate => "lost update",
            Self::FracturedRead => "fractured read",
            Self::ReadSkew => "read skew",
            Self::StaleSessionRead => "stale read in a session",
            Self::StaleRead => "stale read",
            Self::WriteSkew => "write skew",
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
            Self::WriteSkew | Self::LongFork | Self::AntiDependencyCycle => Some("G2-item"),
            Self::Nonadjacent => Some("G-nonadjacent"),
            _ => None,
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
            0 if real_time > 0 => Self::RealTimeCycle,
            0 if sessions > 0 => Self::SessionCycle,
            0 if count(EdgeKind::Wr) == 0 => Self::WriteCycle,
            0 => Self::CircularInformationFlow,
            1 if real_time > 0 => Self::StaleRead,
            1 if sessions > 0 => Self::StaleSessionRead,
            1 if cycle.len() == 2 && count(EdgeKind::Wr) == 1 && has_two_keys(cycle) => Self::FracturedRead,
            1 => Self::ReadSkew,
            2 if cycle.len() == 2 && has_two_keys(cycle) => Self::WriteSkew,
            2 if is_long_fork(cycle) => Self::LongFork,
            _ if sessions + real_time == 0 && dependencies > 0 && has_no_adjacent_rw(cycle) => {
                Self::Nonadjacent
            }
            _ => Self::AntiDependencyCycle,
        }
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
