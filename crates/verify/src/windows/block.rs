//! The windows of a block of keys, which a thread finds by itself.
//!
//! What it finds is in a few columns, since keys are many and small: an allocation for each key cost a third of the
//! search for windows. Numbers are within the block until it is kept (`Windows::keep`).

use std::ops::Range;

use history::{KeyId, TxnId};
use order::{NONE, Reach};

use super::key::KeyWindow;
use super::{Rest, UNLISTED, Window, Writer};

/// What was found of the writers of some keys.
#[derive(Default)]
pub(super) struct FoundBlock {
    /// For each writer of each key its write and its window.
    pub windows: Vec<(u32, Window)>,
    /// For each of them, whether it is ordered with all others of its key.
    pub is_ordered: Vec<bool>,
    pub rests: Vec<Rest>,
    pub others: Vec<Writer>,
    /// Keys whose windows would take too long.
    pub wide: Vec<KeyId>,
}

impl FoundBlock {
    /// Counts all keys as wide.
    pub(super) fn all_wide<'w>(keys: impl Iterator<Item = (KeyId, &'w [(u32, Writer)])>) -> Self {
        let mut block = Self::default();
        keys.for_each(|(key, writers)| block.add_wide(key, writers));
        block
    }

    /// Finds the windows of keys, given the writers of all of them in topological order and where those of each are. A
    /// version is later if the `install` of its writer is reached.
    pub(super) fn find(
        keys: &[KeyId],
        writers: &[(u32, Writer)],
        range: impl Fn(KeyId) -> Range<usize>,
        reach: &Reach,
        install: impl Fn(TxnId) -> u32,
    ) -> Self {
        let mut block = Self::default();
        // Most keys need nothing else, and in a loop that does only this the rows are fetched many at a time.
        let follows = |pair: &[(u32, Writer)]| pair[0].1.reaches(reach, install(pair[1].1.txn));
        let is_line =
            |&key: &KeyId| writers[range(key)].windows(2).fold(true, |is_line, pair| is_line & follows(pair));
        let is_line: Vec<bool> = keys.iter().map(is_line).collect();
        let mut window = KeyWindow::default();
        for (&key, is_line) in keys.iter().zip(is_line) {
            let writers = &writers[range(key)];
            if is_line {
                block.add_line(writers);
            } else if window.find(writers, reach, &install) {
                block.add_window(writers, &window);
            } else {
                block.add_wide(key, writers);
            }
        }
        block
    }

    /// Each writer is later than the one before it.
    fn add_line(&mut self, writers: &[(u32, Writer)]) {
        let next = writers.iter().skip(1).map(|&(_, writer)| writer).chain([Writer::ABSENT]);
        let window = |(&(write, _), next): (&(u32, Writer), Writer)| (write, Window { next, rest: NONE });
        self.windows.extend(writers.iter().zip(next).map(window));
        self.is_ordered.resize(self.windows.len(), true);
    }

    fn add_window(&mut self, writers: &[(u32, Writer)], found: &KeyWindow) {
        for (place, &(write, _)) in writers.iter().enumerate() {
            let mut next = found.next(place).map(|other| writers[other].1);
            let first = next.next().unwrap_or(Writer::ABSENT);
            let start = self.others.len() as u32;
            self.others.extend(next);
            let unordered = self.others.len() as u32;
            self.others.extend(found.unordered_with(place).map(|other| writers[other].1));
            let rest = Rest { start, unordered, end: self.others.len() as u32 };
            self.is_ordered.push(rest.unordered == rest.end);
            let mut window = Window { next: first, rest: NONE };
            if rest.start < rest.end {
                window.rest = self.rests.len() as u32;
                self.rests.push(rest);
            }
            self.windows.push((write, window));
        }
    }

    fn add_wide(&mut self, key: KeyId, writers: &[(u32, Writer)]) {
        self.wide.push(key);
        let unlisted = Window { next: Writer::ABSENT, rest: UNLISTED };
        self.windows.extend(writers.iter().map(|&(write, _)| (write, unlisted)));
        self.is_ordered.resize(self.windows.len(), false);
    }
}
