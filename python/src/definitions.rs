//! Questions about levels themselves: histories that some allow and others forbid, and comparison of two.

use isoscope::Monitor;
use isoscope::spec::{self, ground};
use pyo3::prelude::*;
use synth::{Bounds, Found, Options, Problem, Synthesis};

use crate::errors::LimitError;
use crate::history::{PyHistory, Subject};
use crate::levels::PyLevel;
use crate::watch::{Ended, Watch};

/// A history that some levels allow and others forbid.
#[pyclass(name = "Separation", module = "isoscope", frozen)]
pub struct PySeparation {
    found: Box<Found>,
    allow: Vec<spec::Level>,
    forbid: Vec<spec::Level>,
}

#[pymethods]
impl PySeparation {
    /// The history.
    #[getter]
    fn history(&self) -> PyHistory {
        PyHistory { subject: Subject::made("synth", self.found.to_history()) }
    }

    /// For each level that allows it, an order of the transactions that explains it.
    #[getter]
    fn allowed(&self) -> Vec<(String, Vec<String>)> {
        let name = |&place: &usize| ground::txn_name(&self.found.history, place);
        let found = self.allow.iter().zip(&self.found.allowed);
        found.map(|(level, told)| (level.name.clone(), told.order.iter().map(name).collect())).collect()
    }

    /// For each level that forbids it, the reasons.
    #[getter]
    fn forbidden(&self) -> Vec<(String, Vec<String>)> {
        let found = self.forbid.iter().zip(&self.found.forbidden);
        let sentences = found.map(|(level, reasons)| {
            let reasons = reasons.iter().map(|reason| reason.sentence(&self.found.history));
            (level.name.clone(), reasons.collect())
        });
        sentences.collect()
    }

    fn __str__(&self) -> String {
        self.found.history.to_string()
    }
}

/// Looks for the smallest history that the first levels allow and the second forbid.
#[pyfunction]
#[pyo3(signature = (allow, forbid, txns, max_txns, objects, values, blind_writes, time_limit_ns))]
#[allow(clippy::too_many_arguments)] // The Python function names them all.
pub fn synthesize(
    py: Python<'_>,
    allow: Vec<PyRef<'_, PyLevel>>,
    forbid: Vec<PyRef<'_, PyLevel>>,
    txns: Option<usize>,
    max_txns: usize,
    objects: usize,
    values: Option<usize>,
    blind_writes: bool,
    time_limit_ns: Option<u64>,
) -> PyResult<Option<PySeparation>> {
    let (allow, forbid) = (definitions(&allow), definitions(&forbid));
    let bounds = Bounds { txns, objects: Some(objects), values, most_txns: Some(max_txns) };
    let options = Options { blind_writes, ..Options::default() };
    within(py, time_limit_ns, move || {
        let problem = Problem { allow: allow.iter().collect(), forbid: forbid.iter().collect(), options };
        match synth::synth(&problem, bounds) {
            Synthesis::Found(found) => Some(PySeparation { found, allow, forbid }),
            Synthesis::None(_) => None,
        }
    })
}

/// How two levels relate, with the histories that only one of them allows.
type Compared = (&'static str, Option<PyHistory>, Option<PyHistory>);

/// Compares two levels by what they allow.
#[pyfunction]
pub fn compare_levels(
    py: Python<'_>,
    first: &PyLevel,
    second: &PyLevel,
    max_txns: usize,
    objects: usize,
    time_limit_ns: Option<u64>,
) -> PyResult<Compared> {
    let (first, second) = (first.definition.clone(), second.definition.clone());
    let bounds = Bounds { objects: Some(objects), most_txns: Some(max_txns), ..Bounds::default() };
    let compared = move || synth::compare(&first, &second, Options::default(), bounds);
    let comparison = within(py, time_limit_ns, compared)?;
    let history = |found: &Option<Found>| {
        found.as_ref().map(|found| PyHistory { subject: Subject::made("compare", found.to_history()) })
    };
    let word = match comparison.relation() {
        synth::Relation::Equivalent => "equivalent",
        synth::Relation::Stronger => "stronger",
        synth::Relation::Weaker => "weaker",
        synth::Relation::Incomparable => "incomparable",
    };
    Ok((word, history(&comparison.only_first), history(&comparison.only_second)))
}

fn definitions(levels: &[PyRef<'_, PyLevel>]) -> Vec<spec::Level> {
    levels.iter().map(|level| level.definition.clone()).collect()
}

fn within<T: Send + 'static>(
    py: Python<'_>,
    time_limit_ns: Option<u64>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let watch = Watch::start(time_limit_ns, None)?;
    match watch.run(py, move |_| work())? {
        Ended::Done(result) => Ok(result),
        Ended::Late(limit) => Err(LimitError::new_err(watch.sentence(limit))),
    }
}
