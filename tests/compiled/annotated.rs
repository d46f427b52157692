//! Tests with graph replays whose kernels are annotated with the names of program parts. Each program part becomes a
//! call below the graph launch.

use crate::support::files::unpacked;
use crate::support::laws;
use crate::support::trace_builder::{HostThread, TraceBuilder};
use crate::support::traces::h100;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tracetree::diff::TraceDiff;
use tracetree::program::{CaptureSource, Captures};
use tracetree::trace::{Nanos, ReadOptions, Trace};
use tracetree::tree::{CallId, CallKind, CallTree, ModuleName, TreeOptions};
use tracetree::{Analysis, PerSide, Side};

/// A trace with one graph launch that runs the given kernels, each with its arguments.
fn replay_of(kernels: &[(&str, Value)]) -> String {
    let launch = |t: &mut HostThread<'_>| {
        t.launch("cudaGraphLaunch").graph(|graph| {
            kernels.iter().for_each(|(name, arguments)| graph.annotated(name, 2.0, arguments));
        });
    };
    TraceBuilder::cuda().thread("main", launch).json()
}

fn tree_of(json: &str) -> CallTree {
    tree_with(json, &CaptureSource::Beside)
}

fn tree_with(json: &str, source: &CaptureSource) -> CallTree {
    let reading = ReadOptions::default();
    let trace = Arc::new(Trace::from_reader("replay", json.as_bytes(), &reading).expect("a trace"));
    let captures = source.open(&trace, None, &reading).expect("no capture");
    let tree = CallTree::build(trace);
    captures.complete(tree, TreeOptions::default(), &reading).expect("a tree")
}

/// The names of the calls below the graph launch, indented by depth.
fn below(tree: &CallTree) -> Vec<String> {
    let launch = tree.calls().find(|&call| tree.is_graph_launch(call)).expect("a graph launch");
    let depth = |call: CallId| tree.ancestors(call).count();
    let line = |call: CallId| {
        format!("{}{}", " ".repeat(depth(call) - depth(launch) - 1), tree.name(call))
    };
    tree.calls().filter(|&call| call != launch && tree.is_below(call, launch)).map(line).collect()
}

#[test]
fn a_path_of_modules_is_split_and_neighbours_share_its_calls() {
    let tree = tree_of(&replay_of(&[
        ("gemm", json!({"name": "layers.0.attention.wq"})),
        ("bias", json!({"name": "layers.0.attention.wq"})),
        ("softmax", json!({"name": "layers.0.attention"})),
        ("add", json!({"name": "layers.0"})),
        ("gemm", json!({"name": "layers.1.attention.wq"})),
        ("copy", json!({})),
        ("gemm", json!({"name": "layers.1.attention.wq"})),
    ]));
    let expected = [
        "layers.0",
        " attention",
        "  wq",
        "   gemm",
        "   bias",
        "  softmax",
        " add",
        "layers.1",
        " attention",
        "  wq",
        "   gemm",
        "layers.1",
        " attention",
        "  wq",
        "   gemm",
    ];
    let lines = below(&tree);
    assert_eq!(lines[0], "copy", "a kernel without a part stays directly below the launch");
    assert_eq!(lines[1..], expected);
    let note = tree.notes().get("CAPTURE_ANNOTATED").expect("a note");
    assert!(note.message.starts_with("6 of 7 kernels of 1 graph launch are"), "{}", note.message);
    assert_eq!((tree.replays()[0].named, tree.replays()[0].placed), (6, 0));
}

#[test]
fn kernels_of_a_part_are_before_or_after_its_inner_parts_as_they_ran() {
    let tree = tree_of(&replay_of(&[
        ("norm", json!({"name": "layer.0"})),
        ("gemm", json!({"name": "layer.0.mlp"})),
        ("add", json!({"name": "layer.0"})),
        ("gemm", json!({"name": "layer.0.head"})),
        ("scale", json!({"name": "layer.0"})),
    ]));
    assert_eq!(
        below(&tree),
        ["layer.0", " norm", " mlp", "  gemm", " add", " head", "  gemm", " scale"]
    );
}

#[test]
fn known_graph_nodes_decide_which_kernels_are_neighbours() {
    let node = |number: u32, part: &str| json!({"name": part, "graph node id": number});
    let tree = tree_of(&replay_of(&[
        ("gemm", node(1, "compute")),
        ("all_gather", node(3, "transfer")),
        ("gelu", node(2, "compute")),
    ]));
    assert_eq!(below(&tree), ["compute", " gemm", " gelu", "transfer", " all_gather"]);
}

#[test]
fn torchtitan_names_are_read_and_names_that_are_not_paths_are_one_part() {
    let tree = tree_of(&replay_of(&[
        ("gemm", json!({"module_fqn": "layers.3.wq"})),
        ("relu", json!({"name": "relu, 2.0 x"})),
    ]));
    assert_eq!(below(&tree), ["layers.3", " wq", "  gemm", "relu, 2.0 x", " relu"]);
}

#[test]
fn part_names_of_kernels_outside_of_graphs_are_ignored() {
    let json = TraceBuilder::cuda()
        .thread("main", |t| t.op("aten::mm", |t| t.kernel("gemm", 1.0)))
        .json()
        .replace("\"correlation\"", "\"name\": \"part\", \"correlation\"");
    let tree = tree_of(&json);
    assert!(tree.calls().all(|call| !tree.is_captured(call)));
    assert!(tree.replays().is_empty());
}

