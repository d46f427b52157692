//! Tests for `diff --fail-on`: one test for each sentence about the option in `docs/reference/command-line.md`.

use crate::support::trace_builder::{Op, TraceBuilder};
use crate::support::traces;
use crate::support::tracetree;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A trace with one step for each of the given kernel times in µs.
fn steps(times: &[f64]) -> String {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        for (number, &time) in (3..).zip(times) {
            t.step(number, |t| t.op(Op::new("aten::mm"), |t| t.kernel("gemm", time)));
        }
    });
    trace.json()
}

/// A trace with one step for each of the given kernel times, and `host` µs of host work before each kernel.
fn slow_host(times: &[f64], host: f64) -> String {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        for (number, &time) in (3..).zip(times) {
            t.step(number, |t| {
                t.idle(host);
                t.op(Op::new("aten::mm"), |t| t.kernel("gemm", time));
            });
        }
    });
    trace.json()
}

/// The kernel times of an unchanged run in µs.
const TIMES: [f64; 5] = [100.0; 5];

/// Compares two traces, given as JSON texts, and returns the exit code and stderr.
fn compared(baseline: &str, candidate: &str, limit: &str) -> (Option<i32>, String) {
    compared_runs(&[baseline.to_owned()], &[candidate.to_owned()], limit)
}

