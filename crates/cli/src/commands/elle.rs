//! `isoscope elle`: the command line of elle-cli, answered by isoscope.
//!
//! Flags, input and output are those of elle-cli, so that a script changes only the command. Two things differ: an answer
//! that is not known has the exit code 3, and `--output edn` prints the answer as EDN.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use formats::{Format, Input, ReadOptions};
use isoscope::anomalies::lattice::{self, Model};
use isoscope::anomalies::{Anomaly, Assumptions, Kind};
use isoscope::{ElleAnswer, ElleQuestion, Limits, workload};
use serde_json::{Map, Value, json};

use super::elle_folder;
use crate::args::LimitArguments;
use crate::exit::{Exit, Failure};
use crate::load::Subject;
use crate::progress::{Progress, Watched};
use crate::refused;
use crate::report::json::print_value;
use crate::screen::{Form, Screen};
use crate::terminal::visible;
use crate::watch::{Watch, nothing_known, watched};

/// The flags of `elle`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The histories: files in EDN or JSON, as Jepsen and elle-cli read them
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// What the operations are
    #[arg(short, long, value_name = "MODEL")]
    model: Workload,
    /// The format of the files; without it that of their names
    #[arg(short, long, value_name = "FORMAT")]
    format: Option<FileFormat>,
    /// How to answer: text is a line for each file
    #[arg(short = 'v', long, value_name = "OUTPUT", default_value = "text")]
    output: Output,
    /// The same as --output json
    #[arg(long)]
    verbose: bool,
    /// The models that the history is expected to satisfy, separated by commas
    #[arg(short, long, value_name = "MODELS", default_value = "strict-serializable", value_delimiter = ',')]
    consistency_models: Vec<String>,
    /// Further anomalies that it must not show, separated by commas
    #[arg(short, long, value_name = "ANOMALIES", default_value = "G0", value_delimiter = ',')]
    anomalies: Vec<String>,
    /// A folder for what was found: sentences and a picture for each class of anomalies, and a report in HTML
    #[arg(short, long, value_name = "FOLDER")]
    directory: Option<PathBuf>,
    /// The same as --assume linearizable-keys
    #[arg(long, hide_short_help = true)]
    linearizable_keys: bool,
    /// The same as --assume sequential-keys
    #[arg(long, hide_short_help = true)]
    sequential_keys: bool,
    /// The same as --assume wfr-keys
    #[arg(long, hide_short_help = true)]
    wfr_keys: bool,
    /// Assume more about registers than the history shows; the answer repeats it
    #[arg(long, value_name = "ASSUMPTION", value_delimiter = ',')]
    assume: Vec<Assumption>,
    /// Leave out a demand: with `internal` a transaction need not see its own writes, nor the same value twice
    #[arg(long, value_name = "DEMAND")]
    without: Option<Demand>,
    /// For bank: the sum of all balances
    #[arg(short = 'o', long, value_name = "AMOUNT")]
    total_amount: Option<i64>,
    /// For bank: a balance may be negative
    #[arg(short = 'n', long)]
    allow_negative_balances: bool,
    /// Not used: the sum of balances does not depend on it
    #[arg(long, value_name = "AMOUNT", hide_short_help = true)]
    max_transfer: Option<i64>,
    /// Not used: forks are found whatever the groups of keys
    #[arg(short, long, value_name = "N", hide_short_help = true)]
    group_size: Option<u64>,
    /// Not used: no search has a time-out
    #[arg(short = 's', long, value_name = "MS", hide_short_help = true)]
    cycle_search_timeout: Option<u64>,
    /// Not used: nothing is plotted
    #[arg(short, long, value_name = "FORMAT", hide_short_help = true)]
    plot_format: Option<String>,
    /// Not used: nothing is plotted
    #[arg(short = 't', long, value_name = "MS", hide_short_help = true)]
    plot_timeout: Option<u64>,
    /// Not used: nothing is plotted
    #[arg(short = 'b', long, value_name = "BYTES", hide_short_help = true)]
    max_plot_bytes: Option<u64>,
    #[command(flatten)]
    limits: LimitArguments,
}

