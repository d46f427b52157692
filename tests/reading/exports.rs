//! Tests with Nsight Systems exports whose columns, tables or windows differ from those in the recorded exports.

use crate::support::sqlite::{Cell, Database};
use tracetree::analysis::layers::layer_rows;
use tracetree::analysis::verdict::Repeats;
use tracetree::trace::{Category, ReadOptions, Recorder, Trace};
use tracetree::tree::{CallKind, CallTree};
use tracetree::{Analysis, Comparison, ComparisonOptions, Input, PerSide, Side, TraceDiff};

const RANGES: &str = "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, \
                      globalTid INTEGER, textId INTEGER, domainId INTEGER";
const CALLS: &str = "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, \
                     correlationId INTEGER, nameId INTEGER NOT NULL";
const KERNELS: &str = "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, \
                       streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, \
                       demangledName INTEGER NOT NULL";

/// An export under construction, in which each op launches one kernel.
#[derive(Default)]
struct Export {
    ranges: Vec<Vec<Cell>>,
    calls: Vec<Vec<Cell>>,
    kernels: Vec<Vec<Cell>>,
    now: i64,
}

impl Export {
    fn range(&mut self, text: &str, (start, end): (i64, Option<i64>), process: i64) {
        let row = [start.into(), end.into(), 59.into(), text.into(), thread(process).into()];
        self.ranges.push([&row[..], &[Cell::Null, 0.into()]].concat());
    }

    /// Adds an op that takes 100 ns and launches one kernel. The kernel runs after the op and takes `kernel` ns.
    fn op(&mut self, text: &str, process: i64, correlation: i64, kernel: i64) {
        let start = self.now;
        self.range(text, (start, Some(start + 100)), process);
        let call = [start + 10, start + 40, thread(process), correlation, 1];
        self.calls.push(call.map(Cell::from).to_vec());
        let (begin, end) = (start + 100, start + 100 + kernel);
        let on_gpu = [begin, end, process, 7, correlation, process << 24, 2];
        self.kernels.push(on_gpu.map(Cell::from).to_vec());
        self.now += 100 + kernel;
    }

    /// Creates an export of the blocks with the given numbers. Each block lies between FSDP ranges and contains two
    /// ops.
    fn blocks(numbers: std::ops::Range<i64>) -> Export {
        let mut export = Export::default();
        for number in numbers {
            for (edge, has_ops) in [("pre", true), ("post", false)] {
                let now = export.now;
                let text = format!("FSDP::{edge}_forward (blocks.{number}), op_id = {now}");
                export.range(&text, (now, Some(now + 10)), 3);
                export.now += 10;
                for (at, op) in
                    ["aten::mm", "aten::add"].into_iter().enumerate().filter(|_| has_ops)
                {
                    let correlation = 2 * number + at as i64 + 1;
                    export.op(
                        &format!("{op}, op_id = {now}"),
                        3,
                        correlation,
                        1000 * (200 + number),
                    );
                }
            }
        }
        export
    }

    fn bytes(&self) -> Vec<u8> {
        let mut database = Database::default();
        let names = [(1, "cudaLaunchKernel_v7000"), (2, "void gemm<float>(int)")];
        let names = names.map(|(id, name)| vec![Cell::Int(id), name.into()]).to_vec();
        database.table("StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL", names);
        database.table("NVTX_EVENTS", RANGES, self.ranges.clone());
        database.table("CUPTI_ACTIVITY_KIND_RUNTIME", CALLS, self.calls.clone());
        database.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNELS, self.kernels.clone());
        database.bytes()
    }

    fn tree(&self) -> CallTree {
        CallTree::build(read(&self.bytes()))
    }
}

/// The id of the only thread in a process.
fn thread(process: i64) -> i64 {
    process << 24 | process
}

fn read(bytes: &[u8]) -> Trace {
    Trace::from_reader("t", bytes, &ReadOptions::default()).expect("an export")
}

fn compared(baseline: &Export, candidate: &Export) -> Analysis {
    Analysis::new(TraceDiff::new(baseline.tree(), candidate.tree()))
}

/// The modules in the baseline with their counterparts.
fn modules(analysis: &Analysis) -> Vec<(String, Option<String>)> {
    let diff = analysis.diff();
    let trees = PerSide::from_fn(|side| diff.tree(side));
    let modules = trees.baseline.calls().filter(|call| trees.baseline.is_module(*call));
    let named = |call| {
        let counterpart = diff.counterpart(Side::Baseline, call);
        let counterpart =
            counterpart.map(|counterpart| trees.candidate.name(counterpart).to_owned());
        (trees.baseline.name(call).to_owned(), counterpart)
    };
    modules.map(named).collect()
}

