//! Tests for verdicts on time differences: based on several runs, some differences are significant and others are not.
//! With one run per side, nothing is tested.

use crate::support::compared::{compare_files, compare_texts, steps_of, trace};
use crate::support::splitmix::SplitMix;
use crate::support::trace_builder::TraceBuilder;
use crate::support::traces;
use tracetree::analysis::Analysis;
use tracetree::analysis::verdict::{Judgement, Repeats, Thresholds, Verdict, Verdicts};
use tracetree::trace::Nanos;
use tracetree::{Comparison, ComparisonOptions, PerSide};

/// One run for each given time. Each run is one step, in which `aten::mm` takes the given time, and `aten::add` takes 50
/// µs.
fn runs(times: &[f64]) -> Vec<String> {
    let run = |&micros: &f64| {
        steps_of(1, |t| {
            t.op("aten::mm", |t| t.kernel("gemm", micros));
            t.op("aten::add", |t| t.kernel("add_kernel", 50.0));
        })
    };
    times.iter().map(run).collect()
}

/// A list of `count` times that differ from `middle` by up to 4%.
fn noisy(seed: u64, middle: f64, count: usize) -> Vec<f64> {
    let mut random = SplitMix::new(seed);
    (0..count).map(|_| middle * (0.96 + 0.08 * random.below(1000) as f64 / 1000.0)).collect()
}

/// Compares the runs of both sides, and passes the analysis to `look`.
fn compare_runs<T>(runs: PerSide<Vec<String>>, look: impl FnOnce(&Analysis) -> T) -> T {
    let runs = runs.map(|runs| runs.iter().map(|text| trace("run", text)).collect::<Vec<_>>());
    let comparison = Comparison::of_runs(runs, &ComparisonOptions::default()).expect("compared");
    look(comparison.analysis())
}

fn verdicts(one: Vec<String>, two: Vec<String>) -> Verdicts {
    compare_runs(PerSide::new(one, two), |analysis| analysis.verdicts(&Thresholds::default()))
}

fn total(verdicts: &Verdicts) -> Judgement {
    verdicts.total.expect("measured time")
}

#[test]
fn a_change_beyond_the_noise_is_reported() {
    let found = verdicts(runs(&noisy(1, 100.0, 10)), runs(&noisy(2, 115.0, 10)));
    assert_eq!(found.repeats, Repeats::Runs);
    assert_eq!(total(&found).verdict, Verdict::Slower);
    assert!(total(&found).p.expect("a test") < 0.01);
    assert_eq!(found.step.expect("steps").verdict, Verdict::Slower);
}

#[test]
fn noise_is_not_a_change() {
    let mut wild = noisy(3, 100.0, 6);
    wild[2] = 400.0;
    let found = verdicts(runs(&noisy(4, 100.0, 6)), runs(&wild));
    assert!(!total(&found).verdict.is_change() && !found.step.expect("steps").verdict.is_change());
    let shifted = [108.0, 92.0, 111.0];
    let found = verdicts(runs(&[100.0, 95.0, 110.0]), runs(&shifted));
    assert_eq!(total(&found).verdict, Verdict::WithinNoise);
}

#[test]
fn a_tenfold_time_is_significant_with_three_runs_per_side() {
    let found = verdicts(runs(&[100.0, 101.0, 102.0]), runs(&[1_000.0, 1_010.0, 1_005.0]));
    assert_eq!(total(&found).words(), "slower (3 runs, all apart)");
}

#[test]
fn one_run_per_side_is_not_tested_whatever_its_steps_say() {
    let steps = |micros: f64, kernel: &str| {
        vec![steps_of(9, |t| {
            t.op("aten::mm", |t| t.kernel(kernel, micros));
            t.op("aten::add", |t| t.kernel("add_kernel", 50.0));
        })]
    };
    let found = verdicts(steps(100.0, "gemm"), steps(300.0, "other_gemm"));
    assert_eq!(total(&found).verdict, Verdict::NotTested);
    assert_eq!(total(&found).words(), "not tested (one run per side)");
    assert_eq!((total(&found).p, found.step, found.drift), (None, None, 0.0));
}

#[test]
fn work_before_the_first_step_is_not_tested() {
    let build = |micros: f64| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                t.op("aten::sum", |t| t.kernel("reduce", micros));
                for number in 0..3 {
                    t.step(number, |t| t.op("aten::add", |t| t.kernel("add_kernel", 50.0)));
                }
            })
            .json()
    };
    let found = verdicts(vec![build(100.0)], vec![build(900.0)]);
    assert_eq!(total(&found).verdict, Verdict::Similar);
}

