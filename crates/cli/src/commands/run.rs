//! `isoscope run`: drives a database with a workload, records what its clients see, and checks it.
//!
//! The work is in the crate `run`; here are the flags, the progress line and the answer.

mod answer;
mod check;
mod execute;
mod live;

use std::path::{Path, PathBuf};

use ::run::options::{Options, Settings};
use ::run::sweep;
use ::run::workload::WORKLOADS;
use clap::Args;
use formats::Target;

use crate::args::{LimitArguments, OutputArguments};
use crate::connect;
use crate::exit::{Exit, Failure};
use crate::files::{flags, keep_apart, named};
use crate::level_files;
use crate::report;
use crate::report::outputs::{Collected, ReportArguments};
use crate::terminal::visible;
use answer::RunAnswer;

/// The flags of `run`. Each but the last few is also a setting of a configuration file, under the same name.
#[derive(Args, Debug)]
#[command(after_help = workloads_help())]
pub struct Arguments {
    /// A configuration file in TOML; lists are sweeps, `[[run]]` sections are several runs, flags stand above it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The database, such as sqlite:test.db, postgres://user:password@host/name, mysql://..., exec:PROGRAM or
    /// sim:LEVEL; repeat it for several nodes of one database
    #[arg(long, value_name = "URL")]
    db: Vec<String>,
    /// The isolation setting of the database, such as repeatable-read; without it the database's own default. Repeat it,
    /// and sessions take the settings in turn, each judged by what is promised of its own
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    isolation: Vec<String>,
    /// What the clients do, see below [default: general]
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// How many clients there are [default: 8]
    #[arg(long, value_name = "N")]
    sessions: Option<String>,
    /// End after so many transactions; aborted attempts come on top [default: 10000, or 1000 for blindw-pred and
    /// pred-skew, without --duration]
    #[arg(long, value_name = "N")]
    transactions: Option<String>,
    /// End after this time, such as 30s
    #[arg(long, value_name = "DURATION")]
    duration: Option<String>,
    /// Begin so many transactions in a second, all clients together [default: as fast as possible]
    #[arg(long, value_name = "N")]
    rate: Option<String>,
    /// Operations of a transaction: a number or a range such as 2-8
    #[arg(long, value_name = "N[-M]")]
    operations: Option<String>,
    /// How many keys, rows, accounts, items or users there are
    #[arg(long, value_name = "N")]
    keys: Option<String>,
    /// Which keys are chosen: uniform, zipf:EXPONENT, or hotspot:KEYS:OPERATIONS (shares)
    #[arg(long, value_name = "HOW")]
    distribution: Option<String>,
    /// The share of reads in transactions that may write (of audits, for bank)
    #[arg(long, value_name = "SHARE")]
    read_share: Option<String>,
    /// The share of transactions that only read
    #[arg(long, value_name = "SHARE")]
    read_only_share: Option<String>,
    /// The share of transactions that only write
    #[arg(long, value_name = "SHARE")]
    write_only_share: Option<String>,
    /// The share of writes that read their key first
    #[arg(long, value_name = "SHARE")]
    read_modify_write_share: Option<String>,
    /// Values written more than once: KEYS:VALUES or KEYS:VALUES:EXPONENT (share of keys, how many values, Zipf
    /// exponent)
    #[arg(long, value_name = "HOW")]
    duplicates: Option<String>,
    /// The share of transactions that the client aborts
    #[arg(long, value_name = "SHARE")]
    abort_share: Option<String>,
    /// Whether a transaction touches a key once only
    #[arg(long, value_name = "TRUTH")]
    distinct_keys: Option<String>,
    /// Equal seeds give equal transactions
    #[arg(long, value_name = "N")]
    seed: Option<String>,
    /// What goes wrong on purpose, and how often: kill-server=10s, drop-connection=1s, pause-session=2s:100ms; several
    /// with commas between them
    #[arg(long, value_name = "FAULTS")]
    nemesis: Option<String>,
    /// A command that starts the server and stays in the foreground; isoscope starts it, and ends it in the end
    #[arg(long, value_name = "COMMAND")]
    server_command: Option<String>,
    /// The levels to decide, and to judge by, instead of the one that the vendor promises and its neighbours
    #[arg(short, long = "level", value_name = "NAME", value_delimiter = ',')]
    levels: Vec<String>,
    /// Where to write the history [default: a new file in the current folder, named after the run]
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
    /// Only run and record
    #[arg(long)]
    no_check: bool,
    /// Check while it runs, and end the run at the first violation; without levels at the one that is promised
    #[arg(long)]
    watch: bool,
    /// Only run, to measure what recording costs
    #[arg(long, hide = true)]
    no_record: bool,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    reports: ReportArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut exit = Exit::Holds;
    let (mut answers, mut collected) = (Vec::new(), Collected::default());
    let runs = all_options(arguments)?;
    keep_apart_all(arguments, &runs)?;
    runs.iter().try_for_each(|options| level_files::asked(&options.levels).map(drop))?;
    for (place, options) in runs.iter().enumerate() {
        let executed =
            execute::execute(options, &arguments.limits, arguments.reports.html.is_some(), arguments.watch);
        let executed =
            executed.inspect_err(|failure| arguments.report_failure(&mut collected, options, failure))?;
        let followed = executed.followed;
        let answer = RunAnswer::of(options, executed);
        exit = exit.graver(answer.exit()).graver(followed.unwrap_or(Exit::Holds));
        answer.collect(&mut collected)?;
        if let Some(file) = arguments.reports.page_file(place) {
            answer.write_html(&file)?;
        }
        match (arguments.output.json, arguments.reports.takes_stdout()) {
            (true, _) => answers.push(answer.json()?),
            (false, false) => answer.print(arguments.reports.quiet, place > 0)?,
            (false, true) => {}
        }
        if answer.is_stopped() {
            break;
        }
    }
    arguments.reports.write(&collected)?;
    if arguments.output.json && !arguments.reports.takes_stdout() {
        report::json::print_value(&serde_json::json!({ "runs": answers }))?;
    }
    Ok(exit)
}

