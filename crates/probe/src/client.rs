//! One session in a thread of its own, so that it may wait while the others go on.

use std::sync::mpsc::{Receiver, Sender, channel};

use databases::{Database, Failure, Reply, Session, Setting};

use crate::Action;

/// Which client, counted over the whole probe: a client that was given up may still answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClientId(pub u64);

/// What a client is asked.
pub(crate) struct Request {
    /// Begin a transaction first.
    pub begin: Option<Setting>,
    /// What to do.
    pub action: Action,
}

/// What a client answered.
pub(crate) struct ClientReply {
    /// The session that answers.
    pub client: ClientId,
    /// The answer of a statement, or nothing for the end of a transaction.
    pub outcome: Result<Option<Reply>, Failure>,
}

/// A session and the way to its thread, which ends when this is dropped and the session answers.
pub(crate) struct ProbeClient {
    pub id: ClientId,
    /// Which node it is connected to.
    pub node: usize,
    /// The node's id of the session.
    pub session: Option<u64>,
    requests: Sender<Request>,
}

impl ProbeClient {
    /// Connects to a node.
    pub fn connect(
        database: &dyn Database,
        node: usize,
        id: ClientId,
        replies: Sender<ClientReply>,
    ) -> Result<ProbeClient, Failure> {
        let session = database.connect(node)?;
        let (requests, inbox) = channel();
        let session_id = session.id();
        let thread = std::thread::Builder::new().name(format!("session {}", id.0));
        let started = thread.spawn(move || serve(session, id, &inbox, &replies));
        started.map_err(|error| Failure::refused(format!("no thread for a session: {error}")))?;
        Ok(ProbeClient { id, node, session: session_id, requests })
    }

    /// Asks; the answer comes as a [`ClientReply`].
    pub fn ask(&self, request: Request) -> Result<(), Failure> {
        self.requests.send(request).map_err(|_| Failure::refused("the thread of a session has ended"))
    }
}

fn serve(
    mut session: Box<dyn Session>,
    client: ClientId,
    inbox: &Receiver<Request>,
    replies: &Sender<ClientReply>,
) {
    for request in inbox {
        let outcome = perform(session.as_mut(), &request);
        if replies.send(ClientReply { client, outcome }).is_err() {
            return;
        }
    }
}

fn perform(session: &mut dyn Session, request: &Request) -> Result<Option<Reply>, Failure> {
    if let Some(setting) = &request.begin {
        session.begin(setting)?;
    }
    match &request.action {
        Action::Ask(statement) => session.execute(statement).map(Some),
        Action::Commit => session.commit().map(|()| None),
        Action::Abort => session.abort().map(|()| None),
    }
}
