//! Tests that layers are detected among modules and in graph replays, that layers are matched correctly, and that the
//! totals add up.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use crate::support::traces;
use tracetree::analysis::Analysis;
use tracetree::analysis::layers::{LayerPairs, PlacePair, layer_op_rows, layer_rows};
use tracetree::program::StackKind;
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

/// A block with two modules: the first module runs one kernel of `micros` µs, and the second module runs two kernels,
/// of `micros` and twice `micros` µs.
fn block(t: &mut HostThread<'_>, number: usize, micros: f64) {
    t.module(&format!("Block_{number}"), |t| {
        t.module(&format!("Attention_{number}"), |t| {
            t.op("aten::bmm", |t| t.kernel("bmm_kernel", micros));
        });
        t.module(&format!("Mlp_{number}"), |t| {
            t.op(Op::new("aten::addmm").dims(&[&[number as i64]]), |t| t.kernel("gemm", micros));
            t.op(Op::new("aten::addmm"), |t| t.kernel("gemm", 2.0 * micros));
        });
    });
}

/// A model that consists of embeddings, one [`block`] for each kernel time in `blocks`, and a head.
fn model(blocks: &[f64]) -> String {
    let builder = TraceBuilder::cuda().thread("main", |t| {
        t.step(0, |t| {
            t.module("Model_0", |t| {
                for number in 0..3 {
                    t.module(&format!("Embedding_{number}"), |t| {
                        t.op("aten::embedding", |t| t.kernel("gather", 90.0));
                    });
                }
                for (number, &micros) in blocks.iter().enumerate() {
                    block(t, number, micros);
                    t.op("aten::clone", |t| t.kernel("copy", 1.0));
                }
                t.module("Linear_0", |t| t.op("aten::mm", |t| t.kernel("gemm", 5.0)));
            });
        });
    });
    builder.unlinked_kernel("warm_up", 4.0).json()
}

/// A table row: the name of the stack, the layer number on each side, and the time on each side in µs.
type Shown = (String, Option<u32>, Option<u32>, [f64; 2]);

fn rows(analysis: &Analysis) -> Vec<Shown> {
    let pairs = LayerPairs::of(analysis.diff(), analysis.ledger());
    let layer = |place: PlacePair, side| place.layer(side).map(|id| id.layer);
    let shown = layer_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs())
        .into_iter()
        .map(|row| {
            let name = match row.place {
                PlacePair::Layer { .. } => pairs.stack_name(row.place),
                other @ (PlacePair::Pre
                | PlacePair::Between
                | PlacePair::Post
                | PlacePair::NoLayers
                | PlacePair::NotCaptured) => other.label().to_owned(),
            };
            let time = Side::BOTH.map(|side| row.time[side].as_micros());
            (name, layer(row.place, Side::Baseline), layer(row.place, Side::Candidate), time)
        });
    shown.collect()
}

#[test]
fn blocks_are_layers_and_embeddings_are_not() {
    let text = model(&[10.0, 11.0]);
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let expected: Vec<Shown> = vec![
            ("pre".to_owned(), None, None, [270.0, 270.0]),
            ("Block".to_owned(), Some(0), Some(0), [40.0, 40.0]),
            ("Block".to_owned(), Some(1), Some(1), [44.0, 44.0]),
            ("between".to_owned(), None, None, [1.0, 1.0]),
            ("post".to_owned(), None, None, [6.0, 6.0]),
            ("(launch not in trace)".to_owned(), None, None, [4.0, 4.0]),
        ];
        assert_eq!(rows(analysis), expected);
    });
}

/// A host call from `start` to `end`, in µs.
fn host(category: &str, name: &str, (start, end): (u32, u32), args: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 1, "ts": {start}, "dur": {}, "args": {{{args}}}}}"#,
        end - start
    )
}

/// An op that launches a kernel of 5 µs.
fn launching(start: u32, correlation: u32) -> Vec<String> {
    let link = format!(r#""correlation": {correlation}"#);
    let kernel = format!(
        r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {}, "dur": 5, "args": {{{link}, "stream": 7}}}}"#,
        start + 2
    );
    let op = host("cpu_op", "aten::mm", (start, start + 4), "");
    vec![op, host("cuda_runtime", "cudaLaunchKernel", (start, start + 2), &link), kernel]
}

#[test]
fn a_call_that_starts_when_the_last_layer_ends_comes_after_the_layers() {
    let mut events = vec![host("python_function", "nn.Module: Model_0", (0, 100), "")];
    for (number, start) in [(0, 10), (1, 20)] {
        let name = format!("nn.Module: Block_{number}");
        events.push(host("python_function", &name, (start, start + 10), ""));
        events.extend(launching(start + 2, number + 1));
    }
    events.extend(launching(30, 3));
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(", "));
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let found = rows(analysis);
        let names: Vec<&str> = found.iter().map(|row| row.0.as_str()).collect();
        assert_eq!(names, ["Block", "Block", "post"]);
    });
}

