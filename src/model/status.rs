//! How the model knows a kernel type: looked up, computed, or not at all.

use std::fmt;

/// The origin of the model's time for a kernel type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Every op that becomes this kernel was looked up in the model's database.
    Hit,
    /// Some ops were looked up, and others were computed.
    Partial,
    /// All ops were computed.
    Miss,
    /// Only the profile has this kernel type.
    Unmodeled,
}

impl Status {
    /// All statuses, best known first.
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
