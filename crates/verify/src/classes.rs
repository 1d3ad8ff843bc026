//! Which writes a read may have come from, as one number for each read.
//!
//! Reads of one class have the same sources, so what is counted is counted for classes: the reads that are still to
//! come, the writes that are still to come, and the reads of transactions that may come next. A write belongs to a class
//! of its own, to the group of its value, and to the groups selected from its key, which are rare.

use history::KeyId;
use index::{Index, SourceClass};

use crate::problem::{INITIAL, Problem};

/// No group.
const NONE: u32 = u32::MAX;

/// The classes of reads and writes.
pub(crate) struct Classes {
    of_read: Vec<u32>,
    /// For each write the class of its value, if another write has that value too.
    group_of_write: Vec<u32>,
    /// Writes with the selected classes that they belong to, sorted.
    selected: Vec<(u32, u32)>,
    /// Keys with the classes of reads that may have seen their initial state, sorted.
    initial: Vec<(KeyId, u32)>,
    /// For each write whether a read can have come from it and from no other.
    is_told_apart: Vec<bool>,
    pub(crate) count: usize,
}

impl Classes {
    pub(crate) fn of(index: &Index) -> Self {
        let groups_start = index.writes().len() as u32;
        let selected_start = groups_start + index.groups().len() as u32;
        let initial_start = selected_start + index.selected_groups().len() as u32;
        let class = |read: usize| match index.source_class(read) {
            SourceClass::Write(write) => write,
            SourceClass::Group(group) => groups_start + group,
            SourceClass::Selected(group) => selected_start + group,
            SourceClass::Initial => initial_start + index.reads()[read].key.0,
        };
        let keys = index.reads().iter().map(|read| read.key.0 + 1).max().unwrap_or(0);
        let mut classes = Self {
            of_read: (0..index.reads().len()).map(class).collect(),
            group_of_write: vec![NONE; index.writes().len()],
            selected: Vec::new(),
            initial: Vec::new(),
            is_told_apart: vec![false; index.writes().len()],
            count: (initial_start + keys) as usize,
        };
        for (group, writes) in index.groups().enumerate() {
            writes
                .iter()
                .for_each(|&write| classes.group_of_write[write as usize] = groups_start + group as u32);
        }
        for (group, writes) in index.selected_groups().enumerate() {
            classes.selected.extend(writes.iter().map(|&write| (write, selected_start + group as u32)));
        }
        classes.selected.sort_unstable();
        for read in 0..classes.of_read.len() {
            if let Some(is_told_apart) = classes.is_told_apart.get_mut(classes.of_read[read] as usize) {
                *is_told_apart = true;
            }
        }
        classes.find_initial(index);
        classes
    }

    fn find_initial(&mut self, index: &Index) {
        let mut is_listed = vec![false; self.count];
        for (number, read) in index.reads().iter().enumerate() {
            let class = self.of_read[number];
            if index.sources(number).initial && !std::mem::replace(&mut is_listed[class as usize], true) {
                self.initial.push((read.key, class));
            }
        }
        self.initial.sort_unstable();
    }

    #[inline]
    pub(crate) fn of_read(&self, read: usize) -> u32 {
        self.of_read[read]
    }

    /// Whether a read sees what a key holds.
    #[inline]
    pub(crate) fn fits(&self, problem: &Problem<'_>, read: usize, holder: u32) -> bool {
        if holder == INITIAL {
            return problem.index.sources(read).initial;
        }
        let class = self.of_read[read];
        class == holder
            || class == self.group_of_write[holder as usize]
            || self.selected.binary_search(&(holder, class)).is_ok()
    }

    /// Whether every read of one write might be a read of another: they wrote the same value, and no read can tell them
    /// apart, as a recorded version or the mark of a delete can.
    pub(crate) fn is_same(&self, write: u32, other: u32) -> bool {
        let group = |write: u32| self.group_of_write[write as usize];
        write != INITIAL
            && self.selected.is_empty()
            && group(write) != NONE
            && group(write) == group(other)
            && !self.is_told_apart[write as usize]
    }

    /// The classes that a write belongs to, or those that may have seen the initial state of a key.
    pub(crate) fn of_holder(&self, key: KeyId, holder: u32) -> impl Iterator<Item = u32> + '_ {
        let (own, group) = match holder {
            INITIAL => (NONE, NONE),
            write => (write, self.group_of_write[write as usize]),
        };
        let selected = self.selected_of(holder).iter().map(|&(_, class)| class);
        let initial = if holder == INITIAL { self.initial_of(key) } else { &[] };
        let plain = [own, group].into_iter().filter(|&class| class != NONE);
        plain.chain(selected).chain(initial.iter().map(|&(_, class)| class))
    }

    fn selected_of(&self, write: u32) -> &[(u32, u32)] {
        if self.selected.is_empty() {
            return &[];
        }
        let start = self.selected.partition_point(|&(known, _)| known < write);
        let count = self.selected[start..].iter().take_while(|&&(known, _)| known == write).count();
        &self.selected[start..start + count]
    }

    fn initial_of(&self, key: KeyId) -> &[(KeyId, u32)] {
        let start = self.initial.partition_point(|&(known, _)| known < key);
        let count = self.initial[start..].iter().take_while(|&&(known, _)| known == key).count();
        &self.initial[start..start + count]
    }
}
