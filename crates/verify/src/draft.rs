//! The best serial order so far, and the searches that improve it.
//!
//! A draft begins as the order in which the transactions ran as far as they could (`schedule`), or as the order of their
//! progress. `repair` mends it where sessions are many; `frontier` makes a new one where they are few. If no read is
//! wrong, the draft explains the history, at levels with begins apart from commits too. If some are, the search starts
//! from it.

use certify::{Certificate, Node};
use history::{Outcome, TxnId};
use order::NONE;

use crate::options::{Limit, Options};
use crate::problem::Problem;
use crate::repair::{Effort, repair};
use crate::steps::Steps;
use crate::{frontier, guess};

/// How long an order is mended: steps for each transaction, also since the last success, and the coldness.
#[derive(Clone, Copy)]
struct Mending {
    steps: usize,
    patience: usize,
    coldness: f32,
}

/// Before saturation: 0.1 s for 10,000 transactions.
const SHORT: Mending = Mending { steps: 6, patience: 2, coldness: 4.0 };

/// After saturation found no contradiction.
const LONG: Mending = Mending { steps: 600, patience: 200, coldness: 2.0 };

/// In turns with the search over choices.
const TURN: Mending = Mending { steps: 100, patience: 100, coldness: 2.0 };

/// How many turns there are at most where there are no choices to search over.
const LAST_TURNS: usize = 16;

/// Steps that are given to a history of any size.
const FEW_STEPS: usize = 20_000;

/// How many attempts of the search over frontiers are made before anything else, after saturation; one if another search
/// is more likely to find an order.
const FIRST_ATTEMPTS: usize = 3;

/// A serial order of all transactions that took part.
pub(crate) struct Draft {
    steps: Steps,
    order: Vec<u32>,
    /// How many reads are wrong; unknown before the first search.
    pub wrong: Option<usize>,
    frontier: Frontier,
    /// How often it was mended.
    mended: u64,
}

/// How far the search over frontiers has come.
enum Frontier {
    New,
    Going(Box<frontier::FrontierSearch>),
    /// It was not possible, or all attempts were made.
    Over,
}

impl Draft {
    /// The draft that begins with an order of some transactions. `None` if a serial order is not all that is asked for.
    pub(crate) fn new(problem: &Problem<'_>, begin: &[TxnId]) -> Option<Self> {
        let steps = Steps::of(problem)?;
        let hints = guess::hints(problem);
        let hint = |step: u32| hints[problem.shape.begin(steps.txns[step as usize]) as usize];
        // What is left of a run that ended early would come far too late behind it.
        let begin = if 4 * begin.len() < 3 * steps.len() { &[] } else { begin };
        let step_of = steps.of_txns(problem.history.txn_count());
        let mut order: Vec<u32> =
            begin.iter().map(|txn| step_of[txn.index()]).filter(|&step| step != NONE).collect();
        let mut is_placed = vec![false; steps.len()];
        order.iter().for_each(|&step| is_placed[step as usize] = true);
        let mut rest: Vec<u32> = (0..steps.len() as u32).filter(|&step| !is_placed[step as usize]).collect();
        rest.sort_by_key(|&step| (hint(step), step));
        order.extend(rest);
        Some(Self { steps, order, wrong: None, frontier: Frontier::New, mended: 0 })
    }

    /// Mends the draft before anything is saturated; true if it explains the history.
    pub(crate) fn mend_shortly(&mut self, options: &Options<'_>) -> Result<bool, Limit> {
        self.mend(SHORT, options)
    }

    /// Mends the draft, or makes a new one where sessions, keys and values are few; true if it explains the history.
    pub(crate) fn mend_long(&mut self, options: &Options<'_>) -> Result<bool, Limit> {
        for _ in 0..FIRST_ATTEMPTS {
            if self.explore(options)? {
                return Ok(true);
            }
            if !matches!(&self.frontier, Frontier::Going(search) if search.is_likely()) {
                break;
            }
        }
        // An order that was not worth mending before saturation is not worth it after.
        match options.stages.repair && self.is_mended() {
            true => self.mend(LONG, options),
            false => Ok(false),
        }
    }

