//! Tests for verdicts on time differences: based on the repeated steps, some differences are significant and others are
//! not.

use crate::support::compared::{compare_files, compare_texts, steps_of};
use crate::support::splitmix::SplitMix;
use crate::support::trace_builder::{Op, TraceBuilder};
use crate::support::traces;
use tracetree::analysis::Analysis;
use tracetree::analysis::steps::StepRow;
use tracetree::analysis::verdict::{Repeats, Thresholds, Verdict, Verdicts, Work};
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

/// A trace with one step for each given time. In each step, `aten::mm` takes the given time, and `aten::add` takes 50
/// µs.
fn steps(times: &[f64]) -> String {
    with_kernel(times, "gemm")
}

fn with_kernel(times: &[f64], kernel: &str) -> String {
    let builder = TraceBuilder::cuda().thread("main", |t| {
        for (number, &micros) in times.iter().enumerate() {
            t.step(number as u32, |t| {
                t.op("aten::mm", |t| t.kernel(kernel, micros));
                t.op("aten::add", |t| t.kernel("add_kernel", 50.0));
            });
        }
    });
    builder.json()
}

/// A list of `count` times that differ from `middle` by up to 4%.
fn noisy(seed: u64, middle: f64, count: usize) -> Vec<f64> {
    let mut random = SplitMix::new(seed);
    (0..count).map(|_| middle * (0.96 + 0.08 * random.below(1000) as f64 / 1000.0)).collect()
}

fn verdicts(one: String, two: String) -> Verdicts {
    compare_texts(&PerSide::new(one, two), |analysis| analysis.verdicts(&Thresholds::default()))
}

fn of<'a>(verdicts: &'a Verdicts, name: &str) -> &'a tracetree::analysis::verdict::Site {
    verdicts.sites.iter().find(|site| site.name == name).expect("a site of this name")
}

#[test]
fn a_change_beyond_the_noise_is_reported() {
    let found = verdicts(steps(&noisy(1, 100.0, 10)), steps(&noisy(2, 115.0, 10)));
    assert_eq!(found.repeats, Repeats::Steps);
    let site = of(&found, "aten::mm");
    assert_eq!(site.judgement.verdict, Verdict::Slower);
    assert_eq!(site.work, Work::Same);
    assert!(site.judgement.q.expect("a test") < 0.01);
    let shift = site.judgement.shift_us.expect("repeats");
    assert!((11.0..19.0).contains(&shift), "{shift}");
    assert_eq!(found.changes().count(), 1);
    assert_eq!(found.total.verdict, Verdict::Slower);
}

#[test]
fn noise_is_not_a_change() {
    let mut wild = noisy(3, 100.0, 6);
    wild[2] = 400.0;
    let found = verdicts(steps(&noisy(4, 100.0, 6)), steps(&wild));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
    assert_eq!(of(&found, "aten::add").judgement.verdict, Verdict::Similar);
    assert_eq!(found.changes().count(), 0);
}

#[test]
fn a_tenfold_time_is_significant_with_two_steps_per_side() {
    let found = verdicts(steps(&[100.0, 101.0]), steps(&[1_000.0, 1_010.0]));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::Slower);
    assert_eq!(of(&found, "aten::add").judgement.verdict, Verdict::Similar);
}

#[test]
fn a_call_site_borrows_the_usual_spread_from_the_others() {
    // At one call site, the times of three steps agree by chance, whereas the times of all other call sites vary by
    // 10%. A difference of 5% at this call site is not significant.
    let texts = [[100.0, 100.1, 100.0], [105.0, 105.1, 105.0]].map(|mm| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                for (number, &micros) in mm.iter().enumerate() {
                    t.step(number as u32, |t| {
                        t.op("aten::mm", |t| t.kernel("gemm", micros));
                        for (place, times) in noisy_places().into_iter().enumerate() {
                            let name = format!("aten::op_{place}");
                            t.op(name.as_str(), |t| t.kernel("noisy", times[number]));
                        }
                    });
                }
            })
            .json()
    });
    let [one, two] = texts;
    let judgement = of(&verdicts(one, two), "aten::mm").judgement;
    assert_eq!(judgement.verdict, Verdict::WithinNoise);
    assert_eq!(judgement.words(), "slower, not significant within one run (3 steps)");
}

/// For each of sixty call sites, its time in each of three steps. The times at each call site vary by about 10%.
fn noisy_places() -> Vec<[f64; 3]> {
    let mut random = SplitMix::new(11);
    let mut time = || 90.0 + 20.0 * random.below(1000) as f64 / 1000.0;
    (0..60).map(|_| [time(), time(), time()]).collect()
}

