//! Creates the cause for a part of the wall time: finds the reason and collects the evidence.

use super::by_step::ByStep;
use super::cause::{Cause, signed_ms};
use super::gpu::{BusyPart, Kernels, PartKind, is_host};
use super::host::IdlePart;
use super::places::Place;
use super::places::{module_class, plain_node_name, plain_owner_name};
use super::reason::Reason;
use super::scale::Scale;
use crate::analysis::account::Ledger;
use crate::analysis::efficiency::{WorkChange, clause, work_change};
use crate::analysis::fusion::{FusionRow, KernelChange};
use crate::analysis::kernel_facts::{KernelFacts, short_name};
use crate::analysis::wall::{IdleKind, Wall};
use crate::diff::{MergedId, TraceDiff};
use crate::order::Order as _;
use crate::program::counted;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn of_part(
    diff: &TraceDiff,
    ledger: &Ledger,
    wall: &Wall,
    part: &BusyPart<'_>,
    (scale, fusions): (Scale, &[FusionRow]),
) -> Cause {
    let reason = busy_reason(ledger, part, scale);
    let (baseline, candidate) = part.key.arguments.clone();
    Cause {
        reason,
        place: part.key.name.clone(),
        module: part.key.module.clone(),
        arguments: PerSide::new(baseline, candidate),
        node: part.node,
        nodes: in_order(part.nodes.clone()),
        rows: part.rows.clone(),
        time: part.time,
        count: part.count,
        idle_of_runs: PerSide::default(),
        difference: Nanos::ZERO,
        evidence: busy_evidence(diff, ledger, part, reason, (scale, fusions)),
        kernels: part.kernels.as_ref().map(|kernels| longest(kernels)),
        few: None,
        by_step: ByStep::of_rows(diff, ledger, wall, &part.rows),
    }
}

/// Deduplicates nodes and sorts them in merged-tree order.
pub(super) fn in_order(mut nodes: Vec<MergedId>) -> Vec<MergedId> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn busy_reason(ledger: &Ledger, part: &BusyPart<'_>, scale: Scale) -> Reason {
    let is_slower = scale.difference(part.time) > 0;
    let arguments = &part.key.arguments;
    if part.key.kind == PartKind::Region {
        return if part.region_side() == Side::Candidate {
            Reason::Compiled
        } else {
            Reason::Uncompiled
        };
    }
    let count = part.kernel_count();
    if count.baseline == 0 || count.candidate == 0 {
        return if count.baseline == 0 { Reason::New } else { Reason::Gone };
    }
    if arguments.0 != arguments.1 && !arguments.0.is_empty() && !arguments.1.is_empty() {
        return Reason::MoreWork;
    }
    if is_host(ledger) {
        return Reason::Host;
    }
    if part.key.kind == PartKind::Common
        && work_change(&part.efficiency, scale.steps).is_some_and(|work| work != WorkChange::Same)
    {
        return Reason::MoreWork;
    }
    if part.has_same_kernels(scale) {
        return if is_slower { Reason::KernelSlower } else { Reason::KernelFaster };
    }
    match scale.compare(count) {
        Ordering::Less => Reason::FewerKernels,
        Ordering::Greater => Reason::MoreKernels,
        Ordering::Equal => Reason::KernelSwapped,
    }
}

