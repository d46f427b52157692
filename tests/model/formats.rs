//! Compares a `model-diff` report in each format with a snapshot.

use crate::support::enter_root;
use crate::support::snapshot::assert_snapshot;
use tracetree_model::{Format, Outcome, Scenario, read_scenarios, render};

/// The outcomes of two scenarios: the decoder scenario, and a scenario whose profile is missing.
fn decoder() -> Vec<Outcome> {
    enter_root();
    let scenarios =
        read_scenarios("tests/fixtures/model_decoder/scenarios.toml").expect("two scenarios");
    scenarios.iter().map(|scenario| scenario.outcome().expect("an outcome")).collect()
}

fn smallest() -> Vec<Outcome> {
    enter_root();
    let folder = "tests/fixtures/model_smallest";
    let scenario =
        Scenario::new(format!("{folder}/model_trace.json"), format!("{folder}/kernel_details.csv"));
    vec![scenario.outcome().expect("an outcome")]
}

#[test]
fn the_text_report_matches_its_snapshot() {
    assert_snapshot("", "model_text", &render(&decoder(), Format::Text, 15));
}

#[test]
fn the_markdown_report_matches_its_snapshot() {
    assert_snapshot("", "model_markdown", &render(&decoder(), Format::Markdown, 5));
}

#[test]
fn the_csv_report_matches_its_snapshot() {
    assert_snapshot("", "model_csv", &render(&decoder(), Format::Csv, 15));
}

#[test]
fn the_json_report_matches_its_snapshot() {
    assert_snapshot("", "model_json", &render(&smallest(), Format::Json, 15));
}

#[test]
fn top_folds_the_rest_into_one_line_and_keeps_the_total() {
    let all = render(&decoder(), Format::Text, 15);
    let few = render(&decoder(), Format::Text, 2);
    let total = |report: &str| {
        report.lines().find(|line| line.starts_with("TOTAL")).map(|line| line.replace(' ', ""))
    };
    assert_eq!(total(&all), total(&few));
    let has_row = |name: &str| few.lines().any(|line| line.starts_with(name));
    assert!(has_row("MatMulV2 ") && has_row("(8 more) ") && !has_row("MemSet "), "{few}");
    assert!(render(&decoder(), Format::Text, 0).contains("(10 more)"));
}

#[test]
fn csv_and_json_contain_every_row_regardless_of_top() {
    for format in [Format::Csv, Format::Json] {
        assert_eq!(render(&decoder(), format, 0), render(&decoder(), format, 100));
    }
}

#[test]
fn names_from_files_cannot_break_a_table() {
    let mut outcomes = smallest();
    let Some(Outcome::Compared(comparison)) = outcomes.first_mut() else { panic!("compared") };
    comparison.scenario.name = "a|b\n\u{1b}[31m*c*".to_owned();
    let markdown = render(&outcomes, Format::Markdown, 5);
    assert!(markdown.starts_with("## a\\|b\\\\n\\\\u001b\\[31m\\*c\\*\n"), "{markdown}");
    assert!(render(&outcomes, Format::Text, 5).starts_with("a|b\\n\\u001b[31m*c*\n"));
}
