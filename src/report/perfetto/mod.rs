//! Writes `perfetto.json.gz`: both traces on one timeline, with one group of processes per trace.
//!
//! The traces are shifted so that their first steps (or their first matched calls, if a trace has no steps) start at
//! the same time. Every slice contains the call's uid, the uid of the counterpart, and the time difference. For the
//! matched pairs with the largest time differences, an arrow connects the two calls. Other arrows connect launches to
//! their GPU events. The steps of each side are on a separate track. Annotations are on the tracks of their threads. A
//! counter above both traces shows how far the candidate is behind.

mod clock;
mod marks;
mod slice;
mod tracks;

use super::emit::ReportOptions;
use super::nodes::keep_most;
use super::nodes::times_below;
use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::side::Side;
use crate::tree::CallId;
use clock::Clock;
use flate2::{Compression, GzBuilder};
use slice::{Arrows, Slices};
use std::io::{self, Write};
use tracks::{Lines, Tracks};

pub(super) fn write(
    analysis: &Analysis,
    options: &ReportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    // The gzip header contains no file name and no timestamp, so the same input gives the same bytes.
    let packed = GzBuilder::new().write(out, Compression::fast());
    let mut out = io::BufWriter::with_capacity(1 << 16, packed);
    write_json(analysis, options.perfetto_slices, &mut out)?;
    out.into_inner().map_err(io::Error::from)?.finish()?;
    Ok(())
}

fn write_json(analysis: &Analysis, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let times = times_below(analysis);
    let keep = keep_most(analysis, most);
    let left_out = keep.iter().filter(|kept| !**kept).count();
    let tracks = Tracks::new(analysis);
    let arrows = Arrows::new(analysis, &keep);
    let slices = Slices {
        analysis,
        times: &times,
        clock: Clock::new(analysis),
        tracks: &tracks,
        arrows: &arrows,
    };
    let sentence = serde_json::to_string(&super::text::sentence(analysis))?;
    writeln!(out, "{{\"tracetree\":{{\"verdict\":{sentence},\"nodes_left_out\":{left_out}}},")?;
    out.write_all(b"\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    let mut lines = Lines { out, first: true };
    tracks.write(analysis, &mut lines)?;
    let (clock, mut launches) = (slices.clock, 0);
    marks::write_lag(analysis, clock, &mut lines)?;
    for side in Side::BOTH {
        for mark in marks::steps(analysis, clock, &tracks, side) {
            lines.push(&mark)?;
        }
        for mark in marks::annotations(analysis, clock, &tracks, side, most) {
            lines.push(&mark)?;
        }
    }
    for (id, call, side) in kept_calls(analysis, &keep) {
        if let Some(slice) = slices.slice(id, side, call) {
            lines.push(&slice)?;
        }
        let launch = slice::launch(analysis, side, call);
        let is_kept = |launch: &CallId| keep[analysis.diff().merged().of(side, *launch).index()];
        if let Some(launch) = launch.filter(is_kept) {
            launches += 1;
            let ends = slice::arrow((analysis, clock, &tracks), side, (launch, call), launches);
            for end in ends.iter().flatten() {
                lines.push(end)?;
            }
        }
    }
    lines.out.write_all(b"\n]}\n")
}

/// The calls of the kept nodes: first the baseline's calls, then the candidate's, each in preorder.
fn kept_calls<'a>(
    analysis: &'a Analysis,
    keep: &'a [bool],
) -> impl Iterator<Item = (MergedId, CallId, Side)> + 'a {
    Side::BOTH.into_iter().flat_map(move |side| {
        let merged = analysis.diff().merged();
        analysis
            .tree(side)
            .calls()
            .map(move |call| (merged.of(side, call), call, side))
            .filter(|(id, _, _)| keep[id.index()])
    })
}
