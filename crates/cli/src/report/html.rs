//! The answer as a page with pictures.

use std::path::Path;

use isoscope::{Chances, LazyIndex};
use picture::Page;

use super::Report;
use crate::exit::Failure;
use crate::files::write_whole;
use crate::power;
use crate::screen::Form;

/// Writes a page to a file, whole or not at all.
pub fn write(file: &Path, page: &Page<'_>) -> Result<(), Failure> {
    write_whole(file, Form::Text, |out| Ok(out.write_all(picture::html(page).as_bytes())?))
}

/// The page of a report: the levels, and what shows the violations.
pub fn page<'r>(report: &Report<'r>) -> Page<'r> {
    let history = &report.subject.history;
    let chances = Chances::of(history, &LazyIndex::default());
    Page {
        title: report.subject.name.clone(),
        about: format!("{} {}", report.sentence(), report.subject.counts()),
        history: Some(history),
        verdicts: picture::verdict_rows(&report.answers, &report.witnesses),
        witnesses: report.witnesses.clone(),
        power: power::rows(&chances),
        power_note: power::sentence(history, &chances),
        commands: commands(report),
        faults: faults(history),
        ..Page::default()
    }
}

/// What the recording notes beside transactions, such as what the nemesis did.
fn faults(history: &history::History) -> Vec<String> {
    const MOST_FAULTS: usize = 200;
    let notes = history.notes();
    let shown = notes.iter().take(MOST_FAULTS).map(|note| format!("at {}: {}", note.time, note.text));
    let more = notes.len().saturating_sub(MOST_FAULTS);
    let more = (more > 0).then(|| format!("and {more} more"));
    shown.chain(more).collect()
}

fn commands(report: &Report<'_>) -> Vec<String> {
    let name = &report.subject.name;
    let mut commands = vec![format!("isoscope check {name}")];
    for witness in &report.witnesses {
        commands.push(format!("isoscope explain {name} --level {}", witness.level));
        commands.push(format!("isoscope shrink {name} --level {} -o small.txt --to notation", witness.level));
    }
    commands
}
