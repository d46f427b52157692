//! Tests with traces whose times are whole microseconds: the call tree comes from what the trace states.

use crate::support::compared::compare_with;
use crate::support::{files, traces};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use tracetree::PerSide;
use tracetree::analysis::{Analysis, AnalysisOptions};
use tracetree::trace::{Category, EventId, ReadOptions, Trace, Uid};
use tracetree::tree::{CallId, CallKind, CallTree};

/// How the times of a trace become whole microseconds.
#[derive(Debug, Clone, Copy)]
enum Rounding {
    /// Starts and ends are rounded down, as PyTorch did up to version 2.2.
    Down,
    /// Starts and durations are rounded to the nearest microsecond.
    Nearest,
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&files::unpacked(path).expect("a trace")).expect("JSON")
}

fn read(document: &Value) -> Trace {
    let text = document.to_string();
    Trace::from_reader("t", text.as_bytes(), &ReadOptions::default()).expect("a trace")
}

fn events(document: &Value) -> &[Value] {
    document["traceEvents"].as_array().expect("events")
}

fn rounded(document: &Value, rounding: Rounding) -> Value {
    let mut document = document.clone();
    for event in document["traceEvents"].as_array_mut().expect("events") {
        let Some(start) = event["ts"].as_f64() else { continue };
        let duration = event["dur"].as_f64();
        let (start_us, duration_us) = match rounding {
            Rounding::Down => {
                (start.floor(), duration.map(|d| (start + d).floor() - start.floor()))
            }
            Rounding::Nearest => (start.round(), duration.map(f64::round)),
        };
        event["ts"] = json!(start_us as i64);
        if let Some(duration) = duration_us {
            event["dur"] = json!(duration as i64);
        }
    }
    document
}

/// For each host call, its uid and the uid of the call above it; -1 at the top.
fn parents(tree: &CallTree) -> Vec<(u32, i64)> {
    let uid = |call: CallId| tree.event(call).map(|event| i64::from(tree.trace().uid(event).0));
    let is_host = |call: &CallId| {
        matches!(tree.kind(*call), CallKind::Frame | CallKind::Op | CallKind::Runtime)
    };
    let above = |call| tree.parent(call).and_then(uid).unwrap_or(-1);
    let mut parents: Vec<_> = tree
        .calls()
        .filter(is_host)
        .map(|call| (uid(call).expect("a call") as u32, above(call)))
        .collect();
    parents.sort_unstable();
    parents
}

/// The number of frames, and of frames below another frame than the trace states.
fn below_another_frame(document: &Value, tree: &CallTree) -> (usize, usize) {
    let trace = tree.trace();
    let stated = |event: EventId, key: &str| {
        events(document)[trace.uid(event).0 as usize]["args"][key].as_i64()
    };
    let frames = tree.calls().filter(|&call| tree.kind(call) == CallKind::Frame);
    let (mut all, mut wrong) = (0, 0);
    for call in frames {
        let caller = tree.ancestors(call).find(|&above| tree.kind(above) == CallKind::Frame);
        let caller = caller.and_then(|above| stated(tree.event(above)?, "Python id"));
        let event = tree.event(call).expect("a frame");
        all += 1;
        wrong += usize::from(caller != stated(event, "Python parent id"));
    }
    (all, wrong)
}

fn changes(analysis: &Analysis) -> Vec<String> {
    analysis.changes().list().iter().map(|change| change.sentence.clone()).collect()
}

const SAMPLES: [&str; 8] = [
    "h100/train_base.pt.trace.json.gz",
    "h100/resnet_eager.pt.trace.json.gz",
    "h100/decode_eager.pt.trace.json.gz",
    "h100/tfm_math.pt.trace.json.gz",
    "cnn.pt.trace.json.gz",
    "cpu/cpu_base.pt.trace.json.gz",
    "cpu/cpu_no_stacks.pt.trace.json.gz",
    "tfm_compiled.pt.trace.json.gz",
];

