//! What shows a violation, and reports as pages.

use std::sync::Arc;

use history::{Summary, TxnId};
use isoscope::units::counted;
use isoscope::{Witness, formats};
use picture::{Page, Use};
use pyo3::prelude::*;

use crate::answer::PyAnswer;
use crate::history::{PyHistory, Subject};

/// The part of a history that shows a violation, as small as possible.
#[pyclass(name = "Witness", module = "isoscope", frozen)]
pub struct PyWitness {
    /// The witness of the library.
    pub witness: Arc<Witness>,
}

/// A step of the argument, from one transaction to the next.
#[pyclass(name = "WitnessEdge", module = "isoscope", frozen, get_all)]
#[derive(Clone)]
pub struct PyEdge {
    /// The transaction that comes before.
    source: String,
    /// The transaction that comes after.
    target: String,
    /// `so`, `rt`, `wr`, `ww` or `rw`.
    kind: &'static str,
    /// The key, if the step is about one.
    key: Option<String>,
    /// The reason as a sentence.
    reason: String,
}

#[pymethods]
impl PyWitness {
    /// The level that is violated.
    #[getter]
    fn level(&self) -> &str {
        self.witness.level.name()
    }

    /// The name of the pattern.
    #[getter]
    fn anomaly(&self) -> &'static str {
        self.witness.name()
    }

    /// The class in Adya's terms.
    #[getter]
    fn adya_class(&self) -> Option<&'static str> {
        self.witness.class()
    }

    /// What the pattern means for an application.
    #[getter]
    fn meaning(&self) -> &str {
        self.witness.meaning()
    }

    /// The violation in half a line.
    #[getter]
    fn headline(&self) -> &str {
        &self.witness.headline
    }

    /// The transactions, as the whole history names them.
    #[getter]
    fn transactions(&self) -> Vec<String> {
        self.witness.history.txns().map(|txn| self.label(txn)).collect()
    }

    /// What each transaction saw and did.
    #[getter]
    fn participants(&self) -> Vec<String> {
        self.witness.participants.clone()
    }

    /// Why the level is violated: the depth and the text of each sentence.
    #[getter]
    fn lines(&self) -> Vec<(usize, String)> {
        self.witness.lines.iter().map(|line| (line.depth, line.text.clone())).collect()
    }

    /// The steps from one transaction to the next.
    #[getter]
    fn edges(&self) -> Vec<PyEdge> {
        let edge = |edge: &isoscope::WitnessEdge| PyEdge {
            source: self.label(edge.from),
            target: self.label(edge.to),
            kind: edge.kind.name(),
            key: edge.key.clone(),
            reason: edge.reason.clone(),
        };
        self.witness.edges.iter().map(edge).collect()
    }

    /// Whether nothing can be left out; not so if a limit was reached first.
    #[getter]
    fn is_minimal(&self) -> bool {
        self.witness.is_minimal
    }

    /// The witness as a history of its own, which violates the level.
    #[getter]
    fn history(&self) -> PyHistory {
        PyHistory { subject: Subject::made("witness", self.witness.history.clone()) }
    }

    /// The witness in the notation; `None` if the notation cannot express it.
    #[getter]
    fn notation(&self) -> Option<String> {
        formats::notation::print(&self.witness.history).ok()
    }

    /// The picture as an SVG file.
    fn svg(&self) -> String {
        picture::svg(&self.witness, Use::File)
    }

    /// The graph for Graphviz.
    fn dot(&self) -> String {
        picture::dot(&self.witness)
    }
}

impl PyWitness {
    fn label(&self, txn: TxnId) -> String {
        self.witness.history.txn_label(txn)
    }
}

/// The report of some answers about one history as one HTML file, with a picture of each witness.
#[pyfunction]
pub fn page(
    py: Python<'_>,
    history: &PyHistory,
    answers: Vec<PyRef<'_, PyAnswer>>,
    witnesses: Vec<PyRef<'_, PyWitness>>,
) -> String {
    let subject = &history.subject;
    let answers: Vec<_> = answers.iter().map(|answer| answer.answer.clone()).collect();
    let witnesses: Vec<Witness> = witnesses.iter().map(|witness| Witness::clone(&witness.witness)).collect();
    py.detach(|| {
        picture::html(&Page {
            title: subject.name.clone(),
            about: about(&subject.summary),
            history: Some(&subject.history),
            verdicts: picture::verdict_rows(&answers, &witnesses),
            witnesses,
            ..Page::default()
        })
    })
}

/// The counts in one line.
fn about(summary: &Summary) -> String {
    let parts = [
        counted(summary.sessions, "session"),
        counted(summary.transactions, "transaction"),
        counted(summary.operations, "operation"),
        counted(summary.keys, "key"),
    ];
    parts.join(", ")
}
