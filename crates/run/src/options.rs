//! What a run may be told: by a flag, or by a line of a configuration file, under the same name.
//!
//! A setting is a name and a text, and is read here and nowhere else.

use std::collections::BTreeMap;
use std::path::PathBuf;

use databases::{Claim, Database, Setting};
use drive::simulate::{Config, Duplicates, KeyDistribution};

use crate::nemesis::Schedule;
use crate::quantity::{duration, number, span};
use crate::runner::{Job, Pace};
use crate::workload::{self, Named, Workload};

/// Settings by name. Only `db` and `level` have more than one value.
pub type Settings = BTreeMap<String, Vec<String>>;

/// The names of all settings, and what they are.
pub const SETTINGS: [(&str, &str); 24] = [
    ("db", "the URL of the database; several are several nodes of one"),
    (
        "isolation",
        "the isolation setting of the database, or several with + between them, which sessions take in turn; without it the \
     database's own default",
    ),
    ("workload", "what the clients do"),
    ("sessions", "how many clients there are"),
    ("transactions", "end after so many transactions; aborted attempts come on top"),
    ("duration", "end after this time, such as 30s"),
    ("rate", "begin so many transactions in a second, all clients together"),
    ("operations", "operations of a transaction: a number or a range such as 2-8"),
    ("keys", "how many keys, rows, accounts, items or users there are"),
    ("distribution", "which keys are chosen: uniform, zipf:EXPONENT or hotspot:KEYS:OPERATIONS"),
    ("read-share", "the share of reads in transactions that may write"),
    ("read-only-share", "the share of transactions that only read"),
    ("write-only-share", "the share of transactions that only write"),
    ("read-modify-write-share", "the share of writes that read their key first"),
    ("duplicates", "values written more than once: KEYS:VALUES or KEYS:VALUES:EXPONENT"),
    ("abort-share", "the share of transactions that the client aborts"),
    ("distinct-keys", "whether a transaction touches a key once only (true or false)"),
    ("seed", "equal seeds give equal transactions"),
    (
        "nemesis",
        "what goes wrong on purpose, such as kill-server=10s,drop-connection=1s,pause-session=2s:100ms",
    ),
    ("server-command", "a command that starts the server and stays in the foreground"),
    ("level", "the levels to decide, instead of the promised one and its neighbours"),
    ("out", "where to write the history"),
    ("check", "whether to check the history (true or false)"),
    ("record", "whether to record at all (true or false), to measure what recording costs"),
];

/// Everything that a run depends on.
pub struct Options {
    /// The URLs of the nodes, with their passwords; never to be printed.
    pub db: Vec<String>,
    /// The isolation setting, or several with `+` between them.
    pub isolation: Option<String>,
    /// The workload.
    pub workload: Named,
    /// Its shape: sessions, keys, operations, shares, duplicates, seed.
    pub shape: Config,
    /// How much to do.
    pub pace: Pace,
    /// What goes wrong on purpose.
    pub nemesis: Schedule,
    /// How to start the server.
    pub server_command: Option<String>,
    /// The levels to decide, if the user named some.
    pub levels: Vec<String>,
    /// Where to write the history.
    pub out: Option<PathBuf>,
    /// Whether to check.
    pub checks: bool,
    /// Whether to record.
    pub records: bool,
}

