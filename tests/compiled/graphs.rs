//! Tests for captured graphs: the captured calls below the graph launch, the choice of the capture, and the notes.

use crate::support::captures::Graphs;
use crate::support::laws;
use crate::support::recording::Recording;
use crate::support::trace_builder::{HostThread, TraceBuilder};
use crate::support::traces::real;
use std::fs;
use tracetree::diff::{Relation, TraceDiff};
use tracetree::program::{CaptureSource, Captures, Measure, Program, StackKind};
use tracetree::trace::{Nanos, ReadOptions, Trace, Uid};
use tracetree::tree::{CallId, CallKind, CallTree, Misfit, ModuleName, TreeOptions};
use tracetree::{Analysis, Comparison, ComparisonOptions, PerSide, Side};

const LAUNCH: &str = "hipLaunchKernel";

fn read(name: &str, json: &str) -> Trace {
    Trace::from_reader(name, json.as_bytes(), &ReadOptions::default()).expect("a trace")
}

/// A module that multiplies, adds and applies an activation. The module's launches are captured, so they start no
/// kernels.
fn captured_block(t: &mut HostThread<'_>, name: &str) {
    t.module(name, |t| {
        t.op("aten::mm", |t| t.launch(LAUNCH).nothing());
        t.op("aten::add", |t| t.launch(LAUNCH).nothing());
        t.op("aten::relu", |t| t.launch(LAUNCH).nothing());
    });
}

/// The module from `captured_block`, run eagerly.
fn eager_block(t: &mut HostThread<'_>, name: &str) {
    t.module(name, |t| {
        t.op("aten::mm", |t| t.kernel("gemm_kernel", 5.0));
        t.op("aten::add", |t| t.kernel("add_kernel", 1.0));
        t.op("aten::relu", |t| t.kernel("relu_kernel", 2.0));
    });
}

fn captured_graph(t: &mut HostThread<'_>, body: impl FnOnce(&mut HostThread<'_>)) {
    t.call("hipStreamBeginCapture");
    t.call("hipStreamIsCapturing");
    body(t);
    t.call("hipStreamEndCapture");
}

/// The capture of a graph that consists of the given blocks.
fn capture_of(blocks: &[&str]) -> String {
    let graph = |t: &mut HostThread<'_>| {
        captured_graph(t, |t| blocks.iter().for_each(|name| captured_block(t, name)));
    };
    TraceBuilder::rocm().thread("main", graph).json()
}

fn replay_blocks(t: &mut HostThread<'_>, blocks: usize) {
    t.launch("hipGraphLaunch").graph(|graph| {
        for _ in 0..blocks {
            graph.kernel("gemm_kernel", 5.0);
            graph.kernel("add_kernel", 1.0);
            graph.kernel("relu_kernel", 2.0);
        }
    });
}

/// Graph replays below a frame: for each number in `blocks`, one replay of a graph with that number of blocks.
fn replays_of(blocks: &[usize]) -> String {
    let body = |t: &mut HostThread<'_>| {
        t.frame("engine.py(7): replay", |t| {
            blocks.iter().for_each(|&count| replay_blocks(t, count))
        });
    };
    TraceBuilder::rocm().thread("main", body).json()
}

fn eager_of(blocks: &[&str]) -> String {
    let body = |t: &mut HostThread<'_>| {
        t.frame("engine.py(7): replay", |t| blocks.iter().for_each(|name| eager_block(t, name)));
    };
    TraceBuilder::rocm().thread("main", body).json()
}

fn with(replay: &str, captures: &[&str]) -> CallTree {
    let traces = captures.iter().enumerate().map(|(at, json)| read(&format!("capture{at}"), json));
    let tree = CallTree::build(read("replay", replay));
    Captures::of(traces).add_to(&tree, TreeOptions::default())
}

fn note(tree: &CallTree, code: &str) -> String {
    tree.notes().get(code).map_or_else(String::new, |note| note.message.clone())
}

fn kernels(tree: &CallTree) -> Vec<CallId> {
    tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu).collect()
}

/// For each kernel, the innermost module above it.
fn modules(tree: &CallTree) -> Vec<String> {
    let name = |module| ModuleName::instance_or_name(tree.name(module)).to_owned();
    kernels(tree).iter().map(|&kernel| tree.module(kernel).map_or_else(String::new, name)).collect()
}

