//! Describes a change in one sentence without a full stop.

use super::counts::is_accumulation;
use super::draft::{Draft, Operand, Switched};
use super::kind::ChangeKind;
use super::optimizer::{self, Reason};
use super::phrases::{
    NAMED, counts_of, first, list, outermost_ops, short, sites, top_pair, value, within,
};
use super::rules::calls::{backend, is_read};
use super::scale::Scale;
use super::subject::{OpFamily, Subject};
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::counted;
use crate::side::{PerSide, Side};
use crate::trace::{Argument, TextId};
use crate::tree::CallId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Whether the shapes of the tensors of a change were recorded on both sides.
fn has_shapes(diff: &TraceDiff, draft: &Draft) -> bool {
    let is_recorded = |(side, call): (Side, CallId)| {
        let arguments = diff.tree(side).arguments(call);
        arguments.is_some_and(|arguments| arguments.text(Argument::Shape) != TextId::EMPTY)
    };
    draft.nodes.iter().any(|&node| diff.merged().node(node).calls().all(is_recorded))
}

/// Whether the calls of a change on a side launch captured graphs.
fn launches_graph(diff: &TraceDiff, draft: &Draft) -> PerSide<bool> {
    PerSide::from_fn(|side| {
        let tree = diff.tree(side);
        let mut calls = draft.nodes.iter().filter_map(|&node| diff.merged().node(node).call(side));
        calls.any(|call| tree.subtree(call).any(|below| tree.is_graph_launch(below)))
    })
}

