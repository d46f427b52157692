//! Tests with Kineto traces of accelerators that use neither CUDA nor HIP: totals and links are checked against the raw
//! JSON.

use crate::support::{files, traces};
use serde_json::{Value, json};
use std::collections::HashMap;
use tracetree::program::{TraceInfo, Unread};
use tracetree::trace::{Category, ReadOptions, Stream, Trace};
use tracetree::tree::{CallKind, CallTree};

fn read(document: &Value) -> Trace {
    // Comparisons read traces without flow arrows.
    let options = ReadOptions::default().without_flows();
    Trace::from_reader("t", document.to_string().as_bytes(), &options).expect("a trace")
}

fn real(name: &str) -> Option<Value> {
    let path = traces::real(name)?;
    let document: Value =
        serde_json::from_slice(&files::unpacked(&path).expect("a trace")).expect("JSON");
    Some(if document.is_array() { json!({ "traceEvents": document }) } else { document })
}

fn events(document: &Value) -> impl Iterator<Item = &Value> {
    document["traceEvents"].as_array().expect("events").iter()
}

/// A number of microseconds, which may be in quotes, in nanoseconds.
fn nanos(value: &Value) -> i64 {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    tracetree::trace::nanos(text.as_bytes()).expect("a time").0
}

fn total(trace: &Trace, category: Category) -> (usize, i64) {
    let events: Vec<_> = trace.events().filter(|id| trace.category(*id) == category).collect();
    (events.len(), events.iter().map(|id| trace.duration(*id).0).sum())
}

/// Names of the processes, by pid.
fn processes(document: &Value) -> HashMap<String, String> {
    events(document)
        .filter(|event| event["name"] == "process_name")
        .map(|event| (event["pid"].to_string(), event["args"]["name"].as_str().expect("").into()))
        .collect()
}

/// For each kernel on an Ascend device, its uid and the uid of the innermost op around the beginning of its arrow.
fn ascend_launches(document: &Value) -> Vec<(u32, Option<u32>)> {
    let processes = processes(document);
    let mut begins: HashMap<String, &Value> = HashMap::new();
    let mut ends: HashMap<(String, String, i64), &Value> = HashMap::new();
    for event in events(document).filter(|event| event["cat"] == "async_npu") {
        if event["ph"] == "s" {
            begins.insert(event["id"].to_string(), event);
        } else {
            let at = (event["pid"].to_string(), event["tid"].to_string(), nanos(&event["ts"]));
            ends.insert(at, event);
        }
    }
    let innermost = |begin: &Value| {
        let time = nanos(&begin["ts"]);
        let calls = events(document).enumerate().filter(|(_, call)| {
            call["ph"] == "X"
                && call["cat"] == "cpu_op"
                && call["tid"] == begin["tid"]
                && nanos(&call["ts"]) <= time
                && time < nanos(&call["ts"]) + nanos(&call["dur"])
        });
        calls.max_by_key(|(_, call)| nanos(&call["ts"])).map(|(uid, _)| uid as u32)
    };
    let is_kernel = |event: &Value| {
        let process = processes.get(&event["pid"].to_string());
        event["ph"] == "X" && process.is_some_and(|name| name == "Ascend Hardware")
    };
    events(document)
        .enumerate()
        .filter(|(_, event)| is_kernel(event))
        .map(|(uid, event)| {
            let at = (event["pid"].to_string(), event["tid"].to_string(), nanos(&event["ts"]));
            let begin = ends.get(&at).and_then(|end| begins.get(&end["id"].to_string()));
            (uid as u32, begin.and_then(|begin| innermost(begin)))
        })
        .collect()
}

#[test]
fn ascend_kernels_are_below_the_op_at_the_beginning_of_their_arrow() {
    let expected = [
        ("recorders/ascend_a.json", (12, 55_120), 12),
        ("recorders/ascend_b.json", (12, 69_159), 12),
        ("odd/ascend_trace_view.json.gz", (276, 1_790_441), 274),
    ];
    for (name, kernels, linked) in expected {
        let Some(document) = real(name) else { return };
        let tree = CallTree::build(read(&document));
        let trace = tree.trace();
        let (count, time) = total(trace, Category::Kernel);
        assert_eq!(count, kernels.0, "{name}");
        // The figures were rounded to nanoseconds after summing; the reader rounds each duration.
        assert!((time - kernels.1).abs() <= count as i64, "{name}: {time} ns");
        let launches = ascend_launches(&document);
        assert_eq!(launches.len(), count, "{name}");
        let mut found = 0;
        for (uid, launch) in launches {
            let event = trace.event_at(tracetree::trace::Uid(uid)).expect("a kernel");
            let call = tree.call_of(event).expect("a call");
            let above = tree.parent(call).and_then(|above| tree.event(above));
            assert_eq!(above.map(|above| trace.uid(above).0), launch, "{name}: kernel {uid}");
            found += usize::from(launch.is_some());
        }
        assert_eq!(found, linked, "{name}");
        let share = TraceInfo::of(trace).launched_share.expect("GPU time");
        assert!(share > 0.9987, "{name}: {share}");
        assert!(Unread::of(trace).is_empty(), "{name}: {:?}", Unread::of(trace));
    }
}

