//! Tests for `tracetree repro` on lines of the bill: the scripts are Python, and other lines are refused with a remedy.

use crate::support::{enter_root, skipped, traces, tracetree};
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use tracetree::analysis::bill::BillKind;
use tracetree::{Comparison, ComparisonOptions};

const PAIRS: [[&str; 2]; 4] = [
    ["resnet_eager", "resnet_tf32_off"],
    ["train_base", "train_clip"],
    ["tfm_flash", "tfm_math"],
    ["train_base", "train_item"],
];

fn repro(pair: [&str; 2], line: usize) -> Output {
    let mut command = tracetree();
    command.arg("repro").args(pair.map(traces::h100));
    command.args(["--bill-line", &line.to_string()]).output().expect("the program runs")
}

/// Whether Python accepts a script; `None` if there is no Python on this machine.
fn is_python(script: &[u8]) -> Option<bool> {
    let mut python = Command::new("python3")
        .args(["-c", "import sys; compile(sys.stdin.buffer.read(), 'call.py', 'exec')"])
        .stdin(Stdio::piped())
        .spawn()
        .ok()?;
    python.stdin.take().expect("a pipe").write_all(script).expect("Python reads");
    Some(python.wait().expect("Python ends").success())
}

#[test]
fn each_line_of_the_bill_has_a_script_or_says_why_not() {
    enter_root();
    let mut scripts = 0;
    for pair in PAIRS {
        let [one, two] = pair.map(traces::h100);
        let comparison =
            Comparison::open(one, two, &ComparisonOptions::default()).expect("two traces");
        let lines = comparison.analysis().bill().lines();
        for (number, line) in lines.iter().enumerate() {
            let output = repro(pair, number);
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() {
                assert_eq!(line.kind, BillKind::Change, "{pair:?} {number}");
                scripts += 1;
                match is_python(&output.stdout) {
                    Some(is_python) => assert!(is_python, "{pair:?} {number}"),
                    None => skipped("no python3 to compile the scripts"),
                }
            } else {
                assert_eq!(output.status.code(), Some(2), "{error}");
                let is_named =
                    error.contains("--bill-line") || error.contains("cannot be repeated");
                assert!(is_named && error.contains('('), "{error}");
                assert!(output.stdout.is_empty());
            }
        }
        let beyond = repro(pair, lines.len());
        assert_eq!(beyond.status.code(), Some(2));
        let error = String::from_utf8_lossy(&beyond.stderr).into_owned();
        assert!(error.contains("there is no line") && error.contains("bill.csv"), "{error}");
    }
    assert!(scripts >= 3, "{scripts} scripts");
}
