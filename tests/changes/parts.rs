//! Removes a part of a recording, as if the profiler had not recorded it.

use crate::support::files::unpacked;
use serde_json::Value;
use std::path::Path;

/// What a recording may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Nothing,
    Stacks,
    Shapes,
    Kernels,
    /// The fraction of a microsecond of each time.
    Nanoseconds,
}

/// The JSON text of a trace without a part.
///
/// # Panics
/// Panics if the file is not a trace in JSON format.
pub(crate) fn without(path: &Path, part: Part) -> String {
    let bytes = unpacked(path).expect("a readable file");
    let mut document: Value = serde_json::from_slice(&bytes).expect("JSON");
    let is_list = document.is_array();
    let list = if is_list { &mut document } else { &mut document["traceEvents"] };
    let events = list.as_array_mut().expect("events");
    let gpu = ["kernel", "gpu_memcpy", "gpu_memset"];
    events.retain(|event| match event["cat"].as_str() {
        Some("python_function") => part != Part::Stacks,
        Some(category) => part != Part::Kernels || !gpu.contains(&category),
        None => true,
    });
    if part == Part::Shapes {
        let keys = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"];
        for event in events.iter_mut() {
            if let Some(arguments) = event["args"].as_object_mut() {
                keys.iter().for_each(|key| drop(arguments.remove(*key)));
            }
        }
    }
    if part == Part::Nanoseconds {
        events.iter_mut().for_each(round);
    }
    document.to_string()
}

/// Rounds the start and the end of an event down to whole microseconds, as PyTorch did up to version 2.2.
fn round(event: &mut Value) {
    let Some(start) = event["ts"].as_f64() else { return };
    event["ts"] = Value::from(start.floor() as i64);
    if let Some(duration) = event["dur"].as_f64() {
        event["dur"] = Value::from((start + duration).floor() as i64 - start.floor() as i64);
    }
}
