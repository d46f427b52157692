//! Shows on the first screen where the candidate's step falls behind: the curve, and the parts of the program in which
//! most time is lost or won back.

use super::page_tree::PageTree;
use crate::analysis::Analysis;
use crate::report::lag;
use crate::report::lists::change;
use crate::report::text::{Unit, one_line};

/// The curve of one step, and its largest parts.
pub(super) struct FallsBehind {
    /// The compared steps.
    pub(super) steps: String,
    pub(super) unit: &'static str,
    /// The content of the SVG picture.
    pub(super) drawing: String,
    /// The curve in words, for readers without the picture.
    pub(super) words: String,
    pub(super) parts: Vec<PartLine>,
}

/// A part of the program.
pub(super) struct PartLine {
    /// How much the candidate falls behind in this part, with its sign.
    pub(super) lost: String,
    pub(super) style: &'static str,
    pub(super) title: String,
    /// The call at which most is lost; `None` if the page omits it.
    pub(super) node: Option<usize>,
}

impl FallsBehind {
    pub(super) fn of(analysis: &Analysis, tree: &PageTree<'_>) -> Option<FallsBehind> {
        let lag = lag::shown(analysis)?;
        let unit = Unit::fitting(lag.length);
        let parts = lag::listed(lag).into_iter().map(|part| PartLine {
            lost: unit.show_signed(part.lost),
            style: change(part.lost),
            title: one_line(&part.title).into_owned(),
            node: tree.target(part.worst),
        });
        Some(FallsBehind {
            steps: lag::title(analysis, lag),
            unit: unit.label(),
            drawing: lag::drawing(lag),
            words: format!(
                "At the end of the step, {} is {} {} behind {}; the list below has the largest parts.",
                analysis.names().candidate,
                unit.show_signed(lag.total()),
                unit.label(),
                analysis.names().baseline,
            ),
            parts: parts.collect(),
        })
    }
}
