//! Tests for call trees: nesting, launches, modules, steps, and the forward and backward passes.

use crate::support::compared::trace;
use crate::support::enter_root;
use crate::support::find::{below, call, calls, path};
use crate::support::trace_builder::{Op, TraceBuilder};
use serde_json::{Value, json};
use tracetree::trace::{Nanos, Trace};
use tracetree::tree::{CallKind, CallTree, LinkKind, UNLINKED};

fn read(builder: TraceBuilder) -> Trace {
    trace("built", &builder.json())
}

/// An event on the trace's only thread, as written in a file.
fn event(category: &str, name: &str, start: f64, duration: f64, args: &Value) -> Value {
    json!({
        "ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": duration,
        "args": args,
    })
}

fn op(name: &str, start: f64, duration: f64) -> Value {
    event("cpu_op", name, start, duration, &json!({}))
}

fn launch(correlation: i64, start: f64) -> Value {
    event("cuda_runtime", "cudaLaunchKernel", start, 1.0, &json!({"correlation": correlation}))
}

fn kernel(name: &str, start: f64, args: &Value) -> Value {
    let mut kernel = event("kernel", name, start, 5.0, args);
    kernel["tid"] = json!(7);
    kernel
}

fn of_events(events: impl IntoIterator<Item = Value>) -> Trace {
    read(events.into_iter().fold(TraceBuilder::cuda(), TraceBuilder::event))
}

#[test]
fn calls_nest_from_the_thread_down_to_the_kernel() {
    let trace = read(TraceBuilder::cuda().thread("main", |t| {
        t.frame("model.py(3): forward", |t| {
            t.op("aten::linear", |t| t.op("aten::addmm", |t| t.kernel("gemm", 5.0)));
        });
    }));
    let tree = CallTree::build(trace);
    let kernel = call(&tree, "gemm");
    let above = [
        "cudaLaunchKernel",
        "aten::addmm",
        "aten::linear",
        "model.py(3): forward",
        "thread 5617 (main)",
    ];
    assert_eq!(path(&tree, kernel), above);
    let kinds: Vec<CallKind> = tree.ancestors(kernel).map(|above| tree.kind(above)).collect();
    let [thread, frame, op, runtime] =
        [CallKind::Thread, CallKind::Frame, CallKind::Op, CallKind::Runtime];
    assert_eq!(kinds, [runtime, op, op, frame, thread]);
    assert_eq!(tree.kind(kernel), CallKind::Gpu);
}

#[test]
fn of_two_calls_with_equal_start_the_longer_is_the_parent() {
    let trace = of_events([op("inner", 100.0, 10.0), op("outer", 100.0, 30.0)]);
    let tree = CallTree::build(trace);
    assert_eq!(below(&tree, call(&tree, "outer")), ["inner"]);
}

#[test]
fn spans_are_half_open() {
    let trace = of_events([op("first", 100.0, 10.0), op("second", 110.0, 10.0)]);
    let tree = CallTree::build(trace);
    assert_eq!(path(&tree, call(&tree, "second")), ["thread"]);
    assert!(tree.notes().is_empty());
}

#[test]
fn an_overlap_of_at_most_a_microsecond_is_timer_noise() {
    let trace = of_events([op("first", 100.0, 10.0), op("second", 109.0, 10.0)]);
    let tree = CallTree::build(trace);
    assert_eq!(path(&tree, call(&tree, "second")), ["thread"]);
    assert_eq!(tree.notes().get("TIMER_NOISE").map(|note| note.count), Some(1));
    assert!(tree.notes().get("BROKEN_NESTING").is_none());
}

#[test]
fn an_overhang_of_at_most_a_microsecond_is_timer_noise() {
    let trace = of_events([op("outer", 100.0, 10.0), op("inner", 105.0, 6.0)]);
    let tree = CallTree::build(trace);
    assert_eq!(below(&tree, call(&tree, "outer")), ["inner"]);
    assert!(tree.notes().get("BROKEN_NESTING").is_none());
}

/// A tree of ops with the same start and duration. Each op is nested in the previous op.
fn equal_ops(count: usize) -> CallTree {
    CallTree::build(of_events((0..count).map(|_| op("aten::add", 100.0, 50.0))))
}

#[test]
fn calls_nested_too_deep_become_siblings_at_the_deepest_level_and_are_counted() {
    let tree = equal_ops(2_000);
    assert_eq!(tree.len(), 2_001, "every call is in the tree");
    let deepest = tree.calls().map(|call| tree.ancestors(call).count()).max();
    assert_eq!(deepest, Some(512));
    let note = tree.notes().get("TOO_DEEP").expect("a note");
    assert_eq!(note.count, 2_000 - 512);
    assert!(equal_ops(512).notes().is_empty());
}

