//! Replays both sides to compute the effect of each change on the step time, lower bounds of the step time, and
//! critical paths.

use super::mix::{Changed, How, Mix, PartsOfChange, Taken};
use super::owners::Owners;
use super::patch::Unchanged;
use super::path::{CriticalPath, PathPart};
use super::reason::Reason;
use super::recorded::Recorded;
use super::scenario::Scenario;
use crate::analysis::account::Ledger;
use crate::analysis::changes::Changes;
use crate::analysis::comparability::Comparability;
use crate::analysis::wall::Wall;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::{Damage, is_synchronisation};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;
use std::cmp::Reverse;

/// A replay is rejected if its times differ from the recorded times by more than this share.
const TOLERANCE: f64 = 0.02;
/// The same limit as [`TOLERANCE`], for recordings in which GPU events on several streams depend on each
/// other.
const CROSSING_TOLERANCE: f64 = 0.05;
/// Maximum share of the GPU time that may belong to events whose launch is not in the trace. Above this share, the
/// trace is not replayed.
const UNLAUNCHED: f64 = 0.5;
/// Code of the note about two sides that run different programs.
const OTHER_PROGRAM: &str = "DIFFERENT_ARCHITECTURE";
/// Factors that scale the durations of GPU work. Replays with these factors show whether small differences change the
/// critical path.
const NEAR: [f64; 3] = [0.98, 1.0, 1.02];

/// How a difference between the sides affects the step time. The difference can be a single change, for example, or
/// the host times of all matched calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effect {
    /// Step time of the baseline if only this difference is applied to it, minus the step time of the unchanged
    /// baseline.
    pub alone: Nanos,
    /// Step time of the unchanged candidate, minus the step time of the candidate if only this difference is undone.
    pub last: Nanos,
}

/// The step times in the recording and in the replay of a side, which show how well the replay reproduces the
/// recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct Check {
    /// The step time in the recording.
    pub recorded: Nanos,
    /// The step time in the replay.
    pub replayed: Nanos,
}

/// An assumption that yields a lower bound for the step time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Limit {
    /// Assumes that the host takes no time.
    Host,
    /// Assumes that GPU work takes no time.
    Work,
    /// Assumes that the host never waits for the GPU.
    Waits,
    /// Assumes that communication takes no time, as if all communication were hidden behind other work.
    Communication,
}

impl Limit {
    /// All limits.
    pub const ALL: [Limit; 4] = [Limit::Host, Limit::Work, Limit::Waits, Limit::Communication];

    /// The name of the assumption in tables.
    pub fn label(self) -> &'static str {
        match self {
            Limit::Host => "host_takes_no_time",
            Limit::Work => "gpu_takes_no_time",
            Limit::Waits => "host_never_waits",
            Limit::Communication => "communication_takes_no_time",
        }
    }

    /// Describes the assumption.
    pub fn meaning(self) -> &'static str {
        match self {
            Limit::Host => "lower bound: the host takes no time, as with captured graphs",
            Limit::Work => "lower bound: GPU work takes no time",
            Limit::Waits => "lower bound: the host never waits for the GPU",
            Limit::Communication => "lower bound: communication takes no time",
        }
    }
}

/// How the time per step on a side's critical path divides into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct PathRange {
    /// The time of each [`PathPart`] on the critical path, with GPU work as recorded.
    pub time: [Nanos; PathPart::ALL.len()],
    /// The shortest time of each [`PathPart`] in three replays: with GPU work 2% faster, as recorded, and 2% slower.
    pub least: [Nanos; PathPart::ALL.len()],
    /// The longest time of each [`PathPart`] in three replays: with GPU work 2% faster, as recorded, and 2% slower.
    pub most: [Nanos; PathPart::ALL.len()],
}

/// The dependency graphs of both sides. The replays of these graphs have been checked against the recordings.
#[derive(Debug)]
pub struct Replays {
    pub(super) recorded: PerSide<Recorded>,
    /// Number of steps in each recording.
    steps: PerSide<i64>,
    /// Number of compared steps on each side.
    pub(super) compared: PerSide<i64>,
    /// Time at which the replay of each side ends if nothing is changed.
    pub(super) ends: PerSide<i64>,
}

