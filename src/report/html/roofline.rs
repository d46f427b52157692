//! Draws the ops of the efficiency table below the rooflines of both devices.
//!
//! ```text
//! TFLOP/s, log ┤      ╭──────── peak rate at a precision
//!              │    ╱   2 ●     a line leads from the rate in the baseline to the rate in the candidate
//!              │  ╱  1 ●
//!              └╱────────────── operations per byte, log
//! ```

use crate::analysis::Analysis;
use crate::analysis::efficiency::{DevicePeaks, Efficiency, EfficiencyRow, Precision, clause};
use crate::escape::markup;
use crate::report::lists::change;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use std::fmt::Write as _;

/// Size of the picture, and the edges of the plot in it: left, right, top, bottom.
const SIZE: (f64, f64) = (720.0, 300.0);
const EDGES: (f64, f64, f64, f64) = (52.0, 712.0, 14.0, 264.0);
/// Maximum number of peak rates that are drawn for a device: those at which most of the modeled time computes.
const CEILINGS: usize = 2;
/// Minimum distance of two labels of peak rates.
const LABEL: f64 = 12.0;
/// Maximum distance, in each direction, of ops whose numbers are written as one label.
const NEAR: (f64, f64) = (16.0, 9.0);

/// The picture, for a box of 720 × 300.
pub(super) struct Roofline {
    pub(super) drawing: String,
    /// Describes the picture.
    pub(super) words: String,
}

/// An op on one side: operations per byte, and its rate in 10^12 operations per second.
type Point = (f64, f64);

/// The roofline of a device.
struct Roof {
    /// Bandwidth in 10^12 bytes per second.
    bandwidth: f64,
    ceilings: Vec<(Precision, f64)>,
}

/// The picture of the given rows, which are numbered from 1; `None` if no row has both operations and bytes.
pub(super) fn picture(analysis: &Analysis, rows: &[&EfficiencyRow]) -> Option<Roofline> {
    let points: Vec<PerSide<Option<Point>>> =
        rows.iter().map(|row| row.efficiency.as_ref().map(point)).collect();
    let shown: Vec<Point> =
        points.iter().flat_map(|point| [point.baseline, point.candidate]).flatten().collect();
    if shown.is_empty() {
        return None;
    }
    let peaks = PerSide::from_fn(|side| analysis.efficiency()[side].peaks());
    let is_one_device = peaks.baseline == peaks.candidate;
    let roofs = PerSide::from_fn(|side| {
        let is_drawn = side == Side::Candidate || !is_one_device;
        peaks[side].filter(|_| is_drawn).map(|peaks| {
            let mut ceilings: Vec<(Precision, f64)> = Vec::new();
            for (precision, rate) in analysis.efficiency()[side].ceilings() {
                let is_new = ceilings.iter().all(|&(_, known)| known != rate);
                if is_new && ceilings.len() < CEILINGS {
                    ceilings.push((precision, rate));
                }
            }
            Roof { bandwidth: peaks.memory_tb_per_s, ceilings }
        })
    });
    let plot = Plot::of(&shown, &roofs);
    let mut drawing = plot.grid();
    let mut labels = Vec::new();
    for side in Side::BOTH {
        if let (Some(roof), Some(peaks)) = (&roofs[side], peaks[side]) {
            plot.add_roof(side, roof, peaks, &mut drawing, &mut labels);
        }
    }
    add_labels(labels, &mut drawing);
    let mut numbers: Vec<((f64, f64), String)> = Vec::new();
    for (at, (row, point)) in rows.iter().zip(&points).enumerate() {
        let Some((x, y)) = plot.add_op(row, point, &mut drawing) else { continue };
        let number = (at + 1).to_string();
        let is_near = |(other, _): &&mut ((f64, f64), String)| {
            (other.0 - x).abs() < NEAR.0 && (other.1 - y).abs() < NEAR.1
        };
        match numbers.iter_mut().find(is_near) {
            Some((_, label)) => *label += &format!(", {number}"),
            None => numbers.push(((x, y), number)),
        }
    }
    for ((x, y), label) in numbers {
        let (x, y) = (x + 6.0, y + 4.0);
        _ = write!(drawing, "<text class=\"lag-total\" x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>");
    }
    let names = analysis.names();
    let words = format!(
        "Rates of {} ops in {} and {} over operations per byte, below the peak rates of the devices; the table below has \
         the figures",
        points.iter().filter(|point| point.baseline.or(point.candidate).is_some()).count(),
        names.baseline,
        names.candidate
    );
    Some(Roofline { drawing, words })
}

fn point(efficiency: &Efficiency) -> Option<Point> {
    let rate = efficiency.tflops_per_s().filter(|&rate| rate > 0.0)?;
    Some((efficiency.intensity()?, rate))
}

/// The scales of the two axes: the logarithms at their ends.
struct Plot {
    x: (f64, f64),
    y: (f64, f64),
}

