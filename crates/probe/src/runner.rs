//! Runs a schedule: one step after another, each in its session, and on with the others while a session waits.
//!
//! After every step, all sessions that were asked something have answered or are known to wait. The steps of a session
//! that waits are kept until it answers, and are then asked at once. When a transaction ends, those that wait may go
//! on: they are looked at again before the next step. A run needs as many steps' time as it has steps, and a few
//! milliseconds for each wait where the server has views; without views each wait costs [`Patience::without_views`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use databases::{ColumnType, Database, Failure, FailureKind, Setting};

use crate::client::{ClientId, ClientReply, ProbeClient, Request};
use crate::observer::Observer;
pub use crate::waiting::Patience;
use crate::waiting::WaitDetector;
use crate::{Action, Detail, End, Event, Run, Schedule, ScheduleStep, Txn};

/// Between two looks at sessions that have not answered.
const PAUSE: Duration = Duration::from_millis(1);

/// The types of a table's key and columns.
type Shape = (ColumnType, Vec<(String, ColumnType)>);

/// Sessions with a database, which are used for one schedule after another.
pub struct Runner<'d> {
    database: &'d dyn Database,
    patience: Patience,
    wait_detector: WaitDetector,
    observer: Observer<'d>,
    clients: Vec<ProbeClient>,
    client_count: u64,
    /// What the table of the last schedule was like.
    shape: Option<Shape>,
    outbox: Sender<ClientReply>,
    replies: Receiver<ClientReply>,
}

impl<'d> Runner<'d> {
    /// A runner without sessions; they are made as they are needed.
    pub fn new(database: &'d dyn Database, patience: Patience) -> Self {
        let (outbox, replies) = channel();
        let wait_detector = WaitDetector::new(database, patience);
        let observer = Observer::new(database);
        let clients = Vec::new();
        Self {
            database,
            patience,
            wait_detector,
            observer,
            clients,
            client_count: 0,
            shape: None,
            outbox,
            replies,
        }
    }

    /// Runs a schedule at a setting.
    pub fn run(&mut self, schedule: &Schedule, setting: &Setting) -> Result<Run, Failure> {
        self.forget_another_shape(schedule);
        self.observer.prepare(schedule)?;
        while self.clients.len() < schedule.txn_count() {
            let client = self.connect(self.clients.len())?;
            self.clients.push(client);
        }
        let mut performance = Performance::new(self, schedule, setting);
        let ended = performance.play();
        let Performance { sessions, events, trouble, .. } = performance;
        self.replace_the_useless(&sessions)?;
        if let Some(trouble) = ended.err().or(trouble) {
            // The next schedule begins with fresh sessions.
            self.clients.clear();
            return Err(trouble);
        }
        let left = self.observer.rows_left()?;
        let (answers, ends) = sessions.into_iter().map(|session| (session.answers, session.end)).unzip();
        let ends: Vec<Option<End>> = ends;
        Ok(Run {
            events,
            answers,
            ends: ends.into_iter().map(|end| end.unwrap_or(End::Stuck)).collect(),
            left,
        })
    }

    /// Sessions keep statements that they have prepared, and a table of other types would not fit them.
    fn forget_another_shape(&mut self, schedule: &Schedule) {
        let shape = Some((schedule.table.key, schedule.table.columns.clone()));
        if self.shape != shape {
            self.clients.clear();
            self.observer = Observer::new(self.database);
            self.shape = shape;
        }
    }

    fn connect(&mut self, place: usize) -> Result<ProbeClient, Failure> {
        self.client_count += 1;
        let node = place % self.database.node_count().max(1);
        ProbeClient::connect(self.database, node, ClientId(self.client_count), self.outbox.clone())
    }

    /// Sessions that never answered are left to their threads.
    fn replace_the_useless(&mut self, sessions: &[Session]) -> Result<(), Failure> {
        for place in 0..sessions.len() {
            if sessions[place].end.is_none() {
                self.clients[place] = self.connect(place)?;
            }
        }
        Ok(())
    }
}

/// Where a session stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has answered everything.
    Ready,
    /// It was asked, or could have gone on, at this moment.
    Asked(Instant),
    /// It waits for another session.
    Waiting,
}

/// A transaction in its session.
struct Session {
    state: State,
    /// Steps that have not been answered: the first was asked.
    open: VecDeque<ScheduleStep>,
    /// Whether the first of them was seen to wait.
    has_waited: bool,
    has_begun: bool,
    answers: Vec<databases::Reply>,
    end: Option<End>,
}

/// One run of one schedule.
struct Performance<'p, 'd> {
    runner: &'p mut Runner<'d>,
    schedule: &'p Schedule,
    setting: &'p Setting,
    sessions: Vec<Session>,
    by_client: BTreeMap<u64, usize>,
    events: Vec<Event>,
    /// A failure that is not the database's answer to the schedule.
    trouble: Option<Failure>,
}

impl<'p, 'd> Performance<'p, 'd> {
    fn new(runner: &'p mut Runner<'d>, schedule: &'p Schedule, setting: &'p Setting) -> Self {
        let session = |_| Session {
            state: State::Ready,
            open: VecDeque::new(),
            has_waited: false,
            has_begun: false,
            answers: Vec::new(),
            end: None,
        };
        let sessions: Vec<Session> = (0..schedule.txn_count()).map(session).collect();
        let by_client =
            runner.clients.iter().enumerate().map(|(place, client)| (client.id.0, place)).collect();
        Self { runner, schedule, setting, sessions, by_client, events: Vec::new(), trouble: None }
    }

