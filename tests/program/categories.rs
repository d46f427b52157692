//! Tests for the kind of work that is assigned to each GPU event, and for the tables built from these kinds.

use crate::support::compared::{compare_files, compare_with, trace};
use crate::support::trace_builder::{HostThread, TraceBuilder};
use crate::support::traces;
use std::collections::BTreeMap;
use std::io::Write as _;
use tracetree::analysis::account::Tally;
use tracetree::analysis::categories::Categories;
use tracetree::analysis::kernels::{by_category, by_kernel, stacks, unclassified};
use tracetree::analysis::{Analysis, AnalysisOptions};
use tracetree::trace::Nanos;
use tracetree::{ErrorKind, PerSide, Side};

const ADD_KERNEL: &str =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)";

fn compare_json<T>(
    baseline: &str,
    candidate: &str,
    options: AnalysisOptions,
    look: impl FnOnce(&Analysis) -> T,
) -> T {
    let traces = PerSide::new(trace("baseline", baseline), trace("candidate", candidate));
    compare_with(traces, options, look)
}

/// The category of the only kernel in a trace, and the evidence for the category, such as `gemm by op`.
fn kind(body: impl FnOnce(&mut HostThread<'_>)) -> String {
    kind_with(AnalysisOptions::default(), body)
}

fn kind_with(options: AnalysisOptions, body: impl FnOnce(&mut HostThread<'_>)) -> String {
    let json = TraceBuilder::cuda().thread("main", body).json();
    compare_json(&json, &json, options, |analysis| {
        let rows = by_kernel(analysis.diff(), analysis.ledger(), analysis.categories());
        assert_eq!(rows.len(), 1, "expected exactly one kernel");
        let name = analysis.options().categories.name(rows[0].category.id);
        format!("{name} by {}", rows[0].category.source.label())
    })
}

/// A kernel inside nested ops. `ops` lists these ops, outermost first.
fn below(ops: &'static [&'static str], kernel: &'static str) -> impl FnOnce(&mut HostThread<'_>) {
    move |t| match ops {
        [op, rest @ ..] => t.op(*op, below(rest, kernel)),
        [] => t.kernel(kernel, 5.0),
    }
}

#[test]
fn the_nearest_specific_op_outranks_nearer_helper_ops() {
    let copy = ["aten::matmul", "aten::reshape", "aten::clone", "aten::copy_"];
    assert_eq!(
        kind(|t| t.op("aten::matmul", below(&["aten::clone", "aten::copy_"], "k"))),
        "gemm by op"
    );
    assert_eq!(kind(|t| t.op(copy[0], below(&["aten::add"], ADD_KERNEL))), "gemm by op");
    let inner = ["vllm::unified_attention_with_output", "_C_cache_ops::reshape_and_cache_flash"];
    assert_eq!(
        kind(|t| t.op(inner[0], below(&["_C_cache_ops::reshape_and_cache_flash"], "k"))),
        "kv_cache by op"
    );
    assert_eq!(
        kind(below(
            &["aten::scaled_dot_product_attention", "aten::_flash_attention_forward"],
            "attn_fwd"
        )),
        "attention by op"
    );
}

#[test]
fn helper_ops_decide_if_no_specific_op_is_above_them() {
    assert_eq!(kind(below(&["aten::to", "aten::_to_copy", "aten::copy_"], "k")), "copy by op");
    assert_eq!(kind(below(&["aten::relu_", "aten::clamp_min_"], "k")), "activation by op");
    assert_eq!(kind(below(&["aten::cumsum", "aten::to", "aten::copy_"], "k")), "reduction by op");
    assert_eq!(kind(below(&["aten::linalg_vector_norm"], "k")), "reduction by op");
    assert_eq!(kind(below(&["aten::upsample_linear1d"], "k")), "pooling by op");
}

#[test]
fn of_two_equally_specific_ops_the_nearer_one_decides() {
    assert_eq!(kind(below(&["aten::sum", "aten::index_select"], "k")), "indexing by op");
    assert_eq!(kind(below(&["aten::index_select", "aten::sum"], "k")), "reduction by op");
}

#[test]
fn sage_attention_ops_are_attention() {
    for op in ["aiter::sage_fwd", "sageattention::qk_int8_sv_f8_accum_f32_attn"] {
        assert_eq!(kind(|t| t.op(op, |t| t.kernel("k", 5.0))), "attention by op", "{op}");
    }
}

#[test]
fn gathers_and_scatters_are_indexing() {
    assert_eq!(kind(below(&["aten::gather"], "k")), "indexing by op");
    assert_eq!(
        kind(below(&[], "void at::native::index_elementwise_kernel<128, 4>(long)")),
        "indexing by kernel_name"
    );
    assert_eq!(kind(below(&[], "_scatter_gather_elementwise_kernel")), "indexing by kernel_name");
}

#[test]
fn the_kind_of_a_gpu_event_outranks_its_op() {
    assert_eq!(kind(|t| t.op("aten::addmm", |t| t.memset(64, 1.0))), "memset by event");
    assert_eq!(
        kind(|t| t.op("aten::addmm", |t| t.memcpy("Memcpy DtoD", 64, 1.0))),
        "memcpy by event"
    );
    assert_eq!(
        kind(below(&["aten::addmm"], "__amd_rocclr_fillBufferAligned.kd")),
        "memset by event"
    );
    assert_eq!(
        kind(below(&[], "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)")),
        "communication by event"
    );
}

#[test]
fn a_recorded_collective_decides_regardless_of_the_kernel_name() {
    let with = |args: serde_json::Value| {
        let kernel = serde_json::json!({"ph": "X", "cat": "kernel", "name": "fused_exchange",
            "pid": 0, "tid": 7, "ts": 100.0, "dur": 5.0, "args": args});
        let text = TraceBuilder::cuda().event(kernel).json();
        compare_json(&text, &text, AnalysisOptions::default(), |analysis| {
            let rows = by_kernel(analysis.diff(), analysis.ledger(), analysis.categories());
            analysis.options().categories.name(rows[0].category.id).to_owned()
        })
    };
    let known = serde_json::json!({"stream": 7, "Collective name": "allreduce"});
    assert_eq!(with(known), "communication");
    assert_eq!(with(serde_json::json!({"stream": 7})), "unclassified");
}

#[test]
fn without_an_op_the_autograd_node_or_the_innermost_module_decides() {
    let node = "autograd::engine::evaluate_function: ConvolutionBackward0";
    assert_eq!(kind(|t| t.op(node, |t| t.kernel("k", 1.0))), "convolution by autograd");
    assert_eq!(
        kind(|t| t.op("LayerNormFunctionBackward", |t| t.kernel("k", 1.0))),
        "normalization by autograd"
    );
    // The kind of work of a kernel is not derived from an autograd node that moves no data.
    let view = "autograd::engine::evaluate_function: SplitBackward0";
    assert_eq!(kind(|t| t.op(view, |t| t.kernel("gemm", 1.0))), "gemm by kernel_name");
    let norm = |t: &mut HostThread<'_>| t.module("RMSNorm_3", |t| t.kernel("k", 1.0));
    assert_eq!(kind(|t| t.module("Block_0", norm)), "normalization by module");
    // The kind of work in a module is not derived from an enclosing module.
    let inner = |t: &mut HostThread<'_>| t.module("Mystery_0", |t| t.kernel("k", 1.0));
    assert_eq!(kind(|t| t.module("Linear_0", inner)), "unclassified by none");
    // A range annotated by the user is not an op.
    assert_eq!(kind(|t| t.op("attention part", |t| t.kernel("k", 1.0))), "unclassified by none");
}

#[test]
fn a_kernel_name_is_read_word_by_word_without_its_arguments() {
    let by_name = |kernel: &'static str| kind(below(&[], kernel));
    assert_eq!(by_name("Cijk_Ailk_Bljk_BBS_BH_MT128x64x32_relu"), "gemm by kernel_name");
    assert_eq!(by_name(ADD_KERNEL), "elementwise by kernel_name");
    assert_eq!(
        by_name(
            "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 2ul> >(int)"
        ),
        "activation by kernel_name"
    );
    assert_eq!(
        by_name("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_"),
        "normalization by kernel_name"
    );
    assert_eq!(by_name("void my::merge_sort<gemm, softmax>(float*)"), "sorting by kernel_name");
    assert_eq!(
        by_name(
            "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64>(P)"
        ),
        "convolution by kernel_name"
    );
    assert_eq!(
        by_name("triton_red_fused_add_mean_mul_pow_rsqrt_0"),
        "normalization by kernel_name"
    );
    assert_eq!(by_name("triton_poi_fused_add_mul_0"), "elementwise by kernel_name");
    assert_eq!(by_name("triton_poi_fused_add_silu_0"), "activation by kernel_name");
    assert_eq!(by_name("sage_fwd"), "attention by kernel_name");
    assert_eq!(by_name("_sage_fwd_no_mask"), "attention by kernel_name");
    assert_eq!(
        by_name(
            "void qk_int_sv_f8_attn_kernel<128u, 64u, 32u, 64u, 128u, (DataType)1>(signed char*)"
        ),
        "attention by kernel_name"
    );
    assert_eq!(by_name("prelude"), "unclassified by none");
}

#[test]
fn user_rules_take_precedence_over_built_in_ones() {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let rules = "[[category]]\nname = \"mixing\"\nkernels = [\"mix\"]\nops = [\"addmm\"]\n\
                 [[category]]\nname = \"gemm\"\nkernels = [\"my_tiles\"]\n";
    file.write_all(rules.as_bytes()).expect("a writable file");
    let options = || {
        let categories = Categories::extended(file.path()).expect("rules");
        AnalysisOptions::default().categories(categories)
    };
    assert_eq!(kind_with(options(), below(&[], "void mix<8>()")), "mixing by kernel_name");
    assert_eq!(kind_with(options(), below(&["aten::addmm"], "k")), "mixing by op");
    assert_eq!(kind_with(options(), below(&[], "my_tiles_64")), "gemm by kernel_name");
    assert_eq!(kind_with(options(), below(&["aten::bmm"], "k")), "gemm by op");
    assert_eq!(options().categories.names().filter(|name| *name == "gemm").count(), 1);
}

#[test]
fn an_error_in_a_rule_file_names_the_file_and_the_problem() {
    let missing = Categories::extended("no/such/rules.toml").expect_err("no file");
    assert_eq!(missing.kind(), ErrorKind::Io);
    for (text, says) in [
        ("[[category]\nname = 1", "rules.toml"),
        ("[[category]]\nnames = \"x\"", "unknown field `names`"),
        (
            "[[category]]\nname = \"x\"\nops = [\"::\"]",
            "a pattern of `x` contains no letter or digit",
        ),
        ("[[category]]\nname = \"x\"\n[[category]]\nname = \"x\"", "appears twice in the file"),
        ("[[category]]\nname = \"x\"\nstrength = \"huge\"", "unknown variant `huge`"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rules.toml");
        std::fs::write(&path, text).expect("a writable folder");
        let error = Categories::extended(&path).expect_err(text);
        assert_eq!(error.kind(), ErrorKind::Malformed, "{text}");
        let message = error.to_string();
        assert!(message.contains(says) && message.contains("rules.toml"), "{message}");
    }
}

/// Time in each category in ms.
fn times(analysis: &Analysis) -> BTreeMap<String, PerSide<f64>> {
    let mut times: BTreeMap<String, PerSide<f64>> = BTreeMap::new();
    for row in by_category(analysis.diff(), analysis.ledger(), analysis.categories()) {
        let name = analysis.options().categories.name(row.category).to_owned();
        let time = times.entry(name).or_default();
        for side in Side::BOTH {
            time[side] += row.tally.total(side).as_millis();
        }
    }
    times
}

/// A category, followed by the time in this category in ms, first in the baseline and then in the candidate.
type Figure = (&'static str, f64, f64);

#[test]
fn category_times_of_the_mi300x_and_h100_pairs_match_known_figures() {
    let expected: [(&str, &[Figure]); 3] = [
        (
            "bert",
            &[("gemm", 0.174, 0.198), ("attention", 0.114, 0.037), ("normalization", 0.040, 0.031)],
        ),
        (
            "vit",
            &[
                ("gemm", 0.942, 0.735),
                ("attention", 0.375, 0.123),
                ("normalization", 0.140, 0.111),
                // The two memsets of 2 µs each do not count as convolution time.
                ("convolution", 0.053, 0.125),
            ],
        ),
        (
            "timesformer",
            &[("softmax", 41.86, 68.78), ("gemm", 57.94, 58.77), ("elementwise", 12.19, 17.06)],
        ),
    ];
    for (model, figures) in expected {
        let Some(paths) = traces::platform_pair(model) else { return };
        compare_files(paths, |analysis| {
            assert_eq!(
                unclassified(analysis.diff(), analysis.ledger(), analysis.categories()).totals(),
                PerSide::default(),
                "{model}"
            );
            let times = times(analysis);
            for &(name, baseline, candidate) in figures {
                let near = |time: f64, figure: f64| (time - figure).abs() <= 0.02 * figure;
                let PerSide { baseline: a, candidate: b } = times[name];
                assert!(near(a, baseline) && near(b, candidate), "{model} {name}: {a} {b}");
            }
        });
    }
}

/// The total number of events and the total time over all rows in a table, for each side.
fn sums<'a>(tallies: impl Iterator<Item = &'a Tally>) -> PerSide<(u64, Nanos)> {
    let mut sums: PerSide<(u64, Nanos)> = PerSide::default();
    for tally in tallies {
        for side in Side::BOTH {
            sums[side].0 += tally.count(side) as u64;
            sums[side].1 += tally.total(side);
        }
    }
    sums
}

/// The rows in a table, formatted as sorted lines that do not contain the names of the sides. `turn` swaps the two
/// sides in each line.
fn lines<K>(
    rows: &[K],
    turn: bool,
    line: impl Fn(&K) -> (String, PerSide<(usize, Nanos)>),
) -> Vec<String> {
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let (name, sides) = line(row);
            format!("{name} {:?}", if turn { sides.swap() } else { sides })
        })
        .collect();
    lines.sort();
    lines
}

