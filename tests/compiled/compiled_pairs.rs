//! Tests that compare recordings of eager training with recordings of compiled training. Each compiled region must be matched with exactly the
//! calls that it replaced. The expected calls are determined from the JSON of the eager trace.

use crate::support::compared::compare_files;
use crate::support::files::unpacked;
use crate::support::traces;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tracetree::diff::Region;
use tracetree::{Analysis, PerSide, Side};

fn example(name: &str) -> PathBuf {
    traces::example(&format!("{name}.pt.trace.json.gz"))
}

/// The events in a trace file, as JSON values.
fn events(path: &Path) -> Vec<Value> {
    let bytes = unpacked(path).expect("a trace");
    let mut document: Value = serde_json::from_slice(&bytes).expect("a JSON document");
    document["traceEvents"].as_array_mut().map(std::mem::take).expect("events")
}

fn span(event: &Value) -> (f64, f64) {
    let start = event["ts"].as_f64().unwrap_or(0.0);
    (start, start + event["dur"].as_f64().unwrap_or(0.0))
}

/// Sequence numbers of the forward ops that ran inside an event.
fn numbers_inside(events: &[Value], outer: &Value) -> BTreeSet<i64> {
    let (from, until) = span(outer);
    let inside = events.iter().filter(|event| {
        let (start, end) = span(event);
        event["tid"] == outer["tid"] && start >= from && end <= until
    });
    let forward = inside.filter(|event| event["args"]["Fwd thread id"] == 0);
    forward.filter_map(|event| event["args"]["Sequence number"].as_i64()).collect()
}

/// Positions of the events in which the autograd engine runs the backward pass for the forward ops with the given
/// sequence numbers. Only events that start after the time `after` (in µs) are included.
fn steps_of(events: &[Value], numbers: &BTreeSet<i64>, after: f64) -> BTreeSet<usize> {
    let is_step = |event: &Value| {
        let name = event["name"].as_str().unwrap_or_default();
        let number = event["args"]["Sequence number"].as_i64();
        name.starts_with("autograd::engine::evaluate_function")
            && !name.contains("AccumulateGrad")
            && span(event).0 > after
            && number.is_some_and(|number| numbers.contains(&number))
    };
    (0..events.len()).filter(|&at| is_step(&events[at])).collect()
}

/// Positions, in the eager trace, of the calls that a region replaced.
fn replaced(analysis: &Analysis, region: &Region) -> BTreeSet<usize> {
    let tree = analysis.tree(Side::Baseline);
    let uid = |call| tree.trace().uid(tree.event(call).expect("an event")).0 as usize;
    region.replaced.iter().map(|&call| uid(call)).collect()
}

/// Checks the regions in a run where all modules of one class are compiled.
fn each_region_faces_a_module(eager: &str, compiled: &str, class: &str, regions: usize) {
    let paths = PerSide::new(example(eager), example(compiled));
    let events = events(&paths.baseline);
    compare_files(paths.as_ref(), |analysis| {
        let module = format!("nn.Module: {class}_");
        let name = |at: usize| events[at]["name"].as_str().unwrap_or_default();
        // The modules in the eager run, in call order.
        let mut modules: Vec<usize> =
            (0..events.len()).filter(|&at| name(at).starts_with(&module)).collect();
        modules.sort_by(|&a, &b| span(&events[a]).0.total_cmp(&span(&events[b]).0));
        let found = analysis.diff().regions();
        assert!(found.iter().all(|region| region.side == Side::Candidate));
        let tree = analysis.tree(Side::Candidate);
        let (backward, forward): (Vec<&Region>, Vec<&Region>) =
            found.iter().partition(|region| tree.name(region.call).contains("Backward"));
        assert_eq!((forward.len(), backward.len(), modules.len()), (regions, regions, regions));
        let starts =
            |region: &&Region| tree.trace().start(tree.event(region.call).expect("an event"));
        let mut forward = forward;
        forward.sort_by_key(starts);
        for (region, &at) in forward.iter().zip(&modules) {
            // The region replaces all ops in the module, and no ops outside of the module.
            let ops = |inside: &dyn Fn(usize) -> bool| -> BTreeSet<usize> {
                (0..events.len())
                    .filter(|&at| events[at]["cat"] == "cpu_op" && inside(at))
                    .collect()
            };
            let within = |outer: usize, inner: usize| {
                let ((from, until), (start, end)) = (span(&events[outer]), span(&events[inner]));
                events[outer]["tid"] == events[inner]["tid"] && start >= from && end <= until
            };
            let expected = ops(&|inner| within(at, inner));
            let replaced = replaced(analysis, region);
            let found = ops(&|inner| replaced.iter().any(|&outer| within(outer, inner)));
            assert!(!expected.is_empty() && expected == found, "{compiled}: {}", name(at));
        }
        // Each module has exactly one backward region, which is matched with the autograd engine's events for this
        // module.
        let mut expected: Vec<BTreeSet<usize>> = modules
            .iter()
            .map(|&at| {
                let numbers = numbers_inside(&events, &events[at]);
                let next = modules.iter().map(|&other| span(&events[other]).1);
                let own = span(&events[at]).1;
                steps_of(&events, &numbers, next.filter(|&end| end <= own).fold(own, f64::max))
            })
            .collect();
        let mut found: Vec<BTreeSet<usize>> =
            backward.iter().map(|region| replaced(analysis, region)).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{compiled}");
        assert!(analysis.account().is_exact());
    });
}

#[test]
fn a_compiled_cnn_is_matched_with_the_eager_one() {
    each_region_faces_a_module("cnn_eager", "cnn_compiled", "Cnn", 2);
}

#[test]
fn a_compiled_transformer_is_matched_with_the_eager_one() {
    each_region_faces_a_module("tfm_eager", "tfm_compiled", "Tfm", 2);
}

#[test]
fn each_compiled_block_is_matched_with_its_eager_block() {
    each_region_faces_a_module("tfm_eager", "tfm_compiled_blocks", "Block", 6);
}

#[test]
fn on_a_gpu_compiled_models_are_matched_with_the_eager_ones() {
    for compiled in ["h100/resnet_compiled", "h100/resnet_reduce_overhead"] {
        each_region_faces_a_module("h100/resnet_eager", compiled, "ResNet", 2);
    }
    each_region_faces_a_module("h100/tfm_flash", "h100/tfm_compiled", "Tfm", 2);
}

#[test]
fn time_of_both_sides_is_in_one_row() {
    let paths = PerSide::new(example("tfm_eager"), example("tfm_compiled"));
    compare_files(paths.as_ref(), |analysis| {
        for row in analysis.rows() {
            let name = row.name(analysis.diff());
            if name.contains("(replaced calls)") {
                assert!(row.time.baseline.0 > 0 && row.time.candidate.0 > 0, "{name}");
            }
            assert!(!name.starts_with("Torch-Compiled Region"), "{name} is unmatched");
        }
    });
}

#[test]
fn each_step_of_a_real_compiled_training_has_a_forward_and_a_backward_region() {
    let Some(folder) = crate::support::files::real_traces() else { return };
    let path = |name: &str| folder.join(format!("training/{name}.json.gz"));
    let paths = PerSide::new(path("eager.a100"), path("compiled_graphs.v100"));
    compare_files(paths.as_ref(), |analysis| {
        let regions = analysis.diff().regions();
        assert_eq!(regions.len(), 12, "six recorded steps");
        assert!(regions.iter().all(|region| region.replaced.len() == 279));
    });
}