    fn play(&mut self) -> Result<(), Failure> {
        let schedule = self.schedule;
        for step in &schedule.steps {
            let session = &mut self.sessions[step.txn.0];
            if session.end.is_some() {
                self.note(step, Detail::Skipped);
                continue;
            }
            session.open.push_back(step.clone());
            if session.state == State::Ready {
                self.ask_next(step.txn)?;
                self.settle()?;
            }
        }
        self.wait_for_the_rest()
    }

    /// Asks the next open step of a session that has answered everything.
    fn ask_next(&mut self, txn: Txn) -> Result<(), Failure> {
        let session = &mut self.sessions[txn.0];
        let Some(step) = session.open.front() else { return Ok(()) };
        let begin = (!session.has_begun).then(|| self.setting.clone());
        session.has_begun = true;
        session.has_waited = false;
        session.state = State::Asked(Instant::now());
        self.runner.clients[txn.0].ask(Request { begin, action: step.action.clone() })
    }

    /// Until every session has answered or is known to wait.
    fn settle(&mut self) -> Result<(), Failure> {
        while self.sessions.iter().any(|session| matches!(session.state, State::Asked(_))) {
            if let Some(reply) = self.receive(PAUSE)? {
                self.take(reply)?;
                continue;
            }
            self.look()?;
        }
        Ok(())
    }

    fn receive(&mut self, limit: Duration) -> Result<Option<ClientReply>, Failure> {
        match self.runner.replies.recv_timeout(limit) {
            Ok(reply) => Ok(Some(reply)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Failure::refused("no session is left")),
        }
    }

    /// Finds out which of those that were asked wait.
    fn look(&mut self) -> Result<(), Failure> {
        for place in 0..self.sessions.len() {
            let State::Asked(since) = self.sessions[place].state else { continue };
            let ProbeClient { node, session, .. } = self.runner.clients[place];
            if self.runner.wait_detector.is_waiting(node, session, since.elapsed())? {
                self.sessions[place].state = State::Waiting;
                if !self.sessions[place].has_waited {
                    self.sessions[place].has_waited = true;
                    self.note_first_open(Txn(place), Detail::Waits);
                }
            }
        }
        Ok(())
    }

    /// Takes an answer, and asks what was kept for its session.
    fn take(&mut self, reply: ClientReply) -> Result<(), Failure> {
        // An answer that comes after its session was given up is ignored.
        let Some(&place) = self.by_client.get(&reply.client.0) else { return Ok(()) };
        let txn = Txn(place);
        self.sessions[place].state = State::Ready;
        let Some(step) = self.sessions[place].open.pop_front() else { return Ok(()) };
        let late = self.sessions[place].has_waited;
        match reply.outcome {
            Ok(Some(answer)) => {
                self.sessions[place].answers.push(answer.clone());
                self.note(&step, if late { Detail::AnsweredLate(answer) } else { Detail::Answered(answer) });
            }
            Ok(None) => {
                let end = if step.action == Action::Commit { End::Committed } else { End::Aborted };
                self.sessions[place].end = Some(end);
                self.note(&step, if late { Detail::EndedLate } else { Detail::Ended });
                self.look_again();
            }
            Err(failure) => self.fail(&step, failure),
        }
        self.ask_next(txn)
    }

    fn fail(&mut self, step: &ScheduleStep, failure: Failure) {
        if failure.kind != FailureKind::Aborted {
            self.trouble.get_or_insert(failure.clone());
        }
        let session = &mut self.sessions[step.txn.0];
        session.end = Some(End::RolledBack(failure.clone()));
        let skipped: Vec<ScheduleStep> = session.open.drain(..).collect();
        self.note(step, Detail::Failed(failure));
        for step in &skipped {
            self.note(step, Detail::Skipped);
        }
        self.look_again();
    }

    /// A transaction is over: what waited for it goes on.
    fn look_again(&mut self) {
        for session in &mut self.sessions {
            if session.state == State::Waiting {
                session.state = State::Asked(Instant::now());
            }
        }
    }

    /// No step is left to ask: those that wait answer sooner or later, or are given up.
    fn wait_for_the_rest(&mut self) -> Result<(), Failure> {
        let started = Instant::now();
        while self.sessions.iter().any(|session| session.state != State::Ready) {
            if let Some(reply) = self.receive(PAUSE * 10)? {
                self.take(reply)?;
                self.settle()?;
            }
            if started.elapsed() > self.runner.patience.before_giving_up {
                self.give_up();
                return Ok(());
            }
        }
        Ok(())
    }

    fn give_up(&mut self) {
        for place in 0..self.sessions.len() {
            if self.sessions[place].state != State::Ready {
                self.note_first_open(Txn(place), Detail::Stuck);
            }
        }
    }

    fn note_first_open(&mut self, txn: Txn, detail: Detail) {
        if let Some(step) = self.sessions[txn.0].open.front().cloned() {
            self.note(&step, detail);
        }
    }

    fn note(&mut self, step: &ScheduleStep, detail: Detail) {
        self.events.push(Event { txn: step.txn, text: step.text.clone(), detail });
    }
}
