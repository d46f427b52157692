//! Tests that the gate reports the same changes as `diff`. Also tests that the gate reports the same changes whether
//! the baseline is a trace or a baseline file created from this trace.

use crate::gated::{changes, check, record};
use crate::support::files::inflated;
use crate::support::root;
use crate::support::splitmix::SplitMix;
use crate::support::traces::{example, h100, real};
use std::path::{Path, PathBuf};
use tracetree::program::CaptureSource;
use tracetree::{CallTree, Comparison, ComparisonOptions, Trace};
use tracetree_gate::{Outcome, Recorder, Recording};

/// Bundled pairs of traces that the gate compares.
fn pairs() -> Vec<(PathBuf, PathBuf)> {
    let train = ["again", "item", "layer_gone", "batch", "fused_adam", "clip", "loader", "relu"];
    let train = train.map(|name| (h100("train_base"), h100(&format!("train_{name}"))));
    let resnet = ["eager_again", "tf32_off", "amp", "channels_last", "benchmark", "compiled"];
    let resnet = resnet.map(|name| (h100("resnet_eager"), h100(&format!("resnet_{name}"))));
    let tfm = ["tfm_math", "tfm_compiled"].map(|name| (h100("tfm_flash"), h100(name)));
    let cnn = ["cnn_rerun", "cnn_extra_op"]
        .map(|name| format!("{name}.pt.trace.json.gz"))
        .map(|name| (example("cnn.pt.trace.json.gz"), example(&name)));
    let fixture = |folder: &str| {
        let folder = root().join("tests/fixtures").join(folder);
        (folder.join("baseline.json"), folder.join("candidate.json"))
    };
    let fixtures = ["inserted_op", "dropped_op", "extra_op", "rename", "wrapper"].map(fixture);
    [&train[..], &resnet, &tfm, &cnn, &fixtures].concat()
}

fn side(path: &Path) -> Recording {
    record([CallTree::build(Trace::open(path).expect("a readable trace"))])
}

fn of_diff(baseline: &Path, candidate: &Path) -> Vec<String> {
    let options = ComparisonOptions::default();
    let comparison = Comparison::open(baseline, candidate, &options).expect("two traces");
    let changes = comparison.analysis().changes();
    changes.list().iter().map(|change| change.sentence.clone()).collect()
}

#[test]
fn the_gate_names_the_changes_that_diff_names_in_both_directions() {
    for (one, two) in pairs() {
        for (baseline, candidate) in [(&one, &two), (&two, &one)] {
            let gate = check(&side(baseline), &side(candidate));
            let shown = of_diff(baseline, candidate);
            assert_eq!(changes(&gate), shown, "{} {}", baseline.display(), candidate.display());
        }
    }
}

#[test]
fn a_baseline_file_names_the_changes_that_its_trace_names() {
    for (one, two) in pairs() {
        for (baseline, candidate) in [(&one, &two), (&two, &one)] {
            let (before, after) = (side(baseline), side(candidate));
            let file = Recording::from_baseline("base.ttb", &before.to_baseline());
            let by_file = check(&file.expect("a baseline"), &after);
            let direct = check(&before, &after);
            let names = format!("{} {}", baseline.display(), candidate.display());
            let sorted = |gate| {
                let mut shown = changes(gate);
                shown.sort_unstable();
                shown.into_iter().map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(sorted(&by_file), sorted(&direct), "{names}");
            assert_eq!(by_file.outcome, direct.outcome, "{names}: {:?}", by_file.reasons);
        }
    }
}

#[test]
fn a_damaged_baseline_is_read_or_refused_without_a_panic() {
    let captured = h100("decode_graph.capture");
    let options = [tracetree::trace::ReadOptions::default()];
    let replay = Recorder::default()
        .captures(CaptureSource::Files(vec![captured]))
        .read(&[h100("decode_graph")], &options)
        .expect("a run");
    let eager = side(&example("cnn.pt.trace.json.gz"));
    for recording in [replay, eager] {
        let text = inflated(&recording.to_baseline()).expect("gzip");
        let digits: Vec<usize> = (0..text.len()).filter(|&at| text[at].is_ascii_digit()).collect();
        let mut random = SplitMix::new(11);
        let mut refused = 0;
        for _ in 0..150 {
            let mut damaged = text.clone();
            for at in random.sample(&digits, 3) {
                damaged[at] = b'0' + (damaged[at] - b'0' + 7) % 10;
            }
            match Recording::from_baseline("base.ttb", &damaged) {
                Ok(read) => drop(check(&read, &recording)),
                Err(error) => {
                    refused += 1;
                    let shown = error.to_string();
                    assert!(shown.contains("base.ttb") && shown.contains("record"), "{shown}");
                }
            }
        }
        assert!(refused > 0, "no damage was noticed");
    }
}

#[test]
fn another_optimizer_is_one_finding_and_not_another_program() {
    let names = ["one_cnn_a", "one_cnn_adamw"].map(|name| format!("torch215/{name}.json.gz"));
    let [Some(sgd), Some(adamw)] = names.map(|name| real(&name)) else { return };
    let gate = check(&side(&sgd), &side(&adamw));
    assert_eq!(gate.outcome, Outcome::Fail, "{:?}", gate.reasons);
    assert_eq!(changes(&gate), ["The optimizer is AdamW instead of SGD"]);
    let back = check(&side(&adamw), &side(&sgd));
    assert_eq!(changes(&back), ["The optimizer is SGD instead of AdamW"]);
}
