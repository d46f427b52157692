//! How the model knows a kernel type: looked up, computed, or not at all.

use std::fmt;

/// The origin of the model's time for a kernel type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Every op that becomes this kernel was looked up in the model's database.
    Hit,
    /// Some were looked up, others computed.
    Partial,
    /// All were computed.
    Miss,
    /// Only the profile has it.
    Unmodeled,
}

impl Status {
    /// All statuses, the best known first.
    pub const ALL: [Status; 4] = [Status::Hit, Status::Partial, Status::Miss, Status::Unmodeled];

    /// Its name in tables: `HIT`, `PARTIAL`, `MISS` or `unmodeled`.
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
