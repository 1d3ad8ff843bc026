//! `isoscope stats`: what is in a history, and how much it could have shown.

use std::io::{self, Write};

use clap::Args;
use history::{History, Op};
use index::Index;
use isoscope::units::{self, count};
use isoscope::{Chances, LazyIndex, limits};
use serde::Serialize;

use crate::args::{InputArguments, LimitArguments, OutputArguments};
use crate::exit::{Exit, Failure};
use crate::load::{HistoryJson, Subject};
use crate::power;
use crate::progress::Progress;
use crate::report::json::print_value;
use crate::screen::Screen;
use crate::terminal::{Style, Tone, visible};
use crate::watch::{nothing_known, watched};

/// The flags of `stats`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    input: InputArguments,
    /// Judge how much the history could have shown, and say which option of `run` raises it
    #[arg(long)]
    power: bool,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    limits: LimitArguments,
}

#[derive(Serialize)]
struct StatsJson {
    history: HistoryJson,
    contents: Contents,
    findings: Vec<FindingJson>,
    chances: Chances,
    read_ms: f64,
    history_bytes: u64,
    peak_memory_bytes: Option<u64>,
}

#[derive(Serialize)]
struct FindingJson {
    kind: &'static str,
    transaction: String,
    sentence: String,
}

/// Counts of what there is.
#[derive(Serialize, Default)]
struct Contents {
    /// Operations that happened, by kind, those of all transactions.
    operations: Vec<(&'static str, usize)>,
    /// Smallest, median and largest number of transactions of a session.
    transactions_per_session: [usize; 3],
    /// Smallest, median and largest number of operations of a transaction.
    operations_per_transaction: [usize; 3],
    /// Transactions that write nothing.
    read_only_transactions: usize,
    /// Reads that do not follow a read or write of the same key in their transaction.
    external_reads: usize,
    /// External reads that several writes could explain.
    ambiguous_reads: usize,
    /// External reads that the initial state could explain.
    initial_reads: usize,
    /// Last writes of a key in their transaction.
    final_writes: usize,
    /// Final writes whose key and value another transaction wrote too.
    duplicate_writes: usize,
    /// Operations that the database refused.
    failed_operations: usize,
    /// Whether transactions have times, and whether operations do.
    times: bool,
    /// Whether operations have times of their own.
    operation_times: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let limits = arguments.limits.start()?;
    let progress = Progress::start(&format!("reading {}", arguments.input.name()));
    watched(&limits, nothing_known(&limits, &progress), |watch| {
        let subject = Subject::read(&arguments.input, &limits)?;
        progress.set("counting");
        let peak_memory_bytes = limits::peak_bytes();
        let counted = Counted::of(&subject.history);
        watch.answer();
        progress.end();
        subject.warn();
        match arguments.output.json {
            true => print_json(&subject, counted, peak_memory_bytes)?,
            false if arguments.power => print_power(&subject, &counted)?,
            false => print_text(&subject, &counted)?,
        }
        Ok(Exit::Holds)
    })
}

struct Counted {
    index: LazyIndex,
    contents: Contents,
    chances: Chances,
}

impl Counted {
    fn of(history: &History) -> Self {
        let index = LazyIndex::default();
        let contents = Contents::of(history, index.of(history));
        Self { contents, chances: Chances::of(history, &index), index }
    }
}

const KINDS: [&str; 9] = [
    "read",
    "list read",
    "write",
    "append",
    "insert",
    "delete",
    "range read",
    "predicate read",
    "predicate write",
];

fn kind_of(op: &Op<'_>) -> usize {
    match op {
        Op::Read { .. } => 0,
        Op::ReadList { .. } => 1,
        Op::Write { .. } => 2,
        Op::Append { .. } => 3,
        Op::Insert { .. } => 4,
        Op::Delete { .. } => 5,
        Op::RangeRead(_) => 6,
        Op::PredicateRead(_) => 7,
        Op::PredicateWrite(_) => 8,
    }
}

impl Contents {
    fn of(history: &History, index: &Index) -> Self {
        let sources = (0..index.reads().len()).map(|read| index.sources(read));
        let (mut ambiguous_reads, mut initial_reads) = (0, 0);
        for sources in sources {
            ambiguous_reads += usize::from(sources.writes.len() + usize::from(sources.initial) > 1);
            initial_reads += usize::from(sources.initial);
        }
        Self {
            operations: operations_by_kind(history),
            transactions_per_session: spread(
                history.sessions().map(|session| history.session_txns(session).len()),
            ),
            operations_per_transaction: spread(history.txns().map(|txn| history.op_range(txn).len())),
            read_only_transactions: history
                .txns()
                .filter(|&txn| history.ops(txn).all(|(_, op)| op.is_read()))
                .count(),
            external_reads: index.reads().len(),
            ambiguous_reads,
            initial_reads,
            final_writes: index.writes().len(),
            duplicate_writes: index.groups().map(<[u32]>::len).sum(),
            failed_operations: history.failed_op_count(),
            times: history.has_times(),
            operation_times: history.has_op_times(),
        }
    }
}

fn operations_by_kind(history: &History) -> Vec<(&'static str, usize)> {
    let mut counts = [0; KINDS.len()];
    for txn in history.txns() {
        for (_, op) in history.ops(txn) {
            counts[kind_of(&op)] += 1;
        }
    }
    let named = KINDS.into_iter().zip(counts);
    named.filter(|&(_, count)| count > 0).collect()
}

/// Smallest, median and largest.
fn spread(numbers: impl Iterator<Item = usize>) -> [usize; 3] {
    let mut numbers: Vec<usize> = numbers.collect();
    if numbers.is_empty() {
        return [0; 3];
    }
    let last = numbers.len() - 1;
    numbers.sort_unstable();
    [numbers[0], numbers[last / 2], numbers[last]]
}

fn print_json(subject: &Subject, counted: Counted, peak_memory_bytes: Option<u64>) -> Result<(), Failure> {
    let findings = counted.index.of(&subject.history).findings().iter().map(|finding| FindingJson {
        kind: finding.kind.name(),
        transaction: subject.history.txn_label(finding.txn),
        sentence: finding.sentence(&subject.history),
    });
    print_value(&StatsJson {
        history: subject.json(),
        findings: findings.collect(),
        contents: counted.contents,
        chances: counted.chances,
        read_ms: units::milliseconds(subject.read_time),
        history_bytes: subject.history.heap_bytes() as u64,
        peak_memory_bytes,
    })
}

fn print_text(subject: &Subject, counted: &Counted) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    writeln!(out, "{}", style.wrap(&subject.headline(), 0, 2))?;
    write_contents(subject, &counted.contents, &mut out)?;
    write_chances(subject, &counted.chances, &mut out)?;
    write_findings(subject, counted.index.of(&subject.history), style, &mut out)?;
    Ok(out.flush()?)
}

