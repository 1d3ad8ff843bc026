//! A search over how far each session has come, for few sessions, keys and values.
//!
//! A state is a position in each session and what each key holds. From a state, each session whose next transaction
//! sees what is there leads to another; a transaction that only reads is taken at once, which loses nothing. States that
//! are equal are one: with few values they repeat. Of the states after so many transactions the best are kept
//! (`cost.rs`), a few only. When none is left, the search goes back, further and with more states each time that it ends
//! at the same place, so that it is wide only where the history is hard (beam search with backtracking).
//!
//! The end is harder than the rest: every session has to come to its end at once. So the last transactions are searched
//! from the end backwards (`tail.rs`), and the two searches have to meet.
//!
//! No setting of the costs is best for every history, so several are tried in turn, and then again with four times the
//! states. The turns are taken with the search that decides choices: the one finds orders, the other contradictions.
//!
//! Only an order can be found, never a violation. Transactions of unknown outcome, real time, told versions and levels
//! with begins apart from commits are left to the other stages; a serial order explains the latter too.
//!
//! A state costs about a microsecond with 8 sessions. Memory is the states of the last `KEPT` transactions, eight bytes
//! for each older one, and the tail.
//!
//! What was tried before, on 8 sessions of 200 transactions of two operations on 5 keys with 3 values: a beam of fixed
//! width, without going back and without a tail, decided four of seven with 512 to 2,048 states after each transaction,
//! in 2 to 14 s; the others ended some ten transactions before the end. Ignoring how many reads and writes of a value are
//! left (`Balance`) is worse for most histories and better for some. A price for wrong reads instead of a dead end leaves
//! 2 to 14 wrong reads, and an exact search of 16 to 64 neighbours around one of them mends one in twenty: what is wrong
//! there is not wrong locally.

mod cost;
mod states;
mod tail;

use crate::options::{Limit, Patience};
use crate::problem::Problem;
use crate::steps::Steps;
use cost::{Balance, Cost, Weights};
use states::{Layout, Parent, States};
use tail::Tail;

/// One search from the begin.
#[derive(Clone, Copy)]
struct Attempt {
    weights: Weights,
    /// Whether a transaction that writes only what is there already is taken at once. That may lose an order, but keeps
    /// states apart that differ in more.
    takes_equal: bool,
}

const fn attempt(balance: Balance, behind: u32, takes_equal: bool) -> Attempt {
    Attempt { weights: Weights { balance, behind }, takes_equal }
}

/// The attempts, one after the other.
const ATTEMPTS: [Attempt; 8] = [
    attempt(Balance::Weighted, 1, true),
    attempt(Balance::Ratio, 1, false),
    attempt(Balance::Ignored, 1, true),
    attempt(Balance::Weighted, 1, false),
    attempt(Balance::Ratio, 1, true),
    attempt(Balance::Weighted, 4, true),
    attempt(Balance::Ignored, 1, false),
    attempt(Balance::Ignored, 4, true),
];

/// The most states of an attempt of the first round, and for each transaction, with `FEW_SESSIONS`; with more there are
/// fewer, since each costs more. Each round has four times as many.
const FEW_SESSIONS: usize = 8;
const FIRST_STATES: usize = 1_200_000;
const STATES_PER_TXN: usize = 48;

/// How often all attempts are tried.
const ROUNDS: usize = 2;

/// How many states are kept where nothing is hard.
const WIDTH: usize = 8;

/// The most states that are kept after going back, and near the end.
const WIDEST: usize = 2048;

/// How far the search goes back the first time, and how far beyond the place where it ended it stays wide.
const BACK: usize = 32;

/// How much further two ends have to be apart to be two places.
const SAME_PLACE: usize = 16;

/// How often the distance is doubled.
const DOUBLINGS: u32 = 4;

/// How many transactions the search can go back.
const KEPT: usize = BACK << DOUBLINGS;

/// How many transactions before the tail the search becomes wide.
const BEFORE_TAIL: usize = 24;

/// How many transactions before the end it begins to count more that sessions are behind, and how much: they have to come
/// to the tail together. With 4, three of four histories that are hard at their end are decided three times faster, with
/// 16 most of them are not decided at all.
const NEAR_END: usize = 150;
const BEHIND_NEAR_END: u32 = 4;