#[test]
fn a_replayed_kernel_is_below_the_op_that_launched_it() {
    let tree = with(&replays_of(&[2]), &[&capture_of(&["Block_0", "Block_1"])]);
    let kernel = kernels(&tree)[5];
    let above: Vec<&str> = tree.ancestors(kernel).map(|call| tree.name(call)).collect();
    let expected =
        [LAUNCH, "aten::relu", "nn.Module: Block_1", "hipGraphLaunch", "engine.py(7): replay"];
    assert_eq!(above[..5], expected);
    assert_eq!(tree.name(kernel), "relu_kernel");
    assert_eq!(
        note(&tree, "CAPTURE_READ").split(',').next(),
        Some("6 of 6 kernels of 1 graph launch are attributed to the ops that launched them")
    );
    assert_eq!(modules(&tree), ["Block_0", "Block_0", "Block_0", "Block_1", "Block_1", "Block_1"]);
}

#[test]
fn captured_calls_are_marked_and_take_no_time() {
    let replay = replays_of(&[1]);
    let (bare, tree) =
        (CallTree::build(read("replay", &replay)), with(&replay, &[&capture_of(&["Block_0"])]));
    let host = |tree: &CallTree| -> Nanos {
        tree.calls().filter(|&c| tree.kind(c) != CallKind::Gpu).map(|c| tree.self_time(c)).sum()
    };
    assert_eq!(host(&tree), host(&bare));
    let captured: Vec<CallId> = tree.calls().filter(|&call| tree.is_captured(call)).collect();
    // The captured calls are a module, three ops and three launches. The runtime call that asks whether a capture is
    // in progress is omitted.
    assert_eq!(captured.len(), 7);
    assert!(captured.iter().all(|&call| tree.duration(call) == Nanos::ZERO));
    assert!(captured.iter().all(|&call| tree.kind(call) != CallKind::Gpu));
    assert_eq!(tree.trace().own_events().len(), bare.trace().len());
    let launch = tree.launch(kernels(&tree)[0]).expect("a launch");
    let graph_launch = tree.running_launch(kernels(&tree)[0]).expect("a launch");
    assert!(tree.is_captured(launch) && tree.is_graph_launch(graph_launch));
}

#[test]
fn a_captured_call_is_identified_by_its_graph_launch_and_its_uid_in_the_capture() {
    let tree = with(&replays_of(&[1, 1]), &[&capture_of(&["Block_0"])]);
    let trace = tree.trace();
    let mm: Vec<CallId> = tree.calls().filter(|&call| tree.name(call) == "aten::mm").collect();
    let events: Vec<_> = mm.iter().map(|&call| tree.event(call).expect("an event")).collect();
    let labels: Vec<String> = events.iter().map(|&event| trace.uid_label(event)).collect();
    let places: Vec<_> =
        events.iter().map(|&event| *trace.captured(event).expect("captured")).collect();
    assert_eq!(labels.len(), 2);
    assert_ne!(labels[0], labels[1], "each replay has its own labels");
    for ((event, place), label) in events.iter().zip(&places).zip(&labels) {
        assert_eq!(*label, format!("{}:{}", place.launch.0, place.uid.0));
        assert_eq!(trace.captured_at(place.launch, place.uid), Some(*event));
        assert_eq!(trace.source_of(*event), "capture0");
        assert!(u64::from(trace.uid(*event).0) >= trace.total_events());
        let (first, _) = trace.captured_ranges()[events.iter().position(|e| e == event).unwrap()];
        assert_eq!(Uid(first.0 + place.uid.0), trace.uid(*event));
    }
    assert_eq!(places[0].uid, places[1].uid);
}

