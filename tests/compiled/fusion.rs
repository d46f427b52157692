//! Tests for fusion: a call that runs fewer kernels on one side is reported as fused only if there is evidence of a
//! fusion.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use crate::support::traces;
use tracetree::analysis::fusion::{FusionEvidence, FusionRow, KernelChange};
use tracetree::{PerSide, Side};

/// A model with `blocks` identical blocks.
fn model(blocks: usize, block: impl Fn(&mut HostThread<'_>)) -> String {
    TraceBuilder::cuda()
        .thread("main", |t| {
            t.module("Model_0", |t| {
                for at in 0..blocks {
                    t.module(&format!("Block_{at}"), &block);
                }
            });
        })
        .json()
}

fn fusions(baseline: &str, candidate: &str) -> Vec<FusionRow> {
    let texts = PerSide::new(baseline.to_owned(), candidate.to_owned());
    compare_texts(&texts, |analysis| analysis.fusions().to_vec())
}

/// The only row in a table of fusions, formatted as one line.
fn only(rows: &[FusionRow]) -> String {
    let [row] = rows else { panic!("one row: {rows:#?}") };
    let change = match row.change {
        KernelChange::FusedIn(side, evidence) => {
            format!("fused in {} by {}", side.label(), evidence.label())
        }
        KernelChange::Count => "count".to_owned(),
    };
    let PerSide { baseline, candidate } = row.kernel_count;
    format!(
        "{}: {baseline} | {candidate} {change}, {} of {}",
        row.path, row.agreeing, row.instances
    )
}

fn op(t: &mut HostThread<'_>, name: &str, kernel: &str) {
    t.op(name, |t| t.kernel(kernel, 5.0));
}

fn eager(t: &mut HostThread<'_>) {
    op(t, "aten::mul", "mul_kernel");
    op(t, "aten::add", "add_kernel");
}

fn compiled(t: &mut HostThread<'_>) {
    op(t, "triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0");
}

#[test]
fn a_compiled_kernel_lists_the_ops_that_it_fused() {
    let (before, after) = (model(3, eager), model(3, compiled));
    assert_eq!(
        only(&fusions(&before, &after)),
        "Model / Block: 2 | 1 fused in trace2 by names, 3 of 3"
    );
    assert_eq!(
        only(&fusions(&after, &before)),
        "Model / Block: 1 | 2 fused in trace1 by names, 3 of 3"
    );
}

#[test]
fn one_instance_is_a_count_and_not_a_fusion() {
    let rows = fusions(&model(1, eager), &model(1, compiled));
    assert_eq!(only(&rows), "Model / Block: 2 | 1 count, 1 of 1");
}

#[test]
fn a_kernel_that_does_not_name_all_ops_is_not_a_fusion() {
    let other = |t: &mut HostThread<'_>| op(t, "my::step", "step_kernel");
    let rows = fusions(&model(3, eager), &model(3, other));
    assert_eq!(only(&rows), "Model / Block: 2 | 1 count, 3 of 3");
    // The name of the fused kernel contains the name of only one of the two fused ops.
    let more = |t: &mut HostThread<'_>| {
        op(t, "triton_poi_fused_mul_0", "triton_poi_fused_mul_0");
    };
    assert_eq!(
        only(&fusions(&model(3, eager), &model(3, more))),
        "Model / Block: 2 | 1 count, 3 of 3"
    );
}

#[test]
fn an_attention_kernel_fuses_products_and_a_softmax() {
    let plain = |t: &mut HostThread<'_>| {
        op(t, "aten::bmm", "gemm_a");
        op(t, "aten::mul", "mul_kernel");
        op(t, "aten::_softmax", "softmax_kernel");
        op(t, "aten::copy_", "copy_kernel");
        op(t, "aten::bmm", "gemm_b");
    };
    let flash = |t: &mut HostThread<'_>| {
        t.op("aten::scaled_dot_product_attention", |t| {
            op(t, "aten::_flash_attention_forward", "flash_fwd_kernel");
        });
    };
    let rows = fusions(&model(2, plain), &model(2, flash));
    assert_eq!(only(&rows), "Model / Block: 5 | 1 fused in trace2 by kinds, 2 of 2");
    let no_softmax = |t: &mut HostThread<'_>| {
        op(t, "aten::bmm", "gemm_a");
        op(t, "aten::bmm", "gemm_b");
    };
    let rows = fusions(&model(2, no_softmax), &model(2, flash));
    assert_eq!(only(&rows), "Model / Block: 2 | 1 count, 2 of 2");
}

