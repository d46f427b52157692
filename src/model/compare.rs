//! A prediction and a profile → [`ModelComparison`]: a row per kernel type, the largest first.

use std::collections::BTreeSet;

use super::forward_passes::ForwardPasses;
use super::kernel_type::KernelType;
use super::predict::{PredictedKernel, Prediction, divided};
use super::profile::{MeasuredKernel, Profile};
use super::status::Status;
use crate::trace::Nanos;

/// One kernel type: what the model predicts, and what one forward pass took.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The kernel type, which names the row.
    pub kernel_type: KernelType,
    /// The first three ops of the model that become this kernel.
    pub model_ops: Vec<String>,
    /// Predicted and measured time and count.
    pub amounts: Amounts,
    /// This kernel type's part of the profile's time, in percent; nothing where that is 0.
    pub profile_share_pct: Option<f64>,
    /// How well the model knows it.
    pub status: Status,
}

/// Predicted and measured time and count, of a kernel type or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Amounts {
    /// Predicted time of a forward pass.
    pub model: Nanos,
    /// Predicted number of kernels.
    pub model_count: u64,
    /// Measured time of a forward pass: the profile's sum divided by its passes.
    pub profile: Nanos,
    /// Measured number of kernels of a forward pass, which need not be whole.
    pub profile_count: f64,
}

impl Amounts {
    /// (model − profile) / profile, in percent; nothing where the profile has no time.
    pub fn error_pct(&self) -> Option<f64> {
        percent(self.difference() as f64, self.profile.0 as f64)
    }

    /// The same for the number of kernels.
    pub fn count_error_pct(&self) -> Option<f64> {
        percent(self.model_count as f64 - self.profile_count, self.profile_count)
    }

    /// model − profile, in nanoseconds.
    pub(crate) fn difference(&self) -> i64 {
        (self.model - self.profile).0
    }

    /// Whether the profile has any time here, so that there is an error to speak of.
    pub(crate) fn is_measured(&self) -> bool {
        self.profile > Nanos::ZERO
    }

    fn larger(&self) -> Nanos {
        self.model.max(self.profile)
    }

    fn plus(self, other: &Amounts) -> Amounts {
        Amounts {
            model: self.model + other.model,
            model_count: self.model_count + other.model_count,
            profile: self.profile + other.profile,
            profile_count: self.profile_count + other.profile_count,
        }
    }
}

/// `part / whole` in percent; nothing where the whole is 0.
pub(crate) fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole * 100.0)
}

/// The sum of all rows.
pub(crate) fn total(rows: &[Row]) -> Amounts {
    rows.iter().fold(Amounts::default(), |sum, row| sum.plus(&row.amounts))
}

/// A row per kernel type of either side, by the larger of its two times, then by name.
pub(crate) fn rows(prediction: &Prediction, profile: &Profile, passes: ForwardPasses) -> Vec<Row> {
    let types: BTreeSet<&KernelType> =
        prediction.kernels.keys().chain(profile.kernels.keys()).collect();
    let mut rows: Vec<Row> = types
        .into_iter()
        .map(|kernel_type| {
            let predicted = prediction.kernels.get(kernel_type);
            row(kernel_type, predicted, profile.kernels.get(kernel_type), passes)
        })
        .collect();
    let whole = total(&rows).profile.0 as f64;
    for row in &mut rows {
        row.profile_share_pct = percent(row.amounts.profile.0 as f64, whole);
    }
    rows.sort_by(|a, b| {
        let larger_first = b.amounts.larger().cmp(&a.amounts.larger());
        larger_first.then_with(|| a.kernel_type.cmp(&b.kernel_type))
    });
    rows
}

fn row(
    kernel_type: &KernelType,
    predicted: Option<&PredictedKernel>,
    measured: Option<&MeasuredKernel>,
    passes: ForwardPasses,
) -> Row {
    let measured = measured.copied().unwrap_or_default();
    Row {
        kernel_type: kernel_type.clone(),
        model_ops: predicted.map(|kernel| kernel.ops.clone()).unwrap_or_default(),
        amounts: Amounts {
            model: predicted.map_or(Nanos::ZERO, PredictedKernel::total),
            model_count: predicted.map_or(0, PredictedKernel::count),
            profile: divided(measured.total, passes.get() as usize),
            profile_count: measured.count as f64 / f64::from(passes.get()),
        },
        profile_share_pct: None,
        status: predicted.map_or(Status::Unmodeled, PredictedKernel::status),
    }
}