#[test]
fn calls_nested_too_deep_do_not_count_host_time_twice() {
    let tree = equal_ops(2_000);
    let total: Nanos = tree.calls().map(|call| tree.self_time(call)).sum();
    assert_eq!(total, Nanos(50_000));
    // The nested calls are followed by a call that is directly below the thread.
    let mut events: Vec<Value> = (0..600).map(|_| op("aten::add", 100.0, 50.0)).collect();
    events.push(op("aten::mul", 160.0, 7.0));
    let tree = CallTree::build(of_events(events));
    assert_eq!(path(&tree, call(&tree, "aten::mul")), ["thread"]);
    let total: Nanos = tree.calls().map(|call| tree.self_time(call)).sum();
    assert_eq!(total, Nanos(57_000));
}

#[test]
fn kernels_launched_too_deep_keep_their_launch() {
    let mut events: Vec<Value> = (0..600).map(|_| op("aten::add", 100.0, 50.0)).collect();
    events.extend([launch(3, 110.0), kernel("k", 130.0, &json!({"correlation": 3}))]);
    let tree = CallTree::build(of_events(events));
    let above = path(&tree, call(&tree, "k"));
    assert_eq!((above.len(), above[0], above[1]), (513, "cudaLaunchKernel", "aten::add"));
}

#[test]
fn a_call_that_outlasts_its_parent_keeps_its_kernels_and_is_counted() {
    let trace = of_events([
        op("outer", 100.0, 10.0),
        op("late", 105.0, 20.0),
        launch(3, 106.0),
        kernel("k", 130.0, &json!({"correlation": 3})),
        op("next", 126.0, 5.0),
    ]);
    let tree = CallTree::build(trace);
    assert_eq!(tree.notes().get("BROKEN_NESTING").map(|note| note.count), Some(1));
    assert_eq!(path(&tree, call(&tree, "k")), ["cudaLaunchKernel", "late", "outer", "thread"]);
    assert_eq!(path(&tree, call(&tree, "next")), ["thread"]);
}

#[test]
fn a_kernel_is_linked_by_correlation_and_not_by_external_id() {
    let trace = of_events([
        event("cpu_op", "right", 100.0, 10.0, &json!({"External id": 8})),
        launch(5, 102.0),
        event("cpu_op", "wrong", 120.0, 10.0, &json!({"External id": 5})),
        kernel("k", 130.0, &json!({"correlation": 5, "External id": 5})),
    ]);
    let tree = CallTree::build(trace);
    assert_eq!(path(&tree, call(&tree, "k")), ["cudaLaunchKernel", "right", "thread"]);
}

#[test]
fn without_runtime_calls_kernels_are_linked_by_external_id() {
    let trace = of_events([
        event("cpu_op", "op", 100.0, 10.0, &json!({"External id": 8})),
        kernel("k", 130.0, &json!({"correlation": 5, "External id": 8})),
        kernel("before", 90.0, &json!({"correlation": 6, "External id": 8})),
    ]);
    let tree = CallTree::build(trace);
    assert_eq!(path(&tree, call(&tree, "k")), ["op", "thread"]);
    assert_eq!(path(&tree, call(&tree, "before")), [UNLINKED]);
    assert!(tree.notes().get("LINKED_BY_EXTERNAL_ID").is_some());
}

#[test]
fn correlation_zero_and_minus_one_link_nothing() {
    let trace = of_events([
        op("op", 100.0, 10.0),
        launch(0, 101.0),
        launch(-1, 103.0),
        kernel("zero", 130.0, &json!({"correlation": 0})),
        kernel("minus_one", 140.0, &json!({"correlation": -1})),
    ]);
    let tree = CallTree::build(trace);
    for name in ["zero", "minus_one"] {
        assert_eq!(path(&tree, call(&tree, name)), [UNLINKED]);
        assert_eq!(tree.launch(call(&tree, name)), None);
    }
    assert_eq!(tree.notes().get("LAUNCH_NOT_CAPTURED").map(|note| note.count), Some(2));
}

#[test]
fn a_graph_launch_contains_all_its_kernels_in_order() {
    let trace = read(TraceBuilder::rocm().thread("main", |t| {
        t.launch("hipGraphLaunch").graph(|g| {
            for number in 0..421 {
                g.kernel(&format!("k{number}"), 1.0);
            }
        });
    }));
    let tree = CallTree::build(trace);
    let launch = call(&tree, "hipGraphLaunch");
    let expected: Vec<String> = (0..421).map(|number| format!("k{number}")).collect();
    assert_eq!(below(&tree, launch), expected);
    assert_eq!(tree.gpu_events(launch), 421);
}

