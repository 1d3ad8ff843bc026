//! Levels whose texts are made up, against the reference semantics of the texts.
//!
//! A text is a random positive expression over the relations of the language, or one of the standard library. So the classification of texts and every
//! way to evaluate them are tried, also those that no shipped level uses.

use history::History;
use isoscope::{Asked, Check, Decision, Limits};
use spec::{SmallHistory, Spec};
use testkit::Random;
use testkit::generate::{self, Shape};

use super::{Disagreement, PATIENCE, Trial, examine};
use crate::tally::Tally;

/// A history of reads and writes of single keys at a level with a random text.
pub fn run(seed: u64, tally: &mut Tally) -> Result<(), Disagreement> {
    let mut random = Random::new(seed);
    let text = text(&mut random);
    let level = match Spec::parse("random.iso", &text) {
        Ok(parsed) => parsed.levels.into_iter().next(),
        Err(error) => return Err(disagreement(seed, format!("its text does not parse: {error}: {text}"))),
    };
    let Some(level) = level else { return Err(disagreement(seed, format!("no level in {text}"))) };
    let mut shape = Shape::any(&mut random);
    shape.most_txns = shape.most_txns.min(6);
    let history = generate::history(seed, &shape);
    examine(Trial::Texts, seed, &history, tally, &|history, tally| problem(history, &level, &text, tally))
}

fn disagreement(seed: u64, problem: String) -> Disagreement {
    Disagreement { trial: Trial::Texts.name(), seed, problem, history: String::new() }
}

fn problem(history: &History, level: &spec::Level, text: &str, tally: &mut Tally) -> Option<String> {
    let limits = Limits::start(Some(PATIENCE), None).ok()?;
    let mut asked = Asked::default();
    asked.add_own([level.clone()]);
    let report = match Check::new(history).levels(asked).skews(false).monitor(&limits).run() {
        Ok(report) => report,
        Err(error) => return Some(format!("{error} at {text}")),
    };
    let answer = report.answers.first()?;
    tally.answer(Trial::Texts.name(), answer, true);
    if answer.decision.is_undecided() {
        return None;
    }
    let readings = SmallHistory::readings(history, 0, level).ok()?;
    let holds = readings.iter().any(|reading| spec::oracle::holds(reading, level));
    let word = if holds { "holds" } else { "violated" };
    (holds != (answer.decision == Decision::Holds))
        .then(|| format!("isoscope says {}, the text {word}: {text}", answer.decision.word()))
}

/// The text of a level: one of the standard library that is no part of the lattice, or one with up to eight relations
/// in what is visible.
fn text(random: &mut Random) -> String {
    if random.percent(25) {
        let guarantees = spec::library::file("std/guarantees.iso").unwrap_or_default();
        let levels =
            Spec::parse("std/guarantees.iso", guarantees).map(|spec| spec.levels).unwrap_or_default();
        let timeless: Vec<_> = levels.into_iter().filter(|level| !level.needs_times()).collect();
        return format!("include \"std/relations.iso\"\n{}", random.pick(&timeless).text);
    }
    let size = 1 + random.below(8);
    let order = match random.below(4) {
        0 => "order = reads_from, ",
        _ => "",
    };
    format!("level random : {order}visible = {}", expression(random, size))
}

fn expression(random: &mut Random, size: usize) -> String {
    if size <= 1 {
        let words = ["session", "reads_from", "(conflict & before)", "before", "session", "reads_from"];
        return (*random.pick(&words)).to_owned();
    }
    let left = 1 + random.below(size - 1);
    match random.below(6) {
        0 | 1 => format!("({} | {})", expression(random, left), expression(random, size - left)),
        2 => format!("({} ; {})", expression(random, left), expression(random, size - left)),
        3 => format!("({} & {})", expression(random, left), expression(random, size - left)),
        4 => format!("({})+", expression(random, size - 1)),
        _ => format!("(({})? ; {})", expression(random, left), expression(random, size - left)),
    }
}
