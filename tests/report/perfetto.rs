//! Tests that parse `perfetto.json.gz` and check its contents against the two compared traces.

use crate::support::reports::{hostile_pair, model_pair, with_analysis};
use crate::support::trace_builder::TraceBuilder;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use tracetree::report::{Emit, Report, ReportOptions};
use tracetree::{PerSide, Side};

/// Processes with this number or a higher number belong to the candidate.
const CANDIDATE_FROM: u64 = 10_000;

fn packed(pair: &PerSide<String>, slices: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("report");
    let options = ReportOptions {
        emits: vec![Emit::Perfetto],
        perfetto_slices: slices,
        ..ReportOptions::default()
    };
    with_analysis(pair, |analysis| {
        Report::with_options(analysis.clone(), options.clone()).write(&target)
    })
    .expect("a report");
    fs::read(target.join("perfetto.json.gz")).expect("a file")
}

fn parse(pair: &PerSide<String>, slices: usize) -> Value {
    let packed = packed(pair, slices);
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("gzip");
    serde_json::from_str(&text).expect("JSON")
}

/// The slices that represent calls. Only these slices have the argument `relation`; slices for steps and annotations do
/// not.
fn slices(file: &Value) -> Vec<&Value> {
    let events = file["traceEvents"].as_array().expect("events");
    let is_call = |event: &&Value| event["ph"] == "X" && !event["args"]["relation"].is_null();
    events.iter().filter(is_call).collect()
}

fn side_of(event: &Value) -> Side {
    if event["pid"].as_u64().expect("a pid") < CANDIDATE_FROM {
        Side::Baseline
    } else {
        Side::Candidate
    }
}

fn uid(event: &Value) -> u32 {
    event["args"]["uid"].as_u64().expect("a uid") as u32
}

#[test]
fn every_slice_is_an_event_of_its_trace_with_its_counterpart() {
    for pair in [model_pair(), hostile_pair()] {
        let file = parse(&pair, usize::MAX);
        with_analysis(&pair, |analysis| {
            let diff = analysis.diff();
            let mut seen = PerSide::new(BTreeSet::new(), BTreeSet::new());
            for slice in slices(&file) {
                let side = side_of(slice);
                let (tree, other) = (diff.tree(side), diff.tree(side.other()));
                let event =
                    tree.trace().event_at(tracetree::trace::Uid(uid(slice))).expect("an event");
                let call = tree.call_of(event).expect("a call");
                assert!(seen[side].insert(uid(slice)), "uid {} stands twice", uid(slice));
                assert_eq!(slice["name"], tree.name(call));
                assert_eq!(slice["args"]["relation"], diff.relation(side, call).label());
                assert_eq!(slice["dur"], tree.duration(call).as_micros());
                let counterpart = diff.counterpart(side, call).and_then(|call| other.event(call));
                let expected = counterpart.map(|event| other.trace().uid(event).0);
                assert_eq!(slice["args"]["counterpart_uid"].as_u64(), expected.map(u64::from));
            }
            for side in Side::BOTH {
                let tree = diff.tree(side);
                let events = tree.calls().filter(|&call| tree.event(call).is_some()).count();
                assert_eq!(seen[side].len(), events);
            }
            Ok(())
        })
        .expect("readable traces");
    }
}

#[test]
fn both_sides_start_their_first_step_at_one_moment() {
    let file = parse(&model_pair(), usize::MAX);
    let first = |side: Side| {
        slices(&file)
            .iter()
            .filter(|slice| side_of(slice) == side && slice["cat"] == "python_function")
            .map(|slice| slice["ts"].as_f64().expect("a time"))
            .fold(f64::INFINITY, f64::min)
    };
    assert!((first(Side::Baseline) - first(Side::Candidate)).abs() < 1e-6);
    let earliest = slices(&file)
        .iter()
        .map(|slice| slice["ts"].as_f64().expect("a time"))
        .fold(f64::INFINITY, f64::min);
    assert!(earliest >= 0.0, "{earliest}");
}

#[test]
fn no_time_is_negative_if_one_side_began_long_before_its_first_step() {
    let side = |idle: f64| {
        let builder = TraceBuilder::cuda().thread("main", |t| {
            t.op("aten::zeros", |t| t.kernel("fill", 1.0));
            t.idle(idle);
            t.step(0, |t| t.op("aten::mm", |t| t.kernel("gemm", 5.0)));
        });
        builder.json()
    };
    for idle in [PerSide::new(10.0, 5_000.0), PerSide::new(5_000.0, 10.0)] {
        let file = parse(&idle.map(side), usize::MAX);
        let starts = slices(&file).into_iter().map(|slice| slice["ts"].as_f64().expect("a time"));
        assert_eq!(starts.fold(f64::INFINITY, f64::min), 0.0);
    }
}