impl Plot {
    fn of(points: &[Point], roofs: &PerSide<Option<Roof>>) -> Plot {
        let roofs = || [&roofs.baseline, &roofs.candidate].into_iter().flatten();
        let ceilings = || roofs().flat_map(|roof| roof.ceilings.iter().map(|&(_, rate)| rate));
        let ridges =
            roofs().flat_map(|roof| roof.ceilings.iter().map(|(_, rate)| rate / roof.bandwidth));
        // Half a decade of space around all points and all corners of the rooflines.
        let range = |values: Vec<f64>| {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min).log10();
            let most = values.iter().copied().fold(0.0, f64::max).log10();
            let (least, most) = (least - 0.3, most + 0.4);
            // An axis has the labels of at least two powers of ten.
            if most.floor() - least.ceil() < 1.0 {
                (least.floor(), most.ceil())
            } else {
                (least, most)
            }
        };
        Plot {
            x: range(points.iter().map(|&(x, _)| x).chain(ridges).collect()),
            y: range(points.iter().map(|&(_, y)| y).chain(ceilings()).collect()),
        }
    }

    fn at(&self, (x, y): Point) -> (f64, f64) {
        let (left, right, top, bottom) = EDGES;
        let share =
            |value: f64, (least, most): (f64, f64)| (value.log10() - least) / (most - least);
        (left + share(x, self.x) * (right - left), bottom - share(y, self.y) * (bottom - top))
    }

    /// Lines at the powers of ten, with their values.
    fn grid(&self) -> String {
        let (left, right, top, bottom) = EDGES;
        let mut out = String::new();
        let decades = |(least, most): (f64, f64)| least.ceil() as i32..=most.floor() as i32;
        for power in decades(self.x) {
            let value = 10_f64.powi(power);
            let (x, _) = self.at((value, 1.0));
            _ = write!(
                out,
                "<path class=\"lag-grid\" d=\"M{x:.1} {top}V{bottom}\"></path><text x=\"{x:.1}\" y=\"{}\" \
                 text-anchor=\"middle\">{value}</text>",
                bottom + 14.0
            );
        }
        for power in decades(self.y) {
            let value = 10_f64.powi(power);
            let (_, y) = self.at((1.0, value));
            _ = write!(
                out,
                "<path class=\"lag-grid\" d=\"M{left} {y:.1}H{right}\"></path><text x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{value}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">operations per byte</text><text x=\"{}\" y=\"10\">TFLOP/s</text>",
            right,
            SIZE.1 - 6.0,
            4
        );
        out
    }

    /// Draws the bandwidth up to the highest ceiling, and each ceiling from there to the right.
    fn add_roof(
        &self,
        side: Side,
        roof: &Roof,
        peaks: &DevicePeaks,
        out: &mut String,
        labels: &mut Vec<(f64, String)>,
    ) {
        let start = 10_f64.powf(self.x.0.max(self.y.0 - roof.bandwidth.log10()));
        let highest = roof.ceilings.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
        let end = if highest > 0.0 { highest / roof.bandwidth } else { 10_f64.powf(self.x.1) };
        let class = if side == Side::Baseline { "one" } else { "two" };
        let ((x1, y1), (x2, y2)) =
            (self.at((start, start * roof.bandwidth)), self.at((end, end * roof.bandwidth)));
        _ = write!(
            out,
            "<path class=\"curve {class}\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"></path>"
        );
        for &(precision, rate) in &roof.ceilings {
            let (x, y) = self.at((rate / roof.bandwidth, rate));
            let right = EDGES.1;
            _ = write!(out, "<path class=\"curve {class}\" d=\"M{x:.1} {y:.1}H{right}\"></path>");
            labels.push((y - 4.0, format!("{} {} {rate}", peaks.name, precision.label())));
        }
    }

    /// Draws an op: a ring at its rate in the baseline, a disc at its rate in the candidate, and a line between them.
    /// Returns the place of its number.
    fn add_op(
        &self,
        row: &EfficiencyRow,
        points: &PerSide<Option<Point>>,
        out: &mut String,
    ) -> Option<(f64, f64)> {
        let places = points.as_ref().map(|point| point.map(|point| self.at(point)));
        let place = places.candidate.or(places.baseline)?;
        let rates = clause(&row.efficiency).unwrap_or_default();
        _ = write!(out, "<g><title>{} {}</title>", markup(&row.name), markup(&rates));
        if let (Some((x1, y1)), Some((x2, y2))) = (places.baseline, places.candidate) {
            // A lower rate is further down, and takes more time.
            let style = change(Nanos((y2 - y1).signum() as i64));
            _ = write!(
                out,
                "<path class=\"roof-move lag-{style}\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"></path>"
            );
        }
        for (class, place) in [("roof-one", places.baseline), ("roof-two", places.candidate)] {
            if let Some((x, y)) = place {
                _ = write!(
                    out,
                    "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"></circle>"
                );
            }
        }
        out.push_str("</g>");
        Some(place)
    }
}

/// Writes the labels of the peak rates at the right edge, from top to bottom, without overlap.
fn add_labels(mut labels: Vec<(f64, String)>, out: &mut String) {
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = 0.0_f64;
    for (y, label) in labels {
        let y = y.max(free);
        free = y + LABEL;
        _ = write!(
            out,
            "<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
            EDGES.1 - 2.0,
            markup(&label)
        );
    }
}
