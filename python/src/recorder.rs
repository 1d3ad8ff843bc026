//! The recorder of `crates/record` for Python: sessions whose transactions are written down as they end.
//!
//! `isoscope/recorder.py` decides what became of a transaction; here is only the file.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use history::{Bound as KeyBound, Change, Datum};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use record::{Recorder, SessionRecorder};

use crate::datum::from_python;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// The file of a recording.
#[pyclass(name = "RecordingFile", module = "isoscope", frozen)]
pub struct PyRecorder {
    recorder: Mutex<Option<Recorder>>,
}

#[pymethods]
impl PyRecorder {
    /// Begins a recording in a file, which is emptied unless another recording is being written to it.
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let recorder = Recorder::create(path)?;
        recorder.open()?;
        Ok(Self { recorder: Mutex::new(Some(recorder)) })
    }

    /// The value with which keys start that have no other.
    fn default_value(&self, value: Any<'_, '_>) -> PyResult<()> {
        Ok(self.recorder()?.default_value(&from_python(value)?)?)
    }

    /// Keys with the values with which they start.
    fn initial(&self, pairs: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>) -> PyResult<()> {
        let pair = |(key, value): &(_, _)| Ok((from_python(key)?, from_python(value)?));
        let pairs: PyResult<Vec<(Datum, Datum)>> = pairs.iter().map(pair).collect();
        Ok(self.recorder()?.initial(&pairs?)?)
    }

    /// Something for people, which readers pass over.
    fn note(&self, note: Any<'_, '_>) -> PyResult<()> {
        Ok(self.recorder()?.note(&from_python(note)?)?)
    }

    /// A client with a name, if it has one.
    fn session(&self, name: Any<'_, '_>) -> PyResult<PySession> {
        let name = from_python(name)?;
        let session = self.recorder()?.session(Some(&name).filter(|name| **name != Datum::Nil))?;
        Ok(PySession { session: Mutex::new(session) })
    }

    /// Committed, aborted and unknown transactions so far.
    fn counts(&self) -> PyResult<(u64, u64, u64)> {
        let counts = self.recorder()?.counts();
        Ok((counts.committed, counts.aborted, counts.unknown))
    }

    /// Ends the recording: every transaction that wrote something is recorded.
    fn close(&self) -> PyResult<()> {
        match lock(&self.recorder).take() {
            Some(recorder) => Ok(recorder.close()?),
            None => Ok(()),
        }
    }
}

impl PyRecorder {
    fn recorder(&self) -> PyResult<Recorder> {
        lock(&self.recorder).clone().ok_or_else(|| PyRuntimeError::new_err("the recording is closed"))
    }
}

/// One client of a recording.
#[pyclass(name = "RecordedSession", module = "isoscope", frozen)]
pub struct PySession {
    session: Mutex<SessionRecorder>,
}

#[pymethods]
impl PySession {
    /// The client is about to ask the database to begin.
    fn begin(&self, name: Any<'_, '_>) -> PyResult<()> {
        let name = from_python(name)?;
        let mut session = lock(&self.session);
        if session.is_open() {
            return Err(PyRuntimeError::new_err(
                "a transaction of this session is still open; transactions at the same time need sessions of their own",
            ));
        }
        match name {
            Datum::Nil => session.begin(),
            name => session.begin_named(&name),
        }
        Ok(())
    }

    /// The database answered that the transaction has begun.
    fn begun(&self) -> PyResult<()> {
        self.open()?.begun();
        Ok(())
    }

    /// Read one key; `None` if it was absent.
    fn read(&self, key: Any<'_, '_>, value: Any<'_, '_>) -> PyResult<()> {
        let (key, value) = (from_python(key)?, from_python(value)?);
        self.open()?.read(&key, &value);
        Ok(())
    }

    /// Asked for one key and never got the answer.
    fn read_unknown(&self, key: Any<'_, '_>) -> PyResult<()> {
        let key = from_python(key)?;
        self.open()?.read_unknown(&key);
        Ok(())
    }

    /// Read a list, oldest element first.
    fn read_list(&self, key: Any<'_, '_>, elements: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let key = from_python(key)?;
        let elements: PyResult<Vec<Datum>> = elements.iter().map(from_python).collect();
        self.open()?.read_list(&key, &elements?);
        Ok(())
    }