#[test]
fn the_laws_hold_for_captured_trees() {
    let names = ["Block_0", "Block_1"];
    let capture = capture_of(&names);
    let replay = with(&replays_of(&[2]), &[&capture]);
    let bare = CallTree::build(read("replay", &replays_of(&[2])));
    let eager = CallTree::build(read("eager", &eager_of(&names)));
    let other = with(&replays_of(&[2, 2]), &[&capture]);
    for (one, two) in [
        (&replay, &replay),
        (&replay, &bare),
        (&replay, &eager),
        (&replay, &other),
        (&bare, &other),
    ] {
        laws::hold_for_a_pair(PerSide::new(one, two));
    }
    let same = TraceDiff::new(replay.clone(), replay);
    assert_eq!(same.differences(), vec![]);
}

#[test]
fn a_replay_is_compared_with_an_eager_run_op_by_op() {
    let names = ["Block_0", "Block_1"];
    let replay = with(&replays_of(&[2]), &[&capture_of(&names)]);
    let eager = CallTree::build(read("eager", &eager_of(&names)));
    let analysis = Analysis::new(TraceDiff::new(replay, eager));
    assert!(analysis.account().is_exact());
    for side in Side::BOTH {
        for kernel in kernels(analysis.tree(side)) {
            let op = analysis.diff().lowest_common_op(side, kernel).expect("a common op");
            let counterpart = analysis.diff().counterpart(side, kernel).expect("a counterpart");
            let other = analysis.tree(side.other());
            let same = analysis.diff().counterpart(side, op).expect("a pair");
            assert!(other.is_below(counterpart, same));
            assert_eq!(analysis.tree(side).name(kernel), other.name(counterpart));
        }
    }
    assert!(analysis.rows().iter().all(|row| row.difference() == Nanos::ZERO));
    assert_eq!(analysis.rows().len(), 6);
}

#[test]
fn a_capture_of_one_side_only_is_not_a_difference() {
    let replay = replays_of(&[2]);
    let known = with(&replay, &[&capture_of(&["Block_0", "Block_1"])]);
    let bare = CallTree::build(read("replay", &replay));
    let diff = TraceDiff::new(known, bare);
    assert_eq!(diff.differences(), vec![]);
    for kernel in kernels(diff.tree(Side::Baseline)) {
        assert_eq!(diff.relation(Side::Baseline, kernel), Relation::Same);
        let launch = diff.tree(Side::Baseline).launch(kernel).expect("a launch");
        assert!(diff.is_known_deeper(Side::Baseline, launch));
    }
    let analysis = Analysis::new(diff);
    assert!(analysis.account().is_exact());
    assert!(analysis.rows().iter().all(|row| row.difference() == Nanos::ZERO));
}

#[test]
fn a_kernel_without_a_captured_launch_stays_directly_below_the_graph_launch() {
    let names = ["Block_0"; 12];
    let mut lines = capture_of(&names);
    // One launch of the last block is missing from the capture.
    let mut recording = Recording::read(lines.as_bytes()).expect("a trace");
    let last = recording.events.iter().rposition(|event| &*event.name == LAUNCH).expect("a launch");
    let marked: Vec<bool> = (0..recording.events.len()).map(|at| at == last).collect();
    recording.remove(&marked);
    lines = String::from_utf8(recording.write()).expect("text");
    let tree = with(&replays_of(&[12]), &[&lines]);
    let replay = &tree.replays()[0];
    assert_eq!((replay.kernels, replay.placed), (36, 35));
    let bare: Vec<CallId> = kernels(&tree)
        .into_iter()
        .filter(|&kernel| tree.parent(kernel).is_some_and(|above| tree.is_graph_launch(above)))
        .collect();
    assert_eq!(bare.iter().map(|&kernel| tree.name(kernel)).collect::<Vec<_>>(), ["relu_kernel"]);
    assert!(note(&tree, "CAPTURE_INCOMPLETE").starts_with("no captured launch matches 1 kernel "));
}

#[test]
fn the_capture_of_another_model_is_not_used() {
    let other = TraceBuilder::rocm().thread("main", |t| {
        captured_graph(t, |t| {
            for _ in 0..2 {
                t.op("aten::layer_norm", |t| t.launch(LAUNCH).nothing());
                t.op("aten::softmax", |t| t.launch(LAUNCH).nothing());
                t.op("aten::mm", |t| t.launch(LAUNCH).nothing());
            }
        });
    });
    let tree = with(&replays_of(&[2]), &[&other.json()]);
    assert_eq!(tree.replays()[0].graph, None);
    assert!(
        kernels(&tree)
            .iter()
            .all(|&kernel| tree.launch(kernel).is_some_and(|l| tree.is_graph_launch(l)))
    );
    assert!(note(&tree, "CAPTURE_MISFIT").contains("graph 0 of capture0 (launches: 6)"));
    let fewer = with(&replays_of(&[5]), &[&capture_of(&["Block_0", "Block_1"])]);
    assert!(matches!(fewer.replays()[0].misfit, Some((_, Misfit::OtherKernels(6)))));
}