/// The most sessions and keys of a state.
const LARGEST_STATE: usize = 128;

/// Whether a state of the search is small enough.
pub(crate) fn suits(problem: &Problem<'_>) -> bool {
    problem.history.session_count() + problem.history.keys().len() <= LARGEST_STATE
}

/// The attempts that are still to be made.
pub(crate) struct FrontierSearch {
    layout: Layout,
    cost: Cost,
    tail: Option<Tail>,
    /// The attempts of a round: where values are many, only those that do not count what is left of each.
    attempts: Vec<Attempt>,
    made: usize,
    seed: u64,
}

impl FrontierSearch {
    /// `None` if states or the tables for their costs are too large.
    pub(crate) fn new(steps: &Steps, seed: u64) -> Option<Self> {
        let is_small = steps.rows.len() + steps.key_count <= LARGEST_STATE;
        if !is_small || steps.value_count > tail::MOST_VALUES {
            return None;
        }
        let layout = Layout::new(steps);
        let cost = Cost::new(steps, &layout)?;
        let is_possible = |attempt: &Attempt| cost.counts() || attempt.weights.balance == Balance::Ignored;
        let attempts = ATTEMPTS.into_iter().filter(is_possible).collect();
        Some(Self { layout, cost, tail: None, attempts, made: 0, seed })
    }

    /// Whether it is likely to find an order before a search over choices does.
    pub(crate) fn is_likely(&self) -> bool {
        self.layout.rows.len() <= FEW_SESSIONS
    }

    /// Whether all attempts were made.
    pub(crate) fn is_over(&self) -> bool {
        self.made >= ROUNDS * self.attempts.len()
    }

    /// Makes the next attempt; the order of all transactions, if it finds one.
    pub(crate) fn attempt(
        &mut self,
        steps: &Steps,
        limit: &dyn Fn() -> Option<Limit>,
    ) -> Result<Option<Vec<u32>>, Limit> {
        let (round, number) = (self.made / self.attempts.len(), self.made % self.attempts.len());
        self.made += 1;
        let most = FIRST_STATES.max(STATES_PER_TXN * steps.len()) << (2 * round);
        let most = most * FEW_SESSIONS / self.layout.rows.len().max(FEW_SESSIONS);
        let mut beam = Beam {
            steps,
            layout: &self.layout,
            cost: &self.cost,
            tail: &mut self.tail,
            attempt: self.attempts[number],
            seed: self.seed ^ ((self.made as u64) << 32),
            layers: vec![self.layout.first()],
            kept_from: 0,
            budget: most,
            width: WIDTH,
            wide_until: 0,
            ended_at: 0,
            ended_again: 0,
        };
        beam.run(&mut Patience::new(limit))
    }
}

struct Beam<'b> {
    steps: &'b Steps,
    layout: &'b Layout,
    cost: &'b Cost,
    tail: &'b mut Option<Tail>,
    attempt: Attempt,
    seed: u64,
    /// The states after so many transactions, and how many transactions the first ones with words have taken.
    layers: Vec<States>,
    kept_from: usize,
    /// How many states the attempt may still make.
    budget: usize,
    width: usize,
    /// Up to which transaction the width stays.
    wide_until: usize,
    /// The last place without a state to go on from, and how often it was met again.
    ended_at: usize,
    ended_again: u32,
}

