//! Histories in which predicates leave open what a transaction did: cases.
//!
//! A story (`history::Stories`) with several alternatives says that a transaction changed a row, or did not, or changed
//! it to one thing or another. With all alternatives chosen, the history is one of plain reads and writes, which the
//! engine decides. So a choice is guessed by running the transactions in the order that the recording suggests; if the
//! engine refutes it, the stories that its derivation rests on are a *case* that cannot be, mostly a few of them, and one
//! of these is tried in its other ways. When all ways of a story are refuted, so is what had been decided before it.
//!
//! Before that the transactions are run on the rows (`rows.rs`), which mostly explains a history that holds. If it does
//! not, it says which rows are in doubt, and where rows are many only these are decided about: if they contradict
//! themselves, so does the history, and if not, the order that explains them is tried on all rows.
//!
//! Costs one run of the engine per case. A recording that tells which rows a write changed leaves nothing open, and a
//! right guess is one run; the worst case is exponential in the stories that contradict each other.

use std::sync::Arc;

use certify::{Atom, Certificate, Level, Lit, Node, Rule, Step, StepId};
use history::{ExternalRead, FinalWrite, History, Index, KeyId, Scope, Stories, TxnId, ValueId};

use crate::options::{Limit, Options};
use crate::stats::Stats;
use crate::{Answer, Unsupported, Verdict, rows};

/// Decides a level, with the way to decide it when nothing is open.
pub(crate) fn decide(
    history: &History,
    level: &Level,
    options: &Options<'_>,
    engine: &dyn Fn(&Index) -> Answer,
) -> Result<Answer, Unsupported> {
    if let Some(op) = Stories::refusal(history) {
        return Err(Unsupported { op });
    }
    let question = Question { history, level, options, engine };
    let mut stats = Stats::default();
    let started = (options.clock)();
    let ran = match options.stages.rows {
        true => rows::explain(history, level, options, &mut stats),
        false => rows::Outcome::InDoubt(Vec::new()),
    };
    stats.stages.push(("run", (options.clock)().saturating_sub(started)));
    let verdict = match ran {
        rows::Outcome::Explained(certificate) => Verdict::Holds(certificate),
        rows::Outcome::Limit(limit) => Verdict::Undecided(limit),
        rows::Outcome::InDoubt(keys) => {
            let mut answer = question.refine(keys)?;
            stats.stages.append(&mut answer.stats.stages);
            stats.counts.append(&mut answer.stats.counts);
            answer.verdict
        }
    };
    Ok(Answer { verdict, stats })
}

struct Question<'a> {
    history: &'a History,
    level: &'a Level,
    options: &'a Options<'a>,
    engine: &'a dyn Fn(&Index) -> Answer,
}

impl Question<'_> {
    /// Decides about the keys in doubt. If those can be explained, the order that does so is tried on all rows; the rows
    /// that do not fit are in doubt from then on.
    fn refine(&self, mut keys: Vec<KeyId>) -> Result<Answer, Unsupported> {
        let mut is_partial = !(self.options.stages.whole && Stories::are_few(self.history));
        loop {
            if let Some(limit) = (self.options.limit)() {
                return Ok(Answer { verdict: Verdict::Undecided(limit), stats: Stats::default() });
            }
            let answer = self.decide_about(is_partial.then_some(&keys))?;
            let Verdict::Holds(Certificate::Holds { order, .. }) = &answer.verdict else { return Ok(answer) };
            if !is_partial {
                return Ok(answer);
            }
            let known = keys.len();
            match rows::misfits(self.history, self.level, order) {
                Some(misfits) if misfits.txns == 0 => return Ok(answer),
                Some(misfits) => keys.extend(misfits.keys),
                None => {}
            }
            keys.sort_unstable();
            keys.dedup();
            // Only how many rows were changed is wrong: that is about all keys.
            is_partial = keys.len() > known;
        }
    }

    fn decide_about(&self, keys: Option<&Vec<KeyId>>) -> Result<Answer, Unsupported> {
        let scope = Scope { keys: keys.map(|keys| &keys[..]), clock_skew: self.level.window() };
        let index = Index::about(self.history, &scope);
        if let Some(op) = index.unindexed() {
            return Err(Unsupported { op });
        }
        let mut answer = self.decide_ways(&index);
        if let Verdict::Violated(Certificate::Violated { keys: about, .. }) = &mut answer.verdict {
            *about = keys.cloned();
        }
        Ok(answer)
    }

    /// Decides which ways stories took.
    fn decide_ways(&self, index: &Index) -> Answer {
        let stories = index.stories();
        if stories.all().iter().all(|story| story.alternatives.len() == 1) {
            return (self.engine)(index);
        }
        let mut cases = Cases {
            history: self.history,
            stories,
            level: self.level,
            options: self.options,
            engine: self.engine,
            guess: guess(self.history, index),
            by_key: by_key(self.history, stories),
            last: None,
            steps: Vec::new(),
            refuted: Vec::new(),
        };
        let end = cases.refute(&mut Vec::new());
        let verdict = match end {
            End::Holds(certificate) => Verdict::Holds(certificate),
            End::Limit(limit) => Verdict::Undecided(limit),
            End::Plain(certificate) => Verdict::Violated(certificate),
            End::Refuted(_) => Verdict::Violated(Certificate::Violated { steps: cases.steps, keys: None }),
        };
        let mut stats = cases.last.map(|answer| answer.stats).unwrap_or_default();
        stats.set("cases", cases.refuted.len() as u64 + 1);
        Answer { verdict, stats }
    }
}

