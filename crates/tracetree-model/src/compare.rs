//! Compares a prediction with a profile. The result has one row per kernel type; the kernel types that take the most
//! time come first.

use std::collections::BTreeSet;
use tracetree_trace::order::Order as _;

use super::forward_passes::ForwardPasses;
use super::kernel_type::KernelType;
use super::predict::{PredictedKernel, Prediction, divided};
use super::profile::{MeasuredKernel, Profile};
use super::status::Status;
use tracetree_trace::trace::Nanos;

/// The prediction and the measurement for one kernel type, per forward pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The kernel type.
    pub kernel_type: KernelType,
    /// The first three model ops that run this kernel type.
    pub model_ops: Vec<String>,
    /// The predicted and measured time, and the predicted and measured number of kernels.
    pub amounts: Amounts,
    /// The kernel type's share of the profile's time, in percent; `None` if the profile has no time.
    pub profile_share_pct: Option<f64>,
    /// How the model obtained the time: by a lookup, by a computation, or by both. If only the profile has
    /// the kernel type, the status is [`Status::Unmodeled`].
    pub status: Status,
}

/// The predicted and measured time, and the predicted and measured number of kernels. The values are for one kernel
/// type, or for all kernel types together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Amounts {
    /// Predicted time of a forward pass.
    pub model: Nanos,
    /// Predicted number of kernels in a forward pass.
    pub model_count: u64,
    /// Measured time of a forward pass: the profile's total time divided by the number of forward passes.
    pub profile: Nanos,
    /// Measured number of kernels in a forward pass, which may be fractional.
    pub profile_count: f64,
}

impl Amounts {
    /// (model − profile) / profile, in percent; `None` if the profile has no time.
    pub fn error_pct(&self) -> Option<f64> {
        percent(self.difference() as f64, self.profile.0 as f64)
    }

    /// Like [`Amounts::error_pct`], but for the number of kernels.
    pub fn count_error_pct(&self) -> Option<f64> {
        percent(self.model_count as f64 - self.profile_count, self.profile_count)
    }

    /// Predicted time − measured time, in nanoseconds.
    pub(crate) fn difference(&self) -> i64 {
        (self.model - self.profile).0
    }

    /// Whether the measured time is more than 0. If the measured time is 0, the error is undefined.
    pub(crate) fn is_measured(&self) -> bool {
        self.profile > Nanos::ZERO
    }

    fn larger(&self) -> Nanos {
        self.model.max(self.profile)
    }
}

/// `part / whole` in percent; `None` if the whole is 0.
pub(crate) fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole * 100.0)
}

/// The sum of the amounts of all rows.
pub(crate) fn total(rows: &[Row]) -> Amounts {
    let mut total = Amounts::default();
    for Row { amounts, .. } in rows {
        total.model += amounts.model;
        total.model_count += amounts.model_count;
        total.profile += amounts.profile;
        total.profile_count += amounts.profile_count;
    }
    total
}

/// A row for each kernel type in the prediction or the profile, sorted by the larger of the
/// predicted and the measured time, then by name.
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
    rows.order_by(|a, b| {
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
