//! Tests for annotated ranges that only one trace contains, for changed layers next to added layers, and for the
//! confidence of matches.

use crate::support::compared::{align_threads as look, compare_files, shaped};
use crate::support::files::real_traces;
use crate::support::find::{call, calls, relation};
use crate::support::trace_builder::HostThread;
use tracetree::diff::{Confidence, Relation, TraceDiff};
use tracetree::{PerSide, Side};

fn work(t: &mut HostThread<'_>, name: &str) {
    t.op(shaped(name, 4), |t| t.kernel("kernel", 5.0));
}

/// The match confidence for all calls with the given name, in order; `None` for unmatched calls.
fn confidences(diff: &TraceDiff, side: Side, name: &str) -> Vec<Option<Confidence>> {
    let calls = calls(diff.tree(side), name).into_iter();
    calls.map(|call| diff.confidence(side, call)).collect()
}

#[test]
fn a_range_around_calls_does_not_change_their_matches() {
    let plain = |t: &mut HostThread<'_>| {
        for _ in 0..6 {
            work(t, "aten::mm");
            work(t, "aten::add");
        }
    };
    let marked = |t: &mut HostThread<'_>| {
        work(t, "aten::mm");
        t.op("my_region", |t| {
            work(t, "aten::add");
            t.op("inner", |t| {
                work(t, "aten::mm");
                work(t, "aten::add");
                work(t, "aten::mm");
            });
        });
        work(t, "aten::add");
        for _ in 0..3 {
            work(t, "aten::mm");
            work(t, "aten::add");
        }
    };
    look(plain, marked, |diff| {
        for name in ["aten::mm", "aten::add"] {
            let (mine, theirs) = (Side::BOTH).map(|side| calls(diff.tree(side), name)).into();
            for (a, b) in mine.into_iter().zip(theirs) {
                assert_eq!(diff.counterpart(Side::Baseline, a), Some(b), "{name}");
                assert_eq!(diff.relation(Side::Baseline, a), Relation::Same, "{name}");
                assert_eq!(diff.confidence(Side::Baseline, a), Some(Confidence::Firm));
            }
        }
        assert_eq!(relation(diff, Side::Candidate, "my_region").1, None);
    });
}

#[test]
fn a_range_under_another_name_is_found_by_what_it_contains() {
    let marked = |outer: &'static str, inner: &'static str| {
        move |t: &mut HostThread<'_>| {
            t.op(outer, |t| {
                work(t, "aten::mm");
                t.op(inner, |t| work(t, "aten::add"));
            });
            work(t, "aten::mm");
        }
    };
    look(marked("forward", "loss"), marked("fwd", "criterion"), |diff| {
        let renamed = |name| (Relation::Renamed, Some(name));
        assert_eq!(relation(diff, Side::Baseline, "forward"), renamed("fwd"));
        assert_eq!(relation(diff, Side::Baseline, "loss"), renamed("criterion"));
    });
}

#[test]
fn layers_that_changed_are_not_hidden_among_those_that_were_added() {
    let layers = |count: usize, damaged: &'static [usize]| {
        move |t: &mut HostThread<'_>| {
            for layer in 0..count {
                t.module(&format!("Block_{layer}"), |t| {
                    for name in ["aten::mm", "aten::add", "aten::gelu", "aten::mul", "aten::sum"] {
                        if name != "aten::gelu" || !damaged.contains(&layer) {
                            work(t, name);
                        }
                    }
                });
            }
        }
    };
    look(layers(4, &[]), layers(8, &[1, 2]), |diff| {
        let of =
            |side: Side, layer: usize| call(diff.tree(side), &format!("nn.Module: Block_{layer}"));
        for layer in 0..4 {
            let counterpart = diff.counterpart(Side::Baseline, of(Side::Baseline, layer));
            assert_eq!(counterpart, Some(of(Side::Candidate, layer)), "Block_{layer}");
        }
    });
}

#[test]
fn a_dropped_call_is_not_one_of_many_added_ones() {
    let program = |dropped: bool, added: usize| {
        move |t: &mut HostThread<'_>| {
            work(t, "aten::mm");
            if !dropped {
                work(t, "aten::add");
            }
            for name in ["aten::gelu", "aten::relu", "aten::tanh"] {
                work(t, name);
            }
            for _ in 0..added {
                work(t, "aten::add");
                work(t, "aten::mul");
            }
            work(t, "aten::sum");
        }
    };
    look(program(false, 0), program(true, 10), |diff| {
        assert_eq!(relation(diff, Side::Baseline, "aten::add").1, None);
    });
    // A single added `aten::add` may be the dropped `aten::add`, moved to a new position.
    look(program(false, 0), program(true, 1), |diff| {
        assert_eq!(relation(diff, Side::Baseline, "aten::add").0, Relation::Moved);
    });
}

