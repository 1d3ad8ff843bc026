//! Reads a recording in pieces.
//!
//! Whatever only a reader of the whole can judge gives no piece: errors, a last line that is cut off, a recording that
//! broke off, and initial values that come after the first transactions.

use std::io::Read;

use formats::native_jsonl::LineReader;
use history::{Builder, Clock, Datum, History, Piece, PieceIds};

/// Reads pieces.
pub(super) struct PieceReader {
    input: Box<dyn Read + Send>,
    piece_bytes: usize,
    /// What was read and is no whole line yet.
    buffer: Vec<u8>,
    held: usize,
    lines: LineReader,
    ids: PieceIds,
    /// The names of sessions that were introduced, by their numbers here.
    names: Vec<Option<Datum>>,
    clock: Clock,
}

/// No line is longer than this.
const LONGEST_LINE: usize = 64 << 20;

impl PieceReader {
    pub fn new(input: Box<dyn Read + Send>, piece_bytes: usize) -> Self {
        Self {
            input,
            piece_bytes,
            buffer: Vec::new(),
            held: 0,
            lines: LineReader::new("the recording"),
            ids: PieceIds::default(),
            names: Vec::new(),
            clock: Clock::default(),
        }
    }

    /// The next piece, `Some(None)` after the last one, and `None` where the recording has to be read whole.
    pub fn next(&mut self) -> Option<Option<Piece>> {
        let is_at_end = self.fill()?;
        let whole = last_line_break(&self.buffer[..self.held]).map_or(0, |at| at + 1);
        if is_at_end && whole < self.held || !is_at_end && whole == 0 {
            return None;
        }
        if self.held == 0 {
            return Some(None);
        }
        let is_first = self.lines.lines() == 0;
        let batch = self.lines.read(&self.buffer[..whole]).ok()?;
        self.buffer.copy_within(whole..self.held, 0);
        self.held -= whole;
        if batch.has_initial && !is_first {
            return None;
        }
        self.clock = batch.history.clock();
        for (number, name) in batch.introduced {
            let session = self.ids.session(number);
            self.names.resize(self.names.len().max(session.index() + 1), None);
            self.names[session.index()] = name;
        }
        self.ids.next(batch.history, batch.order, &batch.sessions).map(Some)
    }

    /// Fills the buffer up to the size of a piece, and on until there is a whole line; whether the input has ended.
    fn fill(&mut self) -> Option<bool> {
        let mut wanted = self.piece_bytes.max(self.held + 1);
        loop {
            self.buffer.resize(self.buffer.len().max(wanted), 0);
            while self.held < wanted {
                match self.input.read(&mut self.buffer[self.held..wanted]) {
                    Ok(0) => return Some(true),
                    Ok(count) => self.held += count,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => return None,
                }
            }
            if last_line_break(&self.buffer[..self.held]).is_some() {
                return Some(false);
            }
            wanted = (2 * wanted <= LONGEST_LINE).then_some(2 * wanted)?;
        }
    }

    /// A history with the sessions and the clock of a recording that was read to its end; `None` if it broke off.
    pub fn outline(self) -> Option<History> {
        if self.lines.is_open() {
            return None;
        }
        let mut builder = Builder::new();
        builder.clock = self.clock;
        for session in 0..self.ids.session_count() {
            match self.names.get(session).cloned().flatten() {
                Some(name) => builder.named_session(name),
                None => builder.session(),
            };
        }
        Some(builder.finish())
    }
}

fn last_line_break(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|&byte| byte == b'\n')
}
