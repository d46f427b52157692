//! Tests rules and budgets that are restricted to a part of the program, and the words of the rule file.

use crate::gated::record_text;
use crate::support::trace_builder::{HostThread, TraceBuilder};
use tracetree_gate::{Check, Date, Gate, Outcome, Recording, Rules, Severity};

/// Two steps in which the module `A_0` runs a product, and `B_0` a product and an addition. Each kernel takes the given
/// time in µs.
fn run(a: f64, b: f64) -> Recording {
    let module = |t: &mut HostThread<'_>, name: &str, ops: &[&str], micros: f64| {
        t.module(name, |t| {
            for op in ops {
                t.op(*op, |t| t.kernel("sgemm", micros));
            }
        });
    };
    let builder = TraceBuilder::cuda().thread("main", |t| {
        for number in 0..2 {
            t.step(number, |t| {
                module(t, "A_0", &["aten::mm"], a);
                module(t, "B_0", &["aten::mm", "aten::add"], b);
            });
        }
    });
    record_text(&builder.json())
}

fn gate(rules: &str, baseline: &Recording, candidate: &Recording) -> Gate {
    let rules = Rules::parse(rules, "rules.toml").expect("valid rules");
    Gate::check(baseline, candidate, &rules, Date::today())
}

/// The message of the last check of the rule `gpu_time` or of a budget, and whether it passed.
fn last(gate: &Gate) -> (String, bool) {
    let is_time = |check: &&Check| check.rule == "gpu_time" || check.rule == "budget";
    let check = gate.checks.iter().rfind(is_time).expect("a check");
    (check.message.clone(), check.findings.is_empty())
}

#[test]
fn a_time_rule_counts_only_the_kernels_in_its_path_and_category() {
    let rule = |scope: &str| {
        format!(
            "[[rule]]\nrule = \"gpu_time\"\nlimit = \"10%\"\nleast = \"1us\"\nhard = true\n{scope}"
        )
    };
    let (before, after) = (run(100.0, 50.0), run(160.0, 50.0));
    let message = |scope: &str| last(&gate(&rule(scope), &before, &after));
    assert_eq!(message("path = 'module(\"A_*\")'"), ("100.0 µs → 160.0 µs (+60.0%)".into(), false));
    assert_eq!(message("path = 'module(\"B_*\")'"), ("100.0 µs → 100.0 µs (+0.0%)".into(), true));
    let products = "path = 'module(\"B_*\")'\ncategory = \"gemm\"";
    assert_eq!(message(products), ("50.0 µs → 50.0 µs (+0.0%)".into(), true));
}

#[test]
fn a_scope_that_no_work_has_names_the_nearest_one() {
    let run = run(100.0, 50.0);
    let message = |scope: &str| {
        let gate =
            gate(&format!("[[rule]]\nrule = \"gpu_time\"\nlimit = \"5%\"\n{scope}"), &run, &run);
        assert_eq!(gate.outcome, Outcome::Inconclusive);
        last(&gate).0
    };
    assert_eq!(
        message("category = \"gem\""),
        "no work has the category gem; the nearest category is gemm"
    );
    assert_eq!(message("phase = \"decode\""), "no work belongs to phase decode");
}

#[test]
fn a_budget_counts_only_what_its_path_selects() {
    let run = run(100.0, 50.0);
    let shown = |budget: &str| last(&gate(&format!("budgets = ['{budget}']"), &run, &run));
    assert_eq!(shown("module(\"A_*\"): gpu_time < 99 us"), ("measured: 100.0 µs".into(), false));
    assert_eq!(shown("module(\"B_*\"): gpu_time < 101 us"), ("measured: 100.0 µs".into(), true));
}

#[test]
fn reported_times_are_warnings() {
    let rules = "[[rule]]\nrule = \"gpu_time\"\nlimit = \"10%\"\nhard = true";
    let (before, after) = (run(100.0, 50.0), run(160.0, 50.0));
    assert_eq!(gate(rules, &before, &after).outcome, Outcome::Fail);
    let reported = format!("time = \"report\"\n{rules}");
    assert_eq!(gate(&reported, &before, &after).outcome, Outcome::Pass);
}

#[test]
fn the_words_of_the_rule_file_are_read_and_other_words_are_errors() {
    let parse = |text: &str| Rules::parse(text, "rules.toml").map_err(|error| error.to_string());
    let rules = parse("intermittent = \"warning\"\nlost_launches = \"12%\"").expect("valid");
    assert_eq!((rules.intermittent, rules.lost_launches), (Severity::Warning, 0.12));
    for (text, part) in [
        ("intermittent = \"off\"", "intermittent"),
        ("time = \"never\"", "time"),
        ("lost_launches = \"3\"", "is not a percentage"),
        ("[[rule]]\nrule = \"new_op\"\nallowed = \"5us\"", "`allowed` must be a count"),
        ("[[rule]]\nrule = \"gpu_time\"\nallowed = 1", "a time rule accepts `limit`"),
        ("[[rule]]\nrule = \"peak_memory\"\nallowed = 1", "a memory rule accepts `limit`"),
        ("[[rule]]\nrule = \"gpu_time\"\nlimit = \"5%\"\nleast = \"5%\"", "`least` must be a time"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }
}
