//! Configuration files: settings in TOML, lists as sweeps, `[[run]]` for several runs.
//!
//! ```toml
//! db = "postgres://localhost/test"
//! sessions = [4, 8]               # a run with 4 sessions and one with 8
//!
//! [[run]]
//! workload = "bank"
//!
//! [[run]]
//! workload = ["append", "rmw"]
//! ```
//!
//! What stands outside of `[[run]]` holds for every run; flags of the command line stand above both. Lists of `db` and
//! `level` are no sweeps: these settings have several values. A run is made for every choice of one value each.
//! An error names the line and never repeats it, since a line may hold a password.

use toml::{Table, Value};

use crate::options::Settings;

/// Settings whose lists are lists.
const LISTS: [&str; 2] = ["db", "level"];
/// More runs than this are a mistake.
const MOST_RUNS: usize = 10_000;

/// The runs of a configuration file, with the settings of the command line above it.
pub fn read(text: &str, flags: &Settings) -> Result<Vec<Settings>, String> {
    let mut common: Table = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
        format!("line {line}: {}", error.message())
    })?;
    let sections = match common.remove("run") {
        None => vec![Table::new()],
        Some(Value::Array(sections)) => sections.into_iter().map(section).collect::<Result<_, _>>()?,
        Some(_) => return Err("`run` is a section: write [[run]]".to_owned()),
    };
    let mut runs = Vec::new();
    for section in sections {
        let mut settings = common.clone();
        settings.extend(section);
        settings.retain(|name, _| !flags.contains_key(name));
        runs.extend(choices(&settings, flags, runs.len())?);
    }
    Ok(runs)
}

fn section(value: Value) -> Result<Table, String> {
    match value {
        Value::Table(table) => Ok(table),
        _ => Err("`run` is a section: write [[run]]".to_owned()),
    }
}

/// Every choice of one value of each sweep.
fn choices(settings: &Table, flags: &Settings, before: usize) -> Result<Vec<Settings>, String> {
    let mut runs = vec![flags.clone()];
    for (name, value) in settings {
        let values = values_of(name, value)?;
        if runs.len() * values.len() + before > MOST_RUNS {
            return Err(format!("the file describes more than {MOST_RUNS} runs"));
        }
        let with = |run: &Settings, value: &Vec<String>| {
            let mut run = run.clone();
            run.insert(name.clone(), value.clone());
            run
        };
        runs = runs.iter().flat_map(|run| values.iter().map(move |value| with(run, value))).collect();
    }
    Ok(runs)
}

/// The values to choose from; of a setting that is a list, the list.
fn values_of(name: &str, value: &Value) -> Result<Vec<Vec<String>>, String> {
    let items = match value {
        Value::Array(items) if items.is_empty() => return Err(format!("{name}: an empty list is no value")),
        Value::Array(items) => items.iter().map(|item| scalar(name, item)).collect::<Result<_, _>>()?,
        single => vec![scalar(name, single)?],
    };
    Ok(match LISTS.contains(&name) {
        true => vec![items],
        false => items.into_iter().map(|item| vec![item]).collect(),
    })
}

fn scalar(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        _ => Err(format!("{name}: expected a text, a number, true, false, or a list of these")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|&(name, value)| (name.to_owned(), vec![value.to_owned()])).collect()
    }

    #[test]
    fn a_sweep_is_a_run_for_every_choice() {
        let text = "
            db = ['sqlite:a', 'sqlite:b']
            sessions = [4, 8]
            [[run]]
            workload = ['bank', 'rmw']
            [[run]]
            read-share = 0.5
        ";
        let runs = read(text, &flags(&[("seed", "7")])).unwrap();
        let line = |run: &Settings| {
            let pair = |(name, values): (&String, &Vec<String>)| format!("{name}={}", values.join("+"));
            run.iter().map(pair).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            runs.iter().map(line).collect::<Vec<_>>(),
            [
                "db=sqlite:a+sqlite:b seed=7 sessions=4 workload=bank",
                "db=sqlite:a+sqlite:b seed=7 sessions=4 workload=rmw",
                "db=sqlite:a+sqlite:b seed=7 sessions=8 workload=bank",
                "db=sqlite:a+sqlite:b seed=7 sessions=8 workload=rmw",
                "db=sqlite:a+sqlite:b read-share=0.5 seed=7 sessions=4",
                "db=sqlite:a+sqlite:b read-share=0.5 seed=7 sessions=8",
            ]
        );
    }

    #[test]
    fn flags_stand_above_the_file() {
        let runs = read("sessions = [4, 8]", &flags(&[("sessions", "2")])).unwrap();
        assert_eq!(runs, [flags(&[("sessions", "2")])]);
    }

    #[test]
    fn errors_name_the_line_and_never_repeat_it() {
        let error = read("sessions = 4\ndb = 'postgres://ann:secret@host", &Settings::new()).unwrap_err();
        assert!(error.starts_with("line 2:"), "{error}");
        assert!(!error.contains("secret"), "{error}");
        for wrong in ["run = 3", "keys = []", "keys = { a = 1 }", "[run]\nkeys = 3"] {
            assert!(read(wrong, &Settings::new()).is_err(), "{wrong}");
        }
        let many = format!("keys = {0:?}\nseed = {0:?}", (0..200).collect::<Vec<_>>());
        assert!(read(&many, &Settings::new()).unwrap_err().contains("10000"));
    }
}
