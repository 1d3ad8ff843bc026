//! The multi-version store: the newest version of each key in one array, older ones only while a transaction may read them.
//!
//! Sites are not stored apart: a commit is visible at another site a fixed time later, so what a client sees is a
//! function of the version's stamp. On a line of sites with a delay proportional to the distance, the delays obey the
//! triangle inequality, so no commit overtakes one that it depends on: that is causal. Where causality is not promised
//! each commit takes a time of its own to each site.

use crate::random::mix;

/// The stamp of what was there at first: visible to everybody.
pub const INITIAL_STAMP: i64 = 0;
/// One committed write.
#[derive(Clone, Copy, Debug)]
pub struct Version<V = u32> {
    /// The moment of the commit.
    pub stamp: i64,
    /// What it holds.
    pub value: V,
    /// Where it was committed.
    pub site: u32,
}

/// What a transaction can see.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Commits that arrived after this moment are invisible.
    pub at: i64,
    /// Where the client is; `None` sees every commit at once.
    pub site: Option<u32>,
    /// Whether a commit arrives at the site after those it depends on.
    pub is_causal: bool,
}

impl View {
    /// Sees everything that was ever committed.
    pub const NEWEST: Self = Self { at: i64::MAX, site: None, is_causal: true };
}

/// How long commits take between sites.
#[derive(Clone, Copy, Debug)]
pub struct Replication {
    /// How many sites there are.
    pub sites: u32,
    /// The time from a site to the next.
    pub hop_ns: i64,
}

impl Replication {
    fn delay<V>(&self, version: &Version<V>, site: u32, is_causal: bool) -> i64 {
        if version.site == site {
            0
        } else if is_causal {
            i64::from(version.site.abs_diff(site)) * self.hop_ns
        } else {
            let own = mix(version.stamp as u64 ^ u64::from(site) << 56);
            (own % (self.longest() as u64 + 1)) as i64
        }
    }

    fn longest(&self) -> i64 {
        i64::from(self.sites.saturating_sub(1)) * self.hop_ns
    }
}

/// All keys with their versions.
#[derive(Debug)]
pub struct Store<V = u32> {
    newest: Vec<Version<V>>,
    /// Oldest first; empty vector of vectors if old versions are not kept.
    older: Vec<Vec<Version<V>>>,
    keeps_old: bool,
    /// Uncommitted writes of each key, oldest first, with the session; kept only if a transaction may read them.
    uncommitted: Vec<Vec<(u32, V)>>,
    aborted: Vec<Option<V>>,
    keeps_uncommitted: bool,
    replication: Replication,
    initial: V,
}

impl<V: Clone> Store<V> {
    /// A store whose keys all hold the same value.
    pub fn new(
        keys: u32,
        initial: V,
        keeps_old: bool,
        keeps_uncommitted: bool,
        replication: Replication,
    ) -> Self {
        let mut store = Self {
            newest: Vec::new(),
            older: Vec::new(),
            keeps_old,
            uncommitted: Vec::new(),
            aborted: Vec::new(),
            keeps_uncommitted,
            replication,
            initial,
        };
        store.grow_to(keys);
        store
    }

    /// Makes room for this many keys.
    pub fn grow_to(&mut self, keys: u32) {
        let initial = Version { stamp: INITIAL_STAMP, value: self.initial.clone(), site: 0 };
        let keys = keys as usize;
        self.newest.resize(keys, initial);
        if self.keeps_old {
            self.older.resize(keys, Vec::new());
        }
        if self.keeps_uncommitted {
            self.uncommitted.resize(keys, Vec::new());
            self.aborted.resize(keys, None);
        }
    }

    /// What a key holds at first, where that is not the same for all.
    pub fn set_initial(&mut self, key: u32, value: V) {
        self.newest[key as usize].value = value;
    }

    /// The longest time that a commit takes to be visible everywhere.
    pub fn longest_delay(&self) -> i64 {
        self.replication.longest()
    }

    /// The newest committed version.
    #[inline]
    pub fn newest(&self, key: u32) -> &Version<V> {
        &self.newest[key as usize]
    }

