//! Runs a workload on a database in a folder of its own and gives back its history.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use databases::Url;
use history::History;
use isoscope::{Check, Decision, LevelId, Limits};
use isoscope_run::options::{Options, Settings};
use isoscope_run::{Control, Summary};
use record::Recorder;

/// A folder that is removed at the end.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new one.
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("isoscope-run-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// What a run gave.
pub struct Ran {
    pub summary: Summary,
    pub history: History,
}

/// Runs with these settings, written `name=value name=value`.
pub fn drive(settings: &str) -> Ran {
    drive_with(&options(settings))
}

/// The same on the nodes of these URLs.
pub fn drive_on(nodes: Vec<String>, settings: &str) -> Ran {
    let options = options(&format!("db=sim: {settings}"));
    drive_with(&Options { db: nodes, ..options })
}

fn drive_with(options: &Options) -> Ran {
    let urls: Vec<Url> = options.db.iter().map(|url| Url::parse(url).unwrap()).collect();
    let database = databases::open(&urls).unwrap();
    let setting = options.choose_settings(database.as_ref()).unwrap();
    let folder = Folder::new();
    let file = folder.file("history.jsonl");
    let recorder = Recorder::create(&file).unwrap();
    let workload = options.build().unwrap();
    let claim = isoscope_run::claim(database.as_ref(), workload.as_ref()).unwrap();
    let job = options.job(database.as_ref(), &setting, workload.as_ref(), &claim);
    let control = Control { is_stopped: &|| false, progress: &|_| {} };
    let summary = isoscope_run::run(&job, Some(&recorder), None, &control).unwrap();
    let loaded = formats::read(&formats::Input::Path(file), &formats::ReadOptions::default()).unwrap();
    assert_eq!(loaded.warnings.len(), 0, "{:?}", loaded.warnings);
    Ran { summary, history: loaded.history }
}

/// Settings from a line.
pub fn options(line: &str) -> Options {
    let pair = |word: &str| {
        let (name, value) = word.split_once('=').unwrap();
        (name.to_owned(), vec![value.to_owned()])
    };
    Options::read(&line.split_whitespace().map(pair).collect::<Settings>()).unwrap()
}

/// How long one history may be thought about.
const PATIENCE: Duration = Duration::from_secs(10);

/// Updates by predicate that no transaction sees leave so much open that histories of them stay small.
pub fn size_of(workload: &str, keys: u32, transactions: u32) -> (u32, u32) {
    match workload {
        "blindw-pred" => (keys.min(10), transactions.min(60)),
        _ => (keys, transactions),
    }
}

/// Whether a history satisfies a level; `None` if it is undecided.
pub fn holds(history: &History, level: LevelId) -> Option<bool> {
    let limits = Limits::start(Some(PATIENCE), None).unwrap();
    let report = Check::new(history).level(level).monitor(&limits).skews(false).run().unwrap();
    match report.answers[0].decision {
        Decision::Holds => Some(true),
        Decision::Violated => Some(false),
        Decision::Undecided(_) => None,
    }
}
