//! Queries and updates by predicate on the simulated store.
//!
//! What a query sees is what its transaction sees of every row, without looking at every row: those that match now, and
//! those that were committed after the state it looks at. A level that checks reads asks at commit whether the filter
//! still matches the same versions, so that a row that came to match is noticed as well as one that was changed.

use super::client::{Done, Scan};
use super::engine::Engine;
use super::level::Reads;
use super::table::Filter;
use super::{Fault, store::Version};

impl Engine<'_> {
    /// Reads the rows that a new filter matches.
    pub(super) fn query(&mut self, session: u32, column: usize, wanted: u32) -> Done {
        let filter = self.table.filter(&mut self.random, column, wanted);
        let matching = self.matching_rows(session, filter);
        Done::Query(filter, self.keep(session, &matching))
    }

    /// Keeps rows for the record; where they are among the client's rows.
    fn keep(&mut self, session: u32, matching: &[(u32, u32)]) -> (u32, u32) {
        let rows = &mut self.clients[session as usize].rows;
        let first_row = rows.len() as u32;
        rows.extend_from_slice(matching);
        (first_row, rows.len() as u32)
    }

    /// Sets a column of the rows that a new filter matches to a new value.
    pub(super) fn update(&mut self, session: u32, column: usize, wanted: u32, set: usize) -> Done {
        let filter = self.table.filter(&mut self.random, column, wanted);
        let value = self.workload.value(&mut self.random, 0);
        let matching = self.matching_rows(session, filter);
        for &(key, content) in &matching {
            let changed = self.table.with_column(content, set, value);
            let client = &mut self.clients[session as usize];
            match client.own_rows.insert(key, changed) {
                None => client.writes.push((key, changed)),
                Some(_) => client.set_own_write(key, changed),
            }
            self.store.write_uncommitted(key, session, changed);
        }
        Done::Update(filter, set, value, self.keep(session, &matching))
    }

    /// The rows that match for a transaction, with its own updates, by key.
    fn matching_rows(&mut self, session: u32, filter: Filter) -> Vec<(u32, u32)> {
        let seen = self.look_for(session, filter);
        let client = &self.clients[session as usize];
        let mut rows: Vec<(u32, u32)> = seen
            .iter()
            .filter(|(key, _)| !client.own_rows.contains_key(key))
            .map(|&(key, version)| (key, version.value))
            .collect();
        rows.extend(client.writes.iter().filter(|&&(_, content)| self.table.matches(filter, content)));
        rows.sort_unstable();
        let versions = seen.into_iter().map(|(key, version)| (key, version.stamp)).collect();
        self.clients[session as usize].scans.push(Scan { filter, versions });
        rows
    }

    /// The rows of others that match for a transaction, by key.
    fn look_for(&mut self, session: u32, filter: Filter) -> Vec<(u32, Version)> {
        let mut found = Vec::new();
        for key in self.candidates(session, filter) {
            let version = self.look(session, key);
            if self.table.matches(filter, version.value) {
                found.push((key, version));
            }
        }
        found
    }

    /// All keys that can match: each once and in order.
    fn candidates(&self, session: u32, filter: Filter) -> Vec<u32> {
        let client = &self.clients[session as usize];
        let sees_wrong = matches!(client.fault, Some(Fault::AbortedRead | Fault::FracturedRead));
        let since = match client.rules.reads {
            _ if sees_wrong => None,
            Reads::Dirty => None,
            Reads::Newest | Reads::NewestEachTime => Some(i64::MAX),
            Reads::Snapshot(_) => Some(client.view.at),
            Reads::Copies => Some(client.view.at - self.store.longest_delay()),
        };
        let Some(since) = since else {
            return (0..self.config.keys).collect();
        };
        let mut keys: Vec<u32> = self.table.hits(filter).chain(self.table.changed_after(since)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Whether the filters of a transaction still match the versions they matched.
    pub(super) fn scans_are_stale(&self, session: u32) -> bool {
        let client = &self.clients[session as usize];
        let is_spared =
            |key: u32| client.fault == Some(Fault::LostUpdate) && client.own_rows.contains_key(&key);
        client.scans.iter().any(|scan| {
            let mut now: Vec<u32> = self.table.hits(scan.filter).filter(|&key| !is_spared(key)).collect();
            now.sort_unstable();
            let now = now.into_iter().map(|key| (key, self.store.newest(key).stamp));
            let then = scan.versions.iter().copied().filter(|&(key, _)| !is_spared(key));
            !now.eq(then)
        })
    }
}
