//! What a value was made from, so that a pickled one can be made again.

use pyo3::prelude::*;
use std::sync::Arc;

/// The arguments that a value was made from. A pickled value is made again from them.
pub(crate) type Origin = Option<Arc<Py<PyAny>>>;