    /// The newest version that a view sees.
    pub fn visible(&self, key: u32, view: View) -> &Version<V> {
        let newest = &self.newest[key as usize];
        if self.sees(view, newest) || !self.keeps_old {
            return newest;
        }
        let older = &self.older[key as usize];
        let found = older.iter().rev().find(|version| self.sees(view, version));
        found.unwrap_or(&older[0])
    }

    /// Whether a view sees a version.
    #[inline]
    pub fn sees(&self, view: View, version: &Version<V>) -> bool {
        let delay = view.site.map_or(0, |site| self.replication.delay(version, site, view.is_causal));
        version.stamp == INITIAL_STAMP || version.stamp + delay <= view.at
    }

    /// The newest write of a key by anybody, committed or not.
    pub fn dirty(&self, key: u32) -> Version<V> {
        let newest = &self.newest[key as usize];
        match self.uncommitted[key as usize].last() {
            Some((_, value)) => Version { value: value.clone(), ..*newest },
            None => newest.clone(),
        }
    }

    /// The last value of a key that was written and aborted.
    pub fn aborted(&self, key: u32) -> Option<V> {
        self.aborted.get(key as usize)?.clone()
    }

    /// Notes a write that is not committed yet.
    pub fn write_uncommitted(&mut self, key: u32, session: u32, value: V) {
        if self.keeps_uncommitted {
            self.forget_uncommitted(key, session);
            self.uncommitted[key as usize].push((session, value));
        }
    }

    /// Takes back a write that was not committed.
    pub fn abort(&mut self, key: u32, session: u32, value: V) {
        if self.keeps_uncommitted {
            self.forget_uncommitted(key, session);
            self.aborted[key as usize] = Some(value);
        }
    }

    /// Installs a committed version; `horizon` gives the oldest moment that anybody may still look at.
    pub fn commit(&mut self, key: u32, session: u32, version: Version<V>, horizon: impl FnOnce() -> i64) {
        if self.keeps_uncommitted {
            self.forget_uncommitted(key, session);
        }
        let before = std::mem::replace(&mut self.newest[key as usize], version);
        if !self.keeps_old {
            return;
        }
        let older = &mut self.older[key as usize];
        if older.len() == older.capacity() {
            let settled = horizon() - self.replication.longest();
            let needed = older.partition_point(|version| version.stamp <= settled);
            older.drain(..needed.saturating_sub(1));
        }
        older.push(before);
    }

    fn forget_uncommitted(&mut self, key: u32, session: u32) {
        self.uncommitted[key as usize].retain(|(writer, _)| *writer != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(stamp: i64, site: u32) -> Version {
        Version { stamp, value: stamp as u32, site }
    }

    fn store() -> Store {
        let replication = Replication { sites: 3, hop_ns: 10 };
        Store::new(1, 0, true, true, replication)
    }

    #[test]
    fn a_view_sees_what_had_arrived() {
        let mut store = store();
        store.commit(0, 0, version(100, 0), || 0);
        let at = |at, site| store.visible(0, View { at, site, is_causal: true }).value;
        assert_eq!(at(99, None), 0);
        assert_eq!(at(100, None), 100);
        assert_eq!(at(100, Some(0)), 100);
        assert_eq!(at(119, Some(2)), 0);
        assert_eq!(at(120, Some(2)), 100);
    }

    #[test]
    fn old_versions_go_when_nobody_can_see_them() {
        let mut store = store();
        for stamp in 1..1000 {
            store.commit(0, 0, version(stamp * 100, 0), || stamp * 100);
        }
        assert!(store.older[0].len() <= 8, "{}", store.older[0].len());
        let view = View { at: 99_800, site: Some(2), is_causal: true };
        assert_eq!(store.visible(0, view).value, 99_700);
    }

    #[test]
    fn uncommitted_writes_are_taken_back() {
        let mut store = store();
        store.write_uncommitted(0, 1, 7);
        store.write_uncommitted(0, 2, 8);
        assert_eq!(store.dirty(0).value, 8);
        store.abort(0, 2, 8);
        assert_eq!(store.dirty(0).value, 7);
        assert_eq!(store.aborted(0), Some(8));
        store.commit(0, 1, version(5, 0), || 0);
        assert_eq!(store.dirty(0).value, 5);
    }
}