pub(super) fn sentence(diff: &TraceDiff, draft: &Draft, scale: Scale) -> String {
    if draft.stated.is_some() {
        return draft.subject.sentence().to_owned();
    }
    let ops = outermost_ops(diff, draft);
    let sites = sites(draft, ops, scale);
    let position = draft.position.words();
    match draft.kind {
        ChangeKind::Environment if draft.subject == Subject::Libraries => {
            top_pair(draft).0.to_owned()
        }
        ChangeKind::Environment => {
            let messages: Vec<&str> = draft.pairs.keys().map(|pair| pair.0.as_str()).collect();
            format!("The environments differ ({})", messages.join("; "))
        }
        ChangeKind::Compilation if draft.subject == Subject::Divided => {
            let count = draft.counts.unwrap_or_default();
            let (unit, per) = scale.unit(&[count]);
            let two = counted(count.candidate / unit.candidate, "compiled function");
            format!("{two} instead of {}{per}", count.baseline / unit.baseline)
        }
        ChangeKind::Compilation => {
            region_words(draft, scale, "compiled region") + &compiling(draft)
        }
        ChangeKind::Graphs if draft.subject == Subject::Whole => {
            let words = match launches_graph(diff, draft) {
                PerSide { baseline: true, candidate: true } => "Other captured graphs are launched",
                PerSide { baseline: true, candidate: false } => {
                    "Captured graphs are no longer launched"
                }
                PerSide { baseline: false, candidate: _ } => "Captured graphs are launched",
            };
            format!("{words}{}", after_space(&position))
        }
        ChangeKind::Graphs => region_words(draft, scale, "graph launch"),
        ChangeKind::Precision if draft.subject == Subject::Autocast => {
            let (_, no_longer) = only_side(draft.names.baseline.is_empty());
            format!("torch.autocast {no_longer}sets the types of inputs{}", after_space(&position))
        }
        ChangeKind::Precision => {
            let (one, two) = top_pair(draft);
            format!("Inputs are {two} instead of {one} {sites}")
        }
        ChangeKind::MathMode => {
            let (one, two) = top_pair(draft);
            format!("{} in {two} instead of {one} {sites}", family_runs(draft)) + &switched(draft)
        }
        ChangeKind::KernelSelection => {
            let is_autograd = || first(&draft.names.baseline).contains("autograd::");
            let same = match (ops == 0, has_shapes(diff, draft)) {
                (true, _) => "",
                // A node of autograd records its gradients, but not the tensors that it saved in the forward pass.
                (false, true) if is_autograd() => " for the same gradients",
                (false, true) => " for the same tensors",
                (false, false) => " (shapes were not recorded)",
            };
            let other = format!("different kernels{same}");
            format!("{} {other} {sites}", family_runs(draft)) + &switched(draft)
        }
        ChangeKind::Shapes if draft.subject == Subject::Reshaped => {
            format!("Inputs have the same size in other dimensions {sites}")
        }
        ChangeKind::Shapes => match &draft.operand {
            Some(Operand { name, sizes, .. }) => {
                format!("The {name} is {} instead of {} {sites}", sizes.candidate, sizes.baseline)
            }
            None => sizes(draft, &sites),
        },
        ChangeKind::MemoryFormat => {
            let (one, two) = top_pair(draft);
            format!("Tensors are {two} instead of {one} {sites}")
        }
        ChangeKind::Attention => attention(draft, scale, &sites),
        ChangeKind::Checkpointing => {
            let (side, no_longer) = only_side(!draft.names.candidate.is_empty());
            let (unit, per) = scale.unit(&counts_of(draft));
            let calls = list(&draft.names[side], unit[side]);
            format!("The backward pass {no_longer}runs {calls} again{per}")
        }
        ChangeKind::Layers => layers(draft, scale),
        ChangeKind::Optimizer => optimizer(diff, draft, scale),
        ChangeKind::HostRead => {
            let is_added = draft.names.candidate.keys().any(|name| is_read(name));
            let (side, no_longer) = only_side(is_added);
            let (unit, per) = scale.unit(&counts_of(draft));
            let (at, calls) = (after_space(&position), list(&draft.names[side], unit[side]));
            format!("The host {no_longer}reads a value of a tensor{at}: {calls}{per}")
        }
        ChangeKind::InputPipeline if draft.subject == Subject::Copies => {
            let (one, two) = top_pair(draft);
            format!(
                "Copies to the device use {} memory instead of {} {sites}",
                two.to_lowercase(),
                one.to_lowercase()
            )
        }
        ChangeKind::Arguments if draft.subject == Subject::Tensors => {
            let (side, no_longer) = only_side(draft.names.baseline.is_empty());
            let names: Vec<&str> =
                draft.names[side].keys().take(NAMED).map(String::as_str).collect();
            let is = if names.len() > 1 { "are" } else { "is" };
            let names = names.join(", ");
            format!(
                "{names} {is} {no_longer}called with an optional tensor, such as a bias, {sites}"
            )
        }
        ChangeKind::Arguments => {
            let (one, two) = top_pair(draft);
            let op = first(&draft.names.baseline);
            let setting = draft.switched.as_ref().map(|switched| switched.name).or(draft.parameter);
            let setting = setting.map_or_else(String::new, |name| format!("{name} = "));
            let (one, two) = (value(one), value(two));
            format!("{op} is called with {setting}{two} instead of {one} {sites}")
        }
        ChangeKind::InputPipeline => match workers(diff) {
            Some(Side::Candidate) => "The data loader runs in worker processes".to_owned(),
            Some(Side::Baseline) => "The data loader runs in the main process".to_owned(),
            None => replaced(draft, scale, "in the data loader"),
        },
        ChangeKind::Collectives => replaced(draft, scale, "among the collectives"),
        ChangeKind::Ops if draft.subject == Subject::Anomaly => {
            let (_, no_longer) = only_side(draft.names.baseline.is_empty());
            format!("Anomaly detection {no_longer}checks the results of the backward pass {sites}")
        }
        ChangeKind::Ops if counts_gradients(draft) => {
            let (unit, per) = scale.unit(&counts_of(draft));
            let counts =
                PerSide::from_fn(|side| draft.names[side].values().sum::<u64>() / unit[side]);
            let (_, no_longer) = only_side(counts.candidate > counts.baseline);
            let count = counted(counts.baseline.abs_diff(counts.candidate), "parameter");
            format!("{count} {no_longer}get a gradient{per}")
        }
        ChangeKind::Ops if draft.subject == Subject::Order => {
            format!("The same calls run in a different order {sites}{}", after_space(&position))
        }
        ChangeKind::Ops => {
            let backward = if draft.has_backward { ", with their backward" } else { "" };
            let is_launched = matches!(draft.subject, Subject::Launched(_));
            let launched = if is_launched { " launched outside of ops" } else { "" };
            replaced(draft, scale, &position) + launched + backward
        }
        ChangeKind::Python if matches!(draft.subject, Subject::GradientMode(_)) => {
            let at = after_space(&position);
            format!(
                "torch.no_grad, torch.inference_mode or torch.enable_grad was added or removed{at}"
            )
        }
        ChangeKind::Python if matches!(draft.subject, Subject::Schedule(_)) => {
            let (_, no_longer) = only_side(!draft.names.candidate.is_empty());
            format!("A schedule {no_longer}sets the learning rate{}", after_space(&position))
        }
        ChangeKind::Python => replaced(draft, scale, &position) + &other_functions(draft),
        ChangeKind::Leak | ChangeKind::Memory | ChangeKind::Workspace => {
            draft.subject.sentence().to_owned()
        }
        ChangeKind::Allocator if draft.subject != Subject::Whole => {
            draft.subject.sentence().to_owned()
        }
        ChangeKind::Allocator => {
            let (side, _) = only_side(!draft.names.candidate.is_empty());
            let (unit, per) = scale.unit(&counts_of(draft));
            let calls: Vec<String> = draft.names[side]
                .iter()
                .map(|(name, count)| counted(count / unit[side], name))
                .collect();
            format!(
                "Only the {} calls the driver to allocate or free device memory: {}{per}",
                side.word(),
                calls.join(", ")
            )
        }
        ChangeKind::Synchronization => {
            let (side, no_longer) = only_side(draft.names.baseline.is_empty());
            let (unit, per) = scale.unit(&counts_of(draft));
            let calls = list(&draft.names[side], unit[side]);
            let at = after_space(&position);
            format!("The host {no_longer}waits for the GPU{at}: {calls}{per}")
        }
        ChangeKind::Streams => {
            let PerSide { baseline, candidate } = draft.counts.unwrap_or_default();
            format!("GPU work runs on {candidate} instead of {baseline} streams")
        }
        ChangeKind::WarmUp if draft.marks != PerSide::default() => {
            let (side, _) = only_side(draft.marks.candidate.compiling);
            format!("Only the {} compiles code in the measured steps", side.word())
        }
        ChangeKind::WarmUp => {
            let (side, _) = only_side(draft.names.baseline.is_empty());
            let calls = list(&draft.names[side], 1);
            format!("Only the {} loads GPU code in the measured steps: {calls}", side.word())
        }
        ChangeKind::Recording if draft.subject == Subject::Layers => {
            "The recordings contain different layers".to_owned()
        }
        ChangeKind::Recording if draft.subject == Subject::Nesting => {
            "Times in whole microseconds do not show how some calls nest".to_owned()
        }
        ChangeKind::Recording => recording(draft),
    }
}

