//! [`Analysis`] → `report.html`: one page that needs no network, with the data of its script inside.
//!
//! The head (inputs, totals, account, notes, charts) is plain HTML; the differences, the merged
//! tree and the flame graph are drawn by the script from embedded columns, a piece at a time.

mod causes;
mod changes;
mod charts;
mod column;
mod data;
mod efficiency;
mod fleet;
mod overview;
mod page_rows;
mod page_tree;
mod policy;
mod texts;
mod timeline;

pub use fleet::{FleetCauseLine, FleetPage, FleetRankLine, HeatMap, write_fleet_page};

use super::lists::List;
use super::shared::Shared;
use super::summary::Summary;
use crate::side::Side;
use askama::Template;
use causes::Causes;
use changes::ChangeLine;
use charts::Chart;
use data::{LeftOut, PageData};
use efficiency::EfficiencyLine;
use overview::{Input, Line, Segment};
use std::io::{self, Write};

const STYLE: &str = include_str!("style.css");

/// The beginning of the script of every page.
const BARS: &str = include_str!("script/bars.js");

/// The script of the page, in the order of use.
const SCRIPTS: [&str; 9] = [
    include_str!("script/state.js"),
    include_str!("script/data.js"),
    include_str!("script/elements.js"),
    include_str!("script/query.js"),
    include_str!("script/differences.js"),
    include_str!("script/detail.js"),
    include_str!("script/tree.js"),
    include_str!("script/flame.js"),
    include_str!("script/timeline.js"),
];
const START: &str = include_str!("script/start.js");

/// What the head of every page holds (`head.html`).
struct Head<'a> {
    /// What the browser may run and show.
    policy: String,
    style: &'a str,
    version: &'a str,
    /// What is compared with what.
    sides: [&'a str; 2],
}

#[derive(Template)]
#[template(path = "template.html")]
struct Page<'a> {
    head: Head<'a>,
    script: &'a str,
    data: PageData<'a>,
    answer: String,
    measure: &'static str,
    unit: &'static str,
    names: [&'a str; 2],
    summary: &'a Summary,
    inputs: [Input<'a>; 2],
    totals: Vec<Line>,
    segments: Vec<Segment>,
    remarks: Vec<String>,
    causes: Causes,
    lists: &'a [List],
    gpu_time: String,
    evidence: String,
    efficiency: Vec<EfficiencyLine>,
    changes: Vec<ChangeLine<'a>>,
    charts: Vec<Chart>,
    left_out: LeftOut,
    row_count: usize,
    node_count: usize,
}

pub(super) fn write(shared: &Shared, out: &mut dyn Write) -> io::Result<()> {
    let (analysis, unit, facets) = (&shared.analysis, shared.unit(), shared.facets());
    // Of all files this one takes longest: two threads make it.
    let ((data, left_out), ()) =
        rayon::join(|| data::embed(analysis, facets, unit), || prepare(shared));
    let causes = causes::list(analysis, &data.tree);
    let summary = shared.summary();
    let inputs = Side::BOTH.map(|side| overview::input(analysis, side));
    let paths = Side::BOTH.map(|side| analysis.tree(side).trace().source());
    let script = format!("{BARS}{}{START}", SCRIPTS.concat());
    let page = Page {
        head: Head {
            policy: policy::policy(STYLE, &script),
            style: STYLE,
            version: summary.tracetree_version,
            sides: paths,
        },
        script: &script,
        data,
        answer: super::text::answer(analysis),
        remarks: super::text::answer_remarks(analysis),
        causes,
        lists: shared.lists(),
        gpu_time: super::text::sentence(analysis),
        efficiency: efficiency::lines(analysis, unit),
        measure: overview::measure_title(analysis.measure()),
        unit: unit.label(),
        names: Side::BOTH.map(|side| analysis.side_name(side)),
        evidence: super::text::evidence(analysis, &summary.verdict),
        changes: changes::lines(&summary.verdict, unit),
        summary,
        inputs,
        totals: overview::totals(analysis, unit),
        segments: overview::segments(analysis, unit),
        charts: facets.iter().map(|facet| charts::chart(facet, unit)).collect(),
        left_out,
        row_count: analysis.rows().len(),
        node_count: analysis.diff().merged().len(),
    };
    page.write_into(out)
}

/// Makes what the page shows besides its data.
fn prepare(shared: &Shared) {
    shared.summary();
    shared.lists();
    shared.analysis.by_efficiency();
}
