//! Parses budgets, which are absolute limits for the candidate, such as `gpu_time{phase="decode"} < 12 ms`.

use super::TimeMeasure;
use super::limit::UNITS;
use super::severity::{Scope, Severity};
use crate::recording::COUNTS;
use tracetree::condition::{Condition, Relation};
use tracetree::program::{Phase, Query, is_near, nearest};

/// An absolute limit for the candidate, which does not depend on the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The budget as written in the rule file.
    pub text: String,
    /// The severity of a violation of the budget.
    pub severity: Severity,
    pub(crate) scope: Scope,
    pub(crate) quantity: Quantity,
    pub(crate) relation: Relation,
    /// The limit: a time in µs, or a count.
    pub(crate) limit: f64,
}

/// The quantity that a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Time(TimeMeasure),
    Count(&'static str),
}

impl Budget {
    /// Parses a budget.
    ///
    /// # Errors
    /// Fails with a message that describes the syntax error.
    pub(super) fn parse(text: &str, severity: Severity) -> Result<Budget, String> {
        let condition = Condition::parse(text)?;
        let [bound] = &condition.bounds[..] else {
            return Err(
                "a budget must have exactly one bound; split this budget into several".to_owned()
            );
        };
        let mut scope = Scope::default();
        if let Some(path) = condition.subject {
            scope.path = Some(path.parse::<Query>().map_err(|error| error.to_string())?);
        }
        for &(label, value) in &bound.labels {
            match label {
                "phase" => scope.phase = Some(phase(value)?),
                "category" => scope.category = Some(value.to_owned()),
                "path" => {
                    scope.path = Some(value.parse::<Query>().map_err(|error| error.to_string())?);
                }
                label => return Err(unknown("label", label, &["phase", "category", "path"])),
            }
        }
        let quantity = quantity(bound.quantity)?;
        if !quantity.has_places() && !scope.is_all() {
            return Err(format!(
                "`{}` is measured for whole steps only; remove the path, phase and category",
                bound.quantity
            ));
        }
        let limit = quantity.limit(bound.number, bound.unit)?;
        let (text, relation) = (text.trim().to_owned(), bound.relation);
        Ok(Budget { text, severity, scope, quantity, relation, limit })
    }
}

impl Quantity {
    fn has_places(self) -> bool {
        match self {
            Quantity::Time(measure) => measure.is_of_places(),
            Quantity::Count(_) => false,
        }
    }

    fn limit(self, number: &str, unit: &str) -> Result<f64, String> {
        let value = number.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        let value =
            value.ok_or_else(|| format!("`{number}{unit}` is not a number of at least 0"))?;
        match self {
            Quantity::Count(_) if unit.is_empty() => Ok(value),
            Quantity::Count(_) => Err(format!("a count has no unit; remove `{unit}`")),
            Quantity::Time(_) => {
                let scale = UNITS.iter().find(|(known, _)| *known == unit).map(|(_, scale)| scale);
                let scale = scale.ok_or_else(|| {
                    let found =
                        if unit.is_empty() { String::new() } else { format!(", not `{unit}`") };
                    format!("a time needs a unit: ns, us, ms or s{found}")
                })?;
                Ok(value * scale)
            }
        }
    }
}

fn quantity(name: &str) -> Result<Quantity, String> {
    if let Some(measure) = TimeMeasure::ALL.into_iter().find(|known| known.label() == name) {
        return Ok(Quantity::Time(measure));
    }
    if let Some(count) = COUNTS.into_iter().find(|known| *known == name) {
        return Ok(Quantity::Count(count));
    }
    let known: Vec<&str> =
        TimeMeasure::ALL.iter().map(|measure| measure.label()).chain(COUNTS).collect();
    Err(unknown("quantity", name, &known))
}

/// Parses a phase and returns its canonical label.
pub(super) fn phase(text: &str) -> Result<String, String> {
    match Phase::from_label(text) {
        Some(phase) => Ok(phase.label().to_owned()),
        None => Err(unknown("phase", text, &Phase::ALL.map(Phase::label))),
    }
}

/// An error such as "unknown rule `new_kernal`; did you mean `new_kernel`?" A word that is not similar to any known word
/// gets no suggestion.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()).filter(|near| is_near(word, near)) {
        Some(near) => format!("unknown {what} `{word}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{word}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_a_quantity_a_path_and_a_limit() {
        let budget = Budget::parse(r#"gpu_time{phase="decode"} < 12 ms"#, Severity::Error);
        let budget = budget.expect("a budget");
        assert_eq!(budget.scope.phase.as_deref(), Some("decode"));
        assert_eq!((budget.limit, budget.relation), (12_000.0, Relation::Below));
        let budget = Budget::parse(r#"module("A") : gpu_time <= 1s"#, Severity::Error);
        assert_eq!(budget.expect("a budget").scope.words(), r#"module("A")"#);
        assert!(Budget::parse("launches < 500", Severity::Error).is_ok());
    }

    #[test]
    fn an_invalid_budget_is_refused_with_the_reason() {
        for (text, reason) in [
            ("gpu_tiem < 3ms", "did you mean `gpu_time`?"),
            ("gpu_time{phse=\"decode\"} < 3ms", "did you mean `phase`?"),
            ("gpu_time{phase=\"decoding\"} < 3ms", "did you mean `decode`?"),
            ("gpu_time < 3", "a time needs a unit"),
            ("launches < 3 ms", "no unit"),
            ("step_wall{category=\"gemm\"} < 3ms", "whole steps only"),
            ("gpu_time < fast", "is not a number of at least 0"),
            ("gpu_time < 3ms & idle < 1ms", "exactly one bound"),
            ("modul(\"A\"): gpu_time < 3ms", "did you mean `module`?"),
        ] {
            let error = Budget::parse(text, Severity::Error).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
