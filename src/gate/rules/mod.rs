//! What is checked: rules of a TOML file, or those that hold without one.
//!
//! Every rule about the structure holds everywhere, unless a rule of the file says otherwise; of
//! several rules of one name that speak of a place, the last one counts. See `docs/gate.md`.

mod allow;
mod budget;
mod date;
mod file;
mod limit;
mod time;

pub use allow::Allow;
pub use budget::Budget;
pub(in crate::gate) use budget::Quantity;
pub use date::Date;
pub use limit::Limit;
pub use time::{TimeMeasure, TimeRule};

use super::compare::StructureRule;
use crate::program::Query;

/// The code under which a rule file tolerates calls that only some steps of one side lack.
pub(in crate::gate) const MISSING_IN_STEPS: &str = "missing_in_steps";

/// How bad it is that a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The gate fails.
    Error,
    /// It is told.
    Warning,
    /// Nobody looks.
    Off,
}

impl Severity {
    /// All of them.
    pub const ALL: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Off];

    /// As rules write it.
    pub fn label(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Off => "off",
        }
    }
}

/// Where a rule holds; everywhere where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// At and below the calls that a query names.
    pub path: Option<Query>,
    /// In this phase.
    pub phase: Option<String>,
    /// For this kind of work.
    pub category: Option<String>,
}

impl Scope {
    /// Whether it is everywhere.
    pub fn is_all(&self) -> bool {
        *self == Scope::default()
    }

    /// In words; empty for everywhere.
    pub fn words(&self) -> String {
        let path = self.path.as_ref().map(|path| path.text().to_owned());
        let phase = self.phase.as_ref().map(|phase| format!("phase {phase}"));
        let category = self.category.as_ref().map(|category| format!("category {category}"));
        [path, phase, category].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// A rule about the structure.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What it looks at.
    pub rule: StructureRule,
    /// Where.
    pub scope: Scope,
    /// How much more there may be; nothing more where it is not said.
    pub allowed: Option<Limit>,
    /// How bad it is.
    pub severity: Severity,
}

/// What a gate does where it cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Inconclusive {
    /// It says so by its exit code.
    #[default]
    Fails,
    /// It lets it pass.
    Passes,
}

/// All that is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Rules about the structure, in the order of the file.
    pub structure: Vec<Rule>,
    /// Rules about time.
    pub time: Vec<TimeRule>,
    /// Absolute limits.
    pub budgets: Vec<Budget>,
    /// What is let pass.
    pub allow: Vec<Allow>,
    /// What is done where nothing can be told.
    pub inconclusive: Inconclusive,
    /// By how much the share of the GPU time whose launch is in the trace may differ between the sides, 0 to 1.
    pub lost_launches: f64,
    /// Codes of [`Obstacle`](crate::program::Obstacle) in spite of which the sides are compared.
    pub tolerate: Vec<String>,
}

impl Rules {
    /// The same rules without those about time and without budgets of a time.
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
            structure: Vec::new(),
            time: TimeRule::usual(),
            budgets: Vec::new(),
            allow: Vec::new(),
            inconclusive: Inconclusive::Fails,
            lost_launches: crate::program::LOST_LAUNCHES,
            tolerate: Vec::new(),
        }
    }
}