#[test]
fn a_trace_keeps_its_tree_when_its_times_are_rounded() {
    for name in SAMPLES {
        let exact = json(&traces::example(name));
        let expected = parents(&CallTree::build(read(&exact)));
        for rounding in [Rounding::Down, Rounding::Nearest] {
            let document = rounded(&exact, rounding);
            let tree = CallTree::build(read(&document));
            let (frames, wrong) = below_another_frame(&document, &tree);
            assert_eq!(wrong, 0, "{name} {rounding:?}: of {frames} frames");
            let found = parents(&tree);
            assert_eq!(found.len(), expected.len(), "{name}");
            let is_uncertain = |uid: u32| {
                let event = tree.trace().event_at(Uid(uid)).expect("an event");
                tree.is_position_uncertain(tree.call_of(event).expect("a call"))
            };
            let moved = || found.iter().zip(&expected).filter(|(a, b)| a != b);
            let allowed = match rounding {
                Rounding::Down => 0,
                Rounding::Nearest => 10,
            };
            let count = moved().count();
            assert!(count <= allowed, "{name} {rounding:?}: {count} of {} moved", found.len());
            assert!(moved().all(|((uid, _), _)| is_uncertain(*uid)), "{name} {rounding:?}");
            let uncertain =
                tree.calls().filter(|&call| tree.is_position_uncertain(call)).count() as u64;
            let noted = tree.notes().get("POSITION_UNCERTAIN").map_or(0, |note| note.count);
            assert_eq!(uncertain, noted, "{name}");
            let most = match rounding {
                Rounding::Down => 2,
                Rounding::Nearest => 400,
            };
            assert!(uncertain <= most, "{name} {rounding:?}: {uncertain} uncertain");
        }
    }
}

#[test]
fn a_trace_and_its_rounded_times_are_one_program() {
    for name in SAMPLES {
        let exact = json(&traces::example(name));
        let document = rounded(&exact, Rounding::Down);
        for pair in [[&exact, &document], [&document, &exact], [&document, &document]] {
            let traces = PerSide::new(read(pair[0]), read(pair[1]));
            compare_with(traces, AnalysisOptions::default(), |analysis| {
                assert_eq!(changes(analysis), Vec::<String>::new(), "{name}");
                assert!(analysis.changes().is_identical(), "{name}");
            });
        }
    }
}

#[test]
fn the_frames_of_real_traces_are_below_the_frames_that_called_them() {
    for name in ["us_a", "us_b"] {
        let Some(path) = traces::real(&format!("recorders/{name}.json")) else { return };
        let document = json(&path);
        let tree = CallTree::build(read(&document));
        assert_eq!(below_another_frame(&document, &tree), (6, 0), "{name}");
    }
    let path = |name| traces::real(&format!("recorders/{name}.json")).expect("the folder is there");
    let traces = PerSide::new(read(&json(&path("us_a"))), read(&json(&path("us_b"))));
    compare_with(traces, AnalysisOptions::default(), |analysis| {
        assert_eq!(changes(analysis), Vec::<String>::new());
    });
}

/// A frame with a stated caller.
fn frame(
    id: impl Into<Value>,
    caller: impl Into<Value>,
    name: &str,
    start: i64,
    duration: i64,
) -> Value {
    let [id, caller]: [Value; 2] = [id.into(), caller.into()];
    json!({"ph": "X", "cat": "python_function", "name": name, "pid": 1, "tid": 1, "ts": start,
           "dur": duration, "args": {"Python id": id, "Python parent id": caller}})
}

fn op(number: i64, name: &str, start: i64, duration: i64) -> Value {
    json!({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start,
           "dur": duration, "args": {"Ev Idx": number}})
}

fn tree(list: impl IntoIterator<Item = Value>) -> CallTree {
    let list: Vec<Value> = list.into_iter().collect();
    CallTree::build(read(&json!({ "traceEvents": list })))
}

/// The names of a call and the calls above it, innermost first, without the thread.
fn path(tree: &CallTree, name: &str) -> Vec<String> {
    let call = tree.calls().find(|&call| tree.name(call) == name).expect("a call");
    let all = std::iter::once(call).chain(tree.ancestors(call));
    all.filter(|&call| tree.kind(call) != CallKind::Thread)
        .map(|call| tree.name(call).to_owned())
        .collect()
}

#[test]
fn a_frame_is_below_its_caller_wherever_the_time_puts_it() {
    // By time, `len` could be in `a` or in `b`, and `b` in `len`.
    let of = |caller: i64, ids: [i64; 2]| {
        tree(vec![
            frame(json!(1), json!(null), "main", 0, 100),
            frame(json!(4), json!(1), "a", 20, 10),
            frame(json!(ids[0]), json!(caller), "len", 30, 0),
            frame(json!(ids[1]), json!(1), "b", 30, 10),
        ])
    };
    assert_eq!(path(&of(4, [5, 6]), "len"), ["len", "a", "main"]);
    assert_eq!(path(&of(6, [7, 6]), "len"), ["len", "b", "main"]);
    assert_eq!(path(&of(1, [5, 6]), "len"), ["len", "main"]);
    assert_eq!(path(&of(6, [7, 6]), "b"), ["b", "main"]);
}