/// The side that alone does what a sentence says, and what precedes the verb of the sentence: nothing, or `no longer `
/// if the candidate does not do it.
fn only_side(is_added: bool) -> (Side, &'static str) {
    if is_added { (Side::Candidate, "") } else { (Side::Baseline, "no longer ") }
}

/// Puts a space before `words`; returns an empty string if `words` is empty.
fn after_space(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" {words}") }
}

/// The ops whose kernels or math mode changed, such as `Convolutions run` or `aten::cumsum runs`.
fn family_runs(draft: &Draft) -> String {
    match draft.subject.family() {
        Some(family @ (OpFamily::Convolutions | OpFamily::MatrixProducts)) => {
            format!("{family} run")
        }
        Some(family @ (OpFamily::Attention | OpFamily::Op(_))) => format!("{family} runs"),
        None => "Ops run".to_owned(),
    }
}

/// Whether all calls in a change accumulate gradients, and one side has more such calls.
fn counts_gradients(draft: &Draft) -> bool {
    let [one, two] = [&draft.names.baseline, &draft.names.candidate];
    one.values().sum::<u64>() != two.values().sum::<u64>()
        && one.keys().chain(two.keys()).all(|name| is_accumulation(name))
}

/// A sentence such as `Only the candidate was recorded with Python stacks`.
fn recording(draft: &Draft) -> String {
    let of = |(at, side): (usize, Side)| {
        let only = if at == 0 { "Only" } else { "only" };
        let parts: Vec<&str> = draft.names[side].keys().map(String::as_str).collect();
        format!("{only} the {} was recorded with {}", side.word(), parts.join(" and "))
    };
    let sides = Side::BOTH.into_iter().filter(|&side| !draft.names[side].is_empty());
    sides.enumerate().map(of).collect::<Vec<String>>().join(", ")
}