#[test]
fn a_layer_that_only_one_side_has_stays_unmatched() {
    let (one, two) = (model(&[10.0, 30.0]), model(&[10.0, 20.0, 30.0]));
    compare_texts(&PerSide::new(one, two), |analysis| {
        let layers: Vec<Shown> =
            rows(analysis).into_iter().filter(|row| row.0.starts_with("Block")).collect();
        let both = layers.iter().filter(|row| row.1.is_some() && row.2.is_some()).count();
        let alone = layers.iter().filter(|row| row.1.is_none()).count();
        assert_eq!((both, alone), (2, 1), "{layers:?}");
    });
}

#[test]
fn one_slow_layer_is_an_outlier_on_its_side() {
    let even = [10.0; 8];
    let mut slow = even;
    slow[5] = 14.0;
    compare_texts(&PerSide::new(model(&even), model(&slow)), |analysis| {
        let out: Vec<_> = layer_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs())
            .into_iter()
            .filter(|row| row.outlier.baseline || row.outlier.candidate)
            .map(|row| (row.place.layer(Side::Candidate).map(|id| id.layer), row.outlier))
            .collect();
        assert_eq!(out, [(Some(5), PerSide::new(false, true))]);
    });
}

#[test]
fn a_layer_is_an_outlier_from_three_and_a_half_deviations() {
    // For the values 7, 8, …, 13 and one larger value, the scaled median deviation is 1.4826 × 2, which is about 2.97.
    // A value is an outlier if it exceeds the median by more than 3.5 times this deviation, which is 10.4.
    let is_out = |last: f64| {
        let times = [7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, last];
        let text = model(&times);
        compare_texts(&PerSide::new(text.clone(), text), |analysis| {
            let rows = layer_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs());
            rows.iter().filter(|row| row.outlier.baseline).count()
        })
    };
    assert_eq!((is_out(20.8), is_out(21.0)), (0, 1));
}

#[test]
fn ops_are_averaged_over_layers_by_their_position() {
    let text = model(&[10.0, 20.0]);
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let ops: Vec<_> = layer_op_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs())
            .into_iter()
            .filter(|row| matches!(row.place, PlacePair::Layer { .. }))
            .map(|row| (row.position, row.name, row.nth, row.spread.baseline))
            .collect();
        let names: Vec<(u32, &str, u32)> =
            ops.iter().map(|(position, name, nth, _)| (*position, name.as_str(), *nth)).collect();
        let expected = [(0, "aten::bmm", 0), (1, "aten::addmm", 0), (2, "aten::addmm", 1)];
        assert_eq!(names, expected);
        let third = ops[2].3;
        assert_eq!((third.layers, third.of_layers, third.total), (2, 2, Nanos(60_000)));
        assert_eq!(third.mean_us(), Some(30.0));
        let deviation = third.deviation_us().expect("two layers");
        assert!((deviation - 200.0_f64.sqrt()).abs() < 1e-9, "{deviation}");
    });
}

#[test]
fn backward_work_belongs_to_the_layer_of_its_forward_op() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.module("Model_0", |t| {
                for number in 0..2_i64 {
                    t.module(&format!("Linear_{number}"), |t| {
                        let op = Op::new("aten::addmm").forward(number);
                        t.op(op, |t| t.kernel("forward_kernel", 10.0));
                    });
                }
            });
            t.wait_for("autograd", |t| {
                for number in [1_i64, 0] {
                    let op = Op::new("AddmmBackward0").backward(number);
                    t.op(op, |t| t.kernel("backward_kernel", 20.0 + number as f64));
                }
                t.op("torch::autograd::AccumulateGrad", |t| t.kernel("add", 1.0));
            });
        })
        .json();
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let times: Vec<(Option<u32>, f64)> =
            rows(analysis).into_iter().map(|row| (row.1, row.3[0])).collect();
        let expected =
            [(Some(0), 10.0), (Some(0), 20.0), (Some(1), 10.0), (Some(1), 21.0), (None, 1.0)];
        assert_eq!(times, expected);
    });
}

