//! Creates the changes for matched ops that run different kernels although their arguments are the same: changes of
//! math mode, kernel selection, or pinned memory.

use crate::analysis::account::Row;
use crate::analysis::categories::CategoryTable;
use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::either;
use crate::analysis::changes::subject::{OpFamily, Subject};
use crate::analysis::kernel_facts::is_tf32;
use crate::diff::{MergedId, TraceDiff};
use crate::side::{PerSide, Side};
use crate::tree::CallKind;
use std::collections::{BTreeMap, BTreeSet};

/// Assigns each attribution row whose kernels differ between the sides to a change. Returns pairs of a row and its
/// change.
pub(in crate::analysis::changes) fn claim(
    drafts: &mut Drafts<'_>,
    rows: &[usize],
) -> Vec<(usize, usize)> {
    let all = drafts.ledger.rows();
    let mut of_rows = Vec::new();
    let mut with_other_arguments: BTreeMap<(usize, OpFamily), Vec<ByArguments>> = BTreeMap::new();
    for &at in rows {
        let row = &all[at];
        let Some(node) = node_of(drafts.diff, row) else { continue };
        let by_calls = drafts.of_calls(node).or_else(|| by_calls_below(drafts, row, node));
        let is_switch = |at: &usize| drafts.all()[*at].switched.is_some();
        let by_arguments = by_calls.is_none().then(|| by_arguments(drafts, node)).flatten();
        let by_arguments = by_arguments.filter(|at| !is_switch(at));
        match (by_calls, by_arguments) {
            (Some(draft), _) => of_rows.push((at, draft)),
            (None, Some(draft)) => {
                let has_other_mode = has_other_mode(drafts, draft, row);
                let group = (draft, family(drafts.diff, drafts.categories, row));
                let found = ByArguments { row: at, node, has_other_mode };
                with_other_arguments.entry(group).or_default().push(found);
            }
            (None, None) => {
                let optimizer = drafts.optimizer_of(node);
                let draft = optimizer.unwrap_or_else(|| claim_row(drafts, row, node));
                of_rows.push((at, draft));
            }
        }
    }
    for ((draft, _), found) in with_other_arguments {
        // A switched math mode affects all ops of a family. If the mode differs for at most half of the ops, it was not
        // switched. Instead, the library selected a different mode because tensor sizes or layouts changed.
        let in_other_mode = found.iter().filter(|found| found.has_other_mode).count();
        let is_switched = 2 * in_other_mode > found.len();
        for ByArguments { row, node, has_other_mode } in found {
            let is_of_mode = is_switched && has_other_mode;
            let draft = if is_of_mode { claim_row(drafts, &all[row], node) } else { draft };
            of_rows.push((row, draft));
        }
    }
    of_rows.sort_unstable();
    of_rows
}

/// An attribution row whose op has different arguments and runs different kernels on the two sides.
struct ByArguments {
    row: usize,
    node: MergedId,
    has_other_mode: bool,
}

/// Whether the math mode of a row's kernels differs between the sides although its arguments differ only in sizes or
/// layouts. Different element types would explain a different math mode; different sizes and layouts do not.
fn has_other_mode(drafts: &Drafts<'_>, arguments: usize, row: &Row) -> bool {
    let kind = drafts.all()[arguments].kind;
    matches!(kind, ChangeKind::Shapes | ChangeKind::MemoryFormat)
        && other_mode(&kernel_names(drafts.diff, row)).is_some()
}

fn kernel_names<'a>(diff: &'a TraceDiff, row: &Row) -> PerSide<BTreeSet<&'a str>> {
    PerSide::from_fn(|side| row.event_names(diff, side).into_iter().collect())
}

pub(in crate::analysis::changes) fn node_of(diff: &TraceDiff, row: &Row) -> Option<MergedId> {
    let merged = diff.merged();
    Side::BOTH.into_iter().find_map(|side| Some(merged.of(side, row.calls[side]?)))
}

/// Finds an unmatched call below the row's op that launches one of the row's kernels, and returns the change that
/// contains this call.
fn by_calls_below(drafts: &Drafts<'_>, row: &Row, node: MergedId) -> Option<usize> {
    let merged = drafts.diff.merged();
    let events = Side::BOTH
        .into_iter()
        .flat_map(|side| row.events[side].iter().map(move |&event| (side, event)));
    let mut parents = events.map(|(side, event)| merged.of(side, event));
    parents.find_map(|event| {
        let mut above = merged.parent(event);
        while let Some(here) = above.filter(|&here| here != node) {
            if let Some(draft) = drafts.of_calls(here) {
                return Some(draft);
            }
            above = merged.parent(here);
        }
        None
    })
}

/// Finds the nearest op at or above a node whose arguments differ between the sides, and returns the change that
/// contains this op.
pub(in crate::analysis::changes) fn by_arguments(
    drafts: &Drafts<'_>,
    node: MergedId,
) -> Option<usize> {
    let diff = drafts.diff;
    let merged = diff.merged();
    let mut at = Some(node);
    while let Some(here) = at {
        if let Some(draft) = drafts.of_site(here) {
            return Some(draft);
        }
        at = merged.parent(here).filter(|&above| {
            let (side, call) = either(diff, above);
            diff.tree(side).kind(call) == CallKind::Op
        });
    }
    None
}

