//! Tests for the files in a report folder: their columns and contents, and which earlier files are kept.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::phenomena::Phenomenon;
use crate::support::trace_builder::TraceBuilder;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tracetree::diff::{Confidence, Relation, UidPair};
use tracetree::report::{CsvTexts, Report, ReportOptions, SCHEMA_VERSION, read_uid_map};
use tracetree::trace::Uid;
use tracetree::{ErrorKind, PerSide};

/// The files that are in every report.
pub(crate) const FILES: [&str; 9] = [
    "cpu_op_map.json",
    "diff_stats.csv",
    "diff_stats_kernels.csv",
    "diff_stats_names_summary.csv",
    "diff_stats_unique_args_summary.csv",
    "lag.svg",
    "merged_tree_output.txt",
    "summary.json",
    "uid_map.csv",
];

/// The report for a phenomenon, in a folder that is removed when this value is dropped.
fn report(phenomenon: &str) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    compare_files(Phenomenon::of(phenomenon).files(), |analysis| {
        Report::new(analysis.clone()).write(folder.path()).expect("a writable folder");
    });
    folder
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

fn text(folder: &TempDir, file: &str) -> String {
    fs::read_to_string(folder.path().join(file)).expect("a file of the report")
}

/// The rows in a table, each as a map from column to cell.
fn table(folder: &TempDir, file: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.path().join(file)).expect("a table");
    reader.deserialize().map(|row| row.expect("a row with all columns")).collect()
}

fn json(folder: &TempDir, file: &str) -> Value {
    serde_json::from_str(&text(folder, file)).expect("JSON")
}

#[test]
fn the_folder_contains_the_files_and_nothing_else() {
    let found = names(report("bias_add").path());
    for file in FILES {
        assert!(found.contains(file), "{file}");
    }
    assert!(found.iter().all(|name| !name.ends_with(".partial")), "{found:?}");
}

#[test]
fn the_names_summary_keeps_its_header_and_its_figures() {
    let folder = report("bias_add");
    let expected = "\
name,row_count,kernel_time_trace1_sum_ms,kernel_time_trace2_sum_ms,diff_sum_ms,abs_diff_sum_ms
aten::_convolution,1,0.040000,0.090000,0.050000,0.050000
aten::add_,1,0.006000,0.004000,-0.002000,0.002000
";
    assert_eq!(text(&folder, "diff_stats_names_summary.csv"), expected);
}

