//! Tests for the explanation of a match: the evidence, and other calls that might be the counterpart.

use crate::support::compared;
use crate::support::enter_root;
use crate::support::trace_builder::{HostThread, TraceBuilder};
use crate::support::tracetree;
use tracetree::diff::{Relation, TraceDiff};
use tracetree::trace::Trace;
use tracetree::tree::CallTree;
use tracetree::{PerSide, Side};

const ROCM: &str = "examples/traces/resnet.rocm.json.gz";
const CUDA: &str = "examples/traces/resnet.cuda.json.gz";

#[test]
fn a_renamed_convolution_is_explained_by_its_position_and_the_calls_below() {
    enter_root();
    let traces = PerSide::new(ROCM, CUDA).map(|path| Trace::open(path).expect("an example trace"));
    let trees = traces.map(CallTree::build);
    let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate);
    let tree = diff.tree(Side::Baseline);
    let call = tree
        .calls()
        .find(|&call| tree.name(call) == "aten::miopen_convolution")
        .expect("a convolution");
    let explanation = diff.explain(Side::Baseline, call);
    assert_eq!(explanation.relation, Relation::Renamed);
    let counterpart = explanation.counterpart.expect("a counterpart");
    assert_eq!(diff.tree(Side::Candidate).name(counterpart.call), "aten::cudnn_convolution");
    assert!(!counterpart.same_key && !counterpart.same_subtree);
    assert!(counterpart.shared > 0 && counterpart.shared < counterpart.of);
}

#[test]
fn a_match_has_more_evidence_than_the_rejected_candidates() {
    enter_root();
    let traces = PerSide::new(ROCM, ROCM).map(|path| Trace::open(path).expect("an example trace"));
    let trees = traces.map(CallTree::build);
    let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate);
    let tree = diff.tree(Side::Baseline);
    let call = tree.calls().find(|&call| tree.name(call) == "aten::conv2d").expect("a convolution");
    let explanation = diff.explain(Side::Baseline, call);
    let counterpart = explanation.counterpart.clone().expect("a counterpart");
    assert!(counterpart.same_subtree && counterpart.same_name && counterpart.distance == 0);
    for other in &explanation.others {
        assert_ne!(other.call, counterpart.call);
        assert!(!explanation.why_not(other).is_empty());
    }
}

#[test]
fn the_command_line_prints_path_relation_and_evidence() {
    enter_root();
    let run = |uid: &str| {
        tracetree()
            .args(["explain", ROCM, CUDA, "--baseline", uid])
            .output()
            .expect("the program runs")
    };
    let traces = Trace::open(ROCM).expect("an example trace");
    let conv = traces.events().find(|&e| traces.name(e) == "aten::conv2d").expect("a convolution");
    let output = run(&traces.uid(conv).0.to_string());
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success());
    for part in
        ["baseline   aten::conv2d", "candidate  aten::conv2d", "relation   same", "in common"]
    {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let unknown = run("4000000000");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("neither a host call"));
}

#[test]
fn frames_that_one_side_lacks_are_not_part_of_the_evidence() {
    let trace = |stacks: bool| {
        let layer = |t: &mut HostThread<'_>| {
            t.op("aten::linear", |t| t.op("aten::addmm", |t| t.kernel("gemm", 9.0)));
        };
        let builder = TraceBuilder::cuda().thread("main", |t| {
            for _ in 0..3 {
                t.op("aten::block", |t| {
                    if stacks { t.frame("model.py(3): forward", layer) } else { layer(t) }
                });
            }
        });
        // Both traces have frames, but on different threads.
        let builder = builder.thread("loader", |t| {
            t.frame("data.py(1): load", |t| t.leaf("aten::stack"));
        });
        CallTree::build(compared::trace("a trace", &builder.json()))
    };
    for [one, two] in [[true, false], [false, true]] {
        let diff = TraceDiff::new(trace(one), trace(two));
        let tree = diff.tree(Side::Baseline);
        let call = tree.calls().find(|&call| tree.name(call) == "aten::block").expect("a block");
        let counterpart = diff.explain(Side::Baseline, call).counterpart.expect("a counterpart");
        assert!(
            counterpart.same_subtree && counterpart.shared == counterpart.of,
            "{counterpart:?}"
        );
    }
}

#[test]
fn explain_names_the_change_and_the_fold_that_made_a_call_its_consequence() {
    enter_root();
    let traces = ["resnet_eager", "resnet_compiled"]
        .map(|name| format!("examples/traces/h100/{name}.pt.trace.json.gz"));
    let folded = compared::compare_files(PerSide::new(&traces[0], &traces[1]), |analysis| {
        let diff = analysis.diff();
        analysis.changes().list().iter().find_map(|change| {
            change.nodes.iter().find_map(|&node| {
                let (fold, reason) = change.consequence(node)?;
                let call = diff.merged().node(node).call(Side::Candidate)?;
                let tree = diff.tree(Side::Candidate);
                let uid = tree.trace().uid(tree.event(call)?);
                Some((
                    uid.0.to_string(),
                    change.sentence.clone(),
                    format!("{reason} (fold {fold})"),
                ))
            })
        })
    });
    let (uid, sentence, fold) = folded.expect("a consequence");
    let run = tracetree()
        .args(["explain", &traces[0], &traces[1], "--candidate", &uid])
        .output()
        .expect("the program runs");
    let text = String::from_utf8(run.stdout).expect("text");
    assert!(text.contains(&format!("change     {sentence}")), "{text}");
    assert!(text.contains(&fold), "{text}");
}
