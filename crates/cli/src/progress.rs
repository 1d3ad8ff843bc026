//! One line on standard error that says what is going on, on a terminal only.
//!
//! It appears when something takes longer than a blink, and is gone before anything else is printed.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use databases::hide_secrets;
use isoscope::{Answer, Limit, Limits, Monitor, limits, units};

use crate::terminal::visible;

const PATIENCE: Duration = Duration::from_millis(400);
const INTERVAL: Duration = Duration::from_millis(120);

/// The line; dropping it clears it.
#[derive(Debug, Default)]
pub struct Progress {
    stage: Mutex<String>,
    shown: Mutex<Option<Shown>>,
}

/// What is drawn, and the thread that draws it.
type Shown = (Arc<Mutex<State>>, JoinHandle<()>);

#[derive(Debug)]
struct State {
    stage: String,
    /// How much of the stage is done, from 0 to 1, and how long it has taken.
    share: Option<(f64, Duration)>,
    is_over: bool,
}

impl Progress {
    /// Starts the line; in a pipe nothing is ever shown.
    pub fn start(stage: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { stage: Mutex::new(stage.to_owned()), shown: Mutex::new(None) };
        }
        let state = Arc::new(Mutex::new(State { stage: stage.to_owned(), share: None, is_over: false }));
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || draw_until_over(&shared));
        Self { stage: Mutex::new(stage.to_owned()), shown: Mutex::new(Some((state, thread))) }
    }

    /// Says what is going on now.
    pub fn set(&self, stage: &str) {
        self.set_share(stage, None);
    }

    /// Says what is going on now, and how much of it is done after which time.
    pub fn set_share(&self, stage: &str, share: Option<(f64, Duration)>) {
        *lock(&self.stage) = stage.to_owned();
        if let Some((state, _)) = &*lock(&self.shown) {
            let mut state = lock(state);
            state.stage = stage.to_owned();
            state.share = share;
        }
    }

    /// What is going on, safe to print.
    pub fn stage(&self) -> String {
        visible(&lock(&self.stage))
    }

    /// Clears the line; nothing is shown from now on.
    pub fn end(&self) {
        if let Some((state, thread)) = lock(&self.shown).take() {
            lock(&state).is_over = true;
            thread.thread().unpark();
            // A line that could not be drawn is no reason to fail.
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// A check that limits end and whose stages the line shows.
pub struct Watched<'w> {
    /// How many levels are asked, if that is known.
    pub level_count: AtomicUsize,
    /// The limits.
    pub limits: &'w Limits,
    /// The line.
    pub progress: &'w Progress,
    /// The answers so far, without their certificates, for a report that is made when a limit ends the check.
    pub answers: Mutex<Vec<Answer>>,
}

impl<'w> Watched<'w> {
    /// A check that has not begun.
    pub fn new(limits: &'w Limits, progress: &'w Progress) -> Self {
        Self { level_count: AtomicUsize::new(0), limits, progress, answers: Mutex::new(Vec::new()) }
    }

    /// The answers so far.
    pub fn answers(&self) -> Vec<Answer> {
        lock(&self.answers).clone()
    }
}

impl Monitor for Watched<'_> {
    fn elapsed(&self) -> Duration {
        self.limits.elapsed()
    }

    fn reached(&self) -> Option<Limit> {
        self.limits.reached()
    }

    fn time_left(&self) -> Option<Duration> {
        self.limits.time_left()
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.limits.memory_bytes()
    }

    fn sentence(&self, limit: Limit) -> String {
        self.limits.sentence(limit)
    }

    fn stage(&self, name: &str) {
        let (done, all) = (lock(&self.answers).len(), self.level_count.load(Ordering::Relaxed));
        match all > 0 && name.starts_with("checking") {
            true => {
                let share = done.min(all) as f64 / all as f64;
                self.progress.set_share(
                    &format!("{name}, {done} of {all} levels decided"),
                    Some((share, self.elapsed())),
                );
            }
            false => self.progress.set(name),
        }
    }

    fn answered(&self, answer: &Answer) {
        // A certificate may be large, and a report that is made late has none.
        let certificate = None;
        lock(&self.answers).push(Answer {
            level: answer.level.clone(),
            decision: answer.decision,
            explanation: answer.explanation.clone(),
            obstacle: answer.obstacle.clone(),
            skew: answer.skew,
            follows_from: answer.follows_from,
            certificate,
            text_certificate: None,
            method: answer.method,
            time: answer.time,
            stats: answer.stats.clone(),
        });
    }
}

fn draw_until_over(state: &Mutex<State>) {
    let started = Instant::now();
    std::thread::park_timeout(PATIENCE);
    let mut is_drawn = false;
    loop {
        let (stage, share) = match &*lock(state) {
            state if state.is_over => break,
            state => (state.stage.clone(), share_phrase(state.share)),
        };
        let memory =
            limits::resident_bytes().map_or_else(String::new, |bytes| format!(", {}", units::size(bytes)));
        let line = format!("{share}{stage} ({:.1} s{memory})", started.elapsed().as_secs_f64());
        let _ = write!(std::io::stderr(), "\r\x1b[K{}", fitted(&line, terminal_width()));
        is_drawn = true;
        std::thread::park_timeout(INTERVAL);
    }
    if is_drawn {
        clear();
    }
}

/// `45 %, 12 s left: `, as far as the time until now tells.
fn share_phrase(share: Option<(f64, Duration)>) -> String {
    let Some((share, time)) = share else { return String::new() };
    let share = share.clamp(0.0, 1.0);
    let percent = format!("{:.0} %", 100.0 * share);
    match share > 0.0 {
        true => format!("{percent}, {:.0} s left: ", time.as_secs_f64() * (1.0 - share) / share),
        false => format!("{percent}: "),
    }
}

/// Clears the line that a terminal shows, if it is one.
pub fn clear() {
    if std::io::stderr().is_terminal() {
        // A line that stays is no reason to fail.
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

/// What fits into a line, made harmless: a line that wraps could not be cleared again, and the names of files and
/// schedules come from outside.
fn fitted(line: &str, width: usize) -> String {
    visible(&hide_secrets(line)).chars().take(width.saturating_sub(1)).collect()
}

fn terminal_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0))
}

fn lock<T>(state: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{fitted, share_phrase};

    #[test]
    fn the_time_left_follows_from_the_share() {
        assert_eq!(share_phrase(None), "");
        assert_eq!(share_phrase(Some((0.0, Duration::from_secs(3)))), "0 %: ");
        assert_eq!(share_phrase(Some((0.25, Duration::from_secs(3)))), "25 %, 9 s left: ");
        assert_eq!(share_phrase(Some((2.0, Duration::from_secs(3)))), "100 %, 0 s left: ");
    }

    #[test]
    fn a_name_from_outside_steers_no_terminal() {
        assert_eq!(fitted("reading \x1b[2J\n", 80), "reading \\u{1b}[2J\\n");
        assert_eq!(fitted("reading postgres:ann:s3cret@db", 80), "reading postgres:***@db");
        assert_eq!(fitted("a long line", 7), "a long");
    }
}
