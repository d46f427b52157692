//! What a gate says.

use crate::gate::compare::{Place, Site};
use crate::gate::rules::Severity;
use crate::program::Evidence;
use crate::side::PerSide;
use serde::Serialize;

/// What a gate says in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// No rule of severity `error` is broken, and all could be checked.
    Pass,
    /// A rule of severity `error` is broken.
    Fail,
    /// None is, but something could not be checked.
    Inconclusive,
}

impl Outcome {
    /// `pass`, `fail` or `inconclusive`.
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Inconclusive => "inconclusive",
        }
    }

    /// The exit code of the command line: 0, 1 or 3.
    pub fn exit_code(self) -> u8 {
        match self {
            Outcome::Pass => 0,
            Outcome::Fail => 1,
            Outcome::Inconclusive => 3,
        }
    }
}

/// What came of one rule, or of one finding of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It holds.
    Passed,
    /// It is broken, and that is an error.
    Failed,
    /// It is broken, and that is told.
    Warned,
    /// It is broken, and that is allowed.
    Allowed,
    /// It could not be checked.
    Inconclusive,
}

impl State {
    /// As reports write it.
    pub fn label(self) -> &'static str {
        match self {
            State::Passed => "passed",
            State::Failed => "failed",
            State::Warned => "warned",
            State::Allowed => "allowed",
            State::Inconclusive => "inconclusive",
        }
    }
}

/// One thing that breaks a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Where.
    pub place: Place,
    /// What, in a line.
    pub what: String,
    /// Before, with unit.
    pub before: String,
    /// After, with unit.
    pub after: String,
    /// What would be allowed.
    pub limit: String,
    /// What shows it.
    pub evidence: Vec<String>,
    /// Who calls, where the trace has Python frames.
    pub site: Option<Site>,
    /// What came of it.
    pub state: State,
    /// Why it is allowed, or was.
    pub remark: String,
}

/// What came of one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Name of the rule.
    pub rule: String,
    /// Where it holds, in words; empty for everywhere.
    pub scope: String,
    /// How bad it is to break it.
    pub severity: Severity,
    /// What came of it: the worst of its findings.
    pub state: State,
    /// What was checked, or why it could not be.
    pub message: String,
    /// What breaks it.
    pub findings: Vec<Finding>,
}

impl Check {
    /// `new_op`, `gpu_time (phase decode)`.
    pub fn title(&self) -> String {
        match self.scope.as_str() {
            "" => self.rule.clone(),
            scope => format!("{} ({scope})", self.rule),
        }
    }

    /// With the worst state of its findings.
    pub(super) fn settled(mut self) -> Check {
        let order = [State::Failed, State::Warned, State::Allowed];
        let has = |state: &State| self.findings.iter().any(|finding| finding.state == *state);
        if let Some(worst) = order.into_iter().find(has) {
            self.state = worst;
        }
        self
    }
}

/// How far runs of one side lie apart: what is less is noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Floor {
    /// Of what.
    pub measure: String,
    /// The largest difference between two runs of one side, in µs.
    pub micros: f64,
    /// The same, as a share of their median, in percent.
    pub percent: f64,
}

/// What a gate says, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// In a word.
    pub outcome: Outcome,
    /// What came of each rule; none where the sides cannot be compared.
    pub checks: Vec<Check>,
    /// Why something could not be told.
    pub reasons: Vec<String>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// The noise between runs, where a side has several.
    pub floors: Vec<Floor>,
    /// What each run of the baseline and of the candidate measured.
    pub evidence: PerSide<Vec<Evidence>>,
    /// Runs of the baseline and of the candidate.
    pub runs: [u64; 2],
    /// Their steps.
    pub steps: [u64; 2],
    /// The first run of the candidate, to look closer at.
    pub candidate: String,
}

impl Gate {
    /// Findings of this state, with their check, by rule and place.
    pub fn findings(&self, state: State) -> impl Iterator<Item = (&Check, &Finding)> {
        self.checks.iter().flat_map(move |check| {
            let findings = check.findings.iter().filter(move |finding| finding.state == state);
            findings.map(move |finding| (check, finding))
        })
    }

    /// The command that shows a finding closer.
    pub fn command(&self, finding: &Finding) -> String {
        let file = if self.candidate.is_empty() { "TRACE" } else { &self.candidate };
        match finding.place.query().as_str() {
            "" => format!("tracetree tree {file} --all --depth 3"),
            query => format!("tracetree tree {file} --all --find '{query}'"),
        }
    }
}
