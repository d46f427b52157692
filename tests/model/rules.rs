//! Tests for each rule of `model-diff`, with inputs of a few lines.

use tracetree::trace::Nanos;
use tracetree_model::{
    ForwardPasses, ModelComparison, ModelTrace, OpMapping, Profile, Row, Scenario, Status,
};

const HEADER: &str = "Stream ID,Type,Start Time(us),Duration(us)\n";

/// A complete event in process 0.
fn op(name: &str, dur: u32, args: &str) -> String {
    format!(
        r#"{{"name": "{name}", "ph": "X", "ts": 0, "dur": {dur}, "pid": 0, "args": {{{args}}}}}"#
    )
}

fn trace(ops: &[String]) -> ModelTrace {
    let name = r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical"}}"#;
    let text = format!(r#"{{"traceEvents": [{name}, {}]}}"#, ops.join(", "));
    ModelTrace::from_bytes(text.as_bytes(), "trace.json").expect("a model's trace")
}

fn mapping(entries: &str) -> OpMapping {
    let text = format!("operator_mappings:\n  unused.op: {{kernel_type: Unused}}\n{entries}");
    OpMapping::from_bytes(text.as_bytes(), "mapping.yaml").expect("a mapping")
}

fn profile(rows: &str) -> Profile {
    Profile::from_bytes(format!("{HEADER}{rows}").as_bytes(), "profile.csv").expect("a profile")
}

fn compare(ops: &[String], entries: &str, rows: &str) -> ModelComparison {
    let scenario = Scenario::new("trace.json", "profile.csv");
    scenario.compare_values(&trace(ops), &mapping(entries), &profile(rows))
}

/// Compares the given ops with a profile that contains one unrelated kernel.
fn predicted(ops: &[String], entries: &str) -> ModelComparison {
    compare(ops, entries, "2,Other,1.0,1\n")
}

fn row<'a>(comparison: &'a ModelComparison, kernel_type: &str) -> &'a Row {
    let mut rows = comparison.rows.iter();
    rows.find(|row| row.kernel_type.as_str() == kernel_type)
        .unwrap_or_else(|| panic!("no row {kernel_type} in {:?}", comparison.rows))
}

/// Time in nanoseconds, count and status for a predicted kernel type.
fn model(comparison: &ModelComparison, kernel_type: &str) -> (i64, u64, Status) {
    let row = row(comparison, kernel_type);
    (row.amounts.model.0, row.amounts.model_count, row.status)
}

fn has(comparison: &ModelComparison, kernel_type: &str) -> bool {
    comparison.rows.iter().any(|row| row.kernel_type.as_str() == kernel_type)
}

