//! What a certificate is made of.
//!
//! Write `begin(t)` and `commit(t)` for the events of transaction `t`; for the serializable core both are the same
//! event. Two versions of a key are ordered by `commit(t)` against `install(u)`, where `install(u)` is `begin(u)` for
//! the snapshot core (writers of a key do not overlap) and `commit(u)` for the other cores.
//!
//! A *clause* is a set of literals of which at least one is true in every explanation of the history. In the rules
//! below, `s` reads key `x` with the external read `r`, `t` is a source of it, `u` another writer of `x` (not `s`, not
//! `t`), and wherever a transaction of unknown outcome takes part in a clause as reader or writer, the literal that it
//! did not commit (`not In`) belongs to the clause too; for committed transactions there is no such literal.
//!
//! The checker insists on `not In` only where the clause would be false without it, and accepts it for every unknown
//! transaction that takes part. An unknown transaction that did not commit has no place of its own in an explanation,
//! so its events may be thought of at the end of the order: what leads *to* them holds by itself, and what leads *from*
//! them needs `not In`. (Without real time they may be thought of in their session instead, and nothing needs it.)
//! Aborted transactions have no events, and nothing in a clause may name them.

use history::{History, KeyId, OpId, TxnId};

/// An event of the total order, see [`Node::begin`]; or the initial state, which is before all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub u32);

impl Node {
    /// The initial state.
    pub const INITIAL: Self = Self(u32::MAX);

    /// The begin of a transaction, for a level with this many events per transaction.
    pub fn begin(txn: TxnId, events_per_txn: u32) -> Self {
        Self(txn.0 * events_per_txn)
    }

    /// The commit of a transaction, for a level with this many events per transaction.
    pub fn commit(txn: TxnId, events_per_txn: u32) -> Self {
        Self(txn.0 * events_per_txn + events_per_txn - 1)
    }

    /// The transaction of the event; `None` for the initial state.
    pub fn txn(self, events_per_txn: u32) -> Option<TxnId> {
        (self != Self::INITIAL).then(|| TxnId(self.0 / events_per_txn))
    }

    /// Whether the event is the commit of its transaction (with one event per transaction it always is).
    pub fn is_commit(self, events_per_txn: u32) -> bool {
        self.0 % events_per_txn == events_per_txn - 1
    }
}

/// Where a read came from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// The initial state.
    Initial,
    /// The final write of this transaction.
    Txn(TxnId),
}

/// An external read: an operation, and for one that reads several keys the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReadId {
    /// The operation.
    pub op: OpId,
    /// The key, for a range or a predicate.
    pub key: Option<KeyId>,
}

impl ReadId {
    /// The read of a key by an operation.
    pub fn of(history: &History, op: OpId, key: KeyId) -> Self {
        let is_one = op.index() < history.op_count() && history.op(op).key().is_some();
        Self { op, key: (!is_one).then_some(key) }
    }
}

impl From<OpId> for ReadId {
    fn from(op: OpId) -> Self {
        Self { op, key: None }
    }
}

/// Something that is true or false in an explanation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Atom {
    /// The first event is before the second in the total order.
    Before(Node, Node),
    /// The external read came from there.
    ReadFrom(ReadId, Source),
    /// A transaction of unknown outcome committed.
    In(TxnId),
    /// Of the alternatives of what a transaction with predicates did to a key, this one is true
    /// (`docs/certificates.md` defines and numbers them).
    Took(TxnId, KeyId, u32),
}

/// An atom or its negation. The negation of `Before(a, b)` is always written `Before(b, a)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lit {
    /// The atom.
    pub atom: Atom,
    /// Whether it is negated; never so for `Before`.
    pub negated: bool,
}

impl Lit {
    /// `a` is before `b`.
    pub fn before(a: Node, b: Node) -> Self {
        Self { atom: Atom::Before(a, b), negated: false }
    }

    /// The read came from there.
    pub fn read_from(read: impl Into<ReadId>, source: Source) -> Self {
        Self { atom: Atom::ReadFrom(read.into(), source), negated: false }
    }

    /// The transaction of unknown outcome committed.
    pub fn committed(txn: TxnId) -> Self {
        Self { atom: Atom::In(txn), negated: false }
    }
}

impl Lit {
    /// This alternative of what the transaction did to the key is true.
    pub fn took(txn: TxnId, key: KeyId, alternative: u32) -> Self {
        Self { atom: Atom::Took(txn, key, alternative), negated: false }
    }
}

impl std::ops::Not for Lit {
    type Output = Self;

    fn not(self) -> Self {
        match self.atom {
            Atom::Before(a, b) => Self::before(b, a),
            atom => Self { atom, negated: !self.negated },
        }
    }
}

/// The number of a step in its certificate, from 0.
pub type StepId = u32;

