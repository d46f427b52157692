//! [`Analysis`] → the figures of each step and each phase, both sides: GPU time, wall, busy, idle.

mod pairs;
mod timeline;

use super::{Analysis, Judgement};
use crate::program::{Communication, Measure, Phase, Phases, Program, StepId, StepSpan, Steps};
use crate::side::{PerSide, Side};
use crate::trace::{Category, Nanos};
use crate::tree::{CallId, CallKind, CallTree};
pub(super) use pairs::StepPairs;
use timeline::{Activity, Occupied};

/// What the accounted events of one group (a step, a phase) come to on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Accounted events.
    pub events: u64,
    /// Calls that launched them.
    pub launches: u64,
    /// Sum of their times; adds up to the account over all groups.
    pub time: Nanos,
    /// Time in which one of them was the first to cover the moment; adds up to the union of all.
    pub busy: Nanos,
    /// Gaps that one of them ended, and the rest after the last one.
    pub idle: Nanos,
    /// Part of `time` in copies and memsets.
    pub copies: Nanos,
    /// Part of `time` in communication kernels.
    pub communication: Nanos,
    /// Time in which only communication, and no other kernel, ran.
    pub exposed_communication: Nanos,
    /// Tokens of the batches, where annotations tell them.
    pub tokens: Option<u64>,
    /// Number of steps with work in the group; 1 for a step.
    pub steps: u64,
}

impl Figures {
    /// Busy + idle; adds up, over all groups, to the time from the first step or event to the last.
    pub fn wall(&self) -> Nanos {
        self.busy + self.idle
    }

    /// Time for each token in µs, where tokens are known.
    pub fn time_per_token_us(&self) -> Option<f64> {
        self.tokens.filter(|&tokens| tokens > 0).map(|tokens| self.time.as_micros() / tokens as f64)
    }

    /// Time for each step in µs, where the trace has steps.
    pub fn time_per_step_us(&self) -> Option<f64> {
        (self.steps > 0).then(|| self.time.as_micros() / self.steps as f64)
    }
}

/// What a row of the steps table stands for, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepPlace {
    /// A step, by its position in the baseline, or in the candidate where the baseline has none.
    Step(StepId),
    /// Work launched in no step.
    Outside,
    /// GPU events whose launch is not in the trace.
    NotCaptured,
}

/// A step on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// What the row stands for.
    pub place: StepPlace,
    /// The steps; `None` where a side has none of it.
    pub steps: PerSide<Option<StepName>>,
    /// What they come to.
    pub figures: PerSide<Figures>,
}

/// How a step is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepName {
    /// Its position on its side.
    pub id: StepId,
    /// Text of the annotation, or `repeat 0`.
    pub name: String,
    /// The phase of the step, where its batches agree on one.
    pub phase: Option<Phase>,
}

/// A phase on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseRow {
    /// The phase.
    pub phase: Phase,
    /// What its work comes to.
    pub figures: PerSide<Figures>,
    /// The verdict on its time and the evidence, with the steps as repeats.
    pub judgement: Judgement,
}

impl Analysis {
    /// The steps of both sides, then the work outside of them. The times add up to the account on both
    /// sides. Where one side has more steps, partners are those that the calls in them have, as for
    /// causes; else steps are paired by position.
    pub fn step_rows(&self) -> Vec<StepRow> {
        self.cached.step_rows.get_or_init(|| self.find_step_rows()).clone()
    }

