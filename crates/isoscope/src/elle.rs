//! Elle's question: does a history show anomalies that some consistency models forbid?
//!
//! The anomalies are looked for first (crate `anomalies`). Where none is found, the history may still violate a model:
//! registers tell no order of their versions, so dependencies can be hidden. Then the engine decides the level that
//! the model stands for, and a violation is reported as `MODEL-cycle-exists`, which is Elle's name for a violation
//! without a class. A model for which there is neither an anomaly nor a level is unknown, with the reason.
//!
//! As in Elle, a register whose value no transaction wrote is taken to have held that value at the beginning.

use anomalies::lattice::{self, Model, Names};
use anomalies::{Anomaly, Assumptions, Class, ClassSearch, Found, Tier};
use history::History;
use index::FindingKind;
use levels::LevelId;

use crate::answer::{Answer, Decision};
use crate::asked::Asked;
use crate::check::Check;
use crate::error::Error;
use crate::lazy_index::LazyIndex;
use crate::monitor::Monitor;
use crate::rewrite::{single_operations, without_internal_reads};

/// What is asked of a history.
#[derive(Clone, Debug, Default)]
pub struct ElleQuestion {
    /// The models that the history is expected to satisfy.
    pub models: Vec<Model>,
    /// Anomalies that it must not show, by their names in the lattice.
    pub anomalies: Vec<&'static str>,
    /// What is assumed about registers.
    pub assumptions: Assumptions,
    /// Whether a transaction need not see its own writes, nor the same value twice.
    pub without_internal: bool,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct ElleAnswer {
    /// Whether it is valid; `None` if that is not known.
    pub valid: Option<bool>,
    /// The names of what was found, sorted.
    pub anomaly_types: Vec<String>,
    /// What was found and is forbidden.
    pub anomalies: Vec<Anomaly>,
    /// What was found and was not asked for; it counts for `not` and `also_not`.
    pub allowed: Vec<Anomaly>,
    /// The weakest models that the history violates.
    pub not: Vec<&'static str>,
    /// Other models that it violates.
    pub also_not: Vec<&'static str>,
    /// Models that the engine found violated, each with the sentences that explain it.
    pub violated: Vec<(Model, Vec<String>)>,
    /// Why models are not decided.
    pub unknown: Vec<String>,
    /// What the answer rests on beside the history, by the names of the flags.
    pub assumptions: Vec<&'static str>,
    /// Whether no transaction is known to come before another one.
    pub is_unordered: bool,
    /// Whether there are ranges or predicates, which only the engine looks at.
    pub has_more: bool,
}

impl ElleQuestion {
    /// The anomalies that make a history invalid.
    pub fn forbidden(&self) -> Names {
        let mut forbidden = lattice::implying(self.anomalies.iter().copied());
        self.models.iter().for_each(|model| forbidden.extend(model.forbids()));
        if self.without_internal {
            forbidden.remove(Class::Internal.name());
        }
        forbidden
    }

    /// What the answer rests on beside the history.
    fn named_assumptions(&self) -> Vec<&'static str> {
        let internal = self.without_internal.then_some("without internal");
        self.assumptions.names().chain(internal).collect()
    }

    /// Decides.
    ///
    /// # Errors
    /// If the checker refuses a certificate of the engine.
    pub fn ask(&self, history: &History, monitor: &dyn Monitor) -> Result<ElleAnswer, Error> {
        let rest;
        let history = match self.without_internal {
            true => {
                (rest, _) = without_internal_reads(history);
                &rest
            }
            false => history,
        };
        let answer = self.ask_about(history, monitor)?;
        Ok(ElleAnswer { assumptions: self.named_assumptions(), ..answer })
    }

    fn ask_about(&self, history: &History, monitor: &dyn Monitor) -> Result<ElleAnswer, Error> {
        let forbidden = self.forbidden();
        let is_forbidden = |class: Class| forbidden.contains(class.name());
        let tier_of = |class: Class| match class {
            Class::Cycle(_, tier) => tier,
            _ => Tier::Data,
        };
        let tier = Class::all().filter(|&class| is_forbidden(class)).map(tier_of).max();
        let search = ClassSearch {
            assumptions: self.assumptions,
            tier: tier.unwrap_or(Tier::Data),
            only_most_severe: true,
            clock_skew: 0,
        };
        monitor.stage("looking for anomalies");
        let found = anomalies::find(history, &search, &is_forbidden);
        let mut answer = ElleAnswer::of(found);
        if answer.valid == Some(false) {
            let all = ClassSearch { tier: Tier::Data, ..search };
            answer.allowed = anomalies::find(history, &all, &|class| !is_forbidden(class)).anomalies;
        }
        if answer.valid.is_none() {
            self.ask_engine(history, monitor, &mut answer)?;
        }
        Ok(answer.finish())
    }

