//! Checks the library's estimates of the minimum work of ops against values computed by hand, and against reference
//! values for real traces.

use crate::support::compared::{compare_texts, trace};
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use crate::support::traces::{self, real};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use tracetree::analysis::Analysis;
use tracetree::analysis::efficiency::{
    Bound, Demand, Efficiency, Models, Peaks, TraceEfficiency, WorkChange, clause, work_change,
};
use tracetree::analysis::kernels::by_kernel;
use tracetree::program::{Captures, Lengths};
use tracetree::tree::TreeOptions;
use tracetree::{CallTree, PerSide, Side, Trace};

/// Traces for which reference values exist. A trace of graph replays comes after its capture, which contains the ops.
const REFERENCE: [(&str, &[&str]); 9] = [
    ("bert.h100", &["mi300_h100/bert.h100"]),
    ("bert.mi300", &["mi300_h100/bert.mi300"]),
    ("resnet_act_checkpoint.mi300", &["training/resnet_act_checkpoint.mi300"]),
    (
        "sglang_decode.mi300",
        &["inference/capture/sglang_decode.capture.mi300", "inference/sglang_decode.mi300"],
    ),
    ("timesformer.h100", &["mi300_h100/timesformer.h100"]),
    ("timesformer.mi300", &["mi300_h100/timesformer.mi300"]),
    ("torch_compile_triton.mi300", &["inference/torch_compile_triton.mi300"]),
    ("vit.h100", &["mi300_h100/vit.h100"]),
    ("vit.mi300", &["mi300_h100/vit.mi300"]),
];

/// A row in the reference table of ops.
#[derive(Debug)]
struct Line {
    name: String,
    dims: String,
    types: String,
    flops: Option<f64>,
    bytes: Option<f64>,
    time: f64,
}

/// Converts a Python tuple in the table to the JSON used in traces.
fn json(tuple: &str) -> String {
    tuple.replace('(', "[").replace(')', "]").replace(",]", "]").replace('\'', "\"")
}

fn lines(path: &Path) -> Vec<Line> {
    let mut reader = csv::Reader::from_path(path).expect("the reference");
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().collect::<Result<_, _>>().expect("a table");
    let line = |row: BTreeMap<String, String>| Line {
        name: row["name"].clone(),
        dims: json(&row["Input Dims"]),
        types: json(&row["Input type"]),
        flops: row["GFLOPS"].parse::<f64>().ok().map(|gflops| gflops * 1e9),
        bytes: row["Data Moved (MB)"].parse::<f64>().ok().map(|mib| mib * 1_048_576.0),
        time: row["Kernel Time (µs)_sum"].parse().unwrap_or(0.0),
    };
    rows.into_iter().map(line).collect()
}

/// The demand (minimum work) of every traced op that matches the given row of the reference table. For ops that wrap
/// Python functions, the reference omits the number at the end of the op name.
fn demands(traces: &[Trace], line: &Line) -> Vec<Demand> {
    let models = Models::builtin();
    let named = |name: &str| {
        name == line.name || name.strip_prefix(&line.name).is_some_and(|rest| rest.starts_with('_'))
    };
    let mut found = Vec::new();
    for trace in traces {
        let lengths = traces.iter().flat_map(|trace| {
            let names = trace.events().map(|event| trace.name(event));
            names.filter_map(Lengths::of_annotation).collect::<Vec<_>>()
        });
        let lengths = lengths.last();
        for event in trace.events().filter(|&event| named(trace.name(event))) {
            let Some(arguments) = trace.arguments_id(event).map(|id| trace.arguments(id)) else {
                continue;
            };
            let is_line = trace.text(arguments.dims) == line.dims
                && trace.text(arguments.types) == line.types;
            if is_line {
                found.extend(models.demand(trace.name(event), trace, arguments, lengths));
            }
        }
    }
    found
}

