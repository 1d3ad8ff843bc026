//! The verdict while a system runs.
//!
//! A [`Watcher`] takes the transactions of a recording one after the other. At `strict-serializable` and `strong-si` it
//! decides them in windows ([`::watch::Window`]): small histories, decided by the same engine and checked by the same
//! checker as any other, after each of which what is settled is forgotten. A weaker level follows from one of these two
//! while that holds. Everything else is asked of all transactions at once, again whenever they have grown by half: weaker
//! levels after that, levels of recordings without times, and lists, ranges, predicates, recorded versions and initial
//! values that are not known.
//!
//! ```
//! use std::time::Duration;
//!
//! use isoscope::LevelId;
//! use isoscope::watch::Watcher;
//!
//! let history = isoscope::parse("a: w(x)=1 @[1,2]\nb: r(x)=1 @[3,4]\nb: r(x)=0 @[5,6]\n")?;
//! let mut watcher = Watcher::new(LevelId::StrictSerializable, Duration::ZERO);
//! watcher.set_initial(&history)?;
//! for txn in history.txns() {
//!     watcher.push(u64::from(history.session_of(txn).0), None, &history, txn)?;
//! }
//! watcher.close()?;
//! assert!(watcher.verdict().is_violated());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checkpoint;
mod collected;
mod verdict;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use ::watch::{Built, Frontier, Known, Refused, Window};
use certify::{Certificate, Node};
use formats::native_jsonl::{Batch, LineReader};
use history::{Clock, Datum, History, Outcome, TxnId};
use levels::LevelId;
use rustc_hash::FxHashMap;

pub use ::watch::{Next, Source};
pub use checkpoint::{CheckpointError, Place};
pub use verdict::{Holding, Verdict, Violation, Way};

use verify::Limit;

use crate::answer::{Answer, Decision, Obstacle};
use crate::check::Check;
use crate::error::Error;
use crate::lazy_index::LazyIndex;
use crate::limits::Limits;
use collected::Collected;

/// Gives what was read of the recording so far once more.
pub type ReadAgain = Arc<dyn Fn() -> std::io::Result<Box<dyn Read + Send>> + Send + Sync>;

/// Follows a recording at one level.
#[derive(Clone)]
pub struct Watcher {
    level: LevelId,
    /// The level that is followed window by window: this one, or one from which it follows.
    followed: LevelId,
    clock_skew: Duration,
    skew: i64,
    window: Option<Window>,
    /// All transactions, as long as they may be asked for.
    collected: Option<Collected>,
    read_again: Option<ReadAgain>,
    frontier: Frontier,
    sessions: FxHashMap<u64, u32>,
    clock: Clock,
    batch: usize,
    unasked: usize,
    seen: u64,
    /// How many transactions there were when all of them were asked about last.
    asked_whole_at: usize,
    keeps_going: bool,
    limits: Arc<dyn Fn() -> Limits + Send + Sync>,
    verdict: Verdict,
    violations: Vec<Violation>,
    violation_count: u64,
}

/// So many transactions are kept besides the window, in case one comes that a window cannot follow.
const KEPT_AT_FIRST: usize = 4_000;

/// So many violations are kept; further ones are only counted.
const MOST_VIOLATIONS: usize = 100;

impl Watcher {
    /// Follows a recording at a level; the clocks of two clients may be so far apart.
    pub fn new(level: LevelId, clock_skew: Duration) -> Self {
        let skew = i64::try_from(clock_skew.as_nanos()).unwrap_or(i64::MAX);
        let skew = skew.min(certify::Level::LARGEST_CLOCK_SKEW);
        let followed =
            [LevelId::StrongSi, LevelId::StrictSerializable].into_iter().find(|strict| strict.implies(level));
        let followed = followed.unwrap_or(LevelId::StrictSerializable);
        let engine = followed.engine().map(|engine| engine.with_clock_skew(skew));
        let window = engine.and_then(|engine| Window::new(&engine));
        Self {
            level,
            followed,
            clock_skew,
            skew,
            window,
            collected: Some(Collected::default()),
            read_again: None,
            frontier: Frontier::default(),
            sessions: FxHashMap::default(),
            clock: Clock::default(),
            batch: 1_000,
            unasked: 0,
            seen: 0,
            asked_whole_at: 0,
            keeps_going: false,
            limits: Arc::new(|| {
                Limits::start(None, None).unwrap_or_else(|_| unreachable!("no limit needs nothing"))
            }),
            verdict: Verdict::Holds(Holding { up_to: None, transactions: 0, way: Way::Exact }),
            violations: Vec::new(),
            violation_count: 0,
        }
    }

