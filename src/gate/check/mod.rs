//! Two digests and rules → [`Gate`]: which rules hold, which are broken and why, and whether anything can
//! be said at all.

mod find;
mod health;
mod outcome;
mod structure;
mod time;

pub use outcome::{Check, Finding, Floor, Gate, Outcome, State};

use super::compare::{Graphs, Structure};
use super::digest::Digest;
use super::rules::{Date, Inconclusive, MISSING_IN_STEPS, Rules, Severity};
use crate::side::PerSide;

impl Gate {
    /// Checks the runs of one side against those of a baseline.
    pub fn check(baseline: &Digest, candidate: &Digest, rules: &Rules, today: Date) -> Gate {
        let whole = [baseline, candidate];
        let graphs = Graphs::of(baseline, candidate);
        let shown = whole.map(|digest| graphs.show(digest));
        let [baseline, candidate] = [&*shown[0], &*shown[1]];
        let mut reasons = health::reasons(baseline, candidate, rules);
        let mut notes = health::notes(baseline, candidate);
        notes.extend(graphs.note(whole[0], whole[1]));
        notes.extend(whole.iter().flat_map(|digest| digest.remarks.iter().cloned()));
        let structure = Structure::of(baseline, candidate);
        notes.extend(health::structure_notes(&structure));
        let context = Context { baseline, candidate, whole, graphs, rules, today };
        // What cannot be compared has no changes, only differences.
        let checks = match reasons.is_empty() {
            true => {
                let mut checks = structure::checks(&context, &structure);
                checks.extend(time::checks(&context));
                checks
            }
            false => Vec::new(),
        };
        if reasons.is_empty() && !rules.tolerate.iter().any(|code| code == MISSING_IN_STEPS) {
            reasons.extend(health::missing(&structure));
        }
        let unknown = checks.iter().filter(|check| check.state == State::Inconclusive);
        reasons.extend(unknown.map(|check| format!("{}: {}", check.title(), check.message)));
        let is_failed = checks.iter().any(|check| check.state == State::Failed);
        let outcome = match (is_failed, reasons.is_empty(), rules.inconclusive) {
            (true, ..) => Outcome::Fail,
            (false, true, _) | (false, false, Inconclusive::Passes) => Outcome::Pass,
            (false, false, Inconclusive::Fails) => Outcome::Inconclusive,
        };
        for allow in rules.allow.iter().filter(|allow| allow.is_over(today)) {
            let until = allow.until.map(|until| until.to_string()).unwrap_or_default();
            notes.push(format!(
                "what was allowed for {} ended on {until}: {}",
                allow.rule, allow.reason
            ));
        }
        Gate {
            outcome,
            checks,
            reasons,
            notes,
            floors: time::floors(baseline, candidate),
            evidence: PerSide::new(baseline.footing().runs, candidate.footing().runs),
            runs: [baseline, candidate].map(|digest| digest.runs.len() as u64),
            steps: [baseline, candidate].map(Digest::steps),
            candidate: candidate.runs.first().map(|run| run.name.clone()).unwrap_or_default(),
        }
    }
}

/// What every check looks at.
struct Context<'a> {
    baseline: &'a Digest,
    candidate: &'a Digest,
    /// Both as they were recorded, captured calls and all.
    whole: [&'a Digest; 2],
    graphs: Graphs,
    rules: &'a Rules,
    today: Date,
}

/// The state of something that is broken.
fn broken(severity: Severity) -> State {
    match severity {
        Severity::Error => State::Failed,
        Severity::Warning => State::Warned,
        Severity::Off => State::Passed,
    }
}

impl Context<'_> {
    /// Why a finding may pass; and whether a permission is over.
    fn permission(
        &self,
        rule: &str,
        is_there: impl Fn(&crate::program::Query) -> bool,
    ) -> Permission {
        let permissions = self
            .rules
            .allow
            .iter()
            .filter(|allow| allow.rule == rule && allow.path.as_ref().is_none_or(&is_there));
        let mut found = Permission::None;
        for allow in permissions {
            if !allow.is_over(self.today) {
                return Permission::Given(allow.words());
            }
            found = Permission::Over(format!("{} (that day is over)", allow.words()));
        }
        found
    }
}

/// Whether a broken rule may pass.
enum Permission {
    None,
    Given(String),
    Over(String),
}

impl Permission {
    /// The state of a finding, with a remark.
    fn state(self, severity: Severity) -> (State, String) {
        match self {
            Permission::None => (broken(severity), String::new()),
            Permission::Given(words) => (State::Allowed, words),
            Permission::Over(words) => (broken(severity), words),
        }
    }
}