impl Beam<'_> {
    fn run(&mut self, patience: &mut Patience<'_>) -> Result<Option<Vec<u32>>, Limit> {
        while self.layers.len() <= self.steps.len() {
            if let Some(order) = self.meet_tail(patience)? {
                return Ok(Some(order));
            }
            let next = self.expand(patience)?;
            self.budget = self.budget.saturating_sub(next.len());
            match next.len() {
                // Near the end the states that are there may still meet the tail.
                _ if self.budget == 0 && !self.is_near_end() => return Ok(None),
                0 if self.budget == 0 || !self.go_back() => return Ok(None),
                0 => {}
                _ => self.push(next),
            }
        }
        Ok(Some(self.trace(0)))
    }

    fn push(&mut self, next: States) {
        self.layers.push(next);
        while self.layers.len() - self.kept_from > KEPT + 1 {
            self.layers[self.kept_from].forget_words();
            self.kept_from += 1;
        }
    }

    /// No state can go on: goes back, further and with more states if that happened here before, and behind the last layer
    /// of which not all states were kept. False if all were kept: then there is nothing else to try.
    fn go_back(&mut self) -> bool {
        let taken = self.layers.len() - 1;
        let Some(cut) = self.layers.iter().rposition(|layer| layer.is_cut) else { return false };
        if taken > self.ended_at + SAME_PLACE {
            (self.ended_at, self.ended_again) = (taken, 0);
        } else {
            self.ended_again += 1;
        }
        let back = BACK << self.ended_again.min(DOUBLINGS);
        self.width = WIDEST.min(WIDTH << (2 * (self.ended_again.min(DOUBLINGS) + 1)));
        self.wide_until = taken + BACK;
        self.seed = self.seed.wrapping_add(1);
        let target = taken.saturating_sub(back).min(cut - 1).max(self.kept_from);
        self.layers.truncate(target + 1);
        target < cut
    }

    fn width(&mut self) -> usize {
        let taken = self.layers.len() - 1;
        if taken > self.wide_until {
            self.width = WIDTH;
        }
        if self.is_near_end() { WIDEST } else { self.width }
    }

    fn is_near_end(&self) -> bool {
        self.left() <= tail::DEPTH + BEFORE_TAIL
    }

    /// How many transactions are left.
    fn left(&self) -> usize {
        self.steps.len() + 1 - self.layers.len()
    }

    fn weights(&self) -> Weights {
        let weights = self.attempt.weights;
        match self.left() <= NEAR_END {
            true => Weights { behind: weights.behind.max(BEHIND_NEAR_END), ..weights },
            false => weights,
        }
    }

    /// The states that follow the last ones, each once, the best of them.
    fn expand(&mut self, patience: &mut Patience<'_>) -> Result<States, Limit> {
        let width = self.width();
        let weights = self.weights();
        let states = &self.layers[self.layers.len() - 1];
        let (mut next, mut left) = (states::Next::new(self.seed), Vec::new());
        for parent in 0..states.len() {
            patience.spend(64 * self.layout.rows.len())?;
            let words = states.words(self.layout, parent);
            self.cost.left(self.layout, words, &mut left);
            for row in self.layout.rows_that_fit(self.steps, words, self.attempt.takes_equal) {
                let parent = Parent { state: parent as u32, row };
                next.consider(self.layout, self.steps, words, parent, |child, step| {
                    self.cost.of(self.layout, self.steps, (child, step), &mut left, weights)
                });
            }
        }
        Ok(next.best(self.layout, self.steps, states, width))
    }

    /// The whole order, if one of the last states can be finished as the tail says.
    fn meet_tail(&mut self, patience: &mut Patience<'_>) -> Result<Option<Vec<u32>>, Limit> {
        let left = self.left();
        if left > tail::DEPTH {
            return Ok(None);
        }
        if self.tail.is_none() {
            *self.tail = Some(Tail::new(self.steps, self.layout, patience)?);
        }
        let states = &self.layers[self.layers.len() - 1];
        let tail = self.tail.as_ref();
        let met = (0..states.len()).find_map(|state| {
            Some((state, tail?.finish(self.layout, states.words(self.layout, state), left)?))
        });
        Ok(met.map(|(state, rest)| {
            let mut order = self.trace(state);
            order.extend(rest);
            order
        }))
    }

    /// The transactions that lead to one of the last states.
    fn trace(&self, state: usize) -> Vec<u32> {
        let mut at = state as u32;
        let mut rows: Vec<u32> = Vec::with_capacity(self.layers.len());
        for layer in self.layers[1..].iter().rev() {
            let parent = layer.parents[at as usize];
            rows.push(parent.row);
            at = parent.state;
        }
        let mut positions: Vec<u32> = self.layout.rows.iter().map(|row| row.start).collect();
        let mut step_of = |row: u32| {
            positions[row as usize] += 1;
            positions[row as usize] - 1
        };
        rows.into_iter().rev().map(&mut step_of).collect()
    }
}
