//! Checks whether the two traces are comparable, and reports problems as notes with a code and a hint.
//!
//! Codes that begin with `DIFFERENT_` concern both sides: the traces record different work or different conditions. All
//! other codes concern one side, which lacks some data. Problems with a file, or with the nesting of its events, are
//! not repeated here, because the notes about the trace and the call tree already report them (`LAUNCH_NOT_CAPTURED`,
//! `BROKEN_NESTING`, `REPAIRED_JSON`, …).

use super::conditions::Remedies;
use super::layers::LayerPairs;
use super::modules;
use super::robust::median;
use crate::analysis::account::Ledger;
use crate::analysis::conditions::check_conditions;
use crate::analysis::steps::StepPairs;
use crate::diff::{TraceDiff, Window};
use crate::program::{
    Architecture, Damage, Found, LayerId, Measure, Stack, StackKind, Steps, counted,
};
use crate::side::{PerSide, Side};
use crate::trace::{Category, Nanos, Note, Notes, TextId};
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;

/// Codes of the notes that make a comparison invalid: the two sides did different work, or part of the work was not
/// recorded.
const NOT_COMPARABLE: [&str; 8] = [
    INCOMPLETE,
    "DIFFERENT_ARCHITECTURE",
    "DIFFERENT_MODEL",
    "DIFFERENT_SHAPES",
    "DIFFERENT_DTYPE",
    "DIFFERENT_TOKENS",
    "DIFFERENT_WORLD_SIZE",
    "DIFFERENT_WINDOW",
];

/// Code of the note for an incomplete trace.
pub const INCOMPLETE: &str = "INCOMPLETE_TRACE";

/// Maximum number of examples in a message.
const EXAMPLES: usize = 4;

/// The notes about whether two traces are comparable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparability {
    /// Notes about differences between the sides.
    pub both: Notes,
    /// Notes about data that one side lacks, for each side.
    pub sides: PerSide<Notes>,
}

impl Comparability {
    /// Checks whether the traces are comparable.
    pub(super) fn of(
        diff: &TraceDiff,
        ledger: &Ledger,
        compared: &StepPairs,
        names: &PerSide<String>,
        pairs: &LayerPairs,
    ) -> Comparability {
        let mut found = Comparability::default();
        check_whole(diff, names, &mut found.both);
        check_architecture(diff, &mut found.both);
        let replays = PerSide::from_fn(|side| graph_replay(diff.tree(side)));
        check_model(diff, ledger, replays.map(|(time, _)| time), &mut found.both);
        check_windows(diff, ledger, names, pairs, &mut found.both);
        check_arguments(diff, ledger, &mut found.both);
        check_tokens_and_steps(diff, compared, names, &mut found.both);
        check_world_size(diff, names, &mut found.both);
        check_conditions(diff, names, &mut found.both);
        for side in Side::BOTH {
            check_side(diff, ledger, side, replays[side], &mut found.sides[side]);
        }
        found
    }

    /// Whether both traces are complete and, as far as the traces show, record the same work: the same architecture,
    /// model, shapes, types, tokens and world size. The traces may differ in the number of steps, and in device,
    /// versions, recording options, rank and backend.
    #[doc(hidden)]
    pub fn is_comparable(&self) -> bool {
        self.obstacles().next().is_none()
    }

    /// The notes that make the comparison invalid, because a trace is incomplete or the traces record different work.
    #[doc(hidden)]
    pub fn obstacles(&self) -> impl Iterator<Item = &Note> {
        NOT_COMPARABLE.iter().filter_map(|code| self.both.get(code))
    }
}

/// Codes of the notes for traces that record different models, or different layers of the same model.
pub(super) const OTHER_MODEL: [&str; 3] =
    ["DIFFERENT_MODEL", "DIFFERENT_ARCHITECTURE", "DIFFERENT_WINDOW"];

/// Describes the data that is missing from the totals of each side: `after: 3 of 785 launches (0.4%) without a GPU
/// event …`.
#[doc(hidden)]
pub fn damage(diff: &TraceDiff, names: &PerSide<String>) -> Vec<String> {
    let of_side = |side: Side| {
        let damage = Damage::of(diff.program(side).evidence());
        let lost = damage.into_iter().filter(|what| what.is_loss());
        lost.map(move |what| format!("{}: {what}", names[side]))
    };
    Side::BOTH.into_iter().flat_map(of_side).collect()
}

