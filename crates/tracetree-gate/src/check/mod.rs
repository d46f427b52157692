//! Checks two recordings against rules. The resulting [`Gate`] lists what changed, which rules each change violates,
//! and whether the sides are comparable at all.

mod context;
mod effects;
mod fail_on;
mod find;
mod health;
mod memory;
mod outcome;
mod shift;
mod sites;
mod some_steps;
mod structure;
mod time;
mod unexplained;
mod work;

use context::Context;
pub use fail_on::Checked;
pub(crate) use outcome::measured_by;
use outcome::worst;
pub use outcome::{Check, Finding, FindingSite, Floor, Gate, Outcome, State};

use super::recording::Recording;
use super::rules::{Date, Inconclusive, MISSING_IN_STEPS, Rules};
use tracetree::analysis::Analysis;
use tracetree::analysis::obstacles::other_scale;
use tracetree::diff::TraceDiff;
use tracetree::side::PerSide;

impl Gate {
    /// Checks the runs of a candidate against the runs of a baseline. The median runs of both sides are aligned as in
    /// `diff`.
    pub fn check(baseline: &Recording, candidate: &Recording, rules: &Rules, today: Date) -> Gate {
        let sides = PerSide::new(baseline, candidate);
        let context = Context { baseline, candidate, rules, today };
        let mut reasons = health::reasons(&context);
        let mut notes = health::notes(baseline, candidate);
        let remarks = [baseline, candidate].map(|side| side.remarks.iter().cloned());
        notes.extend(remarks.into_iter().flatten());
        let (mut findings, mut checks) = (Vec::new(), Vec::new());
        // If the sides cannot be compared, no rule is checked, because the results would be meaningless.
        if reasons.is_empty() {
            let diff = TraceDiff::new(baseline.tree.clone(), candidate.tree.clone());
            let analysis = Analysis::new(diff);
            notes.extend(health::shapes_note(&context));
            notes.extend(health::identity_note(&analysis));
            reasons.extend(health::refused(&context, health::other_program(&analysis)));
            if reasons.is_empty() {
                (findings, checks) = structure::checks(&context, &analysis);
                reasons.extend(health::unnamed(&analysis));
                match health::refused(&context, other_scale(analysis.diff(), analysis.ledger())) {
                    None => checks.extend(time::checks(&context, &mut findings)),
                    // Wrong times say nothing about the structure, and nothing in either direction.
                    Some(reason) => reasons.push(reason),
                }
                checks.extend(memory::checks(&context, &mut findings));
            }
        }
        if reasons.is_empty() && !rules.tolerate.iter().any(|code| code == MISSING_IN_STEPS) {
            reasons.extend(health::missing(&context));
        }
        let unknown = checks.iter().filter(|check| check.state == State::Inconclusive);
        reasons.extend(unknown.map(|check| format!("{}: {}", check.title(), check.message)));
        let is_failed = findings.iter().any(|finding| finding.state == State::Failed);
        let outcome = match (is_failed, reasons.is_empty(), rules.inconclusive) {
            (true, ..) => Outcome::Fail,
            (false, true, _) | (false, false, Inconclusive::Passes) => Outcome::Pass,
            (false, false, Inconclusive::Fails) => Outcome::Inconclusive,
        };
        for allow in rules.allow.iter().filter(|allow| allow.is_over(today)) {
            let until = allow.until.map(|until| until.to_string()).unwrap_or_default();
            notes.push(format!(
                "the `allow` entry for {} expired after {until} ({}), so the findings that it \
                 covers count again. Renew or remove the entry",
                allow.rule, allow.reason
            ));
        }
        Gate {
            outcome,
            findings,
            checks,
            reasons,
            notes,
            floors: time::floors(baseline, candidate),
            evidence: sides.map(|side| side.facts.runs.clone()),
            runs: sides.map(|side| side.runs.len() as u64),
            steps: sides.map(Recording::steps),
            rules: rules.file.clone(),
            candidate: candidate.median_run().map(|run| run.name.clone()).unwrap_or_default(),
        }
    }
}