/// The known error in the reference that explains a difference between the library's values and the reference values;
/// `None` if there is no such explanation.
fn excuse(line: &Line, ours: &Demand, flops: f64, bytes: f64) -> Option<&'static str> {
    let sizes: Vec<Vec<f64>> =
        serde_json::from_str::<Vec<Vec<f64>>>(&line.dims).expect("shapes without lists");
    let elements = |at: usize| sizes[at].iter().product::<f64>();
    let our_bytes = ours.bytes.expect("known types");
    let all = elements(0);
    match line.name.as_str() {
        // The reference contradicts itself here: in its table of compiled ops, copies and cache writes have 0
        // operations.
        "aten::copy_" if ours.flops == 0.0 && flops.round() == all => {
            let same = within(our_bytes, bytes);
            let broadcast = our_bytes < bytes && bytes == 4.0 * all;
            (same || broadcast)
                .then_some("a copy counts an operation an element, and a broadcast source in full")
        }
        // The reference assumes one set of statistics per feature, but a layer norm has one set of statistics per row.
        "aten::layer_norm" => {
            let features = elements(2);
            (flops == 5.0 * all + 6.0 * features && bytes == 4.0 * all + 12.0 * features)
                .then_some("a layer norm has as many statistics as rows, not as features")
        }
        "aten::convolution_backward" => (within(2.0 * ours.flops, flops)
            && within(2.0 * our_bytes, bytes))
        .then_some("the output mask asks for no gradient of the images"),
        "aten::native_batch_norm_backward" => (within(ours.flops, flops)
            && bytes == 6.0 * all + 8.0 * elements(2))
        .then_some("weight and its gradient, and the bias's, are left out"),
        "aten::mean" | "aten::sum" => (within(ours.flops, flops) && bytes == 2.0 * all + 2.0)
            .then_some("one result, whatever the dimensions that remain"),
        "aten::div" => (within(ours.flops, flops) && bytes == 4.0 * all + 4.0)
            .then_some("a broadcast input in full"),
        "sgl_kernel::rotary_embedding" => (within(ours.flops, flops)
            && bytes == 4.0 * (elements(1) + elements(2)))
        .then_some("the rows of sines and cosines are not counted"),
        _ => None,
    }
}

/// Whether two values agree within 0.1%.
fn within(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-3 * theirs.abs()
}

fn open(names: &[&str]) -> Option<Vec<Trace>> {
    let path = |name: &&str| real(&format!("{name}.json.gz"));
    let paths: Vec<_> = names.iter().map(path).collect::<Option<_>>()?;
    Some(paths.into_iter().map(|path| Trace::open(path).expect("a trace")).collect())
}

#[test]
fn operations_and_bytes_equal_the_reference_unless_it_is_provably_wrong() {
    let mut excused: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for (name, names) in REFERENCE {
        let Some(path) = real(&format!("efficiency/{name}.csv")) else { return };
        let traces = open(names).expect("the traces of the reference");
        let modelled = lines(&path).into_iter().filter_map(|line| {
            let (flops, bytes) = line.flops.zip(line.bytes)?;
            Some((line, flops, bytes))
        });
        for (line, flops, bytes) in modelled {
            let ours = demands(&traces, &line);
            let agrees = |demand: &Demand| {
                within(demand.flops, flops) && within(demand.bytes.unwrap_or(f64::NAN), bytes)
            };
            if ours.iter().any(agrees) {
                continue;
            }
            let what = format!("{name}: {} {}", line.name, line.dims);
            let demand = ours.first().unwrap_or_else(|| panic!("{what} has no model"));
            let Some(reason) = excuse(&line, demand, flops, bytes) else {
                panic!("{what}: {} for {flops}, {:?} for {bytes}", demand.flops, demand.bytes);
            };
            *excused.entry((line.name, reason)).or_default() += 1;
        }
    }
    let found: Vec<String> =
        excused.iter().map(|((op, reason), count)| format!("{op} {count}: {reason}")).collect();
    assert_eq!(found.len(), 8, "the reviewed differences from TraceLens: {found:#?}");
}

