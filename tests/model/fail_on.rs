//! Tests for `--fail-on` conditions: which rows and scenarios a condition selects.

use crate::support::root;
use tracetree_model::{FailOn, ModelComparison, Outcome, failures, read_scenarios};

/// A comparison with three kernel types that matter for the tests. MatMulV2 has an error of −14.6% and takes 40% of the
/// time; BatchMatMulV2 has an error of +122% and takes 4.5% of the time; and MemSet is unmodeled.
fn decoder() -> ModelComparison {
    let scenarios = read_scenarios(root().join("tests/fixtures/model_decoder/scenarios.toml"))
        .expect("scenarios");
    match scenarios[0].outcome().expect("an outcome") {
        Outcome::Compared(comparison) => *comparison,
        Outcome::Skipped { reason, .. } => panic!("{reason}"),
    }
}

/// The kernel types for which a condition is true; `-` means that the condition is true for the whole scenario.
fn failing(condition: &str) -> Vec<String> {
    let condition: FailOn = condition.parse().expect("a condition");
    let failures = failures(&[condition], &[&decoder()]).expect("known kernel types");
    let name =
        |kernel_type: Option<_>| kernel_type.map_or("-".to_owned(), |name| format!("{name}"));
    failures.into_iter().map(|failure| name(failure.kernel_type)).collect()
}

#[test]
fn a_row_fails_whether_the_prediction_is_too_high_or_too_low() {
    let above = failing("error>20%");
    assert_eq!(above, ["FusedInferAttentionScore", "BatchMatMulV2", "MemSet"]);
    // Two of the kernel types have an error of exactly 20%.
    let at_least = failing("error >= 20");
    assert_eq!(at_least.len(), 5);
    assert_eq!(at_least[2..4], ["QuantBatchMatmulV3", "RmsNorm"]);
}

#[test]
fn all_bounds_of_a_condition_must_hold() {
    assert_eq!(failing("error>20% & share>1%"), ["FusedInferAttentionScore", "BatchMatMulV2"]);
    assert_eq!(failing("share<1% & count_error>=100%"), ["MemSet"]);
    assert_eq!(failing("error<=5%"), ["TransposeBatchMatMul"]);
}

#[test]
fn a_condition_can_apply_to_one_kernel_type() {
    assert_eq!(failing("MatMulV2: error>10%"), ["MatMulV2"]);
    assert_eq!(failing("MatMulV2:error>15%"), [""; 0]);
}

#[test]
fn a_condition_can_apply_to_the_scenario() {
    assert_eq!(failing("weighted_error>32%"), ["-"]);
    assert_eq!(failing("total_error > 19.9% & unmodeled > 0.2% & model_only > 1%"), ["-"]);
    assert_eq!(failing("total_error>20%"), [""; 0]);
}

#[test]
fn an_undefined_error_satisfies_no_bound() {
    assert_eq!(failing("aten.topk.default: error>=0%"), [""; 0]);
    assert_eq!(failing("aten.topk.default: share>=0%"), ["aten.topk.default"]);
}

#[test]
fn a_failure_names_scenario_row_value_and_condition() {
    let condition: FailOn = " MemSet : error>20% ".parse().expect("a condition");
    let failures = failures(&[condition], &[&decoder()]).expect("a known type");
    assert_eq!(failures[0].to_string(), "decoder: MemSet: error -100.0% (MemSet : error>20%)");
}

#[test]
fn a_condition_that_can_never_fail_is_an_error() {
    let condition: FailOn = "MatMul: error>10%".parse().expect("a condition");
    let error = failures(&[condition], &[&decoder()]).expect_err("no such type");
    assert!(error.to_string().contains("neither the model nor the profile"), "{error}");
}

#[test]
fn malformed_conditions_are_rejected_with_a_reason() {
    for (text, reason) in [
        ("", "expected `>`"),
        ("error", "expected `>`"),
        ("error=20%", "expected `>`"),
        ("errors>20%", "unknown quantity `errors`"),
        ("error>", "not a percentage"),
        ("error>-5%", "not a percentage"),
        ("error>nan", "not a percentage"),
        ("error>20% &", "expected `>`"),
        (": error>20%", "missing kernel type"),
        ("error>20% & unmodeled>5%", "bounds for the whole scenario"),
        ("MatMulV2: unmodeled>5%", "a kernel type can only be used with"),
    ] {
        let error = text.parse::<FailOn>().expect_err(text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}
