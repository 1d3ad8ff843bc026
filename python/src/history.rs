//! Histories: read, parsed, written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use history::{Clock, History, Summary};
use isoscope::formats::{self, Format, Input, Loaded, ReadOptions, Warning, WriteOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{LimitError, WriteError, bad_value, read_error};
use crate::watch::{Ended, Watch};
use isoscope::Monitor;

/// A history with how it was read.
pub struct Subject {
    /// The name of the file, or a description of another source.
    pub name: String,
    /// The format it was in, if it was read.
    pub format: Option<Format>,
    /// Notes of the reader.
    pub warnings: Vec<Warning>,
    /// What clients observed.
    pub history: History,
    /// The counts.
    pub summary: Summary,
}

impl Subject {
    /// A history that was made by other means than reading.
    pub fn made(name: impl Into<String>, history: History) -> Arc<Self> {
        let summary = Summary::of(&history);
        Arc::new(Self { name: name.into(), format: None, warnings: Vec::new(), history, summary })
    }

    fn loaded(name: String, loaded: Loaded) -> Arc<Self> {
        let summary = Summary::of(&loaded.history);
        let Loaded { history, format, warnings } = loaded;
        Arc::new(Self { name, format: Some(format), warnings, history, summary })
    }
}

/// What clients of a database observed: sessions of transactions of operations. It never changes.
#[pyclass(name = "History", module = "isoscope", frozen)]
pub struct PyHistory {
    /// The history.
    pub subject: Arc<Subject>,
}

#[pymethods]
impl PyHistory {
    /// The name of the file, or a description of another source.
    #[getter]
    fn name(&self) -> &str {
        &self.subject.name
    }

    /// The format that the history was read from; `None` if it was not read.
    #[getter]
    fn format(&self) -> Option<&'static str> {
        self.subject.format.map(Format::name)
    }

    /// Notes of the reader, each with its stable name in brackets.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.subject.warnings.iter().map(ToString::to_string).collect()
    }

    /// What the times count: `nanoseconds` or `position`.
    #[getter]
    fn clock(&self) -> &'static str {
        match self.subject.history.clock() {
            Clock::Nanoseconds => "nanoseconds",
            Clock::Position => "position",
        }
    }

    /// Whether any transaction has times.
    #[getter]
    fn has_times(&self) -> bool {
        self.subject.history.has_times()
    }

    /// The counts: sessions, transactions, committed, aborted, unknown, operations, keys.
    #[getter]
    fn counts(&self) -> Vec<(&'static str, usize)> {
        let summary = &self.subject.summary;
        vec![
            ("sessions", summary.sessions),
            ("transactions", summary.transactions),
            ("committed", summary.committed),
            ("aborted", summary.aborted),
            ("unknown", summary.unknown),
            ("operations", summary.operations),
            ("keys", summary.keys),
        ]
    }

    fn __len__(&self) -> usize {
        self.subject.history.txn_count()
    }

    /// Writes the history to a file and gives the writer's warnings.
    #[pyo3(signature = (path, format, lossy))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        lossy: bool,
    ) -> PyResult<Vec<String>> {
        let format = format.map_or_else(|| format_by_name(&path), parse_format)?;
        let history = &self.subject.history;
        let written = py.detach(|| formats::write_to_path(history, format, &path, &WriteOptions { lossy }));
        let warnings = written.map_err(|error| WriteError::new_err(error.to_string()))?;
        Ok(warnings.iter().map(ToString::to_string).collect())
    }

    /// The history as bytes of a format.
    #[pyo3(signature = (format, lossy))]
    fn to_bytes<'py>(&self, py: Python<'py>, format: &str, lossy: bool) -> PyResult<Bound<'py, PyBytes>> {
        let format = parse_format(format)?;
        let history = &self.subject.history;
        let mut bytes = Vec::new();
        let written = py.detach(|| formats::write_to(history, format, &mut bytes, &WriteOptions { lossy }));
        written.map_err(|error| WriteError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// Reads a file or a folder.
#[pyfunction]
#[pyo3(signature = (path, format, initial_transaction, time_limit_ns, memory_limit))]
pub fn read(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    initial_transaction: bool,
    time_limit_ns: Option<u64>,
    memory_limit: Option<u64>,
) -> PyResult<PyHistory> {
    let options = read_options(format, initial_transaction, memory_limit)?;
    let name = path.display().to_string();
    let input = Input::Path(path);
    reading(py, name, time_limit_ns, memory_limit, move || formats::read(&input, &options))
}

/// Reads bytes; the name is for messages.
#[pyfunction]
#[pyo3(signature = (data, name, format, initial_transaction, memory_limit))]
pub fn read_bytes(
    py: Python<'_>,
    data: Vec<u8>,
    name: String,
    format: Option<&str>,
    initial_transaction: bool,
    memory_limit: Option<u64>,
) -> PyResult<PyHistory> {
    let options = read_options(format, initial_transaction, memory_limit)?;
    let named = name.clone();
    reading(py, name, None, memory_limit, move || formats::read_bytes(&named, &data, &options))
}

/// Runs a reader within the limits.
fn reading(
    py: Python<'_>,
    name: String,
    time_limit_ns: Option<u64>,
    memory_limit: Option<u64>,
    read: impl FnOnce() -> Result<Loaded, formats::Error> + Send + 'static,
) -> PyResult<PyHistory> {
    let watch = Watch::start(time_limit_ns, memory_limit)?;
    match watch.run(py, move |_| read())? {
        Ended::Done(Ok(loaded)) => Ok(PyHistory { subject: Subject::loaded(name, loaded) }),
        Ended::Done(Err(error)) => Err(read_error(py, &error)),
        Ended::Late(limit) => {
            Err(LimitError::new_err(format!("{} while reading {name}", watch.sentence(limit))))
        }
    }
}

/// The names of all formats, and whether each is written too.
#[pyfunction]
pub fn formats_known() -> Vec<(&'static str, &'static str, bool)> {
    Format::ALL.iter().map(|format| (format.name(), format.description(), format.can_write())).collect()
}

fn read_options(
    format: Option<&str>,
    initial_transaction: bool,
    memory_limit: Option<u64>,
) -> PyResult<ReadOptions> {
    let format = format.map(parse_format).transpose()?;
    let options = ReadOptions { format, initial_txn: initial_transaction, ..ReadOptions::default() };
    Ok(match memory_limit {
        Some(bytes) => options.with_memory_limit(bytes),
        None => options,
    })
}

fn parse_format(name: &str) -> PyResult<Format> {
    name.parse().map_err(|error: String| bad_value(error))
}

/// The format that the ending of a file name stands for.
fn format_by_name(path: &Path) -> PyResult<Format> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    match plain.rsplit_once('.').map(|(_, extension)| extension) {
        Some("jsonl") => Ok(Format::Native),
        Some("edn") => Ok(Format::JepsenEdn),
        Some("bincode") => Ok(Format::DbcopBincode),
        _ => {
            let written = Format::ALL.iter().filter(|format| format.can_write());
            let names: Vec<_> = written.map(|format| format.name()).collect();
            Err(bad_value(format!(
                "the name {name:?} does not tell the format; give format= one of {}",
                names.join(", ")
            )))
        }
    }
}
