//! What a transaction looks like in the graph: one node, or a begin and a commit.
//!
//! Every rule of the engine is written once, in terms of three nodes of a transaction. `commit` is where its writes
//! become visible, `begin` is the state that its reads see, and versions of a key are ordered by `commit` of the earlier
//! before `install` of the later. For serializability all three are one node.

use certify::{Core, Level};
use history::TxnId;

/// The nodes of transactions for a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub core: Core,
    pub events: u32,
}

impl Shape {
    pub(crate) fn of(level: &Level) -> Self {
        Self { core: level.core, events: level.events_per_txn() }
    }

    #[inline]
    pub(crate) fn begin(self, txn: TxnId) -> u32 {
        txn.0 * self.events
    }

    #[inline]
    pub(crate) fn commit(self, txn: TxnId) -> u32 {
        txn.0 * self.events + self.events - 1
    }

    #[inline]
    pub(crate) fn install(self, txn: TxnId) -> u32 {
        match self.core {
            Core::Snapshot => self.begin(txn),
            Core::Serializable | Core::Prefix => self.commit(txn),
        }
    }

    /// How far `commit` is behind `install` on a chain.
    #[inline]
    pub(crate) fn install_gap(self) -> u32 {
        u32::from(self.core == Core::Snapshot)
    }

    /// Whether two writers of a key exclude each other even if no transaction reads what they wrote.
    pub(crate) fn writers_exclude(self) -> bool {
        self.core == Core::Snapshot
    }

    #[inline]
    pub(crate) fn txn(self, node: u32) -> TxnId {
        TxnId(node / self.events)
    }
}
