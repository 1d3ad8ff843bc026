//! Locks of the simulated store: on keys, on tables, and on everything at once.
//!
//! A session that must wait notes what it waits for, so that a cycle of waits is found before it is closed (the session
//! that would close it is the victim), and so that the wait detector sees which sessions wait. Locks have no queue: the
//! first session that retries after a release gets the lock, and a limit on the time ends starvation.

use std::collections::{BTreeMap, BTreeSet};

/// What is locked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Resource {
    /// The whole store: the serial level.
    Everything,
    /// The set of keys of a table: a scan shares it, a write intends to change it.
    Table(String),
    /// One key.
    Key(u32),
}

/// How it is locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Mode {
    /// Together with others that only read.
    Shared,
    /// Together with others that change other parts of it.
    Intent,
    /// Alone.
    Exclusive,
}

impl Mode {
    fn goes_with(self, other: Self) -> bool {
        self == other && self != Self::Exclusive
    }
}

/// All locks, by resource and session.
#[derive(Default, Debug)]
pub(crate) struct Locks {
    held: BTreeMap<Resource, BTreeSet<(u32, Mode)>>,
    waiting: BTreeMap<u32, (Resource, Mode)>,
}

/// What came of asking for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// It is held now.
    Held,
    /// Another session has it.
    Wait,
    /// Another session has it and waits for this session.
    Deadlock,
}

impl Locks {
    /// Takes a lock if no other session has it; else notes that the session waits.
    pub fn ask(&mut self, session: u32, resource: &Resource, mode: Mode) -> Asked {
        if self.blockers(session, resource, mode).is_empty() {
            self.waiting.remove(&session);
            self.held.entry(resource.clone()).or_default().insert((session, mode));
            return Asked::Held;
        }
        self.waiting.insert(session, (resource.clone(), mode));
        if self.closes_cycle(session) {
            self.waiting.remove(&session);
            return Asked::Deadlock;
        }
        Asked::Wait
    }

    /// The session gives up waiting.
    pub fn stop_waiting(&mut self, session: u32) {
        self.waiting.remove(&session);
    }

    /// Releases everything that a session holds.
    pub fn release(&mut self, session: u32) {
        self.waiting.remove(&session);
        self.held.retain(|_, holders| {
            holders.retain(|&(holder, _)| holder != session);
            !holders.is_empty()
        });
    }

    /// Whether a session waits for a lock.
    pub fn is_waiting(&self, session: u32) -> bool {
        self.waiting.contains_key(&session)
    }

    fn blockers(&self, session: u32, resource: &Resource, mode: Mode) -> BTreeSet<u32> {
        let holders = self.held.get(resource).into_iter().flatten();
        let others = holders.filter(|&&(holder, held)| holder != session && !held.goes_with(mode));
        others.map(|&(holder, _)| holder).collect()
    }

    fn closes_cycle(&self, session: u32) -> bool {
        let mut seen = BTreeSet::new();
        let mut left = vec![session];
        while let Some(waiter) = left.pop() {
            let Some((resource, mode)) = self.waiting.get(&waiter) else { continue };
            for blocker in self.blockers(waiter, resource, *mode) {
                if blocker == session {
                    return true;
                }
                if seen.insert(blocker) {
                    left.push(blocker);
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_writers_wait() {
        let mut locks = Locks::default();
        let key = Resource::Key(1);
        assert_eq!(locks.ask(1, &key, Mode::Shared), Asked::Held);
        assert_eq!(locks.ask(2, &key, Mode::Shared), Asked::Held);
        assert_eq!(locks.ask(2, &key, Mode::Exclusive), Asked::Wait);
        assert!(locks.is_waiting(2) && !locks.is_waiting(1));
        assert_eq!(locks.ask(1, &key, Mode::Exclusive), Asked::Deadlock);
        locks.release(1);
        assert_eq!(locks.ask(2, &key, Mode::Exclusive), Asked::Held);
        assert_eq!(locks.ask(3, &key, Mode::Shared), Asked::Wait);
    }

    #[test]
    fn a_cycle_of_three_is_found() {
        let mut locks = Locks::default();
        for session in 0..3 {
            assert_eq!(locks.ask(session, &Resource::Key(session), Mode::Exclusive), Asked::Held);
        }
        assert_eq!(locks.ask(0, &Resource::Key(1), Mode::Shared), Asked::Wait);
        assert_eq!(locks.ask(1, &Resource::Key(2), Mode::Shared), Asked::Wait);
        assert_eq!(locks.ask(2, &Resource::Key(0), Mode::Shared), Asked::Deadlock);
    }

    #[test]
    fn scans_and_writes_of_a_table_exclude_each_other() {
        let mut locks = Locks::default();
        let table = Resource::Table("t".into());
        assert_eq!(locks.ask(1, &table, Mode::Intent), Asked::Held);
        assert_eq!(locks.ask(2, &table, Mode::Intent), Asked::Held);
        assert_eq!(locks.ask(3, &table, Mode::Shared), Asked::Wait);
    }
}