fn linear(t: &mut HostThread<'_>, out: i64) {
    t.op("aten::linear", |t| {
        let addmm = Op::new("aten::addmm").dims(&[&[out], &[8, 64], &[64, out], &[], &[]]);
        t.op(addmm, |t| t.kernel("gemm_kernel", 9.0));
    });
}

#[test]
fn one_product_as_wide_as_three_fuses_them() {
    let apart = |t: &mut HostThread<'_>| (0..3).for_each(|_| linear(t, 64));
    let rows = fusions(&model(2, |t| linear(t, 192)), &model(2, apart));
    assert!(only(&rows).ends_with("1 | 3 fused in trace1 by shapes, 2 of 2"), "{}", only(&rows));
    // If one side has one layer and the other has three, the layers must not be reported as fused.
    let rows = fusions(&model(2, |t| linear(t, 64)), &model(2, apart));
    assert!(rows.iter().all(|row| row.change == KernelChange::Count), "{rows:#?}");
}

#[test]
fn an_op_fused_into_its_neighbour_is_found_by_the_kernel_name() {
    let separate = |t: &mut HostThread<'_>| {
        op(t, "aten::addmm", "gemm_bf16_kernel");
        op(t, "aten::gelu", "gelu_kernel");
    };
    let epilogue = |t: &mut HostThread<'_>| op(t, "aten::addmm", "gemm_bf16_bias_gelu_kernel");
    let rows = fusions(&model(2, separate), &model(2, epilogue));
    assert_eq!(only(&rows), "Model / Block: 2 | 1 fused in trace2 by names, 2 of 2");
    // If no kernel name contains the name of a missing op, the op is not reported as fused.
    let gone = |t: &mut HostThread<'_>| op(t, "aten::addmm", "gemm_bf16_bias_kernel");
    assert_eq!(fusions(&model(2, separate), &model(2, gone)), []);
}

#[test]
fn memsets_and_copies_do_not_count_as_kernels() {
    let plain = |t: &mut HostThread<'_>| op(t, "aten::addmm", "gemm_kernel");
    let zeroed = |t: &mut HostThread<'_>| {
        t.op("aten::addmm", |t| {
            t.memset(256, 1.0);
            t.kernel("gemm_kernel", 5.0);
            t.memcpy("Memcpy DtoD (Device -> Device)", 64, 1.0);
        });
    };
    assert_eq!(fusions(&model(3, plain), &model(3, zeroed)), []);
}

#[test]
fn two_kernels_for_one_op_on_one_side_are_not_a_fusion() {
    let one = |t: &mut HostThread<'_>| op(t, "aten::addmm", "gemm_kernel");
    let two = |t: &mut HostThread<'_>| {
        t.op("aten::addmm", |t| {
            t.kernel("gemm_split_kernel", 5.0);
            t.kernel("splitKreduce_kernel", 1.0);
        });
    };
    let rows = fusions(&model(3, one), &model(3, two));
    assert_eq!(only(&rows), "Model / Block / aten::addmm: 1 | 2 count, 3 of 3");
    assert_eq!(rows[0].kernels.candidate.len(), 2);
}

#[test]
fn a_kernel_that_keeps_its_name_explains_one_call_and_not_three() {
    // Without a capture, it is unknown which ops launched the kernels in a graph. All these kernels are counted at the
    // graph launch, whether or not the launch is matched.
    let muls = |count: usize| {
        move |t: &mut HostThread<'_>| {
            t.launch("cudaGraphLaunch").graph(|graph| {
                (0..count).for_each(|_| graph.kernel("mul_kernel", 5.0));
            });
        }
    };
    let rows = fusions(&model(3, muls(3)), &model(3, muls(1)));
    assert_eq!(only(&rows), "Model / Block / graph launch: 3 | 1 count, 3 of 3");
}

