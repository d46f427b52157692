//! Tests with Nsight Systems and XLA files: totals are checked against independently computed values, comparisons must
//! have general properties, and a damaged file must result in an error or in a trace of limited size.

use crate::protobuf;
use crate::support::root;
use crate::support::{files, laws, splitmix::SplitMix, traces};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tracetree::analysis::layers::layer_rows;
use tracetree::trace::{Category, Nanos, ReadOptions, Recorder, Trace};
use tracetree::tree::{CallId, CallKind, CallTree};
use tracetree::{Analysis, Side, TraceDiff};

/// A file with 12 ms of a forward pass on two GPUs, cut from a real export.
fn nsight() -> PathBuf {
    root().join("tests/fixtures/recorders/nsight.sqlite.gz")
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
    // The expected values were computed with SQLite: `SELECT count(*), sum(end - start) FROM …`.
    assert_eq!(total(&trace, Category::Kernel), (65, 20_891_999));
    assert_eq!(total(&trace, Category::Memcpy), (6, 188_160));
    assert_eq!(total(&trace, Category::Memset), (4, 3_040));
    assert_eq!(total(&trace, Category::Runtime), (53, 10_029_793));
    assert_eq!(total(&trace, Category::CpuOp), (129, 33_748_058));
    assert_eq!(trace.left_out(), [("synchronization".to_owned(), 1)]);
}

/// Expected values for an export, computed with SQL. First, for kernels, copies, memsets and runtime calls, in this
/// order: the number of rows, and their total time in ns. Second, the number and the total time of the ranges. Last,
/// the number of GPU events whose call is not in the file.
type Sums = ([(usize, i64); 4], (usize, i64), usize);

const SUMS: [(&str, Sums); 2] = [
    (
        "before",
        (
            [(4010, 535_200_650), (1020, 5_692_087), (269, 213_408), (7466, 370_168_989)],
            (19_118, 1_403_779_266),
            24 + 5 + 2,
        ),
    ),
    (
        "after",
        (
            [(3587, 488_835_406), (904, 5_086_674), (242, 187_423), (6682, 351_580_171)],
            (17_113, 1_376_289_628),
            10 + 4 + 2,
        ),
    ),
];

