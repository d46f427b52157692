//! Tests for memory statistics: the statistics are compared with counts from the raw JSON, and files that lack some
//! memory data are tested too.

use crate::support::compared::{compare_files, compare_texts, trace};
use crate::support::files::unpacked;
use crate::support::traces::{example, real};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;
use tracetree::analysis::memory::{
    MemoryPlace, MemoryRow, MemorySource, MemoryUsage, memory_rows, memory_timeline,
};
use tracetree::trace::Trace;
use tracetree::tree::CallTree;
use tracetree::{PerSide, Side};

const EXAMPLES: [&str; 7] =
    ["base", "again", "batch", "checkpoint", "empty_cache", "fragments", "leak"];

const REAL: [&str; 8] = [
    "mi300_h100/bert.h100",
    "mi300_h100/bert.mi300",
    "mi300_h100/timesformer.h100",
    "mi300_h100/timesformer.mi300",
    "mi300_h100/vit.h100",
    "mi300_h100/vit.mi300",
    "torch215/one_cnn_mem",
    "cpu/cnn_mem.pt.trace",
];

fn recorded(name: &str) -> PathBuf {
    example(&format!("memory/memory_{name}.pt.trace.json.gz"))
}

fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = EXAMPLES.map(recorded).into();
    files.extend(REAL.iter().filter_map(|name| real(&format!("{name}.json.gz"))));
    files
}

/// Memory statistics for one device, counted event by event from the raw JSON.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    allocations: u64,
    allocated: i64,
    freed: i64,
    /// Bytes freed before the end of the outermost op that encloses the allocation.
    temporary: i64,
    /// Bytes still live at the end of the innermost op that encloses the allocation.
    kept: i64,
    before: i64,
    end: i64,
    peak: i64,
    /// Bytes live at the peak in blocks that were allocated during the recording.
    live_at_peak: i64,
    /// Bytes live at the end in blocks that were allocated during the recording.
    live_at_end: i64,
    breaks_of_the_law: u64,
}

/// Process and thread.
type Lane = (String, String);
/// For each thread, the start and end of each op, in ns.
type Ops = HashMap<Lane, Vec<(i64, i64)>>;
/// A memory event: its time in ns, its `Ev Idx` (which orders events with equal times), its arguments and its thread.
type Instant = (i64, i64, Value, Lane);

fn lane(event: &Value) -> Lane {
    (event["pid"].to_string(), event["tid"].to_string())
}

fn ns(event: &Value, key: &str) -> i64 {
    (event[key].as_f64().expect("a time in µs") * 1e3).round() as i64
}

fn counted(path: &Path) -> BTreeMap<(i64, i64), Counted> {
    let document: Value =
        serde_json::from_slice(&unpacked(path).expect("a trace")).expect("a JSON document");
    let mut devices: BTreeMap<(i64, i64), Vec<Instant>> = BTreeMap::new();
    let mut ops = Ops::new();
    for event in document["traceEvents"].as_array().expect("events") {
        if event["name"] == "[memory]" {
            let args = &event["args"];
            let number = |key: &str| args[key].as_i64().expect("a number");
            let device = devices.entry((number("Device Type"), number("Device Id"))).or_default();
            device.push((ns(event, "ts"), number("Ev Idx"), args.clone(), lane(event)));
        } else if event["cat"] == "cpu_op" {
            let start = ns(event, "ts");
            ops.entry(lane(event)).or_default().push((start, start + ns(event, "dur")));
        }
    }
    devices.into_iter().map(|(device, events)| (device, count(events, &ops))).collect()
}

/// The end time of the outermost op, and the end time of the innermost op, among the ops that are running at the given
/// time.
fn ends_around(ops: Option<&Vec<(i64, i64)>>, time: i64) -> Option<(i64, i64)> {
    let open = || ops.into_iter().flatten().filter(|op| op.0 <= time && time <= op.1);
    let outermost = open().min_by_key(|op| (op.0, -op.1))?;
    let innermost = open().max_by_key(|op| (op.0, -op.1))?;
    Some((outermost.1, innermost.1))
}

