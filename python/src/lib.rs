//! The extension module `isoscope._isoscope`: the library `isoscope` for Python.
//!
//! Each function here takes plain arguments; the package around it (`python/isoscope`) has the defaults, the documentation
//! and everything that is more readable in Python. Work of the engine runs without the interpreter's lock (`watch.rs`).

mod answer;
mod certificate;
mod check;
mod columns;
mod datum;
mod definitions;
mod errors;
mod history;
mod levels;
mod recorder;
mod watch;
mod witness;

use isoscope::units;
use pyo3::prelude::*;

/// Nanoseconds of a text such as `5ms`.
#[pyfunction]
fn parse_duration(text: &str) -> PyResult<u128> {
    Ok(units::parse_duration(text).map_err(errors::bad_value)?.as_nanos())
}

/// Bytes of a text such as `4GiB`.
#[pyfunction]
fn parse_size(text: &str) -> PyResult<u64> {
    units::parse_size(text).map_err(errors::bad_value)
}

/// The library `isoscope` for Python.
#[pymodule]
fn _isoscope(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::register(module)?;
    module.add_class::<answer::PyAnswer>()?;
    module.add_class::<answer::PyExplanation>()?;
    module.add_class::<certificate::PyCertificate>()?;
    module.add_class::<definitions::PySeparation>()?;
    module.add_class::<history::PyHistory>()?;
    module.add_class::<levels::PyLevel>()?;
    module.add_class::<recorder::PyRecorder>()?;
    module.add_class::<recorder::PySession>()?;
    module.add_class::<witness::PyEdge>()?;
    module.add_class::<witness::PyWitness>()?;
    module.add_function(wrap_pyfunction!(certificate::certify_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(check::check, module)?)?;
    module.add_function(wrap_pyfunction!(columns::from_columns, module)?)?;
    module.add_function(wrap_pyfunction!(columns::to_columns, module)?)?;
    module.add_function(wrap_pyfunction!(definitions::compare_levels, module)?)?;
    module.add_function(wrap_pyfunction!(definitions::synthesize, module)?)?;
    module.add_function(wrap_pyfunction!(history::formats_known, module)?)?;
    module.add_function(wrap_pyfunction!(history::read, module)?)?;
    module.add_function(wrap_pyfunction!(history::read_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(levels::level, module)?)?;
    module.add_function(wrap_pyfunction!(levels::levels, module)?)?;
    module.add_function(wrap_pyfunction!(levels::parse_levels, module)?)?;
    module.add_function(wrap_pyfunction!(parse_duration, module)?)?;
    module.add_function(wrap_pyfunction!(parse_size, module)?)?;
    module.add_function(wrap_pyfunction!(witness::page, module)?)
}