#[test]
fn a_row_of_diff_stats_shows_both_sides() {
    let rows = table(&report("bias_add"), "diff_stats.csv");
    let row = &rows[0];
    let expected = [
        ("name", "aten::_convolution"),
        ("kernel_time_trace1", "40.000"),
        ("kernel_time_trace2", "90.000"),
        ("busy_time_trace1", "40.000"),
        ("busy_time_trace2", "90.000"),
        ("kernel_names_trace1", r#"["igemm_fwd_gtcx3_nhwc_bf16"]"#),
        ("kernel_names_trace2", r#"["sm90_xmma_fprop_implicit_gemm_bf16"]"#),
        ("input_shape_trace1", "[[8, 3, 32, 32], [64, 3, 7, 7], [64]]"),
        ("diff", "50.000"),
        ("ratio", "2.250000"),
        ("presence", "both"),
        ("nn_module", "Conv2d_0"),
        ("lowest_common_ancestor_name", "aten::_convolution"),
    ];
    for (column, cell) in expected {
        assert_eq!(row[column], cell, "{column}");
    }
    let line = row["lowest_common_ancestor_id"].parse::<usize>().expect("an id");
    let tree = text(&report("bias_add"), "merged_tree_output.txt");
    assert!(tree.lines().nth(line).is_some_and(|line| line.ends_with("aten::_convolution")));
}

#[test]
fn the_first_columns_are_those_that_tracelens_wrote() {
    let folder = report("rename");
    let header = |file| text(&folder, file).lines().next().map(str::to_owned).unwrap_or_default();
    assert!(header("diff_stats.csv").starts_with(
        "name,input_shape_trace1,input_shape_trace2,concrete_inputs_trace1,concrete_inputs_trace2,\
         input_strides_trace1,input_strides_trace2,input_type_trace1,input_type_trace2,\
         kernel_time_trace1,kernel_time_trace2,kernel_names_trace1,kernel_names_trace2"
    ));
    assert!(header("diff_stats_kernels.csv").starts_with(
        "name,cpu_op_name,cpu_op_uid,source,Input Dims,Input Strides,Input type,Concrete Inputs,\
         kernel_time,busy_time,lowest_common_ancestor_name,lowest_common_ancestor_id,gpu_op_uid,\
         nn_module_stack,nn_module_parent"
    ));
    assert_eq!(header("uid_map.csv"), "uid1,uid2,relation,region,confidence,group");
}

#[test]
fn every_gpu_event_has_one_line_in_the_kernel_table() {
    let rows = table(&report("unlinked_gpu_events"), "diff_stats_kernels.csv");
    let events: BTreeSet<(&str, &str)> =
        rows.iter().map(|row| (row["source"].as_str(), row["gpu_op_uid"].as_str())).collect();
    assert_eq!((rows.len(), events.len()), (6, 6));
    let unlinked = rows.iter().filter(|row| row["cpu_op_name"].is_empty());
    assert!(unlinked.clone().all(|row| row["cpu_op_uid"] == "-1"));
    assert_eq!(unlinked.count(), 4);
}

#[test]
fn the_uid_map_is_read_back_as_it_was_written() {
    let folder = report("moved_neighbours");
    let map = read_uid_map(folder.path()).expect("a uid map");
    assert_eq!(map.len(), text(&folder, "uid_map.csv").lines().count() - 1);
    assert!(map.iter().any(|pair| pair.relation == Relation::Moved));
    let first = UidPair {
        baseline: Some(Uid(0)),
        candidate: Some(Uid(0)),
        relation: Relation::Same,
        confidence: Some(Confidence::Firm),
        region: None,
    };
    assert_eq!(map[0], first);
}

#[test]
fn the_lowering_dictionary_names_ops_and_kernels() {
    let map = json(&report("bias_add"), "cpu_op_map.json");
    let convolution = &map["aten::_convolution"];
    assert_eq!(convolution["row_count"], 1);
    assert_eq!(convolution["trace1"]["ops"][0]["name"], "aten::miopen_convolution");
    assert_eq!(convolution["trace2"]["kernels"][0]["time_us"], 90.0);
}

#[test]
fn the_summary_has_a_version_and_exact_totals() {
    let summary = json(&report("unlinked_gpu_events"), "summary.json");
    assert_eq!(summary["schema_version"], SCHEMA_VERSION);
    assert_eq!(summary["account_is_exact"], true);
    assert_eq!(summary["trace1"]["kernel_time_us"], 93.0);
    assert_eq!(summary["trace1"]["row_sum_us"], summary["trace1"]["kernel_time_us"]);
    assert_eq!(summary["trace1"]["unlinked_us"], 88.0);
    assert_eq!(summary["gpu_time_difference_us"], -58.0);
    assert_eq!(summary["gpu_time_ratio"], 35.0 / 93.0);
    // The plain names are the figures of the headline.
    let step = |side: &str| summary["wall"][side]["step_wall_us"].as_f64().expect("a time");
    assert_eq!(summary["ratio"], step("trace2") / step("trace1"));
    assert_eq!(summary["difference_us"], summary["wall"]["step_difference_us"]);
    assert_eq!(summary["notes"][0]["code"], "LAUNCH_NOT_CAPTURED");
}

/// A trace of one step with 4 tokens. The step has one op whose kernels have the durations `times`, and for each name
/// in `alone`, an additional op with one kernel.
fn batch(times: &[f64], alone: &[&str]) -> String {
    let builder = TraceBuilder::cuda().thread("main", |t| {
        t.annotation("step[DECODE bs=4]", |t| {
            t.op("aten::mm", |t| times.iter().for_each(|&micros| t.kernel("gemm", micros)));
            for name in alone {
                t.op(*name, |t| t.kernel("alone", 7.0));
            }
        });
    });
    builder.json()
}

#[test]
fn figures_are_on_their_own_side_and_differences_are_candidate_minus_baseline() {
    let folder = TempDir::new().expect("a temporary folder");
    let texts = PerSide::new(batch(&[10.0], &[]), batch(&[20.0, 5.0, 1.0], &["aten::clamp"]));
    compare_texts(&texts, |analysis| {
        Report::new(analysis.clone()).write(folder.path()).expect("a writable folder");
    });
    let summary = json(&folder, "summary.json");
    let parts = |side: &str| {
        ["kernel_time_us", "paired_us", "one_sided_us", "unlinked_us"]
            .map(|part| summary[side][part].as_f64().expect("a time"))
    };
    assert_eq!(parts("trace1"), [10.0, 10.0, 0.0, 0.0]);
    assert_eq!(parts("trace2"), [33.0, 26.0, 7.0, 0.0]);
    let largest = &summary["largest_differences"][0];
    assert_eq!((&largest["name"], &largest["difference_us"]), (&"aten::mm".into(), &16.0.into()));
    assert_eq!((&largest["events_trace1"], &largest["events_trace2"]), (&1.into(), &3.into()));
    let steps = table(&folder, "steps.csv");
    let expected = [
        ("kernel_us_per_step_trace1", "10.000"),
        ("kernel_us_per_step_trace2", "33.000"),
        ("kernel_us_per_step_diff", "23.000"),
        ("kernel_us_per_token_trace1", "2.500"),
        ("kernel_us_per_token_trace2", "8.250"),
        ("kernel_us_per_token_diff", "5.750"),
    ];
    for (column, cell) in expected {
        assert_eq!(steps[0][column], cell, "{column}");
    }
}

#[test]
fn an_undefined_ratio_is_empty() {
    let rows = table(&report("nothing_in_common"), "diff_stats.csv");
    let alone = rows.iter().find(|row| row["name"] == "aten::nan_to_num").expect("a row");
    assert_eq!((alone["ratio"].as_str(), alone["presence"].as_str()), ("", "trace2_only"));
    assert_eq!(alone["uid1"], "-1");
}

#[test]
fn foreign_files_are_kept_and_old_ones_replaced() {
    let folder = TempDir::new().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("notes.txt"), "mine").expect("a file");
    compare_files(Phenomenon::of("rename").files(), |analysis| {
        let report = Report::new(analysis.clone());
        report.write(folder.path()).expect("a writable folder");
        let first = json(&folder, "manifest.json");
        fs::write(at("summary.json"), "{}").expect("a file");
        report.write(folder.path()).expect("a folder with an older report");
        assert_eq!(json(&folder, "manifest.json"), first);
    });
    assert_eq!(text(&folder, "notes.txt"), "mine");
    assert!(json(&folder, "summary.json")["schema_version"].is_number());
}

#[test]
fn a_file_in_the_way_stays_and_no_other_file_is_left() {
    let parent = TempDir::new().expect("a temporary folder");
    let target = parent.path().join("report");
    fs::write(&target, "mine").expect("a file");
    let error = compare_files(Phenomenon::of("rename").files(), |analysis| {
        Report::new(analysis.clone()).write(&target).expect_err("a file is in the way")
    });
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(fs::read_to_string(&target).expect("the file"), "mine");
    assert_eq!(names(parent.path()), BTreeSet::from(["report".to_owned()]));
}

/// The linked folder behaves like a mounted folder: files cannot be moved into it by renaming.
#[cfg(target_os = "linux")]
#[test]
fn a_report_can_be_written_to_a_linked_folder_on_another_file_system() {
    let here = TempDir::new().expect("a temporary folder");
    let elsewhere = TempDir::new_in("/dev/shm").expect("a folder in memory");
    let link = here.path().join("report");
    std::os::unix::fs::symlink(elsewhere.path(), &link).expect("a link");
    for _ in 0..2 {
        compare_files(Phenomenon::of("rename").files(), |analysis| {
            Report::new(analysis.clone()).write(&link).expect("a writable folder");
        });
        assert!(json(&elsewhere, "summary.json").is_object());
        assert!(names(elsewhere.path()).iter().all(|name| !name.starts_with('.')));
    }
    assert_eq!(names(here.path()), BTreeSet::from(["report".to_owned()]));
}

#[test]
fn a_folder_in_the_way_of_a_file_is_reported_before_anything_is_replaced() {
    let folder = TempDir::new().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("merged_tree_output.txt"), "old").expect("a file");
    fs::create_dir_all(at("uid_map.csv").join("mine")).expect("a folder");
    let error = compare_files(Phenomenon::of("rename").files(), |analysis| {
        Report::new(analysis.clone()).write(folder.path()).expect_err("a folder is in the way")
    });
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(at("uid_map.csv").join("mine").is_dir());
    assert_eq!(text(&folder, "merged_tree_output.txt"), "old");
    assert_eq!(names(folder.path()).len(), 2);
}