impl Replays {
    /// Builds the graphs of both sides and checks their replays.
    ///
    /// # Errors
    /// Returns the reason why there is no replay, and the side that cannot be replayed. The side is `None` if the
    /// traces do not record the same work.
    pub fn of(
        diff: &TraceDiff,
        ledger: &Ledger,
        wall: &Wall,
        comparability: &Comparability,
        changes: &Changes,
    ) -> Result<Replays, (Option<Side>, Reason)> {
        if comparability.both.get(OTHER_PROGRAM).is_some() {
            return Err((None, Reason::NotComparable));
        }
        let owners = Owners::of(diff, ledger, changes);
        // Do not use a thread pool: in a forked process, the threads of the pool do not exist.
        let PerSide { baseline, candidate } = PerSide::from_fn(|side| {
            let is_wanted = |call: CallId| owners.may_matter(side, call);
            let of = Recorded::with_points(diff.tree(side), diff.steps(side), &is_wanted);
            of.and_then(|recorded| {
                let damage = Damage::of(diff.program(side).evidence());
                if damage.into_iter().any(Damage::is_loss) {
                    return Err(Reason::Damaged);
                }
                recorded.check()?;
                Ok(recorded)
            })
            .map_err(|reason| (Some(side), reason))
        });
        let recorded = PerSide::new(baseline?, candidate?);
        let steps = PerSide::from_fn(|side| recorded[side].measured.steps.len().max(1) as i64);
        let compared = PerSide::from_fn(|side| wall.totals(side).steps.max(1) as i64);
        let ends = PerSide::from_fn(|side| recorded[side].replay(&Scenario::RECORDED).end);
        Ok(Replays { recorded, steps, compared, ends })
    }

    /// The step time of a side in a scenario.
    pub(crate) fn step_time(&self, side: Side, scenario: &Scenario<'_>) -> Nanos {
        Nanos(self.recorded[side].replay(scenario).end / self.steps[side])
    }

    pub(super) fn mix(&self, diff: &TraceDiff, ledger: &Ledger, changes: &Changes) -> Mix<'_> {
        let owners = Owners::of(diff, ledger, changes);
        let items = PerSide::from_fn(|side| owners.items(side, &self.recorded[side].items));
        let works = PerSide::from_fn(|side| owners.works(side, &self.recorded[side].works));
        Mix::new(self.recorded.as_ref(), diff, items, works)
    }

    fn effect(&self, mix: &Mix<'_>, taken: &Taken) -> Effect {
        let of = PerSide::from_fn(|side| {
            let end = mix.with(side, taken).play().end;
            Nanos((end - self.ends[side]) / self.compared[side])
        });
        Effect { alone: of.baseline, last: -of.candidate }
    }
}

impl Recorded {
    /// Checks that the replay reproduces the time of the whole window and of each step. If there are several
    /// steps, the first step is not checked on its own, because it may wait for earlier work.
    ///
    /// # Errors
    /// Fails if most GPU work has no launch in the trace, or if the replay differs too much from the recording.
    pub fn check(&self) -> Result<(), Reason> {
        if self.unlaunched > UNLAUNCHED {
            return Err(Reason::Launches);
        }
        let replayed = self.replay(&Scenario::RECORDED);
        let tolerance = if self.is_crossing { CROSSING_TOLERANCE } else { TOLERANCE };
        let worst = self.errors(&replayed.steps, replayed.end);
        let worst = worst.into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
        if worst.abs() > tolerance { Err(Reason::NotReproduced(worst)) } else { Ok(()) }
    }

    /// How much the replay differs from the recording. The first value is the difference in the length of the window,
    /// as a share of the recorded length. The other values are the differences in the length of each step except the
    /// first, as a share of the mean step time.
    #[doc(hidden)]
    pub fn errors(&self, steps: &[i64], end: i64) -> Vec<f64> {
        let all = self.measured.end.max(1) as f64;
        let mean = all / self.measured.steps.len().max(1) as f64;
        let periods = |ends: &[i64]| ends.windows(2).map(|two| two[1] - two[0]).collect::<Vec<_>>();
        let own = periods(&self.measured.steps);
        let mut errors = vec![(end - self.measured.end) as f64 / all];
        errors.extend(periods(steps).iter().zip(own).map(|(a, b)| (a - b) as f64 / mean));
        errors
    }
}

/// Replays of single changes together take at most as long as this many replays of the whole trace.
const REPLAYS: usize = 256;