#[test]
fn ids_may_be_text_and_as_long_as_64_bits() {
    let (one, two) = (json!("18446744073709551615"), json!(9_223_372_036_854_775_807_u64));
    let list = vec![
        frame(one.clone(), json!(null), "main", 0, 10),
        frame(two, one, "inner", 10, 0),
        frame(json!(7), json!("none"), "other", 11, 0),
    ];
    let tree = tree(list);
    assert_eq!(path(&tree, "inner"), ["inner", "main"]);
    assert_eq!(path(&tree, "other"), ["other"]);
}

#[test]
fn a_frame_whose_caller_is_on_no_thread_is_at_the_top() {
    let tree = tree(vec![
        frame(json!(1), json!(null), "main", 0, 100),
        frame(json!(3), json!(99), "lost", 50, 10),
        frame(json!(4), json!(3), "below", 60, 0),
    ]);
    assert_eq!(path(&tree, "lost"), ["lost"]);
    assert_eq!(path(&tree, "below"), ["below", "lost"]);
}

#[test]
fn ids_that_contradict_each_other_end_in_a_tree() {
    for ids in [[(1, 2), (2, 1), (3, 3)], [(1, 1), (1, 1), (1, 1)], [(3, 1), (2, 3), (1, 2)]] {
        let frames = ids.iter().map(|&(id, caller)| frame(json!(id), json!(caller), "f", 5, 5));
        let tree = tree(frames);
        assert_eq!(tree.calls().filter(|&call| tree.kind(call) == CallKind::Frame).count(), 3);
    }
}

#[test]
fn an_op_at_the_end_of_another_is_inside_it_if_it_is_elsewhere() {
    let clear = [op(1, "expand", 0, 5), op(2, "as_strided", 2, 1)];
    let tie = [op(3, "expand", 20, 3), op(4, "as_strided", 23, 0)];
    let known = tree(clear.iter().chain(&tie).cloned());
    let inner = |tree: &CallTree| -> Vec<usize> {
        let calls = tree.calls().filter(|&call| tree.name(call) == "as_strided");
        calls.map(|call| tree.ancestors(call).count()).collect()
    };
    assert_eq!(inner(&known), [2, 2]);
    assert!(known.notes().get("POSITION_UNCERTAIN").is_none());

    let beside = [op(1, "expand", 0, 5), op(2, "as_strided", 6, 1)];
    let known = tree(beside.iter().chain(&tie).cloned());
    assert_eq!(inner(&known), [1, 1]);
    assert!(known.notes().get("POSITION_UNCERTAIN").is_none());

    let unknown = tree(tie.to_vec());
    let uncertain: Vec<_> = unknown
        .calls()
        .filter(|&call| unknown.is_position_uncertain(call))
        .map(|call| unknown.name(call))
        .collect();
    assert_eq!(uncertain, ["expand", "as_strided"]);
    assert_eq!(unknown.notes().get("POSITION_UNCERTAIN").map(|note| note.count), Some(2));
}

#[test]
fn an_op_between_two_frames_of_one_caller_is_below_the_caller() {
    // The op starts when `main` seems to end, but `main` calls another frame afterwards.
    let of = |last: i64| {
        let mut late = frame(json!(3), json!(1), "late", 10, 0);
        late["args"]["Ev Idx"] = json!(last);
        let mut main = frame(json!(1), json!(null), "main", 0, 10);
        main["args"]["Ev Idx"] = json!(1);
        path(&tree(vec![main, op(2, "op", 10, 0), late]), "op")
    };
    assert_eq!(of(3), ["op", "main"]);
}

#[test]
fn the_times_of_a_trace_with_nanoseconds_decide() {
    let of = |start: f64| {
        let mut list = vec![
            frame(json!(1), json!(null), "main", 0, 100),
            frame(json!(2), json!(1), "a", 20, 10),
            frame(json!(3), json!(1), "b", 25, 1),
        ];
        list[0]["ts"] = json!(start);
        path(&tree(list), "b")
    };
    assert_eq!(of(0.5), ["b", "a", "main"]);
    assert_eq!(of(0.0), ["b", "main"]);
}

#[test]
fn many_calls_in_one_microsecond_take_no_time() {
    let frames = (0..20_000).map(|at| frame(json!(at), json!(at - 1), "f", 5, 0));
    let ops = (0..20_000).map(|at| op(at, "op", 5, at % 2));
    let tree = tree(frames.chain(ops));
    let mut kinds: HashMap<CallKind, usize> = HashMap::new();
    tree.calls().for_each(|call| *kinds.entry(tree.kind(call)).or_default() += 1);
    assert_eq!((kinds[&CallKind::Frame], kinds[&CallKind::Op]), (20_000, 20_000));
    assert!(tree.notes().get("TOO_DEEP").is_some());
    let trace = tree.trace();
    assert!(trace.events().all(|event| trace.category(event) != Category::Kernel));
}
