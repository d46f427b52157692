//! Which rows and scenarios a `--fail-on` condition names.

use tracetree::model::{FailOn, ModelComparison, Outcome, failures, read_scenarios};

/// MatMulV2 −14.6 % of 40 % of the time, BatchMatMulV2 +122 % of 4.5 %, MemSet unmodeled.
fn decoder() -> ModelComparison {
    let scenarios =
        read_scenarios("tests/fixtures/model_decoder/scenarios.toml").expect("scenarios");
    match scenarios[0].outcome().expect("an outcome") {
        Outcome::Compared(comparison) => *comparison,
        Outcome::Skipped { reason, .. } => panic!("{reason}"),
    }
}

/// The kernel types that fail, or `-` for the scenario.
fn failing(condition: &str) -> Vec<String> {
    let condition: FailOn = condition.parse().expect("a condition");
    let failures = failures(&[condition], &[&decoder()]).expect("known kernel types");
    let name =
        |kernel_type: Option<_>| kernel_type.map_or("-".to_owned(), |name| format!("{name}"));
    failures.into_iter().map(|failure| name(failure.kernel_type)).collect()
}

#[test]
fn a_row_fails_whichever_way_it_is_off() {
    let above = failing("error>20%");
    assert_eq!(above, ["FusedInferAttentionScore", "BatchMatMulV2", "MemSet"]);
    // Two rows are off by exactly 20 %.
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
fn a_condition_can_ask_one_kernel_type() {
    assert_eq!(failing("MatMulV2: error>10%"), ["MatMulV2"]);
    assert_eq!(failing("MatMulV2:error>15%"), [""; 0]);
}

#[test]
fn a_condition_can_ask_the_scenario() {
    assert_eq!(failing("weighted_error>32%"), ["-"]);
    assert_eq!(failing("total_error > 19.9% & unmodeled > 0.2% & model_only > 1%"), ["-"]);
    assert_eq!(failing("total_error>20%"), [""; 0]);
}

#[test]
fn an_undefined_error_holds_no_bound() {
    assert_eq!(failing("aten.topk.default: error>=0%"), [""; 0]);
    assert_eq!(failing("aten.topk.default: share>=0%"), ["aten.topk.default"]);
}

#[test]
fn a_failure_reads_scenario_row_value_condition() {
    let condition: FailOn = " MemSet : error>20% ".parse().expect("a condition");
    let failures = failures(&[condition], &[&decoder()]).expect("a known type");
    assert_eq!(failures[0].to_string(), "decoder: MemSet: error -100.0 % (MemSet : error>20%)");
}

#[test]
fn a_gate_that_can_never_fail_is_an_error() {
    let condition: FailOn = "MatMul: error>10%".parse().expect("a condition");
    let error = failures(&[condition], &[&decoder()]).expect_err("no such type");
    assert!(error.to_string().contains("neither the model nor the profile"), "{error}");
}

#[test]
fn what_is_no_condition_is_refused_with_its_reason() {
    for (text, reason) in [
        ("", "expected `>`"),
        ("error", "expected `>`"),
        ("error=20%", "expected `>`"),
        ("errors>20%", "unknown quantity `errors`"),
        ("error>", "no percentage"),
        ("error>-5%", "no percentage"),
        ("error>nan", "no percentage"),
        ("error>20% &", "expected `>`"),
        (": error>20%", "no kernel type"),
        ("error>20% & unmodeled>5%", "about the scenario"),
        ("MatMulV2: unmodeled>5%", "a kernel type needs"),
    ] {
        let error = text.parse::<FailOn>().expect_err(text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}
