//! Tests that each change is reported as exactly one cause, with the right reason.

use crate::support::compared::{compare_files, compare_texts, compare_with, steps_of};
use crate::support::enter_root;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use crate::support::traces;
use tracetree::analysis::causes::{Cause, Reason};
use tracetree::analysis::{Analysis, AnalysisOptions};
use tracetree::program::{Selection, Steps};
use tracetree::trace::{ReadOptions, Trace};
use tracetree::{CallTree, PerSide, Side};

/// A trace with two steps on one thread.
fn steps(body: impl Fn(&mut HostThread<'_>)) -> String {
    steps_of(2, body)
}

/// Compares two traces with two steps each, checks that the causes add up to the wall-time difference, and passes the
/// causes to `look`.
fn causes(
    baseline: impl Fn(&mut HostThread<'_>),
    candidate: impl Fn(&mut HostThread<'_>),
    look: impl FnOnce(&[Cause]),
) {
    compare_texts(&PerSide::new(steps(baseline), steps(candidate)), |analysis| {
        assert!(analysis.causes().is_exact(analysis.wall()), "the causes do not add up");
        look(analysis.causes().list());
    });
}

/// The first cause whose reason is one of `reasons`.
fn first_of<'c>(causes: &'c [Cause], reasons: &[Reason]) -> &'c Cause {
    let found = causes.iter().find(|cause| reasons.contains(&cause.reason));
    found.unwrap_or_else(|| panic!("no cause for {reasons:?} in {causes:#?}"))
}

fn mm(dims: &[&[i64]]) -> Op {
    Op::new("aten::mm").dims(dims)
}

const SQUARE: &[&[i64]] = &[&[64, 64], &[64, 64]];

fn product(kernel: &'static str, micros: f64) -> impl Fn(&mut HostThread<'_>) {
    move |t| t.op(mm(SQUARE), |t| t.kernel(kernel, micros))
}

#[test]
fn the_same_kernel_that_takes_longer_is_slower() {
    causes(product("gemm", 40.0), product("gemm", 70.0), |causes| {
        let cause = first_of(causes, &[Reason::KernelSlower]);
        assert_eq!((cause.place.as_str(), cause.difference.0), ("aten::mm", 30_000));
    });
}

#[test]
fn the_evidence_of_a_cause_is_per_step_like_its_difference() {
    causes(product("gemm", 40.0), product("gemm", 70.0), |causes| {
        let cause = first_of(causes, &[Reason::KernelSlower]);
        assert_eq!(cause.evidence, "1 kernel, 0.040 → 0.070 ms");
    });
    let split = |t: &mut HostThread<'_>| {
        t.op(mm(SQUARE), |t| (0..2).for_each(|_| t.kernel("gemm", 35.0)));
    };
    causes(product("gemm", 40.0), split, |causes| {
        let cause = first_of(causes, &[Reason::MoreKernels]);
        assert!(
            cause.evidence.starts_with("1 → 2 kernels, 0.040 → 0.070 ms"),
            "{}",
            cause.evidence
        );
    });
}

#[test]
fn work_after_the_last_step_is_not_evidence_about_a_step() {
    let [baseline, candidate] = [40.0, 70.0].map(|micros| {
        let body = |t: &mut HostThread<'_>| {
            t.step(0, |t| {
                product("gemm", micros)(t);
                t.synchronize("cudaDeviceSynchronize");
            });
            (0..3).for_each(|_| product("gemm", micros)(t));
        };
        TraceBuilder::cuda().thread("main", body).json()
    });
    compare_texts(&PerSide::new(baseline, candidate), |analysis| {
        let cause = first_of(analysis.causes().list(), &[Reason::KernelSlower]);
        assert_eq!((cause.difference.0, cause.count), (30_000, PerSide::new(1, 1)));
        assert_eq!(cause.evidence, "1 kernel, 0.040 → 0.070 ms");
    });
}

