//! What to try about an op, each with the evidence for it. The texts are in `pytorch.toml`.

use super::gather::Kernels;
use crate::analysis::kernel_facts::Role;
use crate::analysis::pytorch::PYTORCH;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// A role must take this share of an op's time to be worth a hint.
const LARGE: f64 = 0.10;
/// Kernels load this many 16-bit elements at once if rows are aligned.
const ALIGNED: u64 = 8;

/// What to try about an op on one side; `None` for the side if it concerns both.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Hint {
    /// The side whose kernels gave rise to the hint; `None` if the hint is about a difference between the sides.
    pub side: Option<Side>,
    /// What was found and what to try, as a clause without a full stop.
    pub text: String,
}

impl Hint {
    /// The hint, with the name of the side that it is about.
    pub fn words(&self, name: impl FnOnce(Side) -> String) -> String {
        match self.side {
            Some(side) => format!("{}: {}", name(side), self.text),
            None => self.text.clone(),
        }
    }
}

/// The values of one side that the conditions are about.
pub(super) struct Evidence<'a> {
    pub(super) kernels: &'a Kernels,
    pub(super) time: Nanos,
    pub(super) dims: &'a str,
    /// The version of the device's generation.
    pub(super) device: Option<(i64, i64)>,
    pub(super) is_16_bit: bool,
}

pub(super) fn hints(sides: &PerSide<Evidence<'_>>, is_convolution: bool) -> Vec<Hint> {
    let mut found = Vec::new();
    for side in Side::BOTH {
        let mut add = |text: String| found.push(Hint { side: Some(side), text });
        let here = &sides[side];
        let Kernels { roles, variant, generation, alignment, .. } = here.kernels;
        let share = |role: Role| {
            let time = roles.get(&role).map_or(0, |(_, time)| time.0);
            time as f64 / here.time.0.max(1) as f64
        };
        let percent = |share: f64| format!("{:.0}", 100.0 * share);
        if *variant == Some("naive") {
            add(text("naive", &[]));
        }
        for (role, hint) in [(Role::Layout, "layout"), (Role::Im2Col, "im2col")] {
            if is_convolution && share(role) > LARGE {
                add(text(hint, &[("share", &percent(share(role)))]));
            }
        }
        let is_unaligned = here.is_16_bit && alignment.is_some_and(|elements| elements < 8);
        if let Some(size) = is_unaligned.then(|| unaligned_size(here.dims)).flatten() {
            let padded = size.next_multiple_of(ALIGNED).to_string();
            add(text("unaligned", &[("size", &size.to_string()), ("padded", &padded)]));
        }
        if let (Some(kernel), Some(device)) = (generation, here.device) {
            // Libraries use kernels of the last generation but one where they are as fast.
            if here.is_16_bit && kernel.version.0 < device.0 - 1 {
                add(text("older", &[("generation", kernel.name)]));
            }
        }
        if share(Role::SplitK) > LARGE {
            add(text("split_k", &[]));
        }
    }
    let precisions = sides.as_ref().map(|here| here.kernels.precision);
    if let PerSide { baseline: Some(a), candidate: Some(b) } = precisions
        && (a == "tf32" || b == "tf32")
        && a != b
    {
        let text = text("precision", &[("baseline", a), ("candidate", b)]);
        found.push(Hint { side: None, text });
    }
    found
}

fn text(name: &str, values: &[(&str, &str)]) -> String {
    let text = PYTORCH.hints[name].clone();
    values.iter().fold(text, |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// The smallest size in `Input Dims` that is not a multiple of [`ALIGNED`], except sizes that are too small to matter.
fn unaligned_size(dims: &str) -> Option<u64> {
    let sizes = dims.split(|c: char| !c.is_ascii_digit()).filter_map(|size| size.parse().ok());
    sizes.filter(|size: &u64| *size > 16 && !size.is_multiple_of(ALIGNED)).min()
}
