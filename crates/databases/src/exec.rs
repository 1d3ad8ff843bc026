//! Any program as a database: `exec:python3 examples/exec_sqlite.py /tmp/test.db`.
//!
//! A session is a process of the program, which answers a line of JSON on its standard input with a line on its
//! standard output (`docs/exec.md`). What it writes to its standard error the user sees, without escape codes and
//! passwords. A program that ends, or says nothing for too long (`ISOSCOPE_EXEC_TIMEOUT_MS`, 30,000 unless set), is a connection that was lost.

mod message;
mod process;

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use self::message::{answer, request, tables_message};
use self::process::Process;
use crate::catalog::Catalog;
use crate::{
    Database, Description, Failure, FailureKind, Reply, Session, Setting, Statement, StatementKind, Table,
    Url,
};

/// A program that speaks the protocol.
pub(crate) struct Exec {
    url: Url,
    words: Vec<String>,
    hello: Hello,
    catalog: Catalog,
    /// The tables that were prepared, without their rows, for the sessions that come later.
    known: Arc<Mutex<Vec<Table>>>,
}

/// What a program says of itself.
struct Hello {
    product: String,
    version: String,
    settings: Vec<Setting>,
    kinds: Vec<StatementKind>,
    id: Option<u64>,
}

impl Exec {
    pub fn open(url: &Url) -> Result<Self, Failure> {
        let words = process::words(url.path())
            .filter(|words| !words.is_empty())
            .ok_or_else(|| Failure::refused("exec: expected a program and its arguments"))?;
        let (_, hello) = greet(&words, url)?;
        Ok(Self { url: url.clone(), words, hello, catalog: Catalog::default(), known: Arc::default() })
    }
}

/// Starts the program and asks what it is.
fn greet(words: &[String], url: &Url) -> Result<(Process, Hello), Failure> {
    let mut process = Process::start(words, url)?;
    let said = process.ask(&json!({"op": "hello", "protocol": 1}), FailureKind::Lost)?;
    let hello = Hello::read(&said).ok_or_else(|| {
        Failure::refused(format!("exec: no answer to hello as docs/exec.md describes it: {said}"))
    })?;
    Ok((process, hello))
}

/// Whether a line is an answer to `hello` as `docs/exec.md` describes it.
pub fn is_exec_hello(line: &[u8]) -> bool {
    serde_json::from_slice(line).is_ok_and(|said| Hello::read(&said).is_some())
}

/// What a line of the protocol answers to a statement; `None` if it is no answer to it.
pub fn read_exec_answer(statement: &Statement, line: &[u8]) -> Option<Reply> {
    answer(statement, &serde_json::from_slice(line).ok()?)
}

impl Hello {
    fn read(said: &Value) -> Option<Self> {
        let text = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
        let list = |name: &str| -> Option<Vec<&str>> {
            said.get(name)?.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()
        };
        let settings = list("settings").filter(|settings| !settings.is_empty())?;
        let default = text("default").unwrap_or_else(|| settings[0].to_owned());
        Some(Self {
            product: text("product")?,
            version: text("version").unwrap_or_else(|| "unknown".into()),
            settings: Setting::list(&settings, &default),
            kinds: list("statements")?.into_iter().filter_map(message::kind).collect(),
            id: said.get("id").and_then(Value::as_u64),
        })
    }
}

impl Database for Exec {
    fn describe(&self) -> Description {
        Description::new(&self.hello.product, &self.hello.version, [&self.url])
    }

    fn settings(&self) -> Vec<Setting> {
        self.hello.settings.clone()
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        let (mut process, _) = greet(&self.words, &self.url)?;
        process.ask(&tables_message("prepare", tables), FailureKind::Lost)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|old| tables.iter().all(|new| new.name != old.name));
        known.extend(tables.iter().map(|table| Table { rows: Vec::new(), ..table.clone() }));
        Ok(())
    }

    fn connect(&self, _node: usize) -> Result<Box<dyn Session>, Failure> {
        let (mut process, hello) = greet(&self.words, &self.url)?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        process.ask(&tables_message("tables", &known), FailureKind::Lost)?;
        let catalog = self.catalog.clone();
        let kinds = self.hello.kinds.clone();
        Ok(Box::new(ExecSession { process, catalog, kinds, id: hello.id, is_open: false }))
    }

    fn supports(&self, kind: StatementKind) -> bool {
        self.hello.kinds.contains(&kind)
    }
}

struct ExecSession {
    process: Process,
    catalog: Catalog,
    /// What the program declared that it can do.
    kinds: Vec<StatementKind>,
    id: Option<u64>,
    is_open: bool,
}

impl Session for ExecSession {
    fn begin(&mut self, setting: &Setting) -> Result<(), Failure> {
        self.abort()?;
        self.process.ask(&json!({"op": "begin", "setting": setting.name}), FailureKind::Lost)?;
        self.is_open = true;
        Ok(())
    }

    fn execute(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        let answer = self.ask(statement);
        answer.inspect_err(|failure| {
            // The program cannot know of what was refused here.
            let is_alive = !matches!(failure.kind, FailureKind::Lost | FailureKind::Unknown);
            if is_alive && self.is_open {
                let _ = self.abort();
            }
            self.is_open = false;
        })
    }

    fn commit(&mut self) -> Result<(), Failure> {
        if !self.is_open {
            return Err(Failure::refused("no transaction is open"));
        }
        self.is_open = false;
        self.process.ask(&json!({"op": "commit"}), FailureKind::Unknown).map(|_| ())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        if !self.is_open {
            return Ok(());
        }
        self.is_open = false;
        self.process.ask(&json!({"op": "abort"}), FailureKind::Lost).map(|_| ())
    }

    fn id(&self) -> Option<u64> {
        self.id
    }
}

impl ExecSession {
    fn ask(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        if !self.kinds.contains(&statement.kind()) {
            return Err(Failure::refused(format!(
                "exec: the program did not declare `{}` in its answer to hello",
                message::name(statement.kind())
            )));
        }
        if let Some(table) = statement.table() {
            let shape = self.catalog.table(table)?;
            match statement {
                Statement::Put { values, .. } | Statement::Insert { values, .. } => {
                    shape.check_width(values)?
                }
                Statement::Write { column, .. } | Statement::Add { column, .. } => {
                    shape.column(column)?;
                }
                _ => {}
            }
        }
        let said = self.process.ask(&request(statement), FailureKind::Lost)?;
        answer(statement, &said).ok_or_else(|| {
            Failure::refused(format!("exec: {said} is no answer to {} (docs/exec.md)", request(statement)))
        })
    }
}