/// Compares the runs of two sides, given as JSON texts, and returns the exit code and stderr.
fn compared_runs(baseline: &[String], candidate: &[String], limit: &str) -> (Option<i32>, String) {
    let folder = TempDir::new().expect("a temporary folder");
    let write = |name: &str, runs: &[String]| -> Vec<PathBuf> {
        let one = |(at, text): (usize, &String)| {
            let path = folder.path().join(format!("{name}_{at}.json"));
            fs::write(&path, text).expect("a writable folder");
            path
        };
        runs.iter().enumerate().map(one).collect()
    };
    let output = tracetree()
        .args(["diff", "--base"])
        .args(write("before", baseline))
        .arg("--new")
        .args(write("after", candidate))
        .args(["--fail-on", limit, "--emit", "none", "-o"])
        .arg(folder.path().join("report"))
        .output()
        .expect("the program runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Compares two recordings in `examples/traces`, and returns the exit code and stderr.
fn examples(baseline: &str, candidate: &str, limits: &[&str]) -> (Option<i32>, String) {
    let folder = TempDir::new().expect("a temporary folder");
    let mut command = tracetree();
    command.arg("diff").args([baseline, candidate].map(traces::example));
    limits.iter().for_each(|limit| {
        command.args(["--fail-on", limit]);
    });
    let output =
        command.arg("--no-report").current_dir(&folder).output().expect("the program runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

const CNN: &str = "cnn.pt.trace.json.gz";
const ROCM: &str = "resnet.rocm.json.gz";
const CUDA: &str = "resnet.cuda.json.gz";
const BASE: &str = "h100/train_base.pt.trace.json.gz";
const LOADER: &str = "h100/train_loader.pt.trace.json.gz";

#[test]
fn a_limit_without_a_measure_limits_the_step_time() {
    let (code, shown) = compared(&steps(&TIMES), &slow_host(&TIMES, 120.0), "5%");
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("--fail-on step:5%: step time "), "{shown}");
    let (code, shown) = compared(&steps(&TIMES), &slow_host(&TIMES, 120.0), "gpu:5%");
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        shown.contains("GPU time per step 100.0 µs → 100.0 µs (+0.0%) is within the limit"),
        "{shown}"
    );
}

#[test]
fn a_slow_loader_exceeds_the_limits_of_step_and_idle_time() {
    for (limit, expected) in
        [("5%", 3), ("step:5%", 3), ("idle:5%", 3), ("gpu:50%", 0), ("busy:50%", 0)]
    {
        let (code, shown) = examples(BASE, LOADER, &[limit]);
        assert_eq!(code, Some(expected), "{limit}: {shown}");
    }
}

#[test]
fn a_limit_is_a_share_or_a_time_of_the_measure() {
    // GPU time per step increases from 3.526 to 4.155 ms, which is 17.9% or 0.629 ms more.
    for (limit, expected) in [("gpu:17%", 3), ("gpu:18%", 0), ("gpu:0.6ms", 3), ("gpu:0.7ms", 0)] {
        let (code, shown) = examples(CUDA, ROCM, &[limit]);
        assert_eq!(code, Some(expected), "{limit}: {shown}");
    }
    assert_eq!(examples(ROCM, CUDA, &["gpu:0%"]).0, Some(0));
    for limit in ["19", "wall:5%", "gpu:", "-5%"] {
        let (code, shown) = examples(CUDA, ROCM, &[limit]);
        assert_eq!(code, Some(2), "{limit}: {shown}");
    }
}

#[test]
fn three_runs_per_side_that_are_all_apart_exceed_a_limit() {
    let runs = |times: [f64; 3]| times.map(|time| steps(&[time; 5]));
    let (code, shown) =
        compared_runs(&runs([100.0, 101.0, 99.0]), &runs([120.0, 121.0, 119.0]), "gpu:5%");
    assert_eq!(code, Some(1), "{shown}");
    let expected = "--fail-on gpu:5%: GPU time per step 100.0 µs → 120.0 µs (+20.0%) exceeds the limit of 5%; \
                    3 runs per side, all apart; at least +";
    assert!(shown.contains(expected), "{shown}");
    assert!(
        shown.contains("measured on each side: 15 GPU events in 15 steps, nothing lost"),
        "{shown}"
    );
}

#[test]
fn runs_that_overlap_above_a_limit_are_inconclusive() {
    let runs = |times: [f64; 3]| times.map(|time| steps(&[time; 5]));
    let (code, shown) =
        compared_runs(&runs([100.0, 104.0, 130.0]), &runs([120.0, 125.0, 131.0]), "gpu:5%");
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("104.0 µs → 125.0 µs (+20.2%) exceeds the limit of 5%"), "{shown}");
    assert!(shown.contains("with 3 runs per side, which overlap; detectable from +"), "{shown}");
}

#[test]
fn a_single_run_above_a_limit_is_inconclusive_and_says_what_would_decide() {
    let (code, shown) = compared(&steps(&TIMES), &steps(&[400.0; 5]), "gpu:1%");
    assert_eq!(code, Some(3), "{shown}");
    let expected = "100.0 µs → 400.0 µs (+300.0%) exceeds the limit of 1% with 1 run per side; record 3 \
                    runs per side to decide";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn runs_that_are_ranks_of_one_job_do_not_pass() {
    let ranks = [0, 1].map(|rank| {
        steps(&TIMES).replacen('{', &format!("{{\"distributedInfo\": {{\"rank\": {rank}}},"), 1)
    });
    let (code, shown) = compared_runs(&ranks, &ranks, "5%");
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("traces of 2 ranks (0, 1)") && shown.contains("two folders"), "{shown}");
}

#[test]
fn another_program_does_not_pass() {
    let ops = ["aten::conv2d", "aten::max_pool2d", "aten::softmax", "aten::embedding"];
    let other = TraceBuilder::cuda().thread("main", |t| {
        for number in 3..8 {
            t.step(number, |t| ops.iter().for_each(|&op| t.op(op, |t| t.kernel(op, 10.0))));
        }
    });
    let (code, shown) = compared(&steps(&TIMES), &other.json(), "500%");
    assert_eq!(code, Some(3), "{shown}");
}

#[test]
fn the_worst_of_several_limits_counts() {
    assert_eq!(examples(BASE, LOADER, &["gpu:50%", "busy:50%"]).0, Some(0));
    let (code, shown) = examples(BASE, LOADER, &["gpu:50%", "step:5%"]);
    assert_eq!(code, Some(3), "{shown}");
    assert!(
        shown.contains("--fail-on gpu:50%: ") && shown.contains("--fail-on step:5%: "),
        "{shown}"
    );
}

#[test]
fn a_trace_without_gpu_events_has_no_gpu_time() {
    let (code, shown) = examples(CNN, CNN, &["gpu:5%"]);
    assert_eq!(code, Some(3), "{shown}");
    assert!(
        shown.contains("the GPU time per step was not measured on at least one side"),
        "{shown}"
    );
    assert_eq!(examples(CNN, CNN, &["5%"]).0, Some(0));
}

#[test]
fn a_side_without_gpu_events_does_not_pass() {
    let host = TraceBuilder::cuda()
        .thread("main", |t| t.step(3, |t| t.op(Op::new("aten::mm"), |_| {})))
        .json();
    let (code, shown) = compared(&steps(&[100.0; 3]), &host, "5%");
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("the candidate has no GPU events"), "{shown}");
}

