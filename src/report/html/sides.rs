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
    let is_shared = |fact: &&Fact| Side::BOTH.iter().all(|&side| facts[side].contains(fact));
    let own = |side: Side| {
        let own: Vec<&str> =
            facts[side].iter().filter(|fact| !is_shared(fact)).map(|fact| &*fact.text).collect();
        SideLine {
            name: analysis.names()[side].to_owned(),
            path: analysis.tree(side).trace().source().to_owned(),
            facts: own.join(" · "),
        }
    };
    let shared = facts.baseline.iter().filter(is_shared).map(|fact| match fact.is_count {
        true => format!("{} each", fact.text),
        false => fact.text.clone(),
    });
    (Side::BOTH.map(own), shared.collect())
}

/// A property of a side.
#[derive(PartialEq, Eq)]
struct Fact {
    text: String,
    /// Whether it says how many steps or runs the side has.
    is_count: bool,
}

fn facts(analysis: &Analysis, side: Side) -> Vec<Fact> {
    let trace: &Trace = analysis.tree(side).trace();
    let versions = trace.header().versions.iter().filter_map(|(key, value)| version(key, value));
    let properties = std::iter::once(super::overview::devices(trace)).chain(versions);
    let properties = properties.filter(|text| !text.trim().is_empty());
    let counts = [
        (analysis.diff().steps(side).len() as u64, "step"),
        (analysis.runs()[side].len() as u64 + 1, "run"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    properties
        .map(|text| Fact { text, is_count: false })
        .chain(counts.map(|(count, noun)| Fact { text: counted(count, noun), is_count: true }))
        .collect()
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
