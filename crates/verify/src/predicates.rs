//! Histories in which predicates leave open what a transaction did: cases.
//!
//! An effect (`index::RowEffects`) with several alternatives says that a transaction changed a row, or did not, or changed
//! it to one thing or another. With all alternatives chosen, the history is one of plain reads and writes, which the
//! engine decides. So a choice is guessed by running the transactions in the order that the recording suggests, and
//! what the engine refutes of it is learnt (`cases`).
//!
//! Before that the transactions are run on the rows (`rows.rs`), which mostly explains a history that holds. If it does
//! not, it says which rows are in doubt, and where rows are many only these are decided about: if they contradict
//! themselves, so does the history, and if not, the order that explains them is tried on all rows. Rows that two
//! transactions saw and overwrote crosswise (`skew`) come before those.
//!
//! A recording that tells which rows a write changed leaves nothing open, and a right guess is one run of the engine;
//! the worst case is exponential in the effects that contradict each other.

mod basis;
mod cases;
mod guess;
mod serial;
mod skew;

use std::collections::BTreeSet;

use certify::{Atom, Certificate, Level, ReadId, Rule, Step};
use history::{History, KeyId, OpId};
use index::{Index, RowEffects, Scope};

use crate::options::Options;
use crate::stats::Stats;
use crate::{Unsupported, Verdict, Verified, rows};
use cases::{Cases, End};

/// Decides an index, and gives back up to so many further contradictions.
type Engine<'e> = dyn Fn(&Index, usize) -> (Verified, Vec<Certificate>) + 'e;

/// Decides a level; `engine` decides it once every alternative is selected. `whole` is the index of the history.
pub(crate) fn decide(
    history: &History,
    whole: &Index,
    level: &Level,
    options: &Options<'_>,
    engine: &Engine<'_>,
) -> Result<Verified, Unsupported> {
    if let Some(op) = RowEffects::refusal(history) {
        return Err(Unsupported { op });
    }
    let question = Question { history, whole, level, options, engine };
    let mut stats = Stats::default();
    let started = (options.clock)();
    let ran = match options.stages.rows {
        true => match rows::explain(history, level, options, &mut stats) {
            rows::RowsEnd::InDoubt(keys) => {
                serial::explain(history, level).map_or(rows::RowsEnd::InDoubt(keys), rows::RowsEnd::Explained)
            }
            outcome => outcome,
        },
        false => rows::RowsEnd::InDoubt(Vec::new()),
    };
    stats.stages.push(("run", (options.clock)().saturating_sub(started)));
    let verdict = match ran {
        rows::RowsEnd::Explained(certificate) => Verdict::Holds(certificate),
        rows::RowsEnd::Limit(limit) => Verdict::Undecided(limit),
        rows::RowsEnd::InDoubt(keys) => {
            let violated = question.ask_alone().or_else(|| question.ask_suspects());
            let mut answer = match violated {
                Some(answer) => answer,
                None => question.refine(keys)?,
            };
            stats.stages.append(&mut answer.stats.stages);
            stats.counts.append(&mut answer.stats.counts);
            answer.verdict
        }
    };
    Ok(Verified { verdict, stats })
}

/// Smaller histories keep the first derivation that is found.
const LARGE: usize = 500;

/// Runs of the engine where most alternatives are open.
const MAX_COARSE_RUNS: usize = 16;

struct Question<'a> {
    history: &'a History,
    whole: &'a Index,
    level: &'a Level,
    options: &'a Options<'a>,
    engine: &'a Engine<'a>,
}