#[test]
fn layers_of_different_windows_are_compared_by_their_number() {
    let (early, late) = (Export::blocks(3..9), Export::blocks(5..11));
    for (baseline, candidate, windows) in
        [(&early, &late, "blocks 3–8 → 5–10"), (&late, &early, "blocks 5–10 → 3–8")]
    {
        let analysis = compared(baseline, candidate);
        let checks = analysis.comparability();
        let note = checks.both.get("DIFFERENT_WINDOW").expect("a note").message.clone();
        // In block N, each of the two kernels takes 200 + N µs, so the median of blocks 5 to 8 is 413 µs.
        let expected =
            "(both contain 5–8); the median of the 4 layers that both contain takes 0.413 ms";
        assert!(note.contains(windows) && note.contains(expected), "{note}");
        assert!(checks.both.get("DIFFERENT_MODEL").is_none() && !checks.is_comparable());
        for (module, counterpart) in modules(&analysis) {
            let number: i64 = module.rsplit('_').next().and_then(|n| n.parse().ok()).expect("one");
            let expected = (5..9).contains(&number).then(|| module.clone());
            assert_eq!(counterpart, expected, "{module}");
        }
        let rows = layer_rows(analysis.diff(), analysis.ledger(), analysis.layer_pairs());
        let both = rows.iter().filter(|row| row.time.baseline.0 > 0 && row.time.candidate.0 > 0);
        let times: Vec<i64> = both.map(|row| row.time.baseline.0).collect();
        assert_eq!(times, [410_000, 412_000, 414_000, 416_000]);
        assert!(analysis.account().is_exact());
    }
}

/// Guards against a circular dependency: the verdicts depend on whether the traces are comparable, and the comparison
/// of windows once depended on the verdicts.
#[test]
fn several_runs_of_different_windows_are_compared() {
    let input = |export: &Export| Input::Bytes("t".to_owned(), export.bytes());
    let (early, late) = (Export::blocks(3..9), Export::blocks(5..11));
    let runs = PerSide::new(&early, &late).map(|export| vec![input(export), input(export)]);
    let compared = Comparison::of_runs(runs, &ComparisonOptions::default()).expect("a comparison");
    let analysis = compared.analysis();
    assert!(analysis.comparability().both.get("DIFFERENT_WINDOW").is_some());
    assert_eq!(analysis.judged().repeats, Repeats::Runs);
}

#[test]
fn another_number_of_layers_from_the_first_one_on_is_another_model() {
    let analysis = compared(&Export::blocks(0..6), &Export::blocks(0..7));
    let both = &analysis.comparability().both;
    assert!(both.get("DIFFERENT_WINDOW").is_none());
    let note = &both.get("DIFFERENT_MODEL").expect("another model").message;
    assert!(note.contains("blocks (6 | 7)"), "{note}");
}

#[test]
fn a_module_that_the_recording_cuts_lasts_up_to_its_end() {
    let mut export = Export::blocks(3..5);
    // The recording begins inside block 2 and ends inside block 5.
    export.range("FSDP::post_forward (blocks.2)", (-20, Some(-10)), 3);
    let now = export.now;
    export.range("FSDP::pre_forward (blocks.5)", (now, Some(now + 10)), 3);
    export.now += 10;
    export.op("aten::mm", 3, 900, 50);
    let tree = export.tree();
    let modules = tree.calls().filter(|call| tree.is_module(*call));
    let names: Vec<&str> = modules.map(|call| tree.name(call)).collect();
    let expected = ["blocks_2 (cut)", "blocks_3", "blocks_4", "blocks_5 (cut)"];
    assert_eq!(names, expected.map(|name| format!("nn.Module: {name}")));
    let mm = tree.calls().filter(|call| tree.name(*call) == "aten::mm").last().expect("an op");
    let above = tree.module(mm).expect("a module");
    assert_eq!(tree.name(above), "nn.Module: blocks_5 (cut)");
}

#[test]
fn equal_correlations_of_two_processes_are_different_launches() {
    let mut export = Export::default();
    export.op("aten::mm", 3, 1, 50);
    export.op("aten::add", 4, 1, 60);
    let tree = export.tree();
    let kernel_below = |name: &str| {
        let op = tree.calls().find(|call| tree.name(*call) == name).expect("an op");
        let gpu = tree.subtree(op).filter(|call| tree.kind(*call) == CallKind::Gpu);
        gpu.map(|call| tree.trace().duration(tree.event(call).expect("a kernel")).0).collect()
    };
    let (mm, add): (Vec<i64>, Vec<i64>) = (kernel_below("aten::mm"), kernel_below("aten::add"));
    assert_eq!((mm, add), (vec![50], vec![60]));
}

