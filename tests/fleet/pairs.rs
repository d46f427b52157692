//! Tests that `tracetree diff DIR_A DIR_B` matches ranks, compares them and reports the straggler.

use crate::support::trace_builder::TraceBuilder;
use crate::support::traces::example;
use crate::support::tracetree;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// The trace of a rank with two rounds of 1,000 µs each. In each round, the rank computes for `compute` µs and spends
/// the rest of the time in a collective.
fn rank(rank: i64, compute: f64) -> String {
    TraceBuilder::cuda()
        .header("distributedInfo", json!({"backend": "nccl", "rank": rank, "world_size": 3}))
        .thread("main", |t| {
            for _ in 0..2 {
                t.op("aten::mm", |t| t.kernel("gemm", compute));
                t.op("c10d::allreduce_", |t| {
                    t.kernel("ncclDevKernel_AllReduce_Sum_f32", 1000.0 - compute);
                });
            }
        })
        .json()
}

/// Two folders. The candidate's files have different names, and the candidate's rank 1 is slow.
fn fleet() -> TempDir {
    let place = tempfile::tempdir().expect("a temporary folder");
    for (folder, times) in [("a", [100.0, 110.0, 105.0]), ("b", [100.0, 800.0, 105.0])] {
        fs::create_dir(place.path().join(folder)).expect("a folder");
        for (at, &compute) in times.iter().enumerate() {
            let name = format!("{folder}/host{}_{folder}.json", 7 - at);
            fs::write(place.path().join(name), rank(at as i64, compute)).expect("a trace");
        }
    }
    place
}

fn diff(place: &TempDir, arguments: &[&str]) -> Output {
    let mut command = tracetree();
    command.current_dir(place.path()).args(["diff", "a", "b", "-o", "report", "--emit", "none"]);
    command.args(arguments).output().expect("the program runs")
}

fn table(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("a table");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

#[test]
fn the_slow_rank_is_the_one_that_the_others_wait_for() {
    let place = fleet();
    let output = diff(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = table(&place.path().join("report/ranks.csv"));
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("rank"), ["0", "1", "2"]);
    assert_eq!(column("kernel_us_trace1"), ["2000.000"; 3]);
    assert_eq!(column("kernel_us_diff"), ["0.000"; 3]);
    assert_eq!(column("collective_wait_us_trace1"), ["20.000", "0.000", "10.000"]);
    assert_eq!(column("collective_wait_us_trace2"), ["1400.000", "0.000", "1390.000"]);
    assert_eq!(column("straggler_trace2"), ["", "yes", ""]);
    assert_eq!(column("without_wait_us_diff"), ["-1380.000", "0.000", "-1380.000"]);
    assert_eq!(column("account_is_exact"), ["yes"; 3]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("candidate: the other ranks wait for rank_1"), "{text}");
}

#[test]
fn each_rank_has_its_own_report() {
    let place = fleet();
    diff(&place, &[]);
    for rank in ["rank_0", "rank_1", "rank_2"] {
        let summary = place.path().join("report").join(rank).join("summary.json");
        let summary = fs::read_to_string(summary).expect("a summary");
        let summary: Value = serde_json::from_str(&summary).expect("JSON");
        assert_eq!(summary["account_is_exact"], true, "{rank}");
    }
}

#[test]
fn an_unmatched_rank_is_left_out_with_a_warning() {
    let place = fleet();
    fs::write(place.path().join("b/late.json"), rank(9, 100.0)).expect("a trace");
    let output = diff(&place, &[]);
    assert_eq!(output.status.code(), Some(0));
    let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warnings.contains("late.json has no counterpart"), "{warnings}");
    assert_eq!(table(&place.path().join("report/ranks.csv")).len(), 3);
}

