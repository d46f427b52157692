//! Tests for `tracetree model-diff` as a user runs it: streams, files and exit codes.

use crate::support::enter_root;
use crate::support::tracetree;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const DECODER: &str = "tests/fixtures/model_decoder";
const TRACE: &str = "tests/fixtures/model_decoder/model_trace.json";
const PROFILE: &str = "tests/fixtures/model_decoder/kernel_details.csv";
const SCENARIOS: &str = "tests/fixtures/model_decoder/scenarios.toml";

fn command(arguments: &[&str]) -> Command {
    let mut command = tracetree();
    command.arg("model-diff").args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Runs the command, which must exit with `code`, and returns stdout and stderr.
fn ends(code: i32, arguments: &[&str]) -> (String, String) {
    let output = run(arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
    (out, err)
}

#[test]
fn a_report_goes_to_stdout_and_warnings_to_stderr() {
    let mapping = format!("{DECODER}/op_mapping.yaml");
    let (out, err) = ends(
        0,
        &[TRACE, PROFILE, "--op-mapping", &mapping, "--forward-passes", "2", "--scenario", "layer"],
    );
    assert!(out.starts_with("layer\n") && out.contains("GatherV2 "), "{out}");
    assert!(err.contains("tracetree: warning: layer: UNREADABLE_SUB_KERNELS ×1: "), "{err}");
    assert!(!out.contains("warning"), "{out}");
}

#[test]
fn without_a_mapping_misses_keep_their_op_name() {
    let (out, err) = ends(0, &[TRACE, PROFILE]);
    assert!(out.contains("aten.embedding.default"), "{out}");
    assert!(err.contains("OP_WITHOUT_KERNEL ×3") && err.contains("pass --op-mapping"), "{err}");
}

#[test]
fn a_scenario_with_a_missing_file_is_skipped_and_fails_under_strict() {
    let (out, err) = ends(0, &["--scenarios", SCENARIOS]);
    assert!(out.contains("TOTAL") && out.contains("not collected yet: skipped"), "{out}");
    assert!(err.contains("warning: scenario not collected yet was skipped: "), "{err}");
    let (out, _) = ends(2, &["--scenarios", SCENARIOS, "--strict"]);
    assert!(out.contains("TOTAL"), "{out}");
}

#[test]
fn one_scenario_of_a_file_can_be_chosen() {
    let (out, err) = ends(0, &["--scenarios", SCENARIOS, "--strict", "--scenario", "decoder"]);
    assert!(out.starts_with("decoder\n") && !err.contains("skipped"), "{err}");
    let (_, err) = ends(2, &["--scenarios", SCENARIOS, "--scenario", "encoder"]);
    assert!(
        err.contains("no scenario `encoder` (the scenarios are decoder, not collected yet)"),
        "{err}"
    );
}

#[test]
fn a_condition_that_is_met_exits_with_1_and_names_the_rows() {
    let (out, err) = ends(
        1,
        &["--scenarios", SCENARIOS, "--fail-on", "error>20%", "--fail-on", "unmodeled>50%"],
    );
    assert!(out.contains("TOTAL"), "{out}");
    let failed: Vec<&str> =
        err.lines().filter(|line| line.starts_with("tracetree: failed: ")).collect();
    assert_eq!(failed.len(), 3, "{err}");
    assert_eq!(failed[2], "tracetree: failed: decoder: MemSet: error -100.0% (error>20%)");
    ends(0, &["--scenarios", SCENARIOS, "--scenario", "decoder", "--fail-on", "error>150%"]);
    let (_, err) = ends(2, &["--scenarios", SCENARIOS, "--fail-on", "MatMul: error>1%"]);
    assert!(err.contains("tracetree: error: MatMul: error>1%: neither the model"), "{err}");
}

#[test]
fn a_condition_that_cannot_be_checked_exits_with_3() {
    let (_, err) = ends(3, &["--scenarios", SCENARIOS, "--fail-on", "error>150%"]);
    assert!(err.contains("not checked: not collected yet: the scenario was skipped"), "{err}");
    let chosen = ["--scenarios", SCENARIOS, "--scenario", "decoder", "--fail-on"];
    let (_, err) = ends(3, &[&chosen[..], &["aten.topk.default: error>1%"]].concat());
    assert!(err.contains("not checked: aten.topk.default: error>1%: undefined"), "{err}");
    let folder = tempfile::tempdir().expect("a folder");
    let zero = folder.path().join("zero.json");
    let trace = r#"{"traceEvents": [{"ph": "X", "pid": 0, "name": "aten.mm.default", "dur": 0}]}"#;
    std::fs::write(&zero, trace).expect("written");
    let zero = zero.to_str().expect("a plain path");
    for condition in ["error>150%", "unmodeled>101%", "model_only>1%"] {
        let (_, err) = ends(3, &[zero, PROFILE, "--fail-on", condition]);
        assert!(err.contains("not checked: zero: all durations in the model are 0"), "{err}");
    }
    let csv = std::fs::read_to_string(crate::support::root().join(PROFILE)).expect("a profile");
    let names: Vec<&str> = csv.lines().next().unwrap_or_default().split(',').collect();
    let at = names.iter().position(|name| name.contains("Duration")).expect("a duration");
    let zeroed = csv.lines().enumerate().map(|(line, text)| {
        let mut cells: Vec<&str> = text.split(',').collect();
        if line > 0 {
            cells[at] = "0";
        }
        cells.join(",")
    });
    let profile = folder.path().join("zero.csv");
    std::fs::write(&profile, zeroed.collect::<Vec<_>>().join("\n")).expect("written");
    let profile = profile.to_str().expect("a plain path");
    let (_, err) = ends(3, &[TRACE, profile, "--fail-on", "error>20%"]);
    assert!(err.contains("all durations in the profile are 0"), "{err}");
}

#[test]
fn bad_usage_exits_with_2() {
    for arguments in [
        vec![],
        vec![TRACE],
        vec![TRACE, PROFILE, "--forward-passes", "0"],
        vec![TRACE, PROFILE, "--scenarios", SCENARIOS],
        vec!["--scenarios", SCENARIOS, "--forward-passes", "2"],
        vec![TRACE, PROFILE, "--format", "xml"],
        vec![TRACE, PROFILE, "--fail-on", "error"],
    ] {
        let (out, err) = ends(2, &arguments);
        assert!(out.is_empty() && err.starts_with("error: "), "{arguments:?}: {err}");
    }
    let (_, err) = ends(2, &[TRACE, PROFILE, "--forward-passes", "0"]);
    assert!(err.contains("a whole number of at least 1"), "{err}");
}

#[test]
fn unreadable_input_exits_with_2_and_one_line() {
    for (arguments, reason) in [
        ([PROFILE, TRACE], "then the profile"),
        ([TRACE, TRACE], "no column `Type`"),
        ([TRACE, "none.csv"], "none.csv: cannot open the kernel profile"),
    ] {
        let (out, err) = ends(2, &arguments);
        assert!(out.is_empty() && err.starts_with("tracetree: error: "), "{err}");
        assert!(err.contains(reason) && err.lines().count() == 1, "{err}");
    }
    let (_, err) = ends(2, &[DECODER, PROFILE]);
    assert!(err.contains("is a folder with 1 trace"), "{err}");
    assert!(err.contains("try: tracetree model-diff"), "{err}");
}

#[test]
fn the_file_gets_the_format_of_its_extension_independently_of_stdout() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    for (name, start) in [
        ("r.json", "{\n"),
        ("r.csv", "scenario,kernel_type"),
        ("r.md", "## "),
        ("r.txt", "model_trace\n"),
        ("r.report", "scenario,kernel_type"),
    ] {
        let path = file(name);
        let (out, _) = ends(0, &[TRACE, PROFILE, "--format", "csv", "-o", &path]);
        assert!(out.starts_with("scenario,kernel_type"), "{out}");
        let written = std::fs::read_to_string(&path).expect("the file");
        assert!(written.starts_with(start), "{name}: {written}");
    }
    let names = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(names, 5, "no other files are left next to the reports");
    let (_, err) = ends(2, &[TRACE, PROFILE, "-o", &file("no/such/folder.json")]);
    assert!(err.contains("cannot write the file"), "{err}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = command(&[TRACE, PROFILE, "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"));
}

#[test]
fn compressed_input_is_recognised_regardless_of_its_name() {
    enter_root();
    let folder = tempfile::tempdir().expect("a folder");
    let packed = |path: &str, name: &str| {
        let target = folder.path().join(name);
        let file = std::fs::File::create(&target).expect("a file");
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        let bytes = std::fs::read(Path::new(path)).expect("a fixture");
        std::io::Write::write_all(&mut encoder, &bytes).expect("written");
        encoder.finish().expect("written");
        target.display().to_string()
    };
    let (trace, profile) = (packed(TRACE, "a.json"), packed(PROFILE, "b.csv.gz"));
    let (compressed, _) = ends(0, &[&trace, &profile, "--format", "csv", "--scenario", "x"]);
    let (plain, _) = ends(0, &[TRACE, PROFILE, "--format", "csv", "--scenario", "x"]);
    assert_eq!(compressed, plain);
}
