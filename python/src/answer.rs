//! The answer for one level.

use std::sync::{Arc, OnceLock};

use isoscope::{Answer, LevelId, SkewReport, Witness, units};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::certificate::PyCertificate;
use crate::check::Question;
use crate::errors::{LimitError, check_error};
use crate::watch::{Ended, Watch};
use crate::witness::PyWitness;
use isoscope::Monitor;

/// The answer for one level.
#[pyclass(name = "Answer", module = "isoscope", frozen)]
pub struct PyAnswer {
    /// What was asked.
    pub question: Arc<Question>,
    /// The answer of the library.
    pub answer: Answer,
    /// The witness, once it was asked for.
    pub witness: OnceLock<Option<Arc<Witness>>>,
}

/// Why a level is violated, for people.
#[pyclass(name = "Explanation", module = "isoscope", frozen, get_all)]
pub struct PyExplanation {
    /// The name of the pattern, if it has one.
    anomaly: Option<&'static str>,
    /// The violation in half a line.
    headline: String,
    /// The transactions that take part, as the history names them.
    transactions: Vec<String>,
    /// What each of them saw and did, as far as it matters.
    participants: Vec<String>,
    /// Why that cannot be, sentence by sentence.
    sentences: Vec<String>,
    /// Participants and sentences, indented by depth.
    paragraphs: Vec<String>,
}

#[pymethods]
impl PyExplanation {
    fn __str__(&self) -> String {
        format!("{}\n{}", self.headline, self.paragraphs.join("\n"))
    }

    fn __repr__(&self) -> String {
        format!("Explanation({:?})", self.headline)
    }
}

#[pymethods]
impl PyAnswer {
    /// The name of the level.
    #[getter]
    fn level(&self) -> &str {
        self.answer.level.name()
    }

    /// `holds`, `violated` or `undecided`.
    #[getter]
    fn verdict(&self) -> &'static str {
        self.answer.decision.word()
    }

    /// The name of the pattern that violates the level, if it has one.
    #[getter]
    fn anomaly(&self) -> Option<&'static str> {
        self.answer.explanation.as_ref()?.anomaly
    }

    /// One line that says why the verdict is what it is.
    #[getter]
    fn reason(&self) -> Option<String> {
        self.answer.reason()
    }

    /// The level from whose answer this one follows.
    #[getter]
    fn follows_from(&self) -> Option<&'static str> {
        self.answer.follows_from.map(LevelId::name)
    }

    /// Milliseconds that the decision took.
    #[getter]
    fn time_ms(&self) -> f64 {
        units::milliseconds(self.answer.time)
    }

    /// How the verdict depends on clocks: `None`, `"any_skew"`, or the two thresholds in nanoseconds.
    #[getter]
    fn skew_thresholds(&self) -> Option<Option<(i64, i64)>> {
        Some(match self.answer.skew? {
            SkewReport::AnySkew => None,
            SkewReport::Threshold { violated_up_to, holds_from } => Some((violated_up_to, holds_from)),
        })
    }

    /// Whether the answer says how it depends on clocks.
    #[getter]
    fn has_skew(&self) -> bool {
        self.answer.skew.is_some()
    }

    /// Why the level is violated.
    #[getter]
    fn explanation(&self) -> Option<PyExplanation> {
        let explanation = self.answer.explanation.as_ref()?;
        let label = |&txn| self.question.subject.history.txn_label(txn);
        Some(PyExplanation {
            anomaly: explanation.anomaly,
            headline: explanation.headline.clone(),
            transactions: explanation.transactions.iter().map(label).collect(),
            participants: explanation.participants.clone(),
            sentences: explanation.lines.iter().map(|line| line.text.clone()).collect(),
            paragraphs: explanation.paragraphs(),
        })
    }

    /// The proof of the verdict; `None` if it is undecided or follows from another answer.
    #[getter]
    fn certificate(&self, py: Python<'_>) -> PyResult<Option<PyCertificate>> {
        py.detach(|| PyCertificate::of(&self.question.subject.history, &self.answer))
    }

    /// The part of the history that shows the violation, as small as possible.
    #[pyo3(signature = (time_limit_ns))]
    fn find_witness(&self, py: Python<'_>, time_limit_ns: Option<u64>) -> PyResult<Option<PyWitness>> {
        if self.witness.get().is_none() {
            let found = self.shrink(py, time_limit_ns)?;
            let _ = self.witness.set(found.map(Arc::new));
        }
        let witness = self.witness.get().and_then(Option::as_ref);
        Ok(witness.map(|witness| PyWitness { witness: Arc::clone(witness) }))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "an answer is no truth value, since it may be undecided: compare its verdict",
        ))
    }

    fn __repr__(&self) -> String {
        let anomaly = self.anomaly().map_or(String::new(), |name| format!(", {name}"));
        format!("<Answer {}: {}{anomaly}>", self.level(), self.verdict())
    }
}

impl PyAnswer {
    fn shrink(&self, py: Python<'_>, time_limit_ns: Option<u64>) -> PyResult<Option<Witness>> {
        let watch = Watch::start(time_limit_ns, self.question.memory_limit)?;
        let (question, answer) = (Arc::clone(&self.question), self.answer.clone());
        match watch.run(py, move |watch| question.check(watch).witness(&answer))? {
            Ended::Done(found) => found.map_err(|error| check_error(&error)),
            Ended::Late(limit) => {
                Err(LimitError::new_err(format!("{} while shrinking the violation", watch.sentence(limit))))
            }
        }
    }
}