/// A capture for batch size `size`.
fn sized(size: u64) -> String {
    let body = |t: &mut HostThread<'_>| {
        t.annotation(&format!("capture_{size}_DECODE"), |t| {
            captured_graph(t, |t| captured_block(t, &format!("Batch_{size}")));
        });
    };
    TraceBuilder::rocm().thread("main", body).json()
}

/// A replay for batch size `size`.
fn replay_sized(size: u64) -> String {
    let body = |t: &mut HostThread<'_>| {
        t.annotation(&format!("step[DECODE bs={size}]"), |t| replay_blocks(t, 1));
    };
    TraceBuilder::rocm().thread("main", body).json()
}

#[test]
fn the_capture_for_the_right_batch_size_is_used() {
    let captures = [sized(64), sized(32), sized(40), sized(16)];
    let captures = captures.each_ref().map(String::as_str);
    assert_eq!(modules(&with(&replay_sized(32), &captures))[0], "Batch_32");
    assert_eq!(modules(&with(&replay_sized(33), &captures))[0], "Batch_40", "padded");
    assert_eq!(modules(&with(&replay_sized(16), &captures))[0], "Batch_16");
    let tree = with(&replay_sized(32), &[&sized(64), &sized(16)]);
    assert_eq!(modules(&tree)[0], "");
    assert!(matches!(tree.replays()[0].misfit, Some((_, Misfit::OtherBatch(32)))));
    assert!(note(&tree, "CAPTURE_MISFIT").contains("the replay has batch size 32"));
}

#[test]
fn graphs_of_equal_length_are_distinguished_by_their_order() {
    let pieces = TraceBuilder::rocm().thread("main", |t| {
        for name in ["Piece_0", "Piece_1", "Piece_2"] {
            captured_graph(t, |t| captured_block(t, name));
        }
        captured_graph(t, |t| (0..2).for_each(|_| captured_block(t, "Head_0")));
    });
    let pieces = pieces.json();
    let round = ["Piece_0", "Piece_1", "Piece_2", "Head_0"];
    let firsts = |blocks: &[usize]| {
        let tree = with(&replays_of(blocks), &[&pieces]);
        let launches = tree.calls().filter(|&call| tree.is_graph_launch(call));
        let module = |call: CallId| tree.subtree(call).find(|&below| tree.is_module(below));
        let name = |module: CallId| ModuleName::instance_or_name(tree.name(module)).to_owned();
        launches.filter_map(module).map(name).collect::<Vec<_>>()
    };
    assert_eq!(firsts(&[1, 1, 1, 2, 1, 1, 1, 2]), [round, round].concat());
    // The trace begins in the middle of a round of replays.
    assert_eq!(firsts(&[1, 2, 1, 1, 1, 2]), [&round[2..], &round].concat());
    let tree = with(&replays_of(&[1, 1, 1, 2]), &[&pieces]);
    assert!(note(&tree, "CAPTURE_BY_ORDER").contains("in the order of their capture"));
    assert_eq!(tree.replays().iter().map(|replay| replay.equals).collect::<Vec<_>>(), [2, 2, 2, 0]);
}

