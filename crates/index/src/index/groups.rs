//! The group of writes that a read may have come from.
//!
//! A value that is written to a key and never left as a mark has the group of its writes, which `join` finds.
//! Only where deletes leave marks, or versions were recorded, a group has to be selected from the writes of the key;
//! that is done once for each thing that was seen.

use rustc_hash::FxHashMap;

use super::{ExternalRead, Index, Observed, SourceKind};
use history::{History, KeyId, ValueId};

/// What no effect can have seen.
const NO_CONTENT: u32 = u32::MAX;

/// Groups selected from the writes of a key.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectedGroups {
    writes: Vec<u32>,
    /// One more row than groups, or empty.
    start: Vec<u32>,
    known: FxHashMap<(KeyId, Observed, Option<i64>), (SourceKind, u32)>,
}

impl SelectedGroups {
    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    pub(super) fn get(&self, group: usize) -> &[u32] {
        &self.writes[self.start[group] as usize..self.start[group + 1] as usize]
    }

    fn push(&mut self, writes: impl Iterator<Item = u32>) -> u32 {
        if self.start.is_empty() {
            self.start.push(0);
        }
        self.writes.extend(writes);
        self.start.push(self.writes.len() as u32);
        self.start.len() as u32 - 2
    }
}

impl Index {
    /// Whether a read can have come from every write of the value that it saw, and from no other.
    pub(super) fn is_plain(&self, history: &History, read: &ExternalRead) -> bool {
        match read.observed {
            _ if history.has_versions() && history.op_version(read.op).is_some() => false,
            Observed::Value(_) => true,
            Observed::RowEffect(..) => false,
            // Nil is no row, and without marks there are none.
            Observed::Live(ValueId::NIL) | Observed::Mark(_) => false,
            // Without marks, whatever leaves no row leaves nil, and everything else is a row.
            _ => !self.has_marks(read.key),
        }
    }

    /// Whether a content is one that an effect may have seen.
    pub(super) fn is_in_effect(
        &self,
        history: &History,
        observed: Observed,
        value: ValueId,
        is_dead: bool,
    ) -> bool {
        let content = self.effects.content_of(history, value, is_dead);
        content.is_some_and(|content| self.sees(observed, content))
    }

    /// Lists what each write left, key by key, where effects tell what was seen.
    pub(super) fn list_contents(&mut self, history: &History) {
        if self.effects.all().is_empty() {
            return;
        }
        self.by_content =
            self.by_value.iter().map(|&write| (self.content_of(history, write), write)).collect();
        for key in 0..history.keys().len() {
            self.by_content[self.key_start[key] as usize..self.key_start[key + 1] as usize].sort_unstable();
        }
    }

    fn content_of(&self, history: &History, write: u32) -> u32 {
        let write = &self.writes[write as usize];
        let content = match self.effects.find(write.txn, write.key) {
            None => self.effects.content_of(history, write.value, write.is_dead),
            Some(effect) => {
                let alternative = &self.effects.all()[effect].alternatives[self.choice[effect] as usize];
                alternative.written.map(|(content, _)| content)
            }
        };
        content.unwrap_or(NO_CONTENT)
    }

    /// The writes of a key that left what an effect may have seen. Whichever are fewer, the contents or the writes, are
    /// looked up among the others.
    fn writes_in_story(&self, key: KeyId, effect: u32, alternative: u32) -> Vec<u32> {
        let seen = &self.effects.all()[effect as usize].alternatives[alternative as usize].seen;
        let (start, end) = (self.key_start[key.index()], self.key_start[key.index() + 1]);
        let writes = &self.by_content[start as usize..end as usize];
        if seen.len() > writes.len() {
            let is_seen = |(content, _): &&(u32, u32)| seen.binary_search(content).is_ok();
            return writes.iter().filter(is_seen).map(|&(_, write)| write).collect();
        }
        let of_content = |&content: &u32| {
            let first = writes.partition_point(|&(known, _)| known < content);
            writes[first..].iter().take_while(move |&&(known, _)| known == content)
        };
        seen.iter().flat_map(of_content).map(|&(_, write)| write).collect()
    }

    fn sees(&self, observed: Observed, content: u32) -> bool {
        let Observed::RowEffect(effect, alternative) = observed else { return false };
        let effect = &self.effects.all()[effect as usize];
        effect.alternatives[alternative as usize].seen.binary_search(&content).is_ok()
    }

    fn has_marks(&self, key: KeyId) -> bool {
        self.is_marked.get(key.index()).is_some_and(|&is_marked| is_marked)
    }

    /// The source of a read that is not plain.
    pub(super) fn selected_group(&mut self, history: &History, read: &ExternalRead) -> (SourceKind, u32) {
        let version = if history.has_versions() { history.op_version(read.op) } else { None };
        let (key, observed) = (read.key, read.observed);
        if let Some(&source) = self.selected.known.get(&(key, observed, version)) {
            return source;
        }
        let mut writes = match observed {
            Observed::RowEffect(effect, alternative) => self.writes_in_story(key, effect, alternative),
            _ => self.writes_to(key).to_vec(),
        };
        writes.retain(|&write| {
            let write = &self.writes[write as usize];
            let has_version = |version| history.op_version(write.op) == Some(version);
            let is_allowed = matches!(observed, Observed::RowEffect(..)) || observed.allows(write);
            is_allowed && version.is_none_or(has_version)
        });
        writes.sort_unstable();
        let source = match *writes {
            [] => (SourceKind::None, 0),
            [write] => (SourceKind::Write, write),
            _ => (SourceKind::Selected, self.selected.push(writes.into_iter())),
        };
        self.selected.known.insert((key, observed, version), source);
        source
    }
}