#[test]
fn commas_quotes_and_line_ends_in_names_survive_the_tables() {
    let odd = "a \"b\", c\nd<script>";
    let program =
        || TraceBuilder::cuda().thread("main", |t| t.op(odd, |t| t.kernel(odd, 5.0))).json();
    let folder = TempDir::new().expect("a temporary folder");
    let options = ReportOptions { csv_texts: CsvTexts::AsTheyAre, ..ReportOptions::default() };
    compare_texts(&PerSide::new(program(), program()), |analysis| {
        let report = Report::with_options(analysis.clone(), options.clone());
        report.write(folder.path()).expect("a writable folder");
    });
    let rows = table(&folder, "diff_stats.csv");
    assert_eq!(rows[0]["name"], odd);
    let kernels: Vec<String> =
        serde_json::from_str(&rows[0]["kernel_names_trace1"]).expect("a list of names");
    assert_eq!(kernels, [odd]);
    assert_eq!(text(&folder, "merged_tree_output.txt").lines().count(), 4);
}

#[test]
fn text_that_a_spreadsheet_would_evaluate_gets_an_apostrophe_unless_raw_is_requested() {
    let trace = |name: &str| {
        let trace = crate::support::trace_builder::TraceBuilder::cuda()
            .thread("main", |t| {
                t.op(name, |t| t.kernel("+kernel", 5.0));
                t.op("aten::add", |t| t.kernel("add", 5.0));
            })
            .json();
        tracetree::CallTree::build(
            tracetree::Trace::from_reader("t", trace.as_bytes(), &Default::default())
                .expect("a trace"),
        )
    };
    let diff = tracetree::TraceDiff::new(trace("=1+1"), trace("=1+1"));
    let analysis = std::sync::Arc::new(tracetree::Analysis::new(diff));
    for (csv_texts, name, kernel) in
        [(CsvTexts::AsTheyAre, "=1+1", "+kernel"), (CsvTexts::ForSpreadsheets, "'=1+1", "'+kernel")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let options = ReportOptions { csv_texts, ..ReportOptions::default() };
        Report::with_options(analysis.clone(), options).write(folder.path()).expect("a report");
        let names = |file: &str, column: &str| -> Vec<String> {
            table(&folder, file).iter().map(|row| row[column].clone()).collect()
        };
        assert!(names("diff_stats_names_summary.csv", "name").contains(&name.to_owned()));
        assert!(names("kernels.csv", "kernel").contains(&kernel.to_owned()));
        assert_eq!(ReportOptions::default().csv_texts, CsvTexts::ForSpreadsheets);
        let differences = names("diff_stats_names_summary.csv", "diff_sum_ms");
        assert!(differences.iter().all(|number| number.parse::<f64>().is_ok()), "{differences:?}");
    }
}

