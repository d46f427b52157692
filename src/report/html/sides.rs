//! Builds the line above the page's headline, which shows both sides and the properties that they share.

use crate::analysis::Analysis;
use crate::program::counted;
use crate::side::{PerSide, Side};
use crate::trace::Trace;

/// One side of the comparison.
pub(super) struct SideLine {
    pub(super) name: String,
    pub(super) path: String,
    /// Properties that apply only to this side.
    pub(super) facts: String,
}

/// Returns the lines for both sides, and the properties that they share.
pub(super) fn sides(analysis: &Analysis) -> ([SideLine; 2], Vec<String>) {
    let facts = PerSide::from_fn(|side| facts(analysis, side));
    let is_shared = |fact: &&String| Side::BOTH.iter().all(|&side| facts[side].contains(fact));
    let shared: Vec<String> = facts.baseline.iter().filter(is_shared).cloned().collect();
    let each = if shared.is_empty() { "" } else { " each" };
    let own = |side: Side| {
        let own: Vec<&str> =
            facts[side].iter().filter(|fact| !is_shared(fact)).map(String::as_str).collect();
        SideLine {
            name: analysis.names()[side].to_owned(),
            path: analysis.tree(side).trace().source().to_owned(),
            facts: own.join(" · "),
        }
    };
    let counts = |fact: &String| {
        fact.ends_with("step")
            || fact.ends_with("steps")
            || fact.ends_with("run")
            || fact.ends_with("runs")
    };
    let shared =
        shared.iter().map(|fact| if counts(fact) { format!("{fact}{each}") } else { fact.clone() });
    (Side::BOTH.map(own), shared.collect())
}

fn facts(analysis: &Analysis, side: Side) -> Vec<String> {
    let trace: &Trace = analysis.tree(side).trace();
    let mut facts = vec![super::overview::devices(trace)];
    facts.extend(trace.header().versions.iter().filter_map(|(key, value)| version(key, value)));
    facts.push(counted(analysis.diff().steps(side).len() as u64, "step"));
    facts.push(counted(analysis.runs()[side].len() as u64 + 1, "run"));
    facts.retain(|fact| !fact.trim().is_empty() && fact != "0 steps");
    facts
}

/// Formats a version: `cuda_runtime_version 13000` becomes `CUDA 13.0`. Returns `None` for versions other than CUDA,
/// ROCm and PyTorch; only the list of inputs shows them.
fn version(key: &str, value: &str) -> Option<String> {
    let named = |name: &str| match value.parse::<u64>() {
        Ok(number) if number >= 1_000 => {
            format!("{name} {}.{}", number / 1_000, number % 1_000 / 10)
        }
        _ => format!("{name} {value}"),
    };
    let key = key.to_ascii_lowercase();
    match key.as_str() {
        "cuda_runtime_version" => Some(named("CUDA")),
        "hip_runtime_version" | "rocm_version" => Some(match value.parse::<u64>() {
            Ok(number @ 1_000_000..) => {
                format!("ROCm {}.{}", number / 10_000_000, number / 100_000 % 100)
            }
            Ok(_) | Err(_) => format!("ROCm {value}"),
        }),
        _ if key.contains("torch") => Some(format!("PyTorch {value}")),
        _ => None,
    }
}
