//! Formats a [`Narrative`] for the terminal: the changes, their costs, and what to do about them.

use super::{BOLD, DIM, PLAIN, colour};
use anstyle::Style;
use std::io::{self, Write};
use tracetree::report::Width;
use tracetree::report::{Layer, Line, Narrative, Port};
use tracetree::{PerSide, Side};

/// Maximum number of lines on the screen.
const LINES: usize = 24;

/// How much of a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// As much as fits on one screen.
    Screen,
    /// Everything.
    Whole,
}

/// Limits on how much is written in each section of the result.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Maximum number of changes to show.
    changes: usize,
    /// Maximum number of lines below each change.
    details: usize,
    /// Maximum number of entries in each section other than the changes to the program.
    others: usize,
}

/// The limits, from the most detailed form to the shortest. The first form that fits on the screen is used.
const SHORTER: [Limits; 6] = [
    Limits { changes: 6, details: 3, others: 5 },
    Limits { changes: 6, details: 2, others: 4 },
    Limits { changes: 6, details: 1, others: 4 },
    Limits { changes: 6, details: 0, others: 3 },
    Limits { changes: 4, details: 0, others: 2 },
    Limits { changes: 2, details: 0, others: 1 },
];
/// The number of changes in the shortest form.
const SHORTEST: usize = 2;
const WHOLE: Limits = Limits { changes: usize::MAX, details: usize::MAX, others: usize::MAX };

pub(super) fn write(
    narrative: &Narrative,
    extent: Extent,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = match extent {
        Extent::Whole => lines(narrative, WHOLE, width),
        Extent::Screen => {
            let mut all = SHORTER.into_iter().map(|limits| lines(narrative, limits, width));
            let first = all.next().unwrap_or_default();
            if first.len() <= LINES {
                first
            } else {
                all.fold(first, |best, next| if best.len() <= LINES { best } else { next })
            }
        }
    };
    lines.iter().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
}

fn lines(narrative: &Narrative, limits: Limits, width: Width) -> Vec<String> {
    let mut page = Page { width, lines: Vec::new() };
    let names = narrative.names.as_ref();
    let names = format!("{} → {}", names.baseline, names.candidate);
    page.text(PLAIN, &format!("{names}: {}", narrative.inputs), 0);
    page.text(BOLD, &narrative.headline, 0);
    let is_port = narrative.port.is_some();
    let is_short = is_port && limits.changes <= 4;
    let is_shortest = is_port && limits.changes <= SHORTEST;
    if !is_shortest {
        page.text(DIM, &narrative.confidence, 2);
    }
    // The leading change is not printed here, because it is printed below as the first entry of the first section.
    page.text(PLAIN, narrative.state.as_deref().unwrap_or_default(), 2);
    if !is_short {
        page.text(DIM, &narrative.split, 2);
    }
    let runs = if limits.details == usize::MAX { narrative.runs.as_slice() } else { &[] };
    for remark in narrative.remarks.iter().chain(runs) {
        page.text(DIM, remark, 2);
    }
    if let Some(port) = &narrative.port {
        page.port(port, &narrative.names, limits);
    }
    let shortest = is_shortest.then(|| narrative.bill());
    let layers: Vec<&Layer> = match &shortest {
        Some(layer) => vec![layer],
        None => narrative.layers().collect(),
    };
    let lines = narrative.layers().flat_map(|layer| &layer.lines);
    let figures = lines.map(|line| line.shown.chars().count()).max().unwrap_or_default();
    for layer in layers.into_iter().filter(|layer| !layer.lines.is_empty()) {
        let is_certain = *layer == narrative.certain;
        page.lines.push(String::new());
        page.title(narrative, layer, is_certain);
        let (most, details) = match is_certain {
            true => (limits.changes, limits.details),
            false if is_shortest => (limits.changes + limits.others, 0),
            false if limits.details == usize::MAX => (limits.others, limits.details),
            false => (limits.others.min(layer.notable), limits.details.min(1)),
        };
        for line in layer.lines.iter().take(most) {
            page.part(line, figures, details);
        }
        match (narrative.rest(layer, most), &narrative.total) {
            (Some(rest), Some(total)) if is_shortest => {
                page.text(PLAIN, &format!("{total}, with {rest}"), 0);
            }
            (Some(rest), _) => page.text(DIM, &format!("and {rest} (--verbose)"), 2),
            (None, Some(total)) if is_shortest => page.text(PLAIN, total, 0),
            (None, _) => {}
        }
    }
    if let Some(total) = narrative.total.as_ref().filter(|_| !is_shortest) {
        page.text(PLAIN, total, 0);
    }
    if let Some(why) = &narrative.no_prices {
        page.text(DIM, why, 2);
    }
    if !narrative.next.is_empty() {
        page.lines.push(String::new());
        page.lines.push(format!("{BOLD}What to do{BOLD:#}"));
    }
    let actions = if is_short { 1 } else { usize::MAX };
    for (action, number) in narrative.next.iter().take(actions).zip(1..) {
        page.action(&format!("{number}. "), &action.text, &action.command);
    }
    page.lines
}

