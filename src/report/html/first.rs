//! Builds the first screen of the page: both sides, what changed, where the step falls behind, and
//! suggested actions.

use super::chips::{Chip, chips};
use super::falls_behind::FallsBehind;
use super::page_tree::PageTree;
use super::sides::{SideLine, sides};
use crate::analysis::Analysis;
use crate::analysis::Figures;
use crate::analysis::runs::has_runs;
use crate::analysis::verdict::Verdict;
use crate::order::Order as _;
use crate::program::counted;
use crate::report::lists::change as style_of;
use crate::report::summary::Summary;
use crate::report::text::{Layer, Line, Narrative, capitalised};
use crate::side::Side;
use crate::trace::Nanos;
use std::borrow::Cow;
use std::cmp::Reverse;

/// Maximum number of changes that are listed; `bill.csv` lists all changes.
const LISTED: usize = 8;
/// Maximum number of suggested actions.
const ACTIONS: usize = 3;

/// The first screen.
pub(super) struct First {
    pub(super) sides: [SideLine; 2],
    /// Properties that both sides share: device, versions, steps, runs.
    pub(super) shared: Vec<String>,
    /// The headline of the narrative, which states how the step time changed.
    pub(super) headline: String,
    /// The style of the headline: `more`, `less` or `same`; empty if the difference may be noise.
    pub(super) style: &'static str,
    /// A remark that follows the headline, such as `within noise`; may be empty.
    pub(super) verdict: &'static str,
    pub(super) lead: String,
    /// How the busy time and the idle time changed.
    pub(super) rest: String,
    pub(super) chips: Vec<Chip>,
    /// The unit of all times on the first screen.
    pub(super) unit: &'static str,
    /// Whether the figures are prices by replay rather than attributed costs.
    pub(super) has_prices: bool,
    pub(super) changes: Vec<ChangeRow>,
    /// A summary of the changes that are not listed.
    pub(super) others: Option<String>,
    pub(super) same_program: Vec<PartRow>,
    /// Summaries of the lines about the same program that are not listed.
    pub(super) smaller: Vec<String>,
    /// The step-time difference, which is the sum of the costs.
    pub(super) difference: PartRow,
    /// Where the candidate falls behind; `None` if too few calls are matched, or if no time differs.
    pub(super) falls_behind: Option<FallsBehind>,
    pub(super) actions: Vec<Action>,
}

/// A change in the program, as a line on the page.
pub(super) struct ChangeRow {
    /// Position in the list of changes; `None` for the joint effect of several changes.
    pub(super) number: Option<usize>,
    /// The price of the change, or its attributed cost if no prices are known.
    pub(super) leading: String,
    pub(super) style: &'static str,
    pub(super) bar: Bar,
    pub(super) sentence: String,
    pub(super) details: Vec<String>,
    /// The setting that usually causes this kind of change; empty if there is none.
    pub(super) usual: String,
    /// The number of changed calls, such as `66 calls in all steps, including nested calls`.
    pub(super) sites: String,
    /// The first node on the page that has the change; `None` if no node on the page has the change.
    pub(super) node: Option<usize>,
    /// The number of the line in `bill.csv`, if the line has calls.
    pub(super) bill_line: Option<usize>,
}

/// A line that shows a part of the difference that no change explains, or a sum.
pub(super) struct PartRow {
    pub(super) difference: String,
    pub(super) style: &'static str,
    pub(super) bar: Bar,
    pub(super) sentence: String,
    /// A remark that names the attributed parts of the difference; may be empty.
    pub(super) remark: String,
    /// The first call that the line is about; `None` if the page has no such call.
    pub(super) node: Option<usize>,
}

/// A bar that starts at zero, with its length in percent of the available width.
#[derive(Default)]
pub(super) struct Bar {
    pub(super) left: String,
    pub(super) width: String,
}

/// A suggested action.
#[derive(Default)]
pub(super) struct Action {
    pub(super) text: String,
    /// A command that performs the action; may be empty.
    pub(super) code: String,
    /// The change whose largest call the action opens, and the first node of the change.
    pub(super) change: Option<(usize, usize)>,
}

