//! Describes the achieved rates of both sides in one clause: `163 → 51 TFLOP/s, 5% of peak`.

use super::roofline::{Bound, Efficiency};
use crate::side::{PerSide, Side};

/// Two amounts of work count as equal if their relative difference is at most this much, which may be a rounding error.
const SAME_WORK: f64 = 0.01;

/// Explains why a rate may exceed the device's peak.
const ABOVE_PEAK: &str = "data in a cache, or work overestimated";

/// How the candidate's work differs from the baseline's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum WorkChange {
    /// Both sides need the same number of operations and, as far as known, the same number of bytes.
    Same,
    /// The candidate needs more operations or more bytes, and not less of the other.
    More,
    /// The candidate needs fewer operations or fewer bytes, and not more of the other.
    Less,
    /// The candidate needs more operations but fewer bytes, or fewer operations but more bytes.
    Other,
}

/// Compares the work per step on both sides. Returns `None` if a side has no events, or has events that no efficiency
/// model covers. To compare whole windows, pass 1 as the number of steps.
#[doc(hidden)]
pub fn work_change(efficiency: &PerSide<Efficiency>, steps: PerSide<u64>) -> Option<WorkChange> {
    let per_step = |of: fn(&Efficiency) -> Option<f64>| {
        let [before, after] =
            Side::BOTH.map(|side| of(&efficiency[side]).map(|all| all / steps[side].max(1) as f64));
        Some(change(before?, after?))
    };
    let flops = per_step(Efficiency::gflops)?;
    let bytes = per_step(Efficiency::mbytes).unwrap_or(0);
    Some(match (flops.min(bytes), flops.max(bytes)) {
        (0, 0) => WorkChange::Same,
        (0, 1) | (1, 1) => WorkChange::More,
        (-1, 0) | (-1, -1) => WorkChange::Less,
        (_, _) => WorkChange::Other,
    })
}

/// Compares two amounts: -1 if the second amount is smaller, 1 if it is larger, and 0 if the
/// relative difference is at most [`SAME_WORK`].
fn change(before: f64, after: f64) -> i8 {
    let least = SAME_WORK * before.abs().max(after.abs());
    if (after - before).abs() <= least {
        0
    } else if after > before {
        1
    } else {
        -1
    }
}

/// Describes the rates on both sides, in TFLOP/s for compute-bound work and in TB/s for memory-bound work, and the
/// candidate's share of the peak if known. Returns `None` if a rate is unknown, or if both rates round to zero.
#[doc(hidden)]
pub fn clause(efficiency: &PerSide<Efficiency>) -> Option<String> {
    let compute = match efficiency.candidate.bound().or(efficiency.baseline.bound()) {
        Some(bound) => bound == Bound::Compute,
        // If the peaks are unknown, work with more than 50 operations per byte counts as compute bound.
        None => efficiency.candidate.intensity()? > 50.0,
    };
    let (rate, unit): (fn(&Efficiency) -> Option<f64>, &'static str) = if compute {
        (Efficiency::tflops_per_s, "TFLOP/s")
    } else {
        (Efficiency::tb_per_s, "TB/s")
    };
    let above = efficiency.as_ref().map(Efficiency::is_above_peak);
    if above.baseline || above.candidate {
        return above_peak(efficiency, rate, unit);
    }
    let (before, after) = (rate(&efficiency.baseline)?, rate(&efficiency.candidate)?);
    let ([before, after], unit) = readable([before, after], unit);
    if [before, after].map(short) == ["0.00", "0.00"] {
        return None;
    }
    let share = efficiency.candidate.roofline_pct();
    let share = share.map_or_else(String::new, |pct| format!(", {}% of peak", short(pct)));
    Some(format!("{} → {} {unit}{share}", short(before), short(after)))
}

/// If one of the rates would round to zero, as often happens on CPUs, converts both rates to a unit that is 1000 times
/// smaller.
fn readable(rates: [f64; 2], unit: &'static str) -> ([f64; 2], &'static str) {
    let rounds_to_zero = |rate: &f64| short(*rate) == "0.00";
    match (rates.iter().any(rounds_to_zero), unit) {
        (true, "TB/s") => (rates.map(|rate| 1e3 * rate), "GB/s"),
        (true, "TFLOP/s") => (rates.map(|rate| 1e3 * rate), "GFLOP/s"),
        (_, unit) => (rates, unit),
    }
}

/// Returns the clause for rates of which at least one exceeds the device's peak: `2.1 TB/s → above peak (data in a
/// cache, or work overestimated)`.
fn above_peak(
    efficiency: &PerSide<Efficiency>,
    rate: fn(&Efficiency) -> Option<f64>,
    unit: &str,
) -> Option<String> {
    let of = |side: Side| {
        if efficiency[side].is_above_peak() {
            Some("above peak".to_owned())
        } else {
            Some(format!("{} {unit}", short(rate(&efficiency[side])?)))
        }
    };
    let (before, after) = (of(Side::Baseline)?, of(Side::Candidate)?);
    Some(format!("{before} → {after} ({ABOVE_PEAK})"))
}

/// Rounds a number for display: no decimals from 10 upward, one decimal from 1 to 10, and two decimals below
/// 1: `163`, `5.1`, `0.27`.
fn short(figure: f64) -> String {
    let decimals = match figure.abs() {
        large if large >= 10.0 => 0,
        middle if middle >= 1.0 => 1,
        _ => 2,
    };
    format!("{figure:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::{readable, short};

    #[test]
    fn no_rate_of_a_pair_rounds_to_zero() {
        assert_eq!(readable([0.0002, 0.012], "TB/s"), ([0.2, 12.0], "GB/s"));
        assert_eq!(readable([0.0042, 0.0016], "TFLOP/s"), ([4.2, 1.6], "GFLOP/s"));
        assert_eq!(readable([0.27, 2.1], "TB/s"), ([0.27, 2.1], "TB/s"));
        assert_eq!([0.2, 12.0].map(short), ["0.20", "12"]);
    }
}
