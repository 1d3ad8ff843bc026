//! A level of a large recording, decided while it is read, without holding it.
//!
//! The recording is read twice, in pieces. First the events run in the order of their times
//! ([`verify::RecordedRun`]), which gives an order that probably explains them; then the checker replays that order
//! ([`certify::PieceReplay`]). Both hold the pieces that they still need, one value for each key, and some bytes for each
//! transaction. If the checker accepts, the level holds. Otherwise there is no answer, and the caller has to read the
//! whole recording, which also shows its errors and violations.
//!
//! Of ten million transactions of eight operations (2.5 GB), an order takes 40 MB where the history takes 2 GB. Windows
//! as `watch` settles them hold still less, and took 63 s of the processor where this takes a third: settling costs more
//! than replaying, and a file can be read again.

mod chances;
mod read;

use std::sync::mpsc;
use std::time::Instant;

use certify::{Certificate, Level, PieceReplay, RealTime};
use history::{Clock, History, Outcome, Piece, Summary};
use levels::LevelId;
use verify::RecordedRun;

use crate::answer::{Answer, Decision};
use crate::chances::Chances;
use crate::monitor::Monitor;
use crate::skew::SkewReport;
use crate::watch::ReadAgain;
use chances::Slices;
use read::PieceReader;

/// A question about a recording in a file.
pub struct Recording<'r> {
    /// Opens the file at its beginning.
    pub open: ReadAgain,
    /// The level.
    pub level: LevelId,
    /// How far apart clocks may be, in nanoseconds.
    pub clock_skew: i64,
    /// With several threads, one reads while another decides.
    pub threads: usize,
    /// About so many bytes are read at a time.
    pub piece_bytes: usize,
    /// Says when to stop.
    pub monitor: &'r dyn Monitor,
}

/// What is known of a recording whose level holds.
#[derive(Debug)]
pub struct RecordingAnswer {
    /// That the level holds.
    pub answer: Answer,
    /// A history with the sessions of the recording, its clock and no transaction.
    pub outline: History,
    /// The counts.
    pub summary: Summary,
    /// How much the recording could have shown, estimated from some pieces.
    pub chances: Chances,
}

/// A file of this size or more is decided in pieces: a history takes about as much memory as four fifths of its text.
const LARGE: u64 = 1 << 30;

/// A file that is smaller is decided in pieces if it is larger than this share of the memory limit.
const SHARE_OF_LIMIT: u64 = 2;

/// The most that is read at a time, and the least.
const PIECE_BYTES: std::ops::RangeInclusive<u64> = 256 << 10..=8 << 20;

