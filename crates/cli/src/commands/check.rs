//! `isoscope check`: reads, asks, explains, reports.

mod estimate;
mod pieces;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use certify::Fingerprint;
use certify::text::{self, TextDocument};
use clap::Args;
use formats::ReadOptions;
use history::Clock;
use isoscope::anomalies::ClassSearch;
use isoscope::{
    Asked, Check, LazyIndex, Limit, Monitor, Stages, Witness, limits, units, without_internal_reads,
};
use serde_json::{Value, json};

use super::anomalies;
use super::elle::{Assumption, assumptions};
use crate::args::{InputArguments, LimitArguments, OutputArguments, ReadingArguments, processors};
use crate::baseline::Baseline;
use crate::exit::{Exit, Failure};
use crate::files::{flags, is_stdout, keep_apart, named, write_whole};
use crate::load::Subject;
use crate::progress::{Progress, Watched};
use crate::report::outputs::{Collected, ReportArguments};
use crate::report::shown::{Bar, Shown};
use crate::report::suite::Suite;
use crate::report::{self, Report, RunStats};
use crate::screen::{Form, say};
use crate::shares::Shares;
use crate::terminal::visible;
use crate::watch::watched;
use crate::{interrupt, level_files, refused};

/// The flags of `check`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The histories: files, folders of logs, or - for standard input; gzip and zstd are decompressed
    #[arg(value_name = "HISTORY", required = true)]
    histories: Vec<PathBuf>,
    #[command(flatten)]
    reading: ReadingArguments,
    /// The levels to decide, by name or alias or as a file FILE.iso; without it all, strongest first
    #[arg(short, long = "level", value_name = "NAME", value_delimiter = ',')]
    levels: Vec<String>,
    /// List the classes of anomalies that occur, each with its smallest witness, instead of deciding levels
    #[arg(long, conflicts_with_all = ["levels", "certificate", "junit", "sarif", "markdown"])]
    anomalies: bool,
    /// Ask for these classes of anomalies, such as G0,G1a, instead of levels
    #[arg(long, value_name = "CLASS", value_delimiter = ',', conflicts_with_all = ["levels", "certificate", "junit", "sarif", "markdown"])]
    anomaly: Vec<String>,
    /// Assume more about registers than the history shows, with --anomalies or --anomaly; the answer repeats it
    #[arg(long, value_name = "ASSUMPTION", value_delimiter = ',', conflicts_with = "levels")]
    assume: Vec<Assumption>,
    /// How far apart the clocks of two clients may be, such as 5ms, for the levels of real time
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    clock_skew: Option<Duration>,
    /// Write the proof of the answer to this file, for `isoscope certify`; needs exactly one --level
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    reports: ReportArguments,
    /// Accept the anomalies that this file lists, and fail on others only
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the anomalies that were found to this file, as --baseline reads it
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
    /// Report time and counts of every stage, and the peak of memory
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    limits: LimitArguments,
    /// Do not have the checker examine the certificate of each verdict before it is given, to measure the engine alone
    #[arg(long, hide_short_help = true)]
    no_certify: bool,
    /// How many threads read and decide, which changes no answer; without it as many as there are processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Breaks ties in the search; equal seeds give equal runs
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Leave out `internal` consistency (a transaction need not see its own writes, nor the same value twice), or switch off
    /// a stage of the engine, to measure what it is worth (see docs/stages.md)
    #[arg(long, value_name = "STAGE", value_delimiter = ',', hide_short_help = true)]
    without: Vec<String>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    arguments.keep_apart()?;
    let stages = parse_stages(&arguments.without)?;
    arguments.refuse_several()?;
    if arguments.anomalies || !arguments.anomaly.is_empty() {
        return run_anomalies(arguments);
    }
    if !arguments.assume.is_empty() {
        return Err(Failure::new(
            "--assume is about classes of anomalies: add --anomalies, or --anomaly CLASS",
        ));
    }
    if arguments.is_without_internal() && arguments.certificate.is_some() {
        return Err(Failure::new(
            "--certificate is about the whole history, and --without internal leaves reads out",
        ));
    }
    let baseline = arguments.baseline.as_deref().map(Baseline::read).transpose()?;
    let batch = Batch::default();
    for place in 0..arguments.histories.len() {
        let checked = check_one(arguments, stages, baseline.as_ref(), place, &batch);
        batch.note(arguments, place, checked)?;
    }
    batch.finish(arguments)
}