const AFTER_HELP: &str = "\
Exit codes: 0 every history is valid, 1 one is not, 2 the question could not be asked, 3 not known (with the reason).

docs/elle.md has the names of all models and what each forbids.";

/// The workloads of elle-cli.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Workload {
    ListAppend,
    RwRegister,
    Bank,
    Counter,
    Set,
    SetFull,
    LongFork,
    Comments,
    Sequential,
    CasRegister,
    Mutex,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum FileFormat {
    Edn,
    Json,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Output {
    Text,
    Json,
    Edn,
}

/// What Elle infers about registers if it is told so.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assumption {
    /// Each key is linearizable: its versions are in the order of real time
    #[value(name = "linearizable-keys")]
    Linearizable,
    /// Each key is sequentially consistent: its versions are in the order of each session
    #[value(name = "sequential-keys")]
    Sequential,
    /// A transaction replaces the version of a key that it read
    #[value(name = "wfr-keys")]
    WritesFollowReads,
    /// Versions are in the order of the commits that the recording notes (:commit-ts, :transaction-order)
    #[value(name = "commit-order")]
    NotedCommits,
}

/// A demand that can be left out.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Demand {
    Internal,
}

/// What is assumed, from the names.
pub fn assumptions(named: &[Assumption]) -> Assumptions {
    Assumptions {
        writes_follow_reads: named.contains(&Assumption::WritesFollowReads),
        sequential_keys: named.contains(&Assumption::Sequential),
        linearizable_keys: named.contains(&Assumption::Linearizable),
        noted_commits: named.contains(&Assumption::NotedCommits),
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let question = arguments.question()?;
    let mut exit = Exit::Holds;
    for file in &arguments.files {
        let checked = match arguments.workload()? {
            None => arguments.check(file, &question)?,
            Some(workload) => arguments.check_operations(file, workload)?,
        };
        exit = exit.graver(checked);
    }
    Ok(exit)
}

impl Arguments {
    /// The workload, if its operations are no transactions.
    fn workload(&self) -> Result<Option<workload::Workload>, Failure> {
        Ok(Some(match (self.model, self.total_amount) {
            (Workload::ListAppend | Workload::RwRegister | Workload::LongFork, _) => return Ok(None),
            (Workload::Set, _) => workload::Workload::Set,
            (Workload::SetFull, _) => workload::Workload::SetFull,
            (Workload::Counter, _) => workload::Workload::Counter,
            (Workload::Comments, _) => workload::Workload::Comments,
            (Workload::Sequential, _) => workload::Workload::Sequential,
            (Workload::CasRegister, _) => workload::Workload::CasRegister,
            (Workload::Mutex, _) => workload::Workload::Mutex,
            (Workload::Bank, Some(total)) => {
                let allows_negative = self.allow_negative_balances;
                workload::Workload::Bank { total, allows_negative }
            }
            (Workload::Bank, None) => {
                return Err(Failure::new("the model bank needs --total-amount, the sum of all balances"));
            }
        }))
    }

    fn check_operations(&self, file: &Path, workload: workload::Workload) -> Result<Exit, Failure> {
        let limits = self.limits.start()?;
        let options = ReadOptions { format: self.format_of(file), ..ReadOptions::default() };
        let input = Input::named(file.to_owned());
        let operations = limits
            .bound("reading the operations", move || formats::read_operations(&input, &options))?
            .map_err(|error| Failure::new(visible(&error.to_string())))?;
        let answer = workload::check(workload, &operations);
        let valid = answer.valid.map_or(json!("unknown"), |valid| json!(valid));
        let map = json!({ "valid?": valid, "sentences": answer.sentences });
        match (self.output, self.verbose) {
            (Output::Json, _) | (_, true) => print_value(&map)?,
            (Output::Edn, false) => print_edn(&map)?,
            (Output::Text, false) => {
                let mut out = Screen::stdout();
                let valid = answer.valid.map_or("unknown".to_owned(), |valid| valid.to_string());
                writeln!(out, "{} \t {valid}", visible(&file.display().to_string()))?;
                out.flush()?;
                if answer.valid.is_none() {
                    answer.sentences.iter().for_each(|reason| crate::screen::say(&visible(reason)));
                }
            }
        }
        Ok(exit_of(answer.valid))
    }

    fn question(&self) -> Result<ElleQuestion, Failure> {
        if self.model == Workload::LongFork {
            // Writes of single keys that two reads saw in different orders.
            return Ok(ElleQuestion { anomalies: vec!["G-nonadjacent"], ..ElleQuestion::default() });
        }
        let is_named = |name: &&String| !name.is_empty();
        let models = self.consistency_models.iter().filter(is_named).map(|name| model(name));
        let anomalies = self.anomalies.iter().filter(is_named).map(|name| anomaly(name));
        Ok(ElleQuestion {
            models: models.collect::<Result<_, _>>()?,
            anomalies: anomalies.collect::<Result<_, _>>()?,
            assumptions: self.assumptions(),
            without_internal: self.without == Some(Demand::Internal),
        })
    }

    /// What is assumed, by either way to say it.
    fn assumptions(&self) -> Assumptions {
        let named = assumptions(&self.assume);
        Assumptions {
            writes_follow_reads: named.writes_follow_reads || self.wfr_keys,
            sequential_keys: named.sequential_keys || self.sequential_keys,
            linearizable_keys: named.linearizable_keys || self.linearizable_keys,
            noted_commits: named.noted_commits,
        }
    }

    fn check(&self, file: &Path, question: &ElleQuestion) -> Result<Exit, Failure> {
        let limits = self.limits.start()?;
        let progress = Progress::start(&format!("reading {}", file.display()));
        watched(&limits, nothing_known(&limits, &progress), |watch| {
            self.check_watched(file, question, &limits, &progress, watch)
        })
    }

    fn check_watched(
        &self,
        file: &Path,
        question: &ElleQuestion,
        limits: &Limits,
        progress: &Progress,
        watch: &Watch,
    ) -> Result<Exit, Failure> {
        let options = ReadOptions { format: self.format_of(file), ..ReadOptions::default() };
        let subject = Subject::read_as(Input::named(file.to_owned()), options, limits)?;
        let answer = question.ask(&subject.history, &Watched::new(limits, progress));
        watch.answer();
        progress.end();
        subject.warn();
        let answer = answer.map_err(|error| refused::failure(&subject, error))?;
        if let Some(folder) = &self.directory {
            elle_folder::write(folder, &subject, question, &answer)?;
        }
        match (self.output, self.verbose) {
            (Output::Json, _) | (_, true) => print_value(&as_json(&subject, &answer))?,
            (Output::Text, false) => print_line(&subject, &answer)?,
            (Output::Edn, false) => print_edn(&as_json(&subject, &answer))?,
        }
        Ok(exit_of(answer.valid))
    }

    /// The format by the flag, or by the end of the name; else by the content.
    fn format_of(&self, file: &Path) -> Option<Format> {
        let end = file.extension().and_then(|end| end.to_str());
        match (self.format, end) {
            (Some(FileFormat::Edn), _) | (None, Some("edn")) => Some(Format::JepsenEdn),
            (Some(FileFormat::Json), _) | (None, Some("json")) => Some(Format::JepsenJson),
            _ => None,
        }
    }
}

fn exit_of(valid: Option<bool>) -> Exit {
    match valid {
        Some(true) => Exit::Holds,
        Some(false) => Exit::Violated,
        None => Exit::Undecided,
    }
}

fn model(name: &str) -> Result<Model, Failure> {
    Model::named(name).ok_or_else(|| {
        let aliases = lattice::ALIASES.iter().map(|&(alias, _)| alias);
        let names: Vec<_> = aliases.chain(lattice::MODELS.iter().copied()).collect();
        Failure::new(format!("no consistency model is called {name:?}; there are {}", names.join(", ")))
    })
}

fn anomaly(name: &str) -> Result<&'static str, Failure> {
    lattice::anomaly_named(name)
        .ok_or_else(|| Failure::new(format!("no anomaly is called {name:?}; docs/elle.md lists them")))
}

