//! Tests that the gate decides about times only with evidence: runs that repeat each other, plausible times, and all
//! changes that several steps show.

use crate::gated::{check, record, tree};
use crate::support::files::inflated;
use crate::support::trace_builder::TraceBuilder;
use crate::support::traces::{example, h100};
use serde_json::Value;
use std::path::Path;
use tracetree::CallTree;
use tracetree::trace::Trace;
use tracetree_gate::{Date, Gate, Outcome, Recording, Rules, Severity, State, Timing};

/// A run of three steps with a kernel of the given time in µs, in the order of the steps.
fn kernels(times: &[f64]) -> String {
    steps(times.len(), |t, number| t.op("aten::mm", |t| t.kernel("gemm", times[number])))
}

fn steps(
    count: usize,
    body: impl Fn(&mut crate::support::trace_builder::HostThread<'_>, usize),
) -> String {
    let builder = TraceBuilder::cuda().thread("main", |t| {
        for number in 0..count {
            t.step(number as u32, |t| body(t, number));
        }
    });
    builder.json()
}

fn runs(times: &[f64]) -> Recording {
    let one = |(at, time): (usize, &f64)| tree(&format!("run_{at}.json"), &kernels(&[*time; 3]));
    record(times.iter().enumerate().map(one))
}

fn side(text: &str) -> Recording {
    record([tree("run.json", text)])
}

fn with(rules: &Rules, baseline: &Recording, candidate: &Recording) -> Gate {
    Gate::check(baseline, candidate, rules, Date::today())
}

#[test]
fn an_outlier_on_either_side_hides_no_slow_run() {
    let base = runs(&[15_400.0, 15_410.0, 15_390.0]);
    let slow = check(&base, &runs(&[30_400.0, 30_400.0, 75_000.0]));
    assert_eq!(slow.outcome, Outcome::Fail, "{}", slow.headline());
    let late = runs(&[15_400.0, 75_000.0, 15_390.0]);
    let hidden = check(&late, &runs(&[30_400.0, 30_410.0, 30_420.0]));
    assert_eq!(hidden.outcome, Outcome::Inconclusive, "{}", hidden.headline());
    let line = hidden.headline();
    assert!(
        line.contains("15.4") && line.contains("30.4") && line.contains("detectable"),
        "{line}"
    );
}

#[test]
fn a_slow_time_is_reported_with_its_increase() {
    let base = runs(&[1_000.0, 1_001.0, 999.0]);
    let slow = check(&base, &runs(&[3_000.0, 3_001.0, 2_999.0]));
    let shown: Vec<&str> = slow.findings.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(shown, ["step_wall increased by 2.000 ms", "gpu_time increased by 2.000 ms"]);
}

#[test]
fn a_slow_step_counts_with_its_share_of_the_steps() {
    let run = |times: &[f64]| tree("run.json", &kernels(times));
    let base = record((0..3).map(|_| run(&[1_000.0; 4])));
    let slow = record((0..3).map(|_| run(&[1_000.0, 3_000.0, 1_000.0, 1_000.0])));
    let gate = check(&base, &slow);
    let shown: Vec<&str> = gate.findings.iter().map(|finding| finding.what.as_str()).collect();
    assert!(shown.contains(&"gpu_time increased by 500.0 µs"), "{shown:?}");
}

#[test]
fn a_single_slower_run_does_not_open_a_failure() {
    let base = runs(&[22_900.0, 23_200.0, 23_000.0]);
    for last in [30_000.0, 45_000.0, 90_000.0, 900_000.0] {
        let gate = check(&base, &runs(&[30_300.0, 30_200.0, last]));
        assert_eq!(gate.outcome, Outcome::Fail, "{last}: {}", gate.headline());
    }
}

#[test]
fn three_runs_per_side_do_not_pass_what_one_run_leaves_open() {
    for (baseline, candidate) in
        [(vec![10_000.0], vec![11_500.0]), (vec![1e4; 3], vec![11_500.0; 3])]
    {
        let gate = check(&runs(&baseline), &runs(&candidate));
        assert_ne!(gate.outcome, Outcome::Pass, "{}", gate.headline());
    }
    let open = check(&runs(&[10_000.0, 9_800.0, 12_000.0]), &runs(&[11_500.0, 13_900.0, 11_700.0]));
    assert_eq!(open.outcome, Outcome::Inconclusive, "{}", open.headline());
    assert!(open.headline().contains("which overlap; detectable from +"), "{}", open.headline());
}

#[test]
fn a_rule_file_for_a_noisy_machine_can_ask_to_report_times_only() {
    let rules = || Rules { timing: Timing::Report, ..Rules::default() };
    let base = runs(&[10_000.0, 10_100.0, 9_900.0]);
    let gate = with(&rules(), &base, &runs(&[20_000.0, 20_100.0, 19_900.0]));
    assert_eq!(gate.outcome, Outcome::Pass, "{}", gate.headline());
    let shown = gate.with_state(State::Warned).map(|found| found.what.clone()).collect::<Vec<_>>();
    assert!(shown.iter().any(|what| what.starts_with("gpu_time increased")), "{shown:?}");
    let open = with(&rules(), &runs(&[10_000.0]), &runs(&[20_000.0]));
    assert_eq!(open.outcome, Outcome::Pass, "{}", open.headline());
    assert!(open.with_state(State::Warned).count() > 0);
}

#[test]
fn different_ranks_of_a_job_are_not_repeats() {
    let ranked = |rank: i64, time: f64| {
        let mut trace: Value = serde_json::from_str(&kernels(&[time; 3])).expect("JSON");
        trace["distributedInfo"] =
            serde_json::json!({ "backend": "nccl", "rank": rank, "world_size": 8 });
        tree("trace.json", &trace.to_string())
    };
    let base = record((0..8).map(|rank| ranked(rank, 100.0)));
    let slow = record((0..8).map(|rank| ranked(rank, if rank == 5 { 200.0 } else { 100.0 })));
    let gate = check(&base, &slow);
    assert_eq!(gate.outcome, Outcome::Inconclusive);
    assert!(gate.reasons[0].contains("tracetree fleet"), "{:?}", gate.reasons);
    // A baseline file keeps the ranks.
    let file = Recording::from_baseline("base.ttb", &base.to_baseline()).expect("a baseline");
    assert_eq!(check(&file, &file).outcome, Outcome::Inconclusive);
    // Several runs of one rank are repeats.
    let one = record((0..3).map(|_| ranked(5, 100.0)));
    assert_eq!(check(&one, &one).outcome, Outcome::Pass);
    // Without the content, the file names count.
    let named = |rank: u32| tree(&format!("job/rank_{rank}.json"), &kernels(&[100.0; 3]));
    let gate = check(&record((0..2).map(named)), &record((0..2).map(named)));
    assert_eq!(gate.outcome, Outcome::Inconclusive, "{}", gate.headline());
}

/// Steps that read a value in the steps that `reads` selects.
fn reading(count: usize, reads: impl Fn(usize) -> bool) -> String {
    steps(count, |t, number| {
        t.op("aten::mm", |t| t.kernel("gemm", 100.0));
        if reads(number) {
            t.op("aten::sum", |t| t.kernel("reduce", 2.0));
        }
    })
}

#[test]
fn new_work_in_several_steps_is_an_error_unless_the_rules_opt_out() {
    let base = side(&reading(5, |_| false));
    let outcome = |reads: fn(usize) -> bool| check(&base, &side(&reading(5, reads))).outcome;
    assert_eq!(outcome(|number| number % 2 == 1), Outcome::Fail);
    assert_eq!(outcome(|number| number > 0), Outcome::Fail);
    // Once in a run says nothing, and neither does a baseline in which the work occurs or that has two steps.
    assert_eq!(outcome(|number| number == 3), Outcome::Pass);
    let varying = side(&reading(5, |number| number == 0));
    let often = side(&reading(5, |number| number > 0));
    assert_ne!(check(&varying, &often).outcome, Outcome::Fail);
    let short = side(&reading(2, |_| false));
    assert_ne!(check(&short, &side(&reading(5, |number| number > 2))).outcome, Outcome::Fail);
    let rules = Rules { intermittent: Severity::Warning, ..Rules::default() };
    let gate = with(&rules, &base, &side(&reading(5, |number| number % 2 == 1)));
    assert_eq!(gate.outcome, Outcome::Pass, "{}", gate.headline());
    assert!(gate.with_state(State::Warned).count() > 0);
}

/// Three runs, in which the read of step `number` of run `run` is there if `reads` says so.
fn three(reads: impl Fn(usize, usize) -> bool) -> Recording {
    let run = |run| tree(&format!("run_{run}.json"), &reading(5, |number| reads(run, number)));
    record((0..3).map(run))
}

#[test]
fn new_work_in_several_steps_of_any_run_is_an_error_that_names_the_runs() {
    let base = three(|_, _| false);
    for slow in 0..3 {
        let some = three(|run, _| run == slow);
        let gate = check(&base, &some);
        assert_eq!(gate.outcome, Outcome::Fail, "{}", gate.headline());
        let shown = format!("{:?}", gate.findings);
        assert!(shown.contains("aten::sum") && shown.contains("new_op"), "{shown}");
        assert!(shown.contains(&format!("in 5 of 15 steps (5 in run_{slow}.json)")), "{shown}");
        let rules = Rules { intermittent: Severity::Warning, ..Rules::default() };
        let gate = with(&rules, &base, &some);
        assert_eq!(gate.outcome, Outcome::Pass, "{}", gate.headline());
        assert!(gate.with_state(State::Warned).count() > 0);
        // One run of the baseline does this work, too.
        let other = three(|run, _| run == (slow + 1) % 3);
        assert_ne!(check(&some, &other).outcome, Outcome::Fail);
    }
    assert_ne!(check(&base, &three(|run, number| (run, number) == (1, 2))).outcome, Outcome::Fail);
    assert_ne!(
        check(&side(&reading(2, |_| false)), &three(|run, _| run == 2)).outcome,
        Outcome::Fail
    );
}

#[test]
fn new_work_in_one_step_of_each_run_is_an_error() {
    let base = three(|_, _| false);
    let gate = check(&base, &three(|_, number| number == 3));
    assert_eq!(gate.outcome, Outcome::Fail, "{}", gate.headline());
    let shown = format!("{:?}", gate.findings);
    assert!(shown.contains("in 3 of 15 steps, but in no step of the baseline"), "{shown}");
    assert_ne!(
        check(&three(|run, number| run + number == 0), &three(|_, number| number == 3)).outcome,
        Outcome::Fail
    );
}

#[test]
fn more_copied_bytes_in_several_steps_violate_the_rule_about_copies() {
    let run = |run: usize, is_large: &dyn Fn(usize, usize) -> bool| {
        let text = steps(5, |t, number| {
            let bytes = if is_large(run, number) { 65_792 } else { 16_448 };
            t.op("aten::copy_", |t| t.memcpy("Memcpy HtoD (Pinned -> Device)", bytes, 4.0));
        });
        tree(&format!("run_{run}.json"), &text)
    };
    let side = |is_large: &dyn Fn(usize, usize) -> bool| record((0..3).map(|at| run(at, is_large)));
    let base = side(&|_, _| false);
    for some in [
        side(&|_, number| number % 2 == 1),
        side(&|_, number| number == 1),
        side(&|run, _| run == 2),
    ] {
        let gate = check(&base, &some);
        assert_eq!(gate.outcome, Outcome::Fail, "{}", gate.headline());
        assert!(
            gate.findings.iter().any(|found| found.rules == ["new_copy"]),
            "{:?}",
            gate.findings
        );
        assert_ne!(check(&some, &base).outcome, Outcome::Fail);
    }
    assert_eq!(check(&base, &side(&|run, number| run + number == 0)).outcome, Outcome::Pass);
}

#[test]
fn more_copied_bytes_violate_the_rule_about_copies() {
    let copying = |bytes: u64| {
        side(&steps(3, |t, _| {
            t.op("aten::copy_", |t| t.memcpy("Memcpy HtoD (Pinned -> Device)", bytes, 4.0));
        }))
    };
    let gate = check(&copying(16_448), &copying(65_792));
    assert_eq!(gate.outcome, Outcome::Fail, "{}", gate.headline());
    assert!(gate.findings.iter().any(|found| found.rules == ["new_copy"]), "{:?}", gate.findings);
    assert_eq!(check(&copying(65_792), &copying(16_448)).outcome, Outcome::Pass);
}

#[test]
fn programs_without_a_counterpart_for_half_of_their_ops_are_not_compared() {
    let without = |removed: usize| {
        side(&steps(3, |t, _| {
            for number in removed..10 {
                t.op(format!("aten::op{number}").as_str(), |t| t.kernel("gemm", 10.0));
            }
        }))
    };
    // Of the 14 ops of both sides, 6 have no counterpart; of 13, 7.
    assert_eq!(check(&without(0), &without(6)).outcome, Outcome::Fail);
    let gate = check(&without(0), &without(7));
    assert_eq!(gate.outcome, Outcome::Inconclusive, "{}", gate.headline());
    assert!(gate.headline().contains("different programs: 54%"), "{}", gate.headline());
}

/// A recorded trace in which `change` changes the start and duration of each event, in µs. The flag says whether the
/// event ran on the GPU.
fn changed(path: &Path, mut change: impl FnMut(bool, &mut f64, &mut f64)) -> Recording {
    let bytes = inflated(&std::fs::read(path).expect("a file")).expect("gzip");
    let mut trace: Value = serde_json::from_slice(&bytes).expect("JSON");
    for event in trace["traceEvents"].as_array_mut().expect("events") {
        let category = event["cat"].as_str().unwrap_or_default();
        let is_gpu = ["kernel", "gpu_memcpy", "gpu_memset"].contains(&category);
        if let (Some(mut start), Some(mut time)) = (event["ts"].as_f64(), event["dur"].as_f64()) {
            change(is_gpu, &mut start, &mut time);
            (event["ts"], event["dur"]) = (start.into(), time.into());
        }
    }
    side(&trace.to_string())
}

#[test]
fn impossible_times_are_decided_in_neither_direction() {
    let (path, cpu) = (h100("train_base"), example("cnn.pt.trace.json.gz"));
    let whole = changed(&path, |_, _, _| {});
    let last = {
        let mut last = 0.0_f64;
        changed(&path, |is_gpu, start, _| last = if is_gpu { last.max(*start) } else { last });
        last
    };
    let scaled = |factor: f64, is_all: bool| {
        changed(&path, |is_gpu, start, time| {
            *time *= if is_all || is_gpu { factor } else { 1.0 };
            *start *= if is_all { factor } else { 1.0 };
        })
    };
    let odd = [
        ("GPU durations divided by 1,000", scaled(1e-3, false)),
        ("all times divided by 1,000", scaled(1e-3, true)),
        ("all times multiplied by 1,000", scaled(1e3, true)),
        (
            "all kernels at one time",
            changed(&path, |is_gpu, start, _| *start = if is_gpu { last } else { *start }),
        ),
        ("all kernels 1 ns apart", {
            let mut number = 0.0;
            changed(&path, |is_gpu, start, time| {
                if is_gpu {
                    number += 1.0;
                    (*start, *time) = (last + number / 1e3, time.max(100.0));
                }
            })
        }),
        (
            "kernels in reverse order",
            changed(&path, |is_gpu, start, _| {
                *start = if is_gpu { 2.0 * last - *start } else { *start }
            }),
        ),
        (
            "kernels before their launch",
            changed(&path, |is_gpu, start, _| *start -= if is_gpu { 5e3 } else { 0.0 }),
        ),
    ];
    for (what, odd) in &odd {
        for (one, two) in [(&whole, odd), (odd, &whole)] {
            let gate = check(one, two);
            assert_eq!(gate.outcome, Outcome::Inconclusive, "{what}: {}", gate.headline());
        }
    }
    let host = changed(&cpu, |_, _, _| {});
    let fast = changed(&cpu, |_, start, time| (*start, *time) = (*start / 1e3, *time / 1e3));
    assert_eq!(check(&host, &fast).outcome, Outcome::Inconclusive);
    // The clocks of host and GPU differ by a few microseconds.
    let skewed = changed(&path, |is_gpu, start, _| *start -= if is_gpu { 5.0 } else { 0.0 });
    assert_eq!(check(&whole, &skewed).outcome, Outcome::Pass);
}

#[test]
fn no_recorded_trace_has_misplaced_work() {
    let mut paths = vec![example("resnet.cuda.json.gz"), example("resnet.rocm.json.gz")];
    paths.extend(["resnet_eager", "decode_graph_streams", "tfm_flash", "train_loader"].map(h100));
    for path in paths {
        let recording = record([CallTree::build(Trace::open(&path).expect("a trace"))]);
        let misplaced = recording.facts.runs[0].misplaced_gpu_events;
        assert_eq!(misplaced, 0, "{}", path.display());
    }
}
