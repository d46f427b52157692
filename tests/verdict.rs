//! Verdicts: what the repeats support, and what they do not.

mod support;

use support::compared::{compare_files, compare_texts};
use support::splitmix::SplitMix;
use support::trace_builder::{Op, TraceBuilder};
use support::traces;
use tracetree::analysis::{Analysis, Repeats, Thresholds, Verdict, Verdicts, Work};
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

/// A trace with as many steps as there are times; `aten::mm` takes that time, `aten::add` 50 µs.
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

/// As many times around `middle`, up to 4 % away.
fn noisy(seed: u64, middle: f64, count: usize) -> Vec<f64> {
    let mut random = SplitMix::new(seed);
    (0..count).map(|_| middle * (0.96 + 0.08 * random.below(1000) as f64 / 1000.0)).collect()
}

fn verdicts(one: String, two: String) -> Verdicts {
    compare_texts(&PerSide::new(one, two), |analysis| analysis.verdicts(&Thresholds::default()))
}

fn of<'a>(verdicts: &'a Verdicts, name: &str) -> &'a tracetree::analysis::Site {
    verdicts.sites.iter().find(|site| site.name == name).expect("a site of this name")
}

#[test]
fn a_change_beyond_the_noise_is_told() {
    let found = verdicts(steps(&noisy(1, 100.0, 10)), steps(&noisy(2, 115.0, 10)));
    assert_eq!(found.repeats, Repeats::Steps);
    let site = of(&found, "aten::mm");
    assert_eq!(site.judgement.verdict, Verdict::Slower);
    assert_eq!(site.judgement.work, Work::Same);
    assert!(site.judgement.q.expect("a test") < 0.01);
    let shift = site.judgement.shift_us.expect("repeats");
    assert!((11.0..19.0).contains(&shift), "{shift}");
    assert_eq!(found.changes().count(), 1);
    assert_eq!(found.total.verdict, Verdict::Slower);
}

#[test]
fn noise_is_no_change() {
    let mut wild = noisy(3, 100.0, 6);
    wild[2] = 400.0;
    let found = verdicts(steps(&noisy(4, 100.0, 6)), steps(&wild));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
    assert_eq!(of(&found, "aten::add").judgement.verdict, Verdict::Similar);
    assert_eq!(found.changes().count(), 0);
}

#[test]
fn three_steps_support_no_change_of_the_same_work() {
    let found = verdicts(steps(&[100.0, 101.0, 102.0]), steps(&[200.0, 201.0, 202.0]));
    let judgement = of(&found, "aten::mm").judgement;
    assert_eq!(judgement.verdict, Verdict::WithinNoise);
    assert!((judgement.p.expect("a test") - 0.1).abs() < 1e-12);
}

#[test]
fn other_work_needs_no_test_but_repeats_that_agree() {
    let times = [100.0, 101.0, 102.0];
    let found = verdicts(steps(&times), with_kernel(&[200.0, 201.0, 202.0], "other_gemm"));
    let judgement = of(&found, "aten::mm").judgement;
    assert_eq!((judgement.work, judgement.verdict), (Work::Changed, Verdict::Slower));
    let found = verdicts(steps(&times), with_kernel(&[200.0, 99.0, 202.0], "other_gemm"));
    assert_eq!(of(&found, "aten::mm").judgement.verdict, Verdict::WithinNoise);
}

#[test]
fn calls_are_the_repeats_of_a_single_step() {
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
    assert_eq!(found.repeats, Repeats::Calls);
    let judgement = of(&found, "aten::mm").judgement;
    assert_eq!(judgement.repeats, PerSide::new(9, 9));
    assert_eq!(judgement.verdict, Verdict::Slower);
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

/// The sites account all time, and exchanging the sides turns every verdict.
fn check(paths: &PerSide<std::path::PathBuf>) {
    let judged = |analysis: &Analysis| {
        let found = analysis.verdicts(&Thresholds::default());
        for side in Side::BOTH {
            let sum: Nanos = found.sites.iter().map(|site| site.time[side]).sum();
            assert_eq!(sum, analysis.account().totals[side].time);
        }
        found
    };
    let one = compare_files(paths.clone(), |analysis| judged(analysis));
    let other = compare_files(paths.clone().swap(), |analysis| judged(analysis));
    let turned = |verdict: Verdict| match verdict {
        Verdict::Slower => Verdict::Faster,
        Verdict::Faster => Verdict::Slower,
        same @ (Verdict::Similar | Verdict::WithinNoise) => same,
    };
    let shown = |found: &Verdicts, turn: &dyn Fn(Verdict) -> Verdict| {
        let mut shown: Vec<(Verdict, Work, i64)> = found
            .sites
            .iter()
            .map(|site| {
                let difference = site.time.candidate - site.time.baseline;
                (turn(site.judgement.verdict), site.judgement.work, difference.0.abs())
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

/// The changes of a pair, by name and module.
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
fn a_second_run_of_the_same_program_is_no_change() {
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
    compare_files(pair.as_ref(), |analysis| assert_eq!(analysis.judged().changed_places(), 1));
    let found = changes(pair);
    let expected =
        [("aten::mkldnn_convolution", "Conv2d_1"), ("aten::convolution_backward", "Conv2d_1")]
            .map(|(name, module)| (name.to_owned(), module.to_owned(), Verdict::Slower));
    assert_eq!(found, expected);
}

/// A trace of this many equal steps.
fn equal_steps(count: u32) -> String {
    TraceBuilder::cuda()
        .thread("main", |t| {
            for number in 0..count {
                t.step(number, |t| {
                    t.op("aten::mm", |t| t.kernel("gemm", 100.0));
                    t.op("aten::relu", |t| t.kernel("relu", 50.0));
                });
            }
        })
        .json()
}

#[test]
fn another_number_of_steps_is_no_change_of_the_work() {
    for counts in [(1, 2), (2, 3), (4, 2)] {
        compare_texts(&PerSide::new(equal_steps(counts.0), equal_steps(counts.1)), |analysis| {
            assert_eq!(analysis.judged().changed_places(), 0, "{counts:?}");
            assert_eq!(analysis.judged().total.verdict, Verdict::Similar, "{counts:?}");
            let sentence = tracetree::report::verdict(analysis);
            assert!(sentence.contains("per step 150.000 us → 150.000 us (1.00x)"), "{sentence}");
        });
    }
}