/// Checks one of the histories, and reports it.
fn check_one(
    arguments: &Arguments,
    stages: Stages,
    baseline: Option<&Baseline>,
    place: usize,
    batch: &Batch,
) -> Result<Exit, Failure> {
    let input = arguments.input(place);
    let limits = arguments.limits.start()?;
    let progress = Progress::start(&format!("reading {}", input.name()));
    let question = Question {
        arguments,
        input,
        place,
        batch,
        baseline,
        stages,
        monitor: Watched::new(&limits, &progress),
        asked: OnceLock::new(),
        subject: OnceLock::new(),
        index: LazyIndex::default(),
        shown: OnceLock::new(),
    };
    watched(
        &limits,
        |limit| {
            batch.note(arguments, place, question.report_late(limit))?;
            batch.finish(arguments)
        },
        |watch| {
            let answered = question.answer();
            watch.answer();
            question.report(answered)
        },
    )
}

/// The exit code if known anomalies are accepted; standard error says of each anomaly whether it is new.
fn judge_by(baseline: &Baseline, report: &Report<'_>) -> Exit {
    let (accepted, unknown) = baseline.compare(&report.witnesses);
    accepted.iter().for_each(|known| say(&format!("accepted by the baseline: {}", known.shown())));
    unknown.iter().for_each(|known| say(&format!("new: {}", known.shown())));
    let is_undecided = report.answers.iter().any(|answer| answer.decision.is_undecided());
    match (report.exit(), unknown.is_empty()) {
        (Exit::Violated, true) if report.witnesses.is_empty() => Exit::Violated,
        (Exit::Violated, true) if is_undecided => Exit::Undecided,
        (Exit::Violated, true) => Exit::Holds,
        (exit, _) => exit,
    }
}

/// Looks for classes of anomalies instead of deciding levels.
fn run_anomalies(arguments: &Arguments) -> Result<Exit, Failure> {
    let wanted = anomalies::parse(&arguments.anomaly)?;
    let limits = arguments.limits.start()?;
    let subject = Subject::read(&arguments.input(0), &limits)?;
    subject.warn();
    let skew = skew_of(arguments.clock_skew, &subject)?;
    let skew = i64::try_from(skew.as_nanos()).unwrap_or(i64::MAX);
    let subject = arguments.without_internal(subject);
    let search = ClassSearch {
        clock_skew: skew,
        assumptions: assumptions(&arguments.assume),
        ..ClassSearch::default()
    };
    anomalies::run(subject, wanted, search, arguments.output.json, &limits)
}

impl Arguments {
    fn threads(&self) -> usize {
        self.threads.map_or_else(processors, usize::from)
    }

    fn is_without_internal(&self) -> bool {
        self.without.iter().any(|name| name == INTERNAL)
    }

    /// The history without internal reads, if that was asked for; a warning of every report says so.
    fn without_internal(&self, subject: Subject) -> Subject {
        if !self.is_without_internal() {
            return subject;
        }
        let (rest, left_out) = without_internal_reads(&subject.history);
        let mut subject = subject.with_history(rest);
        let reads = units::counted(left_out, "read");
        let sentence = format!(
            "assumed without internal consistency: {reads} of keys that their transactions had read or written before"
        );
        subject.warnings.push(formats::Warning::new("without-internal", sentence));
        subject
    }

    /// No output is an input or another output.
    fn keep_apart(&self) -> Result<(), Failure> {
        let mut inputs: Vec<_> = self.histories.iter().map(|history| named("the history", history)).collect();
        inputs.extend(level_files::inputs(&self.levels));
        inputs.extend(flags([("--baseline", &self.baseline)]));
        let mut outputs = self.reports.outputs();
        let own = [("--certificate", &self.certificate), ("--write-baseline", &self.write_baseline)];
        outputs.extend(flags(own));
        let later = (1..self.histories.len()).filter_map(|place| self.reports.page_file(place));
        outputs.extend(later.map(|page| named("--html", page)));
        keep_apart(&inputs, &outputs)
    }

    /// Some outputs are about one history.
    fn refuse_several(&self) -> Result<(), Failure> {
        let single = [
            ("--certificate", self.certificate.is_some()),
            ("--write-baseline", self.write_baseline.is_some()),
            ("--html -", self.reports.html.as_deref().is_some_and(is_stdout)),
            ("--anomalies", self.anomalies),
            ("--anomaly", !self.anomaly.is_empty()),
        ];
        match single.iter().find(|(_, is_given)| *is_given && self.histories.len() > 1) {
            Some((flag, _)) => Err(Failure::new(format!("{flag} is about one history: name one"))),
            None => Ok(()),
        }
    }

