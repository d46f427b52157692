//! Converts method arguments that can be a single value or a list of values. Error messages name the parameter.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

/// Converts an argument to a list of strings. The argument is a string, a list or tuple of strings, or `None` (no
/// strings).
///
/// # Errors
/// `TypeError` for everything else.
pub(crate) fn texts(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    if given.is_instance_of::<PyString>() {
        return Ok(vec![given.extract()?]);
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let each = given.try_iter()?.map(|one| {
            let one = one?;
            if one.is_instance_of::<PyString>() { one.extract() } else { Err(wrong(name, &one)) }
        });
        return each.collect();
    }
    Err(wrong(name, given))
}

fn wrong(name: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let shown = || -> PyResult<String> {
        given.py().import("tracetree._names")?.call_method1("kind", (given,))?.extract()
    };
    match shown() {
        Ok(shown) => PyTypeError::new_err(format!(
            "{name} must be a string or a list of strings, not {shown}"
        )),
        Err(error) => error,
    }
}
