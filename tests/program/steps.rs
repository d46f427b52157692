//! Tests for steps and phases: attribution of launched work, totals that add up, and selections.

use crate::support::compared::{compare_files, compare_texts, trace};
use crate::support::find::call;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use crate::support::traces;
use tracetree::analysis::Analysis;
use tracetree::analysis::steps::{Figures, StepPlace, StepRow, phase_rows};
use tracetree::program::Phase::{
    Decode, Mixed, Prefill, TrainBackward, TrainForward, TrainOptimizer, Unknown,
};
use tracetree::program::{Phase, Phases, Selection, Steps};
use tracetree::trace::Nanos;
use tracetree::tree::CallTree;
use tracetree::{PerSide, Side};

/// For each row in the step table, the index of its step on each side; `None` if the row has no
/// step on that side.
fn places(analysis: &Analysis) -> Vec<[Option<u32>; 2]> {
    let places = analysis.compared().places();
    places.iter().map(|place| Side::BOTH.map(|side| Some(place[side]?.0))).collect()
}

/// A step with one op, which launches one kernel of `micros` µs.
fn step(t: &mut HostThread<'_>, number: u32, micros: f64) {
    t.step(number, |t| t.op("aten::mm", |t| t.kernel("gemm", micros)));
}

fn steps(times: &[f64]) -> String {
    let builder = TraceBuilder::cuda().thread("main", |t| {
        for (number, &micros) in times.iter().enumerate() {
            step(t, number as u32, micros);
        }
    });
    builder.json()
}

fn micros(rows: &[StepRow], side: Side) -> Vec<f64> {
    rows.iter().map(|row| row.figures[side].time.as_micros()).collect()
}

#[test]
fn work_belongs_to_the_step_that_launched_it() {
    // The first kernel is still running long after the three steps have ended on the host.
    let text = steps(&[5000.0, 10.0, 20.0]);
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let rows = analysis.step_rows();
        assert_eq!(micros(rows, Side::Baseline), [5000.0, 10.0, 20.0]);
        assert!(rows.iter().all(|row| row.figures.baseline.launches == 1));
    });
}

#[test]
fn if_one_trace_has_more_steps_they_are_matched_by_their_calls() {
    let one = |names: &[&str]| {
        let builder = TraceBuilder::cuda().thread("main", |t| {
            for (number, name) in names.iter().enumerate() {
                t.step(number as u32, |t| {
                    t.op("aten::add", |t| t.kernel("elementwise", 5.0));
                    t.op(*name, |t| {
                        t.op("aten::mm", |t| t.kernel("gemm", 50.0));
                        t.op("aten::relu", |t| t.kernel("relu", 5.0));
                    });
                });
            }
        });
        builder.json()
    };
    let all = one(&["aten::embedding", "aten::linear", "aten::norm", "aten::conv2d"]);
    let two = one(&["aten::linear", "aten::conv2d"]);
    compare_texts(&PerSide::new(all.clone(), two.clone()), |analysis| {
        let expected = [[Some(0), None], [Some(1), Some(0)], [Some(2), None], [Some(3), Some(1)]];
        assert_eq!(places(analysis), expected);
    });
    compare_texts(&PerSide::new(two, all), |analysis| {
        let expected = [[None, Some(0)], [Some(0), Some(1)], [None, Some(2)], [Some(1), Some(3)]];
        assert_eq!(places(analysis), expected);
    });
}

/// The two traces record the same program: the baseline has two steps, the candidate has five.
#[test]
fn rows_with_a_step_on_both_sides_belong_to_matched_steps() {
    let paths = PerSide::new("train_base", "train_five_steps").map(traces::h100);
    compare_files(paths, |analysis| {
        let places = places(analysis);
        assert_eq!(places.len(), 5);
        let mut on_both = 0;
        for row in analysis.rows() {
            let step = |side: Side| analysis.diff().steps(side).step(row.calls[side]?);
            if let [Some(one), Some(two)] = Side::BOTH.map(step) {
                on_both += 1;
                assert!(places.contains(&[Some(one.0), Some(two.0)]), "{one:?} {two:?}");
            }
        }
        assert!(on_both > 200, "{on_both} rows");
    });
}

