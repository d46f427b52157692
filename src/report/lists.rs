//! Builds the short lists on the page and in the Markdown file: steps, idle time, marked regions, fusions, and kernels
//! that both sides run. The CSV files contain the full lists.

// In builds without the page, some items are unused, because the Markdown file does not need every item.
#![cfg_attr(not(feature = "html"), allow(dead_code))]

use super::text::{Unit, both, tensors};
use crate::analysis::Analysis;
use crate::analysis::annotated::{AnnotatedFigures, AnnotatedRow};
use crate::analysis::fusion::KernelChange;
use crate::analysis::steps::{StepPlace, batch_class_rows};
use crate::analysis::wall::{IdleKind, idle_owner_name};
use crate::order::Order as _;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Reverse;

/// In a list that compares times, the positions of the columns with the baseline time, the candidate time and the
/// difference.
const TIMES: [usize; 3] = [1, 2, 3];

/// Maximum number of lines in a list.
const LINES: usize = 15;

/// A section of the report with one table.
#[derive(Debug)]
pub(super) struct List {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    /// A description of the table's content, with the name of the file that contains the full list.
    pub(super) remark: String,
    pub(super) titles: Vec<String>,
    /// The title of the first column, which has no unit.
    pub(super) first: &'static str,
    /// The positions of the table's columns that contain times.
    pub(super) units: &'static [usize],
    /// Whether the times are sums over all steps instead of times per step.
    pub(super) is_summed: bool,
    pub(super) lines: Vec<ListLine>,
}

#[derive(Debug)]
pub(super) struct ListLine {
    pub(super) name: String,
    /// A dimmed note that follows the line's name, without the kind of idle time.
    pub(super) note: String,
    /// The kind of idle time that the line is about, if any.
    idle: Option<IdleKind>,
    pub(super) cells: Vec<String>,
    /// The style of the second-to-last cell, which shows a difference: `more`, `less` or `same`.
    pub(super) style: &'static str,
    /// The line's times on both sides if they are sums over all steps, otherwise `None`.
    pub(super) time: Option<PerSide<Nanos>>,
    /// The times that the last cells of the line show, one entry for each cell. An entry contains the time of each
    /// side, or `None` for a side without a time.
    pub(super) pairs: Vec<PerSide<Option<Nanos>>>,
}

impl ListLine {
    /// A line that compares the times on both sides, which are sums over all steps.
    fn of(name: String, note: String, unit: Unit, time: PerSide<Nanos>) -> ListLine {
        let cells = unit.figures(time).into();
        let style = change(time.difference());
        let time = Some(time);
        ListLine { name, note, idle: None, cells, style, time, pairs: Vec::new() }
    }

    /// The note with the kind of idle time, if any; `tail` says what the final wait is called.
    pub(super) fn note(&self, tail: &str) -> Cow<'_, str> {
        match self.idle {
            None => Cow::Borrowed(&self.note),
            Some(IdleKind::Tail) => Cow::Owned(format!("{tail}, {}", self.note)),
            Some(kind) => Cow::Owned(format!("{}, {}", kind.label(), self.note)),
        }
    }

    /// The times of a cell that shows both sides, in ns, such as `13236000 -`; `-` stands for a side without a time.
    pub(super) fn pair(&self, cell: &usize) -> Option<String> {
        let at = cell.checked_sub(self.cells.len() - self.pairs.len())?;
        let shown = |time: Option<Nanos>| time.map_or("-".to_owned(), |time| time.0.to_string());
        Some(format!("{} {}", shown(self.pairs[at].baseline), shown(self.pairs[at].candidate)))
    }
}

/// All lists that are not empty.
pub(super) fn of(analysis: &Analysis, unit: Unit) -> Vec<List> {
    let mut lists = vec![
        steps(analysis, unit),
        idle(analysis, unit),
        marked_regions(analysis, unit),
        fusion(analysis, unit),
        same_kernels(analysis, unit),
    ];
    lists.retain(|list| !list.lines.is_empty());
    lists
}

/// The style of a time difference: `more`, `less` or `same`.
pub(super) fn change(difference: Nanos) -> &'static str {
    match difference.0 {
        1.. => "more",
        0 => "same",
        _ => "less",
    }
}

