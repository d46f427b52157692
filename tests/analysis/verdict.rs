//! Tests for verdicts on time differences: based on several runs, some differences are significant and others are not.
//! With one run per side, nothing is tested.

use crate::support::compared::{compare_files, compare_texts, steps_of, trace};
use crate::support::splitmix::SplitMix;
use crate::support::trace_builder::{Op, TraceBuilder};
use crate::support::traces;
use tracetree::analysis::Analysis;
use tracetree::analysis::steps::StepRow;
use tracetree::analysis::verdict::{Repeats, Thresholds, Verdict, Verdicts, Work};
use tracetree::trace::Nanos;
use tracetree::{Comparison, ComparisonOptions, PerSide, Side};

/// One run for each given time. Each run is one step, in which `aten::mm` takes the given time, and `aten::add` takes 50
/// µs.
fn runs(times: &[f64]) -> Vec<String> {
    with_kernel(times, "gemm")
}

fn with_kernel(times: &[f64], kernel: &str) -> Vec<String> {
    let run = |&micros: &f64| {
        steps_of(1, |t| {
            t.op("aten::mm", |t| t.kernel(kernel, micros));
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

fn of<'a>(verdicts: &'a Verdicts, name: &str) -> &'a tracetree::analysis::verdict::Site {
    verdicts.sites.iter().find(|site| site.name == name).expect("a site of this name")
}

#[test]
fn a_change_beyond_the_noise_is_reported() {
    let found = verdicts(runs(&noisy(1, 100.0, 10)), runs(&noisy(2, 115.0, 10)));
    assert_eq!(found.repeats, Repeats::Runs);
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
    let found = verdicts(runs(&noisy(4, 100.0, 6)), runs(&wild));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
    assert_eq!(of(&found, "aten::add").judgement.verdict, Verdict::Similar);
    assert_eq!(found.changes().count(), 0);
}

#[test]
fn a_tenfold_time_is_significant_with_three_runs_per_side() {
    let found = verdicts(runs(&[100.0, 101.0, 102.0]), runs(&[1_000.0, 1_010.0, 1_005.0]));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::Slower);
    assert_eq!(of(&found, "aten::add").judgement.verdict, Verdict::Similar);
}

#[test]
fn a_call_site_borrows_the_usual_spread_from_the_others() {
    // At one call site, the times of three runs agree by chance, whereas the times of all other call sites vary by
    // 10%. A difference of 5% at this call site is not significant.
    let [one, two] = [[100.0, 100.1, 100.0], [105.0, 105.1, 105.0]].map(|mm| {
        let run = |number: usize| {
            steps_of(1, |t| {
                t.op("aten::mm", |t| t.kernel("gemm", mm[number]));
                for (place, times) in noisy_places().into_iter().enumerate() {
                    let name = format!("aten::op_{place}");
                    t.op(name.as_str(), |t| t.kernel("noisy", times[number]));
                }
            })
        };
        (0..3).map(run).collect()
    });
    let judgement = of(&verdicts(one, two), "aten::mm").judgement;
    assert_eq!(judgement.verdict, Verdict::WithinNoise);
    assert_eq!(judgement.words(), "slower, not significant (3 runs)");
}

/// For each of sixty call sites, its time in each of three runs. The times at each call site vary by about 10%.
fn noisy_places() -> Vec<[f64; 3]> {
    let mut random = SplitMix::new(11);
    let mut time = || 90.0 + 20.0 * random.below(1000) as f64 / 1000.0;
    (0..60).map(|_| [time(), time(), time()]).collect()
}

#[test]
fn different_kernels_are_changed_work_and_are_tested_like_any_other() {
    let times = [100.0, 101.0, 102.0];
    let found = verdicts(runs(&times), with_kernel(&[200.0, 201.0, 202.0], "other_gemm"));
    let site = of(&found, "aten::mm");
    assert_eq!((site.work, site.judgement.verdict), (Work::Changed, Verdict::Slower));
    let found = verdicts(runs(&times), with_kernel(&[300.0, 40.0, 202.0], "other_gemm"));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
    assert_eq!(found.other_work().count(), 1);
}

/// Three runs; `aten::mm` runs only in those that `in_runs` selects.
fn now_and_then(in_runs: [bool; 3]) -> Vec<String> {
    let run = |has_op: bool| {
        steps_of(1, |t| {
            t.op("aten::add", |t| t.kernel("add_kernel", 50.0));
            if has_op {
                t.op("aten::mm", |t| t.kernel("gemm", 100.0));
            }
        })
    };
    in_runs.map(run).to_vec()
}

#[test]
fn new_work_needs_no_test_if_every_run_has_it() {
    let found = verdicts(now_and_then([false; 3]), now_and_then([true; 3]));
    let site = of(&found, "aten::mm");
    assert_eq!((site.work, site.judgement.verdict), (Work::OneSided, Verdict::Slower));
    assert_eq!(site.judgement.p, None);
}

#[test]
fn new_work_in_only_some_runs_is_within_noise() {
    let found = verdicts(now_and_then([false; 3]), now_and_then([true, false, true]));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
    let found = verdicts(now_and_then([true; 3]), now_and_then([true, false, true]));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
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
    assert_eq!(found.total.verdict, Verdict::NotTested);
    assert_eq!(found.total.words(), "not tested (one run per side)");
    let site = of(&found, "aten::mm").judgement;
    assert_eq!((site.verdict, site.p, site.q), (Verdict::NotTested, None, None));
    assert_eq!(of(&found, "aten::add").judgement.verdict, Verdict::Similar);
    assert_eq!((found.changes().count(), found.other_work().count()), (0, 1));
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
        let found = verdicts(vec![text(counts.0, 40.0)], vec![text(counts.1, 60.0)]);
        let site = of(&found, "aten::mm");
        assert_eq!(site.judgement.ratio(), Some(ratio), "{counts:?}: {site:#?}");
        assert_eq!(found.sites[0].name, "aten::mm");
    }
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
    assert_eq!(of(&found, "aten::sum").judgement.verdict, Verdict::NotTested);
    assert_eq!(found.total.verdict, Verdict::Similar);
}

#[test]
fn thresholds_are_the_users() {
    let all = PerSide::new(runs(&noisy(1, 100.0, 10)), runs(&noisy(2, 115.0, 10)));
    compare_runs(all, |analysis| {
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
        compare_runs(texts.map(|text| vec![text; 6]), |analysis| {
            let verdicts = analysis.judged();
            ["aten::add", "aten::mm"].map(|name| of(verdicts, name).judgement)
        })
    };
    let [add, mm] = judged(PerSide::new(whole(&run(1.0, 50.0)), whole(&run(2.0, 60.0))));
    assert_eq!((add.verdict, mm.verdict), (Verdict::WithinNoise, Verdict::Slower));
    assert_eq!(add.words(), "slower by less than the clock resolution of 1 µs per event (6 runs)");
    // A difference of 1 µs per event is significant if the clock has a finer resolution than 1 µs.
    let [add, _] = judged(PerSide::new(run(1.001, 50.001), run(2.001, 60.001)));
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
        assert_eq!(found.total.verdict, expected);
        assert!(found.total.words().starts_with(words), "{}", found.total.words());
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