fn print_line(subject: &Subject, answer: &ElleAnswer) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let valid = answer.valid.map_or("unknown".to_owned(), |valid| valid.to_string());
    writeln!(out, "{} \t {valid}", visible(&subject.name))?;
    if !answer.assumptions.is_empty() {
        crate::screen::say(&format!("assumed: {}", answer.assumptions.join(", ")));
    }
    for reason in &answer.unknown {
        crate::screen::say(&visible(reason));
    }
    Ok(out.flush()?)
}

/// The answer with the keys of Elle's map.
fn as_json(subject: &Subject, answer: &ElleAnswer) -> Value {
    let mut map = Map::new();
    map.insert("valid?".into(), answer.valid.map_or(json!("unknown"), |valid| json!(valid)));
    if !answer.anomaly_types.is_empty() {
        map.insert("anomaly-types".into(), json!(answer.anomaly_types));
        map.insert("anomalies".into(), anomalies_json(subject, answer));
    }
    if answer.valid == Some(false) {
        map.insert("not".into(), json!(answer.not));
        map.insert("also-not".into(), json!(answer.also_not));
    }
    if !answer.assumptions.is_empty() {
        map.insert("assumptions".into(), json!(answer.assumptions));
    }
    if !answer.unknown.is_empty() {
        map.insert("reasons".into(), json!(answer.unknown));
    }
    Value::Object(map)
}

