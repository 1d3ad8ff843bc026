//! Events and literals as text, the same in certificate files and in flaws.
//!
//! `t3` is the one event of transaction 3, `b3` and `c3` are its begin and its commit, `init` is the initial state;
//! `b3<c4`, `r15=t3`, `r15=init` and `in5` are the atoms, and `!` negates the last three kinds. `r15.2=t3` is about the
//! key 2 of a range or predicate that operation 15 read, and `took3.2.1` about the way 1 in which transaction 3 met it.

use std::fmt;

use crate::{Atom, Lit, Node, ReadId, Source};

/// An event, for a level with this many events per transaction.
pub(crate) struct NodeText(pub Node, pub u32);

impl fmt::Display for NodeText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(node, events_per_txn) = *self;
        let Some(txn) = node.txn(events_per_txn) else {
            return out.write_str("init");
        };
        let letter = match (events_per_txn, node.is_commit(events_per_txn)) {
            (1, _) => 't',
            (_, false) => 'b',
            (_, true) => 'c',
        };
        write!(out, "{letter}{}", txn.0)
    }
}

/// A literal, for a level with this many events per transaction.
pub(crate) struct LitText(pub Lit, pub u32);

impl fmt::Display for LitText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(lit, events_per_txn) = *self;
        if lit.negated {
            out.write_str("!")?;
        }
        match lit.atom {
            Atom::Before(a, b) => {
                write!(out, "{}<{}", NodeText(a, events_per_txn), NodeText(b, events_per_txn))
            }
            Atom::ReadFrom(read, Source::Initial) => write!(out, "{}=init", ReadText(read)),
            Atom::ReadFrom(read, Source::Txn(txn)) => write!(out, "{}=t{}", ReadText(read), txn.0),
            Atom::In(txn) => write!(out, "in{}", txn.0),
            Atom::Took(txn, key, way) => write!(out, "took{}.{}.{way}", txn.0, key.0),
        }
    }
}

/// A read.
pub(crate) struct ReadText(pub ReadId);

impl fmt::Display for ReadText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ReadId { op, key: None } => write!(out, "r{}", op.0),
            ReadId { op, key: Some(key) } => write!(out, "r{}.{}", op.0, key.0),
        }
    }
}
