//! Stores the arguments that a value was created from, so that unpickling can create the value again.

use pyo3::prelude::*;
use std::sync::Arc;

/// The arguments that a value was created from. Unpickling creates the value again from these arguments.
pub(crate) type Origin = Option<Arc<Py<PyAny>>>;