/// Computes the share of GPU time in ops whose minimum work is known, and checks that this share is at least as large
/// as in the reference.
#[test]
fn the_models_cover_as_much_time_as_the_reference() {
    for (name, names) in REFERENCE {
        let Some(path) = real(&format!("efficiency/{name}.csv")) else { return };
        let lines = lines(&path);
        let time =
            |lines: &mut dyn Iterator<Item = &Line>| lines.map(|line| line.time).sum::<f64>();
        let theirs =
            time(&mut lines.iter().filter(|line| line.flops.is_some())) / time(&mut lines.iter());
        // If there are two files, the first is the capture, which contains the ops, and the last is the trace of the
        // graph replays.
        let mut traces = open(names).expect("a trace");
        let tree = CallTree::build(traces.pop().expect("a trace"));
        let tree = Captures::of(traces).add_to(&tree, TreeOptions::default());
        let efficiency = TraceEfficiency::new(tree, &Models::builtin(), &Peaks::builtin());
        let ours = efficiency.launched().coverage().expect("GPU time");
        assert!(ours >= theirs, "{name}: {ours} for {theirs}");
        let is_transformer =
            ["bert", "vit", "timesformer"].iter().any(|model| name.starts_with(model));
        let all = efficiency.total().coverage().expect("GPU time");
        assert!(!is_transformer || all >= 0.95, "{name}: {all}");
        assert!(name != "sglang_decode.mi300" || all >= 0.99, "{name}: {all}");
    }
}

