//! The arguments from which a value was created, so that unpickling can create the value again.

use pyo3::prelude::*;
use std::sync::Arc;

/// The arguments from which a value was created; unpickling creates the value again from these arguments.
pub(crate) type Origin = Option<Arc<Py<PyAny>>>;
