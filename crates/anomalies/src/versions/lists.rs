//! The dependencies of lists.
//!
//! The writers of the longest list of each key are looked up once. A list that is a beginning of it tells by its length
//! which version was read and which comes next; only other lists are looked up by their last element.

use history::{History, KeyId, Outcome, TxnId, ValueId};
use rustc_hash::FxHashMap;

use super::Versions;
use crate::facts::{Facts, Seen};
use crate::graph::{Graph, Kind};

pub(super) struct Lists<'a> {
    history: &'a History,
    facts: &'a Facts<'a>,
    /// For each list its elements in their order, each once.
    orders: &'a [Vec<ValueId>],
    /// For each of these elements the transaction that appended it, if there is only one and it did not abort.
    writers: Vec<Vec<Option<TxnId>>>,
    /// Where elements are in their order, for keys of which the length of a list does not say it.
    places: FxHashMap<(KeyId, ValueId), usize>,
}

impl<'a> Lists<'a> {
    pub(super) fn of(versions: &'a Versions, history: &'a History, facts: &'a Facts<'a>) -> Self {
        let keys = || versions.orders.iter().enumerate().map(|(key, order)| (KeyId::from_index(key), order));
        let writer = |key, element| Some(facts.live_writer(history, key, element)?.txn);
        let writers = keys().map(|(key, order)| order.iter().map(|&element| writer(key, element)).collect());
        let mut lists = Self {
            history,
            facts,
            orders: &versions.orders,
            writers: writers.collect(),
            places: FxHashMap::default(),
        };
        let mut is_odd = vec![false; lists.orders.len()];
        for seen in lists.reads().filter(|seen| lists.place_by_length(seen).is_none()) {
            is_odd[seen.key.index()] = true;
        }
        for (key, order) in keys().filter(|(key, _)| is_odd[key.index()]) {
            lists.places.extend(order.iter().enumerate().map(|(place, &element)| ((key, element), place)));
        }
        lists
    }

    fn reads(&self) -> impl Iterator<Item = &'a Seen<'a>> {
        let facts = self.facts;
        facts.seen.iter().filter(|seen| facts.is_list[seen.key.index()] && seen.is_external)
    }

    /// The place in the order after the version that was read, if it is the length of the list.
    fn place_by_length(&self, seen: &Seen<'_>) -> Option<usize> {
        let list = seen.content.values();
        let Some(last) = list.last() else { return Some(0) };
        (self.orders[seen.key.index()].get(list.len() - 1) == Some(last)).then_some(list.len())
    }

    /// The place in the order after the version that was read; an element that was appended twice does not tell it.
    fn place_after(&self, seen: &Seen<'_>) -> Option<usize> {
        let by_version = || {
            let element = self.facts.writer(seen.key, seen.version()?)?.value;
            Some(self.places.get(&(seen.key, element))? + 1)
        };
        self.place_by_length(seen).or_else(by_version)
    }

    pub(super) fn add(&self, graph: &mut Graph) {
        let keys = || (0..self.orders.len()).filter(|&key| self.facts.is_list[key]).map(KeyId::from_index);
        keys().for_each(|key| self.add_appends(key, graph));
        let readers_of_last = self.add_reads(graph);
        keys().for_each(|key| self.add_unread(key, &readers_of_last[key.index()], graph));
    }

    fn add_appends(&self, key: KeyId, graph: &mut Graph) {
        let mut before = None;
        for (writer, &element) in self.writers[key.index()].iter().zip(&self.orders[key.index()]) {
            let Some(writer) = *writer else { continue };
            if let Some(before) = before.replace(writer.0) {
                graph.depend(before, writer.0, Kind::Ww, key, element);
            }
        }
    }

    /// Adds what is known of each read, and returns for each key the readers after whose version nothing comes in the
    /// order.
    fn add_reads(&self, graph: &mut Graph) -> Vec<Vec<u32>> {
        let mut readers_of_last: Vec<Vec<u32>> = vec![Vec::new(); self.orders.len()];
        for seen in self.reads() {
            self.add_writer(seen, graph);
            let Some(place) = self.place_after(seen) else { continue };
            let order = &self.orders[seen.key.index()];
            let later = (place..order.len())
                .find_map(|place| Some((self.writers[seen.key.index()][place]?, order[place])));
            match later {
                Some((writer, element)) => graph.depend(seen.txn.0, writer.0, Kind::Rw, seen.key, element),
                None => readers_of_last[seen.key.index()].push(seen.txn.0),
            }
        }
        readers_of_last
    }

    fn add_writer(&self, seen: &Seen<'_>, graph: &mut Graph) {
        let Some(version) = seen.version() else { return };
        let writer = match self.place_by_length(seen) {
            Some(place) => self.writers[seen.key.index()][place - 1],
            None => self.facts.live_writer(self.history, seen.key, version).map(|write| write.txn),
        };
        if let Some(writer) = writer {
            graph.depend(writer.0, seen.txn.0, Kind::Wr, seen.key, version);
        }
    }

    /// Committed appends that no list has come after those that the longest one has.
    fn add_unread(&self, key: KeyId, readers_of_last: &[u32], graph: &mut Graph) {
        let unread = self.unread(key);
        let last = self.writers[key.index()].iter().rev().find_map(|&writer| writer);
        graph.depend_all(last.map(|last| last.0).as_slice(), &unread, Kind::Ww, key);
        graph.depend_all(readers_of_last, &unread, Kind::Rw, key);
    }

    fn unread(&self, key: KeyId) -> Vec<(u32, ValueId)> {
        let mut read = self.orders[key.index()].clone();
        read.sort_unstable();
        let is_unread = |&&(txn, value): &&(TxnId, ValueId)| {
            self.history.outcome(txn) == Outcome::Committed && read.binary_search(&value).is_err()
        };
        let finals = self.facts.writes.finals(key).iter();
        finals.filter(is_unread).map(|&(txn, value)| (txn.0, value)).collect()
    }
}
