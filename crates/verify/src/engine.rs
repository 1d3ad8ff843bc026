//! The stages in their order: prepare, saturate, collect what is undecided, guess, search.

use std::time::Duration;

use certify::{Certificate, Level, Node};
use history::{History, Outcome, TxnId};
use index::Index;
use order::IncrementalOrder;
use solve::{Habits, Solver};

use crate::choices::{Choices, Collect, Meaning};
use crate::draft::Draft;
use crate::known::KnownGraph;
use crate::options::{Limit, Options};
use crate::problem::{ALL_LINKED, Flaw, Links, OPEN, Problem, Status};
use crate::proof::{Evidence, ProofBuilder};
use crate::saturate::{Contradiction, Saturation, Stop};
use crate::stats::Stats;
use crate::time::Timeline;
use crate::turns::{Stopped, Turns};
use crate::{Verdict, Verified, components, cover, frontier, guess, matrix, schedule, versions};

/// Decides a level for which every operation of the history is indexed, taking transactions of a session to be in its
/// order where they are linked, even if the level does not ask for that.
pub(crate) fn decide(
    history: &History,
    index: &Index,
    level: &Level,
    links: &Links,
    options: &Options<'_>,
) -> Verified {
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
) -> (Verified, Vec<Certificate>) {
    let mut run = Run::new(options, more);
    let verdict = match Problem::new(history, index, level, links) {
        Err((problem, flaw)) => {
            let others = problem.other_flaws(&flaw).take(more);
            run.others.extend(others.filter_map(|other| explain_flaw(&problem, &other, options.limit).ok()));
            Verdict::of_proof(explain_flaw(&problem, &flaw, options.limit))
        }
        Ok(mut problem) => run.explain(&mut problem),
    };
    (Verified { verdict, stats: run.stats }, run.others)
}

/// The certificate of a finding in a committed transaction.
pub(crate) fn prove_finding(
    history: &History,
    index: &Index,
    level: &Level,
    finding: &index::Finding,
) -> Option<Certificate> {
    let problem = match Problem::new(history, index, level, &ALL_LINKED) {
        Ok(problem) => problem,
        Err((problem, _)) => *problem,
    };
    explain_flaw(&problem, &Flaw::Finding(finding.clone()), &|| None).ok()
}

/// An order that explains the history without any session order, if running the transactions finds one.
pub(crate) fn schedule_without_sessions(
    history: &History,
    index: &Index,
    level: &Level,
    options: &Options<'_>,
) -> Option<Verified> {
    let links = Links::without(vec![true; history.txn_count()], 1);
    let problem = Problem::new(history, index, level, &links).ok()?;
    let mut run = Run::new(options, 0);
    let (known, timeline) = run.observe(&problem);
    let scheduled = run.schedule(&problem, &known, &timeline);
    let verdict = scheduled.or_else(|| run.schedule_apart(&problem, &known, &timeline))?;
    Some(Verified { verdict, stats: run.stats })
}

/// A contradiction that needs no session order, if saturation without sessions finds one.
pub(crate) fn refute_without_sessions(
    history: &History,
    index: &Index,
    level: &Level,
    options: &Options<'_>,
) -> Option<Verified> {
    let links = Links::without(vec![true; history.txn_count()], 1);
    let problem = Problem::new(history, index, level, &links).ok()?;
    let mut run = Run::new(options, 0);
    let (known, _) = run.observe(&problem);
    let refuted = matrix::refute(&problem, known, options);
    run.end_stage("matrix");
    let verdict = Verdict::of_proof(refuted.transpose()?);
    Some(Verified { verdict, stats: run.stats })
}

/// An answer that follows from the version orders that the history tells, if one does.
pub(crate) fn follow_versions(
    history: &History,
    index: &Index,
    level: &Level,
    options: &Options<'_>,
) -> Option<Verified> {
    if index.version_order().is_empty() {
        return None;
    }
    let links = match level.sessions {
        true => &ALL_LINKED,
        false => &Links::without(vec![true; history.txn_count()], 1),
    };
    let problem = Problem::new(history, index, level, links).ok()?;
    let mut run = Run::new(options, 0);
    let (mut known, _) = run.observe(&problem);
    let verdict = versions::decide(&problem, &mut known, options.limit);
    run.end_stage("versions");
    Some(Verified { verdict: verdict?, stats: run.stats })
}

