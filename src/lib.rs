//! Compare two PyTorch profiler (Kineto) traces by the structure of their call stacks.

pub mod analysis;
pub mod diff;
pub mod error;
pub mod model;
pub mod report;
pub mod side;
pub mod trace;
pub mod tree;

pub use error::{Error, ErrorKind, Result};
pub use side::{PerSide, Side};