#[test]
fn an_op_with_a_kernel_type_is_a_hit() {
    let comparison = predicted(&[op("aten.mm.default", 30, r#""kernel_type": " MatMulV2 ""#)], "");
    assert_eq!(model(&comparison, "MatMulV2"), (30_000, 1, Status::Hit));
    assert_eq!(row(&comparison, "MatMulV2").model_ops, ["aten.mm.default"]);
}

#[test]
fn several_kernels_share_the_time_equally_without_losing_a_nanosecond() {
    let ops: Vec<String> =
        (0..1_000).map(|_| op("a.b", 100, r#""kernel_type": "A, B,C""#)).collect();
    let comparison = predicted(&ops, "");
    // The sum 1,000 × 100 µs / 3 is rounded once, not a thousand times.
    assert_eq!(model(&comparison, "A"), (33_333_333, 1_000, Status::Hit));
    assert_eq!(model(&comparison, "C"), (33_333_333, 1_000, Status::Hit));
}

#[test]
fn sub_kernel_durations_give_each_kernel_its_own_time() {
    let args = r#""kernel_type": "MatMulV2",
        "sub_kernel_durations": "[('MatMulV2', 9.39), ('hcom_allReduce_', 22.5)]""#;
    let comparison = predicted(&[op("x.matmul_all_reduce.default", 32, args)], "");
    assert_eq!(model(&comparison, "MatMulV2"), (9_390, 1, Status::Hit));
    assert_eq!(model(&comparison, "hcom_allReduce_"), (22_500, 1, Status::Hit));
    assert!(comparison.notes.is_empty());
}

#[test]
fn unreadable_sub_kernel_durations_fall_back_to_equal_shares_and_are_counted() {
    let op = |text: &str| {
        op("a.b", 60, &format!(r#""kernel_type": "A,B", "sub_kernel_durations": "{text}""#))
    };
    let comparison = predicted(&[op("garbage"), op("[30, 30]"), op("None"), op("[]")], "");
    assert_eq!(model(&comparison, "A"), (120_000, 4, Status::Hit));
    let note = comparison.notes.get("UNREADABLE_SUB_KERNELS").expect("a note");
    assert_eq!(note.count, 2);
    assert!(note.message.contains("event 1") && note.message.contains("`garbage`"), "{note:?}");
}

#[test]
fn an_unlisted_fused_all_reduce_counts_without_time() {
    let ops = [
        op("x.Quant_All_Reduce.default", 40, r#""kernel_type": "QuantBatchMatmulV3""#),
        op("x.all_reduce.default", 8, r#""kernel_type": "hcom_allReduce_""#),
        op("x.all_reduce.default", 5, ""),
    ];
    let comparison = predicted(&ops, "");
    assert_eq!(model(&comparison, "QuantBatchMatmulV3"), (40_000, 1, Status::Hit));
    // The kernel type `hcom_allReduce_` is counted twice: for the fused op, which does not list it, with 0 µs, and for
    // the separate all-reduce, which lists it, with 8 µs. The third op is a miss and names no kernel type, so it is
    // counted under its own name.
    assert_eq!(model(&comparison, "hcom_allReduce_"), (8_000, 2, Status::Hit));
    assert_eq!(model(&comparison, "x.all_reduce.default"), (5_000, 1, Status::Miss));
}

#[test]
fn a_miss_gets_its_kernel_type_from_the_mapping_or_from_its_own_name() {
    let ops = [
        op("torch.ops.aten.add.Tensor", 4, ""),
        op("aten.add.Tensor", 5, r#""kernel_type": "?""#),
        op("aten.add.Tensor", 6, r#""kernel_type": """#),
        op("torch.ops.aten.sort", 7, ""),
        op("composite.op", 8, ""),
    ];
    let entries = "  aten.add.Tensor: {kernel_type: Add}\n  composite.op: {composite: true}\n";
    let comparison = predicted(&ops, entries);
    assert_eq!(model(&comparison, "Add"), (15_000, 3, Status::Miss));
    assert_eq!(row(&comparison, "Add").model_ops, ["aten.add.Tensor"]);
    assert_eq!(model(&comparison, "aten.sort"), (7_000, 1, Status::Miss));
    assert_eq!(model(&comparison, "composite.op"), (8_000, 1, Status::Miss));
    assert_eq!(comparison.notes.get("OP_WITHOUT_KERNEL").map(|note| note.count), Some(2));
}

#[test]
fn hits_and_misses_of_one_kernel_type_are_partial() {
    let ops = [op("aten.mm", 30, r#""kernel_type": "MatMulV2""#), op("aten.mm", 20, "")];
    let comparison = predicted(&ops, "  aten.mm: {kernel_type: MatMulV2}\n");
    assert_eq!(model(&comparison, "MatMulV2"), (50_000, 2, Status::Partial));
}

#[test]
fn zero_cost_ops_are_left_out_whether_trace_or_mapping_marks_them() {
    let ops = [
        op("aten.view", 3, r#""zero_cost": "True""#),
        op("aten.sigmoid", 3, r#""kernel_type": "Sigmoid""#),
        op("aten.mm", 3, r#""kernel_type": "MatMulV2", "zero_cost": "False""#),
    ];
    let comparison = predicted(&ops, "  aten.sigmoid: {kernel_type: Sigmoid, zero_cost: true}\n");
    assert!(!has(&comparison, "aten.view") && !has(&comparison, "Sigmoid"));
    assert!(has(&comparison, "MatMulV2"));
    assert_eq!((comparison.ops.compared, comparison.ops.zero_cost), (1, 2));
}

#[test]
fn a_row_names_the_first_three_ops_once_each() {
    let ops: Vec<String> = ["d", "b", "d", "a", "c"]
        .map(|name| op(name, 1, r#""kernel_type": "K""#))
        .into_iter()
        .collect();
    assert_eq!(row(&predicted(&ops, ""), "K").model_ops, ["d", "b", "a"]);
}

#[test]
fn only_the_predicting_process_is_read() {
    let text = r#"[
        {"ph": "M", "name": "process_name", "pid": "7", "args": {"name": "analytic (PID: 7)"}},
        {"ph": "M", "name": "process_name", "pid": 8, "args": {"name": "Offline PROFILING"}},
        {"ph": "X", "name": "a", "pid": "7", "dur": 1, "args": {"kernel_type": "A"}},
        {"ph": "X", "name": "b", "pid": 8, "dur": "2.5", "args": {"kernel_type": "B"}},
        {"ph": "i", "name": "c", "pid": 8}
    ]"#;
    let trace = ModelTrace::from_bytes(text.as_bytes(), "t.json").expect("a bare array");
    assert_eq!(trace.process.pid, "8");
    assert_eq!(trace.ops.len(), 1);
    assert_eq!(trace.ops[0].duration, Nanos(2_500));
    assert!(trace.notes.is_empty());
}

#[test]
fn the_only_process_is_used_with_a_note_if_it_has_no_name() {
    let text = r#"{"traceEvents": [{"ph": "X", "name": "a", "pid": 3, "dur": 1}]}"#;
    let trace = ModelTrace::from_bytes(text.as_bytes(), "t.json").expect("one process");
    assert_eq!(trace.process.pid, "3");
    assert_eq!(trace.notes.get("MODEL_PROCESS_UNNAMED").map(|note| note.count), Some(1));
}

#[test]
fn the_first_of_several_predicting_processes_is_used_with_a_note() {
    let text = r#"[
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "empirical"}},
        {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "profiling"}},
        {"ph": "X", "name": "b", "pid": 2, "dur": 1}, {"ph": "X", "name": "a", "pid": 1}
    ]"#;
    let trace = ModelTrace::from_bytes(text.as_bytes(), "t.json").expect("two processes");
    assert_eq!((trace.process.pid.as_str(), trace.ops[0].name.as_str()), ("1", "a"));
    assert_eq!(trace.notes.get("SEVERAL_MODEL_PROCESSES").map(|note| note.count), Some(1));
    // An op without a duration counts as 0 µs and is counted in a note.
    assert_eq!(trace.notes.get("NO_OP_DURATION").map(|note| note.count), Some(1));
}

#[test]
fn columns_are_found_by_name_in_any_order_after_a_byte_order_mark() {
    let text =
        "\u{feff}Duration(us),X, Type ,Start Time(us)\r\n1.5,,A,\"1742880000600735.500\t\"\r\n";
    let profile = Profile::from_bytes(text.as_bytes(), "p.csv").expect("a profile");
    let (kernel_type, measured) = profile.kernels.first_key_value().expect("a kernel");
    assert_eq!(kernel_type.as_str(), "A");
    assert_eq!((measured.total, measured.count), (Nanos(1_500), 1));
}

#[test]
fn ai_cpu_rows_are_dropped_and_other_rows_without_stream_are_kept() {
    let profile = profile(
        "36,allreduceAicpuKernel,1.0,500\n36,AicpuKernel,1.0,500\nN/A,Add,N/A,2\n2,AicpuKernelX,1,1\n",
    );
    let names: Vec<&str> = profile.kernels.keys().map(|kernel_type| kernel_type.as_str()).collect();
    assert_eq!(names, ["Add", "AicpuKernelX"]);
    assert_eq!(profile.rows.aicpu, 2);
    assert!(profile.notes.is_empty());
}

#[test]
fn a_collective_listed_twice_counts_once_with_the_longer_duration() {
    let profile = profile(
        "N/A,hcom_allReduce_,1742880000600735.900\t,249.058\n\
         35,hcom_allReduce_,\"1742880000600736.400\t\",249.558\n\
         35,hcom_allGather_,1742880000600736.400,7\n\
         N/A,hcom_allReduce_,1742880000600738.000,3\n",
    );
    let measured: Vec<(i64, u64)> =
        profile.kernels.values().map(|kernel| (kernel.total.0, kernel.count)).collect();
    assert_eq!(measured, [(7_000, 1), (252_558, 2)]);
    assert_eq!((profile.rows.kept, profile.rows.copies), (3, 1));
}

#[test]
fn incomplete_rows_are_counted_and_left_out() {
    let profile =
        profile("2,N/A,1.0,5\n2,,1.0,5\n2,Add,1.0,N/A\n2,Add,1.0,5\nN/A,hcom_send_,N/A,5\n");
    assert_eq!((profile.rows.kept, profile.rows.incomplete), (2, 3));
    assert_eq!(profile.notes.get("INCOMPLETE_ROW").map(|note| note.count), Some(3));
    assert_eq!(profile.notes.get("COLLECTIVE_WITHOUT_START").map(|note| note.count), Some(1));
}

#[test]
fn the_profile_is_divided_by_its_forward_passes() {
    let mut scenario = Scenario::new("trace.json", "profile.csv");
    scenario.forward_passes = ForwardPasses::new(2).expect("two");
    let rows = profile("2,K,1.0,10\n2,K,2.0,20\n2,K,3.0,30\n");
    let ops = trace(&[op("a", 45, r#""kernel_type": "K""#)]);
    let comparison = scenario.compare_values(&ops, &OpMapping::default(), &rows);
    let amounts = &row(&comparison, "K").amounts;
    assert_eq!((amounts.profile, amounts.profile_count), (Nanos(30_000), 1.5));
    assert_eq!(amounts.error_pct(), Some(50.0));
    assert_eq!(amounts.count_error_pct().map(f64::round), Some(-33.0));
}

#[test]
fn the_error_is_empty_if_the_profile_has_no_time() {
    let comparison =
        compare(&[op("a", 5, r#""kernel_type": "K""#)], "", "2,Other,1.0,10\n2,Nothing,1.0,0\n");
    let amounts = &row(&comparison, "K").amounts;
    assert_eq!((amounts.error_pct(), amounts.count_error_pct()), (None, None));
    assert_eq!(row(&comparison, "Nothing").amounts.error_pct(), None);
    assert_eq!(comparison.accuracy.model_only, Nanos(5_000));
    let other = row(&comparison, "Other");
    assert_eq!((other.amounts.error_pct(), other.status), (Some(-100.0), Status::Unmodeled));
}

#[test]
fn rows_are_sorted_by_the_larger_of_their_times_then_by_name() {
    let ops = [op("a", 5, r#""kernel_type": "Predicted""#), op("b", 1, r#""kernel_type": "B""#)];
    let comparison = compare(&ops, "", "2,Measured,1.0,6\n2,C,1.0,1\n2,A,1.0,1\n");
    let names: Vec<&str> = comparison.rows.iter().map(|row| row.kernel_type.as_str()).collect();
    assert_eq!(names, ["Measured", "Predicted", "A", "B", "C"]);
}

#[test]
fn positive_and_negative_errors_do_not_cancel_in_the_weighted_error() {
    let ops = [
        op("a", 15, r#""kernel_type": "Up""#),
        op("b", 5, r#""kernel_type": "Down""#),
        op("c", 9, r#""kernel_type": "New""#),
    ];
    let comparison = compare(&ops, "", "2,Up,1,10\n2,Down,1,10\n2,Even,1,20\n");
    assert_eq!(comparison.total.error_pct().map(f64::round), Some(-28.0));
    // The absolute errors are 5 + 5 + 20 = 30 µs, and the measured time is 40 µs.
    assert_eq!(comparison.accuracy.weighted_error_pct, Some(75.0));
    let contributors: Vec<(&str, f64)> = comparison
        .accuracy
        .contributors
        .iter()
        .map(|one| (comparison.rows[one.row.0].kernel_type.as_str(), one.points))
        .collect();
    assert_eq!(contributors, [("Even", 50.0), ("Up", 12.5), ("Down", 12.5)]);
}

#[test]
fn coverage_is_the_time_of_the_profile_by_status() {
    let ops = [
        op("h", 1, r#""kernel_type": "Hit""#),
        op("p", 1, r#""kernel_type": "Part""#),
        op("m", 1, ""),
        op("q", 1, ""),
    ];
    let entries = "  m: {kernel_type: Part}\n  q: {kernel_type: Miss}\n";
    let rows = "2,Hit,1,10\n2,Part,1,20\n2,Miss,1,30\n2,None,1,40\n";
    let coverage = compare(&ops, entries, rows).accuracy.coverage;
    let shares: Vec<(Status, Option<f64>)> =
        coverage.iter().map(|part| (part.status, part.share_pct)).collect();
    assert_eq!(
        shares,
        [
            (Status::Hit, Some(10.0)),
            (Status::Partial, Some(20.0)),
            (Status::Miss, Some(30.0)),
            (Status::Unmodeled, Some(40.0))
        ]
    );
}
