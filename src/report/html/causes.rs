//! The causes of the difference → lines of the list that opens the page.

use super::overview::{change, width};
use super::page_tree::PageTree;
use crate::analysis::Analysis;
use crate::report::text::{CauseLine, cause_lines};
use crate::trace::Nanos;

/// A cause, with its bar.
pub(super) struct CauseBar {
    pub(super) cause: CauseLine,
    /// In percent of the largest cause.
    pub(super) width: String,
    pub(super) style: &'static str,
    /// Its node, if the tree of the page has it.
    pub(super) node: Option<usize>,
}

/// The causes that explain most of the difference, and what is left in one line.
pub(super) fn lines(analysis: &Analysis, tree: &PageTree<'_>) -> (Vec<CauseBar>, Option<String>) {
    let (causes, rest) = cause_lines(analysis);
    let most = causes.iter().map(|cause| cause.time.abs()).max().unwrap_or(Nanos::ZERO);
    let bar = |cause: CauseLine| CauseBar {
        width: width(cause.time.abs(), most),
        style: change(cause.time),
        node: cause.node.filter(|&node| tree.position(node).is_some()).map(|node| node.index()),
        cause,
    };
    (causes.into_iter().map(bar).collect(), rest)
}
