//! Tests that the time of two traces is attributed to the right rows, and that the rows add up to
//! the totals.

use crate::support::compared::{compare_files, compare_texts, compare_with, trace};
use crate::support::find::{rows, time};
use crate::support::phenomena::{ALL, Phenomenon};
use crate::support::trace_builder::{Op, TraceBuilder};
use serde_json::json;
use tracetree::analysis::account::{RowKind, by_unique_args};
use tracetree::analysis::kernels::stacks;
use tracetree::analysis::{Analysis, AnalysisOptions};
use tracetree::program::Measure;
use tracetree::program::StepId;
use tracetree::trace::Argument;
use tracetree::trace::Nanos;
use tracetree::trace::busy_time;
use tracetree::tree::{CallId, CallKind};
use tracetree::{PerSide, Presence, Side};

fn look<T>(phenomenon: &str, look: impl FnOnce(&Analysis) -> T) -> T {
    compare_files(Phenomenon::of(phenomenon).files(), look)
}

/// Finds the only row with the given name, and returns its kind, its time on each side in µs, and the name of its
/// lowest common node.
fn row(analysis: &Analysis, name: &str) -> (RowKind, PerSide<f64>, String) {
    let found = rows(analysis, name);
    assert_eq!(found.len(), 1, "rows named {name}");
    let micros = found[0].time.map(Nanos::as_micros);
    (found[0].kind, micros, found[0].lowest_common_name(analysis.diff()).to_owned())
}

fn is(
    kind: RowKind,
    baseline: f64,
    candidate: f64,
    common: &str,
) -> (RowKind, PerSide<f64>, String) {
    (kind, PerSide::new(baseline, candidate), common.to_owned())
}

#[test]
fn the_rows_of_every_phenomenon_add_up_to_its_events() {
    for phenomenon in ALL {
        look(phenomenon.name, |analysis| {
            let account = analysis.account();
            assert!(account.is_exact(), "{}: {account:?}", phenomenon.name);
            for side in Side::BOTH {
                let events: usize = analysis.rows().iter().map(|row| row.events[side].len()).sum();
                assert_eq!(events as u64, account.totals[side].events, "{}", phenomenon.name);
                assert!(account.totals[side].time > Nanos::ZERO, "{}", phenomenon.name);
            }
        });
    }
}

#[test]
fn time_below_a_renamed_op_is_attributed_to_the_common_op_above() {
    look("rename", |analysis| {
        let name = "aten::scaled_dot_product_attention";
        assert_eq!(row(analysis, name), is(RowKind::CommonOp, 30.0, 45.0, name));
        assert_eq!(analysis.rows().len(), 1);
    });
}

#[test]
fn the_convolution_and_its_bias_add_are_two_rows() {
    look("bias_add", |analysis| {
        let (convolution, add) = ("aten::_convolution", "aten::add_");
        assert_eq!(row(analysis, convolution), is(RowKind::CommonOp, 40.0, 90.0, convolution));
        assert_eq!(row(analysis, add), is(RowKind::CommonOp, 6.0, 4.0, add));
    });
}

#[test]
fn a_one_sided_op_below_a_common_op_adds_to_its_row() {
    look("inserted_op", |analysis| {
        assert_eq!(row(analysis, "MyBlock"), is(RowKind::CommonOp, 0.0, 5.0, "MyBlock"));
        let row = rows(analysis, "MyBlock")[0];
        assert_eq!((row.presence(), row.ratio()), (Presence::Only(Side::Candidate), None));
        assert_eq!(row.difference(), Nanos(5_000));
    });
}

#[test]
fn a_one_sided_op_without_a_common_op_makes_its_own_row() {
    look("nothing_in_common", |analysis| {
        let expected = is(RowKind::OneSidedOp, 0.0, 7.0, "model.py(5): forward");
        assert_eq!(row(analysis, "aten::nan_to_num"), expected);
        assert_eq!(analysis.account().totals.candidate.one_sided, Nanos(7_000));
        assert_eq!(analysis.account().totals.baseline.one_sided, Nanos::ZERO);
    });
}

#[test]
fn a_renamed_op_without_a_common_op_makes_one_row_of_both_names() {
    let program = |name: &'static str| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                t.op(Op::new(name).dims(&[&[8, 8]]), |t| t.kernel("norm_kernel", 5.0));
            })
            .json()
    };
    let texts = PerSide::new(program("lib::rms_norm"), program("vendor::fused_rms_norm_fwd"));
    compare_texts(&texts, |analysis| {
        let name = "lib::rms_norm | vendor::fused_rms_norm_fwd";
        assert_eq!(row(analysis, name), is(RowKind::RenamedOp, 5.0, 5.0, "thread 5617 (main)"));
    });
}