#[test]
fn if_one_side_has_more_steps_causes_cover_the_matched_steps() {
    for (counts, slower) in [((2, 5), 30_000), ((5, 2), 30_000)] {
        let [one, two] = [(counts.0, 40.0), (counts.1, 70.0)];
        let text = |(count, micros)| steps_of(count, product("gemm", micros));
        compare_texts(&PerSide::new(text(one), text(two)), |analysis| {
            let causes = analysis.causes();
            assert!(causes.is_exact(analysis.wall()), "the causes do not add up");
            assert_eq!(causes.steps(), PerSide::new(2, 2));
            let cause = first_of(causes.list(), &[Reason::KernelSlower]);
            assert_eq!((cause.place.as_str(), cause.difference.0), ("aten::mm", slower));
            assert_eq!(cause.count, PerSide::new(2, 2), "{cause:#?}");
            let alone = |cause: &Cause| matches!(cause.reason, Reason::New | Reason::Gone);
            assert!(!causes.list().iter().any(alone), "{:#?}", causes.list());
        });
    }
}

#[test]
fn a_selected_step_equals_the_same_step_in_the_whole_trace() {
    enter_root();
    let whole = "examples/traces/h100/train_base.pt.trace.json.gz";
    let trace = || Trace::open_with(whole, &ReadOptions::default()).expect("an example trace");
    let first = Selection { steps: "0".parse().ok(), ..Selection::default() };
    let one = first.cut(&CallTree::build(trace())).expect("a first step");
    compare_with(PerSide::new(one, trace()), AnalysisOptions::default(), |analysis| {
        let causes = analysis.causes();
        assert!(causes.is_exact(analysis.wall()), "the causes do not add up");
        assert_eq!(analysis.compared().count(), Some(1));
        assert_eq!(analysis.wall().totals(Side::Candidate).steps, 1);
        // Final gaps are ignored: in the complete trace, the last gap in the first step ends when the work after that
        // step begins.
        let others = causes.list().iter().filter(|cause| cause.reason != Reason::Tail);
        let others: Vec<&Cause> = others.collect();
        // Profiler calls between two steps belong to no step, so a trace that is cut to one step lacks these calls.
        assert!(others.iter().all(|cause| cause.reason == Reason::Host), "{others:#?}");
        assert_eq!(others.iter().map(|cause| cause.difference.0).sum::<i64>(), 0, "{others:#?}");
    });
}

#[test]
fn a_cause_knows_each_of_its_instances() {
    causes(product("gemm", 40.0), product("gemm", 70.0), |causes| {
        let cause = first_of(causes, &[Reason::KernelSlower]);
        assert_eq!(cause.nodes.len(), 2, "one in each step: {cause:#?}");
        assert_eq!(cause.nodes.first().copied(), cause.node);
        assert!(cause.nodes.is_sorted_by(|a, b| a < b));
    });
}

#[test]
fn in_real_traces_the_node_of_a_cause_is_one_of_its_nodes() {
    for (baseline, candidate) in [
        ("mi300_h100/timesformer.mi300.json.gz", "mi300_h100/timesformer.h100.json.gz"),
        ("training/eager.a100.json.gz", "training/compiled_graphs.v100.json.gz"),
        ("old/resnet50_2021.num_workers_0.json.gz", "old/resnet50_2021.num_workers_4.json.gz"),
    ] {
        let (Some(baseline), Some(candidate)) = (traces::real(baseline), traces::real(candidate))
        else {
            return;
        };
        compare_files(PerSide::new(baseline, candidate), |analysis| {
            for cause in analysis.causes().list() {
                assert!(cause.nodes.is_sorted_by(|a, b| a < b), "{}", cause.place);
                let stands = cause.node.is_none_or(|node| cause.nodes.contains(&node));
                assert!(stands, "{} is at none of its nodes", cause.place);
            }
        });
    }
}

