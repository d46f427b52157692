//! Tests that each change in [`Change::hard`] does to a recording what its name says. The tests check only the changed
//! recordings; they do not match any calls.

use crate::support::changes::Change;
use crate::support::recording::{Event, Forest, Kind, Recording};
use crate::support::splitmix::SplitMix;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};

/// The numbers of layers, experts, parameters and steps in the generated model.
const LAYERS: usize = 6;
const EXPERTS: usize = 5;
const PARAMETERS: usize = 7;
const STEPS: u32 = 3;

/// Training steps of a model with identical layers. The experts have different shapes, and so do the steps.
fn model() -> Recording {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        t.frame("train.py(9): main", |t| {
            for number in 0..STEPS {
                t.step(number + 4, |t| step(t, i64::from(number)));
                t.leaf("aten::profile");
            }
        });
    });
    Recording::read(trace.json().as_bytes()).expect("a built trace is a trace")
}

fn step(t: &mut HostThread<'_>, number: i64) {
    t.module("Net_0", |t| {
        t.op(shaped("aten::embedding", 8 + number), |t| t.kernel("embedding", 3.0));
        t.op("custom::mask", |t| t.frame("mask.py(3): mask", |t| t.leaf("aten::ones")));
        for layer in 0..LAYERS {
            t.module(&format!("Block_{layer}"), |t| {
                t.module(&format!("Linear_{layer}"), |t| linear(t, 16));
                t.op(shaped("aten::gelu", 16), |t| t.kernel("gelu", 2.0));
                t.leaf(shaped("aten::view", 16));
            });
        }
        t.module("Experts_0", |t| {
            for expert in 0..EXPERTS {
                let tokens = 100 + expert as i64;
                t.module(&format!("Expert_{expert}"), |t| linear(t, tokens));
            }
            t.leaf("aten::sum");
        });
        t.module(&format!("Linear_{LAYERS}"), |t| linear(t, 99));
    });
    t.annotation("Optimizer.step#SGD.step", |t| {
        for parameter in 0..PARAMETERS {
            let length = 10 + parameter as i64;
            t.op(shaped("aten::mul_", length), |t| t.kernel("mul", 1.0));
            t.op(shaped("aten::add_", length), |t| t.kernel("add", 1.0));
        }
    });
}

fn linear(t: &mut HostThread<'_>, rows: i64) {
    t.op(shaped("aten::linear", rows), |t| {
        t.leaf(shaped("aten::t", rows));
        t.op(shaped("aten::addmm", rows), |t| t.kernel("gemm", 5.0));
    });
}

fn shaped(name: &str, rows: i64) -> Op {
    Op::new(name).dims(&[&[rows, 4]])
}

fn changed(change: &Change, seed: u64) -> Recording {
    change.apply(&model(), &mut SplitMix::new(seed)).expect("the change applies")
}

/// The names of events in time order.
fn names(recording: &Recording, wanted: impl Fn(&Event) -> bool) -> Vec<String> {
    let mut events: Vec<&Event> = recording.events.iter().filter(|event| wanted(event)).collect();
    events.sort_by_key(|event| event.start);
    events.iter().map(|event| event.name.to_string()).collect()
}

/// The first dimension of the first input of each op with the given name, in time order.
fn rows(recording: &Recording, name: &str) -> Vec<i64> {
    let mut ops: Vec<&Event> =
        recording.events.iter().filter(|event| &*event.name == name).collect();
    ops.sort_by_key(|event| event.start);
    ops.iter().map(|op| op.args["Input Dims"][0][0].as_i64().expect("a number")).collect()
}

/// Repeats a list once for each step.
fn every_step<T: Clone>(list: &[T]) -> Vec<T> {
    vec![list; STEPS as usize].concat()
}

#[test]
fn annotations_contain_several_calls_and_other_annotations() {
    let recording = changed(&Change::Annotate, 1);
    let forest = Forest::of(&recording.events);
    let is_range = |at: usize| recording.events[at].origin.is_none();
    let ranges: Vec<usize> = (0..recording.events.len()).filter(|&at| is_range(at)).collect();
    let ops = model().events.iter().filter(|event| event.kind == Kind::Op).count();
    assert!((ops / 8..=ops / 5).contains(&ranges.len()), "{} of {ops}", ranges.len());
    assert!(ranges.iter().all(|&at| forest.sizes[at] > 2));
    assert!(ranges.iter().any(|&at| forest.parents[at].is_some_and(is_range)));
}

#[test]
fn a_third_of_the_layers_is_appended() {
    let recording = changed(&Change::MoreLayersDrop(1.0), 1);
    let layers = names(&recording, |event| event.name.starts_with("nn.Module: Block_"));
    let step: Vec<String> = (0..8).map(|number| format!("nn.Module: Block_{number}")).collect();
    assert_eq!(layers, every_step(&step));
    let added = recording
        .events
        .iter()
        .filter(|event| event.origin.is_none() && event.name.starts_with("nn.Module: Block_"));
    let added: Vec<&str> = added.map(|event| event.name.rsplit_once('_').unwrap().1).collect();
    assert!(added.len() == 6 && added.iter().all(|number| ["6", "7"].contains(number)));
    // The module after the added layers now has a higher number.
    assert!(recording.events.iter().any(|event| &*event.name == "nn.Module: Linear_8"));
}

