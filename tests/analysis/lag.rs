//! Checks where a step falls behind: a known pause in a real recording, exact sums, a recount from the raw trace, and
//! both directions.

use crate::support::compared::{analyse_texts, compare_files};
use crate::support::enter_root;
use crate::support::files::unpacked;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tracetree::analysis::lag::Lag;
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

const EAGER: &str = "examples/traces/h100/resnet_eager.pt.trace.json.gz";
const BASE: &str = "examples/traces/known/gpu_base.pt.trace.json.gz";
const PAIRS: [(&str, &str); 4] = [
    (EAGER, "examples/traces/h100/resnet_tf32_off.pt.trace.json.gz"),
    (EAGER, "examples/traces/h100/resnet_compiled.pt.trace.json.gz"),
    (
        "examples/traces/h100/train_base.pt.trace.json.gz",
        "examples/traces/h100/train_loader.pt.trace.json.gz",
    ),
    ("examples/traces/cnn.pt.trace.json.gz", "examples/traces/cnn_extra_op.pt.trace.json.gz"),
];

fn text(path: &str) -> String {
    enter_root();
    String::from_utf8(unpacked(Path::new(path)).expect("a trace")).expect("text")
}

fn lost(lag: &Lag) -> Nanos {
    lag.parts.iter().map(|part| part.lost).sum()
}

#[test]
fn the_parts_add_up_to_the_difference_between_the_steps_in_both_directions() {
    for (one, two) in PAIRS {
        let paths = PerSide::new(one, two);
        let forward = compare_files(paths, |analysis| analysis.lag().clone());
        assert_eq!(lost(&forward), forward.total(), "{one} → {two}");
        assert!(forward.points.len() >= 3, "{one} → {two}: {}", forward.points.len());
        let in_order = |side: Side| forward.points.is_sorted_by_key(|point| point.at[side]);
        assert!(Side::BOTH.into_iter().all(in_order), "{one} → {two}");
        let backward = compare_files(paths.swap(), |analysis| analysis.lag().clone());
        assert_eq!(lost(&backward), backward.total(), "{two} → {one}");
        if forward.steps == backward.steps.map(PerSide::swap) {
            assert_eq!(forward.total(), Nanos(-backward.total().0), "{one} → {two}");
        }
    }
}

#[test]
fn a_recording_is_never_behind_itself() {
    let lag = compare_files(PerSide::new(EAGER, EAGER), |analysis| analysis.lag().clone());
    assert!(lag.points.iter().all(|point| point.behind() == Nanos::ZERO));
    assert!(lag.parts.iter().all(|part| part.lost == Nanos::ZERO));
}

/// The steps of a trace, as start and duration in µs.
fn steps(trace: &Value) -> Vec<(f64, f64)> {
    let events = trace["traceEvents"].as_array().expect("events");
    let steps = events.iter().filter(|event| {
        event["cat"] == "user_annotation"
            && event["name"].as_str().is_some_and(|name| name.starts_with("ProfilerStep#"))
    });
    let number = |value: &Value| value.as_f64().expect("a number");
    steps.map(|step| (number(&step["ts"]), number(&step["dur"]))).collect()
}

/// The trace with a pause of `pause` µs in each step, before the first event that starts after the given share of the
/// step. Whatever runs at that moment takes longer.
fn paused(text: &str, share: f64, pause: f64) -> String {
    let mut trace: Value = serde_json::from_str(text).expect("JSON");
    let at: Vec<f64> = steps(&trace).iter().map(|(start, time)| start + share * time).collect();
    for event in trace["traceEvents"].as_array_mut().expect("events") {
        let Some(start) = event["ts"].as_f64() else { continue };
        let end = start + event["dur"].as_f64().unwrap_or(0.0);
        let before = |time: f64| at.iter().filter(|&&at| at <= time).count() as f64;
        event["ts"] = (start + pause * before(start)).into();
        if event.get("dur").is_some() {
            event["dur"] = (end - start + pause * (before(end) - before(start))).into();
        }
    }
    trace.to_string()
}