#[test]
fn launches_without_an_op_are_rows_that_share_their_common_node() {
    look("launch_without_op", |analysis| {
        let found = rows(analysis, "cuLaunchKernel");
        let times: Vec<_> = found.iter().map(|row| time(row)).collect();
        assert_eq!(times.iter().map(|time| time.baseline).sum::<i64>(), 10_000);
        assert_eq!(times.iter().map(|time| time.candidate).sum::<i64>(), 7_000);
        // The reduction kernels on the two sides match each other, because their names share a word; the pointwise
        // kernel has no counterpart.
        let common: Vec<_> =
            found.iter().map(|row| row.lowest_common_name(analysis.diff())).collect();
        assert_eq!(common, ["torch/_inductor/codecache.py(1162): call", "cuLaunchKernel"]);
        assert!(found.iter().all(|row| row.kind == RowKind::Launch));
    });
}

#[test]
fn a_graph_launch_is_one_row_with_all_its_kernels() {
    look("graph_launch", |analysis| {
        let name = "hipGraphLaunch | cudaGraphLaunch";
        assert_eq!(row(analysis, name), is(RowKind::Launch, 74.0, 79.0, "hipGraphLaunch"));
        assert_eq!(rows(analysis, name)[0].events.as_ref().map(Vec::len), PerSide::new(7, 8));
    });
}

#[test]
fn gpu_events_without_a_launch_have_rows_per_kernel_and_never_vanish() {
    look("unlinked_gpu_events", |analysis| {
        let found = rows(analysis, "(launch not in trace)");
        let times: Vec<_> = found.iter().map(|row| time(row)).collect();
        assert_eq!(times, [PerSide::new(82_000, 30_000), PerSide::new(6_000, 0)]);
        assert!(found.iter().all(|row| row.kind == RowKind::Unlinked));
        let unlinked = analysis.account().totals.map(|totals| totals.unlinked);
        assert_eq!(unlinked, PerSide::new(Nanos(88_000), Nanos(30_000)));
    });
}

#[test]
fn kernels_that_overlap_are_busy_for_less_than_their_sum() {
    look("overlapping_kernels", |analysis| {
        let row = rows(analysis, "aten::matmul")[0];
        assert_eq!(row.time, PerSide::new(Nanos(100_000), Nanos(100_000)));
        assert_eq!(row.busy.baseline, row.time.baseline);
        // The second kernel starts a little more than 4.7 µs after the first one, because the host needs this time to
        // launch it.
        assert!(row.busy.candidate > Nanos(50_000) && row.busy.candidate < Nanos(60_000));
        let shares: Nanos =
            analysis.ledger().busy_shares(analysis.diff(), row, Side::Candidate).into_iter().sum();
        assert_eq!(shares, row.busy.candidate);
    });
}

#[test]
fn without_gpu_events_the_host_self_time_of_ops_is_attributed() {
    look("cpu_only", |analysis| {
        assert_eq!(analysis.ledger().measure(), Measure::HostSelfTime);
        assert!(analysis.notes().get("HOST_TIME").is_some());
        assert_eq!(rows(analysis, "aten::addmm")[0].difference(), Nanos(30_000));
        assert_eq!(rows(analysis, "aten::linear")[0].difference(), Nanos::ZERO);
        for side in Side::BOTH {
            let outer = rows(analysis, "aten::linear")[0].host_time[side];
            let relu = rows(analysis, "aten::relu")[0].host_time[side];
            assert_eq!(analysis.account().totals[side].time, outer + relu);
        }
    });
}

#[test]
fn a_row_names_its_step_by_position_as_the_steps_table_does() {
    look("step_numbers", |analysis| {
        let steps: Vec<_> = analysis.rows().iter().map(|row| row.step(analysis.diff())).collect();
        assert_eq!(steps, [0, 0, 1, 1].map(|at| Some(StepId(at))));
    });
}

#[test]
fn a_row_names_its_module_and_its_arguments() {
    look("module_numbers", |analysis| {
        let row = rows(analysis, "aten::addmm")[2];
        assert_eq!(row.module(analysis.diff()), "Linear_1");
        let shapes =
            Side::BOTH.map(|side| row.argument_text(analysis.diff(), Argument::Shape, side));
        assert_eq!(shapes, ["[[32, 128], [128, 64]]"; 2]);
    });
}

