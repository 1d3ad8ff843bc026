//! What is said while a recording is followed: a line when something changes, and a status line on a terminal.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use formats::native_jsonl::Batch;
use formats::{Format, WriteOptions};
use history::{Clock, History};
use isoscope::watch::{Holding, Verdict, Violation, Watcher, Way};
use isoscope::{Check, Witness, certify, limits, units};
use serde_json::{Value, json};

use super::metrics::{Metrics, Numbers};
use crate::exit::{Exit, Failure};
use crate::files::write_whole;
use crate::progress::Progress;
use crate::screen::{Form, Screen};
use crate::terminal::{Style, Tone, visible};

/// Says what changed.
pub struct Lines {
    name: String,
    is_json: bool,
    save: Option<PathBuf>,
    /// Serves the numbers, if asked to.
    pub metrics: Option<Metrics>,
    /// Where the lines go; standard output, or standard error where that has another answer.
    pub to_stderr: bool,
    progress: Progress,
    /// For each level the word of its verdict that was said last, and how many violations were told.
    told: Vec<(&'static str, usize)>,
    started: Instant,
    status: Instant,
    speed: (Instant, u64, f64),
    newest: i64,
    /// The longest time for which the recording was ahead of the verdict, in nanoseconds.
    most_behind: i64,
    clock: Clock,
}

/// The time between two status lines in JSON.
const STATUS_INTERVAL: Duration = Duration::from_secs(10);

impl Lines {
    /// Nothing was said yet.
    pub fn new(name: &str, is_json: bool, save: Option<PathBuf>) -> Self {
        let now = Instant::now();
        Self {
            name: name.to_owned(),
            is_json,
            save,
            metrics: None,
            to_stderr: false,
            progress: Progress::start(&format!("watching {name}")),
            told: Vec::new(),
            started: now,
            status: now,
            speed: (now, 0, 0.0),
            newest: i64::MIN,
            most_behind: 0,
            clock: Clock::default(),
        }
    }

    /// Takes the newest time of what came, before it is decided.
    pub fn note_times(&mut self, batch: &Batch, watchers: &[Watcher]) {
        self.clock = batch.history.clock();
        if let Some(&last) = batch.order.last() {
            self.newest = self.newest.max(batch.history.times(last).end().unwrap_or(i64::MIN));
        }
        self.most_behind = self.most_behind.max(self.behind(watchers));
    }

    /// How far the recording is ahead of what is decided window by window, in nanoseconds.
    fn behind(&self, watchers: &[Watcher]) -> i64 {
        let up_to = watchers.iter().filter(|watcher| !watcher.is_whole()).filter_map(decided_up_to).min();
        match (up_to, self.clock) {
            (Some(up_to), Clock::Nanoseconds) => self.newest.saturating_sub(up_to).max(0),
            _ => 0,
        }
    }

    /// Says what changed since the last call.
    pub fn tell(&mut self, watchers: &mut [Watcher]) -> Result<(), Failure> {
        self.told.resize(watchers.len(), ("holds", 0));
        for place in 0..watchers.len() {
            let watcher = &watchers[place];
            for number in self.told[place].1..watcher.violations().len() {
                self.violation(watcher, &watcher.violations()[number], number)?;
            }
            let word = watcher.verdict().word();
            if word != self.told[place].0 && word != "violated" {
                self.verdict(watcher, "changed")?;
            }
            self.told[place] = (word, watcher.violations().len());
        }
        self.status(watchers)
    }

    /// The last lines, and the exit code.
    pub fn end(&mut self, watchers: &mut [Watcher], is_broken: bool) -> Result<Exit, Failure> {
        self.progress.end();
        let mut exit = Exit::Holds;
        if self.most_behind > 0 && self.to_stderr {
            let most = units::duration(Duration::from_nanos(self.most_behind as u64));
            self.print(&format!("watched    the verdict was never more than {most} behind the recording\n"))?;
        }
        for watcher in watchers.iter() {
            self.verdict(watcher, "end")?;
            exit = exit.graver(match watcher.verdict() {
                Verdict::Violated(_) => Exit::Violated,
                Verdict::Holds(Holding { up_to: Some(_), .. }) => Exit::Holds,
                Verdict::Holds(_) | Verdict::Undecided(_) => Exit::Undecided,
            });
        }
        if is_broken {
            crate::screen::say(&format!(
                "warning: {}: the recording broke off; what ended last may have seen transactions that are not recorded",
                self.name
            ));
        }
        Ok(exit)
    }

