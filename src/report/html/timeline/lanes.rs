//! Puts the chosen slices into lanes (one per thread or stream), and divides each lane into rows
//! without overlapping slices.

use super::shown::Slice;
use crate::analysis::Analysis;
use crate::report::html::texts::{PageText, Texts};
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, Stream, ThreadId};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of threads shown per side; the same limit applies to streams.
const LANES: usize = 6;
/// Maximum number of rows in a lane. Calls that are nested more deeply are drawn in the last row.
const ROWS: usize = 24;

/// A lane: a host thread or a GPU stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Lane {
    /// The side: 1 or 2.
    side: u8,
    is_gpu: bool,
    name: PageText,
    /// The number of slices in each row.
    rows: Vec<usize>,
}

pub(super) struct Placed<'s> {
    pub(super) slice: &'s Slice,
    pub(super) lane: usize,
    pub(super) row: usize,
}

/// A key that identifies a lane and determines the order of lanes: on each side, host threads come before streams.
type Key = (Side, bool, Option<Stream>, ThreadId);

/// Returns the lanes, their slices by lane and row, and the number of omitted threads and streams per side.
pub(super) fn place<'s>(
    analysis: &Analysis,
    slices: &'s [Slice],
    texts: &mut Texts,
) -> (Vec<Lane>, Vec<Placed<'s>>, PerSide<usize>) {
    let mut of_lanes: BTreeMap<Key, Vec<&Slice>> = BTreeMap::new();
    for slice in slices {
        of_lanes.entry(key(analysis, slice)).or_default().push(slice);
    }
    let dropped = keep_longest(&mut of_lanes);
    let (mut lanes, mut placed) = (Vec::new(), Vec::new());
    for (key, mut slices) in of_lanes {
        slices.sort_unstable_by_key(|slice| (slice.start, Reverse(slice.time), slice.call));
        let at = lanes.len();
        let mut open: Vec<Nanos> = Vec::new();
        let mut rows: Vec<Vec<Placed<'s>>> = Vec::new();
        for slice in slices {
            while open.last().is_some_and(|&end| end <= slice.start) {
                open.pop();
            }
            let row = open.len().min(ROWS - 1);
            open.push(slice.end());
            if row == rows.len() {
                rows.push(Vec::new());
            }
            rows[row].push(Placed { slice, lane: at, row });
        }
        lanes.push(Lane {
            side: key.0 as u8 + 1,
            is_gpu: key.1,
            name: texts.id(&name(analysis, key)),
            rows: rows.iter().map(Vec::len).collect(),
        });
        placed.extend(rows.into_iter().flatten());
    }
    (lanes, placed, dropped)
}

fn key(analysis: &Analysis, slice: &Slice) -> Key {
    let trace = analysis.tree(slice.side).trace();
    let stream = trace.stream(slice.event).filter(|_| slice.is_gpu);
    (slice.side, slice.is_gpu, stream, trace.thread_of(slice.event))
}

/// Keeps the lanes with the most time. Returns the number of lanes dropped on each side.
fn keep_longest(of_lanes: &mut BTreeMap<Key, Vec<&Slice>>) -> PerSide<usize> {
    let mut dropped = PerSide::default();
    for (side, is_gpu) in Side::BOTH.into_iter().flat_map(|side| [(side, false), (side, true)]) {
        let of_kind = of_lanes.iter().filter(|(key, _)| (key.0, key.1) == (side, is_gpu));
        let time = |slices: &[&Slice]| slices.iter().map(|slice| slice.time).sum::<Nanos>();
        let mut keys: Vec<(Reverse<Nanos>, Key)> =
            of_kind.map(|(key, slices)| (Reverse(time(slices)), *key)).collect();
        keys.sort_unstable();
        for (_, key) in keys.iter().skip(LANES) {
            of_lanes.remove(key);
            dropped[side] += 1;
        }
    }
    dropped
}

fn name(analysis: &Analysis, (side, is_gpu, stream, thread): Key) -> String {
    let trace = analysis.tree(side).trace();
    let recorded = trace.thread(thread);
    let (tid, name) = (trace.text(recorded.tid), trace.text(recorded.name).trim());
    match (is_gpu, stream) {
        (true, Some(stream)) => format!("GPU {} stream {}", stream.device, stream.number),
        (true, None) => format!("GPU stream {tid}"),
        (false, _) if name.is_empty() => format!("thread {tid}"),
        (false, _) => name.to_owned(),
    }
}
