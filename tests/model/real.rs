//! Tests for `model-diff` on real files: a trace written by TensorCast, and profiles written by the Ascend profiler.
//!
//! The tests need `TRACETREE_TRACES`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::support::traces::real;
use serde_json::Value;
use tracetree::trace::Nanos;
use tracetree_model::{ModelComparison, OpMapping, Profile, Row, Scenario};

fn files() -> Option<PathBuf> {
    real("model")
}

fn prefill(folder: &std::path::Path) -> ModelComparison {
    let mut scenario = Scenario::new(
        folder.join("qwen3_pf.model_trace.json.gz"),
        folder.join("qwen3_pf.kernel_details.csv.gz"),
    );
    scenario.op_mapping = Some(folder.join("op_mapping.yaml"));
    scenario.compare().expect("real files")
}

/// Whether two values agree, given that the reference value is rounded to one decimal.
fn agree(ours: Option<f64>, reference: &Value) -> bool {
    let (Some(ours), Some(reference)) = (ours, reference.as_f64()) else { return false };
    (ours - reference).abs() < 0.051
}

fn assert_row(row: &Row, reference: &Value) {
    let context = format!("{row:?}\n{reference}");
    assert_eq!(reference["kernel_type"], row.kernel_type.as_str(), "{context}");
    assert_eq!(reference["tc_funcs"], row.model_ops.join(", "), "{context}");
    assert!(agree(Some(row.amounts.model.as_micros()), &reference["tc_total_us"]), "{context}");
    assert_eq!(reference["tc_count"], row.amounts.model_count, "{context}");
    let status = if row.status.label() == "unmodeled" { "TC未建模" } else { row.status.label() };
    assert_eq!(reference["status"], status, "{context}");
    // If the rows of a launch fall into two different microseconds, the reference counts the launch twice: it counts
    // 154 launches instead of 128.
    if row.kernel_type.as_str() == "hcom_allReduce_" {
        assert_eq!(reference["prof_count"], 154);
        return;
    }
    let profile = row.amounts.profile.as_micros();
    assert!(agree(Some(profile), &reference["prof_per_fwd_us"]), "{context}");
    assert!(agree(Some(row.amounts.profile_count), &reference["prof_count"]), "{context}");
    assert!(agree(row.amounts.error_pct(), &reference["error_pct"]), "{context}");
    assert!(agree(row.amounts.count_error_pct(), &reference["count_error_pct"]), "{context}");
}

#[test]
fn the_reference_is_reproduced_row_by_row() {
    let Some(folder) = files() else { return };
    let comparison = prefill(&folder);
    let text = std::fs::read(folder.join("qwen3_pf.expected.json")).expect("the reference");
    let expected: Vec<Value> = serde_json::from_slice(&text).expect("rows");
    assert_eq!(comparison.rows.len(), expected.len());
    for (row, reference) in comparison.rows.iter().zip(&expected) {
        assert_row(row, reference);
    }
    assert!(comparison.notes.is_empty(), "{:?}", comparison.notes);
}

#[test]
fn a_collective_of_a_real_profile_counts_once() {
    let Some(folder) = files() else { return };
    let comparison = prefill(&folder);
    let mut rows = comparison.rows.iter();
    let row = rows.find(|row| row.kernel_type.as_str() == "hcom_allReduce_").expect("the row");
    assert_eq!((row.amounts.profile_count, row.amounts.model_count), (128.0, 128));
    // The expected time is the sum over the 128 rows without a stream. The 128 rows on stream 35 have the same sum.
    assert_eq!(row.amounts.profile, Nanos(49_513_744));
    assert_eq!(row.amounts.error_pct().map(|error| (error * 10.0).round()), Some(-150.0));
    assert_eq!((comparison.profile_rows.copies, comparison.profile_rows.aicpu), (129, 129));
}

#[test]
fn the_real_mapping_lists_its_operators() {
    let Some(folder) = files() else { return };
    let mapping = OpMapping::read(folder.join("op_mapping.yaml")).expect("a mapping");
    assert_eq!(mapping.len(), 147);
}

#[test]
fn sums_of_a_real_profile_are_plain_sums_over_its_rows() {
    let Some(folder) = files() else { return };
    let path = folder.join("ascend_kernel_details_a.csv");
    let mut sums: BTreeMap<String, (f64, u64)> = BTreeMap::new();
    let mut table = csv::Reader::from_path(&path).expect("a table");
    for record in table.deserialize::<BTreeMap<String, String>>() {
        let record = record.expect("a record");
        if !record["Type"].ends_with("AicpuKernel") {
            let sum = sums.entry(record["Type"].clone()).or_default();
            sum.0 += record["Duration(us)"].parse::<f64>().expect("a number");
            sum.1 += 1;
        }
    }
    let profile = Profile::read(&path).expect("a profile");
    assert_eq!(profile.kernels.len(), sums.len());
    for (kernel_type, measured) in &profile.kernels {
        let (sum, count) = sums[kernel_type.as_str()];
        assert!(
            (measured.total.as_micros() - sum).abs() < 1e-3,
            "{kernel_type} {measured:?} {sum}"
        );
        assert_eq!(measured.count, count, "{kernel_type}");
    }
    assert_eq!((profile.rows.kept, profile.rows.copies), (591, 0));
}
