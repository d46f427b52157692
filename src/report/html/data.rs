//! What the script of the page works on: one JSON value, safe inside a `script` element.

use super::page_rows::PageRows;
use super::page_tree::PageTree;
use super::texts::Texts;
use crate::analysis::Analysis;
use crate::report::facets::Facet;
use crate::report::figures::Unit;
use crate::report::sums::NodeSums;
use crate::side::Side;
use serde::Serialize;

/// Most nodes of the merged tree in a page: some 35 bytes each.
const NODES: usize = 120_000;
/// Most rows in a page: some 120 bytes each.
const ROWS: usize = 20_000;

#[derive(Serialize)]
struct PageValue<'a> {
    measure: &'static str,
    unit: &'static str,
    /// What people call the two sides.
    names: [&'a str; 2],
    /// Part of the larger time by which a time may change and still be grey.
    noise: f64,
    tree: &'a PageTree,
    rows: &'a PageRows,
    texts: Vec<String>,
}

/// What a page leaves out to stay small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) nodes: u64,
    pub(super) rows: u64,
    pub(super) texts: u64,
}

/// The data of a page as JSON text without `<`, and what it leaves out.
pub(super) fn embed(analysis: &Analysis<'_>, facets: &[Facet], unit: Unit) -> (String, LeftOut) {
    let mut texts = Texts::new();
    let sums = NodeSums::new(analysis);
    let tree = PageTree::new(analysis, &sums, NODES, &mut texts);
    let rows = PageRows::new(analysis, &tree, facets, ROWS, &mut texts);
    let left_out =
        LeftOut { nodes: tree.left_out(), rows: rows.left_out(), texts: texts.shortened() };
    let value = PageValue {
        measure: analysis.measure().label(),
        unit: unit.label(),
        names: Side::BOTH.map(|side| analysis.side_name(side)),
        noise: analysis.thresholds().relative,
        tree: &tree,
        rows: &rows,
        texts: texts.into_list(),
    };
    let json = serde_json::to_string(&value).expect("columns of numbers and texts");
    // `<` stands only inside of strings, where its escape means the same; no name can end the
    // element or open a comment.
    (json.replace('<', "\\u003c"), left_out)
}