#[test]
fn names_are_summed_and_ordered_by_baseline_time() {
    look("step_numbers", |analysis| {
        let groups: Vec<_> = analysis
            .by_name()
            .iter()
            .map(|group| (group.name.clone(), group.row_count(), group.time.map(|time| time.0)))
            .collect();
        let expected = [
            ("aten::exp".to_owned(), 2, PerSide::new(10_000, 10_000)),
            ("aten::sum".to_owned(), 2, PerSide::new(8_000, 12_000)),
        ];
        assert_eq!(groups, expected);
        assert_eq!(by_unique_args(analysis.diff(), analysis.ledger()).len(), 2);
    });
}

#[test]
fn a_lowering_lists_the_ops_and_kernels_of_each_side() {
    look("bias_add", |analysis| {
        let lowering = &analysis.lowerings()["aten::_convolution"];
        let ops = lowering.sides.as_ref().map(|side| side.ops.keys().cloned().collect::<Vec<_>>());
        assert_eq!(ops.baseline, ["aten::miopen_convolution"]);
        assert_eq!(ops.candidate, ["aten::cudnn_convolution"]);
        let kernels = &lowering.sides.candidate.kernels;
        assert_eq!(kernels["sm90_xmma_fprop_implicit_gemm_bf16"], (1, Nanos(90_000)));
    });
}

#[test]
fn busy_time_is_the_union_of_half_open_spans() {
    let spans = |spans: &[(i64, i64)]| {
        busy_time(spans.iter().map(|&(a, b)| (Nanos(a), Nanos(b))).collect())
    };
    assert_eq!(spans(&[(0, 10), (10, 20)]), Nanos(20));
    assert_eq!(spans(&[(5, 30), (0, 10), (6, 8)]), Nanos(30));
    assert_eq!(spans(&[(4, 4)]), Nanos::ZERO);
}

#[test]
fn an_op_that_launches_three_kernels_is_one_op_in_the_lowering_dictionary() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            for _ in 0..2 {
                t.op("aten::sum", |t| {
                    t.memset(64, 1.0);
                    t.kernel("reduce", 5.0);
                    t.kernel("reduce", 5.0);
                });
            }
        })
        .json();
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let lowering = &analysis.lowerings()["aten::sum"];
        let side = &lowering.sides.baseline;
        assert_eq!(side.ops["aten::sum"], (2, Nanos(22_000)));
        assert_eq!(side.kernels["reduce"], (4, Nanos(20_000)));
    });
}

#[test]
fn the_stack_of_a_kernel_comes_from_frames_or_from_the_stack_an_op_recorded() {
    let recorded = |stack: &str| Op::new("aten::mm").arg("Call stack", json!(stack));
    let builder = TraceBuilder::cuda().thread("main", |t| {
        t.op(recorded("a.py(1): f;\n b.py(2): main;"), |t| {
            t.op("aten::copy_", |t| t.kernel("a_kernel", 1.0));
            t.kernel("a_kernel", 1.0);
        });
        t.op(recorded("c.py(3): g"), |t| t.kernel("a_kernel", 1.0));
        t.frame("train.py(4): step", |t| {
            t.module("Linear_3", |t| t.op(recorded("c.py(3): g"), |t| t.kernel("a_kernel", 1.0)));
        });
        t.op("aten::mm", |t| t.kernel("a_kernel", 1.0));
    });
    let text = builder.json();
    let traces = PerSide::from_fn(|_| trace("a trace", &text));
    for most in [0, 2, 9] {
        let options = AnalysisOptions::default().stacks(most);
        compare_with(traces.clone(), options, |analysis| {
            let tree = analysis.tree(Side::Baseline);
            let kernels: Vec<CallId> =
                tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu).collect();
            let found = stacks(
                analysis.diff(),
                analysis.ledger(),
                analysis.stacks(),
                analysis.options().stacks,
                &PerSide::new(kernels, Vec::new()),
            );
            let found: Vec<(u64, String)> = found
                .baseline
                .iter()
                .map(|stack| (stack.count, stack.frames.join(" > ")))
                .collect();
            let expected = [
                (2, "b.py(2): main > a.py(1): f"),
                (1, "c.py(3): g"),
                (1, "train.py(4): step > nn.Module: Linear"),
            ];
            let expected: Vec<(u64, String)> = expected
                .iter()
                .map(|&(count, frames)| (count, frames.to_owned()))
                .take(most)
                .collect();
            assert_eq!(found, expected);
        });
    }
}
