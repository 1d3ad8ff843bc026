//! Connecting with patience: a server that is being started, or started again, is waited for.

use std::time::{Duration, Instant};

use databases::{Database, Failure, FailureKind, Session, Url};

use crate::RunError;

/// How long a server may be away that is started, or that the run itself kills.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How long any other server may be away.
pub(crate) const SHORT_PATIENCE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Opens the database of a server that was just started: it is waited for until it answers.
pub fn open_with_patience(
    urls: &[Url],
    is_stopped: &dyn Fn() -> bool,
) -> Result<Box<dyn Database>, RunError> {
    let opened = patiently(PATIENCE, is_stopped, || databases::open(urls));
    let opened = opened.map_err(|failure| RunError::of("connecting", &failure))?;
    opened.ok_or_else(|| RunError::Database("stopped while the server was starting".into()))
}

/// Connects; a server that does not answer is asked again until the patience is over, which is a failure. `None` if the
/// run was stopped.
pub(crate) fn connect(
    database: &dyn Database,
    node: usize,
    patience: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Box<dyn Session>>, Failure> {
    patiently(patience, is_stopped, || database.connect(node))
}

/// Connects to the next of these nodes that answers; only if none does until the patience is over, that is a failure.
pub(crate) fn connect_to_any(
    database: &dyn Database,
    patience: Duration,
    nodes: &mut dyn Iterator<Item = usize>,
) -> Result<Box<dyn Session>, Failure> {
    let mut next = || nodes.next().unwrap_or(0);
    let connected = patiently(patience, &|| false, || database.connect(next()))?;
    connected.ok_or_else(|| Failure::refused("stopped, although nothing stops it"))
}

fn patiently<T>(
    patience: Duration,
    is_stopped: &dyn Fn() -> bool,
    mut connect: impl FnMut() -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let deadline = Instant::now() + patience;
    let mut pause = FIRST_PAUSE;
    loop {
        let failure = match connect() {
            Ok(connected) => return Ok(Some(connected)),
            Err(failure) => failure,
        };
        if failure.kind == FailureKind::Refused || Instant::now() > deadline {
            return Err(failure);
        }
        if is_stopped() {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