#[test]
fn equal_calls_of_which_one_is_gone_may_be_exchanged() {
    let program = |equal: usize| {
        move |t: &mut HostThread<'_>| {
            work(t, "aten::mm");
            (0..equal).for_each(|_| work(t, "aten::add"));
            work(t, "aten::gelu");
            (0..2).for_each(|_| work(t, "aten::add"));
        }
    };
    look(program(3), program(2), |diff| {
        for side in Side::BOTH {
            let found = confidences(diff, side, "aten::add");
            let groups: Vec<Option<u32>> =
                found.iter().flatten().map(|confidence| confidence.group()).collect();
            // Between `mm` and `gelu`, several matches are possible; after `gelu`, only one match is possible.
            assert_eq!(groups, [Some(0), Some(0), None, None], "{side:?}");
            assert_eq!(found.iter().flatten().last(), Some(&Confidence::Firm));
            for name in ["aten::mm", "aten::gelu"] {
                assert_eq!(confidences(diff, side, name), [Some(Confidence::Firm)]);
            }
        }
    });
}

#[test]
fn a_match_is_as_sure_as_the_match_around_it() {
    let program = |modules: usize| {
        move |t: &mut HostThread<'_>| {
            work(t, "aten::embedding");
            for _ in 0..modules {
                t.module("Block_0", |t| work(t, "aten::mm"));
            }
            work(t, "aten::softmax");
        }
    };
    look(program(3), program(2), |diff| {
        let of = |name| confidences(diff, Side::Candidate, name);
        let modules = of("nn.Module: Block_0");
        assert!(modules.iter().all(|found| found.and_then(Confidence::group).is_some()));
        assert_eq!(of("aten::mm"), modules);
    });
}

#[test]
fn a_decode_is_compared_with_the_one_at_the_same_position() {
    let decodes = |positions: &'static [i64]| {
        move |t: &mut HostThread<'_>| {
            for &position in positions {
                t.annotation("execute_context_0(0)_generation_1(1)", |t| {
                    work(t, "aten::mm");
                    t.op(shaped("aten::bmm", position), |t| t.kernel("kernel", 5.0));
                    work(t, "aten::argmax");
                });
            }
        }
    };
    let firm = Some(Confidence::Firm);
    look(decodes(&[513, 132, 133, 134]), decodes(&[132, 133, 134]), |diff| {
        assert_eq!(confidences(diff, Side::Baseline, "aten::bmm"), [None, firm, firm, firm]);
        assert_eq!(confidences(diff, Side::Candidate, "aten::mm"), [firm; 3]);
    });
    // Neither of the first two decodes is at the position of the candidate's first decode.
    look(decodes(&[513, 514, 133]), decodes(&[132, 133]), |diff| {
        let likely = Some(Confidence::Likely);
        assert_eq!(confidences(diff, Side::Candidate, "aten::bmm"), [likely, firm]);
        assert_eq!(confidences(diff, Side::Candidate, "aten::mm"), [likely, firm]);
    });
    // Both sides have one decode that the other lacks: the two are counterparts.
    look(decodes(&[513, 133]), decodes(&[132, 133]), |diff| {
        assert_eq!(confidences(diff, Side::Candidate, "aten::bmm"), [firm; 2]);
    });
}

#[test]
fn renamed_and_moved_calls_are_at_most_likely() {
    let program = |names: [&'static str; 4]| {
        move |t: &mut HostThread<'_>| names.into_iter().for_each(|name| work(t, name))
    };
    let (before, after) = (
        ["aten::mm", "aten::add", "x::attention", "aten::sum"],
        ["aten::add", "aten::mm", "y::attention", "aten::sum"],
    );
    look(program(before), program(after), |diff| {
        let tree = diff.tree(Side::Baseline);
        for call in tree.calls() {
            let relation = diff.relation(Side::Baseline, call);
            if matches!(relation, Relation::Renamed | Relation::Moved) {
                assert_eq!(diff.confidence(Side::Baseline, call), Some(Confidence::Likely));
            }
        }
        assert_eq!(confidences(diff, Side::Baseline, "aten::sum"), [Some(Confidence::Firm)]);
    });
}

/// The traces in this test are not in this repository, but in the folder `align` of the collection of real traces.
#[test]
fn ranges_and_layers_of_the_collection_are_matched_in_order() {
    let Some(folder) = real_traces() else { return };
    let files = |one: &str, two: &str| {
        PerSide::new(folder.join("align").join(one), folder.join("align").join(two))
    };
    for name in ["nested_ranges", "nested_ranges24"] {
        compare_files(files(&format!("{name}_a.json"), &format!("{name}_b.json")), |analysis| {
            let diff = analysis.diff();
            let tree = diff.tree(Side::Baseline);
            for call in tree.calls() {
                assert_eq!(
                    diff.relation(Side::Baseline, call),
                    Relation::Same,
                    "{}",
                    tree.name(call)
                );
            }
        });
    }
    compare_files(files("layers4.json", "layers8_two_ops_gone.json"), |analysis| {
        let diff = analysis.diff();
        for layer in 0..4 {
            let name = format!("nn.Module: Block_{layer}");
            assert_eq!(relation(diff, Side::Baseline, &name).1, Some(name.as_str()));
        }
    });
}
