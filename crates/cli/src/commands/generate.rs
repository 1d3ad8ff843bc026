//! `isoscope generate`: a history from a simulated database.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use drive::plant::{Planted, plant};
use drive::simulate::{
    Config, Duplicates, Fault, KeyDistribution, PRESETS, Part, StoreLevel, generate, preset, stream,
};
use formats::native_jsonl::{NativeWriter, in_line_order};
use formats::{Format, WriteOptions};
use history::{Clock, History, Summary};

use crate::args::{OutputArguments, parse_format, parse_planted};
use crate::commands::convert::{Output, write_history};
use crate::exit::{Exit, Failure};
use crate::load::Subject;
use crate::progress::Progress;
use isoscope::units;

/// The flags of `generate`. What is not given comes from the workload.
#[derive(Args, Debug)]
#[command(after_help = presets_help())]
pub struct Arguments {
    /// Where to write: a file (compressed if it ends in .gz or .zst), a folder for Cobra, - for standard output
    #[arg(value_name = "OUTPUT", default_value = "-")]
    output: PathBuf,
    /// The format to write; without it the one that the name of the output stands for
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    to: Option<Format>,
    /// The workload, see below
    #[arg(long, value_name = "NAME", default_value = "general")]
    workload: String,
    /// How the simulated database isolates transactions
    #[arg(long, value_name = "NAME", value_parser = parse_level)]
    level: Option<StoreLevel>,
    /// A defect of the database and the share of transactions it strikes, such as lost-update=0.01; may be repeated
    #[arg(long = "fault", value_name = "NAME=RATE", value_parser = parse_fault)]
    faults: Vec<(Fault, f64)>,
    /// Put one anomaly at a random place into the finished history
    #[arg(long, value_name = "ANOMALY", value_parser = parse_planted)]
    plant: Option<Planted>,
    /// Write each transaction as it ends, as a recorder does, in memory that does not grow; native format only
    #[arg(long, conflicts_with_all = ["plant", "lossy"])]
    stream: bool,
    /// Equal seeds give equal histories
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How many clients there are
    #[arg(long, value_name = "N")]
    sessions: Option<u32>,
    /// How many transactions are to end; aborted attempts come on top
    #[arg(long, value_name = "N")]
    transactions: Option<u32>,
    /// Operations of a transaction: a number or a range such as 2-8
    #[arg(long, value_name = "N[-M]", value_parser = parse_range)]
    operations: Option<(u32, u32)>,
    /// How many keys there are
    #[arg(long, value_name = "N")]
    keys: Option<u32>,
    /// Which keys are chosen: uniform, zipf:EXPONENT, or hotspot:KEYS:OPERATIONS (shares)
    #[arg(long, value_name = "HOW", value_parser = parse_distribution)]
    distribution: Option<KeyDistribution>,
    /// The share of reads in transactions that may write
    #[arg(long, value_name = "SHARE")]
    read_share: Option<f64>,
    /// The share of transactions that only read
    #[arg(long, value_name = "SHARE")]
    read_only_share: Option<f64>,
    /// The share of transactions that only write
    #[arg(long, value_name = "SHARE")]
    write_only_share: Option<f64>,
    /// The share of writes that read their key first
    #[arg(long, value_name = "SHARE")]
    read_modify_write_share: Option<f64>,
    /// Values written more than once: KEYS:VALUES or KEYS:VALUES:EXPONENT (share of keys, how many values, Zipf exponent)
    #[arg(long, value_name = "HOW", value_parser = parse_duplicates)]
    duplicates: Option<Duplicates>,
    /// The share of transactions whose client aborts
    #[arg(long, value_name = "SHARE")]
    abort_share: Option<f64>,
    /// The share of transactions whose client never hears the outcome
    #[arg(long, value_name = "SHARE")]
    unknown_share: Option<f64>,
    /// Leave out when transactions ran
    #[arg(long)]
    no_times: bool,
    /// Leave out aborted attempts
    #[arg(long)]
    no_aborted: bool,
    /// How far apart the clocks of two clients are, such as 5ms
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration)]
    clock_skew: Option<Duration>,
    /// Leave out, with a warning, what the format cannot express even if a verdict could depend on it
    #[arg(long)]
    lossy: bool,
    #[command(flatten)]
    answer: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let output = Output::named(&arguments.output, arguments.to, arguments.answer.json)?;
    output.keep_apart(&[])?;
    let config = config(arguments)?;
    if arguments.stream {
        return write_stream(&output, &config);
    }
    let progress = Progress::start("simulating");
    let history = simulate(arguments, &config)?;
    progress.set("writing");
    let subject = subject(arguments, history);
    let options = WriteOptions { lossy: arguments.lossy };
    let written = write_history(&subject, &output, &options);
    drop(progress);
    output.report(&subject, &written?)
}

/// Simulates and writes at the same time.
fn write_stream(output: &Output, config: &Config) -> Result<Exit, Failure> {
    let mut out = output.stream()?;
    let mut writer = NativeWriter::new(&mut out, Clock::Nanoseconds)?;
    let mut is_first = true;
    let mut write = |part: &Part| -> std::io::Result<()> {
        if std::mem::take(&mut is_first) {
            writer.initial_state(&part.history)?;
            part.history.sessions().try_for_each(|session| writer.session(u64::from(session.0), None))?;
        }
        let txns = in_line_order(&part.history, &part.sessions);
        txns.into_iter()
            .try_for_each(|txn| writer.append(&part.history, txn, u64::from(part.history.session_of(txn).0)))
    };
    let written = stream(config, &mut write).map_err(|error| Failure::new(error.to_string()))?;
    written.and_then(|()| writer.closed()).and_then(|()| writer.flush())?;
    Ok(Exit::Holds)
}

