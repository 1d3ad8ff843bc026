//! A step of a cycle: one transaction before another, for one reason.

use certify::{Atom, Lit, Node, ReadId, Rule, Step};
use history::{KeyId, OpId, TxnId};

use crate::argument::{Argument, By, FactId};
use crate::terms::{Terms, source_txn};

/// Why one transaction is before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// Session order.
    So,
    /// Real time.
    Rt,
    /// The second read what the first wrote.
    Wr,
    /// The second overwrote what the first wrote.
    Ww,
    /// The second overwrote what the first read.
    Rw,
    /// Something else: the other way leads to a contradiction.
    Derived,
}

impl EdgeKind {
    /// The name as printed and as used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::So => "so",
            Self::Rt => "rt",
            Self::Wr => "wr",
            Self::Ww => "ww",
            Self::Rw => "rw",
            Self::Derived => "derived",
        }
    }
}

/// A step of a cycle, with its reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The transaction before; `None` for the initial state.
    pub from: Option<TxnId>,
    /// The transaction after.
    pub to: Option<TxnId>,
    /// Why.
    pub kind: EdgeKind,
    /// The key, for a dependency.
    pub key: Option<KeyId>,
    /// The read, for a dependency that a read shows.
    pub read: Option<OpId>,
    /// The reason as a sentence.
    pub reason: String,
}

/// A rule applied to concrete transactions, in the roles of the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Session,
    RealTime,
    BeginCommit,
    Initial,
    /// The read of `op` came from `source`, so after it.
    ReadAfterWrite {
        op: ReadId,
        source: Option<TxnId>,
    },
    /// The read of `op` from `source` comes before the later writer.
    Overwritten {
        op: ReadId,
        source: Option<TxnId>,
        writer: TxnId,
    },
    /// The read of `op` shows that its source committed.
    ReadCommitted {
        op: ReadId,
    },
    TwoWriters {
        t: TxnId,
        u: TxnId,
    },
    /// The read of `op` contradicts its own transaction.
    Internal {
        op: OpId,
    },
    Sources {
        op: ReadId,
    },
    /// The list that `op` read, or the recorded versions, show that `t` wrote before `u`.
    Told {
        op: Option<OpId>,
        t: TxnId,
        u: TxnId,
    },
    Other,
}

impl Use {
    /// The roles in a step; `Other` where it has no roles to speak of.
    pub fn of(terms: &Terms<'_>, step: &Step) -> Self {
        let denied = step.clause.iter().find_map(|lit| match lit.atom {
            Atom::ReadFrom(op, source) if lit.negated => Some((op, source_txn(source))),
            _ => None,
        });
        let mut orders = step.clause.iter().filter_map(before);
        match (&step.rule, denied) {
            (Rule::Session, _) => Self::Session,
            (Rule::RealTime, _) => Self::RealTime,
            (Rule::BeginCommit, _) => Self::BeginCommit,
            (Rule::Initial, _) => Self::Initial,
            (&Rule::Internal(op), _) => Self::Internal { op },
            (&Rule::Sources(op), _) => Self::Sources { op },
            (Rule::ReadAfterWrite, Some((op, source))) => Self::ReadAfterWrite { op, source },
            (Rule::ReadCommitted, Some((op, _))) => Self::ReadCommitted { op },
            (Rule::Overwritten, Some((op, source))) => {
                let reader = terms.read(op).map(|read| read.txn);
                let writer = orders
                    .find(|&(a, _)| terms.txn(a) == reader && reader.is_some())
                    .and_then(|(_, b)| terms.txn(b));
                writer.map_or(Self::Other, |writer| Self::Overwritten { op, source, writer })
            }
            (Rule::ListOrder(_) | Rule::RecordedOrder, _) => {
                let op = match step.rule {
                    Rule::ListOrder(op) => Some(op),
                    _ => None,
                };
                match orders.next().map(|(a, b)| (terms.txn(a), terms.txn(b))) {
                    Some((Some(t), Some(u))) => Self::Told { op, t, u },
                    _ => Self::Other,
                }
            }
            (Rule::TwoWriters, _) => match orders.next().map(|(a, b)| (terms.txn(a), terms.txn(b))) {
                Some((Some(t), Some(u))) => Self::TwoWriters { t, u },
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// The events that a literal orders.
pub(crate) fn before(lit: &Lit) -> Option<(Node, Node)> {
    match lit.atom {
        Atom::Before(a, b) => Some((a, b)),
        _ => None,
    }
}

/// What kind of edge a fact of order is, on which key, and by which read.
pub(crate) fn kind(
    terms: &Terms<'_>,
    argument: &Argument,
    steps: &[Step],
    fact: FactId,
) -> (EdgeKind, Option<KeyId>, Option<OpId>) {
    let fact = argument.fact(fact);
    let (By::Rule(step, _), Some((_, b))) = (&fact.by, before(&fact.lit)) else {
        return (EdgeKind::Derived, None, None);
    };
    let key = |op| terms.read(op).map(|read| read.key);
    match Use::of(terms, &steps[*step as usize]) {
        Use::Session | Use::BeginCommit | Use::Initial => (EdgeKind::So, None, None),
        Use::RealTime => (EdgeKind::Rt, None, None),
        Use::ReadAfterWrite { op, .. } => (EdgeKind::Wr, key(op), Some(op.op)),
        Use::Overwritten { op, writer, .. } if terms.txn(b) == Some(writer) => {
            (EdgeKind::Rw, key(op), Some(op.op))
        }
        Use::Overwritten { op, .. } => (EdgeKind::Ww, key(op), None),
        Use::TwoWriters { t, u } | Use::Told { t, u, .. } => (EdgeKind::Ww, terms.key_of_both(t, u), None),
        _ => (EdgeKind::Derived, None, None),
    }
}
