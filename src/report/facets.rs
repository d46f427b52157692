//! Rows → what they can be grouped and filtered by: step, phase, layer, module.

use crate::analysis::{Analysis, LayerPairs, Phase, Phases, PlacePair, Row, Steps};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A property by which rows fall into a few groups, with its value for each row.
pub(super) struct Facet {
    /// The name in links and scripts.
    pub(super) key: &'static str,
    /// The name for people.
    pub(super) title: &'static str,
    /// By row.
    pub(super) values: Vec<Value>,
}

/// A value of a facet. Values sort by rank, those of one rank by their time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value {
    rank: usize,
    /// Empty where the row has none.
    pub(super) text: String,
}

/// All rows of one value of a facet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// The value; empty where the rows have none.
    pub(super) value: String,
    pub(super) rows: u64,
    pub(super) time: PerSide<Nanos>,
}

/// How a facet is made: its names, and the values of all rows.
struct Recipe(&'static str, &'static str, fn(&Analysis<'_>) -> Vec<Value>);

/// A line here adds a facet to the page and to the Markdown file.
const RECIPES: [Recipe; 4] = [
    Recipe("step", "step", steps),
    Recipe("phase", "phase", phases),
    Recipe("layer", "layer", layers),
    Recipe("module", "module class", module_classes),
];

/// The facets by which the rows of an analysis have at least two values.
pub(super) fn of(analysis: &Analysis<'_>) -> Vec<Facet> {
    RECIPES
        .iter()
        .map(|&Recipe(key, title, values)| Facet { key, title, values: values(analysis) })
        .filter(|facet| facet.values.windows(2).any(|pair| pair[0] != pair[1]))
        .collect()
}

/// The call that places a row: its op, or its first event; the baseline's where it has one.
fn place(row: &Row) -> Option<(Side, CallId)> {
    let call = |side: Side| row.calls[side].or_else(|| row.events[side].first().copied());
    Side::BOTH.into_iter().find_map(|side| Some((side, call(side)?)))
}

/// A value for each row, by the call that places it.
fn by_place(analysis: &Analysis<'_>, value: impl Fn(Side, CallId) -> Value) -> Vec<Value> {
    let of_row = |row: &Row| place(row).map_or_else(Value::none, |(side, call)| value(side, call));
    analysis.rows().iter().map(of_row).collect()
}

impl Value {
    fn none() -> Value {
        Value { rank: usize::MAX, text: String::new() }
    }
}

/// Positions of steps, which pair the steps of both traces.
fn steps(analysis: &Analysis<'_>) -> Vec<Value> {
    let steps = PerSide::from_fn(|side| Steps::of(analysis.tree(side)));
    by_place(analysis, |side, call| {
        steps[side].step(call).map_or_else(Value::none, |step| Value {
            rank: step.index(),
            text: step.index().to_string(),
        })
    })
}

fn phases(analysis: &Analysis<'_>) -> Vec<Value> {
    let phases = PerSide::from_fn(|side| Phases::of(analysis.tree(side)));
    by_place(analysis, |side, call| {
        let phase = phases[side].phase(call);
        let rank = Phase::ALL.iter().position(|&known| known == phase);
        Value { rank: rank.unwrap_or(usize::MAX), text: phase.label().to_owned() }
    })
}

fn layers(analysis: &Analysis<'_>) -> Vec<Value> {
    let pairs = LayerPairs::of(analysis);
    by_place(analysis, |side, call| {
        let rank = pairs.place_of(side, call);
        Value { rank, text: layer_name(&pairs, pairs.places()[rank]) }
    })
}

/// `BertLayer_3`, or what lies around the layers.
fn layer_name(pairs: &LayerPairs, place: PlacePair) -> String {
    match Side::BOTH.map(|side| pairs.instance(place, side)) {
        ["", ""] => place.label().to_owned(),
        ["", name] | [name, ""] => name.to_owned(),
        [a, b] if a == b => a.to_owned(),
        [a, b] => format!("{a} | {b}"),
    }
}

fn module_classes(analysis: &Analysis<'_>) -> Vec<Value> {
    let value = |row| {
        let text = class_of(analysis.module_of(row)).to_owned();
        Value { rank: usize::from(text.is_empty()), text }
    };
    analysis.rows().iter().map(value).collect()
}

/// A module without the number of its instance: `Linear_12` is a `Linear`.
fn class_of(module: &str) -> &str {
    match module.rsplit_once('_') {
        Some((class, number)) if number.bytes().all(|digit| digit.is_ascii_digit()) => class,
        Some(_) | None => module,
    }
}

impl Facet {
    /// The rows grouped by value; they add up to the account.
    pub(super) fn groups(&self, analysis: &Analysis<'_>) -> Vec<Group> {
        let mut groups: BTreeMap<&Value, Group> = BTreeMap::new();
        for (row, value) in analysis.rows().iter().zip(&self.values) {
            let group = groups.entry(value).or_insert_with(|| Group {
                value: value.text.clone(),
                rows: 0,
                time: PerSide::default(),
            });
            group.rows += 1;
            group.time.baseline += row.time.baseline;
            group.time.candidate += row.time.candidate;
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(value, group)| {
            (value.rank, Reverse(group.time.baseline.max(group.time.candidate)))
        });
        groups.into_iter().map(|(_, group)| group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_a_module_have_one_class() {
        assert_eq!(class_of("Linear_12"), "Linear");
        assert_eq!(class_of("my_layer"), "my_layer");
        assert_eq!(class_of("Linear"), "Linear");
    }
}
