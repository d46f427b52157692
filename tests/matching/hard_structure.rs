//! Tests with structures that are easy to align incorrectly. In some, a call and its counterpart are in different gaps
//! between matches. In others, calls can be identified only by their kernels, or similar calls are not counterparts.

use crate::support::compared::{align_threads as look, compare_texts, shaped, steps_of};
use crate::support::find::{call, calls, relation};
use crate::support::trace_builder::HostThread;
use tracetree::diff::{Relation, TraceDiff};
use tracetree::{PerSide, Side};

#[test]
fn programs_with_only_launch_calls_in_common_stay_unmatched() {
    let program = |library: &'static str, rows: i64| {
        move |t: &mut HostThread<'_>| {
            for number in 0..40 {
                let name = format!("{library}::op_{}", number % 7);
                let kernel = format!("{library}_kernel_{}", number % 7);
                t.op(shaped(&name, rows), |t| t.kernel(&kernel, 5.0));
            }
        }
    };
    look(program("aten", 8), program("jax", 16), |diff| {
        for side in Side::BOTH {
            let tree = diff.tree(side);
            for call in tree.calls().filter(|&call| tree.event(call).is_some()) {
                assert_eq!(diff.relation(side, call), Relation::only(side), "{}", tree.name(call));
            }
        }
    });
    // Ops with the same shapes are matched, because the two programs differ only in the namespace of their ops.
    look(program("aten", 8), program("jax", 8), |diff| {
        let tree = diff.tree(Side::Baseline);
        for op in calls(tree, "aten::op_3") {
            assert_eq!(diff.relation(Side::Baseline, op), Relation::Renamed);
        }
    });
}

#[test]
fn a_wrapper_that_contains_only_a_query_is_expanded() {
    let around = |t: &mut HostThread<'_>| {
        t.op("aten::mm", |t| t.kernel("gemm", 5.0));
        t.op("aten::empty", |t| t.call("cudaEventQuery"));
        t.op("aten::add", |t| t.kernel("add", 5.0));
    };
    let bare = |t: &mut HostThread<'_>| {
        t.op("aten::mm", |t| t.kernel("gemm", 5.0));
        t.call("cudaEventQuery");
        t.op("aten::add", |t| t.kernel("add", 5.0));
    };
    look(around, bare, |diff| {
        let query = (Relation::Same, Some("cudaEventQuery"));
        assert_eq!(relation(diff, Side::Baseline, "cudaEventQuery"), query);
        assert_eq!(relation(diff, Side::Baseline, "aten::empty").1, None);
    });
}

#[test]
fn launches_whose_ops_were_not_recorded_are_matched_inside_the_ops() {
    const OPS: usize = 12;
    let ops = |t: &mut HostThread<'_>| {
        t.op("Optimizer.step", |t| {
            for _ in 0..OPS {
                t.op(shaped("aten::zero_", 3), |t| {
                    t.op(shaped("aten::fill_", 3), |t| t.kernel("fill", 5.0));
                });
            }
        });
    };
    // The kernels have different names, so the launches agree only in their kind and number.
    let launches = |count: usize| {
        move |t: &mut HostThread<'_>| {
            t.op("Optimizer.step", |t| (0..count).for_each(|_| t.kernel("memset_kernel", 5.0)));
        }
    };
    let matched = |diff: &TraceDiff| {
        let tree = diff.tree(Side::Baseline);
        let launches = calls(tree, "cudaLaunchKernel").into_iter();
        launches.filter(|&call| diff.relation(Side::Baseline, call).is_common()).count()
    };
    look(ops, launches(OPS), |diff| assert_eq!(matched(diff), OPS));
    // A few launches do not show that the ops around all other launches are missing.
    look(ops, launches(4), |diff| assert_eq!(matched(diff), 0));
}

#[test]
fn calls_inside_a_wrapper_are_matched_in_another_gap() {
    let flat = |t: &mut HostThread<'_>| {
        t.op(shaped("aten::sqrt", 3), |t| t.kernel("sqrt", 5.0));
        t.op(shaped("aten::div", 3), |t| t.kernel("div", 5.0));
        t.op(shaped("aten::add_", 3), |t| t.kernel("add", 5.0));
        t.op(shaped("aten::mul", 3), |t| t.kernel("mul", 5.0));
    };
    let wrapped_and_swapped = |t: &mut HostThread<'_>| {
        t.op("wrapper", |t| {
            t.op(shaped("aten::div", 3), |t| t.kernel("div", 5.0));
            t.op(shaped("aten::add_", 3), |t| t.kernel("add", 5.0));
        });
        t.op(shaped("aten::sqrt", 3), |t| t.kernel("sqrt", 5.0));
        t.op(shaped("aten::mul", 3), |t| t.kernel("mul", 5.0));
    };
    look(flat, wrapped_and_swapped, |diff| {
        for name in ["aten::sqrt", "aten::div", "aten::add_", "aten::mul"] {
            let (relation, counterpart) = relation(diff, Side::Baseline, name);
            assert!(relation.is_common() && counterpart == Some(name), "{name}: {relation:?}");
        }
        assert_eq!(relation(diff, Side::Candidate, "wrapper").1, None);
    });
}

