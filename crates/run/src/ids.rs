//! Values that no other client writes.
//!
//! Session number `s` of `n` writes `s + 1`, `s + 1 + n`, `s + 1 + 2n`, ...: unique without talking to each other, and
//! the same for the same seed.

use history::Datum;

/// The unique values of one session.
#[derive(Clone, Debug)]
pub struct UniqueIds {
    next: i64,
    step: i64,
}

impl UniqueIds {
    /// Those of a session out of so many.
    pub fn of(session: u32, sessions: u32) -> Self {
        Self { next: i64::from(session) + 1, step: i64::from(sessions.max(1)) }
    }

    /// The next one; at 64 bits they do not run out.
    pub fn take(&mut self) -> i64 {
        let id = self.next;
        self.next += self.step;
        id
    }

    /// The next one, as a database takes it.
    pub fn datum(&mut self) -> Datum {
        Datum::Int(self.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sessions_share_a_value() {
        let mut seen = std::collections::BTreeSet::new();
        for session in 0..3 {
            let mut ids = UniqueIds::of(session, 3);
            assert!((0..100).all(|_| seen.insert(ids.take())));
        }
        assert_eq!(seen.last(), Some(&300));
    }
}
