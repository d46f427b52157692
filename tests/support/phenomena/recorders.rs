//! Phenomena that come from profilers: the two traces were recorded by profilers from different years, or clocks
//! disagree, so that calls are not nested correctly.

use super::pair;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use serde_json::{Map, Value, json};
use tracetree::PerSide;

/// 2021-11-20 in µs since the epoch. Before traces had a base time, profilers wrote times since the epoch.
const EPOCH: i64 = 1_637_400_000_000_000;

/// Two ops with one launch each. The program has no Python frames, because old profilers recorded none. A query call at
/// the start makes the correlation ids differ from the external ids of the ops.
fn program() -> TraceBuilder {
    TraceBuilder::cuda().thread("main", |t| {
        t.call("cudaStreamIsCapturing");
        t.idle(2.0);
        launching(t, "aten::relu", "relu_kernel", 20.0);
        launching(t, "aten::sum", "reduce_kernel", 30.0);
    })
}

fn launching(t: &mut HostThread<'_>, op: &str, kernel: &str, micros: f64) {
    t.op(Op::new(op).dims(&[&[8, 64]]).types(&["float"]), |t| t.kernel(kernel, micros));
}

/// The baseline is a trace in the format used in 2021, and the candidate is a trace in the current format.
pub(super) fn format_2021() -> PerSide<String> {
    PerSide::new(rewritten(&program().json(), to_2021), program().json())
}

/// In traces from torch 1.12 to 2.2, the `External id` of a GPU event repeats the correlation id and therefore refers
/// to the wrong op.
pub(super) fn external_id_era() -> PerSide<String> {
    PerSide::new(rewritten(&program().json(), to_external_id_era), program().json())
}

/// Applies `change` to each event in a trace, and converts all times to whole µs since the epoch.
fn rewritten(json: &str, change: fn(&mut Map<String, Value>)) -> String {
    let mut trace: Value = serde_json::from_str(json).expect("the builder writes JSON");
    let fields = trace.as_object_mut().expect("a trace is an object");
    for field in ["baseTimeNanoseconds", "with_stack", "record_shapes", "displayTimeUnit"] {
        fields.remove(field);
    }
    for event in fields["traceEvents"].as_array_mut().into_iter().flatten() {
        let event = event.as_object_mut().expect("an event is an object");
        whole_micros(event);
        change(event);
    }
    trace.to_string()
}

/// Truncates start and end times to whole µs, as the profilers of 2021 did.
fn whole_micros(event: &mut Map<String, Value>) {
    let number = |event: &Map<String, Value>, key: &str| event.get(key).and_then(Value::as_f64);
    let Some(start) = number(event, "ts") else { return };
    let end = number(event, "dur").map(|duration| start + duration);
    let whole = EPOCH + start.floor() as i64;
    event.insert("ts".to_owned(), json!(whole));
    if let Some(end) = end {
        event.insert("dur".to_owned(), json!(EPOCH + end.floor() as i64 - whole));
    }
}

fn to_2021(event: &mut Map<String, Value>) {
    let category = event.get("cat").and_then(Value::as_str).map(|category| match category {
        "cpu_op" => "Operator",
        "cuda_runtime" => "Runtime",
        "kernel" => "Kernel",
        other => panic!("unexpected category {other}"),
    });
    let Some(category) = category else { return };
    event.insert("cat".to_owned(), json!(category));
    if category == "Kernel" {
        event.insert("tid".to_owned(), json!(format!("stream {}", event["tid"])));
    }
    let args = event["args"].as_object_mut().expect("args are an object");
    for (new, old) in [("external id", "External id"), ("Input dims", "Input Dims")] {
        if let Some(value) = args.remove(old) {
            args.insert(new.to_owned(), value);
        }
    }
}

fn to_external_id_era(event: &mut Map<String, Value>) {
    if event.get("cat").and_then(Value::as_str) == Some("kernel") {
        let correlation = event["args"]["correlation"].clone();
        event["args"]["External id"] = correlation;
    }
}

/// Two calls overlap because their times come from clocks that disagree. An overlap of up to 1 µs is noise; a larger
/// overlap is counted as an artifact.
pub(super) fn bleeding_calls() -> PerSide<String> {
    let ops = |starts: [f64; 4]| {
        let [relu, sum, exp, copy] = starts;
        TraceBuilder::cuda()
            .event(call("cpu_op", "aten::relu", relu, 20.0, None))
            .event(call("cpu_op", "aten::sum", sum, 20.0, None))
            .event(call("cpu_op", "aten::exp", exp, 20.0, None))
            .event(call("cpu_op", "aten::copy_", copy, 20.0, None))
            .event(call("cuda_runtime", "cudaLaunchKernel", copy + 12.0, 4.0, Some(1)))
            .event(kernel("copy_kernel", copy + 18.0, 9.0, 1))
    };
    // In the candidate, sum starts 0.4 µs before relu ends, and copy_ starts 14 µs before exp ends.
    pair(ops([100.0, 120.0, 140.0, 160.0]), ops([100.0, 119.6, 140.0, 146.0]))
}

fn call(category: &str, name: &str, start: f64, duration: f64, correlation: Option<i64>) -> Value {
    json!({
        "ph": "X", "cat": category, "name": name, "pid": 7, "tid": 7, "ts": start, "dur": duration,
        "args": {"correlation": correlation},
    })
}

fn kernel(name: &str, start: f64, duration: f64, correlation: i64) -> Value {
    json!({
        "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": duration,
        "args": {"device": 0, "stream": 7, "correlation": correlation},
    })
}