/// Describes a difference in busy time. All times are per step, like the cost that is printed next to the evidence.
/// Counts are also per step if they are divisible by the number of steps.
fn busy_evidence(
    diff: &TraceDiff,
    ledger: &Ledger,
    part: &BusyPart<'_>,
    reason: Reason,
    (scale, fusions): (Scale, &[FusionRow]),
) -> String {
    let time = part.kernel_time();
    let time = PerSide::from_fn(|side| scale.millis_per_step(side, time[side]));
    let noun = if is_host(ledger) { "op" } else { "kernel" };
    let counts = match part.key.kind {
        PartKind::Region => regions(part, noun, scale),
        PartKind::Common | PartKind::Below | PartKind::Unlinked => counts(part, noun, scale),
    };
    let times = format!("{counts}, {:.3} → {:.3} ms", time.baseline, time.candidate);
    let names =
        if matches!(reason, Reason::KernelSwapped | Reason::MoreKernels | Reason::FewerKernels) {
            swapped(part)
        } else if reason == Reason::MoreWork && part.key.arguments.0 != part.key.arguments.1 {
            format!("; {}", other_arguments(&part.key.arguments.0, &part.key.arguments.1))
        } else {
            String::new()
        };
    let ops = match part.key.kind {
        PartKind::Below => format!("; {}", instead(&part.ops, scale)),
        PartKind::Common | PartKind::Region | PartKind::Unlinked => String::new(),
    };
    let below = unresolved(diff, ledger, part, scale);
    times + &work(part, scale) + &fused(fusions, part) + &ops + &names + &below
}

/// Returns a caveat if the difference is at most one clock tick per event, and an empty string otherwise.
fn unresolved(diff: &TraceDiff, ledger: &Ledger, part: &BusyPart<'_>, scale: Scale) -> String {
    let (Some(tick), false) = (diff.coarse_tick(), is_host(ledger)) else {
        return String::new();
    };
    let ticks = part.kernel_count().map(|count| Nanos(count as i64 * tick.0));
    let most = Side::BOTH.map(|side| scale.millis_per_step(side, ticks[side]));
    let difference = scale.round(scale.difference(part.time)).abs().as_millis();
    if difference <= most[0].max(most[1]) {
        "; within the clock resolution of 1 µs per event".to_owned()
    } else {
        String::new()
    }
}

/// Describes how the shapes and types on the two sides differ. Each side is a string such as `[[8, 64]] ["float"]`. If
/// only the shapes differ, the result omits the types. If only the types differ, the result contains the shapes once,
/// and the types of both sides.
fn other_arguments(baseline: &str, candidate: &str) -> String {
    let parts = baseline.split_once(" [\"").zip(candidate.split_once(" [\""));
    let Some(((shapes, types), (new_shapes, new_types))) = parts else {
        return format!("{baseline} → {candidate}");
    };
    let [types, new_types] = [types, new_types]
        .map(|types| types.trim_end_matches("\"]").split("\", \"").collect::<Vec<&str>>());
    if types == new_types {
        return format!("{shapes} → {new_shapes}");
    }
    if shapes != new_shapes || types.len() != new_types.len() {
        return format!("{baseline} → {candidate}");
    }
    let pairs = types.iter().zip(&new_types).filter(|(old, new)| old != new);
    let pairs: BTreeSet<String> = pairs.map(|(old, new)| format!("{old} → {new}")).collect();
    format!("{shapes}: {}", pairs.into_iter().collect::<Vec<_>>().join(", "))
}

/// Kernel counts, such as `12 kernels` or `1 → 3 kernels in 6 steps`.
fn counts(part: &BusyPart<'_>, noun: &str, scale: Scale) -> String {
    let kernels = part.kernel_count();
    let (unit, behind) = scale.unit(&[kernels]);
    let [before, after] = Side::BOTH.map(|side| kernels[side] / unit[side]);
    let before = if before == after { String::new() } else { format!("{before} → ") };
    format!("{before}{}{behind}", counted(after, noun))
}

/// Region and kernel counts, such as `214 calls with 611 kernels → 1 region with 96 kernels`.
fn regions(part: &BusyPart<'_>, noun: &str, scale: Scale) -> String {
    let (kernels, calls) = (part.kernel_count(), part.facing);
    let (unit, behind) = scale.unit(&[kernels, calls]);
    let [before, after] = Side::BOTH.map(|side| {
        let called = if side == part.region_side() { "region" } else { "call" };
        let calls = counted(calls[side] / unit[side], called);
        format!("{calls} with {}", counted(kernels[side] / unit[side], noun))
    });
    format!("{before} → {after}{behind}")
}