fn count(mut events: Vec<Instant>, ops: &Ops) -> Counted {
    events.sort_by_key(|event| (event.0, event.1));
    let mut all = Counted::default();
    // For each live block, by address: its size, and the end times of the outermost and the innermost op that enclose
    // its allocation.
    let mut live: HashMap<i64, (i64, Option<(i64, i64)>)> = HashMap::new();
    let mut total = None;
    for (time, _, args, lane) in &events {
        let [bytes, address, after] =
            ["Bytes", "Addr", "Total Allocated"].map(|key| args[key].as_i64().expect("a number"));
        if total.is_none() {
            (all.before, all.peak) = (after - bytes, after - bytes);
        }
        all.breaks_of_the_law += u64::from(total.is_some_and(|total| total + bytes != after));
        total = Some(after);
        if bytes > 0 {
            let ends = ends_around(ops.get(lane), *time);
            all.allocations += 1;
            all.allocated += bytes;
            all.kept += if ends.is_some() { bytes } else { 0 };
            live.insert(address, (bytes, ends));
        } else {
            all.freed -= bytes;
            if let Some((bytes, Some((outermost, innermost)))) = live.remove(&address) {
                all.temporary += if *time <= outermost { bytes } else { 0 };
                all.kept -= if *time <= innermost { bytes } else { 0 };
            }
        }
        if after > all.peak {
            all.peak = after;
            all.live_at_peak = live.values().map(|block| block.0).sum();
        }
    }
    all.live_at_end = live.values().map(|block| block.0).sum();
    all.end = total.expect("events");
    all
}

fn place((kind, number): (i64, i64)) -> MemoryPlace {
    if kind == 0 { MemoryPlace::Host } else { MemoryPlace::Gpu(Some(number)) }
}

#[test]
fn a_recount_from_the_raw_json_finds_the_same_bytes() {
    for path in files() {
        let name = path.display();
        let counted = counted(&path);
        compare_files(PerSide::new(&path, &path), |analysis| {
            let rows = memory_rows(analysis.diff());
            for side in Side::BOTH {
                assert_eq!(analysis.diff().memory(side).devices().count(), counted.len(), "{name}");
                for (&device, counted) in &counted {
                    let usage =
                        analysis.diff().memory(side).device(place(device)).expect("the device");
                    let sum = |of: fn(&tracetree::analysis::memory::MemoryFigures) -> i64,
                               wanted: fn(&MemorySource) -> bool| {
                        let rows = rows.iter().filter(|row| row.place == place(device));
                        let rows = rows.filter(|row| wanted(&row.source));
                        rows.map(|row| of(&row.figures[side].expect("figures"))).sum::<i64>()
                    };
                    let peak =
                        |f: &tracetree::analysis::memory::MemoryFigures| f.at_peak.expect("known");
                    let end =
                        |f: &tracetree::analysis::memory::MemoryFigures| f.at_end.expect("known");
                    let is_block = |source: &MemorySource| {
                        matches!(source, MemorySource::Op { .. } | MemorySource::OutsideOps)
                    };
                    let freed = usage.events().iter().map(|event| event.bytes.min(0));
                    let found = Counted {
                        allocations: sum(|f| f.allocations.cast_signed(), |_| true) as u64,
                        allocated: sum(|f| f.allocated, |_| true),
                        freed: -freed.sum::<i64>(),
                        temporary: sum(|f| f.temporary.expect("known"), |_| true),
                        kept: sum(|f| f.kept.unwrap_or(0), |_| true),
                        before: usage.before(),
                        end: sum(end, |_| true),
                        peak: sum(peak, |_| true),
                        live_at_peak: sum(peak, is_block),
                        live_at_end: sum(end, is_block),
                        breaks_of_the_law: usage.gaps(),
                    };
                    assert_eq!(&found, counted, "{name}, {device:?}");
                    assert_eq!(usage.peak(), counted.peak, "{name}, {device:?}");
                    assert_eq!(counted.breaks_of_the_law, 0, "{name}, {device:?}");
                    // Allocated bytes minus freed bytes equal the change in `Total Allocated`.
                    let grown = counted.end - counted.before;
                    assert_eq!(counted.allocated - counted.freed, grown, "{name}, {device:?}");
                    assert!(rows.iter().all(|row| row.source != MemorySource::NotRecorded));
                }
            }
            assert!(analysis.changes().is_identical(), "{name}");
        });
    }
}

