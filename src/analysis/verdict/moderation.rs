//! The spreads of many places → a better estimate of each: a place with few repeats borrows from the
//! others.
//!
//! With three repeats a side the spread of one place is known to a factor of two at best, and a test
//! that has only that finds nothing. All places together tell what spreads are usual, and how far
//! single ones depart from that. So each variance is drawn towards the usual one, as if that had been
//! measured in some more repeats: empirical Bayes, after Smyth, *Linear models and empirical Bayes
//! methods for assessing differential expression in microarray experiments*, Stat. Appl. Genet. Mol.
//! Biol. 3 (2004) 3. Short kernels spread more than long ones, so that the usual variance is a
//! function of the time (Law and others, *voom*, Genome Biol. 15 (2014) R29: "limma-trend").
//!
//! ```text
//! s²  variance of a place, d degrees of freedom      log s² = log s0²(time) + noise of d + noise of d0
//! s0² usual variance, d0 how many degrees it is worth
//! moderated variance   (d0·s0² + d·s²) / (d0 + d)    with d0 + d degrees of freedom
//! ```

use super::distributions::{digamma, inverse_trigamma, trigamma};
use super::trend::Trend;

/// Variances below this share of the median one count as this much: clocks tick, so that some places
/// have no spread at all, and the logarithm of nothing would outweigh all others.
const LEAST_SHARE: f64 = 1e-5;

/// No clock tells times apart that differ by less than a part in 100,000: the square of that.
const LEAST: f64 = 1e-10;

/// With fewer places than this nothing is known of the usual spread.
const FEWEST: usize = 3;

/// The times of a place, as their logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// Mean.
    pub(super) mean: f64,
    /// Variance around the mean of each side.
    pub(super) variance: f64,
    /// Degrees of freedom of the variance; at least 1.
    pub(super) degrees: f64,
}

/// What the spreads of all places tell about the spread of one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prior {
    /// Logarithm of the usual variance, by the mean of the logarithms of the times; `None` where too
    /// few places are known.
    usual: Option<Trend>,
    /// What is to be added to the trend: a mean of logarithms is less than the logarithm of a mean.
    correction: f64,
    /// How many degrees of freedom the usual variance is worth; infinite where all places spread
    /// alike.
    degrees: f64,
    /// Degrees of freedom of all places: more than that nobody knows.
    most: f64,
    /// The least variance that can be.
    least: f64,
}

impl Prior {
    /// Of the spreads of all places.
    pub(super) fn of(spreads: &[Spread]) -> Prior {
        let mut sorted = spreads.to_vec();
        // The sums do not depend on the order in which places are listed.
        sorted.sort_by(|a, b| {
            let by = |pick: fn(&Spread) -> f64| pick(a).total_cmp(&pick(b));
            by(|s| s.mean).then(by(|s| s.variance)).then(by(|s| s.degrees))
        });
        let least = least_variance(&sorted);
        let most = sorted.iter().map(|spread| spread.degrees).sum();
        if sorted.len() < FEWEST {
            return Prior { usual: None, correction: 0.0, degrees: 0.0, most, least };
        }
        let usual = Trend::through(&sorted.iter().map(|s| s.point(least)).collect::<Vec<_>>());
        let excess = excess(&sorted, &usual, least);
        let degrees = if excess > 0.0 { 2.0 * inverse_trigamma(excess) } else { f64::INFINITY };
        let correction =
            if degrees.is_finite() { digamma(degrees / 2.0) - (degrees / 2.0).ln() } else { 0.0 };
        Prior { usual: Some(usual), correction, degrees, most, least }
    }

    /// The spread of a place, with what is known of all.
    pub(super) fn moderate(&self, spread: &Spread) -> Spread {
        let own = spread.variance.max(self.least);
        let Some(usual) = &self.usual else { return Spread { variance: own, ..*spread } };
        let usual = (usual.at(spread.mean) + self.correction).exp();
        let degrees = (self.degrees + spread.degrees).min(self.most.max(spread.degrees));
        let variance = match self.degrees.is_finite() {
            true => (self.degrees * usual + spread.degrees * own) / (self.degrees + spread.degrees),
            false => usual,
        };
        Spread { mean: spread.mean, variance, degrees }
    }

    /// Like [`Prior::moderate`], but at least the usual variance. A machine stalls in some runs and not in
    /// others: that the few runs of a side agree at one place says little about the next run.
    pub(super) fn moderate_runs(&self, spread: &Spread) -> Spread {
        let moderated = self.moderate(spread);
        let usual = self
            .usual
            .as_ref()
            .map_or(0.0, |usual| (usual.at(spread.mean) + self.correction).exp());
        Spread { variance: moderated.variance.max(usual), ..moderated }
    }
}

impl Spread {
    /// Where it stands below the trend: the logarithm of its variance, freed of the bias that the
    /// logarithm of a variance with few degrees of freedom has.
    fn point(&self, least: f64) -> (f64, f64) {
        let half = self.degrees / 2.0;
        (self.mean, self.variance.max(least).ln() - digamma(half) + half.ln())
    }
}

fn least_variance(spreads: &[Spread]) -> f64 {
    let variances: Vec<f64> = spreads.iter().map(|spread| spread.variance).collect();
    (LEAST_SHARE * crate::analysis::robust::median(&variances)).max(LEAST)
}

/// By how much the logarithms of the variances scatter around the trend beyond what their few degrees
/// of freedom explain.
fn excess(spreads: &[Spread], usual: &Trend, least: f64) -> f64 {
    let count = spreads.len() as f64;
    let distance = |spread: &Spread| {
        let (mean, variance) = spread.point(least);
        variance - usual.at(mean)
    };
    let found: f64 = spreads.iter().map(|spread| distance(spread).powi(2)).sum();
    let expected: f64 = spreads.iter().map(|spread| trigamma(spread.degrees / 2.0)).sum();
    found / (count - usual.parameters).max(1.0) - expected / count
}
