//! The native half of the Python package `tracetree`: owned objects around the library's values.
//!
//! Nothing is worked out here. What a Python user sees is documented in `docs/python.md`; the other half
//! of the package, in Python, turns what it is given into what this half takes, and draws the card of a
//! notebook.

mod comparison;
mod errors;
mod explanation;
mod gate;
mod node;
mod options;
mod source;
mod table;
mod trace;
mod work;

use pyo3::prelude::*;
use std::ffi::OsString;

/// The native half of tracetree.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::comparison::{Comparison, compare};
    #[pymodule_export]
    use super::explanation::Explanation;
    #[pymodule_export]
    use super::gate::gate;
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::node::Node;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::trace::{Trace, Tree, read};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}

/// Runs the command line; returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| tracetree::cli::run(arguments))
}