fn shorten_end(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// Collects the lines of the output.
struct Page {
    width: Width,
    lines: Vec<String>,
}

impl Page {
    /// Adds a text and wraps it. All lines after the first are indented by at least two columns.
    fn text(&mut self, style: Style, text: &str, indent: usize) {
        self.hanging(style, &" ".repeat(indent), text);
    }

    fn hanging(&mut self, style: Style, start: &str, text: &str) {
        self.few(style, start, text, usize::MAX);
    }

    /// Adds at most `most` lines of a text. If only some lines are shown, they are shortened even if the output goes to a
    /// pipe.
    fn few(&mut self, style: Style, start: &str, text: &str, most: usize) {
        if text.is_empty() {
            return;
        }
        let width = match most {
            usize::MAX => self.width,
            _ => Width::Screen(self.width.columns()),
        };
        let indent = start.chars().count().max(2);
        for (at, line) in width.lines(text, indent, most).iter().enumerate() {
            let start = if at == 0 { start.to_owned() } else { " ".repeat(indent) };
            self.lines.push(format!("{style}{start}{line}{style:#}"));
        }
    }

    /// Adds the comparison of two platforms.
    fn port(&mut self, port: &Port, names: &PerSide<String>, limits: Limits) {
        let (rows, items, lines) = match limits.details {
            usize::MAX => (usize::MAX, usize::MAX, usize::MAX),
            0 if limits.changes <= SHORTEST => (2, 1, 1),
            0 => (5, 1, 1),
            _ => (5, 2, 2),
        };
        self.few(PLAIN, "", &port.limit, lines.max(2));
        self.text(BOLD, &port.split, 0);
        if limits.changes > SHORTEST {
            self.text(DIM, &port.peaks, 0);
        }
        let classes = &port.classes;
        if !classes.is_empty() {
            self.columns(&port.titles(names), &classes[..classes.len().min(rows)]);
        }
        for side in Side::BOTH {
            for item in port.slower_on[side].iter().take(items) {
                let name = &names[side];
                let text = format!("Look at {name}: {} {}", item.cost, item.sentence);
                self.few(PLAIN, "", &text, lines);
                self.few(DIM, "  ", &item.why, lines);
            }
        }
        for text in port.both.iter().take(items.max(1)) {
            self.few(PLAIN, "", &format!("Both: {text}"), lines);
        }
        if limits.details > 0 {
            for text in &port.lowering {
                self.few(DIM, "", text, lines);
            }
        }
    }

    /// Adds a table: the first and the last column start at the left, the others end at the right. Rows that are too long
    /// are shortened on a screen; in a pipe, their last column is wrapped.
    fn columns(&mut self, titles: &[String; 8], rows: &[[String; 8]]) {
        let width = |at: usize| {
            let cells = rows.iter().map(|row| &row[at]).chain([&titles[at]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..titles.len()).map(width).collect();
        for (row, style) in
            std::iter::once((titles, DIM)).chain(rows.iter().map(|row| (row, PLAIN)))
        {
            let mut text = format!("{:<room$}", row[0], room = widths[0]);
            for at in 1..titles.len() - 1 {
                text += &format!("  {:>room$}", row[at], room = widths[at]);
            }
            text += "  ";
            let last = &row[titles.len() - 1];
            match self.width {
                Width::Pipe(_) if !last.is_empty() => self.hanging(style, &text, last),
                Width::Pipe(_) | Width::Screen(_) => {
                    let text = text + last;
                    let text = shorten_end(text.trim_end(), self.width.columns());
                    self.lines.push(format!("{style}{text}{style:#}"));
                }
            }
        }
    }

    /// Adds an action. If its command takes several lines, every line except the last ends with a backslash and no word
    /// is shortened, so that the command can be pasted into a shell.
    fn action(&mut self, start: &str, text: &str, command: &str) {
        if command.is_empty() {
            return self.hanging(PLAIN, start, text);
        }
        let indent = start.chars().count();
        let width = Width::Pipe(self.width.columns().saturating_sub(2));
        let lines = width.lines(&format!("{text}: {command}"), indent, usize::MAX);
        let (mut words, before) = (0, text.split_whitespace().count());
        for (at, line) in lines.iter().enumerate() {
            words += line.split_whitespace().count();
            let start = if at == 0 { start.to_owned() } else { " ".repeat(indent) };
            let end = if words > before && at + 1 < lines.len() { " \\" } else { "" };
            self.lines.push(format!("{start}{line}{end}"));
        }
    }

    fn title(&mut self, narrative: &Narrative, layer: &Layer, is_certain: bool) {
        let measure = if is_certain { narrative.measure() } else { "" };
        let title = &layer.title;
        let beside = title.chars().count() + measure.chars().count() + 2;
        if measure.is_empty() || beside > self.width.columns() {
            self.text(BOLD, title, 0)
        } else {
            self.lines.push(format!("{BOLD}{title}{BOLD:#}{DIM}: {measure}{DIM:#}"))
        }
    }

    /// Adds a line of the bill such as ` +2.23 ms  Convolutions run in FP32 …`, with its details below.
    fn part(&mut self, part: &Line, figures: usize, details: usize) {
        let style = colour(part.cost);
        let indent = figures + 4;
        for (at, line) in self.width.lines(&part.sentence, indent, usize::MAX).iter().enumerate() {
            self.lines.push(match at {
                0 => {
                    let shown = &part.shown;
                    format!("  {style}{shown:>figures$}{style:#}  {line}")
                }
                _ => format!("{:indent$}{line}", ""),
            });
        }
        let detail = part.detail();
        if details == 0 || detail.is_empty() {
            return;
        }
        // If only some of the details are shown, their lines are shortened even if the output goes to a pipe.
        let width = match details {
            usize::MAX => self.width,
            _ => Width::Screen(self.width.columns()),
        };
        for line in width.lines(&detail, indent, details) {
            self.lines.push(format!("{DIM}{:indent$}{line}{DIM:#}", ""));
        }
    }
}
