//! One run: what it answered, and what is wrong with that.

use serde_json::Value;

use super::levels::{Lattice, name_of};
use crate::bench::table;

/// What checking may take however short the run was.
const SHORTEST_MS: f64 = 1000.0;

/// The answer of one run.
pub struct Cell {
    exit: i32,
    run: Value,
}

/// The levels that the first sentence names.
#[derive(Default, PartialEq, Eq, Debug)]
struct Said<'s> {
    holds: Vec<&'s str>,
    violated: Option<&'s str>,
    undecided: Option<&'s str>,
}

impl Cell {
    /// The answer of a command that made one run.
    pub fn read(exit: i32, text: &str) -> Option<Self> {
        let answer: Value = serde_json::from_str(text).ok()?;
        let run = answer["runs"][0].clone();
        run.is_object().then_some(Self { exit, run })
    }

    /// A row of the table.
    pub fn print(&self, names: &[&str; 3]) {
        let count = |name: &str| self.run["run"][name].as_u64().unwrap_or(0).to_string();
        let ms = |value: &Value| table::ms(value.as_f64().unwrap_or(0.0));
        let mut cells: Vec<String> = names.iter().map(ToString::to_string).collect();
        cells.extend([count("committed"), count("aborted")]);
        cells.extend([ms(&self.run["run"]["elapsed_ms"]), ms(&self.run["check_ms"])]);
        cells.extend([ms(&self.run["check_processor_ms"]), ms(&self.run["judged_ms"])]);
        cells.push(self.exit.to_string());
        cells.push(self.sentence().split_once(" gave ").map_or(self.sentence(), |(_, said)| said).to_owned());
        table::row(&cells);
    }

    /// Everything that is wrong with the answer. How long a short run takes says nothing.
    pub fn faults(&self, lattice: &Lattice, is_short: bool) -> Vec<String> {
        let mut faults = self.headline_faults(lattice);
        let judged = self.run["judged"][0]["verdict"].as_str().unwrap_or("not judged");
        let is_shown = self.run["check"]["nothing_shown"].is_null();
        let expected = match judged {
            "holds" if is_shown => 0,
            "violated" => 1,
            _ => 3,
        };
        if self.exit != expected {
            faults.push(format!("exit code {}, but the promised level is {judged}", self.exit));
        }
        if expected == 3 && (is_shown || !is_short) {
            let reason = self.run["check"]["nothing_shown"].as_str().unwrap_or(judged);
            faults.push(format!("the promised level is not decided: {reason}"));
        }
        let (run, check) = (self.run["run"]["elapsed_ms"].as_f64(), self.run["check_ms"].as_f64());
        if let (Some(run), Some(check)) = (run, check)
            && check > run.max(SHORTEST_MS)
            && !is_short
        {
            let judged = table::ms(self.run["judged_ms"].as_f64().unwrap_or(0.0));
            let (check, run) = (table::ms(check), table::ms(run));
            faults
                .push(format!("checking took {check}, {judged} of it for the promised level, the run {run}"));
        }
        faults
    }

    fn sentence(&self) -> &str {
        self.run["headline"].as_str().unwrap_or("no answer")
    }

    /// Where the first sentence says something else than the verdicts.
    fn headline_faults(&self, lattice: &Lattice) -> Vec<String> {
        let said = Said::read(self.sentence());
        let named = said.holds.iter().map(|&level| (level, "holds"));
        let named = named.chain(said.violated.map(|level| (level, "violated")));
        let named = named.chain(said.undecided.map(|level| (level, "undecided")));
        let mut faults: Vec<String> = named
            .filter(|&(level, said)| self.verdict(level) != said)
            .map(|(level, said)| {
                format!("the first sentence has {level} as {said}, the verdict is {}", self.verdict(level))
            })
            .collect();
        for level in self.levels().filter(|level| self.verdict(level) == "holds") {
            let is_weaker = |named: &&str| lattice.is_stronger(level, named);
            if said.holds.iter().any(is_weaker) {
                faults.push(format!("the first sentence does not name {level}, which holds"));
            }
        }
        faults
    }

