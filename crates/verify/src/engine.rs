//! The stages in their order: prepare, saturate, collect what is undecided, guess, search.

use std::time::Duration;

use certify::{Certificate, Level, Node};
use history::{History, Index, Outcome, TxnId};
use order::IncrementalOrder;
use solve::{Habits, Solver};

use crate::choices::{Choices, Collect, Meaning};
use crate::known::KnownGraph;
use crate::options::{Limit, Options};
use crate::problem::{Flaw, Links, OPEN, OpenRead, Problem, Status};
use crate::proof::{Evidence, ProofBuilder};
use crate::saturate::{Contradiction, Saturation, Stop};
use crate::stats::Stats;
use crate::time::Timeline;
use crate::{Answer, Verdict, components, cover, frontier, guess, schedule, versions};

/// Decides a level for which every operation of the history is indexed, taking transactions of a session to be in its
/// order where they are linked, even if the level does not ask for that.
pub(crate) fn decide(
    history: &History,
    index: &Index,
    level: &Level,
    links: &Links,
    options: &Options<'_>,
) -> Answer {
    decide_with_more(history, index, level, links, options, 0).0
}

/// The same; if the level is violated, gives back up to so many further contradictions that were found on the way. The
/// one that is told is then not the simplest.
pub(crate) fn decide_with_more(
    history: &History,
    index: &Index,
    level: &Level,
    links: &Links,
    options: &Options<'_>,
    more: usize,
) -> (Answer, Vec<Certificate>) {
    let since = (options.clock)();
    let mut run = Run { options, stats: Stats::default(), since, more, others: Vec::new() };
    let verdict = match Problem::new(history, index, level, links) {
        Err((problem, flaw)) => {
            let others = problem.other_flaws(&flaw).take(more);
            run.others.extend(others.map(|other| explain_flaw(&problem, &other)));
            Verdict::Violated(explain_flaw(&problem, &flaw))
        }
        Ok(mut problem) => run.explain(&mut problem),
    };
    (Answer { verdict, stats: run.stats }, run.others)
}

/// The certificate of a finding in a committed transaction.
pub(crate) fn prove_finding(
    history: &History,
    index: &Index,
    level: &Level,
    finding: &history::Finding,
) -> Certificate {
    let problem = match Problem::new(history, index, level, &Links::All) {
        Ok(problem) => problem,
        Err((problem, _)) => *problem,
    };
    explain_flaw(&problem, &Flaw::Finding(finding.clone()))
}

/// An order that explains the history without any session order, if running the transactions finds one.
pub(crate) fn schedule_without_sessions(
    history: &History,
    index: &Index,
    level: &Level,
    options: &Options<'_>,
) -> Option<Answer> {
    let links = Links::Without(vec![true; history.txn_count()]);
    let problem = Problem::new(history, index, level, &links).ok()?;
    let since = (options.clock)();
    let mut run = Run { options, stats: Stats::default(), since, more: 0, others: Vec::new() };
    let (known, timeline) = run.observe(&problem);
    let verdict = run.schedule(&problem, &known, &timeline)?;
    Some(Answer { verdict, stats: run.stats })
}

/// An answer that follows from the version orders that the history tells, if one does.
pub(crate) fn follow_versions(
    history: &History,
    index: &Index,
    level: &Level,
    options: &Options<'_>,
) -> Option<Answer> {
    if index.version_order().is_empty() {
        return None;
    }
    let links = match level.sessions {
        true => Links::All,
        false => Links::Without(vec![true; history.txn_count()]),
    };
    let problem = Problem::new(history, index, level, &links).ok()?;
    let since = (options.clock)();
    let mut run = Run { options, stats: Stats::default(), since, more: 0, others: Vec::new() };
    let (mut known, _) = run.observe(&problem);
    let verdict = versions::decide(&problem, &mut known);
    run.end_stage("versions");
    Some(Answer { verdict: verdict?, stats: run.stats })
}