/// A story and one of its alternatives.
type Way = (u32, u32);

enum End {
    Holds(Certificate),
    Limit(Limit),
    /// Whatever the ways.
    Plain(Certificate),
    /// What was decided cannot be, by this step.
    Refuted(StepId),
}

struct Cases<'a> {
    history: &'a History,
    stories: &'a Arc<Stories>,
    level: &'a Level,
    options: &'a Options<'a>,
    engine: &'a dyn Fn(&Index) -> Answer,
    guess: Vec<u32>,
    by_key: Vec<Vec<u32>>,
    last: Option<Answer>,
    steps: Vec<Step>,
    /// Ways that cannot all be, with the step that says so.
    refuted: Vec<(Vec<Way>, StepId)>,
}

impl Cases<'_> {
    /// Looks for an explanation with what was decided, or shows that there is none.
    fn refute(&mut self, decided: &mut Vec<Way>) -> End {
        if let Some((_, step)) =
            self.refuted.iter().find(|(ways, _)| ways.iter().all(|way| decided.contains(way)))
        {
            return End::Refuted(*step);
        }
        let choice = self.complete(decided);
        let known = self.refuted.iter().find(|(ways, _)| is_chosen(&choice, ways));
        let (ways, step) = match known {
            Some(known) => known.clone(),
            None => match self.try_choice(choice) {
                Ok(case) => case,
                Err(end) => return end,
            },
        };
        let open = ways.iter().filter(|(story, _)| decided.iter().all(|(known, _)| known != story));
        let ways_of = |story: u32| self.stories.all()[story as usize].alternatives.len() as u32;
        let Some(story) = open.map(|&(story, _)| story).min_by_key(|&story| ways_of(story)) else {
            return End::Refuted(step);
        };
        self.refute_all_ways(decided, story, ways_of(story))
    }

    fn refute_all_ways(&mut self, decided: &mut Vec<Way>, story: u32, count: u32) -> End {
        let mut hints = Vec::new();
        for way in 0..count {
            decided.push((story, way));
            let end = self.refute(decided);
            decided.pop();
            match end {
                End::Refuted(step) => hints.push(step),
                other => return other,
            }
        }
        let all_ways = (0..count).map(|way| self.took((story, way))).collect();
        hints.push(self.push(all_ways, Rule::OneWay));
        let clause = decided.iter().map(|&way| !self.took(way)).collect();
        let step = self.push(clause, Rule::Derived(hints));
        self.refuted.push((decided.clone(), step));
        End::Refuted(step)
    }

    /// Runs the engine; what it refutes is a new case.
    fn try_choice(&mut self, choice: Vec<u32>) -> Result<(Vec<Way>, StepId), End> {
        if let Some(limit) = (self.options.limit)() {
            return Err(End::Limit(limit));
        }
        let index = Index::choosing(self.history, self.stories.clone(), choice);
        let answer = (self.engine)(&index);
        let verdict = answer.verdict.clone();
        self.last = Some(answer);
        let steps = match verdict {
            Verdict::Holds(certificate) => return Err(End::Holds(certificate)),
            Verdict::Undecided(limit) => return Err(End::Limit(limit)),
            Verdict::Violated(Certificate::Violated { steps, .. }) => steps,
            Verdict::Violated(certificate) => return Err(End::Plain(certificate)),
        };
        let ways = Core::of(self, &index, &steps);
        if ways.is_empty() {
            return Err(End::Plain(Certificate::Violated { steps, keys: None }));
        }
        let clause = ways.iter().map(|&way| !self.took(way)).collect();
        let step = self.push(clause, Rule::Case(steps));
        self.refuted.push((ways.clone(), step));
        Ok((ways, step))
    }

    /// What was decided, the guess for the rest, and known cases avoided as far as that is easy.
    fn complete(&self, decided: &[Way]) -> Vec<u32> {
        let mut choice = self.guess.clone();
        for &(story, way) in decided {
            choice[story as usize] = way;
        }
        for _ in 0..2 * self.refuted.len() {
            let Some((ways, _)) = self.refuted.iter().find(|(ways, _)| is_chosen(&choice, ways)) else {
                break;
            };
            let is_open = |&&(story, _): &&Way| decided.iter().all(|&(known, _)| known != story);
            let Some(&(story, way)) = ways.iter().rev().find(is_open) else { break };
            let count = self.stories.all()[story as usize].alternatives.len() as u32;
            choice[story as usize] = (way + 1) % count;
        }
        choice
    }

    fn took(&self, (story, way): Way) -> Lit {
        let story = &self.stories.all()[story as usize];
        Lit::took(story.txn, story.key, way)
    }

    fn push(&mut self, clause: Vec<Lit>, rule: Rule) -> StepId {
        self.steps.push(Step { clause, rule });
        self.steps.len() as StepId - 1
    }
}

