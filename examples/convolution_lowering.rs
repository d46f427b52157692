//! Prints, for each convolution in two traces, the ops and kernels that it runs, and their times.
//!
//! ```text
//! cargo run --example convolution_lowering [-- BASELINE CANDIDATE]
//! ```
//! The example reproduces the regression analysis in `docs/guides/walkthrough.md` step by step: it selects the rows for
//! one op, groups these rows by input shapes, and lists the ops and kernels on each side. Without arguments, the
//! example uses the ResNet pair in `examples/traces`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use tracetree::analysis::Analysis;
use tracetree::analysis::account::Row;
use tracetree::trace::{Argument, Nanos};
use tracetree::{Comparison, ComparisonOptions, PerSide, Side};

const BASELINE: &str = "examples/traces/resnet.rocm.json.gz";
const CANDIDATE: &str = "examples/traces/resnet.cuda.json.gz";
/// For the forward and the backward pass, the lowest op that contains the whole convolution on every platform.
const CONVOLUTIONS: [&str; 2] = ["aten::_convolution", "aten::convolution_backward"];
const WIDTH: usize = 58;

/// All convolutions with the same input shapes.
#[derive(Default)]
struct Lowering {
    rows: usize,
    time: PerSide<Nanos>,
    /// The number and total time of the GPU events, for each op and each kernel that the op launches.
    parts: PerSide<BTreeMap<(String, String), (usize, Nanos)>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let baseline = arguments.next().unwrap_or_else(|| BASELINE.to_owned());
    let candidate = arguments.next().unwrap_or_else(|| CANDIDATE.to_owned());
    let options = ComparisonOptions::default();
    let comparison = Comparison::open(baseline.as_str(), candidate.as_str(), &options)?;

    let mut out = std::io::stdout().lock();
    for op in CONVOLUTIONS {
        let mut lowerings: Vec<_> = lowerings(comparison.analysis(), op).into_iter().collect();
        lowerings.sort_by_key(|(shapes, lowering)| {
            (Reverse(difference(lowering).abs()), shapes.clone())
        });
        for (shapes, lowering) in lowerings {
            writeln!(out, "{op} of {shapes} (count: {})", lowering.rows)?;
            show(&lowering, &mut out)?;
        }
    }
    Ok(())
}

/// The rows for `op`, grouped by the shapes of the input, weight and bias.
fn lowerings(analysis: &Analysis, op: &str) -> BTreeMap<String, Lowering> {
    let mut lowerings: BTreeMap<String, Lowering> = BTreeMap::new();
    for row in analysis.rows().iter().filter(|row| row.name(analysis.diff()) == op) {
        // Tensors come first. Arguments with the shape `[]`, which are scalars and lists, are dropped.
        let shapes = row.argument_text(analysis.diff(), Argument::Shape, Side::Baseline);
        let tensors = shapes.split_once(", []").map(|(tensors, _)| format!("{tensors}]"));
        let lowering = lowerings.entry(tensors.unwrap_or_else(|| shapes.to_owned())).or_default();
        lowering.rows += 1;
        for side in Side::BOTH {
            lowering.time[side] += row.time[side];
            add_parts(analysis, row, side, lowering);
        }
    }
    lowerings
}

fn add_parts(analysis: &Analysis, row: &Row, side: Side, lowering: &mut Lowering) {
    let tree = analysis.tree(side);
    for &event in &row.events[side] {
        let op = analysis.diff().op_of(side, event).map_or("", |op| tree.name(op));
        let key = (op.to_owned(), tree.name(event).to_owned());
        let part = lowering.parts[side].entry(key).or_default();
        part.0 += 1;
        part.1 += tree.duration(event);
    }
}

fn show(lowering: &Lowering, out: &mut impl Write) -> std::io::Result<()> {
    for side in Side::BOTH {
        writeln!(out, "  {} {:>10} us", side.label(), lowering.time[side])?;
        for ((op, kernel), (count, time)) in &lowering.parts[side] {
            let kernel: String = kernel.chars().take(WIDTH).collect();
            writeln!(out, "    {time:>12} us {count:>4} x {op} > {kernel}")?;
        }
    }
    writeln!(out, "  difference {:+.3} us\n", difference(lowering).as_micros())
}

fn difference(lowering: &Lowering) -> Nanos {
    lowering.time.candidate - lowering.time.baseline
}
