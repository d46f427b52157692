//! Tests with JSON from rocprofv3: totals and links are checked against the raw JSON, and a damaged file must result in
//! an error or in a trace of limited size.

use crate::support::splitmix::SplitMix;
use crate::support::sqlite::Database;
use crate::support::{files, traces};
use serde_json::{Value, json};
use std::collections::HashMap;
use tracetree::program::{TraceInfo, Unread};
use tracetree::trace::{Category, EventId, ReadOptions, Recorder, Stream, Trace};
use tracetree::tree::{CallKind, CallTree};
use tracetree::{Analysis, Error, Side, TraceDiff};

fn read(bytes: &[u8]) -> Result<Trace, Error> {
    Trace::from_reader("t", bytes, &ReadOptions::default())
}

fn trace(document: &Value) -> Trace {
    read(document.to_string().as_bytes()).expect("a trace")
}

fn real(name: &str) -> Option<Value> {
    let path = traces::real(&format!("recorders/{name}.json"))?;
    Some(serde_json::from_slice(&files::unpacked(&path).expect("a trace")).expect("JSON"))
}

fn of_category(trace: &Trace, category: Category) -> Vec<EventId> {
    trace.events().filter(|id| trace.category(*id) == category).collect()
}

#[test]
fn dispatches_have_the_times_names_and_grids_of_the_file() {
    for (name, time, tensile) in
        [("rocprofv3_a", 211_403, 60_081), ("rocprofv3_b", 241_443, 90_121)]
    {
        let Some(document) = real(name) else { return };
        let trace = trace(&document);
        let tool = &document["rocprofiler-sdk-tool"][0];
        let names: HashMap<i64, &str> = tool["kernel_symbols"]
            .as_array()
            .expect("kernels")
            .iter()
            .map(|kernel| {
                let name = kernel["formatted_kernel_name"].as_str().expect("a name");
                (kernel["kernel_id"].as_i64().expect("an id"), name)
            })
            .collect();
        let dispatches = tool["buffer_records"]["kernel_dispatch"].as_array().expect("a list");
        let kernels = of_category(&trace, Category::Kernel);
        assert_eq!((kernels.len(), dispatches.len()), (20, 20), "{name}");
        for (&kernel, dispatch) in kernels.iter().zip(dispatches) {
            let info = &dispatch["dispatch_info"];
            let number = |value: &Value| value.as_i64().expect("a number");
            assert_eq!(trace.name(kernel), names[&number(&info["kernel_id"])], "{name}");
            let start = number(&dispatch["start_timestamp"]);
            assert_eq!(trace.start(kernel).0, start);
            assert_eq!(trace.end(kernel).0, number(&dispatch["end_timestamp"]));
            let stream = number(&dispatch["stream_id"]["handle"]);
            assert_eq!(trace.stream(kernel), Some(Stream { device: 2, number: stream }));
            let grid = trace.grids().get(kernel).expect("a grid");
            let size = |key: &str, axis: &str| number(&info[key][axis]);
            let grids = ["x", "y", "z"].map(|axis| {
                (size("grid_size", axis) + size("workgroup_size", axis) - 1)
                    / size("workgroup_size", axis)
            });
            assert_eq!(
                trace.text(grid.grid),
                format!("[{}, {}, {}]", grids[0], grids[1], grids[2])
            );
        }
        let sum = |wanted: &dyn Fn(&str) -> bool| -> i64 {
            let own = kernels.iter().filter(|kernel| wanted(trace.name(**kernel)));
            own.map(|kernel| trace.duration(*kernel).0).sum()
        };
        assert_eq!(sum(&|_| true), time, "{name}");
        assert_eq!(sum(&|name| name.starts_with("Cijk")), tensile, "{name}");
        let device = &trace.header().devices[0];
        assert_eq!((device.id, &*device.name), (2, "AMD Instinct MI350X"));
        assert_eq!((device.capability, device.warp_size), (Some((9, 5)), Some(64)));
        assert_eq!(device.multiprocessors, Some(256));
        assert_eq!(trace.header().recorder, Recorder::Rocprof);
        assert_eq!(TraceInfo::of(&trace).platform.vendor.label(), "amd");
        assert!(Unread::of(&trace).is_empty());
    }
}

#[test]
fn the_longer_matrix_products_are_the_whole_difference() {
    let (Some(a), Some(b)) = (real("rocprofv3_a"), real("rocprofv3_b")) else { return };
    for (one, two, sign) in [(&a, &b, 1), (&b, &a, -1), (&a, &a, 0)] {
        let trees = [one, two].map(|document| CallTree::build(trace(document)));
        let [one, two] = trees;
        let analysis = Analysis::new(TraceDiff::new(one, two));
        let rows = analysis.rows();
        let difference: i64 =
            rows.iter().map(|row| row.time.candidate.0 - row.time.baseline.0).sum();
        assert_eq!(difference, sign * 30_040);
        // The two Tensile kernels take 60,081 → 90,121 ns together.
        let changed = rows.iter().filter(|row| row.time.candidate != row.time.baseline);
        let names: Vec<&str> =
            changed.flat_map(|row| row.event_names(analysis.diff(), Side::Baseline)).collect();
        assert!(names.iter().all(|name| name.starts_with("Cijk_")), "{names:?}");
        assert_eq!(names.is_empty(), sign == 0);
    }
}

