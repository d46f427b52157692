//! Tests for matching equal calls by their position, their amount of work and their neighbors. Each test covers one
//! kind of evidence and fails if that evidence is disabled.

use crate::support::compared::{align_threads as look, compare_texts, shaped};
use crate::support::find::calls;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use tracetree::diff::{Relation, TraceDiff};
use tracetree::{PerSide, Side};

/// For each baseline call with the given name, the index of its counterpart among the candidate's calls with that
/// name.
fn counterparts(diff: &TraceDiff, name: &str) -> Vec<Option<usize>> {
    let theirs = calls(diff.tree(Side::Candidate), name);
    let mine = calls(diff.tree(Side::Baseline), name).into_iter();
    mine.map(|call| {
        let counterpart = diff.counterpart(Side::Baseline, call)?;
        theirs.iter().position(|&other| other == counterpart)
    })
    .collect()
}

fn relations(diff: &TraceDiff, name: &str) -> Vec<Relation> {
    let mine = calls(diff.tree(Side::Baseline), name).into_iter();
    mine.map(|call| diff.relation(Side::Baseline, call)).collect()
}

/// The result of [`counterparts`] for `count` calls that are all matched in their order.
fn in_order(count: usize) -> Vec<Option<usize>> {
    (0..count).map(Some).collect()
}

fn op(t: &mut HostThread<'_>, name: &str) {
    t.op(shaped(&format!("aten::{name}"), 3), |t| t.kernel(name, 5.0));
}

/// An op that contains `size` other ops.
fn large(t: &mut HostThread<'_>, name: &str, size: usize) {
    t.op(shaped(&format!("aten::{name}"), 3), |t| {
        for part in 0..size {
            t.leaf(shaped(&format!("aten::{name}_{part}"), 3));
        }
        t.kernel(name, 5.0);
    });
}

#[test]
fn of_similar_siblings_the_equal_one_is_matched_and_not_a_larger_one() {
    let f = |t: &mut HostThread<'_>, more: Option<&str>| {
        t.op(shaped("aten::f", 3), |t| {
            op(t, "mul");
            more.into_iter().for_each(|name| op(t, name));
        });
    };
    let baseline = TraceBuilder::cuda().thread("main", |t| f(t, None));
    let candidate = TraceBuilder::cuda().thread("main", |t| {
        for more in [Some("add"), None, Some("sub")] {
            f(t, more);
        }
    });
    let [one, two] = [baseline, candidate].map(|builder| builder.json());
    compare_texts(&PerSide::new(one, two), |analysis| {
        assert_eq!(counterparts(analysis.diff(), "aten::f"), [Some(1)]);
    });
}

#[test]
fn the_position_of_a_call_is_after_everything_inside_the_call_before_it() {
    // The second `sigmoid` swaps places with the large call before it, and the first `sigmoid` is removed. If the
    // position of a call were defined by the start of the previous call, the removed `sigmoid` would be nearer to the
    // candidate's `sigmoid`.
    let block = |t: &mut HostThread<'_>, before: bool, behind: bool| {
        large(t, "linear", 12);
        if before {
            op(t, "sigmoid");
        }
        large(t, "norm", 6);
        if behind {
            op(t, "sigmoid");
        }
        op(t, "mul");
    };
    let whole = |t: &mut HostThread<'_>| {
        op(t, "begin");
        block(t, false, true);
        block(t, false, true);
        op(t, "end");
    };
    let changed = |t: &mut HostThread<'_>| {
        op(t, "begin");
        block(t, false, false);
        block(t, true, false);
        op(t, "end");
    };
    look(whole, changed, |diff| {
        assert_eq!(counterparts(diff, "aten::sigmoid"), [None, Some(0)]);
        assert_eq!(relations(diff, "aten::norm"), [Relation::Same; 2]);
    });
}

#[test]
fn calls_that_each_moved_within_their_block_do_not_cross() {
    // Each call moved farther than the distance between the two blocks.
    let block = |t: &mut HostThread<'_>, swapped: bool| {
        op(t, "add");
        if swapped {
            op(t, "relu");
        }
        large(t, "norm", 12);
        if !swapped {
            op(t, "relu");
        }
    };
    let run = |swapped: bool| {
        move |t: &mut HostThread<'_>| {
            op(t, "begin");
            (0..2).for_each(|_| block(t, swapped));
            op(t, "end");
        }
    };
    look(run(false), run(true), |diff| {
        assert_eq!(counterparts(diff, "aten::relu"), in_order(2));
        assert_eq!(relations(diff, "aten::relu"), [Relation::Moved; 2]);
    });
}

