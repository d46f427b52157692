//! Draws the lag as an SVG picture, for `lag.svg` and for the page.

use super::{drawn, in_words, listed, points, shown, title};
use crate::analysis::Analysis;
use crate::analysis::lag::Lag;
use crate::escape::markup;
use crate::report::lists::change;
use crate::report::text::Unit;
use crate::trace::Nanos;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Size of the picture, and the margins around the curve: left, right, top, bottom.
const SIZE: (f64, f64) = (720.0, 230.0);
const MARGINS: (f64, f64, f64, f64) = (58.0, 12.0, 12.0, 34.0);
/// The largest parts, which have colors and numbers in the curve.
const COLORED: usize = 3;
/// About how many lines are drawn across the picture in each direction.
const LINES: f64 = 5.0;
/// Maximum number of sections of a part that are colored; the longest ones.
const SECTIONS: usize = 100;

/// The style of the picture outside of the page.
const STYLE: &str = "text{font:11px sans-serif;fill:#444}.lag-line{fill:none;stroke:#667;stroke-width:1.4}\
    .lag-grid{stroke:#ddd}.lag-zero{stroke:#999}.lag-part{fill:none;stroke-width:3.2}.lag-more{stroke:#b3261e}\
    .lag-less{stroke:#1a62b8}.lag-total{font-weight:bold}";

/// Writes the picture as a file; a picture with one sentence if too few calls are matched.
pub(in crate::report) fn write_svg(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let (width, height) = SIZE;
    let Some(lag) = shown(analysis) else {
        return writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} 40\"><text x=\"10\" y=\"25\" \
             font-family=\"sans-serif\">no difference, or too few matched calls to show where time is lost</text></svg>"
        );
    };
    let unit = Unit::fitting(lag.length);
    let names = analysis.names().as_ref().map(|name| markup(name));
    let mut parts = String::new();
    for (number, part) in listed(lag).into_iter().take(COLORED).enumerate() {
        let y = height + 16.0 * number as f64 + 16.0;
        let text = format!("{} {} {}", unit.show_signed(part.lost), unit.label(), part.title);
        let x = MARGINS.0;
        _ = write!(
            parts,
            "<path class=\"lag-part lag-{}\" d=\"M{} {}h14\"></path>",
            change(part.lost),
            x,
            y - 4.0
        );
        _ = write!(
            parts,
            "<text x=\"{}\" y=\"{y}\">{} {}</text>",
            x + 20.0,
            number + 1,
            markup(&text)
        );
    }
    let heading =
        format!("{} → {}, {}", names.baseline, names.candidate, markup(&title(analysis, lag)));
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -18 {width} {}\" font-family=\"sans-serif\">\
         <style>{STYLE}</style><rect x=\"0\" y=\"-18\" width=\"100%\" height=\"100%\" fill=\"#fff\"></rect>\
         <text x=\"{}\" y=\"-4\">{heading}</text>{}{parts}</svg>",
        height + 30.0 + 16.0 * COLORED as f64,
        MARGINS.0,
        drawing(lag)
    )
}

