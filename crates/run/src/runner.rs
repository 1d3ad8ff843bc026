//! A run from its first table to its final read.
//!
//! Each session is a thread; the calling thread watches: it reports progress, asks whether to stop, and strikes as the
//! nemesis. Nothing is left behind: a run ends when every client has ended its transaction.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use databases::{Claim, Database, Setting, StatementKind};
use history::Datum;
use record::{Recorder, SessionRecorder};

use crate::attempt::Abilities;
use crate::client::Client;
use crate::nemesis::{Disturbance, Due, Fault, Schedule};
use crate::promises::promise;
use crate::server::Server;
use crate::shared::{Absent, Shared, Tally};
use crate::workload::{Workload, random_of};
use crate::{RunError, final_read, start};

/// How much to do, and how fast.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Pace {
    /// End after so many transactions that committed or are unknown.
    pub transactions: Option<u64>,
    /// End after this time.
    pub duration: Option<Duration>,
    /// Begin so many transactions in a second, all sessions together.
    pub rate: Option<f64>,
}

/// What to run on what.
pub struct Job<'j> {
    /// The database.
    pub database: &'j dyn Database,
    /// Its isolation settings, which the sessions take in turn.
    pub settings: &'j [Setting],
    /// The load.
    pub workload: &'j dyn Workload,
    /// The right to the load's tables.
    pub claim: &'j Claim,
    /// How many clients there are; they are spread over the nodes.
    pub sessions: u32,
    /// How much to do.
    pub pace: Pace,
    /// What goes wrong on purpose.
    pub nemesis: &'j Schedule,
    /// Decides what is random.
    pub seed: u64,
}

impl<'j> Job<'j> {
    /// The isolation setting of a session.
    pub(crate) fn setting_of(&self, session: u32) -> &'j Setting {
        &self.settings[session as usize % self.settings.len()]
    }

    /// Begins the recording of a session, with the level that is promised of its setting.
    pub(crate) fn record(
        &self,
        recorder: &Recorder,
        session: u32,
        name: Option<&Datum>,
    ) -> std::io::Result<SessionRecorder> {
        let product = self.database.describe().product;
        match promise(&product, &self.setting_of(session).name) {
            Some(promise) => recorder.session_at(name, promise.name()),
            None => recorder.session(name),
        }
    }
}

/// How the caller watches and ends a run.
pub struct Control<'c> {
    /// Whether to stop; asked a few times in a second.
    pub is_stopped: &'c dyn Fn() -> bool,
    /// Told how far the run is, a few times in a second.
    pub progress: &'c dyn Fn(&Progress),
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Time since the clients started.
    pub elapsed: Duration,
    /// How transactions ended so far.
    pub tally: Tally,
    /// Commits in the last second or so.
    pub commits_per_second: f64,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Everything that was asked for was done.
    Done,
    /// It was stopped.
    Stopped,
}

/// Something that the nemesis did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// When, since the clients started.
    pub at: Duration,
    /// What.
    pub fault: Fault,
    /// The session that it struck, if it was one.
    pub session: Option<usize>,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Summary {
    /// From the first begin to the last end of a client.
    pub elapsed: Duration,
    /// How transactions ended.
    pub tally: Tally,
    /// How many connections were lost or dropped.
    pub reconnects: u64,
    /// Why transactions were aborted, by the database's codes or words, most frequent first.
    pub reasons: Vec<(String, u64)>,
    /// Why outcomes are unknown, likewise.
    pub unknown_reasons: Vec<(String, u64)>,
    /// The clients that had no connection at the end.
    pub absent: Vec<Absent>,
    /// What the nemesis did.
    pub events: Vec<Event>,
    /// Why it ended.
    pub ended: Ended,
    /// Why the final read did not take place; `None` if it did.
    pub no_final_read: Option<String>,
    /// What the workload says about the last state.
    pub remark: Option<String>,
}