fn anomalies_json(subject: &Subject, answer: &ElleAnswer) -> Value {
    let mut map = Map::new();
    for anomaly in &answer.anomalies {
        map.insert(anomaly.class.name().into(), json!([witness_json(subject, anomaly)]));
    }
    for (model, sentences) in &answer.violated {
        map.insert(format!("{}-cycle-exists", model.name()), json!([{ "sentences": sentences }]));
    }
    Value::Object(map)
}

fn witness_json(subject: &Subject, anomaly: &Anomaly) -> Value {
    let label = |txn: u32| subject.history.txn_label(history::TxnId(txn));
    let step = |edge: &isoscope::anomalies::Edge| {
        let kind = match edge.kind {
            Kind::Ww => "ww",
            Kind::Wr => "wr",
            Kind::Rw => "rw",
            Kind::Process => "process",
            Kind::Realtime | Kind::Through => "realtime",
        };
        json!({ "type": kind, "from": label(edge.from), "to": label(edge.to) })
    };
    json!({
        "transactions": anomaly.txns.iter().map(|txn| label(txn.0)).collect::<Vec<_>>(),
        "steps": anomaly.cycle.iter().map(step).collect::<Vec<_>>(),
        "sentences": anomaly.sentences,
    })
}

/// The same as EDN: names become keywords, and so do the members of lists of names.
fn print_edn(value: &Value) -> Result<(), Failure> {
    let mut out = Screen::over(BufWriter::new(io::stdout().lock()), Form::Json);
    writeln!(out, "{}", edn(value, ""))?;
    Ok(out.flush()?)
}

fn edn(value: &Value, name: &str) -> String {
    let is_keyword =
        matches!(name, "valid?" | "anomaly-types" | "not" | "also-not" | "type") || name.is_empty();
    match value {
        Value::String(text) if is_keyword => format!(":{text}"),
        Value::String(_) | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Null => "nil".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| edn(item, name)).collect();
            match name {
                "not" | "also-not" => format!("#{{{}}}", items.join(" ")),
                _ => format!("[{}]", items.join(" ")),
            }
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!(":{name} {}", edn(value, name)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}