#[test]
fn every_format_goes_to_stdout() {
    let place = fleet();
    let out = |format: &str| {
        let output = diff(&place, &["--format", format]);
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let json: Value = serde_json::from_str(&out("json")).expect("JSON");
    assert_eq!(json[1]["collective_wait_us_trace2"], 0.0);
    assert_eq!(json[0]["straggler_trace2"], Value::Null);
    let file = fs::read_to_string(place.path().join("report/ranks.csv")).expect("the table");
    assert_eq!(out("csv"), file);
    assert!(out("md").starts_with("| rank |"));
}

#[test]
fn folders_without_matching_ranks_are_an_error() {
    let place = tempfile::tempdir().expect("a temporary folder");
    for (folder, name) in [("a", "one.json"), ("b", "two.json")] {
        fs::create_dir(place.path().join(folder)).expect("a folder");
        let text = TraceBuilder::cuda().thread("main", |t| t.leaf("aten::mm")).json();
        fs::write(place.path().join(folder).join(name), text).expect("a trace");
    }
    let output = diff(&place, &[]);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("has a counterpart in b"), "{errors}");
    fs::remove_file(place.path().join("b/two.json")).expect("the trace");
    let errors = String::from_utf8_lossy(&diff(&place, &[]).stderr).into_owned();
    assert!(errors.contains("b is an empty folder"), "{errors}");
}

#[test]
fn options_of_diff_apply_to_each_rank() {
    let place = fleet();
    assert_eq!(diff(&place, &["--fail-on", "1us"]).status.code(), Some(0));
    assert_eq!(diff(&place, &["--steps", "0..2"]).status.code(), Some(2));
    assert_eq!(diff(&place, &["--strict-comparability"]).status.code(), Some(0));
}