#[test]
fn a_pause_is_lost_where_it_is() {
    let original = text(EAGER);
    let mut parts = Vec::new();
    for share in [0.2, 0.7] {
        let texts = PerSide::new(original.clone(), paused(&original, share, 5_000.0));
        let names = PerSide::new("baseline", "candidate");
        let analysis = analyse_texts(names, &texts).expect("two traces");
        let lag = analysis.lag();
        let near = |time: Nanos, micros: i64| (time.0 - 1_000 * micros).abs() <= 2_000;
        assert!(near(lag.total(), 5_000), "{:?}", lag.total());
        let largest = lag.largest()[0];
        assert!(near(largest.lost, 5_000), "{largest:?}");
        let before = lag.points.iter().filter(|point| near(point.behind(), 0)).count();
        let after = lag.points.iter().filter(|point| near(point.behind(), 5_000)).count();
        assert_eq!(
            before + after,
            lag.points.len(),
            "the lag is 0 before the pause and 5 ms after it"
        );
        let last = lag.points[before - 1].at.baseline.0 as f64 / lag.length.baseline.0 as f64;
        assert!((last - share).abs() < 0.1, "the pause at {share} of the step is found at {last}");
        parts.push(largest.title.clone());
    }
    assert!(parts[0].starts_with("forward") && parts[1].starts_with("backward"), "{parts:?}");
}

/// The end of the last GPU event that each step of a trace launched, in µs. An event is launched by the host event with
/// its correlation id.
fn ends_of_work(trace: &Value) -> Vec<f64> {
    let events = trace["traceEvents"].as_array().expect("events");
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let id = |event: &Value| event["args"]["correlation"].as_i64();
    let is_launch =
        |event: &&Value| event["cat"] == "cuda_runtime" || event["cat"] == "cuda_driver";
    let launches: BTreeMap<i64, f64> = events
        .iter()
        .filter(is_launch)
        .filter_map(|event| Some((id(event)?, number(&event["ts"]))))
        .collect();
    let is_gpu = |event: &&Value| {
        ["kernel", "gpu_memcpy", "gpu_memset"].iter().any(|category| event["cat"] == *category)
    };
    let work: Vec<(f64, f64)> = events
        .iter()
        .filter(is_gpu)
        .filter_map(|event| {
            let launch = launches.get(&id(event)?)?;
            Some((*launch, number(&event["ts"]) + number(&event["dur"])))
        })
        .collect();
    let of_step = |(start, time): (f64, f64)| {
        let own = work.iter().filter(|(launch, _)| (start..=start + time).contains(launch));
        own.map(|(_, end)| *end).fold(f64::NEG_INFINITY, f64::max)
    };
    steps(trace).into_iter().map(of_step).collect()
}

#[test]
fn the_end_of_the_curve_is_the_difference_between_the_work_of_the_steps() {
    for (one, two) in [
        (BASE, "examples/traces/known/gpu_sleep.pt.trace.json.gz"),
        // The host runs several steps ahead of the GPU in the first recording, and waits for it in the second.
        (BASE, "examples/traces/known/gpu_sync.pt.trace.json.gz"),
    ] {
        let lag = compare_files(PerSide::new(one, two), |analysis| analysis.lag().clone());
        let shown = lag.steps.expect("steps");
        let length = |path: &str, step: usize| {
            let trace: Value = serde_json::from_str(&text(path)).expect("JSON");
            let ends = ends_of_work(&trace);
            assert!(step > 0, "the first step has no earlier work");
            let (start, time) = steps(&trace)[step];
            // The last step lasts at least as long as the host's step.
            let end =
                if step + 1 == ends.len() { ends[step].max(start + time) } else { ends[step] };
            end - ends[step - 1]
        };
        let recounted = length(two, shown.candidate.index()) - length(one, shown.baseline.index());
        let total = lag.total().0 as f64 / 1_000.0;
        assert!((total - recounted).abs() < 1.0, "{one} → {two}: {total} {recounted}");
    }
}

#[test]
fn a_host_that_runs_ahead_of_the_gpu_is_not_behind() {
    for other in ["gpu_again", "gpu_sleep"] {
        let other = format!("examples/traces/known/{other}.pt.trace.json.gz");
        compare_files(PerSide::new(BASE, other.as_str()), |analysis| {
            let lag = analysis.lag();
            let step = lag.length.baseline.0.max(lag.length.candidate.0);
            let most = lag.largest()[0];
            assert!(most.lost.0.abs() < step / 5, "{other}: {most:?} of {step}");
        });
    }
}