#[test]
fn a_call_is_on_the_gpu_path_if_a_gpu_event_is_at_or_below_it() {
    let trace = read(TraceBuilder::cuda().thread("main", |t| {
        t.op("aten::relu", |t| {
            t.leaf("aten::empty");
            t.call("cudaStreamIsCapturing");
            t.kernel("relu", 5.0);
        });
    }));
    let tree = CallTree::build(trace);
    let on_path = |name| tree.is_gpu_path(call(&tree, name));
    assert!(on_path("aten::relu") && on_path("cudaLaunchKernel") && on_path("relu"));
    assert!(!on_path("aten::empty") && !on_path("cudaStreamIsCapturing"));
}

#[test]
fn a_call_knows_the_modules_around_it() {
    let trace = read(TraceBuilder::cuda().thread("main", |t| {
        t.module("Net_0", |t| {
            t.frame("net.py(9): forward", |t| {
                t.module("Linear_3", |t| t.op("aten::linear", |t| t.kernel("gemm", 5.0)));
            });
        });
    }));
    let tree = CallTree::build(trace);
    let kernel = call(&tree, "gemm");
    let stack: Vec<&str> = tree.module_stack(kernel).iter().map(|&m| tree.name(m)).collect();
    assert_eq!(stack, ["nn.Module: Net_0", "nn.Module: Linear_3"]);
    assert_eq!(tree.module(kernel).map(|module| tree.name(module)), Some("nn.Module: Linear_3"));
    assert_eq!(tree.module(call(&tree, "thread 5617 (main)")), None);
}

#[test]
fn self_time_excludes_the_host_calls_below() {
    let trace = of_events([op("outer", 100.0, 30.0), op("a", 105.0, 10.0), op("b", 120.0, 4.0)]);
    let tree = CallTree::build(trace);
    assert_eq!(tree.self_time(call(&tree, "outer")), Nanos(16_000));
    assert_eq!(tree.self_time(call(&tree, "a")), Nanos(10_000));
}

#[test]
fn annotations_are_intervals_and_not_calls() {
    let trace = read(TraceBuilder::cuda().thread("main", |t| {
        t.step(4, |t| t.annotation("Optimizer.step#SGD.step", |t| t.leaf("aten::add_")));
    }));
    let tree = CallTree::build(trace);
    assert_eq!(path(&tree, call(&tree, "aten::add_")), ["thread 5617 (main)"]);
    assert_eq!(calls(&tree, "ProfilerStep#4"), []);
}

#[test]
fn the_innermost_forward_op_is_linked_to_its_backward_op_on_another_thread() {
    let trace = read(TraceBuilder::cuda().thread("main", |t| {
        t.op(Op::new("aten::linear").forward(6), |t| t.leaf(Op::new("aten::addmm").forward(6)));
        t.leaf(Op::new("aten::relu").forward(7));
        t.wait_for("autograd", |t| {
            t.leaf(Op::new("ReluBackward0").backward(7));
            t.op(Op::new("evaluate_function").backward(6), |t| {
                t.leaf(Op::new("AddmmBackward0").backward(6));
            });
        });
    }));
    let tree = CallTree::build(trace);
    let names: Vec<(&str, &str)> =
        tree.backward_links().iter().map(|&(f, b)| (tree.name(f), tree.name(b))).collect();
    assert_eq!(names, [("aten::relu", "ReluBackward0"), ("aten::addmm", "evaluate_function")]);
}

#[test]
fn links_can_be_queried_and_exported_as_a_graph() {
    let trace = read(TraceBuilder::cuda().thread("main", |t| {
        t.op("aten::relu", |t| t.kernel("relu \"quoted\"", 5.0));
    }));
    let tree = CallTree::build(trace);
    let (launch, kernel) = (call(&tree, "cudaLaunchKernel"), call(&tree, "relu \"quoted\""));
    let links = tree.links();
    assert_eq!(links.targets(launch), [(kernel, LinkKind::Launch)]);
    assert_eq!(links.sources(kernel), [(launch, LinkKind::Launch)]);
    let dot = links.to_dot(&tree);
    assert!(dot.starts_with("digraph") && dot.contains("relu \\\"quoted\\\""), "{dot}");
}

#[test]
fn every_call_is_in_the_subtree_of_its_ancestors() {
    enter_root();
    let trace = Trace::open("examples/traces/resnet.cuda.json.gz").expect("an example trace");
    let tree = CallTree::build(trace);
    assert_eq!(tree.roots().map(|root| tree.size(root)).sum::<usize>(), tree.len());
    for call in tree.calls() {
        let below: usize = tree.children(call).map(|child| tree.size(child)).sum();
        assert_eq!(tree.size(call), below + 1);
        assert!(tree.children(call).all(|child| tree.parent(child) == Some(call)));
        assert!(tree.ancestors(call).all(|above| tree.is_below(call, above)));
    }
}
