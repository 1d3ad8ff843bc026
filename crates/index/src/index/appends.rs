//! What transactions appended to lists, and which of them a list is made of.
//!
//! A list is made of whole appends: all that a transaction appended to it stands together and in its order. An element
//! tells its transaction unless several transactions that may have committed appended it. Then those are possible whose
//! elements all follow; if that leaves several with the same elements, the list has *one of* them, and the rest of it can
//! still be told. If they have different elements, nothing is told of the rest.
//!
//! Elements are sorted by key and looked up by binary search; hash maps took twice as long.

use std::cell::OnceCell;

use history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Index;
use super::lists::ListRead;
use crate::{Finding, FindingKind};

/// What stands at one place of a list: final writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Member {
    Known(u32),
    OneOf(Vec<u32>),
}

/// The versions that a list is made of.
#[derive(Clone, Default, Debug)]
pub(super) struct MadeOf {
    pub members: Vec<Member>,
    /// Whether they are all; otherwise nothing is known of what follows them.
    pub is_whole: bool,
}

impl MadeOf {
    /// The versions that are certainly in the list, in its order.
    pub fn known(&self) -> impl Iterator<Item = u32> {
        self.members.iter().filter_map(|member| match member {
            Member::Known(write) => Some(*write),
            Member::OneOf(_) => None,
        })
    }

    /// The last version, if it is certain.
    pub fn last(&self) -> Option<u32> {
        match self.members.last() {
            Some(Member::Known(write)) if self.is_whole => Some(*write),
            _ => None,
        }
    }

    /// All versions that may be in the list, ascending.
    pub fn possible(&self) -> Vec<u32> {
        let all = self.members.iter().flat_map(|member| match member {
            Member::Known(write) => std::slice::from_ref(write),
            Member::OneOf(writes) => writes,
        });
        let mut all: Vec<u32> = all.copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// All appends of transactions that may have committed.
pub(super) struct Appends<'h> {
    history: &'h History,
    /// For each final write where its elements begin.
    start: Vec<u32>,
    elements: Vec<ValueId>,
    /// (element, final write) of each key, ascending.
    by_element: Vec<(ValueId, u32)>,
    key_start: Vec<u32>,
    /// For each key whether an element of it was appended more than once.
    has_repeats: Vec<bool>,
    /// Elements of transactions that aborted, once one is asked for.
    aborted: OnceCell<FxHashMap<(KeyId, ValueId), OpId>>,
    /// Whether one of several possible transactions is guessed.
    guesses: bool,
}

impl<'h> Appends<'h> {
    pub fn of(history: &'h History, index: &Index, guesses: bool) -> Self {
        let mut appends = Self {
            history,
            start: Vec::with_capacity(index.writes.len() + 1),
            elements: Vec::with_capacity(index.writes.len()),
            by_element: Vec::new(),
            key_start: vec![0; history.keys().len() + 2],
            has_repeats: vec![false; history.keys().len()],
            aborted: OnceCell::new(),
            guesses,
        };
        for write in &index.writes {
            appends.start.push(appends.elements.len() as u32);
            // Most append one element to a list, and it is at hand.
            let of_key = history.ops(write.txn).filter(|(_, op)| op.key() == Some(write.key));
            appends.elements.extend(of_key.filter_map(|(_, op)| op.value_appended()));
        }
        appends.start.push(appends.elements.len() as u32);
        appends.sort(index);
        appends
    }

    /// Sorts the elements of each key, by counting and then by comparing.
    fn sort(&mut self, index: &Index) {
        for (number, write) in index.writes.iter().enumerate() {
            self.key_start[write.key.index() + 2] += self.start[number + 1] - self.start[number];
        }
        for key in 2..self.key_start.len() {
            self.key_start[key] += self.key_start[key - 1];
        }
        self.by_element = vec![(ValueId(0), 0); self.elements.len()];
        for (number, write) in index.writes.iter().enumerate() {
            for place in self.start[number]..self.start[number + 1] {
                let next = &mut self.key_start[write.key.index() + 1];
                self.by_element[*next as usize] = (self.elements[place as usize], number as u32);
                *next += 1;
            }
        }
        self.key_start.pop();
        for key in 0..self.has_repeats.len() {
            let of_key = &mut self.by_element[self.key_start[key] as usize..self.key_start[key + 1] as usize];
            of_key.sort_unstable();
            self.has_repeats[key] = of_key.windows(2).any(|pair| pair[0].0 == pair[1].0);
        }
    }

