//! What every driver has to do, whatever the database: the same calls, the same answers, failures by their meaning.

#![allow(dead_code, reason = "each test file uses a part")]

mod races;
mod statements;

pub use races::{check_lost_update, check_write_skew, count_updates};
pub use statements::{check_failures, check_statements};

use history::Datum;
use isoscope_databases::{ColumnType, Database, Reply, Session, Setting, Statement, Table, Url, open};

/// Opens the database of a URL.
pub fn database(url: &str) -> Box<dyn Database> {
    open(&[Url::parse(url).unwrap()]).unwrap_or_else(|failure| panic!("{failure}"))
}

/// A setting of a database by its name.
pub fn setting(database: &dyn Database, name: &str) -> Setting {
    let found = database.settings().into_iter().find(|setting| setting.name == name);
    found.unwrap_or_else(|| panic!("no setting {name}"))
}

/// The default setting.
pub fn default_setting(database: &dyn Database) -> Setting {
    let defaults: Vec<_> = database.settings().into_iter().filter(|setting| setting.is_default).collect();
    assert_eq!(defaults.len(), 1, "one default: {:?}", database.settings());
    defaults.into_iter().next().unwrap()
}

/// A folder or file of this test alone, removed first.
pub fn place(name: &str) -> String {
    let path = std::env::temp_dir().join(format!("isoscope-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    for end in ["", "-wal", "-shm", "-journal", ".db-log"] {
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
    path.display().to_string()
}

/// Every form of a URL opens the path that it names: one in the current folder, or an absolute one.
pub fn check_urls(scheme: &str) {
    let absolute = place(&format!("urls-{scheme}"));
    // Tests run in the folder of their crate, so the way up from it is a relative path to the same place.
    let up = "../".repeat(std::env::current_dir().unwrap().components().count());
    let relative = format!("{up}{}", absolute.trim_start_matches('/'));
    for url in
        [&format!("{scheme}:{absolute}"), &format!("{scheme}://{absolute}"), &format!("{scheme}:{relative}")]
    {
        place(&format!("urls-{scheme}"));
        let database = database(url);
        database
            .prepare(&[Table::of_integers("t", [(1, 0)])])
            .unwrap_or_else(|failure| panic!("{url}: {failure}"));
        drop(database);
        assert!(std::path::Path::new(&absolute).exists(), "{url} opened something else");
    }
    place(&format!("urls-{scheme}"));
    let refused = open(&[Url::parse(&format!("{scheme}://test.db")).unwrap()]).err().unwrap();
    assert!(refused.message.contains("no host"), "{refused}");
}

/// The tables that the suite uses; the names have the test in them, as tests share a server.
pub struct Tables {
    pub register: String,
    pub rows: String,
    pub lists: String,
}

impl Tables {
    /// Makes and fills them.
    pub fn prepare(database: &dyn Database, test: &str) -> Self {
        let names = Self {
            register: format!("{test}_register"),
            rows: format!("{test}_rows"),
            lists: format!("{test}_lists"),
        };
        let rows = [("a", 1, "red"), ("b", 2, "green"), ("c", 3, "blue"), ("d", 4, "red")];
        database
            .prepare(&[
                Table::of_integers(&names.register, (0..1000).map(|key| (key, 0))),
                Table {
                    name: names.rows.clone(),
                    key: ColumnType::Text,
                    columns: vec![("n".into(), ColumnType::Int), ("colour".into(), ColumnType::Text)],
                    rows: rows.map(|(key, n, colour)| (key.into(), vec![n.into(), colour.into()])).into(),
                    keeps_old: true,
                },
                Table {
                    name: names.lists.clone(),
                    key: ColumnType::Int,
                    columns: vec![("list".into(), ColumnType::Text)],
                    rows: vec![],
                    keeps_old: false,
                },
            ])
            .unwrap_or_else(|failure| panic!("{failure}"));
        names
    }

    pub fn read(&self, key: i64) -> Statement {
        Statement::Read { table: self.register.clone(), key: key.into() }
    }

    pub fn write(&self, key: i64, value: i64) -> Statement {
        Statement::Write {
            table: self.register.clone(),
            key: key.into(),
            column: "v".into(),
            value: value.into(),
        }
    }
}

/// The integer that a read returned.
pub fn integer(answer: Reply) -> i64 {
    match answer {
        Reply::Row(Some(columns)) => match columns[..] {
            [Datum::Int(value)] => value,
            _ => panic!("{columns:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// Runs one transaction to its end.
pub fn transaction(session: &mut dyn Session, setting: &Setting, statements: &[Statement]) -> Vec<Reply> {
    session.begin(setting).unwrap();
    let answers =
        statements.iter().map(|one| session.execute(one).unwrap_or_else(|f| panic!("{one:?}: {f}")));
    let answers = answers.collect();
    session.commit().unwrap();
    answers
}