#[test]
fn a_swapped_kernel_is_named_with_the_old_and_the_new_name() {
    let new = "cutlass_80_tensorop_bf16_s16816gemm_128x64_align8";
    causes(product("gemm", 40.0), product(new, 30.0), |causes| {
        let cause = first_of(causes, &[Reason::KernelSwapped]);
        assert!(cause.evidence.contains("gemm → cutlass_80"), "{}", cause.evidence);
        assert!(cause.evidence.contains("tile 128x64, align 8"), "{}", cause.evidence);
    });
}

#[test]
fn different_shapes_are_different_work() {
    let larger = |t: &mut HostThread<'_>| {
        t.op(mm(&[&[64, 128], &[128, 64]]), |t| t.kernel("gemm", 80.0));
    };
    causes(product("gemm", 40.0), larger, |causes| {
        assert_eq!(first_of(causes, &[Reason::MoreWork]).difference.0, 40_000);
    });
}

#[test]
fn work_of_one_side_that_replaces_work_of_the_other_is_one_cause() {
    let side = |op: &'static str, micros: f64| {
        move |t: &mut HostThread<'_>| {
            t.frame("train.py(3): step", |t| {
                t.op("aten::relu", |t| t.kernel("relu", 10.0));
                t.op(op, |t| t.kernel("attention", micros));
            });
        }
    };
    causes(side("mylib::old_attention", 4_306.0), side("other::fused", 4_299.0), |causes| {
        let busy = [Reason::New, Reason::Gone, Reason::KernelFaster, Reason::KernelSlower];
        let found: Vec<&Cause> =
            causes.iter().filter(|cause| busy.contains(&cause.reason)).collect();
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].difference.0, -7_000);
    });
}

#[test]
fn instances_of_one_module_class_are_one_cause_and_keep_their_shapes() {
    let layers = |micros: f64| {
        move |t: &mut HostThread<'_>| {
            for layer in 0..6 {
                t.module(&format!("Block_{layer}"), |t| {
                    t.op(mm(SQUARE), |t| t.kernel("gemm", micros));
                    t.op(mm(&[&[8, 8], &[8, 8]]), |t| t.kernel("gemm", micros / 2.0 + 3.0));
                });
            }
        }
    };
    causes(layers(400.0), layers(460.0), |causes| {
        let slower: Vec<&Cause> =
            causes.iter().filter(|cause| cause.reason == Reason::KernelSlower).collect();
        assert_eq!(slower.len(), 2, "{slower:#?}");
        assert!(slower.iter().all(|cause| cause.module == "Block"));
        assert_eq!((slower[0].difference.0, slower[1].difference.0), (360_000, 180_000));
    });
}

#[test]
fn a_slow_loader_is_named_instead_of_the_calls_below_it() {
    let loading = |micros: f64| {
        move |t: &mut HostThread<'_>| {
            t.frame("data.py(9): __next__", |t| {
                t.idle(micros);
                for op in ["aten::div", "aten::cat", "aten::copy_"] {
                    t.op(op, |t| t.idle(micros / 6.0));
                }
            });
            t.op(mm(SQUARE), |t| t.kernel("gemm", 40.0));
            t.synchronize("cudaDeviceSynchronize");
        }
    };
    causes(loading(300.0), loading(60.0), |causes| {
        assert_eq!(
            (causes[0].reason, causes[0].place.as_str()),
            (Reason::Host, "data.py: __next__")
        );
        assert_eq!(causes[0].difference.0, -360_000);
    });
}

