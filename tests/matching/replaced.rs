//! Tests for compiled regions and multi-tensor ops in traces without Python frames, and for calls whose arguments agree
//! only in part. Each test covers one rule and fails if that rule is disabled.

use crate::support::compared::{align_threads as look, shaped};
use crate::support::find::calls;
use crate::support::trace_builder::{HostThread, Op};
use tracetree::Side;
use tracetree::diff::{Relation, TraceDiff};

/// The ops of a layer and the number of layers.
const OPS: [&str; 6] = ["layer_norm", "linear", "gelu", "linear", "dropout", "add"];
const LAYERS: usize = 8;

fn layer(t: &mut HostThread<'_>) {
    for name in OPS {
        t.op(shaped(&format!("aten::{name}"), 16), |t| t.kernel(name, 5.0));
    }
}

fn region(t: &mut HostThread<'_>) {
    t.op("Torch-Compiled Region: 0/0", |t| {
        for name in ["triton_poi_fused_layer_norm_0", "triton_poi_fused_gelu_1"] {
            t.op(name, |t| t.kernel(name, 8.0));
        }
    });
}

fn layers(compiled: &'static [usize]) -> impl FnOnce(&mut HostThread<'_>) {
    move |t| {
        for number in 0..LAYERS {
            if compiled.contains(&number) { region(t) } else { layer(t) }
        }
    }
}

/// For each region, the calls that it replaced. Each call is given as an index into the list of all `aten::` ops on the
/// other side.
fn replaced(diff: &TraceDiff) -> Vec<Vec<usize>> {
    let positions = |side: Side, calls: &[_]| {
        let tree = diff.tree(side);
        let ops: Vec<_> =
            tree.calls().filter(|&call| tree.name(call).starts_with("aten::")).collect();
        let at = |call| ops.iter().position(|op| op == call).expect("an op");
        calls.iter().map(at).collect()
    };
    let regions = diff.regions().iter();
    regions.map(|region| positions(region.side.other(), &region.replaced)).collect()
}

#[test]
fn each_region_replaced_one_of_several_equal_layers() {
    let layer = |number: usize| (number * OPS.len()..(number + 1) * OPS.len()).collect::<Vec<_>>();
    for compiled in [&[2, 3, 5][..], &[0, 1, 2, 7], &[1, 3, 5, 7], &[4]] {
        let expected: Vec<Vec<usize>> = compiled.iter().map(|&number| layer(number)).collect();
        look(layers(&[]), layers(compiled), |diff| assert_eq!(replaced(diff), expected));
        look(layers(compiled), layers(&[]), |diff| assert_eq!(replaced(diff), expected));
    }
}

/// An optimizer that runs the ops in `names` for each of five parameters.
fn looped(names: &'static [&str]) -> impl FnOnce(&mut HostThread<'_>) {
    move |t| {
        t.op("optimizer", |t| {
            for _ in 0..5 {
                for name in names {
                    t.op(Op::new(&format!("aten::{name}")), |t| t.kernel(name, 1.0));
                }
            }
        });
    }
}

/// An optimizer that runs each op in `names` once, as a multi-tensor op for all parameters.
fn multi_tensor(names: &'static [&str]) -> impl FnOnce(&mut HostThread<'_>) {
    move |t| {
        t.op("optimizer", |t| {
            for name in names {
                let op = Op::new(&format!("aten::_foreach_{name}"));
                t.op(op, |t| t.kernel("multi_tensor_apply_kernel", 5.0));
            }
        });
    }
}

#[test]
fn a_multi_tensor_op_replaced_one_op_of_each_parameter() {
    let names = &["mul_", "add_", "addcmul_", "add_"];
    look(looped(names), multi_tensor(names), |diff| {
        let every_fourth = |first: usize| (0..5).map(|at| first + 4 * at).collect::<Vec<_>>();
        let expected: Vec<Vec<usize>> = (0..4).map(every_fourth).collect();
        assert_eq!(replaced(diff), expected);
        let op = calls(diff.tree(Side::Candidate), "aten::_foreach_addcmul_")[0];
        assert_eq!(diff.relation(Side::Candidate, op), Relation::Replaced);
    });
}

#[test]
fn an_op_that_contains_itself_was_replaced_once() {
    let nested = |t: &mut HostThread<'_>| {
        t.op("optimizer", |t| {
            for _ in 0..10 {
                t.op("aten::add_", |t| t.op("aten::add_", |t| t.kernel("add", 1.0)));
            }
        });
    };
    // Every other outer call belongs to the first multi-tensor op. Each outer call is followed by its inner call.
    look(nested, multi_tensor(&["add_", "add_"]), |diff| {
        let every_fourth = |first: usize| (0..5).map(|at| first + 4 * at).collect::<Vec<_>>();
        assert_eq!(replaced(diff), [every_fourth(0), every_fourth(2)]);
    });
}

