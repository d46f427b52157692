//! Tests with differences that must not be reported as changes: a second run, a different number of steps, or a
//! profiler that records more.

use crate::pairs::{JAX_SAME, SAME, compare};
use crate::shown;
use crate::support::compared::{compare_files, compare_texts, steps_of};
use crate::support::traces::{example, h100};
use tracetree::PerSide;
use tracetree::report::Narrative;
use tracetree::trace::Nanos;

#[test]
fn two_runs_of_one_program_are_identical() {
    for (baseline, candidate) in SAME.into_iter().chain(JAX_SAME) {
        for (one, two) in [(baseline, candidate), (candidate, baseline)] {
            compare(one, two, |analysis| {
                assert_eq!(shown(analysis), Vec::<String>::new(), "{one} → {two}");
                assert!(analysis.changes().is_identical());
            });
        }
    }
}

#[test]
fn a_trace_is_identical_to_itself_and_costs_nothing() {
    for name in ["resnet_tf32_off", "train_clip", "decode_reduce_overhead", "tfm_compiled"] {
        compare_files(PerSide::new(h100(name), h100(name)), |analysis| {
            let changes = analysis.changes();
            assert!(changes.is_identical(), "{name}: {:?}", shown(analysis));
            let parts = changes.without_change();
            assert!(parts.iter().all(|part| part.cost.0 == 0), "{name}: {parts:?}");
        });
    }
}

#[test]
fn an_identical_program_says_what_was_compared() {
    let text = steps_of(3, |t| t.op("aten::mm", |t| t.kernel("gemm", 40.0)));
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let shown = Narrative::of(analysis).state;
        let expected = "The programs are identical as far as recorded: every call and kernel matches; not \
                        recorded: arguments, Python stacks, so loops in Python are invisible";
        assert_eq!(shown.as_deref(), Some(expected));
    });
}

#[test]
fn traces_without_calls_are_not_called_identical() {
    let text = r#"{"traceEvents":[{"ph":"X","cat":"overhead","name":"main","pid":1,"tid":1,"ts":1,"dur":9}]}"#;
    compare_texts(&PerSide::new(text.to_owned(), text.to_owned()), |analysis| {
        assert!(!analysis.changes().is_identical());
        let shown = Narrative::of(analysis).state;
        let expected =
            "Nothing was compared: the compared windows contain no ops and no GPU events";
        assert_eq!(shown.as_deref(), Some(expected));
    });
}

#[test]
fn a_program_recorded_without_stacks_is_still_identical() {
    let [one, two] = ["base", "no_stacks"].map(|name| format!("examples/cpu/cpu_{name}.pt.trace"));
    for (one, two, side) in [(&one, &two, "baseline"), (&two, &one, "candidate")] {
        compare(one, two, |analysis| {
            let changes = analysis.changes();
            assert!(changes.is_identical(), "{:?}", shown(analysis));
            let sentences: Vec<&str> =
                changes.list().iter().map(|change| change.sentence.as_str()).collect();
            assert_eq!(sentences, [format!("Only the {side} was recorded with Python stacks")]);
        });
    }
}

#[test]
fn a_trace_of_another_model_is_called_another_program() {
    compare("torch215/one_cnn_a", "torch215/one_tf", |analysis| {
        let shown = Narrative::of(analysis).state.expect("a headline");
        assert!(shown.starts_with("These are different programs: "), "{shown}");
    });
}

/// Without Python stacks, a sleep between two ops is not recorded as a call, but it is known which op comes after the
/// sleep.
#[test]
fn a_sleep_that_was_not_recorded_is_placed_before_an_op() {
    let of = |name: &str| example(&format!("known/{name}.pt.trace.json.gz"));
    compare_files(PerSide::new(of("host_base"), of("host_sleep")), |analysis| {
        let changes = analysis.changes();
        // The program sleeps 3 ms in each step, before the first op.
        assert!(changes.between_calls() >= Nanos(3_000_000), "{:?}", changes.between_calls());
        assert_eq!(changes.between_calls_before(), Some("aten::slice"));
        let narrative = Narrative::of(analysis);
        let lines: Vec<_> =
            narrative.other_speed.lines.iter().chain(&narrative.within_noise.lines).collect();
        // Each of the four steps has a pause. It is priced on its own, before the first op that leads to GPU work.
        let pauses = lines[0];
        let said = "4 pauses of the host, only in host_sleep; the longest 3.26 ms before aten::embedding (forward)";
        assert_eq!(pauses.sentence, said);
        assert!((pauses.cost.as_millis() - 3.1).abs() < 0.1, "{pauses:?}");
    });
}