fn sides(tally: &Tally) -> PerSide<(usize, Nanos)> {
    PerSide::from_fn(|side| (tally.count(side), tally.total(side)))
}

/// The lines for the rows of three tables. The tests use these lines to check that swapping the sides only swaps the
/// values.
fn table_lines(analysis: &Analysis, turn: bool) -> [Vec<String>; 3] {
    let same = analysis.same_kernels();
    [
        lines(
            &by_category(analysis.diff(), analysis.ledger(), analysis.categories()),
            turn,
            |row| (format!("{:?} {:?}", row.category, row.phase), sides(&row.tally)),
        ),
        lines(&by_kernel(analysis.diff(), analysis.ledger(), analysis.categories()), turn, |row| {
            (format!("{} {} {:?}", row.kernel, row.op, row.category), sides(&row.tally))
        }),
        lines(&same.rows, turn, |row| {
            let mut shapes = [&row.shapes.baseline, &row.shapes.candidate];
            shapes.sort();
            let mut ops: Vec<&str> = row.op.split(" | ").collect();
            ops.sort_unstable();
            (format!("{ops:?} {} {shapes:?}", row.kernel), sides(&row.tally))
        }),
    ]
}

#[test]
fn every_table_adds_up_to_the_totals_and_mirrors() {
    for pair in traces::real_and_unlike_pairs() {
        let lines = compare_files(pair.as_ref(), |analysis| {
            let totals = analysis.account().totals.map(|totals| (totals.events, totals.time));
            let categories = by_category(analysis.diff(), analysis.ledger(), analysis.categories());
            assert_eq!(sums(categories.iter().map(|row| &row.tally)), totals, "{pair:?}");
            assert_eq!(
                sums(
                    by_kernel(analysis.diff(), analysis.ledger(), analysis.categories())
                        .iter()
                        .map(|row| &row.tally)
                ),
                totals,
                "{pair:?}"
            );
            let same = analysis.same_kernels();
            assert_eq!(sums(same.tallies()), totals, "{pair:?}");
            table_lines(analysis, false)
        });
        let mirrored = compare_files(pair.as_ref().swap(), |analysis| table_lines(analysis, true));
        assert!(lines == mirrored, "{pair:?}");
    }
}

