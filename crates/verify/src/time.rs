//! Real time as a line of extra nodes instead of an edge for every pair.
//!
//! Everything that was over by some moment leads to a node for that moment, the nodes are a chain, and each leads to
//! what began only afterwards: two edges per event, and one more chain. Moments between which nothing new began share
//! a node. Sorting is all it costs.

use certify::{Core, RealTime};
use history::{Outcome, SessionId, TxnId, TxnTimes};

use crate::known::{KnownGraph, Reason};
use crate::problem::{Problem, Status};

/// When an event happened: at some moment from `request` to `response`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub request: Option<i64>,
    pub response: Option<i64>,
}

/// Nothing ended before the client asked for it, whatever a clock that was set back says.
pub(crate) fn begin_moment(times: &TxnTimes) -> Moment {
    let request = times.begin_request;
    let answered = times.begin_response.or(times.commit_request).or(times.commit_response);
    Moment { request, response: answered.max(answered.and(request)) }
}

pub(crate) fn commit_moment(times: &TxnTimes) -> Moment {
    let request = times.commit_request.or(times.begin_response).or(times.begin_request);
    let answered = times.commit_response;
    Moment { request, response: answered.max(answered.and(request)).max(answered.and(times.begin_request)) }
}

/// The events that must be before others, and those others, as (time, node).
#[derive(Default)]
struct Line {
    over: Vec<(i64, u32)>,
    not_begun: Vec<(i64, u32)>,
}

/// What leads from a transaction that only may have taken part to the line of time, if it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaybeEdge {
    pub txn: TxnId,
    pub from: u32,
    pub to: u32,
}

/// The edges of one transaction, among edges sorted by transaction.
pub(crate) fn edges_of(edges: &[MaybeEdge], txn: TxnId) -> &[MaybeEdge] {
    let start = edges.partition_point(|edge| edge.txn < txn);
    let end = edges.partition_point(|edge| edge.txn <= txn);
    &edges[start..end]
}

/// The lines of time that a level needs, over some transactions.
fn lines(problem: &Problem<'_>, txns: impl Iterator<Item = TxnId>) -> Vec<Line> {
    let shape = problem.shape;
    let (mut to_commits, mut to_begins) = (Line::default(), Line::default());
    for txn in txns.filter(|&txn| problem.status[txn.index()] != Status::Out) {
        let mut times = problem.history.times(txn);
        if problem.history.outcome(txn) != Outcome::Committed {
            times.commit_response = None;
        }
        let (begin, commit) = (begin_moment(&times), commit_moment(&times));
        let (begin_node, commit_node) = (shape.begin(txn), shape.commit(txn));
        let ended = commit.response.map(|time| (time, commit_node));
        match problem.level.real_time {
            RealTime::Ignored => {}
            RealTime::Strict => {
                to_begins.over.extend(ended);
                to_begins.not_begun.extend(begin.request.map(|time| (time, begin_node)));
            }
            RealTime::ToCommits | RealTime::AllButBegins => {
                to_commits.over.extend(begin.response.map(|time| (time, begin_node)));
                to_commits.over.extend(ended);
                to_commits.not_begun.extend(commit.request.map(|time| (time, commit_node)));
                if problem.level.real_time == RealTime::AllButBegins {
                    to_begins.over.extend(ended);
                    to_begins.not_begun.extend(begin.request.map(|time| (time, begin_node)));
                }
            }
        }
    }
    vec![to_commits, to_begins]
}

/// The edges of real time, planned before the graph has its nodes.
#[derive(Default)]
pub(crate) struct Timeline {
    edges: Vec<(u32, u32)>,
    /// Edges out of transactions that only may have taken part, sorted by transaction.
    pub maybe_edges: Vec<MaybeEdge>,
    /// The nodes of each line, in order.
    pub chains: Vec<std::ops::Range<u32>>,
    /// The number of the first node that is not taken.
    pub node_count: u32,
}

impl Timeline {
    pub(crate) fn new(problem: &Problem<'_>) -> Self {
        let transactions = problem.history.txn_count() as u32 * problem.shape.events;
        let mut timeline = Self { node_count: transactions, ..Self::default() };
        if problem.level.real_time == RealTime::Ignored || !problem.history.has_times() {
            return timeline;
        }
        debug_assert_eq!(
            problem.level.real_time == RealTime::Strict,
            problem.shape.core == Core::Serializable
        );
        let skew = problem.level.clock_skew;
        for line in lines(problem, problem.history.txns()) {
            timeline.add(problem, line, skew);
        }
        if skew > 0 {
            // One client has one clock.
            for session in problem.history.sessions() {
                timeline.add_session(problem, session);
            }
        }
        timeline.maybe_edges.sort_by_key(|edge| edge.txn);
        timeline
    }

    fn add_session(&mut self, problem: &Problem<'_>, session: SessionId) {
        for line in lines(problem, problem.history.session_txns(session)) {
            self.add(problem, line, 0);
            // These lines are too many and too short: a chain for each would cost more than it saves.
            self.chains.pop();
        }
    }

    fn add(&mut self, problem: &Problem<'_>, mut line: Line, skew: i64) {
        line.over.sort_unstable();
        line.not_begun.sort_unstable();
        let first = self.node_count;
        let mut over = line.over.iter().peekable();
        for &(begun, node) in &line.not_begun {
            let mut is_new = true;
            while let Some(&(_, ended)) = over.next_if(|&&(time, _)| time.saturating_add(skew) < begun) {
                if std::mem::take(&mut is_new) {
                    self.new_moment(first);
                }
                self.add_over(problem, ended);
            }
            if self.node_count > first {
                self.edges.push((self.node_count - 1, node));
            }
        }
        self.chains.push(first..self.node_count);
    }

    /// A transaction that took no part after all must not hand on what comes before it.
    fn add_over(&mut self, problem: &Problem<'_>, from: u32) {
        let (txn, to) = (problem.shape.txn(from), self.node_count - 1);
        match problem.status[txn.index()] {
            Status::Maybe => self.maybe_edges.push(MaybeEdge { txn, from, to }),
            _ => self.edges.push((from, to)),
        }
    }

    fn new_moment(&mut self, first: u32) {
        if self.node_count > first {
            self.edges.push((self.node_count - 1, self.node_count));
        }
        self.node_count += 1;
    }

    pub(crate) fn add_to(&self, known: &mut KnownGraph) {
        for &(from, to) in &self.edges {
            known.add(from, to, Reason::Time);
        }
    }
}
