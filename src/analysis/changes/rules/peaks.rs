//! Reports differences in peak memory and in temporary blocks. If the peaks of a device are equal, also reports a
//! difference in reserved memory.
//!
//! Memory is counted in blocks, whose sizes depend on the device, so the byte counts are compared only if both devices
//! are of the same kind.

use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::{Position, either};
use crate::analysis::changes::subject::Subject;
use crate::analysis::memory::{
    DeviceUsage, LiveSet, MemoryPlace, bytes, live_set_at_peak, memory_timeline,
};
use crate::analysis::steps::StepPairs;
use crate::diff::{MergedId, TraceDiff};
use crate::order::Order as _;
use crate::program::counted;
use crate::side::{PerSide, Side};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of ops that a sentence names.
const NAMED: usize = 3;
/// Amounts of memory count as equal if they differ by at most 1/`SAME` of the larger amount, because allocators round
/// up.
const SAME: u64 = 100;
/// Amounts of memory count as equal if they differ by at most this many bytes, because allocators request memory from a
/// device in segments of this size.
const LEAST: u64 = 2 << 20;
/// Amounts of reserved memory count as equal if they differ by at most this many bytes. The allocator reserves memory
/// in segments, so the memory that is reserved for the same peak may vary by one segment.
const SEGMENT: u64 = 20 << 20;

/// Whether two amounts of memory differ by more than `least` bytes and by more than 1/`SAME` of the larger amount.
fn differs(amounts: PerSide<i64>, least: u64) -> bool {
    let most = amounts.baseline.unsigned_abs().max(amounts.candidate.unsigned_abs());
    amounts.baseline.abs_diff(amounts.candidate) > least.max(most / SAME)
}

/// Reports differences in peak memory, temporary blocks and reserved memory for each device. If the side with the leak
/// has the higher peak, the difference between the peaks is treated as a consequence of the leak.
pub(super) fn claim(drafts: &mut Drafts<'_>, leak: Option<(usize, Side)>) {
    let places: Vec<MemoryPlace> =
        drafts.diff.memory(Side::Baseline).devices().map(|(place, _)| place).collect();
    let of_steps = peaks_of_steps(drafts.diff, drafts.compared);
    for place in places {
        let Some(usages) = comparable(drafts.diff, place) else { continue };
        let peaks = PerSide::from_fn(|side| {
            let of_steps = of_steps.get(&place).and_then(|peaks| peaks[side]);
            of_steps.unwrap_or_else(|| usages[side].peak())
        });
        if differs(peaks, LEAST) {
            let (at, larger) = peak(drafts, place, usages, peaks);
            if let Some((leak, _)) = leak.filter(|(_, side)| *side == larger) {
                drafts.fold(at, leak);
            }
        } else {
            reserved(drafts, place, usages);
        }
        workspaces(drafts, place, usages);
    }
}

/// Memory usage of a device on both sides; `None` if the byte counts are not comparable.
fn comparable(diff: &TraceDiff, place: MemoryPlace) -> Option<PerSide<&DeviceUsage>> {
    let usage = |side| diff.memory(side).device(place);
    let usages = PerSide::new(usage(Side::Baseline)?, usage(Side::Candidate)?);
    let PerSide { baseline: one, candidate: two } = usages;
    let is_followed = one.has_addresses() && two.has_addresses();
    (is_followed && one.kind() == two.kind() && one.is_absolute() == two.is_absolute())
        .then_some(usages)
}

/// The peak memory of each device in the matched steps; `None` if no steps are matched.
fn peaks_of_steps(
    diff: &TraceDiff,
    compared: &StepPairs,
) -> BTreeMap<MemoryPlace, PerSide<Option<i64>>> {
    let is_matched = |step: &PerSide<_>| {
        let PerSide { baseline, candidate } = step;
        Option::is_some(baseline) && Option::is_some(candidate)
    };
    let rows = memory_timeline(diff, compared).into_iter();
    let mut peaks: BTreeMap<MemoryPlace, PerSide<Option<i64>>> = BTreeMap::new();
    for row in rows.filter(|row| row.step.as_ref().is_some_and(is_matched)) {
        let of_place = peaks.entry(row.place).or_default();
        for side in Side::BOTH {
            of_place[side] = of_place[side].max(row.spans[side].as_ref().map(|span| span.peak));
        }
    }
    peaks
}

