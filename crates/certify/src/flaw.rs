//! What is wrong with a certificate: where, and why, as a sentence.

use std::fmt;

use history::{OpId, TxnId};

use crate::StepId;

/// The part of a certificate, or of what it is checked against, that is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The certificate as a whole.
    Whole,
    /// The level has no meaning, or no certificates.
    Level,
    /// This operation of the history has no certificates.
    Op(OpId),
    /// An entry of the order, from 0.
    Order(usize),
    /// An entry of the list of unknown transactions that are taken as committed, from 0.
    CommittedUnknown(usize),
    /// A transaction whose events are not where they must be.
    Txn(TxnId),
    /// A read that the order does not explain.
    Read(OpId),
    /// A step of a derivation.
    Step(StepId),
}

/// Why a certificate does not prove its verdict.
///
/// Numbers of transactions, operations and steps count from 0, as in the certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// Where.
    pub place: Place,
    /// Why, as a sentence without its full stop.
    pub why: String,
}

impl Flaw {
    pub(crate) fn new(place: Place, why: impl Into<String>) -> Self {
        Self { place, why: why.into() }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Whole => write!(out, "certificate: ")?,
            Place::Level => write!(out, "level: ")?,
            Place::Op(op) => write!(out, "operation {}: ", op.0)?,
            Place::Order(place) => write!(out, "order, entry {place}: ")?,
            Place::CommittedUnknown(place) => write!(out, "committed_unknown, entry {place}: ")?,
            Place::Txn(txn) => write!(out, "transaction {}: ", txn.0)?,
            Place::Read(op) => write!(out, "read by operation {}: ", op.0)?,
            Place::Step(step) => write!(out, "step {step}: ")?,
        }
        out.write_str(&self.why)
    }
}

impl std::error::Error for Flaw {}