#[test]
fn the_side_is_in_the_name_of_every_process_and_thread() {
    let file = parse(&model_pair(), usize::MAX);
    let mut names = 0;
    for event in file["traceEvents"].as_array().expect("events") {
        if event["name"] == "process_name" || event["name"] == "thread_name" {
            let name = event["args"]["name"].as_str().expect("a name");
            assert!(name.starts_with(side_of(event).label()), "{name}");
            names += 1;
        }
    }
    assert!(names >= 8, "{names} names");
}

#[test]
fn arrows_point_forward_in_time_between_matches_of_the_largest_differences() {
    let file = parse(&model_pair(), usize::MAX);
    let mut ends: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for slice in slices(&file) {
        if let Some(arrow) = slice["bind_id"].as_u64() {
            ends.entry(arrow).or_default().push(slice);
        }
    }
    assert!(!ends.is_empty());
    let mut names = BTreeSet::new();
    for (arrow, ends) in ends {
        let [a, b] = ends[..] else { panic!("arrow {arrow} has {} ends", ends.len()) };
        let (from, to) = if a["flow_out"] == true { (a, b) } else { (b, a) };
        assert!(from["flow_out"] == true && to["flow_in"] == true);
        assert!(from["ts"].as_f64() <= to["ts"].as_f64());
        assert_ne!(side_of(from), side_of(to));
        assert_eq!(from["args"]["counterpart_uid"], u64::from(uid(to)));
        names.insert(from["name"].as_str().expect("a name"));
    }
    assert!(names.contains("aten::_convolution"), "{names:?}");
}

#[test]
fn a_limit_keeps_the_slices_with_the_most_time_and_their_parents() {
    let pair = model_pair();
    let all = parse(&pair, usize::MAX);
    let few = parse(&pair, 20);
    assert!(slices(&few).len() <= 2 * 20 && slices(&few).len() < slices(&all).len());
    assert!(few["tracetree"]["nodes_left_out"].as_u64() > Some(0));
    assert_eq!(all["tracetree"]["nodes_left_out"], 0);
    let names: BTreeSet<&str> =
        slices(&few).iter().filter_map(|slice| slice["name"].as_str()).collect();
    assert!(
        names.contains("train.py(3): step") && names.contains("aten::_convolution"),
        "{names:?}"
    );
}

/// The contents of a trace, read as plain JSON.
struct Recount {
    annotations: usize,
    steps: usize,
    /// Number of GPU events that start after the runtime call that launched them.
    launched: usize,
    /// The correlation id of each event, by the event's position.
    correlations: Vec<Option<i64>>,
}

fn recount(text: &str) -> Recount {
    let trace: Value = serde_json::from_str(text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let complete = |event: &&Value, cats: &[&str]| {
        event["ph"] == "X" && event["cat"].as_str().is_some_and(|cat| cats.contains(&cat))
    };
    let of = |cats: &'static [&str]| events.iter().filter(move |event| complete(event, cats));
    let correlation = |event: &Value| event["args"]["correlation"].as_i64();
    let ts = |event: &Value| event["ts"].as_f64().expect("a time");
    let launches: BTreeMap<i64, f64> = of(&["cuda_runtime", "cuda_driver"])
        .filter_map(|event| Some((correlation(event)?, ts(event))))
        .collect();
    let begun = |id: &i64, at: f64| launches.get(id).is_some_and(|&launch| launch <= at);
    let launched = of(&["kernel", "gpu_memcpy", "gpu_memset"])
        .filter(|event| correlation(event).is_some_and(|id| begun(&id, ts(event))))
        .count();
    let is_step = |event: &&Value| {
        event["name"].as_str().is_some_and(|name| name.starts_with("ProfilerStep#"))
    };
    Recount {
        annotations: of(&["user_annotation", "gpu_user_annotation"]).count(),
        steps: of(&["user_annotation"]).filter(is_step).count(),
        launched,
        correlations: events.iter().map(correlation).collect(),
    }
}

/// Checks the steps, annotations and arrows in the file against the JSON of the traces.
fn check_marks(file: &Value, texts: &PerSide<String>) {
    let counts = texts.as_ref().map(|text| recount(text));
    let events = file["traceEvents"].as_array().expect("events");
    // Old traces have whole-microsecond times, so several calls on a thread can start at the same time.
    let mut by_place: BTreeMap<(u64, u64, String), Vec<&Value>> = BTreeMap::new();
    for slice in slices(file) {
        by_place.entry(place(slice)).or_default().push(slice);
    }
    for side in Side::BOTH {
        let is_of_side = |event: &&Value| event["ph"] != "M" && side_of(event) == side;
        let of_side: Vec<&Value> = events.iter().filter(is_of_side).collect();
        let with_cat = |cats: &[&str]| {
            let found = of_side.iter().filter(|event| event["ph"] == "X");
            found.filter(|event| cats.iter().any(|cat| event["cat"] == *cat)).count()
        };
        assert_eq!(with_cat(&["user_annotation", "gpu_user_annotation"]), counts[side].annotations);
        assert_eq!(with_cat(&["step"]), counts[side].steps);
        let mut joined = 0;
        let ends = |ph: &'static str| {
            let found = of_side.iter().copied().filter(move |event| event["ph"] == ph);
            found.map(|event| (event["id"].as_u64().expect("an id"), event))
        };
        let finishes: BTreeMap<u64, &Value> = ends("f").collect();
        for (id, start) in ends("s") {
            let of = |end: &Value| -> BTreeSet<i64> {
                let slices = by_place[&place(end)].iter();
                slices.filter_map(|slice| counts[side].correlations[uid(slice) as usize]).collect()
            };
            let (from, to) = (of(start), of(finishes[&id]));
            assert!(!from.is_disjoint(&to), "arrow {id} joins what does not belong together");
            joined += 1;
        }
        assert_eq!(joined, counts[side].launched);
    }
}

