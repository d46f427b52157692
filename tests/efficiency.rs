//! What ops must do at least, against figures by hand and those of the reference on real traces.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use support::traces::real;
use tracetree::analysis::{Demand, Models, Peaks, TraceEfficiency};
use tracetree::{CallTree, Trace};

/// Traces that the reference has figures of; of a replayed graph the ops stand in its capture.
const REFERENCE: [(&str, &[&str]); 9] = [
    ("bert.h100", &["mi300_h100/bert.h100"]),
    ("bert.mi300", &["mi300_h100/bert.mi300"]),
    ("resnet_act_checkpoint.mi300", &["training/resnet_act_checkpoint.mi300"]),
    ("sglang_decode.mi300", &["inference/capture/sglang_decode.capture.mi300", "inference/sglang_decode.mi300"]),
    ("timesformer.h100", &["mi300_h100/timesformer.h100"]),
    ("timesformer.mi300", &["mi300_h100/timesformer.mi300"]),
    ("torch_compile_triton.mi300", &["inference/torch_compile_triton.mi300"]),
    ("vit.h100", &["mi300_h100/vit.h100"]),
    ("vit.mi300", &["mi300_h100/vit.mi300"]),
];

/// One line of the reference's table.
#[derive(Debug)]
struct Line {
    name: String,
    dims: String,
    types: String,
    flops: Option<f64>,
    bytes: Option<f64>,
    time: f64,
}

/// A Python tuple as the JSON that traces have.
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

/// The demands of all ops of a line in a trace.
fn demands(trace: &Trace, models: &Models, line: &Line) -> Vec<Demand> {
    let named = |name: &str| name == line.name || name.strip_prefix(&line.name).is_some_and(|rest| rest.starts_with('_'));
    let ids = trace.events().filter(|&event| named(trace.name(event)));
    let mut found: Vec<_> = ids
        .filter_map(|event| Some((trace.name(event), trace.arguments(trace.arguments_id(event)?))))
        .filter(|(_, arguments)| {
            trace.text(arguments.dims) == line.dims && trace.text(arguments.types) == line.types
        })
        .collect();
    found.dedup();
    found.into_iter().filter_map(|(name, arguments)| models.demand(name, trace, arguments)).collect()
}

#[test]
fn scratch() {
    let models = Models::builtin();
    for (name, traces) in REFERENCE {
        let Some(path) = real(&format!("efficiency/{name}.csv")) else { return };
        let traces: Vec<Trace> = traces
            .iter()
            .map(|trace| Trace::open(real(&format!("{trace}.json.gz")).expect("traces")).expect("a trace"))
            .collect();
        let (mut same, mut other, mut none) = (0, 0, 0);
        for line in lines(&path) {
            let demands: Vec<Demand> =
                traces.iter().flat_map(|trace| demands(trace, &models, &line)).collect();
            let close = |ours: f64, theirs: f64| (ours - theirs).abs() <= 1e-3 * theirs.abs();
            let Some((flops, bytes)) = line.flops.zip(line.bytes) else { 
                println!("{name} only ours? {} {} {:?} {}", line.name, line.dims, demands.first().map(|d|(d.flops,d.bytes)), line.time);
                continue };
            if demands.is_empty() {
                none += 1;
                println!("{name} NOT MODELLED {} {}", line.name, line.dims);
            }
            let ok = demands.iter().any(|d| close(d.flops, flops) && close(d.bytes.unwrap_or(-1.0), bytes));
            if ok { same += 1 } else if !demands.is_empty() {
                other += 1;
                let d = demands[0];
                println!("{name} {} {}: flops {} / {flops}, bytes {:?} / {bytes} ({:.4} {:.4})", line.name, line.dims, d.flops, d.bytes, d.flops / flops, d.bytes.unwrap_or(0.0) / bytes);
            }
        }
        println!("== {name}: same {same}, other {other}, none {none}");
        let trace = traces.into_iter().last().expect("a trace");
        let efficiency = TraceEfficiency::new(CallTree::build(trace), &models, &Peaks::builtin());
        println!("   coverage {:?} of launched {:?} peaks {:?}", efficiency.total().coverage(), efficiency.launched().coverage(), efficiency.peaks().map(|p| &p.name));
        for op in efficiency.by_op().iter().take(6) {
            println!("   {} {} x{} {} {:?} tflops {:?} tb {:?} pct {:?} save {:?}", op.op, op.dims, op.count, op.efficiency.time, op.efficiency.bound(), op.efficiency.tflops_per_s(), op.efficiency.tb_per_s(), op.efficiency.roofline_pct(), op.efficiency.savable_us());
        }
    }
}
