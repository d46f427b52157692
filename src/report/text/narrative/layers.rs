//! Divides the lines of the bill into three layers: changes in the program, other lines that exceed the noise, and other
//! lines that are within the noise or were not tested.

use super::{Layer, Line};
use crate::analysis::bill::{Bill, BillKind, BillLine, OverRuns};
use crate::analysis::changes::{Change, ChangeKind};
use crate::analysis::runs::has_runs;
use crate::analysis::verdict::Repeats;
use crate::analysis::{Analysis, Figures};
use crate::escape::one_line;
use crate::order::Order as _;
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::CallKind;
use std::cmp::Reverse;

/// Lines below this share of the step are only listed if nothing else is, …
const NOTABLE: f64 = 0.005;
/// … and the unexplained part only above this share.
const NOTABLE_REST: f64 = 0.02;
/// The range of a price over the runs is shown if it is wider than this share of the price.
const WIDE: f64 = 0.2;

/// The three layers into which a comparison's step-time difference is divided.
pub(super) struct Layers {
    pub(super) certain: Layer,
    pub(super) other_speed: Layer,
    pub(super) within_noise: Layer,
    /// Why no price is known; `None` if prices are known.
    pub(super) no_prices: Option<String>,
}

pub(super) fn of(analysis: &Analysis, figures: Figures) -> Layers {
    let bill = analysis.bill();
    let has_changes = !analysis.changes().list().is_empty();
    let no_prices = bill.unknown().filter(|_| has_changes).map(|(side, reason)| {
        let of = side.map_or(String::new(), |side| format!("{}: ", analysis.names()[side]));
        format!("prices are unknown, so these are attributed times: {of}{reason}")
    });
    let (changed, same): (Vec<&BillLine>, Vec<&BillLine>) =
        bill.lines().iter().partition(|line| line.kind.is_changed());
    let lines = |lines: &[&BillLine]| -> Vec<Line> {
        lines.iter().filter_map(|of| line(analysis, figures, of)).collect()
    };
    let certain = lines(&changed);
    let noise = Noise::of(analysis, figures);
    let mut same = lines(&same);
    same.order_by_key(|line| (Reverse(line.cost.abs()), line.kind));
    let (beyond, within) = same.into_iter().partition(|line: &Line| noise.is_beyond(line));
    let layer = |title: String, lines: Vec<Line>| {
        let notable = notable(analysis, &lines);
        Layer { title, lines, notable }
    };
    Layers {
        certain: Layer {
            notable: certain.len(),
            ..layer("Changed for certain".to_owned(), certain)
        },
        other_speed: layer(noise.beyond, beyond),
        within_noise: layer(noise.within, within),
        no_prices,
    }
}

/// The number of lines that are worth listing: all but the small ones at the end, and at least one that says something.
fn notable(analysis: &Analysis, lines: &[Line]) -> usize {
    let step = |side: Side| {
        let totals = analysis.wall().totals(side);
        totals.own().0 as f64 / totals.steps.max(1) as f64
    };
    let step = step(Side::Baseline).max(step(Side::Candidate));
    let is_notable = |line: &&Line| {
        let share = if line.kind == BillKind::Rest { NOTABLE_REST } else { NOTABLE };
        line.cost.0.abs() as f64 >= share * step
    };
    let is_something = lines.first().is_some_and(|line| line.kind != BillKind::Rest);
    lines.iter().filter(is_notable).count().max(usize::from(is_something))
}

/// The sum of the bill, such as `= +3.55 ms (including +0.05 ms that nothing explains)`; `None` if it is a single line.
pub(super) fn total(bill: &Bill, figures: Figures) -> Option<String> {
    let shown = |time: Nanos| figures.signed(time.0 as f64);
    let is_shown = |line: &&BillLine| !figures.rounds_to_zero(line.price.0 as f64);
    if bill.lines().iter().filter(is_shown).count() < 2 {
        return None;
    }
    let rest = match bill.rest() {
        rest if figures.rounds_to_zero(rest.0 as f64) => String::new(),
        rest => format!(" (including {} that nothing explains)", shown(rest)),
    };
    Some(format!("= {}{rest}", shown(bill.difference())))
}

/// Which lines about the speed of the same program exceed the run-to-run noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beyond {
    /// All of them.
    All,
    /// Those whose price has the same sign for all pairs of runs.
    Apart,
    /// None of them: the noise is unknown, or the step times do not differ by more than the noise.
    None,
}

/// The run-to-run noise. Each unexplained part of the difference either exceeds the noise or is
/// within it.
struct Noise {
    /// Which lines exceed the noise.
    rule: Beyond,
    /// Titles of the layers for parts that exceed the noise and for parts within the noise.
    beyond: String,
    within: String,
}