fn check_whole(diff: &TraceDiff, names: &PerSide<String>, notes: &mut Notes) {
    let damage = damage(diff, names);
    notes.add(
        INCOMPLETE,
        damage.len() as u64,
        "compare complete recordings: missing work counts as zero time",
        || damage.join("; "),
    );
}

/// Compares the architectures of the models, if each trace contains enough evidence for its architecture.
fn check_architecture(diff: &TraceDiff, notes: &mut Notes) {
    let found = PerSide::from_fn(|side| diff.program(side).architecture());
    let shown = found.map(|found| found.filter(|found| !found.is_thin));
    if let PerSide { baseline: Some(one), candidate: Some(two) } = shown {
        notes.add(
            "DIFFERENT_ARCHITECTURE",
            u64::from(one.what != two.what),
            "compare two runs of the same model",
            || {
                let shown = |found: &Found<Architecture>| {
                    format!("{} ({})", found.what.label(), found.evidence.join(", "))
                };
                format!("the models have different architectures: {} | {}", shown(one), shown(two))
            },
        );
    }
}

fn check_model(diff: &TraceDiff, ledger: &Ledger, replayed: PerSide<Nanos>, notes: &mut Notes) {
    let stacks = PerSide::from_fn(|side| diff.program(side).layers(ledger.measure()).stacks());
    let hides_modules = |side: Side| {
        let replayed = replayed[side] + replayed[side];
        let has_modules = diff.tree(side).module_calls().next().is_some();
        !has_modules || replayed > ledger.account().totals[side].time
    };
    let differing = if Side::BOTH.into_iter().any(hides_modules) {
        differing_layers(stacks)
    } else {
        modules::differing(diff)
    };
    notes.add(
        "DIFFERENT_MODEL",
        differing.len() as u64,
        "compare two runs of the same model; if the model is the change, look at the rows that only one side has",
        || format!("the models differ in {}", examples(&differing)),
    );
}

/// Reports that the recordings contain different layers, for example because one of them began in the middle of the
/// model.
fn check_windows(
    diff: &TraceDiff,
    ledger: &Ledger,
    names: &PerSide<String>,
    pairs: &LayerPairs,
    notes: &mut Notes,
) {
    let windows = diff.windows();
    let shown = |window: &Window| {
        let [one, two] = Side::BOTH.map(|side| window.shown(side));
        let common = window.common().map_or_else(
            || "the recordings have no layer in common".to_owned(),
            |common| format!("both contain {common}"),
        );
        format!("{} {one} → {two} ({common})", window.class)
    };
    notes.add(
        "DIFFERENT_WINDOW",
        windows.len() as u64,
        "compare individual layers in layers.csv: the totals cover different work",
        || {
            let shown: Vec<String> = windows.iter().map(shown).collect();
            let times = common_layers(diff, ledger, pairs).map_or_else(String::new, |(count, [one, two])| {
                let [a, b] = Side::BOTH.map(|side| &names[side]);
                let layers = counted(count as u64, "layer");
                format!("; the median of the {layers} that both contain takes {one:.3} ms in {a} and {two:.3} ms in {b}")
            });
            format!("the recordings contain different layers: {}{times}", examples(&shown))
        },
    );
}

/// The number of matched layers, and the median of their times on each side in ms; `None` if no layers are matched.
fn common_layers(
    diff: &TraceDiff,
    ledger: &Ledger,
    pairs: &LayerPairs,
) -> Option<(usize, [f64; 2])> {
    let mut times: BTreeMap<(LayerId, LayerId), PerSide<Nanos>> = BTreeMap::new();
    for side in Side::BOTH {
        for &call in ledger.calls(side) {
            let place = pairs.places()[pairs.place_of(side, call)];
            let layers = PerSide::from_fn(|side| place.layer(side));
            if let PerSide { baseline: Some(one), candidate: Some(two) } = layers {
                times.entry((one, two)).or_default()[side] += ledger.time_of(diff, side, call);
            }
        }
    }
    let of = |side: Side| {
        median(&times.values().map(|time| time[side].as_micros() / 1e3).collect::<Vec<_>>())
    };
    (!times.is_empty()).then(|| (times.len(), Side::BOTH.map(of)))
}

