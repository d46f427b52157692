//! `perfetto.json.gz`, parsed back and checked against the traces that it was made from.

mod support;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use support::reports::{hostile_pair, model_pair, with_analysis};
use tracetree::report::{Emit, Report, ReportOptions};
use tracetree::{PerSide, Side};

/// Processes of the candidate are numbered from here.
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

fn slices(file: &Value) -> Vec<&Value> {
    let events = file["traceEvents"].as_array().expect("events");
    events.iter().filter(|event| event["ph"] == "X").collect()
}

fn side_of(event: &Value) -> Side {
    match event["pid"].as_u64().expect("a pid") < CANDIDATE_FROM {
        true => Side::Baseline,
        false => Side::Candidate,
    }
}

fn uid(event: &Value) -> u32 {
    event["args"]["uid"].as_u64().expect("a uid") as u32
}

#[test]
fn every_slice_is_an_event_of_its_trace_with_its_partner() {
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
                let partner = diff.partner(side, call).and_then(|call| other.event(call));
                let expected = partner.map(|event| other.trace().uid(event).0);
                assert_eq!(slice["args"]["partner_uid"].as_u64(), expected.map(u64::from));
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
fn the_side_stands_in_the_name_of_every_process_and_thread() {
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
fn arrows_lead_forward_in_time_between_partners_of_the_largest_differences() {
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
        assert_eq!(from["args"]["partner_uid"], u64::from(uid(to)));
        names.insert(from["name"].as_str().expect("a name"));
    }
    assert!(names.contains("aten::_convolution"), "{names:?}");
}

#[test]
fn a_bound_keeps_the_slices_with_the_most_time_and_those_above() {
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

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert!(packed(&model_pair(), 1_000) == packed(&model_pair(), 1_000));
}
