//! The result of a comparison as text for a terminal of some width, as JSON or as CSV.

use anstyle::{AnsiColor, Style};
use std::io::{self, Write};
use tracetree::analysis::{Analysis, Totals};
use tracetree::diff::{Difference, MergedId, MergedNode};
use tracetree::report::{
    SideNote, Summary, Unit, VerdictSummary, largest_names, node_name, one_line, shorten, times,
    verdict,
};
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

/// Places with a supported change that are listed.
const PLACES: usize = 8;
/// Points of difference that are listed, once each.
const POINTS: usize = 8;
/// Columns of the figures right of a name.
const FIGURES: usize = 48;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Writes the summary for a terminal of `width` columns.
pub(super) fn text(
    analysis: &Analysis<'_>,
    summary: &Summary,
    top: usize,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let unit = Unit::fitting(analysis.account().totals.map(|totals| totals.time));
    let longest =
        largest_names(analysis).into_iter().take(top).map(|group| group.name.chars().count() + 6);
    let wanted = longest.max().unwrap_or_default().clamp(28, 72);
    let room = width.saturating_sub(FIGURES + 2).clamp(16, wanted);
    let mut screen = Screen { analysis, unit, width: width.max(40), room, out };
    screen.head(summary)?;
    screen.totals(summary)?;
    screen.names(top)?;
    screen.changes(&summary.verdict)?;
    screen.points()
}

/// A terminal to write to, with the widths of its columns.
struct Screen<'a, 'd> {
    analysis: &'a Analysis<'d>,
    unit: Unit,
    width: usize,
    room: usize,
    out: &'a mut dyn Write,
}

impl Screen<'_, '_> {
    fn head(&mut self, summary: &Summary) -> io::Result<()> {
        for (label, side) in [("trace1", &summary.trace1), ("trace2", &summary.trace2)] {
            let device = side.devices.first().map_or("", String::as_str);
            let path = fit(&side.path, self.width.saturating_sub(9 + device.chars().count()));
            let device = match one_line(device) {
                name if name.is_empty() => String::new(),
                name => format!("  {DIM}{name}{DIM:#}"),
            };
            writeln!(self.out, "{DIM}{label}{DIM:#}  {path}{device}")?;
        }
        writeln!(self.out, "\n{BOLD}{}{BOLD:#}\n", one_line(&verdict(self.analysis)))
    }

    fn totals(&mut self, summary: &Summary) -> io::Result<()> {
        let title = match summary.measure {
            "host_self_time" => "host self time of ops",
            _ => "GPU time",
        };
        self.heading(title)?;
        let parts: [(&str, fn(&Totals) -> Nanos); 4] = [
            ("total", |totals| totals.time),
            ("busy (union)", |totals| totals.busy),
            ("launch not in trace", |totals| totals.unlinked),
            ("only on this side", |totals| totals.one_sided),
        ];
        for (at, (title, pick)) in parts.into_iter().enumerate() {
            let time = PerSide::from_fn(|side| pick(&self.analysis.account().totals[side]));
            if at == 0 || time != PerSide::default() {
                self.line(title, time)?;
            }
        }
        let totals = &self.analysis.account().totals;
        let verdict = if summary.account_is_exact { "exact" } else { "NOT exact" };
        writeln!(
            self.out,
            "{DIM}{} rows add up to {} and {} events: {verdict}{DIM:#}",
            self.analysis.rows().len(),
            totals.baseline.events,
            totals.candidate.events
        )
    }

    fn heading(&mut self, title: &str) -> io::Result<()> {
        let (label, room) = (self.unit.label(), self.room);
        let [first, second] = Side::BOTH.map(|side| format!("{} {label}", side.label()));
        writeln!(
            self.out,
            "{BOLD}{title:<room$} {first:>12} {second:>12} {:>13} {:>8}{BOLD:#}",
            "difference", "ratio"
        )
    }

    /// A name, both times, their difference and ratio; red is more time, blue is less.
    fn line(&mut self, name: &str, time: PerSide<Nanos>) -> io::Result<()> {
        let difference = time.candidate - time.baseline;
        let style = match difference.0 {
            1.. => AnsiColor::Red.on_default(),
            0 => Style::new(),
            _ => AnsiColor::Blue.on_default(),
        };
        let name = pad(&fit(name, self.room), self.room);
        let line = format!(
            "{name} {:>12} {:>12} {style}{:>13}{style:#} {:>8}",
            self.unit.show(time.baseline),
            self.unit.show(time.candidate),
            self.unit.show_signed(difference),
            times(time),
        );
        writeln!(self.out, "{}", line.trim_end())
    }

    /// The verdict on the total, and the places that changed as far as the repeats support it.
    fn changes(&mut self, verdict: &VerdictSummary) -> io::Result<()> {
        let (one, two) = (verdict.steps_trace1, verdict.steps_trace2);
        let chance = verdict.p.map_or_else(String::new, |p| format!(", p {p:.3}"));
        let total = verdict.total.replace('_', " ");
        writeln!(
            self.out,
            "\n{BOLD}{} places changed{BOLD:#}; in all {total} ({one} and {two} steps{chance})",
            verdict.changes
        )?;
        for change in verdict.largest_changes.iter().take(PLACES) {
            let modules = [&change.module_trace1, &change.module_trace2];
            let module = modules.into_iter().find(|module| !module.is_empty());
            let place = module.map_or_else(String::new, |module| format!(" in {module}"));
            let time = self.unit.show_signed(Nanos((change.difference_us * 1e3).round() as i64));
            let line = format!("  {:<6} {time:>12}  {}{place}", change.verdict, change.name);
            writeln!(self.out, "{}", fit(&line, self.width))?;
        }
        Ok(())
    }