#[test]
fn different_kernels_are_changed_work_and_are_tested_like_any_other() {
    let times = [100.0, 101.0, 102.0];
    let found = verdicts(steps(&times), with_kernel(&[200.0, 201.0, 202.0], "other_gemm"));
    let site = of(&found, "aten::mm");
    assert_eq!((site.work, site.judgement.verdict), (Work::Changed, Verdict::Slower));
    let found = verdicts(steps(&times), with_kernel(&[300.0, 40.0, 202.0], "other_gemm"));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
    assert_eq!(found.other_work().count(), 1);
}

/// A trace of three steps in which `aten::mm` runs only in the steps that `in_steps` selects.
fn now_and_then(in_steps: [bool; 3]) -> String {
    TraceBuilder::cuda()
        .thread("main", |t| {
            for (number, has_op) in in_steps.into_iter().enumerate() {
                t.step(number as u32, |t| {
                    t.op("aten::add", |t| t.kernel("add_kernel", 50.0));
                    if has_op {
                        t.op("aten::mm", |t| t.kernel("gemm", 100.0));
                    }
                });
            }
        })
        .json()
}

#[test]
fn new_work_needs_no_test_if_every_step_has_it() {
    let found = verdicts(now_and_then([false; 3]), now_and_then([true; 3]));
    let site = of(&found, "aten::mm");
    assert_eq!((site.work, site.judgement.verdict), (Work::OneSided, Verdict::Slower));
    assert_eq!(site.judgement.p, None);
}

#[test]
fn new_work_in_only_some_steps_is_within_noise() {
    let found = verdicts(now_and_then([false; 3]), now_and_then([true, false, true]));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
    let found = verdicts(now_and_then([true; 3]), now_and_then([true, false, true]));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
}

#[test]
fn one_step_per_side_is_not_tested_whatever_the_difference() {
    let found = verdicts(steps(&[100.0]), with_kernel(&[300.0], "other_gemm"));
    assert_eq!(found.repeats, Repeats::None);
    assert_eq!(found.total.verdict, Verdict::NotTested);
    assert_eq!(found.total.words(), "not tested (one step each)");
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::NotTested);
    assert_eq!(of(&found, "aten::add").judgement.verdict, Verdict::Similar);
    assert_eq!((found.changes().count(), found.other_work().count()), (0, 1));
}

#[test]
fn one_step_against_three_is_not_tested() {
    let found = verdicts(steps(&[100.0]), steps(&[300.0, 301.0, 302.0]));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::NotTested);
    assert_eq!(found.total.words(), "not tested (one step each)");
}

#[test]
fn the_ratio_of_a_call_site_is_that_of_the_tested_times() {
    let text = |count, micros: f64| {
        steps_of(count, move |t| {
            let op = Op::new("aten::mm").dims(&[&[4, 4]]);
            t.op(op, |t| t.kernel("gemm", micros));
        })
    };
    for (counts, ratio) in [((2, 5), 1.5), ((5, 2), 1.5), ((3, 3), 1.5), ((1, 4), 1.5)] {
        let found = verdicts(text(counts.0, 40.0), text(counts.1, 60.0));
        let site = of(&found, "aten::mm");
        assert_eq!(site.judgement.ratio(), Some(ratio), "{counts:?}: {site:#?}");
        assert_eq!(found.sites[0].name, "aten::mm");
    }
}

#[test]
fn calls_of_one_step_are_not_repeats() {
    let build = |micros: f64| {
        let builder = TraceBuilder::cuda().thread("main", |t| {
            t.step(0, |t| {
                for call in 0..9 {
                    let op = Op::new("aten::mm").dims(&[&[4, 4]]);
                    t.op(op, |t| t.kernel("gemm", micros + f64::from(call)));
                }
            });
        });
        builder.json()
    };
    let found = verdicts(build(100.0), build(150.0));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::NotTested);
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
    let found = verdicts(build(100.0), build(900.0));
    assert_eq!(of(&found, "aten::sum").judgement.verdict, Verdict::NotTested);
    assert_eq!(found.total.verdict, Verdict::Similar);
}

