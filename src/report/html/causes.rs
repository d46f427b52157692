//! Builds the list of causes at the top of the page. The bars of the causes add up to the whole difference. Each bar
//! starts where the previous bar ends. The last bar starts at zero and spans the whole difference.
//!
//! ```text
//! queue      −0.403          ▒▒▒▒▒▒|
//! host       +0.357          ▒▒▒▒▒ |
//! 58 more    −0.266       ▒▒▒▒     |
//! together   −0.312          ▒▒▒▒▒ |
//! ```

use super::page_tree::PageTree;
use crate::analysis::Analysis;
use crate::analysis::causes::Reason;
use crate::report::lists::change;
use crate::report::text::{CauseLine, cause_lines, cause_sums};
use crate::trace::Nanos;

pub(super) struct CauseBar {
    pub(super) cause: CauseLine,
    pub(super) bar: Bar,
    /// The node of the cause, if the page includes it.
    pub(super) node: Option<usize>,
}

/// Position and width of a bar, in percent of the available width.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) left: String,
    pub(super) width: String,
    pub(super) style: &'static str,
}

/// A line below the causes that shows the sum of several causes.
pub(super) struct SumLine {
    pub(super) title: String,
    pub(super) difference: String,
    pub(super) bar: Bar,
}

pub(super) struct Causes {
    pub(super) bars: Vec<CauseBar>,
    /// The sum of the smaller causes (if there are any) and the sum of all causes.
    pub(super) sums: Vec<SumLine>,
    /// Position of zero, in percent of the available width.
    pub(super) zero: String,
}

/// The leading causes, the sum of the smaller causes, and the sum of all causes.
pub(super) fn list(analysis: &Analysis, tree: &PageTree<'_>) -> Causes {
    let (lines, _) = cause_lines(analysis);
    let (smaller, all) = cause_sums(analysis);
    let leading = analysis.causes().leading();
    let is_of_steps = |at: usize| leading[at].reason != Reason::BeforeWindow;
    let steps = lines
        .iter()
        .enumerate()
        .map(|(at, line)| if is_of_steps(at) { line.time } else { Nanos::ZERO });
    let walk = Walk::of(steps.chain([smaller.time]));
    let bars = lines.into_iter().enumerate().map(|(at, cause)| CauseBar {
        bar: walk.bar(at),
        node: tree.target(cause.node),
        cause,
    });
    let bars: Vec<CauseBar> = bars.collect();
    let rest = SumLine {
        title: format!("{} smaller", smaller.count),
        difference: smaller.difference,
        bar: walk.bar(bars.len()),
    };
    let sum = SumLine {
        title: "total difference per step".to_owned(),
        difference: all.difference,
        bar: walk.between(Nanos::ZERO, all.time),
    };
    let rest = (smaller.count > 0).then_some(rest);
    let zero = walk.between(Nanos::ZERO, Nanos::ZERO).left;
    Causes { bars, zero, sums: rest.into_iter().chain([sum]).collect() }
}

/// Running sums of the causes' differences, starting at zero. Each bar extends from one sum to the next.
struct Walk {
    sums: Vec<Nanos>,
    least: Nanos,
    most: Nanos,
}

impl Walk {
    fn of(steps: impl Iterator<Item = Nanos>) -> Walk {
        let mut sums = vec![Nanos::ZERO];
        for step in steps {
            sums.push(sums[sums.len() - 1] + step);
        }
        let (least, most) = (sums.iter().min().copied(), sums.iter().max().copied());
        Walk { least: least.unwrap_or_default(), most: most.unwrap_or_default(), sums }
    }

    /// The bar of the cause at index `at`.
    fn bar(&self, at: usize) -> Bar {
        self.between(self.sums[at], self.sums[at + 1])
    }

    fn between(&self, from: Nanos, to: Nanos) -> Bar {
        let range = (self.most - self.least).0.max(1) as f64;
        let percent = |time: Nanos| format!("{:.3}", 100.0 * time.0 as f64 / range);
        Bar {
            left: percent(from.min(to) - self.least),
            width: percent((to - from).abs()),
            style: change(to - from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_follow_each_other_and_add_up() {
        let walk = Walk::of([Nanos(-4), Nanos(3), Nanos(-2)].into_iter());
        let bars: Vec<(String, String, &str)> = (0..3)
            .map(|at| walk.bar(at))
            .chain([walk.between(Nanos::ZERO, Nanos(-3))])
            .map(|bar| (bar.left, bar.width, bar.style))
            .collect();
        let bar = |left: &str, width: &str, style| (left.to_owned(), width.to_owned(), style);
        assert_eq!(
            bars,
            [
                bar("0.000", "100.000", "less"),
                bar("0.000", "75.000", "more"),
                bar("25.000", "50.000", "less"),
                bar("25.000", "75.000", "less"),
            ]
        );
    }
}