    /// Write one key.
    fn write(&self, key: Any<'_, '_>, value: Any<'_, '_>) -> PyResult<()> {
        let (key, value) = (from_python(key)?, from_python(value)?);
        self.open()?.write(&key, &value);
        Ok(())
    }

    /// Append one element to a list.
    fn append(&self, key: Any<'_, '_>, value: Any<'_, '_>) -> PyResult<()> {
        let (key, value) = (from_python(key)?, from_python(value)?);
        self.open()?.append(&key, &value);
        Ok(())
    }

    /// Insert a key that did not exist.
    fn insert(&self, key: Any<'_, '_>, value: Any<'_, '_>) -> PyResult<()> {
        let (key, value) = (from_python(key)?, from_python(value)?);
        self.open()?.insert(&key, &value);
        Ok(())
    }

    /// Delete a key.
    fn delete(&self, key: Any<'_, '_>) -> PyResult<()> {
        let key = from_python(key)?;
        self.open()?.delete(&key, None);
        Ok(())
    }

    /// Read the keys from one bound to another, both included; `None` is no bound.
    fn read_range(
        &self,
        first: Any<'_, '_>,
        last: Any<'_, '_>,
        rows: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    ) -> PyResult<()> {
        let (first, last) = (bound(first)?, bound(last)?);
        let rows = recorded_rows(&rows)?;
        self.open()?.range(&first, &last, Some(&rows));
        Ok(())
    }

    /// Read the rows that satisfy a predicate.
    fn read_predicate(
        &self,
        predicate: Any<'_, '_>,
        rows: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    ) -> PyResult<()> {
        let predicate = from_python(predicate)?;
        let rows = recorded_rows(&rows)?;
        self.open()?.predicate_read(&predicate, Some(&rows));
        Ok(())
    }

    /// Set the rows that satisfy a predicate.
    fn write_predicate(
        &self,
        predicate: Any<'_, '_>,
        value: Any<'_, '_>,
        row_count: Option<u64>,
    ) -> PyResult<()> {
        let (predicate, value) = (from_python(predicate)?, from_python(value)?);
        self.open()?.predicate_write(&predicate, &Change::Set(value), row_count);
        Ok(())
    }

    /// Delete the rows that satisfy a predicate.
    fn delete_predicate(&self, predicate: Any<'_, '_>, row_count: Option<u64>) -> PyResult<()> {
        let predicate = from_python(predicate)?;
        self.open()?.predicate_write(&predicate, &Change::Delete, row_count);
        Ok(())
    }

    /// The client is about to ask the database to commit or to abort.
    fn ending(&self) -> PyResult<()> {
        self.open()?.ending();
        Ok(())
    }

    /// The transaction committed.
    fn commit(&self) -> PyResult<()> {
        Ok(self.open()?.commit()?)
    }

    /// The transaction certainly took no effect.
    fn abort(&self) -> PyResult<()> {
        Ok(self.open()?.abort()?)
    }

    /// The outcome is not known.
    fn unknown(&self) -> PyResult<()> {
        Ok(self.open()?.unknown()?)
    }

    /// Whether a transaction is open.
    fn is_open(&self) -> bool {
        lock(&self.session).is_open()
    }
}

impl PySession {
    /// The session, in a transaction.
    fn open(&self) -> PyResult<MutexGuard<'_, SessionRecorder>> {
        let session = lock(&self.session);
        match session.is_open() {
            true => Ok(session),
            false => Err(PyRuntimeError::new_err("the session has no open transaction")),
        }
    }
}

fn bound(key: Any<'_, '_>) -> PyResult<KeyBound> {
    Ok(match from_python(key)? {
        Datum::Nil => KeyBound::Unbounded,
        key => KeyBound::Included(key),
    })
}

fn recorded_rows(rows: &[(Bound<'_, PyAny>, Bound<'_, PyAny>)]) -> PyResult<Vec<(Datum, Datum, bool)>> {
    rows.iter().map(|(key, value)| Ok((from_python(key)?, from_python(value)?, false))).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
