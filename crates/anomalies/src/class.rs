//! The classes: what one read or one key shows, and five shapes of cycles at three strengths.

use std::fmt;

/// Which dependencies a cycle has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shape {
    /// Writes over writes only.
    G0,
    /// Also reads of writes, at least one.
    G1c,
    /// Exactly one read of an overwritten version.
    GSingle,
    /// Several of these, no two in a row.
    GNonadjacent,
    /// Two of these in a row.
    G2Item,
}

/// Which orders beside dependencies a cycle has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tier {
    /// None.
    Data,
    /// The order of a session, at least once.
    Process,
    /// Real time, at least once.
    Realtime,
}

/// A class of anomalies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// A transaction contradicts itself.
    Internal,
    /// A transaction read what it wrote only later.
    FutureRead,
    /// A read of what an aborted transaction wrote.
    G1a,
    /// A read of what its writer overwrote before it committed.
    G1b,
    /// A committed version on top of an aborted one.
    DirtyUpdate,
    /// A list with an element twice.
    DuplicateElements,
    /// Two lists of a key, neither of which is the beginning of the other.
    IncompatibleOrder,
    /// The order of the versions of a key has a cycle.
    CyclicVersions,
    /// Two transactions read the same version of a key, and both wrote the key.
    LostUpdate,
    /// A cycle of dependencies.
    Cycle(Shape, Tier),
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 5] = [Self::G0, Self::G1c, Self::GSingle, Self::GNonadjacent, Self::G2Item];
}

impl Tier {
    /// All strengths.
    pub const ALL: [Self; 3] = [Self::Data, Self::Process, Self::Realtime];
}

impl Class {
    /// All classes, those that need no graph first.
    pub fn all() -> impl Iterator<Item = Self> {
        let direct = [
            Self::Internal,
            Self::FutureRead,
            Self::G1a,
            Self::G1b,
            Self::DirtyUpdate,
            Self::DuplicateElements,
            Self::IncompatibleOrder,
            Self::CyclicVersions,
            Self::LostUpdate,
        ];
        let cycles = Tier::ALL.into_iter().flat_map(|tier| Shape::ALL.map(|shape| Self::Cycle(shape, tier)));
        direct.into_iter().chain(cycles)
    }

    /// The name that Elle uses. Reads are of single keys here, so anti-dependencies are those of items.
    pub fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::FutureRead => "future-read",
            Self::G1a => "G1a",
            Self::G1b => "G1b",
            Self::DirtyUpdate => "dirty-update",
            Self::DuplicateElements => "duplicate-elements",
            Self::IncompatibleOrder => "incompatible-order",
            Self::CyclicVersions => "cyclic-versions",
            Self::LostUpdate => "lost-update",
            Self::Cycle(Shape::G0, Tier::Data) => "G0",
            Self::Cycle(Shape::G0, Tier::Process) => "G0-process",
            Self::Cycle(Shape::G0, Tier::Realtime) => "G0-realtime",
            Self::Cycle(Shape::G1c, Tier::Data) => "G1c",
            Self::Cycle(Shape::G1c, Tier::Process) => "G1c-process",
            Self::Cycle(Shape::G1c, Tier::Realtime) => "G1c-realtime",
            Self::Cycle(Shape::GSingle, Tier::Data) => "G-single-item",
            Self::Cycle(Shape::GSingle, Tier::Process) => "G-single-item-process",
            Self::Cycle(Shape::GSingle, Tier::Realtime) => "G-single-item-realtime",
            Self::Cycle(Shape::GNonadjacent, Tier::Data) => "G-nonadjacent-item",
            Self::Cycle(Shape::GNonadjacent, Tier::Process) => "G-nonadjacent-item-process",
            Self::Cycle(Shape::GNonadjacent, Tier::Realtime) => "G-nonadjacent-item-realtime",
            Self::Cycle(Shape::G2Item, Tier::Data) => "G2-item",
            Self::Cycle(Shape::G2Item, Tier::Process) => "G2-item-process",
            Self::Cycle(Shape::G2Item, Tier::Realtime) => "G2-item-realtime",
        }
    }

    /// The class of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|class| class.name() == name)
    }

    /// What the class is, in a few words.
    pub fn meaning(self) -> String {
        let meaning = match self {
            Self::Internal => "a transaction read something else than it had read or written itself",
            Self::FutureRead => "a transaction read what it wrote only later",
            Self::G1a => "a read of what an aborted transaction wrote",
            Self::G1b => "a read of a version that its writer replaced before it committed",
            Self::DirtyUpdate => "a committed write on top of an aborted one",
            Self::DuplicateElements => "a list with an element twice",
            Self::IncompatibleOrder => "two lists of a key, neither of which is the beginning of the other",
            Self::CyclicVersions => "the order of the versions of a key has a cycle",
            Self::LostUpdate => "two transactions read the same version, and both replaced it",
            Self::Cycle(Shape::G0, _) => "a cycle of writes over writes",
            Self::Cycle(Shape::G1c, _) => "a cycle of writes and reads of them",
            Self::Cycle(Shape::GSingle, _) => "a cycle with one read of an overwritten version",
            Self::Cycle(Shape::GNonadjacent, _) => {
                "a cycle with several reads of overwritten versions, no two in a row (such as a long fork)"
            }
            Self::Cycle(Shape::G2Item, _) => {
                "a cycle with two reads of overwritten versions in a row (such as a write skew)"
            }
        };
        match self {
            Self::Cycle(_, Tier::Process) => format!("{meaning}, with the order of a session"),
            Self::Cycle(_, Tier::Realtime) => format!("{meaning}, with real time"),
            _ => meaning.to_owned(),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
