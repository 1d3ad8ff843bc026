//! The answer as JSON; `docs/json.md` describes it.

use std::io::{self, BufWriter, Write};

use isoscope::{Answer, Asked, Chances, LevelId, NotAsked, SkewReport, units};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Report, RunStats};
use crate::exit::Failure;
use crate::load::{HistoryJson, Subject};
use crate::screen::{Form, Screen};

#[derive(Serialize)]
struct ReportJson<'r> {
    headline: String,
    history: HistoryJson,
    verdicts: Vec<VerdictJson<'r>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_asked: &'r [NotAsked],
    #[serde(skip_serializing_if = "Option::is_none")]
    nothing_shown: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chances: Option<Chances>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<&'r RunStats>,
}

#[derive(Serialize)]
struct VerdictJson<'r> {
    level: &'r str,
    verdict: &'static str,
    time_ms: f64,
    anomaly: Option<&'static str>,
    transactions: Vec<String>,
    reason: Option<String>,
    headline: Option<&'r str>,
    participants: &'r [String],
    sentences: Vec<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_skew: Option<SkewReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    follows_from: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Value>,
}

/// The answer as a part of a larger one.
pub fn value(report: &Report<'_>) -> Result<Value, Failure> {
    Ok(serde_json::to_value(report_json(report))?)
}

fn report_json<'r>(report: &'r Report<'_>) -> ReportJson<'r> {
    ReportJson {
        headline: report.sentence(),
        nothing_shown: report.nothing_shown(),
        chances: report.shown.chances,
        history: report.subject.json(),
        verdicts: report.answers.iter().map(|answer| verdict(report, answer)).collect(),
        not_asked: &report.not_asked,
        stats: report.stats.as_ref(),
    }
}

/// Prints any answer.
pub fn print_value(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = Screen::over(BufWriter::new(io::stdout().lock()), Form::Json);
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// The answer when a limit was reached before there was a history to speak of.
pub fn undecided_without_history(file: &str, asked: &Asked, reason: &str) -> Value {
    let verdicts: Vec<_> = asked
        .names()
        .into_iter()
        .map(|level| json!({ "level": level, "verdict": "undecided", "reason": reason }))
        .collect();
    json!({ "history": { "file": file }, "verdicts": verdicts })
}

fn verdict<'r>(report: &Report<'_>, answer: &'r Answer) -> VerdictJson<'r> {
    let explanation = answer.explanation.as_ref();
    VerdictJson {
        level: answer.level.name(),
        verdict: answer.decision.word(),
        time_ms: units::milliseconds(answer.time),
        anomaly: explanation.and_then(|explanation| explanation.anomaly),
        transactions: labels(report.subject, answer),
        reason: answer.reason(),
        headline: explanation.map(|explanation| explanation.headline.as_str()),
        participants: explanation.map_or(&[], |explanation| &explanation.participants),
        sentences: explanation
            .iter()
            .flat_map(|explanation| &explanation.lines)
            .map(|line| line.text.as_str())
            .collect(),
        clock_skew: answer.skew,
        follows_from: answer.follows_from.map(LevelId::name),
        stats: report.stats.as_ref().map(|_| engine_stats(answer)),
    }
}

fn labels(subject: &Subject, answer: &Answer) -> Vec<String> {
    let transactions = answer.explanation.iter().flat_map(|explanation| &explanation.transactions);
    transactions.map(|&txn| subject.history.txn_label(txn)).collect()
}

fn engine_stats(answer: &Answer) -> Value {
    let stats = &answer.stats;
    let stages: Map<String, Value> = stats
        .stages
        .iter()
        .map(|&(name, time)| (format!("{name}_ms"), json!(units::milliseconds(time))))
        .collect();
    let counts: Map<String, Value> =
        stats.counts.iter().map(|&(name, count)| (name.to_owned(), json!(count))).collect();
    json!({ "stages": stages, "counts": counts })
}