#[test]
fn repeated_kernel_sequences_of_a_graph_replay_are_layers() {
    let text = TraceBuilder::rocm()
        .thread("main", |t| {
            t.op("aten::copy_", |t| t.kernel("input", 2.0));
            t.launch("hipGraphLaunch").graph(|graph| {
                graph.kernel("embed", 3.0);
                for layer in 0..6 {
                    for name in ["norm", "qkv", "rope"] {
                        graph.kernel(name, 5.0);
                    }
                    match layer % 2 {
                        0 => graph.kernel("attention_full", 9.0),
                        _ => {
                            graph.kernel("attention_split", 8.0);
                            graph.kernel("attention_reduce", 1.0);
                        }
                    }
                    graph.kernel("mlp", 20.0);
                }
                graph.kernel("head", 7.0);
            });
        })
        .json();
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let pairs = LayerPairs::of(analysis.diff(), analysis.ledger());
        let stacks = pairs.layers(Side::Baseline).stacks();
        assert_eq!((stacks.len(), stacks[0].kind), (1, StackKind::Graph));
        assert_eq!(stacks[0].layers.len(), 6);
        let times: Vec<f64> = rows(analysis).into_iter().map(|row| row.3[0]).collect();
        assert_eq!(times, [5.0, 44.0, 44.0, 44.0, 44.0, 44.0, 44.0, 7.0]);
    });
}

#[test]
fn layers_of_real_models_are_counted_correctly() {
    for (name, layers) in [
        ("mi300_h100/bert.mi300.json.gz", 4),
        ("mi300_h100/bert.h100.json.gz", 4),
        ("mi300_h100/vit.mi300.json.gz", 12),
        ("mi300_h100/vit.h100.json.gz", 12),
        ("mi300_h100/timesformer.mi300.json.gz", 12),
        ("mi300_h100/timesformer.h100.json.gz", 12),
        ("inference/vllm_eager.b200.json.gz", 36),
        ("inference/vllm_decode_graph.mi300.json.gz", 24),
        ("inference/sglang_decode.mi300.json.gz", 36),
    ] {
        let Some(path) = traces::real(name) else { return };
        compare_files(PerSide::new(&path, &path), |analysis| {
            let pairs = LayerPairs::of(analysis.diff(), analysis.ledger());
            let stacks = pairs.layers(Side::Baseline).stacks();
            assert_eq!(
                stacks.iter().map(|s| s.layers.len()).collect::<Vec<_>>(),
                [layers],
                "{name}"
            );
            let places: Vec<&str> =
                layer_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs())
                    .iter()
                    .map(|row| row.place.label())
                    .filter(|&label| label == "pre" || label == "post")
                    .collect();
            assert_eq!(places, ["pre", "post"], "{name}");
        });
    }
}

#[test]
fn an_extra_layer_is_found_where_it_was_added() {
    let names = ["cpu/cnn.pt.trace.json.gz", "cpu/cnn_extra_layer.pt.trace.json.gz"];
    let [Some(one), Some(two)] = names.map(traces::real) else { return };
    compare_files(PerSide::new(one, two), |analysis| {
        let layers: Vec<_> = rows(analysis)
            .into_iter()
            .filter(|row| row.0.starts_with("Block"))
            .map(|row| (row.1, row.2))
            .collect();
        let both = |a: u32, b: u32| (Some(a), Some(b));
        let forward_and_backward =
            [both(0, 0), both(1, 1), (None, Some(2)), both(2, 3)].map(|pair| [pair, pair]);
        assert_eq!(layers, forward_and_backward.concat());
    });
}

fn check(paths: &PerSide<std::path::PathBuf>) {
    let sorted = |analysis: &Analysis, turn: fn(PerSide<i64>) -> PerSide<i64>| {
        let ops = layer_op_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs());
        let rows = layer_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs());
        for side in Side::BOTH {
            let total = analysis.account().totals[side].time;
            assert_eq!(rows.iter().map(|row| row.time[side]).sum::<Nanos>(), total);
            assert_eq!(ops.iter().map(|row| row.spread[side].total).sum::<Nanos>(), total);
        }
        let mut shown: Vec<(&str, &str, i64, i64)> = rows
            .iter()
            .map(|row| {
                let time = turn(row.time.map(|time| time.0));
                (row.place.label(), row.phase.label(), time.baseline, time.candidate)
            })
            .collect();
        shown.sort_unstable();
        shown
    };
    let one = compare_files(paths.clone(), |one| sorted(one, |time| time));
    let other = compare_files(paths.clone().swap(), |other| sorted(other, PerSide::swap));
    assert_eq!(one, other, "{paths:?}");
}

#[test]
fn layers_add_up_and_mirror_on_the_examples() {
    for pair in traces::example_pairs() {
        check(&pair);
    }
}

#[test]
fn layers_add_up_and_mirror_on_real_traces() {
    for pair in traces::real_pairs() {
        check(&pair);
    }
}

/// The stacks of layers in the baseline: for each stack, the class and the number of its layers.
fn stacks(text: &str) -> Vec<(String, usize)> {
    compare_texts(&PerSide::new(text.to_owned(), text.to_owned()), |analysis| {
        let stacks = analysis
            .diff()
            .program(Side::Baseline)
            .layers(analysis.ledger().measure())
            .stacks()
            .iter();
        stacks.map(|stack| (stack.class.clone(), stack.layers.len())).collect()
    })
}

