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
    /// The state of the violation of a rule with the given severity, and the remark of the `allow` entry that covers the
    /// violation, if any. An entry that has expired allows nothing. `names` are the names under which an entry may refer
    /// to the rule. `is_there` takes the index of an `allow` entry and returns whether the path of this entry covers the
    /// violation.
    pub(super) fn state(
        &self,
        names: &[&str],
        severity: Severity,
        is_there: impl Fn(usize) -> bool,
    ) -> (State, String) {
        let mut remark = String::new();
        for (at, allow) in self.rules.allow.iter().enumerate() {
            if !names.contains(&allow.rule.as_str()) || !is_there(at) {
                continue;
            }
            if !allow.is_over(self.today) {
                return (State::Allowed, allow.words());
            }
            remark = format!("{} (expired)", allow.words());
        }
        let broken = match severity {
            Severity::Error => State::Failed,
            Severity::Warning => State::Warned,
            Severity::Off => State::Passed,
        };
        (broken, remark)
    }

    /// Like [`Context::state`], for the violation of a rule that covers the calls at a path, or all calls.
    pub(super) fn state_at(
        &self,
        rule: &str,
        severity: Severity,
        path: Option<&Query>,
    ) -> (State, String) {
        self.state(&[rule], severity, |entry| {
            let allowed = self.rules.allow[entry].path.as_ref();
            allowed.is_none() || allowed == path
        })
    }
}