#[test]
fn a_multi_tensor_op_is_not_a_rename_of_the_op_of_one_parameter() {
    // The number of calls is not a multiple of the number of multi-tensor ops, so nothing shows which calls each
    // multi-tensor op replaced.
    look(looped(&["add_"]), multi_tensor(&["add_", "add_"]), |diff| {
        assert!(diff.regions().is_empty());
        for op in calls(diff.tree(Side::Candidate), "aten::_foreach_add_") {
            assert_eq!(diff.relation(Side::Candidate, op), Relation::OnlyCandidate);
        }
    });
}

/// For each baseline call with the given name, its relation, and the index of its counterpart among the candidate's
/// calls with that name.
fn counterparts(diff: &TraceDiff, name: &str) -> Vec<(Relation, Option<usize>)> {
    let [mine, theirs] = Side::BOTH.map(|side| calls(diff.tree(side), name));
    let counterpart = |call| {
        let counterpart = diff.counterpart(Side::Baseline, call)?;
        theirs.iter().position(|&other| other == counterpart)
    };
    mine.into_iter().map(|call| (diff.relation(Side::Baseline, call), counterpart(call))).collect()
}

#[test]
fn in_another_precision_equal_types_are_not_evidence() {
    // The candidate runs the whole model in a different precision. In each trace, the first `aten::index` happens to
    // have the type of the last `aten::index` in the other trace.
    let model = |types: [&'static str; 2], other: &'static str| {
        move |t: &mut HostThread<'_>| {
            for number in 0..12 {
                t.leaf(shaped("aten::mul", 100 + number).types(&[other]));
            }
            t.leaf(shaped("aten::index", 8).types(&[types[0]]));
            t.leaf(shaped("aten::mul", 7).types(&[other]));
            t.leaf(shaped("aten::index", 8).types(&[types[1]]));
        }
    };
    let (float, half) = ("float", "c10::BFloat16");
    look(model([half, float], half), model([float, half], float), |diff| {
        let same = |at| (Relation::Same, Some(at));
        assert_eq!(counterparts(diff, "aten::index"), [same(0), same(1)]);
    });
}

#[test]
fn in_another_precision_shapes_are_still_evidence() {
    let model = |rows: &'static [i64], of_type: &'static str| {
        move |t: &mut HostThread<'_>| {
            t.leaf(shaped("aten::add", 5).types(&[of_type]));
            for &rows in rows {
                t.op(shaped("aten::upsample", rows).types(&[of_type]), |t| {
                    t.kernel("upsample", 5.0)
                });
            }
            t.leaf(shaped("aten::mul", 6).types(&[of_type]));
        }
    };
    look(model(&[256, 684], "float"), model(&[684], "c10::BFloat16"), |diff| {
        let expected = [(Relation::OnlyBaseline, None), (Relation::Same, Some(0))];
        assert_eq!(counterparts(diff, "aten::upsample"), expected);
    });
}

#[test]
fn a_call_never_moves_into_an_op_of_another_name() {
    let inside = |outer: &'static str, others: [&'static str; 2]| {
        move |t: &mut HostThread<'_>| {
            t.op("model", |t| {
                for name in others {
                    t.op(name, |t| t.kernel(name, 5.0));
                }
                t.op(outer, |t| t.op(shaped("aten::to", 8), |t| t.kernel("copy", 2.0)));
            });
        }
    };
    look(inside("aten::add_", ["a", "b"]), inside("aten::div_", ["b", "c"]), |diff| {
        let [(relation, _)] = counterparts(diff, "aten::to")[..] else { panic!("one call") };
        assert_ne!(relation, Relation::Moved);
    });
}

#[test]
fn a_call_that_moves_along_a_thread_keeps_its_shapes() {
    let thread = |rows: [i64; 2], is_first: bool| {
        move |t: &mut HostThread<'_>| {
            let call = |t: &mut HostThread<'_>, rows| {
                t.op(shaped("aten::sum", rows), |t| t.kernel("sum", 5.0));
            };
            if is_first {
                call(t, rows[0]);
            }
            for name in ["a", "b", "c"] {
                t.op(name, |t| t.kernel(name, 5.0));
            }
            if !is_first {
                call(t, rows[1]);
            }
        }
    };
    let relation = |rows: [i64; 2]| {
        let mut found = None;
        look(thread(rows, true), thread(rows, false), |diff| {
            found = Some(counterparts(diff, "aten::sum")[0].0);
        });
        found.expect("one call")
    };
    assert_eq!(relation([8, 8]), Relation::Moved);
    assert_eq!(relation([8, 9]), Relation::OnlyBaseline);
}
