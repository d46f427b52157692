//! Evaluates conditions such as `error>20%`. The gate fails if a row or a scenario satisfies a condition.
//!
//! ```text
//! condition  = [kernel type ":"] bound {"&" bound}      all bounds must hold
//! bound      = quantity (">" | ">=" | "<" | "<=") number ["%"]
//! quantity   = "error" | "count_error" | "share"                                  of a row
//!            | "weighted_error" | "total_error" | "unmodeled" | "model_only"      of a scenario
//! ```
//! Errors are compared without their sign: predicting 30% too little time is as wrong as predicting 30% too much. A
//! condition on an undefined quantity is never true. For example, the error of a kernel type is undefined if the
//! profile does not contain this type. A condition applies either to rows or to scenarios. Conditions that cannot be
//! checked at all are reported, so that a gate does not pass for lack of data.

use std::fmt;
use std::str::FromStr;

use super::compare::Row;
use super::input;
use super::kernel_type::KernelType;
use super::quantity::Quantity;
use super::scenario::ModelComparison;
use tracetree_trace::condition::{self, Condition, Relation};
use tracetree_trace::error::{Error, Result};
use tracetree_trace::trace::Nanos;

/// A condition under which the gate fails.
///
/// ```
/// use tracetree_model::FailOn;
/// let condition: FailOn = "MatMulV2: error > 10% & share >= 1%".parse()?;
/// assert_eq!(condition.to_string(), "MatMulV2: error > 10% & share >= 1%");
/// assert!("errors>20%".parse::<FailOn>().is_err());
/// # Ok::<(), tracetree_trace::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FailOn {
    text: String,
    kernel_type: Option<KernelType>,
    bounds: Vec<Bound>,
}

/// A row or a whole scenario for which a condition is true.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The scenario's name.
    pub scenario: String,
    /// The kernel type of the row; `None` if the condition applies to the whole scenario.
    pub kernel_type: Option<KernelType>,
    /// The quantities in the condition, in order, with their values in percent.
    pub values: Vec<(Quantity, f64)>,
    /// The condition as the user wrote it.
    pub condition: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound {
    quantity: Quantity,
    relation: Relation,
    limit: f64,
}

/// Returns the rows and scenarios for which any of the `conditions` is true, sorted by condition, scenario and
/// row.
///
/// # Errors
/// Fails if a condition names a kernel type that occurs in no comparison, because that condition could never be true.
pub fn failures(conditions: &[FailOn], comparisons: &[&ModelComparison]) -> Result<Vec<Failure>> {
    let mut failures = Vec::new();
    for condition in conditions {
        // If every scenario was skipped, no kernel types are known, so a misspelled kernel type in a condition cannot
        // be detected.
        let known = comparisons.iter().any(|comparison| condition.knows_its_type(comparison));
        if !known && !comparisons.is_empty() {
            return Err(condition.unknown_type());
        }
        failures
            .extend(comparisons.iter().flat_map(|comparison| condition.failures_of(comparison)));
    }
    Ok(failures)
}

/// Returns the reasons why the `conditions` cannot be checked, one for each scenario or condition. A scenario cannot be
/// checked if the model or the profile has no time. A condition for one kernel type cannot be checked if its quantities
/// are undefined in every comparison that contains the type.
pub fn unchecked(conditions: &[FailOn], comparisons: &[&ModelComparison]) -> Vec<String> {
    if conditions.is_empty() {
        return Vec::new();
    }
    let without_time = comparisons.iter().filter_map(|comparison| {
        let side = match comparison.total.model.min(comparison.total.profile) {
            Nanos(1..) => return None,
            Nanos(_) if comparison.total.profile > Nanos::ZERO => "model",
            Nanos(_) => "profile",
        };
        Some(format!("{}: all durations in the {side} are 0", comparison.scenario.name))
    });
    let undefined = conditions.iter().filter(|condition| condition.is_undefined(comparisons));
    let undefined = undefined
        .map(|condition| format!("{condition}: undefined, because the profile has no such kernel"));
    without_time.chain(undefined).collect()
}

impl FailOn {
    /// Whether the condition names a kernel type whose quantities are undefined in all comparisons.
    fn is_undefined(&self, comparisons: &[&ModelComparison]) -> bool {
        let rows = comparisons.iter().flat_map(|comparison| &comparison.rows);
        let mut rows = rows.filter(|row| self.is_about(row));
        self.kernel_type.is_some()
            && rows.all(|row| self.bounds.iter().any(|bound| bound.quantity.of_row(row).is_none()))
    }

