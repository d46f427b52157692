//! Checks the tables of all ops and API calls against counts from the raw JSON.

use crate::support::compared::compare_texts;
use crate::support::files::unpacked;
use crate::support::traces::{example, example_pairs, real, real_pairs};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use tracetree::analysis::named_calls::{NamedCalls, api_calls_by_name, ops_only_on};
use tracetree::trace::Nanos;
use tracetree::{Comparison, ComparisonOptions, PerSide, Side};

fn compared(paths: &PerSide<impl AsRef<Path>>) -> Comparison {
    let options = ComparisonOptions::default();
    Comparison::open(paths.baseline.as_ref(), paths.candidate.as_ref(), &options)
        .expect("two traces")
}

/// The number of events with each name in a category.
fn recount(path: &Path, category: &str) -> BTreeMap<String, u64> {
    let document: Value = serde_json::from_slice(&unpacked(path).expect("a file")).expect("JSON");
    let events =
        document.get("traceEvents").unwrap_or(&document).as_array().expect("events").iter();
    let mut counts = BTreeMap::new();
    for event in events.filter(|event| event["ph"] == "X" && event["cat"] == category) {
        *counts.entry(event["name"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    counts
}

fn calls_of(all: &[NamedCalls], name: &str, side: Side) -> u64 {
    all.iter().find(|calls| calls.name == name).map_or(0, |calls| calls.calls[side])
}

#[test]
fn every_op_of_a_trace_is_counted() {
    let pair = PerSide::new(example("resnet.rocm.json.gz"), example("resnet.cuda.json.gz"));
    let comparison = compared(&pair);
    let all = comparison.analysis().ops_by_name();
    for side in Side::BOTH {
        let counts = recount(&pair[side], "cpu_op");
        assert!(counts.len() > 20);
        for (name, count) in counts.iter().filter(|(name, _)| name.starts_with("aten::")) {
            assert_eq!(calls_of(all, name, side), *count, "{name}");
        }
    }
    let gone = all.iter().find(|calls| calls.name == "aten::miopen_convolution").expect("a row");
    assert!(gone.calls.candidate == 0 && gone.calls.baseline > 0 && gone.matched.baseline == 0);
}

#[test]
fn api_calls_of_both_vendors_share_a_row() {
    let pair = PerSide::new(example("resnet.rocm.json.gz"), example("resnet.cuda.json.gz"));
    let all = api_calls_by_name(compared(&pair).diff());
    let launches: PerSide<u64> = PerSide::from_fn(|side| {
        let counts = recount(&pair[side], "cuda_runtime");
        counts
            .iter()
            .filter(|(name, _)| name.contains("LaunchKernel"))
            .map(|(_, count)| count)
            .sum()
    });
    for side in Side::BOTH {
        assert_eq!(calls_of(&all, "launch", side), launches[side]);
    }
}

#[test]
fn times_of_names_add_up_to_those_of_the_trace() {
    for pair in example_pairs().into_iter().chain(real_pairs()) {
        let comparison = compared(&pair);
        let analysis = comparison.analysis();
        for side in Side::BOTH {
            let tree = analysis.tree(side);
            let gpu: Nanos = analysis.ops_by_name().iter().map(|calls| calls.gpu[side]).sum();
            let events = tree.calls().filter(|&call| tree.event(call).is_some());
            let below_ops = events.filter(|&call| {
                tree.kind(call) == tracetree::tree::CallKind::Gpu
                    && analysis.diff().op_of(side, call).is_some()
            });
            assert_eq!(
                gpu,
                below_ops.map(|call| tree.duration(call)).sum(),
                "{}",
                pair[side].display()
            );
        }
    }
}

#[test]
fn exchanged_sides_exchange_the_figures() {
    let pair = PerSide::new(example("resnet.rocm.json.gz"), example("resnet.cuda.json.gz"));
    let mirrored = compared(&PerSide::new(pair.candidate.clone(), pair.baseline.clone()));
    let mut one = compared(&pair).analysis().ops_by_name().clone();
    let mut two = mirrored.analysis().ops_by_name().clone();
    one.sort_by(|a, b| a.name.cmp(&b.name));
    two.sort_by(|a, b| a.name.cmp(&b.name));
    let swapped = |calls: &NamedCalls| {
        (calls.calls.candidate, calls.gpu.candidate, calls.host_self.candidate)
    };
    let plain =
        |calls: &NamedCalls| (calls.calls.baseline, calls.gpu.baseline, calls.host_self.baseline);
    assert!(one.iter().map(swapped).eq(two.iter().map(plain)));
    assert_eq!(one.len(), two.len());
}

#[test]
fn ops_of_one_side_are_listed_alone() {
    let pair = PerSide::new(example("resnet.rocm.json.gz"), example("resnet.cuda.json.gz"));
    let comparison = compared(&pair);
    let analysis = comparison.analysis();
    for side in Side::BOTH {
        let ours = recount(&pair[side], "cpu_op");
        let theirs = recount(&pair[side.other()], "cpu_op");
        let is_only = |name: &&String| name.starts_with("aten::") && !theirs.contains_key(*name);
        let mut expected: Vec<&String> = ours.keys().filter(is_only).collect();
        let ops = ops_only_on(analysis.ops_by_name(), side);
        let mut found: Vec<&String> =
            ops.iter().map(|op| &op.name).filter(|name| name.starts_with("aten::")).collect();
        expected.sort();
        found.sort();
        assert!(!expected.is_empty());
        assert_eq!(found, expected);
    }
}

/// An API call is counted even if it has no correlation id, or if no GPU event has the same correlation id.
#[test]
fn api_calls_without_a_correlation_are_counted() {
    let call = |name: &str, start: u32, args: Value| {
        json!({
            "ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": 2, "args": args,
        })
    };
    let events = [
        json!({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50}),
        call("cudaMalloc", 5, json!({})),
        call("cudaMalloc", 10, json!({"correlation": 0})),
        call("cudaLaunchKernel", 15, json!({"correlation": -1})),
        call("cudaLaunchKernel", 20, json!({"correlation": 9})),
    ];
    let text = json!({ "traceEvents": events }).to_string();
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let all = api_calls_by_name(analysis.diff());
        let of = |name| {
            let calls = all.iter().find(|calls| calls.name == name).expect("a row");
            assert_eq!(calls.calls.baseline, calls.calls.candidate);
            (calls.calls.baseline, calls.host_total.baseline, calls.gpu.baseline)
        };
        assert_eq!(of("Malloc"), (2, Nanos(4_000), Nanos::ZERO));
        assert_eq!(of("launch"), (2, Nanos(4_000), Nanos::ZERO));
    });
}

#[test]
fn ops_that_only_one_of_two_real_traces_has_are_all_listed() {
    let side = |name: &str| real(&format!("training/{name}.json.gz"));
    let Some((one, two)) = side("eager.a100").zip(side("compiled_graphs.v100")) else { return };
    let comparison = compared(&PerSide::new(one, two));
    let only = Side::BOTH.map(|side| ops_only_on(comparison.analysis().ops_by_name(), side).len());
    assert_eq!(only, [72, 3]);
}