#[test]
fn rows_without_a_thread_an_end_or_a_name_are_counted() {
    let mut export = Export::default();
    export.op("aten::mm", 3, 1, 50);
    export.range("open at the end", (0, None), 3);
    let mut without_thread = export.ranges[0].clone();
    without_thread[4] = Cell::Null;
    export.ranges.push(without_thread);
    let mut mark = export.ranges[0].clone();
    mark[2] = 34.into();
    export.ranges.push(mark);
    export.kernels[0][6] = 99.into();
    let trace = read(&export.bytes());
    assert_eq!(trace.header().recorder, Recorder::NsightSystems);
    let left_out: Vec<&str> = trace.left_out().iter().map(|(kind, _)| kind.as_str()).collect();
    let expected =
        ["NVTX mark or other event", "NVTX range without a thread", "NVTX range without an end"];
    assert_eq!(left_out, expected);
    // A range that never ends contains no work, so the recording does not count as damaged.
    assert_eq!(trace.losses(), tracetree::trace::Losses::default());
    assert_eq!(trace.notes().get("UNTIMED_EVENTS").map(|note| note.count), Some(1));
    assert_eq!(trace.notes().get("MISSING_NAMES").map(|note| note.count), Some(1));
}

#[test]
fn an_old_export_without_optional_columns_is_read() {
    let mut database = Database::default();
    let names = [(1, "cudaLaunchKernel"), (2, "gemm"), (3, "aten::mm, seq = 4")];
    let names = names.map(|(id, name)| vec![Cell::Int(id), name.into()]).to_vec();
    database.table("StringIds", "id INTEGER PRIMARY KEY, value TEXT NOT NULL", names);
    // The text column contains an empty string instead of null; the op name is in StringIds.
    let range = vec![0.into(), 100.into(), 59.into(), "".into(), thread(3).into(), 3.into()];
    let columns = "start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT";
    database.table("NVTX_EVENTS", columns, vec![range]);
    let call = [10, 40, thread(3), 1, 1].map(Cell::from).to_vec();
    database.table("CUPTI_ACTIVITY_KIND_RUNTIME", CALLS, vec![call]);
    let kernel = [100, 150, 1, 2].map(Cell::from).to_vec();
    let columns = "start INT, end INT, correlationId INT, shortName INT";
    database.table("CUPTI_ACTIVITY_KIND_KERNEL", columns, vec![kernel]);
    let tree = CallTree::build(read(&database.bytes()));
    let op = tree.calls().find(|call| tree.kind(*call) == CallKind::Op).expect("an op");
    assert_eq!(tree.name(op), "aten::mm");
    let below: Vec<&str> = tree.subtree(op).skip(1).map(|call| tree.name(call)).collect();
    assert_eq!(below, ["cudaLaunchKernel", "gemm"]);
}

/// Converts an export to the trace that Kineto would record for the same program.
fn kineto(export: &Export) -> Trace {
    let number = |cell: &Cell| match cell {
        Cell::Int(number) => *number,
        Cell::Null | Cell::Text(_) => 0,
    };
    let event = |category: &str, name: &str, row: &[Cell], args: String| {
        let (start, end) = (number(&row[0]), number(&row[1]));
        let us = |ns: i64| format!("{}.{:03}", ns / 1000, ns % 1000);
        format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":3,"tid":3,"ts":{},"dur":{},"args":{{{args}}}}}"#,
            us(start),
            us(end - start)
        )
    };
    let mut events = Vec::new();
    for row in &export.ranges {
        let Cell::Text(text) = &row[3] else { continue };
        let name = text.split(", ").next().expect("a name");
        events.push(event("cpu_op", name, row, String::new()));
    }
    for (row, kernel) in export.calls.iter().zip(&export.kernels) {
        let id = number(&row[3]);
        events.push(event(
            "cuda_runtime",
            "cudaLaunchKernel",
            row,
            format!(r#""correlation":{id}"#),
        ));
        let args = format!(r#""correlation":{id},"device":3,"stream":7"#);
        events.push(event("kernel", "void gemm<float>(int)", kernel, args));
    }
    read(format!(r#"{{"traceEvents":[{}]}}"#, events.join(",")).as_bytes())
}

#[test]
fn an_export_and_a_trace_of_kineto_of_one_program_match_op_by_op() {
    let mut export = Export::default();
    for (at, op) in ["aten::mm", "aten::add", "aten::relu", "aten::mm"].into_iter().enumerate() {
        export.op(&format!("{op}, seq = {at}, op_id = {at}"), 3, 1 + at as i64, 50 + at as i64);
    }
    let (kineto, other) = (kineto(&export), read(&export.bytes()));
    assert_eq!(kineto.events().filter(|id| kineto.category(*id) == Category::Kernel).count(), 4);
    let trees = [kineto, other].map(CallTree::build);
    let [baseline, candidate] = trees;
    let analysis = Analysis::new(TraceDiff::new(baseline, candidate));
    let note = analysis.comparability().both.get("DIFFERENT_RECORDER").expect("a note");
    assert!(note.message.contains("Kineto → Nsight Systems"), "{}", note.message);
    assert_eq!(analysis.diff().differences(), vec![]);
    let totals = analysis.account().totals;
    assert_eq!((totals.baseline.time.0, totals.candidate.time.0), (206, 206));
    assert!(analysis.rows().iter().all(|row| row.time.baseline == row.time.candidate));
}
