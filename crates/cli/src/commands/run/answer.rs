//! What a run gave, as text and as JSON.

use std::io::{self, Write};
use std::path::Path;

use ::run::options::Options;
use ::run::{Ended, Summary};
use isoscope::{Decision, LevelId, Obstacle, units};
use serde_json::{Value, json};

use super::check::{Checked, Judged};
use super::execute::Executed;
use crate::exit::{Exit, Failure};
use crate::report;
use crate::report::outputs::Collected;
use crate::report::suite::Suite;
use crate::screen::{Screen, say};
use crate::terminal::{Style, Tone, visible};

/// The answer of one run.
pub struct RunAnswer<'o> {
    options: &'o Options,
    executed: Executed,
}

impl<'o> RunAnswer<'o> {
    /// The answer.
    pub fn of(options: &'o Options, executed: Executed) -> Self {
        Self { options, executed }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match (&self.executed.checked, &self.executed.failure) {
            (Some(checked), _) => checked.exit(),
            (None, Some(failure)) => failure.exit(),
            (None, None) => Exit::Holds,
        }
    }

    /// Whether the user ended it.
    pub fn is_stopped(&self) -> bool {
        self.executed.summary.ended == Ended::Stopped
    }

    /// Prints it; a blank line first if something was printed before.
    pub fn print(&self, is_quiet: bool, is_later: bool) -> Result<(), Failure> {
        let style = Style::of_stdout();
        let mut out = Screen::stdout();
        if let (true, Some(checked)) = (is_quiet, &self.executed.checked) {
            report::text::sentence(&checked.report(), style, &mut out)?;
            return Ok(out.flush()?);
        }
        if is_later {
            writeln!(out)?;
        }
        if let Some(checked) = &self.executed.checked {
            report::text::sentence(&checked.report(), style, &mut out)?;
            self.write_promise(checked, style, &mut out)?;
            writeln!(out)?;
        }
        self.write_run(style, &mut out)?;
        if let Some(checked) = &self.executed.checked {
            writeln!(out)?;
            report::text::details(&checked.report(), style, &mut out)?;
        }
        out.flush()?;
        if let Some(failure) = &self.executed.failure {
            say(&failure.to_string());
        }
        Ok(())
    }

    /// Adds the run to the reports for continuous integration.
    pub fn collect(&self, collected: &mut Collected) -> Result<(), Failure> {
        match (&self.executed.checked, &self.executed.failure) {
            (Some(checked), _) => {
                let report = checked.report();
                collected.add(Suite::of_report(&report), |out| report::markdown::write(&report, out))
            }
            (None, Some(failure)) => collected.add_failure(&self.executed.description.product, failure),
            (None, None) => Ok(()),
        }
    }

    /// Writes the report, with the faults that struck; nothing if the history was not checked.
    pub fn write_html(&self, file: &Path) -> Result<(), Failure> {
        let Some(checked) = &self.executed.checked else { return Ok(()) };
        let report = checked.report();
        let page = report::html::page(&report);
        let faults = match self.executed.summary.events.is_empty() {
            true => Vec::new(),
            false => vec![events_line(&self.executed.summary)],
        };
        report::html::write(file, &picture::Page { faults, ..page })
    }

    fn write_run(&self, style: Style, out: &mut dyn Write) -> Result<(), Failure> {
        let Executed { description, setting, summary, .. } = &self.executed;
        let headline = format!(
            "{} {}, {}, workload {}, {}, seed {}",
            visible(&description.product),
            visible(&description.version),
            setting.name,
            self.options.workload.name,
            units::counted(self.options.shape.sessions as usize, "session"),
            self.options.shape.seed
        );
        writeln!(out, "{}", style.wrap(&headline, 0, 2))?;
        for line in summary_lines(summary).into_iter().chain(self.recording_line()) {
            writeln!(out, "{}", style.wrap(&visible(&line), 2, 4))?;
        }
        Ok(())
    }

