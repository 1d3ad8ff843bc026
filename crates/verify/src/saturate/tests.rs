//! Saturation against a naive fixed point: the rules one by one over all reads and writers, with a closure of all pairs.
//!
//! A verdict does not show what saturation missed, since the search finds it too; this does.

use certify::Level;
use history::{History, KeyId, TxnId};
use index::Index;
use testkit::Random;
use testkit::generate::{self, Shape};

use super::Saturation;
use crate::cover;
use crate::known::KnownGraph;
use crate::problem::{ALL_LINKED, INITIAL, Problem};
use crate::time::Timeline;

/// What follows from a history, or `None` if that is a contradiction.
#[derive(PartialEq, Eq, Debug)]
struct Follows {
    /// For each two events whether the first comes before the second.
    before: Vec<Vec<bool>>,
    /// For each read the writes that it may have come from.
    candidates: Vec<Vec<u32>>,
}

/// What saturation finds.
fn saturated(problem: &mut Problem<'_>, by_windows: bool) -> Option<Follows> {
    let timeline = Timeline::new(problem);
    let mut known = KnownGraph::new(timeline.node_count as usize);
    known.add_observed(problem);
    problem.list_candidates(&|| None).unwrap();
    let chains = cover::cover(problem, &timeline, 1 << 20);
    let nodes = timeline.node_count;
    let mut state = Saturation::new(problem, known, chains, timeline.maybe_edges, &|| None);
    state.run(by_windows).ok()?;
    let leads = |from: u32| (0..nodes).map(|to| from != to && state.reach.reaches(from, to)).collect();
    let before = (0..nodes).map(leads).collect();
    let mut candidates: Vec<Vec<u32>> = state.problem.source.iter().map(|&source| vec![source]).collect();
    for open in &state.problem.open {
        candidates[open.read as usize] = open.candidates.clone();
    }
    candidates.iter_mut().for_each(|of_read| of_read.sort_unstable());
    Some(Follows { before, candidates })
}

/// The naive fixed point.
struct Naive<'p, 'a> {
    problem: &'p Problem<'a>,
    before: Vec<Vec<bool>>,
    candidates: Vec<Vec<u32>>,
}

impl Naive<'_, '_> {
    fn run(mut self) -> Option<Follows> {
        self.observe();
        loop {
            self.close();
            if (0..self.before.len()).any(|node| self.before[node][node]) {
                return None;
            }
            let (known, left) = (self.before.clone(), self.candidates.clone());
            self.drop_candidates();
            if self.candidates.iter().any(Vec::is_empty) {
                return None;
            }
            self.apply_rules();
            if (&known, &left) == (&self.before, &self.candidates) {
                return Some(Follows { before: self.before, candidates: self.candidates });
            }
        }
    }

    fn observe(&mut self) {
        let (history, shape) = (self.problem.history, self.problem.shape);
        for txn in history.txns().filter(|&txn| self.problem.is_in(txn)) {
            self.add(shape.begin(txn), shape.commit(txn));
        }
        for session in history.sessions() {
            let txns = history.session_txns(session).filter(|&txn| self.problem.is_in(txn));
            let txns: Vec<TxnId> = txns.collect();
            txns.windows(2).for_each(|pair| self.add(shape.commit(pair[0]), shape.begin(pair[1])));
        }
    }

    fn add(&mut self, from: u32, to: u32) {
        self.before[from as usize][to as usize] |= from != to;
    }

    fn leads(&self, from: u32, to: u32) -> bool {
        self.before[from as usize][to as usize]
    }

    fn close(&mut self) {
        let nodes = self.before.len();
        for middle in 0..nodes {
            let row = self.before[middle].clone();
            for from in 0..nodes {
                if self.before[from][middle] {
                    self.before[from].iter_mut().zip(&row).for_each(|(to, &leads)| *to |= leads);
                }
            }
        }
    }

    /// The writers of a key, but for two.
    fn writers(&self, key: KeyId, but: [TxnId; 2]) -> Vec<TxnId> {
        let writes = self.problem.index.writes_to(key).iter();
        let txns = writes.map(|&write| self.problem.writer(write));
        txns.filter(|txn| self.problem.is_in(*txn) && !but.contains(txn)).collect()
    }