fn is_chosen(choice: &[u32], ways: &[Way]) -> bool {
    ways.iter().all(|&(story, way)| choice[story as usize] == way)
}

fn by_key(history: &History, stories: &Stories) -> Vec<Vec<u32>> {
    let mut by_key = vec![Vec::new(); history.keys().len()];
    for (number, story) in stories.all().iter().enumerate() {
        by_key[story.key.index()].push(number as u32);
    }
    by_key
}

/// The stories with several alternatives on which a derivation rests.
struct Core<'c, 'a> {
    cases: &'c Cases<'a>,
    index: &'c Index,
    stories: Vec<u32>,
}

impl<'c, 'a> Core<'c, 'a> {
    fn of(cases: &'c Cases<'a>, index: &'c Index, steps: &[Step]) -> Vec<Way> {
        let mut core = Self { cases, index, stories: Vec::new() };
        steps.iter().for_each(|step| core.add_step(step));
        core.stories.sort_unstable();
        core.stories.dedup();
        core.stories.into_iter().map(|story| (story, index.choice()[story as usize])).collect()
    }

    fn add(&mut self, story: Option<usize>) {
        let is_open = |story: &usize| self.cases.stories.all()[*story].alternatives.len() > 1;
        self.stories.extend(story.filter(is_open).map(|story| story as u32));
    }

    fn add_step(&mut self, step: &Step) {
        for lit in &step.clause {
            if let Atom::ReadFrom(id, _) = lit.atom {
                let read = self.read(id);
                self.add_read(read);
            }
        }
        match &step.rule {
            Rule::Sources(id) => {
                let read = self.read(*id);
                self.add_read(read);
                self.add_other_sources(read);
            }
            Rule::Overwritten => self.add_overwriter(step),
            Rule::TwoWriters => self.add_two_writers(step),
            Rule::RowCount(op) => {
                let counts = self.cases.stories.counts().iter().filter(|count| count.op == *op);
                let stories: Vec<u32> = counts.flat_map(|count| count.stories.iter().copied()).collect();
                stories.into_iter().for_each(|story| self.add(Some(story as usize)));
            }
            _ => {}
        }
    }

    fn read(&self, id: certify::ReadId) -> Option<ExternalRead> {
        let txn = self.cases.history.txn_of(id.op);
        let reads = self.index.reads_of(txn).map(|read| self.index.reads()[read]);
        reads.into_iter().find(|read| read.op == id.op && id.key.is_none_or(|key| key == read.key))
    }

    /// A read of a story rests on its way.
    fn add_read(&mut self, read: Option<ExternalRead>) {
        if let Some(history::Observed::Story(story, _)) = read.map(|read| read.observed) {
            self.add(Some(story as usize));
        }
    }

    /// Stories that in another way would have written what was read.
    fn add_other_sources(&mut self, read: Option<ExternalRead>) {
        let Some(read) = read else { return };
        for &number in &self.cases.by_key[read.key.index()] {
            let story = &self.cases.stories.all()[number as usize];
            let chosen = self.index.choice()[number as usize] as usize;
            let fits = |way: usize| {
                let written = story.alternatives[way].written;
                written.is_some_and(|(content, _)| self.fits(&read, story.txn, content))
            };
            let others = (0..story.alternatives.len()).filter(|&way| way != chosen);
            if story.txn != read.txn && !fits(chosen) && others.into_iter().any(fits) {
                self.add(Some(number as usize));
            }
        }
    }