/// Why a clause holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// `[commit(t) < begin(u)]`: the level respects sessions, and `t` is earlier in the session of `u`. With
    /// `not In(t)` for an unknown `t` if the level has real time: only a session that went on after a transaction that
    /// did commit says something about the clock.
    Session,
    /// `[a < b]`: the level obliges to this order of `a` and `b`, events of two transactions, in real time. With
    /// `not In` for an unknown transaction of `a`.
    RealTime,
    /// `[begin(t) < commit(t)]`, with two events per transaction.
    BeginCommit,
    /// `[INITIAL < a]`.
    Initial,
    /// `[]`: this read contradicts its own transaction (not my own write, not my last write, future read after an own
    /// write, non-repeatable read), or returned a row twice or one that is not in its range. With `not In(s)` for an
    /// unknown `s`.
    Internal(OpId),
    /// `[ReadFrom(r, t1), ReadFrom(r, t2), ...]`: all sources of `r`, by the values (none at all for a thin-air,
    /// aborted or intermediate read). A key that a range read did not return was deleted, or not there at first. With
    /// `not In(s)` for an unknown `s`, and without `not In` for the sources.
    Sources(ReadId),
    /// `[commit(t) < install(u)]`: the list that `s` read by this operation has what `t` appended before what `u` did;
    /// or it has what `t` appended, and not what `u` did, and `u` is not `s`. With `not In(s)` and `not In(u)` for unknown
    /// `s` and `u`.
    ListOrder(OpId),
    /// `[In(t)]`: the list that `s` read by this operation has what the unknown `t` appended. With `not In(s)` for an
    /// unknown `s`.
    Listed(OpId),
    /// `[commit(t) < install(u)]`: the recorded version of a key that `t` wrote is before the one that `u` wrote. With
    /// `not In(t)` and `not In(u)` for unknown `t` and `u`.
    RecordedOrder,
    /// `[not ReadFrom(r, t), commit(t) < begin(s)]`; with `INITIAL` for the initial state.
    ReadAfterWrite,
    /// `[not ReadFrom(r, t), In(t)]` for an unknown `t`.
    ReadCommitted,
    /// `[not ReadFrom(r, initial), not ReadFrom(q, initial)]`: the initial value of the key is unknown but one, and the
    /// reads `r` and `q` saw two different values.
    OneInitial,
    /// `[commit(t) < install(u), commit(u) < install(t)]` for two writers of a key.
    TwoWriters,
    /// `[not ReadFrom(r, t), not (commit(t) < install(u)), begin(s) < commit(u)]`: a read of `t`'s version comes before
    /// the writers of later versions. For the initial state, `commit(t)` is `INITIAL` and the second literal is left
    /// out.
    Overwritten,
    /// `[Took(t, x, 0), Took(t, x, 1), ...]`: all alternatives of what `t` did to `x`.
    OneWay,
    /// The negations of some `Took`, with which this predicate write would have changed more or fewer rows than the
    /// database said. With `not In` for its transaction, if unknown.
    RowCount(OpId),
    /// The negations of some `Took`: these steps derive the empty clause if they are all true. In the steps, a
    /// transaction has the read and the write of the alternative that is assumed; a transaction without an assumed
    /// alternative may have written what any of its alternatives writes, and is not known to have written.
    Case(Vec<Step>),
    /// The negations of `a1 < a2, a2 < a3, ..., ak < a1`: an order has no cycle.
    Cycle,
    /// `[]`, as the only step: no order of the events explains the history. The checker tries them all, so this is for
    /// histories of a few transactions, whatever kinds of operations they mix.
    NoOrder,
    /// Follows by unit propagation over these earlier clauses, in this order: with all literals of the clause false,
    /// each is unit (and its literal becomes true) or true already, until one has no literal left.
    Derived(Vec<StepId>),
}

/// One clause with its reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The literals; at least one is true in every explanation.
    pub clause: Vec<Lit>,
    /// Why.
    pub rule: Rule,
}

/// The argument for a verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Certificate {
    /// The level holds.
    Holds {
        /// All events of the transactions that are taken as committed, in a total order that explains every read.
        order: Vec<Node>,
        /// The transactions of unknown outcome that are taken as committed, ascending.
        committed_unknown: Vec<TxnId>,
    },
    /// The level is violated: the last step is the empty clause.
    Violated {
        /// The derivation; a step uses only earlier ones.
        steps: Vec<Step>,
        /// The only keys that are looked at, ascending, in a history with predicates; without it all. What contradicts
        /// itself in these does so in all.
        keys: Option<Vec<KeyId>>,
    },
}

impl Certificate {
    /// Whether the argument is a violation in which no order of transactions plays a part: it then proves that no level
    /// holds which forbids what single transactions show.
    pub fn ignores_order(&self) -> bool {
        let Self::Violated { steps, .. } = self else { return false };
        steps.iter().all(|step| step.rule.ignores_order())
    }
}

impl Rule {
    fn ignores_order(&self) -> bool {
        match self {
            Self::Internal(_)
            | Self::Sources(_)
            | Self::Listed(_)
            | Self::ReadCommitted
            | Self::OneInitial
            | Self::OneWay
            | Self::RowCount(_)
            | Self::Derived(_) => true,
            Self::Case(steps) => steps.iter().all(|step| step.rule.ignores_order()),
            Self::Session
            | Self::RealTime
            | Self::BeginCommit
            | Self::Initial
            | Self::ListOrder(_)
            | Self::RecordedOrder
            | Self::ReadAfterWrite
            | Self::TwoWriters
            | Self::Overwritten
            | Self::Cycle
            | Self::NoOrder => false,
        }
    }
}