fn explain_flaw(problem: &Problem<'_>, flaw: &Flaw) -> Certificate {
    let known = KnownGraph::new(0);
    let evidence = Evidence { problem, known: &known, drops: &[], may_reach: &|_, _| true };
    ProofBuilder::new(evidence).flaw(flaw)
}

struct Run<'o> {
    options: &'o Options<'o>,
    stats: Stats,
    since: Duration,
    /// How many further contradictions are wanted.
    more: usize,
    others: Vec<Certificate>,
}

impl Run<'_> {
    /// Books the time since the last stage ended.
    fn end_stage(&mut self, name: &'static str) {
        let now = (self.options.clock)();
        self.stats.stages.push((name, now.saturating_sub(self.since)));
        self.since = now;
    }

    /// The graph of what was observed, and the lines of time in it.
    fn observe(&mut self, problem: &Problem<'_>) -> (KnownGraph, Timeline) {
        self.stats.set("reads", problem.source.len() as u64);
        self.stats.set("ambiguous reads", problem.open.len() as u64);
        let timeline = Timeline::new(problem);
        let mut known = KnownGraph::new(timeline.node_count as usize);
        known.add_observed(problem);
        timeline.add_to(&mut known);
        self.stats.set("observed edges", known.graph.edge_count() as u64);
        self.end_stage("observe");
        (known, timeline)
    }

    /// Runs the transactions; the order that this makes is checked like every certificate before it counts.
    fn schedule(
        &mut self,
        problem: &Problem<'_>,
        known: &KnownGraph,
        timeline: &Timeline,
    ) -> Option<Verdict> {
        let made = schedule::explain(problem, known, timeline, self.options.limit);
        self.end_stage("schedule");
        match made {
            Err(limit) => Some(Verdict::Undecided(limit)),
            Ok(Err(left)) => {
                self.stats.set("not scheduled", left as u64);
                None
            }
            Ok(Ok(made)) => {
                let is_right =
                    |made: &Certificate| certify::check(problem.history, problem.level, made).is_ok();
                // The schedule does not look at recorded version orders: among equal values it may choose a write of
                // another version, and it may run a transaction of unknown outcome before readers that missed its append.
                let has_version_order =
                    problem.history.has_versions() || !problem.index.version_order().is_empty();
                let may_differ = !has_certificates(problem) || has_version_order;
                debug_assert!(is_right(&made) || may_differ, "the schedule explains nothing");
                let is_right = is_right(&made);
                self.end_stage("check");
                is_right.then_some(Verdict::Holds(made))
            }
        }
    }

    /// Searches for a serial order over how far each session has come.
    fn search_frontier(&mut self, problem: &Problem<'_>) -> Option<Verdict> {
        if !problem.source.contains(&OPEN) {
            return None;
        }
        let found = frontier::search(problem, self.options.seed, self.options.limit);
        self.end_stage("frontier");
        let order = match found {
            Err(limit) => return Some(Verdict::Undecided(limit)),
            Ok(order) => order?.into_iter().flat_map(|txn| {
                let shape = problem.shape;
                (shape.begin(txn)..=shape.commit(txn)).map(Node)
            }),
        };
        let is_taken = |&txn: &TxnId| problem.is_in(txn) && problem.history.outcome(txn) == Outcome::Unknown;
        let committed_unknown = problem.history.txns().filter(is_taken).collect();
        let made = Certificate::Holds { order: order.collect(), committed_unknown };
        let is_right = certify::check(problem.history, problem.level, &made).is_ok();
        debug_assert!(is_right || !has_certificates(problem), "the order explains nothing");
        self.end_stage("check");
        is_right.then_some(Verdict::Holds(made))
    }

    fn explain(&mut self, problem: &mut Problem<'_>) -> Verdict {
        let (known, timeline) = self.observe(problem);
        if self.options.stages.schedule
            && self.more == 0
            && is_worth_scheduling(problem)
            && let Some(verdict) = self.schedule(problem, &known, &timeline)
        {
            return verdict;
        }
        if let Err(limit) = problem.list_candidates(self.options.limit, self.options.memory_bytes / 2) {
            return Verdict::Undecided(limit);
        }
        let chains = cover::cover(problem, &timeline, self.options.memory_bytes / 2);
        self.stats.set("chains", chains.len() as u64);
        let is_timeless = timeline.chains.is_empty();
        let mut state = Saturation::new(problem, known, chains, timeline.maybe_edges, self.options.limit);
        state.tolerated = (self.more > 0).then(Vec::new);
        self.stats.set("pairs", state.writers.pair_count());
        self.end_stage("prepare");
        let saturated = self.saturate(&mut state);
        self.end_stage("saturate");
        match saturated {
            Err(Stop::Limit(limit)) => Verdict::Undecided(limit),
            Err(Stop::Contradiction(contradiction)) if self.more > 0 => {
                let certificate = self.contradicted_more(&mut state, &contradiction);
                self.end_stage("prove");
                Verdict::Violated(certificate)
            }
            Err(Stop::Contradiction(contradiction)) => {
                let simple = state.simplify(contradiction);
                let certificate = contradicted(&mut state, &simple);
                self.end_stage("prove");
                Verdict::Violated(certificate)
            }
            Ok(()) if self.options.stages.frontier && is_timeless && self.more == 0 => {
                let found = self.search_frontier(state.problem);
                found.unwrap_or_else(|| self.search(&mut state))
            }
            Ok(()) => self.search(&mut state),
        }
    }

    /// The certificate of a contradiction, and those of others that were tolerated, from all over the history.
    fn contradicted_more(&mut self, state: &mut Saturation<'_, '_>, first: &Contradiction) -> Certificate {
        let others = state.tolerated.take().unwrap_or_default();
        let step = others.len().div_ceil(self.more).max(1);
        with_shared_evidence(state, |evidence| {
            let certificate = |other| ProofBuilder::new(evidence).contradiction(other);
            self.others.extend(others.iter().step_by(step).map(certificate));
            certificate(first)
        })
    }

    fn saturate(&mut self, state: &mut Saturation<'_, '_>) -> Result<(), Stop> {
        let result =
            if self.options.stages.saturate { state.run(self.options.stages.windows) } else { state.start() };
        self.stats.set("known edges", state.known.graph.edge_count() as u64);
        self.stats.set("rounds", state.rounds);
        self.stats.set("dropped sources", state.drops.len() as u64);
        self.stats.set("settled reads", state.settled);
        result
    }

    fn search(&mut self, state: &mut Saturation<'_, '_>) -> Verdict {
        let collect = Collect::new(state, self.options.stages.saturate, self.options);
        let choices = match collect.run() {
            Ok(choices) => choices,
            Err(limit) => return Verdict::Undecided(limit),
        };
        for &(from, to, reason) in &choices.known {
            state.known.add(from, to, reason);
        }
        self.stats.set("undecided pairs", choices.undecided_pairs);
        self.stats.set("undecided reads", choices.undecided_reads);
        self.end_stage("collect");
        let order = guess::guess(state.problem, &state.known, self.options.stages.guess);
        if order.len() < state.known.graph.node_count() {
            let contradiction = state.find_cycle();
            return Verdict::Violated(contradicted(state, &contradiction));
        }
        let graph = IncrementalOrder::new(&state.known.graph, &order);
        let stages = self.options.stages;
        let habits = Habits { lazy: stages.lazy, polarity: stages.polarity, seed: self.options.seed };
        let mut solver = Solver::new(&choices.setup, graph, habits);
        let guessed_wrong = solver.violated_count();
        self.stats.set("guessed wrong", guessed_wrong);
        self.end_stage("guess");
        if stages.components && guessed_wrong > 0 {
            let split = components::split(&state.known, &choices.setup);
            self.stats.set("components", split.count);
            self.stats.set("largest component", split.largest);
            solver.rank(&split.ranks);
            self.end_stage("components");
        }
        let mut reached = None;
        let answer = solver.search(&mut || {
            reached = (self.options.limit)();
            reached.is_some()
        });
        let counts = solver.counts();
        self.stats.set("decisions", counts.decisions);
        self.stats.set("conflicts", counts.conflicts);
        self.stats.set("restarts", counts.restarts);
        self.end_stage("search");
        let verdict = match answer {
            solve::Answer::Satisfied => Verdict::Holds(accepted(state.problem, &choices, &solver)),
            solve::Answer::Stopped => Verdict::Undecided(reached.unwrap_or(Limit::Interrupt)),
            solve::Answer::Contradiction => {
                let proof = solver.proof();
                Verdict::Violated(with_evidence(state, |builder| builder.refutation(&choices, &proof)))
            }
        };
        self.end_stage("prove");
        verdict
    }
}