    /// Where the recording is, and how long checking it took.
    fn recording_line(&self) -> Option<String> {
        let file = self.executed.out.as_ref()?.display();
        Some(match &self.executed.checked {
            Some(checked) => {
                let counts = checked.report().subject.counts();
                format!("recorded in {file} ({counts}), checked in {}", units::duration(checked.time))
            }
            None => format!("recorded in {file}; `isoscope check {file}` decides"),
        })
    }

    /// Whether the promise was kept, and what else is known of the setting.
    fn write_promise(&self, checked: &Checked, style: Style, out: &mut Screen<'_>) -> Result<(), Failure> {
        let is_asked = !self.options.levels.is_empty();
        let promise = self.executed.promise.filter(|_| !is_asked);
        for judged in &checked.judged {
            let (tone, word) = tone_and_word(judged, checked.report().nothing_shown(), is_asked);
            let text = match promise {
                Some(promise) => format!("{word}: {} ({}).", judged.level, promise.source),
                None => format!("{} {word}.", judged.level),
            };
            paint_within(out, tone, &word, &style.wrap(&text, 0, 2))?;
        }
        let Some(promise) = promise else { return Ok(()) };
        if let Some(remark) = promise.remark {
            writeln!(out, "{}", style.wrap(remark, 2, 2))?;
        }
        if let Some(level) = promise.expected {
            let text = format!("Known to give {level} (not promised): {}.", known_word(checked, level));
            writeln!(out, "{}", style.wrap(&text, 0, 2))?;
        }
        Ok(())
    }

    /// The run as JSON; `docs/json.md` describes it.
    pub fn json(&self) -> Result<Value, Failure> {
        let Executed { description, setting, promise, summary, out, checked, failure, .. } = &self.executed;
        let judged = checked.iter().flat_map(|checked| &checked.judged);
        let check = checked.as_ref().map(|checked| report::json::value(&checked.report())).transpose()?;
        Ok(json!({
            "database": {
                "product": description.product,
                "version": description.version,
                "urls": description.urls,
            },
            "isolation": setting.name,
            "workload": self.options.workload.name,
            "sessions": self.options.shape.sessions,
            "seed": self.options.shape.seed,
            "history": out.as_ref().map(|out| out.display().to_string()),
            "run": summary_json(summary),
            "promise": promise.map(|promise| json!({
                "level": promise.name(),
                "expected": promise.expected.map(LevelId::name),
                "source": promise.source,
                "remark": promise.remark,
            })),
            "judged": judged
                .map(|judged| json!({ "level": judged.level.name(), "verdict": verdict_word(judged) }))
                .collect::<Vec<_>>(),
            "check": check,
            "headline": checked.as_ref().map(|checked| checked.report().sentence()),
            "check_failed": failure.as_ref().map(ToString::to_string),
            "check_ms": checked.as_ref().map(|checked| units::milliseconds(checked.time)),
            "check_processor_ms":
                checked.as_ref().and_then(|checked| checked.processor_time).map(units::milliseconds),
            "judged_ms": checked.as_ref().and_then(|checked| checked.judged_time).map(units::milliseconds),
        }))
    }
}

/// Writes a line with one part of it in its colour; a part that is broken over lines stays plain.
fn paint_within(out: &mut Screen<'_>, tone: Tone, part: &str, line: &str) -> io::Result<()> {
    let Some((before, after)) = line.split_once(part) else { return writeln!(out, "{line}") };
    write!(out, "{before}")?;
    out.paint(tone, part)?;
    writeln!(out, "{after}")
}

/// What became of a level that the run is judged by: of a promise, or of a level that the user named.
fn tone_and_word(judged: &Judged, nothing: Option<&str>, is_asked: bool) -> (Tone, String) {
    let word = |promise: &str, asked: &str| if is_asked { asked.to_owned() } else { promise.to_owned() };
    match (judged.decision, nothing) {
        (Decision::Holds, None) => (Tone::Good, word("Promise kept", "holds")),
        (Decision::Holds, Some(_)) => (Tone::Unsure, word("Promise not tested", "was not tested")),
        (Decision::Violated, _) => (Tone::Bad, word("Promise broken", "is violated")),
        (Decision::Undecided(_), _) => (Tone::Unsure, word("Promise undecided", "is undecided")),
    }
}

