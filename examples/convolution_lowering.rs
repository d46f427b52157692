//! Prints what each convolution becomes on two platforms: kernels by role, library, precision, the share of work that is
//! not the convolution itself, how near it comes to the device's peak, and what to try.
//!
//! ```text
//! cargo run --example convolution_lowering [-- BASELINE CANDIDATE]
//! ```
//! The rows are those of `porting.csv` whose class is `convolution`. Without arguments, the example uses the ResNet pair
//! in `examples/traces`.

use std::error::Error;
use std::io::Write;
use tracetree::analysis::porting::{Explained, PortingRow};
use tracetree::trace::Nanos;
use tracetree::{Comparison, ComparisonOptions, Side};

const BASELINE: &str = "examples/traces/resnet.rocm.json.gz";
const CANDIDATE: &str = "examples/traces/resnet.cuda.json.gz";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let baseline = arguments.next().unwrap_or_else(|| BASELINE.to_owned());
    let candidate = arguments.next().unwrap_or_else(|| CANDIDATE.to_owned());
    let options = ComparisonOptions::default();
    let comparison = Comparison::open(baseline.as_str(), candidate.as_str(), &options)?;

    let mut out = std::io::stdout().lock();
    let analysis = comparison.analysis();
    let convolutions = analysis.porting().rows.iter().filter(|row| row.class == "convolution");
    for row in convolutions {
        show(
            row,
            [&analysis.names()[Side::Baseline], &analysis.names()[Side::Candidate]],
            &mut out,
        )?;
    }
    Ok(())
}

fn show(row: &PortingRow, names: [&String; 2], out: &mut impl Write) -> std::io::Result<()> {
    let dims =
        &row.dims[if row.dims.baseline.is_empty() { Side::Candidate } else { Side::Baseline }];
    let tensors = dims.split_once(", []").map_or(dims.as_str(), |(tensors, _)| tensors);
    writeln!(out, "{} of {tensors} in {} ({})", row.name, row.module, row.explained.label())?;
    for side in Side::BOTH {
        let calls = row.calls[side].max(1);
        let known = &row.kernels[side];
        let kernels: Vec<String> = known
            .roles
            .iter()
            .map(|(role, &(count, time))| {
                let each = time.as_micros() / calls as f64;
                format!("{:.2} × {} {each:.1} µs", count as f64 / calls as f64, role.label())
            })
            .collect();
        let per_call = row.time[side].as_micros() / calls as f64;
        write!(out, "  {:10} {per_call:>9.1} µs per call, {calls} calls: ", names[side as usize])?;
        writeln!(out, "{}", kernels.join(", "))?;
        let mut facts = vec![known.libraries.clone()];
        facts.extend(known.generation.map(|generation| format!("for {}", generation.name)));
        facts.extend(known.precision.map(str::to_owned));
        facts.extend(row.peak_pct[side].map(|pct| format!("{pct:.0}% of the peak")));
        facts.extend(row.not_work_pct(side).map(|pct| format!("{pct:.0}% is not the convolution")));
        facts.retain(|fact| !fact.is_empty());
        writeln!(out, "  {:10} {}", "", facts.join(", "))?;
    }
    if row.explained == Explained::Modelled {
        writeln!(
            out,
            "  hardware {}, software {} µs per step",
            micros(row.hardware),
            micros(row.software)
        )?;
    }
    for hint in &row.hints {
        writeln!(out, "  try: {}", hint.words(|side| names[side as usize].clone()))?;
    }
    writeln!(out)
}

fn micros(time: Nanos) -> String {
    format!("{:+.1}", time.as_micros())
}
