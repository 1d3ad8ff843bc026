//! The transactions that may come next, by their sessions and by the clock.
//!
//! A transaction is ready when everything that must precede it was placed; the order of sessions is kept at every level.
//! By the clock that is a comparison with the earliest end among the transactions that are not placed: all ends are
//! sorted once, and a pointer stands at the first that is not placed. By the session it is the transaction before it.

use certify::{Core, Level, RealTime};
use history::{History, Outcome, TxnId};

use crate::time::{begin_moment, commit_moment};

/// The orders that the level demands, whatever the reads returned.
pub(crate) struct ReadyQueue<'h> {
    history: &'h History,
    core: Core,
    skew: i64,
    begin_request: Vec<i64>,
    begin_response: Vec<i64>,
    commit_request: Vec<i64>,
    commit_response: Vec<i64>,
    /// Committed transactions by the end of their commits, and of their begins.
    commits: Missing,
    begins: Missing,
    real_time: RealTime,
}

/// Transactions in the order of a time, and the first that has not come.
struct Missing {
    sorted: Vec<(i64, TxnId)>,
    place_of: Vec<u32>,
    first: usize,
}

impl Missing {
    fn of(history: &History, time: &[i64]) -> Self {
        let committed = history.txns().filter(|&txn| history.outcome(txn) == Outcome::Committed);
        let mut sorted: Vec<(i64, TxnId)> = committed.map(|txn| (time[txn.index()], txn)).collect();
        sorted.sort_unstable();
        let mut place_of = vec![u32::MAX; history.txn_count()];
        for (place, &(_, txn)) in sorted.iter().enumerate() {
            place_of[txn.index()] = place as u32;
        }
        Self { sorted, place_of, first: 0 }
    }

    fn advance(&mut self, has_come: impl Fn(TxnId) -> bool) {
        while self.sorted.get(self.first).is_some_and(|&(_, txn)| has_come(txn)) {
            self.first += 1;
        }
    }

    fn put_back(&mut self, txn: TxnId) {
        self.first = self.first.min(self.place_of[txn.index()] as usize);
    }

    /// Whether one that has not come was over before a moment.
    fn has_before(&self, moment: i64, skew: i64) -> bool {
        self.sorted.get(self.first).is_some_and(|&(time, _)| is_before(time, skew, moment))
    }
}

fn is_before(response: i64, skew: i64, request: i64) -> bool {
    response.saturating_add(skew) < request && response != i64::MAX && request != i64::MIN
}

impl<'h> ReadyQueue<'h> {
    /// What the level obliges to.
    ///
    /// Within a session no skew counts, and the order of the session is kept in any case; so where clocks of a session
    /// ran backwards nothing is promised, and there is no ready.
    pub fn new(history: &'h History, level: &Level) -> Option<Self> {
        let mut ready = Self {
            history,
            core: level.core,
            skew: level.clock_skew,
            begin_request: Vec::new(),
            begin_response: Vec::new(),
            commit_request: Vec::new(),
            commit_response: Vec::new(),
            commits: Missing { sorted: Vec::new(), place_of: Vec::new(), first: 0 },
            begins: Missing { sorted: Vec::new(), place_of: Vec::new(), first: 0 },
            real_time: level.real_time,
        };
        history.txns().for_each(|txn| ready.add_times(txn));
        ready.commits = Missing::of(history, &ready.commit_response);
        ready.begins = Missing::of(history, &ready.begin_response);
        (level.real_time == RealTime::Ignored || ready.runs_forward()).then_some(ready)
    }

    /// Whether no clock says that something of a session was over before something earlier of it was asked for.
    fn runs_forward(&self) -> bool {
        self.history.sessions().all(|session| {
            let mut asked = i64::MIN;
            self.history.session_txns(session).all(|txn| {
                let over = self.begin_response[txn.index()].min(self.commit_response[txn.index()]);
                let is_later = over >= asked;
                asked = asked.max(self.begin_request[txn.index()]).max(self.commit_request[txn.index()]);
                is_later
            })
        })
    }

    /// The outcome of an unknown transaction was never heard.
    fn add_times(&mut self, txn: TxnId) {
        let mut times = self.history.times(txn);
        if self.history.outcome(txn) != Outcome::Committed {
            times.commit_response = None;
        }
        let (begin, commit) = (begin_moment(&times), commit_moment(&times));
        self.begin_request.push(begin.request.unwrap_or(i64::MIN));
        self.begin_response.push(begin.response.unwrap_or(i64::MAX));
        self.commit_request.push(commit.request.unwrap_or(i64::MIN));
        self.commit_response.push(commit.response.unwrap_or(i64::MAX));
    }