impl Noise {
    fn of(analysis: &Analysis, figures: Figures) -> Noise {
        let is_other = |change: &Change| change.kind == ChangeKind::Environment;
        if analysis.changes().list().iter().any(is_other) {
            // A different device or library is already a sufficient explanation for a different speed.
            let beyond = "Same program, different speed: the environment differs".to_owned();
            return Noise { rule: Beyond::All, beyond, within: String::new() };
        }
        let unknown = |why: &str| Noise {
            rule: Beyond::None,
            beyond: String::new(),
            within: format!("Same program, different speed{why}"),
        };
        match analysis.judged().repeats {
            Repeats::OtherOptions => return unknown(": recorded with different options"),
            Repeats::Runs | Repeats::None => {}
        }
        if !has_runs(analysis.runs()) {
            return unknown("");
        }
        let spread = |side: Side| analysis.run_times().noise(side).and_then(|noise| noise.wall);
        let [Some(a), Some(b)] = Side::BOTH.map(spread) else {
            return unknown(": some runs have no steps");
        };
        let spread_us = a.spread_us.max(b.spread_us);
        let shown = figures.with_unit(spread_us * 1e3);
        let is_significant = analysis.judged().step.is_some_and(|step| step.verdict.is_change());
        Noise {
            rule: if is_significant { Beyond::Apart } else { Beyond::None },
            beyond: format!("Same program, different speed: beyond run-to-run noise ({shown})"),
            within: format!("Same program, different speed: within run-to-run noise ({shown})"),
        }
    }

    fn is_beyond(&self, line: &Line) -> bool {
        match self.rule {
            Beyond::All => true,
            Beyond::Apart => line.is_apart,
            Beyond::None => false,
        }
    }
}

/// A line of the bill with its details; `None` if its price rounds to zero, unless it is a change.
fn line(analysis: &Analysis, figures: Figures, of: &BillLine) -> Option<Line> {
    let shown = figures.signed(of.price.0 as f64);
    let sentence = one_line(&of.sentence).into_owned() + &range(of, figures);
    let plain = Line {
        kind: of.kind,
        number: of.change,
        sentence,
        cost: of.price,
        shown,
        place: String::new(),
        usual: String::new(),
        remark: remark(of),
        is_apart: of.over_runs.is_some_and(|runs| runs.is_apart == Some(true)),
        inferred: "",
        sites: 0,
        node: of.node,
    };
    let Some(change) = of.change.map(|at| &analysis.changes().list()[at]) else {
        return Some(plain).filter(|line| !figures.rounds_to_zero(line.cost.0 as f64));
    };
    let takes_no_time = matches!(change.kind, ChangeKind::Environment | ChangeKind::Recording)
        && of.price == Nanos::ZERO;
    // The sentence for a change at a single call site already names the call site.
    let place = if plain.sentence.contains(&change.place) { "" } else { change.place.as_str() };
    Some(Line {
        place: one_line(place).into_owned(),
        usual: usual(analysis, change).to_owned(),
        inferred: change.inferred(),
        sites: change.nodes.len(),
        shown: if takes_no_time { String::new() } else { plain.shown.clone() },
        ..plain
    })
}

/// The range of the price over the runs if it is wide, such as ` (+25.0 to +32.4 ms by run)`.
fn range(of: &BillLine, figures: Figures) -> String {
    let is_wide =
        |runs: &OverRuns| (runs.high - runs.low).0 as f64 > WIDE * runs.median.abs().0 as f64;
    of.over_runs.filter(is_wide).map_or_else(String::new, |runs| {
        let shown = |price: Nanos| figures.signed(price.0 as f64);
        format!(" ({} to {} by run)", shown(runs.low), shown(runs.high))
    })
}

/// What to try.
fn remark(of: &BillLine) -> String {
    match of.change {
        None if !of.advice.is_empty() => format!("try {}", of.advice),
        Some(_) | None => String::new(),
    }
}

/// The usual cause of a kind of change. Empty for a change in the kernels of a graph launch: such a change is more
/// likely caused by a different capture.
fn usual(analysis: &Analysis, change: &Change) -> &'static str {
    let node = change.nodes.first().map(|&node| analysis.diff().merged().node(node));
    let call = node.and_then(|node| node.calls().next());
    let is_launch =
        call.is_some_and(|(side, call)| analysis.tree(side).kind(call) == CallKind::Runtime);
    if is_launch && change.kind == ChangeKind::KernelSelection { "" } else { change.usual() }
}