#[test]
fn thresholds_are_the_users() {
    let texts = PerSide::new(steps(&noisy(1, 100.0, 10)), steps(&noisy(2, 115.0, 10)));
    compare_texts(&texts, |analysis| {
        let judged = |thresholds: Thresholds| {
            of(&analysis.verdicts(&thresholds), "aten::mm").judgement.verdict
        };
        let standard = Thresholds::default();
        assert_eq!(judged(standard), Verdict::Slower);
        assert_eq!(judged(Thresholds { relative: 0.2, ..standard }), Verdict::Similar);
        let absolute = Some(Nanos(30_000));
        assert_eq!(judged(Thresholds { absolute, ..standard }), Verdict::Similar);
    });
}

/// The total time, on one side, of the steps that have no counterpart. The times come from the steps table.
fn in_steps_without_a_partner(analysis: &Analysis, side: Side) -> Nanos {
    let rows = analysis.step_rows();
    let is_alone = |row: &&StepRow| row.steps[side].is_some() && row.steps[side.other()].is_none();
    rows.iter().filter(is_alone).map(|row| row.figures[side].time).sum()
}

/// Checks that the times of all call sites add up to the total time, with or without the steps that have no
/// counterpart. Also checks that swapping the sides exchanges *slower* and *faster* in every verdict.
fn check(paths: &PerSide<std::path::PathBuf>) {
    let judged = |analysis: &Analysis| {
        let found = analysis.verdicts(&Thresholds::default());
        for side in Side::BOTH {
            let sum: Nanos = found.sites.iter().map(|site| site.time[side]).sum();
            let all = analysis.account().totals[side].time;
            let alone = match analysis.compared().count() {
                None => Nanos::ZERO,
                Some(_) => in_steps_without_a_partner(analysis, side),
            };
            assert!([all, all - alone].contains(&sum), "{sum:?} of {all:?}, {alone:?} alone");
        }
        found
    };
    let one = compare_files(paths.clone(), |analysis| judged(analysis));
    let other = compare_files(paths.clone().swap(), |analysis| judged(analysis));
    let turned = |verdict: Verdict| match verdict {
        Verdict::Slower => Verdict::Faster,
        Verdict::Faster => Verdict::Slower,
        same @ (Verdict::Similar | Verdict::WithinNoise | Verdict::NotTested) => same,
    };
    let shown = |found: &Verdicts, turn: &dyn Fn(Verdict) -> Verdict| {
        let mut shown: Vec<(Verdict, Work, i64)> = found
            .sites
            .iter()
            .map(|site| {
                let difference = site.time.candidate - site.time.baseline;
                (turn(site.judgement.verdict), site.work, difference.0.abs())
            })
            .collect();
        shown.sort_unstable();
        shown
    };
    assert_eq!(shown(&one, &|verdict| verdict), shown(&other, &turned), "{paths:?}");
    assert_eq!(one.total.verdict, turned(other.total.verdict), "{paths:?}");
    assert_eq!(one.total.p, other.total.p);
}

#[test]
fn verdicts_add_up_and_mirror_on_the_examples() {
    for pair in traces::example_pairs() {
        check(&pair);
    }
}

#[test]
fn verdicts_add_up_and_mirror_if_one_trace_has_more_steps() {
    let path = |name: &str| format!("examples/traces/h100/{name}.pt.trace.json.gz").into();
    let pair = PerSide::new(path("train_base"), path("train_five_steps"));
    check(&pair);
    // The time at call sites must not include the candidate's additional steps.
    compare_files(pair, |analysis| {
        let sites = &analysis.judged().sites;
        let sum: Nanos = sites.iter().map(|site| site.time.candidate).sum();
        let alone = in_steps_without_a_partner(analysis, Side::Candidate);
        assert!(alone > Nanos::ZERO);
        assert_eq!(sum, analysis.account().totals.candidate.time - alone);
    });
}

#[test]
fn verdicts_add_up_and_mirror_on_real_traces() {
    for pair in traces::real_pairs() {
        check(&pair);
    }
}

#[test]
fn a_trace_against_itself_has_no_change() {
    for pair in traces::example_pairs() {
        let path = pair.baseline;
        compare_files(PerSide::new(&path, &path), |analysis| {
            let found = analysis.verdicts(&Thresholds::default());
            assert!(found.sites.iter().all(|site| site.judgement.verdict == Verdict::Similar));
            assert_eq!(found.total.verdict, Verdict::Similar);
        });
    }
}

/// The significant changes between two traces: the name of the call site, the name of its module, and the verdict.
fn changes(paths: PerSide<std::path::PathBuf>) -> Vec<(String, String, Verdict)> {
    compare_files(paths, |analysis| {
        let found = analysis.verdicts(&Thresholds::default());
        let shown = found
            .changes()
            .map(|site| (site.name.clone(), site.module.baseline.clone(), site.judgement.verdict));
        shown.collect()
    })
}