#[test]
fn without_modules_fusions_into_different_kernels_have_separate_rows() {
    let sized = |t: &mut HostThread<'_>, out: i64, kernel: &str| {
        t.op("aten::linear", |t| {
            let addmm = Op::new("aten::addmm").dims(&[&[out], &[8, 64], &[64, out], &[], &[]]);
            t.op(addmm, |t| t.kernel(kernel, 9.0));
        });
    };
    let program = |parts: i64| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                for (out, kernel) in [(192, "small_gemm"), (960, "large_gemm"), (192, "small_gemm")]
                {
                    (0..parts).for_each(|_| sized(t, out / parts, kernel));
                    op(t, "aten::relu", "relu_kernel");
                }
            })
            .json()
    };
    let rows = fusions(&program(3), &program(1));
    let line = |row: &FusionRow| {
        let kernel = row.kernels.candidate.keys().next().expect("a kernel").clone();
        assert!(matches!(
            row.change,
            KernelChange::FusedIn(Side::Candidate, FusionEvidence::Shapes)
        ));
        (kernel, row.agreeing)
    };
    let mut lines: Vec<(String, usize)> = rows.iter().map(line).collect();
    lines.sort();
    // The large matrix product alone is not enough evidence for a fusion, but together with the other products it is.
    assert_eq!(lines, [("large_gemm".to_owned(), 1), ("small_gemm".to_owned(), 2)]);
}

/// Two programs whose backward pass recomputes a forward pass. The first program uses many separate ops, and the second
/// program uses a single compiled region.
fn checkpointed(kernel: &str) -> (String, String) {
    let program = |step: &dyn Fn(&mut HostThread<'_>)| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                op(t, "aten::mm", "gemm_kernel");
                step(t);
                op(t, "aten::bmm", "bmm_kernel");
            })
            .json()
    };
    let eager = program(&|t| {
        t.op("ReluBackward0", |t| {
            (0..30).for_each(|_| eager(t));
            op(t, "aten::threshold_backward", "threshold_kernel");
        });
    });
    let compiled = program(&|t| t.op("Torch-Compiled Region: 0/0", |t| op(t, kernel, kernel)));
    (eager, compiled)
}

#[test]
fn a_region_may_replace_much_more_work_than_it_has_if_it_names_that_work() {
    let regions = |kernel: &str| {
        let (eager, compiled) = checkpointed(kernel);
        compare_texts(&PerSide::new(eager, compiled), |analysis| analysis.diff().regions().len())
    };
    assert_eq!(regions("triton_poi_fused_add_mul_threshold_backward_0"), 1);
    assert_eq!(regions("triton_poi_fused_exp_0"), 0);
}

#[test]
fn separate_fusions_in_one_block_are_counted_separately() {
    let apart = |change: fn(&mut HostThread<'_>)| {
        move |t: &mut HostThread<'_>| {
            change(t);
            op(t, "aten::mm", "gemm_kernel");
            change(t);
        }
    };
    let rows = fusions(&model(2, apart(eager)), &model(2, apart(compiled)));
    assert_eq!(only(&rows), "Model / Block: 2 | 1 fused in trace2 by names, 4 of 4");
}

#[test]
fn a_real_trace_compared_with_itself_has_no_fusions() {
    for pair in traces::real_and_unlike_pairs() {
        for path in [&pair.baseline, &pair.candidate] {
            compare_files(PerSide::new(path, path), |analysis| {
                assert!(analysis.fusions().is_empty(), "{}", path.display());
            });
        }
    }
}

