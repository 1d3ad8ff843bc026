//! Ends a command when a limit is reached, whatever it is doing at that moment.
//!
//! The stages of the engine ask for limits and end by themselves. A stage that does not ask in time (a reader that waits
//! for a pipe, a large allocation, a library) is ended from here: a thread looks at the clock and at the memory every few
//! milliseconds. When a limit is overdue, it reports what is known and ends the process. Looking costs 10 µs.
//!
//! Exactly one of the two threads reports: the command calls [`Watch::answer`] before it prints.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use isoscope::{Limit, Limits, Monitor};

use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::screen::say;

/// How often limits are looked at. Touching new memory costs the kernel about a second for 2 GB: 6 MB in this time.
const INTERVAL: Duration = Duration::from_millis(3);

/// Watches the limits of one command.
#[derive(Debug)]
pub struct Watch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing was reported yet.
    Working,
    /// The command reports, or has ended.
    Answering,
    /// The watching thread reports.
    Late,
}

/// Does the work of a command. If a limit is overdue before the work calls [`Watch::answer`], `late` reports instead, and
/// the process ends with its exit code.
pub fn watched<T>(
    limits: &Limits,
    late: impl FnOnce(Limit) -> Result<Exit, Failure> + Send,
    work: impl FnOnce(&Watch) -> T,
) -> T {
    let watch = Watch { state: Mutex::new(State::Working), changed: Condvar::new() };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("limits".to_owned());
        // Without the thread limits are asked for by the engine alone.
        let spawned = thread.spawn_scoped(scope, || watch.end_if_overdue(limits, late));
        limits.set_watched(spawned.is_ok());
        // The work may panic, and the scope waits for the thread.
        let _ended = EndOfWork(&watch, limits);
        work(&watch)
    })
}

/// What a command reports late that has no part of an answer: the limit, and what was going on.
pub fn nothing_known<'l>(
    limits: &'l Limits,
    progress: &'l Progress,
) -> impl FnOnce(Limit) -> Result<Exit, Failure> + Send + 'l {
    move |limit| {
        progress.end();
        Err(match limit {
            Limit::Interrupt => Failure::Interrupted,
            Limit::Time | Limit::Memory => {
                Failure::Limit(format!("{} while {}", limits.sentence(limit), progress.stage()))
            }
        })
    }
}

impl Watch {
    /// From here on the command reports. If the watching thread does so already, this waits for the end of the process.
    pub fn answer(&self) {
        let mut state = self.lock();
        if *state == State::Working {
            *state = State::Answering;
            self.changed.notify_all();
        }
        while *state == State::Late {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end_if_overdue(&self, limits: &Limits, late: impl FnOnce(Limit) -> Result<Exit, Failure>) {
        let mut interrupted = None;
        let mut state = self.lock();
        loop {
            let waited = self.changed.wait_timeout_while(state, INTERVAL, |state| *state == State::Working);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if *state != State::Working {
                return;
            }
            if let Some(limit) = limits.overdue(&mut interrupted) {
                *state = State::Late;
                drop(state);
                end_process(late(limit));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the watching thread that the work has ended.
struct EndOfWork<'w>(&'w Watch, &'w Limits);

impl Drop for EndOfWork<'_> {
    fn drop(&mut self) {
        self.0.answer();
        self.1.set_watched(false);
    }
}

/// Ends the process while other threads still work.
fn end_process(reported: Result<Exit, Failure>) -> ! {
    formats::abandon_unfinished();
    crate::progress::clear();
    let exit = match reported {
        Ok(exit) => exit,
        Err(failure) => {
            if !matches!(failure, Failure::BrokenPipe) {
                say(&failure.to_string());
            }
            failure.exit()
        }
    };
    std::process::exit(exit as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_in_time_answers_itself() {
        let limits = Limits::start(Some(Duration::from_secs(3600)), None).unwrap();
        let late = |_| -> Result<Exit, Failure> { unreachable!("an hour has not passed") };
        let answer = watched(&limits, late, |watch| {
            watch.answer();
            7
        });
        assert_eq!(answer, 7);
        assert_eq!(watched(&limits, late, |_| 8), 8);
    }
}
