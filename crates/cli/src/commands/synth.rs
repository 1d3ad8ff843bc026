//! `isoscope synth`: a history that some levels allow and others forbid.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;
use formats::{Format, WriteOptions};
use history::Summary;
use serde_json::{Value, json};
use spec::{Level, SmallHistory};
use synth::{Found, NoneWithin, Problem, Synthesis};

use crate::args::{LimitArguments, OutputArguments, parse_format};
use crate::commands::convert::{Output, write_history};
use crate::definitions::{ScopeArguments, find_all, history_text};
use crate::dot;
use crate::exit::{Exit, Failure};
use crate::files::{flags, is_stdout, keep_apart, write_whole};
use crate::level_files;
use crate::load::Subject;
use crate::progress::Progress;
use crate::report::json::print_value;
use crate::screen::{Form, Screen, say};
use crate::terminal::visible;
use crate::watch::{Watch, nothing_known, watched};
use isoscope::{LevelId, Monitor, units};

/// The flags of `synth`.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 there is such a history, 1 there is none within the scope, 2 the question \
    could not be asked, 3 a limit was reached."
)]
pub struct Arguments {
    /// Levels that allow the history, by name, alias or file
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', required = true)]
    allow: Vec<String>,
    /// Levels that forbid the history, by name, alias or file
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', required = true)]
    forbid: Vec<String>,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Every such history of --txns transactions, or of ever more up to --max-txns, up to renaming
    #[arg(long)]
    all: bool,
    /// With --all: no more than this many
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "all")]
    most: usize,
    /// The first history that is found, of the fewest transactions; do not look for one with fewer objects and
    /// operations
    #[arg(long, conflicts_with = "all")]
    first: bool,
    /// Write the history to this file
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    output: Option<PathBuf>,
    /// The format of --output; without it the one that its name stands for
    #[arg(long, value_name = "FORMAT", value_parser = parse_format, requires = "output")]
    to: Option<Format>,
    /// Write the history as a graph for Graphviz to this file (- for standard output, instead of the text)
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    dot: Option<PathBuf>,
    /// If there is none: write the proof to PREFIX.cnf and PREFIX.drat, for any DRAT checker
    #[arg(long, value_name = "PREFIX", conflicts_with = "all")]
    proof: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    answer: OutputArguments,
}

impl Arguments {
    fn keep_apart(&self) -> Result<(), Failure> {
        let proofs =
            ["cnf", "drat"].map(|ending| self.proof.as_ref().map(|prefix| with_ending(prefix, ending)));
        let outputs = [
            ("--output", &self.output),
            ("--dot", &self.dot),
            ("--proof", &proofs[0]),
            ("--proof", &proofs[1]),
        ];
        let inputs: Vec<_> = level_files::inputs(self.allow.iter().chain(&self.forbid)).collect();
        keep_apart(&inputs, &flags(outputs))
    }
}

/// The levels of a problem.
#[derive(Debug)]
struct Levels {
    allow: Vec<Level>,
    forbid: Vec<Level>,
}

impl Levels {
    fn problem(&self, options: synth::Options) -> Problem<'_> {
        Problem { allow: self.allow.iter().collect(), forbid: self.forbid.iter().collect(), options }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    arguments.keep_apart()?;
    let limits = arguments.limits.start()?;
    let progress = Progress::start("looking for a history");
    let levels = Levels { allow: find_all(&arguments.allow)?, forbid: find_all(&arguments.forbid)? };
    let best: Mutex<Option<Found>> = Mutex::new(None);
    let late = |limit| match best.lock().ok().and_then(|mut best| best.take()) {
        None => nothing_known(&limits, &progress)(limit),
        Some(found) => {
            progress.end();
            let problem = levels.problem(arguments.scope.options(false));
            let exit = print_found(arguments, &problem, &found)?;
            say(&format!("{}: there may be a smaller history", limits.sentence(limit)));
            Ok(exit)
        }
    };
    watched(&limits, late, |watch| {
        if arguments.all {
            return enumerate(arguments, &levels, watch, &progress);
        }
        let options = arguments.scope.options(arguments.proof.is_some());
        let problem = levels.problem(options);
        let bounds = arguments.scope.bounds();
        let outcome = match arguments.first {
            true => synth::first(&problem, bounds),
            false => synth::synth_telling(&problem, bounds, &mut |found| {
                progress.set("looking for a smaller history");
                if let Ok(mut best) = best.lock() {
                    *best = Some(found.clone());
                }
            }),
        };
        watch.answer();
        progress.end();
        match outcome {
            Synthesis::Found(found) => print_found(arguments, &problem, &found),
            Synthesis::None(none) => print_none(arguments, &none),
        }
    })
}

fn print_found(arguments: &Arguments, problem: &Problem<'_>, found: &Found) -> Result<Exit, Failure> {
    if let Some(output) = &arguments.output
        && found.history.extra_session_order.is_empty()
    {
        write_found(output, arguments.to, found)?;
    }
    if let Some(file) = &arguments.dot {
        write_whole(file, Form::Text, |out| Ok(out.write_all(dot::of(&found.history).as_bytes())?))?;
    }
    if !arguments.dot.as_deref().is_some_and(is_stdout) {
        print_answer(arguments, problem, found)?;
    }
    if let (Some(output), [_, ..]) = (&arguments.output, &found.history.extra_session_order[..]) {
        // Without that order the levels may answer otherwise.
        let file = visible(&output.display().to_string());
        return Err(Failure::new(format!(
            "{file}: not written, because session order leads from one session to another, which no format of \
             histories can express; leave out --isolde-compatible, or use --dot"
        )));
    }
    Ok(Exit::Holds)
}