    fn verdict(&mut self, watcher: &Watcher, event: &str) -> Result<(), Failure> {
        if self.is_json {
            let mut line = json!({
                "event": event,
                "level": watcher.level().name(),
                "verdict": watcher.verdict().word(),
                "transactions": watcher.seen(),
                "violations": watcher.violation_count(),
            });
            add_meaning(&mut line, watcher.verdict());
            if event == "end" {
                line["most_behind_seconds"] = json!(self.most_behind as f64 / 1e9);
            }
            return self.json(&line);
        }
        let text = self.sentence(watcher);
        let tone = match watcher.verdict() {
            Verdict::Holds(_) => Tone::Good,
            Verdict::Violated(_) => Tone::Bad,
            Verdict::Undecided(_) => Tone::Unsure,
        };
        self.line(tone, watcher.verdict().word(), &text)
    }

    /// What is known of a level, after the word for it.
    fn sentence(&self, watcher: &Watcher) -> String {
        let level = watcher.level();
        let transactions = |count: u64| units::counted(count as usize, "transaction");
        match watcher.verdict() {
            Verdict::Undecided(reason) => format!("{level} after {}: {reason}", transactions(watcher.seen())),
            Verdict::Violated(first) => {
                let count = watcher.violation_count();
                let times = if count > 1 {
                    format!(", {} times", units::count(count as usize))
                } else {
                    String::new()
                };
                format!(
                    "{level}{times}, first after {} of {}",
                    transactions(first.after),
                    transactions(watcher.seen())
                )
            }
            Verdict::Holds(Holding { up_to: None, .. }) => format!(
                "{level}, but nothing is complete: {} wait for the recorder to say how far it has come",
                transactions(watcher.seen())
            ),
            Verdict::Holds(holding) => {
                let up_to = match holding.up_to {
                    Some(i64::MAX) => "to the end".to_owned(),
                    Some(moment) => format!("up to {}", self.moment(moment)),
                    None => String::new(),
                };
                format!("{level} {up_to}, {}: {}", transactions(holding.transactions), meaning(holding.way))
            }
        }
    }

    fn moment(&self, moment: i64) -> String {
        match self.clock {
            Clock::Nanoseconds => format!("{:.3} s", moment as f64 / 1e9),
            Clock::Position => format!("position {moment}"),
        }
    }

    fn violation(&mut self, watcher: &Watcher, violation: &Violation, number: usize) -> Result<(), Failure> {
        let check = Check::new(&violation.history).level(watcher.level());
        let limits = isoscope::Limits::start(Some(Duration::from_secs(20)), None).map_err(Failure::new)?;
        let limits = limits.with_interrupt(crate::interrupt::is_asked);
        let witness = check
            .monitor(&limits)
            .witness(&violation.answer)
            .map_err(|error| Failure::new(error.to_string()))?;
        if number == 0
            && let Some(file) = self.save.clone()
        {
            save(&file, violation)?;
        }
        let headline = violation.sentence(&headline(witness.as_ref(), violation));
        if self.is_json {
            let participants =
                witness.as_ref().map(|witness| witness.participants.clone()).unwrap_or_default();
            let lines = witness.iter().flat_map(|witness| &witness.lines);
            let lines: Vec<String> = lines.map(|line| violation.sentence(&line.text)).collect();
            return self.json(&json!({
                "event": "violation",
                "level": watcher.level().name(),
                "transactions": violation.after,
                "anomaly": witness.as_ref().map(|witness| violation.sentence(witness.name())),
                "headline": headline,
                "participants": participants,
                "lines": lines,
                "saved": self.save.as_ref().filter(|_| number == 0).map(|file| file.display().to_string()),
            }));
        }
        let after = units::counted(violation.after as usize, "transaction");
        self.line(Tone::Bad, "violated", &format!("{} after {after}: {headline}", watcher.level()))?;
        let Some(witness) = witness else { return Ok(()) };
        let style = self.style();
        let mut text = String::from("\n");
        for participant in &witness.participants {
            text += &format!("{}\n", style.wrap(participant, 2, 4));
        }
        for line in &witness.lines {
            let sentence = violation.sentence(&line.text);
            text += &format!("{}\n", style.wrap(&sentence, 4 + 2 * line.depth, 6 + 2 * line.depth));
        }
        text.push('\n');
        self.print(&text)
    }

