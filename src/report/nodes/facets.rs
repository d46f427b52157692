//! Computes the facets used to group and filter rows and events: category, step, phase, layer, module.
//!
//! For filtering, each row has one value per facet: the value of its op. For grouping, each event has its own value, so
//! that a chart by category shows the same sums as `categories.csv`.

use crate::analysis::Analysis;
use crate::analysis::account::Row;
use crate::analysis::kernels::row_category;
use crate::analysis::layers::{LayerPairs, PlacePair};
use crate::order::Order as _;
use crate::program::Phase;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, ModuleName};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// A property that divides rows and events into a few groups.
#[cfg_attr(not(feature = "html"), expect(dead_code, reason = "only the page uses all fields"))]
#[derive(Debug)]
pub(in crate::report) struct Facet {
    /// The name of the facet in links and scripts.
    pub(in crate::report) key: &'static str,
    /// The display name of the facet.
    pub(in crate::report) title: &'static str,
    /// For each row, the index of its value in `texts`.
    pub(in crate::report) values: Vec<u32>,
    /// The distinct values of the rows; the empty string represents rows without a value.
    pub(in crate::report) texts: Vec<String>,
    /// The attributed events grouped by value; the times of all groups add up to the total.
    pub(in crate::report) groups: Vec<Group>,
}

/// All attributed events that have the same value of a facet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Group {
    /// The value that the events share; empty for events without a value.
    pub(in crate::report) value: String,
    /// Number of attributed events on both sides together.
    pub(in crate::report) events: u64,
    pub(in crate::report) time: PerSide<Nanos>,
}

/// A value of a facet. Values are sorted by rank, then by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Value<'a> {
    rank: usize,
    text: Text<'a>,
}

/// The data that is used to build a value's string. Because a comparison has many calls but few distinct values, the
/// string is built only once per distinct value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Text<'a> {
    Known(&'a str),
    Number(u32),
    /// A matched layer, or the work outside of layers.
    Layer(PlacePair),
}

/// A function that returns the value that a call has for one facet.
type ValueOf<'a> = Box<dyn Fn(Side, CallId) -> Value<'a> + 'a>;

/// The key and title of a facet, and a function that determines the value of each call.
struct Recipe(&'static str, &'static str, for<'a> fn(&'a Analysis) -> ValueOf<'a>);

/// The facets that the page and the Markdown file show.
const RECIPES: [Recipe; 5] = [
    Recipe("category", "category", categories),
    Recipe("step", "step", steps),
    Recipe("phase", "phase", phases),
    Recipe("layer", "layer", layers),
    Recipe("module", "module class", module_classes),
];

/// The facets that divide the events of an analysis into at least two groups.
pub(in crate::report) fn of(analysis: &Analysis) -> Vec<Facet> {
    let mut facets = RECIPES.map(|Recipe(.., recipe)| Groups::new(recipe(analysis)));
    for row in analysis.rows() {
        for side in Side::BOTH {
            for &event in &row.events[side] {
                let time = analysis.ledger().time_of(analysis.diff(), side, event);
                facets.iter_mut().for_each(|groups| groups.add(analysis, side, event, time));
            }
        }
    }
    let facets = RECIPES.into_iter().zip(facets).filter(|(_, groups)| groups.list.len() > 1);
    facets
        .map(|(Recipe(key, title, _), groups)| {
            let (values, texts) = row_values(analysis, &groups.value_of);
            Facet { key, title, values, texts, groups: groups.sorted() }
        })
        .collect()
}

/// Returns the list of distinct values and, for each row, the index of its value in this list.
fn row_values<'a>(analysis: &'a Analysis, value_of: &ValueOf<'a>) -> (Vec<u32>, Vec<String>) {
    let mut texts: Vec<String> = Vec::new();
    let mut numbers: FxHashMap<Text<'a>, u32> = FxHashMap::default();
    // Different values can have the same string, because two layers can have the same name.
    let mut of_texts: FxHashMap<String, u32> = FxHashMap::default();
    let mut number = |text: Text<'a>| {
        *numbers.entry(text).or_insert_with(|| {
            *of_texts.entry(text.shown(analysis)).or_insert_with_key(|text| {
                texts.push(text.clone());
                texts.len() as u32 - 1
            })
        })
    };
    let values = analysis.rows().iter().map(|row| number(row_value(row, value_of))).collect();
    (values, texts)
}

/// The value of a row's op; for a row without an op, the value of the row's first event. If both sides have a value,
/// the baseline's value is used.
fn row_value<'a>(row: &Row, value_of: &ValueOf<'a>) -> Text<'a> {
    let call = |side: Side| row.calls[side].or_else(|| row.events[side].first().copied());
    let place = Side::BOTH.into_iter().find_map(|side| Some((side, call(side)?)));
    place.map_or(Text::Known(""), |(side, call)| value_of(side, call).text)
}

/// The groups of a facet, to which events are added one by one.
struct Groups<'a> {
    value_of: ValueOf<'a>,
    /// For each value, the index of its group in `list`.
    numbers: FxHashMap<Value<'a>, usize>,
    /// The value of the previously added event, and the index of that value's group. Consecutive events often
    /// have the same value, so the index often needs no lookup.
    last: Option<(Value<'a>, usize)>,
    /// The groups, each with the sort rank of its value.
    list: Vec<(usize, Group)>,
}

