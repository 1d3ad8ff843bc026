//! Levels by name, and levels of the user's own from their texts.

use isoscope::spec::{self, Spec};
use isoscope::{Asked, LevelId};
use pyo3::prelude::*;

use crate::errors::LevelError;

/// An isolation level.
#[pyclass(name = "Level", module = "isoscope", frozen)]
#[derive(Clone)]
pub struct PyLevel {
    /// The definition.
    pub definition: spec::Level,
    /// The level that isoscope ships, if it is one.
    pub shipped: Option<LevelId>,
}

#[pymethods]
impl PyLevel {
    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.definition.name
    }

    /// Other names.
    #[getter]
    fn aliases(&self) -> Vec<String> {
        self.definition.aliases.clone()
    }

    /// What the level promises, in words.
    #[getter]
    fn description(&self) -> &str {
        &self.definition.description
    }

    /// The definition in the language of levels.
    #[getter]
    fn text(&self) -> &str {
        &self.definition.text
    }

    /// Whether isoscope ships the level.
    #[getter]
    fn is_shipped(&self) -> bool {
        self.shipped.is_some()
    }

    /// Whether the level orders events by recorded times.
    #[getter]
    fn needs_times(&self) -> bool {
        self.definition.needs_times()
    }

    /// The levels that this one implies directly.
    #[getter]
    fn directly_implies(&self) -> Vec<&'static str> {
        let implied = self.shipped.map_or(&[][..], LevelId::directly_implies);
        implied.iter().map(|level| level.name()).collect()
    }

    /// A history that the level allows, in the notation.
    #[getter]
    fn allowed(&self) -> Option<&'static str> {
        self.shipped.map(|level| level.example().allowed.text)
    }

    /// A history that the level forbids, in the notation.
    #[getter]
    fn forbidden(&self) -> Option<&'static str> {
        self.shipped.map(|level| level.example().forbidden.text)
    }

    /// Whether every history that this level allows is allowed by the other one too, for shipped levels.
    fn implies(&self, other: &Self) -> bool {
        match (self.shipped, other.shipped) {
            (Some(stronger), Some(weaker)) => stronger.implies(weaker),
            _ => self.definition.name == other.definition.name,
        }
    }

    fn __repr__(&self) -> String {
        format!("Level({:?})", self.definition.name)
    }
}

impl From<LevelId> for PyLevel {
    fn from(level: LevelId) -> Self {
        Self { definition: level.spec().clone(), shipped: Some(level) }
    }
}

/// All levels that isoscope ships, strongest first.
#[pyfunction]
pub fn levels() -> Vec<PyLevel> {
    LevelId::ALL.into_iter().map(PyLevel::from).collect()
}

/// The level of a name or alias: one that can be checked, or a definition of another framework, for comparisons.
#[pyfunction]
pub fn level(name: &str) -> PyResult<PyLevel> {
    match name.parse::<LevelId>() {
        Ok(level) => Ok(level.into()),
        Err(unknown) => match spec::library::level(name) {
            Some(level) => Ok(PyLevel { definition: level.clone(), shipped: None }),
            None => Err(LevelError::new_err(format!("{unknown} (isoscope.levels() lists them)"))),
        },
    }
}

/// The levels that a text defines; `include` gives the text of an included file, or `None`.
#[pyfunction]
pub fn parse_levels(text: &str, name: &str, include: &Bound<'_, PyAny>) -> PyResult<Vec<PyLevel>> {
    let mut included = |file: &str| include.call1((file,)).ok()?.extract::<Option<String>>().ok()?;
    let spec = Spec::parse_with(name, text, &mut included);
    let spec = spec.map_err(|error| LevelError::new_err(format!("the level is not defined\n{error}")))?;
    Ok(spec.levels.into_iter().map(|definition| PyLevel { definition, shipped: None }).collect())
}

/// The question for these levels; none means all.
pub fn asked(levels: &[PyRef<'_, PyLevel>]) -> Asked {
    let mut asked = Asked::default();
    for level in levels {
        match level.shipped {
            Some(shipped) => asked.add(shipped),
            None => asked.add_own([level.definition.clone()]),
        }
    }
    asked
}
