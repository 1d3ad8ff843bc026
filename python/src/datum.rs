//! Python objects to and from keys and values of histories.
//!
//! `None`, truth values, integers, floats, strings, lists, tuples and dicts mean what they mean in the native format.
//! For every other type `isoscope/values.py` chooses the form.

use history::Datum;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The deepest nesting of lists and dicts; the native format has the same bound.
const DEEPEST: usize = 128;

/// A Python object as a key or value.
pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Datum> {
    nested(object, 0)
}

fn nested(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Datum> {
    if depth > DEEPEST {
        return Err(PyTypeError::new_err(format!(
            "a value may be nested {DEEPEST} deep, and this one is deeper"
        )));
    }
    if object.is_none() {
        return Ok(Datum::Nil);
    }
    // The exact types come first: they are what nearly every history holds.
    if object.is_exact_instance_of::<PyInt>() {
        return integer(object);
    }
    if let Ok(text) = object.cast_exact::<PyString>() {
        return Ok(Datum::str(text.to_cow()?.into_owned()));
    }
    if let Ok(truth) = object.cast_exact::<PyBool>() {
        return Ok(Datum::Bool(truth.is_true()));
    }
    if object.is_exact_instance_of::<PyFloat>() {
        return Ok(Datum::float(object.extract()?));
    }
    if object.is_exact_instance_of::<PyList>() || object.is_exact_instance_of::<PyTuple>() {
        let items: PyResult<Vec<Datum>> = object.try_iter()?.map(|item| nested(&item?, depth + 1)).collect();
        return Ok(Datum::List(items?.into()));
    }
    if let Ok(columns) = object.cast_exact::<PyDict>() {
        let column = |(name, value)| Ok((nested(&name, depth + 1)?, nested(&value, depth + 1)?));
        return Ok(Datum::row(columns.iter().map(column).collect::<PyResult<_>>()?));
    }
    other(object, depth)
}

/// An integer of any size.
fn integer(object: &Bound<'_, PyAny>) -> PyResult<Datum> {
    if let Ok(small) = object.extract::<i64>() {
        return Ok(Datum::Int(small));
    }
    // The decimal text of an integer is bounded by Python itself (4,300 digits unless told).
    let digits = object.str()?;
    let digits = digits.to_cow()?;
    Datum::int_from_decimal(&digits).ok_or_else(|| PyTypeError::new_err(format!("not an integer: {digits}")))
}

/// An object of another type, in the form that `isoscope/values.py` gives it.
fn other(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Datum> {
    let form = object.py().import("isoscope.values")?.call_method1("form_of", (object,))?;
    let (kind, content): (String, Bound<'_, PyAny>) = form.extract()?;
    let text = || -> PyResult<Box<str>> { Ok(content.extract::<String>()?.into()) };
    match kind.as_str() {
        "plain" => nested(&content, depth + 1),
        "keyword" => Ok(Datum::Keyword(text()?)),
        "symbol" => Ok(Datum::Symbol(text()?)),
        tag => {
            Ok(Datum::Tagged(Box::new((tag.trim_start_matches('#').into(), nested(&content, depth + 1)?))))
        }
    }
}

/// A key or value as a Python object.
pub fn to_python<'py>(py: Python<'py>, datum: &Datum) -> PyResult<Bound<'py, PyAny>> {
    Ok(match datum {
        Datum::Nil => py.None().into_bound(py),
        Datum::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Datum::Int(int) => int.into_pyobject(py)?.into_any(),
        Datum::BigInt(digits) => py.get_type::<PyInt>().call1((&**digits,))?,
        Datum::Float(bits) => PyFloat::new(py, f64::from_bits(*bits)).into_any(),
        Datum::Str(text) => PyString::new(py, text).into_any(),
        Datum::Keyword(text) => special(py, "Keyword", (&**text,))?,
        Datum::Symbol(text) => special(py, "Symbol", (&**text,))?,
        Datum::List(items) => {
            let items: PyResult<Vec<_>> = items.iter().map(|item| to_python(py, item)).collect();
            PyList::new(py, items?)?.into_any()
        }
        Datum::Row(columns) => row(py, columns)?,
        Datum::Tagged(tagged) => special(py, "tagged", (&*tagged.0, to_python(py, &tagged.1)?))?,
    })
}

fn row<'py>(py: Python<'py>, columns: &[(Datum, Datum)]) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    for (name, value) in columns {
        dict.set_item(to_python(py, name)?, to_python(py, value)?)?;
    }
    Ok(dict.into_any())
}

/// An object of a class of `isoscope/values.py`.
fn special<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("isoscope.values")?.getattr(class)?.call1(arguments)
}
