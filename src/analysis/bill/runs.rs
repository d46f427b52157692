//! The prices of a line over all pairs of runs.
//!
//! ```text
//! baseline run  ─┐  bill of this run and the       ┌─ candidate run
//! baseline run  ─┤  median run of the other side   ├─ candidate run
//! median run ════╪═════════════════════════════════╪═ median run     the bill
//! ```
//! Each additional run is compared with the median run of the other side. The price for two additional runs follows
//! from their two comparisons: what each of them adds to the price for the median runs.

use super::line::{BillLine, OverRuns};
use crate::analysis::runs::{Run, RunPrices};
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// Adds to each line its prices over all pairs of runs. Prices and attributed times are not comparable, so a run with the
/// other kind of bill is left out.
pub(super) fn price(lines: &mut [BillLine], is_priced: bool, runs: &PerSide<Vec<Run>>) {
    let of_runs = runs.as_ref().map(|runs| {
        let prices = runs.iter().filter_map(|run| run.prices.as_ref());
        let alike = prices.filter(|prices| prices.is_priced == is_priced);
        alike.map(|prices| prices_in(prices, lines)).collect::<Vec<Vec<Nanos>>>()
    });
    if Side::BOTH.iter().all(|&side| of_runs[side].is_empty()) {
        return;
    }
    for (at, line) in lines.iter_mut().enumerate() {
        let own = |side: Side| of_runs[side].iter().map(|prices| prices[at]).collect();
        line.over_runs = Some(over_runs(line.price, &PerSide::from_fn(own)));
    }
}

/// The prices of the lines, for the bill of the median runs.
pub(super) fn prices(lines: &[BillLine], is_priced: bool) -> RunPrices {
    RunPrices { is_priced, of_lines: lines.iter().map(|line| (key(line), line.price)).collect() }
}

/// The prices over all pairs of runs, from the price for the median runs and from the prices for each additional run of
/// a side against the median run of the other side.
fn over_runs(median: Nanos, further: &PerSide<Vec<Nanos>>) -> OverRuns {
    let all = |side: Side| std::iter::once(median).chain(further[side].iter().copied());
    let mut pairs: Vec<Nanos> = all(Side::Baseline)
        .flat_map(|one| all(Side::Candidate).map(move |other| one + other - median))
        .collect();
    pairs.order_by_key(|&price| price);
    let (low, high) = (pairs[0], pairs[pairs.len() - 1]);
    let is_tested = Side::BOTH.iter().all(|&side| !further[side].is_empty());
    OverRuns {
        low,
        median: pairs[(pairs.len() - 1) / 2],
        high,
        is_apart: is_tested.then_some(low > Nanos::ZERO || high < Nanos::ZERO),
    }
}

/// The price of each of `lines` in another bill; 0 if the other bill has no such line. If several lines have the same
/// key, they are matched in order.
fn prices_in(prices: &RunPrices, lines: &[BillLine]) -> Vec<Nanos> {
    let mut others = prices.of_lines.clone();
    let price = |line: &BillLine| {
        let key = key(line);
        let at = others.iter().position(|(other, _)| *other == key);
        at.map_or(Nanos::ZERO, |at| others.remove(at).1)
    };
    lines.iter().map(price).collect()
}

/// What identifies a line in the bills of several runs: the kind, the place and, for a change, the sentence without
/// figures. Other sentences consist of the figures of the run.
fn key(line: &BillLine) -> String {
    let letters = |text: &str| text.chars().filter(|letter| !letter.is_ascii_digit()).collect();
    let sentence: String = line.change.map_or_else(String::new, |_| letters(&line.sentence));
    format!("{}\n{}\n{sentence}", line.kind.label(), line.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_runs_has_what_both_runs_add_to_the_median_runs() {
        let further = PerSide::new(vec![Nanos(12), Nanos(7)], vec![Nanos(10), Nanos(13)]);
        // What the runs add: 0, +2, −3 on the one side and 0, 0, +3 on the other.
        let OverRuns { low, median, high, is_apart } = over_runs(Nanos(10), &further);
        assert_eq!((low, median, high, is_apart), (Nanos(7), Nanos(10), Nanos(15), Some(true)));
        let further = PerSide::new(vec![Nanos(-4)], vec![]);
        assert_eq!(over_runs(Nanos(10), &further).is_apart, None, "one run is not tested");
        let further = PerSide::new(vec![Nanos(4)], vec![Nanos(5)]);
        assert_eq!(over_runs(Nanos(10), &further).is_apart, Some(false), "4 + 5 − 10 is below 0");
    }
}