/// A file with one process that has every kind of record.
fn full() -> Value {
    let api = |kind: u32, operation: u32, id: Value, thread: u32, start: u64, end: u64| {
        json!({"kind": kind, "operation": operation, "correlation_id": {"internal": id, "external": 0},
               "thread_id": thread, "start_timestamp": start, "end_timestamp": end})
    };
    let dispatch = |id: u32, agent: u32, kernel: u32, start: u64| {
        json!({"kind": 3, "operation": 2, "thread_id": 70, "correlation_id": {"internal": id},
               "start_timestamp": start, "end_timestamp": start + 100,
               "dispatch_info": {"agent_id": {"handle": agent}, "queue_id": {"handle": 5}, "kernel_id": kernel,
                                 "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 1000, "y": 1, "z": 1}},
               "stream_id": {"handle": 9}})
    };
    json!({"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 77, "command": ["secret"]},
        "agents": [
            {"id": {"handle": 10}, "type": 1, "logical_node_id": 0, "name": "CPU"},
            {"id": {"handle": 11}, "type": 2, "logical_node_id": 1, "name": "gfx942", "product_name": "MI300X"},
            {"id": {"handle": "12"}, "type": 2, "logical_node_id": 2, "name": "gfx942", "product_name": "MI300X"}
        ],
        "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "void gemm()"}, {"kernel_id": 2, "kernel_name": "raw.kd"}],
        "strings": {
            "buffer_records": [{"kind": "NONE"}, {"kind": "HIP", "operations": ["hipFree", "hipLaunchKernel"]},
                               {"kind": "MARKER", "operations": ["roctxRangePushA"]}, {"kind": "KERNEL_DISPATCH"},
                               {"kind": "COPY", "operations": ["NONE", "HOST_TO_DEVICE"]}, {"kind": "RCCL", "operations": ["ncclAllReduce"]}],
            "marker_api": [{"key": 21, "value": "forward"}]
        },
        "buffer_records": {
            "kernel_dispatch": [dispatch(34, 12, 2, 900), dispatch(33, 11, 1, 500), dispatch(99, 11, 3, 700)],
            "hip_api": [api(1, 1, json!(33), 70, 300, 350), api(1, 1, json!("34"), 71, 360, 400), api(1, 7, json!(35), 70, 410, 420)],
            "rccl_api": [api(5, 0, json!(36), 70, 290, 450)],
            "marker_api": [api(2, 0, json!(21), 70, 200, 600), api(2, 0, json!(22), 70, 610, 611)],
            "memory_copy": [{"kind": 4, "operation": 1, "correlation_id": {"internal": 35}, "start_timestamp": 1000,
                             "end_timestamp": 1010, "src_agent_id": {"handle": 10}, "dst_agent_id": {"handle": 11}, "bytes": 4096}],
            "memory_allocation": [{}, {}],
            "future_records": [{}]
        }
    }]})
}

#[test]
fn calls_ranges_and_copies_are_read_and_linked() {
    let tree = CallTree::build(trace(&full()));
    let trace = tree.trace();
    let named = |name: &str| {
        let call = tree.calls().find(|&call| tree.name(call) == name);
        call.unwrap_or_else(|| panic!("no {name}"))
    };
    let above = |name: &str| -> Vec<&str> {
        tree.ancestors(named(name)).map(|call| tree.name(call)).collect()
    };
    assert_eq!(above("void gemm()"), ["hipLaunchKernel", "ncclAllReduce", "thread"]);
    assert_eq!(above("raw"), ["hipLaunchKernel", "thread"]);
    assert_eq!(above("(kernel 3)"), ["(launch not in trace)"]);
    assert_eq!(
        above("Memcpy HtoD (Host -> Device)"),
        ["(operation 1.7)", "ncclAllReduce", "thread"]
    );
    let annotations = of_category(trace, Category::UserAnnotation);
    let names: Vec<&str> = annotations.iter().map(|id| trace.name(*id)).collect();
    assert_eq!(names, ["forward", "roctxRangePushA"]);
    let stream = |name| trace.stream(tree.event(named(name)).expect("an event"));
    assert_eq!(stream("raw"), Some(Stream { device: 2, number: 9 }));
    assert_eq!(stream("void gemm()"), Some(Stream { device: 1, number: 9 }));
    assert_eq!(trace.gpu_bytes().iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(), [4096]);
    assert_eq!(trace.header().devices.len(), 2);
    assert_eq!(Unread::of(trace).by_category(), [("future_records".to_owned(), 1)]);
    let left_out: u64 = trace.left_out().iter().map(|(_, count)| count).sum();
    assert_eq!(trace.len() as u64 + left_out, trace.total_events());
    let shown = format!("{:?}", TraceInfo::of(trace));
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn processes_number_their_calls_apart() {
    let mut document = full();
    let process = document["rocprofiler-sdk-tool"][0].clone();
    let list = document["rocprofiler-sdk-tool"].as_array_mut().expect("a list");
    list.push(process);
    list[1]["metadata"]["pid"] = json!(78);
    list[1]["buffer_records"]["hip_api"] = json!([]);
    let tree = CallTree::build(trace(&document));
    let launched = |call| tree.kind(call) == CallKind::Gpu && tree.launch(call).is_some();
    assert_eq!(tree.calls().filter(|&call| launched(call)).count(), 3);
    assert_eq!(tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu).count(), 8);
    assert_eq!(tree.trace().header().devices.len(), 2);
}