    /// Whether an element of a key was appended more than once: then the last element of a list does not tell its version.
    pub fn has_repeats(&self, key: KeyId) -> bool {
        self.has_repeats[key.index()]
    }

    /// An append of an element that several transactions appended, if there is one.
    pub fn first_doubtful(&self, index: &Index) -> Option<OpId> {
        let keys = (0..self.has_repeats.len()).filter(|&key| self.has_repeats[key]).map(KeyId::from_index);
        let is_doubtful = |pair: &&[(ValueId, u32)]| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1;
        let first = |key: KeyId| Some((key, self.of_key(key).windows(2).find(is_doubtful)?[0]));
        let (key, (element, write)) = keys.into_iter().find_map(first)?;
        Some(self.append(index.writer(write), key, element))
    }

    fn of_key(&self, key: KeyId) -> &[(ValueId, u32)] {
        &self.by_element[self.key_start[key.index()] as usize..self.key_start[key.index() + 1] as usize]
    }

    /// The writes that append an element, each once.
    fn writes(&self, key: KeyId, element: ValueId) -> impl Iterator<Item = u32> {
        let of_key = self.of_key(key);
        let first = of_key.partition_point(|&(known, _)| known < element);
        let same = of_key[first..].iter().take_while(move |&&(known, _)| known == element);
        let mut last = u32::MAX;
        same.filter_map(move |&(_, write)| (std::mem::replace(&mut last, write) != write).then_some(write))
    }

    fn elements(&self, write: u32) -> &[ValueId] {
        &self.elements[self.start[write as usize] as usize..self.start[write as usize + 1] as usize]
    }

    /// The first append of an element by a transaction.
    fn append(&self, txn: TxnId, key: KeyId, element: ValueId) -> OpId {
        let is_it = |op: &Op<'_>| op.key() == Some(key) && op.value_appended() == Some(element);
        let mut ops = self.history.ops(txn);
        ops.find(|(_, op)| is_it(op)).map_or(OpId(self.history.op_range(txn).start), |(id, _)| id)
    }

    fn aborted(&self, key: KeyId, element: ValueId) -> Option<OpId> {
        let all = self.aborted.get_or_init(|| {
            let history = self.history;
            let aborted = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Aborted);
            let ops = aborted.flat_map(|txn| history.ops(txn));
            ops.filter_map(|(id, op)| Some(((op.key()?, op.value_appended()?), id))).collect()
        });
        all.get(&(key, element)).copied()
    }

    /// What a list is made of, or what is wrong with it.
    pub fn made_of(&self, index: &Index, read: &ListRead) -> Result<MadeOf, Finding> {
        let list = read.outside(self.history);
        let mut made_of = MadeOf { members: Vec::new(), is_whole: true };
        let mut used: FxHashSet<u32> = FxHashSet::default();
        let mut place = 0;
        while place < list.len() {
            let fitting = self.fitting(index, read, place, &used)?;
            let same = self.elements(fitting[0]);
            let member = match fitting.len() {
                1 => Member::Known(fitting[0]),
                _ if self.guesses => Member::Known(self.guess(index, &fitting, place)),
                _ if fitting.iter().all(|&write| self.elements(write) == same) => Member::OneOf(fitting),
                _ => {
                    made_of.is_whole = false;
                    return Ok(made_of);
                }
            };
            let first = match &member {
                Member::Known(write) => *write,
                Member::OneOf(writes) => {
                    let others = made_of.members.iter().filter(|&other| *other == member);
                    if others.count() >= writes.len() {
                        let first = self.append(index.writer(writes[0]), read.key, list[place]);
                        return Err(read.finding(FindingKind::DuplicatedElement, list[place], Some(first)));
                    }
                    writes[0]
                }
            };
            place += self.elements(first).len();
            if member == Member::Known(first) {
                used.insert(first);
            }
            made_of.members.push(member);
        }
        Ok(made_of)
    }