#[test]
fn unmatched_steps_and_work_outside_of_steps_keep_their_rows() {
    let one = TraceBuilder::cuda()
        .thread("main", |t| {
            step(t, 7, 10.0);
            step(t, 8, 20.0);
            t.op("aten::add", |t| t.kernel("late", 3.0));
        })
        .unlinked_kernel("early", 4.0);
    compare_texts(&PerSide::new(one.json(), steps(&[11.0])), |analysis| {
        let rows = analysis.step_rows();
        let places: Vec<bool> =
            rows.iter().map(|row| matches!(row.place, StepPlace::Step(_))).collect();
        assert_eq!(places, [true, true, false, false]);
        assert_eq!(micros(rows, Side::Baseline), [10.0, 20.0, 3.0, 4.0]);
        assert_eq!(micros(rows, Side::Candidate), [11.0, 0.0, 0.0, 0.0]);
        let name = |row: &StepRow| row.steps.baseline.as_ref().map(|step| step.name.clone());
        assert_eq!(name(&rows[0]), Some("ProfilerStep#7".to_owned()));
        assert_eq!(rows[1].steps.candidate, None);
    });
}

#[test]
fn a_call_that_starts_when_a_step_ends_is_not_in_it() {
    let event = |category: &str, name: &str, start: f64, micros: f64| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 1, "ts": {start}, "dur": {micros}}}"#
        )
    };
    let events = [
        event("user_annotation", "ProfilerStep#0", 10.0, 90.0),
        event("cpu_op", "aten::first", 10.0, 1.0),
        event("cpu_op", "aten::last", 99.0, 1.0),
        event("cpu_op", "aten::behind", 100.0, 1.0),
    ];
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(", "));
    let tree = CallTree::build(trace("a trace", &text));
    let steps = Steps::of(&tree);
    let is_inside = |name: &str| steps.step(call(&tree, name)).is_some();
    let found = ["aten::first", "aten::last", "aten::behind"].map(is_inside);
    assert_eq!(found, [true, true, false]);
}

#[test]
fn idle_time_is_attributed_to_the_work_that_ends_it() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            step(t, 0, 10.0);
            t.idle(500.0);
            step(t, 1, 10.0);
        })
        .json();
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let rows = analysis.step_rows();
        let idle: Vec<f64> = rows.iter().map(|row| row.figures.baseline.idle.as_micros()).collect();
        assert!(idle[0] < 50.0 && idle[1] > 480.0, "{idle:?}");
    });
}

#[test]
fn communication_is_exposed_only_while_nothing_computes() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.step(0, |t| {
                t.op("aten::mm", |t| t.kernel("gemm", 100.0));
                t.on_stream(20, |t| {
                    t.op("c10d::allreduce_", |t| {
                        t.kernel("ncclDevKernel_AllReduce_Sum_f32", 300.0)
                    });
                });
            });
        })
        .json();
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let figures = analysis.step_rows()[0].figures.baseline;
        assert_eq!(figures.communication, Nanos(300_000));
        assert!(figures.exposed_communication < figures.communication);
        assert!(figures.exposed_communication > Nanos(190_000), "{figures:?}");
        assert_eq!(figures.busy + figures.idle, figures.wall());
    });
}

/// For each name, the phase of the only call with that name.
fn phases_of(text: &str, names: &[&str]) -> Vec<Phase> {
    let trace = trace("a trace", text);
    let tree = CallTree::build(trace);
    let phases = Phases::of(&tree);
    names.iter().map(|name| phases.phase(crate::support::find::call(&tree, name))).collect()
}

#[test]
fn phases_are_read_from_the_annotations_of_inference_engines() {
    let text = TraceBuilder::rocm()
        .thread("main", |t| {
            t.annotation("execute_context_1(888_788544)_generation_0(0)", |t| {
                t.op("a", |t| t.kernel("prefill_kernel", 5.0));
            });
            t.annotation("execute_32_context_0(sq0sk0)_generation_32(sq32sk55)", |t| {
                t.op("b", |t| t.kernel("decode_kernel", 5.0));
            });
            t.annotation("step[MIXED bs=3 toks=70]", |t| {
                t.op("c", |t| t.kernel("mixed_kernel", 5.0));
            });
            t.op("d", |t| t.kernel("other_kernel", 5.0));
        })
        .thread("another", |t| t.idle(1.0))
        .json();
    let names = ["prefill_kernel", "decode_kernel", "mixed_kernel", "other_kernel", "a"];
    assert_eq!(phases_of(&text, &names), [Prefill, Decode, Mixed, Unknown, Prefill]);
}