/// The number of allocations, followed by four numbers of bytes: allocated, temporary, live before the recording, and
/// live at the peak.
type Known = (u64, [i64; 4]);

/// For each model, the expected memory statistics of the MI300X and of the H100, computed in Python from the raw JSON.
const KNOWN: [(&str, Known, Known); 3] = [
    (
        "bert",
        (117, [2_092_188_160, 2_072_029_184, 57_806_336, 146_394_112]),
        (109, [47_460_864, 27_301_888, 91_360_768, 101_305_344]),
    ),
    (
        "vit",
        (310, [6_101_963_776, 5_824_142_336, 181_322_752, 272_628_736]),
        (286, [362_563_072, 84_741_632, 214_877_184, 231_332_864]),
    ),
    (
        "timesformer",
        (651, [96_846_472_704, 13_541_762_048, 388_360_704, 4_591_406_080]),
        (603, [86_321_299_456, 3_016_393_728, 287_697_408, 4_490_752_000]),
    ),
];

#[test]
fn temporary_bytes_separate_workspaces_from_results() {
    let gpu = MemoryPlace::Gpu(Some(0));
    for (model, mi300, h100) in KNOWN {
        let side = |vendor: &str| real(&format!("mi300_h100/{model}.{vendor}.json.gz"));
        let Some((one, two)) = side("mi300").zip(side("h100")) else { return };
        compare_files(PerSide::new(one, two), |analysis| {
            let rows = memory_rows(analysis.diff());
            for (side, expected) in [(Side::Baseline, mi300), (Side::Candidate, h100)] {
                let figures = || {
                    let rows = rows.iter().filter(|row| row.place == gpu);
                    rows.filter_map(|row| row.figures[side])
                };
                let usage = analysis.diff().memory(side).device(gpu).expect("a GPU");
                let allocated = figures().map(|f| f.allocated).sum();
                let temporary = figures().filter_map(|f| f.temporary).sum();
                let count = figures().map(|f| f.allocations).sum();
                let found = (count, [allocated, temporary, usage.before(), usage.peak()]);
                assert_eq!(found, expected, "{model} {side:?}");
            }
            // Both devices allocate the same tensors apart from workspaces; the remaining difference comes from
            // rounding.
            let [one, two] =
                [mi300, h100].map(|(_, [allocated, temporary, ..])| allocated - temporary);
            assert!(one.abs_diff(two) * 1000 < one.unsigned_abs(), "{model}: {one} {two}");
        });
    }
}

#[test]
fn allocations_of_eager_recordings_are_inside_ops() {
    for path in files() {
        let tree = CallTree::build(Trace::open(&path).expect("a trace"));
        for (place, usage) in MemoryUsage::of(&tree).devices() {
            if let MemoryPlace::Gpu(_) = place {
                let outside = usage.blocks().iter().filter(|block| block.call.is_none()).count();
                assert_eq!(outside, 0, "{}", path.display());
            }
        }
    }
}

#[test]
fn exchanged_sides_exchange_the_figures() {
    let paths = PerSide::new(recorded("base"), recorded("checkpoint"));
    let rows = |paths: PerSide<PathBuf>| {
        compare_files(paths, |analysis: &Analysis| memory_rows(analysis.diff()))
    };
    let key = |row: &MemoryRow, swaps: bool| {
        let figures = if swaps { row.figures.swap() } else { row.figures };
        format!("{} {:?} {figures:?}", row.place, row.source.name().len())
    };
    let mut one: Vec<String> = rows(paths.clone()).iter().map(|row| key(row, false)).collect();
    let mut two: Vec<String> = rows(paths.swap()).iter().map(|row| key(row, true)).collect();
    one.sort();
    two.sort();
    assert_eq!(one, two);
}

