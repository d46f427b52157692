//! `diff_stats_kernels.csv` and `diff_stats.csv` join by `row_id`, event by event, whatever stands between.

use std::collections::HashMap;
use std::path::Path;
use tracetree::report::{Emit, ReportOptions};
use tracetree::{Comparison, ComparisonOptions};

/// The rows of a table as maps of its columns.
fn rows(folder: &Path, name: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join(name)).expect("a table");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn nanos(micros: &str) -> i64 {
    let micros: f64 = micros.parse().unwrap_or_default();
    (1e3 * micros).round() as i64
}

fn check(baseline: &Path, candidate: &Path) -> (usize, usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ReportOptions { emits: Vec::<Emit>::new(), ..ReportOptions::default() };
    Comparison::open(baseline, candidate, &ComparisonOptions::default())
        .expect("two traces")
        .report(options)
        .write(folder.path().join("report"))
        .expect("a report");
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
            let told = nanos(&row[&format!("kernel_time_{source}")]);
            assert_eq!(sum.unwrap_or_default(), told, "row {} of {source}", row["row_id"]);
        }
    }
    (kernels.len(), by_op)
}

#[test]
fn every_kernel_has_its_row_and_rows_add_up() {
    let (kernels, _) = check(
        Path::new("examples/traces/resnet.rocm.json.gz"),
        Path::new("examples/traces/resnet.cuda.json.gz"),
    );
    assert_eq!(kernels, 1_065 + 1_023);
}

#[test]
fn of_a_compiled_pair_none_is_left_over_though_the_op_above_is_often_not_the_row() {
    let path = |name: &str| crate::support::traces::real(&format!("training/{name}.json.gz"));
    let (Some(eager), Some(compiled)) = (path("eager.a100"), path("compiled_graphs.v100")) else {
        return;
    };
    let (kernels, by_op) = check(&eager, &compiled);
    assert_eq!(kernels, 25_082);
    assert!(by_op > 10_000, "{by_op}: the op alone would do");
}
