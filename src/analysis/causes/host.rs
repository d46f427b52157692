//! Attributes idle time to the outermost call that is responsible for it: for example, to the data loader rather than
//! to `div`, `cat` and `copy_` inside the data loader.
//!
//! A place is a group of all calls with the same call path. Each place has its own idle time, and a sum that also
//! includes the idle time of all places below it. To decide which place is the cause, the search descends from the root
//! and compares the sum of each place with the sums of the places below it:
//!
//! ```text
//! the sum is less than 4/5 of the differences below, which cancel out   descend into each part
//! one call below has 4/5 of the sum; for a plain frame, up to three do  descend into each part
//! otherwise: the call itself or many calls below it contribute          the cause is this call
//! ```

use super::by_step::ByStep;
use super::places::{OwnerIds, PlaceId, Places};
use super::scale::Scale;
use crate::analysis::grouped::Grouped;
use crate::analysis::runs::Run;
use crate::analysis::wall::{IdleKind, IdleRow, Part};
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallKind;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct IdlePart {
    pub(super) place: Option<PlaceId>,
    pub(super) time: PerSide<Nanos>,
    pub(super) count: PerSide<u64>,
    /// Idle time of the part in each additional run, for each side.
    pub(super) runs: PerSide<Vec<Nanos>>,
    /// Whether the part includes the idle time of all places below `place`.
    is_whole: bool,
    /// The innermost calls to which the idle time is attributed, each with its difference in idle time, sorted by
    /// descending absolute difference.
    pub(super) owners: Vec<(String, i128)>,
    /// If the calls are unmatched: for each side, the outermost unmatched call with the most idle time.
    pub(super) instead: PerSide<Option<String>>,
    pub(super) by_step: ByStep,
}

impl IdlePart {
    fn at(place: Option<PlaceId>, time: PerSide<Nanos>, count: PerSide<u64>) -> IdlePart {
        IdlePart {
            place,
            time,
            count,
            runs: PerSide::default(),
            is_whole: false,
            owners: Vec::new(),
            instead: PerSide::default(),
            by_step: ByStep::default(),
        }
    }
}

/// The idle time of a place: its own idle time, and the sum that also includes all places below it.
#[derive(Debug, Clone, Default)]
struct Amount {
    own: PerSide<Nanos>,
    own_count: PerSide<u64>,
    time: PerSide<Nanos>,
    count: PerSide<u64>,
    /// Sum of the absolute values of the differences in own idle time, over this place and all places below it.
    gross: i128,
    children: Vec<PlaceId>,
}

/// Divides the idle time of one kind into parts whose times add up exactly to this idle time.
pub(super) fn roll_up(
    idle: &[IdleRow],
    kind: IdleKind,
    places: &mut Places<'_>,
    scale: Scale,
) -> Vec<IdlePart> {
    let rows = || idle.iter().filter(|row| row.kind == kind && row.part == Part::Window);
    let mut nobody = IdlePart::at(None, PerSide::default(), PerSide::default());
    let mut owned = Vec::new();
    for row in rows() {
        match row.owner {
            Some(owner) => owned.push((places.of(owner), row)),
            None => add(&mut nobody.time, &mut nobody.count, row.time, row.count),
        }
    }
    let amounts = amounts(&owned, places, scale);
    let mut parts = divide(&amounts, places, scale);
    name_owners(&mut parts, &owned, places, scale);
    parts.push(nobody);
    parts
}

/// Adds the idle time of the additional runs on each side to the parts. In an additional run, the GPU may be idle at a
/// place where it is never idle in the median runs. Such idle time is added to the part of the nearest enclosing place,
/// but only if this part includes the idle time of all places below it.
pub(super) fn add_runs(
    parts: &mut [(IdleKind, IdlePart)],
    diff: &TraceDiff,
    runs: &PerSide<Vec<Run>>,
    places: &mut Places<'_>,
) {
    if Side::BOTH.iter().all(|&side| runs[side].is_empty()) {
        return;
    }
    let part_of: BTreeMap<(IdleKind, Option<PlaceId>), usize> =
        parts.iter().enumerate().map(|(at, (kind, part))| ((*kind, part.place), at)).collect();
    for side in Side::BOTH {
        let runs = &runs[side];
        parts.iter_mut().for_each(|(_, part)| part.runs[side] = vec![Nanos::ZERO; runs.len()]);
        for (number, run) in runs.iter().enumerate() {
            for (kind, call, time) in run.idle() {
                let own = call.map(|call| places.of(diff.merged().of(side, call)));
                let around = std::iter::successors(own, |at| places.all()[at.index()].above);
                let mut around = around.map(Some).chain(own.is_none().then_some(None));
                let found = around.find_map(|at| Some((at, *part_of.get(&(kind, at))?)));
                if let Some((at, part)) = found
                    && (at == own || parts[part].1.is_whole)
                {
                    parts[part].1.runs[side][number] += time;
                }
            }
        }
    }
}

fn add(
    time: &mut PerSide<Nanos>,
    count: &mut PerSide<u64>,
    more: PerSide<Nanos>,
    times: PerSide<u64>,
) {
    for side in Side::BOTH {
        time[side] += more[side];
        count[side] += times[side];
    }
}