/// A trace whose ops are nested `depth` levels deep.
fn deep(depth: usize) -> String {
    let op = |at: usize| {
        format!(
            r#"{{"ph":"X","cat":"cpu_op","name":"op{at}","pid":1,"tid":1,"ts":{at},"dur":{}}}"#,
            2 * (depth - at) + 1
        )
    };
    let ops: Vec<String> = (0..depth).map(op).collect();
    format!(r#"{{"traceEvents":[{}]}}"#, ops.join(","))
}

#[test]
fn files_do_not_grow_with_the_square_of_the_depth() {
    use tracetree::report::Emit;
    let trace = || {
        let text = deep(4_000);
        tracetree::CallTree::build(
            tracetree::Trace::from_reader("t", text.as_bytes(), &Default::default())
                .expect("a trace"),
        )
    };
    let analysis = tracetree::Analysis::new(tracetree::TraceDiff::new(trace(), trace()));
    let folder = tempfile::tempdir().expect("a folder");
    let options = ReportOptions { emits: vec![Emit::Flamegraph], ..ReportOptions::default() };
    Report::with_options(analysis, options).write(folder.path()).expect("a report");
    let size = |file: &str| std::fs::metadata(folder.path().join(file)).expect("a file").len();
    assert!(size("merged_tree_output.txt") < 4_000 * 700, "{}", size("merged_tree_output.txt"));
    assert!(size("folded.txt") < 4_000 * 2_500, "{}", size("folded.txt"));
    let tree = text(&folder, "merged_tree_output.txt");
    assert!(tree.lines().count() > 4_000);
    let said = tree.lines().filter(|line| line.contains("deeper calls are not indented further"));
    assert_eq!(said.count(), 1);
}

/// Twelve steps with three layers each. In the candidate, one layer of the fifth step has one more op.
fn steps(is_changed: bool) -> String {
    TraceBuilder::cuda()
        .thread("main", |t| {
            for step in 0..12 {
                t.step(step, |t| {
                    for layer in 0..3 {
                        t.module(&format!("Block_{layer}"), |t| {
                            t.op("aten::mm", |t| t.kernel("gemm", 100.0));
                            if is_changed && step == 4 && layer == 1 {
                                t.op("aten::relu", |t| t.kernel("relu", 20.0));
                            }
                        });
                    }
                    t.op("aten::add", |t| t.kernel("add", 10.0));
                });
            }
        })
        .json()
}

#[test]
fn a_large_tree_draws_equal_siblings_once_and_all_differences() {
    let folder = TempDir::new().expect("a temporary folder");
    compare_texts(&PerSide::new(steps(false), steps(true)), |analysis| {
        for (name, full_tree_nodes) in [("folded", 10), ("full", 100_000)] {
            let options = ReportOptions { full_tree_nodes, ..ReportOptions::default() };
            let report = Report::with_options(analysis.clone(), options);
            report.write(folder.path().join(name)).expect("a writable folder");
        }
    });
    let full = text(&folder, "full/merged_tree_output.txt");
    let folded = text(&folder, "folded/merged_tree_output.txt");
    let full: Vec<&str> = full.lines().collect();
    // For each line in the folded file, the full file has an equal line for the same node, except for the counts and
    // the position.
    let mut counts = Vec::new();
    for line in folded.lines() {
        let (drawn, id) =
            line.strip_suffix(']').and_then(|line| line.rsplit_once(" [")).expect("an id");
        let (drawn, step) = drawn.split_once(" (step of ").unwrap_or((drawn, ""));
        let (drawn, count) = drawn.split_once(" × ").unwrap_or((drawn, "1"));
        let name = drawn.trim_start_matches(['│', ' ', '├', '└', '─']);
        assert!(full[id.parse::<usize>().expect("a number")].ends_with(name), "{line}");
        if count != "1" {
            counts.push((name.split(['#', '_']).next().unwrap_or_default(), count, step));
        }
    }
    let expected = ["4 calls × 4)", "4 calls × 7)"].map(|step| ("nn.Module: Block", "3", step));
    assert_eq!(counts, expected, "{folded}");
    let only =
        |lines: &[&str]| lines.iter().filter(|line| line.contains("<< trace2: aten::relu")).count();
    assert_eq!((only(&full), only(&folded.lines().collect::<Vec<_>>())), (1, 1));
    // In the full file, each of the eleven steps without differences has 15 lines. The folded file contains only two of
    // these steps. In both, it omits two layers with four lines each.
    assert_eq!(folded.lines().count(), full.len() - 9 * 15 - 2 * 2 * 4, "{folded}");
    let calls: Vec<&str> = folded.lines().filter(|line| line.starts_with(['├', '└'])).collect();
    let (last, others) = calls.split_last().expect("calls");
    assert!(last.starts_with("└── aten::add"), "{folded}");
    assert!(others.iter().all(|line| line.starts_with("├── ")), "{folded}");
}

#[test]
fn only_steps_with_the_same_calls_in_the_same_order_are_drawn_once() {
    let folder = TempDir::new().expect("a temporary folder");
    let order = |step: u32| if step.is_multiple_of(2) { ["mm", "add"] } else { ["add", "mm"] };
    let trace = TraceBuilder::cuda()
        .thread("main", |t| {
            for step in 0..6 {
                t.step(step, |t| {
                    for name in order(step) {
                        t.op(format!("aten::{name}").as_str(), |t| t.kernel(name, 10.0));
                    }
                });
            }
        })
        .json();
    compare_texts(&PerSide::new(trace.clone(), trace), |analysis| {
        let options = ReportOptions { full_tree_nodes: 10, ..ReportOptions::default() };
        let report = Report::with_options(analysis.clone(), options);
        report.write(folder.path()).expect("a writable folder");
    });
    let drawn = text(&folder, "merged_tree_output.txt");
    assert!(!drawn.contains("step of"), "{drawn}");
    // The last op of a step and the first op of the next step have the same name.
    assert_eq!(drawn.matches("aten::add × 2 [").count(), 3, "{drawn}");
    assert_eq!(drawn.matches("aten::mm × 2 [").count(), 2, "{drawn}");
}

#[test]
fn many_gpu_events_are_grouped_without_losing_any_of_their_time() {
    let folder = TempDir::new().expect("a temporary folder");
    compare_texts(&PerSide::new(steps(false), steps(true)), |analysis| {
        for (name, instance_rows) in [("grouped", 10), ("full", 100_000)] {
            let options = ReportOptions { instance_rows, ..ReportOptions::default() };
            let report = Report::with_options(analysis.clone(), options);
            assert_eq!(report.has_grouped_events(), name == "grouped");
            report.write(folder.path().join(name)).expect("a writable folder");
        }
    });
    let table = |name: &str| {
        let path = folder.path().join(name).join("diff_stats_kernels.csv");
        let mut reader = csv::Reader::from_path(path).expect("a table");
        let rows = reader.deserialize().map(|row| row.expect("a row"));
        rows.collect::<Vec<BTreeMap<String, String>>>()
    };
    // For each group: the number of events, the sum of their kernel times in ns, and the sum of their busy times in ns.
    let groups = |rows: &[BTreeMap<String, String>]| {
        let mut groups: BTreeMap<Vec<String>, (u64, u64, u64)> = BTreeMap::new();
        for row in rows {
            let equal =
                ["source", "name", "cpu_op_name", "nn_module_stack", "lowest_common_ancestor_name"];
            let nanos =
                |column: &str| (row[column].parse::<f64>().expect("a time") * 1e3).round() as u64;
            let group = groups.entry(equal.map(|column| row[column].clone()).to_vec()).or_default();
            group.0 += row.get("events").map_or(1, |count| count.parse().expect("a number"));
            group.1 += nanos("kernel_time");
            group.2 += nanos("busy_time");
        }
        groups
    };
    let (grouped, full) = (table("grouped"), table("full"));
    assert_eq!(groups(&grouped), groups(&full));
    assert_eq!(grouped.len(), groups(&full).len());
    assert!(full.len() > 5 * grouped.len(), "{} and {} rows", full.len(), grouped.len());
}
