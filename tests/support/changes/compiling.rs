//! Changes a recording as if the program had been compiled differently: kernels are renumbered, fused or split.

use super::renaming::other_kernel;
use super::{Forest, Kind, Recording, SplitMix, portion};
use crate::support::recording::{Event, Rooms};
use std::collections::BTreeSet;

/// Duration in ns of an inserted launch, and of the kernel it starts.
const LAUNCH: i64 = 5_000;
const KERNEL: i64 = 900;
/// Maximum number of ops that one compiled region replaces.
const LONGEST_REGION: usize = 5;

/// Raises the numbers of all Triton kernels by one, as if an additional kernel preceded them.
pub(super) fn triton_renumbered(recording: &Recording) -> Option<Recording> {
    let mut changed = recording.clone();
    let mut any = false;
    for event in &mut changed.events {
        if let Some((stem, number)) = triton_number(event) {
            event.name = format!("{stem}_{}", number + 1).into();
            any = true;
        }
    }
    any.then_some(changed)
}

/// Fuses one Triton kernel with the preceding kernel. The words in the fused kernel's name are added to the name of the
/// preceding kernel. The fused kernel is then removed everywhere, and later kernels get lower numbers.
pub(super) fn triton_fused(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let names: BTreeSet<(u32, &str)> = recording
        .events
        .iter()
        .filter_map(|event| Some((triton_number(event)?.1, &*event.name)))
        .collect();
    let names: Vec<(u32, &str)> = names.into_iter().collect();
    let which = 1 + random.below(names.len().checked_sub(1).filter(|&rest| rest > 0)?);
    let ((_, kept), (number, gone)) = (names[which - 1], names[which]);
    let fused = fused_name(kept, gone)?;
    let mut changed = recording.clone();
    for event in &mut changed.events {
        match triton_number(event) {
            Some(_) if &*event.name == kept => event.name = fused.clone().into(),
            Some((stem, later)) if later > number => {
                event.name = format!("{stem}_{}", later - 1).into();
            }
            Some(_) | None => {}
        }
    }
    let marked = triton_calls(recording, &forest, gone);
    changed.remove(&marked);
    Some(changed)
}

/// `triton_poi_fused_add_2` and `triton_poi_fused_mul_3` → `triton_poi_fused_add_mul_2`.
fn fused_name(kept: &str, gone: &str) -> Option<String> {
    let (stem, number) = kept.rsplit_once('_')?;
    let words = gone.rsplit_once('_')?.0.split("fused").nth(1).unwrap_or("_more");
    Some(format!("{stem}{words}_{number}"))
}

/// Marks all ops and kernels with a given name, all calls below them, and all launches that start only a kernel with
/// that name.
fn triton_calls(recording: &Recording, forest: &Forest, name: &str) -> Vec<bool> {
    let mut marked = vec![false; recording.events.len()];
    let of_name = |at: &usize| &*recording.events[*at].name == name;
    for at in (0..recording.events.len()).filter(of_name) {
        let launch = forest.parents[at].filter(|&above| {
            recording.events[above].kind == Kind::Runtime && forest.children[above].len() == 1
        });
        for below in forest.subtree(launch.unwrap_or(at)) {
            marked[below] = true;
        }
    }
    marked
}

/// `triton_poi_fused_add_3` → (`triton_poi_fused_add`, 3).
fn triton_number(event: &Event) -> Option<(&str, u32)> {
    let (stem, number) =
        event.name.rsplit_once('_').filter(|(stem, _)| stem.starts_with("triton_"))?;
    let takes_part = matches!(event.kind, Kind::Op | Kind::Gpu);
    Some((stem, number.parse().ok().filter(|_| takes_part)?))
}

/// Lets `percent`% of the ops that launch one kernel launch two kernels instead, like a matrix product that is split
/// along the inner dimension. The original kernel gets a different name, and a shorter kernel follows it.
pub(super) fn split_k(
    recording: &Recording,
    percent: f64,
    random: &mut SplitMix,
) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let launches: Vec<usize> =
        forest.preorder.iter().copied().filter(|&at| is_alone(events, &forest, at)).collect();
    let chosen = random.sample(&launches, portion(launches.len(), percent));
    let rooms = Rooms::new(chosen.iter().map(|&at| (events[at].end, 2 * LAUNCH)).collect());
    let mut changed = recording.clone();
    changed.make_room(&rooms);
    for (id, &at) in (recording.free_correlation()..).zip(&chosen) {
        let kernel = forest.children[at][0];
        changed.events[kernel].name =
            format!("{}_splitk", other_kernel(&events[kernel].name)).into();
        let (launch, kernel) = (changed.events[at].clone(), changed.events[kernel].clone());
        let length = KERNEL.min((kernel.end - kernel.start) / 2);
        let call = again(&launch, &launch.name, (launch.end, launch.end + LAUNCH));
        let run = again(&kernel, "splitKreduce_kernel", (kernel.end, kernel.end + length));
        changed.events.extend([call.correlated(id), run.correlated(id)]);
    }
    (!launches.is_empty()).then_some(changed)
}