impl First {
    pub(super) fn of(
        analysis: &Analysis,
        narrative: &Narrative,
        summary: &Summary,
        tree: &PageTree<'_>,
    ) -> First {
        let figures = Figures::of_wall(analysis.wall());
        let certain = by_size(&narrative.certain);
        let same = [&narrative.other_speed, &narrative.within_noise];
        let parts: Vec<&Line> =
            same.iter().flat_map(|layer| layer.lines.iter().take(layer.notable)).collect();
        let rest = |layer: &Layer, shown: usize| {
            narrative.rest(layer, shown).map(|rest| format!("and {rest}"))
        };
        let smaller = same.iter().filter_map(|layer| rest(layer, layer.notable));
        let difference = analysis.changes().difference();
        let listed = || certain.lines.iter().take(LISTED);
        let costs = listed().map(|line| line.cost);
        let axis = Axis::of(costs.chain(parts.iter().map(|line| line.cost)).chain([difference]));
        // If the program did not change, its time difference may be noise, and single runs cannot show whether it is.
        let changes_nothing = analysis.changes().is_identical() && !has_runs(analysis.runs());
        let (sides, shared) = sides(analysis);
        First {
            sides,
            shared,
            headline: capitalised(&narrative.headline),
            style: if is_noise(analysis) || changes_nothing {
                ""
            } else {
                shown_style(figures, difference)
            },
            verdict: match (is_noise(analysis), changes_nothing) {
                (true, _) => "within noise",
                (false, true) => "same program: noise, or a different machine state",
                (false, false) => "",
            },
            lead: narrative.state.clone().unwrap_or_else(|| narrative.leading.clone()),
            rest: narrative.split.clone(),
            chips: chips(analysis, summary),
            unit: figures.unit,
            has_prices: narrative.has_prices,
            actions: actions(narrative, tree),
            falls_behind: FallsBehind::of(analysis, tree),
            changes: listed().map(|line| row(analysis, line, (figures, &axis, tree))).collect(),
            others: rest(&certain, LISTED),
            same_program: parts
                .into_iter()
                .map(|line| PartRow {
                    bar: axis.bar(line.cost),
                    style: shown_style(figures, line.cost),
                    difference: figures.signed_bare(line.cost.0 as f64),
                    sentence: line.sentence.clone(),
                    remark: line.remark.clone(),
                    node: tree.target(line.node),
                })
                .collect(),
            smaller: smaller.collect(),
            difference: PartRow {
                bar: axis.bar(difference),
                style: shown_style(figures, difference),
                difference: figures.signed_bare(difference.0 as f64),
                sentence: match analysis.bill().rest().0 as f64 {
                    rest if figures.rounds_to_zero(rest) => {
                        "Step difference: the sum of the lines above".to_owned()
                    }
                    rest => format!(
                        "Step difference: the sum of the lines above, including {} that nothing explains",
                        figures.signed(rest)
                    ),
                },
                remark: String::new(),
                node: None,
            },
        }
    }
}

/// The changes; if not all fit on the page, the largest come first, so that none of those left out is larger.
fn by_size(layer: &Layer) -> Cow<'_, Layer> {
    if layer.lines.len() <= LISTED {
        return Cow::Borrowed(layer);
    }
    let mut layer = layer.clone();
    layer.lines.order_by_key(|line| (Reverse(line.cost.abs()), line.number));
    Cow::Owned(layer)
}

/// Whether the runs show no significant difference in step time.
fn is_noise(analysis: &Analysis) -> bool {
    analysis.judged().step.is_some_and(|step| step.verdict == Verdict::WithinNoise)
}

/// The style of a difference; a difference that rounds to zero has no color.
fn shown_style(figures: Figures, time: Nanos) -> &'static str {
    if figures.rounds_to_zero(time.0 as f64) { "same" } else { style_of(time) }
}

fn row(
    analysis: &Analysis,
    line: &Line,
    (figures, axis, tree): (Figures, &Axis, &PageTree<'_>),
) -> ChangeRow {
    let first = format!("first {}", line.place);
    let inferred = line.inferred.to_owned();
    let details = [
        Some(first).filter(|_| !line.place.is_empty()),
        Some(inferred).filter(|inferred| !inferred.is_empty()),
        Some(line.remark.clone()).filter(|remark| !remark.is_empty()),
    ];
    let nodes = line.number.map(|number| &analysis.changes().list()[number].nodes);
    ChangeRow {
        number: line.number,
        leading: figures.signed_bare(line.cost.0 as f64),
        style: shown_style(figures, line.cost),
        bar: axis.bar(line.cost),
        sentence: line.sentence.clone(),
        details: details.into_iter().flatten().collect(),
        usual: line.usual.clone(),
        sites: line.number.map_or_else(String::new, |_| sites(analysis, line.sites)),
        node: nodes.into_iter().flatten().find_map(|&node| tree.target(Some(node))),
        bill_line: nodes
            .filter(|nodes| !nodes.is_empty())
            .and_then(|_| analysis.bill().lines().iter().position(|of| of.change == line.number)),
    }
}

/// Describes the number of changed calls. This number covers all steps and includes calls nested in other changed
/// calls. The sentence about the change may count only the outermost calls of one step.
fn sites(analysis: &Analysis, sites: usize) -> String {
    let has_steps = Side::BOTH.iter().any(|&side| analysis.diff().steps(side).len() > 1);
    match (sites, has_steps) {
        (0 | 1, _) => counted(sites as u64, "call"),
        (_, true) => format!("{sites} calls in all steps, including nested calls"),
        (_, false) => format!("{sites} calls, including nested calls"),
    }
}

/// The time axis of the bars. The full width represents the range of times from `least` to `most`, which includes zero.
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

/// At most three suggested actions: the actions of the narrative, and a link to the largest call of a change.
fn actions(narrative: &Narrative, tree: &PageTree<'_>) -> Vec<Action> {
    let action = |next: &crate::report::text::Action| Action {
        text: capitalised(&next.text),
        code: next.command.clone(),
        change: None,
    };
    // The action that opens the page is left out, because the reader has already opened the page.
    let next = narrative.next.iter().filter(|next| !next.opens_page);
    let mut actions: Vec<Action> = next.map(action).collect();
    let mut lines = narrative.certain.lines.iter();
    if let Some(change) = lines.find_map(|line| Some((line.number?, tree.target(line.node)?))) {
        let text = "See the largest call of the change on both sides".to_owned();
        actions.insert(
            actions.len().min(1),
            Action { text, change: Some(change), ..Action::default() },
        );
    }
    actions.truncate(ACTIONS);
    actions
}
