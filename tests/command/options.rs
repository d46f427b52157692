//! Tests for comparison options: ignored Python frames, aliases, and side names.

use crate::support::enter_root;
use crate::support::phenomena::Phenomenon;
use crate::support::trace_builder::{Op, TraceBuilder};
use crate::support::{laws, traces};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use tracetree::analysis::{Analysis, AnalysisOptions};
use tracetree::diff::{Aliases, DiffOptions, Relation, TraceDiff};
use tracetree::report::{summarise, verdict, write_markdown, write_merged_tree};
use tracetree::trace::{Category, ReadOptions, Trace};
use tracetree::tree::{CallKind, CallTree, Frames, TreeOptions};
use tracetree::{PerSide, Side};

const VENDORS: &str = "[[alias]]\npattern = '^aten::(miopen|cudnn)_(.*)$'\nname = 'aten::vendor_$2'\n\
                       [[alias]]\npattern = '(Miopen|Cudnn)BatchNorm'\nname = 'BatchNorm'";

/// The bundled pairs and, if available, the real pairs.
fn pairs() -> Vec<PerSide<PathBuf>> {
    let mut all = traces::example_pairs();
    all.extend(traces::real_and_unlike_pairs());
    all
}

fn example() -> PerSide<Trace> {
    enter_root();
    PerSide::new("examples/traces/resnet.rocm.json.gz", "examples/traces/resnet.cuda.json.gz")
        .map(|path| Trace::open(path).expect("an example trace"))
}

fn without_frames(traces: &PerSide<Trace>) -> PerSide<CallTree> {
    let options = TreeOptions::default().frames(Frames::LeftOut);
    traces.clone().map(|trace| CallTree::with_options(trace, options))
}

fn aliases(text: &str) -> DiffOptions {
    DiffOptions::default().aliases(Aliases::parse(text, "aliases.toml").expect("aliases"))
}

#[test]
fn a_tree_without_frames_has_all_other_calls_and_the_same_totals() {
    for paths in pairs() {
        let traces = paths.map(|path| Trace::open(path).expect("a readable trace"));
        let trees = without_frames(&traces);
        for side in Side::BOTH {
            let (tree, trace) = (&trees[side], &traces[side]);
            for event in trace.events() {
                let is_frame = trace.category(event) == Category::PythonFunction;
                let takes_part =
                    trace.category(event).is_host_call() || trace.category(event).is_gpu();
                assert_eq!(tree.call_of(event).is_some(), takes_part && !is_frame);
            }
        }
        let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate.clone());
        laws::once_in_the_map(&diff);
        let analysis = Analysis::new(diff.clone());
        assert!(analysis.account().is_exact(), "{}", traces.baseline.source());
        let whole = traces.clone().map(CallTree::build);
        let whole = TraceDiff::new(whole.baseline.clone(), whole.candidate.clone());
        let totals = Analysis::new(whole.clone()).account().totals;
        assert_eq!(analysis.account().totals.map(|t| t.events), totals.map(|t| t.events));
        assert_eq!(analysis.account().totals.map(|t| t.time), totals.map(|t| t.time));
    }
}

#[test]
fn frames_left_out_on_purpose_are_not_reported_as_missing() {
    let traces = example();
    let trees = without_frames(&traces);
    let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate);
    let summary = summarise(&Analysis::new(diff));
    assert!(summary.notes.iter().all(|note| note.note.code != "NO_PYTHON_STACKS"));
}

#[test]
fn an_alias_makes_two_names_one_op() {
    let traces = example();
    let trees = traces.map(CallTree::build);
    let diff =
        TraceDiff::with_options(trees.baseline.clone(), trees.candidate.clone(), aliases(VENDORS));
    let tree = &trees.baseline;
    let vendor_ops: Vec<_> = tree
        .calls()
        .filter(|&call| tree.kind(call) == CallKind::Op)
        .filter(|&call| tree.name(call).to_lowercase().contains("miopen"))
        .collect();
    assert!(!vendor_ops.is_empty());
    for &call in &vendor_ops {
        let counterpart = diff.counterpart(Side::Baseline, call).expect("a counterpart");
        assert_eq!(diff.relation(Side::Baseline, call), Relation::Same, "{}", tree.name(call));
        assert_eq!(diff.lowest_common_op(Side::Baseline, call), Some(call));
        assert!(diff.is_aliased(call, counterpart));
        let same = diff.explain(Side::Baseline, call).counterpart.expect("its evidence");
        assert!(same.same_key && !same.same_name);
    }
    let analysis = Analysis::new(diff);
    assert!(analysis.account().is_exact());
    let both = "aten::miopen_convolution | aten::cudnn_convolution";
    assert!(analysis.by_name().iter().any(|group| group.name == both && group.row_count() == 45));
    let mut drawing = Vec::new();
    write_merged_tree(&analysis, &mut drawing).expect("writing to memory");
    let drawing = String::from_utf8(drawing).expect("UTF-8");
    assert!(
        drawing.contains(&format!("aliased: {both}\n")) && !drawing.contains("combined: aten::")
    );
}