    fn drop_candidates(&mut self) {
        let (problem, shape) = (self.problem, self.problem.shape);
        for (read, external) in problem.index.reads().iter().enumerate() {
            let begin = shape.begin(external.txn);
            let is_possible = |&candidate: &u32| {
                let writer = (candidate != INITIAL).then(|| problem.writer(candidate));
                let others = self.writers(external.key, [external.txn, writer.unwrap_or(external.txn)]);
                let is_later = |other: TxnId| {
                    writer.is_none_or(|writer| self.leads(shape.install(writer), shape.commit(other)))
                };
                let is_after = writer.is_some_and(|writer| self.leads(begin, shape.commit(writer)));
                let is_between = |&other: &TxnId| is_later(other) && self.leads(shape.commit(other), begin);
                !is_after && !others.iter().any(is_between)
            };
            // One candidate alone stays: what contradicts it is a cycle.
            if self.candidates[read].len() > 1 {
                let left = self.candidates[read].iter().copied().filter(is_possible).collect();
                self.candidates[read] = left;
            }
        }
    }

    fn apply_rules(&mut self) {
        let (problem, shape) = (self.problem, self.problem.shape);
        for (read, external) in problem.index.reads().iter().enumerate() {
            let &[source] = &self.candidates[read][..] else { continue };
            let begin = shape.begin(external.txn);
            if source == INITIAL {
                for later in self.writers(external.key, [external.txn; 2]) {
                    self.add(begin, shape.commit(later));
                }
                continue;
            }
            let writer = problem.writer(source);
            self.add(shape.commit(writer), begin);
            for other in self.writers(external.key, [external.txn, writer]) {
                if self.leads(shape.commit(other), begin) {
                    self.add(shape.commit(other), shape.install(writer));
                }
                if self.leads(shape.install(writer), shape.commit(other)) {
                    self.add(begin, shape.commit(other));
                }
            }
        }
        if shape.writers_exclude() {
            self.exclude_writers();
        }
    }

    /// Two writers of a key do not overlap.
    fn exclude_writers(&mut self) {
        let (problem, shape) = (self.problem, self.problem.shape);
        for write in problem.index.writes().iter().filter(|write| problem.is_in(write.txn)) {
            for other in self.writers(write.key, [write.txn; 2]) {
                if self.leads(shape.install(write.txn), shape.commit(other)) {
                    self.add(shape.commit(write.txn), shape.install(other));
                }
            }
        }
    }
}

fn compare(history: &History, level: &Level) -> bool {
    let index = Index::of(history);
    let Ok(mut problem) = Problem::new(history, &index, level, &ALL_LINKED) else { return false };
    let nodes = history.txn_count() * level.events_per_txn() as usize;
    let candidates = (0..problem.source.len() as u32).map(|read| {
        let mut sources: Vec<u32> = problem.live_sources(read).collect();
        sources.sort_unstable();
        sources
    });
    let candidates = candidates.collect();
    let naive = Naive { problem: &problem, before: vec![vec![false; nodes]; nodes], candidates }.run();
    for by_windows in [true, false] {
        let found = saturated(&mut problem, by_windows);
        let text = || formats::notation::print(history).unwrap();
        assert_eq!(found, naive, "{level:?}, windows {by_windows}\n{}", text());
        problem = Problem::new(history, &index, level, &ALL_LINKED).ok().unwrap();
    }
    naive.is_some()
}

#[test]
fn saturation_finds_what_a_naive_fixed_point_finds() {
    let levels = [Level::SESSION_SERIALIZABLE, Level::SESSION_SNAPSHOT_ISOLATION, Level::PREFIX];
    let mut consistent = 0;
    for seed in 0..4_000 {
        let mut random = Random::new(seed);
        let shape = Shape {
            most_txns: random.between(3, 9),
            keys: random.between(1, 3),
            values: random.percent(50).then(|| random.between(2, 5)),
            ..Shape::default()
        };
        let history = generate::history(seed, &shape);
        consistent += levels.iter().filter(|level| compare(&history, level)).count();
    }
    assert!(consistent > 2_000, "{consistent}");
}

/// In a larger history the closure is kept up to date edge by edge, and reads are looked at again when it improves.
#[test]
fn saturation_finds_the_same_edge_by_edge() {
    let mut consistent = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let shape = Shape {
            sessions: random.between(3, 8),
            least_txns: 60,
            most_txns: 160,
            keys: random.between(8, 40),
            values: random.percent(70).then(|| random.between(3, 20)),
            ..Shape::default()
        };
        let history = generate::history(seed, &shape);
        consistent += usize::from(compare(&history, &Level::SESSION_SERIALIZABLE));
        consistent += usize::from(compare(&history, &Level::SESSION_SNAPSHOT_ISOLATION));
    }
    assert!(consistent > 10, "{consistent}");
}
