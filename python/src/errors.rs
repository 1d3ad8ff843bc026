//! Exceptions of the package. A violation is an answer and never an exception.

use isoscope::formats;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

create_exception!(isoscope, Error, PyException, "The base of every exception that isoscope raises.");
create_exception!(isoscope, ReadError, Error, "The input is not a history; `file` and `place` say where.");
create_exception!(
    isoscope,
    WriteError,
    Error,
    "The history cannot be written in this format or to this file."
);
create_exception!(
    isoscope,
    LevelError,
    Error,
    "The level is not known, or the history cannot be asked for it."
);
create_exception!(
    isoscope,
    CertificateError,
    Error,
    "The certificate does not prove its verdict for this history."
);
create_exception!(isoscope, LimitError, Error, "A limit was reached before there was an answer.");
create_exception!(isoscope, InternalError, Error, "An error of isoscope itself; no verdict is given.");

/// A failed read, with its file and place as attributes.
pub fn read_error(py: Python<'_>, error: &formats::Error) -> PyErr {
    let raised = ReadError::new_err(error.to_string());
    let value = raised.value(py);
    let place = format!("{:?}", error.place());
    let parts = [
        ("file", error.file()),
        ("place", &place),
        ("expected", error.expected()),
        ("found", error.found()),
        ("hint", error.hint()),
    ];
    for (name, text) in parts {
        if let Err(failed) = value.setattr(name, text) {
            return failed;
        }
    }
    raised
}

/// A question that has no answer.
pub fn check_error(error: &isoscope::Error) -> PyErr {
    match error {
        isoscope::Error::NeedsTimes { .. } | isoscope::Error::NoRecordedLevel(_) => {
            LevelError::new_err(error.to_string())
        }
        isoscope::Error::Refused(_) | isoscope::Error::Failed(_) => InternalError::new_err(error.to_string()),
    }
}

/// An argument that has the right type and no meaning.
pub fn bad_value(message: impl Into<String>) -> PyErr {
    PyValueError::new_err(message.into())
}

/// Adds the exceptions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("ReadError", py.get_type::<ReadError>())?;
    module.add("WriteError", py.get_type::<WriteError>())?;
    module.add("LevelError", py.get_type::<LevelError>())?;
    module.add("CertificateError", py.get_type::<CertificateError>())?;
    module.add("LimitError", py.get_type::<LimitError>())?;
    module.add("InternalError", py.get_type::<InternalError>())
}
