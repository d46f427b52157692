//! The native half of the Python package `tracetree`: Python classes that wrap the library's types.
//!
//! All computation is done by the library. `docs/guides/python.md` documents the interface for users. The half that is
//! written in Python prepares the arguments for the native half and draws the notebook cards.

mod arguments;
mod comparison;
mod errors;
mod explanation;
mod fleet;
mod gate;
mod node;
mod options;
mod origin;
mod read;
mod source;
mod table;
mod trace;
mod what_if;
mod work;

use pyo3::prelude::*;
use std::ffi::OsString;

/// The native half of the Python package tracetree.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::comparison::{Comparison, compare};
    #[pymodule_export]
    use super::explanation::Explanation;
    #[pymodule_export]
    use super::fleet::map_pair;
    #[pymodule_export]
    use super::gate::gate;
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::node::Node;
    #[pymodule_export]
    use super::read::{rank_of_file, read, run_files};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::trace::{Trace, Tree};
    #[pymodule_export]
    use super::what_if::WhatIf;
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}

/// Runs the command line and returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| tracetree_cli::run(arguments))
}
