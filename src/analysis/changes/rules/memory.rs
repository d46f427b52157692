//! Reports leaks: live memory that grows from step to step on only one side, or faster on one side than on the other.
//! Changes that result from this growth are folded into the leak.

use super::peaks;
use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::{Position, either};
use crate::analysis::changes::subject::Subject;
use crate::analysis::memory::{Leak, MemoryPlace, bytes, leaks_of, shows_leaks};
use crate::diff::{MergedId, TraceDiff};
use crate::side::{PerSide, Side};
use std::collections::BTreeMap;

/// Maximum number of calls that a sentence names.
const NAMED: usize = 3;

/// Growth is not reported if it is below 1/`NOISE` of that on another device.
const NOISE: i64 = 1_000;
/// Growth rates count as equal if they differ by at most 1/`SAME` of the larger rate, because batch sizes vary.
const SAME: i64 = 100;

/// Reports leaks, and differences in peak memory, temporary blocks and reserved memory.
pub(in crate::analysis::changes) fn claim(drafts: &mut Drafts<'_>) {
    let leak = leaks(drafts);
    peaks::claim(drafts, leak);
    if let Some((leak, grown)) = leak {
        // A leak makes the allocator request more memory from the driver, so such changes are folded into the leak.
        for at in drafts.find(ChangeKind::Allocator) {
            let draft = drafts.at(at);
            if draft.subject != Subject::Whole || !draft.names[grown].is_empty() {
                drafts.fold(at, leak);
            }
        }
    }
}

/// Reports leaks on all devices for which both recordings allow leaks to be detected. Returns the change, and the side
/// on which memory grows faster.
fn leaks(drafts: &mut Drafts<'_>) -> Option<(usize, Side)> {
    let diff = drafts.diff;
    let mut found: BTreeMap<MemoryPlace, PerSide<Option<Leak>>> = BTreeMap::new();
    for side in Side::BOTH {
        for leak in leaks_of(diff, side) {
            let of_place = found.entry(leak.place).or_default();
            of_place[side] = Some(leak);
        }
    }
    let most = |leaks: &PerSide<Option<Leak>>| {
        Side::BOTH
            .into_iter()
            .filter_map(|side| leaks[side].as_ref())
            .map(|leak| leak.per_step)
            .max()
    };
    let least = found.values().filter_map(most).max().unwrap_or_default() / NOISE;
    let mut growths = Vec::new();
    let mut nodes = Vec::new();
    let mut side = Side::Candidate;
    for (place, leaks) in found.into_iter().filter(|(_, leaks)| most(leaks) >= Some(least)) {
        let Some((growth, grown)) = growth(diff, place, &leaks) else { continue };
        let Some(leak) = leaks[grown].as_ref() else { continue };
        side = if growths.is_empty() { grown } else { side };
        growths.push(growth);
        nodes.extend(leak.calls.iter().map(|&(node, _)| node));
    }
    let &first = nodes.first()?;
    let sentences: Vec<String> =
        growths.iter().map(|(grows, calls)| format!("Live memory {grows}: {calls}")).collect();
    let (grows, _) = growths.swap_remove(0);
    let sentence = sentences.join("; ");
    let at = drafts.draft(ChangeKind::Leak, Subject::Leak { sentence, grows });
    drafts.at(at).nodes = nodes;
    drafts.at(at).position = Position::above(diff, first);
    Some((at, side))
}

/// Describes how the memory growth on a device differs between the sides, and which calls allocate this memory. Also
/// returns the side on which memory grows faster.
fn growth(
    diff: &TraceDiff,
    place: MemoryPlace,
    leaks: &PerSide<Option<Leak>>,
) -> Option<((String, String), Side)> {
    if !Side::BOTH.iter().all(|&side| shows_leaks(diff, side, place)) {
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
        let (side, call) = either(diff, node);
        format!("{} in {}", bytes(kept), diff.tree(side).name(call))
    };
    let calls: Vec<String> = leak.calls.iter().take(NAMED).map(call).collect();
    let more = if leak.calls.len() > NAMED { ", …" } else { "" };
    Some(((format!("on {place} {grows}"), format!("{}{more}", calls.join(", "))), grown))
}
