//! The origin of the model's time for a kernel type: looked up, computed, or missing.

use std::fmt;

/// The origin of the model's time for a kernel type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// The times of all ops that run this kernel type were looked up in the model's database.
    Hit,
    /// The times of some ops were looked up, and the times of other ops were computed.
    Partial,
    /// The times of all ops were computed.
    Miss,
    /// Only the profile has the kernel type.
    Unmodeled,
}

impl Status {
    /// All statuses, sorted by how well the model knows the time, best first.
    pub const ALL: [Status; 4] = [Status::Hit, Status::Partial, Status::Miss, Status::Unmodeled];

    /// The name of the status in tables: `HIT`, `PARTIAL`, `MISS` or `unmodeled`.
    pub fn label(self) -> &'static str {
        match self {
            Status::Hit => "HIT",
            Status::Partial => "PARTIAL",
            Status::Miss => "MISS",
            Status::Unmodeled => "unmodeled",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}
