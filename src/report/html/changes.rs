//! Builds the page's table of changed call sites. The table contains only changes that the repeated
//! measurements support.

use crate::report::lists::change as style_of;
use crate::report::summary::{Change, VerdictSummary};
use crate::report::text::{Unit, tensors, times};
use crate::side::PerSide;
use crate::trace::Nanos;

pub(super) struct ChangeLine<'a> {
    pub(super) name: &'a str,
    pub(super) module: &'a str,
    pub(super) shape: String,
    pub(super) verdict: &'static str,
    pub(super) work: String,
    pub(super) time: PerSide<Nanos>,
    pub(super) times: [String; 2],
    pub(super) difference: String,
    pub(super) ratio: String,
    pub(super) style: &'static str,
}

pub(super) fn lines(verdict: &VerdictSummary, unit: Unit) -> Vec<ChangeLine<'_>> {
    let changes = verdict.largest_changes.iter();
    changes.map(|change| line(change, verdict.shown(change), unit)).collect()
}

fn line(change: &Change, time: PerSide<Nanos>, unit: Unit) -> ChangeLine<'_> {
    let modules = [&change.module_trace1, &change.module_trace2];
    ChangeLine {
        name: &change.name,
        module: modules.into_iter().find(|module| !module.is_empty()).map_or("", |m| m),
        shape: tensors(&change.input_shape),
        verdict: change.verdict,
        work: match change.work {
            "one_sided" => "work on one side only".to_owned(),
            work => format!("{work} work"),
        },
        time,
        times: [unit.show(time.baseline), unit.show(time.candidate)],
        difference: unit.show_signed(time.candidate - time.baseline),
        ratio: times(time),
        style: style_of(time.candidate - time.baseline),
    }
}
