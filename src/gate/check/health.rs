//! Two digests → why they cannot be held against each other, and what a reader should know of them.

use crate::gate::compare::Structure;
use crate::gate::digest::{Digest, ONE_PROGRAM, likeness};
use crate::gate::rules::Rules;

/// How many names a note lists.
const EXAMPLES: usize = 4;

/// Why nothing can be said; none where the sides can be compared.
pub(super) fn reasons(baseline: &Digest, candidate: &Digest, rules: &Rules) -> Vec<String> {
    let mut reasons = Vec::new();
    for (digest, side) in [(baseline, "baseline"), (candidate, "candidate")] {
        let cut = digest.runs.iter().filter(|run| run.is_truncated).count();
        if cut > 0 {
            reasons.push(format!(
                "a trace of the {side} is cut off: what is missing takes no time ({cut} of {} runs)",
                digest.runs.len()
            ));
        }
        if digest.is_empty() {
            reasons.push(format!("the {side} has no call in its steps"));
        }
    }
    let (one, two) = (&baseline.setup, &candidate.setup);
    match (one.has_gpu, two.has_gpu) {
        (true, false) => reasons.push("the candidate has no GPU events; the baseline has".into()),
        (false, true) => reasons.push("the baseline has no GPU events; the candidate has".into()),
        (true, true) | (false, false) => {}
    }
    if one.vendor != two.vendor && one.has_gpu && two.has_gpu {
        reasons.push(format!("another device: {} | {}", one.vendor, two.vendor));
    } else if !one.devices.is_empty() && !two.devices.is_empty() && one.devices != two.devices {
        reasons.push(format!(
            "another device: {} | {}",
            one.devices.join(", "),
            two.devices.join(", ")
        ));
    }
    if one.world_size != two.world_size {
        reasons.push(format!("another number of ranks: {} | {}", one.world_size, two.world_size));
    }
    let alike = likeness(&baseline.ops(), &candidate.ops());
    if alike < ONE_PROGRAM && reasons.is_empty() {
        reasons.push(format!(
            "another program: {:.0} % of the ops of a step are the same on both sides",
            100.0 * alike
        ));
    }
    reasons.extend(lost_launches(baseline, candidate, rules));
    reasons
}

fn lost_launches(baseline: &Digest, candidate: &Digest, rules: &Rules) -> Option<String> {
    let least = |digest: &Digest| {
        digest.runs.iter().map(|run| run.launched_share).fold(f64::INFINITY, f64::min)
    };
    let (before, after) = (least(baseline), least(candidate));
    (before - after > rules.lost_launches).then(|| {
        format!(
            "launches are missing: of {:.0} % of the GPU time the launch is in the trace, of {:.0} % in \
             the baseline",
            100.0 * after,
            100.0 * before
        )
    })
}

/// What a reader should know of the two sides.
pub(super) fn notes(baseline: &Digest, candidate: &Digest) -> Vec<String> {
    let mut notes = Vec::new();
    let (one, two) = (&baseline.setup, &candidate.setup);
    let version = |(name, before): &(String, String)| {
        let after = two.versions.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        after.filter(|after| *after != before).map(|after| format!("{name} {before} | {after}"))
    };
    let versions: Vec<String> = one.versions.iter().filter_map(version).collect();
    if !versions.is_empty() {
        notes.push(format!("other versions: {}", versions.join(", ")));
    }
    let steps = |digest: &Digest| digest.steps() as f64 / digest.runs.len().max(1) as f64;
    if (steps(baseline) - steps(candidate)).abs() > 1e-9 {
        notes.push(format!(
            "{} | {} steps a run: all figures are of one step",
            steps(baseline),
            steps(candidate)
        ));
    }
    for (digest, side) in [(baseline, "baseline"), (candidate, "candidate")] {
        let counts = digest.runs.iter().map(|run| run.steps);
        if counts.clone().min() != counts.max() {
            notes.push(format!("runs of the {side} have unlike numbers of steps"));
        }
    }
    notes
}

/// What the comparison could not look at.
pub(super) fn structure_notes(structure: &Structure) -> Vec<String> {
    let mut notes = Vec::new();
    if structure.is_flat {
        notes.push("one side has no modules: places are looked at without them".to_owned());
    }
    if !structure.has_shapes {
        notes.push(
            "a side has no shapes: dtype_change and shape_change are not looked at".to_owned(),
        );
    }
    if !structure.variable.is_empty() {
        let names: Vec<&str> =
            structure.variable.iter().take(EXAMPLES).map(String::as_str).collect();
        let more = match structure.variable.len().saturating_sub(EXAMPLES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        notes.push(format!(
            "counts of {} places vary among the steps, which is no finding: {}{more}",
            structure.variable.len(),
            names.join(", ")
        ));
    }
    if !structure.follow.is_empty() {
        notes.push(format!(
            "{} changes of gradients and the optimizer follow from others",
            structure.follow.len()
        ));
    }
    notes
}
