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

mod sentences;

use super::changes::{ChangeKind, Changes};
use super::figures::Figures;
use super::porting::Porting;
use super::replay::{Prices, Reason};
use super::wall::Wall;
use crate::diff::{MergedId, TraceDiff};
use crate::order::Order as _;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use sentences::Sentences;
use std::cmp::Reverse;

/// What a line of the bill is about, and with that, who can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BillKind {
    /// Another device, or other versions of libraries, and what they brought.
    Environment,
    /// A change of the program.
    Change,
    /// What all changes do together, minus the sum of their prices.
    Together,
    /// What the hardware of the other device explains.
    Hardware,
    /// What the libraries and kernels of the other device do beyond that.
    Software,
    /// The step waits for something else than the GPU.
    Wait,
    /// The host times of the same calls.
    Host,
    /// Single long host times.
    Pauses,
    /// The durations of the same kernels.
    Clock,
    /// Idle time at the same calls that the host times do not explain. Only without prices.
    Overlap,
    /// The unexplained part.
    Rest,
}

impl BillKind {
    /// All kinds, in the order of the table.
    pub const ALL: [BillKind; 11] = [
        BillKind::Environment,
        BillKind::Change,
        BillKind::Together,
        BillKind::Hardware,
        BillKind::Software,
        BillKind::Wait,
        BillKind::Host,
        BillKind::Pauses,
        BillKind::Clock,
        BillKind::Overlap,
        BillKind::Rest,
    ];

    /// The name of the kind in tables and rules.
    pub fn label(self) -> &'static str {
        match self {
            BillKind::Environment => "environment",
            BillKind::Change => "change",
            BillKind::Together => "together",
            BillKind::Hardware => "hardware",
            BillKind::Software => "software",
            BillKind::Wait => "wait",
            BillKind::Host => "host",
            BillKind::Pauses => "pauses",
            BillKind::Clock => "clock",
            BillKind::Overlap => "overlap",
            BillKind::Rest => "rest",
        }
    }

    /// Finds the kind that has a given label.
    #[doc(hidden)]
    pub fn from_label(label: &str) -> Option<BillKind> {
        BillKind::ALL.into_iter().find(|kind| kind.label() == label)
    }

    /// Whether the line is about something that was changed, not about the speed of the same program.
    #[doc(hidden)]
    pub fn is_changed(self) -> bool {
        match self {
            BillKind::Environment
            | BillKind::Change
            | BillKind::Together
            | BillKind::Hardware
            | BillKind::Software => true,
            BillKind::Wait
            | BillKind::Host
            | BillKind::Pauses
            | BillKind::Clock
            | BillKind::Overlap
            | BillKind::Rest => false,
        }
    }
}

/// [`BillLine::place`] of the time that communication kernels take, including the wait for other ranks.
pub const COMMUNICATION: &str = "communication";

/// A line of the bill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BillLine {
    /// What the line is about.
    pub kind: BillKind,
    /// What happened, in one sentence without a full stop.
    pub sentence: String,
    /// Candidate − baseline per step: the price by replay, or the attributed time if no prices are known.
    pub price: Nanos,
    /// The position in [`Changes::list`], if the line is a change.
    pub change: Option<usize>,
    /// Where the change first occurs, or the range that a wait is about; empty if the line is about no place.
    pub place: String,
    /// What to try; empty if unknown.
    pub advice: String,
    /// The first call; `None` if the line is about no single call.
    pub node: Option<MergedId>,
}

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

    /// The price of a change, by its position in [`Changes::list`]; `None` if it is not known.
    pub fn price_of_change(&self, at: usize) -> Option<Nanos> {
        let mut lines = self.lines.iter().filter(|_| self.is_priced());
        lines.find(|line| line.change == Some(at)).map(|line| line.price)
    }
}

fn line(kind: BillKind, sentence: impl Into<String>, price: Nanos) -> BillLine {
    BillLine {
        kind,
        sentence: sentence.into(),
        price,
        change: None,
        place: String::new(),
        advice: String::new(),
        node: None,
    }
}

/// A line for each change. Changes without a price of their own are part of what all of them do together.
fn of_changes(changes: &Changes, prices: Option<&Prices>) -> Vec<BillLine> {
    let kind = |kind: ChangeKind| match kind == ChangeKind::Environment {
        true => BillKind::Environment,
        false => BillKind::Change,
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
    let sentence = "Communication, including the wait for other ranks";
    lines.push(BillLine {
        place: COMMUNICATION.to_owned(),
        ..line(BillKind::Wait, sentence, prices.communication)
    });
    lines.push(line(BillKind::Host, says.host(&prices.phases), prices.host));
    lines.push(line(BillKind::Pauses, says.pauses(&prices.pause_list), prices.pauses));
    lines.push(line(BillKind::Clock, says.clock(changes.kernel_ratio()), prices.clock));
    lines
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
    lines.push(line(BillKind::Clock, says.clock(changes.kernel_ratio()), changes.kernel_speed()));
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
