//! Formats, for display, the causes that explain most of the difference.

use crate::analysis::causes::{Cause, Reason};
use crate::analysis::{Analysis, Figures};
use crate::diff::MergedId;
use crate::escape::one_line;
use crate::trace::Nanos;
use crate::tree::ModuleName;

/// A cause, formatted for display.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct CauseLine {
    /// Difference per step, candidate − baseline, with sign and unit.
    pub difference: String,
    /// A label that says why the time differs.
    pub reason: &'static str,
    /// Call site where the cause occurs, with the class of the enclosing module.
    pub place: String,
    /// The evidence for the cause.
    pub evidence: String,
    /// Difference per step, candidate − baseline.
    pub time: Nanos,
    /// The first node of the merged tree with this cause; `None` if the cause has no specific call
    /// site.
    pub node: Option<MergedId>,
}

/// The leading causes, and a line for all remaining causes: `and 12 smaller, together +0.1 ms`.
#[doc(hidden)]
pub fn cause_lines(analysis: &Analysis) -> (Vec<CauseLine>, Option<String>) {
    let (figures, causes) = (Figures::of_wall(analysis.wall()), analysis.causes());
    let leading = causes.leading();
    let is_like = |a: &Cause, b: &Cause| (&a.place, &a.module) == (&b.place, &b.module);
    let is_alone =
        |cause: &Cause| leading.iter().filter(|other| is_like(cause, other)).count() == 1;
    let lines = leading.iter().map(|cause| line(figures, cause, is_alone(cause))).collect();
    // Work launched before the steps is excluded: the other causes add up to the step difference, and this work is not
    // part of it.
    let others = causes.list()[leading.len()..].iter();
    let others: Vec<&Cause> = others.filter(|cause| cause.reason != Reason::BeforeWindow).collect();
    let sum: Nanos = others.iter().map(|cause| cause.difference).sum();
    let rest = (!others.is_empty()).then(|| {
        let sum = figures.signed(sum.0 as f64);
        format!("and {} smaller, together {sum}", others.len())
    });
    (lines, rest)
}

/// The summed differences of several causes.
#[cfg(feature = "html")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CauseSum {
    /// Number of causes.
    pub count: usize,
    /// The sum of the per-step differences, with sign and unit.
    pub difference: String,
    /// The sum of the per-step differences, without a unit.
    pub time: Nanos,
}

/// The sum of the causes that [`cause_lines`] omits, and the sum of all causes. Both sums exclude the time of work
/// launched before the steps.
#[cfg(feature = "html")]
pub(crate) fn cause_sums(analysis: &Analysis) -> (CauseSum, CauseSum) {
    let figures = Figures::of_wall(analysis.wall());
    let causes = analysis.causes();
    let sum = |list: &[Cause]| {
        let of_steps = list.iter().filter(|cause| cause.reason != Reason::BeforeWindow);
        let time: Nanos = of_steps.clone().map(|cause| cause.difference).sum();
        let difference = figures.signed(time.0 as f64);
        CauseSum { count: of_steps.count(), difference, time }
    };
    (sum(&causes.list()[causes.leading().len()..]), sum(causes.list()))
}

/// Formats a cause. If several causes are at ops with the same name, the shapes of the ops are added to distinguish
/// the causes.
fn line(figures: Figures, cause: &Cause, is_alone: bool) -> CauseLine {
    let place = match cause.module.as_str() {
        "" => cause.place.clone(),
        module if cause.place == module => cause.place.clone(),
        module => format!("{}: {}", ModuleName::instance_or_name(module), cause.place),
    };
    let mut evidence = one_line(&cause.evidence).into_owned();
    if !is_alone {
        let sizes = cause.arguments.as_ref().map(|arguments| first_sizes(arguments));
        let sizes = if sizes.baseline.is_empty() { sizes.candidate } else { sizes.baseline };
        evidence = if sizes.is_empty() { evidence } else { format!("{sizes}: {evidence}") };
    }
    let outside = if cause.reason == Reason::BeforeWindow { " (not part of the step)" } else { "" };
    CauseLine {
        difference: figures.signed(cause.difference.0 as f64),
        reason: cause.reason.label(),
        place: one_line(&place).into_owned() + outside,
        evidence,
        time: cause.difference,
        node: cause.node,
    }
}

/// The sizes of the first tensors in recorded arguments: `[[8, 64], [64, 32], []] ["float", …]` →
/// `8×64, 64×32`.
fn first_sizes(arguments: &str) -> String {
    const TOLD: usize = 3;
    let lists = arguments.split('[').filter_map(|part| part.split(']').next());
    let tensors = lists.filter(|list| list.starts_with(|c: char| c.is_ascii_digit()));
    let sizes: Vec<String> = tensors.take(TOLD).map(|list| list.replace(", ", "×")).collect();
    sizes.join(", ")
}