#[test]
fn a_call_swapped_with_a_whole_pass_is_still_its_neighbour() {
    let step = |t: &mut HostThread<'_>, number: usize, swapped: bool| {
        if !swapped {
            op(t, "zero_grad");
        }
        large(t, &format!("forward_{number}"), 600);
        if swapped {
            op(t, "zero_grad");
        }
        // The step has so many ops that some siblings are far apart.
        for number in 0..40 {
            op(t, &format!("optimizer_{number}"));
        }
    };
    let run = |swapped: usize| {
        move |t: &mut HostThread<'_>| {
            for number in 0..3 {
                step(t, number, number == swapped);
            }
        }
    };
    look(run(3), run(1), |diff| {
        assert_eq!(counterparts(diff, "aten::zero_grad"), in_order(3));
        assert_eq!(relations(diff, "aten::zero_grad")[1], Relation::Moved);
    });
}

#[test]
fn branches_are_matched_by_their_contents_even_if_only_one_shape_differs() {
    let embedding = |t: &mut HostThread<'_>, number: usize, rows: i64| {
        t.module(&format!("Embedding_{number}"), |t| {
            t.frame("torch/nn/modules/sparse.py(189): forward", |t| {
                for line in 0..30 {
                    t.frame(&format!("torch/nn/functional.py({line}): check_{line}"), |_| ());
                }
                t.op(shaped("aten::embedding", rows), |t| t.kernel("gather", 5.0));
            });
        });
    };
    let run = |rows: [i64; 2]| {
        move |t: &mut HostThread<'_>| {
            t.frame("model.py(5): forward", |t| {
                for (number, rows) in rows.into_iter().enumerate() {
                    embedding(t, number, rows);
                }
            });
        }
    };
    look(run([30_522, 2]), run([2, 30_522]), |diff| {
        assert_eq!(counterparts(diff, "aten::embedding"), [Some(1), Some(0)]);
    });
}

#[test]
fn without_recorded_shapes_calls_are_distinguished_by_their_launch_grid() {
    let gradient = |t: &mut HostThread<'_>, blocks: u32| {
        t.op("AccumulateGrad", |t| {
            t.launch("cudaLaunchKernel").grid([blocks, 1, 1], [128, 1, 1]).kernel("mul", 5.0);
        });
    };
    let run = |grids: [u32; 3]| {
        move |t: &mut HostThread<'_>| {
            for (number, blocks) in grids.into_iter().enumerate() {
                gradient(t, blocks);
                t.op(format!("Backward{number}").as_str(), |t| t.kernel("k", 5.0));
            }
        }
    };
    look(run([7, 2359, 64]), run([2359, 7, 64]), |diff| {
        assert_eq!(counterparts(diff, "AccumulateGrad"), [Some(1), Some(0), Some(2)]);
    });
}

#[test]
fn copies_are_matched_by_their_number_of_bytes() {
    let run = |sizes: [u64; 2]| {
        move |t: &mut HostThread<'_>| {
            for bytes in sizes {
                t.op("aten::copy_", |t| t.memcpy("Memcpy HtoD", bytes, 5.0));
            }
        }
    };
    look(run([4, 1 << 20]), run([1 << 20, 4]), |diff| {
        assert_eq!(counterparts(diff, "aten::copy_"), [Some(1), Some(0)]);
    });
}

/// A layer; all layers are identical.
fn layer(t: &mut HostThread<'_>) {
    for name in ["linear", "view", "attention", "norm"] {
        op(t, name);
    }
}

#[test]
fn all_calls_that_moved_to_another_thread_are_matched_there() {
    // `tail` stays on the first thread. It begins with the same op as the calls that move to the other thread.
    let head = |t: &mut HostThread<'_>| {
        op(t, "embedding");
        layer(t);
    };
    let tail = |t: &mut HostThread<'_>| {
        op(t, "linear");
        op(t, "decoder");
    };
    let texts = PerSide::new(
        TraceBuilder::cuda()
            .thread("main", |t| {
                head(t);
                layer(t);
                layer(t);
                tail(t);
            })
            .json(),
        TraceBuilder::cuda()
            .thread("main", |t| {
                head(t);
                tail(t);
            })
            .thread("worker", |t| {
                layer(t);
                layer(t);
            })
            .json(),
    );
    compare_texts(&texts, |analysis| {
        let diff = analysis.diff();
        let tree = diff.tree(Side::Candidate);
        let worker = tree.roots().nth(1).expect("two threads");
        let mine = calls(diff.tree(Side::Baseline), "aten::linear");
        let on_worker = |at: usize| {
            let counterpart = diff.counterpart(Side::Baseline, mine[at]).expect("a counterpart");
            tree.is_below(counterpart, worker)
        };
        assert_eq!([0, 1, 2, 3].map(on_worker), [false, true, true, false]);
    });
}