    fn find_step_rows(&self) -> Vec<StepRow> {
        let steps = PerSide::from_fn(|side| self.steps(side));
        let figures = PerSide::from_fn(|side| self.step_figures(side, steps[side]));
        let in_steps = self.step_places().into_iter().filter_map(|ids| {
            let place = StepPlace::Step(ids.baseline.or(ids.candidate)?);
            let of_step = |side: Side| ids[side].map(|id| figures[side][id.index()]);
            Some(StepRow {
                place,
                steps: PerSide::from_fn(|side| {
                    ids[side].map(|id| self.step_name(side, steps[side], id))
                }),
                figures: PerSide::from_fn(|side| of_step(side).unwrap_or_default()),
            })
        });
        let outside = [StepPlace::Outside, StepPlace::NotCaptured].map(|place| StepRow {
            place,
            steps: PerSide::default(),
            figures: PerSide::from_fn(|side| {
                figures[side][steps[side].len() + usize::from(place == StepPlace::NotCaptured)]
            }),
        });
        let outside = outside
            .into_iter()
            .filter(|row| Side::BOTH.iter().any(|&side| has_any(&row.figures[side])));
        in_steps.chain(outside).collect()
    }

    /// The steps of both sides in order; partners together.
    pub fn step_places(&self) -> Vec<PerSide<Option<StepId>>> {
        if let Some(pairs) = self.wall().step_pairs() {
            return pairs.places();
        }
        let counts = PerSide::from_fn(|side| self.steps(side).len());
        let at = |at: usize, side: Side| (at < counts[side]).then_some(StepId(at as u32));
        let places = 0..counts.baseline.max(counts.candidate);
        places.map(|place| PerSide::from_fn(|side| at(place, side))).collect()
    }

    /// The phases that either side has, in the order of [`Phase::ALL`]. The times add up to the
    /// account on both sides.
    pub fn phase_rows(&self) -> Vec<PhaseRow> {
        let phases = PerSide::from_fn(|side| self.phases(side));
        let figures = PerSide::from_fn(|side| self.phase_figures(side, phases[side]));
        let judged =
            self.judge_groups(Phase::ALL.len(), |side, call| phases[side].phase(call) as usize);
        Phase::ALL
            .into_iter()
            .enumerate()
            .map(|(at, phase)| PhaseRow {
                phase,
                figures: PerSide::from_fn(|side| figures[side][at]),
                judgement: judged[at],
            })
            .filter(|row| Side::BOTH.iter().any(|&side| has_any(&row.figures[side])))
            .collect()
    }

    /// Those of each step, of what was launched outside of steps, and of what nobody launched.
    fn step_figures(&self, side: Side, steps: &Steps) -> Vec<Figures> {
        let (tree, count) = (self.tree(side), steps.len());
        let group = |call: CallId| match steps.step(call) {
            Some(step) => step.index(),
            None if self.is_captured(tree, call) => count,
            None => count + 1,
        };
        let mut figures = self.group_figures(side, steps, count + 2, group);
        for (figures, span) in figures.iter_mut().zip(steps.spans()) {
            (figures.tokens, figures.steps) = (span.tokens, 1);
        }
        figures
    }

    fn phase_figures(&self, side: Side, phases: &Phases) -> Vec<Figures> {
        let steps = self.steps(side);
        let group = |call: CallId| phases.phase(call) as usize;
        let mut figures = self.group_figures(side, steps, Phase::ALL.len(), group);
        for (at, figures) in figures.iter_mut().enumerate() {
            let of_phase = |step: &&StepSpan| step.phase == Some(Phase::ALL[at]);
            let tokens: Option<u64> =
                steps.spans().iter().filter(of_phase).map(|step| step.tokens).sum();
            figures.tokens = tokens.filter(|&tokens| tokens > 0);
            figures.steps = steps.len() as u64;
        }
        figures
    }

    /// The figures of `count` groups; `group` names the group of an accounted call.
    fn group_figures(
        &self,
        side: Side,
        steps: &Steps,
        count: usize,
        group: impl Fn(CallId) -> usize,
    ) -> Vec<Figures> {
        let calls = self.accounted_calls(side).iter().copied();
        let program = self.diff.program(side);
        group_figures((program, self.measure()), steps, calls, count, group)
    }

    fn is_captured(&self, tree: &CallTree, call: CallId) -> bool {
        tree.kind(call) != CallKind::Gpu || tree.launch(call).is_some()
    }