/// The effects of all changes in a comparison, per compared step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effects {
    /// The effect of each change, by its position in [`Changes::list`](crate::analysis::changes::Changes::list). If
    /// there are very many changes, those with the smallest attributed times have no effect here.
    pub of_changes: Vec<Option<Effect>>,
    /// The effect of all changes together.
    pub joint: Effect,
}

impl Effects {
    /// The effects of all changes.
    ///
    /// # Errors
    /// Any error of [`Replays::of`].
    #[doc(hidden)]
    pub fn of(
        diff: &TraceDiff,
        ledger: &Ledger,
        wall: &Wall,
        comparability: &Comparability,
        changes: &Changes,
    ) -> Result<Effects, (Option<Side>, Reason)> {
        let replays = Replays::of(diff, ledger, wall, comparability, changes)?;
        let mix = replays.mix(diff, ledger, changes);
        let none = Taken::default();
        let of_changes = replays.single(&mix, changes);
        let joint = match of_changes[..] {
            [] => Effect::default(),
            [Some(one)] => one,
            _ => replays.effect(&mix, &Taken { changes: Changed::All, ..none }),
        };
        Ok(Effects { of_changes, joint })
    }
}

impl Replays {
    /// Replays each change on its own, largest attributed time first, until the replays took as long as [`REPLAYS`]
    /// replays of the whole trace. `value` gets the parts of the change and a function that returns how
    /// much later a side ends if the change is taken in a way; it returns `None` if the replays took too long.
    pub(super) fn of_each<T: Clone>(
        &self,
        mix: &Mix<'_>,
        changes: &Changes,
        value: impl Fn(&PartsOfChange, &mut dyn FnMut(Side, How) -> Option<i64>) -> Option<T>,
    ) -> Vec<Option<T>> {
        let mut of_changes = vec![None; changes.list().len()];
        if of_changes.is_empty() {
            return of_changes;
        }
        let parts = mix.parts_of_changes(of_changes.len());
        let mut order: Vec<usize> = (0..of_changes.len()).collect();
        order.order_by_key(|&at| (Reverse(changes.list()[at].cost.abs()), at));
        let mut budget = 2 * REPLAYS * mix.len();
        let unchanged = PerSide::from_fn(|side| Unchanged::of(mix, side));
        for at in order {
            let mut later = |side: Side, how: How| {
                unchanged[side].effect((at as u32, how), &parts[at].parts, &mut budget)
            };
            of_changes[at] = value(&parts[at], &mut later);
            if of_changes[at].is_none() {
                break;
            }
        }
        of_changes
    }

    /// The effect of each change on its own.
    fn single(&self, mix: &Mix<'_>, changes: &Changes) -> Vec<Option<Effect>> {
        self.of_each(mix, changes, |_, later| {
            let mut of = |side| Some(Nanos(later(side, How::Exchange)? / self.compared[side]));
            let (alone, last) = (of(Side::Baseline)?, of(Side::Candidate)?);
            Some(Effect { alone, last: -last })
        })
    }

    /// How well the replay of a side reproduces the recording.
    pub(super) fn check(&self, side: Side) -> Check {
        Check {
            recorded: Nanos(self.recorded[side].measured.end / self.steps[side]),
            replayed: Nanos(self.ends[side] / self.steps[side]),
        }
    }

    /// The lower bounds of the step time, and what determines it.
    #[doc(hidden)]
    pub fn bounds(&self, diff: &TraceDiff, ledger: &Ledger, changes: &Changes) -> Bounds {
        let (mix, none) = (self.mix(diff, ledger, changes), Taken::default());
        Bounds {
            host: self.effect(&mix, &Taken { host: true, ..none }),
            kernels: self.effect(&mix, &Taken { works: true, ..none }),
            checks: PerSide::from_fn(|side| self.check(side)),
            limits: Limit::ALL
                .map(|limit| PerSide::from_fn(|side| self.step_time_at(diff, side, limit))),
            paths: PerSide::from_fn(|side| self.path(side)),
        }
    }
}

