//! The SQL of `shrink --sql`, pasted into terminals of the server that it was recorded on, shows the anomaly again.
//!
//! A terminal is `psql` or `mariadb`, one for each column of the script. The steps are sent from top to bottom, each after
//! the answer to the one before, and every read must answer what the comment behind it says. Without a server in
//! `ISOSCOPE_TEST_POSTGRES` or `ISOSCOPE_TEST_MARIADB` the tests say so and pass.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use common::Folder;

/// What a terminal prints after the answer to a step.
const MARK: &str = "isoscope-step-done";

/// A client of the server that is typed into.
struct Terminal {
    child: Child,
    lines: Receiver<String>,
    /// How the mark is asked for.
    echo: &'static str,
}

impl Terminal {
    fn open(url: &str) -> Self {
        let (mut command, echo) = match url.starts_with("postgres") {
            true => (psql(url), "\\echo isoscope-step-done"),
            false => (mariadb(url), "SELECT 'isoscope-step-done';"),
        };
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("a terminal");
        let (sender, lines) = channel();
        let output = child.stdout.take().expect("its output");
        let errors = child.stderr.take().expect("its errors");
        forward(Box::new(BufReader::new(output)), "", sender.clone());
        forward(Box::new(BufReader::new(errors)), "error: ", sender);
        Self { child, lines, echo }
    }

    /// What the server answers to a step; nothing if it does not answer, or refuses.
    fn ask(&mut self, statement: &str) -> Option<Vec<String>> {
        let mut input = self.child.stdin.as_ref().expect("its input");
        writeln!(input, "{statement}\n{}", self.echo).ok()?;
        input.flush().ok()?;
        let mut answer = Vec::new();
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(10)).ok()?;
            match line.trim() {
                MARK => return Some(answer),
                refused if refused.starts_with("error: ") => return None,
                "" => {}
                shown => answer.push(shown.to_owned()),
            }
        }
    }
}