    /// The writes that may stand at a place of a list; at least one.
    fn fitting(
        &self,
        index: &Index,
        read: &ListRead,
        place: usize,
        used: &FxHashSet<u32>,
    ) -> Result<Vec<u32>, Finding> {
        let list = read.outside(self.history);
        let element = list[place];
        let all: Vec<u32> = self.writes(read.key, element).collect();
        let Some(&first) = all.first() else {
            let aborted = self.aborted(read.key, element);
            let kind = if aborted.is_some() { FindingKind::AbortedRead } else { FindingKind::ThinAirRead };
            return Err(read.finding(kind, element, aborted));
        };
        let is_own = |write: &u32| index.writer(*write) == read.txn;
        let is_free = |write: &u32| !used.contains(write) && !is_own(write);
        let Some(&first_free) = all.iter().find(|write| is_free(write)) else {
            let other = Some(self.append(index.writer(first), read.key, element));
            let kind = match all.iter().any(|write| used.contains(write)) {
                true => kind_of_repeat(list, place),
                false => FindingKind::FutureRead,
            };
            return Err(read.finding(kind, element, other));
        };
        let mut fitting = all;
        fitting.retain(|write| is_free(write) && list[place..].starts_with(self.elements(*write)));
        match fitting.is_empty() {
            true => Err(self.intermediate(index, read, place, first_free)),
            false => Ok(fitting),
        }
    }

    /// A list has only a part of what a transaction appended, or not in its order.
    fn intermediate(&self, index: &Index, read: &ListRead, place: usize, write: u32) -> Finding {
        let list = read.outside(self.history);
        let elements = self.elements(write);
        let same = elements.iter().zip(&list[place..]).take_while(|(appended, seen)| appended == seen);
        let same = same.count();
        let value = list[(place + same).min(list.len() - 1)];
        let is_append = |op: &Op<'_>| op.key() == Some(read.key) && op.value_appended().is_some();
        let appends = self.history.ops(index.writer(write)).filter(|(_, op)| is_append(op));
        let other = appends.map(|(id, _)| id).nth(same);
        read.finding(FindingKind::IntermediateRead, value, other)
    }

    /// The write that most probably stands at a place: its transaction read the list that ends there, or committed first.
    fn guess(&self, index: &Index, fitting: &[u32], place: usize) -> u32 {
        let likelihood = |&&write: &&u32| {
            let write = index.writes[write as usize];
            let txn = write.txn;
            let class = match self.seen_length(txn, write.key) {
                Some(seen) if seen == place => 0,
                None => 1,
                Some(_) => 2,
            };
            let is_unknown = self.history.outcome(txn) == Outcome::Unknown;
            (class, is_unknown, self.history.times(txn).end().unwrap_or(i64::MAX), txn)
        };
        *fitting.iter().min_by_key(likelihood).expect("several fit")
    }

    /// How many elements of others a transaction saw in a list, if it read the list.
    fn seen_length(&self, txn: TxnId, key: KeyId) -> Option<usize> {
        let mut appended = 0;
        for (_, op) in self.history.ops(txn).filter(|(_, op)| op.key() == Some(key)) {
            match op {
                Op::Append { .. } => appended += 1,
                Op::ReadList { list: Some(list), .. } => return list.len().checked_sub(appended),
                _ => {}
            }
        }
        None
    }
}

/// A transaction comes twice in a list: with the same element, or its elements do not stand together.
fn kind_of_repeat(list: &[ValueId], place: usize) -> FindingKind {
    match list[..place].contains(&list[place]) {
        true => FindingKind::DuplicatedElement,
        false => FindingKind::IntermediateRead,
    }
}
