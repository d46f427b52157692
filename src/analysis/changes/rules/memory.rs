//! Reports memory that grows from step to step on one side only, or faster on one side.

use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::{Position, either};
use crate::analysis::{Analysis, Leak, MemoryPlace};
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use std::collections::BTreeMap;

/// Maximum number of calls that a sentence names.
const NAMED: usize = 3;

/// Growths that differ by less than one part in this many count as equal, since batch sizes vary.
const SAME: i64 = 100;

/// Reports memory leaks on devices where a leak would be visible on both sides.
pub(in crate::analysis::changes) fn claim(drafts: &mut Drafts<'_>) {
    let analysis = drafts.analysis;
    let mut found: BTreeMap<MemoryPlace, PerSide<Option<Leak>>> = BTreeMap::new();
    for side in Side::BOTH {
        for leak in analysis.leaks(side) {
            let of_place = found.entry(leak.place).or_default();
            of_place[side] = Some(leak);
        }
    }
    let mut sentences = Vec::new();
    let mut nodes = Vec::new();
    for (place, leaks) in found {
        let Some((sentence, leak)) = growth(analysis, place, &leaks) else { continue };
        sentences.push(sentence);
        nodes.extend(leak.calls.iter().map(|&(node, _)| node));
    }
    let Some(&first) = nodes.first() else { return };
    let at = drafts.draft(ChangeKind::Leak, &sentences.join("; "));
    drafts.at(at).nodes = nodes;
    drafts.at(at).position = Position::above(analysis, first);
}

/// Describes how the memory growth of a device differs; also returns the leak of the side that grows faster.
fn growth<'l>(
    analysis: &Analysis,
    place: MemoryPlace,
    leaks: &'l PerSide<Option<Leak>>,
) -> Option<(String, &'l Leak)> {
    if !Side::BOTH.iter().all(|&side| analysis.shows_leaks(side, place)) {
        return None;
    }
    let rate = leaks.as_ref().map(|leak| leak.as_ref().map_or(0, |leak| leak.per_step));
    let most = rate.baseline.max(rate.candidate);
    if rate.baseline.abs_diff(rate.candidate) <= (most / SAME).unsigned_abs() {
        return None;
    }
    let grown = if rate.candidate > rate.baseline { Side::Candidate } else { Side::Baseline };
    let leak = leaks[grown].as_ref()?;
    let grows = match (grown, rate.baseline.min(rate.candidate)) {
        (Side::Candidate, 0) => format!("grows by {} per step", bytes(rate.candidate)),
        (Side::Baseline, 0) => format!("no longer grows by {} per step", bytes(rate.baseline)),
        (Side::Baseline | Side::Candidate, _) => {
            let (one, two) = (bytes(rate.baseline), bytes(rate.candidate));
            format!("grows by {two} instead of {one} per step")
        }
    };
    let call = |&(node, kept): &(MergedId, i64)| {
        let (side, call) = either(analysis, node);
        format!("{} in {}", bytes(kept), analysis.tree(side).name(call))
    };
    let calls: Vec<String> = leak.calls.iter().take(NAMED).map(call).collect();
    let more = if leak.calls.len() > NAMED { ", …" } else { "" };
    Some((format!("Live memory of {place} {grows}: {}{more}", calls.join(", ")), leak))
}

/// Formats a byte count such as `275.6 MB`.
fn bytes(count: i64) -> String {
    const UNITS: [(i64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = UNITS.into_iter().find(|(size, _)| count >= *size);
    unit.map_or(format!("{count} B"), |(size, unit)| {
        format!("{:.1} {unit}", count as f64 / size as f64)
    })
}
