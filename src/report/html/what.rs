//! What changed → the section at the top of the page.

use super::page_tree::PageTree;
use crate::analysis::Analysis;
use crate::report::lists::change;
use crate::report::text::{ChangeLine, change_lines};

/// The section.
pub(super) struct What {
    pub(super) headline: Option<String>,
    pub(super) changes: Vec<Line>,
    pub(super) rest: Option<String>,
    pub(super) same_program: Vec<Line>,
}

/// One part of the difference in step time.
pub(super) struct Line {
    pub(super) line: ChangeLine,
    pub(super) style: &'static str,
    /// Its node, if the page's tree contains it.
    pub(super) node: Option<usize>,
}

impl What {
    pub(super) fn of(analysis: &Analysis, tree: &PageTree<'_>) -> What {
        let lines = change_lines(analysis);
        let line = |line: ChangeLine| Line {
            style: change(line.time),
            node: tree.target(line.node),
            line,
        };
        What {
            headline: lines.headline,
            changes: lines.changes.into_iter().map(line).collect(),
            rest: lines.rest,
            same_program: lines.same_program.into_iter().map(line).collect(),
        }
    }
}
