//! `diff --fail-on`: noise passes, what cannot be compared is told apart from a broken limit, and stderr
//! says why.
#![cfg(feature = "cli")]

use crate::support::trace_builder::{Op, TraceBuilder};
use crate::support::traces;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// A step for each time of its kernel, in µs.
fn steps(times: &[f64]) -> String {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        for (number, &time) in (3..).zip(times) {
            t.step(number, |t| t.op(Op::new("aten::mm"), |t| t.kernel("gemm", time)));
        }
    });
    trace.json()
}

/// Exit code and stderr of a comparison of two texts.
fn compared(baseline: &str, candidate: &str, limit: &str) -> (Option<i32>, String) {
    let folder = TempDir::new().expect("a temporary folder");
    let [one, two] = [("before.json", baseline), ("after.json", candidate)].map(|(name, text)| {
        fs::write(folder.path().join(name), text).expect("a writable folder");
        folder.path().join(name)
    });
    let output = Command::new(env!("CARGO_BIN_EXE_tracetree"))
        .arg("diff")
        .args([one, two])
        .args(["--fail-on", limit, "--emit", "none", "-o"])
        .arg(folder.path().join("report"))
        .output()
        .expect("the program runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_the_steps_prove_breaks_the_limit_and_noise_does_not() {
    let before = steps(&[100.0, 101.0, 99.0, 100.0, 100.5]);
    let (code, told) = compared(&before, &steps(&[120.0, 121.0, 119.0, 120.0, 120.5]), "5%");
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("gpu time per step") && told.contains("more than the limit"), "{told}");
    let (code, told) = compared(&before, &steps(&[100.2, 101.1, 99.2, 100.1, 100.4]), "0%");
    assert_eq!(code, Some(0), "{told}");
    let noisy = steps(&[60.0, 140.0, 100.0, 80.0, 120.0]);
    let (code, told) = compared(&noisy, &steps(&[66.0, 150.0, 104.0, 88.0, 126.0]), "1%");
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn a_side_without_gpu_events_does_not_pass() {
    let host = TraceBuilder::cuda()
        .thread("main", |t| t.step(3, |t| t.op(Op::new("aten::mm"), |_| {})))
        .json();
    let (code, told) = compared(&steps(&[100.0; 3]), &host, "5%");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("the candidate has no GPU events"), "{told}");
}

#[test]
fn a_file_that_is_cut_off_does_not_pass() {
    let whole = steps(&[100.0; 6]);
    let (code, told) = compared(&whole, &whole[..whole.len() * 3 / 4], "500%");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("TRUNCATED") && told.contains("after: "), "{told}");
}

#[test]
fn another_model_does_not_pass() {
    let Some(bert) = traces::real("mi300_h100/bert.mi300.json.gz") else { return };
    let Some(resnet) = traces::real("training/resnet50_ddp.a100.json.gz") else { return };
    let folder = TempDir::new().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_tracetree"))
        .arg("diff")
        .args([resnet, bert])
        .args(["--fail-on", "10000%", "--emit", "none", "-o"])
        .arg(folder.path().join("report"))
        .output()
        .expect("the program runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("the models are of two kinds"), "{told}");
}
