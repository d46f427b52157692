//! What every check of a gate reads.

use super::outcome::State;
use crate::recording::Recording;
use crate::rules::{Date, Rules, Severity};
use tracetree::program::Query;
use tracetree::side::PerSide;

/// In how many steps the candidate must do new work, and how many steps the baseline must have without this work, so that
/// the work is new and not occasional.
pub(super) const MANY_STEPS: PerSide<u64> = PerSide { baseline: 3, candidate: 2 };

/// The inputs that all checks share.
pub(super) struct Context<'a> {
    pub(super) baseline: &'a Recording,
    pub(super) candidate: &'a Recording,
    pub(super) rules: &'a Rules,
    pub(super) today: Date,
}

impl Context<'_> {
    /// Finds out whether an `allow` entry covers the violation of a rule, and whether this entry has expired. `names`
    /// are the names under which an entry may refer to the rule. `is_there` takes the index of an `allow` entry and
    /// returns whether the path of this entry covers the violation.
    pub(super) fn permission(
        &self,
        names: &[&str],
        is_there: impl Fn(usize) -> bool,
    ) -> Permission {
        let mut found = Permission::None;
        for (at, allow) in self.rules.allow.iter().enumerate() {
            if !names.contains(&allow.rule.as_str()) || !is_there(at) {
                continue;
            }
            if !allow.is_over(self.today) {
                return Permission::Given(allow.words());
            }
            found = Permission::Over(format!("{} (expired)", allow.words()));
        }
        found
    }

    /// Like [`Context::permission`], for the violation of a rule that covers the calls at a path, or all calls.
    pub(super) fn permission_at(&self, rule: &str, path: Option<&Query>) -> Permission {
        self.permission(&[rule], |entry| {
            let allowed = self.rules.allow[entry].path.as_ref();
            allowed.is_none() || allowed == path
        })
    }
}

/// The state of a violation with the given severity.
pub(super) fn broken(severity: Severity) -> State {
    match severity {
        Severity::Error => State::Failed,
        Severity::Warning => State::Warned,
        Severity::Off => State::Passed,
    }
}

/// Whether an `allow` entry in the rule file allows a violation.
pub(super) enum Permission {
    None,
    Given(String),
    Over(String),
}

impl Permission {
    /// The state of a finding, and the remark that is printed with it.
    pub(super) fn state(self, severity: Severity) -> (State, String) {
        match self {
            Permission::None => (broken(severity), String::new()),
            Permission::Given(words) => (State::Allowed, words),
            Permission::Over(words) => (broken(severity), words),
        }
    }
}