/// Compares the shapes and types of the matched ops.
fn check_arguments(diff: &TraceDiff, ledger: &Ledger, notes: &mut Notes) {
    let [shapes, types] = differing_arguments(diff, ledger);
    let mut add = |code, what: &str, ops: &[String], hint: &'static str| {
        let count = ops.len() as u64;
        notes.add(code, count, hint, || {
            format!("different {what} in {}: {}", counted(count, "matched op"), examples(ops))
        });
    };
    let same_work = "compare runs with the same batch, sequence length and model size";
    add("DIFFERENT_SHAPES", "shapes", &shapes, same_work);
    let same_types = "compare runs with the same precision, unless the precision is the change";
    add("DIFFERENT_DTYPE", "types", &types, same_types);
}

/// Lists the matched ops whose recorded shapes differ, and those whose recorded types differ. Ops without measured work
/// are ignored.
fn differing_arguments(diff: &TraceDiff, ledger: &Ledger) -> [Vec<String>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    let (a, b) = (diff.tree(Side::Baseline), diff.tree(Side::Candidate));
    let counts = |call| ledger.measure() == Measure::HostSelfTime || a.is_gpu_path(call);
    for call in a.calls().filter(|&call| a.kind(call) == CallKind::Op && counts(call)) {
        let is_common = diff.relation(Side::Baseline, call).is_common();
        let counterpart = diff.counterpart(Side::Baseline, call).filter(|_| is_common);
        let both = counterpart
            .and_then(|counterpart| Some((a.arguments(call)?, b.arguments(counterpart)?)));
        let Some((one, two)) = both else { continue };
        for (found, (one, two)) in
            found.iter_mut().zip([(one.dims, two.dims), (one.types, two.types)])
        {
            let (one, two) = (a.trace().text(one), b.trace().text(two));
            if !one.is_empty() && !two.is_empty() && one != two {
                found.push(format!("{} {one} | {two}", a.name(call)));
            }
        }
    }
    found
}

fn check_tokens_and_steps(
    diff: &TraceDiff,
    compared: &StepPairs,
    names: &PerSide<String>,
    notes: &mut Notes,
) {
    let steps = PerSide::from_fn(|side| diff.steps(side));
    let counts = steps.map(Steps::len);
    let names = Side::BOTH.map(|side| &names[side]);
    notes.add(
        "DIFFERENT_STEP_COUNT",
        u64::from(counts.baseline != counts.candidate),
        "totals cover all steps: compare the per-step figures, or select steps with --steps",
        || {
            let [a, b] = names;
            let steps = format!("steps: {} in {a}, {} in {b}", counts.baseline, counts.candidate);
            match compared.count() {
                Some(paired) => {
                    let alone = counts.baseline + counts.candidate - 2 * paired as usize;
                    let alone = counted(alone as u64, "step");
                    format!("{steps}; per-step figures exclude {alone} without a counterpart")
                }
                None => steps,
            }
        },
    );
    let tokens = steps.as_ref().map(|steps| {
        let shown = steps.spans().iter().filter_map(|step| step.tokens);
        let shown: Vec<f64> = shown.map(|tokens| tokens as f64).collect();
        (!shown.is_empty()).then(|| median(&shown))
    });
    if let PerSide { baseline: Some(one), candidate: Some(two) } = tokens {
        notes.add(
            "DIFFERENT_TOKENS",
            u64::from(one != two),
            "compare steps with the same number of tokens, or use the per-token columns",
            || {
                let [a, b] = names;
                format!("the median step processes {one} tokens in {a} and {two} in {b}")
            },
        );
    }
}

fn check_world_size(diff: &TraceDiff, names: &PerSide<String>, notes: &mut Notes) {
    let size = |side: Side| diff.tree(side).trace().header().distributed.as_ref()?.world_size;
    if let (Some(one), Some(two)) = (size(Side::Baseline), size(Side::Candidate)) {
        notes.add(
            "DIFFERENT_WORLD_SIZE",
            u64::from(one != two),
            "compare runs with the same number of ranks",
            || {
                let [a, b] = Side::BOTH.map(|side| &names[side]);
                format!("number of ranks: {one} in {a}, {two} in {b}")
            },
        );
    }
}