#[test]
fn an_alias_changes_nothing_else() {
    let paths = Phenomenon::of("rename").files();
    let traces = paths.map(|path| Trace::open(path).expect("a fixture"));
    let trees = traces.map(CallTree::build);
    let plain = TraceDiff::new(trees.baseline.clone(), trees.candidate.clone());
    let other = aliases("[[alias]]\npattern = 'no such name'\nname = 'x'");
    let aliased = TraceDiff::with_options(trees.baseline.clone(), trees.candidate, other);
    assert!(plain.uid_map().eq(aliased.uid_map()));
    assert_eq!(plain.differences(), aliased.differences());
}

#[test]
fn a_trace_has_no_difference_from_itself_under_aliases() {
    enter_root();
    let trace = Trace::open("examples/traces/resnet.rocm.json.gz").expect("an example trace");
    let tree = CallTree::build(trace);
    let diff = TraceDiff::with_options(tree.clone(), tree.clone(), aliases(VENDORS));
    assert_eq!(diff.differences(), vec![]);
    assert!(tree.calls().all(|call| !diff.is_aliased(call, call)));
}

#[test]
fn the_sides_are_called_what_the_user_says() {
    let traces = example();
    let trees = traces.map(CallTree::build);
    let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate);
    let analysis = Analysis::with_options(diff, AnalysisOptions::default().names("mi|300", "h100"));
    assert!(verdict(&analysis).starts_with("h100 takes 0.85x the GPU time of mi|300"));
    let summary = summarise(&analysis);
    assert_eq!([summary.trace1.name.as_str(), summary.trace2.name.as_str()], ["mi|300", "h100"]);
    let mut text = Vec::new();
    write_markdown(&Arc::new(analysis), 5, &mut text).expect("writing to memory");
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(text.contains("| mi\\|300 ms | h100 ms |"), "{text}");
    assert!(text.contains("`LAUNCH_NOT_CAPTURED` mi\\|300"), "{text}");
}

/// The display names of the two sides for the given file names and devices. `given` contains the names that the user
/// specifies; `""` if there is none.
fn side_names(files: [&str; 2], devices: [&str; 2], given: [&str; 2]) -> [String; 2] {
    let trace = |at: usize| {
        let device = json!([{"id": 0, "name": devices[at]}]);
        let build = TraceBuilder::cuda().header("deviceProperties", device);
        let text =
            build.thread("main", |t| t.op(Op::new("aten::mm"), |t| t.kernel("gemm", 1.0))).json();
        Trace::from_reader(files[at], text.as_bytes(), &ReadOptions::default()).expect("a trace")
    };
    let diff = TraceDiff::new(CallTree::build(trace(0)), CallTree::build(trace(1)));
    let options = AnalysisOptions::default().names(given[0], given[1]);
    let analysis = Analysis::with_options(diff, options);
    Side::BOTH.map(|side| analysis.names()[side].to_owned())
}

#[test]
fn the_sides_are_named_after_device_or_file_if_that_distinguishes_them() {
    let (files, same) = (["a/run.json", "a/run.json"], ["NVIDIA H100 80GB HBM3"; 2]);
    let none = ["", ""];
    assert_eq!(side_names(files, same, none), ["baseline", "candidate"]);
    let devices = ["AMD Instinct MI300X VF", "NVIDIA H100 80GB HBM3"];
    assert_eq!(side_names(files, devices, none), ["MI300X", "H100"]);
    let one_model = ["NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-40GB"];
    assert_eq!(side_names(files, one_model, none), ["A100 80GB PCIe", "A100-SXM4-40GB"]);
    let no_model = ["NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 5090"];
    assert_eq!(side_names(files, no_model, none), ["baseline", "candidate"]);
    let other_files = ["a/main.pt.trace.json.gz", "b/fast.json"];
    assert_eq!(side_names(other_files, same, none), ["main", "fast"]);
    let folders = ["before/trace.json.gz", "after/trace.json.gz"];
    assert_eq!(side_names(folders, same, none), ["before", "after"]);
    let long = "a-name-that-would-push-the-figures-out-of-their-columns";
    assert_eq!(side_names([long, "b.json"], same, none), ["baseline", "candidate"]);
    // A side name given by the user is kept. If the given name equals the device name on the other side, the other
    // side is called `candidate`.
    assert_eq!(side_names(files, devices, ["H100", ""]), ["H100", "candidate"]);
    assert_eq!(side_names(files, devices, ["old", ""]), ["old", "H100"]);
}

#[test]
fn the_parts_of_the_totals_add_up_to_each_total() {
    for paths in pairs() {
        let traces = paths.map(|path| Trace::open(path).expect("a readable trace"));
        let trees = traces.clone().map(CallTree::build);
        let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate.clone());
        for totals in Side::BOTH.map(|side| Analysis::new(diff.clone()).account().totals[side]) {
            assert_eq!(totals.paired + totals.one_sided + totals.unlinked, totals.time);
        }
    }
}
