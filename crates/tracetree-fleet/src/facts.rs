//! Extracts from a comparison the facts that a shard stores.

use super::collectives::Collectives;
use super::role;
use super::shard::{Class, Facts, Line, Part, PartKind, Step, Sum};
use std::collections::BTreeMap;
use tracetree::Comparison;
use tracetree::analysis::Analysis;
use tracetree::analysis::bill::BillLine;
use tracetree::analysis::layers::PlacePair;
use tracetree::analysis::porting::{Differs, PortingSums};
use tracetree::analysis::steps::StepPlace;
use tracetree::program::Communication;
use tracetree::side::{PerSide, Side};
use tracetree::trace::{Nanos, Note, Notes};

/// Extracts the facts about a pair from its comparison.
pub(super) fn facts(comparison: &Comparison) -> Facts {
    let analysis = comparison.analysis();
    let account = analysis.account();
    let walls = PerSide::from_fn(|side| analysis.wall().totals(side));
    Facts {
        account: account.totals.map(|totals| Sum {
            time: totals.time,
            busy: totals.busy,
            events: totals.events,
        }),
        // The times of ops, categories and layers cover all steps, so this wall time also covers all steps.
        wall: walls.map(|wall| wall.own() + wall.alone),
        steps: analysis.wall().windows().map(|window| window.steps.max(1)),
        is_exact: account.is_exact(),
        is_comparable: analysis.comparability().is_comparable(),
        is_identical: analysis.changes().is_identical(),
        points: comparison.diff().differences().len() as u64,
        notes: PerSide::from_fn(|side| codes(comparison.trace(side).notes())),
        roles: PerSide::from_fn(|side| {
            role::of(comparison.tree(side), comparison.diff().program(side).steps())
        }),
        parts: parts(analysis),
        step_list: steps(analysis),
        bill: bill(analysis),
        classes: classes(analysis),
        collectives: PerSide::from_fn(|side| Collectives::of(comparison.tree(side))),
    }
}

/// `TRUNCATED 1; LOST_EVENTS 3`.
fn codes(notes: &Notes) -> String {
    let code = |note: &Note| format!("{} {}", note.code, note.count);
    notes.iter().map(code).collect::<Vec<_>>().join("; ")
}

/// Work by op, category and layer. Communication is excluded: the duration of a collective depends on when the last
/// rank arrives, not on the rank's own work.
fn parts(analysis: &Analysis) -> Vec<Part> {
    let (mut ops, mut categories, mut places) = (Sums::default(), Sums::default(), Sums::default());
    let layers = analysis.layer_pairs();
    for side in Side::BOTH {
        let tree = analysis.tree(side);
        let communication: &Communication = analysis.diff().program(side).communication();
        for row in analysis.rows() {
            let mut sum = (Nanos::ZERO, 0);
            for &call in row.events[side].iter().filter(|&&call| !communication.is(tree, call)) {
                let time = analysis.ledger().time_of(analysis.diff(), side, call);
                sum = (sum.0 + time, sum.1 + 1);
                add(
                    &mut categories,
                    analysis.categories().of(analysis.diff(), side, call).id,
                    side,
                    (time, 1),
                );
                add(&mut places, layers.place_of(side, call), side, (time, 1));
            }
            if sum.1 > 0 {
                add(&mut ops, row.name(analysis.diff()), side, sum);
            }
        }
    }
    let part = |kind, name: &str, number, (time, count)| Part {
        kind,
        name: name.into(),
        number,
        time,
        count,
    };
    let ops = ops.iter().map(|(name, &sum)| part(PartKind::Op, name, None, sum));
    let categories = categories.iter().map(|(&id, &sum)| {
        part(PartKind::Category, analysis.options().categories.name(id), None, sum)
    });
    let places = places.iter().map(|(&at, &sum)| match layers.places()[at] {
        place @ PlacePair::Layer { .. } => {
            part(PartKind::Layer, &layers.stack_name(place), layer_number(place), sum)
        }
        other @ (PlacePair::Pre
        | PlacePair::Between
        | PlacePair::Post
        | PlacePair::NoLayers
        | PlacePair::NotCaptured) => part(PartKind::Layer, other.label(), None, sum),
    });
    ops.chain(categories).chain(places).collect()
}

/// Sums by key: the total time on each side, and the number of events on each side.
type Sums<K> = BTreeMap<K, (PerSide<Nanos>, PerSide<u64>)>;

fn add<K: Ord>(sums: &mut Sums<K>, key: K, side: Side, (time, events): (Nanos, u64)) {
    let (times, counts) = sums.entry(key).or_default();
    times[side] += time;
    counts[side] += events;
}

fn layer_number(place: PlacePair) -> Option<i64> {
    let layer = place.layer(Side::Baseline).or(place.layer(Side::Candidate));
    layer.map(|layer| i64::from(layer.layer))
}

fn steps(analysis: &Analysis) -> Vec<Step> {
    let rows = analysis.step_rows().iter();
    let step = |row: &tracetree::analysis::steps::StepRow| match row.place {
        StepPlace::Step(step) => Some(Step {
            number: i64::from(step.0),
            wall: row.figures.map(|figures| figures.wall()),
            busy: row.figures.map(|figures| figures.busy),
        }),
        StepPlace::Outside | StepPlace::NotCaptured => None,
    };
    rows.filter_map(step).collect()
}

fn bill(analysis: &Analysis) -> Vec<Line> {
    let changes = analysis.changes().list();
    let change = |line: &BillLine| line.change.map_or("", |at| changes[at].kind.label());
    let lines = analysis.bill().lines().iter();
    lines
        .map(|line| Line {
            kind: line.kind.label().into(),
            change_kind: change(line).into(),
            place: line.place.as_str().into(),
            sentence: line.sentence.as_str().into(),
            price: line.price,
        })
        .collect()
}

/// The classes of work on two platforms; empty if the devices are the same.
fn classes(analysis: &Analysis) -> Vec<Class> {
    let porting = analysis.porting();
    if porting.differs != Some(Differs::Devices) {
        return Vec::new();
    }
    let class = |(name, sums): (&str, PortingSums)| Class {
        name: name.into(),
        time: sums.time,
        steps: porting.steps.map(|steps| steps.max(1)),
        hardware: sums.hardware,
        software: sums.software,
    };
    porting.classes().into_iter().map(class).collect()
}