    /// The history at this place.
    fn input(&self, place: usize) -> InputArguments {
        InputArguments { history: self.histories[place].clone(), reading: self.reading.clone() }
    }

    /// Whether text is printed.
    fn prints_text(&self) -> bool {
        let certificate_on_stdout = self.certificate.as_deref().is_some_and(is_stdout);
        !self.output.json && !self.reports.takes_stdout() && !certificate_on_stdout
    }
}

/// What is known of all histories so far.
#[derive(Default)]
struct Batch(Mutex<Done>);

struct Done {
    exit: Exit,
    collected: Collected,
    json: Vec<Value>,
}

impl Default for Done {
    fn default() -> Self {
        Self { exit: Exit::Holds, collected: Collected::default(), json: Vec::new() }
    }
}

impl Batch {
    fn lock(&self) -> std::sync::MutexGuard<'_, Done> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Notes how a history ended. A question that could not be asked is reported too, and ends the command only if there
    /// is no other history.
    fn note(
        &self,
        arguments: &Arguments,
        place: usize,
        checked: Result<Exit, Failure>,
    ) -> Result<(), Failure> {
        let failure = match checked {
            Ok(exit) => {
                let mut done = self.lock();
                done.exit = done.exit.graver(exit);
                return Ok(());
            }
            Err(failure @ (Failure::BrokenPipe | Failure::Interrupted)) => return Err(failure),
            Err(failure) => failure,
        };
        let mut done = self.lock();
        done.exit = done.exit.graver(failure.exit());
        done.collected.add_failure(&arguments.input(place).name(), &failure)?;
        if arguments.histories.len() == 1 {
            arguments.reports.write(&done.collected)?;
            return Err(failure);
        }
        say(&failure.to_string());
        Ok(())
    }

    /// Writes what is about all histories together.
    fn finish(&self, arguments: &Arguments) -> Result<Exit, Failure> {
        let mut done = self.lock();
        arguments.reports.write(&done.collected)?;
        let is_free =
            !arguments.reports.takes_stdout() && !arguments.certificate.as_deref().is_some_and(is_stdout);
        if arguments.output.json && is_free {
            let mut answers = std::mem::take(&mut done.json);
            match (arguments.histories.len(), answers.pop()) {
                (1, Some(answer)) => report::json::print_value(&answer)?,
                (_, last) => {
                    answers.extend(last);
                    report::json::print_value(&json!({ "histories": answers }))?;
                }
            }
        }
        Ok(done.exit)
    }
}

/// What is asked, and what is known so far: a limit may end the command at any moment, and then this is reported.
struct Question<'a> {
    arguments: &'a Arguments,
    input: InputArguments,
    /// Which of the histories it is.
    place: usize,
    batch: &'a Batch,
    baseline: Option<&'a Baseline>,
    stages: Stages,
    monitor: Watched<'a>,
    asked: OnceLock<Asked>,
    subject: OnceLock<Subject>,
    index: LazyIndex,
    /// How much the history could have shown, if it was counted while the levels were decided.
    shown: OnceLock<Shown>,
}