impl Question<'_> {
    /// Whether a transaction contradicts itself: that is about one key, whatever others did.
    fn ask_alone(&self) -> Option<Verified> {
        let key = rows::contradicted_alone(self.history).filter(|_| self.options.stages.rows)?;
        let answer = self.decide_about(Some(&vec![key])).ok()?;
        matches!(answer.verdict, Verdict::Violated(_)).then_some(answer)
    }

    /// Whether two transactions contradict the level by the rows that each saw and the other one overwrote.
    fn ask_suspects(&self) -> Option<Verified> {
        if !self.options.stages.rows || self.is_asked_whole() {
            return None;
        }
        let suspects = skew::suspects(self.history, self.level.core);
        let mut answers = suspects.iter().filter_map(|keys| self.decide_about(Some(keys)).ok());
        answers.find(|answer| matches!(answer.verdict, Verdict::Violated(_)))
    }

    /// Decides about the keys in doubt. If those can be explained, the order that does so is tried on all rows; the rows
    /// that do not fit are in doubt from then on.
    fn refine(&self, mut keys: Vec<KeyId>) -> Result<Verified, Unsupported> {
        let mut is_partial = !self.is_asked_whole();
        loop {
            if let Some(limit) = (self.options.limit)() {
                return Ok(Verified { verdict: Verdict::Undecided(limit), stats: Stats::default() });
            }
            let answer = match self.decide_about(is_partial.then_some(&keys)) {
                Ok(answer) => answer,
                // Not decided in part, but perhaps it is as a whole.
                Err(_) if is_partial => {
                    is_partial = false;
                    continue;
                }
                Err(unsupported) => return Err(unsupported),
            };
            let Verdict::Holds(Certificate::Holds { order, .. }) = &answer.verdict else {
                return Ok(if is_partial { answer } else { self.about_few_keys(answer) });
            };
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

    /// A violation in a large history, as one about the keys that its derivation speaks of if these suffice: the checker
    /// enumerates what transactions may have done to each key of a derivation, and to all keys if it names none. At
    /// serializability, 1,000 transactions of `pred-skew` with 16 rows take half of the processor time by it.
    fn about_few_keys(&self, answer: Verified) -> Verified {
        let Verdict::Violated(Certificate::Violated { steps, .. }) = &answer.verdict else { return answer };
        if self.history.txn_count() < LARGE {
            return answer;
        }
        let mut keys = BTreeSet::new();
        add_keys(self.history, steps, &mut keys);
        let keys: Vec<KeyId> = keys.into_iter().collect();
        if keys.is_empty() || keys.len() * 2 > self.history.keys().len() {
            return answer;
        }
        match self.decide_about(Some(&keys)) {
            Ok(few) if matches!(few.verdict, Verdict::Violated(_)) => few,
            _ => answer,
        }
    }

    /// Whether rows are few enough to decide about all of them at once.
    fn is_asked_whole(&self) -> bool {
        self.options.stages.whole && RowEffects::are_few(self.history)
    }

    fn decide_about(&self, keys: Option<&Vec<KeyId>>) -> Result<Verified, Unsupported> {
        let scope = Scope { keys: keys.map(|keys| &keys[..]), clock_skew: self.level.window() };
        let made;
        // Where rows are few and real time plays no part, the index of the history is about all keys already.
        let index =
            match scope.keys.is_none() && scope.clock_skew.is_none() && RowEffects::are_few(self.history) {
                true => self.whole,
                false => {
                    made = Index::about(self.history, &scope);
                    &made
                }
            };
        if let Some(op) = index.unindexed() {
            return Err(Unsupported { op });
        }
        // Where all unread contents count as one, most alternatives are open: a contradiction is found soon or not at all.
        let most_runs = if scope.is_coarse(self.history) { MAX_COARSE_RUNS } else { usize::MAX };
        let Some(mut answer) = self.decide_ways(index, most_runs) else {
            return Err(Unsupported { op: index::first_by_predicate(self.history).unwrap_or(OpId(0)) });
        };
        if let Verdict::Violated(Certificate::Violated { keys: about, .. }) = &mut answer.verdict {
            *about = keys.cloned();
        }
        Ok(answer)
    }

    /// Decides which alternatives are true; `None` if that takes more runs of the engine than so many.
    fn decide_ways(&self, index: &Index, most_runs: usize) -> Option<Verified> {
        let effects = index.effects();
        if effects.all().iter().all(|effect| effect.alternatives.len() == 1) {
            return Some((self.engine)(index, 0).0);
        }
        let guess = guess::guess(self.history, index);
        let mut cases = Cases::new(self.history, effects, self.level, self.options, self.engine, guess);
        cases.most_runs = most_runs;
        let end = cases.run();
        let mut stats = cases.last.take().map(|answer| answer.stats).unwrap_or_default();
        stats.set("cases", cases.count());
        let verdict = match end {
            End::Holds(certificate) => Verdict::Holds(certificate),
            End::Limit(limit) => Verdict::Undecided(limit),
            End::Plain(certificate) => Verdict::Violated(certificate),
            End::GivenUp => return None,
            End::Refuted => {
                Verdict::Violated(Certificate::Violated { steps: cases.derivation(), keys: None })
            }
        };
        Some(Verified { verdict, stats })
    }
}

/// Adds the keys of the reads and of the row effects that a derivation speaks of.
fn add_keys(history: &History, steps: &[Step], keys: &mut BTreeSet<KeyId>) {
    let key_of = |id: &ReadId| id.key.or_else(|| history.op(id.op).key());
    for step in steps {
        keys.extend(step.clause.iter().filter_map(|lit| match &lit.atom {
            Atom::ReadFrom(id, _) => key_of(id),
            Atom::Took(_, key, _) => Some(*key),
            _ => None,
        }));
        match &step.rule {
            Rule::Sources(id) => keys.extend(key_of(id)),
            Rule::Case(steps) => add_keys(history, steps, keys),
            _ => {}
        }
    }
}
