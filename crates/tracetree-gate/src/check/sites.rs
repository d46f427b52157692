//! Finds the call sites of a change, and what the calls at each call site do on both sides.

use super::work::Work;
use crate::place::{Place, Site};
use crate::recording::{Upward, segment};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::{Change, ChangeKind};
use tracetree::diff::{MergedId, MergedNode};
use tracetree::order::Order as _;
use tracetree::program::{Phase, Query};
use tracetree::side::{PerSide, Side};
use tracetree::trace::Argument;
use tracetree::tree::{CallId, CallKind, ModuleName};

/// Maximum number of ops named in the description of a call site.
const NAMED: usize = 4;

/// The property of op arguments (type, shape or strides) that a change of this kind affects; `None` for all other
/// kinds.
pub(super) fn argument(kind: ChangeKind) -> Option<Argument> {
    let of_kinds = [
        (ChangeKind::Precision, Argument::Type),
        (ChangeKind::Shapes, Argument::Shape),
        (ChangeKind::MemoryFormat, Argument::Strides),
    ];
    of_kinds.into_iter().find_map(|(known, argument)| (known == kind).then_some(argument))
}

/// A call site that a change affects, with all calls that this call site makes in the compared steps.
#[derive(Debug, Clone)]
pub(super) struct ChangeSite {
    pub(super) place: Place,
    /// A short description of what changed at the call site.
    pub(super) what: String,
    /// The function in the user's Python code that makes the calls.
    pub(super) site: Option<Site>,
    /// Whether the calls are modules.
    is_module: bool,
    pub(super) category: String,
    pub(super) calls: PerSide<Vec<CallId>>,
    pub(super) work: PerSide<Work>,
}