/// Generates a trace of an H100 that contains the calls in `body`, and returns the efficiency of its ops.
fn efficiency(body: impl FnOnce(&mut HostThread<'_>)) -> TraceEfficiency {
    efficiency_of(&on_h100(body))
}

fn on_h100(body: impl FnOnce(&mut HostThread<'_>)) -> String {
    let device =
        json!([{ "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_014_937_600_u64 }]);
    TraceBuilder::cuda().header("deviceProperties", device).thread("main", body).json()
}

fn efficiency_of(json: &str) -> TraceEfficiency {
    let tree = CallTree::build(trace("made", json));
    TraceEfficiency::new(tree, &Models::builtin(), &Peaks::builtin())
}

/// Names and counts of ops, sorted by name.
fn ops(efficiency: &TraceEfficiency) -> Vec<(String, u64)> {
    let mut ops: Vec<_> = efficiency.by_op().into_iter().map(|op| (op.op, op.count)).collect();
    ops.sort();
    ops
}

fn named(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
    counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
}

const HALVES: [&str; 3] = ["c10::Half", "c10::Half", "c10::Half"];

fn addmm() -> Op {
    Op::new("aten::addmm").dims(&[&[64], &[32, 128], &[128, 64]]).types(&HALVES)
}

fn linear() -> Op {
    Op::new("aten::linear").dims(&[&[32, 128], &[64, 128], &[64]]).types(&HALVES)
}

fn close(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-9 * theirs.abs()
}

#[test]
fn a_matrix_product_inside_a_matrix_product_counts_once() {
    let efficiency = efficiency(|t| t.op(linear(), |t| t.op(addmm(), |t| t.kernel("gemm", 5.0))));
    assert_eq!(ops(&efficiency), named(&[("aten::addmm", 1)]));
    let flops = 2.0 * 32.0 * 64.0 * 128.0 + 32.0 * 64.0;
    assert!(close(efficiency.total().flops, flops));
}

#[test]
fn a_copy_inside_a_matrix_product_counts_separately() {
    let copy = Op::new("aten::copy_").dims(&[&[64], &[64]]).types(&HALVES[..2]);
    let efficiency = efficiency(|t| {
        t.op(addmm(), |t| {
            t.op(copy, |t| t.kernel("copy", 1.0));
            t.kernel("gemm", 5.0);
        });
    });
    assert_eq!(ops(&efficiency), named(&[("aten::addmm", 1), ("aten::copy_", 1)]));
    assert_eq!(efficiency.total().coverage(), Some(1.0));
}

#[test]
fn an_event_next_to_the_op_that_does_the_work_has_no_model() {
    let efficiency = efficiency(|t| {
        t.op(linear(), |t| {
            t.op(addmm(), |t| t.kernel("gemm", 6.0));
            t.kernel("something", 2.0);
        });
    });
    assert_eq!(efficiency.total().coverage(), Some(0.75));
    assert!(!efficiency.total().is_modelled() && efficiency.total().gflops().is_none());
}

#[test]
fn the_figures_of_an_op_are_divided_among_its_kernels_by_time() {
    let json = on_h100(|t| {
        t.op(addmm(), |t| {
            t.kernel("main", 6.0);
            t.kernel("reduce", 2.0);
        });
    });
    compare_texts(&PerSide::new(json.clone(), json), |analysis: &Analysis| {
        let kernels = by_kernel(analysis.diff(), analysis.ledger(), analysis.categories());
        let of = |name: &str| {
            let row = kernels.iter().find(|row| row.kernel == name).expect("the kernel");
            analysis.efficiency()[Side::Baseline].of_events(&row.tally.events.baseline)
        };
        let (main, reduce) = (of("main"), of("reduce"));
        assert!(close(main.flops, 3.0 * reduce.flops));
        let row = analysis.efficiency()[Side::Baseline]
            .of_events(&analysis.rows()[0].events[Side::Baseline]);
        assert!(close(main.flops + reduce.flops, row.flops));
        let rate = |efficiency: Efficiency| efficiency.tflops_per_s().expect("a rate");
        assert!(close(rate(main), rate(reduce)) && close(rate(main), rate(row)));
    });
}

#[test]
fn an_op_without_shapes_has_no_model_and_the_one_above_takes_its_place() {
    let bare = efficiency(|t| t.op("aten::addmm", |t| t.kernel("gemm", 5.0)));
    assert_eq!((ops(&bare), bare.total().coverage()), (Vec::new(), Some(0.0)));
    let above = efficiency(|t| t.op(linear(), |t| t.op("aten::addmm", |t| t.kernel("gemm", 5.0))));
    assert_eq!(ops(&above), named(&[("aten::linear", 1)]));
}

#[test]
fn the_roofline_is_the_longer_of_operations_and_bytes() {
    let side = 4096_i64;
    let shape: &[i64] = &[side, side];
    let efficiency = efficiency(|t| {
        let mm = Op::new("aten::mm").dims(&[shape, shape]).types(&HALVES[..2]);
        t.op(mm, |t| t.kernel("gemm", 400.0));
        let add = Op::new("aten::add").dims(&[shape, shape]).types(&HALVES[..2]);
        t.op(add, |t| t.kernel("add", 40.0));
    });
    let of = |name: &str| {
        let op = efficiency.by_op().into_iter().find(|op| op.op == name);
        op.expect("the op").efficiency
    };
    let (mm, add) = (of("aten::mm"), of("aten::add"));
    assert_eq!((mm.bound(), add.bound()), (Some(Bound::Compute), Some(Bound::Memory)));
    let n = side as f64;
    // The H100's peaks are 989.4 · 10^12 operations and 3.35 · 10^12 bytes per second.
    assert!(close(mm.roofline_us().expect("peaks"), 2.0 * n * n * n / 989.4e6));
    assert!(close(add.roofline_us().expect("peaks"), 6.0 * n * n / 3.35e6));
    assert!(close(mm.tflops_per_s().expect("a rate"), 2.0 * n * n * n / 400e-6 / 1e12));
    assert!(close(add.tb_per_s().expect("a rate"), 6.0 * n * n / 40e-6 / 1e12));
    assert!(close(add.savable_us().expect("peaks"), 40.0 - 6.0 * n * n / 3.35e6));
}

#[test]
fn an_unknown_device_has_rates_and_no_shares() {
    let json = TraceBuilder::cuda()
        .header("deviceProperties", json!([{ "id": 0, "name": "Some GPU" }]))
        .thread("main", |t| t.op(addmm(), |t| t.kernel("gemm", 5.0)))
        .json();
    let total = efficiency_of(&json).total();
    assert!(total.tflops_per_s().is_some() && total.tb_per_s().is_some());
    assert_eq!((total.bound(), total.roofline_pct(), total.savable_us()), (None, None, None));
}

#[test]
fn the_peak_for_a_32_bit_product_follows_from_its_kernel_name() {
    let pct = |kernel: &str| {
        let mm =
            Op::new("aten::mm").dims(&[&[4096, 4096], &[4096, 4096]]).types(&["float", "float"]);
        let efficiency = efficiency(|t| t.op(mm, |t| t.kernel(kernel, 5000.0)));
        efficiency.total().roofline_pct().expect("peaks")
    };
    let simt = pct("ampere_sgemm_128x64_nn");
    let tf32 = pct("cutlass_80_tensorop_s1688gemm_128x128");
    assert!(close(simt / tf32, 494.7 / 66.9), "{simt} {tf32}");
}

#[test]
fn a_copy_to_the_device_has_a_rate_and_no_roofline() {
    let copy = Op::new("aten::copy_").dims(&[&[1024], &[1024]]).types(&["float", "float"]);
    let to_device =
        efficiency(|t| t.op(copy, |t| t.memcpy("Memcpy HtoD (Pinned -> Device)", 4096, 5.0)));
    let total = to_device.total();
    assert!(total.tb_per_s().is_some() && total.roofline_pct().is_none());
}

#[test]
fn a_copy_without_an_op_has_the_bytes_that_were_recorded() {
    let bare = efficiency(|t| {
        t.memcpy("Memcpy DtoD (Device -> Device)", 3000, 5.0);
        t.memset(500, 1.0);
    });
    assert_eq!((bare.total().bytes, bare.total().coverage()), (6500.0, Some(1.0)));
}

#[test]
fn a_collective_has_its_algorithm_and_its_bus_bandwidth() {
    let kernel = json!({
        "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0,
        "tid": 7, "ts": 100.0, "dur": 50.0,
        "args": {
            "device": 0, "stream": 7, "Collective name": "allreduce", "In msg nelems": 1_000_000,
            "Out msg nelems": 1_000_000, "Group size": 8, "dtype": "BFloat16"
        }
    });
    let json = TraceBuilder::cuda().thread("main", |t| t.leaf("aten::empty")).event(kernel).json();
    let total = efficiency_of(&json).total();
    assert!(close(total.mbytes().expect("a message"), 2.0));
    assert!(close(total.tb_per_s().expect("a rate"), 0.04));
    assert!(close(total.bus_gb_per_s().expect("a rate"), 1.75 * 40.0));
    assert_eq!(total.roofline_pct(), None);
}

#[test]
fn an_op_faster_than_its_device_has_no_rate_and_says_why() {
    let of = |micros: f64| {
        let add = Op::new("aten::add").dims(&[&[1024, 1024], &[1024, 1024]]).types(&HALVES[..2]);
        efficiency(|t| t.op(add, |t| t.kernel("add", micros))).total()
    };
    // Moving 6 MiB at 3.35 TB/s takes 1.88 µs.
    let (within, above) = (of(2.0), of(1.5));
    assert_eq!(within.bound_label(), Some("memory"));
    assert_eq!(above.bound_label(), Some("cache_resident_or_model_too_high"));
    assert!(within.roofline_pct().is_some_and(|pct| pct < 100.0) && within.tb_per_s().is_some());
    assert_eq!((above.roofline_pct(), above.tb_per_s(), above.tflops_per_s()), (None, None, None));
    // Even if an op exceeds the peak, the minimum work and the time at the roofline are known.
    assert!(above.mbytes().is_some() && above.roofline_us().is_some());
    assert_eq!(above.savable_us(), Some(0.0));
    let shown = |before, after| clause(&PerSide::new(before, after)).expect("two models");
    assert_eq!(
        shown(within, above),
        "3.1 TB/s → above peak (data in a cache, or work overestimated)"
    );
    assert_eq!(
        shown(above, within),
        "above peak → 3.1 TB/s (data in a cache, or work overestimated)"
    );
}

#[test]
fn the_rate_text_shows_the_limiting_rate_and_its_share_of_the_peak() {
    let of = |micros: f64| {
        let mm = Op::new("aten::mm").dims(&[&[4096, 4096], &[4096, 4096]]).types(&HALVES[..2]);
        efficiency(|t| t.op(mm, |t| t.kernel("gemm", micros))).total()
    };
    let both = PerSide::new(of(250.0), of(1000.0));
    assert_eq!(clause(&both).as_deref(), Some("550 → 137 TFLOP/s, 14% of peak"));
    assert_eq!(work_change(&both, PerSide::new(1, 1)), Some(WorkChange::Same));
    assert_eq!(clause(&PerSide::new(of(250.0), Efficiency::default())), None);
}

#[test]
fn more_operations_are_reported_as_more_work_and_not_as_slower_work() {
    let of = |n: i64| {
        let mm = Op::new("aten::mm").dims(&[&[64, 64], &[64, n]]).types(&HALVES[..2]);
        efficiency(|t| t.op(mm, |t| t.kernel("gemm", 5.0))).total()
    };
    assert_eq!(
        work_change(&PerSide::new(of(64), of(128)), PerSide::new(1, 1)),
        Some(WorkChange::More)
    );
    assert_eq!(
        work_change(&PerSide::new(of(128), of(64)), PerSide::new(1, 1)),
        Some(WorkChange::Less)
    );
}

#[test]
fn models_and_peaks_of_the_user_override_the_built_in_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::File::create(&path).expect("a file").write_all(text.as_bytes()).expect("written");
        path
    };
    let models = write(
        "models.toml",
        r#"
        [[model]]
        ops = ["mine::gemm*"]
        formula.matmul = { a = 0, b = 1, b_transposed = true }
        source = "mine"
    "#,
    );
    let peaks = write(
        "peaks.toml",
        r#"
        [[device]]
        name = "measured"
        names = ["H100"]
        memory_tb_per_s = 1.0
        matrix = { fp16 = 500.0 }
        source = "measured"
        memory_source = "measured"
    "#,
    );
    let (models, peaks) =
        (Models::extended(models).expect("a table"), Peaks::extended(peaks).expect("peaks"));
    let op = Op::new("mine::gemm_4").dims(&[&[32, 64], &[16, 64]]).types(&HALVES[..2]);
    let tree = CallTree::build(trace("made", &on_h100(|t| t.op(op, |t| t.kernel("k", 5.0)))));
    let efficiency = TraceEfficiency::new(tree, &models, &peaks);
    assert_eq!(ops(&efficiency), named(&[("mine::gemm_4", 1)]));
    assert_eq!(efficiency.peaks().map(|peaks| peaks.name.as_str()), Some("measured"));
    let wrong = write("wrong.toml", "[[model]]\nops = [1]");
    let error = Models::extended(&wrong).expect_err("no table").to_string();
    assert!(error.contains("wrong.toml") && error.contains("[[model]]"), "{error}");
    let error = Peaks::extended(&wrong).expect_err("no peaks").to_string();
    assert!(error.contains("wrong.toml") && error.contains("[[device]]"), "{error}");
}

/// The convolutions in the generated ResNet. Each row contains the number of input channels, the number of output
/// channels, the side length of the output, the side length of the kernel, and how often this convolution occurs in the
/// network.
const RESNET: [[u64; 5]; 8] = [
    [3, 32, 32, 3, 1],
    [32, 32, 32, 3, 4],
    [32, 64, 16, 3, 1],
    [64, 64, 16, 3, 3],
    [32, 64, 16, 1, 1],
    [64, 128, 8, 3, 1],
    [128, 128, 8, 3, 3],
    [64, 128, 8, 1, 1],
];

#[test]
fn the_convolutions_of_the_resnet_are_those_counted_by_hand() {
    let (batch, steps) = (128, 3);
    let sum = |of: fn(&[u64; 5]) -> u64| RESNET.iter().map(of).sum::<u64>() * batch * steps;
    let products =
        sum(|&[from, to, side, kernel, count]| count * side * side * to * from * kernel * kernel);
    let outputs = sum(|&[_, to, side, _, count]| count * side * side * to);
    // Each product takes one multiplication and one addition. Adding the bias takes one operation per output element.
    // In the forward pass, the bias is added inside MIOpen's op, or by a separate op after cuDNN's op. In the backward
    // pass, the gradient of the bias is a sum over the output gradient.
    let forward = 2 * products + outputs;
    let backward = 4 * products + outputs;
    for (trace, backend) in
        [("rocm", "aten::miopen_convolution"), ("cuda", "aten::cudnn_convolution")]
    {
        let path = traces::example(&format!("resnet.{trace}.json.gz"));
        let tree = CallTree::build(Trace::open(path).expect("an example"));
        let efficiency = TraceEfficiency::new(tree, &Models::builtin(), &Peaks::builtin());
        let flops = |name: &str| -> f64 {
            let ops = efficiency.by_op();
            ops.iter().filter(|op| op.op == name).map(|op| op.efficiency.flops).sum()
        };
        let bias = if trace == "rocm" { 0 } else { outputs };
        assert!(close(flops(backend), (forward - bias) as f64), "{trace}: {}", flops(backend));
        assert!(close(flops("aten::convolution_backward"), backward as f64), "{trace}");
    }
}