fn peak(
    drafts: &mut Drafts<'_>,
    place: MemoryPlace,
    usages: PerSide<&DeviceUsage>,
    peaks: PerSide<i64>,
) -> (usize, Side) {
    let diff = drafts.diff;
    let larger = if peaks.candidate > peaks.baseline { Side::Candidate } else { Side::Baseline };
    let mut sentence = format!(
        "Peak memory on {place} is {} instead of {}",
        bytes(peaks.candidate),
        bytes(peaks.baseline)
    );
    if !usages.baseline.is_absolute() {
        sentence += ", excluding memory that was live before the recording";
    }
    // The live set contains the blocks that are live at the peak of the whole recording, so it explains the compared
    // peak only if the two peaks are equal.
    let is_whole = usages[larger].peak() == peaks[larger];
    let set = is_whole.then(|| live_set_at_peak(diff, place, larger)).flatten();
    let (parts, nodes) = set.map_or_else(Default::default, |set| grown(&set, larger));
    if !parts.is_empty() {
        sentence += &format!(": {}", parts.join(", "));
    }
    let at = drafts.draft(ChangeKind::Memory, Subject::Sentence(sentence));
    if let Some(&first) = nodes.first() {
        drafts.at(at).position = Position::above(diff, first);
    }
    drafts.at(at).nodes = nodes;
    (at, larger)
}

/// Describes the sources that have more live bytes at the peak of `larger`, the side with the larger peak, than at the
/// peak of the other side. Also returns their ops.
fn grown(set: &LiveSet, larger: Side) -> (Vec<String>, Vec<MergedId>) {
    let more = |bytes: PerSide<Option<i64>>| {
        let [own, other] = [bytes[larger], bytes[larger.other()]].map(Option::unwrap_or_default);
        own.saturating_sub(other)
    };
    let mut by_name: BTreeMap<&str, i64> = BTreeMap::new();
    for row in &set.rows {
        let sum = by_name.entry(row.source.name()).or_default();
        *sum = sum.saturating_add(more(row.bytes));
    }
    let total = more(set.bytes).unsigned_abs();
    let mut all: Vec<(&str, i64)> = by_name.into_iter().collect();
    all.order_by_key(|&(name, bytes)| (Reverse(bytes), name));
    all.retain(|(_, bytes)| *bytes > 0 && bytes.unsigned_abs() >= total / SAME);
    all.truncate(NAMED);
    let sign = if larger == Side::Candidate { "+" } else { "−" };
    let words = |&(name, count): &(&str, i64)| {
        let is_op = !name.starts_with('(');
        let at = if is_op { format!("in {name}") } else { name.replace(['(', ')'], "") };
        format!("{sign}{} {at}", bytes(count))
    };
    let is_named = |name: &str| all.iter().any(|(named, _)| *named == name);
    let mut rows: Vec<_> = set.rows.iter().filter(|row| is_named(row.source.name())).collect();
    rows.order_by_key(|row| Reverse(more(row.bytes)));
    let grown = rows.into_iter().filter(|row| more(row.bytes) > 0);
    (all.iter().map(words).collect(), grown.filter_map(|row| row.node).collect())
}

/// Reports that the sides reserve different amounts of memory for the same peak. Possible reasons are
/// fragmentation and an emptied cache.
fn reserved(drafts: &mut Drafts<'_>, place: MemoryPlace, usages: PerSide<&DeviceUsage>) {
    let PerSide { baseline: Some(one), candidate: Some(two) } =
        usages.map(DeviceUsage::most_reserved)
    else {
        return;
    };
    if !differs(PerSide::new(one, two), SEGMENT) {
        return;
    }
    let sentence = format!(
        "The allocator reserves {} instead of {} on {place} for the same peak of {}",
        bytes(two),
        bytes(one),
        bytes(usages.candidate.peak())
    );
    drafts.draft(ChangeKind::Allocator, Subject::Sentence(sentence));
}