#[test]
fn the_share_of_unclassified_time_of_every_real_trace_is_below_one_percent() {
    for pair in traces::real_and_unlike_pairs() {
        compare_files(pair.as_ref(), |analysis| {
            for side in Side::BOTH {
                let part = unclassified(analysis.diff(), analysis.ledger(), analysis.categories());
                let part = part.total(side);
                let all = analysis.account().totals[side].time;
                let path = pair[side].display();
                assert!(part.0 * 100 <= all.0, "{path}: {part} of {all} us");
            }
        });
    }
}

#[test]
fn equal_kernels_are_found_only_under_matched_ops() {
    let trace = |time, extra: &'static str| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                t.op("aten::add", |t| t.kernel(ADD_KERNEL, time));
                t.op("aten::add", |t| t.kernel(ADD_KERNEL, time));
                t.op("aten::mm", |t| t.kernel(extra, 10.0));
            })
            .json()
    };
    compare_json(
        &trace(4.0, "gemm_a"),
        &trace(6.0, "gemm_b"),
        AnalysisOptions::default(),
        |analysis| {
            let same = analysis.same_kernels();
            let [row] = &same.rows[..] else { panic!("one row: {:?}", same.rows) };
            assert_eq!((row.op.as_str(), row.kernel.as_str()), ("aten::add", ADD_KERNEL));
            assert_eq!((row.tally.count(Side::Baseline), row.tally.mean_ratio()), (2, Some(1.5)));
            assert_eq!(same.others.totals(), PerSide::new(Nanos(10_000), Nanos(10_000)));
        },
    );
}

