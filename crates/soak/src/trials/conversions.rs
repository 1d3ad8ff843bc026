//! A history and what becomes of it in each format that is written: the writer refuses it, or no verdict changes.

use history::History;
use isoscope::Answer;
use isoscope::formats::{Format, ReadOptions, WriteOptions, read_bytes, write_to};
use testkit::generate_rows::{self, RowKind};
use testkit::{Random, generate, generate_mixed};

use super::{Disagreement, Trial, answerable, ask, difference, examine};
use crate::tally::Tally;

/// One history in every format.
pub fn run(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let mut random = Random::new(seed);
    let history = match random.below(3) {
        0 => generate_mixed::history(seed),
        1 => generate_rows::history(seed, *random.pick(&RowKind::ALL)),
        _ => generate::history(seed, &generate::Shape::any(&mut random)),
    };
    examine(Trial::Conversions, seed, &history, tally, &|history, tally| match problem(history) {
        Err(problem) => Some(problem),
        Ok(answers) => {
            answers.iter().for_each(|answer| tally.answer(Trial::Conversions.name(), answer, true));
            None
        }
    })
}

fn problem(history: &History) -> Result<Vec<Answer>, String> {
    let answers = ask(history, &answerable(history), |check| check)?.answers;
    for format in Format::ALL.into_iter().filter(|format| format.can_write()) {
        let Some(converted) = convert(history, format)? else { continue };
        let levels = answerable(&converted);
        let again = ask(&converted, &levels, |check| check)?.answers;
        if let Some(problem) = difference(&format!("written as {format}"), &answers, &again) {
            return Err(problem);
        }
    }
    Ok(answers)
}

/// The history written and read again; nothing if the format cannot express it without a loss.
fn convert(history: &History, format: Format) -> Result<Option<History>, String> {
    let mut bytes = Vec::new();
    let Ok(warnings) = write_to(history, format, &mut bytes, &WriteOptions::default()) else {
        return Ok(None);
    };
    if !warnings.is_empty() {
        return Ok(None);
    }
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    match read_bytes("converted", &bytes, &options) {
        Ok(loaded) => Ok(Some(loaded.history)),
        Err(error) => Err(format!("written as {format}, it cannot be read: {error}")),
    }
}