/// The process, the track and the time at which a slice starts or an arrow ends.
fn place(event: &Value) -> (u64, u64, String) {
    let number = |key: &str| event[key].as_u64().expect("a number");
    (number("pid"), number("tid"), event["ts"].to_string())
}

#[test]
fn steps_annotations_and_launches_are_those_of_the_traces() {
    let pair = model_pair();
    let file = parse(&pair, usize::MAX);
    check_marks(&file, &pair);
    let counts = pair.as_ref().map(|text| recount(text));
    assert_eq!((counts.baseline.steps, counts.candidate.steps), (2, 2));
    assert!(counts.candidate.launched > 10, "{}", counts.candidate.launched);
}

#[test]
fn steps_annotations_and_launches_of_real_traces_are_in_the_file() {
    for [one, two] in [
        ["mi300_h100/timesformer.mi300", "mi300_h100/timesformer.h100"],
        ["training/eager.a100", "training/compiled_graphs.v100"],
    ] {
        let path = |name: &str| crate::support::traces::real(&format!("{name}.json.gz"));
        let (Some(one), Some(two)) = (path(one), path(two)) else { return };
        let unpacked = |path: &std::path::Path| {
            let mut text = String::new();
            let file = fs::File::open(path).expect("a trace");
            flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
            text
        };
        let texts = PerSide::new(unpacked(one.as_ref()), unpacked(two.as_ref()));
        check_marks(&parse(&texts, usize::MAX), &texts);
    }
}

#[test]
fn no_name_ends_with_a_space() {
    // The profiler writes this tid with a trailing space: `stream 7 `.
    let pair = model_pair();
    assert!(pair.candidate.contains("stream 7 \""), "{}", pair.candidate);
    let file = parse(&pair, usize::MAX);
    let named = |event: &&Value| event["name"] == "thread_name" || event["name"] == "process_name";
    let names: Vec<&str> = file["traceEvents"]
        .as_array()
        .expect("events")
        .iter()
        .filter(named)
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert!(names.contains(&"trace2: stream 7"), "{names:?}");
    assert!(names.iter().all(|name| *name == name.trim()), "{names:?}");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert!(packed(&model_pair(), 1_000) == packed(&model_pair(), 1_000));
}

#[test]
fn a_counter_shows_how_far_the_candidate_is_behind() {
    let pair = model_pair();
    let file = parse(&pair, usize::MAX);
    let events = file["traceEvents"].as_array().expect("events");
    let counter: Vec<f64> = events
        .iter()
        .filter(|event| event["ph"] == "C")
        .map(|event| event["args"]["ms"].as_f64().expect("a number"))
        .collect();
    let behind = with_analysis(&pair, |analysis| {
        let points = analysis.lag().points.iter();
        Ok(points.map(|point| point.behind().as_millis()).collect::<Vec<f64>>())
    })
    .expect("an analysis");
    assert!(counter.len() >= 3);
    assert_eq!(counter, behind);
}