#[test]
fn stacks_are_those_at_the_launch_of_a_kernel() {
    let json = TraceBuilder::cuda()
        .thread("main", |t| {
            t.frame("train.py(3): step", |t| {
                t.frame("model.py(7): forward", |t| {
                    t.op("aten::mm", |t| t.kernel("gemm", 900.0));
                    t.op("aten::mm", |t| t.kernel("gemm", 900.0));
                });
                // The kernels are still running while the last frame is open.
                t.frame("log.py(1): write", |t| t.op("aten::mm", |t| t.kernel("gemm", 1.0)));
            });
        })
        .json();
    let stacks = |limit| {
        let options = AnalysisOptions::default().stacks(limit);
        compare_json(&json, &json, options, |analysis| {
            stacks(
                analysis.diff(),
                analysis.ledger(),
                analysis.stacks(),
                analysis.options().stacks,
                &by_kernel(analysis.diff(), analysis.ledger(), analysis.categories())[0]
                    .tally
                    .events,
            )
            .baseline
        })
    };
    let all = stacks(5);
    let flat: Vec<(u64, String)> =
        all.iter().map(|stack| (stack.count, stack.frames.join(" > "))).collect();
    assert_eq!(
        flat,
        [
            (2, "train.py(3): step > model.py(7): forward".to_owned()),
            (1, "train.py(3): step > log.py(1): write".to_owned()),
        ]
    );
    assert_eq!(stacks(1), all[..1]);
    assert_eq!(stacks(0), []);
}

