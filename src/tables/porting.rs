//! The `porting` table: each op on both platforms, what runs it there, and how much of the difference the hardware
//! explains.

use super::table::{Cell, ColumnType, Columns, Table};
use super::uids;
use crate::analysis::Analysis;
use crate::analysis::kernel_facts::Role;
use crate::analysis::porting::PortingRow;
use crate::trace::Nanos;
use std::collections::BTreeMap;
use std::sync::Arc;

const WORD: (ColumnType, &str) = (ColumnType::Word, "");
const TEXT: (ColumnType, &str) = (ColumnType::Text, "");
const WHOLE: (ColumnType, &str) = (ColumnType::Whole, "");
const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
const PERCENT: (ColumnType, &str) = (ColumnType::Decimal(1), "%");
const JSON: (ColumnType, &str) = (ColumnType::Json, "");

pub(super) fn table(name: &'static str, analysis: Arc<Analysis>) -> Table {
    identity().and(times()).and(kernels()).table(
        (
            name,
            "one row per op, shapes, types and module class in the compared steps: what runs it on each platform, and \
             how much of the difference the hardware explains; largest software part first",
        ),
        analysis,
        |analysis| Box::new(analysis.porting().rows.iter().cloned()),
    )
}

fn identity() -> Columns<Analysis, PortingRow> {
    Columns::default()
        .word("class", "class of work", |_: &Analysis, r: &PortingRow| r.class.as_str().into())
        .text(
            "name",
            "the op: the lowest common op, or the op that chose the implementation, such as `aten::convolution`",
            |_, r| r.name.as_str().into(),
        )
        .sides("input_shape_*", TEXT, "`Input Dims` of the op", |_, r, side| {
            r.dims[side].as_str().into()
        })
        .sides("input_type_*", TEXT, "`Input type`", |_, r, side| r.types[side].as_str().into())
        .text("module", "class of the innermost `nn.Module`", |_, r| r.module.as_str().into())
        .sides("calls_*", WHOLE, "calls in the compared steps", |_, r, side| r.calls[side].into())
}

fn times() -> Columns<Analysis, PortingRow> {
    Columns::default()
        .sides("kernel_us_*", TIME, "GPU time in the compared steps", |_: &Analysis, r: &PortingRow, side| {
            r.time[side].into()
        })
        .micros_difference("diff_us", "difference per step, candidate − baseline", |_, r| {
            r.difference.into()
        })
        .ratio("ratio", "GPU time per step, candidate / baseline", |a, r| {
            r.ratio(a.porting().steps).into()
        })
        .word(
            "explained",
            "how the difference is explained: `modelled` by hardware and software; `short`: kernels of less than 10 µs; \
             `not_modelled`; `changed`: the work belongs to a change of the program",
            |_, r| r.explained.label().into(),
        )
        .ratio(
            "rho_low",
            "ratio of the minimum times at the devices' peaks, candidate / baseline: the lowest estimate; 1 if neither \
             side comes near its peaks",
            |_, r| r.rho.map(|(low, _)| low).into(),
        )
        .ratio("rho_high", "the highest estimate of the same ratio", |_, r| {
            r.rho.map(|(_, high)| high).into()
        })
        .micros_difference(
            "hardware_us",
            "part of `diff_us` that the hardware explains",
            |_, r| r.hardware.into(),
        )
        .micros_difference(
            "software_us",
            "part of `diff_us` that the hardware does not explain: libraries and kernels",
            |_, r| r.software.into(),
        )
        .sides(
            "roofline_pct_*",
            PERCENT,
            "minimum time at the device's published peaks as a share of the measured time",
            |_, r, side| r.peak_pct[side].into(),
        )
}

fn kernels() -> Columns<Analysis, PortingRow> {
    Columns::default()
        .sides(
            "library_*",
            TEXT,
            "libraries that run the op, according to the names of its kernels",
            |_: &Analysis, r: &PortingRow, side| r.kernels[side].libraries.as_str().into(),
        )
        .sides(
            "generation_*",
            WORD,
            "GPU generation that the longest kernel was written for",
            |_, r, side| r.kernels[side].generation.map(|of| of.name).into(),
        )
        .sides("alignment_*", WHOLE, "alignment of the longest kernel, in elements", |_, r, side| {
            r.kernels[side].alignment.into()
        })
        .sides(
            "precision_*",
            WORD,
            "precision in which the longest kernel multiplies",
            |_, r, side| r.kernels[side].precision.into(),
        )
        .sides("kernel_*", TEXT, "short name of the longest kernel", |_, r, side| {
            r.kernels[side].main.as_str().into()
        })
        .sides(
            "kernels_per_call_*",
            JSON,
            "number of kernels per call by role: `work`, `memset`, `layout`, `im2col`, `fill`, `split-K`, `bias`, `cast`",
            |_, r, side| per_call(&r.kernels[side].roles, r.calls[side]),
        )
        .sides(
            "not_work_pct_*",
            PERCENT,
            "share of the time that is not the work itself",
            |_, r, side| r.not_work_pct(side).into(),
        )
        .text("hint", "what to try, with the side that it is about", |_, r| {
            let texts = r.hints.iter().map(|hint| hint.words(|side| side.label().to_owned()));
            texts.collect::<Vec<_>>().join("; ").into()
        })
        .and(uids::columns("the call with the most GPU time", |_, r: &PortingRow, side| {
            r.largest[side]
        }))
}

fn per_call(roles: &BTreeMap<Role, (u64, Nanos)>, calls: u64) -> Cell<'static> {
    if roles.is_empty() || calls == 0 {
        return Cell::Empty;
    }
    let counts: BTreeMap<&str, f64> = roles
        .iter()
        .map(|(role, (count, _))| {
            (role.label(), (100.0 * *count as f64 / calls as f64).round() / 100.0)
        })
        .collect();
    Cell::Json(serde_json::to_string(&counts).expect("names and numbers"))
}