/// Evidence that one side fused several ops: `; fused: aten::addmm, aten::gelu → aten::addmm`. Empty if there is no
/// fusion.
fn fused(fusions: &[FusionRow], part: &BusyPart<'_>) -> String {
    let is_here = |row: &&FusionRow| {
        Some(row.first) == part.node && matches!(row.change, KernelChange::FusedIn(..))
    };
    fusions.iter().find(is_here).map_or_else(String::new, |row| {
        let word = match row.change {
            KernelChange::FusedIn(Side::Baseline, _) => "fused in the baseline",
            KernelChange::FusedIn(Side::Candidate, _) | KernelChange::Count => "fused",
        };
        let [before, after] = Side::BOTH.map(|side| row.ops[side].join(", "));
        format!("; {word}: {before} → {after}")
    })
}

/// The achieved rates, if efficiency models cover all of the work: `; same work, 163 → 51 TFLOP/s, 5% of peak`.
fn work(part: &BusyPart<'_>, scale: Scale) -> String {
    let Some(rates) = clause(&part.efficiency) else { return String::new() };
    match work_change(&part.efficiency, scale.steps) {
        Some(WorkChange::Same) => format!("; same work, {rates}"),
        Some(WorkChange::More | WorkChange::Less | WorkChange::Other) | None => {
            format!("; {rates}")
        }
    }
}

/// Names the kernel on each side that takes the most time and does not run on the other side, with the properties that
/// its name reveals.
fn swapped(part: &BusyPart<'_>) -> String {
    let names = PerSide::from_fn(|side| {
        let other = &part.kernels[side.other()];
        let alone = part.kernels[side].iter().filter(|(name, _)| !other.contains_key(*name));
        alone.max_by_key(|(name, kernel)| (kernel.1, Reverse(**name))).map(|(name, _)| *name)
    });
    if names.baseline.is_none() && names.candidate.is_none() {
        return String::new();
    }
    let told = |name: Option<&str>| {
        let words = name.map(|name| KernelFacts::of(name, None).words());
        match (name.map(short_name), words) {
            (Some(name), Some(words)) if !words.is_empty() => format!("{name} ({words})"),
            (Some(name), Some(_) | None) => name,
            (None, Some(_) | None) => "nothing".to_owned(),
        }
    };
    format!("; {} → {}", told(names.baseline), told(names.candidate))
}

/// The calls that launched the unmatched work on each side: `2 × aten::mul, 1 × aten::add → nothing`.
fn instead(ops: &PerSide<BTreeMap<&str, u64>>, scale: Scale) -> String {
    let of = |side: Side, name: &str| ops[side].get(name).copied().unwrap_or_default();
    let names = ops.baseline.keys().chain(ops.candidate.keys());
    let counts: Vec<PerSide<u64>> =
        names.map(|name| PerSide::from_fn(|side| of(side, name))).collect();
    let (unit, behind) = scale.unit(&counts);
    let [before, after] = Side::BOTH.map(|side| most(&ops[side], unit[side]));
    format!("{before} → {after}{behind}")
}

/// Lists the three most frequent names, with their counts divided by `unit`.
fn most(names: &BTreeMap<&str, u64>, unit: u64) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let mut all: Vec<(&str, u64)> = names.iter().map(|(name, count)| (*name, *count)).collect();
    all.order_by_key(|&(name, count)| (Reverse(count), name));
    let more = all.len().saturating_sub(3);
    let line = |(name, count): &(&str, u64)| format!("{} × {name}", count / unit);
    let mut told: Vec<String> = all.iter().take(3).map(line).collect();
    told.extend((more > 0).then(|| format!("{more} more")));
    told.join(", ")
}

