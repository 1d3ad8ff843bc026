//! Large recordings, decided while they are read.
//!
//! Only `holds` is found out so. Where the level is violated, or more than the verdict is asked for, the whole history is
//! read afterwards.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use formats::{Format, Input};
use isoscope::{Asked, LevelId, Recording, Report};

use super::{Arguments, Question};
use crate::load::Subject;
use crate::report::shown::Shown;

/// The report on a large recording in the order of ends, if the one level that is asked holds and nothing else is asked.
pub(super) fn answer(question: &Question<'_>, asked: &Asked) -> Option<Report> {
    let level = asked.only_shipped().filter(|&level| Recording::knows(level))?;
    let Input::Path(path) = question.input.input() else { return None };
    let file = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let piece_bytes = Recording::piece_bytes(file.len(), question.monitor.limits.most_memory())?;
    if asks_for_more(question.arguments) || !is_native(&path) {
        return None;
    }
    let started = Instant::now();
    let found = recording(question, &path, level, piece_bytes).decide()?;
    let subject = Subject {
        name: question.input.name(),
        history: found.outline,
        format: Format::Native,
        warnings: Vec::new(),
        summary: found.summary,
        read_time: started.elapsed(),
    };
    question.shown.set(Shown { chances: Some(found.chances), nothing: None }).ok()?;
    question.subject.set(subject).ok()?;
    Some(Report { answers: vec![found.answer], not_asked: Vec::new() })
}

fn recording<'q>(
    question: &'q Question<'q>,
    path: &Path,
    level: LevelId,
    piece_bytes: usize,
) -> Recording<'q> {
    let path = path.to_owned();
    let skew = question.arguments.clock_skew.unwrap_or_default();
    Recording {
        open: Arc::new(move || Ok(Box::new(File::open(&path)?) as Box<dyn Read + Send>)),
        level,
        clock_skew: i64::try_from(skew.as_nanos()).unwrap_or(i64::MAX),
        threads: question.arguments.threads(),
        piece_bytes,
        monitor: &question.monitor,
    }
}

/// Whether something is asked for that needs the whole history: a proof, a page, witnesses, stages, other ways of reading.
fn asks_for_more(arguments: &Arguments) -> bool {
    let outputs =
        [&arguments.certificate, &arguments.reports.html, &arguments.baseline, &arguments.write_baseline];
    let reading = &arguments.reading;
    outputs.into_iter().any(Option::is_some)
        || arguments.stats
        || arguments.no_certify
        || !arguments.without.is_empty()
        || reading.initial_transaction
        || reading.input_limit.is_some()
        || reading.format.is_some_and(|format| format != Format::Native)
}

/// Whether a file begins as native lines do.
pub(super) fn is_native(path: &Path) -> bool {
    const HEADER: &[u8] = b"{\"isoscope\"";
    let mut head = [0; HEADER.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == HEADER
}
