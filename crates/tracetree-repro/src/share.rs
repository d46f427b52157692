//! How much of a trace's GPU time is in calls that a script can repeat.

use crate::choose::{Chosen, Reach};
use tracetree::program::Measure;
use tracetree::trace::Nanos;
use tracetree::tree::{CallId, CallKind, CallTree};

/// The GPU time of a trace, or the host self time of its ops if it has no GPU events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// The total time.
    pub total: Nanos,
    /// The part of `total` in calls that a script can repeat, by their recorded arguments: the script may still find
    /// that the installed PyTorch lacks the op.
    pub replayable: Nanos,
    /// The part of `replayable` in ops that PyTorch does not have: the script must import the package that registers
    /// them.
    pub custom: Nanos,
}

/// How much time is in calls that a script can repeat.
pub fn replayable_share(tree: &CallTree) -> Share {
    let measure = Measure::of(tracetree::PerSide::new(tree, tree));
    let mut share = Share::default();
    let mut known = Known::default();
    for call in measure.calls(tree) {
        let time = measure.time(tree, call);
        share.total += time;
        let Some(op) = nearest_op(tree, call) else { continue };
        match known.of(tree, op) {
            Some(chosen) if tree.name(chosen).starts_with("aten::") => share.replayable += time,
            Some(_) => {
                share.replayable += time;
                share.custom += time;
            }
            None => {}
        }
    }
    share
}

fn nearest_op(tree: &CallTree, call: CallId) -> Option<CallId> {
    std::iter::once(call).chain(tree.ancestors(call)).find(|&call| tree.kind(call) == CallKind::Op)
}

/// The chosen call of each op that was looked up last; many kernels have the same op above them.
#[derive(Default)]
struct Known(Option<(CallId, Option<CallId>)>);

impl Known {
    fn of(&mut self, tree: &CallTree, op: CallId) -> Option<CallId> {
        if let Some((known, chosen)) = self.0
            && known == op
        {
            return chosen;
        }
        let chosen = Chosen::near(tree, op, Reach::Public, None).ok().map(|chosen| chosen.call);
        self.0 = Some((op, chosen));
        chosen
    }
}
