//! The rules that a gate checks: default rules, and rules from a TOML file.
//!
//! Every structural rule applies to the whole program unless the rule file overrides the rule. If several rules with
//! the same name cover a change, the last rule applies. See `docs/reference/gate-rules.md`.

mod budget;
mod date;
mod fail_on;
mod file;
mod limit;
mod memory;
mod severity;
mod structure;
mod time;

pub use budget::Budget;
pub(crate) use budget::Quantity;
pub use date::Date;
pub use fail_on::{FailOn, Limited, StepMeasure};
pub use limit::Limit;
pub use memory::{MemoryMeasure, MemoryRule};
pub use severity::{Scope, Severity};
pub use structure::StructureRule;
pub use time::{TimeMeasure, TimeRule, Timing};

use tracetree::program::Query;

/// A code for the list `tolerate`. With this code, the gate can pass even if some steps on one side lack calls that
/// every step on the other side has.
pub(crate) const MISSING_IN_STEPS: &str = "missing_in_steps";

/// A structural rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What the rule checks: an effect, or a kind of change.
    pub rule: StructureRule,
    /// Where the rule applies.
    pub scope: Scope,
    /// The allowed increase; `None` allows no increase.
    pub allowed: Option<Limit>,
    /// The severity of a violation.
    pub severity: Severity,
}

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

/// The outcome of a gate if no rule is violated but some rule could not be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Inconclusive {
    /// The gate is inconclusive and exits with the exit code for inconclusive results.
    #[default]
    Fails,
    /// The gate passes.
    Passes,
}

/// All rules, limits and exceptions of a gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// The file from which the rules were read; empty for the default rules.
    pub file: String,
    /// Structural rules, in file order.
    pub structure: Vec<Rule>,
    /// Time rules, which limit how much a time may increase over the baseline.
    pub time: Vec<TimeRule>,
    /// Whether time rules and time budgets decide, or only report.
    pub timing: Timing,
    /// Memory rules; empty without a rule file.
    pub memory: Vec<MemoryRule>,
    /// Absolute limits for the candidate.
    pub budgets: Vec<Budget>,
    /// Exceptions, each of which allows violations of one rule.
    pub allow: Vec<Allow>,
    /// The outcome if no rule is violated but some rule could not be checked.
    pub inconclusive: Inconclusive,
    /// The severity of a change that only some steps of the candidate contain, and no step of the baseline. `Warning`
    /// makes such a change a warning even if a rule of severity `error` covers it.
    pub intermittent: Severity,
    /// How much the fraction (0 to 1) of GPU time in events with a recorded launch may differ between the sides.
    pub lost_launches: f64,
    /// Codes of tolerated obstacles: the sides are compared despite these obstacles (see
    /// [`Obstacle`](tracetree::program::Obstacle)).
    pub tolerate: Vec<String>,
}

impl Rules {
    /// Returns the same rules without time rules and time budgets.
    #[must_use]
    pub fn structure_only(mut self) -> Rules {
        self.time.clear();
        self.budgets.retain(|budget| matches!(budget.quantity, Quantity::Count(_)));
        self
    }
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            file: String::new(),
            structure: Vec::new(),
            time: TimeRule::usual(),
            timing: Timing::Decide,
            memory: Vec::new(),
            budgets: Vec::new(),
            allow: Vec::new(),
            inconclusive: Inconclusive::Fails,
            intermittent: Severity::Error,
            lost_launches: tracetree::program::LOST_LAUNCHES,
            tolerate: Vec::new(),
        }
    }
}