/// The lower bounds of the step time, and what determines it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Bounds {
    /// The effect of differences between the host times of matched calls. Such differences are caused by noise or by a
    /// different host.
    pub host: Effect,
    /// The effect of kernels that take different times on the two sides, although matched calls launch the same
    /// kernels. Such differences are caused by noise, by clocks or by a different device.
    pub kernels: Effect,
    /// How well the replay of each side reproduces the recording.
    pub checks: PerSide<Check>,
    /// The lower bounds of the step time on both sides, in the order of [`Limit::ALL`].
    pub limits: [PerSide<Nanos>; Limit::ALL.len()],
    /// The critical path of each side.
    pub paths: PerSide<PathRange>,
}

impl Replays {
    /// The lower bound of a side's step time under an assumption.
    fn step_time_at(&self, diff: &TraceDiff, side: Side, limit: Limit) -> Nanos {
        let tree = diff.tree(side);
        let communication = diff.program(side).communication();
        let recorded = Scenario::RECORDED;
        let hidden = |call: CallId| if communication.is(tree, call) { 0.0 } else { 1.0 };
        let is_no_wait = |call: CallId| !is_synchronisation(tree.name(call));
        let scenario = match limit {
            Limit::Host => Scenario { host: 0.0, ..recorded },
            Limit::Work => Scenario { work: &|_| 0.0, ..recorded },
            Limit::Waits => Scenario { waits: &is_no_wait, ..recorded },
            Limit::Communication => Scenario { work: &hidden, ..recorded },
        };
        self.step_time(side, &scenario)
    }

    fn path(&self, side: Side) -> PathRange {
        let path = |factor: f64| {
            let scenario = Scenario { work: &move |_| factor, ..Scenario::RECORDED };
            let CriticalPath(times) = self.recorded[side].critical_path(&scenario);
            times.map(|time| Nanos(time / self.steps[side]))
        };
        let [faster, time, slower] = NEAR.map(path);
        let each = |pick: fn(Nanos, Nanos) -> Nanos| {
            std::array::from_fn(|at| pick(pick(faster[at], time[at]), slower[at]))
        };
        PathRange { time, least: each(Nanos::min), most: each(Nanos::max) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, Replays};
    use crate::analysis::Analysis;
    use crate::analysis::replay::mix::{Changed, Taken};
    use crate::diff::TraceDiff;
    use crate::trace::Trace;
    use crate::tree::CallTree;

    fn analysis(baseline: &str, candidate: &str) -> Analysis {
        let tree = |name: &str| {
            let path = format!("{}/examples/traces/{name}.json.gz", env!("CARGO_MANIFEST_DIR"));
            CallTree::build(Trace::open(path).unwrap())
        };
        Analysis::new(TraceDiff::new(tree(baseline), tree(candidate)))
    }

    /// Compares the effects of all changes with whole replays, and returns how many changes there are.
    fn compare(baseline: &str, candidate: &str) -> usize {
        let analysis = analysis(baseline, candidate);
        let (diff, ledger, changes) = (analysis.diff(), analysis.ledger(), analysis.changes());
        let replays: Replays = analysis.replays().unwrap();
        let mix = replays.mix(diff, ledger, changes);
        let whole = |change: u32| -> Option<Effect> {
            Some(replays.effect(&mix, &Taken { changes: Changed::One(change), ..Taken::default() }))
        };
        let expected: Vec<Option<Effect>> = (0..changes.list().len() as u32).map(whole).collect();
        assert_eq!(replays.single(&mix, changes), expected, "{baseline} -> {candidate}");
        expected.len()
    }

    #[test]
    fn a_change_has_the_same_effect_as_in_a_replay_of_everything() {
        let pairs = [
            ("known/gpu_base.pt.trace", "known/gpu_sync.pt.trace"),
            ("known/host_base.pt.trace", "known/host_sync.pt.trace"),
            ("h100/train_base.pt.trace", "h100/train_item.pt.trace"),
            ("h100/train_base.pt.trace", "h100/train_layer_gone.pt.trace"),
            ("h100/resnet_eager.pt.trace", "h100/resnet_tf32_off.pt.trace"),
            ("h100/decode_eager.pt.trace", "h100/decode_eager_streams.pt.trace"),
            ("cnn_eager.pt.trace", "cnn_extra_op.pt.trace"),
            ("resnet.rocm", "resnet.cuda"),
        ];
        let both = pairs.into_iter().chain(pairs.map(|(one, two)| (two, one)));
        let changes: usize = both.map(|(one, two)| compare(one, two)).sum();
        assert!(changes > pairs.len(), "{changes}");
    }
}