impl Summary {
    /// Commits in a second.
    pub fn commits_per_second(&self) -> f64 {
        self.tally.committed as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// Prepares the tables, runs the load, and reads everything at the end.
///
/// Without a recorder nothing is written down, which shows what recording costs.
pub fn run(
    job: &Job<'_>,
    recorder: Option<&Recorder>,
    server: Option<&mut Server>,
    control: &Control<'_>,
) -> Result<Summary, RunError> {
    check_abilities(job.database, job.workload)?;
    prepare(job, recorder)?;
    let shared = Shared::new(&job.pace, job.sessions as usize);
    if let Some(recorder) = recorder {
        recorder.open()?;
    }
    let events = run_clients(job, &shared, recorder, server, control)?;
    if let Some(recorder) = recorder {
        recorder.close()?;
    }
    let elapsed = shared.started.elapsed();
    if let Some(error) = shared.take_error() {
        return Err(error);
    }
    let absent = shared.absent();
    // A server that no client could reach any more is not waited for a second time.
    let patience = if absent.len() < job.sessions as usize { patience(job) } else { Duration::ZERO };
    let last = final_read::read_everything(job, recorder, patience)?;
    recorder.map(Recorder::flush).transpose()?;
    Ok(Summary {
        elapsed,
        tally: shared.tally(),
        reconnects: shared.reconnects.load(Ordering::Relaxed),
        reasons: shared.reasons(),
        unknown_reasons: shared.unknown_reasons(),
        absent,
        events,
        ended: if shared.is_stopped() { Ended::Stopped } else { Ended::Done },
        no_final_read: last.as_ref().err().cloned(),
        remark: last.ok().and_then(|last| job.workload.remark(&last)),
    })
}

/// How long a server may be away: one that the run kills is waited for until it has recovered.
fn patience(job: &Job<'_>) -> Duration {
    if job.nemesis.kills_server() { start::PATIENCE } else { start::SHORT_PATIENCE }
}

/// Whether a database can do what a workload asks for.
///
/// # Errors
/// If it cannot, with what is missing.
pub fn check_abilities(database: &dyn Database, workload: &dyn Workload) -> Result<(), RunError> {
    let basic = [StatementKind::Read, StatementKind::Write];
    let missing = basic.into_iter().chain(workload.needs()).find(|&kind| !database.supports(kind));
    match missing {
        None => Ok(()),
        Some(kind) => Err(RunError::Database(format!(
            "the workload needs {}, which {} cannot do; --workload general needs only reads and writes by key",
            kind.words(),
            database.describe().product
        ))),
    }
}

/// Keeps other runs away from the tables of a workload as long as the claim lives; refused if another run has them.
pub fn claim(database: &dyn Database, workload: &dyn Workload) -> Result<Claim, RunError> {
    let relations = workload.relations();
    let tables: Vec<&str> = relations.iter().map(|relation| relation.table.name.as_str()).collect();
    database.claim(&tables).map_err(|failure| RunError::of("claiming the tables", &failure))
}

/// Creates the tables and records what they hold.
fn prepare(job: &Job<'_>, recorder: Option<&Recorder>) -> Result<(), RunError> {
    let relations = job.workload.relations();
    let tables: Vec<_> = relations.iter().map(|relation| relation.table.clone()).collect();
    job.database.prepare(&tables).map_err(|failure| RunError::of("creating the tables", &failure))?;
    let Some(recorder) = recorder else { return Ok(()) };
    const PAIRS_IN_A_LINE: usize = 100;
    for relation in relations {
        for part in relation.table.rows.chunks(PAIRS_IN_A_LINE) {
            let pair = |(key, values): &(Datum, Vec<Datum>)| {
                (relation.recorded_key(key), relation.recorded_value(values))
            };
            recorder.initial(&part.iter().map(pair).collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

fn run_clients(
    job: &Job<'_>,
    shared: &Shared,
    recorder: Option<&Recorder>,
    server: Option<&mut Server>,
    control: &Control<'_>,
) -> Result<Vec<Event>, RunError> {
    let clients = (0..job.sessions)
        .map(|number| client(job, shared, recorder, number))
        .collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = clients.into_iter().map(|client| scope.spawn(|| client.run())).collect();
        let events = watch(job, shared, recorder, server, control);
        let failed = threads.into_iter().map(|thread| thread.join()).filter(Result::is_err).count();
        if failed > 0 {
            shared.fail(RunError::Database("a client of the run failed; this is a bug of isoscope".into()));
        }
        events
    })
}

fn client<'r>(
    job: &Job<'r>,
    shared: &'r Shared,
    recorder: Option<&Recorder>,
    number: u32,
) -> Result<Client<'r>, RunError> {
    let per_session = |rate: f64| Duration::from_secs_f64(f64::from(job.sessions) / rate.max(1e-6));
    Ok(Client {
        number: number as usize,
        node: number as usize % job.database.node_count().max(1),
        database: job.database,
        setting: job.setting_of(number),
        abilities: Abilities::of(job.database),
        transactions: job.workload.client(number),
        recorder: recorder.map(|recorder| job.record(recorder, number, None)).transpose()?,
        shared,
        interval: job.pace.rate.map(per_session),
        random: random_of(!job.seed, number),
        patience: patience(job),
        was_connected: false,
    })
}

/// Watches until all clients have ended; gives back what the nemesis did.
fn watch(
    job: &Job<'_>,
    shared: &Shared,
    recorder: Option<&Recorder>,
    mut server: Option<&mut Server>,
    control: &Control<'_>,
) -> Result<Vec<Event>, RunError> {
    const INTERVAL: Duration = Duration::from_millis(10);
    let mut due = job.nemesis.start(job.seed);
    let mut events = Vec::new();
    let mut speed = Speed::default();
    while shared.running.load(Ordering::Relaxed) > 0 {
        std::thread::sleep(INTERVAL);
        recorder.map(Recorder::mark).transpose().inspect_err(|_| shared.stop())?;
        if (control.is_stopped)() {
            shared.stop();
        }
        let elapsed = shared.started.elapsed();
        if let Some(commits_per_second) = speed.measure(elapsed, shared.tally().committed) {
            (control.progress)(&Progress { elapsed, tally: shared.tally(), commits_per_second });
        }
        if shared.is_over() {
            continue;
        }
        for fault in due.at(elapsed) {
            let event = Event { at: elapsed, fault, session: None };
            let session = strike(job, shared, &mut due, fault, server.as_deref_mut());
            let event = Event { session: session.inspect_err(|_| shared.stop())?, ..event };
            note_event(recorder, &event).inspect_err(|_| shared.stop())?;
            events.push(event);
        }
    }
    Ok(events)
}

/// Does it, and says to which session if to one.
fn strike(
    job: &Job<'_>,
    shared: &Shared,
    due: &mut Due,
    fault: Fault,
    server: Option<&mut Server>,
) -> Result<Option<usize>, RunError> {
    let victim = due.victim(job.sessions as usize);
    match fault {
        Fault::KillServer => {
            let server = server.ok_or_else(no_server)?;
            server.kill_and_restart().map_err(|error| {
                RunError::Database(format!("the server could not be started again: {error}"))
            })?;
            return Ok(None);
        }
        Fault::PauseSession(time) => shared.board.put(victim, Disturbance::Pause(time)),
        Fault::DropConnection => {
            let node = victim % job.database.node_count().max(1);
            let id = shared.board.server_id(victim);
            // Where the server cannot do it, the client does; that is never in the middle of a commit.
            if id.is_none_or(|id| job.database.drop_connection(node, id).is_err()) {
                shared.board.put(victim, Disturbance::Drop);
            }
        }
    }
    Ok(Some(victim))
}

fn no_server() -> RunError {
    RunError::Database("kill-server needs a server that isoscope started: give --server-command".into())
}

fn note_event(recorder: Option<&Recorder>, event: &Event) -> Result<(), RunError> {
    let Some(recorder) = recorder else { return Ok(()) };
    let mut columns = vec![
        ("nemesis".into(), Datum::from(event.fault.name())),
        ("at".into(), Datum::Int(recorder.now_ns())),
    ];
    columns.extend(event.session.map(|session| ("session".into(), Datum::Int(session as i64))));
    Ok(recorder.note(&Datum::row(columns))?)
}

/// Commits in a second, measured a few times in a second over the last one.
#[derive(Default)]
struct Speed {
    samples: std::collections::VecDeque<(Duration, u64)>,
    last: Option<Instant>,
}

impl Speed {
    fn measure(&mut self, elapsed: Duration, committed: u64) -> Option<f64> {
        const INTERVAL: Duration = Duration::from_millis(200);
        const SAMPLES: usize = 6;
        if self.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return None;
        }
        self.last = Some(Instant::now());
        self.samples.push_back((elapsed, committed));
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
        let &(first, before) = self.samples.front()?;
        let seconds = (elapsed - first).as_secs_f64();
        Some(if seconds > 0.0 { (committed - before) as f64 / seconds } else { 0.0 })
    }
}
