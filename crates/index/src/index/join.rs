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
use history::{History, KeyId, TxnId, ValueId};
use order::parallel;

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

/// Keys whose reads meet their writes on one thread.
const BLOCK: usize = 4096;

impl Index {
    /// Sorts the writes of each key, and finds the source of each read.
    pub(super) fn join(&mut self, history: &History) {
        let ((writers, writes), reads) = parallel::join_if(
            self.reads.len() >= parallel::LARGE,
            || self.sorted_writes(history),
            || self.plain_reads(history),
        );
        self.writers = writers;
        self.by_value = writes.entries.iter().map(|&(_, write)| write).collect();
        self.join_plain(&writes, reads);
        self.key_start = writes.start;
        self.list_contents(history);
        for number in 0..self.reads.len() {
            let read = self.reads[number];
            if !self.is_plain(history, &read) {
                (self.read_kind[number], self.read_source[number]) = self.selected_group(history, &read);
            }
        }
    }

    /// The transaction of each write, and the writes of each key sorted by value.
    fn sorted_writes(&self, history: &History) -> (Vec<TxnId>, ByKey) {
        let keys = history.keys().len();
        let writers = self.writes.iter().map(|write| write.txn).collect();
        let writes = self.writes.iter().zip(0u32..).map(|(write, number)| (write.key, (write.value, number)));
        let mut writes = ByKey::new(keys, writes);
        for key in 0..keys {
            let range = writes.range(key);
            writes.entries[range].sort_unstable();
        }
        (writers, writes)
    }

    /// The reads of each key that can have come from every write of their value.
    fn plain_reads(&self, history: &History) -> ByKey {
        let reads = self.reads.iter().zip(0u32..).filter(|(read, _)| self.is_plain(history, read));
        let reads = reads.map(|(read, number)| (read.key, (read.observed.value(), number)));
        ByKey::new(history.keys().len(), reads)
    }

    /// Finds the sources of plain reads, block by block, and writes them down in the order of the reads.
    fn join_plain(&mut self, writes: &ByKey, mut reads: ByKey) {
        self.read_source = vec![0; self.reads.len()];
        self.read_kind = vec![SourceKind::None; self.reads.len()];
        let mut blocks = Vec::new();
        let (mut rest, mut passed) = (&mut reads.entries[..], 0);
        for first_key in (0..reads.start.len() - 1).step_by(BLOCK) {
            let keys = first_key..(first_key + BLOCK).min(reads.start.len() - 1);
            let end = reads.start[keys.end] as usize;
            let (entries, after) = std::mem::take(&mut rest).split_at_mut(end - passed);
            blocks.push(JoinBlock {
                keys,
                starts: &reads.start,
                entries,
                kinds: Vec::new(),
                groups: Vec::new(),
            });
            (rest, passed) = (after, end);
        }
        for block in parallel::map(blocks, |block: JoinBlock<'_>| block.find_sources(writes)) {
            let first_group = self.groups.len() as u32;
            for (&(source, read), &kind) in block.entries.iter().zip(&block.kinds) {
                let base = if kind == SourceKind::Group { first_group } else { 0 };
                self.read_source[read as usize] = base + source.0;
                self.read_kind[read as usize] = kind;
            }
            self.groups.extend(block.groups);
        }
    }
}

/// Some keys with their reads.
struct JoinBlock<'r> {
    keys: std::ops::Range<usize>,
    /// Where the reads of each key begin among all.
    starts: &'r [u32],
    /// The reads of these keys; a source takes the place of the value.
    entries: &'r mut [Entry],
    kinds: Vec<SourceKind>,
    /// The groups of these keys.
    groups: Vec<(u32, u32)>,
}

impl JoinBlock<'_> {
    fn find_sources(mut self, writes: &ByKey) -> Self {
        self.kinds.reserve_exact(self.entries.len());
        for key in self.keys.clone() {
            let range = writes.range(key);
            let of_key = Joined {
                first: range.start as u32,
                writes: &writes.entries[range],
                first_group: self.groups.len() as u32,
            };
            self.groups.extend(of_key.groups());
            let groups = &self.groups[of_key.first_group as usize..];
            let before = self.starts[self.keys.start] as usize;
            let reads = self.starts[key] as usize - before..self.starts[key + 1] as usize - before;
            for entry in &mut self.entries[reads] {
                let (kind, source) = of_key.source_of(entry.0, groups);
                self.kinds.push(kind);
                entry.0 = ValueId(source);
            }
        }
        self
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