#[test]
fn a_moved_block_is_found_next_to_new_calls() {
    let attention = |t: &mut HostThread<'_>| {
        for name in ["query", "key", "value", "softmax", "add", "norm"] {
            op(t, name);
        }
    };
    let mlp = |t: &mut HostThread<'_>| {
        for name in ["up", "gelu", "down", "add", "norm"] {
            op(t, name);
        }
    };
    let before = |t: &mut HostThread<'_>| {
        op(t, "begin");
        attention(t);
        mlp(t);
        op(t, "end");
    };
    let after = |t: &mut HostThread<'_>| {
        op(t, "begin");
        mlp(t);
        op(t, "mask");
        op(t, "fill");
        attention(t);
        op(t, "end");
    };
    look(before, after, |diff| {
        assert_eq!(counterparts(diff, "aten::norm"), [Some(1), Some(0)]);
        assert_eq!(counterparts(diff, "aten::add"), [Some(1), Some(0)]);
    });
}

#[test]
fn the_missing_calls_of_a_truncated_sequence_are_its_end() {
    let whole = |t: &mut HostThread<'_>| {
        for name in ["begin", "relu", "relu", "mul", "relu", "add", "relu"] {
            op(t, name);
        }
    };
    let cut = |t: &mut HostThread<'_>| {
        for name in ["begin", "relu", "relu"] {
            op(t, name);
        }
    };
    look(whole, cut, |diff| {
        assert_eq!(counterparts(diff, "aten::relu"), [Some(0), Some(1), None, None]);
    });
}

/// Adds one op for each letter in the string.
fn row(letters: &'static str) -> impl Fn(&mut HostThread<'_>) {
    move |t| letters.chars().for_each(|letter| op(t, &letter.to_string()))
}

#[test]
fn one_call_that_moved_past_its_equals_is_not_reported_as_three_moves() {
    look(row("axbxcxde"), row("abxcxdxe"), |diff| {
        assert_eq!(counterparts(diff, "aten::x"), [Some(2), Some(0), Some(1)]);
    });
}

#[test]
fn equal_calls_keep_their_order_even_if_the_contents_of_one_changed() {
    let x = |t: &mut HostThread<'_>, parts: &[&str]| {
        t.op(shaped("aten::x", 3), |t| {
            parts.iter().for_each(|part| op(t, part));
        });
    };
    let (whole, turned) = (["in", "mid", "out"], ["mid", "in", "out"]);
    let before = |t: &mut HostThread<'_>| {
        row("a")(t);
        x(t, &whole);
        x(t, &whole);
        row("bcd")(t);
        x(t, &whole);
        row("e")(t);
    };
    let after = |t: &mut HostThread<'_>| {
        row("a")(t);
        x(t, &whole);
        row("b")(t);
        x(t, &whole);
        row("c")(t);
        x(t, &turned);
        row("de")(t);
    };
    look(before, after, |diff| assert_eq!(counterparts(diff, "aten::x"), in_order(3)));
}

#[test]
fn equal_calls_that_moved_with_their_neighbours_stay_next_to_them() {
    let (before, after) = (row("apqrsdlnuvwdlne"), row("auvwdlnpqrsdlne"));
    look(before, after, |diff| {
        for name in ["aten::d", "aten::l", "aten::n"] {
            assert_eq!(counterparts(diff, name), [Some(1), Some(0)], "{name}");
        }
    });
}

#[test]
fn a_few_moved_calls_are_not_reported_as_a_whole_row_of_moves() {
    // The second of seven x ops moved to the front, and a different x moved past a y. If all x ops kept their relative
    // order, six of these ops would count as moved.
    look(row("xyxyxyxyxyxyxye"), row("xxyxyxyyxxyyxye"), |diff| {
        let moved = relations(diff, "aten::x").into_iter();
        assert!(moved.filter(|&relation| relation == Relation::Moved).count() <= 2);
    });
}

