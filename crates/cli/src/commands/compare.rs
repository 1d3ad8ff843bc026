//! `isoscope compare`: what one level allows that another forbids, and the other way round.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use spec::Level;
use synth::{Comparison, Found, Hasse, Matrix, Relation};

use crate::args::{LimitArguments, OutputArguments};
use crate::definitions::{ScopeArguments, find_all, history_text};
use crate::exit::{Exit, Failure};
use crate::files::{flags, is_stdout, keep_apart, write_whole};
use crate::level_files;
use crate::progress::Progress;
use crate::report::json::print_value;
use crate::screen::{Form, Screen};
use crate::watch::{nothing_known, watched};

/// The flags of `compare`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The levels, by name, alias or file
    #[arg(value_name = "LEVEL", required = true, num_args = 1..)]
    levels: Vec<String>,
    /// A table of every level with every other; without it two levels are compared in detail
    #[arg(long)]
    matrix: bool,
    /// Draw which level is above which, as SVG to this file
    #[arg(long, value_name = "FILE", requires = "matrix")]
    svg: Option<PathBuf>,
    /// Draw which level is above which, for Graphviz to this file
    #[arg(long, value_name = "FILE", requires = "matrix")]
    dot: Option<PathBuf>,
    #[command(flatten)]
    scope: ScopeArguments,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    answer: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let inputs: Vec<_> = level_files::inputs(&arguments.levels).collect();
    keep_apart(&inputs, &flags([("--svg", &arguments.svg), ("--dot", &arguments.dot)]))?;
    let limits = arguments.limits.start()?;
    let progress = Progress::start("comparing");
    watched(&limits, nothing_known(&limits, &progress), |watch| {
        let compared = compare(arguments);
        watch.answer();
        progress.end();
        match compared? {
            Compared::Matrix(matrix) => print_matrix(arguments, &matrix),
            Compared::Two(names, comparison) => print_comparison(arguments, &names, &comparison),
        }
    })
}

enum Compared {
    Matrix(Matrix),
    Two([String; 2], Box<Comparison>),
}

fn compare(arguments: &Arguments) -> Result<Compared, Failure> {
    let levels = find_all(&arguments.levels)?;
    let (bounds, options) = (arguments.scope.bounds(), arguments.scope.options(false));
    if arguments.matrix {
        let levels: Vec<&Level> = levels.iter().collect();
        return Ok(Compared::Matrix(synth::matrix(&levels, options, bounds)));
    }
    let [first, second] = &levels[..] else {
        return Err(Failure::new(format!(
            "two levels are compared, and {} were given; --matrix compares any number",
            levels.len()
        )));
    };
    let names = [first.name.clone(), second.name.clone()];
    Ok(Compared::Two(names, Box::new(synth::compare(first, second, options, bounds))))
}

fn print_comparison(
    arguments: &Arguments,
    [first, second]: &[String; 2],
    comparison: &Comparison,
) -> Result<Exit, Failure> {
    let relation = comparison.relation();
    if arguments.answer.json {
        let text = |found: &Option<Found>| found.as_ref().map(|found| history_text(&found.history));
        print_value(&json!({
            "first": first,
            "second": second,
            "relation": word(relation),
            "only_first_allows": text(&comparison.only_first),
            "only_second_allows": text(&comparison.only_second),
        }))?;
        return Ok(Exit::Holds);
    }
    let mut out = Screen::stdout();
    writeln!(out, "{first} is {relation} {second} (within {})", arguments.scope.words())?;
    let sides = [(first, second, &comparison.only_first), (second, first, &comparison.only_second)];
    for (allows, forbids, found) in sides {
        if let Some(found) = found {
            writeln!(out, "\n  {allows} allows, {forbids} forbids")?;
            let text = history_text(&found.history);
            text.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
    }
    out.flush()?;
    Ok(Exit::Holds)
}

fn word(relation: Relation) -> &'static str {
    match relation {
        Relation::Equivalent => "equivalent",
        Relation::Stronger => "stronger",
        Relation::Weaker => "weaker",
        Relation::Incomparable => "incomparable",
    }
}

fn print_matrix(arguments: &Arguments, matrix: &Matrix) -> Result<Exit, Failure> {
    let hasse = Hasse::new(matrix);
    for (file, drawing) in
        [(&arguments.svg, Hasse::to_svg as fn(&Hasse) -> String), (&arguments.dot, Hasse::to_dot)]
    {
        if let Some(file) = file {
            write_whole(file, Form::Text, |out| Ok(out.write_all(drawing(&hasse).as_bytes())?))?;
        }
    }
    let is_stdout_taken = [&arguments.svg, &arguments.dot].into_iter().flatten().any(|file| is_stdout(file));
    match (is_stdout_taken, arguments.answer.json) {
        (true, _) => {}
        (false, true) => print_value(&matrix_json(matrix, &hasse))?,
        (false, false) => print_table(arguments, matrix, &hasse)?,
    }
    Ok(Exit::Holds)
}

fn matrix_json(matrix: &Matrix, hasse: &Hasse) -> Value {
    let count = matrix.names.len();
    let row =
        |first: usize| (0..count).map(|second| word(matrix.relation(first, second))).collect::<Vec<_>>();
    let separating: Vec<Value> = (0..count)
        .flat_map(|first| (0..count).map(move |second| (first, second)))
        .filter_map(|(first, second)| {
            let history = matrix.separating[first][second].as_ref()?;
            let (allows, forbids) = (&matrix.names[first], &matrix.names[second]);
            Some(json!({ "allows": allows, "forbids": forbids, "history": history_text(history) }))
        })
        .collect();
    let edges: Vec<_> =
        hasse.edges.iter().map(|&(from, to)| (&hasse.boxes[from], &hasse.boxes[to])).collect();
    json!({
        "levels": matrix.names,
        "relations": (0..count).map(row).collect::<Vec<_>>(),
        "separating": separating,
        "next_weaker": edges,
    })
}

fn print_table(arguments: &Arguments, matrix: &Matrix, hasse: &Hasse) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    let width = matrix.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    writeln!(out, "within {}\n", arguments.scope.words())?;
    let heads: Vec<_> = (1..=matrix.names.len()).map(|number| format!("{number:>3}")).collect();
    writeln!(out, "  {:width$}     {}", "", heads.join(""))?;
    for (first, name) in matrix.names.iter().enumerate() {
        let cells =
            (0..matrix.names.len()).map(|second| match (first == second, matrix.relation(first, second)) {
                (true, _) => "  .",
                (_, Relation::Equivalent) => "  =",
                (_, Relation::Stronger) => "  <",
                (_, Relation::Weaker) => "  >",
                (_, Relation::Incomparable) => "  |",
            });
        writeln!(out, "  {name:width$} {:>3} {}", first + 1, cells.collect::<String>())?;
    }
    writeln!(out, "\n< allows less, > allows more, = the same, | each allows something the other forbids\n")?;
    for &(from, to) in &hasse.edges {
        writeln!(out, "  {} is next above {}", hasse.boxes[from].join(" = "), hasse.boxes[to].join(" = "))?;
    }
    Ok(out.flush()?)
}