impl Recording<'_> {
    /// How many bytes to read at a time, if a file of this size is worth deciding in pieces where so much memory may be
    /// held.
    pub fn piece_bytes(file_bytes: u64, memory: Option<u64>) -> Option<usize> {
        let is_large = file_bytes >= LARGE || memory.is_some_and(|most| file_bytes >= most / SHARE_OF_LIMIT);
        let share = memory.unwrap_or(u64::MAX) / 64;
        let bytes = share.clamp(*PIECE_BYTES.start(), *PIECE_BYTES.end());
        (is_large && file_bytes >= 2 * bytes).then_some(bytes as usize)
    }

    /// Whether a level is decided in pieces: the order of times explains it, or is not asked.
    pub fn knows(level: LevelId) -> bool {
        let strict = [LevelId::StrictSerializable, LevelId::StrongSi];
        let is_implied = strict.into_iter().any(|strict| strict.implies(level));
        is_implied && level.engine().is_some_and(|engine| engine.core != certify::Core::Prefix)
    }

    /// The answer if the level holds and the order of times shows it; `None` if the whole recording has to be looked at.
    pub fn decide(&self) -> Option<RecordingAnswer> {
        let started = Instant::now();
        let own = self.level.engine().filter(|_| Self::knows(self.level))?;
        // Where begins and commits apart explain nothing, transactions as single events may, as for the whole history.
        let strict = Some(LevelId::StrictSerializable).filter(|strict| strict.implies(self.level));
        let instead = strict.and_then(LevelId::engine).filter(|_| own.events_per_txn() == 2);
        self.monitor.stage(&format!("checking {}", self.level));
        let replayed = self.replay(&own).or_else(|| self.replay(&instead?))?;
        let (outline, seen) = replayed;
        let chances =
            seen.slices.estimate(seen.summary.committed).filter(|found| found.read_conflicts > 0)?;
        let summary = seen.summary(&outline);
        let skew = skew_report(&own, &outline);
        let answer = Answer::plain(self.level.into(), Decision::Holds, started.elapsed());
        Some(RecordingAnswer { answer: Answer { skew, ..answer }, outline, summary, chances })
    }

    /// Looks for an order that explains the recording at a level, and has the checker replay it.
    fn replay(&self, level: &Level) -> Option<(History, Seen)> {
        // A larger skew obliges to less, so what holds without one holds with every skew.
        let level = level.with_clock_skew(0);
        let mut run = RecordedRun::new(&level);
        let mut piece_count = 0;
        self.read(|piece| {
            piece_count += 1;
            run.take(piece)
        })?;
        let Certificate::Holds { order, committed_unknown } = run.finish()? else { return None };
        let mut replay = PieceReplay::new(&level, &order, &committed_unknown).ok()?;
        let mut seen = Seen::new(piece_count);
        let outline = self.read(|piece| {
            seen.note(&piece);
            replay.take(piece).is_ok()
        })?;
        replay.finish().ok()?;
        Some((outline, seen))
    }

    /// Reads the recording, and hands out its pieces until one is not wanted; then, and if there is anything in it that
    /// only a reader of the whole can judge, there is no answer.
    fn read(&self, mut take: impl FnMut(Piece) -> bool) -> Option<History> {
        let mut reader = PieceReader::new((self.open)().ok()?, self.piece_bytes);
        let mut take = |piece: Piece| self.monitor.reached().is_none() && take(piece);
        if self.threads < 2 {
            while let Some(piece) = reader.next()? {
                take(piece).then_some(())?;
            }
            return self.outline(reader);
        }
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(1);
            let reading = scope.spawn(move || {
                while let Some(piece) = reader.next()? {
                    // Sending fails when the receiver wants no more pieces.
                    sender.send(piece).ok()?;
                }
                Some(reader)
            });
            let is_taken = receiver.iter().all(take);
            // Without a receiver the reader ends.
            drop(receiver);
            let reader = reading.join().ok()??;
            if is_taken { self.outline(reader) } else { None }
        })
    }

    fn outline(&self, reader: PieceReader) -> Option<History> {
        let outline = reader.outline()?;
        let is_senseless = self.clock_skew != 0 && outline.clock() == Clock::Position;
        (!is_senseless).then_some(outline)
    }
}

/// How the verdict depends on clocks: what holds without skew holds with every skew.
fn skew_report(level: &Level, outline: &History) -> Option<SkewReport> {
    let has_real_time = level.real_time != RealTime::Ignored && outline.clock() != Clock::Position;
    has_real_time.then_some(SkewReport::AnySkew)
}

/// What is counted while a recording is replayed.
struct Seen {
    summary: Summary,
    is_touched: Vec<bool>,
    slices: Slices,
}

impl Seen {
    fn new(piece_count: usize) -> Self {
        Self { summary: Summary::default(), is_touched: Vec::new(), slices: Slices::of(piece_count) }
    }

    fn note(&mut self, piece: &Piece) {
        self.slices.note(&piece.history);
        let most = piece.keys.iter().map(|key| key.index() + 1).max().unwrap_or(0);
        self.is_touched.resize(self.is_touched.len().max(most), false);
        let (history, summary) = (&piece.history, &mut self.summary);
        summary.transactions += history.txn_count();
        for txn in history.txns() {
            match history.outcome(txn) {
                Outcome::Aborted => summary.aborted += 1,
                Outcome::Unknown => summary.unknown += 1,
                Outcome::Committed => {
                    summary.committed += 1;
                    for (_, op) in history.ops(txn) {
                        summary.operations += 1;
                        let key = op.key();
                        key.into_iter().for_each(|key| self.is_touched[piece.key(key).index()] = true);
                    }
                }
            }
        }
    }

    fn summary(&self, outline: &History) -> Summary {
        let keys = self.is_touched.iter().filter(|&&is_touched| is_touched).count();
        Summary { sessions: outline.session_count(), keys, ..self.summary }
    }
}
