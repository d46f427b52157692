//! Shows where a performance model is inaccurate. Prints how much of a profile's time the model covers, which kernel
//! types contribute most to the model's error, and which ops run them.
//!
//! ```sh
//! cargo run -p tracetree-model --example model_accuracy -- model_trace.json kernel_details.csv op_mapping.yaml
//! ```
//! Without arguments, the example reads a small sample.
#![expect(clippy::print_stdout, reason = "the example prints a report")]

use std::path::PathBuf;

use tracetree_model::{ForwardPasses, ModelComparison, Scenario};

fn main() -> tracetree_trace::Result<()> {
    let comparison = scenario(std::env::args_os().skip(1).map(PathBuf::from)).compare()?;
    print_coverage(&comparison);
    print_contributors(&comparison);
    for note in &comparison.notes {
        println!("note {} ×{}: {}", note.code, note.count, note.message);
    }
    Ok(())
}

/// The files named on the command line; if none are named, a sample with two forward passes.
fn scenario(mut files: impl Iterator<Item = PathBuf>) -> Scenario {
    if let (Some(model_trace), Some(profile)) = (files.next(), files.next()) {
        let mut scenario = Scenario::new(model_trace, profile);
        scenario.op_mapping = files.next();
        return scenario;
    }
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/model_decoder");
    let file = |name: &str| PathBuf::from(sample).join(name);
    let mut scenario = Scenario::new(file("model_trace.json"), file("kernel_details.csv"));
    scenario.op_mapping = Some(file("op_mapping.yaml"));
    scenario.forward_passes = ForwardPasses::new(2).unwrap_or(ForwardPasses::ONE);
    scenario
}

fn print_coverage(comparison: &ModelComparison) {
    println!("{}: share of the profile's time that the model covers", comparison.scenario.name);
    for part in &comparison.accuracy.coverage {
        let share = part.share_pct.unwrap_or_default();
        println!("  {:<10} {share:5.1}%  kernel types: {}", part.status, part.kernel_types);
    }
}

fn print_contributors(comparison: &ModelComparison) {
    let whole = comparison.accuracy.weighted_error_pct.unwrap_or_default();
    println!("weighted error {whole:.1}%, largest contributors:");
    for contributor in comparison.accuracy.contributors.iter().take(3) {
        let row = &comparison.rows[contributor.row.0];
        let ops = row.model_ops.join(", ");
        let ops = if ops.is_empty() { "no model op" } else { &ops };
        println!("  {:<26} {:5.2} percentage points, {ops}", row.kernel_type, contributor.points);
    }
}
