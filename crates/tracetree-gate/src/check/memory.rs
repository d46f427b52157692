//! Checks memory rules. Allocations do not vary from run to run, so memory rules need no significance test.

use super::context::Context;
use super::{Check, Finding};
use crate::recording::Recording;
use crate::rules::{Limit, MemoryMeasure, MemoryRule, Severity};
use tracetree::analysis::memory::bytes;

/// Checks each memory rule that is not switched off, and adds a finding for each violated rule.
pub(super) fn checks(context: &Context<'_>, findings: &mut Vec<Finding>) -> Vec<Check> {
    let rules = context.rules.memory.iter().filter(|rule| rule.severity != Severity::Off);
    let checked = rules.map(|rule| {
        let (mut check, finding) = check(context, rule);
        if let Some(finding) = finding {
            check.add(finding.state, findings.len());
            findings.push(finding);
        }
        check
    });
    checked.collect()
}

fn check(context: &Context<'_>, rule: &MemoryRule) -> (Check, Option<Finding>) {
    let mut check = Check::new(rule.measure.label(), String::new(), rule.severity);
    let sides = [context.baseline, context.candidate];
    let [Some(before), Some(after)] = sides.map(|side| rule.measure.of(side)) else {
        let message = "at least one side has no memory events. Record both using profile_memory";
        return (check.undecided(message), None);
    };
    let is_one_device = sides[0].facts.vendor == sides[1].facts.vendor
        && sides[0].facts.devices == sides[1].facts.devices;
    if rule.measure == MemoryMeasure::PeakMemory && !is_one_device {
        let message = "the sides ran on different devices, whose allocators round sizes differently. \
                       Record both sides on the same kind of device";
        return (check.undecided(message), None);
    }
    let show = |value: u64| rule.measure.show(value);
    check.message = format!("{} → {}", show(before), show(after));
    let limit = rule.limit.above(before as f64);
    let more = after.saturating_sub(before);
    if more as f64 <= limit {
        return (check, None);
    }
    let (state, remark) = context.state(&[rule.measure.label()], rule.severity, |_| true);
    let finding = Finding {
        kind: String::new(),
        rules: vec![check.rule.clone()],
        what: format!("{} increased by {}", rule.measure.label(), show(more)),
        before: show(before),
        after: show(after),
        limit: match rule.limit {
            Limit::Percent(_) => format!("{} more", rule.limit),
            Limit::Bytes(_) | Limit::Count(_) | Limit::Micros(_) => {
                format!("{} more", show(limit as u64))
            }
        },
        evidence: vec![check.message.clone()],
        sites: Vec::new(),
        state,
        remark,
    };
    (check, Some(finding))
}

impl MemoryMeasure {
    fn of(self, side: &Recording) -> Option<u64> {
        let range = side.memory.get(self.label())?;
        Some(match self {
            MemoryMeasure::PeakMemory => range.most,
            MemoryMeasure::AllocationsPerStep => range.usual,
        })
    }

    fn show(self, value: u64) -> String {
        match self {
            MemoryMeasure::PeakMemory => bytes(i64::try_from(value).unwrap_or(i64::MAX)),
            MemoryMeasure::AllocationsPerStep => value.to_string(),
        }
    }
}