/// The kernels in a replayed diffusion transformer with two kinds of blocks; most kernels occur in both kinds.
fn diffusion_kernels() -> Vec<&'static str> {
    let double =
        ["norm", "mod", "gemm_qkv", "rope", "norm", "mod", "gemm_qkv", "attn", "gemm_out", "gelu"];
    let single = ["norm", "mod", "gemm_qkv", "rope", "attn", "cat", "gemm_out"];
    let head = ["embed_a", "embed_b", "embed_c", "time_a", "time_b", "time_c", "patch"];
    let tail = ["final_norm", "final_mod", "final_gemm", "unpatch", "scale", "step", "copy_out"];
    [head.as_slice(), &double.repeat(19), &single.repeat(38), &tail].concat()
}

#[test]
fn two_kinds_of_blocks_in_one_replay_are_two_stacks_with_nothing_between() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.launch("cudaGraphLaunch").graph(|graph| {
                diffusion_kernels().iter().for_each(|name| graph.kernel(name, 2.0));
            });
        })
        .json();
    assert_eq!(stacks(&text), [("graph_0".to_owned(), 19), ("graph_1".to_owned(), 38)]);
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let around = |name: &str| {
            let rows = rows(analysis).into_iter().filter(|row| row.0 == name);
            rows.map(|row| row.3[0]).sum::<f64>()
        };
        assert_eq!((around("pre"), around("between"), around("post")), (14.0, 0.0, 14.0));
    });
}

/// An encoder whose layers have module numbers from the range `layers`. With `extra`, each layer has an additional op.
fn encoder(t: &mut HostThread<'_>, number: usize, layers: std::ops::Range<usize>, extra: bool) {
    t.module(&format!("Encoder_{number}"), |t| {
        for layer in layers {
            t.module(&format!("EncoderLayer_{layer}"), |t| {
                t.module(&format!("Attention_{layer}"), |t| {
                    t.op("aten::bmm", |t| t.kernel("bmm_kernel", 5.0));
                });
                t.op("aten::addmm", |t| t.kernel("gemm", 5.0));
                if extra {
                    t.op("aten::masked_fill_", |t| t.kernel("fill", 1.0));
                }
            });
        }
    });
}

#[test]
fn two_encoders_are_two_stacks_of_layers_and_not_a_stack_of_encoders() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.module("Model_0", |t| {
                encoder(t, 0, 0..12, false);
                encoder(t, 1, 12..24, true);
            });
        })
        .json();
    let layers = ("EncoderLayer".to_owned(), 12);
    assert_eq!(stacks(&text), [layers.clone(), layers]);
}

#[test]
fn siblings_of_one_class_that_do_different_work_are_not_layers() {
    let tower = |t: &mut HostThread<'_>, number: usize, ops: &[&str]| {
        t.module(&format!("Tower_{number}"), |t| {
            t.module(&format!("Inner_{number}"), |t| {
                ops.iter().for_each(|&op| t.op(op, |t| t.kernel(op, 5.0)));
            });
        });
    };
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.module("Model_0", |t| {
                tower(t, 0, &["aten::embedding", "aten::addmm", "aten::gelu", "aten::bmm"]);
                tower(t, 1, &["aten::conv2d", "aten::relu", "aten::max_pool2d", "aten::cat"]);
            });
        })
        .json();
    assert_eq!(stacks(&text), []);
}

#[test]
fn a_small_kernel_that_repeats_in_a_replay_is_not_a_layer() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.launch("cudaGraphLaunch").graph(|graph| {
                graph.kernel("big_gemm", 500.0);
                (0..40).for_each(|_| graph.kernel("tiny_copy", 1.0));
                graph.kernel("head", 90.0);
            });
        })
        .json();
    assert_eq!(stacks(&text), []);
}

#[test]
fn graphs_captured_in_pieces_are_one_replay_per_step() {
    let piece = |t: &mut HostThread<'_>, kernels: &[&str]| {
        t.launch("cudaGraphLaunch").graph(|graph| {
            kernels.iter().for_each(|name| graph.kernel(name, 3.0));
        });
    };
    let between = ["out_gemm", "norm_2", "mlp_up", "mlp_down", "norm_1", "qkv_gemm", "rope"];
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            for number in 0..2 {
                t.step(number, |t| {
                    piece(t, &["embed", "norm_1", "qkv_gemm", "rope"]);
                    for layer in 0..6 {
                        let attention = "vllm::unified_attention_with_output";
                        t.op(attention, |t| t.kernel("attention", 9.0));
                        piece(t, if layer < 5 { &between } else { &between[..4] });
                    }
                });
            }
        })
        .json();
    assert_eq!(stacks(&text), [("graph_0".to_owned(), 6)]);
}
