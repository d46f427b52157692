//! Changes a recording as if the same calls had been recorded by a different profiler, on a different machine, or in a
//! different checkout.

use super::{Forest, Recording, SplitMix};
use crate::support::recording::{Event, Kind, Lane};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of lines by which a line number differs between the two versions of a script.
const LINES: u32 = 7;
/// The offset added to device and stream numbers.
const OTHER_GPU: i64 = 3;
/// An op that contains more than 1/`LARGEST_OP` of the recording's host calls is treated as the range of a whole phase.
/// An op directly inside such a range counts as a top-level op.
const LARGEST_OP: usize = 20;

/// Removes Python stacks, as if the trace had been recorded without `with_stack`.
pub(super) fn without_stacks(recording: &Recording) -> Option<Recording> {
    recording.has_python().then(|| recording.without_python())
}

/// Keeps only top-level ops. Nested ops are removed, and their launches are moved directly below the outermost op.
/// Python frames are kept. Returns `None` if no op contains another op.
pub(super) fn top_level(recording: &Recording) -> Option<Recording> {
    let events = &recording.events;
    let forest = Forest::of(events);
    let calls = events.iter().filter(|event| event.kind.is_host()).count();
    let is_range = |at: usize| {
        let large = forest.sizes[at] as usize * LARGEST_OP > calls;
        large || events[at].name.starts_with(super::repeating::STEP)
    };
    let mut inside = vec![false; events.len()];
    for &at in &forest.preorder {
        inside[at] = forest.parents[at].is_some_and(|parent| {
            inside[parent] || events[parent].kind == Kind::Op && !is_range(parent)
        });
    }
    let missing: Vec<bool> =
        events.iter().zip(inside).map(|(event, inside)| inside && event.kind == Kind::Op).collect();
    let mut changed = recording.clone();
    changed.remove(&missing);
    missing.contains(&true).then_some(changed)
}

/// Moves the scripts to a different folder, and changes the Python version and the line numbers.
pub(super) fn checkout(recording: &Recording, random: &mut SplitMix) -> Option<Recording> {
    let shift = 1 + random.below(LINES as usize) as u32;
    let mut changed = recording.clone();
    for event in changed.events.iter_mut().filter(|event| event.kind == Kind::Frame) {
        if let Some(name) = elsewhere(&event.name, shift) {
            event.name = name.into();
        }
    }
    recording.has_python().then_some(changed)
}

/// The name of a frame in a different checkout: `run/train.py(12): step` becomes `run_v2/train.py(15): step`. In the
/// path of a package file, only the Python version changes.
fn elsewhere(name: &str, shift: u32) -> Option<String> {
    let (place, function) = name.split_once("): ")?;
    let (path, line) = place.rsplit_once('(')?;
    let line: u32 = line.parse().ok()?;
    let line = if is_package(path) { line } else { line + shift };
    let path = match path.rsplit_once('/') {
        _ if path.contains("python3.") => path.replace("python3.", "python4."),
        Some((folder, file)) if !is_package(path) => format!("{folder}_v2/{file}"),
        Some(_) => path.to_owned(),
        None => format!("checkout/{path}"),
    };
    Some(format!("{path}({line}): {function}"))
}

fn is_package(path: &str) -> bool {
    path.starts_with("torch/") || path.contains("-packages/")
}

/// Changes the numbers of threads, devices and streams, which also changes the order of the threads.
pub(super) fn numbers(recording: &Recording, random: &mut SplitMix) -> Recording {
    let mut threads: BTreeMap<Lane, Lane> = BTreeMap::new();
    let on_host = recording.events.iter().filter(|event| event.kind.is_host());
    let lanes: Vec<Lane> = on_host.map(|event| event.lane.clone()).collect();
    for lane in lanes {
        let number = 1_000 + random.below(1_000_000);
        threads.entry(lane).or_insert_with_key(|lane| (lane.0.clone(), number.to_string().into()));
    }
    let mut changed = recording.clone();
    for event in changed.events.iter_mut().filter(|event| event.kind != Kind::Other) {
        match threads.get(&event.lane) {
            Some(lane) => event.lane = lane.clone(),
            None => on_another_gpu(event),
        }
    }
    changed
}

fn on_another_gpu(event: &mut Event) {
    let lane = [&event.lane.0, &event.lane.1].map(|id| match id.parse::<i64>() {
        Ok(number) => (number + OTHER_GPU).to_string().into(),
        Err(_) => id.clone(),
    });
    event.lane = lane.into();
    for key in ["device", "stream"] {
        if let Some(number) = event.args.get(key).and_then(serde_json::Value::as_i64) {
            Arc::make_mut(&mut event.args).insert(key.to_owned(), json!(number + OTHER_GPU));
        }
    }
}
