//! [`Analysis`] → the places of the program, judged: its rows by op, arguments and module.

use super::family::{Family, Question};
use super::judgement::{Judgement, Repeats, Thresholds, Work};
use super::sampler::Sampler;
use super::site::Site;
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::cmp::Reverse;

/// The verdicts on a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdicts {
    /// What the repeats are.
    pub repeats: Repeats,
    /// Steps of each side.
    pub steps: PerSide<usize>,
    /// The least difference per repeat that a reader is told of.
    pub least: Nanos,
    /// The scale of the evidence, for whatever else is to be judged.
    pub family: Family,
    /// All accounted time.
    pub total: Judgement,
    /// The wall time of a step over the runs; `None` where a side has one run, and where some runs have
    /// steps and others not.
    pub step: Option<Judgement>,
    /// All sites: largest difference first.
    pub sites: Vec<Site>,
    /// The work of the site of each row.
    pub(super) works: Vec<Work>,
}

impl Verdicts {
    /// The sites that changed, as far as the repeats support it, by enough to be told; largest
    /// difference first.
    pub fn changes(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(|site| {
            let is_told = site.judgement.difference_us() >= self.least.as_micros();
            site.judgement.verdict.is_change() && is_told
        })
    }

    /// The sites where the sides did not do the same work, whatever their times; largest difference
    /// first. That needs no repeats to be known.
    pub fn other_work(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(|site| site.work != Work::Same)
    }
}

impl Analysis {
    /// The verdicts with the thresholds of the analysis.
    pub fn judged(&self) -> &Verdicts {
        self.cached.verdicts.get_or_init(|| self.verdicts(self.thresholds()))
    }

    /// Judges the total and each site.
    pub fn verdicts(&self, thresholds: &Thresholds) -> Verdicts {
        let sampler = Sampler::new(self);
        let drafts = sampler.drafts();
        let mut works = vec![Work::Same; self.rows().len()];
        for draft in &drafts {
            draft.rows.iter().for_each(|&row| works[row] = draft.work);
        }
        let family = Family::of(drafts.iter().map(|draft| &draft.question));
        let mut sites: Vec<Site> =
            drafts.into_iter().map(|draft| draft.judged(&family, thresholds)).collect();
        sites.sort_by_key(|site| {
            // In whole picoseconds: sums that are equal have means that are nearly so.
            let judged = (1e6 * site.judgement.difference_us()).round() as i64;
            (Reverse(judged), Reverse(site.time.difference().abs()), site.first_row())
        });
        let all = PerSide::from_fn(|side| self.accounted_calls(side).to_vec());
        let total = family.judge(&sampler.question(&all, &works), thresholds);
        let step = self.step_question().map(|question| {
            // It is one question that was asked before, not one among hundreds of places.
            Judgement { q: None, ..family.judge(&question, thresholds) }
        });
        let steps = sampler.steps.map(|steps| steps.len());
        let least = thresholds.least(total.mean_us);
        Verdicts { repeats: sampler.repeats(), steps, least, family, total, step, sites, works }
    }

    /// The step time of all runs.
    fn step_question(&self) -> Option<Question> {
        let samples = Side::BOTH.map(|side| self.walls_of_runs(side).filter(|runs| runs.len() > 1));
        let [Some(baseline), Some(candidate)] = samples else { return None };
        Some(Question {
            samples: PerSide::new(baseline, candidate),
            work: Work::Changed,
            of: Repeats::Runs,
            ..Question::default()
        })
    }
}
