//! How a rule counts, and where it applies.

use serde::Serialize;
use tracetree::program::Query;

/// The severity of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A violation makes the gate fail.
    Error,
    /// A violation is reported, but the gate does not fail.
    Warning,
    /// The rule is switched off.
    Off,
}

impl Severity {
    /// All severities.
    pub const ALL: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Off];

    /// The severity's name in rule files.
    pub fn label(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Off => "off",
        }
    }
}

/// The part of the program to which a rule applies; by default, the whole program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// The rule applies at and below the calls that match this query.
    pub path: Option<Query>,
    /// The rule applies only in this phase.
    pub phase: Option<String>,
    /// The rule applies only to work of this category.
    pub category: Option<String>,
}

impl Scope {
    /// Whether the scope covers everything.
    pub fn is_all(&self) -> bool {
        *self == Scope::default()
    }

    /// A description of the scope; empty if the scope covers everything.
    pub fn words(&self) -> String {
        let path = self.path.as_ref().map(|path| path.text().to_owned());
        let phase = self.phase.as_ref().map(|phase| format!("phase {phase}"));
        let category = self.category.as_ref().map(|category| format!("category {category}"));
        [path, phase, category].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
