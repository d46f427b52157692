//! The quantities that can be used in conditions, and their values for rows and scenarios.

use super::compare::{Row, percent};
use super::scenario::ModelComparison;
use super::status::Status;

/// A quantity that can be used in a condition; all quantities are percentages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// `error` is the error of the row's time.
    Error,
    /// `count_error` is the error of the row's number of kernels.
    CountError,
    /// `share` is the row's share of the profile's time.
    Share,
    /// `weighted_error` is the mean absolute error of the scenario's rows, weighted by their shares of the profile's
    /// time.
    WeightedError,
    /// `total_error` is the error of the scenario's total time.
    TotalError,
    /// `unmodeled` is the share of the profile's time that the model does not cover.
    Unmodeled,
    /// `model_only` is the predicted time of kernel types that the profile does not have, divided by the profile's
    /// time.
    ModelOnly,
}

impl Quantity {
    /// All quantities.
    pub(crate) const ALL: [Quantity; 7] = [
        Quantity::Error,
        Quantity::CountError,
        Quantity::Share,
        Quantity::WeightedError,
        Quantity::TotalError,
        Quantity::Unmodeled,
        Quantity::ModelOnly,
    ];

    /// The name of the quantity in conditions.
    pub fn label(self) -> &'static str {
        match self {
            Quantity::Error => "error",
            Quantity::CountError => "count_error",
            Quantity::Share => "share",
            Quantity::WeightedError => "weighted_error",
            Quantity::TotalError => "total_error",
            Quantity::Unmodeled => "unmodeled",
            Quantity::ModelOnly => "model_only",
        }
    }

    /// Whether the quantity describes rows rather than scenarios.
    pub(crate) fn is_of_row(self) -> bool {
        matches!(self, Quantity::Error | Quantity::CountError | Quantity::Share)
    }

    /// The value for a row in percent; `None` if the value is undefined or the quantity describes scenarios.
    pub(crate) fn of_row(self, row: &Row) -> Option<f64> {
        match self {
            Quantity::Error => row.amounts.error_pct(),
            Quantity::CountError => row.amounts.count_error_pct(),
            Quantity::Share => row.profile_share_pct,
            Quantity::WeightedError
            | Quantity::TotalError
            | Quantity::Unmodeled
            | Quantity::ModelOnly => None,
        }
    }

    /// The value for a scenario in percent; `None` if the value is undefined or the quantity describes rows.
    pub(crate) fn of_scenario(self, comparison: &ModelComparison) -> Option<f64> {
        let accuracy = &comparison.accuracy;
        match self {
            Quantity::WeightedError => accuracy.weighted_error_pct,
            Quantity::TotalError => comparison.total.error_pct(),
            Quantity::Unmodeled => {
                let unmodeled = accuracy.coverage.iter().find(|c| c.status == Status::Unmodeled);
                unmodeled?.share_pct
            }
            Quantity::ModelOnly => {
                percent(accuracy.model_only.0 as f64, comparison.total.profile.0 as f64)
            }
            Quantity::Error | Quantity::CountError | Quantity::Share => None,
        }
    }
}
