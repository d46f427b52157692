//! Reports anomaly detection of autograd, which checks the results of the backward pass for NaN and formats the Python
//! stack of each op of the forward pass.

use crate::analysis::changes::draft::{Draft, Drafts, fold_where, functions, names};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::subject::Subject;
use crate::analysis::changes::survey::autograd_node;
use crate::diff::{MergedId, MergedNode};
use crate::side::Side;
use crate::trace::ByName;

/// The op that checks a gradient.
const CHECK: &str = "aten::isnan";

/// The ops that run for a check.
const CHECKS: [&str; 9] = [
    CHECK,
    "aten::_is_any_true",
    "aten::_local_scalar_dense",
    "aten::any",
    "aten::as_strided",
    "aten::fill_",
    "aten::is_nonzero",
    "aten::item",
    "aten::ne",
];

/// Substrings in the names of frames that format a stack.
const STACKS: [&str; 3] = ["StackSummary", "FrameSummary", "traceback.py"];

/// Reports anomaly detection if only one side checks gradients in the backward pass, and folds what belongs to it.
pub(super) fn claim(drafts: &mut Drafts<'_>) {
    let diff = drafts.diff;
    let checks = |side: Side| -> Vec<MergedId> {
        let tree = diff.tree(side);
        let trace = tree.trace();
        let mut is_check = ByName::new(trace);
        let found = tree.calls().filter(|&call| {
            let name = tree.event(call).map(|event| trace.name_id(event));
            name.is_some_and(|name| is_check.get(name, || trace.text(name) == CHECK))
        });
        let nodes = found.map(|call| diff.merged().of(side, call));
        nodes.filter(|&node| autograd_node(diff, node).is_some()).collect()
    };
    let found = Side::BOTH.map(|side| (side, checks(side)));
    let (side, nodes) = match found {
        [(side, nodes), (_, none)] | [(_, none), (side, nodes)]
            if none.is_empty() && !nodes.is_empty() =>
        {
            (side, nodes)
        }
        _ => return,
    };
    if !nodes.iter().all(|&node| matches!(diff.merged().node(node), MergedNode::Only(..))) {
        return;
    }
    let at = drafts.draft(ChangeKind::Ops, Subject::Anomaly);
    drafts.at(at).has_backward = true;
    nodes.iter().for_each(|_| drafts.at(at).name(side, CHECK));
    drafts.at(at).nodes.extend(nodes);
    let is_of_check = |draft: &Draft| {
        let is_backward = |&node: &MergedId| autograd_node(diff, node).is_some();
        draft.nodes.iter().all(is_backward) && names(draft).all(|name| CHECKS.contains(&name))
    };
    fold_where(drafts, at, &[ChangeKind::HostRead, ChangeKind::Ops], is_of_check);
    // The stacks are formatted wherever the forward pass runs.
    let is_of_stack = |name: &str| STACKS.iter().any(|mark| name.contains(mark));
    let kinds = [ChangeKind::Ops, ChangeKind::Python, ChangeKind::Optimizer];
    fold_where(drafts, at, &kinds, |draft| {
        let mut all = names(draft).chain(functions(draft));
        !names(draft).any(|name| name.contains("::")) && all.any(is_of_stack)
    });
}
