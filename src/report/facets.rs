//! Rows → what they can be grouped and filtered by: step, module, and whatever tables add later.

use crate::analysis::{Analysis, Row};
use crate::side::PerSide;
use crate::trace::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A property by which rows fall into a few groups.
pub(super) struct Facet {
    /// The name in links and scripts.
    pub(super) key: &'static str,
    /// The name for people.
    pub(super) title: &'static str,
    order: Order,
    value: fn(&Analysis<'_>, &Row) -> String,
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

/// A facet is shown where its rows have at least two values; one line here adds one.
static FACETS: [Facet; 2] = [
    Facet {
        key: "step",
        title: "step",
        order: Order::Number,
        value: |analysis, row| {
            analysis.step_of(row).map_or_else(String::new, |step| step.to_string())
        },
    },
    Facet {
        key: "module",
        title: "module class",
        order: Order::Time,
        value: |analysis, row| class_of(analysis.module_of(row)).to_owned(),
    },
];

/// A module without the number of its instance: `Linear_12` is a `Linear`.
fn class_of(module: &str) -> &str {
    match module.rsplit_once('_') {
        Some((class, number)) if number.bytes().all(|digit| digit.is_ascii_digit()) => class,
        Some(_) | None => module,
    }
}

/// The facets of an analysis that tell rows apart.
pub(super) fn of(analysis: &Analysis<'_>) -> Vec<&'static Facet> {
    FACETS.iter().filter(|facet| facet.tells_apart(analysis)).collect()
}

impl Facet {
    /// The value of one row.
    pub(super) fn value(&self, analysis: &Analysis<'_>, row: &Row) -> String {
        (self.value)(analysis, row)
    }

    fn tells_apart(&self, analysis: &Analysis<'_>) -> bool {
        let mut values = analysis.rows().iter().map(|row| self.value(analysis, row));
        let first = values.next();
        values.any(|value| Some(value) != first)
    }

    /// The rows grouped by value; they add up to the account.
    pub(super) fn groups(&self, analysis: &Analysis<'_>) -> Vec<Group> {
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for row in analysis.rows() {
            let value = self.value(analysis, row);
            let group = groups.entry(value.clone()).or_insert_with(|| Group {
                value,
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
                groups.sort_by_key(|group| Reverse(group.time.baseline.max(group.time.candidate)))
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
