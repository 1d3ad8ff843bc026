//! How to decide: seed, limits, and which stages to leave out.

use std::time::Duration;

/// What ended a check before it had an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The time limit.
    Time,
    /// The memory limit.
    Memory,
    /// Somebody asked to stop.
    Interrupt,
}

/// The stages that can be switched off, to measure what each is worth. All are on by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stages {
    /// Run the transactions of a history with predicates on its rows before anything else.
    pub rows: bool,
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
            rows: true,
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
    pub const NAMES: [&'static str; 8] =
        ["rows", "whole", "saturate", "windows", "guess", "components", "lazy", "polarity"];

    /// Switches one stage off; false if there is no such stage.
    pub fn switch_off(&mut self, name: &str) -> bool {
        let stage = match name {
            "rows" => &mut self.rows,
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
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { seed: 0, stages: Stages::default(), clock: &|| Duration::ZERO, limit: &|| None }
    }
}
