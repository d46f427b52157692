//! Decides whether floating-point types are evidence.
//!
//! ```text
//! trace1   index(bf16) … index(float)       If the whole model runs in a different precision, equal types are a
//! trace2   index(float) … index(bf16)       coincidence: the first call matches the first, not the last
//! ```

use crate::side::PerSide;
use crate::trace::{Arguments, Trace};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// Threshold for a difference in precision. The argument records that both traces contain are counted twice: once with
/// their floating-point types, and once without. The traces differ in precision if the second count exceeds the first
/// by more than 1 / `GAIN`.
const GAIN: usize = 8;

/// The floating-point types, as PyTorch records them.
const FLOATS: [&str; 4] = ["float", "double", "c10::BFloat16", "c10::Half"];

/// Whether many ops in the two traces have the same shapes but different floating-point types.
pub(super) fn differs(traces: PerSide<&Trace>) -> bool {
    let shared = |any_float: bool| {
        let records = |trace: &Trace| -> FxHashSet<u64> {
            let all = trace.all_arguments().iter();
            all.map(|arguments| hash(trace, arguments, any_float)).collect()
        };
        let PerSide { baseline, candidate } = traces.map(records);
        baseline.intersection(&candidate).count()
    };
    let exact = shared(false);
    shared(true) > exact + exact / GAIN
}

/// A hash of an argument record without strides. If `any_float` is set, all floating-point types are hashed as one
/// type.
pub(super) fn hash(trace: &Trace, arguments: &Arguments, any_float: bool) -> u64 {
    let mut hasher = FxHasher::default();
    trace.text(arguments.dims).hash(&mut hasher);
    let types = trace.text(arguments.types);
    if any_float {
        types.split('"').for_each(|part| without_precision(part).hash(&mut hasher));
    } else {
        types.hash(&mut hasher);
    }
    trace.text(arguments.concrete).hash(&mut hasher);
    hasher.finish()
}

fn without_precision(name: &str) -> &str {
    if FLOATS.contains(&name) || name.starts_with("c10::Float8") { "float" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_types() {
        assert_eq!(without_precision("c10::Half"), without_precision("c10::Float8_e4m3fn"));
        assert_ne!(without_precision("long int"), without_precision("float"));
    }
}
