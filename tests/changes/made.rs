//! Tests with automatically edited recordings: harmless edits must not be reported, and edits that simulate a change to
//! the program must be named.

use crate::shown;
use crate::support::changes::Change;
use crate::support::compared::compare_texts;
use crate::support::files::unpacked;
use crate::support::recording::Recording;
use crate::support::splitmix::SplitMix;
use crate::support::trace_builder::{HostThread, TraceBuilder};
use crate::support::traces::{example, h100, real};
use std::path::{Path, PathBuf};
use tracetree::PerSide;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;

/// Recordings of training and inference, with and without stacks and steps, on three platforms.
fn recordings() -> Vec<PathBuf> {
    let own = [h100("train_base"), h100("resnet_eager"), example("resnet.rocm.json.gz")];
    let others = [
        "mi300_h100/vit.mi300.json.gz",
        "training/resnet50_ddp.a100.json.gz",
        "inference/vllm_eager.b200.json.gz",
        "old/resnet50_2021.num_workers_4.json.gz",
        "cpu/tfm.pt.trace.json.gz",
    ];
    own.into_iter().chain(others.into_iter().filter_map(real)).collect()
}

fn changed(path: &Path, change: &Change, look: impl FnOnce(&Analysis)) {
    let bytes = unpacked(path).expect("a readable file");
    let recording = Recording::read(&bytes).expect("a trace");
    let Some(changed) = change.apply(&recording, &mut SplitMix::new(1)) else { return };
    let text = |recording: &Recording| String::from_utf8(recording.write()).expect("JSON is text");
    compare_texts(&PerSide::new(text(&recording), text(&changed)), look);
}

#[test]
fn another_recording_of_the_same_program_is_identical() {
    let innocent = [
        Change::Nothing,
        Change::OtherRun,
        Change::OtherCheckout,
        Change::OtherNumbers,
        Change::StretchThreads,
    ];
    for path in recordings() {
        for change in &innocent {
            changed(&path, change, |analysis| {
                let name = path.display();
                assert_eq!(shown(analysis), Vec::<String>::new(), "{name}: {}", change.label());
            });
        }
    }
}

#[test]
#[expect(clippy::wildcard_enum_match_arm, reason = "all other changes can be made in every trace")]
fn a_made_change_is_named() {
    let made = [
        (Change::LargerBatch, ChangeKind::Shapes),
        (Change::LowerPrecision(5.0), ChangeKind::Precision),
        (Change::InsertLayer, ChangeKind::Layers),
        (Change::DropLayer, ChangeKind::Layers),
        (Change::InsertOps(5.0), ChangeKind::Ops),
        (Change::SplitLaunches(30.0), ChangeKind::KernelSelection),
    ];
    let mut missed = Vec::new();
    for path in recordings() {
        for (change, kind) in &made {
            changed(&path, change, |analysis| {
                let is_possible = match kind {
                    // `Change::LowerPrecision` can rewrite types only in the bundled example traces.
                    ChangeKind::Precision => path.to_string_lossy().contains("examples/traces"),
                    ChangeKind::Shapes => analysis.changes().has_arguments(),
                    _ => true,
                };
                if !is_possible {
                    return;
                }
                if !analysis.changes().list().iter().any(|change| change.kind == *kind) {
                    let shown: Vec<String> = shown(analysis).into_iter().take(4).collect();
                    missed.push(format!("{}: {}: {shown:#?}", path.display(), change.label()));
                }
            });
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// A training script of two steps, with the given calls in the module of each step.
fn script(calls: impl Fn(&mut HostThread<'_>, u32)) -> String {
    let builder = TraceBuilder::cuda().thread("main", |t| {
        for number in 0..2 {
            t.step(number, |t| {
                t.frame("train.py(20): train_step", |t| t.module("Block_0", |t| calls(t, number)));
            });
        }
    });
    builder.json()
}

fn product(t: &mut HostThread<'_>) {
    t.op("aten::mm", |t| t.kernel("sgemm", 5.0));
}

/// Asserts that the changes, including those of the recording, are a single one of the given kind.
fn assert_only_change(one: String, two: String, kind: ChangeKind) {
    compare_texts(&PerSide::new(one, two), |analysis| {
        let kinds: Vec<_> = analysis.changes().list().iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [kind], "{:?}", shown(analysis));
    });
}

#[test]
fn code_that_only_one_side_compiles_in_the_measured_steps_is_named() {
    let run = |compiles: bool| {
        script(move |t, number| {
            if compiles && number == 0 {
                t.frame("torch/_dynamo/convert_frame.py(1052): __call__", |t| {
                    t.leaf("aten::empty");
                });
                t.frame("torch/_inductor/compile_fx.py(300): run", |t| t.leaf("aten::detach"));
            }
            product(t);
        })
    };
    for (sides, side) in [([false, true], "candidate"), ([true, false], "baseline")] {
        let [one, two] = sides.map(run);
        compare_texts(&PerSide::new(one, two), |analysis| {
            let sentence = format!("Only the {side} compiles code in the measured steps");
            let changes = shown(analysis);
            assert!(matches!(&changes[..], [only] if only.contains(&sentence)), "{changes:?}");
        });
    }
}

#[test]
fn calls_that_only_enter_another_stream_are_a_part_of_the_stream_change() {
    let run = |has_stream: bool| {
        script(move |t, _| {
            product(t);
            if has_stream {
                t.frame("torch/cuda/streams.py(94): __enter__", |_| {});
                t.on_stream(99, product);
                t.frame("torch/cuda/streams.py(98): __exit__", |_| {});
            } else {
                product(t);
            }
        })
    };
    assert_only_change(run(false), run(true), ChangeKind::Streams);
}

#[test]
fn no_grad_around_an_added_op_is_a_part_of_that_change() {
    let run = |has_more: bool| {
        script(move |t, _| {
            product(t);
            if has_more {
                t.frame("torch/autograd/grad_mode.py(80): __enter__", |_| {});
                t.op("aten::add", |t| t.kernel("add", 2.0));
                t.frame("torch/autograd/grad_mode.py(84): __exit__", |_| {});
            }
        })
    };
    for [one, two] in [[false, true], [true, false]] {
        assert_only_change(run(one), run(two), ChangeKind::Ops);
    }
}
