//! [`Analysis`] → the first screen of the page: both sides, what changed, one step to scale, what to do next.

use super::chips::{Chip, RUNS, chips};
use super::page_tree::PageTree;
use super::scale::Scale;
use super::sides::{SideLine, sides};
use crate::analysis::{Analysis, Certainty, Change, Verdict};
use crate::escape::one_line;
use crate::program::counted;
use crate::report::lists::change as style_of;
use crate::report::summary::Summary;
use crate::report::text::{Figures, change_lines};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::path::Path;

/// Maximum number of changes that are listed; `changes.csv` has all of them.
const LISTED: usize = 8;
/// Maximum number of things to do next.
const ACTIONS: usize = 3;

/// The first screen.
pub(super) struct First {
    pub(super) sides: [SideLine; 2],
    /// What both sides have in common: device, versions, steps, runs.
    pub(super) shared: Vec<String>,
    /// The step times, or what there is to say instead.
    pub(super) headline: String,
    /// `more` or `less` if the step time differs.
    pub(super) style: &'static str,
    /// Shown after the step times; may be empty.
    pub(super) verdict: &'static str,
    pub(super) lead: String,
    /// What the headline leaves out of the answer.
    pub(super) rest: String,
    pub(super) chips: Vec<Chip>,
    /// The unit of all figures here.
    pub(super) unit: &'static str,
    /// Whether the leading figures are effects by replay.
    pub(super) has_effects: bool,
    pub(super) changes: Vec<ChangeRow>,
    /// The changes that are not listed.
    pub(super) others: Option<String>,
    pub(super) same_program: Vec<PartRow>,
    /// The difference of a step, to which the costs add up.
    pub(super) difference: PartRow,
    pub(super) scale: Scale,
    pub(super) actions: Vec<Action>,
}

/// A change of the program.
pub(super) struct ChangeRow {
    /// Its effect by replay, or its cost if there is none.
    pub(super) leading: String,
    pub(super) style: &'static str,
    pub(super) bar: Bar,
    /// The attributed cost, if an effect leads; otherwise empty.
    pub(super) cost: String,
    /// How to read both figures.
    pub(super) reading: String,
    pub(super) sentence: String,
    pub(super) details: Vec<String>,
    /// The usual switch; empty if there is none.
    pub(super) usual: &'static str,
    pub(super) sites: usize,
    /// Its first node, if the page's tree contains it.
    pub(super) node: Option<usize>,
}

/// A part of the difference that no change causes, or a sum.
pub(super) struct PartRow {
    pub(super) difference: String,
    pub(super) style: &'static str,
    pub(super) bar: Bar,
    pub(super) sentence: String,
}

/// A bar from zero, in percent of the room.
#[derive(Default)]
pub(super) struct Bar {
    pub(super) left: String,
    pub(super) width: String,
}

/// Something to do next.
#[derive(Default)]
pub(super) struct Action {
    pub(super) text: String,
    /// A command; may be empty.
    pub(super) code: String,
    /// A node to look at.
    pub(super) node: Option<usize>,
}

impl First {
    pub(super) fn of(analysis: &Analysis, summary: &Summary, tree: &PageTree<'_>) -> First {
        let figures = Figures::of(PerSide::from_fn(|side| analysis.wall().totals(side)));
        let lines = change_lines(analysis);
        let answer = crate::report::text::answer(analysis);
        let end = answer.find([',', ':', ';']).unwrap_or(answer.len());
        let changes = analysis.changes().list();
        let listed: Vec<Row<'_>> = changes
            .iter()
            .zip(0..LISTED)
            .map(|(change, at)| Row::of(analysis, change, at))
            .collect();
        let parts = lines.same_program.iter().map(|line| line.time);
        let difference = analysis.changes().difference();
        let shown = listed.iter().flat_map(|row| [row.lead(), row.change.cost]);
        let axis = Axis::of(shown.chain(parts).chain([difference]));
        let lead = match (&lines.headline, listed.first()) {
            (Some(headline), _) => headline.clone(),
            (None, Some(row)) => row.words(figures),
            (None, None) => String::new(),
        };
        // Without a change of the program, one run per side cannot show that anything became slower.
        let changes_nothing = analysis.changes().is_identical() && !analysis.has_runs();
        let others = &changes[listed.len()..];
        let sum: Nanos = others.iter().map(|change| change.cost).sum();
        let (sides, shared) = sides(analysis);
        First {
            sides,
            shared,
            headline: capitalised(&answer[..end]),
            style: match is_noise(analysis) || changes_nothing {
                true => "",
                false => shown_style(figures, difference),
            },
            verdict: match (is_noise(analysis), changes_nothing) {
                (true, _) => "within noise",
                (false, true) => "same program: noise, or the machine",
                (false, false) => "",
            },
            lead,
            rest: answer[end..].trim_start_matches([',', ':', ';', ' ']).to_owned(),
            chips: chips(analysis, summary),
            unit: figures.unit(),
            has_effects: listed.iter().any(|row| row.effect.is_some()),
            actions: actions(analysis, &listed, tree),
            scale: Scale::of(analysis, figures),
            changes: listed.into_iter().map(|row| row.shown(figures, &axis, tree)).collect(),
            others: (!others.is_empty()).then(|| {
                let count = counted(others.len() as u64, "smaller change");
                format!("and {count}, together {}", figures.signed(sum.0 as f64))
            }),
            same_program: lines
                .same_program
                .into_iter()
                .map(|line| PartRow {
                    bar: axis.bar(line.time),
                    style: shown_style(figures, line.time),
                    difference: figures.signed_bare(line.time.0 as f64),
                    sentence: line.sentence,
                })
                .collect(),
            difference: PartRow {
                bar: axis.bar(difference),
                style: shown_style(figures, difference),
                difference: figures.signed_bare(difference.0 as f64),
                sentence: "Difference of a step: the costs above, together".to_owned(),
            },
        }
    }
}

