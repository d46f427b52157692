//! Tests Nsight Systems and XLA files: independently computed totals, properties of comparisons, and damage.

use crate::protobuf;
use crate::support::{files, laws, splitmix::SplitMix, traces};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tracetree::trace::{Category, Nanos, ReadOptions, Recorder, Trace};
use tracetree::tree::CallTree;
use tracetree::{Analysis, Side, TraceDiff};

/// A file with 12 ms of a forward pass on two GPUs, cut from a real export.
fn nsight() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recorders/nsight.sqlite.gz")
}

fn jax(name: &str) -> PathBuf {
    traces::example(&format!("jax/{name}.xplane.pb.gz"))
}

fn read(bytes: &[u8]) -> tracetree::Result<Trace> {
    Trace::from_reader("t", bytes, &ReadOptions::default())
}

/// The number of events in a category, and their total time in ns.
fn total(trace: &Trace, category: Category) -> (usize, i64) {
    let events: Vec<_> = trace.events().filter(|id| trace.category(*id) == category).collect();
    (events.len(), events.iter().map(|id| trace.duration(*id).0).sum())
}

#[test]
fn the_totals_of_an_export_are_those_of_sqlite() {
    let trace = Trace::open(nsight()).expect("an export");
    assert_eq!(trace.header().recorder, Recorder::NsightSystems);
    // SELECT count(*), sum(end - start) FROM …
    assert_eq!(total(&trace, Category::Kernel), (65, 20_891_999));
    assert_eq!(total(&trace, Category::Memcpy), (6, 188_160));
    assert_eq!(total(&trace, Category::Memset), (4, 3_040));
    assert_eq!(total(&trace, Category::Runtime), (53, 10_029_793));
    assert_eq!(total(&trace, Category::CpuOp), (129, 33_748_058));
    assert_eq!(trace.left_out(), [("synchronization".to_owned(), 1)]);
}

#[test]
fn launches_link_within_their_process() {
    let tree = CallTree::build(Trace::open(nsight()).expect("an export"));
    let names = |call| tree.name(call).to_owned();
    let unlinked = tree.roots().find(|root| names(*root) == "(launch not in trace)");
    // The expected number was counted with SQL: GPU events for which no call has the same globalPid >> 24 and
    // correlationId.
    let below = tree.size(unlinked.expect("kernels that were launched earlier")) - 1;
    assert_eq!(below, 31);
}

#[test]
fn events_of_a_profile_have_the_times_of_the_file() {
    for name in ["jax_base", "jax_cpu_bfloat16", "jax_cpu_checkpoint"] {
        let bytes = files::unpacked(&jax(name)).expect("a profile");
        let (trace, expected) = (read(&bytes).expect("a profile"), protobuf::events(&bytes));
        assert_eq!(trace.header().recorder, Recorder::Xla);
        let own: Vec<_> =
            trace.events().filter(|id| (trace.uid(*id).0 as usize) < expected.len()).collect();
        assert!(own.len() > 100, "{name}: {} events", own.len());
        for id in &own {
            let (plane, kind, (start, end)) = &expected[trace.uid(*id).0 as usize];
            let times = (trace.start(*id).0, trace.duration(*id).0);
            assert_eq!(times, (*start, end - start), "{name}: {kind} of {plane}");
        }
        let left_out: u64 = trace.left_out().iter().map(|(_, count)| count).sum();
        assert_eq!(own.len() as u64 + left_out, expected.len() as u64, "{name}");
    }
}

#[test]
fn allocations_of_a_profile_satisfy_the_byte_law() {
    for (name, per_device) in [("jax_base", 30), ("jax_batch", 30)] {
        let bytes = files::unpacked(&jax(name)).expect("a profile");
        let trace = read(&bytes).expect("a profile");
        let of = |name: &str| -> i64 {
            let sizes = protobuf::statistics(&bytes, name).into_iter();
            sizes.map(|stats| stats["allocation_bytes"].parse::<i64>().expect("bytes")).sum()
        };
        let memory = trace.memory();
        assert_eq!(memory.len(), per_device, "{name}");
        let sum = |is_free: bool| -> i64 {
            memory.iter().map(|event| event.bytes).filter(|bytes| (*bytes < 0) == is_free).sum()
        };
        assert_eq!((sum(false), -sum(true)), (of("MemoryAllocation"), of("MemoryDeallocation")));
        let mut sorted: Vec<_> = memory.iter().collect();
        sorted.sort_by_key(|event| (event.time, event.order));
        for pair in sorted.windows(2) {
            let [before, after] = [pair[0], pair[1]].map(|event| event.allocated.expect("a total"));
            assert_eq!(after - before, pair[1].bytes, "{name}");
        }
        assert!(
            memory.iter().all(|event| event.device.number == Some(0) && event.address.is_some())
        );
    }
}

#[test]
fn the_json_of_a_profile_has_its_events_and_says_what_it_lacks() {
    for name in ["jax_base", "jax_relu"] {
        let path = traces::example(&format!("jax/{name}.trace.json.gz"));
        let bytes = files::unpacked(&path).expect("the JSON");
        let (json, profile) =
            (read(&bytes).expect("the JSON"), Trace::open(jax(name)).expect("a profile"));
        assert_eq!(json.header().recorder, Recorder::Xla);
        assert!(json.notes().get("JSON_PROFILE").is_some());
        assert!(profile.notes().get("JSON_PROFILE").is_none());
        for category in [Category::Kernel, Category::Runtime] {
            let times = |trace: &Trace| {
                let events = trace.events().filter(|id| trace.category(*id) == category);
                let mut times: Vec<(String, i64)> =
                    events.map(|id| (trace.name(id).to_owned(), trace.duration(id).0)).collect();
                times.sort();
                times
            };
            assert_eq!(times(&json), times(&profile), "{name} {category:?}");
            assert!(!times(&json).is_empty());
        }
        assert_eq!(json.memory().len(), 0, "the JSON has no events of the allocator");
        // The uid of an event is its position in traceEvents.
        let text: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        let events = text["traceEvents"].as_array().expect("a list");
        for id in json.events().filter(|id| json.category(*id) == Category::Kernel) {
            let event = &events[json.uid(id).0 as usize];
            assert_eq!(event["name"], json.name(id));
            let us = event["dur"].as_f64().expect("a duration");
            assert_eq!((us * 1e3).round() as i64, json.duration(id).0);
        }
        let all: u64 = json.left_out().iter().map(|(_, count)| count).sum();
        assert_eq!(json.len() as u64 + all, json.total_events());
    }
}