/// Whether the checker takes certificates about the whole problem. Where there are predicates, the problem may be about
/// some keys only; a level of real time has no certificates for a history without times.
fn has_certificates(problem: &Problem<'_>) -> bool {
    !history::has_predicates(problem.history) && (problem.history.has_times() || !problem.level.needs_times())
}

/// How many possible sources a read has, on average, from which on running the transactions pays.
const MANY_SOURCES: usize = 8;

/// Whether running the transactions may be faster than saturation: where reads have many possible sources, and where
/// there are more sessions than the closure has chains for. Elsewhere it costs 8 ms for 10,000 transactions of eight
/// operations and mostly ends soon.
fn is_worth_scheduling(problem: &Problem<'_>) -> bool {
    let sources = |open: &OpenRead| problem.index.sources(open.read as usize).writes.len();
    let count: usize = problem.open.iter().map(sources).sum();
    count >= MANY_SOURCES * problem.source.len() || problem.history.session_count() > cover::CHAIN_LIMIT
}

fn contradicted(state: &mut Saturation<'_, '_>, contradiction: &Contradiction) -> Certificate {
    with_evidence(state, |builder| builder.contradiction(contradiction))
}

/// Paths are searched only through nodes that can still reach their end, if the closure is exact; that needs a graph
/// without a cycle.
fn with_evidence(
    state: &mut Saturation<'_, '_>,
    make: impl FnOnce(ProofBuilder<'_, '_>) -> Certificate,
) -> Certificate {
    with_shared_evidence(state, |evidence| make(ProofBuilder::new(evidence)))
}