/// A suffix such as `; the candidate also compiles code in the measured steps`.
fn compiling(draft: &Draft) -> String {
    let compiles = Side::BOTH.into_iter().find(|&side| draft.marks[side].compiling);
    compiles.map_or_else(String::new, |side| {
        format!("; the {} also compiles code in the measured steps", side.word())
    })
}

/// A suffix such as ` (cudnn.benchmark is True instead of False)`.
fn switched(draft: &Draft) -> String {
    draft.switched.as_ref().map_or_else(String::new, |Switched { name, values }| {
        let (one, two) = (value(&values.baseline), value(&values.candidate));
        format!(" ({name} is {two} instead of {one})")
    })
}

/// A sentence such as `2 compiled regions replace 279 calls per step`.
fn region_words(draft: &Draft, scale: Scale, noun: &str) -> String {
    let is_removed = draft.subject == Subject::Side(Side::Baseline);
    let (side, _) = only_side(!is_removed);
    let other = side.other();
    let count = |side: Side, name: &str| draft.names[side].get(name).copied().unwrap_or_default();
    let [regions, calls, kernels, before] = [
        count(side, "region"),
        count(other, "call"),
        count(side, "kernel"),
        count(other, "kernel"),
    ];
    let one = |mine: u64, theirs: u64| PerSide::seen_from(side, mine, theirs);
    let (unit, per) = scale.unit(&[one(regions, calls), one(kernels, before)]);
    let [regions, calls, kernels, before] =
        [regions / unit[side], calls / unit[other], kernels / unit[side], before / unit[other]];
    let what = counted(regions, noun);
    let verb = match (is_removed, regions) {
        (false, 1) => "replaces",
        (false, _) => "replace",
        (true, 1) => "is gone; it replaced",
        (true, _) => "are gone; they replaced",
    };
    let kernels = match kernels + before {
        0 => String::new(),
        _ => format!(
            " ({} instead of {})",
            counted(if is_removed { before } else { kernels }, "kernel"),
            if is_removed { kernels } else { before }
        ),
    };
    format!("{what} {verb} {}{per}{kernels}", counted(calls, "call"))
}

/// A sentence such as `Inputs are 2x as large at 3 ops (dimension 0: 8 → 16)`.
fn sizes(draft: &Draft, sites: &str) -> String {
    let mut sizes: Vec<(&(usize, u64, u64), &u64)> = draft.sizes.iter().collect();
    sizes.order_by_key(|(of, count)| (Reverse(**count), *of));
    let ratio = |&(_, one, two): &(usize, u64, u64)| two as f64 / one as f64;
    let all: u64 = sizes.iter().map(|(_, count)| **count).sum();
    let Some((top, _)) = sizes.first() else {
        return format!("Inputs have different shapes {sites}");
    };
    let common = ratio(top);
    let same = || sizes.iter().filter(|(of, _)| ratio(of) == common);
    let shown: Vec<String> = same()
        .take(2)
        .map(|((dimension, one, two), _)| format!("dimension {dimension}: {one} → {two}"))
        .collect();
    let what = match common {
        _ if 2 * same().map(|(_, count)| **count).sum::<u64>() < all => {
            "Inputs have different shapes".to_owned()
        }
        1.0.. => format!("Inputs are {}x as large", short(common)),
        _ => format!("Inputs are {}x smaller", short(1.0 / common)),
    };
    format!("{what} {sites} ({})", shown.join(", "))
}

fn attention(draft: &Draft, scale: Scale, sites: &str) -> String {
    let backends = PerSide::from_fn(|side| {
        let names = draft.names[side].keys();
        names.filter_map(|name| backend(name)).next()
    });
    match (backends.baseline, backends.candidate) {
        (Some(a), Some(b)) if a != b => format!("Attention runs {b} instead of {a} kernels"),
        (Some(a), None) => format!("Attention no longer runs {a} kernels"),
        (None, Some(b)) => format!("Attention runs {b} kernels"),
        _ if draft.names == PerSide::default() => format!("Attention runs different ops {sites}"),
        _ => format!("Attention: {}", replaced(draft, scale, "")),
    }
}

