//! What a row is called, and where its calls are.

use super::rows::{Row, RowKind};
use crate::diff::TraceDiff;
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Arguments, TextId};
use crate::tree::ModuleName;

/// Placeholder in a row's name for the calls that a region replaced.
const REPLACED: &str = "(replaced calls)";

/// Ids that determine the name of a row; rows with the same ids have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RowNameIds {
    kind: RowKind,
    names: PerSide<Option<TextId>>,
    is_aliased: bool,
}

impl Row {
    /// Name of the row: the op, the launch API, or `(launch not in trace)`. If an outermost op was renamed or
    /// has an alias, the result contains its names on both sides, separated by `|`.
    pub fn name(&self, diff: &TraceDiff) -> String {
        let name = |side: Side| self.calls[side].map(|call| diff.tree(side).name(call));
        match (self.kind, name(Side::Baseline), name(Side::Candidate)) {
            (RowKind::Unlinked, ..) => crate::tree::UNLINKED.to_owned(),
            (RowKind::Replaced, Some(name), _) => format!("{name} | {REPLACED}"),
            (RowKind::Replaced, _, Some(name)) => format!("{REPLACED} | {name}"),
            (RowKind::CommonOp, Some(name), _) if !self.is_aliased(diff) => name.to_owned(),
            (_, Some(a), Some(b)) if a != b => format!("{a} | {b}"),
            (_, Some(name), _) | (_, None, Some(name)) => name.to_owned(),
            (_, None, None) => String::new(),
        }
    }

    /// Ids that determine [`Row::name`].
    pub(crate) fn name_ids(&self, diff: &TraceDiff) -> RowNameIds {
        let name = |side: Side| {
            let (tree, call) = (diff.tree(side), self.calls[side]?);
            Some(tree.trace().name_id(tree.event(call)?))
        };
        RowNameIds {
            kind: self.kind,
            names: PerSide::from_fn(name),
            is_aliased: self.is_aliased(diff),
        }
    }

    /// Whether the ops on the two sides have different names that are aliases of each other.
    fn is_aliased(&self, diff: &TraceDiff) -> bool {
        match self.calls {
            PerSide { baseline: Some(a), candidate: Some(b) } => diff.is_aliased(a, b),
            PerSide { baseline: None, .. } | PerSide { candidate: None, .. } => false,
        }
    }

    /// The arguments of the row's op on one side; all empty if no arguments were recorded.
    pub(in crate::analysis) fn arguments(&self, diff: &TraceDiff, side: Side) -> Arguments {
        let arguments = self.calls[side].and_then(|call| diff.tree(side).arguments(call));
        arguments.copied().unwrap_or_default()
    }

    /// The text of an argument of the row's op on one side; empty if the argument was not recorded.
    pub fn argument_text<'d>(
        &self,
        diff: &'d TraceDiff,
        argument: Argument,
        side: Side,
    ) -> &'d str {
        diff.tree(side).trace().text(self.arguments(diff, side).text(argument))
    }

    /// Number of calls in the row of a region: 1 on the side that has the region, and the number of replaced
    /// calls on the other side. Returns 0 for rows without a region.
    pub(crate) fn calls_of_region(&self, diff: &TraceDiff, side: Side) -> u64 {
        let Some(region) = self.region(diff) else { return 0 };
        if region.side == side { 1 } else { region.replaced.len() as u64 }
    }

    /// Names of the row's events on one side, sorted by start.
    #[doc(hidden)]
    pub fn event_names<'d>(&self, diff: &'d TraceDiff, side: Side) -> Vec<&'d str> {
        self.events[side].iter().map(|&call| diff.tree(side).name(call)).collect()
    }

    /// Name of the lowest common node; empty if the sides do not even have a thread in common.
    #[doc(hidden)]
    pub fn lowest_common_name<'d>(&self, diff: &'d TraceDiff) -> &'d str {
        let Some(id) = self.lowest_common else { return "" };
        let first = diff.merged().node(id).calls().next();
        first.map_or("", |(side, call)| diff.tree(side).name(call))
    }

    /// The step in which the row's first event was launched: the baseline's step if there is one, otherwise the
    /// candidate's step.
    #[doc(hidden)]
    pub fn step(&self, diff: &TraceDiff) -> Option<StepId> {
        Side::BOTH.iter().find_map(|&side| {
            let call = self.events[side].first().copied().or(self.calls[side])?;
            diff.steps(side).step(call)
        })
    }

    /// Name of the innermost `nn.Module` that encloses the row's calls; empty outside of modules.
    #[doc(hidden)]
    pub fn module<'d>(&self, diff: &'d TraceDiff) -> &'d str {
        let module = |side: Side| {
            let tree = diff.tree(side);
            tree.module(self.calls[side]?).map(|module| tree.name(module))
        };
        Side::BOTH.iter().find_map(|&side| module(side)).map_or("", ModuleName::instance_or_name)
    }
}
