//! [`Analysis`] → whether the two traces may be compared at all, as notes with a code and a hint.
//!
//! The codes that begin with `DIFFERENT_` are about both sides: they say that the traces are not of
//! the same work. The others are about one side: what it cannot tell. What was odd about a file or
//! its nesting stands in the notes of the trace and the tree (`LAUNCH_NOT_CAPTURED`,
//! `BROKEN_NESTING`, `REPAIRED_JSON`, …) and is not said again here.

use super::robust::median;
use super::{Analysis, modules};
use crate::program::{
    Architecture, Damage, Footing, Found, LOST_LAUNCHES, Measure, Obstacle, Stack, StackKind, Steps,
};
use crate::side::{PerSide, Side};
use crate::trace::{Category, Nanos, Note, Notes, TextId};
use crate::tree::{CallId, CallKind, CallTree};

/// These say that the sides did not do the same work, or that some of it was not recorded.
const NOT_COMPARABLE: [&str; 7] = [
    INCOMPLETE,
    "DIFFERENT_ARCHITECTURE",
    "DIFFERENT_MODEL",
    "DIFFERENT_SHAPES",
    "DIFFERENT_DTYPE",
    "DIFFERENT_TOKENS",
    "DIFFERENT_WORLD_SIZE",
];

/// The code of the note that data is missing in a side.
const INCOMPLETE: &str = "INCOMPLETE_TRACE";

/// How many examples a message names.
const EXAMPLES: usize = 4;

/// What limits the comparison of two traces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparability {
    /// What differs between the sides.
    pub both: Notes,
    /// What each side cannot tell.
    pub sides: PerSide<Notes>,
}

impl Comparability {
    /// Checks whether the traces may be compared.
    pub(super) fn of(analysis: &Analysis) -> Comparability {
        let mut found = Comparability::default();
        analysis.check_whole(&mut found.both);
        analysis.check_architecture(&mut found.both);
        let replays = PerSide::from_fn(|side| graph_replay(analysis.tree(side)));
        analysis.check_model(replays.map(|(time, _)| time), &mut found.both);
        analysis.check_arguments(&mut found.both);
        analysis.check_tokens_and_steps(&mut found.both);
        analysis.check_world_size(&mut found.both);
        analysis.check_conditions(&mut found.both);
        for side in Side::BOTH {
            analysis.check_side(side, replays[side], &mut found.sides[side]);
        }
        found
    }

    /// Whether both sides are whole and did the same work, as far as the traces show: no architecture, model, shapes,
    /// types, tokens or world size that differ. Another number of steps is no obstacle, nor are another
    /// device, version, recording option, rank or backend, which are told.
    pub fn is_comparable(&self) -> bool {
        self.obstacles().next().is_none()
    }

    /// The notes that say that the traces are not of the same work.
    pub fn obstacles(&self) -> impl Iterator<Item = &Note> {
        NOT_COMPARABLE.iter().filter_map(|code| self.both.get(code))
    }
}

/// Those of the notes that say that another model ran.
const OTHER_MODEL: [&str; 2] = ["DIFFERENT_MODEL", "DIFFERENT_ARCHITECTURE"];

