//! The bill divides the step-time difference into lines. They add up to the difference, to the nanosecond, and each line
//! has one price.
//!
//! ```text
//! environment, change   what was changed: the author
//! hardware, software    another device: nobody; its libraries and kernels
//! wait                  the step waits for something else than the GPU: the input pipeline
//! host, pauses          the same calls take the host more or less time: the machine, noise
//! clock                 the same kernels take more or less time: power, clock, other tenants
//! rest                  unexplained
//! ```
//! If the traces cannot be replayed, no price is known. Then the lines contain the attributed times, which add up too.

mod line;
mod runs;
mod sentences;

use super::changes::{ChangeKind, Changes};
use super::figures::Figures;
use super::porting::Porting;
use super::replay::{Prices, Reason};
use super::runs::{Run, RunPrices};
use super::wall::Wall;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use line::line;
pub use line::{BillKind, BillLine, COMMUNICATION, OverRuns};
use sentences::Sentences;
use std::cmp::Reverse;

/// The lines into which the step-time difference is divided.
#[derive(Debug, Clone, PartialEq)]
pub struct Bill {
    lines: Vec<BillLine>,
    difference: Nanos,
    unknown: Option<(Option<Side>, Reason)>,
}

impl Bill {
    pub(super) fn of(
        diff: &TraceDiff,
        wall: &Wall,
        changes: &Changes,
        porting: &Porting,
        names: &PerSide<String>,
        priced: &Result<Prices, (Option<Side>, Reason)>,
        runs: &PerSide<Vec<Run>>,
    ) -> Bill {
        let measure = Measure::of(diff.trees());
        let figures = Figures::of_wall(wall);
        let says = Sentences { figures, measure, names, steps: changes.steps() };
        let difference = changes.difference();
        let (mut changed, mut same) = match priced {
            Ok(prices) => (of_changes(changes, Some(prices)), same_program(&says, changes, prices)),
            Err(_) => (of_changes(changes, None), attributed(&says, changes)),
        };
        if let Ok(prices) = priced {
            port(&says, porting, prices, &mut changed, &mut same);
        }
        // Another library explains more than its own line, so it comes first. Another device is explained by the lines
        // about its hardware and software.
        let is_port = changed.iter().any(|line| line.kind == BillKind::Hardware);
        changed.order_by_key(|line| {
            let place = if line.kind == BillKind::Together {
                3
            } else if line.kind != BillKind::Environment {
                1
            } else if is_port {
                2
            } else {
                0
            };
            (place, Reverse(line.price.abs()), line.change, line.kind)
        });
        same.order_by_key(|line| (Reverse(line.price.abs()), line.kind));
        let mut lines = changed;
        lines.extend(same);
        lines.retain(|line| line.change.is_some() || line.price != Nanos::ZERO);
        let sum: Nanos = lines.iter().map(|line| line.price).sum();
        if priced.is_ok() && sum != difference {
            lines.push(line(BillKind::Rest, "Nothing explains this part", difference - sum));
        }
        runs::price(&mut lines, priced.is_ok(), runs);
        Bill { lines, difference, unknown: priced.as_ref().err().copied() }
    }

    /// The lines. Changes come first, the largest first; then the same program at another speed, the largest first; then
    /// the rest.
    pub fn lines(&self) -> &[BillLine] {
        &self.lines
    }

    /// The step-time difference, candidate − baseline. It is the sum of all prices.
    pub fn difference(&self) -> Nanos {
        self.difference
    }

    /// The unexplained part.
    pub fn rest(&self) -> Nanos {
        self.sum(BillKind::Rest)
    }

    /// The sum of all lines of a kind.
    pub fn sum(&self, kind: BillKind) -> Nanos {
        self.lines.iter().filter(|line| line.kind == kind).map(|line| line.price).sum()
    }

    /// Whether the prices are computed by replay. If not, the lines contain attributed times.
    pub fn is_priced(&self) -> bool {
        self.unknown.is_none()
    }

    /// Why no price is known, and the side that cannot be replayed. The side is `None` if the reason concerns both.
    #[doc(hidden)]
    pub fn unknown(&self) -> Option<(Option<Side>, Reason)> {
        self.unknown
    }

    /// The prices of all lines, for the bill of the median runs.
    pub(crate) fn prices_of_run(&self) -> RunPrices {
        runs::prices(&self.lines, self.is_priced())
    }

    /// The price of a change, by its position in [`Changes::list`]; `None` if it is not known.
    pub fn price_of_change(&self, at: usize) -> Option<Nanos> {
        let mut lines = self.lines.iter().filter(|_| self.is_priced());
        lines.find(|line| line.change == Some(at)).map(|line| line.price)
    }
}