/// The same for several certificates, each of which needs a builder of its own.
fn with_shared_evidence(
    state: &mut Saturation<'_, '_>,
    make: impl FnOnce(Evidence<'_, '_>) -> Certificate,
) -> Certificate {
    let successors = order::Flat::successors(&state.known.graph);
    let is_exact = match order::topological_order_of(&successors) {
        Some(order) => {
            let predecessors = order::Flat::predecessors(&state.known.graph);
            state.reach.rebuild(&successors, &predecessors, &order);
            true
        }
        None => false,
    };
    let chains = state.reach.chains();
    let may_reach =
        |node: u32, to: u32| !is_exact || chains.chain_of(to) == order::NONE || state.reach.reaches(node, to);
    let (problem, known, drops) = (&*state.problem, &state.known, &state.drops);
    make(Evidence { problem, known, drops, may_reach: &may_reach })
}

/// The order as a certificate.
fn accepted(problem: &Problem<'_>, choices: &Choices, solver: &Solver<'_>) -> Certificate {
    let shape = problem.shape;
    let mut took_part: Vec<bool> = problem.status.iter().map(|&status| status == Status::In).collect();
    for (var, meaning) in choices.meanings.iter().enumerate() {
        if let Meaning::Committed(txn) = *meaning {
            took_part[txn.index()] = solver.value(solve::Lit::positive(var as u32)) == Some(true);
        }
    }
    let txn_nodes = problem.history.txn_count() as u32 * shape.events;
    let is_event = |&node: &u32| node < txn_nodes && took_part[shape.txn(node).index()];
    let order = solver.order().into_iter().filter(is_event).map(Node).collect();
    let is_taken = |&txn: &TxnId| took_part[txn.index()] && problem.history.outcome(txn) == Outcome::Unknown;
    Certificate::Holds { order, committed_unknown: problem.history.txns().filter(is_taken).collect() }
}