#[test]
fn useless_captures_are_reported() {
    let replay = replays_of(&[1]);
    let eager = with(&replay, &[&eager_of(&["Block_0"])]);
    assert!(note(&eager, "CAPTURE_WITHOUT_GRAPH").starts_with("capture0: no graph"));
    let cut = TraceBuilder::rocm().thread("main", |t| {
        t.call("hipStreamBeginCapture");
        captured_block(t, "Block_0");
    });
    let cut = with(&replay, &[&cut.json()]);
    assert!(note(&cut, "CAPTURE_CUT_OFF").contains("1 of 1 captured graphs"));
    assert_eq!(cut.replays()[0].placed, 3, "a truncated capture is still used");
    let twice = capture_of(&["Block_0"]);
    let twice = with(&replay, &[&twice, &twice]);
    assert_eq!((twice.replays()[0].placed, twice.replays()[0].equals), (3, 1));
    assert!(!note(&twice, "CAPTURE_BY_ORDER").is_empty());
    let no_replay = with(&eager_of(&["Block_0"]), &[&capture_of(&["Block_0"])]);
    assert!(!note(&no_replay, "CAPTURE_UNUSED").is_empty());
}

#[test]
fn a_trace_with_its_own_capture_needs_no_other() {
    let both = TraceBuilder::rocm().thread("main", |t| {
        captured_graph(t, |t| captured_block(t, "Block_0"));
        replay_blocks(t, 1);
    });
    let trace = std::sync::Arc::new(read("both", &both.json()));
    let captures =
        CaptureSource::Beside.open(&trace, None, &ReadOptions::default()).expect("itself");
    let tree = captures.add_to(&CallTree::build(trace), TreeOptions::default());
    assert_eq!(modules(&tree), ["Block_0"; 3]);
}

#[test]
fn captures_next_to_a_trace_are_found_and_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("replay.json");
    fs::write(&path, replay_sized(32)).expect("a file");
    let captures = folder.path().join("capture_traces");
    fs::create_dir(&captures).expect("a folder");
    fs::write(captures.join("bs_32_rank0.json"), capture_of(&["Block_0"])).expect("a file");
    fs::write(captures.join("bs_8_rank0.json"), capture_of(&["Block_9"])).expect("a file");
    let open = |options: &ComparisonOptions| Comparison::open(&*path, &*path, options);
    let found = open(&ComparisonOptions::default()).expect("a comparison");
    let tree = found.tree(Side::Baseline);
    assert_eq!(modules(tree), ["Block_0"; 3]);
    assert!(note(tree, "CAPTURE_FOUND").starts_with("2 traces in capture_traces/"));
    let nowhere =
        ComparisonOptions::default().captures(CaptureSource::Nowhere, CaptureSource::Nowhere);
    assert_eq!(modules(open(&nowhere).expect("a comparison").tree(Side::Candidate)), [""; 3]);
    let file = CaptureSource::Files(vec![captures.join("bs_32_rank0.json")]);
    let given = ComparisonOptions::default().captures(file, CaptureSource::Nowhere);
    let given = open(&given).expect("a comparison");
    assert_eq!(modules(given.tree(Side::Baseline)), ["Block_0"; 3]);
    assert_eq!(given.diff().differences(), vec![]);
}

#[test]
fn a_useless_capture_is_an_error_under_strict() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, other) = (folder.path().join("replay.json"), folder.path().join("other.json"));
    fs::write(&path, replays_of(&[1])).expect("a file");
    fs::write(&other, eager_of(&["Block_0"])).expect("a file");
    let options = || {
        let source = CaptureSource::Files(vec![other.clone()]);
        ComparisonOptions::default().captures(source, CaptureSource::Nowhere)
    };
    assert!(Comparison::open(&*path, &*path, &options()).is_ok());
    let strict = options().read(ReadOptions::default().strict());
    let error = Comparison::open(&*path, &*path, &strict).expect_err("strict");
    assert!(error.to_string().contains("CAPTURE_WITHOUT_GRAPH"), "{error}");
    let missing = CaptureSource::Files(vec![folder.path().join("none.json")]);
    let options = ComparisonOptions::default().captures(missing, CaptureSource::Nowhere);
    let error = Comparison::open(&*path, &*path, &options).expect_err("no such file");
    assert!(error.to_string().contains("none.json"), "{error}");
}