/// A copy of an event with a different name and span.
pub(super) fn again(like: &Event, name: &str, span: (i64, i64)) -> Event {
    Event::new(like.kind, &like.category, name, &like.lane, span)
}

/// Whether a launch is the only launch in its op, starts a single kernel, and ends before the op ends.
fn is_alone(events: &[Event], forest: &Forest, at: usize) -> bool {
    let Some(op) = forest.parents[at].filter(|&op| events[op].kind == Kind::Op) else {
        return false;
    };
    let launches = forest.children[op].iter().filter(|&&below| forest.on_gpu_path[below]);
    events[at].kind == Kind::Runtime
        && forest.on_gpu_path[at]
        && forest.children[at].len() == 1
        && launches.count() == 1
        && events[at].end < events[op].end
}

/// Compiles about `percent`% of all ops: each of several sequences of adjacent ops becomes one region. Each region has
/// one kernel, which is named after the ops.
pub(super) fn regions(
    recording: &Recording,
    percent: f64,
    random: &mut SplitMix,
) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    // Code that is already compiled is not compiled again.
    let compiled =
        |at: usize| ["triton_", "Torch-Compiled"].iter().any(|part| events[at].name.contains(part));
    let eager = |&at: &usize| {
        !compiled(at)
            && std::iter::successors(forest.parents[at], |&above| forest.parents[above])
                .all(|above| !compiled(above))
    };
    let works = |at: &usize| events[*at].kind == Kind::Op && forest.on_gpu_path[*at] && eager(at);
    let mut runs = Vec::new();
    for (_, list) in forest.sibling_lists() {
        for run in list.chunk_by(|one, two| works(one) && works(two)).filter(|run| works(&run[0])) {
            let length = 2 + random.below(LONGEST_REGION - 1);
            runs.extend(run.chunks(length).filter(|run| run.len() > 1).map(<[usize]>::to_vec));
        }
    }
    let ops = super::ops_of(recording, &forest).len();
    let count = portion(ops, percent).div_ceil(LONGEST_REGION);
    let chosen = random.sample(&(0..runs.len()).collect::<Vec<_>>(), count);
    let mut changed = recording.clone();
    let mut marked = vec![false; events.len()];
    for (id, run) in (recording.free_correlation()..).zip(chosen.iter().map(|&at| &runs[at])) {
        let below: Vec<usize> = run.iter().flat_map(|&at| forest.subtree(at)).collect();
        changed.events.extend(region(events, run, &below, id).into_iter().flatten());
        below.iter().for_each(|&at| marked[at] = true);
    }
    marked.resize(changed.events.len(), false);
    changed.remove(&marked);
    (!runs.is_empty()).then_some(changed)
}

/// The events that replace a sequence of ops: the region, its generated op, the launch and the kernel.
fn region(events: &[Event], run: &[usize], below: &[usize], id: i64) -> Option<[Event; 4]> {
    let (first, last) = (&events[*run.first()?], &events[*run.last()?]);
    let of_kind = |kind| below.iter().map(|&at| &events[at]).find(|event| event.kind == kind);
    let (launch, kernel) = (of_kind(Kind::Runtime)?, of_kind(Kind::Gpu)?);
    let words: Vec<&str> =
        run.iter().map(|&at| events[at].name.rsplit("::").next().unwrap_or_default()).collect();
    let name = format!("triton_poi_fused_{}_0", words.join("_"));
    let (start, end) = (first.start, last.end);
    let inner = (start + (end - start) / 8, end - (end - start) / 8);
    let call = (inner.0 + (inner.1 - inner.0) / 8, inner.1);
    Some([
        again(first, "Torch-Compiled Region: 0/0", (start, end)),
        again(first, &name, inner),
        again(launch, &launch.name, call).correlated(id),
        again(kernel, &name, (kernel.start, kernel.end)).correlated(id),
    ])
}
