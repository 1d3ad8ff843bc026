//! What the lists of a key show: the source of each read, and the order of writers.
//!
//! Where several transactions appended the same element, some lists show only that one of them is there. What is certain
//! is all that counts for a violation; that an order explains such lists is seen by appending along it ([`DoubtfulList`]).

use history::{History, KeyId, Op, OpId, TxnId, ValueId};

use super::{Facts, INITIAL, Told};
use crate::lists::{Appenders, MadeOf, Member};
use crate::observe::outside_of;
use crate::text::judge::Witness;
use crate::{Flaw, Place};

/// Which transactions a list is made of, where that is guessed.
pub(super) type Guess<'a> = Option<&'a dyn Fn(OpId) -> Option<Vec<TxnId>>>;

/// Where what a list shows comes from.
pub(super) struct ListsOf<'a> {
    pub history: &'a History,
    pub facts: &'a Facts,
    pub appenders: &'a Appenders,
    pub nodes: &'a [Option<u32>],
    pub is_impossible: &'a [bool],
    pub guess: Guess<'a>,
}

/// What one list shows.
#[derive(Default)]
pub(super) struct Shown {
    /// The node that read it.
    teller: u32,
    /// The nodes that are certainly in it, in its order.
    pub known: Vec<u32>,
    /// Nodes that may be in it beside these: of some groups of them one is.
    others: Vec<u32>,
    /// The nodes of which one is the last; empty for an empty list.
    last: Vec<u32>,
    /// Whether nothing else is in it.
    is_whole: bool,
}

impl ListsOf<'_> {
    /// What a list shows, or nothing if no transactions that may have committed made it.
    pub fn shown(&self, reader: u32, op: OpId) -> Option<Shown> {
        let guessed = self.guess.and_then(|guess| guess(op));
        let made_of = match guessed {
            Some(txns) => {
                let members = txns.into_iter().map(Member::Known).collect();
                MadeOf { members, is_whole: true }
            }
            None => self.appenders.made_of(self.history, op)?,
        };
        let mut shown = Shown { teller: reader, is_whole: made_of.is_whole, ..Shown::default() };
        for member in &made_of.members {
            let nodes = self.possible(member);
            match nodes[..] {
                [] => return None,
                [only] => shown.known.push(only),
                _ => shown.others.extend(&nodes),
            }
            shown.last = nodes;
        }
        Some(shown)
    }

    fn possible(&self, member: &Member) -> Vec<u32> {
        let txns = match member {
            Member::Known(txn) => std::slice::from_ref(txn),
            Member::OneOf(txns) => txns,
        };
        let nodes = txns.iter().filter_map(|txn| self.nodes[txn.index()]);
        nodes.filter(|&node| !self.is_impossible[node as usize]).collect()
    }
}

impl Shown {
    /// The nodes that it may have come from.
    pub fn source(&self, writers: impl FnOnce() -> Vec<u32>) -> Vec<u32> {
        match (self.is_whole, self.last.is_empty()) {
            (true, true) => vec![INITIAL],
            (true, false) => self.last.clone(),
            (false, _) => writers().into_iter().filter(|&writer| writer != self.teller).collect(),
        }
    }
}

/// The lists of a key that tell more than others: the longest that a committed transaction read, those that it does not
/// begin with, and those of transactions of unknown outcome, each of which may be the only one that counts.
#[derive(Default)]
pub(super) struct ToldBy {
    longest: Shown,
    others: Vec<Shown>,
}

impl ToldBy {
    /// The elements of a list stand in the order of their writers. A list that another one begins with adds nothing.
    pub fn add(&mut self, shown: Shown, is_unknown: bool, told: &mut Vec<Told>) {
        let list = &shown.known;
        if self.longest.known.starts_with(list) {
            return;
        }
        let known = list.starts_with(&self.longest.known).then_some(self.longest.known.len());
        let pairs = list.windows(2).skip(known.unwrap_or(0).saturating_sub(1));
        told.extend(pairs.map(|pair| (pair[0], pair[1], shown.teller)));
        match known.is_some() && !is_unknown {
            true => self.longest = shown,
            false => self.others.push(shown),
        }
    }

    /// All writers that are not in a list come after it.
    pub fn finish(self, writers: &[u32], told: &mut Vec<Told>) {
        for shown in self.others.iter().chain([&self.longest]).filter(|shown| shown.is_whole) {
            let Some(&last) = shown.known.last() else { continue };
            let mut seen: Vec<u32> = shown.known.iter().chain(&shown.others).copied().collect();
            seen.sort_unstable();
            let unseen = writers.iter().filter(|writer| seen.binary_search(writer).is_err());
            told.extend(unseen.map(|&writer| (last, writer, shown.teller)));
        }
    }
}

/// A list to which several transactions appended the same element.
#[derive(Clone, Debug)]
pub(super) struct DoubtfulList {
    /// What each node appended.
    appended: Vec<(u32, Box<[ValueId]>)>,
    /// What each node read of it.
    read: Vec<(u32, OpId, Box<[ValueId]>)>,
}

impl DoubtfulList {
    /// All of them.
    pub fn all(history: &History, appenders: &Appenders, nodes: &[Option<u32>]) -> Vec<Self> {
        let keys = appenders.doubtful();
        let mut lists = vec![Self { appended: Vec::new(), read: Vec::new() }; keys.len()];
        if keys.is_empty() {
            return lists;
        }
        let place = |key: KeyId| keys.binary_search(&key).ok();
        for (txn, key, elements) in appenders.chains() {
            if let (Some(place), Some(node)) = (place(key), nodes[txn.index()]) {
                lists[place].appended.push((node, elements.into()));
            }
        }
        for (op, operation) in history.txns().flat_map(|txn| history.ops(txn)) {
            let Op::ReadList { key, list: Some(_) } = operation else { continue };
            let node = nodes[history.txn_of(op).index()];
            if let (Some(place), Some(node), Some(seen)) =
                (place(key), node, outside_of(history, history.txn_of(op), op))
            {
                lists[place].read.push((node, op, seen.into()));
            }
        }
        lists
    }

    /// Whether each list that was read is what its source left, if the transactions append in the order of the witness.
    pub fn check(&self, facts: &Facts, witness: &Witness) -> Result<(), Flaw> {
        let mut appended: Vec<&(u32, Box<[ValueId]>)> =
            self.appended.iter().filter(|(node, _)| witness.has(*node)).collect();
        appended.sort_by_key(|(node, _)| witness.position[*node as usize]);
        let mut list: Vec<ValueId> = Vec::new();
        // (node, how long the list is after it)
        let mut versions = vec![(INITIAL, 0)];
        for (node, elements) in appended {
            list.extend_from_slice(elements);
            versions.push((*node, list.len()));
        }
        for (node, op, seen) in self.read.iter().filter(|(node, ..)| witness.has(*node)) {
            let read = facts.reads_of(*node).find(|&read| facts.reads()[read].op == *op);
            let source = read.map(|read| witness.source[read]);
            let is_version =
                versions.iter().any(|&(node, length)| Some(node) == source && length == seen.len());
            if !is_version || !list.starts_with(seen) {
                let why = "along the order its source leaves another list than it saw";
                return Err(Flaw::new(Place::Read(*op), why));
            }
        }
        Ok(())
    }
}
