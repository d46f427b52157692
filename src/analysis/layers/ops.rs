//! Computes `layer_ops.csv`, which lists the ops of an average layer on both sides of an [`Analysis`].
//!
//! A line combines one attribution row from each layer: rows with the same name and the same index in their layer, such
//! as the second `aten::addmm` of each layer. Each layer contributes one sample per step to the line. For graph
//! replays, a line combines kernels instead of rows, because a single row contains the whole graph.

use super::{LayerPairs, PlacePair};
use crate::analysis::account::Ledger;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::Phase;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// An op of an average layer, with its times over all layers of a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerOpRow {
    /// The first layer of the stack, which represents all layers of the stack. For an op outside of layers, the work to
    /// which the op belongs.
    pub place: PlacePair,
    /// The phase of the op.
    pub phase: Phase,
    /// Position of the op among the ops of its stack and phase, counted from 0.
    pub position: u32,
    /// Name of the attribution rows, or name of the kernel in a graph replay.
    pub name: String,
    /// Index of the op among the ops with the same name in its layer, counted from 0; always 0 outside of layers.
    pub nth: u32,
    /// Times of the op on each side.
    pub spread: PerSide<Spread>,
}

/// The time of an op, over all layers of all steps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// Number of layers that contain the op. A layer counts once per step.
    pub layers: u64,
    /// Number of all layers in the stack and phase. A layer counts once per step.
    pub of_layers: u64,
    /// Number of measured events of the op.
    pub events: u64,
    /// Total time of the op over all layers. The total times of all lines add up to the totals of the analysis.
    pub total: Nanos,
    /// Sum of the squares of the op's times in all layers, in µs².
    squares: f64,
}

impl Spread {
    /// Mean time of the op per layer, in µs; `None` if there are no layers. A layer without the op counts as 0.
    pub fn mean_us(&self) -> Option<f64> {
        (self.of_layers > 0).then(|| self.total.as_micros() / self.of_layers as f64)
    }

    /// Sample standard deviation of the op's time per layer, in µs; `None` if there are fewer than two layers.
    pub fn deviation_us(&self) -> Option<f64> {
        let layers = self.of_layers as f64;
        let sum = self.total.as_micros();
        (self.of_layers > 1)
            .then(|| ((self.squares - sum * sum / layers) / (layers - 1.0)).max(0.0).sqrt())
    }
}

/// The layers whose times are averaged: a stack and a phase. The stack is given by the position of its first layer in
/// [`LayerPairs::places`]. For work outside of layers, the number is the position of this work.
type Group = (usize, Phase);

/// A layer in one step: the position of the layer in [`LayerPairs::places`], and the step.
type Sample = (usize, u32);

/// A name, given by its position in the sorted list of names.
type Name = u32;

/// Key of an op in an average layer. Pieces of work with the same key belong to the same op.
type OpKey = (Group, Name, u32);

/// The time and the number of events of an op in one sample, on one side.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    events: u64,
    time: Nanos,
}

/// The ops of an average layer for each stack and phase, in execution order, and the ops outside of layers. The
/// times of all lines add up to the totals on both sides.
pub fn layer_op_rows(diff: &TraceDiff, ledger: &Ledger, pairs: &LayerPairs) -> Vec<LayerOpRow> {
    let (mut names, mut pieces) = (Names::default(), Vec::new());
    let of_rows: Vec<Name> =
        ledger.rows().iter().map(|row| names.number(&row.name(diff))).collect();
    for side in Side::BOTH {
        let of_side = pieces_of(diff, ledger, pairs, (&of_rows, &mut names), side);
        pieces.extend(of_side.map(|piece| (side, piece)));
    }
    let names = names.sort(&mut pieces);
    let nth = numbers(&pieces);
    let mut table = Table::default();
    for (side, piece) in &pieces {
        let at = nth[&(piece.group, piece.sample, piece.unit(*side))];
        table.add(*side, piece, at);
    }
    table.rows(pairs, &names)
}