pub(super) struct Finder<'a> {
    pub(super) analysis: &'a Analysis,
    upward: PerSide<Upward<'a>>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(analysis: &'a Analysis) -> Finder<'a> {
        Finder { analysis, upward: PerSide::from_fn(|side| Upward::of(analysis.tree(side))) }
    }

    /// The call sites that a change affects, in the order of the merged tree. A call nested inside another changed
    /// call is counted at the call site of the outer call.
    pub(super) fn sites(&self, change: &Change) -> Vec<ChangeSite> {
        let merged = self.analysis.diff().merged();
        let mut nodes = change.nodes.clone();
        nodes.sort_unstable();
        let roots: PerSide<FxHashSet<CallId>> = PerSide::from_fn(|side| {
            let calls = nodes.iter().filter_map(|&node| merged.node(node).call(side));
            calls
                .filter(|&call| {
                    self.analysis.compared().is_compared(self.analysis.diff(), side, call)
                })
                .collect()
        });
        let mut sites: BTreeMap<(Place, String), usize> = BTreeMap::new();
        let mut list: Vec<ChangeSite> = Vec::new();
        for node in nodes {
            let calls = PerSide::from_fn(|side| {
                let call = merged.node(node).call(side);
                call.filter(|&call| {
                    roots[side].contains(&call) && !self.is_inside(side, call, &roots)
                })
            });
            let Some(side) = Side::BOTH.into_iter().find(|&side| calls[side].is_some()) else {
                continue;
            };
            let (place, what) = (self.place(node), self.words(change.kind, node));
            let at = *sites.entry((place, what)).or_insert(list.len());
            if at == list.len() {
                list.push(self.new_site(change.kind, node, side));
            }
            for side in Side::BOTH {
                if let Some(call) = calls[side] {
                    list[at].calls[side].push(call);
                    list[at].work[side].add(self.analysis.diff(), side, call);
                }
            }
        }
        // Call sites that do no work are dropped, unless no call site does any work. Such call sites are Python code
        // that merely encloses the changed ops.
        let is_working =
            |site: &ChangeSite| Side::BOTH.into_iter().any(|side| !site.work[side].is_empty());
        if list.iter().any(is_working) {
            list.retain(is_working);
        }
        // Forward calls come before backward calls, and modules before their ops, because causes come before
        // consequences.
        list.order_by_key(|site| {
            (site.place.phase == Phase::TrainBackward.label(), !site.is_module)
        });
        list
    }

    /// Whether a call is nested inside another changed call and therefore counted with the outer call.
    fn is_inside(&self, side: Side, call: CallId, roots: &PerSide<FxHashSet<CallId>>) -> bool {
        let diff = self.analysis.diff();
        let is_matched =
            |call| diff.counterpart(side, call).is_some() && diff.region_of(side, call).is_none();
        let mut passes_matched = is_matched(call);
        for above in diff.tree(side).ancestors(call) {
            if roots[side].contains(&above) && (is_matched(above) || !passes_matched) {
                return true;
            }
            passes_matched |= is_matched(above);
        }
        false
    }

    fn new_site(&self, kind: ChangeKind, node: MergedId, side: Side) -> ChangeSite {
        ChangeSite {
            place: self.place(node),
            what: self.words(kind, node),
            site: self.line(node),
            is_module: self.is_module(node),
            category: self.category(node, side),
            calls: PerSide::default(),
            work: PerSide::default(),
        }
    }

    /// A node's call in the candidate or, if there is none, in the baseline. The candidate is preferred, because it is
    /// the user's current code.
    fn either(&self, node: MergedId) -> (Side, CallId) {
        let node = self.analysis.diff().merged().node(node);
        let call = |side: Side| node.call(side).map(|call| (side, call));
        call(Side::Candidate).or_else(|| call(Side::Baseline)).expect("every node has a call")
    }

    /// The modules and ops that enclose a node, and the node itself if it is a matched op.
    fn place(&self, node: MergedId) -> Place {
        let (side, call) = self.either(node);
        let tree = self.analysis.tree(side);
        let is_matched = matches!(self.analysis.diff().merged().node(node), MergedNode::Both(..));
        let skipped = if is_matched { 0 } else { 1 };
        let path = self.upward[side].path(call).skip(skipped);
        let mut path: Vec<_> = path.filter_map(|call| segment(tree, call)).collect();
        path.reverse();
        let phase = self.analysis.diff().phases(side).phase(call).label().to_owned();
        Place { path, phase }
    }

    /// The function in the user's Python code that makes the call of a node.
    fn line(&self, node: MergedId) -> Option<Site> {
        let (side, call) = self.either(node);
        let tree = self.analysis.tree(side);
        let called = self.upward[side].called(call);
        let mut above = std::iter::once(called).chain(tree.ancestors(called));
        above.find_map(|above| {
            (tree.kind(above) == CallKind::Frame).then(|| Site::of(tree.name(above))).flatten()
        })
    }

    fn is_module(&self, node: MergedId) -> bool {
        let (side, call) = self.either(node);
        self.analysis.tree(side).is_module(call)
    }

    /// The category of the first measured call at or below a node.
    fn category(&self, node: MergedId, side: Side) -> String {
        let call = self.analysis.diff().merged().node(node).call(side);
        let tree = self.analysis.tree(side);
        let is_measured = |call: &CallId| {
            self.analysis.ledger().row_index(self.analysis.diff(), side, *call).is_some()
        };
        let measured = call.and_then(|call| tree.subtree(call).find(is_measured));
        measured.map_or_else(String::new, |call| {
            self.analysis.categories().name(self.analysis.diff(), side, call).to_owned()
        })
    }

    fn words(&self, kind: ChangeKind, node: MergedId) -> String {
        let merged = self.analysis.diff().merged();
        match merged.node(node) {
            MergedNode::Only(side, call) => {
                let verb = if side == Side::Baseline { "removed" } else { "added" };
                format!("{verb} {}", self.name(side, call))
            }
            MergedNode::Both(a, b) => {
                let names = [self.name(Side::Baseline, a), self.name(Side::Candidate, b)];
                if names[0] == names[1] {
                    self.details(kind, (a, b)).unwrap_or_else(|| names[0].clone())
                } else {
                    names.join(" → ")
                }
            }
        }
    }

    /// Names a call, as in `module Block_1`, `aten::sin` or `train.py: step`. A Python frame is named after the ops
    /// that it calls, if there are any.
    fn name(&self, side: Side, call: CallId) -> String {
        let tree = self.analysis.tree(side);
        if tree.is_module(call) {
            return format!("module {}", ModuleName::instance_or_name(tree.name(call)));
        }
        let mut work = Work::default();
        if tree.kind(call) == CallKind::Frame {
            work.add(self.analysis.diff(), side, call);
        }
        let ops: Vec<&str> = work.op_names.iter().take(NAMED).map(String::as_str).collect();
        match work.op_names.len().saturating_sub(NAMED) {
            _ if ops.is_empty() => self.analysis.diff().plain_name(side, call).to_owned(),
            0 => ops.join(", "),
            more => format!("{}, {more} more", ops.join(", ")),
        }
    }

    /// Describes how the arguments or the kernels of a matched op changed; `None` if they are equal.
    fn details(&self, kind: ChangeKind, (a, b): (CallId, CallId)) -> Option<String> {
        let sides = [(Side::Baseline, a), (Side::Candidate, b)];
        let of_arguments = argument(kind).map(|which| {
            sides.map(|(side, call)| {
                let tree = self.analysis.tree(side);
                let arguments = tree.arguments(call);
                arguments.map_or_else(String::new, |a| tree.trace().text(a.text(which)).to_owned())
            })
        });
        let kernels = || {
            sides.map(|(side, call)| {
                let tree = self.analysis.tree(side);
                let gpu = tree.subtree(call).filter(|&call| tree.kind(call) == CallKind::Gpu);
                let names: BTreeSet<&str> = gpu.map(|call| tree.name(call)).collect();
                names.into_iter().map(str::to_owned).collect::<Vec<_>>()
            })
        };
        let shown = |[one, two]: [String; 2]| (one != two).then(|| format!("{one} → {two}"));
        of_arguments.and_then(shown).or_else(|| {
            let [one, two] = kernels();
            let only = |own: &[String], other: &[String]| {
                let own: Vec<&str> =
                    own.iter().filter(|name| !other.contains(name)).map(String::as_str).collect();
                if own.is_empty() { "the same kernels".to_owned() } else { own.join(", ") }
            };
            shown([only(&one, &two), only(&two, &one)])
        })
    }

    pub(super) fn selected(&self, query: &Query) -> PerSide<Vec<CallId>> {
        PerSide::from_fn(|side| query.find(self.analysis.tree(side)))
    }

    /// Whether one of a call site's calls is a selected call, encloses a selected call, or is nested in one.
    pub(super) fn is_at(&self, site: &ChangeSite, selected: &PerSide<Vec<CallId>>) -> bool {
        Side::BOTH.into_iter().any(|side| {
            let (tree, found) = (self.analysis.tree(side), &selected[side]);
            let is_around = |call: CallId| {
                let at = found.partition_point(|&found| found < call);
                found.get(at).is_some_and(|&found| found < tree.end(call))
            };
            site.calls[side].iter().any(|&call| {
                is_around(call)
                    || self.upward[side].path(call).any(|above| found.binary_search(&above).is_ok())
            })
        })
    }
}