#[test]
fn kernels_stay_matched_if_one_side_lacks_the_capture_of_a_graph() {
    let replay = replays_of(&[1, 4]);
    let both = TraceBuilder::rocm().thread("main", |t| {
        captured_graph(t, |t| captured_block(t, "Block_0"));
        captured_graph(t, |t| (1..5).for_each(|at| captured_block(t, &format!("Block_{at}"))));
    });
    let whole = with(&replay, &[&both.json()]);
    let part = with(&replay, &[&capture_of(&["Block_0"])]);
    assert_eq!((whole.replays()[1].placed, part.replays()[1].placed), (12, 0));
    let diff = TraceDiff::new(whole, part);
    for kernel in kernels(diff.tree(Side::Baseline)) {
        assert!(diff.counterpart(Side::Baseline, kernel).is_some(), "{kernel:?}");
    }
    let analysis = Analysis::new(diff);
    assert!(analysis.account().is_exact());
}

#[test]
fn the_command_line_shows_captured_calls_and_finds_them_by_their_label() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, json: String| {
        let path = folder.path().join(name);
        fs::write(&path, json).expect("a file");
        path.display().to_string()
    };
    let replay = write("replay.json", replays_of(&[1]));
    let capture = write("capture.json", capture_of(&["Block_0"]));
    let eager = write("eager.json", eager_of(&["Block_0"]));
    let run = |args: &[&str]| {
        let output = crate::support::tracetree()
            .args(args)
            .current_dir(folder.path())
            .output()
            .expect("the command runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, shown, said) = run(&["tree", &replay, "--capture", &capture]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("CAPTURE_READ 3 of 3 kernels of 1 graph launch are"), "{said}");
    let line = shown.lines().find(|line| line.contains("aten::add")).expect("the op is shown");
    let (_, label) = line.split_once('[').expect("its place");
    let (label, rest) = label.split_once(']').expect("its place");
    assert!(label.contains(':') && rest.starts_with(" captured"), "{line}");
    let (_, part, _) = run(&["tree", &replay, "--capture", &capture, "--uid", label]);
    assert!(part.contains("add_kernel") && !part.contains("gemm_kernel"), "{part}");
    let (_, pair, _) =
        run(&["uid", &replay, &eager, "--base-capture", &capture, "--baseline", label]);
    let lines: Vec<&str> = pair.lines().collect();
    assert_eq!(lines[0], format!("trace1\t{label}\taten::add"));
    assert!(lines[1].ends_with("aten::add") && lines[2] == "relation\tsame", "{pair}");
    let (_, why, _) =
        run(&["explain", &replay, &eager, "--base-capture", &capture, "--baseline", label]);
    assert!(why.contains(&format!("aten::add [{label}, captured]")), "{why}");
    let (_, info, _) = run(&["info", &replay, "--capture", &capture]);
    assert!(info.contains("3 of 3 replayed kernels attributed to captured calls"), "{info}");
    let (code, _, said) = run(&["tree", &replay, "--capture", &eager, "--strict"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("CAPTURE_WITHOUT_GRAPH"), "{said}");
    let (code, _, _) = run(&[
        "diff",
        &replay,
        &eager,
        "--base-capture",
        &capture,
        "-o",
        "report",
        "--emit",
        "tables",
    ]);
    assert_eq!(code, Some(0));
    let merged = fs::read_to_string(folder.path().join("report/merged_tree_output.txt"));
    assert!(merged.expect("a report").contains("nn.Module: Block_0 (captured)"));
    let graphs = fs::read_to_string(folder.path().join("report/graphs.csv")).expect("a table");
    assert!(graphs.lines().nth(1).is_some_and(|line| line.starts_with("trace1,")), "{graphs}");
}

/// The tree of a real replay, with the captured calls added.
fn real_pair(name: &str) -> Option<CallTree> {
    let capture = real(&format!("inference/capture/{name}.capture.mi300.json.gz"))?;
    let replay = real(&format!("inference/{name}.mi300.json.gz"))?;
    let tree = CallTree::build(Trace::open(replay).expect("a trace"));
    let captures = Captures::of([Trace::open(capture).expect("a trace")]);
    Some(captures.add_to(&tree, TreeOptions::default()))
}

fn totals(tree: &CallTree) -> (usize, usize, usize) {
    let sum = |of: fn(&tracetree::tree::Replay) -> usize| tree.replays().iter().map(of).sum();
    (tree.replays().len(), sum(|replay| replay.placed), sum(|replay| replay.kernels))
}

#[test]
fn every_kernel_of_a_real_decode_is_below_its_op_in_36_layers() {
    let Some(tree) = real_pair("sglang_decode") else { return };
    assert_eq!(totals(&tree), (1, 544, 544));
    let trace = tree.trace();
    let mut right = 0;
    for kernel in kernels(&tree) {
        let launch = tree.launch(kernel).expect("a launch");
        if tree.is_captured(launch) {
            let named = trace.captured(tree.event(launch).expect("an event"));
            assert!(named.is_some() && tree.module(kernel).is_some());
            let op = tree.ancestors(launch).find(|&call| tree.kind(call) == CallKind::Op);
            right += usize::from(op.is_some());
        }
    }
    assert_eq!(right, 544);
    let program = Program::of(tree);
    let layers = program.layers(Measure::GpuTime);
    let stack = &layers.stacks()[0];
    assert_eq!(
        (stack.kind, &*stack.class, stack.layers.len()),
        (StackKind::Modules, "Qwen3DecoderLayer", 36)
    );
}

#[test]
fn every_kernel_of_real_piecewise_graphs_is_below_its_op() {
    let Some(tree) = real_pair("vllm_prefill_decode_piecewise") else { return };
    assert_eq!(totals(&tree), (25, 361, 361));
    let numbers: Vec<usize> =
        tree.replays().iter().filter_map(|replay| Some(replay.graph.as_ref()?.number)).collect();
    assert_eq!(numbers, (0..25).collect::<Vec<_>>());
    let program = Program::of(tree);
    let (tree, layers) = (program.tree(), program.layers(Measure::GpuTime));
    assert_eq!(layers.stacks()[0].layers.len(), 24);
    let captured =
        |&kernel: &CallId| tree.launch(kernel).is_some_and(|call| tree.is_captured(call));
    assert!(
        kernels(tree)
            .iter()
            .filter(|kernel| captured(kernel))
            .all(|&kernel| tree.module(kernel).is_some())
    );
}

#[test]
fn real_replays_with_and_without_capture_do_not_differ() {
    for name in ["sglang_decode", "vllm_prefill_decode_piecewise"] {
        let Some(known) = real_pair(name) else { return };
        let bare = CallTree::build(
            Trace::open(real(&format!("inference/{name}.mi300.json.gz")).unwrap())
                .expect("a trace"),
        );
        let (one, two) =
            (TraceDiff::new(known.clone(), bare.clone()), TraceDiff::new(bare, known.clone()));
        assert_eq!(one.differences(), vec![], "{name}");
        laws::mirror(&one, &two);
        laws::once_in_the_map(&one);
        let analysis = Analysis::new(one);
        assert!(analysis.account().is_exact());
        assert!(analysis.rows().iter().all(|row| row.difference() == Nanos::ZERO), "{name}");
        let same = TraceDiff::new(known.clone(), known);
        assert_eq!(same.differences(), vec![], "{name}");
    }
}

#[test]
fn a_real_capture_of_another_engine_is_rejected() {
    let Some(capture) =
        real("inference/capture/vllm_prefill_decode_piecewise.capture.mi300.json.gz")
    else {
        return;
    };
    let replay = real("inference/sglang_decode.mi300.json.gz").expect("the replay");
    let tree = CallTree::build(Trace::open(replay).expect("a trace"));
    let tree = Captures::of([Trace::open(capture).expect("a trace")])
        .add_to(&tree, TreeOptions::default());
    assert_eq!(totals(&tree), (1, 0, 544));
    assert!(
        note(&tree, "CAPTURE_MISFIT").starts_with("1 of 1 graph launches have no matching capture")
    );
}

#[test]
fn all_kernels_of_a_generated_graph_are_attributed_correctly() {
    let recording = Recording::read(eager_of(&["A_0", "B_0"]).as_bytes()).expect("a trace");
    let graphs = Graphs::of_eager(&recording).expect("launches");
    let tree = graphs.tree(&[]);
    assert_eq!(graphs.right(&tree), (6, 6));
    // If no capture is passed, no call is marked as captured.
    let bare = CallTree::build(tree.trace().select(|event| !tree.trace().is_captured(event)));
    assert_eq!(bare.calls().filter(|&call| bare.is_captured(call)).count(), 0);
}