    fn fits(&self, read: &ExternalRead, txn: TxnId, content: u32) -> bool {
        let stories = self.cases.stories;
        if let history::Observed::Story(story, way) = read.observed {
            let seen = &stories.all()[story as usize].alternatives[way as usize].seen;
            return seen.binary_search(&content).is_ok();
        }
        let content = stories.content(content);
        let value = self.cases.history.values().get(&content.datum).unwrap_or(ValueId(u32::MAX));
        let write = FinalWrite { txn, key: read.key, value, is_dead: content.is_dead, op: read.op };
        read.observed.allows(&write)
    }

    fn add_overwriter(&mut self, step: &Step) {
        let events = self.cases.level.events_per_txn();
        let denied = step.clause.iter().find_map(|lit| match lit.atom {
            Atom::ReadFrom(id, _) => self.read(id),
            _ => None,
        });
        let Some(read) = denied else { return };
        let begin = Node::begin(read.txn, events);
        for lit in &step.clause {
            if let Atom::Before(a, b) = lit.atom
                && a == begin
                && let Some(writer) = b.txn(events)
            {
                self.add(self.cases.stories.find(writer, read.key));
            }
        }
    }

    /// Two writers conflict on their first common key on which least is open.
    fn add_two_writers(&mut self, step: &Step) {
        let events = self.cases.level.events_per_txn();
        let ends = step.clause.iter().find_map(|lit| match lit.atom {
            Atom::Before(a, b) => Some((a.txn(events)?, b.txn(events)?)),
            _ => None,
        });
        let Some((t, u)) = ends else { return };
        let keys = |txn: TxnId| self.index.writes_of(txn).map(|write| self.index.writes()[write].key);
        let of_both = keys(t).filter(|&key| keys(u).any(|other| other == key));
        let is_open = |txn: TxnId, key: KeyId| {
            let story = self.cases.stories.find(txn, key);
            story.is_some_and(|story| self.cases.stories.all()[story].alternatives.len() > 1)
        };
        let Some(key) = of_both.min_by_key(|&key| u8::from(is_open(t, key)) + u8::from(is_open(u, key)))
        else {
            return;
        };
        self.add(self.cases.stories.find(t, key));
        self.add(self.cases.stories.find(u, key));
    }
}

/// The ways that transactions take if they run one after the other, as the recording suggests.
fn guess(history: &History, index: &Index) -> Vec<u32> {
    let stories = index.stories();
    let mut held: Vec<Option<u32>> = Vec::with_capacity(history.keys().len());
    for (key, _) in history.keys().iter() {
        let initial = history.initial().value_of(key).unwrap_or(ValueId::NIL);
        held.push(stories.content_of(history, initial, initial == ValueId::NIL));
    }
    let mut order: Vec<TxnId> =
        history.txns().filter(|&txn| history.outcome(txn) != history::Outcome::Aborted).collect();
    order.sort_by_key(|&txn| moment(history, txn));
    let mut choice = vec![0; stories.all().len()];
    for txn in order {
        for number in stories.of_txn(txn) {
            let story = &stories.all()[number];
            let saw = held[story.key.index()];
            let is_it =
                |way: &history::Alternative| saw.is_some_and(|saw| way.seen.binary_search(&saw).is_ok());
            let way = story.alternatives.iter().position(is_it).unwrap_or(0);
            choice[number] = way as u32;
            if let Some((content, _)) = story.alternatives[way].written {
                held[story.key.index()] = Some(content);
            }
        }
        for write in index.writes_of(txn).map(|write| index.writes()[write]) {
            if stories.find(txn, write.key).is_none() {
                held[write.key.index()] = stories.content_of(history, write.value, write.is_dead);
            }
        }
    }
    choice
}

/// When a transaction seems to have happened: by the clock, or by its place in its session.
fn moment(history: &History, txn: TxnId) -> (i64, u64) {
    let times = history.times(txn);
    let time = times.commit_request.or(times.commit_response).or(times.begin_request).unwrap_or(i64::MAX);
    let session = history.session_txns(history.session_of(txn));
    let progress = ((history.place_in_session(txn) as u64) << 32) / (session.len() as u64).max(1);
    (time, progress)
}
