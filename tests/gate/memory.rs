//! Tests for the gate rules about memory, with recordings whose peaks and allocations are known.

use crate::gated::{check, record};
use crate::support::traces::example;
use std::time::{Duration, Instant};
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::CallTree;
use tracetree_gate::{Check, Date, Gate, Recording, Rules, State};

fn side(name: &str) -> Recording {
    let path = example(&format!("memory/memory_{name}.pt.trace.json.gz"));
    record([CallTree::build(Trace::open(path).expect("a trace"))])
}

fn stored(side: &Recording) -> Recording {
    Recording::from_baseline("base.ttb", &side.to_baseline()).expect("a baseline")
}

/// Checks a candidate with only one rule, and returns the result and the text of the finding.
fn checked(
    baseline: &Recording,
    candidate: &Recording,
    rule: &str,
    limit: &str,
) -> (Check, String) {
    let text = format!("[[rule]]\nrule = \"{rule}\"\nlimit = {limit}\n");
    let rules = Rules::parse(&text, "tracetree.toml").expect("rules");
    let gate = Gate::check(baseline, candidate, &rules, Date::today());
    let check = gate.checks.iter().find(|check| check.rule == rule).expect("a check").clone();
    let finding = check.findings.first().map(|&at| &gate.findings[at]);
    let words = finding.map(|f| format!("{}: {} → {}, {}", f.what, f.before, f.after, f.limit));
    (check, words.unwrap_or_default())
}

#[test]
fn a_peak_above_its_limit_fails() {
    let (base, batch) = (side("base"), side("batch"));
    let (check, words) = checked(&base, &batch, "peak_memory", "\"5%\"");
    assert_eq!(check.state, State::Failed);
    assert_eq!(words, "peak_memory increased by 473.5 MB: 758.1 MB → 1.2 GB, 5% more");
    let (check, words) = checked(&base, &batch, "peak_memory", "\"200MB\"");
    assert_eq!(check.state, State::Failed);
    assert!(words.ends_with("200.0 MB more"), "{words}");
    assert_eq!(checked(&base, &batch, "peak_memory", "\"500MB\"").0.state, State::Passed);
    assert_eq!(checked(&batch, &base, "peak_memory", "\"0%\"").0.state, State::Passed);
    let (check, _) = checked(&base, &side("again"), "peak_memory", "\"0%\"");
    assert_eq!((check.state, check.message.as_str()), (State::Passed, "758.1 MB → 758.1 MB"));
}

#[test]
fn the_number_of_allocations_is_compared_per_step() {
    let (base, checkpoint) = (side("base"), side("checkpoint"));
    // In three steps, the baseline has 639 allocations and the candidate has 756.
    let (check, words) = checked(&base, &checkpoint, "allocations_per_step", "20");
    assert_eq!(check.state, State::Failed);
    assert_eq!(words, "allocations_per_step increased by 39: 213 → 252, 20 more");
    assert_eq!(checked(&base, &checkpoint, "allocations_per_step", "39").0.state, State::Passed);
}

#[test]
fn a_stored_baseline_keeps_both_figures() {
    let (base, batch) = (side("base"), side("batch"));
    assert!(!base.memory.is_empty());
    assert_eq!(stored(&base).memory, base.memory);
    let of_traces = checked(&base, &batch, "peak_memory", "\"5%\"");
    assert_eq!(checked(&stored(&base), &batch, "peak_memory", "\"5%\""), of_traces);
}

#[test]
fn without_memory_events_or_on_another_device_nothing_is_claimed() {
    let base = side("base");
    let mut without = base.clone();
    without.memory.clear();
    let (check, _) = checked(&base, &without, "peak_memory", "\"5%\"");
    assert_eq!(check.state, State::Inconclusive);
    assert!(check.message.contains("profile_memory"), "{}", check.message);
    let rules = "tolerate = [\"other_device\"]\n[[rule]]\nrule = \"peak_memory\"\nlimit = \"5%\"\n\
                 [[rule]]\nrule = \"allocations_per_step\"\nlimit = 0\n";
    let rules = Rules::parse(rules, "tracetree.toml").expect("rules");
    let mut other = base.clone();
    other.facts.devices = vec!["another GPU".to_owned()];
    let gate = Gate::check(&base, &other, &rules, Date::today());
    let state = |rule: &str| gate.checks.iter().find(|c| c.rule == rule).map(|c| c.state);
    assert_eq!(state("peak_memory"), Some(State::Inconclusive), "{:?}", gate.reasons);
    assert_eq!(state("allocations_per_step"), Some(State::Passed));
}

#[test]
fn the_events_of_many_devices_take_linear_time() {
    let event = |at: usize| {
        format!(
            r#"{{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": {at},
            "args": {{"Addr": {at}, "Bytes": 512, "Device Id": {}, "Device Type": 1, "Total Allocated": 1}}}}"#,
            at % 6_000
        )
    };
    let op = r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}"#;
    let events: Vec<String> = (0..60_000).map(event).collect();
    let text = format!("[{}, {op}]", events.join(", "));
    let trace = Trace::from_reader("t.json", text.as_bytes(), &ReadOptions::default());
    let side = record([CallTree::build(trace.expect("a trace"))]);
    let start = Instant::now();
    check(&side, &side);
    // It takes less than a second. With a pass over all devices for each device, it takes minutes.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