fn longest(kernels: &Kernels<'_>) -> Vec<String> {
    let mut all: Vec<(&str, Nanos)> =
        kernels.iter().map(|(name, kernel)| (*name, kernel.1)).collect();
    all.order_by_key(|&(name, time)| (Reverse(time), name));
    all.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Creates the cause for a part of the idle time, which belongs to all calls with the same call path.
pub(super) fn of_idle(
    diff: &TraceDiff,
    kind: IdleKind,
    (place, above): (Option<&Place>, Option<MergedId>),
    part: &IdlePart,
    nodes: Vec<MergedId>,
    scale: Scale,
) -> Cause {
    let node = place.map(|place| place.node);
    let name = match place {
        None => crate::tree::UNLINKED.to_owned(),
        Some(place) if place.is_common => plain_owner_name(diff, place.node),
        Some(place) => one_sided_name(diff, place, above, &part.instead),
    };
    Cause {
        reason: Reason::of_idle(kind),
        place: name,
        module: node.map_or_else(String::new, |node| module_class(diff, node)),
        arguments: PerSide::default(),
        node,
        nodes,
        rows: Vec::new(),
        time: part.time,
        count: part.count,
        idle_of_runs: part.runs.clone(),
        difference: Nanos::ZERO,
        evidence: idle_evidence(part, scale),
        kernels: PerSide::default(),
        few: None,
        by_step: part.by_step.clone(),
    }
}

/// Describes the idle time per step on both sides, and lists the calls with the largest differences in idle time.
fn idle_evidence(part: &IdlePart, scale: Scale) -> String {
    const TOLD: usize = 3;
    let millis = |side: Side| scale.millis_per_step(side, part.time[side]);
    let mut text = format!("{:.3} → {:.3} ms", millis(Side::Baseline), millis(Side::Candidate));
    if part.owners.len() > 1 {
        let owners =
            part.owners.iter().take(TOLD).map(|(name, difference)| {
                format!("{name} {}", signed_ms(scale.round(*difference)))
            });
        text += &format!(": {}", owners.collect::<Vec<_>>().join(", "));
        if part.owners.len() > TOLD {
            text += &format!(", {} more", part.owners.len() - TOLD);
        }
    }
    text
}

/// Name of unmatched calls below a common node, such as `a → b in c`. `a` and `b` are the
/// outermost unmatched calls with the most idle time on each side, and `c` is the common node.
fn one_sided_name(
    diff: &TraceDiff,
    place: &Place,
    above: Option<MergedId>,
    instead: &PerSide<Option<String>>,
) -> String {
    let name = match (&instead.baseline, &instead.candidate) {
        (Some(a), Some(b)) if a != b => format!("{a} → {b}"),
        (Some(name), _) | (None, Some(name)) => name.clone(),
        (None, None) => plain_node_name(diff, place.node),
    };
    above.map_or_else(|| name.clone(), |at| format!("{name} in {}", plain_node_name(diff, at)))
}

#[cfg(test)]
mod tests {
    use super::other_arguments;

    #[test]
    fn only_differing_arguments_are_reported() {
        let (small, large) = ("[[8, 64], []]", "[[16, 64], []]");
        let told = |one: (&str, &str), two: (&str, &str)| {
            let text =
                |(shapes, types): (&str, &str)| format!("{shapes} {types}").trim().to_owned();
            other_arguments(&text(one), &text(two))
        };
        let (single, half) = (r#"["float", "Scalar"]"#, r#"["c10::Half", "Scalar"]"#);
        assert_eq!(told((small, single), (large, single)), format!("{small} → {large}"));
        assert_eq!(told((small, single), (small, half)), format!("{small}: float → c10::Half"));
        let both = format!("{small} {single} → {large} {half}");
        assert_eq!(told((small, single), (large, half)), both);
        assert_eq!(told((small, ""), (large, "")), format!("{small} → {large}"));
        let more = r#"["float"]"#;
        assert_eq!(
            told((small, single), (small, more)),
            format!("{small} {single} → {small} {more}")
        );
    }
}