impl Options {
    /// Reads settings; what is wrong is said in a sentence that names the setting.
    pub fn read(settings: &Settings) -> Result<Self, String> {
        check_names(settings)?;
        let text = |name: &str| settings.get(name).and_then(|values| values.first()).map(String::as_str);
        let workload = workload::find(text("workload").unwrap_or("general"))?;
        let mut options = Self {
            db: settings.get("db").cloned().unwrap_or_default(),
            isolation: text("isolation").map(|name| name.to_lowercase().replace(['_', ' '], "-")),
            workload,
            shape: workload.shape(),
            pace: Pace::default(),
            nemesis: Schedule::default(),
            server_command: text("server-command").map(str::to_owned),
            levels: settings.get("level").cloned().unwrap_or_default(),
            out: text("out").map(PathBuf::from),
            checks: true,
            records: true,
        };
        for (name, values) in settings {
            let value = values.first().map_or("", String::as_str);
            options.set(name, value).map_err(|reason| format!("{name}: {reason}"))?;
        }
        options.complete()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let shape = &mut self.shape;
        match name {
            "sessions" => shape.sessions = number(value)?,
            "transactions" => self.pace.transactions = Some(number(value)?),
            "duration" => self.pace.duration = Some(duration(value)?),
            "rate" => self.pace.rate = Some(positive(number(value)?)?),
            "operations" => shape.operations_per_transaction = span(value)?,
            "keys" => shape.keys = number(value)?,
            "distribution" => shape.distribution = distribution(value)?,
            "read-share" => shape.read_share = number(value)?,
            "read-only-share" => shape.read_only_share = number(value)?,
            "write-only-share" => shape.write_only_share = number(value)?,
            "read-modify-write-share" => shape.read_modify_write_share = number(value)?,
            "duplicates" => shape.duplicates = Some(duplicates(value)?),
            "abort-share" => shape.abort_share = number(value)?,
            "distinct-keys" => shape.distinct_keys = truth(value)?,
            "seed" => shape.seed = number(value)?,
            "nemesis" => self.nemesis = Schedule::parse(value)?,
            "check" => self.checks = truth(value)?,
            "record" => self.records = truth(value)?,
            _ => {}
        }
        Ok(())
    }

    /// What follows from the settings together.
    fn complete(mut self) -> Result<Self, String> {
        const MOST_SESSIONS: u32 = 1000;
        if self.db.is_empty() {
            return Err("no database was named: give --db URL, such as --db sqlite:/tmp/test.db".into());
        }
        if self.shape.sessions > MOST_SESSIONS {
            return Err(format!(
                "sessions: at most {MOST_SESSIONS}, since each is a thread and a connection"
            ));
        }
        if self.nemesis.kills_server() && self.server_command.is_none() {
            return Err(
                "nemesis: kill-server needs a server that isoscope starts itself: give server-command".into(),
            );
        }
        if self.mixes_settings() && self.levels.is_empty() {
            self.levels = vec!["recorded".to_owned()];
        }
        if self.pace.transactions.is_none() && self.pace.duration.is_none() {
            self.pace.transactions = Some(u64::from(self.shape.transactions));
        }
        // The plan of a client does not depend on how many transactions there are.
        self.shape.transactions = 1;
        self.build()?;
        Ok(self)
    }

    /// The isolation settings of a database that these options name, or the database's own default.
    pub fn choose_settings(&self, database: &dyn Database) -> Result<Vec<Setting>, String> {
        let settings = database.settings();
        let find = |name: &str| {
            let found = settings.iter().find(|setting| setting.name == name);
            found.cloned().ok_or_else(|| {
                let names: Vec<_> = settings.iter().map(|setting| setting.name.as_str()).collect();
                let product = database.describe().product;
                format!("{product} has no isolation setting {name:?}; there are {}", names.join(", "))
            })
        };
        match &self.isolation {
            Some(names) => names.split('+').map(find).collect(),
            None => {
                let default = settings.iter().find(|setting| setting.is_default).or(settings.first());
                Ok(default.cloned().into_iter().collect())
            }
        }
    }

    /// Whether sessions run at several isolation settings.
    pub fn mixes_settings(&self) -> bool {
        self.isolation.as_ref().is_some_and(|names| names.contains('+'))
    }