/// A sentence such as `3 instead of 4 Block calls per step`.
fn layers(draft: &Draft, scale: Scale) -> String {
    let class = draft.subject.class();
    let count = draft.counts.unwrap_or_default();
    let (unit, per) = scale.unit(&[count]);
    let [one, two] = Side::BOTH.map(|side| count[side] / unit[side]);
    format!("{two} instead of {one} {class} calls{per}")
}

/// A sentence such as `aten::relu instead of aten::gelu in Mlp (train.py: forward)`.
fn replaced(draft: &Draft, scale: Scale, position: &str) -> String {
    let (unit, per) = scale.unit(&counts_of(draft));
    let mut names = draft.names.baseline.keys().chain(draft.names.candidate.keys());
    let has_ops = names.any(|name| name.contains("::"));
    let only = PerSide::from_fn(|side| {
        let more = draft.names[side].iter().filter_map(|(name, &count)| {
            let other = draft.names[side.other()].get(name).copied().unwrap_or_default();
            let (own, other) = (count / unit[side], other / unit[side.other()]);
            let is_frame = name.contains(".py") || name.starts_with('<');
            (own > other && !(is_frame && has_ops)).then(|| (name.clone(), own - other))
        });
        more.collect::<BTreeMap<String, u64>>()
    });
    let at = after_space(position);
    let [one, two] = Side::BOTH.map(|side| within(draft, side, &only[side]));
    match (only.baseline.is_empty(), only.candidate.is_empty()) {
        (true, true) => format!("The same calls run in a different order or nesting{at}"),
        (true, false) => format!("Added{at}: {two}{per}"),
        (false, true) => format!("Removed{at}: {one}{per}"),
        (false, false) => format!("{two} instead of {one}{at}{per}"),
    }
}

/// The side whose data loader has worker processes, if the other side's data loader has none.
fn workers(diff: &TraceDiff) -> Option<Side> {
    let has = |side: Side, word: &str| {
        let trace = diff.tree(side).trace();
        trace.events().any(|event| trace.name(event).contains(word))
    };
    Side::BOTH.into_iter().find(|&side| {
        has(side, "_MultiProcessingDataLoaderIter")
            && !has(side.other(), "_MultiProcessingDataLoaderIter")
            && has(side.other(), "_SingleProcessDataLoaderIter")
    })
}

/// A suffix such as `, and Python calls at 3 other positions`.
fn other_functions(draft: &Draft) -> String {
    match draft.other_positions {
        0 => String::new(),
        count => format!(", and Python calls at {}", counted(count, "other position")),
    }
}

/// A sentence such as `The optimizer is AdamW instead of SGD` or `AdamW runs fused instead of foreach`.
fn optimizer(diff: &TraceDiff, draft: &Draft, scale: Scale) -> String {
    let (reason, name) = optimizer::reason(diff, draft);
    match reason {
        Reason::Class(class) => {
            format!("The optimizer is {} instead of {}", class.candidate, class.baseline)
        }
        Reason::Implementation(runs) => {
            format!("{name} runs {} instead of {}", runs.candidate, runs.baseline)
        }
        Reason::Groups(groups) => format!(
            "{name} has {} instead of {}",
            counted(groups.candidate as u64, "parameter group"),
            groups.baseline
        ),
        Reason::Zeroed(side) => {
            let (_, no_longer) = only_side(side == Side::Candidate);
            let (unit, per) = scale.unit(&counts_of(draft));
            let ops = draft.names[side].iter().filter(|(name, _)| name.contains("::"));
            let ops = ops.map(|(name, &count)| (name.clone(), count)).collect();
            let calls = list(&ops, unit[side]);
            format!("{name} {no_longer}sets gradients to zero instead of None: {calls}{per}")
        }
        Reason::Calls => format!("{name}: {}", replaced(draft, scale, "")),
    }
}
