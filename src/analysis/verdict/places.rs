//! Tests whether the times of each call site of an [`Analysis`] differ significantly. A call site combines rows by op,
//! arguments and module.

use super::family::{Family, Question};
use super::judgement::{Judgement, Repeats, Thresholds, Work};
use super::sampler::{Sampler, has_other_options};
use super::shift::{drift, judge_runs};
use super::site::Site;
use crate::analysis::comparability::Comparability;
use crate::analysis::robust::median;
use crate::analysis::runs::RunTimes;
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::cmp::Reverse;

/// The verdicts on all call sites of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdicts {
    /// Whether the repeats are runs or steps.
    pub repeats: Repeats,
    /// Number of steps on each side.
    pub steps: PerSide<usize>,
    /// The minimum difference per repeat at which a call site is reported.
    pub least: Nanos,
    /// The usual spread and the false discovery rates, which are used to test any other group of events.
    pub family: Family,
    /// The verdict on the total measured time.
    pub total: Judgement,
    /// How much the speed of the machine varies from run to run; 0 if the repeats are not runs.
    pub drift: f64,
    /// The verdict on the wall time per step, with runs as repeats; `None` if a side has only one run, or if some
    /// runs have steps and others do not.
    pub step: Option<Judgement>,
    /// All call sites with their verdicts, largest difference first.
    pub sites: Vec<Site>,
    /// For each row, whether both sides did the same work at the row's call site.
    pub(super) works: Vec<Work>,
}

impl Verdicts {
    /// The call sites with a time change that the repeats support and that is large enough to be reported; largest
    /// difference first.
    pub fn changes(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(|site| {
            let is_told = site.judgement.difference_us() >= self.least.as_micros();
            site.judgement.verdict.is_change() && is_told
        })
    }

    /// The call sites where the sides did different work, regardless of the times, largest difference first.
    /// Unlike a changed time, changed work can be detected without repeats.
    #[doc(hidden)]
    pub fn other_work(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(|site| site.work != Work::Same)
    }
}

/// A program or machine that is this many times as slow or as fast at almost all call sites is implausible.
const MOST_SCALE: f64 = 20.0;

impl Verdicts {
    /// How many times as long the same work takes in the candidate: the median over the call sites. `None` if this is
    /// plausible, or if most call sites are not the same. Otherwise, the times of one side were probably recorded or
    /// converted in another unit.
    pub(in crate::analysis) fn implausible_scale(&self) -> Option<f64> {
        let same = self.sites.iter().filter(|site| site.work == Work::Same);
        let logs: Vec<f64> = same.filter_map(|site| site.judgement.ratio()).map(f64::ln).collect();
        let (scale, is_one_program) = (median(&logs), 2 * logs.len() > self.sites.len());
        (is_one_program && scale.abs() > MOST_SCALE.ln()).then(|| scale.exp())
    }
}

impl Verdicts {
    /// Tests the total time and each call site.
    pub(in crate::analysis) fn of(
        times: RunTimes<'_>,
        comparability: &Comparability,
        thresholds: &Thresholds,
    ) -> Verdicts {
        let sampler = Sampler::new(times, comparability);
        let drafts = sampler.drafts();
        let mut works = vec![Work::Same; times.ledger.rows().len()];
        for draft in &drafts {
            draft.rows.iter().for_each(|&row| works[row] = draft.work);
        }
        let family = Family::of(drafts.iter().map(|draft| &draft.question));
        let mut sites: Vec<Site> =
            drafts.into_iter().map(|draft| draft.judged(&family, thresholds)).collect();
        sites.order_by_key(|site| {
            // Compare whole picoseconds, because the floating-point means of the same times may differ
            // slightly.
            let judged = (1e6 * site.judgement.difference_us()).round() as i64;
            (Reverse(judged), Reverse(site.time.difference().abs()), site.first_row())
        });
        let all = PerSide::from_fn(|side| times.ledger.calls(side).to_vec());
        let total = family.judge(&sampler.question(&all, &works), thresholds);
        let drift = match sampler.repeats() {
            Repeats::Runs => drift(&PerSide::from_fn(|side| {
                sites.iter().map(|site| &*site.question.samples[side]).collect()
            })),
            Repeats::Steps | Repeats::None | Repeats::OtherOptions => 0.0,
        };
        let step = step_question(times, comparability)
            .and_then(|question| judge_runs(&question, drift, thresholds));
        let steps = sampler.steps.map(|steps| steps.len());
        let least = thresholds.least(total.mean_us);
        let repeats = sampler.repeats();
        Verdicts { repeats, steps, least, family, total, drift, step, sites, works }
    }
}

/// The step times of all runs as a [`Question`], so that they are tested like the times of a call site.
fn step_question(times: RunTimes<'_>, comparability: &Comparability) -> Option<Question> {
    let samples = Side::BOTH.map(|side| times.walls(side).filter(|runs| runs.len() > 1));
    let [Some(baseline), Some(candidate)] = samples else { return None };
    let of = if has_other_options(comparability) { Repeats::OtherOptions } else { Repeats::Runs };
    let means = |runs: &[f64]| Nanos((1e3 * runs.iter().sum::<f64>() / runs.len() as f64) as i64);
    Some(Question {
        time: PerSide::new(means(&baseline), means(&candidate)),
        samples: PerSide::new(baseline, candidate),
        work: Work::Changed,
        of,
        resolution_us: times.diff.coarse_tick().unwrap_or_default().as_micros(),
    })
}