/// Whether the runs do not support the difference of the step times.
fn is_noise(analysis: &Analysis) -> bool {
    analysis.judged().step.is_some_and(|step| step.verdict == Verdict::WithinNoise)
}

/// The style of a difference; a difference that rounds to zero has no colour.
fn shown_style(figures: Figures, time: Nanos) -> &'static str {
    match figures.signed(time.0 as f64).starts_with('±') {
        true => "same",
        false => style_of(time),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

/// A change with its effect by replay.
struct Row<'a> {
    change: &'a Change,
    effect: Option<crate::analysis::replay::Effect>,
}

impl<'a> Row<'a> {
    fn of(analysis: &Analysis, change: &'a Change, at: usize) -> Row<'a> {
        Row { change, effect: analysis.effect_of_change(at) }
    }

    /// The sentence with its leading figure.
    fn words(&self, figures: Figures) -> String {
        let by = if self.effect.is_some() { ", by replay" } else { "" };
        let figure = figures.signed(self.lead().0 as f64);
        format!("{}: {figure} per step{by}", one_line(&self.change.sentence))
    }

    fn lead(&self) -> Nanos {
        self.effect.map_or(self.change.cost, |effect| effect.alone)
    }

    fn shown(&self, figures: Figures, axis: &Axis, tree: &PageTree<'_>) -> ChangeRow {
        let change = self.change;
        let place =
            if change.sentence.contains(&change.place) { "" } else { change.place.as_str() };
        let mut details = Vec::new();
        if !place.is_empty() {
            details.push(format!("first {}", one_line(place)));
        }
        if change.certainty == Certainty::Likely {
            details.push("inferred from kernel names".to_owned());
        }
        let signed = |time: Nanos| figures.signed(time.0 as f64);
        ChangeRow {
            leading: figures.signed_bare(self.lead().0 as f64),
            style: shown_style(figures, self.lead()),
            bar: axis.bar(self.lead()),
            cost: self.effect.map_or_else(String::new, |_| figures.signed_bare(change.cost.0 as f64)),
            reading: self.effect.map_or_else(String::new, |effect| format!(
                "By replay: {} if only this changes in the baseline, {} if it is the last change to the candidate. \
                 {} of the step difference are at its call sites.",
                signed(effect.alone), signed(effect.last), signed(change.cost)
            )),
            sentence: one_line(&change.sentence).into_owned(),
            details,
            usual: change.kind.usual(),
            sites: change.nodes.len(),
            node: tree.target(change.nodes.iter().copied().find(|&node| tree.target(Some(node)).is_some())),
        }
    }
}

/// Where zero is, and how much time the whole width stands for.
struct Axis {
    least: Nanos,
    most: Nanos,
}

impl Axis {
    fn of(times: impl Iterator<Item = Nanos>) -> Axis {
        let zero = Axis { least: Nanos::ZERO, most: Nanos::ZERO };
        times.fold(zero, |axis, time| Axis {
            least: axis.least.min(time),
            most: axis.most.max(time),
        })
    }

    fn bar(&self, time: Nanos) -> Bar {
        let range = (self.most - self.least).0.max(1) as f64;
        let percent = |time: Nanos| format!("{:.3}", 100.0 * time.0 as f64 / range);
        Bar { left: percent(time.min(Nanos::ZERO) - self.least), width: percent(time.abs()) }
    }
}

/// At most three things to do next.
fn actions(analysis: &Analysis, rows: &[Row<'_>], tree: &PageTree<'_>) -> Vec<Action> {
    let mut actions = Vec::new();
    let switch = rows.iter().position(|row| !row.change.kind.usual().is_empty());
    if let Some(at) = switch {
        let which =
            if rows.len() == 1 { "the change".to_owned() } else { format!("change {}", at + 1) };
        let text = format!("If {which} is not wanted, check: {}", rows[at].change.kind.usual());
        actions.push(Action { text, ..Action::default() });
    }
    let nodes = rows.iter().flat_map(|row| row.change.nodes.iter().copied());
    if let Some(node) = nodes.into_iter().find_map(|node| tree.target(Some(node))) {
        let text = "See the first call of the change, both sides".to_owned();
        actions.push(Action { text, node: Some(node), ..Action::default() });
    }
    let [base, new] = Side::BOTH.map(|side| file(analysis, side));
    let few = Side::BOTH.iter().any(|&side| analysis.runs(side).len() + 1 < RUNS);
    if few {
        actions.push(Action {
            text: format!("Record {RUNS} runs per side, to separate the difference from noise:"),
            code: format!("tracetree diff --base {} … --new {} …", quoted(&base), quoted(&new)),
            node: None,
        });
    }
    actions.push(Action {
        text: "Let CI find the next such change:".to_owned(),
        code: format!("tracetree gate --base {} --new {}", quoted(&base), quoted(&new)),
        node: None,
    });
    actions.truncate(ACTIONS);
    actions
}

/// The name of a trace without its folders.
fn file(analysis: &Analysis, side: Side) -> String {
    let path = analysis.tree(side).trace().source();
    Path::new(path)
        .file_name()
        .map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A file name as one argument of a shell.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+=".contains(c);
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}