#[test]
fn checkpointing_lowers_the_peak_and_a_larger_batch_raises_it() {
    let peaks = |name: &str| {
        compare_files(PerSide::new(recorded("base"), recorded(name)), |analysis| {
            let timeline = memory_timeline(analysis.diff(), analysis.compared());
            let whole =
                timeline.iter().find(|row| row.step.is_none()).expect("the whole recording");
            assert_eq!(whole.place, MemoryPlace::Gpu(Some(0)));
            let steps = timeline.iter().filter(|row| row.place == whole.place).count() - 1;
            assert_eq!(steps, 3);
            whole.spans.as_ref().map(|span| span.as_ref().expect("recorded").peak)
        })
    };
    assert_eq!(peaks("checkpoint"), PerSide::new(758_096_896, 569_189_376));
    assert_eq!(peaks("batch"), PerSide::new(758_096_896, 1_231_643_648));
}

#[test]
fn a_step_of_a_training_repeats_to_the_byte() {
    compare_files(PerSide::new(recorded("base"), recorded("again")), |analysis| {
        let steps: Vec<_> = memory_timeline(analysis.diff(), analysis.compared())
            .into_iter()
            .filter(|row| row.step.is_some())
            .collect();
        let of_gpu = steps.iter().filter(|row| row.place == MemoryPlace::Gpu(Some(0)));
        for row in of_gpu {
            let span = row.spans.baseline.as_ref().expect("a step");
            assert_eq!(row.spans.baseline, row.spans.candidate);
            assert_eq!((span.start, span.end), (285_532_160, 285_532_160));
            assert_eq!((span.peak, span.allocations), (758_096_896, span.frees));
        }
    });
}

/// A trace with three steps of 1 ms and with the given memory events. `events` contains the time in µs and the
/// arguments of each memory event. In each step, `aten::linear` runs from 0.05 to 0.4 ms and calls `aten::mm`, which
/// runs from 0.1 to 0.3 ms.
fn made(events: &[(u32, Value)]) -> String {
    let call = |name: &str, cat: &str, start: u32, length: u32| json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": length});
    let mut all = Vec::new();
    for step in 0..3 {
        let start = 1000 * step;
        all.push(call(&format!("ProfilerStep#{step}"), "user_annotation", start, 1000));
        all.push(call("aten::linear", "cpu_op", start + 50, 350));
        all.push(call("aten::mm", "cpu_op", start + 100, 200));
    }
    for (at, (time, args)) in events.iter().enumerate() {
        let mut args = args.clone();
        if args["Ev Idx"].is_null() {
            args["Ev Idx"] = at.into();
        }
        all.push(json!({
            "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1,
            "tid": 1, "ts": time, "args": args,
        }));
    }
    json!({ "traceEvents": all }).to_string()
}

fn event(device: (i64, i64), address: i64, bytes: i64, total: i64) -> Value {
    json!({
        "Device Type": device.0, "Device Id": device.1, "Addr": address, "Bytes": bytes,
        "Total Allocated": total, "Total Reserved": 4096,
    })
}

const CUDA: (i64, i64) = (1, 0);
const GPU: MemoryPlace = MemoryPlace::Gpu(Some(0));

fn usage<T>(events: &[(u32, Value)], look: impl FnOnce(&MemoryUsage) -> T) -> T {
    look(&MemoryUsage::of(&CallTree::build(trace("made", &made(events)))))
}

/// The values in a row of the memory table: name, allocated bytes, temporary bytes, bytes live at the peak, and bytes
/// live at the end.
type Figures = (String, i64, Option<i64>, Option<i64>, Option<i64>);

/// Compares a trace with itself, and returns the rows of its memory table.
fn rows(events: &[(u32, Value)]) -> Vec<Figures> {
    let text = made(events);
    compare_texts(&PerSide::new(text.clone(), text), |analysis| {
        let row = |row: MemoryRow| {
            let f = row.figures.baseline.expect("figures");
            assert_eq!(row.figures.baseline, row.figures.candidate);
            (row.source.name().to_owned(), f.allocated, f.temporary, f.at_peak, f.at_end)
        };
        memory_rows(analysis.diff()).into_iter().map(row).collect()
    })
}