#[test]
fn missing_and_wrong_parts_lose_only_what_they_say() {
    let paths = [
        "/agents",
        "/kernel_symbols",
        "/strings",
        "/metadata",
        "/strings/buffer_records",
        "/buffer_records/hip_api",
        "/buffer_records/kernel_dispatch/0/dispatch_info",
        "/buffer_records/kernel_dispatch/0/dispatch_info/workgroup_size",
        "/buffer_records/kernel_dispatch/0/dispatch_info/workgroup_size/x",
        "/buffer_records/kernel_dispatch/0/stream_id",
        "/buffer_records/kernel_dispatch/0/correlation_id",
        "/buffer_records/memory_copy/0/dst_agent_id",
        "/agents/1/id",
        "/agents/1/name",
    ];
    let wrong = [
        json!(null),
        json!(0),
        json!(-1),
        json!("x"),
        json!([]),
        json!({}),
        json!([null, 5, [[]]]),
        json!(u64::MAX),
    ];
    for path in paths {
        for value in &wrong {
            let mut document = full();
            let place = format!("/rocprofiler-sdk-tool/0{path}");
            *document.pointer_mut(&place).unwrap_or_else(|| panic!("{place}")) = value.clone();
            let trace = trace(&document);
            assert_eq!(of_category(&trace, Category::Kernel).len(), 3, "{path} {value}");
            CallTree::build(trace);
        }
    }
    for value in wrong {
        let mut document = full();
        document["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"][0]["end_timestamp"] =
            value;
        let trace = trace(&document);
        assert!(of_category(&trace, Category::Kernel).len() >= 2);
    }
    let empty = trace(&json!({"rocprofiler-sdk-tool": [{}, 7, null]}));
    assert!(empty.is_empty() && empty.notes().get("NO_EVENTS").is_some());
}

#[test]
fn damage_is_an_error_or_a_bounded_trace() {
    let sound = full().to_string().into_bytes();
    let mut random = SplitMix::new(57);
    let (mut refused, mut built) = (0, 0);
    for round in 0..2_000 {
        let mut bytes = sound.clone();
        for _ in 0..1 + round % 3 {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.drain(at..(at + 1 + random.below(20)).min(bytes.len()))),
                2 => bytes[at] = b"0-9e.{}[]\",:\0\xff"[random.below(14)],
                _ => {
                    let other = random.below(bytes.len());
                    bytes.swap(at, other);
                }
            }
            if bytes.is_empty() {
                bytes.push(b'{');
            }
        }
        match read(&bytes) {
            Ok(trace) => {
                assert!(trace.len() <= bytes.len());
                CallTree::build(trace);
                built += 1;
            }
            Err(error) => {
                assert!(error.to_string().starts_with("t: "), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 200 && built > 200, "{refused} refused, {built} built");
}

#[test]
fn other_files_of_rocprofv3_are_refused_with_the_command_that_records_json() {
    let error = |bytes: &[u8]| read(bytes).expect_err("another format").to_string();
    for packet in [
        &b"\x0a\x10\x32\x0e\x0a\x04\x08\x06"[..],
        b"\x0a\x80\x01\xe2\x03\x10\x08\x01",
        b"\x0a\x06\x50\x01\x68\x02\x40\x05",
    ] {
        let text = error(packet);
        assert!(
            text.contains("a Perfetto trace") && text.contains("--output-format json"),
            "{text}"
        );
    }
    let mut database = Database::default();
    database.table(
        "rocpd_string_0000aa",
        "id INTEGER, string TEXT",
        vec![vec![1.into(), "a".into()]],
    );
    let text = error(&database.bytes());
    assert!(text.contains("a rocpd database") && text.contains("--output-format json"), "{text}");
    assert!(error(b"\n{}").contains("no traceEvents"));
    assert!(!error(b"\nsome text").contains("Perfetto"));
}