#[test]
fn named_parts_can_be_ignored() {
    let json = replay_of(&[("gemm", json!({"name": "layers.0"}))]);
    assert_eq!(below(&tree_with(&json, &CaptureSource::Nowhere)), ["gemm"]);
}

#[test]
fn the_laws_hold_for_named_parts() {
    let part = |name: &str| json!({"name": name});
    let named = [("gemm", part("a.0.b")), ("add", part("a.0")), ("gemm", part("a.1.b"))];
    let one = tree_of(&replay_of(&named));
    let two = tree_of(&replay_of(&named[..2]));
    let bare = tree_of(&replay_of(&named.clone().map(|(name, _)| (name, json!({})))));
    for (one, two) in [(&one, &one), (&one, &two), (&one, &bare)] {
        laws::hold_for_a_pair(PerSide::new(one, two));
    }
    assert_eq!(TraceDiff::new(one.clone(), one.clone()).differences(), vec![]);
    assert_eq!(
        TraceDiff::new(one, bare).differences(),
        vec![],
        "more detail on one side is not a difference"
    );
}

/// The instance names of the modules above a call, outermost first.
fn modules_above(tree: &CallTree, call: CallId) -> Vec<&str> {
    let modules = tree.ancestors(call).filter(|&above| tree.is_module(above));
    let mut names: Vec<&str> =
        modules.map(|above| ModuleName::instance_or_name(tree.name(above))).collect();
    names.reverse();
    names
}

/// A recorded replay in which each kernel below a captured module is annotated with its module path. The annotations
/// have the same form as those that PyTorch writes. Also returns the modules of each annotated kernel, by uid.
fn annotated_replay() -> (String, HashMap<u32, Vec<String>>) {
    let replay = Trace::open(h100("decode_graph")).expect("a trace");
    let capture = Trace::open(h100("decode_graph.capture")).expect("a trace");
    let tree = Captures::of([capture]).add_to(&CallTree::build(replay), TreeOptions::default());
    let bytes = unpacked(&h100("decode_graph")).expect("a trace");
    let mut document: Value = serde_json::from_slice(&bytes).expect("a JSON document");
    let mut modules = HashMap::new();
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
        let uid = tree.trace().uid(tree.event(call).expect("an event")).0;
        let above: Vec<String> =
            modules_above(&tree, call).into_iter().map(str::to_owned).collect();
        if !above.is_empty() {
            document["traceEvents"][uid as usize]["args"]["name"] = above.join(".").into();
            modules.insert(uid, above);
        }
    }
    (document.to_string(), modules)
}

#[test]
fn kernels_of_a_recorded_replay_are_below_the_modules_that_they_name() {
    let (json, modules) = annotated_replay();
    assert!(modules.len() > 200, "{}", modules.len());
    let (tree, bare) =
        (tree_of(&json), CallTree::build(Trace::open(h100("decode_graph")).expect("a trace")));
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
        let uid = tree.trace().uid(tree.event(call).expect("an event")).0;
        let mut parts: Vec<&str> = tree
            .ancestors(call)
            .filter(|&above| tree.is_captured(above))
            .map(|above| tree.name(above))
            .collect();
        parts.reverse();
        assert_eq!(parts, modules.get(&uid).cloned().unwrap_or_default(), "{uid}");
    }
    let time = |tree: &CallTree| -> Nanos {
        let gpu = tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu);
        gpu.map(|call| tree.duration(call)).sum()
    };
    assert_eq!(time(&tree), time(&bare));
    assert_eq!(tree.trace().own_events().len(), bare.trace().len());
}

/// The rows of a comparison, formatted as text.
fn rows(analysis: &Analysis) -> Vec<String> {
    analysis
        .rows()
        .iter()
        .map(|row| format!("{:?} {:?}", row.time, row.events.as_ref().map(Vec::len)))
        .collect()
}

#[test]
fn parts_named_on_one_side_only_do_not_change_the_results() {
    let (json, _) = annotated_replay();
    let open = |name| CallTree::build(Trace::open(h100(name)).expect("a trace"));
    let capture = Trace::open(h100("decode_graph.capture")).expect("a trace");
    let captured = Captures::of([capture]).add_to(&open("decode_graph"), TreeOptions::default());
    for other in [open("decode_eager"), open("decode_graph"), captured] {
        let of = |replay| Analysis::new(TraceDiff::new(other.clone(), replay));
        let (named, bare) = (of(tree_of(&json)), of(open("decode_graph")));
        assert!(named.account().is_exact());
        assert_eq!(rows(&named), rows(&bare));
        assert_eq!(named.diff().regions().len(), bare.diff().regions().len());
    }
}

#[test]
fn two_recorded_replays_with_names_are_compared_part_by_part() {
    let (json, modules) = annotated_replay();
    let analysis = Analysis::new(TraceDiff::new(tree_of(&json), tree_of(&json)));
    assert_eq!(analysis.diff().differences(), vec![]);
    let path_of = |row: &tracetree::analysis::account::Row| {
        let call = row.calls.baseline.expect("a call");
        analysis.tree(Side::Baseline).name(call).to_owned()
    };
    let named: BTreeSet<String> = analysis.rows().iter().map(path_of).collect();
    assert!(modules.values().flatten().any(|module| named.contains(module)), "{named:?}");
}
