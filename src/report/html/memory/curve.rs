//! Draws the allocated and reserved bytes on both sides over time as SVG paths with a common scale.

use crate::analysis::Analysis;
use crate::analysis::memory::{DeviceUsage, bytes};
use crate::side::{PerSide, Side};
use crate::trace::{MemoryEvent, Nanos};
use std::fmt::Write as _;

/// Size of the drawing.
const WIDTH: i64 = 1000;
const HEIGHT: i64 = 220;

/// The curves for one device.
pub(in crate::report::html) struct Curves {
    /// The SVG attribute `d` of each side's path; empty if the side has no curve of this kind.
    pub(in crate::report::html) allocated: [String; 2],
    pub(in crate::report::html) reserved: [String; 2],
    /// The number of bytes that the full height of the drawing represents, and the time that the full width
    /// represents.
    pub(in crate::report::html) height: String,
    pub(in crate::report::html) width: String,
}

/// The ranges of time and bytes that the drawing covers.
struct Scale {
    /// The time at the left edge of the drawing, for each side.
    start: PerSide<Nanos>,
    length: i64,
    least: i64,
    most: i64,
}

impl Curves {
    pub(super) fn of(analysis: &Analysis, usages: PerSide<Option<&DeviceUsage>>) -> Curves {
        let extents =
            PerSide::from_fn(|side| usages[side].map(|usage| extent(analysis, side, usage)));
        let sides = || Side::BOTH.into_iter();
        let length = sides().filter_map(|side| extents[side]).map(|(start, end)| end.0 - start.0);
        let levels = sides().filter_map(|side| usages[side]).flat_map(|usage| {
            let reserved = usage.events().iter().filter_map(reserved);
            usage.allocated().iter().copied().chain(reserved).chain([usage.before()])
        });
        let (least, most) =
            levels.fold((0, 1), |(least, most), level| (level.min(least), level.max(most)));
        let scale = Scale {
            start: extents.map(|extent| extent.map_or(Nanos::ZERO, |(start, _)| start)),
            length: length.max().unwrap_or(1).max(1),
            least,
            most,
        };
        let path = |side: Side, level: &dyn Fn(&DeviceUsage, usize) -> Option<i64>| {
            usages[side].map_or(String::new(), |usage| scale.path(side, usage, level))
        };
        Curves {
            allocated: Side::BOTH.map(|side| path(side, &|usage, at| Some(usage.allocated()[at]))),
            reserved: Side::BOTH.map(|side| path(side, &|usage, at| reserved(&usage.events()[at]))),
            height: match least {
                0 => bytes(most),
                _ => format!("{} to {}", bytes(least), bytes(most)),
            },
            width: format!("{:.3} ms", scale.length as f64 / 1e6),
        }
    }
}

/// Number of bytes that the allocator has reserved on the device after an event. `None` for the host, whose reserved
/// bytes are not recorded.
fn reserved(event: &MemoryEvent) -> Option<i64> {
    event.reserved.filter(|_| !event.device.is_host())
}

/// Start of the first step or event, and end of the last step or event.
fn extent(analysis: &Analysis, side: Side, usage: &DeviceUsage) -> (Nanos, Nanos) {
    let events = usage.events();
    let steps = analysis.diff().steps(side).spans();
    let starts = [events.first().map(|event| event.time), steps.first().map(|step| step.start)];
    let ends = [events.last().map(|event| event.time), steps.last().map(|step| step.end)];
    let start = starts.into_iter().flatten().min().unwrap_or_default();
    (start, ends.into_iter().flatten().max().unwrap_or_default().max(start))
}

impl Scale {
    /// The path of a stepped line. If several events fall into the same column of the drawing, the path keeps the
    /// lowest, the highest and the last level, so that peaks keep their height.
    fn path(
        &self,
        side: Side,
        usage: &DeviceUsage,
        level: &dyn Fn(&DeviceUsage, usize) -> Option<i64>,
    ) -> String {
        let mut path = String::new();
        let mut drawn = (-1, -1);
        let mut draw = |column: i64, bytes: i64| {
            let row = self.row(bytes);
            let start = if path.is_empty() { "M" } else { "H" };
            match (path.is_empty(), drawn == (column, row)) {
                (_, true) => Ok(()),
                (true, _) => write!(path, "{start}{column} {row}"),
                (false, _) => write!(path, "{start}{column}V{row}"),
            }
            .expect("writing to a string cannot fail");
            drawn = (column, row);
        };
        let mut events = (0..usage.events().len()).filter_map(|at| {
            let time = usage.events()[at].time - self.start[side];
            let column = i128::from(time.0) * i128::from(WIDTH) / i128::from(self.length);
            Some((column as i64, level(usage, at)?))
        });
        let Some((mut column, first)) = events.next() else { return path };
        let (mut least, mut most, mut last) = (first, first, first);
        for (next, bytes) in events {
            if next != column {
                [least, most, last].into_iter().for_each(|bytes| draw(column, bytes));
                (column, least, most) = (next, bytes, bytes);
            }
            (least, most, last) = (least.min(bytes), most.max(bytes), bytes);
        }
        [least, most, last].into_iter().for_each(|bytes| draw(column, bytes));
        path
    }

    /// The vertical position of a number of bytes; the largest number is at the top.
    fn row(&self, bytes: i64) -> i64 {
        let range = i128::from(self.most) - i128::from(self.least);
        let above = i128::from(self.most) - i128::from(bytes);
        (above * i128::from(HEIGHT) / range.max(1)) as i64
    }
}