#[test]
fn a_block_that_the_outermost_op_frees_is_temporary() {
    let events = [
        (150, event(CUDA, 16, 100, 600)),
        (160, event(CUDA, 32, 40, 640)),
        (390, event(CUDA, 16, -100, 540)),
        (450, event(CUDA, 32, -40, 500)),
    ];
    let row = |name: &str, allocated, temporary, peak, end| {
        (name.to_owned(), allocated, Some(temporary), Some(peak), Some(end))
    };
    let expected =
        [row("(live before the recording)", 0, 0, 500, 500), row("aten::mm", 140, 100, 140, 0)];
    assert_eq!(rows(&events), expected);
}

#[test]
fn events_at_one_time_are_ordered_by_their_index() {
    // In the file, the free event precedes the allocation event.
    let mut events = [(150, event(CUDA, 16, -100, 500)), (150, event(CUDA, 16, 100, 600))];
    events[0].1["Ev Idx"] = 7.into();
    events[1].1["Ev Idx"] = 6.into();
    usage(&events, |usage| {
        let gpu = usage.device(GPU).expect("events");
        assert_eq!((gpu.before(), gpu.peak(), gpu.unknown_frees()), (500, 600, 0));
    });
}

#[test]
fn the_free_of_an_unknown_address_was_allocated_before() {
    let events = [(150, event(CUDA, 48, -200, 300)), (160, event(CUDA, 16, 100, 400))];
    usage(&events, |usage| {
        let gpu = usage.device(GPU).expect("events");
        assert_eq!((gpu.before(), gpu.unknown_frees(), gpu.gaps()), (500, 1, 0));
        assert_eq!((gpu.peak(), gpu.peak_event()), (500, None));
        assert_eq!((gpu.earlier_at(None), gpu.earlier_at(Some(1))), (500, 300));
    });
}

#[test]
fn a_reset_of_the_total_is_a_row_of_its_own() {
    let events = [
        (150, event(CUDA, 16, 100, 600)),
        (160, event(CUDA, 32, 50, 50)),
        (1150, event(CUDA, 64, 900, 950)),
    ];
    assert_eq!(usage(&events, |usage| usage.device(GPU).map(|u| u.gaps())), Some(1));
    let rows = rows(&events);
    let peak: i64 = rows.iter().filter_map(|row| row.3).sum();
    assert_eq!(peak, 950);
    let lost = rows.iter().find(|row| row.0 == "(not recorded)").expect("the reset");
    assert_eq!((lost.3, lost.4), (Some(-600), Some(-600)));
}

#[test]
fn without_device_ids_there_is_one_unknown_device() {
    let strip = |mut args: Value| {
        let fields = args.as_object_mut().expect("arguments");
        fields.retain(|key, _| !key.starts_with("Device"));
        args
    };
    let events =
        [(150, strip(event(CUDA, 16, 100, 100))), (160, strip(event((0, -1), 32, 50, 50)))];
    usage(&events, |usage| {
        let places: Vec<MemoryPlace> = usage.devices().map(|(place, _)| place).collect();
        assert_eq!(places, [MemoryPlace::Unknown]);
        assert_eq!(usage.device(MemoryPlace::Unknown).map(|u| u.gaps()), Some(1));
    });
}

#[test]
fn each_device_has_its_own_curve() {
    let events = [
        (150, event(CUDA, 16, 100, 600)),
        (155, event((1, 1), 16, 7, 7)),
        (160, event((0, -1), 16, 5, 5)),
        (170, event(CUDA, 16, -100, 500)),
    ];
    usage(&events, |usage| {
        let found: Vec<_> = usage
            .devices()
            .map(|(place, u)| (place, u.peak(), u.gaps(), u.is_absolute()))
            .collect();
        let second = MemoryPlace::Gpu(Some(1));
        let expected =
            [(GPU, 600, 0, true), (second, 7, 0, true), (MemoryPlace::Host, 5, 0, false)];
        assert_eq!(found, expected);
    });
}

#[test]
fn a_trace_of_2021_has_a_relative_curve_only() {
    let old = |bytes: i64| json!({"Device Type": 1, "Device Id": 0, "Bytes": bytes});
    let events = [(150, old(100)), (160, old(-300)), (170, old(50))];
    usage(&events, |usage| {
        let gpu = usage.device(GPU).expect("events");
        assert_eq!(gpu.allocated(), [100, -200, -150]);
        assert_eq!((gpu.peak(), gpu.is_absolute(), gpu.has_addresses()), (100, false, false));
    });
    assert_eq!(rows(&events), [("aten::mm".to_owned(), 150, None, None, None)]);
}

