//! The screen of `tracetree diff` at 60, 80 and 200 columns, and through a pipe.
#![cfg(feature = "cli")]

use crate::support::snapshot::assert_snapshot;
use std::process::Command;
use tracetree::cli::summary_text;
use tracetree::report::cause_lines;
use tracetree::{Comparison, ComparisonOptions};

const BUNDLED: [&str; 2] =
    ["examples/traces/resnet.rocm.json.gz", "examples/traces/resnet.cuda.json.gz"];
const CPU: [&str; 2] =
    ["examples/traces/cnn.pt.trace.json.gz", "examples/traces/cnn_extra_op.pt.trace.json.gz"];

fn screens([baseline, candidate]: [&str; 2]) -> Vec<(usize, String)> {
    let options = ComparisonOptions::default();
    let comparison = Comparison::open(baseline, candidate, &options).expect("two traces");
    [60, 80, 200].map(|width| (width, summary_text(&comparison, 6, width))).into()
}

#[test]
fn the_screen_at_three_widths() {
    for (width, text) in screens(BUNDLED) {
        assert_snapshot("", &format!("terminal_{width}"), &text);
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_figure_is_broken() {
    for (width, text) in [screens(BUNDLED), screens(CPU)].concat() {
        for (line, next) in text.lines().zip(text.lines().skip(1)) {
            assert!(line.chars().count() <= width, "{width}: {line}");
            let ends_in_digit = line.ends_with(|c: char| c.is_ascii_digit());
            let next = next.split_whitespace().next().unwrap_or_default();
            let breaks = ["%", "ms", "us", "µs", "→", "TB/s", "TFLOP/s"]
                .contains(&next.trim_end_matches([',', ';', ')']));
            assert!(!(ends_in_digit && breaks), "{width}: {line} / {next}");
        }
    }
}

#[test]
fn a_wide_screen_uses_its_full_width() {
    let screens = screens(BUNDLED);
    let widest = |at: usize| screens[at].1.lines().map(|line| line.chars().count()).max();
    assert!(widest(2) > Some(150), "{}", screens[2].1);
    let elided = |at: usize| screens[at].1.matches('…').count();
    assert!(elided(2) < elided(1) && elided(1) <= elided(0));
}

/// Stdout of a run through a pipe, with `COLUMNS` set to `columns`.
fn piped(columns: Option<&str>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracetree"));
    command.args(["diff", "--no-report", "-q", "--top", "100"]).args(BUNDLED).env_remove("COLUMNS");
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    String::from_utf8(command.output().expect("the program runs").stdout).expect("UTF-8")
}

#[test]
fn a_pipe_honours_columns_and_elides_nothing() {
    let words = |text: &str| -> Vec<String> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    let (narrow, wide) = (piped(Some("60")), piped(Some("200")));
    // Only the evidence of causes is shortened at any width.
    let options = ComparisonOptions::default();
    let comparison = Comparison::open(BUNDLED[0], BUNDLED[1], &options).expect("two traces");
    let (causes, _) = cause_lines(comparison.analysis());
    let shortened: usize = causes.iter().map(|cause| cause.evidence.matches('…').count()).sum();
    assert_eq!(narrow.matches('…').count(), shortened, "{narrow}");
    assert_eq!(wide.matches('…').count(), shortened, "{wide}");
    // The narrow totals are transposed and have no kernel counts, but all names and reasons are there.
    for word in words(&wide).iter().filter(|word| word.contains("::")) {
        assert!(narrow.contains(word.as_str()), "{word}");
    }
    let long = |text: &str| {
        let lines = text.lines().filter(|line| line.chars().count() > 60);
        lines.filter(|line| line.trim().contains("ms, ")).count()
    };
    assert_eq!(long(&narrow), 0, "{narrow}");
    assert!(long(&wide) > 0);
    // The call site of a cause may continue on the next line.
    let mut places = narrow.lines().filter(|line| line.contains(" ms  host "));
    assert!(places.all(|line| !line.contains("evaluate_function: ")), "{narrow}");
    assert!(
        wide.contains(" ms  host           autograd::engine::evaluate_function: torch"),
        "{wide}"
    );
    assert_eq!(piped(None), piped(Some("100")));
}