    fn ask_engine(
        &self,
        history: &History,
        monitor: &dyn Monitor,
        answer: &mut ElleAnswer,
    ) -> Result<(), Error> {
        let index = LazyIndex::default();
        let is_initial = |kind| kind == FindingKind::ThinAirRead;
        if index.of(history).findings().iter().any(|finding| is_initial(finding.kind)) {
            return Ok(());
        }
        for &model in &self.models {
            let single = single_level(model, history);
            let report = match (single, asked_of(model, history)) {
                (Some(level), _) => {
                    let single = single_operations(history);
                    Check::new(&single).level(level).monitor(monitor).skews(false).run()?
                }
                (None, Some(asked)) => {
                    Check::new(history).index(&index).levels(asked).monitor(monitor).skews(false).run()?
                }
                (None, None) => {
                    answer.unknown.extend(why_unknown(model, answer.has_more));
                    continue;
                }
            };
            report.answers.iter().for_each(|decided| answer.add(model, decided));
        }
        Ok(())
    }
}

/// Why nothing decides a model beyond the classes that it forbids.
fn why_unknown(model: Model, has_more: bool) -> Option<String> {
    let name = model.friendly_name();
    match (has_more, model.name()) {
        (true, _) => Some(format!("{name}: ranges and predicates were not looked at")),
        (false, "linearizable") => {
            Some(format!("{name} needs invocations beside completions, which this file does not have"))
        }
        (false, _) if model.forbids().is_empty() => {
            Some(format!("{name} has no anomalies and no level here"))
        }
        (false, _) => None,
    }
}

impl ElleAnswer {
    fn of(found: Found) -> Self {
        Self {
            valid: (!found.anomalies.is_empty()).then_some(false),
            anomaly_types: Vec::new(),
            anomalies: found.anomalies,
            allowed: Vec::new(),
            not: Vec::new(),
            also_not: Vec::new(),
            violated: Vec::new(),
            unknown: Vec::new(),
            assumptions: Vec::new(),
            is_unordered: found.is_unordered,
            has_more: found.has_more,
        }
    }

    /// Takes the engine's answer for a model.
    fn add(&mut self, model: Model, decided: &Answer) {
        match decided.decision {
            Decision::Holds => {}
            Decision::Violated => {
                let explanation = decided.explanation.as_ref();
                let lines = explanation.iter().flat_map(|explanation| &explanation.lines);
                self.violated.push((model, lines.map(|line| line.text.clone()).collect()));
            }
            Decision::Undecided(_) => {
                let reason = decided.reason().unwrap_or_default();
                self.unknown.push(format!("{}: {reason}", model.friendly_name()));
            }
        }
    }

    fn finish(mut self) -> Self {
        self.valid = match (self.anomalies.is_empty() && self.violated.is_empty(), self.unknown.is_empty()) {
            (false, _) => Some(false),
            (true, true) => Some(true),
            (true, false) => None,
        };
        let names = self.anomalies.iter().map(|anomaly| anomaly.class.name().to_owned());
        let cycles = self.violated.iter().map(|(model, _)| format!("{}-cycle-exists", model.name()));
        self.anomaly_types = names.chain(cycles).collect();
        if self.valid == Some(false) && self.is_unordered {
            self.anomaly_types.push("empty-transaction-graph".to_owned());
        }
        self.anomaly_types.sort();
        let names = self.anomalies.iter().chain(&self.allowed).map(|anomaly| anomaly.class.name());
        let violated: Vec<Model> = self.violated.iter().map(|&(model, _)| model).collect();
        (self.not, self.also_not) = lattice::boundary(names, &violated);
        self
    }
}

/// The level by which the engine decides a model of single operations, on the history in which every operation is a
/// transaction. A history is linearizable if each of its keys is, so this is the question about each key, too.
fn single_level(model: Model, history: &History) -> Option<LevelId> {
    match model.name() {
        "sequential" => Some(LevelId::SessionSerializable),
        "linearizable" if history.has_times() => Some(LevelId::StrictSerializable),
        _ => None,
    }
}

/// What is asked of the engine for a model: a level of the lattice, or one that has a text alone.
pub fn asked_of(model: Model, history: &History) -> Option<Asked> {
    if let Some(level) = level_of(model, history) {
        return Some([level].into_iter().collect());
    }
    let mut asked = Asked::default();
    asked.add_own([text_of(model)?.clone()]);
    Some(asked)
}

/// The text by which a guarantee about sessions is decided.
fn text_of(model: Model) -> Option<&'static spec::Level> {
    let name = match model.name() {
        "PRAM" => "pram",
        name @ ("monotonic-reads" | "monotonic-writes" | "read-your-writes" | "writes-follow-reads") => name,
        _ => return None,
    };
    spec::library::level(name)
}

/// The level by which the engine decides a model. Where there are no times, real time says nothing beyond sessions.
fn level_of(model: Model, history: &History) -> Option<LevelId> {
    let name = match model.name() {
        "PL-SS" if history.has_times() => "strict-serializable",
        "PL-SS" | "session-serializable" | "strong-session-serializable" => "session-serializable",
        "PL-3" | "1SR" | "view-serializable" => "serializable",
        "strong-snapshot-isolation" if history.has_times() => "strong-si",
        "strong-snapshot-isolation" | "strong-session-snapshot-isolation" => "session-snapshot-isolation",
        "PL-SI" => "snapshot-isolation",
        "parallel-snapshot-isolation" => "parallel-si",
        "causal-cerone" | "causal" => "causal",
        name @ ("prefix" | "read-atomic" | "update-atomic") => name,
        _ => return None,
    };
    name.to_lowercase().parse().ok()
}