#[test]
fn a_file_that_is_cut_off_does_not_pass() {
    let whole = steps(&[100.0; 6]);
    let (code, shown) = compared(&whole, &whole[..whole.len() * 3 / 4], "500%");
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("TRUNCATED") && shown.contains("after_0: "), "{shown}");
}

#[test]
fn a_different_model_does_not_pass() {
    let Some(bert) = traces::real("mi300_h100/bert.mi300.json.gz") else { return };
    let Some(resnet) = traces::real("training/resnet50_ddp.a100.json.gz") else { return };
    let folder = TempDir::new().expect("a temporary folder");
    let output = tracetree()
        .arg("diff")
        .args([resnet, bert])
        .args(["--fail-on", "10000%", "--emit", "none", "-o"])
        .arg(folder.path().join("report"))
        .output()
        .expect("the program runs");
    let shown = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{shown}");
    assert!(shown.contains("the models have different architectures"), "{shown}");
}

#[test]
fn a_line_of_the_bill_can_be_limited() {
    // The candidate sleeps 4 ms per step, and its host is 3 ms slower by chance.
    for (limit, code, message) in [
        ("change", 1, "1 change: Added in record_changes.py: load"),
        ("change:5ms", 0, "change +4.068 ms per step is within the limit of 5ms"),
        ("change:10%", 1, "exceeds the limit of 10%: Added in record_changes.py: load"),
        ("host:1ms", 3, "but the difference in step time may be noise: record 3 runs"),
        ("wait:1us", 0, "wait 0.0 µs per step is within"),
    ] {
        let (found, shown) = examples(BASE, LOADER, &[limit]);
        assert_eq!(found, Some(code), "{limit}: {shown}");
        assert!(shown.contains(message), "{limit}: {shown}");
    }
    let (code, shown) =
        examples(BASE, "h100/train_again.pt.trace.json.gz", &["change", "environment"]);
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn folders_of_runs_are_the_runs_of_both_sides() {
    let folder = TempDir::new().expect("a temporary folder");
    for (side, traces) in [
        ("old", [BASE, "h100/train_again.pt.trace.json.gz"]),
        ("new", [LOADER, "h100/train_gelu.pt.trace.json.gz"]),
    ] {
        for (run, trace) in traces.into_iter().enumerate() {
            let place = folder.path().join(format!("{side}/run{run}"));
            fs::create_dir_all(&place).expect("a folder");
            fs::copy(traces::example(trace), place.join("rank0.json.gz")).expect("a copy");
        }
    }
    let output =
        tracetree().args(["diff", "old", "new", "--no-report"]).current_dir(&folder).output();
    let text = String::from_utf8(output.expect("the program runs").stdout).expect("UTF-8");
    assert!(text.contains("medians of 2 runs each"), "{text}");
    // With a second rank, the files are not runs of one program.
    let other = traces::example("h100/resnet_eager.pt.trace.json.gz");
    fs::copy(other, folder.path().join("old/run0/rank1.json.gz")).expect("a copy");
    let output =
        tracetree().args(["diff", "old", "new", "--no-report"]).current_dir(&folder).output();
    let output = output.expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(shown.contains("traces of 2 ranks (0, 1)"), "{shown}");
}
