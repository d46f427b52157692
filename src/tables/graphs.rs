//! The `graphs` table: launches of captured graphs, and the captures that they replay.

use super::table::{Columns, Table};
use crate::analysis::Analysis;
use crate::side::Side;
use crate::tree::Replay;
use std::sync::Arc;

struct Row {
    side: Side,
    replay: Replay,
    first_uid: Option<u32>,
}

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    replays().and(captures()).table(
        (
            name,
            "one row per launch of a captured graph, baseline first; only in traces with captures or named captured \
             parts",
        ),
        analysis,
        |analysis| Box::new(rows(analysis).into_iter()),
    )
}

fn rows(analysis: &Analysis) -> Vec<Row> {
    let of_side = |side: Side| {
        let tree = analysis.tree(side);
        let firsts = tree.trace().captured_ranges();
        let first = move |replay: &Replay| {
            let range = firsts.iter().find(|(_, launch)| *launch == replay.launch);
            range.map(|(first, _)| first.0)
        };
        let row =
            move |replay: &Replay| Row { side, first_uid: first(replay), replay: replay.clone() };
        tree.replays().iter().map(row).collect::<Vec<_>>()
    };
    Side::BOTH.into_iter().flat_map(of_side).collect()
}

fn replays() -> Columns<Analysis, Row> {
    Columns::default()
        .word("source", "`trace1` or `trace2`", |_: &Analysis, r: &Row| r.side.label().into())
        .uid("launch_uid", "the graph launch", |_, r| r.replay.launch.0.into())
        .whole("kernels", "number of GPU events that the graph launch runs", |_, r| r.replay.kernels.into())
        .whole(
            "placed",
            "how many of the `kernels` are attributed to the captured calls that launched them",
            |_, r| r.replay.placed.into(),
        )
        .whole(
            "named",
            "if no capture matches: how many of the `kernels` are attributed to a part of the program that is named \
             in the event",
            |_, r| r.replay.named.into(),
        )
        .uid(
            "first_uid",
            "offset of the uids of captured calls. The uid of a captured call is this number plus the position of the \
             call in the capture's `traceEvents` or among the named parts of the launch. -1 if there are neither \
             captured calls nor named parts",
            |_, r| r.first_uid.into(),
        )
}

fn captures() -> Columns<Analysis, Row> {
    Columns::default()
        .text("capture", "file that contains the capture", |_: &Analysis, r: &Row| {
            r.replay.graph.as_ref().map(|graph| graph.source.as_str()).into()
        })
        .whole("graph", "position of the graph in the capture file, from 0", |_, r| {
            r.replay.graph.as_ref().map(|graph| graph.number).into()
        })
        .uid(
            "begin_uid",
            "position, in the capture's `traceEvents`, of the call that began the capture",
            |_, r| r.replay.graph.as_ref().map(|graph| graph.begin.0).into(),
        )
        .whole("launches", "number of captured launches", |_, r| {
            r.replay.graph.as_ref().map(|graph| graph.launches).into()
        })
        .whole("batch", "batch size that the graph was captured for, if known", |_, r| {
            r.replay.graph.as_ref().and_then(|graph| graph.batch).into()
        })
        .whole(
            "equals",
            "number of other captured graphs that match equally well; if there are any, the graph was chosen by the \
             order of the captures",
            |_, r| r.replay.equals.into(),
        )
        .text(
            "misfit",
            "if no captured graph matches: the most similar captured graph, and why that graph does not match",
            |_, r| r.replay.misfit.as_ref().map(|(graph, why)| format!("{graph}: {why}")).into(),
        )
}
