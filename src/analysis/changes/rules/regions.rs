//! Reports compiled regions and graph launches, together with the calls that they replaced.

use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::subject::Subject;
use crate::analysis::changes::survey::{is_compiling, launches_graph};
use crate::analysis::steps::StepPairs;
use crate::diff::{RegionKind, TraceDiff};
use crate::side::{PerSide, Side};
use crate::trace::ByName;
use crate::tree::{CallId, CallKind};

pub(in crate::analysis::changes) fn claim(drafts: &mut Drafts<'_>) {
    let diff = drafts.diff;
    for region in diff.regions() {
        let is_compiled = region.kind == RegionKind::Compiled;
        if !is_compiled || !drafts.compared.is_compared(diff, region.side, region.call) {
            continue;
        }
        let tree = diff.tree(region.side);
        let is_graph = tree.subtree(region.call).any(|call| launches_graph(tree, call));
        let kind = if is_graph { ChangeKind::Graphs } else { ChangeKind::Compilation };
        let at = drafts.draft(kind, Subject::Side(region.side));
        let node = diff.region_node(region);
        if drafts.at(at).nodes.is_empty() {
            drafts.at(at).position = drafts.position_above(node);
        }
        drafts.add_root(at, node);
        let other = region.side.other();
        let draft = drafts.at(at);
        draft.name(region.side, "region");
        let launches = |side: Side, call| {
            let tree = diff.tree(side);
            tree.gpu_events(call)
        };
        for &call in &region.replaced {
            draft.name(other, "call");
            let count = launches(other, call) as u64;
            *draft.names[other].entry("kernel".to_owned()).or_default() += count;
        }
        let count = launches(region.side, region.call) as u64;
        *draft.names[region.side].entry("kernel".to_owned()).or_default() += count;
        for &call in &region.replaced {
            drafts.add_root(at, diff.merged().of(other, call));
        }
    }
    divided(drafts);
}

/// Reports that the two sides split compiled code into different numbers of functions. If only one side compiles code
/// in the compared steps, also records this in the compilation change.
fn divided(drafts: &mut Drafts<'_>) {
    let code = PerSide::from_fn(|side| Compiled::of(drafts.diff, drafts.compared, side));
    let count = code.as_ref().map(|code| code.functions);
    let steps = PerSide::from_fn(|side| drafts.wall.totals(side).steps.max(1));
    let is_on_both = count.baseline > 0 && count.candidate > 0;
    if is_on_both && count.baseline * steps.candidate != count.candidate * steps.baseline {
        let at = drafts.draft(ChangeKind::Compilation, Subject::Divided);
        drafts.at(at).counts = Some(count);
    }
    // If only one side runs compiled code but the alignment did not find the calls that it replaced, report only how
    // often compiled code is called.
    let has_region = [ChangeKind::Compilation, ChangeKind::Graphs]
        .into_iter()
        .any(|kind| !drafts.find(kind).is_empty());
    if let Some(side) = only(count).filter(|_| !has_region) {
        let at = drafts.draft(ChangeKind::Compilation, Subject::Side(side));
        drafts.at(at).names[side].insert("region".to_owned(), count[side]);
    }
    if code.baseline.is_compiled_now != code.candidate.is_compiled_now {
        for at in drafts.find(ChangeKind::Compilation) {
            for side in Side::BOTH {
                drafts.at(at).marks[side].compiling = code[side].is_compiled_now;
            }
        }
    }
}

/// The side with a nonzero count, if the count of the other side is zero.
fn only(count: PerSide<u64>) -> Option<Side> {
    Side::BOTH.into_iter().find(|&side| count[side] > 0 && count[side.other()] == 0)
}

/// The compiled code in the compared steps of one side.
struct Compiled {
    /// Number of calls to compiled functions that are differentiable or, if there are none, number of calls to compiled
    /// regions.
    functions: u64,
    /// Whether code is compiled in the compared steps.
    is_compiled_now: bool,
}

impl Compiled {
    fn of(diff: &TraceDiff, compared: &StepPairs, side: Side) -> Compiled {
        let tree = diff.tree(side);
        let trace = tree.trace();
        let mut known: ByName<Option<usize>> = ByName::new(trace);
        let mut counts = [0, 0, 0];
        let is_event = |call: &CallId| matches!(tree.kind(*call), CallKind::Op | CallKind::Frame);
        for call in tree.calls().filter(is_event) {
            let name = trace.name_id(tree.event(call).expect("every op and frame has an event"));
            let kind = known.get(name, || match trace.text(name) {
                "CompiledFunction" => Some(0),
                name if name.starts_with("Torch-Compiled Region: ") => Some(1),
                name if is_compiling(name) => Some(2),
                _ => None,
            });
            if let Some(kind) = kind.filter(|_| compared.is_compared(diff, side, call)) {
                counts[kind] += 1;
            }
        }
        let functions = if counts[0] > 0 { counts[0] } else { counts[1] };
        Compiled { functions, is_compiled_now: counts[2] > 0 }
    }
}
