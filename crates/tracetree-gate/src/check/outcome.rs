//! The result of a gate: outcome, checks and findings.

use crate::place::{Place, Site};
use crate::rules::Severity;
use serde::Serialize;
use tracetree::program::{Damage, Evidence, counted};
use tracetree::side::PerSide;

/// The overall result of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// No rule with severity `error` is violated. Also, every rule could be checked, or the rule file lets an
    /// inconclusive gate pass.
    Pass,
    /// A rule with severity `error` is violated.
    Fail,
    /// No violation was found, but the sides could not be compared or a rule could not be checked.
    Inconclusive,
}

impl Outcome {
    /// The name of the outcome: `pass`, `fail` or `inconclusive`.
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Inconclusive => "inconclusive",
        }
    }

    /// Returns the worse of two outcomes: a failure is worse than an inconclusive result, which is worse than a pass.
    #[must_use]
    pub fn and(self, other: Outcome) -> Outcome {
        match (self, other) {
            (Outcome::Fail, _) | (_, Outcome::Fail) => Outcome::Fail,
            (Outcome::Pass, Outcome::Pass) => Outcome::Pass,
            (Outcome::Inconclusive, _) | (_, Outcome::Inconclusive) => Outcome::Inconclusive,
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

/// The state of a rule or of a finding: whether the rule is violated, and whether the violation is an error, a warning
/// or allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The rule is not violated.
    Passed,
    /// The rule is violated and has severity `error`.
    Failed,
    /// The rule is violated and has severity `warning`.
    Warned,
    /// The rule is violated, but the rule file allows the violation.
    Allowed,
    /// The rule could not be checked.
    Inconclusive,
}

impl State {
    /// The label of the state in reports.
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

/// A change that violates a rule, or a time or count that exceeds a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The state of the finding: error, warning, allowed or undecided.
    pub state: State,
    /// The kind of the change, as in `changes.csv`; empty for a time or a count.
    pub kind: String,
    /// The rules that the finding violates.
    pub rules: Vec<String>,
    /// A one-line description of the finding.
    pub what: String,
    /// Baseline value with its unit; empty for a change.
    pub before: String,
    /// Candidate value with its unit; empty for a change.
    pub after: String,
    /// The limit that was exceeded; empty for a change.
    pub limit: String,
    /// The observations that support the finding.
    pub evidence: Vec<String>,
    /// The call sites that the finding is about.
    pub sites: Vec<FindingSite>,
    /// The reason given in the `allow` entry for the finding, even if the entry has expired.
    pub remark: String,
}

/// A call site that a finding is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingSite {
    /// The modules and ops that enclose the call site.
    #[serde(flatten)]
    pub place: Place,
    /// What changed at the call site; empty if the finding already says what changed.
    pub what: String,
    /// Number of calls in all compared steps.
    pub calls: u64,
    /// The user's Python function that makes the call, with its file and first line; `None` without Python frames.
    #[serde(rename = "site")]
    pub line: Option<Site>,
}

/// A checked rule and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Name of the checked rule.
    pub rule: String,
    /// A description of where the rule applies; empty if it applies everywhere.
    pub scope: String,
    /// The severity of a violation.
    pub severity: Severity,
    /// The state of the rule: the worst state of its findings.
    pub state: State,
    /// What was checked, or why the rule could not be checked.
    pub message: String,
    /// The findings that violate the rule, as indices of [`Gate::findings`].
    pub findings: Vec<usize>,
}

impl Check {
    /// A check without findings.
    pub(super) fn new(rule: &str, scope: String, severity: Severity) -> Check {
        Check {
            rule: rule.to_owned(),
            scope,
            severity,
            state: State::Passed,
            message: String::new(),
            findings: Vec::new(),
        }
    }

    /// A check that cannot be decided, and the reason.
    pub(super) fn undecided(self, message: impl Into<String>) -> Check {
        Check { state: State::Inconclusive, message: message.into(), ..self }
    }

    /// The title of the check, such as `new_op` or `gpu_time (phase decode)`.
    pub fn title(&self) -> String {
        match self.scope.as_str() {
            "" => self.rule.clone(),
            scope => format!("{} ({scope})", self.rule),
        }
    }

    /// Adds a finding with the given state.
    pub(super) fn add(&mut self, state: State, finding: usize) {
        if state != State::Passed {
            self.state = worst(Some(self.state), state).unwrap_or(state);
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }
}

/// The worse of two states.
pub(super) fn worst(one: Option<State>, two: State) -> Option<State> {
    let order = [State::Failed, State::Warned, State::Allowed, State::Inconclusive, State::Passed];
    order.into_iter().find(|state| *state == two || Some(*state) == one)
}

/// The noise floor of a measure: how much runs of the same side differ. A smaller difference between the two sides is
/// treated as noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Floor {
    /// The measure, for example `gpu_time`.
    pub measure: String,
    /// The largest difference between two runs on the same side, in µs. If both sides have several runs, the side with
    /// the larger difference is used.
    pub micros: f64,
    /// `micros` as a percentage of the median time of that side's runs.
    pub percent: f64,
}

/// The result of a gate, and the reasons for the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The overall result.
    pub outcome: Outcome,
    /// The findings in this order: one finding per change, sorted by descending cost; findings about counts; findings
    /// about times; findings about memory.
    pub findings: Vec<Finding>,
    /// The result of each rule; empty if the sides cannot be compared.
    pub checks: Vec<Check>,
    /// Why the gate or some of its rules could not be decided.
    pub reasons: Vec<String>,
    /// Additional notes for the reader.
    pub notes: Vec<String>,
    /// The run-to-run noise of each measure; empty if neither side has several runs.
    pub floors: Vec<Floor>,
    /// For each run of each side, how many events were recorded and how many are missing.
    pub evidence: PerSide<Vec<Evidence>>,
    /// Number of runs of each side.
    pub runs: PerSide<u64>,
    /// Number of steps of each side.
    pub steps: PerSide<u64>,
    /// The file from which the rules were read; empty if the gate used its default rules.
    pub rules: String,
    /// File name of the candidate's median run, which is the run to inspect.
    pub candidate: String,
}

impl Gate {
    /// Iterates over the findings with the given state.
    pub fn with_state(&self, state: State) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.state == state)
    }

    /// The command that shows the first call site of a finding.
    pub fn command(&self, finding: &Finding) -> String {
        let file = if self.candidate.is_empty() { "TRACE" } else { &self.candidate };
        match finding.sites.first().map(|site| site.place.query()).unwrap_or_default().as_str() {
            "" => format!("tracetree tree {file} --all --depth 3"),
            query => format!("tracetree tree {file} --all --find '{query}'"),
        }
    }
}

/// Describes what the runs recorded, such as `785 GPU events in 5 steps, nothing lost`.
pub(crate) fn measured_by(runs: &[Evidence], steps: u64) -> String {
    let gpu: u64 = runs.iter().map(|run| run.gpu_events).sum();
    let events: u64 = runs.iter().map(|run| run.events).sum();
    let what = match gpu {
        0 => counted(events, "host event"),
        gpu => counted(gpu, "GPU event"),
    };
    let is_whole = runs.iter().all(|run| Damage::of(run).is_empty());
    let lost = if is_whole { "nothing lost" } else { "with tolerated losses" };
    format!("{what} in {}, {lost}", counted(steps, "step"))
}
