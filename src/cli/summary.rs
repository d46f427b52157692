//! The result of a comparison as text for a terminal of some width, as JSON or as CSV.
//!
//! One screen: the two inputs, the sentence that answers, the account of each side as a sum that can
//! be checked by eye, and where the time differs most with what the ops there became.

use super::columns::{fit, pad};
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};
use tracetree::analysis::{Analysis, Totals};
use tracetree::program::Measure;
use tracetree::report::{
    CauseLine, LargeDifference, Part, SideNote, SideSummary, Summary, Unit, answer, answer_remarks,
    cause_lines, evidence, largest_differences, one_line, times, verdict,
};
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

/// Title of the table of differences.
const TITLE: &str = "largest differences";
/// Longest name of a side in a column.
const SIDE_NAME: usize = 16;
/// Parts of one difference that are told.
const PARTS: usize = 2;
/// Terminals narrower than this show no kernel counts.
const WIDE: usize = 96;

/// The parts of the account, and what they add up to.
const ACCOUNT: [&str; 4] = ["paired", "this side only", "launch not in trace", "total"];

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Writes the summary for a terminal of `width` columns, with the `top` largest differences.
pub(super) fn text(
    analysis: &Analysis,
    summary: &Summary,
    top: usize,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = [&summary.trace1.name, &summary.trace2.name];
    let mut screen = Screen {
        analysis,
        summary,
        unit: Unit::fitting(analysis.account().totals.map(|totals| totals.time)),
        names: names.map(|name| fit(name, SIDE_NAME)),
        width: width.max(40),
        out,
    };
    screen.head()?;
    screen.account()?;
    screen.largest(top)
}

/// A terminal to write to.
struct Screen<'a> {
    analysis: &'a Analysis,
    summary: &'a Summary,
    unit: Unit,
    /// What people call the sides, short enough for a column.
    names: [String; 2],
    width: usize,
    out: &'a mut dyn Write,
}