fn simulate(arguments: &Arguments, config: &Config) -> Result<History, Failure> {
    let history = generate(config).map_err(|error| Failure::new(error.to_string()))?;
    match arguments.plant {
        None => Ok(history),
        Some(planted) => plant(&history, planted, arguments.seed)
            .map(|with| with.history)
            .map_err(|error| Failure::new(error.to_string())),
    }
}

fn subject(arguments: &Arguments, history: History) -> Subject {
    Subject {
        name: arguments.workload.clone(),
        summary: Summary::of(&history),
        history,
        format: Format::Native,
        warnings: Vec::new(),
        read_time: Duration::ZERO,
    }
}

/// The workload's configuration with what the flags change.
fn config(arguments: &Arguments) -> Result<Config, Failure> {
    let mut config = preset(&arguments.workload).ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        Failure::new(format!(
            "no workload is called {:?}; there are {}",
            arguments.workload,
            names.join(", ")
        ))
    })?;
    fn set<T>(field: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *field = value;
        }
    }
    config.seed = arguments.seed;
    config.faults.extend_from_slice(&arguments.faults);
    set(&mut config.level, arguments.level);
    set(&mut config.sessions, arguments.sessions);
    set(&mut config.transactions, arguments.transactions);
    set(&mut config.operations_per_transaction, arguments.operations);
    set(&mut config.keys, arguments.keys);
    set(&mut config.distribution, arguments.distribution);
    set(&mut config.read_share, arguments.read_share);
    set(&mut config.read_only_share, arguments.read_only_share);
    set(&mut config.write_only_share, arguments.write_only_share);
    set(&mut config.read_modify_write_share, arguments.read_modify_write_share);
    set(&mut config.duplicates, arguments.duplicates.map(Some));
    set(&mut config.abort_share, arguments.abort_share);
    set(&mut config.unknown_share, arguments.unknown_share);
    set(&mut config.clock_skew_ns, arguments.clock_skew.map(|skew| skew.as_nanos() as u64));
    config.record_times &= !arguments.no_times;
    config.record_aborted &= !arguments.no_aborted;
    Ok(config)
}

fn presets_help() -> String {
    let workloads = PRESETS.map(|preset| format!("  {:<11} {}", preset.name, preset.about));
    let list = |names: Vec<&str>| names.join(", ");
    format!(
        "Workloads:\n{}\n\nLevels of the database: {}\nFaults: {}\nAnomalies to plant: {}",
        workloads.join("\n"),
        list(StoreLevel::ALL.map(StoreLevel::name).to_vec()),
        list(Fault::ALL.map(Fault::name).to_vec()),
        list(Planted::ALL.map(Planted::name).to_vec()),
    )
}

fn parse_level(name: &str) -> Result<StoreLevel, String> {
    let names = StoreLevel::ALL.map(StoreLevel::name);
    StoreLevel::named(name).ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

fn parse_fault(text: &str) -> Result<(Fault, f64), String> {
    let (name, rate) =
        text.split_once('=').ok_or("expected a fault and its rate, such as lost-update=0.01")?;
    let names = Fault::ALL.map(Fault::name);
    let fault = Fault::named(name).ok_or_else(|| format!("expected one of {}", names.join(", ")))?;
    Ok((fault, parse_number(rate)?))
}

fn parse_number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("expected a number, found `{text}`"))
}

fn parse_range(text: &str) -> Result<(u32, u32), String> {
    match text.split_once('-') {
        Some((least, most)) => Ok((parse_number(least)?, parse_number(most)?)),
        None => parse_number(text).map(|number| (number, number)),
    }
}

fn parse_distribution(text: &str) -> Result<KeyDistribution, String> {
    match text.split(':').collect::<Vec<_>>()[..] {
        ["uniform"] => Ok(KeyDistribution::Uniform),
        ["zipf", exponent] => Ok(KeyDistribution::Zipf { exponent: parse_number(exponent)? }),
        ["hotspot", hot_keys, hot_operations] => Ok(KeyDistribution::Hotspot {
            hot_keys: parse_number(hot_keys)?,
            hot_operations: parse_number(hot_operations)?,
        }),
        _ => Err("expected uniform, zipf:EXPONENT or hotspot:KEYS:OPERATIONS".to_owned()),
    }
}

fn parse_duplicates(text: &str) -> Result<Duplicates, String> {
    let (key_share, values, exponent) = match text.split(':').collect::<Vec<_>>()[..] {
        [key_share, values] => (key_share, values, "0"),
        [key_share, values, exponent] => (key_share, values, exponent),
        _ => return Err("expected KEYS:VALUES or KEYS:VALUES:EXPONENT, such as 0.5:100".to_owned()),
    };
    Ok(Duplicates {
        key_share: parse_number(key_share)?,
        values: parse_number(values)?,
        exponent: parse_number(exponent)?,
    })
}