#[test]
fn swapped_launches_are_matched_by_their_kernels() {
    let launches = |kernels: [&'static str; 2]| {
        move |t: &mut HostThread<'_>| {
            t.launch("cudaLaunchKernel").kernel(kernels[0], 5.0);
            t.op(shaped("aten::mm", 3), |t| t.kernel("gemm", 50.0));
            t.launch("cudaLaunchKernel").kernel(kernels[1], 7.0);
        }
    };
    look(launches(["first", "second"]), launches(["second", "first"]), |diff| {
        for name in ["first", "second"] {
            assert_eq!(relation(diff, Side::Baseline, name).1, Some(name));
        }
        assert_eq!(relation(diff, Side::Baseline, "gemm").1, Some("gemm"));
    });
}

#[test]
fn launches_in_a_gap_are_matched_if_both_sides_have_equally_many() {
    let algorithm = |steps: &'static [&'static str], copies: usize| {
        move |t: &mut HostThread<'_>| {
            t.op(shaped("aten::convolution_backward", 3), |t| {
                for _ in 0..copies {
                    t.launch("cudaLaunchKernel").kernel("layout", 2.0);
                }
                t.op(shaped("aten::empty", 3), |_| ());
                for step in steps {
                    t.launch("cudaLaunchKernel").kernel(step, 9.0);
                }
            });
        }
    };
    // The candidate has one fewer copy before the matching op `aten::empty` (the anchor), so the number of launches in
    // the enclosing op differs. After the anchor, the baseline and the candidate have the same number of launches.
    look(algorithm(&["volta_gemm"], 2), algorithm(&["ampere_gemm"], 1), |diff| {
        let gemm = relation(diff, Side::Baseline, "volta_gemm");
        assert_eq!(gemm, (Relation::Renamed, Some("ampere_gemm")));
        let tree = diff.tree(Side::Baseline);
        let copies = calls(tree, "layout").into_iter();
        assert_eq!(
            copies.filter(|&copy| diff.counterpart(Side::Baseline, copy).is_some()).count(),
            1
        );
    });
    // After the anchor, one side has two launches and the other side has three, and nothing shows which launches match.
    look(algorithm(&["volta_a", "volta_b"], 1), algorithm(&["a", "b", "c"], 1), |diff| {
        let gemm = call(diff.tree(Side::Baseline), "volta_b");
        assert_eq!(diff.counterpart(Side::Baseline, gemm), None);
    });
}

#[test]
fn large_subtrees_are_aligned_equally_on_one_and_on_four_threads() {
    // The program has four layers, and each layer is so large that it is aligned as a separate piece. The second layer
    // and the third layer are swapped.
    let layer = |t: &mut HostThread<'_>, layer: i64, but: i64| {
        t.op(format!("layer::{layer}").as_str(), |t| {
            for number in (0..900).filter(|number| number % 50 != but) {
                let name = format!("aten::op_{}", (number * layer) % 31);
                t.op(shaped(&name, number % 5), |t| {
                    t.op("aten::inner", |t| t.kernel("kernel", 2.0));
                });
            }
        });
    };
    let layers = move |order: [i64; 4], but: i64| {
        steps_of(1, move |t| order.iter().for_each(|&number| layer(t, number, but)))
    };
    let texts = PerSide::new(layers([1, 2, 3, 4], 7), layers([1, 3, 2, 4], 11));
    let counterparts = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            compare_texts(&texts, |analysis| {
                let diff = analysis.diff();
                let counterpart = |call| {
                    let side = Side::Baseline;
                    (diff.counterpart(side, call), diff.relation(side, call))
                };
                diff.tree(Side::Baseline).calls().map(counterpart).collect::<Vec<_>>()
            })
        })
    };
    let one = counterparts(1);
    assert!(one == counterparts(4));
    let paired = one.iter().filter(|(counterpart, _)| counterpart.is_some()).count();
    assert!(paired > one.len() * 9 / 10, "{paired} of {}", one.len());
}