/// A line for each change. Changes without a price of their own are part of what all of them do together.
fn of_changes(changes: &Changes, prices: Option<&Prices>) -> Vec<BillLine> {
    let kind = |kind: ChangeKind| {
        if kind == ChangeKind::Environment {
            BillKind::Environment
        } else if kind == ChangeKind::Recording {
            BillKind::Recording
        } else {
            BillKind::Change
        }
    };
    let price = |at: usize| match prices {
        Some(prices) => prices.of_changes[at].unwrap_or(Nanos::ZERO),
        None => changes.list()[at].cost,
    };
    let list = changes.list().iter().enumerate();
    let mut lines: Vec<BillLine> = list
        .map(|(at, change)| BillLine {
            change: Some(at),
            place: change.place.clone(),
            advice: change.usual().to_owned(),
            node: change.nodes.first().copied(),
            ..line(kind(change.kind), change.sentence.as_str(), price(at))
        })
        .collect();
    if let Some(prices) = prices {
        let word = if prices.together > Nanos::ZERO { "more" } else { "less" };
        let sentence = format!("Together, the changes take {word} than the sum of their prices");
        lines.push(line(BillKind::Together, sentence, prices.together));
    }
    lines
}

/// The lines for everything that differs although the program is the same.
fn same_program(says: &Sentences<'_>, changes: &Changes, prices: &Prices) -> Vec<BillLine> {
    let mut lines: Vec<BillLine> = prices
        .waits
        .iter()
        .map(|wait| BillLine {
            place: wait.name.clone(),
            advice: wait.advice().to_owned(),
            ..line(BillKind::Wait, says.wait(wait), wait.price)
        })
        .collect();
    lines.push(communication(prices.communication));
    lines.push(line(BillKind::Host, says.host(&prices.phases), prices.host));
    lines.push(line(BillKind::Pauses, says.pauses(&prices.pause_list), prices.pauses));
    lines.push(clock(says, changes, prices.clock));
    lines
}

fn communication(price: Nanos) -> BillLine {
    let sentence = "Communication, including the wait for other ranks";
    BillLine { place: COMMUNICATION.to_owned(), ..line(BillKind::Wait, sentence, price) }
}

/// The line for the durations of the same kernels. Its place is the op that has most of the difference.
fn clock(says: &Sentences<'_>, changes: &Changes, price: Nanos) -> BillLine {
    let leading = changes.leading_kernels();
    let sentence = says.clock(leading, changes.kernel_ratio(), price);
    let place = leading.map_or_else(String::new, |(name, _)| name.to_owned());
    BillLine { place, ..line(BillKind::Clock, sentence, price) }
}

/// The attributed times of the same program at another speed.
fn attributed(says: &Sentences<'_>, changes: &Changes) -> Vec<BillLine> {
    let mut lines = Vec::new();
    let mut between = changes.between_calls();
    if let Some(range) = changes.between_calls_in() {
        between -= range.difference;
        lines.push(BillLine {
            place: range.name.clone(),
            advice: range.advice().to_owned(),
            ..line(BillKind::Wait, says.range(range), range.difference)
        });
    }
    let before = changes.between_calls_before();
    lines.push(clock(says, changes, changes.kernel_speed()));
    lines.push(communication(changes.communication()));
    lines.push(line(BillKind::Host, says.in_calls(changes.host_speed()), changes.host_speed()));
    lines.push(line(BillKind::Host, says.between(between, before), between));
    lines.push(line(BillKind::Overlap, says.overlap(changes.overlap()), changes.overlap()));
    lines.push(line(BillKind::Rest, "Work without a known call", changes.unexplained()));
    lines
}

/// If the devices differ, replaces the price of the device and of the same kernels by what the hardware and what the
/// libraries and kernels of the device explain.
fn port(
    says: &Sentences<'_>,
    porting: &Porting,
    prices: &Prices,
    changed: &mut Vec<BillLine>,
    same: &mut Vec<BillLine>,
) {
    let Some(hardware) = prices.hardware else { return };
    let Some(device) = changed.iter_mut().find(|line| line.kind == BillKind::Environment) else {
        return;
    };
    let sums = porting.sums();
    let software = device.price + prices.clock - hardware;
    same.retain(|line| line.kind != BillKind::Clock);
    device.price = Nanos::ZERO;
    changed.push(line(BillKind::Hardware, says.hardware(sums.hardware), hardware));
    changed.push(line(BillKind::Software, says.software(sums.software), software));
}
