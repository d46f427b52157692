//! Compiles half of the layers in a model.
//!
//! ```text
//! nn.Module: Block_1     →   nn.Module: Block_1
//! ├── aten::layer_norm …     └── Torch-Compiled Region: 0/0
//! └── nn.Module: Mlp_1 …         └── ## Call CompiledFxGraph … ##
//!                                    ├── triton_poi_fused_native_layer_norm_addmm_0 → launch → kernel
//!                                    └── …
//! ```

use super::compiling::again;
use super::repeating::{module_number, numbers_of, renumber};
use super::rows::{largest, places_of};
use super::{Forest, Kind, Recording, SplitMix};
use crate::support::recording::Event;

/// Number of launches that one generated kernel replaces.
const FUSED: usize = 3;
/// Duration of a fused kernel, as a percentage of the total duration of the kernels that it replaces.
const TIME: i64 = 70;

/// Replaces the calls in half of the layers in the largest stack with one compiled region per layer. The compiled
/// layers are the first half, every second layer, or a random half. The calls of the layers themselves are kept, but
/// the calls inside the layers lose their counterparts. Returns `None` if no stack of layers launches GPU work.
pub(super) fn layers(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let works = |forest: &Forest, places: &[usize]| places.iter().all(|&at| forest.on_gpu_path[at]);
    let names = largest(recording, &forest, works)?;
    let all: Vec<usize> = (0..names.len()).collect();
    let half = names.len() / 2;
    let chosen = match random.below(3) {
        0 => all[..half].to_vec(),
        1 => all.into_iter().skip(1).step_by(2).collect(),
        _ => random.sample(&all, half),
    };
    let mut marked = vec![false; events.len()];
    let mut regions = Vec::new();
    let mut id = recording.free_correlation();
    for (number, at) in chosen.into_iter().enumerate() {
        for place in places_of(recording, &forest, &names[at]) {
            let below = &forest.subtree(place)[1..];
            below.iter().for_each(|&at| marked[at] = true);
            regions.extend(region(events, &forest, place, number, &mut id));
        }
    }
    let mut changed = recording.clone();
    changed.remove(&marked);
    close_gaps(recording, &mut changed);
    changed.events.extend(regions);
    Some(changed)
}

/// The events that replace the calls in a layer.
fn region(
    events: &[Event],
    forest: &Forest,
    layer: usize,
    number: usize,
    id: &mut i64,
) -> Vec<Event> {
    let below = forest.subtree(layer);
    let is_launch = |&at: &usize| events[at].kind == Kind::Runtime && forest.on_gpu_path[at];
    let launches: Vec<usize> = below.iter().copied().filter(is_launch).collect();
    let Some(&op) = below.iter().find(|&&at| events[at].kind == Kind::Op) else {
        return Vec::new();
    };
    let op = |name: &str, (start, end): (i64, i64)| again(&events[op], name, (start, end));
    let (start, end) = (events[layer].start, events[layer].end);
    let groups = launches.chunks(FUSED);
    // Each call begins and ends `inset` ns inside the enclosing call, so no two calls have the same span.
    let width = (end - start) / (groups.len() as i64 + 1);
    let inset = width / 8;
    let graph = format!("## Call CompiledFxGraph fmbkyqhh5hybzr3a7ql4qhbpq4yjvkbs{number} ##");
    let kernels = below.iter().filter(|&&at| events[at].kind == Kind::Gpu);
    let mut region = vec![
        op(&format!("Torch-Compiled Region: {number}/0"), (start, end)),
        op(&graph, (start + inset, end - inset)),
    ];
    region[0].replaces = kernels.filter_map(|&at| events[at].origin).collect();
    for (at, group) in groups.enumerate() {
        let from = start + width / 2 + at as i64 * width;
        let name = format!("triton_poi_fused_{}_{at}", words(events, forest, group).join("_"));
        let launch = &events[group[0]];
        let kernel = &events[forest.children[group[0]][0]];
        let call = (from + 2 * inset, from + width - 2 * inset);
        let run = (kernel.start, kernel.start + time(events, forest, group) * TIME / 100);
        region.push(op(&name, (from + inset, from + width - inset)));
        region.push(again(launch, &launch.name, call).correlated(*id));
        region.push(again(kernel, &name, run).correlated(*id));
        *id += 1;
    }
    region
}

/// The names of the ops that directly contain the launches, without namespace.
fn words<'a>(events: &'a [Event], forest: &Forest, launches: &[usize]) -> Vec<&'a str> {
    let above = launches.iter().filter_map(|&at| forest.parents[at]);
    let mut words: Vec<&str> =
        above.map(|op| events[op].name.rsplit("::").next().unwrap_or_default()).collect();
    words.dedup();
    words
}

/// The total duration in ns of the kernels that the given launches started.
fn time(events: &[Event], forest: &Forest, launches: &[usize]) -> i64 {
    let kernels = launches.iter().flat_map(|&at| &forest.children[at]);
    kernels.map(|&at| events[at].end - events[at].start).sum()
}

/// Removed modules leave gaps in the instance numbers. Closes these gaps by lowering the instance numbers of later
/// modules.
fn close_gaps(before: &Recording, after: &mut Recording) {
    let all: Vec<usize> = (0..before.events.len()).collect();
    let mut gone = numbers_of(before, all.iter());
    for (class, number) in after.events.iter().filter_map(module_number) {
        if let Some(numbers) = gone.get_mut(class) {
            numbers.remove(&number);
        }
    }
    for event in &mut after.events {
        renumber(event, |class, number| {
            let before = gone.get(class).map_or(0, |gone| gone.range(..number).count());
            number - before as u32
        });
    }
}
