//! Formats the largest differences as lines of a table. A name that does not fit into its column gets a separate line
//! above its figures.

use super::super::columns::{fit, pad};
use anstyle::{AnsiColor, Style};
use tracetree::PerSide;
use tracetree::report::Width;
use tracetree::report::{LargeDifference, Unit, both, one_line, times};

const TITLE: &str = "largest differences";
/// The column with the numbers of kernels is shown only if lines are at least this wide.
const WITH_KERNELS: usize = 96;
/// Minimum width of the name column. If less width is available, names are written above their figures.
const LEAST_NAME: usize = 24;
/// Indentation of figures that are written below their name.
const INDENT: usize = 4;

/// Widths of the columns of the table.
pub(super) struct Columns {
    unit: Unit,
    width: Width,
    times: [String; 2],
    calls: usize,
    /// Width of the column with the numbers of GPU events; `None` if the terminal is too narrow for this column, or if
    /// there are no GPU events.
    events: Option<usize>,
    time: [usize; 2],
    has_ratio: bool,
    /// Width of the name column; `None` if all names are written above their figures.
    room: Option<usize>,
}

impl Columns {
    pub(super) fn new(
        groups: &[LargeDifference],
        names: &[String; 2],
        unit: Unit,
        width: Width,
        counts_events: bool,
    ) -> Columns {
        let times = [0, 1].map(|side| format!("{} {}", names[side], unit.label()));
        let widest = |title: &str, pick: fn(&LargeDifference) -> PerSide<u64>| {
            let counts = groups.iter().map(|group| both(pick(group)).chars().count());
            counts.chain([title.len()]).max().unwrap_or_default()
        };
        let calls = widest("calls", |group| group.calls);
        let events = widest("kernels", |group| group.events);
        let events = (counts_events && width.columns() >= WITH_KERNELS).then_some(events);
        let time = [0, 1].map(|side| times[side].chars().count().max(10));
        let mut columns =
            Columns { unit, width, times, calls, events, time, has_ratio: true, room: None };
        columns.has_ratio = columns.figures() + INDENT <= width.columns();
        let left = width.columns().saturating_sub(columns.figures());
        let longest = groups.iter().map(|group| one_line(&group.name).chars().count()).max();
        let wanted = longest.unwrap_or_default().max(TITLE.len() + 1);
        columns.room = (left >= LEAST_NAME).then_some(left.min(wanted));
        columns
    }

    /// Total width of the number columns, including the spaces between columns.
    fn figures(&self) -> usize {
        let events = self.events.map_or(0, |events| events + 2);
        let ratio = if self.has_ratio { 7 } else { 0 };
        2 + self.calls + events + self.time[0] + self.time[1] + 2 + 12 + ratio
    }

    fn beside(&self) -> usize {
        self.room.unwrap_or(INDENT - 2)
    }

    /// The column titles, laid out like the rows.
    pub(super) fn head(&self) -> Vec<String> {
        let ([one, two], [w1, w2], calls) = (&self.times, self.time, self.calls);
        let events = self.events.map_or_else(String::new, |w| format!("  {:>w$}", "kernels"));
        let ratio = if self.has_ratio { format!(" {:>6}", "ratio") } else { String::new() };
        let figures = format!(
            "  {:>calls$}{events} {one:>w1$} {two:>w2$} {:>11}{ratio}",
            "calls", "difference"
        );
        match self.room {
            Some(room) => vec![pad(TITLE, room) + &figures],
            None => vec![TITLE.to_owned(), pad("", self.beside()) + &figures],
        }
    }

    /// The lines for a difference. Figures are red if the time increased and blue if the time
    /// decreased.
    pub(super) fn lines(&self, group: &LargeDifference) -> Vec<String> {
        let name = one_line(&group.name);
        let is_long = self.room.is_none_or(|room| name.chars().count() > room);
        let figures = self.line(group);
        match self.room {
            Some(room) if !is_long => vec![pad(&name, room) + &figures],
            Some(room) if !self.width.is_whole() => vec![pad(&fit(&name, room), room) + &figures],
            Some(_) | None => {
                let name = if self.width.is_whole() {
                    name.into_owned()
                } else {
                    fit(&name, self.width.columns())
                };
                vec![name, pad("", self.beside()) + &figures]
            }
        }
    }

    fn line(&self, group: &LargeDifference) -> String {
        let style = match group.time.difference().0 {
            1.. => AnsiColor::Red.on_default(),
            0 => Style::new(),
            _ => AnsiColor::Blue.on_default(),
        };
        let ([w1, w2], calls) = (self.time, self.calls);
        let events =
            self.events.map_or_else(String::new, |w| format!("  {:>w$}", both(group.events)));
        let ratio =
            if self.has_ratio { format!(" {:>6}", times(group.time)) } else { String::new() };
        format!(
            "  {:>calls$}{events} {:>w1$} {:>w2$} {style}{:>11}{style:#}{ratio}",
            both(group.calls),
            self.unit.show(group.time.baseline),
            self.unit.show(group.time.candidate),
            self.unit.show_signed(group.time.difference()),
        )
    }
}