fn titles(analysis: &Analysis, first: &str) -> Vec<String> {
    let [one, two] = Side::BOTH.map(|side| analysis.names()[side].to_owned());
    vec![first.to_owned(), one, two, "difference".to_owned(), "ratio".to_owned()]
}

/// Lists how long the steps on each side take and how much the step times vary.
fn steps(analysis: &Analysis, unit: Unit) -> List {
    let rows = analysis.step_rows();
    let walls = |side: Side| {
        let is_step = |place| matches!(place, StepPlace::Step(_));
        let rows = rows.iter().filter(|row| is_step(row.place) && row.figures[side].steps > 0);
        let mut walls: Vec<Nanos> = rows.map(|row| row.figures[side].wall()).collect();
        walls.sort_unstable();
        walls
    };
    let walls = PerSide::from_fn(walls);
    let count = walls.as_ref().map(Vec::len);
    let line = |name: &str, pick: fn(&[Nanos]) -> Nanos| {
        let time = walls.as_ref().map(|walls| pick(walls));
        ListLine { time: None, ..ListLine::of(name.to_owned(), String::new(), unit, time) }
    };
    let classes = batch_classes(analysis, unit);
    let lines = match count.baseline.min(count.candidate) {
        0 | 1 => Vec::new(),
        _ if !classes.is_empty() => classes,
        _ => vec![
            line("mean", mean),
            line("median", middle),
            line("shortest", |walls| walls[0]),
            line("longest", |walls| walls[walls.len() - 1]),
            line("longest − shortest", |walls| walls[walls.len() - 1] - walls[0]),
        ],
    };
    let counts = if count.baseline == count.candidate {
        format!("{} steps on each side", count.baseline)
    } else {
        format!("{} and {} steps", count.baseline, count.candidate)
    };
    let remark = format!("Wall time of {counts}. steps.csv lists every step.");
    List {
        key: "steps",
        title: "Steps",
        remark,
        titles: titles(analysis, unit.label()),
        first: "steps",
        units: &TIMES,
        is_summed: false,
        lines,
    }
}

/// The mean wall time of the compared steps in each batch class.
fn batch_classes(analysis: &Analysis, unit: Unit) -> Vec<ListLine> {
    let rows = batch_class_rows(analysis.diff(), analysis.step_rows()).into_iter();
    let compared_rows =
        rows.filter(|row| row.figures.baseline.steps.min(row.figures.candidate.steps) > 0);
    compared_rows
        .map(|row| {
            let time = row.figures.map(|f| Nanos(f.wall().0 / f.steps as i64));
            let compared_steps = row.figures.map(|f| f.steps);
            let note = format!(
                "{} of {} baseline steps, {} of {} candidate steps",
                compared_steps.baseline,
                row.steps.baseline,
                compared_steps.candidate,
                row.steps.candidate
            );
            ListLine { time: None, ..ListLine::of(row.class.to_string(), note, unit, time) }
        })
        .collect()
}

/// The mean of times; the list must not be empty.
fn mean(times: &[Nanos]) -> Nanos {
    Nanos(times.iter().copied().sum::<Nanos>().0 / times.len() as i64)
}

/// The median of sorted times; the list must not be empty.
fn middle(times: &[Nanos]) -> Nanos {
    let half = times.len() / 2;
    match times.len() % 2 {
        0 => Nanos((times[half - 1].0 + times[half].0) / 2),
        _ => times[half],
    }
}

/// A kind of idle time, and the name of the call that it is attributed to.
type Owner<'k> = (IdleKind, Cow<'k, str>);
/// Total idle time and number of idle gaps, per side.
type IdleSum = (PerSide<Nanos>, PerSide<u64>);

