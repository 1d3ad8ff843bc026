//! How to decide: seed, limits, and which stages to leave out.

use std::time::Duration;

use certify::{Certificate, Level};

/// What ended a check before it had an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The time limit.
    Time,
    /// The memory limit.
    Memory,
    /// A stop was requested.
    Interrupt,
}

/// The stages that can be switched off, to measure what each is worth. All are on by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stages {
    /// Try the order that the recorded times suggest before anything is derived from the history.
    pub recorded: bool,
    /// Decide by the dependency graph alone where the history tells the order of versions.
    pub versions: bool,
    /// Run the transactions of a history with predicates on its rows before anything else.
    pub rows: bool,
    /// Run the transactions in an order that is made step by step, before anything is collected.
    pub schedule: bool,
    /// Search over how far each session has come, where sessions, keys and values are few.
    pub frontier: bool,
    /// Mend a serial order by moving single transactions.
    pub repair: bool,
    /// Tell what predicates may have done to all keys at once, where these are few.
    pub whole: bool,
    /// Saturate the known graph before anything is searched.
    pub saturate: bool,
    /// Look at a key's writers by their windows rather than by chains.
    pub windows: bool,
    /// Start the search from an order that follows the sessions' progress and the times.
    pub guess: bool,
    /// Finish the choices of one component before beginning the next.
    pub components: bool,
    /// Leave choices open that the current order already satisfies.
    pub lazy: bool,
    /// Decide along the current order rather than for a fixed side.
    pub polarity: bool,
}

impl Default for Stages {
    fn default() -> Self {
        Self {
            recorded: true,
            versions: true,
            rows: true,
            schedule: true,
            frontier: true,
            repair: true,
            whole: true,
            saturate: true,
            windows: true,
            guess: true,
            components: true,
            lazy: true,
            polarity: true,
        }
    }
}

impl Stages {
    /// The names by which the stages are switched, with what each is.
    pub const NAMES: [&'static str; 13] = [
        "recorded",
        "versions",
        "rows",
        "schedule",
        "frontier",
        "repair",
        "whole",
        "saturate",
        "windows",
        "guess",
        "components",
        "lazy",
        "polarity",
    ];

    /// Switches one stage off; false if there is no such stage.
    pub fn switch_off(&mut self, name: &str) -> bool {
        let stage = match name {
            "recorded" => &mut self.recorded,
            "versions" => &mut self.versions,
            "rows" => &mut self.rows,
            "schedule" => &mut self.schedule,
            "frontier" => &mut self.frontier,
            "repair" => &mut self.repair,
            "whole" => &mut self.whole,
            "saturate" => &mut self.saturate,
            "windows" => &mut self.windows,
            "guess" => &mut self.guess,
            "components" => &mut self.components,
            "lazy" => &mut self.lazy,
            "polarity" => &mut self.polarity,
            _ => return false,
        };
        *stage = false;
        true
    }
}

/// Asks whether a limit was reached after every so many steps of work.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'l> {
    limit: &'l dyn Fn() -> Option<Limit>,
    left: usize,
}

/// Steps of work between two questions: some milliseconds.
const STEPS: usize = 1 << 18;

impl<'l> Patience<'l> {
    pub(crate) fn new(limit: &'l dyn Fn() -> Option<Limit>) -> Self {
        Self { limit, left: STEPS }
    }

    /// Some steps of work are about to be done.
    #[inline]
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Limit> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.ask(),
        }
    }

    /// Asks now.
    pub(crate) fn ask(&mut self) -> Result<(), Limit> {
        self.left = STEPS;
        (self.limit)().map_or(Ok(()), Err)
    }
}

/// How to decide. The engine reads no clock of its own: time and limits come from here.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Breaks ties; equal seeds give equal runs.
    pub seed: u64,
    /// Which stages run.
    pub stages: Stages,
    /// Time since some fixed moment, for the stages' times.
    pub clock: &'a dyn Fn() -> Duration,
    /// Asked now and then: the limit that was reached, if one was.
    pub limit: &'a dyn Fn() -> Option<Limit>,
    /// Certificates of other levels for the same history. An order that explained the history at another level is
    /// tried at this one before anything else; certificates of violations are ignored.
    pub hints: &'a [(Level, &'a Certificate)],
    /// The most memory that a check may take beyond the history and its index, in bytes. Half of it is for the closure,
    /// which is kept for fewer chains if all would take more, and half for the choices that are left to the search.
    pub memory_bytes: usize,
}

/// What a check may take unless told otherwise.
const MEMORY_BYTES: usize = 2 << 30;

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            seed: 0,
            stages: Stages::default(),
            clock: &|| Duration::ZERO,
            limit: &|| None,
            hints: &[],
            memory_bytes: MEMORY_BYTES,
        }
    }
}
