//! Formats the result of a comparison as text for a terminal of a given width.
//!
//! The detailed text shows the two inputs, the result in one sentence, and the time of each side as a sum of terms. The
//! largest differences follow, in which a replaced op is listed together with the op that replaced it.

mod account;
mod screen;
mod table;

use super::columns::{fit, pad};
use account::Account;
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};
use table::Columns;
use tracetree::analysis::Analysis;
use tracetree::analysis::account::Totals;
use tracetree::program::{Measure, counted};
use tracetree::report::Width;
use tracetree::report::{
    LargeDifference, Part, Report, SideNote, SideSummary, Summary, Unit, evidence, lag_text,
    measure_words, one_line, verdict,
};
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

/// Maximum length of a side's name in a column, in characters.
const SIDE_NAME: usize = 16;
/// On terminals with fewer columns than this, side names are shortened to `SHORT_SIDE_NAME` characters.
const NARROW: usize = 80;
const SHORT_SIDE_NAME: usize = 10;
/// Maximum number of contributing ops to show per difference.
const PARTS: usize = 2;
/// Maximum width of the curve that shows where the step falls behind.
const CURVE: usize = 80;
/// Maximum number of parts listed below this curve.
const LOST: usize = 5;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const PLAIN: Style = Style::new();

/// Writes a short form of the result, which fits into 24 lines on a screen of 100 columns.
pub(super) fn answer(report: &Report, width: Width, out: &mut dyn Write) -> io::Result<()> {
    screen::write(report.narrative(), screen::Extent::Screen, width, out)
}

/// Writes the result and all details in lines of the given width, with the `top` largest
/// differences.
pub(super) fn text(
    analysis: &Analysis,
    report: &Report,
    top: usize,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (summary, groups) = (report.summary(), report.largest_differences());
    let names = [&summary.trace1.name, &summary.trace2.name];
    let room = if width.columns() < NARROW { SHORT_SIDE_NAME } else { SIDE_NAME };
    let mut screen = Screen {
        analysis,
        report,
        summary,
        unit: Unit::fitting(analysis.account().totals.map(|totals| totals.time)),
        names: names.map(|name| {
            if width.is_whole() { one_line(name).into_owned() } else { fit(name, room) }
        }),
        width,
        out,
    };
    screen.head()?;
    screen.account()?;
    screen.largest(groups, top)
}

/// The output to write to, and its settings.
struct Screen<'a> {
    analysis: &'a Analysis,
    report: &'a Report,
    summary: &'a Summary,
    unit: Unit,
    /// Names of the sides, shortened to fit a column.
    names: [String; 2],
    width: Width,
    out: &'a mut dyn Write,
}