fn explain_flaw(
    problem: &Problem<'_>,
    flaw: &Flaw,
    limit: &dyn Fn() -> Option<Limit>,
) -> Result<Certificate, Limit> {
    let known = KnownGraph::new(0);
    let evidence = Evidence { problem, known: &known, drops: &[], may_reach: &|_, _| true, limit };
    ProofBuilder::new(evidence).flaw(flaw)
}

struct Run<'o> {
    options: &'o Options<'o>,
    stats: Stats,
    since: Duration,
    /// How many further contradictions are wanted.
    more: usize,
    others: Vec<Certificate>,
    /// The best serial order so far, if one was looked for.
    draft: Option<Draft>,
    /// Whether running the transactions with begins apart from commits was put off.
    is_apart_open: bool,
}

impl<'o> Run<'o> {
    fn new(options: &'o Options<'o>, more: usize) -> Self {
        Self {
            options,
            stats: Stats::default(),
            since: (options.clock)(),
            more,
            others: Vec::new(),
            draft: None,
            is_apart_open: false,
        }
    }

    /// Books the time since the last stage ended; a stage that ran twice has the sum.
    fn end_stage(&mut self, name: &'static str) {
        let now = (self.options.clock)();
        let time = now.saturating_sub(self.since);
        match self.stats.stages.iter_mut().find(|(known, _)| *known == name) {
            Some(stage) => stage.1 += time,
            None => self.stats.stages.push((name, time)),
        }
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
        let limit = self.options.limit;
        let made = match schedule::explain(problem, known, timeline, limit) {
            Ok(Err(ran)) => {
                self.stats.set("not scheduled", ran.left as u64);
                self.draft = Draft::new(problem, &ran.order);
                let mends_first = self.options.stages.repair && timeline.chains.is_empty();
                match mends_first && self.draft.is_some() && ran.is_nearly_right() {
                    true => {
                        self.is_apart_open = true;
                        Ok(None)
                    }
                    false => schedule::explain_apart(problem, known, timeline, limit),
                }
            }
            Ok(Ok(made)) => Ok(Some(made)),
            Err(limit) => Err(limit),
        };
        self.accept_schedule(problem, made)
    }

    /// Runs the transactions with begins apart from commits, if that was put off until the serial order was mended.
    fn schedule_apart(
        &mut self,
        problem: &Problem<'_>,
        known: &KnownGraph,
        timeline: &Timeline,
    ) -> Option<Verdict> {
        if !std::mem::take(&mut self.is_apart_open) {
            return None;
        }
        let made = schedule::explain_apart(problem, known, timeline, self.options.limit);
        self.accept_schedule(problem, made)
    }