/// The picture without its frame, in a box of 720 × 230: grid, curve, and the largest parts in color.
pub(in crate::report) fn drawing(lag: &Lag) -> String {
    let points = points(lag);
    let plot = Plot::of(&points);
    let unit = Unit::fitting(lag.length);
    let mut out = String::new();
    let (left, right) = (plot.x(0.0), plot.x(plot.end));
    let (top, bottom) = (plot.y(plot.most), plot.y(plot.least));
    for behind in ticks(plot.least, plot.most) {
        let y = plot.y(behind);
        let class = if behind == 0.0 { "lag-zero" } else { "lag-grid" };
        _ = write!(out, "<path class=\"{class}\" d=\"M{left:.1} {y:.1}H{right:.1}\"></path>");
        let text = plain(unit, behind);
        _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            left - 6.0,
            y + 4.0
        );
    }
    for at in ticks(0.0, plot.end) {
        let x = plot.x(at);
        _ = write!(out, "<path class=\"lag-grid\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"></path>");
        let text = plain(unit, at);
        _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 15.0
        );
    }
    let of_point = |at: usize| {
        let (time, behind) = points[at];
        (plot.x(time.0 as f64), plot.y(behind.0 as f64))
    };
    let kept = drawn(&points);
    let path = |points: &[usize]| {
        let points = points.iter().map(|&at| of_point(at)).map(|(x, y)| format!("{x:.1} {y:.1}"));
        format!("M{}", points.collect::<Vec<_>>().join("L"))
    };
    _ = write!(out, "<path class=\"lag-line\" d=\"{}\"></path>", path(&kept));
    let mut numbers: Vec<(f64, f64)> = Vec::new();
    for (number, largest) in listed(lag).into_iter().take(COLORED).enumerate() {
        let Some(part) = lag.parts.iter().position(|part| part == largest) else { continue };
        let length = |&(first, last): &(usize, usize)| {
            let ((x1, y1), (x2, y2)) = (of_point(first), of_point(last));
            (x2 - x1).hypot(y2 - y1)
        };
        let mut sections = sections(lag, points.len(), part);
        sections.sort_by(|a, b| length(b).total_cmp(&length(a)));
        sections.truncate(SECTIONS);
        let Some(&(first, last)) = sections.first() else { continue };
        sections.sort_unstable();
        let line = |first: usize, last: usize| -> Vec<usize> {
            let inner = kept.iter().copied().filter(|at| (first + 1..last).contains(at));
            [first].into_iter().chain(inner).chain([last]).collect()
        };
        let paths = sections.iter().map(|&(first, last)| path(&line(first, last)));
        let (style, paths) = (change(largest.lost), paths.collect::<String>());
        _ = write!(out, "<path class=\"lag-part lag-{style}\" d=\"{paths}\"></path>");
        // The number is next to the middle of the section's longest line.
        let line = line(first, last);
        let longest = line.windows(2).map(|two| (two[0], two[1]));
        let longest = longest.max_by(|a, b| length(a).total_cmp(&length(b)));
        let (from, to) = longest.unwrap_or((first, last));
        let ((x1, y1), (x2, y2)) = (of_point(from), of_point(to));
        let beside = if x1 > right - 20.0 { -9.0 } else { 9.0 };
        let (x, mut y) = ((x1 + x2) / 2.0 + beside, ((y1 + y2) / 2.0 - 4.0).max(top + 9.0));
        while numbers.iter().any(|known| (known.0 - x).abs() < 10.0 && (known.1 - y).abs() < 12.0) {
            y += 12.0;
        }
        numbers.push((x, y));
        _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            number + 1
        );
    }
    _ = write!(
        out,
        "<text x=\"{left:.1}\" y=\"{:.1}\">time in the baseline’s step, {}</text>\
         <text class=\"lag-total\" x=\"{right:.1}\" y=\"{:.1}\" text-anchor=\"end\">{} at the end</text>",
        bottom + 30.0,
        unit.label(),
        bottom + 30.0,
        in_words(lag, lag.total()),
    );
    out
}

/// The first and the last point of each section of the curve that belongs to a part. A section ends at the first point
/// of another part.
fn sections(lag: &Lag, count: usize, part: usize) -> Vec<(usize, usize)> {
    // The first point is the start of the step, the last one its end.
    let part_of = |at: usize| match at.checked_sub(1) {
        None => 0,
        Some(at) => lag.points[at].part,
    };
    let mut sections: Vec<(usize, usize)> = Vec::new();
    for at in (0..count.saturating_sub(1)).filter(|&at| part_of(at) == part) {
        match sections.last_mut() {
            Some(section) if section.1 == at => section.1 = at + 1,
            Some(_) | None => sections.push((at, at + 1)),
        }
    }
    sections
}

/// Converts times to positions in the picture.
struct Plot {
    end: f64,
    least: f64,
    most: f64,
}

impl Plot {
    fn of(points: &[(Nanos, Nanos)]) -> Plot {
        let behind = || points.iter().map(|point| point.1.0 as f64);
        let (least, most) = (behind().fold(0.0, f64::min), behind().fold(0.0, f64::max));
        let end = points.last().map_or(1.0, |point| point.0.0 as f64).max(1.0);
        Plot { end, least, most: if most - least < 1.0 { least + 1.0 } else { most } }
    }

    fn x(&self, time: f64) -> f64 {
        MARGINS.0 + (SIZE.0 - MARGINS.0 - MARGINS.1) * (time / self.end).clamp(0.0, 1.0)
    }

    fn y(&self, behind: f64) -> f64 {
        let height = SIZE.1 - MARGINS.2 - MARGINS.3;
        MARGINS.2 + height * (self.most - behind) / (self.most - self.least)
    }
}

/// Round numbers from `least` to `most`.
fn ticks(least: f64, most: f64) -> Vec<f64> {
    let raw = (most - least) / LINES;
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|&step| step >= raw).unwrap_or(raw);
    let first = (least / step).ceil() as i64;
    let last = (most / step).floor() as i64;
    (first..=last).map(|at| at as f64 * step).collect()
}

/// A time without trailing zeros.
fn plain(unit: Unit, time: f64) -> String {
    let shown = unit.show(Nanos(time.round() as i64)).replace('-', "−");
    let shown = if shown.contains('.') {
        shown.trim_end_matches('0').trim_end_matches('.')
    } else {
        &shown
    };
    shown.to_owned()
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_are_round_and_include_zero() {
        assert_eq!(ticks(-1.5, 3.5), [-1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(ticks(0.0, 9_480_000.0).len(), 5);
    }
}