    /// Does what is left to do; true if that explains the history.
    pub(crate) fn improve_to_the_end(&mut self, options: &Options<'_>) -> Result<bool, Limit> {
        let mut turns = LAST_TURNS;
        while !self.is_explored() || turns > 0 {
            if self.improve(options)? {
                return Ok(true);
            }
            turns -= usize::from(self.is_explored());
        }
        Ok(false)
    }

    /// One turn: the next attempt of the search over frontiers or, where that is over, some mending; true if it explains
    /// the history.
    pub(crate) fn improve(&mut self, options: &Options<'_>) -> Result<bool, Limit> {
        match self.is_explored() {
            false => self.explore(options),
            true if options.stages.repair && self.is_mended() => self.mend(TURN, options),
            true => Ok(false),
        }
    }

    /// Makes the next attempt of the search over frontiers, if there is one; true if it explains the history.
    fn explore(&mut self, options: &Options<'_>) -> Result<bool, Limit> {
        if matches!(self.frontier, Frontier::New) {
            let search =
                options.stages.frontier.then(|| frontier::FrontierSearch::new(&self.steps, options.seed));
            self.frontier =
                search.flatten().map_or(Frontier::Over, |search| Frontier::Going(Box::new(search)));
        }
        let Frontier::Going(search) = &mut self.frontier else { return Ok(false) };
        let found = search.attempt(&self.steps, options.limit)?;
        if search.is_over() {
            self.frontier = Frontier::Over;
        }
        let Some(order) = found else { return Ok(false) };
        self.take(order, 0);
        Ok(true)
    }

    /// Whether no attempt is left.
    pub(crate) fn is_explored(&self) -> bool {
        matches!(self.frontier, Frontier::Over)
    }

    /// Whether it is more than a guess.
    pub(crate) fn is_mended(&self) -> bool {
        self.wrong.is_some()
    }

    fn mend(&mut self, mending: Mending, options: &Options<'_>) -> Result<bool, Limit> {
        let size = self.steps.len();
        let effort = Effort {
            steps: mending.steps * size + FEW_STEPS,
            patience: mending.patience * size + FEW_STEPS,
            coldness: mending.coldness,
        };
        self.mended += 1;
        let seed = options.seed ^ (self.mended << 32);
        let (order, wrong) = repair(&self.steps, &self.order, seed, effort, options.limit)?;
        self.take(order, wrong);
        Ok(wrong == 0)
    }

    /// Keeps an order if it is better.
    fn take(&mut self, order: Vec<u32>, wrong: usize) {
        if self.wrong.is_none_or(|known| wrong < known) {
            (self.order, self.wrong) = (order, Some(wrong));
        }
    }

    /// The draft as a certificate.
    pub(crate) fn certificate(&self, problem: &Problem<'_>) -> Certificate {
        let shape = problem.shape;
        let txns = self.order.iter().map(|&step| self.steps.txns[step as usize]);
        let order = txns.flat_map(|txn| (shape.begin(txn)..=shape.commit(txn)).map(Node)).collect();
        let is_unknown = |txn: &TxnId| problem.history.outcome(*txn) == Outcome::Unknown;
        let mut committed_unknown: Vec<TxnId> = self.steps.txns.iter().copied().filter(is_unknown).collect();
        committed_unknown.sort_unstable();
        Certificate::Holds { order, committed_unknown }
    }

    /// For each event of a transaction its place in the draft, as a hint for the search.
    pub(crate) fn hints(&self, problem: &Problem<'_>) -> Vec<u64> {
        let shape = problem.shape;
        let mut hints = vec![u64::MAX; problem.history.txn_count() * shape.events as usize];
        for (place, &step) in self.order.iter().enumerate() {
            let txn = self.steps.txns[step as usize];
            for node in shape.begin(txn)..=shape.commit(txn) {
                hints[node as usize] = place as u64;
            }
        }
        hints
    }
}