/// The measured events on one side as pieces of work.
fn pieces_of(
    diff: &TraceDiff,
    ledger: &Ledger,
    pairs: &LayerPairs,
    (of_rows, names): (&[Name], &mut Names),
    side: Side,
) -> impl Iterator<Item = Piece> {
    let tree = diff.tree(side);
    let (phases, steps) = (diff.phases(side), diff.steps(side));
    let first = first_places(pairs.places());
    let piece = move |call: CallId| {
        let row = ledger.row_index(diff, side, call).expect("every attributed call has a row");
        let at = pairs.place_of(side, call);
        let place = pairs.places()[at];
        let is_layer = matches!(place, PlacePair::Layer { .. });
        let is_graph = pairs.is_graph(place);
        Piece {
            group: (first[at], phases.phase(call)),
            sample: (at, steps.step(call).map_or(u32::MAX, |step| step.0)),
            name: if is_graph { names.number(tree.name(call)) } else { of_rows[row] },
            place: match (is_layer, is_graph) {
                (true, false) => Within::Row(row),
                (true, true) => Within::Graph(call),
                (false, _) => Within::Nothing,
            },
            time: ledger.time_of(diff, side, call),
        }
    };
    ledger.calls(side).iter().copied().map(piece)
}

/// Assigns numbers to the names of the pieces.
#[derive(Debug, Default)]
struct Names(FxHashMap<String, Name>);

impl Names {
    fn number(&mut self, name: &str) -> Name {
        match self.0.get(name) {
            Some(&number) => number,
            None => {
                let next = self.0.len() as Name;
                *self.0.entry(name.to_owned()).or_insert(next)
            }
        }
    }

    /// Sorts the names, and replaces the number of each piece's name with the position of the name in the sorted list.
    fn sort(self, pieces: &mut [(Side, Piece)]) -> Vec<String> {
        let mut names: Vec<(String, Name)> = self.0.into_iter().collect();
        names.sort_unstable();
        let mut positions = vec![0; names.len()];
        for (position, (_, number)) in (0..).zip(&names) {
            positions[*number as usize] = position;
        }
        for (_, piece) in pieces {
            piece.name = positions[piece.name as usize];
        }
        names.into_iter().map(|(name, _)| name).collect()
    }
}

/// A piece of work: a measured event, with the properties that determine its line in the table.
#[derive(Debug)]
struct Piece {
    group: Group,
    sample: Sample,
    name: Name,
    place: Within,
    time: Nanos,
}

/// What determines whether events with the same name in a layer belong to the same op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Within {
    /// Events belong to the same op if they are in the same attribution row, which both sides share.
    Row(usize),
    /// In a graph replay, each event is an op of its own.
    Graph(CallId),
    /// Outside of layers, all events with the same name belong to the same op.
    Nothing,
}

/// A unit of work in a layer, with its side and its name. The side is `None` if both sides share the unit.
type Unit = (Within, Option<Side>, Name);

impl Piece {
    fn unit(&self, side: Side) -> Unit {
        let side = matches!(self.place, Within::Graph(_)).then_some(side);
        (self.place, side, self.name)
    }
}

/// For each unit of work in a sample, its index among the units with the same name, and its index among all units.
fn numbers(pieces: &[(Side, Piece)]) -> FxHashMap<(Group, Sample, Unit), (u32, u32)> {
    let unit = |(side, piece): &(Side, Piece)| (piece.group, piece.sample, piece.unit(*side));
    let mut units: Vec<(Group, Sample, Unit)> = pieces.iter().map(unit).collect();
    units.sort_unstable();
    units.dedup();
    let mut counts: FxHashMap<(Group, Sample, Option<Side>, Name), u32> = FxHashMap::default();
    let mut positions: FxHashMap<(Group, Sample, Option<Side>), u32> = FxHashMap::default();
    units
        .into_iter()
        .map(|(group, sample, unit)| {
            let count = counts.entry((group, sample, unit.1, unit.2)).or_default();
            let position = positions.entry((group, sample, unit.1)).or_default();
            let number = (*count, *position);
            (*count, *position) = (*count + 1, *position + 1);
            ((group, sample, unit), number)
        })
        .collect()
}

