//! Suggests at most three actions, with commands where possible.

use super::layers::Layers;
use super::{Action, Line};
use crate::analysis::changes::ChangeKind;
use crate::analysis::comparability::damage;
use crate::analysis::runs::has_runs;
use crate::analysis::verdict::Verdict;
use crate::analysis::{Analysis, Figures};
use crate::escape::shell_word;
use crate::side::Side;
use crate::trace::{CAPTURE_FOLDER, Nanos};
use crate::tree::CallKind;
use std::collections::BTreeSet;

/// Maximum number of suggested actions.
const MOST: usize = 3;

pub(super) fn actions(analysis: &Analysis, figures: Figures, layers: &Layers) -> Vec<Action> {
    let mut actions = Vec::new();
    if !damage(analysis.diff(), analysis.names()).is_empty() {
        actions.push(Action {
            text: "record the incomplete trace again, because its times are lower bounds"
                .to_owned(),
            ..Action::default()
        });
    }
    let first = layers.certain.lines.first();
    actions
        .extend(first.and_then(|line| of_compilation(analysis, line).or_else(|| of_change(line))));
    let parts = [&layers.other_speed, &layers.within_noise];
    let parts = parts.into_iter().flat_map(|layer| layer.lines.iter().take(layer.notable));
    let slower = parts.filter(|line| line.cost > Nanos::ZERO);
    // Such a line has a remark if there is something to try.
    let advice = slower.map(|line| line.remark.as_str()).find(|remark| !remark.is_empty());
    actions.extend(advice.map(|advice| Action { text: advice.to_owned(), ..Action::default() }));
    if !has_runs(analysis.runs()) {
        actions.push(more_runs(analysis));
    }
    actions.extend(less_noise(analysis, figures));
    if analysis.changes().has_work() {
        let command = format!("{} -o report --open", diff(analysis));
        actions.push(Action { text: "see every call site".to_owned(), command, opens_page: true });
    }
    if layers.certain.lines.iter().any(|line| line.number.is_some()) && has_runs(analysis.runs()) {
        let [a, b] = Side::BOTH.map(|side| shell_word(analysis.tree(side).trace().source()));
        let command = format!("tracetree what-if {a} {b}");
        let text = "replay the step without each change".to_owned();
        actions.push(Action { text, command, ..Action::default() });
    }
    actions.truncate(MOST);
    actions
}

/// Below this share of idle time, the host does not limit a step.
const HOST_BOUND: f64 = 0.5;

/// If compiled code makes the step longer because the device waits for the host, suggests what relieves the host.
fn of_compilation(analysis: &Analysis, line: &Line) -> Option<Action> {
    let change = &analysis.changes().list()[line.number?];
    let totals = analysis.wall().totals(Side::Candidate);
    let is_host_bound = totals.idle_share().is_some_and(|share| share > HOST_BOUND);
    if change.kind != ChangeKind::Compilation || line.cost <= Nanos::ZERO || !is_host_bound {
        return None;
    }
    let tree = analysis.tree(Side::Candidate);
    let has_stacks = tree.calls().any(|call| tree.kind(call) == CallKind::Frame);
    let stacks = if has_stacks { "record without Python stacks, which slow it; " } else { "" };
    let text =
        format!("the device waits for the host: {stacks}torch.compile(mode=\"reduce-overhead\")");
    Some(Action { text, ..Action::default() })
}

/// Suggests what to check about a change.
fn of_change(line: &Line) -> Option<Action> {
    line.number?;
    let text = match (line.usual.as_str(), line.place.as_str()) {
        ("", "") => return None,
        ("", place) => format!("look at {}", place.strip_prefix("in ").unwrap_or(place)),
        (usual, _) => format!("check {usual}"),
    };
    Some(Action { text, ..Action::default() })
}

/// Suggests how to measure the noise between runs.
fn more_runs(analysis: &Analysis) -> Action {
    let [a, b] = Side::BOTH.map(|side| {
        let runs = analysis.runs()[side].len() + 1;
        let own = runs_of(analysis, side);
        let side = if side == Side::Baseline { "BASE" } else { "NEW" };
        (runs + 1..=3).fold(own, |all, run| format!("{all} {side}{run}"))
    });
    Action {
        text: "record 3 runs per side to measure the noise".to_owned(),
        command: format!("tracetree diff --base {a} --new {b}{}", captures(analysis)),
        ..Action::default()
    }
}

/// If the runs of one side differ more from each other than the two sides do, suggests how to
/// reduce this noise.
fn less_noise(analysis: &Analysis, figures: Figures) -> Option<Action> {
    let step = analysis.judged().step?;
    let spread = |side| analysis.run_times().noise(side).and_then(|noise| noise.wall);
    let spread = Side::BOTH.into_iter().filter_map(spread).map(|wall| wall.spread_us * 1e3);
    let (spread, difference) =
        (spread.fold(0.0, f64::max), analysis.changes().difference().0.abs() as f64);
    let is_open = matches!(step.verdict, Verdict::WithinNoise | Verdict::NotTested);
    (is_open && spread > difference).then(|| Action {
        text: format!(
            "record more steps on an idle machine: the runs vary by {}, the sides differ by {}",
            figures.with_unit(spread),
            figures.with_unit(difference)
        ),
        ..Action::default()
    })
}

/// The command that compares the same traces again.
fn diff(analysis: &Analysis) -> String {
    let [a, b] = Side::BOTH.map(|side| runs_of(analysis, side));
    let traces = if Side::BOTH.iter().all(|&side| analysis.runs()[side].is_empty()) {
        format!("{a} {b}")
    } else {
        format!("--base {a} --new {b}")
    };
    format!("tracetree diff {traces}{}", captures(analysis))
}

/// The options that specify the captures of replayed graphs. Captures that are found automatically need no option.
fn captures(analysis: &Analysis) -> String {
    let (mut options, folder) = (String::new(), format!("{CAPTURE_FOLDER}/"));
    for (side, option) in [(Side::Baseline, "--base-capture"), (Side::Candidate, "--new-capture")] {
        let (trace, replays) =
            (analysis.tree(side).trace().source(), analysis.tree(side).replays());
        let files =
            replays.iter().filter_map(|replay| replay.graph.as_ref()).map(|graph| &graph.source);
        let files: BTreeSet<&String> =
            files.filter(|file| file.as_str() != trace && !file.contains(&folder)).collect();
        for file in files {
            options += &format!(" {option} {}", shell_word(file));
        }
    }
    options
}

/// The files on one side, with the median run first.
fn runs_of(analysis: &Analysis, side: Side) -> String {
    let median = analysis.tree(side).trace().source();
    let others = analysis.runs()[side].iter().map(|run| run.name.as_str());
    let all: Vec<_> = std::iter::once(median).chain(others).map(shell_word).collect();
    all.join(" ")
}