#[test]
fn only_the_convolution_of_vit_and_timesformer_has_a_different_number_of_kernels() {
    for model in ["bert", "vit", "timesformer"] {
        let Some(pair) = traces::platform_pair(model) else { return };
        compare_files(pair, |analysis| {
            let rows = analysis.fusions().to_vec();
            let paths: Vec<&str> =
                rows.iter().map(|row| row.path.rsplit(" / ").next().unwrap_or("")).collect();
            let expected: &[&str] = if model == "bert" { &[] } else { &["aten::_convolution"] };
            assert_eq!(paths, expected, "{model}");
            assert!(rows.iter().all(|row| row.change == KernelChange::Count), "{model}");
        });
    }
}

#[test]
fn fusions_of_real_pairs_are_mirrored_by_swapping_the_sides() {
    let line = |row: &FusionRow, turn: bool| {
        let change = match row.change {
            KernelChange::FusedIn(side, evidence) if turn => {
                KernelChange::FusedIn(side.other(), evidence)
            }
            change @ (KernelChange::FusedIn(..) | KernelChange::Count) => change,
        };
        let turned = |pair: PerSide<String>| if turn { pair.swap() } else { pair };
        let sides = PerSide::from_fn(|side: Side| {
            format!("{} {:?} {}", row.kernel_count[side], row.ops[side], row.time[side])
        });
        format!("{} {change:?} {:?} {} {}", row.path, turned(sides), row.instances, row.agreeing)
    };
    for pair in traces::real_and_unlike_pairs() {
        let lines = |turn: bool| {
            let paths = if turn { pair.as_ref().swap() } else { pair.as_ref() };
            compare_files(paths, |analysis| {
                let rows = analysis.fusions().to_vec();
                let mut lines: Vec<String> = rows.iter().map(|row| line(row, turn)).collect();
                lines.sort();
                lines
            })
        };
        assert_eq!(lines(false), lines(true), "{}", pair.baseline.display());
    }
}

#[test]
fn one_linear_layer_instead_of_three_is_a_fusion_without_a_gpu() {
    let Some(folder) = crate::support::files::real_traces() else { return };
    let path = |name: &str| folder.join(format!("cpu/{name}.pt.trace.json.gz"));
    let paths = PerSide::new(path("tfm"), path("tfm_unfused_qkv"));
    compare_files(paths.as_ref(), |analysis| {
        let claims: Vec<&FusionRow> = analysis
            .fusions()
            .iter()
            .filter(|row| matches!(row.change, KernelChange::FusedIn(..)))
            .collect();
        let forward = claims.iter().find(|row| row.ops.baseline == ["aten::addmm"]);
        let forward = forward.unwrap_or_else(|| panic!("no product: {claims:#?}"));
        let shapes = KernelChange::FusedIn(Side::Baseline, FusionEvidence::Shapes);
        assert_eq!((forward.change, forward.kernel_count), (shapes, PerSide::new(1, 3)));
        let fused =
            |row: &&&FusionRow| matches!(row.change, KernelChange::FusedIn(Side::Baseline, _));
        assert_eq!(claims.iter().filter(fused).count(), claims.len(), "{claims:#?}");
    });
}

#[test]
fn each_kernel_of_a_region_lists_the_ops_that_it_fused() {
    let files = PerSide::new("cnn_eager.pt.trace.json.gz", "cnn_compiled.pt.trace.json.gz");
    let paths = files.map(traces::example);
    compare_files(paths.as_ref(), |analysis| {
        let rows: Vec<&FusionRow> = analysis
            .fusions()
            .iter()
            .filter(|row| row.path.contains("Torch-Compiled Region"))
            .collect();
        let fused = KernelChange::FusedIn(Side::Candidate, FusionEvidence::Names);
        let norm = rows.iter().find(|row| {
            row.change == fused && row.ops.baseline.contains(&"aten::native_batch_norm".to_owned())
        });
        let norm = norm.unwrap_or_else(|| panic!("no normalisation: {rows:#?}"));
        assert_eq!(norm.kernel_count.candidate, 1, "{norm:#?}");
        assert!(norm.kernel_count.baseline > 1, "{norm:#?}");
        // Convolutions are matched with convolutions, and no convolution is reported as fused.
        assert!(!norm.ops.baseline.iter().any(|op| op.contains("convolution")), "{norm:#?}");
    });
}
