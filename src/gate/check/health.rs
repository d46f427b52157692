//! Two digests → why they cannot be held against each other, and what a reader should know of them.

use crate::gate::compare::{REGION, Structure};
use crate::gate::digest::{Captured, Digest, NodeKind, ONE_PROGRAM, likeness};
use crate::gate::rules::Rules;
use crate::program::{Obstacle, counted};
use crate::side::PerSide;

/// How many names a note lists.
const EXAMPLES: usize = 4;

/// Why the sides cannot be compared; none where they can, or where the rules tolerate it.
pub(super) fn reasons(baseline: &Digest, candidate: &Digest, rules: &Rules) -> Vec<String> {
    let footings = PerSide::new(baseline.footing(), candidate.footing());
    let mut obstacles = Obstacle::between(footings.as_ref(), rules.lost_launches);
    let is_tolerated =
        |obstacle: &Obstacle| rules.tolerate.iter().any(|code| code == obstacle.code());
    obstacles.retain(|obstacle| !is_tolerated(obstacle));
    let alike = likeness(&baseline.ops(), &candidate.ops());
    // Damaged recordings of one program look like two.
    let explains = |obstacle: &Obstacle| !matches!(obstacle, Obstacle::LaunchesMissing(_));
    if alike < ONE_PROGRAM && !obstacles.iter().any(explains) {
        let how = format!(
            "another program: {:.0} % of the ops of a step are the same on both sides{}",
            100.0 * alike,
            hidden_ops(baseline, candidate).map_or_else(String::new, |why| format!("; {why}"))
        );
        let other = Obstacle::OtherProgram(how);
        if !is_tolerated(&other) {
            obstacles.insert(0, other);
        }
    }
    obstacles.iter().map(Obstacle::to_string).collect()
}

/// Why ops of one side may be missing though the program is the same: they were compiled, or captured into
/// a graph. What to do then.
fn hidden_ops(baseline: &Digest, candidate: &Digest) -> Option<String> {
    let regions = |digest: &Digest| -> u64 {
        let is_region = |name: &str| name.starts_with(REGION);
        digest
            .nodes()
            .filter(|(_, node)| node.kind == NodeKind::Op && is_region(&node.name))
            .map(|(_, node)| node.calls.usual)
            .sum()
    };
    let graphs = |digest: &Digest| match digest.setup.captured {
        Captured::No => digest.counts.get("graph_kernels").map_or(0, |kernels| kernels.usual),
        Captured::Partly | Captured::Wholly => 0,
    };
    let (compiled, bare) = ([baseline, candidate].map(regions), [baseline, candidate].map(graphs));
    match (compiled, bare) {
        ([one, two], _) if (one == 0) != (two == 0) => Some(format!(
            "compiled regions in a step: {one} | {two}: record a baseline of the compiled program, or \
             compare with `tracetree diff`"
        )),
        (_, [one, two]) if (one == 0) != (two == 0) => Some(format!(
            "kernels of graphs in a step whose ops are not known: {one} | {two}: give what was recorded \
             while the graphs were captured (--new-capture, --base-capture, `baseline record --capture`)"
        )),
        (_, _) => None,
    }
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

/// Why the counts of a side cannot be trusted: some of its steps lack what every step of the other has.
pub(super) fn missing(structure: &Structure) -> Option<String> {
    let missing = &structure.missing;
    (!missing.is_empty()).then(|| {
        format!(
            "some steps lack calls that every step of the other side has, at {}: {}; events may not have \
             been recorded. Record again",
            counted(missing.len() as u64, "call site"),
            listed(missing)
        )
    })
}

/// The first few, and how many more there are.
fn listed(places: &[String]) -> String {
    let names: Vec<&str> = places.iter().take(EXAMPLES).map(String::as_str).collect();
    match places.len().saturating_sub(EXAMPLES) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
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
        notes.push(format!(
            "the counts at {} vary between steps, which is not a finding: {}",
            counted(structure.variable.len() as u64, "call site"),
            listed(&structure.variable)
        ));
    }
    let of_kernels = structure.follow.iter().filter(|change| change.rule.is_of_kernels()).count();
    let of_parameters = structure.follow.len() - of_kernels;
    for (count, what) in [
        (of_parameters, "of gradients and the optimizer follow from others"),
        (of_kernels, "of kernels follow from other shapes or types of their op's arguments"),
    ] {
        if count > 0 {
            notes.push(format!("{count} {} {what}", if count == 1 { "change" } else { "changes" }));
        }
    }
    notes
}