impl Screen<'_> {
    fn head(&mut self) -> io::Result<()> {
        let room = self.longest_side();
        for side in Side::BOTH {
            let (label, input) = (pad(&self.names[side as usize], room), input(self.summary, side));
            let device = input.devices.first().map_or("", String::as_str);
            let device = match one_line(device) {
                name if name.is_empty() => String::new(),
                name => format!("  {name}"),
            };
            let left = self.width.saturating_sub(room + 2 + device.chars().count());
            let path = fit(&input.path, left.max(12));
            writeln!(self.out, "{DIM}{label}{DIM:#}  {path}{DIM}{device}{DIM:#}")?;
        }
        self.answer()?;
        let points = match self.summary.points_of_difference {
            1 => "1 point of difference".to_owned(),
            points => format!("{points} points of difference"),
        };
        let varying = match self.summary.varying_points {
            0 => String::new(),
            count => format!(" ({count} more vary among the runs of a side)"),
        };
        let evidence = format!("{}; {points}{varying}", evidence(&self.summary.verdict));
        for line in wrapped(&evidence, self.width) {
            writeln!(self.out, "{line}")?;
        }
        writeln!(self.out)?;
        writeln!(self.out, "{}", one_line(&verdict(self.analysis)))
    }

    /// What happened end to end, and the causes that explain most of it.
    fn answer(&mut self) -> io::Result<()> {
        writeln!(self.out)?;
        for line in wrapped(&answer(self.analysis), self.width) {
            writeln!(self.out, "{BOLD}{line}{BOLD:#}")?;
        }
        for remark in answer_remarks(self.analysis) {
            for line in wrapped(&remark, self.width) {
                writeln!(self.out, "{DIM}{line}{DIM:#}")?;
            }
        }
        let (causes, rest) = cause_lines(self.analysis);
        let widest = |pick: fn(&CauseLine) -> &str| {
            causes.iter().map(|cause| pick(cause).chars().count()).max().unwrap_or_default()
        };
        let (figures, reasons) = (widest(|cause| &cause.difference), widest(|cause| cause.reason));
        for cause in &causes {
            let style = match cause.time > Nanos::ZERO {
                true => AnsiColor::Red.on_default(),
                false => AnsiColor::Blue.on_default(),
            };
            let room = self.width.saturating_sub(figures + reasons + 6).max(20);
            writeln!(
                self.out,
                "  {style}{:>figures$}{style:#}  {:<reasons$}  {}",
                cause.difference,
                cause.reason,
                fit(&cause.place, room),
            )?;
            let indent = figures + reasons + 6;
            let evidence = beginning(&cause.evidence, self.width.saturating_sub(indent).max(20));
            writeln!(self.out, "{DIM}{:indent$}{evidence}{DIM:#}", "")?;
        }
        match rest {
            Some(rest) => writeln!(self.out, "  {DIM}{rest}{DIM:#}\n"),
            None => writeln!(self.out),
        }
    }

    fn longest_side(&self) -> usize {
        self.names.iter().map(|name| name.chars().count()).max().unwrap_or_default()
    }

    /// The parts of each side and their sum, to the nanosecond.
    fn account(&mut self) -> io::Result<()> {
        let totals = self.analysis.account().totals;
        let title = match self.is_gpu_time() {
            true => "GPU time",
            false => "host self time of ops",
        };
        let title = format!("{title}, {}", self.unit.label());
        let figures =
            Side::BOTH.map(|side| parts(&totals[side]).map(|time| self.unit.show_exact(time)));
        let mut lines = vec![(title, ACCOUNT.map(str::to_owned))];
        lines.extend(self.names.iter().cloned().zip(figures));
        let room = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        let widths = [0, 1, 2, 3]
            .map(|at| lines.iter().map(|(_, cells)| cells[at].len()).max().unwrap_or_default());
        for (at, (name, cells)) in lines.iter().enumerate() {
            let [w0, w1, w2, w3] = widths;
            let [paired, only, unlinked, total] = cells;
            let (plus, equals, style) = if at == 0 { (" ", " ", BOLD) } else { ("+", "=", PLAIN) };
            writeln!(
                self.out,
                "{style}{}  {paired:>w0$} {plus} {only:>w1$} {plus} {unlinked:>w2$} {equals} {total:>w3$}{style:#}",
                pad(name, room),
            )?;
        }
        self.account_remarks(&totals)
    }

    fn is_gpu_time(&self) -> bool {
        self.analysis.measure() == Measure::GpuTime
    }

    fn account_remarks(&mut self, totals: &PerSide<Totals>) -> io::Result<()> {
        let rows = self.analysis.rows().len();
        let exact = if self.summary.account_is_exact { "exactly" } else { "NOT exactly" };
        let [one, two] = Side::BOTH.map(|side| totals[side].events);
        let busy = Side::BOTH.map(|side| totals[side].busy);
        let overlap = match Side::BOTH.iter().all(|&side| totals[side].busy == totals[side].time) {
            true => String::new(),
            false => {
                let [one, two] = busy.map(|time| self.unit.show(time));
                format!("; busy {one} and {two} {}, as some overlap", self.unit.label())
            }
        };
        let line = format!("{rows} rows add up to {one} and {two} events, {exact}{overlap}");
        writeln!(self.out, "{DIM}{line}{DIM:#}\n")
    }

    fn largest(&mut self, top: usize) -> io::Result<()> {
        let groups = largest_differences(self.analysis);
        if groups.is_empty() {
            return writeln!(self.out, "no difference in the time of any op");
        }
        let shown = &groups[..groups.len().min(top)];
        let counts_events = self.is_gpu_time() && self.width >= WIDE;
        let columns = Columns::new(shown, &self.names, self.unit, self.width, counts_events);
        writeln!(self.out, "{BOLD}{}{BOLD:#}", columns.head())?;
        for group in shown {
            writeln!(self.out, "{}", columns.line(group).trim_end())?;
            let what = self.what_it_became(group);
            if !what.is_empty() {
                let what = fit(&what, self.width.saturating_sub(4));
                writeln!(self.out, "{DIM}  └ {what}{DIM:#}")?;
            }
        }
        match groups.len() - shown.len() {
            0 => Ok(()),
            more => writeln!(self.out, "{DIM}… and {more} more in the report{DIM:#}"),
        }
    }

    /// The node above, and the ops below at which the traces part.
    fn what_it_became(&self, group: &LargeDifference) -> String {
        let mut texts = Vec::new();
        if !group.below.is_empty() {
            texts.push(format!("below {}", fit(&group.below, self.width / 2)));
        }
        let room = self.width.saturating_sub(4) / group.parts.len().clamp(1, PARTS);
        texts.extend(group.parts.iter().take(PARTS).map(|part| self.part(part, room)));
        match group.parts.len().saturating_sub(PARTS) {
            0 => {}
            more => texts.push(format!("{more} more")),
        }
        texts.join(", ")
    }

    fn part(&self, part: &Part, room: usize) -> String {
        let side = part
            .side
            .map_or_else(String::new, |side| format!("only {}: ", self.names[side as usize]));
        let count = if part.count == 1 { String::new() } else { format!(" ×{}", part.count) };
        let used = side.chars().count() + count.chars().count() + 2;
        format!("{side}{}{count}", fit(&part.name, room.saturating_sub(used).max(12)))
    }
}