#[test]
fn thresholds_are_the_users() {
    let all = PerSide::new(runs(&noisy(1, 100.0, 10)), runs(&noisy(2, 115.0, 10)));
    compare_runs(all, |analysis| {
        let judged = |thresholds: Thresholds| total(&analysis.verdicts(&thresholds)).verdict;
        let standard = Thresholds::default();
        assert_eq!(judged(standard), Verdict::Slower);
        assert_eq!(judged(Thresholds { relative: 0.2, ..standard }), Verdict::Similar);
        let absolute = Some(Nanos(30_000));
        assert_eq!(judged(Thresholds { absolute, ..standard }), Verdict::Similar);
    });
}

/// Checks that swapping the sides exchanges *slower* and *faster*, and keeps the evidence.
#[test]
fn swapping_the_sides_inverts_the_verdicts() {
    let of = |pair: PerSide<Vec<f64>>| {
        let found = verdicts(runs(&pair.baseline), runs(&pair.candidate));
        (total(&found), found.step.expect("steps"))
    };
    let turned = |verdict: Verdict| match verdict {
        Verdict::Slower => Verdict::Faster,
        Verdict::Faster => Verdict::Slower,
        same @ (Verdict::Similar | Verdict::WithinNoise | Verdict::NotTested) => same,
    };
    for (factor, count) in [(1.15, 10), (1.01, 4), (1.06, 3), (3.0, 3), (2.0, 2)] {
        let pair = PerSide::new(noisy(5, 100.0, count), noisy(6, 100.0 * factor, count));
        let (there, back) = (of(pair.clone()), of(pair.swap()));
        for (one, other) in [(there.0, back.0), (there.1, back.1)] {
            assert_eq!(one.verdict, turned(other.verdict), "{factor} {count}");
            assert_eq!((one.p, one.is_apart), (other.p, other.is_apart), "{factor} {count}");
        }
    }
}

#[test]
fn a_trace_against_itself_has_no_change() {
    for pair in traces::example_pairs() {
        let path = pair.baseline;
        compare_files(PerSide::new(&path, &path), |analysis| {
            assert_eq!(total(analysis.judged()).verdict, Verdict::Similar);
        });
    }
}

/// A trace with `count` identical steps.
fn equal_steps(count: u32) -> String {
    steps_of(count, |t| {
        t.op("aten::mm", |t| t.kernel("gemm", 100.0));
        t.op("aten::relu", |t| t.kernel("relu", 50.0));
    })
}

#[test]
fn a_different_number_of_steps_does_not_change_the_work() {
    for counts in [(1, 2), (2, 3), (4, 2)] {
        compare_texts(&PerSide::new(equal_steps(counts.0), equal_steps(counts.1)), |analysis| {
            assert_eq!(total(analysis.judged()).verdict, Verdict::Similar, "{counts:?}");
            let sentence = tracetree::report::verdict(analysis);
            assert!(sentence.contains("per step 150.000 µs → 150.000 µs (1.00x)"), "{sentence}");
        });
    }
}

/// A trace with `count` identical steps. In each step, all ops are inside a frame, and one op is inside another op.
fn nested_steps(count: u32) -> String {
    steps_of(count, |t| {
        t.frame("train.py(1): step", |t| {
            t.op("aten::linear", |t| t.op("aten::addmm", |t| t.kernel("gemm", 100.0)));
            t.op("aten::gelu", |t| t.kernel("gelu", 50.0));
        });
    })
}

#[test]
fn unmatched_steps_are_not_a_change_even_at_other_call_sites() {
    for counts in [(1, 2), (2, 5), (5, 2)] {
        let texts = PerSide::new(nested_steps(counts.0), nested_steps(counts.1));
        compare_texts(&texts, |analysis| {
            assert!(analysis.changes().is_identical(), "{counts:?}");
            let largest = tracetree::report::largest_differences(analysis);
            let names: Vec<&str> = largest.iter().map(|group| group.name.as_str()).collect();
            assert_eq!(names, ["(steps without a counterpart)"], "{counts:?}");
        });
    }
}

/// A trace with five steps in which a loader waits for the given times in µs.
fn loading(waits: [f64; 5]) -> String {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        for (number, micros) in (1..).zip(waits) {
            t.step(number, |t| {
                t.op("aten::mm", |t| t.kernel("gemm", 100.5));
                t.frame("data.py(9): __next__", |t| t.idle(micros));
                t.op("aten::mm", |t| t.kernel("gemm", 100.5));
            });
        }
    });
    trace.json()
}