    /// Asks after so many transactions; a violation is reported at most so many later than it could be.
    pub fn batch(self, batch: usize) -> Self {
        Self { batch: batch.max(1), ..self }
    }

    /// After how many transactions one of unknown outcome that no transaction read is taken apart. A window of half as many
    /// forgets nothing that `holds` would be less than exact without.
    pub fn patience(mut self, transactions: u64) -> Self {
        self.window.iter_mut().for_each(|window| window.patience = transactions);
        self
    }

    /// Goes on after a violation: its transactions are left out, and others are looked for.
    pub fn keep_going(self, keeps_going: bool) -> Self {
        Self { keeps_going, ..self }
    }

    /// The limits of each question.
    pub fn limits(self, limits: impl Fn() -> Limits + Send + Sync + 'static) -> Self {
        Self { limits: Arc::new(limits), ..self }
    }

    /// How the recording can be read again, so that not all of it has to be kept where it may be needed again.
    pub fn read_again(self, read_again: ReadAgain) -> Self {
        Self { read_again: Some(read_again), ..self }
    }

    /// What the times of the recording count.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
        if clock == Clock::Position {
            self.skew = 0;
        }
        self.window.iter_mut().for_each(|window| window.set_clock(clock));
        self.collected.iter_mut().for_each(|collected| collected.set_clock(clock));
    }

    /// The level.
    pub fn level(&self) -> LevelId {
        self.level
    }

    /// How many transactions came.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// How many transactions are held: those of the window, or all.
    pub fn held(&self) -> usize {
        let all = self.collected.as_ref().map_or(0, Collected::len);
        self.window.as_ref().map_or(all, Window::len)
    }

    /// Every transaction that began before this moment has come, as far as is known.
    pub fn frontier(&mut self) -> Option<i64> {
        self.frontier.moment()
    }

    /// Whether the recorder said that it is done.
    pub fn is_closed(&self) -> bool {
        self.frontier.is_closed()
    }

    /// What is known so far.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The violations so far; one unless the watcher keeps going.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// How many violations there were, also of those that are not kept.
    pub fn violation_count(&self) -> u64 {
        self.violation_count
    }

    /// The initial state of the recording.
    ///
    /// # Errors
    /// As for [`Watcher::push`].
    pub fn set_initial(&mut self, history: &History) -> Result<(), WatchError> {
        self.collected.iter_mut().for_each(|collected| collected.set_initial(history));
        let Some(window) = &mut self.window else { return Ok(()) };
        let taken = match self.seen {
            0 => window.set_initial(history),
            _ => Err(Refused::Kind("initial values that are recorded after transactions")),
        };
        taken.or_else(|refused| self.stop_window(&refused))
    }

    /// Introduces a session before its first transaction.
    pub fn introduce(&mut self, session: u64, name: Option<Datum>) {
        let number = self.session(session);
        self.frontier.introduce(number);
        if let Some(collected) = &mut self.collected {
            collected.introduce(session, name.clone());
        }
        if let Some(window) = &mut self.window {
            window.introduce(session, name);
        }
    }

    fn session(&mut self, session: u64) -> u32 {
        let next = self.sessions.len() as u32;
        *self.sessions.entry(session).or_insert(next)
    }

    /// Takes everything that a block of lines says.
    ///
    /// # Errors
    /// As for [`Watcher::push`].
    pub fn take(&mut self, batch: &Batch) -> Result<(), WatchError> {
        if batch.history.clock() != self.clock {
            self.set_clock(batch.history.clock());
        }
        for (session, name) in &batch.introduced {
            self.introduce(*session, name.clone());
        }
        if let Some(collected) = &mut self.collected {
            collected.add_keys(&batch.history);
        }
        if batch.has_initial {
            self.set_initial(&batch.history)?;
        }
        for &txn in &batch.order {
            let session = batch.sessions[batch.history.session_of(txn).index()];
            let name = if batch.has_names { batch.history.txn_name(txn) } else { None };
            self.push(session, name, &batch.history, txn)?;
        }
        if let Some(before) = batch.before {
            self.mark(before);
        }
        if batch.is_closed {
            self.close()?;
        }
        Ok(())
    }

    /// Takes the next transaction of a session, which is a transaction of some history, and decides if enough have come.
    ///
    /// # Errors
    /// If the checker refuses a certificate, or the recording cannot be read again.
    pub fn push(
        &mut self,
        session: u64,
        name: Option<Datum>,
        history: &History,
        txn: TxnId,
    ) -> Result<(), WatchError> {
        let number = self.session(session);
        self.frontier.record(number, &history.times(txn));
        if let Some(collected) = &mut self.collected
            && !collected.push(session, name.clone(), history, txn)
        {
            return Err(WatchError::Backwards { transaction: self.seen + 1 });
        }
        self.seen += 1;
        self.unasked += 1;
        if let Some(window) = &mut self.window
            && let Err(refused) = window.push(session, name, history, txn)
        {
            if let Refused::Backwards { .. } = refused {
                return Err(WatchError::Backwards { transaction: self.seen });
            }
            self.stop_window(&refused)?;
            if let Some(collected) = &mut self.collected
                && (collected.len() as u64) < self.seen
            {
                collected.push(session, None, history, txn);
            }
        }
        if self.is_due() { self.decide() } else { Ok(()) }
    }

    fn is_due(&self) -> bool {
        match &self.window {
            // A window that something keeps from settling is asked less often, so that it does not cost its square.
            Some(window) => self.unasked >= self.batch.max(window.len() / 2),
            None => self.collected.as_ref().is_some_and(|all| {
                self.unasked >= self.batch && all.len() >= self.asked_whole_at + self.asked_whole_at / 2
            }),
        }
    }

    /// The recorder says that every transaction that began before this moment is recorded.
    pub fn mark(&mut self, before: i64) {
        self.frontier.mark(before);
        self.window.iter_mut().for_each(|window| window.frontier.mark(before));
    }

    /// The recording is complete.
    ///
    /// # Errors
    /// As for [`Watcher::push`].
    pub fn close(&mut self) -> Result<(), WatchError> {
        self.frontier.close();
        self.window.iter_mut().for_each(|window| window.frontier.close());
        self.decide()
    }

    /// No more transactions come; what has come since the last question is decided.
    ///
    /// # Errors
    /// As for [`Watcher::push`].
    pub fn finish(&mut self) -> Result<(), WatchError> {
        let is_late = self.window.is_none() && self.asked_whole_at as u64 != self.seen;
        if self.unasked > 0 || is_late { self.decide() } else { Ok(()) }
    }

    /// Whether all transactions are asked about together, which is worth it only when many more have come.
    pub fn is_whole(&self) -> bool {
        self.window.is_none()
    }

    /// Whether something has come since the last question.
    pub fn is_behind(&self) -> bool {
        self.unasked > 0
    }

    /// Decides what has come so far, and forgets what is settled.
    ///
    /// # Errors
    /// As for [`Watcher::push`].
    pub fn decide(&mut self) -> Result<(), WatchError> {
        self.unasked = 0;
        if self.verdict.is_violated() && !self.keeps_going {
            return Ok(());
        }
        if self.window.is_some() { self.decide_window() } else { self.decide_whole() }
    }

    fn decide_window(&mut self) -> Result<(), WatchError> {
        while let Some(window) = &mut self.window {
            let built = window.build(false);
            let index = LazyIndex::default();
            let known = window.observe(&built, index.of(&built.history));
            if let Some(order) = self.guess(&built.history, known.as_ref()) {
                return self.settle(&built, known, &order);
            }
            let Some(answer) = self.ask(&built.history, Some(&index), self.followed)? else { return Ok(()) };
            match answer.decision {
                Decision::Holds => return self.settle(&built, known, explanation(&answer)),
                Decision::Undecided(Obstacle::Limit(Limit::Interrupt)) => return Ok(()),
                Decision::Undecided(_) => {
                    let reason = answer.reason().unwrap_or_default();
                    return self.stop_window(&Refused::Undecided(reason));
                }
                Decision::Violated if self.followed != self.level => {
                    return self.stop_window(&Refused::Violated(self.followed.name()));
                }
                Decision::Violated => {
                    if !self.note_window_violation(answer)? || !self.keeps_going {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// An order that explains a window, if one is guessed and the checker accepts it: then no engine has to look for one.
    fn guess(&self, history: &History, known: Option<&Known<'_>>) -> Option<Vec<Node>> {
        let level = self.followed.engine()?.with_clock_skew(self.skew);
        let holds = Certificate::Holds { order: known?.guess()?, committed_unknown: Vec::new() };
        certify::check(history, &level, &holds).ok()?;
        match holds {
            Certificate::Holds { order, .. } => Some(order),
            _ => None,
        }
    }

    /// Forgets what is settled in a window that holds.
    fn settle(
        &mut self,
        built: &Built,
        known: Option<Known<'_>>,
        explanation: &[Node],
    ) -> Result<(), WatchError> {
        if let Some(window) = &mut self.window {
            window.settle(built, known, explanation);
        }
        self.note_holding();
        Ok(())
    }

    /// Notes a violation in the window; if the watcher keeps going, its transactions leave the window. False if they do
    /// not.
    fn note_window_violation(&mut self, answer: Answer) -> Result<bool, WatchError> {
        let Some(window) = &mut self.window else { return Ok(false) };
        let named = window.build(true);
        let answer = self.ask(&named.history, None, self.level)?.unwrap_or(answer);
        let mut left_out = false;
        if self.keeps_going
            && let Some(window) = &mut self.window
        {
            let limits = (self.limits)();
            let check = Check::new(&named.history).level(self.level).clock_skew(self.clock_skew);
            let witness = check.monitor(&limits).witness(&answer)?;
            left_out = witness.is_some_and(|witness| window.leave_out(&named, &witness.txns));
        }
        self.note_violation(Violation { history: named.history, answer, after: self.seen });
        Ok(left_out)
    }

    fn note_violation(&mut self, violation: Violation) {
        if !self.verdict.is_violated() {
            self.verdict = Verdict::Violated(Box::new(violation.clone()));
        }
        self.violation_count += 1;
        if self.violations.len() < MOST_VIOLATIONS {
            self.violations.push(violation);
        }
    }

    fn note_holding(&mut self) {
        let Some(window) = &self.window else { return };
        let (loosened, is_small) = (window.loosened(), self.seen as usize <= KEPT_AT_FIRST);
        let way = match (self.followed == self.level, loosened) {
            (false, loosened) => Way::Follows(self.followed, loosened),
            (true, 0) => Way::Exact,
            (true, loosened) => Way::Windowed(loosened),
        };
        let is_enough = self.followed == self.level || self.read_again.is_some();
        if !is_small && is_enough {
            self.collected = None;
        }
        if self.verdict.is_holding() {
            let up_to = self.frontier.moment();
            self.verdict = Verdict::Holds(Holding { up_to, transactions: self.seen, way });
        }
    }

    /// Goes on with all transactions instead of a window.
    fn stop_window(&mut self, refused: &Refused) -> Result<(), WatchError> {
        self.window = None;
        if let Refused::Late { .. } = refused {
            self.frontier.distrust();
        }
        if self.collected.is_none() {
            self.collected = self.collect_again()?;
        }
        if self.collected.is_none() {
            let hint = "the transactions before it are forgotten, and the recording cannot be read again: watch a file \
                instead of a pipe";
            self.verdict = Verdict::Undecided(format!("{refused}; {hint}"));
            return Ok(());
        }
        if matches!(refused, Refused::Violated(_) | Refused::Undecided(_)) {
            self.decide_whole()
        } else {
            Ok(())
        }
    }

    fn collect_again(&self) -> Result<Option<Collected>, WatchError> {
        let Some(read_again) = &self.read_again else { return Ok(None) };
        let mut input = read_again().map_err(WatchError::Io)?;
        let mut collected = Collected::default();
        collected.set_clock(self.clock);
        let mut reader = LineReader::new("the recording");
        let (mut buffer, mut held) = (vec![0; 1 << 18], 0);
        loop {
            let count = input.read(&mut buffer[held..]).map_err(WatchError::Io)?;
            held += count;
            let whole = buffer[..held].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let batch = reader.read(&buffer[..whole]).map_err(WatchError::Input)?;
            for (session, name) in &batch.introduced {
                collected.introduce(*session, name.clone());
            }
            collected.add_keys(&batch.history);
            if batch.has_initial {
                collected.set_initial(&batch.history);
            }
            for &txn in &batch.order {
                let session = batch.sessions[batch.history.session_of(txn).index()];
                let name = if batch.has_names { batch.history.txn_name(txn) } else { None };
                if (collected.len() as u64) < self.seen {
                    collected.push(session, name, &batch.history, txn);
                }
            }
            buffer.copy_within(whole..held, 0);
            held -= whole;
            if count == 0 {
                return Ok(Some(collected));
            }
            if held == buffer.len() {
                buffer.resize(2 * held, 0);
            }
        }
    }

    fn decide_whole(&mut self) -> Result<(), WatchError> {
        let (Some(collected), Some(frontier)) = (&self.collected, self.frontier.moment()) else {
            return Ok(());
        };
        let history = collected.history(frontier, self.skew);
        self.asked_whole_at = collected.len();
        let has_committed = history.txns().any(|txn| history.outcome(txn) == Outcome::Committed);
        let answer = match has_committed {
            true => self.ask(&history, None, self.level)?,
            false => None,
        };
        let holds = Holding { up_to: Some(frontier), transactions: self.seen, way: Way::Whole };
        match answer {
            None if has_committed => {
                self.verdict = Verdict::Undecided(format!(
                    "{} needs times, which the recording does not have",
                    self.level
                ));
            }
            None => {}
            Some(answer) => match answer.decision {
                _ if self.verdict.is_violated() => {}
                Decision::Holds => self.verdict = Verdict::Holds(holds),
                Decision::Undecided(_) => {
                    self.verdict = Verdict::Undecided(answer.reason().unwrap_or_default());
                }
                Decision::Violated => {
                    self.note_violation(Violation { history, answer, after: self.seen });
                }
            },
        }
        Ok(())
    }

    fn ask(
        &self,
        history: &History,
        index: Option<&LazyIndex>,
        level: LevelId,
    ) -> Result<Option<Answer>, WatchError> {
        let limits = (self.limits)();
        let mut check = Check::new(history).level(level).clock_skew(self.clock_skew).skews(false);
        if let Some(index) = index {
            check = check.index(index);
        }
        match check.monitor(&limits).run() {
            Ok(report) => Ok(report.answers.into_iter().next()),
            Err(Error::NeedsTimes { .. }) => Ok(None),
            Err(error) => Err(WatchError::Check(error)),
        }
    }
}

/// The order of events by which a level holds.
fn explanation(answer: &Answer) -> &[Node] {
    match &answer.certificate {
        Some((_, Certificate::Holds { order, .. })) => order,
        _ => &[],
    }
}

/// Why a recording cannot be followed any further.
#[derive(Debug)]
pub enum WatchError {
    /// The times of a session run backwards.
    Backwards {
        /// The place of the transaction in the recording, from 1.
        transaction: u64,
    },
    /// The checker refused a certificate, or a check failed.
    Check(Error),
    /// The recording could not be read again.
    Io(std::io::Error),
    /// The recording is no recording when it is read again.
    Input(formats::Error),
}

impl From<Error> for WatchError {
    fn from(error: Error) -> Self {
        Self::Check(error)
    }
}

impl std::fmt::Display for WatchError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Backwards { transaction } => write!(
                out,
                "transaction {transaction} of the recording begins before the transaction before it in its session ended ({})",
                history::Backwards::HINT
            ),
            Self::Check(error) => error.fmt(out),
            Self::Io(error) => write!(out, "the recording cannot be read again: {error}"),
            Self::Input(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for WatchError {}