    fn step_name(&self, side: Side, steps: &Steps, id: StepId) -> StepName {
        StepName { id, name: steps.name(self.tree(side), id), phase: steps.span(id).phase }
    }
}

/// The figures of `count` groups of the accounted `calls` of one tree; `group` names that of a call.
pub(crate) fn group_figures(
    (program, measure): (&Program, Measure),
    steps: &Steps,
    calls: impl Iterator<Item = CallId>,
    count: usize,
    group: impl Fn(CallId) -> usize,
) -> Vec<Figures> {
    let (tree, communication) = (program.tree(), program.communication());
    let mut figures = vec![Figures::default(); count];
    let mut occupied = Vec::new();
    let mut launches: Vec<(usize, CallId)> = Vec::new();
    for call in calls {
        let event = tree.event(call).expect("accounted calls are events");
        let at = group(call);
        let activity = activity(tree, communication, call);
        figures[at].add(activity, measure.time(tree, call));
        let launch = launch_of(tree, measure, call).map(|launch| (at, launch));
        // A graph launch has many events, one behind the other.
        if launch != launches.last().copied() {
            launches.extend(launch);
        }
        let (start, end) = (tree.trace().start(event), tree.trace().end(event));
        occupied.push(Occupied { start, end, group: at, activity });
    }
    launches.sort_unstable();
    launches.dedup();
    for (at, _) in launches {
        figures[at].launches += 1;
    }
    let (begin, end) = whole(&occupied, steps);
    if measure == Measure::GpuTime {
        occupied.extend(unselected(tree, begin, end, count));
    }
    let shares = timeline::divide(begin, end, occupied, count + 1);
    for (figures, share) in figures.iter_mut().zip(shares) {
        figures.busy = share.busy;
        figures.idle = share.idle;
        figures.exposed_communication = share.exposed;
    }
    figures
}

/// What the device ran from `begin` to `end` that was not selected, as a group of its own.
fn unselected(
    tree: &CallTree,
    begin: Nanos,
    end: Nanos,
    group: usize,
) -> impl Iterator<Item = Occupied> {
    let spans = tree.trace().unselected().iter();
    let spans = spans.map(move |&(start, until)| (start.max(begin), until.min(end)));
    spans.filter(|(start, until)| start < until).map(move |(start, end)| Occupied {
        start,
        end,
        group,
        activity: Activity::Compute,
    })
}

fn launch_of(tree: &CallTree, measure: Measure, call: CallId) -> Option<CallId> {
    match measure {
        Measure::GpuTime => tree.running_launch(call),
        Measure::HostSelfTime => None,
    }
}

impl Figures {
    fn add(&mut self, activity: Activity, time: Nanos) {
        self.events += 1;
        self.time += time;
        match activity {
            Activity::Compute => {}
            Activity::Copy => self.copies += time,
            Activity::Communication => self.communication += time,
        }
    }
}

fn has_any(figures: &Figures) -> bool {
    figures.events > 0
}

/// From the first step or event to the last.
fn whole(occupied: &[Occupied], steps: &Steps) -> (Nanos, Nanos) {
    let spans = || {
        let events = occupied.iter().map(|event| (event.start, event.end));
        events.chain(steps.spans().iter().map(|step| (step.start, step.end)))
    };
    let begin = spans().map(|span| span.0).min().unwrap_or(Nanos::ZERO);
    (begin, spans().map(|span| span.1).max().unwrap_or(begin))
}

fn activity(tree: &CallTree, communication: &Communication, call: CallId) -> Activity {
    let event = tree.event(call).expect("accounted calls are events");
    match tree.trace().category(event) {
        Category::Memcpy | Category::Memset => Activity::Copy,
        Category::Kernel if communication.is(tree, call) => Activity::Communication,
        Category::Kernel
        | Category::CpuOp
        | Category::PythonFunction
        | Category::Runtime
        | Category::UserAnnotation
        | Category::GpuUserAnnotation => Activity::Compute,
    }
}