    fn failures_of(&self, comparison: &ModelComparison) -> Vec<Failure> {
        if !self.is_of_rows() {
            return self.failure(comparison, None).into_iter().collect();
        }
        let rows = comparison.rows.iter().filter(|row| self.is_about(row));
        rows.filter_map(|row| self.failure(comparison, Some(row))).collect()
    }

    fn failure(&self, comparison: &ModelComparison, row: Option<&Row>) -> Option<Failure> {
        let holds = |bound: &Bound| {
            let value = match row {
                Some(row) => bound.quantity.of_row(row),
                None => bound.quantity.of_scenario(comparison),
            }?;
            bound.holds(value).then_some((bound.quantity, value))
        };
        Some(Failure {
            scenario: comparison.scenario.name.clone(),
            kernel_type: row.map(|row| row.kernel_type.clone()),
            values: self.bounds.iter().map(holds).collect::<Option<_>>()?,
            condition: self.text.clone(),
        })
    }

    fn is_of_rows(&self) -> bool {
        self.bounds.iter().all(|bound| bound.quantity.is_of_row())
    }

    fn is_about(&self, row: &Row) -> bool {
        self.kernel_type.as_ref().is_none_or(|kernel_type| *kernel_type == row.kernel_type)
    }

    fn knows_its_type(&self, comparison: &ModelComparison) -> bool {
        self.kernel_type.is_none() || comparison.rows.iter().any(|row| self.is_about(row))
    }

    fn unknown_type(&self) -> Error {
        let message = "neither the model nor the profile has this kernel type";
        Error::usage(&self.text, message)
            .remedy("write the kernel type exactly as the table shows it")
    }
}

impl Bound {
    fn holds(&self, value: f64) -> bool {
        self.relation.holds(value.abs(), self.limit)
    }
}

impl FromStr for FailOn {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let condition = Condition::parse(text).map_err(|message| malformed(text, &message))?;
        let kernel_type = match condition.subject {
            Some(name) => Some(
                KernelType::new(name)
                    .ok_or_else(|| malformed(text, "missing kernel type before the colon"))?,
            ),
            None => None,
        };
        let bounds: Vec<Bound> =
            condition.bounds.iter().map(|bound| bound_of(bound, text)).collect::<Result<_>>()?;
        let of_rows = bounds.iter().filter(|bound| bound.quantity.is_of_row()).count();
        if of_rows != 0 && of_rows != bounds.len() {
            return Err(malformed(
                text,
                "the condition mixes bounds for rows with bounds for the whole scenario",
            ));
        }
        if kernel_type.is_some() && of_rows == 0 {
            return Err(malformed(
                text,
                "a kernel type can only be used with `error`, `count_error` or `share`",
            ));
        }
        Ok(FailOn { text: text.trim().to_owned(), kernel_type, bounds })
    }
}

fn bound_of(bound: &condition::Bound<'_>, text: &str) -> Result<Bound> {
    let name = bound.quantity;
    let quantity = Quantity::ALL.into_iter().find(|quantity| quantity.label() == name);
    let quantity = quantity
        .ok_or_else(|| malformed(text, &format!("unknown quantity {}", input::quoted(name))))?;
    if let Some((label, _)) = bound.labels.first() {
        let message = format!("{name} has no label {}", input::quoted(label));
        return Err(malformed(text, &message));
    }
    let number = bound.number.parse::<f64>().ok();
    let limit = number.filter(|limit| limit.is_finite() && *limit >= 0.0);
    let limit = limit.filter(|_| ["", "%"].contains(&bound.unit)).ok_or_else(|| {
        let written = format!("{}{}", bound.number, bound.unit);
        malformed(text, &format!("{} is not a percentage of at least 0", input::quoted(&written)))
    })?;
    Ok(Bound { quantity, relation: bound.relation, limit })
}

fn malformed(text: &str, message: &str) -> Error {
    Error::usage(text, message).remedy(
        "write `error>20%`, `MatMulV2: error>10%`, `error>20% & share>1%` or `weighted_error>15%`; \
         also count_error, total_error, unmodeled, model_only",
    )
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Failure {
    /// Formats a failure, such as `Qwen3 prefill: MemSet: error -100.0% (error>20%)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.scenario)?;
        if let Some(kernel_type) = &self.kernel_type {
            write!(f, "{kernel_type}: ")?;
        }
        for (at, (quantity, value)) in self.values.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{} {value:.1}%", quantity.label())?;
        }
        write!(f, " ({})", self.condition)
    }
}
