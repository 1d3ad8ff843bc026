//! A recording in pieces, for what does not need all of it at once.
//!
//! Each piece is a history of its own, with its own numbers. [`PieceIds`] says which transactions, keys and sessions of
//! the recording they are; it keeps the keys and sessions and nothing else. Values other than small integers have numbers
//! that mean nothing in another piece.

use rustc_hash::FxHashMap;

use crate::{History, KeyId, Keys, SessionId, TxnId, ValueId};

/// Some successive transactions of a recording.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The transactions, by sessions.
    pub history: History,
    /// The transactions in the order of the recording.
    pub lines: Vec<TxnId>,
    /// How many transactions of the recording come before this piece.
    pub first: u32,
    /// The key of the recording, for each of the piece.
    pub keys: Vec<KeyId>,
    /// The session of the recording, for each of the piece.
    pub sessions: Vec<SessionId>,
}

impl Piece {
    /// The transaction of the piece that has this number in the recording.
    pub fn local(&self, number: u32) -> Option<TxnId> {
        self.lines.get(number.checked_sub(self.first)? as usize).copied()
    }

    /// The number after that of the last transaction.
    pub fn end(&self) -> u32 {
        self.first + self.lines.len() as u32
    }

    /// The key of the recording.
    #[inline]
    pub fn key(&self, key: KeyId) -> KeyId {
        self.keys[key.index()]
    }

    /// Whether a value has the same number in every piece.
    pub fn is_comparable(value: ValueId) -> bool {
        value.small_int().is_some() || value == ValueId::NIL
    }

    /// The session of the recording that a transaction of the piece is of.
    #[inline]
    pub fn session_of(&self, txn: TxnId) -> SessionId {
        self.sessions[self.history.session_of(txn).index()]
    }
}

/// The keys and sessions of a recording that is read in pieces.
#[derive(Default, Debug)]
pub struct PieceIds {
    keys: Keys,
    sessions: FxHashMap<u64, SessionId>,
    txns: u32,
}

impl PieceIds {
    /// The next piece: a history, its transactions in the order of the recording, and what the recording calls its
    /// sessions. `None` if there are too many transactions to number.
    pub fn next(&mut self, history: History, lines: Vec<TxnId>, sessions: &[u64]) -> Option<Piece> {
        let first = self.txns;
        // Each transaction is two events at most, which have numbers too.
        self.txns = first.checked_add(lines.len() as u32).filter(|&txns| txns < u32::MAX / 4)?;
        let keys = self.keys.absorb(history.keys());
        let sessions = sessions.iter().map(|&number| self.session(number)).collect();
        Some(Piece { history, lines, first, keys, sessions })
    }

    /// The session that the recording calls so; sessions are numbered as they are named first.
    pub fn session(&mut self, number: u64) -> SessionId {
        let next = SessionId::from_index(self.sessions.len());
        *self.sessions.entry(number).or_insert(next)
    }

    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// How many transactions there are.
    pub fn txn_count(&self) -> u32 {
        self.txns
    }
}
