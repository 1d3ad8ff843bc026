//! Writes and reads brought together, key by key.
//!
//! Keys come in any order, so whatever is looked up for each read misses the cache once a history is larger than that.
//! Therefore reads are sorted by key (by counting), and each key's reads meet its writes while these are in the cache:
//! a read costs one miss when it is sorted and one when its source is written down. Looking for the source of each read
//! in the order of the transactions missed at five tables, and the index of 100,000 transactions took 108 to 165 ms; it
//! takes 67.
//!
//! A value that one write has, as nearly all do, is kept as the number of that write; only several are a group.

use super::{Index, SourceKind};
use history::{History, KeyId, ValueId};

/// A value with the number of a write or a read.
type Entry = (ValueId, u32);

/// Entries sorted by key, in the order in which they came.
struct ByKey {
    start: Vec<u32>,
    entries: Vec<Entry>,
}

impl ByKey {
    fn new(keys: usize, entries: impl Iterator<Item = (KeyId, Entry)> + Clone) -> Self {
        // Shifted by two, so that filling leaves the starts where they belong.
        let mut start = vec![0u32; keys + 2];
        entries.clone().for_each(|(key, _)| start[key.index() + 2] += 1);
        for key in 2..start.len() {
            start[key] += start[key - 1];
        }
        let count = start[start.len() - 1] as usize;
        let mut sorted = vec![(ValueId(0), 0); count];
        for (key, entry) in entries {
            let next = &mut start[key.index() + 1];
            sorted[*next as usize] = entry;
            *next += 1;
        }
        start.pop();
        Self { start, entries: sorted }
    }

    fn range(&self, key: usize) -> std::ops::Range<usize> {
        self.start[key] as usize..self.start[key + 1] as usize
    }
}

impl Index {
    /// Sorts the writes of each key, and finds the source of each read.
    pub(super) fn join(&mut self, history: &History) {
        let keys = history.keys().len();
        self.writers = self.writes.iter().map(|write| write.txn).collect();
        let writes = self.writes.iter().zip(0u32..).map(|(write, number)| (write.key, (write.value, number)));
        let mut writes = ByKey::new(keys, writes);
        for key in 0..keys {
            let range = writes.range(key);
            writes.entries[range].sort_unstable();
        }
        self.by_value = writes.entries.iter().map(|&(_, write)| write).collect();
        self.key_start = std::mem::take(&mut writes.start);
        self.read_source = vec![0; self.reads.len()];
        self.read_kind = vec![SourceKind::None; self.reads.len()];
        self.join_plain(history, &writes.entries);
        self.list_contents(history);
        for number in 0..self.reads.len() {
            let read = self.reads[number];
            if !self.is_plain(history, &read) {
                (self.read_kind[number], self.read_source[number]) = self.selected_group(history, &read);
            }
        }
    }

    fn join_plain(&mut self, history: &History, writes: &[Entry]) {
        let keys = history.keys().len();
        let reads = self.reads.iter().zip(0u32..).filter(|(read, _)| self.is_plain(history, read));
        let reads = ByKey::new(keys, reads.map(|(read, number)| (read.key, (read.observed.value(), number))));
        for key in 0..keys {
            let of_key = Joined {
                first: self.key_start[key],
                writes: &writes[self.key_start[key] as usize..self.key_start[key + 1] as usize],
                first_group: self.groups.len() as u32,
            };
            self.groups.extend(of_key.groups());
            let groups = &self.groups[of_key.first_group as usize..];
            for &(value, read) in &reads.entries[reads.range(key)] {
                let (kind, source) = of_key.source_of(value, groups);
                (self.read_kind[read as usize], self.read_source[read as usize]) = (kind, source);
            }
        }
    }
}

/// The writes of a key, sorted by value.
struct Joined<'w> {
    /// The place of the first among those of all keys.
    first: u32,
    writes: &'w [Entry],
    /// The number of the key's first group.
    first_group: u32,
}

impl Joined<'_> {
    /// Where the groups of several writes begin and end.
    fn groups(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut start = self.first;
        self.writes.chunk_by(|a, b| a.0 == b.0).filter_map(move |same| {
            let group = (start, start + same.len() as u32);
            start = group.1;
            (same.len() > 1).then_some(group)
        })
    }

    #[inline]
    fn source_of(&self, value: ValueId, groups: &[(u32, u32)]) -> (SourceKind, u32) {
        let place = self.writes.partition_point(|&(known, _)| known < value);
        let is_value = |place: usize| self.writes.get(place).is_some_and(|&(known, _)| known == value);
        if !is_value(place) {
            return (SourceKind::None, 0);
        }
        if !is_value(place + 1) {
            return (SourceKind::Write, self.writes[place].1);
        }
        let start = self.first + place as u32;
        let group = groups.partition_point(|&(known, _)| known < start);
        (SourceKind::Group, self.first_group + group as u32)
    }
}