#[test]
fn an_arrow_between_other_calls_launches_nothing() {
    let process = |pid: u32, name: &str| json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}});
    let arrow = |ph: &str, category: &str, id: &str, pid: u32, ts: &str| json!({"ph": ph, "cat": category, "name": "torch_to_npu", "id": id, "pid": pid, "tid": 1, "ts": ts});
    let kernel = |pid: u32, ts: &str| json!({"ph": "X", "name": "k", "pid": pid, "tid": 1, "ts": ts, "dur": "1.5", "args": {}});
    let op = |name: &str, ts: f64, dur: f64| json!({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur});
    // Two devices start at the same nanosecond. One arrow has another category, and one begins outside of all ops.
    let list = vec![
        process(8, "Ascend Hardware"),
        process(9, "Ascend Hardware"),
        op("outer", 1.0, 10.0),
        op("inner", 2.0, 2.0),
        arrow("s", "async_npu", "20500", 1, "3.25"),
        arrow("f", "async_npu", "20500", 8, "20.500"),
        arrow("f", "async_npu", "20500", 9, "20.500"),
        arrow("s", "fwdbwd", "5", 1, "3.25"),
        arrow("f", "fwdbwd", "5", 8, "30"),
        arrow("s", "async_npu", "40000", 1, "15"),
        arrow("f", "async_npu", "40000", 8, "40"),
        arrow("f", "async_npu", "50000", 8, "50"),
        kernel(8, "20.5"),
        kernel(9, "20.5"),
        kernel(8, "30"),
        kernel(8, "40"),
        kernel(8, "50"),
    ];
    let tree = CallTree::build(read(&json!({ "traceEvents": list })));
    let kernels = tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu);
    let mut launches: Vec<(u32, &str)> = kernels
        .map(|call| {
            let uid = tree.trace().uid(tree.event(call).expect("a kernel")).0;
            (uid, tree.parent(call).map_or("", |above| tree.name(above)))
        })
        .collect();
    launches.sort_unstable();
    let gone = "(launch not in trace)";
    assert_eq!(launches, [(12, "inner"), (13, "inner"), (14, gone), (15, gone), (16, gone)]);
}

#[test]
fn mtia_kernels_and_copies_have_the_times_of_the_file() {
    for (name, kernels) in [("recorders/mtia_a.json", 487_960), ("recorders/mtia_b.json", 523_824)]
    {
        let Some(document) = real(name) else { return };
        let tree = CallTree::build(read(&document));
        let trace = tree.trace();
        let device = || events(&document).filter(|event| event["cat"] == "mtia_ccp_events");
        let is_copy = |event: &&Value| event["name"] == "dma_request";
        let sum = |events: &mut dyn Iterator<Item = &Value>| -> i64 {
            events.map(|event| nanos(&event["dur"])).sum()
        };
        assert_eq!(total(trace, Category::Kernel), (10, kernels), "{name}");
        assert_eq!(total(trace, Category::Memcpy), (20, 187_048), "{name}");
        assert_eq!(sum(&mut device().filter(|event| !is_copy(event))), kernels);
        assert_eq!(sum(&mut device().filter(is_copy)), 187_048);
        let sizes: u64 = device().filter_map(|event| event["args"]["size"].as_u64()).sum();
        assert_eq!(trace.gpu_bytes().iter().map(|(_, bytes)| bytes).sum::<u64>(), sizes);
        let stream = Stream { device: 9, number: 1 };
        assert!(
            trace
                .events()
                .filter(|id| trace.category(*id).is_gpu())
                .all(|id| { trace.stream(id) == Some(stream) })
        );
        for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
            let event = tree.event(call).expect("a GPU event");
            let is_kernel = trace.category(event) == Category::Kernel;
            assert_eq!(tree.launch(call).is_some(), is_kernel, "{name}");
        }
        assert_eq!(TraceInfo::of(trace).platform.vendor.label(), "mtia", "{name}");
        assert!(Unread::of(trace).is_empty(), "{name}");
    }
}