#[test]
fn swapped_autograd_nodes_are_matched_by_the_arguments_of_the_call_inside() {
    let node = |t: &mut HostThread<'_>, rows: i64, launches: bool| {
        t.op(Op::new("autograd::engine::evaluate_function: AccumulateGrad"), |t| {
            t.op(shaped("AccumulateGrad", rows), |t| {
                if launches {
                    t.op(shaped("aten::add_", rows), |t| t.kernel("add", 5.0))
                } else {
                    t.leaf(shaped("aten::add_", rows))
                }
            });
        });
    };
    let before = |t: &mut HostThread<'_>| {
        node(t, 30, true);
        row("a")(t);
        node(t, 647, true);
        row("b")(t);
    };
    // In the candidate, the second node comes first and has lost its launch.
    let after = |t: &mut HostThread<'_>| {
        node(t, 647, false);
        row("a")(t);
        node(t, 30, true);
        row("b")(t);
    };
    look(before, after, |diff| {
        assert_eq!(counterparts(diff, "AccumulateGrad"), [Some(1), Some(0)]);
    });
}

#[test]
fn ranges_under_two_names_are_matched_by_the_calls_in_them() {
    let program = |names: [&'static str; 2]| {
        move |t: &mut HostThread<'_>| {
            op(t, "embedding");
            t.op(names[0], |t| ["mm", "add"].map(|name| op(t, name)).into_iter().collect());
            op(t, "norm");
            t.op(names[1], |t| ["bmm", "sub"].map(|name| op(t, name)).into_iter().collect());
        }
    };
    look(program(["attention", "mlp"]), program(["range one", "range two"]), |diff| {
        for (name, renamed) in [("attention", "range one"), ("mlp", "range two")] {
            let range = calls(diff.tree(Side::Baseline), name)[0];
            let counterpart = diff.counterpart(Side::Baseline, range).expect("a counterpart");
            assert_eq!(diff.tree(Side::Candidate).name(counterpart), renamed);
            assert_eq!(diff.relation(Side::Baseline, range), Relation::Renamed);
        }
    });
}

#[test]
fn a_frame_stays_matched_even_if_its_only_call_moved_out_of_it() {
    let (wrapped, call) = ("graph_module.py(8): call_wrapped", "graph_module.py(3): __call__");
    let module = |t: &mut HostThread<'_>| {
        t.module("Graph_0", |t| large(t, "linear", 8));
    };
    let before = |t: &mut HostThread<'_>| {
        t.frame(wrapped, |t| t.frame(call, module));
    };
    let after = |t: &mut HostThread<'_>| {
        t.frame(wrapped, |t| {
            t.frame(call, |_| {});
            module(t);
        });
    };
    look(before, after, |diff| {
        assert_eq!(relations(diff, call), [Relation::Same]);
        assert_eq!(relations(diff, "nn.Module: Graph_0"), [Relation::Moved]);
    });
    let deeper = |t: &mut HostThread<'_>| {
        t.frame(wrapped, |t| t.frame("caching.py(1): run", |t| t.frame(call, module)));
    };
    let out = |t: &mut HostThread<'_>| {
        t.frame(wrapped, |t| {
            t.frame("caching.py(1): run", |t| t.frame(call, |_| {}));
            module(t);
        });
    };
    look(deeper, out, |diff| assert_eq!(relations(diff, call), [Relation::Same]));
}

#[test]
fn frames_around_calls_that_moved_to_another_thread_stay_matched() {
    let first = |t: &mut HostThread<'_>| row("abc")(t);
    let second = |t: &mut HostThread<'_>| {
        t.frame("model.py(3): forward", |t| row("def")(t));
        t.frame("model.py(9): loss", |t| row("ghi")(t));
    };
    let frames = |t: &mut HostThread<'_>, body: &dyn Fn(&mut HostThread<'_>)| {
        t.frame("loop.py(5): run", |t| t.frame("loop.py(9): step", body));
    };
    let texts = PerSide::new(
        TraceBuilder::cuda()
            .thread("main", |t| {
                frames(t, &|t| {
                    first(t);
                    second(t);
                });
            })
            .json(),
        TraceBuilder::cuda().thread("main", |t| frames(t, &first)).thread("worker", second).json(),
    );
    compare_texts(&texts, |analysis| {
        let diff = analysis.diff();
        for name in ["loop.py(5): run", "loop.py(9): step", "aten::a", "aten::i"] {
            assert_eq!(counterparts(diff, name), [Some(0)], "{name}");
        }
    });
}