    pub fn begin_request(&self, txn: TxnId) -> i64 {
        self.begin_request[txn.index()]
    }

    pub fn commit_request(&self, txn: TxnId) -> i64 {
        self.commit_request[txn.index()]
    }

    /// Whether a transaction may begin when a commit that was requested then has happened.
    pub fn may_still_begin(&self, txn: TxnId, latest_request: i64) -> bool {
        self.real_time == RealTime::Ignored
            || !is_before(self.begin_response[txn.index()], self.skew, latest_request)
    }

    /// Whether one transaction must have committed before another begins.
    pub fn must_precede(&self, first: TxnId, second: TxnId) -> bool {
        let by_session = first < second && self.is_one_session(first, second);
        by_session || self.is_over_before(first, second)
    }

    /// Whether the clock says that one committed before another did.
    pub fn must_commit_before(&self, first: TxnId, second: TxnId) -> bool {
        self.core != Core::Serializable
            && self.real_time != RealTime::Ignored
            && is_before(self.commit_response[first.index()], self.skew, self.commit_request[second.index()])
    }

    fn is_one_session(&self, first: TxnId, second: TxnId) -> bool {
        self.history.session_of(first) == self.history.session_of(second)
    }

    /// Whether the clock says that one had committed before another began.
    pub fn is_over_before(&self, first: TxnId, second: TxnId) -> bool {
        matches!(self.real_time, RealTime::Strict | RealTime::AllButBegins)
            && is_before(self.commit_response[first.index()], self.skew, self.begin_request[second.index()])
    }

    /// All that may take part, in the order in which they seem to have begun.
    pub fn by_begin(&self) -> Vec<TxnId> {
        let mut txns: Vec<TxnId> =
            self.history.txns().filter(|&txn| self.history.outcome(txn) != Outcome::Aborted).collect();
        txns.sort_by_key(|&txn| (self.begin_request[txn.index()], self.progress(txn)));
        txns
    }

    /// When a transaction seems to have committed.
    pub fn moment(&self, txn: TxnId) -> (i64, u64) {
        let (request, response) = (self.commit_request[txn.index()], self.commit_response[txn.index()]);
        let middle = match (request, response) {
            (i64::MIN, i64::MAX) => 0,
            (i64::MIN, known) | (known, i64::MAX) => known,
            (request, response) => request / 2 + response / 2,
        };
        (middle, self.progress(txn))
    }

    fn progress(&self, txn: TxnId) -> u64 {
        let session = self.history.session_txns(self.history.session_of(txn));
        ((self.history.place_in_session(txn) as u64) << 32) / (session.len() as u64).max(1)
    }

    /// Whether all that must have committed before a transaction begins has.
    pub fn may_begin(&self, txn: TxnId) -> bool {
        match self.real_time {
            RealTime::Strict | RealTime::AllButBegins => {
                !self.commits.has_before(self.begin_request[txn.index()], self.skew)
            }
            RealTime::Ignored | RealTime::ToCommits => true,
        }
    }

    /// Whether all that is committed before it in its session has come, and nothing that is later has begun; only asked
    /// for unknown outcomes.
    pub fn is_its_turn(
        &self,
        txn: TxnId,
        has_come: impl Fn(TxnId) -> bool,
        has_begun: impl Fn(TxnId) -> bool,
    ) -> bool {
        let session = self.history.session_txns(self.history.session_of(txn));
        let is_right = |other: TxnId| match other < txn {
            true => self.history.outcome(other) != Outcome::Committed || has_come(other),
            false => other == txn || !has_begun(other),
        };
        session.into_iter().all(is_right)
    }

    /// Whether all that must be before the commit of a transaction has happened.
    pub fn may_commit(&self, txn: TxnId) -> bool {
        let request = self.commit_request[txn.index()];
        match (self.core, self.real_time) {
            (Core::Serializable, _) | (_, RealTime::Ignored) => true,
            _ => {
                let is_own = |missing: &Missing| {
                    missing.sorted.get(missing.first).is_some_and(|&(_, first)| first == txn)
                };
                (is_own(&self.commits) || !self.commits.has_before(request, self.skew))
                    && (is_own(&self.begins) || !self.begins.has_before(request, self.skew))
            }
        }
    }

    pub fn advance(&mut self, has_begun: impl Fn(TxnId) -> bool, has_committed: impl Fn(TxnId) -> bool) {
        self.begins.advance(has_begun);
        self.commits.advance(has_committed);
    }

    /// A transaction has not come after all.
    pub fn put_back(&mut self, txn: TxnId) {
        if self.history.outcome(txn) == Outcome::Committed {
            self.begins.put_back(txn);
            self.commits.put_back(txn);
        }
    }
}