/// The temporary blocks that are allocated by the matched ops of one name.
#[derive(Default)]
struct Workspace {
    bytes: PerSide<i64>,
    count: PerSide<u64>,
    nodes: Vec<MergedId>,
}

/// Reports matched ops that allocate temporary blocks of different sizes, or allocate them on only one side. Ops whose
/// arguments or kernels also differ are skipped.
fn workspaces(drafts: &mut Drafts<'_>, place: MemoryPlace, usages: PerSide<&DeviceUsage>) {
    let steps = PerSide::from_fn(|side| drafts.wall.totals(side).steps.max(1));
    let merged = drafts.diff.merged();
    let mut of_nodes: FxHashMap<MergedId, PerSide<(i64, u64)>> = FxHashMap::default();
    let mut allocated = PerSide::new(0i64, 0i64);
    for side in Side::BOTH {
        for block in usages[side].blocks() {
            let Some(call) =
                block.call.filter(|&call| drafts.compared.is_compared(drafts.diff, side, call))
            else {
                continue;
            };
            allocated[side] = allocated[side].saturating_add(block.bytes);
            // Blocks of an op without a counterpart are skipped: they belong to the change that added or removed the
            // op.
            let op = drafts.diff.op_of(side, call).filter(|_| block.is_temporary);
            let op = op.filter(|&op| drafts.diff.relation(side, op).is_common());
            if let Some(node) = op.map(|op| merged.of(side, op)) {
                let of_side = &mut of_nodes.entry(node).or_default()[side];
                *of_side = (of_side.0.saturating_add(block.bytes), of_side.1 + 1);
            }
        }
    }
    let mut nodes: Vec<_> = of_nodes.into_iter().collect();
    nodes.sort_unstable_by_key(|(node, _)| *node);
    let mut by_name: BTreeMap<String, Workspace> = BTreeMap::new();
    for (node, sides) in nodes {
        let is_matched = Side::BOTH.iter().all(|&side| merged.node(node).call(side).is_some());
        let is_consequence = drafts.of_site(node).is_some()
            || drafts.of_calls(node).is_some()
            || drafts.covering(node).is_some();
        if !is_matched || is_consequence || sides.baseline == sides.candidate {
            continue;
        }
        let (side, call) = either(drafts.diff, node);
        let known = by_name.entry(drafts.diff.tree(side).name(call).to_owned()).or_default();
        for side in Side::BOTH {
            known.bytes[side] = known.bytes[side].saturating_add(sides[side].0);
            known.count[side] += sides[side].1;
        }
        known.nodes.push(node);
    }
    for (name, workspace) in by_name {
        let per_step = |amounts: PerSide<i64>| {
            PerSide::from_fn(|side| amounts[side] / steps[side].cast_signed())
        };
        let (amounts, all) = (per_step(workspace.bytes), per_step(allocated));
        let least = all.baseline.max(all.candidate).unsigned_abs() / SAME;
        if !differs(amounts, least.max(LEAST)) {
            continue;
        }
        let words = |side: Side| match workspace.count[side] / steps[side] {
            0 => "no temporary blocks".to_owned(),
            count => {
                format!("{} in {}", bytes(amounts[side]), counted(count, "temporary block"))
            }
        };
        let sentence = format!(
            "{name} allocates {} instead of {} per step on {place} for the same tensors",
            words(Side::Candidate),
            words(Side::Baseline)
        );
        let at = drafts.draft(ChangeKind::Workspace, Subject::Sentence(sentence));
        drafts.at(at).position = Position::above(drafts.diff, workspace.nodes[0]);
        drafts.at(at).nodes = workspace.nodes;
    }
}