#[test]
fn work_that_moved_into_a_neighbouring_op_is_reported_as_fused() {
    let blocks = |block: fn(&mut HostThread<'_>)| {
        move |t: &mut HostThread<'_>| (0..2).for_each(|n| t.module(&format!("Block_{n}"), block))
    };
    let separate = |t: &mut HostThread<'_>| {
        t.op(mm(SQUARE), |t| t.kernel("gemm_bf16_kernel", 5.0));
        t.op(Op::new("aten::gelu"), |t| t.kernel("gelu_kernel", 4.0));
    };
    let epilogue = |t: &mut HostThread<'_>| {
        t.op(mm(SQUARE), |t| t.kernel("gemm_bf16_bias_gelu_kernel", 6.0));
    };
    causes(blocks(separate), blocks(epilogue), |causes| {
        let cause = first_of(causes, &[Reason::Gone]);
        let fused = "fused: aten::mm, aten::gelu → aten::mm";
        assert!(cause.evidence.contains(fused), "{}", cause.evidence);
    });
    causes(blocks(epilogue), blocks(separate), |causes| {
        let cause = first_of(causes, &[Reason::New]);
        assert!(cause.evidence.contains("fused in the baseline"), "{}", cause.evidence);
    });
}

#[test]
fn many_kernels_with_one_common_ratio_are_a_single_clock_cause() {
    let ops = |ratio: f64| {
        move |t: &mut HostThread<'_>| {
            for (at, op) in ["aten::mm", "aten::add", "aten::mul", "aten::relu", "aten::sum"]
                .into_iter()
                .enumerate()
            {
                t.op(op, |t| t.kernel(op, ratio * (1_000.0 + 100.0 * at as f64)));
            }
        }
    };
    causes(ops(1.0), ops(1.1), |causes| {
        assert_eq!(causes[0].reason, Reason::Clock);
        let busy = [Reason::KernelSlower, Reason::KernelFaster];
        assert!(causes.iter().all(|cause| !busy.contains(&cause.reason)), "{causes:#?}");
    });
}

#[test]
fn repeated_forward_passes_count_as_steps_and_layers_do_not() {
    let read = |text: &str| {
        let trace = Trace::from_reader("made", text.as_bytes(), &ReadOptions::default());
        CallTree::build(trace.expect("a trace"))
    };
    let model = |t: &mut HostThread<'_>| {
        t.module("Detector_0", |t| {
            for layer in 0..4 {
                t.module(&format!("Block_{layer}"), |t| {
                    t.op("aten::mm", |t| t.kernel("gemm", 9.0))
                });
            }
        });
    };
    let five = TraceBuilder::cuda().thread("main", |t| {
        t.frame("detect.py(1): main", |t| {
            t.op("aten::copy_", |t| t.kernel("copy", 5.0));
            (0..5).for_each(|_| model(t));
        });
    });
    let tree = read(&five.json());
    let steps = Steps::of(&tree);
    assert_eq!(steps.len(), 5);
    assert_eq!(steps.repeated(&tree), Some("nn.Module: Detector_0"));
    let last = steps.spans().len() as u32 - 1;
    assert_eq!(steps.name(&tree, tracetree::program::StepId(last)), "repeat 4");
    let one = TraceBuilder::cuda().thread("main", |t| t.frame("detect.py(1): main", model));
    assert_eq!(Steps::of(&read(&one.json())).len(), 0, "layers are no steps");
}

/// Compares a real pair of traces and passes the analysis to `look`.
fn real(baseline: &str, candidate: &str, look: impl FnOnce(&Analysis)) {
    let (Some(a), Some(b)) = (traces::real(baseline), traces::real(candidate)) else { return };
    compare_files(PerSide::new(a, b), |analysis| {
        assert!(analysis.causes().is_exact(analysis.wall()));
        look(analysis);
    });
}

#[test]
fn the_first_cause_of_four_workers_is_the_loading_of_data() {
    let (one, four) =
        ("old/resnet50_2021.num_workers_0.json.gz", "old/resnet50_2021.num_workers_4.json.gz");
    real(one, four, |analysis| {
        let first = &analysis.causes().list()[0];
        assert_eq!(first.reason, Reason::Host);
        for loader in ["_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"] {
            assert!(first.place.contains(loader), "{}", first.place);
        }
        assert!(first.difference.0 < -50_000_000, "{}", first.difference);
        assert!(analysis.causes().leading().len() <= 7);
    });
}