impl Analysis {
    /// Why a limit of the time says nothing of these sides: none where it can be checked. Another device
    /// is among them: who compares two devices on purpose passes over it.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let footings = PerSide::from_fn(|side| Footing::of(self.diff().program(side)));
        let mut found = Obstacle::between(footings.as_ref(), LOST_LAUNCHES);
        let other = OTHER_MODEL.iter().filter_map(|code| self.comparability().both.get(code));
        found.extend(other.map(|note| Obstacle::OtherProgram(note.message.clone())));
        found
    }

    /// Whether the traces may be compared.
    pub fn comparability(&self) -> &Comparability {
        self.cached.comparability.get_or_init(|| Comparability::of(self))
    }

    /// What is missing in each side: `candidate: 3 of 785 launches (0.4%) without a GPU event …`. GPU events
    /// without a launch are in the totals, so that they prevent no comparison.
    pub fn damage(&self) -> Vec<String> {
        let of_side = |side: Side| {
            let damage = Damage::of(self.diff().program(side).evidence());
            let lost = damage.into_iter().filter(|what| !matches!(what, Damage::Unlaunched(..)));
            lost.map(move |what| format!("{}: {what}", side.label()))
        };
        Side::BOTH.into_iter().flat_map(of_side).collect()
    }

    fn check_whole(&self, notes: &mut Notes) {
        let damage = self.damage();
        notes.add(
            INCOMPLETE,
            damage.len() as u64,
            "compare whole recordings: what is missing counts as no time",
            || damage.join("; "),
        );
    }

    /// Two architectures, each told by more than a little evidence.
    fn check_architecture(&self, notes: &mut Notes) {
        let found = PerSide::from_fn(|side| self.diff().program(side).architecture());
        let told = found.map(|found| found.filter(|found| !found.is_thin));
        if let PerSide { baseline: Some(one), candidate: Some(two) } = told {
            notes.add(
                "DIFFERENT_ARCHITECTURE",
                u64::from(one.what != two.what),
                "compare two runs of one model",
                || {
                    let told = |found: &Found<Architecture>| {
                        format!("{} ({})", found.what.label(), found.evidence.join(", "))
                    };
                    format!("the models are of two kinds: {} | {}", told(one), told(two))
                },
            );
        }
    }

    fn check_model(&self, replayed: PerSide<Nanos>, notes: &mut Notes) {
        let classes = PerSide::from_fn(|side| modules::classes(self.tree(side)));
        let stacks = PerSide::from_fn(|side| self.layers(side).stacks());
        let hides_modules = |side: Side| {
            let replayed = replayed[side] + replayed[side];
            classes[side].is_empty() || replayed > self.account().totals[side].time
        };
        let differing = match Side::BOTH.into_iter().any(hides_modules) {
            true => differing_layers(stacks),
            false => modules::differing(self),
        };
        notes.add(
            "DIFFERENT_MODEL",
            differing.len() as u64,
            "compare two runs of one model, or read the one-sided rows as the change that was made",
            || format!("the models differ in {}", examples(&differing)),
        );
    }

    /// Shapes and types of the ops that both sides have.
    fn check_arguments(&self, notes: &mut Notes) {
        let [shapes, types] = self.differing_arguments();
        notes.add(
            "DIFFERENT_SHAPES",
            shapes.len() as u64,
            "compare runs with the same batch, sequence length and model size",
            || format!("{} paired ops have other shapes: {}", shapes.len(), examples(&shapes)),
        );
        notes.add(
            "DIFFERENT_DTYPE",
            types.len() as u64,
            "compare runs with the same precision, unless the precision is the change",
            || format!("{} paired ops have other types: {}", types.len(), examples(&types)),
        );
    }

    /// The paired ops with accounted work that both sides recorded with other shapes, and those with
    /// other types.
    fn differing_arguments(&self) -> [Vec<String>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        let (a, b) = (self.tree(Side::Baseline), self.tree(Side::Candidate));
        let counts = |call| self.measure() == Measure::HostSelfTime || a.is_gpu_path(call);
        for call in a.calls().filter(|&call| a.kind(call) == CallKind::Op && counts(call)) {
            let is_common = self.diff().relation(Side::Baseline, call).is_common();
            let partner = self.diff().partner(Side::Baseline, call).filter(|_| is_common);
            let both =
                partner.and_then(|partner| Some((a.arguments(call)?, b.arguments(partner)?)));
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

    fn check_tokens_and_steps(&self, notes: &mut Notes) {
        let steps = PerSide::from_fn(|side| self.steps(side));
        let counts = steps.map(Steps::len);
        let names = Side::BOTH.map(|side| self.side_name(side));
        notes.add(
            "DIFFERENT_STEP_COUNT",
            u64::from(counts.baseline != counts.candidate),
            "totals are of all steps; read the per-step figures, or choose steps with --steps",
            || {
                let [a, b] = names;
                let steps = format!("steps: {} in {a}, {} in {b}", counts.baseline, counts.candidate);
                match self.wall().paired_steps() {
                    Some(paired) => {
                        let alone = counts.baseline + counts.candidate - 2 * paired as usize;
                        format!("{steps}; {alone} without a counterpart are left out of per-step figures, causes and verdicts")
                    }
                    None => steps,
                }
            },
        );
        let tokens = steps.as_ref().map(|steps| {
            let told = steps.spans().iter().filter_map(|step| step.tokens);
            let told: Vec<f64> = told.map(|tokens| tokens as f64).collect();
            (!told.is_empty()).then(|| median(&told))
        });
        if let PerSide { baseline: Some(one), candidate: Some(two) } = tokens {
            notes.add(
                "DIFFERENT_TOKENS",
                u64::from(one != two),
                "compare steps that compute as many tokens, or read the per-token columns",
                || {
                    let [a, b] = names;
                    format!("the median step computes {one} tokens in {a} and {two} in {b}")
                },
            );
        }
    }

    fn check_world_size(&self, notes: &mut Notes) {
        let size = |side: Side| self.tree(side).trace().header().distributed.as_ref()?.world_size;
        if let (Some(one), Some(two)) = (size(Side::Baseline), size(Side::Candidate)) {
            notes.add(
                "DIFFERENT_WORLD_SIZE",
                u64::from(one != two),
                "compare runs on as many ranks",
                || {
                    let [a, b] = Side::BOTH.map(|side| self.side_name(side));
                    format!("{a} is of {one} ranks, {b} of {two}")
                },
            );
        }
    }

    fn check_side(&self, side: Side, (replayed, launches): (Nanos, u64), notes: &mut Notes) {
        let tree = self.tree(side);
        let total = self.account().totals[side].time;
        notes.add(
            "GRAPH_REPLAY",
            launches,
            "record without CUDA/HIP graphs to see which op launched each kernel",
            || {
                format!(
                    "{} of the GPU time is replayed by {launches} graph launches",
                    percent(replayed, total)
                )
            },
        );
        notes.add(
            "NO_PYTHON_STACKS",
            u64::from(!has_stacks(tree)),
            "profile with with_stack=True",
            || match has_stacks(self.tree(side.other())) {
                true => format!(
                    "{} has no Python frames and {} has: it was compared without its frames, which are shown on its side alone; modules and layers are known of {} only",
                    side.label(),
                    side.other().label(),
                    side.other().label()
                ),
                false => "the trace has no Python frames: modules and layers are not known".to_owned(),
            },
        );
        let has_shapes = tree.trace().all_arguments().iter().any(|a| a.dims != TextId::EMPTY);
        notes.add("NO_SHAPES", u64::from(!has_shapes), "profile with record_shapes=True", || {
            "the trace has no input shapes: ops are paired without them".to_owned()
        });
        let early = early_events(tree);
        notes.add(
            "CLOCK_SKEW",
            early,
            "idle time and gaps of this trace are unreliable; durations are not affected",
            || format!("{early} GPU events start before the call that launched them"),
        );
    }
}

/// Asked of the trace: frames that the user left out of the tree were recorded.
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

/// Shapes of lists can be very long.
fn shortened(text: &str) -> String {
    const MOST: usize = 160;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn percent(part: Nanos, whole: Nanos) -> String {
    format!("{:.1} %", 100.0 * part.as_micros() / whole.as_micros().max(f64::MIN_POSITIVE))
}

/// Layers are compared where both sides have some: a graph replay calls no module, and an eager trace
/// may be set against it. A model has as many graphs as batch sizes, each with all of its layers.
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
    match one.is_empty() || two.is_empty() || one == two {
        true => Vec::new(),
        false => {
            let how = if of_graphs { ", as the kernels of graphs repeat" } else { "" };
            vec![format!("layers ({one:?} | {two:?}{how})")]
        }
    }
}

/// GPU time at graph launches, below no captured call, and the number of these launches.
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

/// GPU events that start before their launch by more than the noise of the clocks.
fn early_events(tree: &CallTree) -> u64 {
    const NOISE: Nanos = Nanos(1_000);
    let start = |call| tree.event(call).map(|event| tree.trace().start(event));
    let is_early = |event| {
        let launched = tree.running_launch(event).and_then(start);
        start(event).zip(launched).is_some_and(|(start, launched)| start + NOISE < launched)
    };
    tree.calls().filter(|&c| tree.kind(c) == CallKind::Gpu && is_early(c)).count() as u64
}