impl Question<'_> {
    /// Reads, indexes and decides.
    fn answer(&self) -> Result<(isoscope::Report, Vec<Witness>), Failure> {
        let asked = level_files::asked(&self.arguments.levels)?;
        if self.arguments.certificate.is_some() && !asked.is_one() {
            return Err(Failure::new(
                "--certificate is the proof of one answer: name one level with --level",
            ));
        }
        let asked = self.asked.get_or_init(|| asked);
        self.monitor.level_count.store(asked.names().len(), Ordering::Relaxed);
        if let Some(report) = pieces::answer(self, asked) {
            return Ok((report, Vec::new()));
        }
        estimate::refuse_too_large(self)?;
        let threads = self.arguments.threads();
        let limits = self.monitor.limits;
        let options = ReadOptions { threads, ..self.input.reading.options(limits.memory()) };
        let read = Subject::read_as(self.input.input(), options, limits)?;
        let subject = self.subject.get_or_init(|| self.arguments.without_internal(read));
        let shares = Shares::of_all(&self.monitor, self.time_of_unnamed(asked));
        let check = self.check(subject, asked)?.index(&self.index);
        let sharing = self.check(subject, asked)?.index(&self.index).monitor(&shares);
        let reports = &self.arguments.reports;
        let needs = [&reports.html, &self.arguments.baseline, &self.arguments.write_baseline];
        let with_witnesses = needs.into_iter().any(Option::is_some);
        let decide = || {
            let report = sharing.run()?;
            let witnesses = if with_witnesses { check.witnesses(&report.answers)? } else { Vec::new() };
            Ok((report, witnesses))
        };
        let decided = self.while_counting(subject, || interrupt::while_deciding(decide));
        decided.map_err(|error| refused::failure(subject, error))
    }

    /// Decides while another thread counts how much the history could have shown, where there may be one and counting
    /// takes long. Ranges and predicates are counted from the index, which deciding builds.
    fn while_counting<T>(&self, subject: &Subject, decide: impl FnOnce() -> T) -> T {
        const LARGE: usize = 50_000;
        let history = &subject.history;
        let needs_index = history.has_ranges() || history.has_predicates();
        if self.arguments.threads() < 2 || history.txn_count() < LARGE || needs_index {
            return decide();
        }
        std::thread::scope(|scope| {
            let count = || _ = self.shown.set(Shown::of(history, &self.index, Bar::ReadsOthers));
            let thread = std::thread::Builder::new().name("chances".to_owned());
            // Without the thread it is counted afterwards.
            let _ = thread.spawn_scoped(scope, count);
            decide()
        })
    }

    /// How long the levels may take together if none was named: several times as long as it took to come here, and not less
    /// than a few seconds. A limit of the user's own is all that counts.
    fn time_of_unnamed(&self, asked: &Asked) -> Option<Duration> {
        const LEAST: Duration = Duration::from_secs(10);
        let is_shared = asked.is_all() && self.arguments.limits.time_limit.is_none();
        is_shared.then(|| LEAST.max(20 * self.monitor.elapsed()))
    }

    fn check<'s>(&'s self, subject: &'s Subject, asked: &Asked) -> Result<Check<'s>, Failure> {
        Ok(Check::new(&subject.history)
            .levels(asked.clone())
            .monitor(&self.monitor)
            .seed(self.arguments.seed)
            .stages(self.stages)
            .clock_skew(skew_of(self.arguments.clock_skew, subject)?)
            .threads(self.arguments.threads())
            .certify(!self.arguments.no_certify))
    }

    /// Reports what was answered, or why nothing was.
    fn report(&self, answered: Result<(isoscope::Report, Vec<Witness>), Failure>) -> Result<Exit, Failure> {
        self.monitor.progress.end();
        // A warning about the input may explain the failure.
        if let Some(subject) = self.subject.get() {
            subject.warn();
        }
        match (answered, self.subject.get()) {
            (Ok((report, witnesses)), Some(subject)) => self.report_answers(subject, report, witnesses),
            (Err(Failure::Limit(sentence)), None) if self.arguments.output.json => {
                let asked = self.asked_in_time();
                let answer = report::json::undecided_without_history(&self.input.name(), &asked, &sentence);
                let mut done = self.batch.lock();
                done.json.push(answer);
                done.collected.add_failure(&self.input.name(), &Failure::Limit(sentence))?;
                Ok(Exit::Undecided)
            }
            (Err(failure), _) => Err(failure),
            (Ok(_), None) => Err(Failure::new("isoscope failed: it decided about no history")),
        }
    }

    fn report_answers(
        &self,
        subject: &Subject,
        report: isoscope::Report,
        witnesses: Vec<Witness>,
    ) -> Result<Exit, Failure> {
        let report = Report {
            witnesses,
            subject,
            answers: report.answers,
            not_asked: report.not_asked,
            stats: self.arguments.stats.then(|| self.stats(subject)),
            shown: self.shown(subject),
            run: None,
        };
        if let Some(file) = &self.arguments.certificate {
            write_certificate(file, &report, self.arguments.clock_skew)?;
        }
        self.write_reports(&report)?;
        if let Some(file) = &self.arguments.write_baseline {
            Baseline::of(&report.witnesses).write(file)?;
        }
        match self.baseline {
            Some(baseline) => Ok(judge_by(baseline, &report)),
            None => Ok(report.exit()),
        }
    }

    fn write_reports(&self, report: &Report<'_>) -> Result<(), Failure> {
        let reports = &self.arguments.reports;
        if let Some(file) = reports.page_file(self.place) {
            report::html::write(&file, &report::html::page(report))?;
        }
        let mut done = self.batch.lock();
        if reports.is_any_collected() {
            done.collected.add(Suite::of_report(report), |out| report::markdown::write(report, out))?;
        }
        if self.arguments.output.json {
            done.json.push(report::json::value(report)?);
        }
        match self.arguments.prints_text() {
            true => report::text::print(report, reports.quiet, self.place > 0),
            false => Ok(()),
        }
    }

    /// Reports what is known when a limit ends the command.
    fn report_late(&self, limit: Limit) -> Result<Exit, Failure> {
        if let (Some(subject), Some(asked)) = (self.subject.get(), self.asked.get()) {
            let check = self.check(subject, asked)?;
            let report = check.unfinished(self.monitor.answers(), limit);
            let report = report.map(|report| (report, Vec::new()));
            return self.report(report.map_err(|error| refused::failure(subject, error)));
        }
        let (sentence, stage) = (self.monitor.sentence(limit), self.monitor.progress.stage());
        self.report(Err(Failure::Limit(format!("{sentence} while {stage}"))))
    }

    /// What is asked, also if a limit was reached before the names of levels were looked up. Texts of levels are not read
    /// after a limit.
    fn asked_in_time(&self) -> Asked {
        let names: Vec<String> =
            self.arguments.levels.iter().filter(|name| !level_files::is_file_name(name)).cloned().collect();
        let by_name = || level_files::asked(&names).unwrap_or_default();
        self.asked.get().cloned().unwrap_or_else(by_name)
    }

    fn shown(&self, subject: &Subject) -> Shown {
        if let Some(shown) = self.shown.get() {
            return shown.clone();
        }
        match self.monitor.reached().is_some() && !self.index.is_built() {
            // Another thread may be building the index, and there is no time to wait for it.
            true => Shown::not_counted(),
            false => Shown::of(&subject.history, &self.index, Bar::ReadsOthers),
        }
    }

    fn stats(&self, subject: &Subject) -> RunStats {
        RunStats {
            read_ms: units::milliseconds(subject.read_time),
            index_ms: units::milliseconds(self.index.time()),
            total_ms: units::milliseconds(self.monitor.elapsed()),
            history_bytes: subject.history.heap_bytes() as u64,
            peak_memory_bytes: limits::peak_bytes(),
        }
    }
}