/// Computes the idle time of each place: its own idle time, and the sum that also includes all places below it.
fn amounts(owned: &[(PlaceId, &IdleRow)], places: &Places<'_>, scale: Scale) -> Vec<Amount> {
    let mut amounts = vec![Amount::default(); places.all().len()];
    for &(place, row) in owned {
        let amount = &mut amounts[place.index()];
        add(&mut amount.own, &mut amount.own_count, row.time, row.count);
    }
    for at in (0..amounts.len()).rev() {
        let own = amounts[at].clone();
        let amount = &mut amounts[at];
        add(&mut amount.time, &mut amount.count, own.own, own.own_count);
        amount.gross += scale.difference(own.own).abs();
        let (time, count, gross) = (amount.time, amount.count, amount.gross);
        if let Some(above) = places.all()[at].above {
            let above = &mut amounts[above.index()];
            add(&mut above.time, &mut above.count, time, count);
            above.gross += gross;
            above.children.push(PlaceId(at as u32));
        }
    }
    amounts
}

fn divide(amounts: &[Amount], places: &Places<'_>, scale: Scale) -> Vec<IdlePart> {
    let roots = (0..amounts.len()).filter(|&at| places.all()[at].above.is_none());
    let mut open: Vec<usize> = roots.collect();
    let mut parts = Vec::new();
    while let Some(at) = open.pop() {
        let amount = &amounts[at];
        let place = Some(PlaceId(at as u32));
        let is_call = places.all()[at].above.is_some();
        if is_call && is_to_blame(amount, amounts, few(places, at), scale) {
            let part = IdlePart::at(place, amount.time, amount.count);
            parts.push(IdlePart { is_whole: true, ..part });
            continue;
        }
        parts.push(IdlePart::at(place, amount.own, amount.own_count));
        open.extend(amount.children.iter().map(|child| child.index()));
    }
    parts
}

/// If at most this many of the calls inside a call contain most of its difference, they are reported instead of the
/// call. The limit is higher for Python frames that are not modules, because the calls in such a frame are more
/// informative than the frame itself.
fn few(places: &Places<'_>, at: usize) -> usize {
    let place = &places.all()[at];
    match place.kind {
        Some(CallKind::Frame) if !places.is_module(place.node) => 3,
        Some(
            CallKind::Frame
            | CallKind::Op
            | CallKind::Runtime
            | CallKind::Gpu
            | CallKind::Thread
            | CallKind::Unlinked,
        )
        | None => 1,
    }
}

/// Sets the owners of each part. The owner of idle time is the innermost call to which the idle time is attributed.
fn name_owners(
    parts: &mut [IdlePart],
    owned: &[(PlaceId, &IdleRow)],
    places: &Places<'_>,
    scale: Scale,
) {
    let mut part_of = vec![None; places.all().len()];
    for (at, part) in parts.iter().enumerate() {
        if let Some(place) = part.place {
            part_of[place.index()] = Some(at);
        }
    }
    for at in 0..part_of.len() {
        if part_of[at].is_none() {
            part_of[at] = places.all()[at].above.and_then(|above| part_of[above.index()]);
        }
    }
    let mut sums: Grouped<(usize, OwnerIds), (usize, String), i128> = Grouped::new();
    let mut alone: BTreeMap<(usize, Side, &str), Nanos> = BTreeMap::new();
    for (place, row) in owned {
        if let (Some(part), Some(owner)) = (part_of[place.index()], row.owner) {
            let outermost = if places.all()[place.index()].is_common {
                PerSide::default()
            } else {
                places.outermost(owner)
            };
            for side in Side::BOTH {
                if let Some(name) = outermost[side] {
                    *alone.entry((part, side, name)).or_default() += row.time[side];
                }
            }
            let name = || (part, places.owner_name(owner));
            let sum = sums.entry((part, places.owner_ids(owner)), name, |_| 0);
            *sum += scale.difference(row.time);
            parts[part].by_step.add_idle(places.diff(), owner, row.time);
        }
    }
    let differing = sums.into_sorted().filter(|(_, difference)| *difference != 0);
    for ((part, name), difference) in differing {
        parts[part].owners.push((name, difference));
    }
    let mut most: BTreeMap<(usize, Side), Nanos> = BTreeMap::new();
    for ((part, side, name), time) in alone {
        let most = most.entry((part, side)).or_insert(Nanos(-1));
        if time > *most {
            *most = time;
            parts[part].instead[side] = Some(name.to_owned());
        }
    }
    for part in parts {
        part.owners.order_by_key(|(_, difference)| std::cmp::Reverse(difference.abs()));
    }
}

/// Whether a call is reported as a cause. If the differences below the call cancel out, or if a few of the calls inside
/// it contain most of the difference, those calls are reported instead.
fn is_to_blame(amount: &Amount, amounts: &[Amount], few: usize, scale: Scale) -> bool {
    let sum = scale.difference(amount.time);
    if 5 * sum.abs() < 4 * amount.gross {
        return false;
    }
    let along = |time| scale.difference(time) * sum.signum();
    if 5 * along(amount.own) >= sum.abs() {
        return true;
    }
    let mut below: Vec<i128> =
        amount.children.iter().map(|child| along(amounts[child.index()].time)).collect();
    below.sort_unstable_by_key(|&share| std::cmp::Reverse(share));
    5 * below.iter().take(few).sum::<i128>() < 4 * sum.abs()
}
