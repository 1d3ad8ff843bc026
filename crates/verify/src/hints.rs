//! Orders of other levels, tried at this one.
//!
//! A stronger level's order explains the history at a weaker level, and an order of a weaker one may. A transaction that
//! has one event at the other level and two at this one begins directly before it commits; one that has two there and
//! one here comes where it committed. Whether the order is right is for the checker of certificates to say, which costs
//! one pass over the history.

use certify::{Certificate, Level, Node};
use history::History;

use crate::options::Options;

/// The first order among the hints that explains the history at a level.
pub(crate) fn explain(history: &History, level: &Level, options: &Options<'_>) -> Option<Certificate> {
    let orders = options.hints.iter().filter_map(|(of, certificate)| translate(of, certificate, level));
    orders.into_iter().find(|order| certify::check(history, level, order).is_ok())
}

/// The order of one level, with the events of another.
pub(crate) fn translate(of: &Level, certificate: &Certificate, level: &Level) -> Option<Certificate> {
    let Certificate::Holds { order, committed_unknown } = certificate else { return None };
    let (from, to) = (of.events_per_txn(), level.events_per_txn());
    let events = |&node: &Node| -> Vec<Node> {
        match node.txn(from) {
            Some(_) if from == to => vec![node],
            Some(txn) if to == 2 => vec![Node::begin(txn, 2), Node::commit(txn, 2)],
            Some(txn) if node.is_commit(from) => vec![Node::commit(txn, to)],
            _ => Vec::new(),
        }
    };
    let order = order.iter().flat_map(events).collect();
    Some(Certificate::Holds { order, committed_unknown: committed_unknown.clone() })
}
