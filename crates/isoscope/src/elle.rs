//! Elle's question: does a history show anomalies that some consistency models forbid?
//!
//! The anomalies are looked for first (crate `anomalies`). Where none is found, the history may still violate a model:
//! registers tell no order of their versions, so dependencies can be hidden. Then the engine decides the level that
//! the model stands for, and a violation is reported as `MODEL-cycle-exists`, which is Elle's name for a violation
//! without a class. A model for which there is neither an anomaly nor a level is unknown, with the reason.
//!
//! As in Elle, a register whose value no transaction wrote is taken to have held that value at the beginning.

use anomalies::lattice::{self, Model, Names};
use anomalies::{Anomaly, Assumptions, Class, Found, Search, Tier};
use history::{FindingKind, History, Index};
use levels::LevelId;

use crate::answer::Decision;
use crate::check::Check;
use crate::error::Error;
use crate::monitor::Monitor;

/// What is asked of a history.
#[derive(Clone, Debug, Default)]
pub struct ElleQuestion {
    /// The models that the history is expected to satisfy.
    pub models: Vec<Model>,
    /// Anomalies that it must not show, by their names in the lattice.
    pub anomalies: Vec<&'static str>,
    /// What is assumed about registers.
    pub assumptions: Assumptions,
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
        forbidden
    }

    /// Decides.
    ///
    /// # Errors
    /// If the checker refuses a certificate of the engine.
    pub fn ask(&self, history: &History, monitor: &dyn Monitor) -> Result<ElleAnswer, Error> {
        let forbidden = self.forbidden();
        let is_forbidden = |class: Class| forbidden.contains(class.name());
        let tier_of = |class: Class| match class {
            Class::Cycle(_, tier) => tier,
            _ => Tier::Data,
        };
        let tier = Class::all().filter(|&class| is_forbidden(class)).map(tier_of).max();
        let search = Search {
            assumptions: self.assumptions,
            tier: tier.unwrap_or(Tier::Data),
            only_most_severe: true,
            clock_skew: 0,
        };
        monitor.stage("looking for anomalies");
        let found = anomalies::find(history, &search, &is_forbidden);
        let mut answer = ElleAnswer::of(found);
        if answer.valid == Some(false) {
            let all = Search { tier: Tier::Data, ..search };
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
        let index = Index::of(history);
        let is_initial = |kind| kind == FindingKind::ThinAirRead;
        if index.findings().iter().any(|finding| is_initial(finding.kind)) {
            return Ok(());
        }
        for &model in &self.models {
            let Some(level) = level_of(model, history) else {
                if answer.has_more {
                    answer
                        .unknown
                        .push(format!("{}: ranges and predicates were not looked at", model.friendly_name()));
                } else if model.forbids().is_empty() {
                    answer
                        .unknown
                        .push(format!("{} has no anomalies and no level here", model.friendly_name()));
                }
                continue;
            };
            let report =
                Check::new(history).index(&index).level(level).monitor(monitor).skews(false).run()?;
            let Some(decided) = report.answer(level) else { continue };
            match decided.decision {
                Decision::Holds => {}
                Decision::Violated => {
                    let explanation = decided.explanation.as_ref();
                    let lines = explanation.iter().flat_map(|explanation| &explanation.lines);
                    let sentences = lines.map(|line| line.text.clone()).collect();
                    answer.violated.push((model, sentences));
                }
                Decision::Undecided(_) => {
                    let reason = decided.reason().unwrap_or_default();
                    answer.unknown.push(format!("{}: {reason}", model.friendly_name()));
                }
            }
        }
        Ok(())
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
            is_unordered: found.is_unordered,
            has_more: found.has_more,
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

/// The level by which the engine decides a model. Where there are no times, real time says nothing beyond sessions.
pub fn level_of(model: Model, history: &History) -> Option<LevelId> {
    let name = match model.name() {
        "PL-SS" if history.has_times() => "strict-serializable",
        "PL-SS" | "session-serializable" | "strong-session-serializable" => "session-serializable",
        "PL-3" | "1SR" | "view-serializable" => "serializable",
        "strong-snapshot-isolation" if history.has_times() => "strong-si",
        "strong-snapshot-isolation" | "strong-session-snapshot-isolation" => "session-snapshot-isolation",
        "PL-SI" => "snapshot-isolation",
        "parallel-snapshot-isolation" => "parallel-si",
        "causal-cerone" | "causal" => "causal",
        name @ ("prefix"
        | "read-atomic"
        | "update-atomic"
        | "PRAM"
        | "monotonic-reads"
        | "monotonic-writes"
        | "read-your-writes"
        | "writes-follow-reads") => name,
        _ => return None,
    };
    name.to_lowercase().parse().ok()
}