#[test]
fn an_effect_in_one_of_five_steps_is_reported_as_such_and_not_as_an_average() {
    let usual = [300.0, 302.0, 299.0, 301.0, 298.0];
    let late = [300.0, 302.0, 60_299.0, 301.0, 298.0];
    compare_texts(&PerSide::new(loading(usual), loading(late)), |analysis| {
        assert_eq!(analysis.bill().difference(), Nanos(12_000_000), "the mean over five steps");
        // The delayed step takes 59.997 ms more than the median of the other steps.
        let shown = "in 1 of 5 candidate steps: +59.997 ms";
        let narrative = tracetree::report::Narrative::of(analysis);
        let remarks: Vec<String> =
            std::iter::once(narrative.confidence).chain(narrative.remarks).collect();
        let headline = format!("most of the difference is {shown}");
        assert!(remarks.contains(&headline), "{remarks:?}");
    });
    // If all steps take longer, the difference must not be attributed to a few steps.
    let all = usual.map(|micros| micros + 12_000.0);
    compare_texts(&PerSide::new(loading(usual), loading(all)), |analysis| {
        let narrative = tracetree::report::Narrative::of(analysis);
        let all = std::iter::once(&narrative.confidence).chain(&narrative.remarks);
        assert!(all.clone().all(|line| !line.contains("in 1 of 5")), "{:?}", narrative.remarks);
    });
}

#[test]
fn kernels_that_differ_by_one_tick_of_a_coarse_clock_are_not_significantly_slower() {
    let run = |short: f64, long: f64| {
        steps_of(1, |t| {
            t.op("aten::add", |t| (0..4).for_each(|_| t.kernel("add", short)));
            t.op("aten::mm", |t| t.kernel("gemm", long));
        })
    };
    let whole = |text: &str| {
        let mut trace: serde_json::Value = serde_json::from_str(text).expect("JSON");
        for event in trace["traceEvents"].as_array_mut().expect("events") {
            for key in ["ts", "dur"] {
                if let Some(micros) = event.get(key).and_then(serde_json::Value::as_f64) {
                    event[key] = serde_json::json!(micros.floor() as i64);
                }
            }
        }
        trace.to_string()
    };
    let judged = |texts: PerSide<String>| {
        compare_runs(texts.map(|text| vec![text; 6]), |analysis| total(analysis.judged()))
    };
    let coarse = |short: f64, long: f64| whole(&run(short, long));
    let add = judged(PerSide::new(coarse(1.0, 5.0), coarse(2.0, 5.0)));
    assert_eq!(add.verdict, Verdict::WithinNoise);
    assert_eq!(add.words(), "slower by less than the clock resolution of 1 µs per event (6 runs)");
    let mm = judged(PerSide::new(coarse(1.0, 50.0), coarse(1.0, 60.0)));
    assert_eq!(mm.verdict, Verdict::Slower);
    // A difference of 1 µs per event is significant if the clock has a finer resolution than 1 µs.
    let add = judged(PerSide::new(run(1.001, 5.001), run(2.001, 5.001)));
    assert_eq!(add.verdict, Verdict::Slower);
}

#[test]
fn host_times_recorded_with_different_options_are_not_tested() {
    let recorded = |micros: f64, memory: i64| {
        let trace = TraceBuilder::cuda().thread("main", |t| {
            for number in 1..=5 {
                t.step(number, |t| t.op("aten::mm", |t| t.idle(micros)));
            }
        });
        trace.header("with_stack", 1.into()).header("profile_memory", memory.into()).json()
    };
    for (memory, expected, words) in [
        (0, Verdict::Slower, "slower (3 runs, "),
        (1, Verdict::NotTested, "not tested (recorded with different options)"),
    ] {
        let three = |micros: f64, memory: i64| {
            [micros, micros + 1.0, micros + 2.0].map(|micros| recorded(micros, memory)).to_vec()
        };
        let found = verdicts(three(100.0, 0), three(160.0, memory));
        assert_eq!(total(&found).verdict, expected);
        assert!(total(&found).words().starts_with(words), "{}", total(&found).words());
        assert_eq!(found.step.expect("steps").verdict, expected);
    }
}

#[test]
fn a_recording_with_memory_of_the_same_program_shows_no_change() {
    let trace = |name: &str| traces::real(&format!("cpu/{name}.pt.trace.json.gz"));
    let (Some(plain), Some(memory)) = (trace("cnn"), trace("cnn_mem")) else { return };
    compare_files(PerSide::new(plain, memory), |analysis| {
        let total = total(analysis.judged());
        assert_eq!((total.verdict, total.p), (Verdict::NotTested, None), "{}", total.words());
    });
}