    fn levels(&self) -> impl Iterator<Item = &str> {
        let verdicts = self.run["check"]["verdicts"].as_array();
        verdicts.into_iter().flatten().filter_map(|verdict| verdict["level"].as_str())
    }

    fn verdict(&self, level: &str) -> &str {
        let verdicts = self.run["check"]["verdicts"].as_array();
        let found = verdicts.into_iter().flatten().find(|verdict| verdict["level"] == level);
        found.and_then(|verdict| verdict["verdict"].as_str()).unwrap_or("was not asked")
    }
}

impl<'s> Said<'s> {
    /// From `SUBJECT gave A and B, not C: what happened; D is undecided.`, every part of which may be missing.
    fn read(sentence: &'s str) -> Self {
        let sentence = sentence.trim_end_matches('.');
        let (sentence, open) = match sentence.rsplit_once("; ") {
            Some((before, open)) => (before, open.strip_suffix(" is undecided")),
            None => (sentence, None),
        };
        let undecided = open.map(name_of);
        let plain = |text: &'s str| text.split_once(": ").map_or(text, |(levels, _)| levels);
        if let Some((_, violated)) = sentence.split_once(" did not give ") {
            return Self { holds: Vec::new(), violated: Some(name_of(plain(violated))), undecided };
        }
        let Some((_, said)) = sentence.split_once(" gave ") else {
            return Self { undecided, ..Self::default() };
        };
        let (holds, violated) = match plain(said).split_once(", not ") {
            Some((holds, violated)) => (holds, Some(name_of(violated))),
            None => (plain(said), None),
        };
        Self { holds: holds.split(" and ").map(name_of).collect(), violated, undecided }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Cell, Said};
    use crate::matrix::levels::Lattice;

    fn cell(exit: i32, headline: &str, verdicts: &[(&str, &str)]) -> Cell {
        let verdicts: Vec<_> =
            verdicts.iter().map(|(level, verdict)| json!({"level": level, "verdict": verdict})).collect();
        let judged = json!([{"level": "serializable", "verdict": verdicts[1]["verdict"]}]);
        let run = json!({"headline": headline, "judged": judged, "check": {"verdicts": verdicts},
            "run": {"elapsed_ms": 1500.0}, "check_ms": 2000.0, "judged_ms": 1700.0});
        Cell { exit, run }
    }

    #[test]
    fn a_sentence_is_read_into_levels() {
        let said = Said::read(
            "X 1.2 at y gave strong snapshot isolation, not serializability: a: b; prefix consistency is undecided.",
        );
        let expected =
            Said { holds: vec!["strong-si"], violated: Some("serializable"), undecided: Some("prefix") };
        assert_eq!(said, expected);
        assert_eq!(Said::read("X did not give pl-2.").violated, Some("pl-2"));
    }

    #[test]
    fn an_answer_that_contradicts_itself_is_found() {
        let lattice = Lattice::chain(&["strict-serializable", "serializable"]);
        let verdicts = [("strict-serializable", "holds"), ("serializable", "holds")];
        let right = cell(0, "X gave strict serializability.", &verdicts);
        assert_eq!(right.faults(&lattice, true), [""; 0]);
        assert_eq!(
            right.faults(&lattice, false),
            ["checking took 2.00 s, 1.70 s of it for the promised level, the run 1.50 s"]
        );
        let wrong = cell(1, "X gave serializability, not strict serializability.", &verdicts);
        let faults = wrong.faults(&lattice, true);
        assert_eq!(faults.len(), 3, "{faults:?}");
        let open = cell(
            3,
            "X is undecided: why.",
            &[("strict-serializable", "undecided"), ("serializable", "undecided")],
        );
        assert_eq!(open.faults(&lattice, true), ["the promised level is not decided: undecided"]);
    }
}