#[test]
fn memory_events_without_numbers_are_noted_and_left_out() {
    let broken = json!({"Device Type": 1, "Device Id": 0, "Bytes": "many"});
    let trace = trace("made", &made(&[(150, broken)]));
    assert!(trace.memory().is_empty());
    assert!(trace.notes().get("WRONG_TYPE").is_some(), "{:?}", trace.notes());
}

/// A trace in which `aten::mm` makes two allocations in each step: 100 bytes, which are freed later in the step, and
/// `kept` bytes, which are never freed.
fn training(kept: i64) -> String {
    let mut events = Vec::new();
    let mut total = 500;
    for step in 0..3u32 {
        for (time, address, bytes) in
            [(150, 16, 100), (160, 1000 + i64::from(step), kept), (350, 16, -100)]
        {
            if bytes != 0 {
                total += bytes;
                events.push((1000 * step + time, event(CUDA, address, bytes, total)));
            }
        }
    }
    made(&events)
}

fn leaks(kept: PerSide<i64>) -> Vec<String> {
    compare_texts(&kept.map(training), |analysis| {
        let changes = analysis.changes().list().iter();
        let leaks = changes.filter(|change| change.kind == ChangeKind::Leak);
        leaks.map(|change| change.sentence.clone()).collect()
    })
}

#[test]
fn a_planted_leak_is_found_with_its_op() {
    let grows = "Live memory on gpu 0 grows by 64 B per step: 64 B in aten::mm";
    let no_longer = "Live memory on gpu 0 no longer grows by 64 B per step: 64 B in aten::mm";
    let faster = "Live memory on gpu 0 grows by 128 B instead of 64 B per step: 128 B in aten::mm";
    assert_eq!(leaks(PerSide::new(0, 64)), [grows]);
    assert_eq!(leaks(PerSide::new(64, 0)), [no_longer]);
    assert_eq!(leaks(PerSide::new(64, 128)), [faster]);
    assert!(leaks(PerSide::new(64, 64)).is_empty() && leaks(PerSide::new(0, 0)).is_empty());
}

#[test]
fn a_block_that_is_replaced_by_a_larger_one_is_not_a_leak() {
    let mut events = vec![(150, event(CUDA, 1, 100, 600))];
    for step in 1..3u32 {
        let (old, new) = (100 * i64::from(step), 100 * i64::from(step + 1));
        let number = i64::from(step);
        events.push((1000 * step + 150, event(CUDA, number + 1, new, 500 + old + new)));
        events.push((1000 * step + 160, event(CUDA, number, -old, 500 + new)));
    }
    let texts = PerSide::new(training(0), made(&events));
    compare_texts(&texts, |analysis| {
        let gpu = analysis.diff().memory(Side::Candidate).device(GPU).expect("events");
        assert_eq!((gpu.gaps(), gpu.allocated().last()), (0, Some(&800)));
        assert!(analysis.changes().list().iter().all(|change| change.kind != ChangeKind::Leak));
    });
}

#[test]
fn the_recorded_leak_is_found_with_its_rate() {
    let leaks = |baseline: &str, candidate: &str| {
        compare_files(PerSide::new(recorded(baseline), recorded(candidate)), |analysis| {
            let changes = analysis.changes().list().iter();
            let leaks = changes.filter(|change| change.kind == ChangeKind::Leak);
            leaks.map(|change| change.sentence.clone()).collect::<Vec<String>>()
        })
    };
    let [grows] = &leaks("base", "leak")[..] else { panic!("one leak") };
    assert!(grows.starts_with("Live memory on gpu 0 grows by 275.6 MB per step: 88.1 MB in "));
    let [no_longer] = &leaks("leak", "base")[..] else { panic!("one leak") };
    assert!(no_longer.starts_with("Live memory on gpu 0 no longer grows by 275.6 MB per step: "));
    for other in ["again", "batch", "checkpoint", "empty_cache", "fragments"] {
        assert!(leaks("base", other).is_empty(), "{other}");
    }
}