fn print_answer(arguments: &Arguments, problem: &Problem<'_>, found: &Found) -> Result<(), Failure> {
    if arguments.answer.json {
        print_value(&found_json(problem, found)?)?;
    } else {
        let mut out = Screen::stdout();
        let report = found.report(problem);
        let evidence = report.strip_prefix(&found.history.to_string()).unwrap_or(&report);
        write!(out, "{}{evidence}", history_text(&found.history))?;
        out.flush()?;
    }
    Ok(())
}

fn write_found(path: &Path, format: Option<Format>, found: &Found) -> Result<(), Failure> {
    let history = found.to_history();
    let subject = Subject {
        name: "synth".to_owned(),
        summary: Summary::of(&history),
        history,
        format: Format::Notation,
        warnings: Vec::new(),
        read_time: std::time::Duration::ZERO,
    };
    let output = Output::named(path, format, false)?;
    for warning in write_history(&subject, &output, &WriteOptions { lossy: false })? {
        let file = visible(&path.display().to_string());
        say(&format!("warning: {file}: {}", visible(&warning.to_string())));
    }
    Ok(())
}

fn found_json(problem: &Problem<'_>, found: &Found) -> Result<Value, Failure> {
    let allowed = problem.allow.iter().zip(&found.allowed).map(|(level, explanation)| {
        let order = explanation.order.iter().map(|&place| spec::ground::txn_name(&found.history, place));
        json!({ "level": level.name, "order": order.collect::<Vec<_>>() })
    });
    let forbidden = problem.forbid.iter().zip(&found.forbidden).map(|(level, reasons)| {
        let reasons = reasons.iter().map(|reason| reason.sentence(&found.history));
        json!({ "level": level.name, "reasons": reasons.collect::<Vec<_>>() })
    });
    Ok(json!({
        "found": true,
        "history": history_text(&found.history),
        "allowed": allowed.collect::<Vec<_>>(),
        "forbidden": forbidden.collect::<Vec<_>>(),
        "scope": scope_json(found.scope),
        "effort": effort_json(found.effort),
    }))
}

fn scope_json(scope: synth::Scope) -> Value {
    json!({ "txns": scope.txns, "objects": scope.objects, "values": scope.values })
}

fn effort_json(effort: synth::Effort) -> Value {
    json!({ "candidates": effort.candidates, "clauses": effort.clauses, "conflicts": effort.conflicts })
}

fn print_none(arguments: &Arguments, none: &NoneWithin) -> Result<Exit, Failure> {
    if let (Some(prefix), Some(proof)) = (&arguments.proof, &none.proof) {
        let clauses = &proof.clauses;
        write_whole(&with_ending(prefix, "cnf"), Form::Text, |out| {
            Ok(out.write_all(clauses.dimacs(&proof.legend).as_bytes())?)
        })?;
        write_whole(&with_ending(prefix, "drat"), Form::Text, |out| {
            Ok(out.write_all(clauses.drat().as_bytes())?)
        })?;
    }
    if arguments.answer.json {
        let (scope, effort) = (scope_json(none.scope), effort_json(none.effort));
        print_value(&json!({ "found": false, "scope": scope, "effort": effort }))?;
    } else {
        let mut out = Screen::stdout();
        writeln!(out, "none within {}", arguments.scope.words())?;
        if arguments.forbid.iter().any(|name| name.parse() == Ok(LevelId::CutIsolation)) {
            let why =
                "synthesised transactions read an object at most once, so none can violate cut-isolation";
            writeln!(out, "({why})")?;
        }
        out.flush()?;
    }
    Ok(Exit::Violated)
}

fn with_ending(prefix: &Path, ending: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    PathBuf::from(name)
}

fn enumerate(
    arguments: &Arguments,
    levels: &Levels,
    watch: &Watch,
    progress: &Progress,
) -> Result<Exit, Failure> {
    let options = arguments.scope.options(false);
    let problem = levels.problem(options);
    let (mut histories, mut is_complete) = (Vec::new(), true);
    for scope in arguments.scope.bounds().scopes() {
        let all = synth::all(&problem, scope, arguments.most - histories.len());
        histories.extend(all.histories);
        is_complete &= all.is_complete;
        if !is_complete {
            break;
        }
    }
    watch.answer();
    progress.end();
    print_all(arguments, &histories, is_complete)?;
    match histories.is_empty() {
        true => Ok(Exit::Violated),
        false => Ok(Exit::Holds),
    }
}

fn print_all(arguments: &Arguments, histories: &[SmallHistory], is_complete: bool) -> Result<(), Failure> {
    if arguments.answer.json {
        let histories: Vec<_> = histories.iter().map(history_text).collect();
        return print_value(&json!({ "histories": histories, "is_complete": is_complete }));
    }
    let mut out = Screen::stdout();
    for history in histories {
        writeln!(out, "{}", history_text(history))?;
    }
    let all = if is_complete { "that is all" } else { "and there may be more" };
    let number = match histories.len() {
        1 => "1 history".to_owned(),
        number => format!("{} histories", units::count(number)),
    };
    writeln!(out, "{number} within {}; {all}", arguments.scope.words())?;
    Ok(out.flush()?)
}