fn claim_row(drafts: &mut Drafts<'_>, row: &Row, node: MergedId) -> usize {
    let diff = drafts.diff;
    let names = kernel_names(diff, row);
    let family = family(diff, drafts.categories, row);
    let (kind, subject, pair) = match (other_copy(&names), other_mode(&names)) {
        (Some(pair), _) => (ChangeKind::InputPipeline, Subject::Copies, Some(pair)),
        (None, Some((one, two))) => {
            (ChangeKind::MathMode, Subject::Mode(family.clone(), one, two), Some((one, two)))
        }
        (None, None) => (ChangeKind::KernelSelection, Subject::Family(family.clone()), None),
    };
    let at = drafts.draft(kind, subject);
    if drafts.at(at).nodes.is_empty() {
        drafts.at(at).position = drafts.position_at(node);
    }
    drafts.add_site(at, node);
    let draft = drafts.at(at);
    draft.name(Side::Baseline, &family.to_string());
    if let Some((one, two)) = pair {
        draft.pair(one, two);
    }
    at
}

/// The family of the op of a row.
fn family(diff: &TraceDiff, categories: &CategoryTable, row: &Row) -> OpFamily {
    let event = Side::BOTH.into_iter().find_map(|side| Some((side, *row.events[side].first()?)));
    let category = event
        .map_or("", |(side, event)| categories.rules().name(categories.of(diff, side, event).id));
    match category {
        _ if row.name(diff).contains("convolution") => OpFamily::Convolutions,
        "convolution" => OpFamily::Convolutions,
        "gemm" => OpFamily::MatrixProducts,
        "attention" if row.name(diff).contains("attention") => OpFamily::Attention,
        _ => OpFamily::Op(row.name(diff)),
    }
}

/// If copies use pinned host memory on one side and pageable host memory on the other, the kind of memory on each side.
fn other_copy(names: &PerSide<BTreeSet<&str>>) -> Option<(&'static str, &'static str)> {
    let of = |side: Side| {
        let mut only = names[side].difference(&names[side.other()]);
        let all_copies = only.clone().all(|name| name.starts_with("Memcpy"));
        let word = only
            .find_map(|name| ["Pageable", "Pinned"].into_iter().find(|word| name.contains(*word)));
        word.filter(|_| all_copies)
    };
    let pair = (of(Side::Baseline)?, of(Side::Candidate)?);
    (pair.0 != pair.1).then_some(pair)
}

/// If matrix products use TF32 on one side and FP32 on the other, the precision on each side.
fn other_mode(names: &PerSide<BTreeSet<&str>>) -> Option<(&'static str, &'static str)> {
    let uses = PerSide::from_fn(|side: Side| {
        names[side].difference(&names[side.other()]).any(|name| is_tf32(name))
    });
    let runs = PerSide::from_fn(|side: Side| names[side].iter().any(|name| is_tf32(name)));
    let is_product = |side: Side| names[side].iter().any(|name| is_fp32_product(name));
    match (uses.baseline, uses.candidate) {
        (true, false) if !runs.candidate && is_product(Side::Candidate) => Some(("TF32", "FP32")),
        (false, true) if !runs.baseline && is_product(Side::Baseline) => Some(("FP32", "TF32")),
        _ => None,
    }
}

/// Whether a kernel's name shows that it multiplies 32-bit floats without using TF32.
fn is_fp32_product(name: &str) -> bool {
    const MARKS: [&str; 9] = [
        "sgemm",
        "f32f32",
        "ffma",
        "simt",
        "implicit_convolve",
        "winograd",
        "dgrad",
        "wgrad",
        "fprop",
    ];
    let lower = name.to_ascii_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark)) && !is_tf32(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<'a>(names: &[&'a str]) -> BTreeSet<&'a str> {
        names.iter().copied().collect()
    }

    #[test]
    fn tf32_on_one_side_only_is_a_different_math_mode() {
        let tf32 = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw";
        let fp32 = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw";
        let modes = PerSide::new(set(&[tf32, "add"]), set(&[fp32]));
        assert_eq!(other_mode(&modes), Some(("TF32", "FP32")));
        assert_eq!(other_mode(&modes.swap()), Some(("FP32", "TF32")));
        let another = "cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4";
        assert_eq!(other_mode(&PerSide::new(set(&[tf32]), set(&[another]))), None);
        assert_eq!(other_mode(&PerSide::new(set(&[tf32]), set(&["reduce"]))), None);
    }

    #[test]
    fn pinned_memory_shows_in_the_names_of_copies() {
        let names = PerSide::new(
            set(&["Memcpy HtoD (Pageable -> Device)"]),
            set(&["Memcpy HtoD (Pinned -> Device)"]),
        );
        assert_eq!(other_copy(&names), Some(("Pageable", "Pinned")));
        assert_eq!(other_copy(&PerSide::new(set(&["a"]), set(&["b"]))), None);
    }
}
