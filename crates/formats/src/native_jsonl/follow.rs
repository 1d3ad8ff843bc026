//! Native lines while they are written: a small history for every block of lines.
//!
//! The reader is the one of whole files; after each block what it read is handed out, and only what later lines need
//! stays: the header, which sessions there are, and what the recorder said about itself.

use std::collections::BTreeMap;

use history::{Datum, History, SessionId, TxnId};

use super::read::{Followed, Reader};
use crate::Error;
use crate::source::Block;

/// Reads a recording block by block.
#[derive(Default)]
pub struct LineReader {
    file: String,
    reader: Reader,
    lines: u64,
}

/// What a block of lines says.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The transactions of the block, with the initial state as far as the block tells it.
    pub history: History,
    /// The transactions in the order of their lines.
    pub order: Vec<TxnId>,
    /// The number of each session of the history in the recording.
    pub sessions: Vec<u64>,
    /// Whether transactions have names of their own.
    pub has_names: bool,
    /// Whether the block says what keys hold at first.
    pub has_initial: bool,
    /// Sessions that were introduced, with their names.
    pub introduced: Vec<(u64, Option<Datum>)>,
    /// All transactions that began before this moment are recorded in this block or an earlier one.
    pub before: Option<i64>,
    /// Every transaction that wrote something is recorded.
    pub is_closed: bool,
    /// Whether the recorder promised to say when it is done, and has not yet.
    pub is_open: bool,
}

impl LineReader {
    /// A reader that names the file in errors.
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Goes on after so many lines of a recording that were read before, of which these are the sessions.
    pub fn resume(
        file: &str,
        lines: u64,
        clock: history::Clock,
        sessions: impl IntoIterator<Item = u64>,
    ) -> Self {
        let mut reader = Self { lines, ..Self::new(file) };
        reader.reader.has_header = true;
        reader.reader.builder.clock = clock;
        reader.reader.followed.earlier.extend(sessions);
        reader
    }

    /// The recording goes on in another file, which may begin with a header and introduce its sessions again.
    pub fn rotate(&mut self) {
        self.reader.followed.is_rotated = true;
        self.reader.followed.earlier.clear();
    }

    /// Whether the recorder promised to say when it is done, and has not yet.
    pub fn is_open(&self) -> bool {
        self.reader.is_open()
    }

    /// How many lines were read.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Reads whole lines.
    ///
    /// # Errors
    /// If they are no lines of a recording, with the place.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Batch, Error> {
        let block = Block { bytes, first_line: self.lines + 1, file: &self.file };
        self.reader.block(block)?;
        self.lines += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let sessions: BTreeMap<SessionId, u64> =
            self.reader.sessions.iter().map(|(&number, &session)| (session, number)).collect();
        let history = self.reader.take().finish();
        let earlier = std::mem::take(&mut self.reader.followed.earlier);
        let is_rotated = self.reader.followed.is_rotated;
        let next = Followed { earlier, is_rotated, ..Followed::default() };
        let followed = std::mem::replace(&mut self.reader.followed, next);
        Ok(Batch {
            order: in_line_order(&history, &followed.order),
            history,
            sessions: sessions.into_values().collect(),
            has_names: followed.has_names,
            has_initial: followed.has_initial,
            introduced: followed.introduced,
            before: followed.before,
            is_closed: followed.is_closed,
            is_open: self.reader.is_open(),
        })
    }
}

/// The transactions of a history in the order of lines of which the sessions are known.
pub fn in_line_order(history: &History, sessions: &[SessionId]) -> Vec<TxnId> {
    let first = |session: SessionId| history.session_txns(session).next().map_or(0, |txn| txn.0);
    let mut next: Vec<u32> = history.sessions().map(first).collect();
    let mut take = |session: &SessionId| {
        let place = &mut next[session.index()];
        *place += 1;
        TxnId(*place - 1)
    };
    sessions.iter().map(&mut take).collect()
}