/// Only what the history could have shown, with a judgement.
fn print_power(subject: &Subject, counted: &Counted) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let style = Style::of_stdout();
    writeln!(out, "{}\n", style.wrap(&subject.headline(), 0, 2))?;
    for (name, number) in power::rows(&counted.chances) {
        row(&mut out, &name, &number)?;
    }
    row(&mut out, "reads with several possible writers", &count(counted.contents.ambiguous_reads))?;
    let sentence = power::sentence(&subject.history, &counted.chances);
    writeln!(out, "\n{}", style.wrap(&sentence, 2, 4))?;
    Ok(out.flush()?)
}

fn row(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "    {name:<36} {value:>10}")
}

fn heading(out: &mut Screen<'_>, text: &str) -> io::Result<()> {
    write!(out, "\n  ")?;
    out.paint(Tone::Strong, text)?;
    writeln!(out)
}

fn write_contents(subject: &Subject, contents: &Contents, out: &mut Screen<'_>) -> io::Result<()> {
    heading(out, &format!("contents ({})", subject.format))?;
    for &(kind, number) in &contents.operations {
        row(out, &format!("{kind} operations"), &count(number))?;
    }
    let spread = |[least, median, most]: [usize; 3]| format!("{least} / {median} / {most}");
    let rows = [
        ("transactions of a session", spread(contents.transactions_per_session)),
        ("operations of a transaction", spread(contents.operations_per_transaction)),
        ("transactions that only read", count(contents.read_only_transactions)),
        ("external reads", count(contents.external_reads)),
        ("  with several possible writers", count(contents.ambiguous_reads)),
        ("  of the initial state", count(contents.initial_reads)),
        ("final writes", count(contents.final_writes)),
        ("  of a value written before", count(contents.duplicate_writes)),
        ("operations that failed", count(contents.failed_operations)),
        ("times", if contents.times { "yes" } else { "no" }.to_owned()),
        ("memory", units::size(subject.history.heap_bytes() as u64)),
    ];
    rows.iter().try_for_each(|(name, value)| row(out, name, value))
}

fn write_chances(subject: &Subject, chances: &Chances, out: &mut Screen<'_>) -> io::Result<()> {
    let overlapping = match subject.history.has_times() {
        true => "pairs of transactions that may have overlapped",
        false => "pairs of transactions of different sessions",
    };
    heading(out, &format!("what it could have shown ({overlapping})"))?;
    let errors = chances.errors.unwrap_or_default();
    row(out, "writes of the same key", &power::number(chances.write_conflicts, errors.write_conflicts))?;
    row(out, "lost update", &power::number(chances.lost_update, errors.lost_update))?;
    row(out, "read skew", &power::number(chances.read_skew, errors.read_skew))?;
    row(out, "write skew", &power::number(chances.write_skew, errors.write_skew))?;
    match chances.errors {
        Some(_) => writeln!(out, "    (± two standard errors of an estimate from a sample)"),
        None => Ok(()),
    }
}

fn write_findings(subject: &Subject, index: &Index, style: Style, out: &mut Screen<'_>) -> io::Result<()> {
    const SHOWN: usize = 10;
    let findings = index.findings();
    if findings.is_empty() {
        return Ok(());
    }
    heading(out, &format!("findings ({})", count(findings.len())))?;
    for finding in findings.iter().take(SHOWN) {
        let sentence = format!("{}: {}", finding.kind.name(), finding.sentence(&subject.history));
        writeln!(out, "{}", style.wrap(&visible(&sentence), 4, 6))?;
    }
    if findings.len() > SHOWN {
        writeln!(out, "    and {} more (--json lists them all)", count(findings.len() - SHOWN))?;
    }
    Ok(())
}