/// The idle time in the recorded window, by kind and by call, largest difference first.
fn idle(analysis: &Analysis, unit: Unit) -> List {
    let mut owners: Vec<(Owner<'_>, IdleSum)> = Vec::new();
    let mut known: FxHashMap<Owner<'_>, usize> = FxHashMap::default();
    for row in analysis.wall().idle().iter().filter(|row| row.part.is_of_window()) {
        let key = (row.kind, idle_owner_name(analysis.diff(), row));
        let at = *known.entry(key).or_insert_with_key(|key| {
            owners.push((key.clone(), IdleSum::default()));
            owners.len() - 1
        });
        let owner = &mut owners[at].1;
        owner.0 = PerSide::from_fn(|side| owner.0[side] + row.time[side]);
        owner.1 = PerSide::from_fn(|side| owner.1[side] + row.count[side]);
    }
    owners.order_by(|((kind_a, name_a), (a, _)), ((kind_b, name_b), (b, _))| {
        let size = |time: &PerSide<Nanos>| Reverse(time.difference().abs());
        (size(a), kind_a.label(), name_a).cmp(&(size(b), kind_b.label(), name_b))
    });
    let count = owners.len();
    let line = |((kind, name), (time, gaps)): (Owner<'_>, IdleSum)| {
        let note = format!("{} → {} gaps", gaps.baseline, gaps.candidate);
        ListLine { idle: Some(kind), ..ListLine::of(name.into_owned(), note, unit, time) }
    };
    let lines: Vec<ListLine> = owners.into_iter().take(LINES).map(line).collect();
    let nothing = match analysis.ledger().measure() {
        Measure::GpuTime => "no device ran anything",
        Measure::HostSelfTime => "no op ran",
    };
    let remark = format!(
        "Time when {nothing}, attributed to calls: {} of {count}, largest difference first. \
         `--emit tables` writes idle.csv with all calls, step by step.",
        lines.len()
    );
    let titles = titles(analysis, &format!("owner, {}", unit.label()));
    List {
        key: "idle",
        title: "Idle time by call",
        remark,
        titles,
        first: "owner",
        units: &TIMES,
        is_summed: true,
        lines,
    }
}

/// Lists the regions that the programs mark with `record_function`. The regions with the largest differences in wall
/// time are selected and then sorted by path.
fn marked_regions(analysis: &Analysis, unit: Unit) -> List {
    // GPU work outside of regions has no wall time, and steps have their own list.
    let is_listed =
        |row: &&AnnotatedRow| row.path.last().is_some_and(|name| name != "ProfilerStep#N");
    let mut rows: Vec<&AnnotatedRow> = analysis.annotated().iter().filter(is_listed).collect();
    let count = rows.len();
    let wall = |row: &AnnotatedRow| row.figures.map(|f| f.map_or(Nanos::ZERO, |f| f.wall));
    rows.sort_by_cached_key(|row| (Reverse(wall(row).difference().abs()), row.path.clone()));
    rows.truncate(LINES);
    rows.order_by(|one, two| one.path.cmp(&two.path));
    let has_gpu = rows.iter().any(|row| {
        Side::BOTH.iter().any(|&side| row.figures[side].is_some_and(|f| f.gpu_idle.is_some()))
    });
    let line = |row: &AnnotatedRow| {
        let sides = |show: &dyn Fn(&AnnotatedFigures) -> String| {
            both(row.figures.as_ref().map(|of| of.as_ref().map_or("–".to_owned(), show)))
        };
        let mut note = format!("×{}", both(row.figures.map(|of| of.map_or(0, |f| f.count))));
        if Side::BOTH.iter().any(|&side| row.figures[side].is_some_and(|f| f.inferred > 0)) {
            let of = sides(&|f| format!("{} of {}", f.inferred, f.gpu_events));
            note += &format!(", GPU events inferred: {of}");
        }
        let mut line = ListLine::of(row.path.join(" / "), note, unit, wall(row));
        let picks: [fn(AnnotatedFigures) -> Option<Nanos>; 3] =
            [|f| Some(f.host_self), |f| Some(f.gpu_busy), |f| f.gpu_idle];
        let picks = picks.into_iter().take(if has_gpu { 3 } else { 1 });
        line.pairs = picks.map(|pick| row.figures.map(|figures| figures.and_then(pick))).collect();
        let shown = |time: Option<Nanos>| time.map_or("–".to_owned(), |time| unit.show(time));
        let cells = line.pairs.iter().map(|pair| both(pair.map(shown)));
        line.cells.extend(cells);
        line
    };
    let lines: Vec<ListLine> = rows.into_iter().map(line).collect();
    let gpu = if has_gpu {
        "GPU work that a thread without regions launches, such as the backward pass, is assumed to belong to the \
         region that is open on another thread. "
    } else {
        ""
    };
    let remark = format!(
        "Wall time of the regions that the programs mark with record_function, by name and nesting: {} of {count}. \
         {gpu}`--emit tables` writes regions.csv with all regions.",
        lines.len()
    );
    let mut titles = titles(analysis, &format!("region, {}", unit.label()));
    let shown: &[&str] =
        if has_gpu { &["host self", "GPU busy", "GPU idle"] } else { &["host self"] };
    titles.extend(shown.iter().map(|title| (*title).to_owned()));
    List {
        key: "marked-regions",
        title: "Marked regions",
        remark,
        titles,
        first: "region",
        units: &[1, 2, 3, 5, 6, 7],
        is_summed: true,
        lines,
    }
}

/// Call sites where the sides run different numbers of kernels.
fn fusion(analysis: &Analysis, unit: Unit) -> List {
    let rows = analysis.fusions();
    let lines = rows.iter().take(LINES).map(|row| {
        let [one, two] = Side::BOTH.map(|side| row.kernel_count[side].to_string());
        let what = match row.change {
            KernelChange::FusedIn(side, evidence) => {
                format!("fused in {}, by {}", analysis.names()[side], evidence.label())
            }
            KernelChange::Count => "different kernel count".to_owned(),
        };
        let name = row.path.rsplit(" / ").next().unwrap_or_default().to_owned();
        let inside = row.path.strip_suffix(&name).unwrap_or_default().trim_end_matches(" / ");
        let mut note = match inside {
            "" => what,
            inside => format!("{what}, in {inside}"),
        };
        if let Some(op) = row.ops.baseline.first().or(row.ops.candidate.first()) {
            note += &format!(", first {op}");
        }
        let mut line = ListLine::of(name, note, unit, row.time);
        (line.cells[0], line.cells[1]) = (one, two);
        line
    });
    let lines: Vec<ListLine> = lines.collect();
    let remark = format!(
        "Call sites where the two sides run different numbers of kernels: {} of {}, largest difference in {} \
         first. `--emit tables` writes fusion.csv with the ops and kernels of all call sites.",
        lines.len(),
        rows.len(),
        unit.label()
    );
    let titles = titles(analysis, "kernels per instance");
    List {
        key: "fusion",
        title: "Different kernel counts",
        remark,
        titles,
        first: "kernels per instance",
        units: &[3],
        is_summed: true,
        lines,
    }
}

/// Kernels that both sides run under matched ops. The times of these kernels show how fast each side runs the same
/// code.
fn same_kernels(analysis: &Analysis, unit: Unit) -> List {
    let same = analysis.same_kernels();
    let count = same.rows.len();
    let lines = same.rows.iter().take(LINES).map(|row| {
        let time = PerSide::from_fn(|side| row.tally.total(side));
        let shapes = [&row.shapes.baseline, &row.shapes.candidate];
        let shapes = shapes.into_iter().map(|dims| tensors(dims)).find(|dims| !dims.is_empty());
        let note = format!("under {} {}", row.op, shapes.unwrap_or_default());
        let mut line = ListLine::of(row.kernel.clone(), note.trim_end().to_owned(), unit, time);
        let ratio = row.tally.mean_ratio().map(|ratio| format!("{ratio:.2}x"));
        line.cells[3] = ratio.unwrap_or_default();
        line
    });
    let lines: Vec<ListLine> = lines.collect();
    let remark = format!(
        "Kernels that both sides run under the same op with the same shapes, longest first: {} of \
         {count}. The ratio compares the kernels' mean times. `--emit tables` \
         writes same_kernels.csv with all kernels.",
        lines.len()
    );
    let titles = titles(analysis, &format!("kernel, {}", unit.label()));
    List {
        key: "same-kernels",
        title: "Same kernels",
        remark,
        titles,
        first: "kernel",
        units: &TIMES,
        is_summed: true,
        lines,
    }
}
