//! Two snapshots → what is live on both sides by stack, at the peak and at the end.

use super::read::{DeviceSnapshot, LiveStacks, Snapshot, StackFigures};
use crate::side::{PerSide, Side};
use crate::tables::table::{Cell, Column, ColumnType, Columns, Table};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// When memory is live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// At the peak of each side.
    Peak,
    /// At the end.
    End,
}

impl Moment {
    /// The name in tables.
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

/// Two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotDiff {
    /// The snapshots.
    pub sides: PerSide<Snapshot>,
}

/// The live memory of one stack on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackRow {
    /// The device.
    pub device: i64,
    /// When it is live.
    pub moment: Moment,
    /// The frames, the outermost first: `train.py: step`.
    pub stack: Arc<[String]>,
    /// The memory; zero on a side without this stack.
    pub figures: PerSide<StackFigures>,
}

impl StackRow {
    /// Candidate − baseline in bytes.
    pub fn difference(&self) -> i64 {
        self.figures.candidate.bytes.saturating_sub(self.figures.baseline.bytes)
    }

    /// The innermost frame outside of PyTorch; the innermost one if there is none.
    pub fn frame(&self) -> &str {
        let is_user = |frame: &&String| !frame.starts_with("torch/") && frame.contains(".py: ");
        let user = self.stack.iter().rev().find(is_user);
        user.or(self.stack.last()).map_or("", String::as_str)
    }
}

impl SnapshotDiff {
    /// The devices of either side.
    pub fn devices(&self) -> BTreeSet<i64> {
        let devices = Side::BOTH.into_iter().flat_map(|side| self.sides[side].devices.keys());
        devices.copied().collect()
    }

    /// The live memory by device, moment and stack: the largest difference first, then the most bytes.
    pub fn rows(&self) -> Vec<StackRow> {
        let mut rows = Vec::new();
        for device in self.devices() {
            for moment in [Moment::Peak, Moment::End] {
                let mut found: BTreeMap<Arc<[String]>, PerSide<StackFigures>> = BTreeMap::new();
                for side in Side::BOTH {
                    let Some(known) = self.sides[side].devices.get(&device) else { continue };
                    for (stack, figures) in moment.of(known) {
                        found.entry(stack.clone()).or_default()[side] = *figures;
                    }
                }
                let row = |(stack, figures)| StackRow { device, moment, stack, figures };
                let mut of_moment: Vec<StackRow> = found.into_iter().map(row).collect();
                of_moment.sort_by_key(|row| {
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
        Columns::new()
            .whole("device", "number of the GPU", |_: &SnapshotDiff, row: &StackRow| {
                row.device.into()
            })
            .word("moment", "`peak`: at the peak of each side; `end`: at the end", |_, row| {
                row.moment.label().into()
            })
            .text("frame", "the innermost frame outside of PyTorch", |_, row| row.frame().into())
            .column(Column::new(
                "stack",
                ColumnType::Names,
                "the outermost frame first",
                |_, row: &StackRow| Cell::Names(row.stack.iter().map(String::as_str).collect()),
            ))
            .sides("blocks_*", WHOLE, "number of live blocks", |_, row, side| {
                row.figures[side].blocks.into()
            })
            .sides("live_bytes_*", (ColumnType::Whole, "B"), "requested bytes", |_, row, side| {
                row.figures[side].bytes.into()
            })
            .column(
                Column::new(
                    "live_bytes_delta",
                    ColumnType::Whole,
                    "candidate − baseline",
                    |_, row| StackRow::difference(row).into(),
                )
                .unit("B")
                .difference(),
            )
            .table(
                ("memory_snapshot", "device, moment and stack; the largest difference first"),
                self.clone(),
                |diff| Box::new(diff.rows().into_iter()),
            )
    }
}