#[test]
fn stacks_of_two_instances_of_a_module_are_merged() {
    let json = TraceBuilder::cuda()
        .thread("main", |t| {
            for at in 0..2 {
                t.module(&format!("Linear_{at}"), |t| {
                    let built_in = format!("<built-in method linear of object at 0x7f00{at}>");
                    t.frame(&built_in, |t| t.op("aten::mm", |t| t.kernel("gemm", 1.0)));
                });
            }
        })
        .json();
    compare_json(&json, &json, AnalysisOptions::default().stacks(9), |analysis| {
        let stacks = stacks(
            analysis.diff(),
            analysis.ledger(),
            analysis.stacks(),
            analysis.options().stacks,
            &by_kernel(analysis.diff(), analysis.ledger(), analysis.categories())[0].tally.events,
        )
        .baseline;
        assert_eq!(stacks.len(), 1);
        assert_eq!(stacks[0].count, 2);
        assert_eq!(stacks[0].frames, ["nn.Module: Linear", "<built-in method linear of object"]);
    });
}

#[test]
fn pointwise_and_reduction_kernels_of_a_compiler_are_not_products_or_attention() {
    for name in [
        "triton_poi_fused_addmm_3",
        "triton_poi_fused_add_scaled_dot_product_attention_4",
        "triton_per_fused_addmm_sum_1",
        "triton_red_fused_bmm_mean_2",
        "triton_poi_fused_convolution_6",
    ] {
        let kind = kind(|t| t.op("vllm::moe_forward", |t| t.kernel(name, 5.0)));
        assert!(
            kind == "elementwise by kernel_name" || kind == "reduction by kernel_name",
            "{name}: {kind}"
        );
    }
    assert_eq!(kind(below(&[], "triton_tem_fused_addmm_3")), "gemm by kernel_name");
    assert_eq!(kind(below(&[], "triton_poi_fused_clone_permute_1")), "copy by kernel_name");
}

#[test]
fn pointwise_work_in_an_optimizer_step_is_optimizer_work_but_clearing_is_not() {
    let step = |op: &'static str| {
        kind(move |t| t.annotation("Optimizer.step#SGD.step", |t| t.op(op, |t| t.kernel("k", 5.0))))
    };
    assert_eq!(step("aten::_foreach_add_"), "optimizer by optimizer");
    assert_eq!(step("aten::addcdiv_"), "optimizer by optimizer");
    assert_eq!(step("aten::mm"), "gemm by op");
    assert_eq!(kind(below(&["aten::_foreach_add_"], "k")), "elementwise by op");
    let zero = |t: &mut HostThread<'_>| {
        t.annotation("Optimizer.zero_grad#SGD.zero_grad", |t| {
            t.op("aten::zero_", |t| t.op("aten::fill_", |t| t.kernel("k", 5.0)));
        });
    };
    assert_eq!(kind(zero), "elementwise by op");
}

