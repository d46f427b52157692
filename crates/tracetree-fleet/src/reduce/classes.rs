//! Averages the classes of work of a fleet on two platforms over the ranks.

use super::compared::Compared;
use crate::rows::ClassRow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracetree::order::Order as _;
use tracetree::side::PerSide;

/// The classes of work, the one with the most time first. Empty unless the sides ran on different devices.
pub(super) fn classes(whole: &[&Compared<'_>]) -> Vec<ClassRow> {
    let ported = || whole.iter().filter(|one| !one.facts.classes.is_empty());
    let ranks = ported().count() as u64;
    let mut of: BTreeMap<&Arc<str>, ClassRow> = BTreeMap::new();
    for class in ported().flat_map(|one| &one.facts.classes) {
        let row = of.entry(&class.name).or_insert_with(|| ClassRow {
            name: class.name.clone(),
            ranks,
            ..ClassRow::default()
        });
        let mean = |micros: f64| micros / ranks as f64;
        let time = |side| mean(class.time[side].as_micros() / class.steps[side] as f64);
        let time = PerSide::from_fn(time);
        row.time_us = PerSide::from_fn(|side| row.time_us[side] + time[side]);
        row.hardware_us += mean(class.hardware.as_micros());
        row.software_us += mean(class.software.as_micros());
    }
    let mut rows: Vec<ClassRow> = of.into_values().collect();
    let most = |row: &ClassRow| row.time_us.baseline.max(row.time_us.candidate);
    rows.order_by(|a, b| most(b).total_cmp(&most(a)).then_with(|| a.name.cmp(&b.name)));
    rows
}
