//! The search that decides choices finds contradictions, the ones that improve a draft find orders: they take turns.
//!
//! A turn is measured by how often the search over choices asks whether to stop, which depends on what it looked at and
//! not on a clock, so equal questions have equal answers. A turn of the other search takes some tenths of a second.

use crate::draft::Draft;
use crate::options::{Limit, Options};

/// The turns of two searches.
pub(crate) struct Turns<'t> {
    draft: Option<&'t mut Draft>,
    options: &'t Options<'t>,
    /// How often the first search asked, and how often it does until the next turn of the other.
    asked: u64,
    next: u64,
    /// What ended the search over choices, if something did.
    pub stopped: Option<Stopped>,
}

/// What ended a search over choices.
#[derive(Clone, Copy)]
pub(crate) enum Stopped {
    Limit(Limit),
    /// The other search found an order.
    Found,
}

/// How often the search over choices asks whether to stop before the first turn of the other.
const FIRST_TURN: u64 = 256;

impl<'t> Turns<'t> {
    pub(crate) fn new(draft: Option<&'t mut Draft>, options: &'t Options<'t>) -> Self {
        Self { draft, options, asked: 0, next: FIRST_TURN, stopped: None }
    }

    /// Whether the search over choices is to stop.
    pub(crate) fn stop(&mut self) -> bool {
        self.asked += 1;
        self.stopped = (self.options.limit)().map(Stopped::Limit);
        if self.stopped.is_none() && self.asked >= self.next {
            // The attempts become longer too.
            self.next += self.next / 4;
            self.stopped = match self.draft.as_mut().map(|draft| draft.improve(self.options)) {
                Some(Ok(true)) => Some(Stopped::Found),
                Some(Err(limit)) => Some(Stopped::Limit(limit)),
                _ => None,
            };
        }
        self.stopped.is_some()
    }
}