/// GPU time in each block, summed over the kernels whose call is between the block's two ranges. The times were
/// computed from `mfu_2gpu_before` with SQL.
const BLOCKS: [(&str, i64, i64); 3] = [
    ("blocks_9", 34_471_342, 32_646_651),
    ("blocks_12", 31_633_167, 31_755_870),
    ("blocks_18", 34_654_666, 38_380_336),
];

#[test]
fn two_windows_of_one_model_are_compared_block_by_block() {
    let Some(folder) = traces::real("nsys") else { return };
    let tree = |name: &str| {
        let path = folder.join(format!("mfu_2gpu_{name}.sqlite.gz"));
        CallTree::build(Trace::open(path).expect("an export"))
    };
    let analysis = Analysis::new(TraceDiff::new(tree("before"), tree("after")));
    let note = &analysis.comparability().both.get("DIFFERENT_WINDOW").expect("a note").message;
    assert!(note.contains("blocks 3–18 → 9–22 (both contain 9–18)"), "{note}");
    let pairs = analysis.layer_pairs();
    let mut found = 0;
    for row in analysis.layer_rows(pairs) {
        let names = Side::BOTH.map(|side| pairs.instance(row.place, side));
        if !names.contains(&"") {
            assert_eq!(names[0], names[1]);
            found += 1;
        }
        if let Some((_, before, after)) = BLOCKS.iter().find(|(name, ..)| *name == names[0]) {
            assert_eq!((row.time.baseline.0, row.time.candidate.0), (*before, *after), "{names:?}");
        }
    }
    assert_eq!(found, 10);
}

#[test]
fn kernels_have_the_times_of_the_reference() {
    let Some(folder) = traces::real("jax") else { return };
    let trace = Trace::open(folder.join("conv_minimal.legacy.xplane.pb.gz")).expect("a profile");
    let mut times: BTreeMap<&str, Nanos> = BTreeMap::new();
    for id in trace.events().filter(|id| trace.category(*id) == Category::Kernel) {
        *times.entry(trace.name(id)).or_default() += trace.duration(id);
    }
    let table = std::fs::read_to_string(folder.join("kernel_launchers_summary.csv")).expect("CSV");
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let (name, rest) = line.split_once(',').expect("columns");
        let expected: f64 = rest.split(',').next().and_then(|us| us.parse().ok()).expect("µs");
        let time = times.get(name).unwrap_or_else(|| panic!("no kernel {name}")).0 as f64 / 1e3;
        assert!((time / expected - 1.0).abs() < 1e-3, "{name}: {time} µs instead of {expected}");
        compared += 1;
    }
    assert_eq!(compared, 5);
}

#[test]
fn comparisons_of_all_recorders_satisfy_the_laws() {
    let unpacked = |path: PathBuf| files::unpacked(&path).expect("a trace");
    // The JAX trace is compared with a trace of a different program, and with a Kineto trace.
    let pair =
        [unpacked(jax("jax_cpu_base")), unpacked(jax("jax_cpu_relu"))].join(&b"\n====\n"[..]);
    laws::hold_for_comparing(&pair);
    laws::hold_for_comparing(&unpacked(nsight()));
    let mixed = [unpacked(nsight()), unpacked(jax("jax_relu"))].join(&b"\n====\n"[..]);
    laws::hold_for_comparing(&mixed);
}

#[test]
fn damage_is_an_error_or_a_bounded_trace() {
    for (path, seed) in [(nsight(), 54), (jax("jax_cpu_relu"), 55)] {
        let sound = files::unpacked(&path).expect("a trace");
        let mut random = SplitMix::new(seed);
        let (mut refused, mut built) = (0, 0);
        for round in 0..300 {
            let mut bytes = sound.clone();
            for _ in 0..[0, 1, 3, 30][round % 4] {
                let at = random.below(bytes.len());
                bytes[at] = [0, 0x80, 0xff, random.next() as u8][random.below(4)];
            }
            if round % 4 == 0 {
                bytes.truncate(random.below(sound.len()));
            }
            match read(&bytes) {
                Ok(trace) => {
                    // The bound allows for up to 48 scopes, a program and an op around each event; an event takes at
                    // least two bytes.
                    assert!(trace.len() < 25 * bytes.len());
                    if round % 10 == 1 {
                        CallTree::build(trace);
                        built += 1;
                    }
                }
                Err(error) => {
                    assert!(error.to_string().contains("t: "), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 30 && built > 0, "{refused} refused, {built} built");
    }
}

#[test]
fn a_cut_database_is_refused_with_the_command_to_export_it() {
    let bytes = files::unpacked(&nsight()).expect("an export");
    let text = String::from_utf8_lossy(&bytes[..16]);
    assert_eq!(text, "SQLite format 3\0");
    let error = read(&bytes[..5000]).expect_err("a cut database");
    assert!(error.to_string().contains("pages are present"), "{error}");
    assert!(error.to_string().contains("nsys export --type sqlite"), "{error}");
}