#[test]
fn mtia_waits_do_no_work_and_the_last_call_of_an_id_launches() {
    let device = |name: &str, ts: u32, args: Value| json!({"ph": "X", "cat": "mtia_ccp_events", "name": name, "pid": 3, "tid": 4, "ts": ts, "dur": 2, "args": args});
    let call = |name: &str, ts: u32, dur: u32| json!({"ph": "X", "cat": "mtia_runtime", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": {"correlation": 7}});
    let list = vec![
        call("late", 10, 3),
        call("early", 1, 2),
        call("inside", 11, 1),
        device("add", 20, json!({"correlation": 7, "stream": 1})),
        device("event_wait", 30, json!({"correlation": 7, "stream": 1})),
        device("event_record", 40, json!({"stream": 1})),
        device(
            "dma_request",
            50,
            json!({"stream": "2", "size": "64", "direction": "HOST_TO_DEVICE"}),
        ),
        device("dma_request", 60, json!({"stream": 2, "size": [], "direction": 7})),
        json!({"ph": "X", "cat": "mtia_insight", "name": "x", "pid": 3, "tid": 4, "ts": 1, "dur": 1}),
        json!({"ph": "C", "cat": "mtia_counters", "name": "x", "pid": 3, "ts": 1, "args": {"v": 1}}),
    ];
    let tree = CallTree::build(read(&json!({ "traceEvents": list })));
    let trace = tree.trace();
    assert_eq!(total(trace, Category::Kernel), (1, 2_000));
    assert_eq!(total(trace, Category::Memcpy), (2, 4_000));
    let kernel = tree.calls().find(|&call| tree.name(call) == "add").expect("a kernel");
    assert_eq!(tree.parent(kernel).map(|launch| tree.name(launch)), Some("late"));
    assert_eq!(trace.gpu_bytes().iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(), [64]);
    assert!(Unread::of(trace).is_empty(), "{:?}", trace.left_out());
    let left_out: u64 = trace.left_out().iter().map(|(_, count)| count).sum();
    assert_eq!(left_out, 4);
}

#[test]
fn xpu_events_have_their_queue_and_their_launch() {
    let list = json!([
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 9},
        {"ph": "X", "cat": "xpu_runtime", "name": "urEnqueueKernelLaunch", "pid": 1, "tid": 1, "ts": 2, "dur": 3, "args": {"correlation": 5}},
        {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 9, "ts": 20, "dur": 3, "args": {"correlation": 5, "device": 0, "sycl queue": 4}},
        {"ph": "X", "cat": "xpu_sync", "name": "wait", "pid": 0, "tid": 9, "ts": 30, "dur": 3, "args": {}}
    ]);
    let tree = CallTree::build(read(&json!({ "traceEvents": list })));
    let kernel = tree.calls().find(|&call| tree.kind(call) == CallKind::Gpu).expect("a kernel");
    let event = tree.event(kernel).expect("an event");
    assert_eq!(tree.trace().stream(event), Some(Stream { device: 0, number: 4 }));
    let above: Vec<&str> = tree.ancestors(kernel).map(|call| tree.name(call)).take(2).collect();
    assert_eq!(above, ["urEnqueueKernelLaunch", "aten::add"]);
    assert!(Unread::of(tree.trace()).is_empty());
}

#[test]
fn overhead_is_summed_from_the_file() {
    let Some(document) = real("inference/vllm_eager.b200.json.gz") else { return };
    let info = TraceInfo::of(&read(&document));
    let overhead = info.overhead.expect("overhead");
    for kind in &overhead.kinds {
        let own = events(&document)
            .filter(|event| event["cat"] == "overhead" && event["name"] == *kind.name);
        let times: Vec<i64> = own.map(|event| nanos(&event["dur"])).collect();
        assert_eq!(times.len() as u64, kind.count, "{}", kind.name);
        let sum = times.iter().sum::<i64>() as f64 / 1e3;
        assert!((sum - kind.time_us).abs() < 1e-6, "{}", kind.name);
        assert_eq!(kind.is_of_profiler, kind.name == "Activity Buffer Request");
    }
    assert_eq!(overhead.kinds.len(), 2);
    let without = info.span_us - overhead.profiler_us;
    assert!(overhead.span_without_profiler_us >= without - 1e-6);
}