#[derive(Debug, Default)]
struct Table {
    cells: BTreeMap<OpKey, Line>,
    samples: PerSide<BTreeMap<Group, BTreeSet<Sample>>>,
}

#[derive(Debug, Default)]
struct Line {
    cells: PerSide<BTreeMap<Sample, Cell>>,
    /// Sum and count of the op's positions in its layers. Sorting the lines by mean position yields the execution
    /// order.
    positions: (u64, u64),
}

impl Table {
    fn add(&mut self, side: Side, piece: &Piece, (nth, position): (u32, u32)) {
        self.samples[side].entry(piece.group).or_default().insert(piece.sample);
        let line = self.cells.entry((piece.group, piece.name, nth)).or_default();
        line.positions = (line.positions.0 + u64::from(position), line.positions.1 + 1);
        let cell = line.cells[side].entry(piece.sample).or_default();
        cell.events += 1;
        cell.time += piece.time;
    }

    fn rows(self, pairs: &LayerPairs, names: &[String]) -> Vec<LayerOpRow> {
        let mut lines: Vec<(OpKey, Line)> = self.cells.into_iter().collect();
        let mean = |line: &Line| line.positions.0 * 1024 / line.positions.1.max(1);
        lines.order_by(|(a, one), (b, two)| {
            (a.0, mean(one), a.1, a.2).cmp(&(b.0, mean(two), b.1, b.2))
        });
        let mut last: Option<(Group, u32)> = None;
        let mut rows = Vec::with_capacity(lines.len());
        for ((group, name, nth), line) in lines {
            let position = last.filter(|last| last.0 == group).map_or(0, |last| last.1 + 1);
            last = Some((group, position));
            let samples = |side: Side| self.samples[side].get(&group).map_or(0, BTreeSet::len);
            rows.push(LayerOpRow {
                place: pairs.places()[group.0],
                phase: group.1,
                position,
                name: names[name as usize].clone(),
                nth,
                spread: PerSide::from_fn(|side| spread(&line.cells[side], samples(side))),
            });
        }
        rows
    }
}

/// For each position in [`LayerPairs::places`], the position of the first layer in the same stack. For work outside of
/// layers, the position itself.
fn first_places(places: &[PlacePair]) -> Vec<usize> {
    let stack = |place: PlacePair| place.stack_and_layers().map(|(stack, _)| stack);
    let first = |(at, &place): (usize, &PlacePair)| {
        let same = |&other: &PlacePair| stack(place).is_some() && stack(other) == stack(place);
        places.iter().position(same).unwrap_or(at)
    };
    places.iter().enumerate().map(first).collect()
}

fn spread(cells: &BTreeMap<Sample, Cell>, of_layers: usize) -> Spread {
    let square = |cell: &Cell| cell.time.as_micros() * cell.time.as_micros();
    Spread {
        layers: cells.len() as u64,
        of_layers: of_layers as u64,
        events: cells.values().map(|cell| cell.events).sum(),
        total: cells.values().map(|cell| cell.time).sum(),
        squares: cells.values().map(square).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_count_layers_without_the_op() {
        let cell = |micros: i64| Cell { events: 1, time: Nanos(micros * 1_000) };
        let cells = BTreeMap::from([((0, 0), cell(2)), ((1, 0), cell(4)), ((2, 0), cell(6))]);
        let spread = spread(&cells, 4);
        // The samples 2, 4, 6 and 0 µs have a mean of 3 µs, and their squared deviations are 1, 1, 9 and 9 µs².
        assert_eq!(spread.mean_us(), Some(3.0));
        let deviation = spread.deviation_us().expect("four layers");
        assert!((deviation - (20.0_f64 / 3.0).sqrt()).abs() < 1e-12, "{deviation}");
        assert_eq!((spread.layers, spread.events, spread.total), (3, 3, Nanos(12_000)));
    }
}
