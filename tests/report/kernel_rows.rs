//! Tests that joining `diff_stats_kernels.csv` and `diff_stats.csv` by `row_id` finds the right row for each event.

use crate::support::root;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use tracetree::report::{Emit, ReportOptions};
use tracetree::{Comparison, ComparisonOptions};

/// The rows in a table as maps from column to cell.
fn rows(folder: &Path, name: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join(name)).expect("a table");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn nanos(micros: &str) -> i64 {
    let micros: f64 = micros.parse().unwrap_or_default();
    (1e3 * micros).round() as i64
}

/// Writes the tables for two traces into a new folder.
fn report_of(baseline: &Path, candidate: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ReportOptions { emits: Vec::<Emit>::new(), ..ReportOptions::default() };
    Comparison::open(baseline, candidate, &ComparisonOptions::default())
        .expect("two traces")
        .report(options)
        .write(folder.path().join("report"))
        .expect("a report");
    folder
}

fn check(baseline: &Path, candidate: &Path) -> (usize, usize) {
    let folder = report_of(baseline, candidate);
    let report = folder.path().join("report");
    let (all, kernels) = (rows(&report, "diff_stats.csv"), rows(&report, "diff_stats_kernels.csv"));
    let mut sums: HashMap<(String, String), i64> = HashMap::new();
    let mut by_op = 0;
    for kernel in &kernels {
        let id: usize = kernel["row_id"].parse().expect("a row");
        let row = all.get(id).unwrap_or_else(|| panic!("no row {id}"));
        assert_eq!(row["lowest_common_ancestor_id"], kernel["lowest_common_ancestor_id"]);
        let uid = if kernel["source"] == "trace1" { "uid1" } else { "uid2" };
        by_op += usize::from(row[uid] != kernel["cpu_op_uid"]);
        for column in ["start_us", "stream", "phase", "category"] {
            assert!(!kernel[column].is_empty(), "no {column} in {kernel:?}");
        }
        *sums.entry((kernel["row_id"].clone(), kernel["source"].clone())).or_default() +=
            nanos(&kernel["kernel_time"]);
    }
    for row in &all {
        for source in ["trace1", "trace2"] {
            let sum = sums.get(&(row["row_id"].clone(), source.to_owned())).copied();
            let shown = nanos(&row[&format!("kernel_time_{source}")]);
            assert_eq!(sum.unwrap_or_default(), shown, "row {} of {source}", row["row_id"]);
        }
    }
    (kernels.len(), by_op)
}

#[test]
fn every_kernel_has_its_row_and_rows_add_up() {
    let (kernels, _) = check(
        &root().join("examples/traces/resnet.rocm.json.gz"),
        &root().join("examples/traces/resnet.cuda.json.gz"),
    );
    assert_eq!(kernels, 1_065 + 1_023);
}

#[test]
fn in_a_compiled_pair_every_kernel_has_a_row_although_the_op_above_often_is_not_that_row() {
    let path = |name: &str| crate::support::traces::real(&format!("training/{name}.json.gz"));
    let (Some(eager), Some(compiled)) = (path("eager.a100"), path("compiled_graphs.v100")) else {
        return;
    };
    let (kernels, by_op) = check(&eager, &compiled);
    assert_eq!(kernels, 25_082);
    assert!(by_op > 10_000, "{by_op}: the op alone would do");
}

/// The events of a kernel whose launch is inside the given number of nested modules.
fn nested_modules(count: usize) -> Value {
    let event = |category, name: &str, tid, begin: usize, length, args| {
        json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid,
               "ts": 100 + begin, "dur": length, "args": args})
    };
    let module = |number: usize| {
        let name = format!("nn.Module: Block_{number}");
        event("python_function", &name, 1, number, 1_000 - 2 * number, json!({}))
    };
    let mut events: Vec<Value> = (0..count).map(module).collect();
    let launched = json!({"correlation": 1});
    events.push(event("cpu_op", "aten::mul", 1, 400, 20, json!({})));
    events.push(event("cuda_runtime", "cudaLaunchKernel", 1, 405, 5, launched.clone()));
    events.push(event("kernel", "multiply", 7, 410, 5, launched));
    json!({"traceEvents": events})
}

#[test]
fn a_kernel_lists_its_innermost_64_modules_and_says_that_outer_ones_are_omitted() {
    for (count, listed) in [(64, 64), (65, 65), (200, 65)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("trace.json");
        std::fs::write(&path, nested_modules(count).to_string()).expect("a trace");
        let folder = report_of(&path, &path);
        let kernels = rows(&folder.path().join("report"), "diff_stats_kernels.csv");
        let stack: Vec<String> = {
            let cell = kernels[0]["nn_module_stack"].replace('\'', "\"");
            serde_json::from_str(&cell).expect("a list of names")
        };
        assert_eq!(stack.len(), listed, "{count} modules");
        assert_eq!(stack[0] == "(outer modules omitted)", count > 64, "{count} modules");
        assert_eq!(stack[listed - 1], format!("nn.Module: Block_{}", count - 1));
    }
}