#[test]
fn tokens_are_counted_if_the_annotation_contains_them() {
    let text = TraceBuilder::rocm()
        .thread("main", |t| {
            for _ in 0..2 {
                t.annotation("step[DECODE bs=4]", |t| t.op("b", |t| t.kernel("k", 8.0)));
            }
        })
        .json();
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let rows = phase_rows(analysis.diff(), analysis.ledger());
        assert_eq!(rows.len(), 1);
        let figures = rows[0].figures.baseline;
        assert_eq!((figures.tokens, figures.steps), (Some(8), 2));
        assert_eq!(figures.time_per_token_us(), Some(2.0));
        assert_eq!(figures.time_per_step_us(), Some(8.0));
    });
}

#[test]
fn training_phases_are_recognised_without_phase_annotations() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.module("Net_0", |t| {
                t.op(Op::new("aten::mm").forward(4), |t| t.kernel("forward_kernel", 5.0));
                t.op("aten::zero_", |t| t.kernel("in_the_module", 1.0));
            });
            t.op("aten::copy_", |t| t.kernel("input_kernel", 1.0));
            t.annotation("Optimizer.step#SGD.step", |t| {
                t.op("aten::add_", |t| t.kernel("update_kernel", 2.0));
            });
            t.wait_for("backward", |t| {
                t.op(Op::new("MmBackward0").backward(4), |t| {
                    t.op(Op::new("aten::tanh").forward(9), |t| t.kernel("recomputed", 5.0));
                    t.op("aten::t", |t| t.kernel("backward_kernel", 5.0));
                });
            });
        })
        .json();
    let names = [
        "forward_kernel",
        "in_the_module",
        "input_kernel",
        "update_kernel",
        "recomputed",
        "backward_kernel",
    ];
    let expected =
        [TrainForward, TrainForward, Unknown, TrainOptimizer, TrainBackward, TrainBackward];
    assert_eq!(phases_of(&text, &names), expected);
}

#[test]
fn a_forward_annotation_alone_is_not_training() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.annotation("## forward ##", |t| t.op("aten::mm", |t| t.kernel("k", 5.0)));
        })
        .json();
    assert_eq!(phases_of(&text, &["k"]), [Phase::Unknown]);
}

#[test]
fn an_annotation_does_not_apply_to_another_thread() {
    let text = TraceBuilder::cuda()
        .thread("main", |t| {
            t.annotation("step[DECODE bs=4]", |t| {
                t.wait_for("loader", |t| t.op("aten::copy_", |t| t.kernel("k", 5.0)));
            });
        })
        .json();
    assert_eq!(phases_of(&text, &["k"]), [Phase::Unknown]);
}

#[test]
fn a_selection_keeps_the_chosen_steps_and_their_uids() {
    let text = steps(&[5.0, 6.0, 7.0, 8.0]);
    let whole = trace("a trace", &text);
    let tree = CallTree::build(whole.clone());
    let steps = Some("1..3".parse().expect("a range"));
    let cut = Selection { steps, phase: None }.cut(&tree).expect("two steps");
    let cut_tree = CallTree::build(cut.clone());
    let times: Vec<i64> = crate::support::find::calls(&cut_tree, "gemm")
        .into_iter()
        .map(|call| cut_tree.duration(call).0)
        .collect();
    assert_eq!(times, [6_000, 7_000]);
    let event =
        cut_tree.event(crate::support::find::calls(&cut_tree, "gemm")[0]).expect("an event");
    let same = whole.event_at(cut.uid(event)).expect("the same uid");
    assert_eq!((whole.start(same), whole.duration(same)), (cut.start(event), cut.duration(event)));
    assert_eq!(Steps::of(&cut_tree).len(), 2);
}

#[test]
fn an_empty_selection_is_an_error_that_lists_what_exists() {
    let text = steps(&[5.0, 6.0]);
    let whole = trace("a trace", &text);
    let tree = CallTree::build(whole);
    let steps = Some("4..".parse().expect("a range"));
    let error = Selection { steps, phase: None }.cut(&tree).expect_err("no such step");
    assert!(error.to_string().contains("it has 2 steps"), "{error}");
    let error = Selection { steps: None, phase: Some(Phase::Decode) }.cut(&tree);
    assert!(error.expect_err("no decode").to_string().contains("phases: unknown"));
}

#[test]
fn a_selection_by_phase_keeps_only_that_phase() {
    let path = traces::example_pairs()[1].baseline.clone();
    let whole = tracetree::trace::Trace::open(&path).expect("an example");
    let tree = CallTree::build(whole);
    let cut = Selection { steps: None, phase: Some(Phase::TrainForward) }.cut(&tree);
    let cut = cut.expect("training");
    let cut_tree = CallTree::build(cut);
    let diff = tracetree::diff::TraceDiff::new(cut_tree.clone(), cut_tree);
    let analysis = Analysis::new(diff);
    assert!(analysis.account().is_exact());
    assert!(analysis.account().totals.baseline.time > Nanos::ZERO);
    let rows = phase_rows(analysis.diff(), analysis.ledger());
    assert_eq!(rows.iter().map(|row| row.phase).collect::<Vec<_>>(), [Phase::TrainForward]);
}

