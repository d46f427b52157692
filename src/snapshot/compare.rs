//! Compares two snapshots: the live memory on both sides at the peak and at the end, by the call stack that allocated
//! it.

use super::read::{DeviceSnapshot, LiveStacks, Snapshot, Stack, StackFigures};
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::tables::table::{Cell, Column, ColumnType, Columns, Table};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The moment at which live memory is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Moment {
    /// The peak: on each side, the moment at which that side's live memory is largest.
    Peak,
    /// The end of the snapshot's history.
    End,
}

impl Moment {
    /// The name of the moment in tables: `peak` or `end`.
    pub fn label(self) -> &'static str {
        match self {
            Moment::Peak => "peak",
            Moment::End => "end",
        }
    }

    fn of(self, device: &DeviceSnapshot) -> &LiveStacks {
        match self {
            Moment::Peak => &device.at_peak,
            Moment::End => &device.at_end,
        }
    }
}

/// A comparison of two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct SnapshotDiff {
    /// The snapshot on each side.
    pub sides: PerSide<Snapshot>,
}

/// The live memory on both sides that one call stack allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct StackRow {
    /// The device.
    pub device: i64,
    /// The moment at which the memory is live.
    pub moment: Moment,
    /// The frames, outermost first, such as `train.py: step`.
    pub stack: Stack,
    /// The live memory on each side; zero on a side without this stack.
    pub figures: PerSide<StackFigures>,
}

impl StackRow {
    /// Difference in live bytes, candidate − baseline.
    pub fn difference(&self) -> i64 {
        self.figures.candidate.bytes.saturating_sub(self.figures.baseline.bytes)
    }

    /// The innermost frame outside of PyTorch, or the innermost frame if all frames are in PyTorch.
    pub fn frame(&self) -> &str {
        let is_user = |frame: &&Arc<str>| !frame.starts_with("torch/") && frame.contains(".py: ");
        let user = self.stack.iter().rev().find(is_user);
        user.or(self.stack.last()).map_or("", |frame| &**frame)
    }
}

impl SnapshotDiff {
    /// The devices that occur on either side.
    pub fn devices(&self) -> BTreeSet<i64> {
        let devices = Side::BOTH.into_iter().flat_map(|side| self.sides[side].devices.keys());
        devices.copied().collect()
    }

    /// The live memory by device, moment and allocating call stack. For each device and moment, the largest difference
    /// comes first; rows with the same difference are sorted by descending bytes.
    pub fn rows(&self) -> Vec<StackRow> {
        let mut rows = Vec::new();
        for device in self.devices() {
            for moment in [Moment::Peak, Moment::End] {
                let mut found: BTreeMap<Stack, PerSide<StackFigures>> = BTreeMap::new();
                for side in Side::BOTH {
                    let Some(known) = self.sides[side].devices.get(&device) else { continue };
                    for (stack, figures) in moment.of(known) {
                        found.entry(stack.clone()).or_default()[side] = *figures;
                    }
                }
                let row = |(stack, figures)| StackRow { device, moment, stack, figures };
                let mut of_moment: Vec<StackRow> = found.into_iter().map(row).collect();
                of_moment.order_by_key(|row| {
                    let most = row.figures.baseline.bytes.max(row.figures.candidate.bytes);
                    (Reverse(row.difference().unsigned_abs()), Reverse(most))
                });
                rows.extend(of_moment);
            }
        }
        rows
    }

    /// The rows as a table.
    pub fn table(self: &Arc<SnapshotDiff>) -> Table {
        const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");
        Columns::default()
            .whole("device", "number of the GPU", |_: &SnapshotDiff, row: &StackRow| {
                row.device.into()
            })
            .word(
                "moment",
                "`peak`: when each side is at its peak; `end`: at the end of the history",
                |_, row| row.moment.label().into(),
            )
            .text("frame", "the innermost frame outside of PyTorch", |_, row| row.frame().into())
            .column(Column::new(
                "stack",
                ColumnType::Names,
                "the Python stack of the allocation, outermost frame first",
                |_, row: &StackRow| Cell::Names(row.stack.iter().map(|frame| &**frame).collect()),
            ))
            .sides("blocks_*", WHOLE, "number of live blocks", |_, row, side| {
                row.figures[side].blocks.into()
            })
            .sides(
                "live_bytes_*",
                (ColumnType::Whole, "B"),
                "live bytes, as requested by the program",
                |_, row, side| row.figures[side].bytes.into(),
            )
            .column(
                Column::new(
                    "live_bytes_diff",
                    ColumnType::Whole,
                    "candidate − baseline",
                    |_, row| StackRow::difference(row).into(),
                )
                .unit("B")
                .difference(),
            )
            .table(
                (
                    "memory_snapshot",
                    "one row per device, moment and stack, largest difference first",
                ),
                self.clone(),
                |diff| Box::new(diff.rows().into_iter()),
            )
    }
}