#[test]
fn a_second_run_of_the_same_program_shows_no_change() {
    for pair in traces::example_pairs() {
        if pair.candidate.to_string_lossy().contains("rerun") {
            assert_eq!(changes(pair), []);
        }
    }
    let names = ["cpu/tfm.pt.trace.json.gz", "cpu/tfm_rerun.pt.trace.json.gz"];
    let [Some(one), Some(two)] = names.map(traces::real) else { return };
    assert_eq!(changes(PerSide::new(one, two)), []);
}

#[test]
fn a_larger_convolution_is_the_change_and_the_only_one() {
    let names = ["cpu/cnn.pt.trace.json.gz", "cpu/cnn_conv5x5.pt.trace.json.gz"];
    let [Some(one), Some(two)] = names.map(traces::real) else { return };
    let pair = PerSide::new(one, two);
    compare_files(pair.as_ref(), |analysis| assert_eq!(analysis.judged().changes().count(), 2));
    let found = changes(pair);
    let expected =
        [("aten::mkldnn_convolution", "Conv2d_1"), ("aten::convolution_backward", "Conv2d_1")]
            .map(|(name, module)| (name.to_owned(), module.to_owned(), Verdict::Slower));
    assert_eq!(found, expected);
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
            assert_eq!(analysis.judged().changes().count(), 0, "{counts:?}");
            assert_eq!(analysis.judged().total.verdict, Verdict::Similar, "{counts:?}");
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
            let judged = analysis.judged();
            assert_eq!(judged.changes().count(), 0, "{counts:?}");
            let other_work: Vec<&str> =
                judged.other_work().map(|site| site.name.as_str()).collect();
            assert!(other_work.is_empty(), "{counts:?}: {other_work:?}");
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
        let told = "in 1 of 5 candidate steps: +59.997 ms";
        let narrative = tracetree::report::Narrative::of(analysis);
        let remarks: Vec<String> =
            std::iter::once(narrative.confidence).chain(narrative.remarks).collect();
        let headline = format!("most of the difference is {told}");
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
    let steps = |short: f64, long: f64| {
        let trace = TraceBuilder::cuda().thread("main", |t| {
            for number in 1..=6 {
                t.step(number, |t| {
                    t.op("aten::add", |t| (0..4).for_each(|_| t.kernel("add", short)));
                    t.op("aten::mm", |t| t.kernel("gemm", long));
                });
            }
        });
        trace.json()
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
        compare_texts(&texts, |analysis| {
            let verdicts = analysis.judged();
            ["aten::add", "aten::mm"].map(|name| of(verdicts, name).judgement)
        })
    };
    let [add, mm] = judged(PerSide::new(whole(&steps(1.0, 50.0)), whole(&steps(2.0, 60.0))));
    assert_eq!((add.verdict, mm.verdict), (Verdict::WithinNoise, Verdict::Slower));
    assert_eq!(add.words(), "slower by less than the clock resolution of 1 µs per event (6 steps)");
    // A difference of 1 µs per event is significant if the clock has a finer resolution than 1 µs.
    let [add, _] = judged(PerSide::new(steps(1.001, 50.001), steps(2.001, 60.001)));
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
        (
            0,
            Verdict::Slower,
            "slower within one run (5 steps, q < 0.001); run-to-run noise unknown",
        ),
        (1, Verdict::NotTested, "not tested (recorded with different options)"),
    ] {
        let found = verdicts(recorded(100.0, 0), recorded(160.0, memory));
        assert_eq!((found.total.verdict, &*found.total.words()), (expected, words));
        let site = of(&found, "aten::mm").judgement;
        assert_eq!((site.verdict, site.q.is_some()), (expected, memory == 0));
        assert_eq!(found.changes().count(), 1 - memory as usize);
    }
}

#[test]
fn a_recording_with_memory_of_the_same_program_shows_no_change() {
    let trace = |name: &str| traces::real(&format!("cpu/{name}.pt.trace.json.gz"));
    let (Some(plain), Some(memory)) = (trace("cnn"), trace("cnn_mem")) else { return };
    compare_files(PerSide::new(plain, memory), |analysis| {
        let judged = analysis.judged();
        assert_eq!(judged.total.verdict, Verdict::NotTested, "{}", judged.total.words());
        let changed = judged.sites.iter().filter(|site| site.judgement.verdict.is_change());
        assert_eq!(changed.count(), 0);
        assert!(judged.sites.iter().all(|site| site.judgement.q.is_none()));
    });
}