/// Checks that the times of all steps add up to the total time, and that the times of all phases do
/// so, too.
fn adds_up(analysis: &Analysis) {
    let (steps, phases) = (analysis.step_rows(), phase_rows(analysis.diff(), analysis.ledger()));
    for side in Side::BOTH {
        let totals = &analysis.account().totals[side];
        let sum = |figures: &[Figures], pick: fn(&Figures) -> Nanos| -> Nanos {
            figures.iter().map(pick).sum()
        };
        let of_steps: Vec<Figures> = steps.iter().map(|row| row.figures[side]).collect();
        let of_phases: Vec<Figures> = phases.iter().map(|row| row.figures[side]).collect();
        for figures in [&of_steps, &of_phases] {
            assert_eq!(sum(figures, |f| f.time), totals.time);
            let events: u64 = figures.iter().map(|f| f.events).sum();
            assert_eq!(events, totals.events);
            assert!(figures.iter().all(|f| f.idle >= Nanos::ZERO && f.busy >= Nanos::ZERO));
            assert!(figures.iter().all(|f| f.exposed_communication <= f.communication));
        }
        if analysis.ledger().measure() == tracetree::program::Measure::GpuTime {
            assert_eq!(sum(&of_steps, |f| f.busy), totals.busy);
        }
        let parts: [fn(&Figures) -> Nanos; 6] = [
            Figures::wall,
            |f| f.busy,
            |f| f.idle,
            |f| f.copies,
            |f| f.communication,
            |f| f.exposed_communication,
        ];
        for part in parts {
            assert_eq!(sum(&of_steps, part), sum(&of_phases, part));
        }
    }
}

/// Checks that swapping the sides swaps the values.
fn mirrors(one: &Analysis, other: &Analysis) {
    let figures = |analysis: &Analysis| -> Vec<(StepPlace, PerSide<Figures>)> {
        analysis.step_rows().iter().map(|row| (row.place, row.figures)).collect()
    };
    let turned = figures(other).into_iter().map(|(place, figures)| (place, figures.swap()));
    assert_eq!(figures(one), turned.collect::<Vec<_>>());
}

fn check(paths: &PerSide<std::path::PathBuf>) {
    compare_files(paths.clone(), |one| {
        adds_up(one);
        compare_files(paths.clone().swap(), |other| mirrors(one, other));
    });
}

#[test]
fn steps_and_phases_add_up_on_the_examples() {
    for pair in traces::example_pairs() {
        check(&pair);
    }
}

#[test]
fn steps_and_phases_add_up_on_real_traces() {
    for pair in traces::real_pairs() {
        check(&pair);
    }
}

#[test]
fn all_work_of_real_inference_traces_has_the_phase_of_their_annotations() {
    for (name, phase) in [
        ("inference/vllm_decode_graph.mi300.json.gz", Phase::Decode),
        ("inference/vllm_prefill_decode_piecewise.mi300.json.gz", Phase::Mixed),
        ("inference/sglang_decode.mi300.json.gz", Phase::Decode),
        ("inference/vllm_eager.b200.json.gz", Phase::Prefill),
    ] {
        let Some(path) = traces::real(name) else { return };
        compare_files(PerSide::new(&path, &path), |analysis| {
            let rows = phase_rows(analysis.diff(), analysis.ledger());
            assert_eq!(rows.iter().map(|row| row.phase).collect::<Vec<_>>(), [phase], "{name}");
        });
    }
}

#[test]
fn gpu_work_belongs_to_the_step_that_launched_it() {
    let built = TraceBuilder::cuda().thread("main", |t| {
        t.step(4, |t| t.op("aten::mm", |t| t.kernel("long", 500.0)));
        t.step(5, |t| t.op("aten::sum", |t| t.kernel("late", 5.0)));
    });
    let trace = trace("built", &built.json());
    let tree = CallTree::build(trace.clone());
    let steps = Steps::of(&tree);
    let late = tree.event(call(&tree, "late")).expect("an event");
    assert!(trace.start(late) > steps.spans()[1].end, "it runs after its step");
    let number = |name| steps.step(call(&tree, name)).and_then(|step| steps.span(step).number);
    assert_eq!((number("long"), number("late")), (Some(4), Some(5)));
}
