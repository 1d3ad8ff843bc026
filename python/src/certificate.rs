//! Certificates: proofs of verdicts that anyone can check without the engine.

use isoscope::certify::text::{self, TextCertificate, TextDocument};
use isoscope::certify::{self, Certificate, Document, Fingerprint};
use isoscope::{Answer, History, Monitor};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use std::sync::Arc;

use crate::errors::{CertificateError, LimitError};
use crate::history::PyHistory;
use crate::levels::PyLevel;
use crate::watch::{Ended, Watch};

/// The proof of a verdict, in the form that `isoscope certify` reads.
#[pyclass(name = "Certificate", module = "isoscope", frozen)]
pub struct PyCertificate {
    bytes: Vec<u8>,
    level: String,
    verdict: &'static str,
}

impl PyCertificate {
    /// The certificate of an answer, if it has one of its own.
    pub fn of(history: &History, answer: &Answer) -> PyResult<Option<Self>> {
        let mut bytes = Vec::new();
        let written = match (&answer.text_certificate, &answer.certificate) {
            (Some(certificate), _) => {
                let (certificate, level) = (certificate.clone(), answer.level.name().to_owned());
                let document =
                    TextDocument { certificate, level, history: Fingerprint::of(history), clock_skew: 0 };
                text::write(&document, &mut bytes)
            }
            (None, Some((level, certificate))) => {
                certify::write(certificate, level, Fingerprint::of(history), &mut bytes)
            }
            (None, None) => return Ok(None),
        };
        written.map_err(|error| PyOSError::new_err(error.to_string()))?;
        let (level, verdict) = (answer.level.name().to_owned(), answer.decision.word());
        Ok(Some(Self { bytes, level, verdict }))
    }
}

#[pymethods]
impl PyCertificate {
    /// The level that the certificate is about.
    #[getter]
    fn level(&self) -> &str {
        &self.level
    }

    /// The verdict that it proves.
    #[getter]
    fn verdict(&self) -> &'static str {
        self.verdict
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    fn __len__(&self) -> usize {
        self.bytes.len()
    }

    fn __repr__(&self) -> String {
        format!("<Certificate {}: {}, {} bytes>", self.level, self.verdict, self.bytes.len())
    }
}

/// The level, the verdict and the clock skew in nanoseconds that a certificate proves for a history.
type Proved = (String, &'static str, i64);

/// Has a certificate checked; `own` are levels whose texts a certificate may be about.
#[pyfunction]
pub fn certify_bytes(
    py: Python<'_>,
    history: &PyHistory,
    bytes: Vec<u8>,
    own: Vec<PyRef<'_, PyLevel>>,
) -> PyResult<Proved> {
    let own: Vec<PyLevel> = own.iter().map(|level| PyLevel::clone(level)).collect();
    let subject = Arc::clone(&history.subject);
    let watch = Watch::start(None, None)?;
    match watch.run(py, move |_| prove(&subject.history, &bytes, &own))? {
        Ended::Done(proved) => proved.map_err(CertificateError::new_err),
        Ended::Late(limit) => Err(LimitError::new_err(watch.sentence(limit))),
    }
}

fn prove(history: &History, bytes: &[u8], own: &[PyLevel]) -> Result<Proved, String> {
    if let Some(document) = text::read(bytes).map_err(|error| error.to_string())? {
        return prove_text(history, document, own);
    }
    let document: Document = certify::read(bytes).map_err(|error| error.to_string())?;
    document.check(history).map_err(|error| error.to_string())?;
    let verdict = match document.certificate {
        Certificate::Holds { .. } => "holds",
        Certificate::Violated { .. } => "violated",
    };
    let name = document.level.name().ok_or("the certificate is about a level without a name")?;
    Ok((name.to_owned(), verdict, document.level.clock_skew))
}

/// Checks a certificate of a level that is given by its text.
fn prove_text(history: &History, document: TextDocument, own: &[PyLevel]) -> Result<Proved, String> {
    let given = own.iter().map(|level| &level.definition).find(|level| level.name == document.level);
    let shipped = || isoscope::spec::library::level(&document.level);
    let level = given.or_else(shipped).ok_or_else(|| {
        format!(
            "the certificate is about the level {:?}, which isoscope does not ship: give it as level=",
            document.level
        )
    })?;
    document.check(history, level).map_err(|error| error.to_string())?;
    let verdict = match document.certificate {
        TextCertificate::Holds { .. } => "holds",
        TextCertificate::Violated { .. } => "violated",
    };
    Ok((document.level, verdict, 0))
}