    /// An order that a run made as the answer, if the checker takes it.
    fn accept_schedule(
        &mut self,
        problem: &Problem<'_>,
        made: Result<Option<Certificate>, Limit>,
    ) -> Option<Verdict> {
        self.end_stage("schedule");
        match made {
            Err(limit) => Some(Verdict::Undecided(limit)),
            Ok(None) => None,
            Ok(Some(made)) => {
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

    /// Mends the draft of a serial order, for a while that depends on what was tried before.
    fn mend(
        &mut self,
        problem: &Problem<'_>,
        stage: &'static str,
        mend: impl FnOnce(&mut Draft) -> Result<bool, Limit>,
    ) -> Option<Verdict> {
        let draft = self.draft.as_mut()?;
        let mended = mend(draft);
        let wrong = draft.wrong;
        self.stats.set("wrong reads", wrong.unwrap_or(0) as u64);
        self.end_stage(stage);
        match mended {
            Err(limit) => Some(Verdict::Undecided(limit)),
            Ok(false) => None,
            Ok(true) => self.accept_draft(problem),
        }
    }

    /// The draft as the answer, if the checker takes it.
    fn accept_draft(&mut self, problem: &Problem<'_>) -> Option<Verdict> {
        let made = self.draft.as_ref()?.certificate(problem);
        let is_right = certify::check(problem.history, problem.level, &made).is_ok();
        debug_assert!(is_right || !has_certificates(problem), "the order explains nothing");
        self.end_stage("check");
        is_right.then_some(Verdict::Holds(made))
    }

    fn explain(&mut self, problem: &mut Problem<'_>) -> Verdict {
        let (known, timeline) = self.observe(problem);
        let is_timeless = timeline.chains.is_empty();
        let may_run = self.options.stages.schedule && self.more == 0 && is_worth_scheduling(problem);
        if may_run && let Some(verdict) = self.schedule(problem, &known, &timeline) {
            return verdict;
        }
        if !is_timeless {
            self.draft = None;
        }
        if may_run
            && has_many_sources(problem)
            && let Some(verdict) = self.refute_relaxed(problem)
        {
            return verdict;
        }
        let options = self.options;
        if options.stages.repair
            && let Some(verdict) = self.mend(problem, "repair", |draft| draft.mend_shortly(options))
        {
            return verdict;
        }
        if let Some(verdict) = self.schedule_apart(problem, &known, &timeline) {
            return verdict;
        }
        if !problem.has_room_for_candidates(options.memory_bytes / 2) {
            let found = self.mend(problem, "frontier", |draft| draft.mend_long(options));
            let found =
                found.or_else(|| self.mend(problem, "frontier", |draft| draft.improve_to_the_end(options)));
            return found.unwrap_or(Verdict::Undecided(Limit::Memory));
        }
        self.saturate_and_search(problem, known, timeline)
    }

    /// Looks for a contradiction among the reads with few possible sources, before those with many are taken in.
    fn refute_relaxed(&mut self, problem: &Problem<'_>) -> Option<Verdict> {
        let mut relaxed =
            Problem::new(problem.history, problem.index, problem.level, problem.links()).ok()?;
        relaxed.relax(FEW_SOURCES);
        let timeline = Timeline::new(&relaxed);
        let mut known = KnownGraph::new(timeline.node_count as usize);
        known.add_observed(&relaxed);
        timeline.add_to(&mut known);
        let decided = self.contradict(&mut relaxed, known, timeline);
        self.end_stage("relaxed");
        decided.err()
    }

    /// Saturates; an error is a verdict, of a contradiction or of a limit.
    fn contradict<'p, 'a>(
        &mut self,
        problem: &'p mut Problem<'a>,
        known: KnownGraph,
        timeline: Timeline,
    ) -> Result<Saturation<'p, 'a>, Verdict>
    where
        Self: 'p,
    {
        problem.list_candidates(self.options.limit).map_err(Verdict::Undecided)?;
        let chains = cover::cover(problem, &timeline, self.options.memory_bytes / 2);
        self.stats.set("chains", chains.len() as u64);
        let mut state = Saturation::new(problem, known, chains, timeline.maybe_edges, self.options.limit);
        state.tolerated = (self.more > 0).then(Vec::new);
        self.stats.set("pairs", state.writers.pair_count());
        self.end_stage("prepare");
        let saturated = self.saturate(&mut state);
        self.end_stage("saturate");
        let proved = match saturated {
            Ok(()) => return Ok(state),
            Err(Stop::Limit(limit)) => return Err(Verdict::Undecided(limit)),
            Err(Stop::Contradiction(contradiction)) if self.more > 0 => {
                self.contradicted_more(&mut state, &contradiction)
            }
            Err(Stop::Contradiction(contradiction)) => {
                let simple = state.simplify(contradiction);
                contradicted(&mut state, &simple, self.options.limit)
            }
        };
        self.end_stage("prove");
        Err(Verdict::of_proof(proved))
    }

    fn saturate_and_search(
        &mut self,
        problem: &mut Problem<'_>,
        known: KnownGraph,
        timeline: Timeline,
    ) -> Verdict {
        let is_timeless = timeline.chains.is_empty();
        let mut state = match self.contradict(problem, known, timeline) {
            Ok(state) => state,
            Err(verdict) => return verdict,
        };
        let may_search = is_timeless && self.more == 0 && self.options.stages.frontier;
        if may_search && self.draft.is_none() && is_ambiguous(state.problem) && frontier::suits(state.problem)
        {
            self.draft = Draft::new(state.problem, &[]);
        }
        let options = self.options;
        let problem = &*state.problem;
        let found = self.mend(problem, "frontier", |draft| draft.mend_long(options));
        found.unwrap_or_else(|| self.search(&mut state))
    }

    /// The certificate of a contradiction, and those of others that were tolerated, from all over the history.
    fn contradicted_more(
        &mut self,
        state: &mut Saturation<'_, '_>,
        first: &Contradiction,
    ) -> Result<Certificate, Limit> {
        let others = state.tolerated.take().unwrap_or_default();
        let step = others.len().div_ceil(self.more).max(1);
        with_shared_evidence(state, self.options.limit, |evidence| {
            let certificate = |other| ProofBuilder::new(evidence).contradiction(other);
            for other in others.iter().step_by(step) {
                self.others.push(certificate(other)?);
            }
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

    /// Collects the choices. If they are many, every attempt to do without them comes first.
    fn collect(&mut self, state: &Saturation<'_, '_>) -> Result<Choices, Verdict> {
        let (options, most) = (self.options, self.options.memory_bytes / 2);
        let collect = |bytes| Collect::new(state, options.stages.saturate, bytes, options).run();
        let collected = match self.draft.as_ref().is_some_and(|draft| !draft.is_explored()) {
            true => collect(MODEST_BYTES.min(most)),
            false => collect(most),
        };
        match collected {
            Err(Limit::Memory) => {}
            collected => return collected.map_err(Verdict::Undecided),
        }
        match self.mend(state.problem, "frontier", |draft| draft.improve_to_the_end(options)) {
            Some(verdict) => Err(verdict),
            None => collect(most).map_err(Verdict::Undecided),
        }
    }

    fn search(&mut self, state: &mut Saturation<'_, '_>) -> Verdict {
        let choices = match self.collect(state) {
            Ok(choices) => choices,
            Err(verdict) => return verdict,
        };
        for &(from, to, reason) in &choices.known {
            state.known.add(from, to, reason);
        }
        self.stats.set("undecided pairs", choices.undecided_pairs);
        self.stats.set("undecided reads", choices.undecided_reads);
        self.end_stage("collect");
        let mended = self.draft.as_ref().filter(|draft| draft.is_mended());
        let hints = mended.map(|draft| draft.hints(state.problem));
        let order = match (&hints, self.options.stages.guess) {
            (Some(hints), true) => guess::by_hints(&state.known, hints),
            (_, use_hints) => guess::guess(state.problem, &state.known, use_hints),
        };
        if order.len() < state.known.graph.node_count() {
            let contradiction = state.find_cycle();
            return Verdict::of_proof(contradicted(state, &contradiction, self.options.limit));
        }
        let graph = IncrementalOrder::new(&state.known.graph, &order);
        let stages = self.options.stages;
        let habits = Habits { lazy: stages.lazy, polarity: stages.polarity, seed: self.options.seed };
        let mut solver = Solver::new(&choices.setup, graph, habits);
        let guessed_wrong = solver.violated_count();
        self.stats.set("guessed wrong", guessed_wrong);
        self.end_stage("guess");
        let mut split = None;
        let mut turns = Turns::new(self.draft.as_mut(), self.options);
        let mut rank = || {
            let found = stages.components.then(|| components::split(&state.known, &choices.setup))?;
            split = Some((found.count, found.largest));
            Some(found.ranks)
        };
        let answer = solver.search(&mut || turns.stop(), &mut rank);
        let stopped = turns.stopped;
        if let Some((count, largest)) = split {
            self.stats.set("components", count);
            self.stats.set("largest component", largest);
        }
        let counts = solver.counts();
        self.stats.set("decisions", counts.decisions);
        self.stats.set("conflicts", counts.conflicts);
        self.stats.set("restarts", counts.restarts);
        self.end_stage("search");
        let verdict = match answer {
            solve::SearchEnd::Satisfied => Verdict::Holds(accepted(state.problem, &choices, &solver)),
            solve::SearchEnd::Stopped => match stopped {
                Some(Stopped::Limit(limit)) => Verdict::Undecided(limit),
                _ => self.accept_draft(state.problem).unwrap_or(Verdict::Undecided(Limit::Interrupt)),
            },
            solve::SearchEnd::Contradiction => {
                let proof = solver.proof();
                let refute = |builder: ProofBuilder<'_, '_>| builder.refutation(&choices, &proof);
                Verdict::of_proof(with_evidence(state, self.options.limit, refute))
            }
        };
        self.end_stage("prove");
        verdict
    }
}

/// Whether the checker takes certificates about the whole problem. Where there are predicates, the problem may be about
/// some keys only; where several transactions appended the same element, the index does not say all that lists show; a
/// level of real time has no certificates for a history without times.
fn has_certificates(problem: &Problem<'_>) -> bool {
    let is_all_indexed = !index::has_predicates(problem.history) && problem.index.doubtful().is_none();
    is_all_indexed && (problem.history.has_times() || !problem.level.needs_times())
}

/// Whether saturation left the source of a read open.
fn is_ambiguous(problem: &Problem<'_>) -> bool {
    problem.source.contains(&OPEN)
}

/// How many possible sources a read has, on average, from which on running the transactions pays.
const MANY_SOURCES: usize = 8;

/// Whether running the transactions may be faster than saturation: where reads have many possible sources, and where
/// there are more sessions than the closure has chains for. Elsewhere it costs 8 ms for 10,000 transactions of eight
/// operations and mostly ends soon.
fn is_worth_scheduling(problem: &Problem<'_>) -> bool {
    problem.source_count() >= MANY_SOURCES * problem.source.len()
        || problem.history.session_count() > cover::CHAIN_LIMIT
}

/// Whether reads have so many possible sources that those with few are looked at alone first, and sessions are few enough
/// for a closure.
fn has_many_sources(problem: &Problem<'_>) -> bool {
    problem.source_count() >= MANY_SOURCES * FEW_SOURCES * problem.source.len()
        && problem.history.session_count() <= cover::CHAIN_LIMIT
}

/// What choices may take while there are other ways to find an order.
const MODEST_BYTES: usize = 128 << 20;

/// How many possible sources are few.
const FEW_SOURCES: usize = 4;

fn contradicted(
    state: &mut Saturation<'_, '_>,
    contradiction: &Contradiction,
    limit: &dyn Fn() -> Option<Limit>,
) -> Result<Certificate, Limit> {
    with_evidence(state, limit, |builder| builder.contradiction(contradiction))
}

/// Paths are searched only through nodes that can still reach their end, if the closure is exact; that needs a graph
/// without a cycle.
fn with_evidence(
    state: &mut Saturation<'_, '_>,
    limit: &dyn Fn() -> Option<Limit>,
    make: impl FnOnce(ProofBuilder<'_, '_>) -> Result<Certificate, Limit>,
) -> Result<Certificate, Limit> {
    with_shared_evidence(state, limit, |evidence| make(ProofBuilder::new(evidence)))
}

/// The same for several certificates, each of which needs a builder of its own.
fn with_shared_evidence(
    state: &mut Saturation<'_, '_>,
    limit: &dyn Fn() -> Option<Limit>,
    make: impl FnOnce(Evidence<'_, '_>) -> Result<Certificate, Limit>,
) -> Result<Certificate, Limit> {
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
    make(Evidence { problem, known, drops, may_reach: &may_reach, limit })
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
