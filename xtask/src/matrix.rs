//! `cargo xtask matrix`: every workload on every database at every setting, as a user would run it.
//!
//! PostgreSQL at three settings (its fourth is its second by another name), MariaDB at four, SQLite, fjall and redb. Of
//! each answer it checks what a user relies on: the promised level is decided, the exit code is that of its verdict, the
//! first sentence says what the verdicts say, and checking took no longer than the run (or a second, where the run was
//! shorter). All cells are run, printed as a table, and those that failed are named in the end.

mod cell;
mod levels;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{built, table};
use crate::run::{Done, target};
use crate::services::Borrowed;
use cell::Cell;
use levels::Lattice;

/// A database with its settings; a server is named by the variable that holds its URL.
const DATABASES: [(&str, &str, &[&str]); 5] = [
    ("PostgreSQL", "ISOSCOPE_TEST_POSTGRES", &["read-committed", "repeatable-read", "serializable"]),
    (
        "MariaDB",
        "ISOSCOPE_TEST_MARIADB",
        &["read-uncommitted", "read-committed", "repeatable-read", "serializable"],
    ),
    ("SQLite", "sqlite", &["deferred"]),
    ("fjall", "fjall", &["serializable"]),
    ("redb", "redb", &["serializable"]),
];

/// Every workload of `isoscope run`.
const WORKLOADS: [&str; 18] = [
    "general",
    "blindw-rm",
    "blindw-rw",
    "blindw-wr",
    "blindw-wh",
    "blindw-rh",
    "blindw-pred",
    "pred-skew",
    "range-b",
    "range-rqh",
    "range-idh",
    "append",
    "rmw",
    "small",
    "bank",
    "tpcc",
    "twitter",
    "rubis",
];

/// What is run, and how.
struct Matrix {
    isoscope: PathBuf,
    lattice: Lattice,
    variables: Vec<(&'static str, String)>,
    /// How many transactions each run makes; `None` for as many as `isoscope run` makes by itself.
    transactions: Option<String>,
    only: Vec<String>,
}

/// The workloads that make fewer transactions by themselves, which `--transactions` does not change.
const BY_PREDICATE: [&str; 2] = ["blindw-pred", "pred-skew"];

/// The exit code of a run whose promise was broken.
const BROKEN: i32 = 1;

/// The transactions of a quick run.
const QUICK: &str = "200";

/// `cargo xtask matrix [--quick] [--transactions N] [--profile dev] [DATABASE|SETTING|WORKLOAD ...]`, with servers of its
/// own.
pub fn run(options: &[&str]) -> Done {
    let (mut transactions, mut profile, mut only) = (None, "release", Vec::new());
    let mut words = options.iter();
    while let Some(&word) = words.next() {
        match word {
            "--quick" => transactions = Some(QUICK.to_owned()),
            "--transactions" => {
                transactions = Some(words.next().ok_or("--transactions needs a number")?.to_string());
            }
            "--profile" => profile = words.next().ok_or("--profile needs dev or release")?,
            name if is_known(name) => only.push(name.to_lowercase()),
            other => return Err(format!("no database, setting or workload is called {other}")),
        }
    }
    let servers = Borrowed::start()?;
    let isoscope = built(profile)?;
    let lattice = Lattice::of(&isoscope)?;
    Matrix { isoscope, lattice, variables: servers.variables.clone(), transactions, only }.run()
}

fn is_known(name: &str) -> bool {
    let is_of = |(database, _, settings): &(&str, &str, &[&str])| {
        database.eq_ignore_ascii_case(name) || settings.contains(&name)
    };
    WORKLOADS.contains(&name) || DATABASES.iter().any(is_of)
}

impl Matrix {
    fn run(&self) -> Done {
        table::head(&[
            "database",
            "setting",
            "workload",
            "committed",
            "aborted",
            "run",
            "check",
            "processor",
            "promise",
            "exit",
            "answer",
        ]);
        let mut failed = Vec::new();
        for (database, place, settings) in DATABASES {
            for (setting, workload) in settings.iter().flat_map(|s| WORKLOADS.iter().map(move |w| (s, w))) {
                if !self.is_asked(&[database, setting, workload]) {
                    continue;
                }
                let cell = self.cell(place, setting, workload)?;
                cell.print(&[database, setting, workload]);
                let faults = cell.faults(&self.lattice, self.transactions.as_deref() == Some(QUICK));
                failed.extend(faults.iter().map(|fault| format!("{database} {setting} {workload}: {fault}")));
            }
        }
        match failed.is_empty() {
            true => Ok(()),
            false => {
                Err(format!("{} cells are not as they should be:\n  {}", failed.len(), failed.join("\n  ")))
            }
        }
    }

    /// Whether a cell is among those that were named: each name that was given is a database, a setting or a workload,
    /// and of each of these three kinds one has to fit.
    fn is_asked(&self, names: &[&str; 3]) -> bool {
        let kind = |name: &str| match name {
            name if WORKLOADS.contains(&name) => 2,
            name if DATABASES.iter().any(|(database, ..)| database.eq_ignore_ascii_case(name)) => 0,
            _ => 1,
        };
        (0..3).all(|place| {
            let mut asked = self.only.iter().filter(|name| kind(name) == place).peekable();
            asked.peek().is_none() || asked.any(|name| names[place].eq_ignore_ascii_case(name))
        })
    }

    fn cell(&self, place: &str, setting: &str, workload: &str) -> Done<Cell> {
        let folder = target().join("matrix");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let named = self.variables.iter().find(|(name, _)| *name == place).map(|(_, url)| url.clone());
        let named = named.or_else(|| std::env::var(place).ok());
        let url = named.unwrap_or_else(|| format!("{place}:{}", folder.join("store").display()));
        let mut run = Command::new(&self.isoscope);
        run.args(["run", "--json", "--db", &url, "--isolation", setting, "--workload", workload, "--out"]);
        run.arg(folder.join("history.jsonl"));
        let is_few = |number: &&String| !BY_PREDICATE.contains(&workload) || number.as_str() == QUICK;
        if let Some(transactions) = self.transactions.as_ref().filter(is_few) {
            run.args(["--transactions", transactions]);
        }
        let (exit, text) = answer_of(&mut run)?;
        if exit == BROKEN {
            keep(&folder.join("history.jsonl"), &format!("{setting}-{workload}"))?;
        }
        Cell::read(exit, &text).ok_or_else(|| format!("{setting} {workload}: no answer was read from {text}"))
    }
}

/// Keeps the recording of a broken promise, which the next cell would write over. Another run may not show the violation again.
fn keep(recording: &Path, name: &str) -> Done {
    let kept = target().join(format!("broken-{name}.jsonl"));
    std::fs::copy(recording, &kept).map_err(|error| format!("{}: {error}", recording.display()))?;
    println!("a promise was broken: the recording is {}", kept.display());
    Ok(())
}

/// The exit code and the standard output of a run that gave an answer.
fn answer_of(run: &mut Command) -> Done<(i32, String)> {
    let output = run.output().map_err(|error| error.to_string())?;
    match output.status.code() {
        Some(code @ (0 | 1 | 3)) => Ok((code, String::from_utf8_lossy(&output.stdout).into_owned())),
        // The command line has a password in it, so it is not shown.
        _ => Err(format!("isoscope run: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}