    fn status(&mut self, watchers: &mut [Watcher]) -> Result<(), Failure> {
        const INTERVAL: Duration = Duration::from_millis(200);
        if self.speed.0.elapsed() < INTERVAL {
            return Ok(());
        }
        let Some(first) = watchers.first_mut() else { return Ok(()) };
        let (seen, frontier) = (first.seen(), first.frontier());
        let per_second = (seen - self.speed.1) as f64 / self.speed.0.elapsed().as_secs_f64();
        self.speed = (Instant::now(), seen, per_second);
        let memory = limits::resident_bytes().unwrap_or(0);
        let behind = self.behind(watchers);
        let mut text = format!(
            "{}, {} per second, {:.1} s behind",
            units::counted(seen as usize, "transaction"),
            units::count(per_second as usize),
            behind as f64 / 1e9
        );
        match frontier {
            None => text += ", nothing complete",
            Some(i64::MAX) => {}
            Some(frontier) => text += &format!(", complete up to {}", self.moment(frontier)),
        }
        self.progress.set(&format!("{text}, {}", units::size(memory)));
        let levels = watchers.iter();
        let levels = levels
            .map(|watcher| (watcher.level().name(), watcher.verdict().word(), watcher.violation_count()))
            .collect::<Vec<_>>();
        let held = watchers.iter().map(|watcher| watcher.held() as u64).sum();
        if let Some(metrics) = &self.metrics {
            let frontier_ns = frontier.filter(|&frontier| frontier < i64::MAX);
            let levels = levels.clone();
            metrics.set(Numbers {
                transactions: seen,
                held,
                behind_ns: behind,
                frontier_ns,
                memory_bytes: memory,
                levels,
            });
        }
        if self.is_json && self.status.elapsed() >= STATUS_INTERVAL {
            self.status = Instant::now();
            return self.json(&json!({
                "event": "status",
                "seconds": self.started.elapsed().as_secs_f64(),
                "transactions": seen,
                "per_second": per_second.round(),
                "behind_seconds": behind as f64 / 1e9,
                "frontier": frontier.filter(|&frontier| frontier < i64::MAX),
                "held": held,
                "memory_bytes": memory,
            }));
        }
        Ok(())
    }

    fn style(&self) -> Style {
        if self.to_stderr { Style::default() } else { Style::of_stdout() }
    }

    fn line(&mut self, tone: Tone, word: &str, text: &str) -> Result<(), Failure> {
        if self.to_stderr {
            return self.print(&format!("{word:<10} {text}\n"));
        }
        let mut out = Screen::stdout();
        out.paint(tone, &format!("{word:<10}"))?;
        let text = self.style().wrap(&visible(text), 0, 11);
        writeln!(out, " {text}")?;
        Ok(out.flush()?)
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        if self.to_stderr {
            crate::screen::say(text.trim_end());
            return Ok(());
        }
        let mut out = Screen::stdout();
        write!(out, "{text}")?;
        Ok(out.flush()?)
    }

    fn json(&self, line: &Value) -> Result<(), Failure> {
        let mut out = Screen::over(std::io::stdout().lock(), Form::Json);
        serde_json::to_writer(&mut out, line)?;
        writeln!(out)?;
        Ok(out.flush()?)
    }
}

/// What `holds` means.
fn meaning(way: Way) -> String {
    match way {
        Way::Exact => "exact".to_owned(),
        Way::Windowed(count) => {
            format!(
                "windowed ({} where a later transaction might contradict what was forgotten)",
                units::counted(count as usize, "place")
            )
        }
        Way::Whole => "all transactions together".to_owned(),
        Way::Follows(level, 0) => format!("follows from {level}, exact"),
        Way::Follows(level, count) => {
            format!("follows from {level}, windowed ({})", units::counted(count as usize, "place"))
        }
    }
}

/// The moment up to which a level is known to hold, while the recording goes on.
fn decided_up_to(watcher: &Watcher) -> Option<i64> {
    match watcher.verdict() {
        Verdict::Holds(Holding { up_to, .. }) => up_to.filter(|&moment| moment < i64::MAX),
        _ => None,
    }
}

fn add_meaning(line: &mut Value, verdict: &Verdict) {
    match verdict {
        Verdict::Holds(holding) => {
            line["up_to"] = json!(holding.up_to.filter(|&moment| moment < i64::MAX));
            line["closed"] = json!(holding.up_to == Some(i64::MAX));
            line["asked_at"] = json!(holding.transactions);
            line["meaning"] = json!(holding.way.word());
            match holding.way {
                Way::Windowed(count) => line["places"] = json!(count),
                Way::Follows(level, count) => {
                    line["follows_from"] = json!(level.name());
                    line["places"] = json!(count);
                }
                Way::Exact | Way::Whole => {}
            }
        }
        Verdict::Violated(first) => line["first_after"] = json!(first.after),
        Verdict::Undecided(reason) => line["reason"] = json!(reason),
    }
}

fn headline(witness: Option<&Witness>, violation: &Violation) -> String {
    match witness {
        Some(witness) => witness.headline.clone(),
        None => violation.answer.reason().unwrap_or_default(),
    }
}

/// Writes a violation and its certificate.
fn save(file: &Path, violation: &Violation) -> Result<(), Failure> {
    let history: &History = &violation.history;
    formats::write_to_path(history, Format::Native, file, &WriteOptions::default())
        .map_err(|error| Failure::new(visible(&error.to_string())))?;
    let Some((level, certificate)) = &violation.answer.certificate else { return Ok(()) };
    let mut name = file.as_os_str().to_owned();
    name.push(".certificate");
    // The history is called by its file, so its fingerprint is that of the file as it is read again.
    let fingerprint = Check::new(history).fingerprint();
    write_whole(Path::new(&name), Form::Json, |mut out| {
        Ok(certify::write(certificate, level, fingerprint, &mut out)?)
    })
}