/// A text in lines of at most so many characters, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("a line");
        let used = line.chars().count();
        match used > 0 && used + 1 + word.chars().count() > width {
            true => lines.push(format!("  {word}")),
            false if used > 0 => line.extend([" ", word]),
            false => line.push_str(word),
        }
    }
    lines
}

/// At most so many characters of a text, from its beginning: what is told first counts most.
fn beginning(text: &str, room: usize) -> String {
    match text.chars().count() <= room {
        true => text.to_owned(),
        false => text.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
    }
}

fn input(summary: &Summary, side: Side) -> &SideSummary {
    match side {
        Side::Baseline => &summary.trace1,
        Side::Candidate => &summary.trace2,
    }
}

/// The parts of the time of a side, and what they add up to.
fn parts(totals: &Totals) -> [Nanos; 4] {
    [totals.paired, totals.one_sided, totals.unlinked, totals.time]
}

/// The table of the largest differences: how wide each column is.
struct Columns<'a> {
    unit: Unit,
    times: [String; 2],
    calls: usize,
    /// Width of the counts of GPU events; none on a narrow terminal, and where there are none.
    events: Option<usize>,
    time: usize,
    room: usize,
    groups: &'a [LargeDifference],
}

impl<'a> Columns<'a> {
    fn new(
        groups: &'a [LargeDifference],
        names: &[String; 2],
        unit: Unit,
        width: usize,
        counts_events: bool,
    ) -> Columns<'a> {
        let times = [0, 1].map(|side| format!("{} {}", names[side], unit.label()));
        let widest = |title: &str, pick: fn(&LargeDifference) -> PerSide<u64>| {
            let counts = groups.iter().map(|group| counts(pick(group)).chars().count());
            counts.chain([title.len()]).max().unwrap_or_default()
        };
        let calls = widest("calls", |group| group.calls);
        let events = widest("kernels", |group| group.events);
        let time = times.iter().map(|title| title.chars().count()).max().unwrap_or_default();
        let mut columns = Columns {
            unit,
            times,
            calls,
            events: counts_events.then_some(events),
            time: time.max(10),
            room: 0,
            groups,
        };
        columns.room = columns.room_for_names(width);
        columns
    }

    fn room_for_names(&self, width: usize) -> usize {
        let longest = self.groups.iter().map(|group| one_line(&group.name).chars().count()).max();
        let events = self.events.map_or(0, |events| events + 2);
        let figures = self.calls + 2 + events + 2 * (self.time + 1) + 12 + 7;
        width.saturating_sub(figures).clamp(16, longest.unwrap_or_default().max(20))
    }

    fn head(&self) -> String {
        let [one, two] = &self.times;
        let (room, calls, time) = (self.room, self.calls, self.time);
        let events = self.events.map_or_else(String::new, |w| format!("  {:>w$}", "kernels"));
        format!(
            "{:<room$}  {:>calls$}{events} {one:>time$} {two:>time$} {:>11} {:>6}",
            if room < TITLE.len() { "largest" } else { TITLE },
            "calls",
            "difference",
            "ratio"
        )
    }

    /// A difference with its figures; red is more time, blue is less.
    fn line(&self, group: &LargeDifference) -> String {
        let style = match group.difference().0 {
            1.. => AnsiColor::Red.on_default(),
            0 => Style::new(),
            _ => AnsiColor::Blue.on_default(),
        };
        let (calls, time) = (self.calls, self.time);
        let events =
            self.events.map_or_else(String::new, |w| format!("  {:>w$}", counts(group.events)));
        format!(
            "{}  {:>calls$}{events} {:>time$} {:>time$} {style}{:>11}{style:#} {:>6}",
            pad(&fit(&group.name, self.room), self.room),
            counts(group.calls),
            self.unit.show(group.time.baseline),
            self.unit.show(group.time.candidate),
            self.unit.show_signed(group.difference()),
            times(group.time),
        )
    }
}

/// `45` where both sides have as many, else `45 → 44`.
fn counts(count: PerSide<u64>) -> String {
    match count.baseline == count.candidate {
        true => count.baseline.to_string(),
        false => format!("{} → {}", count.baseline, count.candidate),
    }
}

/// A note as one line for stderr.
pub(super) fn note_line(summary: &Summary, note: &SideNote) -> String {
    let style = AnsiColor::Yellow.on_default();
    let side = summary.side_of(note);
    let side = side.map_or_else(String::new, |side| format!("{}: ", one_line(side)));
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
    fn equal_counts_are_told_once() {
        assert_eq!(counts(PerSide::new(45, 45)), "45");
        assert_eq!(counts(PerSide::new(45, 0)), "45 → 0");
    }
}