impl<'a> Groups<'a> {
    fn new(value_of: ValueOf<'a>) -> Groups<'a> {
        Groups { value_of, numbers: FxHashMap::default(), last: None, list: Vec::new() }
    }

    fn add(&mut self, analysis: &Analysis, side: Side, event: CallId, time: Nanos) {
        let value = (self.value_of)(side, event);
        let at = match self.last {
            Some((last, at)) if last == value => at,
            _ => self.number(analysis, value),
        };
        self.last = Some((value, at));
        let group = &mut self.list[at].1;
        group.events += 1;
        group.time[side] += time;
    }

    fn number(&mut self, analysis: &Analysis, value: Value<'a>) -> usize {
        *self.numbers.entry(value).or_insert_with(|| {
            let text = value.text.shown(analysis);
            let group = Group { value: text, events: 0, time: PerSide::default() };
            self.list.push((value.rank, group));
            self.list.len() - 1
        })
    }

    /// The groups sorted by rank, then by time, longest time first.
    fn sorted(mut self) -> Vec<Group> {
        self.list.order_by(|(rank_a, a), (rank_b, b)| {
            let longest = |group: &Group| Reverse(group.time.baseline.max(group.time.candidate));
            let order = (rank_a, longest(a)).cmp(&(rank_b, longest(b)));
            order.then_with(|| a.value.cmp(&b.value))
        });
        self.list.into_iter().map(|(_, group)| group).collect()
    }
}

impl Text<'_> {
    fn shown(self, analysis: &Analysis) -> String {
        match self {
            Text::Known(text) => text.to_owned(),
            Text::Number(number) => number.to_string(),
            Text::Layer(place) => layer_name(analysis.layer_pairs(), place),
        }
    }
}

impl Value<'_> {
    fn none() -> Self {
        Value { rank: usize::MAX, text: Text::Known("") }
    }
}

/// The facet for categories: the category of an event or, for an op, of the op's row.
fn categories<'a>(analysis: &'a Analysis) -> ValueOf<'a> {
    let of_ops = rows_of_ops(analysis);
    Box::new(move |side, call| {
        let text = match of_ops[side].get(&call) {
            Some(row) => {
                row_category(analysis.diff(), analysis.ledger(), analysis.categories(), row)
            }
            None => analysis.categories().name(analysis.diff(), side, call),
        };
        Value { rank: 0, text: Text::Known(text) }
    })
}

/// For each op whose time is attributed to events below it, its row. Calls to which time is attributed directly are not
/// included.
fn rows_of_ops<'a>(analysis: &'a Analysis) -> PerSide<FxHashMap<CallId, &'a Row>> {
    PerSide::from_fn(|side| {
        let op = |row: &'a Row| Some((row.calls[side]?, row));
        let accounted =
            |call: CallId| analysis.ledger().row_of(analysis.diff(), side, call).is_some();
        analysis.rows().iter().filter_map(op).filter(|&(call, _)| !accounted(call)).collect()
    })
}

/// The facet for steps: the value of an event is the position of its step. Matched steps in the two traces have the
/// same position.
fn steps<'a>(analysis: &'a Analysis) -> ValueOf<'a> {
    let steps = PerSide::from_fn(|side| analysis.diff().steps(side));
    Box::new(move |side, call| {
        steps[side].step(call).map_or_else(Value::none, |step| Value {
            rank: step.index(),
            text: Text::Number(analysis.options().displayed_step(step)),
        })
    })
}

fn phases<'a>(analysis: &'a Analysis) -> ValueOf<'a> {
    let phases = PerSide::from_fn(|side| analysis.diff().phases(side));
    Box::new(move |side, call| {
        let phase = phases[side].phase(call);
        let rank = Phase::ALL.iter().position(|&known| known == phase);
        Value { rank: rank.unwrap_or(usize::MAX), text: Text::Known(phase.label()) }
    })
}

fn layers<'a>(analysis: &'a Analysis) -> ValueOf<'a> {
    let pairs = analysis.layer_pairs();
    Box::new(move |side, call| {
        let rank = pairs.place_of(side, call);
        Value { rank, text: Text::Layer(pairs.places()[rank]) }
    })
}

/// A layer's name such as `BertLayer_3`, or the label for work outside of layers.
fn layer_name(pairs: &LayerPairs, place: PlacePair) -> String {
    match Side::BOTH.map(|side| pairs.instance(place, side)) {
        ["", ""] => place.label().to_owned(),
        ["", name] | [name, ""] => name.to_owned(),
        [a, b] if a == b => a.to_owned(),
        [a, b] => format!("{a} | {b}"),
    }
}

fn module_classes<'a>(analysis: &'a Analysis) -> ValueOf<'a> {
    Box::new(|side, call| {
        let tree = analysis.tree(side);
        let name = tree.module(call).map_or("", |module| tree.name(module));
        let text = ModuleName::class_or_name(name);
        Value { rank: usize::from(text.is_empty()), text: Text::Known(text) }
    })
}
