//! Rows → what they can be grouped and filtered by: step, module, and whatever tables add later.

use crate::analysis::Analysis;
use crate::side::PerSide;
use crate::trace::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A property by which rows fall into a few groups, with its value for each row.
pub(super) struct Facet {
    /// The name in links and scripts.
    pub(super) key: &'static str,
    /// The name for people.
    pub(super) title: &'static str,
    /// By row; empty where a row has none.
    pub(super) values: Vec<String>,
    order: Order,
}

/// In which order the groups of a facet are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// As numbers, for things that follow each other.
    Number,
    /// Most time first.
    Time,
}

/// All rows of one value of a facet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// The value; empty where the rows have none.
    pub(super) value: String,
    pub(super) rows: u64,
    pub(super) time: PerSide<Nanos>,
}

/// How a facet is made: its names, its order, and the values of all rows.
struct Recipe(&'static str, &'static str, Order, fn(&Analysis<'_>) -> Vec<String>);

/// A line here adds a facet to the page and to the Markdown file.
const RECIPES: [Recipe; 2] = [
    Recipe("step", "step", Order::Number, steps),
    Recipe("module", "module class", Order::Time, module_classes),
];

/// The facets by which the rows of an analysis have at least two values.
pub(super) fn of(analysis: &Analysis<'_>) -> Vec<Facet> {
    RECIPES
        .iter()
        .map(|&Recipe(key, title, order, values)| Facet {
            key,
            title,
            order,
            values: values(analysis),
        })
        .filter(|facet| facet.values.windows(2).any(|pair| pair[0] != pair[1]))
        .collect()
}

fn steps(analysis: &Analysis<'_>) -> Vec<String> {
    let step = |row| analysis.step_of(row).map_or_else(String::new, |step| step.to_string());
    analysis.rows().iter().map(step).collect()
}

fn module_classes(analysis: &Analysis<'_>) -> Vec<String> {
    analysis.rows().iter().map(|row| class_of(analysis.module_of(row)).to_owned()).collect()
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
        let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
        for (row, value) in analysis.rows().iter().zip(&self.values) {
            let group = groups.entry(value).or_insert_with(|| Group {
                value: value.clone(),
                rows: 0,
                time: PerSide::default(),
            });
            group.rows += 1;
            group.time.baseline += row.time.baseline;
            group.time.candidate += row.time.candidate;
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        match self.order {
            Order::Number => groups.sort_by_key(|group| group.value.parse().unwrap_or(u64::MAX)),
            Order::Time => {
                groups.sort_by_key(|group| Reverse(group.time.baseline.max(group.time.candidate)));
            }
        }
        groups
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
