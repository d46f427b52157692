//! Tests for properties that `model-diff` has for every input: it never panics, and the totals add up.

use proptest::prelude::*;
use tracetree::trace::Nanos;
use tracetree_model::{
    FailOn, Format, ModelComparison, ModelTrace, OpMapping, Outcome, Profile, Scenario, render,
    scenarios_from_bytes,
};

/// Generates rows in a profile. Each row has an index of a type, an index of a stream, and a start time and a duration
/// in nanoseconds.
fn rows() -> impl Strategy<Value = Vec<(usize, usize, u32, u32)>> {
    prop::collection::vec((0..5_usize, 0..3_usize, 0..20_000_u32, 0..5_000_u32), 1..40)
}

fn csv(rows: &[(usize, usize, u32, u32)]) -> String {
    let types = ["Add", "MatMulV2", "hcom_allReduce_", "hcom_allGather_", "MemSet"];
    let streams = ["N/A", "35", "36"];
    let line = |&(kernel_type, stream, start, duration): &(usize, usize, u32, u32)| {
        let (kernel_type, stream) = (types[kernel_type], streams[stream]);
        let (start, duration) = (Nanos(start.into()), Nanos(duration.into()));
        format!("{kernel_type},{stream},{start}\t,{duration}\n")
    };
    let header = "Type,Stream ID,Start Time(us),Duration(us)\n".to_owned();
    std::iter::once(header).chain(rows.iter().map(line)).collect()
}

/// Generates ops in a model. Each op has an index into the list of kernel types in [`json`], and a duration in µs.
fn ops() -> impl Strategy<Value = Vec<(usize, u32)>> {
    prop::collection::vec((0..6_usize, 0..100_u32), 1..40)
}

fn json(ops: &[(usize, u32)]) -> String {
    let kinds = ["Add", "Add,MatMulV2,Add", "?", "", "hcom_allReduce_,Sub", "Sub"];
    let event = |&(kind, dur): &(usize, u32)| {
        format!(
            r#"{{"ph": "X", "pid": 0, "name": "op{kind}", "dur": {dur}, "args": {{"kernel_type": "{}"}}}}"#,
            kinds[kind]
        )
    };
    format!("[{}]", ops.iter().map(event).collect::<Vec<_>>().join(","))
}

fn profile(rows: &[(usize, usize, u32, u32)]) -> Profile {
    Profile::from_bytes(csv(rows).as_bytes(), "p.csv").expect("a profile")
}

fn compare(ops: &[(usize, u32)], rows: &[(usize, usize, u32, u32)]) -> ModelComparison {
    let trace = ModelTrace::from_bytes(json(ops).as_bytes(), "t.json").expect("a trace");
    Scenario::new("t", "p").compare_values(&trace, &OpMapping::default(), &profile(rows))
}

/// Generates strings that resemble the input of the parsers.
fn near(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn the_total_is_the_sum_of_the_rows_and_of_the_model(ops in ops(), rows in rows()) {
        let comparison = compare(&ops, &rows);
        let model: i64 = comparison.rows.iter().map(|row| row.amounts.model.0).sum();
        prop_assert_eq!(model, comparison.total.model.0);
        let durations: i64 = ops.iter().map(|op| i64::from(op.1) * 1_000).sum();
        // The share of each kernel type is rounded only once. Only two kernel types have shares that need rounding (one
        // third or two thirds of an op), so the sum is wrong by at most 2 ns.
        prop_assert!((model - durations).abs() <= 2, "{} {}", model, durations);
        let profile: i64 = comparison.rows.iter().map(|row| row.amounts.profile.0).sum();
        prop_assert_eq!(profile, comparison.total.profile.0);
    }

    #[test]
    fn every_row_of_a_profile_is_accounted_for(rows in rows()) {
        let account = profile(&rows).rows;
        let all = account.kept + account.copies + account.aicpu + account.incomplete;
        prop_assert_eq!(all, rows.len() as u64);
    }

    #[test]
    fn the_order_of_a_profile_does_not_matter(rows in rows()) {
        let mut reversed = rows.clone();
        reversed.reverse();
        prop_assert_eq!(profile(&rows).kernels, profile(&reversed).kernels);
    }

    #[test]
    fn shares_add_up_and_contributions_do_not_exceed_the_error(ops in ops(), rows in rows()) {
        let accuracy = compare(&ops, &rows).accuracy;
        let covered: f64 = accuracy.coverage.iter().filter_map(|part| part.share_pct).sum();
        prop_assert!(covered == 0.0 || (covered - 100.0).abs() < 1e-6);
        let points: f64 = accuracy.contributors.iter().map(|one| one.points).sum();
        prop_assert!(points <= accuracy.weighted_error_pct.unwrap_or(0.0) + 1e-6);
    }

    #[test]
    fn the_same_input_gives_the_same_bytes(ops in ops(), rows in rows()) {
        let outcome = || [Outcome::Compared(Box::new(compare(&ops, &rows)))];
        for format in [Format::Text, Format::Json, Format::Csv, Format::Markdown] {
            prop_assert_eq!(render(&outcome(), format, 3), render(&outcome(), format, 3));
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = ModelTrace::from_bytes(&bytes, "x");
        let _ = Profile::from_bytes(&bytes, "x");
        let _ = OpMapping::from_bytes(&bytes, "x");
        let _ = scenarios_from_bytes(&bytes, "x");
    }

    #[test]
    fn no_almost_valid_input_makes_a_reader_panic(
        sub_kernels in near(&["[", "]", "(", ")", "'", "\\\"", "\\\\", "A", "µ", ",", " ", "1", ".", "e9", "-"]),
        cells in near(&["Type", "Start Time(us)", "Duration(us)", "Stream ID", ",", "\n", "\"", "hcom_", "1", "N/A", "-", "e", "\t", "9999999999999999999"]),
        yaml in near(&["operator_mappings:", "\n", "  ", "a", ": ", "{", "}", "&x ", "*x", "- ", "zero_cost: ", "true", "\t", "|", "'"]),
        condition in near(&["error", "share", ">", "=", "<", "20", "%", "&", ":", " ", "MatMulV2", "µ", "1e999"]),
    ) {
        let event = format!(
            r#"[{{"ph": "X", "pid": 0, "args": {{"kernel_type": "A", "sub_kernel_durations": "{sub_kernels}"}}}}]"#
        );
        let _ = ModelTrace::from_bytes(event.as_bytes(), "x");
        let _ = Profile::from_bytes(cells.as_bytes(), "x");
        let rows = format!("Type,Start Time(us),Duration(us)\n{cells}");
        let _ = Profile::from_bytes(rows.as_bytes(), "x");
        let _ = OpMapping::from_bytes(yaml.as_bytes(), "x");
        let _ = condition.parse::<FailOn>();
    }
}
