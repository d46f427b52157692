//! Compare two PyTorch profiler (Kineto) traces by the structure of their call stacks.

pub mod error;
pub mod model;
pub mod side;
pub mod trace;

pub use error::{Error, ErrorKind, Result};
pub use side::{PerSide, Side};