#[test]
fn a_longer_pattern_outranks_the_words_inside_it() {
    assert_eq!(kind(below(&["aten::clamp_min"], "k")), "elementwise by op");
    assert_eq!(kind(below(&[], "store_kvcache_kernel")), "kv_cache by kernel_name");
    assert_eq!(kind(below(&[], "memory_pool_kernel")), "kv_cache by kernel_name");
    assert_eq!(kind(below(&[], "QuantizeToFP8Kernel")), "quantization by kernel_name");
    assert_eq!(
        kind(below(&["customflash::custom_flash_aligned"], "_fwd_kernel_aligned")),
        "attention by op"
    );
    assert_eq!(kind(below(&["sageattn::sage_fwd"], "k")), "attention by op");
}

#[test]
fn a_kernel_without_ops_is_classified_by_the_ops_of_the_other_side() {
    let kernel = "bmm_E4m3_tiles";
    let eager = TraceBuilder::cuda()
        .thread("main", |t| t.op("vllm::moe_forward", |t| t.kernel(kernel, 5.0)))
        .json();
    let replayed = TraceBuilder::cuda()
        .thread("main", |t| t.launch("cudaGraphLaunch").graph(|graph| graph.kernel(kernel, 5.0)))
        .json();
    compare_json(&eager, &replayed, AnalysisOptions::default(), |analysis| {
        let names: Vec<&str> =
            by_category(analysis.diff(), analysis.ledger(), analysis.categories())
                .iter()
                .map(|row| analysis.options().categories.name(row.category))
                .collect();
        assert_eq!(names, ["moe"]);
    });
    compare_json(&replayed, &replayed, AnalysisOptions::default(), |analysis| {
        let rows = by_category(analysis.diff(), analysis.ledger(), analysis.categories());
        assert_eq!(analysis.options().categories.name(rows[0].category), "gemm");
    });
}

/// The communication time, computed in two ways: as a sum over categories and as a sum over steps.
fn communication(analysis: &Analysis) -> [PerSide<Nanos>; 2] {
    let is_it = |name: &str| name == "communication";
    let mut times: PerSide<Nanos> = PerSide::default();
    for row in by_category(analysis.diff(), analysis.ledger(), analysis.categories()) {
        if is_it(analysis.options().categories.name(row.category)) {
            Side::BOTH.into_iter().for_each(|side| times[side] += row.tally.total(side));
        }
    }
    let mut by_step: PerSide<Nanos> = PerSide::default();
    for row in analysis.step_rows() {
        Side::BOTH.into_iter().for_each(|side| by_step[side] += row.figures[side].communication);
    }
    [times, by_step]
}

#[test]
fn categories_and_steps_agree_on_communication_regardless_of_the_kernel_name() {
    let json = TraceBuilder::cuda()
        .thread("main", |t| {
            t.op("symm_mem::multimem_all_reduce_", |t| t.kernel("an_unknown_name", 7.0));
            let anonymous = "void (anonymous namespace)::multimem_all_reduce_kernel<float>(int*)";
            t.op("mystery::op", |t| t.kernel(anonymous, 5.0));
            t.op("aten::add", |t| t.kernel(ADD_KERNEL, 3.0));
        })
        .json();
    let expected = PerSide::new(Nanos(12_000), Nanos(12_000));
    compare_json(&json, &json, AnalysisOptions::default(), |analysis| {
        assert_eq!(communication(analysis), [expected, expected]);
    });
}

#[test]
fn categories_and_steps_of_real_traces_agree_on_communication() {
    for pair in traces::real_and_unlike_pairs() {
        compare_files(pair.as_ref(), |analysis| {
            let [by_category, by_step] = communication(analysis);
            assert_eq!(by_category, by_step, "{pair:?}");
        });
    }
    let Some(path) = traces::real("inference/vllm_eager.b200.json.gz") else { return };
    compare_files(PerSide::new(&path, &path), |analysis| {
        let [_, by_step] = communication(analysis);
        assert!(by_step.baseline > Nanos(2_000_000), "{by_step:?}");
    });
}
