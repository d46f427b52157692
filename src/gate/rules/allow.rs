//! Exceptions from rules: a rule, a scope, a reason and an expiry date.

use super::Date;
use crate::program::Query;

/// A violation that is allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Allow {
    /// Name of the rule.
    pub rule: String,
    /// Where it is allowed; everywhere if `None`.
    pub path: Option<Query>,
    /// The reason.
    pub reason: String,
    /// The last day on which it is allowed; no expiry if `None`.
    pub until: Option<Date>,
}

impl Allow {
    /// Whether it has expired.
    pub fn is_over(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }

    /// `allowed until 2027-01-31: …`.
    pub fn words(&self) -> String {
        match self.until {
            Some(until) => format!("allowed until {until}: {}", self.reason),
            None => format!("allowed: {}", self.reason),
        }
    }
}