/// The demand that a transaction sees its own writes, and the same value twice.
const INTERNAL: &str = "internal";

fn parse_stages(without: &[String]) -> Result<Stages, Failure> {
    let mut stages = Stages::default();
    for name in without.iter().filter(|name| *name != INTERNAL) {
        if !stages.switch_off(name) {
            let known = Stages::NAMES.join(", ");
            return Err(Failure::new(format!(
                "no stage is called {name:?}; there are {known}, and {INTERNAL} for internal consistency"
            )));
        }
    }
    Ok(stages)
}

/// The skew, which only clocks have.
pub fn skew_of(skew: Option<Duration>, subject: &Subject) -> Result<Duration, Failure> {
    let skew = skew.unwrap_or_default();
    match subject.history.clock() {
        Clock::Position if !skew.is_zero() => Err(Failure::new(format!(
            "--clock-skew does not apply to {}: its order of events is that of one recording, not of clocks",
            subject.name
        ))),
        Clock::Position | Clock::Nanoseconds => Ok(skew),
    }
}

fn write_certificate(file: &Path, report: &Report<'_>, skew: Option<Duration>) -> Result<(), Failure> {
    let clock_skew = skew.map_or(0, |skew| i64::try_from(skew.as_nanos()).unwrap_or(i64::MAX));
    let fingerprint = Fingerprint::of(&report.subject.history);
    let of_text = report.answers.iter().find_map(|answer| {
        let certificate = answer.text_certificate.clone()?;
        let level = answer.level.name().to_owned();
        Some(TextDocument { certificate, level, history: fingerprint, clock_skew })
    });
    if let Some(document) = of_text {
        return write_whole(file, Form::Json, |mut out| Ok(text::write(&document, &mut out)?));
    }
    let Some((level, certificate)) = report.answers.iter().find_map(|answer| answer.certificate.as_ref())
    else {
        let file = visible(&file.display().to_string());
        say(&format!("warning: {file} was not written, since the answer has no certificate"));
        return Ok(());
    };
    write_whole(file, Form::Json, |mut out| Ok(certify::write(certificate, level, fingerprint, &mut out)?))
}