#[test]
fn half_of_the_layers_are_compiled() {
    for seed in 1..6 {
        let recording = changed(&Change::CompileHalf, seed);
        let forest = Forest::of(&recording.events);
        let named = |at: usize, part: &str| recording.events[at].name.starts_with(part);
        let regions: Vec<usize> =
            (0..recording.events.len()).filter(|&at| named(at, "Torch-Compiled Region")).collect();
        assert_eq!(regions.len(), LAYERS / 2 * STEPS as usize);
        for region in regions {
            let layer = forest.parents[region].expect("the layer");
            assert!(named(layer, "nn.Module: Block_") && forest.children[layer].len() == 1);
            assert!(forest.on_gpu_path[region]);
        }
        // Compiled instances no longer have numbers of their own, so later instances take over the freed numbers.
        assert!(recording.events.iter().any(|event| &*event.name == "nn.Module: Linear_3"));
        assert!(!recording.events.iter().any(|event| &*event.name == "nn.Module: Linear_4"));
    }
}

#[test]
fn one_op_updates_all_parameters() {
    let recording = changed(&Change::ForeachOptimizer, 1);
    let updates = names(&recording, |event| event.kind == Kind::Op && event.name.ends_with('_'));
    let step = ["aten::_foreach_mul_", "aten::_foreach_add_"].map(str::to_owned);
    assert_eq!(updates, every_step(&step));
    let kernel = recording.events.iter().find(|event| event.name.contains("multi_tensor"));
    let kernel = kernel.expect("the kernel of a multi-tensor op");
    assert_eq!((kernel.end - kernel.start, kernel.origin), (PARAMETERS as i64 * 1_000, None));
}

#[test]
fn experts_run_in_another_order_with_numbers_in_order() {
    let recording = changed(&Change::ShuffleExperts, 1);
    let experts = names(&recording, |event| event.name.starts_with("nn.Module: Expert_"));
    let step: Vec<String> = (0..EXPERTS).map(|at| format!("nn.Module: Expert_{at}")).collect();
    assert_eq!(experts, every_step(&step));
    let mut tokens = rows(&recording, "aten::addmm");
    tokens.retain(|&rows| rows >= 100);
    let first = tokens[0];
    let rotated: Vec<i64> =
        (0..EXPERTS as i64).map(|at| 100 + (first - 100 + at) % EXPERTS as i64).collect();
    assert!(first > 100);
    assert_eq!(tokens, every_step(&rotated));
}

#[test]
fn launches_are_directly_below_ops_of_the_top_level() {
    let recording = changed(&Change::RecordLevel, 1);
    let forest = Forest::of(&recording.events);
    let is_op = |at: usize| recording.events[at].kind == Kind::Op;
    let is_nested = |at: usize| {
        let above = std::iter::successors(forest.parents[at], |&at| forest.parents[at]);
        is_op(at) && above.into_iter().any(is_op)
    };
    let nested = (0..recording.events.len()).filter(|&at| is_nested(at));
    assert_eq!(nested.count(), 0);
    let linear = names(&recording, |event| &*event.name == "aten::linear").len();
    let whole = model();
    let is_gpu = |event: &&Event| event.kind == Kind::Gpu;
    assert_eq!(linear, names(&whole, |event| &*event.name == "aten::linear").len());
    let kernels = [&recording, &whole].map(|one| one.events.iter().filter(is_gpu).count());
    assert_eq!(kernels[0], kernels[1]);
}

#[test]
fn a_recording_that_starts_in_mid_step_lacks_the_calls_before() {
    let whole = model();
    for seed in 1..6 {
        let recording = changed(&Change::StartMidStep, seed);
        let main = recording.events.iter().find(|event| event.name.contains("main")).unwrap();
        let step =
            whole.events.iter().find(|event| event.name.starts_with("ProfilerStep")).unwrap();
        let share = (main.start - step.start) as f64 / (step.end - step.start) as f64;
        assert!((0.2..0.8).contains(&share), "{share}");
        let early = recording.events.iter().filter(|event| event.kind.is_host());
        assert!(early.clone().all(|event| event.start >= main.start));
        assert!(early.count() < whole.events.iter().filter(|event| event.kind.is_host()).count());
        let forest = Forest::of(&recording.events);
        let gpu = (0..recording.events.len()).filter(|&at| recording.events[at].kind == Kind::Gpu);
        assert!(gpu.into_iter().all(|at| forest.parents[at].is_some()));
    }
}

#[test]
fn swapped_steps_have_their_numbers_in_order() {
    let recording = changed(&Change::ReorderSteps, 1);
    let steps = names(&recording, |event| event.name.starts_with("ProfilerStep#"));
    assert_eq!(steps, ["ProfilerStep#4", "ProfilerStep#5", "ProfilerStep#6"]);
    let order = rows(&recording, "aten::embedding");
    assert!([[9, 8, 10], [8, 10, 9]].iter().any(|swapped| order == swapped), "{order:?}");
    assert_eq!(recording.events.len(), model().events.len());
}

#[test]
fn a_change_that_nothing_would_show_does_not_apply() {
    let equal = TraceBuilder::cuda().thread("main", |t| {
        for number in 0..STEPS {
            t.step(number, |t| {
                t.module("Experts_0", |t| {
                    for expert in 0..EXPERTS {
                        t.module(&format!("Expert_{expert}"), |t| linear(t, 16));
                    }
                    t.leaf("aten::sum");
                });
            });
        }
    });
    let recording = Recording::read(equal.json().as_bytes()).expect("a built trace is a trace");
    for change in [Change::ShuffleExperts, Change::ReorderSteps] {
        assert!(change.apply(&recording, &mut SplitMix::new(1)).is_none(), "{}", change.label());
    }
}
