//! Writes `report.html`, one page that needs no network because the data for its script is
//! embedded.
//!
//! The start of the page (inputs, totals, notes, charts) is plain HTML. The script draws the differences, the merged
//! tree and the flame graph only when needed, and reads the values from embedded columns.

mod charts;
mod chips;
mod column;
mod data;
mod efficiency;
mod falls_behind;
mod first;
mod fleet;
mod memory;
mod overview;
mod page_rows;
mod page_tree;
mod policy;
mod porting;
mod regions;
mod roofline;
mod sides;
mod texts;
mod timeline;

pub use fleet::{
    FleetBillLine, FleetDot, FleetLag, FleetLast, FleetOutlierRow, FleetOutliers, FleetPage,
    FleetRankLine, HeatMap, write_fleet_page,
};

use super::lists::List;
use super::shared::Shared;
use super::summary::Summary;
use super::text::Narrative;
use crate::escape::JsonWriter;
use crate::side::{PerSide, Side};
use askama::Template;
use charts::Chart;
use data::{LeftOut, PageData};
use efficiency::EfficiencySection;
use first::First;
use memory::MemorySection;
use overview::{Input, Line, Segment};
use porting::PortingSection;
use regions::RegionLine;
use std::io::{self, Write};

const STYLE: &str = include_str!("style.css");

/// The script that comes first on every page.
const BARS: &str = include_str!("script/bars.js");

/// The scripts of the page, in dependency order.
const SCRIPTS: [&str; 13] = [
    include_str!("script/state.js"),
    include_str!("script/data.js"),
    include_str!("script/elements.js"),
    include_str!("script/steps.js"),
    include_str!("script/lanes.js"),
    include_str!("script/query.js"),
    include_str!("script/differences.js"),
    include_str!("script/detail.js"),
    include_str!("script/tree.js"),
    include_str!("script/flame.js"),
    include_str!("script/flame_search.js"),
    include_str!("script/timeline.js"),
    include_str!("script/shortcuts.js"),
];
const START: &str = include_str!("script/start.js");

/// The data for the template `head.html`, which every page begins with.
struct Head<'a> {
    /// The Content-Security-Policy of the page.
    policy: String,
    style: &'a str,
    version: &'a str,
    /// The baseline and the candidate, as the page shows them.
    sides: [&'a str; 2],
}

#[derive(Template)]
#[template(path = "template.html")]
struct Page<'a> {
    head: Head<'a>,
    script: &'a str,
    data: PageData<'a>,
    first: First,
    measure: &'static str,
    unit: &'static str,
    names: [&'a str; 2],
    side_names: &'a PerSide<String>,
    summary: &'a Summary,
    inputs: [Input<'a>; 2],
    totals: Vec<Line>,
    segments: Vec<Segment>,
    remarks: Vec<String>,
    /// The first section about steps, idle time or marked regions; `None` if the page has no such section.
    steps_section: Option<&'static str>,
    regions: Vec<RegionLine>,
    memory: Option<MemorySection>,
    files: [&'a str; 2],
    lists: &'a [List],
    evidence: String,
    efficiency: EfficiencySection,
    porting: Option<PortingSection>,
    charts: Vec<Chart>,
    left_out: LeftOut,
    row_count: usize,
    node_count: usize,
    /// Whether the traces contain paths of home folders.
    has_home_paths: bool,
}

/// The script of the page.
fn script() -> String {
    bare(&format!("{BARS}{}{START}", SCRIPTS.concat()))
}

pub(super) fn write(shared: &Shared, out: &mut dyn Write) -> io::Result<()> {
    let (analysis, unit, facets) = (&shared.analysis, shared.unit(), shared.facets());
    // Writing the page takes longer than writing any other report file, so two threads share the work.
    let ((data, left_out), ()) =
        rayon::join(|| data::embed(analysis, facets, unit), || prepare(shared));
    let summary = shared.summary();
    let narrative = shared.narrative();
    let first = First::of(analysis, narrative, summary, &data.tree);
    let inputs = Side::BOTH.map(|side| overview::input(analysis, side));
    let paths = Side::BOTH.map(|side| analysis.tree(side).trace().source());
    let script = script();
    let page = Page {
        head: Head {
            policy: policy::COMPARISON.policy(),
            style: STYLE,
            version: summary.tracetree_version,
            sides: Side::BOTH.map(|side| analysis.names()[side].as_str()),
        },
        script: &script,
        data,
        first,
        steps_section: ["steps", "idle", "marked-regions"]
            .into_iter()
            .find(|&key| shared.lists().iter().any(|list| list.key == key)),
        regions: regions::lines(analysis),
        memory: memory::section(analysis),
        files: paths.map(base_name),
        remarks: remarks(narrative),
        lists: shared.lists(),
        efficiency: efficiency::section(analysis, unit),
        porting: porting::section(analysis, narrative, unit),
        measure: super::text::measure_words(analysis.ledger().measure()),
        unit: unit.label(),
        names: Side::BOTH.map(|side| analysis.names()[side].as_str()),
        side_names: analysis.names(),
        evidence: super::text::evidence(analysis, &summary.verdict),
        summary,
        inputs,
        totals: overview::totals(analysis, unit),
        segments: overview::segments(analysis, unit),
        charts: facets.iter().map(|facet| charts::chart(facet, unit)).collect(),
        left_out,
        row_count: analysis.rows().len(),
        node_count: analysis.diff().merged().len(),
        has_home_paths: Side::BOTH.iter().any(|&side| analysis.tree(side).trace().has_home_paths()),
    };
    page.write_into(&mut JsonWriter(out))
}

/// The last part of a path.
fn base_name(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A script without comment lines and indentation, which make up a quarter of it.
fn bare(script: &str) -> String {
    let lines = script.lines().map(str::trim_start);
    let mut bare = String::with_capacity(script.len());
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with("//")) {
        bare.push_str(line);
        bare.push('\n');
    }
    bare
}

/// The remarks about the result that are not shown as chips.
fn remarks(narrative: &Narrative) -> Vec<String> {
    let all = narrative.remarks.iter().chain(&narrative.runs).chain(&narrative.no_prices);
    all.cloned().collect()
}

/// Computes and caches the results for the page's HTML. The results for the embedded data are not computed here.
fn prepare(shared: &Shared) {
    shared.summary();
    shared.lists();
    shared.analysis.by_efficiency();
}