    /// What is to be run on a database, at settings of it.
    pub fn job<'j>(
        &'j self,
        database: &'j dyn Database,
        settings: &'j [Setting],
        workload: &'j dyn Workload,
        claim: &'j Claim,
    ) -> Job<'j> {
        let Self { shape, pace, nemesis, .. } = self;
        let (sessions, seed) = (shape.sessions, shape.seed);
        Job { database, settings, workload, claim, sessions, pace: *pace, nemesis, seed }
    }

    /// The workload in its shape.
    pub fn build(&self) -> Result<Box<dyn Workload>, String> {
        self.workload.build(&self.shape).map_err(|error| error.to_string())
    }
}

fn check_names(settings: &Settings) -> Result<(), String> {
    let is_known = |name: &&String| SETTINGS.iter().any(|(known, _)| known == name);
    match settings.keys().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<_> = SETTINGS.iter().map(|(known, _)| *known).collect();
            Err(format!("no option is called {name:?}; there are {}", known.join(", ")))
        }
    }
}

fn positive(rate: f64) -> Result<f64, String> {
    if rate > 0.0 && rate.is_finite() { Ok(rate) } else { Err("expected more than 0".into()) }
}

fn truth(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("expected true or false, found `{text}`"))
}

/// `uniform`, `zipf:EXPONENT` or `hotspot:KEYS:OPERATIONS`.
fn distribution(text: &str) -> Result<KeyDistribution, String> {
    match text.split(':').collect::<Vec<_>>()[..] {
        ["uniform"] => Ok(KeyDistribution::Uniform),
        ["zipf", exponent] => Ok(KeyDistribution::Zipf { exponent: number(exponent)? }),
        ["hotspot", keys, operations] => {
            Ok(KeyDistribution::Hotspot { hot_keys: number(keys)?, hot_operations: number(operations)? })
        }
        _ => Err("expected uniform, zipf:EXPONENT or hotspot:KEYS:OPERATIONS".into()),
    }
}

/// `KEYS:VALUES` or `KEYS:VALUES:EXPONENT`.
fn duplicates(text: &str) -> Result<Duplicates, String> {
    let (key_share, values, exponent) = match text.split(':').collect::<Vec<_>>()[..] {
        [key_share, values] => (key_share, values, "0"),
        [key_share, values, exponent] => (key_share, values, exponent),
        _ => return Err("expected KEYS:VALUES or KEYS:VALUES:EXPONENT, such as 0.5:100".into()),
    };
    Ok(Duplicates { key_share: number(key_share)?, values: number(values)?, exponent: number(exponent)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|&(name, value)| (name.to_owned(), vec![value.to_owned()])).collect()
    }

    fn wrong(pairs: &[(&str, &str)]) -> String {
        Options::read(&settings(pairs)).err().expect("it is wrong")
    }

    #[test]
    fn settings_change_the_workload() {
        let options = Options::read(&settings(&[
            ("db", "sqlite:x"),
            ("workload", "range"),
            ("keys", "50"),
            ("operations", "2-3"),
            ("duration", "3s"),
            ("isolation", "Repeatable Read"),
        ]))
        .unwrap();
        assert_eq!(options.workload.name, "range-b");
        assert_eq!((options.shape.keys, options.shape.operations_per_transaction), (50, (2, 3)));
        assert_eq!(
            (options.pace.transactions, options.isolation.as_deref()),
            (None, Some("repeatable-read"))
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(wrong(&[]).contains("--db"));
        assert!(wrong(&[("db", "x"), ("sesions", "3")]).contains("\"sesions\""));
        assert!(wrong(&[("db", "x"), ("keys", "many")]).starts_with("keys: expected a number"));
        assert!(wrong(&[("db", "x"), ("read-share", "2")]).contains("read share"));
        assert!(wrong(&[("db", "x"), ("workload", "tpch")]).contains("tpcc"));
        assert!(wrong(&[("db", "x"), ("nemesis", "kill-server=1s")]).contains("server-command"));
        assert!(wrong(&[("db", "x"), ("sessions", "1000000")]).contains("at most"));
    }
}