/// Sends the lines of a stream on, from a thread of its own.
fn forward(reader: Box<dyn BufRead + Send>, prefix: &'static str, sender: Sender<String>) {
    std::thread::spawn(move || {
        for line in reader.lines().map_while(Result::ok) {
            let _ = sender.send(format!("{prefix}{line}"));
        }
    });
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn psql(url: &str) -> Command {
    let mut command = Command::new("psql");
    command.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", url]);
    // A table that is not there to be dropped is no error.
    command.env("PGOPTIONS", "-c client_min_messages=warning");
    command
}

fn mariadb(url: &str) -> Command {
    let rest = url.split_once("://").expect("a URL").1;
    let (user, place) = rest.rsplit_once('@').expect("a user");
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let (host, database) = place.split_once('/').expect("a database");
    let (host, port) = host.split_once(':').unwrap_or((host, "3306"));
    let mut command = Command::new("mariadb");
    command.args(["--batch", "--skip-column-names", "--unbuffered", "--force", "--protocol=tcp"]);
    command.args(["-h", host, "-P", port, "-u", name, database]);
    command.env("MYSQL_PWD", password);
    command
}

/// A step: its column, what is typed, and what the answer must be.
type Typed = (usize, String, Option<String>);

/// The set-up, and the steps with their columns.
fn parse(script: &str) -> (Vec<String>, Vec<Typed>) {
    let (before, rest) = script.split_once("each column is a session of its own:\n").expect("the steps");
    let (steps, _) = rest.split_once("-- Then, in any session:").expect("the end");
    let is_statement = |line: &&str| !line.starts_with("--");
    let set_up = before.lines().filter(is_statement).map(str::to_owned).collect();
    let mut lines = steps.lines();
    let head = lines.next().expect("the names of sessions");
    let starts: Vec<usize> = head.match_indices("-- session").map(|(start, _)| start).collect();
    let typed = lines.map(|line| {
        let at = line.len() - line.trim_start().len();
        let column = starts.iter().rposition(|&start| start <= at).expect("a column");
        match line.trim().split_once(" -- ") {
            Some((statement, answer)) => (column, statement.to_owned(), Some(answer.to_owned())),
            None => (column, line.trim().to_owned(), None),
        }
    });
    (set_up, typed.collect())
}

/// Whether every step is answered as the script says.
fn is_shown_again(url: &str, script: &str) -> Result<(), String> {
    let (set_up, steps) = parse(script);
    let mut first = Terminal::open(url);
    for statement in set_up {
        first.ask(&statement).ok_or_else(|| format!("{statement}: refused"))?;
    }
    let count = steps.iter().map(|&(column, ..)| column + 1).max().unwrap_or(0);
    let mut terminals: Vec<Terminal> = (0..count).map(|_| Terminal::open(url)).collect();
    for (column, statement, expected) in steps {
        let answer = terminals[column].ask(&statement);
        let answer = answer.ok_or_else(|| format!("{statement}: refused, or no answer in 10 seconds"))?;
        if let Some(expected) = expected.filter(|expected| *expected != answer.join(" ")) {
            return Err(format!("{statement}: expected {expected}, found {}", answer.join(" ")));
        }
    }
    drop(terminals);
    first.ask("DROP TABLE isoscope_litmus;");
    Ok(())
}

/// Records until a violation is found whose script is shown again: which violation a run shows is chance.
fn reproduces(variable: &str, isolation: &str, anomaly: &str) {
    let (level, options) = match anomaly {
        // No transaction reads a key twice, so that no non-repeatable read is found first.
        "lost update" => ("snapshot-isolation", "--workload rmw --keys 3 --operations 2"),
        _ => ("serializable", "--keys 2 --operations 2 --read-modify-write-share 0"),
    };
    let dialect = if variable.ends_with("POSTGRES") { "postgres" } else { "mysql" };
    let Ok(url) = std::env::var(variable) else {
        println!("{variable} is not set: no script was run");
        return;
    };
    // All scripts use the same table.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock();
    let mut tried = String::new();
    for seed in 0..40 {
        let folder = Folder::with(&[]);
        let told = folder.run(&format!(
            "run --db {url} --isolation {isolation} --transactions 3000 --sessions 8 {options} \
             --seed {seed} --level {level} --out recorded.jsonl"
        ));
        if !told.contains("violated") {
            tried += &told;
            continue;
        }
        let shrunk = folder.run(&format!(
            "shrink recorded.jsonl --level {level} --sql {dialect} --isolation {isolation} -o small.sql"
        ));
        let Ok(script) = std::fs::read_to_string(folder.file("small.sql")) else {
            tried += &shrunk;
            continue;
        };
        if !script.starts_with(&format!("-- {anomaly}")) {
            tried += script.lines().next().unwrap_or_default();
            continue;
        }
        match is_shown_again(&url, &script) {
            Ok(()) => {
                println!("{variable} at {isolation}, seed {seed}, shown again:\n{script}");
                return;
            }
            Err(reason) => tried += &format!("{shrunk}\n{script}\n{reason}\n"),
        }
    }
    panic!("no script was shown again: {tried}");
}

#[test]
fn a_write_skew_of_postgres_is_shown_again() {
    reproduces("ISOSCOPE_TEST_POSTGRES", "repeatable-read", "write skew");
}

#[test]
fn a_lost_update_of_postgres_is_shown_again() {
    reproduces("ISOSCOPE_TEST_POSTGRES", "read-committed", "lost update");
}

#[test]
fn a_write_skew_of_mariadb_is_shown_again() {
    reproduces("ISOSCOPE_TEST_MARIADB", "repeatable-read", "write skew");
}

#[test]
fn a_lost_update_of_mariadb_is_shown_again() {
    reproduces("ISOSCOPE_TEST_MARIADB", "repeatable-read", "lost update");
}

#[test]
fn columns_of_a_script_are_told_apart() {
    let script = "-- about\nDROP TABLE IF EXISTS t;\n-- The steps; each column is a session of its own:\n\
        -- session 1   -- session 2\nBEGIN;\n               SELECT v FROM t; -- 0\n-- Then, in any session:\nSELECT 1;\n";
    let (set_up, steps) = parse(script);
    assert_eq!(set_up, ["DROP TABLE IF EXISTS t;"]);
    assert_eq!(steps, [(0, "BEGIN;".into(), None), (1, "SELECT v FROM t;".into(), Some("0".into()))]);
}