#[test]
fn the_last_rank_of_each_collective_of_a_real_training_step_is_reported() {
    let Some(one) = crate::support::traces::real("ranks/dlrm.v100/rank_0.json.gz") else { return };
    let folder = one.parent().expect("the folder of the ranks").to_path_buf();
    let place = tempfile::tempdir().expect("a temporary folder");
    let output = tracetree()
        .args(["diff", "-o"])
        .arg(place.path().join("report"))
        .args(["--emit", "none"])
        .args([&folder, &folder])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = table(&place.path().join("report/ranks.csv"));
    let last: Vec<&str> = rows.iter().map(|row| row["last_in_trace1"].as_str()).collect();
    // The times for the fifth collective are close to each other: 86 us on rank 7 and 95 us on rank 4.
    assert_eq!(last[7], "#0-#4", "{last:?}");
    assert!(last[..4].iter().all(|text| text.is_empty()) && last[6].is_empty(), "{last:?}");
    assert_eq!(last[4..6], ["#7", "#5-#6"], "{last:?}");
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_truncated_rank_is_reported_on_the_screen_and_in_the_table() {
    let place = fleet();
    let path = place.path().join("b/host6_b.json");
    let text = fs::read_to_string(&path).expect("a trace");
    fs::write(&path, &text[..text.len() * 2 / 3]).expect("a trace that is cut off");
    let output = diff(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let line = shown(&output).lines().find(|line| line.contains("TRUNCATED")).map(str::to_owned);
    assert!(line.is_some_and(|line| line.contains("rank_1") && line.contains("host6_b.json")));
    let rows = table(&place.path().join("report/ranks.csv"));
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("notes_trace2"), ["", "TRUNCATED 1", ""]);
    assert_eq!(column("notes_trace1"), [""; 3]);
    assert_eq!(diff(&place, &["--strict"]).status.code(), Some(2));
}

#[test]
fn an_unrelated_file_is_reported_and_does_not_fail_the_run() {
    let place = fleet();
    fs::write(place.path().join("a/config.json"), r#"{"lr": 0.1}"#).expect("a file");
    let output = diff(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(
        shown(&output).contains("config.json is not a trace and is ignored"),
        "{}",
        shown(&output)
    );
    assert_eq!(table(&place.path().join("report/ranks.csv")).len(), 3);
}

#[test]
fn matching_by_file_name_is_reported() {
    let place = fleet();
    assert!(!shown(&diff(&place, &[])).contains("matched by name"));
    for folder in ["a", "b"] {
        for (at, name) in ["one.json", "two.json"].into_iter().enumerate() {
            // Based on their content, both files come from rank 5.
            fs::write(place.path().join(folder).join(name), rank(5, 100.0 + at as f64))
                .expect("a trace");
        }
    }
    let output = diff(&place, &[]);
    assert!(shown(&output).contains("these files are matched by name"), "{}", shown(&output));
}

#[test]
fn size_limits_apply_when_ranks_are_looked_up() {
    let output = diff(&fleet(), &["--max-unpacked", "100"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(shown(&output).contains("unpacks to more than 100 bytes"), "{}", shown(&output));
}

/// Two folders with one trace per rank. On every rank, the candidate has one more `aten::relu`. On rank `r`, the
/// candidate has `added(r)` more `aten::sin` ops.
fn changed_fleet(ranks: i64, added: impl Fn(i64) -> i64) -> TempDir {
    let place = tempfile::tempdir().expect("a temporary folder");
    for folder in ["a", "b"] {
        fs::create_dir(place.path().join(folder)).expect("a folder");
        for rank in 0..ranks {
            let header = json!({"backend": "nccl", "rank": rank, "world_size": ranks});
            let trace =
                TraceBuilder::cuda().header("distributedInfo", header).thread("main", |t| {
                    t.frame("train.py(1): step", |t| {
                        t.op("aten::mm", |t| t.kernel("gemm", 100.0));
                        if folder == "b" {
                            t.frame("model.py(3): forward", |t| {
                                t.op("aten::relu", |t| t.kernel("relu", 20.0));
                            });
                        }
                    });
                    t.frame("train.py(9): check", |t| {
                        for _ in 0..if folder == "b" { added(rank) } else { 0 } {
                            t.op("aten::sin", |t| t.kernel("sin", 30.0));
                        }
                        t.op("aten::mm", |t| t.kernel("gemm", 100.0));
                    });
                });
            let name = format!("{folder}/rank{rank}.json");
            fs::write(place.path().join(name), trace.json()).expect("a trace");
        }
    }
    place
}

#[test]
fn changes_of_all_ranks_come_before_those_of_some() {
    let place = changed_fleet(4, |rank| i64::from(rank == 2));
    let output = diff(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document = fs::read_to_string(place.path().join("report/fleet.json")).expect("a document");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let findings = document["findings"].as_array().expect("findings");
    let changes: Vec<(&str, &str)> = findings
        .iter()
        .filter(|finding| finding["code"] == "CHANGE")
        .map(|finding| {
            let message = finding["message"].as_str().expect("a text");
            (finding["ranks"].as_str().expect("ranks"), message)
        })
        .collect();
    assert_eq!(changes.len(), 2, "{findings:#?}");
    assert_eq!((changes[0].0, changes[1].0), ("0-3", "2"));
    // There is a gap of about 1 µs between two kernels, so an additional kernel of 20 µs adds 21 µs.
    assert!(
        changes[0].1.contains("aten::relu") && changes[0].1.contains("+0.021 ms"),
        "{changes:?}"
    );
    assert!(
        changes[1].1.contains("aten::sin") && changes[1].1.contains("+0.031 ms"),
        "{changes:?}"
    );
    assert_eq!(findings[0]["code"], "CHANGE", "what all ranks have in common comes first");
    assert_eq!(document["identical_ranks"], "");
    let other = findings.iter().find(|finding| finding["code"] == "OTHER_OPS").expect("rank 2");
    let message = other["message"].as_str().expect("a text");
    assert!(other["ranks"] == "2" && message.ends_with(": runs aten::sin"), "{other}");
    let same = fleet();
    diff(&same, &[]);
    let document = fs::read_to_string(same.path().join("report/fleet.json")).expect("a document");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["identical_ranks"], "0-2");
}

#[test]
fn another_device_is_the_headline_and_comes_before_changes() {
    let place = tempfile::tempdir().expect("a temporary folder");
    for (folder, trace) in [("a", "resnet.rocm.json.gz"), ("b", "resnet.cuda.json.gz")] {
        fs::create_dir(place.path().join(folder)).expect("a folder");
        for rank in 0..2 {
            let name = format!("{folder}/rank_{rank}.json.gz");
            fs::copy(example(trace), place.path().join(name)).expect("a copy");
        }
    }
    let output = diff(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("The environment differs on 2 ranks"), "{text}");
    let codes: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| ["ENVIRONMENT", "CHANGE"].contains(word))
        .collect();
    assert!(codes.starts_with(&["ENVIRONMENT"]) && codes.is_sorted_by(|a, b| a >= b), "{text}");
    assert!(text.contains("Software: libraries and kernels of the H100"), "{text}");
    let document = fs::read_to_string(place.path().join("report/fleet.json")).expect("a document");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let classes = document["classes"].as_array().expect("classes");
    let convolution =
        classes.iter().find(|class| class["class"] == "convolution").expect("convolutions");
    assert_eq!(convolution["ranks"], 2);
    // Both ranks are copies of one pair, so the means are the sums over the rows of its own table.
    let report = place.path().join("one");
    let mut command = tracetree();
    command.args(["diff", "a/rank_0.json.gz", "b/rank_0.json.gz", "-q", "-o", "one"]);
    let output = command.current_dir(place.path()).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let table = fs::read_to_string(report.join("porting.csv")).expect("a table");
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let titles = rows.headers().expect("titles").clone();
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("a row")).collect();
    let sum = |class: &str, column: &str| -> f64 {
        let at = |title: &str| titles.iter().position(|known| known == title).expect("a column");
        let of_class = rows.iter().filter(|row| &row[at("class")] == class);
        of_class.map(|row| row[at(column)].parse::<f64>().unwrap_or(0.0)).sum()
    };
    for class in classes {
        let name = class["class"].as_str().expect("a name");
        // The recordings have three steps; times are sums over them, and the parts of the difference are per step.
        for (field, column, steps) in [
            (&class["baseline_us"], "kernel_us_trace1", 3.0),
            (&class["candidate_us"], "kernel_us_trace2", 3.0),
            (&class["hardware_us"], "hardware_us", 1.0),
            (&class["software_us"], "software_us", 1.0),
        ] {
            let found = field.as_f64().expect("a number");
            let expected = sum(name, column) / steps;
            assert!((found - expected).abs() < 0.1, "{name} {column}: {found} or {expected}");
        }
    }
    assert!(text.contains("GPU ms per step (mean of 2 ranks)"), "{text}");
}

#[test]
fn changes_of_every_eighth_rank_name_the_pattern_and_counts_are_a_range() {
    let place =
        changed_fleet(48, |rank| if [0, 3].contains(&(rank % 8)) { 30 + rank % 3 } else { 0 });
    let output = diff(&place, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let document = fs::read_to_string(place.path().join("report/fleet.json")).expect("a document");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let findings = document["findings"].as_array().expect("findings");
    let of_some = |finding: &&Value| finding["code"] == "CHANGE" && finding["count"] != 48;
    let of_some: Vec<&Value> = findings.iter().filter(of_some).collect();
    assert_eq!(of_some.len(), 1, "{findings:#?}");
    assert_eq!(of_some[0]["ranks"], "≡ 0, 3 mod 8 (12 ranks)");
    let message = of_some[0]["message"].as_str().expect("a text");
    assert!(message.contains("30–32 ×") && message.contains("aten::sin"), "{message}");
    let rows = document["bill"].as_array().expect("a bill");
    let list = "0 3 8 11 16 19 24 27 32 35 40 43";
    assert!(rows.iter().any(|row| row["rank_list"] == list), "the list is complete: {rows:#?}");
}