#[test]
fn every_row_of_a_whole_export_is_read() {
    let Some(folder) = traces::real("nsys") else { return };
    for (name, expected) in SUMS {
        let trace =
            Trace::open(folder.join(format!("mfu_2gpu_{name}.sqlite.gz"))).expect("a trace");
        let kinds = [Category::Kernel, Category::Memcpy, Category::Memset, Category::Runtime];
        let (sums, ranges) =
            (kinds.map(|kind| total(&trace, kind)), total(&trace, Category::CpuOp));
        let tree = CallTree::build(trace);
        let unlinked = tree.roots().find(|root| tree.name(*root) == "(launch not in trace)");
        let below = unlinked.map_or(0, |root| tree.size(root) - 1);
        assert_eq!((sums, ranges, below), expected, "{name}");
        let gpu = |call: &CallId| tree.kind(*call) == CallKind::Gpu;
        let in_tree = tree.calls().filter(gpu).count();
        let events: usize = expected.0[..3].iter().map(|(count, _)| count).sum();
        assert_eq!(in_tree, events, "{name}");
    }
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
fn a_profile_states_the_inputs_and_the_functions_of_the_programs_that_ran() {
    for (name, rows, element) in
        [("jax_batch", 4096, "c10::BFloat16"), ("jax_cpu_base", 256, "float")]
    {
        let trace = Trace::open(jax(name)).expect("a profile");
        let [program] = trace.programs() else { panic!("{:?}", trace.programs()) };
        assert_eq!(program.name, "jit_train_step");
        let mut names: Vec<&str> = program.inputs.iter().map(|input| input.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["weights[0]", "weights[1]", "weights[2]", "x"]);
        let x = program.inputs.iter().find(|input| input.name == "x").expect("the data");
        let width = if rows == 256 { 128 } else { 1024 };
        assert_eq!((x.dimensions.as_slice(), x.element), (&[rows, width][..], element));
        assert!(program.stacks.contains("jvp(layer_2)/tanh"), "{:?}", program.stacks);
        assert!(!program.stacks.contains("x") && !program.stacks.contains(""));
        assert!(program.elements.contains(element), "{:?}", program.elements);
    }
    let json = traces::example("jax/jax_base.trace.json.gz");
    assert!(Trace::open(json).expect("the JSON").programs().is_empty());
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

/// The ops are distributed over the threads of a pool, in each run differently, so neither their thread nor their order
/// is a difference between the programs.
#[test]
fn two_runs_of_a_cpu_program_are_identical() {
    let tree = |name| CallTree::build(Trace::open(jax(name)).expect("a profile"));
    for (one, two) in [("jax_cpu_base", "jax_cpu_again"), ("jax_cpu_again", "jax_cpu_base")] {
        let analysis = Analysis::new(TraceDiff::new(tree(one), tree(two)));
        let changes: Vec<&str> =
            analysis.changes().list().iter().map(|change| change.sentence.as_str()).collect();
        assert!(analysis.changes().is_identical(), "{changes:?}");
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

/// GPU time in each block: the total time of the kernels that were called between the block's two ranges. The times
/// were computed from `mfu_2gpu_before` with SQL.
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
    for row in layer_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs()) {
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

/// The reference numbers the GPUs starting from 1.
#[test]
fn gpus_are_busy_for_as_long_as_the_reference_says() {
    let Some(folder) = traces::real("jax") else { return };
    let trace = Trace::open(folder.join("conv_minimal.legacy.xplane.pb.gz")).expect("a profile");
    let mut spans: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for id in trace.events().filter(|id| trace.category(*id).is_gpu()) {
        let device = trace.stream(id).expect("a stream").device;
        spans.entry(device + 1).or_default().push((trace.start(id).0, trace.end(id).0));
    }
    let mut busy: BTreeMap<i64, f64> = BTreeMap::new();
    for (device, mut spans) in spans {
        spans.sort_unstable();
        let (mut sum, mut reached) = (0, i64::MIN);
        for (start, end) in spans {
            sum += (end - start.max(reached)).max(0);
            reached = reached.max(end);
        }
        busy.insert(device, sum as f64 / 1e6);
    }
    let table = std::fs::read_to_string(folder.join("gpu_timeline.csv")).expect("CSV");
    let mut compared = 0;
    for line in table.lines().filter(|line| line.starts_with("busy_time,")) {
        let fields: Vec<&str> = line.split(',').collect();
        let (expected, device): (f64, i64) =
            (fields[1].parse().expect("ms"), fields[3].parse().expect("a GPU"));
        let found = busy[&device];
        assert!((found / expected - 1.0).abs() < 1e-3, "GPU {device}: {found} ms, not {expected}");
        compared += 1;
    }
    assert_eq!((compared, busy.len()), (2, 2));
}

#[test]
fn device_events_of_profiles_link_to_launches_that_begin_earlier() {
    let Some(folder) = traces::real("jax") else { return };
    // The events were counted in Python from the protobuf messages.
    for (name, expected) in
        [("conv_minimal.08", 235), ("conv_minimal.legacy", 78), ("te_fused_attn", 150)]
    {
        let path = folder.join(format!("{name}.xplane.pb.gz"));
        let tree = CallTree::build(Trace::open(path).expect("a profile"));
        let trace = tree.trace();
        let (mut events, mut in_scopes) = (0, 0);
        for call in tree.calls().filter(|call| tree.kind(*call) == CallKind::Gpu) {
            let launch = tree.running_launch(call).and_then(|launch| tree.event(launch));
            let start = trace.start(tree.event(call).expect("an event"));
            let launched = trace.start(launch.unwrap_or_else(|| panic!("{name}: no launch")));
            assert!(launched <= start, "{name}");
            events += 1;
            let kinds: Vec<CallKind> = tree.ancestors(call).map(|above| tree.kind(above)).collect();
            // The call is inside a program and at least one scope.
            let frames = kinds.iter().filter(|kind| **kind == CallKind::Frame).count();
            in_scopes += usize::from(kinds.contains(&CallKind::Op) && frames >= 2);
        }
        assert_eq!(events, expected, "{name}");
        if name == "te_fused_attn" {
            assert_eq!(in_scopes, 150);
        }
    }
}

#[test]
fn whole_recordings_of_all_recorders_satisfy_the_laws() {
    let (Some(nsys), Some(xla)) = (traces::real("nsys"), traces::real("jax")) else { return };
    let unpacked = |path: PathBuf| files::unpacked(&path).expect("a trace");
    let export = |name: &str| unpacked(nsys.join(format!("mfu_2gpu_{name}.sqlite.gz")));
    let profile = |name: &str| unpacked(xla.join(format!("{name}.xplane.pb.gz")));
    for pair in [
        [export("before"), export("after")],
        [profile("conv_minimal.legacy"), profile("conv_minimal.08")],
        [profile("te_fused_attn"), export("after")],
    ] {
        laws::hold_for_comparing(&pair.join(&b"\n====\n"[..]));
    }
}

#[test]
fn comparisons_of_all_recorders_satisfy_the_laws() {
    let unpacked = |path: PathBuf| files::unpacked(&path).expect("a trace");
    // Compares several pairs: two JAX traces, an Nsight Systems trace with a Kineto trace, and an Nsight Systems trace
    // with a JAX trace.
    let pair =
        [unpacked(jax("jax_cpu_base")), unpacked(jax("jax_cpu_relu"))].join(&b"\n====\n"[..]);
    laws::hold_for_comparing(&pair);
    laws::hold_for_comparing(&unpacked(nsight()));
    let mixed = [unpacked(nsight()), unpacked(jax("jax_relu"))].join(&b"\n====\n"[..]);
    laws::hold_for_comparing(&mixed);
}

/// Damages a file in one of several ways: cuts the file off, removes, repeats or overwrites a piece, changes a field in
/// a page header, writes an oversized number, or changes random bytes.
fn damage(bytes: &mut Vec<u8>, random: &mut SplitMix) {
    let length = bytes.len();
    let (at, other) = (random.below(length), random.below(length));
    let piece = 1 + random.below(64.min(length - at.max(other)));
    match random.below(8) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..at + piece)),
        2 => {
            let copy = bytes[other..other + piece].to_vec();
            drop(bytes.splice(at..at, copy));
        }
        3 => bytes.copy_within(other..other + piece, at),
        4 => {
            // In one page, changes the page type, the number of cells, or one of the first cell pointers.
            let page = at / 4096 * 4096;
            let field = page + random.below(24);
            if let Some(byte) = bytes.get_mut(field) {
                *byte = random.next() as u8;
            }
        }
        5 => {
            // Writes the longest number that a protobuf message or an SQLite record can contain.
            let end = (at + 9).min(length);
            bytes[at..end].fill(0xff);
        }
        _ => {
            for _ in 0..1 + random.below(30) {
                let at = random.below(length);
                bytes[at] = [0, 0x80, 0xff, random.next() as u8][random.below(4)];
            }
        }
    }
}

/// With `TRACETREE_DAMAGES=N`, each file is damaged N times; the default is 400 times.
#[test]
fn damage_is_an_error_or_a_bounded_trace() {
    let rounds = std::env::var("TRACETREE_DAMAGES").ok().and_then(|count| count.parse().ok());
    let rounds: usize = rounds.unwrap_or(400);
    for (path, seed) in [(nsight(), 54), (jax("jax_cpu_relu"), 55), (jax("jax_base"), 56)] {
        let sound = files::unpacked(&path).expect("a trace");
        let mut random = SplitMix::new(seed);
        let (mut refused, mut built) = (0, 0);
        for round in 0..rounds {
            let mut bytes = sound.clone();
            for _ in 0..1 + round % 3 {
                damage(&mut bytes, &mut random);
                if bytes.is_empty() {
                    bytes.push(0);
                }
            }
            match read(&bytes) {
                Ok(trace) => {
                    // An event takes at least two bytes. It may be inside up to 48 scopes, a program and an op, which
                    // count as events as well.
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
        assert!(refused > rounds / 10 && built > 0, "{refused} refused, {built} built");
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