/// What this run says of a level that is known to hold.
fn known_word(checked: &Checked, level: LevelId) -> &'static str {
    match (checked.decision(level), checked.report().nothing_shown()) {
        (Some(Decision::Holds), None) => "it held",
        (Some(Decision::Violated), _) => "it did not hold",
        _ => "not shown by this run",
    }
}

fn verdict_word(judged: &Judged) -> &'static str {
    match judged.decision {
        Decision::Undecided(Obstacle::Definition(_)) => "not decided",
        decision => decision.word(),
    }
}

fn summary_lines(summary: &Summary) -> Vec<String> {
    let count = |number: u64| units::count(number as usize);
    let tally = summary.tally;
    let stopped = if summary.ended == Ended::Stopped { ", stopped" } else { "" };
    let mut lines = vec![format!(
        "{} committed, {} aborted, {} unknown in {}: {} commits per second{stopped}",
        count(tally.committed),
        count(tally.aborted),
        count(tally.unknown),
        units::duration(summary.elapsed),
        count(summary.commits_per_second() as u64),
    )];
    lines.extend(reasons_line("aborted", &summary.reasons));
    lines.extend(reasons_line("unknown", &summary.unknown_reasons));
    lines.extend(absent_lines(summary));
    if !summary.events.is_empty() {
        lines.push(events_line(summary));
    }
    lines.extend(summary.no_final_read.as_ref().map(|reason| format!("no final read: {reason}")));
    lines.extend(summary.remark.clone());
    lines
}

/// The most frequent reasons.
fn reasons_line(what: &str, reasons: &[(String, u64)]) -> Option<String> {
    const SHOWN: usize = 3;
    let shown = reasons.iter().take(SHOWN);
    let shown: Vec<_> =
        shown.map(|(reason, times)| format!("{reason} ({})", units::count(*times as usize))).collect();
    let others = reasons.len().saturating_sub(SHOWN);
    let others = if others > 0 { format!(", and {others} other reasons") } else { String::new() };
    (!shown.is_empty()).then(|| format!("{what}: {}{others}", shown.join(", ")))
}

/// The clients that never connected, and those that stopped before the end.
fn absent_lines(summary: &Summary) -> Vec<String> {
    let line = |was_connected: bool, what: &str| {
        let absent: Vec<_> =
            summary.absent.iter().filter(|absent| absent.was_connected == was_connected).collect();
        let first = absent.first()?;
        Some(format!("{} {what}: {}", units::counted(absent.len(), "client"), first.reason))
    };
    let lines =
        [line(false, "never connected"), line(true, "lost the connection and could not connect again")];
    lines.into_iter().flatten().collect()
}

fn events_line(summary: &Summary) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for event in &summary.events {
        *counts.entry(event.fault.name()).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(name, times)| format!("{name} ({times})")).collect();
    format!("nemesis: {}; {} connections lost", counts.join(", "), units::count(summary.reconnects as usize))
}

fn reasons_json(reasons: &[(String, u64)]) -> Value {
    reasons.iter().map(|(reason, times)| json!({ "reason": reason, "times": times })).collect()
}

fn summary_json(summary: &Summary) -> Value {
    let events = summary.events.iter().map(|event| {
        json!({
            "at_ms": units::milliseconds(event.at),
            "fault": event.fault.name(),
            "session": event.session,
        })
    });
    json!({
        "elapsed_ms": units::milliseconds(summary.elapsed),
        "committed": summary.tally.committed,
        "aborted": summary.tally.aborted,
        "unknown": summary.tally.unknown,
        "commits_per_second": summary.commits_per_second().round(),
        "connections_lost": summary.reconnects,
        "aborted_because": reasons_json(&summary.reasons),
        "nemesis": events.collect::<Vec<_>>(),
        "stopped": summary.ended == Ended::Stopped,
        "unknown_because": reasons_json(&summary.unknown_reasons),
        "never_connected": summary.absent.iter().filter(|absent| !absent.was_connected).count(),
        "stopped_early": summary.absent.iter().filter(|absent| absent.was_connected).count(),
        "final_read": summary.no_final_read.is_none(),
        "no_final_read": summary.no_final_read,
        "remark": summary.remark,
    })
}
