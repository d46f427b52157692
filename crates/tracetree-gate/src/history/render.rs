//! Renders a [`History`] as text, JSON, or an HTML page with a small chart of each series that changed.

use super::{ChangePoint, History, Series};
use serde_json::{Value, json};
use std::io::{self, Write};
use tracetree::escape::{markup, one_line};
use tracetree::program::counted;
use tracetree::report::Width;

/// Version of the JSON output, incremented when a field changes its meaning.
const SCHEMA: u32 = 1;

/// Maximum number of charts on a page.
const CHARTS: usize = 60;

/// Width and height of a chart in pixels. `MARGIN` is the space around its line.
const SIZE: (f64, f64) = (520.0, 120.0);
const MARGIN: f64 = 8.0;

impl History {
    /// Writes the history as text for people, wrapped to a width.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write_text(&self, width: Width, out: &mut dyn Write) -> io::Result<()> {
        let changes = self.changes();
        let mut paragraph = |indent: usize, text: &str| {
            let lines = width.lines(text, indent + 2, usize::MAX);
            lines.iter().enumerate().try_for_each(|(at, line)| {
                let indent = if at == 0 { indent } else { indent + 2 };
                writeln!(out, "{:indent$}{line}", "")
            })
        };
        let baselines = counted(self.points.len() as u64, "baseline");
        let found = counted(changes.len() as u64, "change");
        paragraph(0, &format!("{baselines}, {} series, {found}", self.series.len()))?;
        for (series, change) in changes {
            paragraph(0, "")?;
            let (name, point) = (one_line(&series.name), one_line(&self.points[change.at]));
            paragraph(0, &format!("{name} at {point}"))?;
            paragraph(2, &words(change))?;
        }
        Ok(())
    }

    /// Writes the history as JSON for programs.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let change = |change: &ChangePoint| {
            json!({
                "position": change.at,
                "baseline": self.points[change.at],
                "before_us": change.before,
                "after_us": change.after,
                "change_pct": percent(change),
                "p": change.p,
            })
        };
        let series = |series: &Series| {
            let changes: Vec<Value> = series.changes.iter().map(change).collect();
            json!({ "name": series.name, "values_us": series.values, "changes": changes })
        };
        let series: Vec<Value> = self.series.iter().map(series).collect();
        let json = json!({ "schema_version": SCHEMA, "baselines": self.points, "series": series });
        serde_json::to_writer_pretty(&mut *out, &json)?;
        writeln!(out)
    }

    /// Writes the history as an HTML page with charts.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write_html(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(HEAD.as_bytes())?;
        let mut changed: Vec<&Series> = Vec::new();
        for (series, _) in self.changes() {
            if !changed.iter().any(|known| known.name == series.name) {
                changed.push(series);
            }
        }
        writeln!(
            out,
            "<h1>{}, {} of {} series changed</h1>",
            counted(self.points.len() as u64, "baseline"),
            changed.len(),
            self.series.len()
        )?;
        for series in changed.iter().take(CHARTS) {
            self.write_chart(series, out)?;
        }
        writeln!(out, "</body></html>")
    }

    fn write_chart(&self, series: &Series, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "<h2>{}</h2>", markup(&series.name))?;
        for change in &series.changes {
            let point = markup(&self.points[change.at]);
            writeln!(out, "<p>{point}: {}</p>", markup(&words(change)))?;
        }
        let most = series.values.iter().flatten().copied().fold(0.0, f64::max);
        let x = |at: usize| {
            let last = self.points.len().saturating_sub(1).max(1) as f64;
            MARGIN + (SIZE.0 - 2.0 * MARGIN) * at as f64 / last
        };
        let y = |value: f64| {
            let share = if most > 0.0 { value / most } else { 0.0 };
            SIZE.1 - MARGIN - (SIZE.1 - 2.0 * MARGIN) * share
        };
        writeln!(out, "<svg width=\"{}\" height=\"{}\" role=\"img\">", SIZE.0, SIZE.1)?;
        for change in &series.changes {
            let x = x(change.at);
            writeln!(out, "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{}\"/>", SIZE.1)?;
        }
        let known = series.values.iter().enumerate().filter_map(|(at, v)| Some((at, (*v)?)));
        let line: Vec<String> =
            known.clone().map(|(at, value)| format!("{:.1},{:.1}", x(at), y(value))).collect();
        writeln!(out, "<polyline points=\"{}\"/>", line.join(" "))?;
        for (at, value) in known {
            let name = markup(&self.points[at]);
            writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{name}: {value:.1} µs</title></circle>",
                x(at),
                y(value)
            )?;
        }
        writeln!(out, "</svg>")
    }
}

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<title>tracetree history</title><style>\
:root { color-scheme: light dark } body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em }\
h2 { font-size: 1em; margin: 1.5em 0 0 } p { margin: 0 } polyline { fill: none; stroke: #5f87b8; stroke-width: 2 }\
circle { fill: #5f87b8 } line { stroke: #c0504d; stroke-dasharray: 3 3 }</style></head><body>\n";

fn percent(change: &ChangePoint) -> Option<f64> {
    (change.before > 0.0).then(|| 100.0 * (change.after / change.before - 1.0))
}

fn words(change: &ChangePoint) -> String {
    let percent = percent(change).map_or_else(String::new, |percent| format!(" ({percent:+.1}%)"));
    let p = if change.p < 0.001 { "p < 0.001".to_owned() } else { format!("p {:.3}", change.p) };
    format!("{:.1} → {:.1} µs{percent}, {p}", change.before, change.after)
}