fn check_side(
    diff: &TraceDiff,
    ledger: &Ledger,
    side: Side,
    (replayed, launches): (Nanos, u64),
    notes: &mut Notes,
) {
    let tree = diff.tree(side);
    let total = ledger.account().totals[side].time;
    let remedies = Remedies::of(tree.trace().header().recorder);
    notes.add("GRAPH_REPLAY", launches, remedies.graphs, || {
        let launches = counted(launches, "graph launch");
        format!("{} of the GPU time is replayed by {launches}", percent(replayed, total))
    });
    notes.add(
        "NO_PYTHON_STACKS",
        u64::from(!has_stacks(tree)),
        remedies.stacks,
        || if has_stacks(diff.tree(side.other())) { format!(
                "{} has no Python frames, so the frames of {} are not matched; modules and layers are known for {} only",
                side.label(),
                side.other().label(),
                side.other().label()
            ) } else { "the trace has no Python frames: modules and layers are unknown".to_owned() },
    );
    let has_shapes = tree.trace().all_arguments().iter().any(|a| a.dims != TextId::EMPTY);
    notes.add("NO_SHAPES", u64::from(!has_shapes), remedies.shapes, || {
        "the trace has no input shapes: ops are matched without shapes".to_owned()
    });
    let early = early_events(tree);
    notes.add(
        "CLOCK_SKEW",
        early,
        "idle times and gaps in this trace are unreliable; durations are not affected",
        || format!("{} started before the launching call", counted(early, "GPU event")),
    );
}

/// Whether the trace records Python frames. Examines the trace instead of the tree, because the user may have excluded
/// recorded frames from the tree.
fn has_stacks(tree: &CallTree) -> bool {
    let trace = tree.trace();
    let is_frame = |event| trace.category(event) == Category::PythonFunction;
    trace.events().any(is_frame) || !trace.call_stacks().is_empty()
}

fn examples(found: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for text in found {
        if !distinct.contains(&text.as_str()) && distinct.len() <= EXAMPLES {
            distinct.push(text);
        }
    }
    let more = distinct.len() > EXAMPLES;
    distinct.truncate(EXAMPLES);
    let short: Vec<String> = distinct.iter().map(|text| shortened(text)).collect();
    format!("{}{}", short.join("; "), if more { "; …" } else { "" })
}

/// Truncates long strings, such as the shapes of tensor lists.
fn shortened(text: &str) -> String {
    const MOST: usize = 160;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn percent(part: Nanos, whole: Nanos) -> String {
    format!("{:.1}%", 100.0 * part.as_micros() / whole.as_micros().max(f64::MIN_POSITIVE))
}

/// Compares the layer counts if both sides have layers. Unlike module calls, layer counts are also known for graph
/// replays. A model may have several graphs, one for each batch size, and each of them contains all layers of the
/// model. Therefore, if there are graphs, equal layer counts of one side are merged.
fn differing_layers(stacks: PerSide<&[Stack]>) -> Vec<String> {
    let is_graph = |stack: &Stack| stack.kind == StackKind::Graph;
    let of_graphs = Side::BOTH.iter().any(|&side| stacks[side].iter().any(is_graph));
    let [one, two] = Side::BOTH.map(|side| {
        let mut layers: Vec<usize> = stacks[side].iter().map(|stack| stack.layers.len()).collect();
        if of_graphs {
            layers.sort_unstable();
            layers.dedup();
        }
        layers
    });
    if one.is_empty() || two.is_empty() || one == two {
        Vec::new()
    } else {
        let how = if of_graphs { ", from repeated kernels in graphs" } else { "" };
        vec![format!("layers ({one:?} | {two:?}{how})")]
    }
}

/// The GPU time of events that are direct children of graph launches instead of captured calls, and the number of these
/// launches.
fn graph_replay(tree: &CallTree) -> (Nanos, u64) {
    let is_gpu = |&call: &CallId| tree.kind(call) == CallKind::Gpu;
    let is_bare =
        |&call: &CallId| tree.is_graph_launch(call) && tree.children(call).any(|c| is_gpu(&c));
    let launches = tree.calls().filter(is_bare);
    launches.fold((Nanos::ZERO, 0), |(time, count), launch| {
        let events = tree.children(launch).filter(is_gpu);
        let below: Nanos = events.map(|event| tree.duration(event)).sum();
        (time + below, count + 1)
    })
}

/// Number of GPU events that start earlier than their launch by more than the clock noise.
fn early_events(tree: &CallTree) -> u64 {
    const NOISE: Nanos = Nanos(1_000);
    let start = |call| tree.event(call).map(|event| tree.trace().start(event));
    let is_early = |event| {
        let launched = tree.running_launch(event).and_then(start);
        start(event).zip(launched).is_some_and(|(start, launched)| start + NOISE < launched)
    };
    tree.calls().filter(|&c| tree.kind(c) == CallKind::Gpu && is_early(c)).count() as u64
}
