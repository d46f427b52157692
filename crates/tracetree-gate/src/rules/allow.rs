//! Exceptions from rules. An exception has a rule, a path, a reason and an expiry date.

use super::Date;
use tracetree::program::Query;

/// An exception that allows a violation.
#[derive(Debug, Clone, PartialEq)]
pub struct Allow {
    /// Name of the rule that may be violated.
    pub rule: String,
    /// The calls for which the violation is allowed; `None` means all calls.
    pub path: Option<Query>,
    /// Why the violation is allowed.
    pub reason: String,
    /// The last day on which the violation is allowed; `None` means no expiry.
    pub until: Option<Date>,
}

impl Allow {
    /// Whether the exception has expired.
    pub fn is_over(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }

    /// Describes the exception: `allowed until 2027-01-31: …`.
    pub fn words(&self) -> String {
        match self.until {
            Some(until) => format!("allowed until {until}: {}", self.reason),
            None => format!("allowed: {}", self.reason),
        }
    }
}
