//! The answer as a page with pictures.

use std::path::Path;

use history::Index;
use isoscope::{Answer, Chances, Decision};
use picture::{Page, VerdictRow};

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
    let chances = Chances::of(history, &Index::of(history));
    Page {
        title: report.subject.name.clone(),
        about: format!("{} {}", report.sentence(), report.subject.counts()),
        history: Some(history),
        verdicts: report.answers.iter().map(|answer| row(report, answer)).collect(),
        witnesses: report.witnesses.clone(),
        power: power::rows(&chances),
        power_note: power::sentence(history, &chances),
        commands: commands(report),
        ..Page::default()
    }
}

fn row(report: &Report<'_>, answer: &Answer) -> VerdictRow {
    let shown = |level: &isoscope::AskedLevel| {
        report.witnesses.iter().position(|witness| level == &witness.level || level.implies(&witness.level))
    };
    let same = || {
        let same = report.answers.iter().filter(|other| other.explanation == answer.explanation);
        same.filter_map(|other| shown(&other.level)).next()
    };
    let is_violated = answer.decision == Decision::Violated;
    let witness = shown(&answer.level).or_else(same).filter(|_| is_violated);
    let note = match witness.map(|witness| &report.witnesses[witness]) {
        Some(witness) if answer.level == witness.level => witness.headline.clone(),
        Some(witness) => format!("{}, as for {}", witness.name(), witness.level),
        None => answer.reason().unwrap_or_default(),
    };
    VerdictRow { level: answer.level.name().to_owned(), verdict: answer.decision.word(), note, witness }
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
