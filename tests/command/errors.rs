//! Tests with inputs that cannot be compared and with outputs that cannot be written. Each error must name the file and
//! the problem, and no partial files may remain.

use crate::support::compared::{compare_files, trace};
use crate::support::phenomena::Phenomenon;
use crate::support::root;
use crate::support::trace_builder::TraceBuilder;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use tracetree::report::{Report, read_uid_map};
use tracetree::trace::Trace;
use tracetree::tree::CallTree;
use tracetree::{Comparison, ComparisonOptions, Error, ErrorKind, PerSide};

/// Writes `text` to a file `t.json`, and returns the error from a comparison with this file as the baseline.
fn refused(text: &str) -> Error {
    let folder = TempDir::new().expect("a temporary folder");
    let path = file(&folder, "t.json", text.as_bytes());
    let good = root().join("examples/traces/cnn.pt.trace.json.gz");
    Comparison::open(path, good, &ComparisonOptions::default()).expect_err(text)
}

fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("a writable folder");
    path
}

/// Checks that an error is a single line, starts with the path and contains `part`.
fn assert_says(error: &Error, kind: ErrorKind, part: &str) {
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    assert!(text.starts_with(&format!("{}: ", error.path().expect("a file").display())), "{text}");
    assert!(text.contains(part) && !text.contains('\n'), "{text}");
    assert!(!text.ends_with('.'), "{text}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Trace::open("no/such/trace.json").expect_err("a missing file");
    assert_says(&error, ErrorKind::Io, "no/such/trace.json");
}

#[test]
fn a_folder_is_not_a_trace() {
    let folder = TempDir::new().expect("a temporary folder");
    let error = Trace::open(folder.path()).expect_err("a folder");
    assert_says(&error, ErrorKind::Io, "directory");
}

#[test]
fn an_empty_file_has_a_different_error_than_a_broken_one() {
    assert!(refused("").to_string().contains("empty"));
}

#[test]
fn text_that_is_not_json_is_malformed() {
    assert_says(&refused("hello"), ErrorKind::Malformed, "t.json");
}

#[test]
fn for_json_that_is_not_a_trace_the_error_says_what_it_is() {
    assert_says(&refused(r#"{"answer": 42}"#), ErrorKind::NotATrace, "no traceEvents");
    assert_says(&refused("[1, 2]"), ErrorKind::NotATrace, "t.json");
}

#[test]
fn a_trace_without_calls_cannot_be_compared() {
    for text in [
        r#"{"traceEvents": []}"#,
        r#"{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {}}]}"#,
    ] {
        assert_says(&refused(text), ErrorKind::NotATrace, "nothing to compare");
    }
}

#[test]
fn of_two_broken_traces_the_baseline_is_reported_first() {
    let folder = TempDir::new().expect("a temporary folder");
    let paths = PerSide::new(file(&folder, "a.json", b"x"), file(&folder, "b.json", b"y"));
    let PerSide { baseline, candidate } = paths.clone();
    let error = Comparison::open(baseline, candidate, &ComparisonOptions::default())
        .expect_err("two broken traces");
    assert_eq!(error.path(), Some(paths.baseline.as_path()));
}

#[test]
fn a_report_folder_without_a_map_says_so() {
    let folder = TempDir::new().expect("a temporary folder");
    let error = read_uid_map(folder.path()).expect_err("an empty folder");
    assert_says(&error, ErrorKind::Usage, "is not a report folder: it has no uid_map.csv");
}

#[test]
fn a_map_without_its_report_is_refused() {
    let folder = TempDir::new().expect("a temporary folder");
    file(&folder, "uid_map.csv", b"uid1,uid2,relation\n0,0,same\n");
    let error = read_uid_map(folder.path()).expect_err("no manifest");
    assert_says(&error, ErrorKind::Usage, "it has no manifest.json");
}

#[test]
fn one_trace_is_not_a_report_folder() {
    let error = read_uid_map(&root().join("examples/traces/cnn.pt.trace.json.gz"))
        .expect_err("a trace instead of a folder");
    assert_says(&error, ErrorKind::Usage, "a second trace is missing");
}

#[test]
fn an_output_below_a_file_cannot_be_made() {
    let folder = TempDir::new().expect("a temporary folder");
    let target = file(&folder, "taken", b"mine").join("report");
    let error = compare_files(Phenomenon::of("rename").files(), |analysis| {
        Report::new(analysis.clone()).write(&target).expect_err("a file stands in the path")
    });
    assert_says(&error, ErrorKind::Io, "create the report folder");
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
}

#[test]
fn a_trace_with_only_queries_is_a_tree_without_gpu_path() {
    let built =
        trace("built", &TraceBuilder::cuda().thread("main", |t| t.call("cudaGetDevice")).json());
    let tree = CallTree::build(built);
    assert_eq!(tree.len(), 2);
    assert!(tree.roots().all(|root| !tree.is_gpu_path(root)));
}
