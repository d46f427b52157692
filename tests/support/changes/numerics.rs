//! Changes a recording as if the program had run with a larger batch or in a different precision.

use super::renaming::other_kernel;
use super::{Forest, Kind, Recording, SplitMix, ops_of, portion};
use crate::support::recording::{Event, Rooms};
use serde_json::Value;
use std::sync::Arc;

/// The factor by which the batch grows.
const BATCH: i64 = 4;
/// Duration of a cast in ns, and the spans of the events inside a cast. The spans are relative to the start of the
/// cast.
const CAST: i64 = 40_000;
const INSIDE: [(i64, i64); 4] =
    [(2_000, 38_000), (4_000, 36_000), (8_000, 13_000), (16_000, 19_000)];
/// The nested ops that make up a cast, outermost first.
const CASTS: [&str; 3] = ["aten::to", "aten::_to_copy", "aten::copy_"];

/// Multiplies the first dimension of each op's first input by [`BATCH`]. If another input has the same first dimension,
/// that dimension is multiplied as well.
pub(super) fn batch(recording: &Recording) -> Option<Recording> {
    let mut changed = recording.clone();
    let mut any = false;
    for event in changed.events.iter_mut().filter(|event| event.kind == Kind::Op) {
        for key in ["Input Dims", "Input dims"] {
            if event.args.contains_key(key)
                && let Some(dims) = Arc::make_mut(&mut event.args).get_mut(key)
            {
                any |= lengthen(dims);
            }
        }
    }
    any.then_some(changed)
}

fn lengthen(dims: &mut Value) -> bool {
    let Some(inputs) = dims.as_array_mut() else { return false };
    let length = |input: &Value| input.as_array().filter(|dims| dims.len() > 1)?.first()?.as_i64();
    let Some(batch) = inputs.first().and_then(length) else { return false };
    for input in inputs.iter_mut().filter(|input| length(input) == Some(batch)) {
        input[0] = (batch * BATCH).into();
    }
    true
}

/// Switches from float to bfloat16: types and kernels change, and a cast is inserted before `percent`% of the
/// ops that launch GPU work.
pub(super) fn bfloat16(
    recording: &Recording,
    percent: f64,
    random: &mut SplitMix,
) -> Option<Recording> {
    let forest = Forest::of(&recording.events);
    let events = &recording.events;
    let is_launch = |&at: &usize| events[at].kind == Kind::Runtime && forest.on_gpu_path[at];
    let like = (0..events.len()).find(is_launch)?;
    let works = ops_of(recording, &forest).into_iter().filter(|&at| forest.on_gpu_path[at]);
    let works: Vec<usize> = works.collect();
    let chosen = random.sample(&works, portion(works.len(), percent));
    let rooms = Rooms::new(chosen.iter().map(|&at| (events[at].start, CAST)).collect());
    let mut changed = recording.clone();
    changed.make_room(&rooms);
    changed.events.iter_mut().for_each(in_bfloat16);
    let like = (&events[like], &events[forest.children[like][0]]);
    for (id, at) in (recording.free_correlation()..).zip(chosen) {
        let start = events[at].start + rooms.before(events[at].start);
        changed.events.extend(cast(&events[at], like, start, id));
    }
    Some(changed)
}

fn in_bfloat16(event: &mut Event) {
    if event.kind == Kind::Gpu && !event.name.starts_with("Mem") {
        event.name = if event.name.contains("float") {
            event.name.replace("float", "c10::BFloat16").into()
        } else {
            other_kernel(&event.name).into()
        };
    }
    if let Some(types) = event.args.get("Input type").and_then(Value::as_array) {
        let other = |one: &Value| match one.as_str() {
            Some("float") => Value::from("c10::BFloat16"),
            Some(_) | None => one.clone(),
        };
        let types: Vec<Value> = types.iter().map(other).collect();
        Arc::make_mut(&mut event.args).insert("Input type".to_owned(), types.into());
    }
}

/// The events of a cast that precedes an op: three ops, a launch and a kernel.
fn cast(op: &Event, (launch, kernel): (&Event, &Event), start: i64, id: i64) -> Vec<Event> {
    let span = |(from, until): (i64, i64)| (start + from, start + until);
    let spans = [(0, CAST), INSIDE[0], INSIDE[1]];
    let ops = CASTS.iter().zip(spans);
    let mut cast: Vec<Event> = ops
        .map(|(name, inside)| Event::new(Kind::Op, &op.category, name, &op.lane, span(inside)))
        .collect();
    let call = Event::new(Kind::Runtime, &launch.category, &launch.name, &op.lane, span(INSIDE[2]));
    let name = "bfloat16_copy_kernel_cuda";
    let run = Event::new(Kind::Gpu, &kernel.category, name, &kernel.lane, span(INSIDE[3]));
    cast.extend([call.correlated(id), run.correlated(id)]);
    cast
}
