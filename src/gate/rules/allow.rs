//! What is let pass: a rule at a place, for a reason, until a day.

use super::Date;
use crate::program::Query;

/// A broken rule that is let pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Allow {
    /// Name of the rule.
    pub rule: String,
    /// Where; everywhere where it is not said.
    pub path: Option<Query>,
    /// Why.
    pub reason: String,
    /// The last day on which it counts; for ever where it is not said.
    pub until: Option<Date>,
}

impl Allow {
    /// Whether its last day is over.
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
