//! Reads a PyTorch profiler (Kineto) trace, builds its call tree, and finds out what the program does. This crate is
//! the part of `tracetree` that works on a single trace.
//!
//! ```text
//! file ─read─▶ Trace ─nest, link─▶ CallTree ─what runs─▶ Program
//! ```
//!
//! Use the crate `tracetree-diff` instead of this crate: it reexports the modules of this crate and documents them.
//! Items that are hidden from the documentation may change at any time.

// Only `storage` writes files.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod cancel;
#[doc(hidden)]
pub mod condition;
pub mod error;
#[doc(hidden)]
pub mod escape;
#[doc(hidden)]
pub mod order;
pub mod program;
pub mod side;
#[doc(hidden)]
pub mod signed;
#[doc(hidden)]
pub mod storage;
pub mod trace;
pub mod tree;

pub use cancel::Cancel;
pub use error::{Error, ErrorKind, Result};
pub use side::{PerSide, Presence, Side};
pub use trace::{Trace, Uid};
pub use tree::CallTree;
