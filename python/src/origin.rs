//! The arguments from which a value was made, so that unpickling can make the value again.

use pyo3::prelude::*;
use std::sync::Arc;

/// The arguments from which a value was made; unpickling makes the value again from these arguments.
pub(crate) type Origin = Option<Arc<Py<PyAny>>>;
