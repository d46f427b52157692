//! What the other crates of this workspace share with this one. It is not part of the public API and changes without
//! notice.

/// Parses conditions of gates.
pub mod condition {
    pub use crate::condition::*;
}

/// Escapes control characters.
pub mod escape {
    pub use crate::escape::*;
}

/// Sorts with one compiled algorithm.
pub mod order {
    pub use crate::order::*;
}

/// Reads and writes files and objects.
pub mod storage {
    pub use crate::storage::*;
}