/// Every run, understood before the first one starts.
fn all_options(arguments: &Arguments) -> Result<Vec<Options>, Failure> {
    let flags = arguments.settings();
    let (runs, place) = match &arguments.config {
        None => (vec![flags], String::new()),
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| Failure::about(file, &error))?;
            let place = format!("{}: ", file.display());
            (sweep::read(&text, &flags).map_err(|reason| Failure::new(format!("{place}{reason}")))?, place)
        }
    };
    runs.iter()
        .map(|settings| Options::read(settings).map_err(|reason| Failure::new(format!("{place}{reason}"))))
        .collect()
}

/// Refuses a run that would write its history over something that is read, or over that of another run.
fn keep_apart_all(arguments: &Arguments, runs: &[Options]) -> Result<(), Failure> {
    let mut inputs = flags([("--config", &arguments.config)]);
    let mut outputs = arguments.reports.outputs();
    let later = (1..runs.len()).filter_map(|place| arguments.reports.page_file(place));
    outputs.extend(later.map(|page| named("--html", page)));
    for (place, options) in runs.iter().enumerate() {
        inputs.extend(connect::files(&connect::urls(&options.db)?));
        inputs.extend(level_files::inputs(&options.levels));
        if let Some(out) = &options.out {
            check_out(out, options.checks)?;
            let what =
                if runs.len() > 1 { format!("the history of run {}", place + 1) } else { "--out".into() };
            outputs.push(named(what, out));
        }
    }
    keep_apart(&inputs, &outputs)
}

/// A history that is checked is read again, and the answer has standard output to itself.
fn check_out(out: &Path, checks: bool) -> Result<(), Failure> {
    let shown = visible(&out.display().to_string());
    match Target::of(out) {
        Ok(Target::Stdout) => {
            Err(Failure::new(format!("--out {shown} is standard output, which gets the answer: name a file")))
        }
        Ok(Target::Stream(_) | Target::Stderr) if checks => Err(Failure::new(format!(
            "--out {shown} is no regular file, so the history could not be read again and checked: name a file, or \
             add --no-check"
        ))),
        _ => Ok(()),
    }
}

impl Arguments {
    /// Writes the reports of a run that could not be made; the failure itself matters more than one to report it.
    fn report_failure(&self, collected: &mut Collected, options: &Options, failure: &Failure) {
        let name = format!("run of {}", options.workload.name);
        let _ = collected.add_failure(&name, failure).and_then(|()| self.reports.write(collected));
    }

    /// The flags that were given, by their names in a configuration file.
    fn settings(&self) -> Settings {
        let single = [
            ("workload", &self.workload),
            ("sessions", &self.sessions),
            ("transactions", &self.transactions),
            ("duration", &self.duration),
            ("rate", &self.rate),
            ("operations", &self.operations),
            ("keys", &self.keys),
            ("distribution", &self.distribution),
            ("read-share", &self.read_share),
            ("read-only-share", &self.read_only_share),
            ("write-only-share", &self.write_only_share),
            ("read-modify-write-share", &self.read_modify_write_share),
            ("duplicates", &self.duplicates),
            ("abort-share", &self.abort_share),
            ("distinct-keys", &self.distinct_keys),
            ("seed", &self.seed),
            ("nemesis", &self.nemesis),
            ("server-command", &self.server_command),
            ("out", &self.out),
        ];
        let mut settings: Settings = single
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), vec![value.clone()?])))
            .collect();
        if !self.isolation.is_empty() {
            settings.insert("isolation".to_owned(), vec![self.isolation.join("+")]);
        }
        for (name, values) in [("db", &self.db), ("level", &self.levels)] {
            if !values.is_empty() {
                settings.insert(name.to_owned(), values.clone());
            }
        }
        for (name, is_off) in [("check", self.no_check), ("record", self.no_record)] {
            if is_off {
                settings.insert(name.to_owned(), vec!["false".to_owned()]);
            }
        }
        settings
    }
}

fn workloads_help() -> String {
    let workloads = WORKLOADS.map(|workload| format!("  {:<11} {}", workload.name, workload.about));
    format!(
        "Workloads:\n{}\n\nPasswords may be in the environment instead: ISOSCOPE_PASSWORD, PGPASSWORD, MYSQL_PWD.",
        workloads.join("\n")
    )
}