    fn names(&mut self, top: usize) -> io::Result<()> {
        let groups = largest_names(self.analysis);
        writeln!(self.out)?;
        if groups.is_empty() {
            return writeln!(self.out, "no difference in the time of any name");
        }
        self.heading("largest differences")?;
        for group in groups.iter().take(top) {
            let rows = if group.row_count == 1 {
                String::new()
            } else {
                format!(" ×{}", group.row_count)
            };
            let name = fit(&group.name, self.room.saturating_sub(rows.chars().count()));
            self.line(&format!("{name}{rows}"), group.time)?;
        }
        if groups.len() > top {
            writeln!(self.out, "{DIM}… and {} more names{DIM:#}", groups.len() - top)?;
        }
        Ok(())
    }

    /// The points of difference with GPU work: where the traces part, below which common node.
    fn points(&mut self) -> io::Result<()> {
        let all = self.analysis.diff().differences();
        let on_gpu_path: Vec<&Difference> =
            all.iter().filter(|point| point.gpu_events > 0).collect();
        writeln!(
            self.out,
            "\n{BOLD}{} points of difference, {} with GPU work{BOLD:#}",
            all.len(),
            on_gpu_path.len()
        )?;
        let kinds = self.point_kinds(&on_gpu_path);
        for (count, what, below) in kinds.iter().take(POINTS) {
            let count = format!("{:>6}", format!("{count}×"));
            let room = self.width.saturating_sub(15);
            let below = fit(below, room / 2);
            let what = fit(what, room - below.chars().count());
            writeln!(self.out, "{count} {what} {DIM}below{DIM:#} {below}")?;
        }
        match kinds.len().saturating_sub(POINTS) {
            0 => Ok(()),
            more => writeln!(self.out, "{DIM}… and {more} more kinds{DIM:#}"),
        }
    }

    /// Equal points counted, those with the most GPU events first.
    fn point_kinds(&self, points: &[&Difference]) -> Vec<(usize, String, String)> {
        let mut kinds: Vec<(u32, usize, String, String)> = Vec::new();
        let mut places = std::collections::BTreeMap::new();
        for point in points {
            let what = label(self.analysis, point.node);
            let below = point
                .lowest_common
                .map_or("nothing in common".to_owned(), |id| label(self.analysis, id));
            let next = kinds.len();
            let at = *places.entry((what.clone(), below.clone())).or_insert(next);
            if at == next {
                kinds.push((0, 0, what, below));
            }
            kinds[at].0 += point.gpu_events;
            kinds[at].1 += 1;
        }
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.0));
        kinds.into_iter().map(|(_, count, what, below)| (count, what, below)).collect()
    }
}

/// A name of a trace for a terminal: one line of at most `room` characters. Of a renamed call both
/// names are shortened, so that neither hides the other.
fn fit(name: &str, room: usize) -> String {
    let name = one_line(name);
    match name.split_once(" | ") {
        Some((first, second)) if name.chars().count() > room && room > 8 => {
            let half = (room - 3) / 2;
            let first = shorten(first, half.max((room - 3).saturating_sub(second.chars().count())));
            let rest = room - 3 - first.chars().count();
            format!("{first} | {}", shorten(second, rest))
        }
        Some(_) | None => shorten(&name, room).into_owned(),
    }
}

fn pad(text: &str, room: usize) -> String {
    let missing = room.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

fn label(analysis: &Analysis<'_>, id: MergedId) -> String {
    let node = analysis.diff().merged().node(id);
    let side = match node {
        MergedNode::Both(..) => "",
        MergedNode::Only(Side::Baseline, _) => ">> trace1: ",
        MergedNode::Only(Side::Candidate, _) => "<< trace2: ",
    };
    format!("{side}{}", node_name(analysis, node))
}

/// The summary as JSON.
pub(super) fn json(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, summary)?;
    writeln!(out)
}

/// The names summary as CSV.
pub(super) fn csv(analysis: &Analysis<'_>, out: &mut dyn Write) -> io::Result<()> {
    tracetree::report::write_names_summary(analysis, out)
}

/// A note as one line for stderr.
pub(super) fn note_line(note: &SideNote) -> String {
    let style = AnsiColor::Yellow.on_default();
    let side = note.side.map_or_else(String::new, |side| format!("{side}: "));
    let hint = match note.note.hint {
        "" => String::new(),
        hint => format!(" ({hint})"),
    };
    format!("{style}{}{style:#}: {side}{}{hint}", note.note.code, one_line(&note.note.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_of_a_renamed_call_stay_readable() {
        assert_eq!(fit("a | b", 20), "a | b");
        let text =
            fit("evaluate: MiopenBatchNormBackward0 | evaluate: CudnnBatchNormBackward0", 43);
        assert_eq!(text, "evaluat…ormBackward0 | evaluat…ormBackward0");
        assert_eq!(fit("short | a long name with many words", 20), "short | a lo…y words");
        assert_eq!(fit("a name\nof two lines", 12), "a na…o lines");
    }
}
