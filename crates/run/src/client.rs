//! One client: a thread with a connection that runs transactions until nothing is left to do.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use databases::{Database, Failure, FailureKind, Session, Setting};
use drive::random::Random;
use history::Outcome;
use record::SessionRecorder;

use crate::attempt::{Abilities, Attempt, Stop};
use crate::shared::Shared;
use crate::workload;
use crate::{RunError, start};

/// Everything that a client needs.
pub(crate) struct Client<'r> {
    pub number: usize,
    pub node: usize,
    pub database: &'r dyn Database,
    pub setting: &'r Setting,
    pub abilities: Abilities,
    pub transactions: Box<dyn workload::WorkloadClient + 'r>,
    pub recorder: Option<SessionRecorder>,
    pub shared: &'r Shared,
    /// The time from one begin to the next, if a rate was asked for.
    pub interval: Option<Duration>,
    pub random: Random,
    /// How long a server may be away.
    pub patience: Duration,
    /// Whether the client was ever connected.
    pub was_connected: bool,
}

/// How an attempt ended, and whether the connection can be used further.
struct End {
    outcome: Outcome,
    failure: Option<Failure>,
    keeps_session: bool,
}

impl End {
    fn new(outcome: Outcome, keeps_session: bool) -> Self {
        Self { outcome, failure: None, keeps_session }
    }

    /// What a failure means for the transaction.
    fn of(failure: Failure, is_committing: bool) -> Self {
        let (outcome, keeps_session) = match failure.kind {
            FailureKind::Unknown => (Outcome::Unknown, false),
            FailureKind::Lost => (Outcome::Aborted, false),
            FailureKind::Aborted => (Outcome::Aborted, true),
            // A commit that was refused may have been sent.
            FailureKind::Refused if is_committing => (Outcome::Unknown, false),
            FailureKind::Refused => (Outcome::Aborted, true),
        };
        Self { outcome, failure: Some(failure), keeps_session }
    }
}

impl Client<'_> {
    /// Runs until the run is over.
    pub fn run(mut self) {
        if let Err(error) = self.run_all() {
            self.shared.fail(error);
        }
        self.shared.board.set_server_id(self.number, None);
        self.shared.running.fetch_sub(1, Ordering::Relaxed);
    }

    fn run_all(&mut self) -> Result<(), RunError> {
        let mut session: Option<Box<dyn Session>> = None;
        let mut failures = 0;
        let mut due = self.shared.started;
        while self.shared.sleep_until(due) && self.shared.claim() {
            let mut open = match session.take() {
                Some(session) => session,
                None => match self.connect()? {
                    Some(session) => session,
                    None => {
                        self.shared.give_back();
                        return Ok(());
                    }
                },
            };
            let end = self.attempt(open.as_mut())?;
            failures = if end.outcome == Outcome::Aborted { failures + 1 } else { 0 };
            self.shared.count(end.outcome, end.failure.as_ref());
            self.refuse(end.failure.as_ref())?;
            match end.keeps_session {
                true => session = Some(open),
                false => drop(self.shared.reconnects.fetch_add(1, Ordering::Relaxed)),
            }
            due = self.next_begin(due, failures);
        }
        Ok(())
    }

    /// A new connection; `None` if there is none, because the run is over or the server is gone.
    fn connect(&mut self) -> Result<Option<Box<dyn Session>>, RunError> {
        let connected = start::connect(self.database, self.node, self.patience, &|| self.shared.is_over());
        let session = match connected {
            Err(failure) if failure.kind == FailureKind::Refused => {
                return Err(RunError::of("connecting", &failure));
            }
            Err(failure) => {
                self.shared.note_absent(self.was_connected, failure.reason());
                return Ok(None);
            }
            Ok(None) => {
                self.shared.note_absent(self.was_connected, "no answer until the run was over".to_owned());
                return Ok(None);
            }
            Ok(Some(session)) => Some(session),
        };
        self.was_connected = true;
        if let (Some(session), Some(recorder)) = (&session, &mut self.recorder) {
            recorder.set_clock_offset_ns(session.clock_offset_ns());
        }
        self.shared.board.set_server_id(self.number, session.as_ref().and_then(|session| session.id()));
        Ok(session)
    }

    /// When the next transaction may begin: at its place in the rate, and a moment later after failures.
    fn next_begin(&mut self, due: Instant, failures: u64) -> Instant {
        const PAUSE: Duration = Duration::from_micros(200);
        const LONGEST_PAUSE: Duration = Duration::from_millis(10);
        let in_rate = self.interval.map_or(due, |interval| due + interval);
        let most = (PAUSE * failures.min(1000) as u32).min(LONGEST_PAUSE);
        match failures {
            0 => in_rate,
            _ => in_rate.max(Instant::now() + most.mul_f64(self.random.unit())),
        }
    }

    /// A statement that the database does not take is no matter of one transaction.
    fn refuse(&self, failure: Option<&Failure>) -> Result<(), RunError> {
        match failure {
            Some(failure) if failure.kind == FailureKind::Refused => Err(RunError::of("running", failure)),
            _ => Ok(()),
        }
    }

    fn attempt(&mut self, session: &mut dyn Session) -> Result<End, RunError> {
        self.note(SessionRecorder::begin);
        let end = match session.begin(self.setting) {
            Ok(()) => self.transact(session),
            Err(failure) => End::of(failure, false),
        };
        if let Some(recorder) = &mut self.recorder {
            match end.outcome {
                Outcome::Committed => recorder.commit()?,
                Outcome::Aborted => recorder.abort()?,
                Outcome::Unknown => recorder.unknown()?,
            }
        }
        Ok(end)
    }

    fn transact(&mut self, session: &mut dyn Session) -> End {
        let (board, number) = (&self.shared.board, self.number);
        let interference = || board.take(number);
        let mut attempt = Attempt::new(session, self.recorder.as_mut(), &interference, self.abilities);
        match self.transactions.transaction(&mut attempt) {
            Ok(()) => self.commit(session),
            Err(Stop::GiveUp) => {
                self.note(SessionRecorder::ending);
                let keeps_session = session.abort().is_ok();
                End::new(Outcome::Aborted, keeps_session)
            }
            // The connection is dropped with its transaction open, and no commit was sent.
            Err(Stop::Dropped) => End::new(Outcome::Aborted, false),
            Err(Stop::Failed(failure)) => End::of(failure, false),
        }
    }

    fn commit(&mut self, session: &mut dyn Session) -> End {
        self.note(SessionRecorder::ending);
        match session.commit() {
            Ok(()) => End::new(Outcome::Committed, true),
            Err(failure) => End::of(failure, true),
        }
    }

    fn note(&mut self, record: impl FnOnce(&mut SessionRecorder)) {
        if let Some(recorder) = &mut self.recorder {
            record(recorder);
        }
    }
}
