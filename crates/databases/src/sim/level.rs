//! The levels of the simulated store, as it can give them to real threads.

use levels::LevelId;

use drive::simulate::{Age, Reads, Rules, StoreLevel};

/// A level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// One of the simulation's.
    Simulated(StoreLevel),
    /// Reads and writes lock what they touch until the end.
    TwoPhaseLocking,
    /// Snapshot reads, and validation of what was read if anything was written.
    Ssi,
}

impl Level {
    /// All of them, strongest first.
    pub fn all() -> impl Iterator<Item = Self> {
        let own = [Self::TwoPhaseLocking, Self::Ssi];
        let (strict, rest) = StoreLevel::ALL.split_at(2);
        let simulated = |&level: &StoreLevel| Self::Simulated(level);
        strict.iter().map(simulated).chain(own).chain(rest.iter().map(simulated))
    }

    /// The name of the setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulated(level) => level.name(),
            Self::TwoPhaseLocking => "two-phase-locking",
            Self::Ssi => "ssi",
        }
    }

    /// The level of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|level| level.name() == name)
    }

    /// What the store does for a transaction at this level.
    pub fn rules(self) -> Rules {
        match self {
            Self::Simulated(level) => level.rules(),
            // The locks do everything.
            Self::TwoPhaseLocking => StoreLevel::Serial.rules(),
            Self::Ssi => {
                Rules { reads: Reads::Snapshot(Age::Fresh), checks_reads: true, checks_writes: true }
            }
        }
    }

    /// Whether only one transaction runs at a time.
    pub fn is_serial(self) -> bool {
        self == Self::Simulated(StoreLevel::Serial)
    }

    /// Whether a transaction that wrote nothing needs no check: all that it read is of one moment.
    pub fn spares_readers(self) -> bool {
        self == Self::Ssi
    }

    /// Whether commits reach other sites in causal order.
    pub fn is_causal(self) -> bool {
        self != Self::Simulated(StoreLevel::ReadAtomic)
    }
}

/// The strongest level that every run of the simulated store at a setting satisfies if it has no fault.
pub fn simulated_promise(setting: &str) -> Option<LevelId> {
    Some(match Level::named(setting)? {
        Level::Simulated(level) => level.promises(),
        Level::TwoPhaseLocking | Level::Ssi => LevelId::StrictSerializable,
    })
}
