//! What is asked of synthesis, and what it answers.

use history::History;
use spec::ground::Reason;
use spec::oracle::Explanation;
use spec::sat::Proof;
use spec::{Level, SmallHistory};

/// Bounds on the histories that are looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Scope {
    /// Exactly this many transactions, the initial one not counted; each reads or writes something.
    pub txns: usize,
    /// At most this many objects.
    pub objects: usize,
    /// At most this many values of an object, the initial one counted.
    pub values: usize,
}

/// How transactions form sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sessions {
    /// A session is a sequence of transactions, as in a recording.
    Chains,
    /// Session order is any partial order.
    PartialOrder,
}

/// What histories may look like and how they are searched for. The techniques change how long it takes, never the
/// answer; tests switch them off one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether a transaction may write an object without reading it first.
    pub blind_writes: bool,
    /// How transactions form sessions.
    pub sessions: Sessions,
    /// Objects are interchangeable: look at one arrangement of them.
    pub break_symmetry: bool,
    /// Forbid up front that an allowed level's own order explains the history for a forbidden level.
    pub seed_orders: bool,
    /// Encode "the forced order has a cycle" directly where that is exact.
    pub encode_cycles: bool,
    /// Keep clauses and learnt clauses, for a proof.
    pub log_proof: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            blind_writes: true,
            sessions: Sessions::Chains,
            break_symmetry: true,
            seed_orders: true,
            encode_cycles: true,
            log_proof: false,
        }
    }
}

impl Options {
    /// The restrictions of the published benchmark: no blind writes, and session order is any partial order.
    pub fn isolde_compatible() -> Self {
        Self { blind_writes: false, sessions: Sessions::PartialOrder, ..Self::default() }
    }
}

/// A history is wanted that every level of the first list allows and every level of the second forbids.
#[derive(Clone, Debug)]
pub struct Problem<'l> {
    /// Levels that must allow the history.
    pub allow: Vec<&'l Level>,
    /// Levels that must forbid it.
    pub forbid: Vec<&'l Level>,
    /// What the history may look like.
    pub options: Options,
}

/// How much work it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// Histories that were proposed and checked, the one found included.
    pub candidates: usize,
    /// Clauses given to the solver.
    pub clauses: usize,
    /// Conflicts that its search met.
    pub conflicts: u64,
}

/// A history with what shows that it is right.
#[derive(Clone, Debug)]
pub struct Found {
    /// The history.
    pub history: SmallHistory,
    /// Why each allowed level allows it, in the order of the problem.
    pub allowed: Vec<Explanation>,
    /// Why each forbidden level forbids it: demands that contradict one another.
    pub forbidden: Vec<Vec<Reason>>,
    /// The scope it was found in.
    pub scope: Scope,
    /// How much work it was.
    pub effort: Effort,
}

impl Found {
    /// The history as a recording, for any format.
    pub fn to_history(&self) -> History {
        self.history.to_history()
    }
}

/// That no history of a scope will do.
#[derive(Clone, Debug)]
pub struct NoneWithin {
    /// The scope.
    pub scope: Scope,
    /// How much work it was.
    pub effort: Effort,
    /// The clauses and the derivation of their contradiction, if asked for.
    pub proof: Option<ScopeProof>,
}

/// Why no history of a scope will do, for a proof checker.
#[derive(Clone, Debug)]
pub struct ScopeProof {
    /// The clauses and those learnt from them.
    pub clauses: Proof,
    /// What the clauses say, line by line; among them each order for which a forbidden level was instantiated.
    pub legend: String,
}

/// The answer to a problem in one scope.
#[derive(Clone, Debug)]
pub enum Synthesis {
    /// A history, and the evidence.
    Found(Box<Found>),
    /// None within the scope.
    None(NoneWithin),
}

impl Synthesis {
    /// The history found, if any.
    pub fn found(&self) -> Option<&Found> {
        match self {
            Self::Found(found) => Some(found),
            Self::None(_) => None,
        }
    }

    /// How much work it was.
    pub fn effort(&self) -> Effort {
        match self {
            Self::Found(found) => found.effort,
            Self::None(none) => none.effort,
        }
    }
}
