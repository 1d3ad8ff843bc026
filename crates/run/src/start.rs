//! Connecting with patience: a server that is being started, or started again, is waited for.

use std::time::{Duration, Instant};

use databases::{Database, Failure, FailureKind, Session, Url};

use crate::RunError;

/// How long a server may be away.
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Opens the database of a server that was just started: it is waited for until it answers.
pub fn open_with_patience(
    urls: &[Url],
    is_stopped: &dyn Fn() -> bool,
) -> Result<Box<dyn Database>, RunError> {
    let opened = patiently(is_stopped, || databases::open(urls))?;
    opened.ok_or_else(|| RunError::Database("stopped while the server was starting".into()))
}

/// Connects; a server that does not answer is asked again until the patience is over. `None` if the run was stopped.
pub(crate) fn connect(
    database: &dyn Database,
    node: usize,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Box<dyn Session>>, RunError> {
    patiently(is_stopped, || database.connect(node))
}

/// Connects to the next of these nodes that answers; only if none does for a long time, that is a failure.
pub(crate) fn connect_to_any(
    database: &dyn Database,
    nodes: &mut dyn Iterator<Item = usize>,
) -> Result<Option<Box<dyn Session>>, RunError> {
    let mut next = || nodes.next().unwrap_or(0);
    patiently(&|| false, || database.connect(next()))
}

fn patiently<T>(
    is_stopped: &dyn Fn() -> bool,
    mut connect: impl FnMut() -> Result<T, Failure>,
) -> Result<Option<T>, RunError> {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = FIRST_PAUSE;
    loop {
        let failure = match connect() {
            Ok(connected) => return Ok(Some(connected)),
            Err(failure) => failure,
        };
        if failure.kind == FailureKind::Refused || Instant::now() > deadline {
            return Err(RunError::of("connecting", &failure));
        }
        if is_stopped() {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