impl Screen<'_> {
    fn head(&mut self) -> io::Result<()> {
        let room = self.longest_side();
        for side in Side::BOTH {
            let (label, input) = (pad(&self.names[side as usize], room), input(self.summary, side));
            self.input(&label, input)?;
        }
        writeln!(self.out)?;
        screen::write(self.report.narrative(), screen::Extent::Whole, self.width, self.out)?;
        self.falls_behind()?;
        writeln!(self.out)?;
        let points = match self.summary.points_of_difference {
            1 => "1 point of difference".to_owned(),
            points => format!("{points} points of difference"),
        };
        let varying = match self.summary.varying_points {
            0 => String::new(),
            count => format!(" ({count} more vary between runs on the same side)"),
        };
        let evidence = evidence(self.analysis, &self.summary.verdict);
        let separator = if evidence.is_empty() { "" } else { "; " };
        self.wrapped(PLAIN, 0, &format!("{evidence}{separator}{points}{varying}"))?;
        writeln!(self.out)?;
        self.wrapped(PLAIN, 0, &one_line(&verdict(self.analysis)))
    }

    /// Writes an input such as `MI300X  resnet.json.gz  AMD Instinct MI300X`; if the line would be
    /// too long, the device goes on the next line.
    fn input(&mut self, label: &str, input: &SideSummary) -> io::Result<()> {
        let device = one_line(input.devices.first().map_or("", String::as_str)).into_owned();
        let indent = label.chars().count() + 2;
        let room = self.width.columns().saturating_sub(indent);
        let beside = room.saturating_sub(device.chars().count() + 2);
        let path = one_line(&input.path);
        let length = path.chars().count();
        let is_beside = device.is_empty() || length <= beside || (length > room && beside >= 40);
        let path = match self.width.is_whole() {
            true => path.into_owned(),
            false if device.is_empty() || !is_beside => fit(&path, room),
            false => fit(&path, beside),
        };
        write!(self.out, "{DIM}{label}{DIM:#}  {path}")?;
        match (device.is_empty(), is_beside) {
            (true, _) => writeln!(self.out),
            (false, true) => writeln!(self.out, "{DIM}  {device}{DIM:#}"),
            (false, false) => writeln!(self.out, "\n{DIM}{:indent$}{device}{DIM:#}", ""),
        }
    }

    /// Writes wrapped lines; all lines after the first are indented by two more columns.
    fn wrapped(&mut self, style: Style, indent: usize, text: &str) -> io::Result<()> {
        for (at, line) in self.width.lines(text, indent + 2, usize::MAX).iter().enumerate() {
            let indent = if at == 0 { indent } else { indent + 2 };
            writeln!(self.out, "{:indent$}{style}{line}{style:#}", "")?;
        }
        Ok(())
    }

    /// Writes where the candidate's step falls behind: the curve, and the parts of the program with the largest figures.
    fn falls_behind(&mut self) -> io::Result<()> {
        let columns = self.width.columns().clamp(20, CURVE) - 2;
        let Some(lag) = lag_text(self.analysis, columns) else { return Ok(()) };
        writeln!(self.out, "\n{BOLD}Where the step falls behind{BOLD:#}")?;
        self.wrapped(DIM, 2, &lag.title)?;
        writeln!(self.out, "  {}", lag.blocks)?;
        let widest = lag.parts.iter().map(|(lost, _)| lost.chars().count()).max().unwrap_or(0);
        for (lost, title) in lag.parts.iter().take(LOST) {
            let room = self.width.columns().saturating_sub(widest + 4);
            let title = if self.width.is_whole() { title.clone() } else { fit(title, room) };
            writeln!(self.out, "  {lost:>widest$}  {title}")?;
        }
        Ok(())
    }

    fn longest_side(&self) -> usize {
        self.names.iter().map(|name| name.chars().count()).max().unwrap_or_default()
    }

    /// Writes the time of each side as a sum of terms. The sum is exact to the nanosecond.
    fn account(&mut self) -> io::Result<()> {
        let totals = self.analysis.account().totals;
        let measure = measure_words(self.analysis.ledger().measure());
        let title = format!("{measure}, {}", self.unit.label());
        let sides = Side::BOTH.map(|side| {
            let figures = parts(&totals[side]).map(|time| self.unit.show_exact(time));
            (self.names[side as usize].clone(), figures)
        });
        for (at, line) in (Account { title, sides }).lines(self.width).iter().enumerate() {
            let style = if at == 0 { BOLD } else { PLAIN };
            writeln!(self.out, "{style}{line}{style:#}")?;
        }
        self.account_remarks(&totals)
    }

    fn account_remarks(&mut self, totals: &PerSide<Totals>) -> io::Result<()> {
        let exact = if self.summary.account_is_exact { "exactly" } else { "NOT exactly" };
        let [one, two] = Side::BOTH.map(|side| totals[side].events);
        let busy = Side::BOTH.map(|side| totals[side].busy);
        let overlap = if Side::BOTH.iter().all(|&side| totals[side].busy == totals[side].time) {
            String::new()
        } else {
            let [one, two] = busy.map(|time| self.unit.show(time));
            format!(
                "; GPU busy for {one} and {two} {}, because some events overlap",
                self.unit.label()
            )
        };
        let rows = counted(self.analysis.rows().len() as u64, "row");
        let line = format!("{rows} add up to {one} and {two} events, {exact}{overlap}");
        self.wrapped(DIM, 0, &line)?;
        if let Some(share) = self.summary.firm_share {
            let line = format!("{:.1}% of the GPU time is in firmly matched calls", 100.0 * share);
            self.wrapped(DIM, 0, &line)?;
        }
        writeln!(self.out)
    }

    fn largest(&mut self, groups: &[LargeDifference], top: usize) -> io::Result<()> {
        if groups.is_empty() {
            return writeln!(self.out, "no difference in the time of any op");
        }
        let shown = &groups[..groups.len().min(top)];
        let has_events = self.analysis.ledger().measure() == Measure::GpuTime;
        let columns = Columns::new(shown, &self.names, self.unit, self.width, has_events);
        for line in columns.head() {
            writeln!(self.out, "{BOLD}{}{BOLD:#}", line.trim_end())?;
        }
        for group in shown {
            for line in columns.lines(group) {
                writeln!(self.out, "{}", line.trim_end())?;
            }
            self.what_it_became(group)?;
        }
        match groups.len() - shown.len() {
            0 => Ok(()),
            more => writeln!(self.out, "{DIM}… and {more} more in the report{DIM:#}"),
        }
    }

    /// Writes the name of the lowest common node of a difference, and then the ops below this node at which the traces
    /// diverge.
    fn what_it_became(&mut self, group: &LargeDifference) -> io::Result<()> {
        let columns = self.width.columns();
        let mut texts = Vec::new();
        if !group.below.is_empty() {
            let parts = if group.parts.is_empty() { 1 } else { 2 };
            texts.push(format!("below {}", self.short(&group.below, columns / parts - 10)));
        }
        let named = if self.width.is_whole() { group.parts.len() } else { PARTS };
        let room = columns.saturating_sub(4) / group.parts.len().clamp(1, PARTS);
        texts.extend(group.parts.iter().take(named).map(|part| self.part(part, room)));
        match group.parts.len().saturating_sub(named) {
            0 => {}
            more => texts.push(format!("{more} more")),
        }
        if texts.is_empty() {
            return Ok(());
        }
        let what = self.short(&texts.join(", "), columns.saturating_sub(4));
        for (at, line) in self.width.lines(&what, 4, 1).iter().enumerate() {
            let mark = if at == 0 { "└" } else { " " };
            writeln!(self.out, "{DIM}  {mark} {line}{DIM:#}")?;
        }
        Ok(())
    }

    /// A name shortened to `room` characters, or the full name if names may not be shortened.
    fn short(&self, name: &str, room: usize) -> String {
        if self.width.is_whole() { one_line(name).into_owned() } else { fit(name, room) }
    }

    fn part(&self, part: &Part, room: usize) -> String {
        let side = part
            .side
            .map_or_else(String::new, |side| format!("only {}: ", self.names[side as usize]));
        let count = if part.count == 1 { String::new() } else { format!(" ×{}", part.count) };
        let used = side.chars().count() + count.chars().count() + 2;
        format!("{side}{}{count}", self.short(&part.name, room.saturating_sub(used).max(12)))
    }
}

fn input(summary: &Summary, side: Side) -> &SideSummary {
    match side {
        Side::Baseline => &summary.trace1,
        Side::Candidate => &summary.trace2,
    }
}

/// The three terms that add up to the time of a side, followed by the total.
fn parts(totals: &Totals) -> [Nanos; 4] {
    [totals.paired, totals.one_sided, totals.unlinked, totals.time]
}

/// Formats a note as one line for stderr.
pub(super) fn note_line(names: &PerSide<String>, note: &SideNote) -> String {
    let style = AnsiColor::Yellow.on_default();
    let side = note.side_name(names);
    let side = side.map_or_else(String::new, |side| format!("{}: ", one_line(side)));
    let hint = match note.note.hint {
        "" => String::new(),
        hint => format!(" ({hint})"),
    };
    format!("{style}{}{style:#}: {side}{}{hint}", note.note.code, one_line(&note.note.message))
}

/// The color of a time difference: red for more time, blue for less.
fn colour(time: Nanos) -> Style {
    if time > Nanos::ZERO { AnsiColor::Red.on_default() } else { AnsiColor::Blue.on_default() }
}
