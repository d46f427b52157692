//! The result of a comparison as text for a terminal, JSON, CSV or Markdown.

use anstyle::{AnsiColor, Style};
use std::io::{self, Write};
use tracetree::analysis::{Analysis, NameSummary};
use tracetree::diff::{Difference, MergedNode, Relation};
use tracetree::report::{SideNote, Summary, VerdictSummary};
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

/// Places with a supported change that are listed.
const PLACES: usize = 8;

/// Points of difference that are listed.
const POINTS: usize = 8;

/// Writes the summary for a terminal of `width` columns.
pub(super) fn text(
    analysis: &Analysis<'_>,
    summary: &Summary,
    top: usize,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let bold = Style::new().bold();
    writeln!(out, "{bold}{}{bold:#} → {bold}{}{bold:#}", summary.trace1.path, summary.trace2.path)?;
    writeln!(out)?;
    totals(analysis, summary, out)?;
    writeln!(out)?;
    names(analysis, top, width, out)?;
    changes(&summary.verdict, width, out)?;
    points(analysis, width, out)
}

fn totals(analysis: &Analysis<'_>, summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let totals = &analysis.account().totals;
    let title = match summary.measure {
        "host_self_time" => "host self time of ops",
        _ => "GPU time",
    };
    let mut line =
        |title: &str, pick: fn(&tracetree::analysis::Totals) -> Nanos| -> io::Result<()> {
            let time = PerSide::from_fn(|side| pick(&totals[side]));
            writeln!(out, "{title:<24}{}", figures(time))
        };
    line(title, |totals| totals.time)?;
    line("  busy (union)", |totals| totals.busy)?;
    if Side::BOTH.iter().any(|&side| totals[side].unlinked > Nanos::ZERO) {
        line("  launch not in trace", |totals| totals.unlinked)?;
    }
    if Side::BOTH.iter().any(|&side| totals[side].one_sided > Nanos::ZERO) {
        line("  only on this side", |totals| totals.one_sided)?;
    }
    let verdict = if summary.account_is_exact { "exact" } else { "NOT exact" };
    writeln!(
        out,
        "{:<24}{} rows add up to {} | {} events: {verdict}",
        "account",
        analysis.rows().len(),
        totals.baseline.events,
        totals.candidate.events
    )
}

/// Both times, their difference and ratio; red is more time, blue is less.
fn figures(time: PerSide<Nanos>) -> String {
    let difference = time.candidate - time.baseline;
    let style = match difference.0.signum() {
        1 => AnsiColor::Red.on_default(),
        -1 => AnsiColor::Blue.on_default(),
        _ => Style::new(),
    };
    let ratio = match time.baseline > Nanos::ZERO && time.candidate > Nanos::ZERO {
        true => format!("{:.2}x", time.candidate.0 as f64 / time.baseline.0 as f64),
        false => String::new(),
    };
    format!(
        "{:>12} {:>12} {style}{:>13}{style:#} {ratio:>8}",
        format!("{:.3}", time.baseline.as_millis()),
        format!("{:.3}", time.candidate.as_millis()),
        format!("{:+.3}", difference.as_millis()),
    )
}

fn names(analysis: &Analysis<'_>, top: usize, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut groups = analysis.by_name();
    let difference = |group: &NameSummary| (group.time.candidate - group.time.baseline).abs();
    groups.sort_by(|a, b| difference(b).cmp(&difference(a)).then_with(|| a.name.cmp(&b.name)));
    let room = width.saturating_sub(57).clamp(20, 60);
    let bold = Style::new().bold();
    writeln!(
        out,
        "{bold}{:<room$} {:>6} {:>12} {:>12} {:>13} {:>8}{bold:#}",
        "largest differences", "rows", "trace1 ms", "trace2 ms", "diff ms", "ratio"
    )?;
    for group in groups.iter().take(top) {
        writeln!(
            out,
            "{:<room$} {:>6} {}",
            shorten(&group.name, room),
            group.row_count,
            figures(group.time)
        )?;
    }
    if groups.len() > top {
        writeln!(out, "… and {} more names", groups.len() - top)?;
    }
    Ok(())
}

/// Shortens a name from the middle, where it tells least; control characters are dropped.
fn shorten(name: &str, room: usize) -> String {
    let letters: Vec<char> = name.chars().filter(|c| !c.is_control()).collect();
    if letters.len() <= room {
        return letters.into_iter().collect();
    }
    let front = (room - 1) / 2;
    let back = room - 1 - front;
    let (start, end) = (&letters[..front], &letters[letters.len() - back..]);
    start.iter().chain(std::iter::once(&'…')).chain(end).collect()
}

/// The verdict on the total, and the places that changed as far as the repeats support it.
fn changes(verdict: &VerdictSummary, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let (one, two) = (verdict.steps_trace1, verdict.steps_trace2);
    let chance = verdict.p.map_or_else(String::new, |p| format!(", p {p:.3}"));
    let total = verdict.total.replace('_', " ");
    writeln!(out)?;
    writeln!(
        out,
        "in all {total} ({one} | {two} steps{chance}), {} places changed",
        verdict.changes
    )?;
    for change in verdict.largest_changes.iter().take(PLACES) {
        let module = if change.module_trace1.is_empty() {
            &change.module_trace2
        } else {
            &change.module_trace1
        };
        let place = if module.is_empty() { String::new() } else { format!(" in {module}") };
        let ms = change.difference_us / 1e3;
        let line = format!("  {} {ms:+.3} ms  {}{place}", change.verdict, change.name);
        writeln!(out, "{}", shorten(&line, width.max(40)))?;
    }
    Ok(())
}

/// The points of difference with GPU work: where the traces part, and below which common node.
fn points(analysis: &Analysis<'_>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let all = analysis.diff().differences();
    let on_gpu_path: Vec<&Difference> = all.iter().filter(|point| point.gpu_events > 0).collect();
    writeln!(out)?;
    writeln!(out, "{} points of difference, {} with GPU work", all.len(), on_gpu_path.len())?;
    for point in on_gpu_path.iter().take(POINTS) {
        let below = point.lowest_common.map_or("(nothing in common)".to_owned(), |id| {
            label(analysis, analysis.diff().merged().node(id))
        });
        let line = format!(
            "  {}  below {below}",
            label(analysis, analysis.diff().merged().node(point.node))
        );
        writeln!(out, "{}", shorten(&line, width.max(40)))?;
    }
    Ok(())
}

fn label(analysis: &Analysis<'_>, node: MergedNode) -> String {
    let name = |side: Side, call| analysis.tree(side).name(call);
    match node {
        MergedNode::Both(a, b)
            if analysis.diff().relation(Side::Baseline, a) == Relation::Renamed =>
        {
            format!("{} | {}", name(Side::Baseline, a), name(Side::Candidate, b))
        }
        MergedNode::Both(a, _) => name(Side::Baseline, a).to_owned(),
        MergedNode::Only(side, call) => {
            let arrow = if side == Side::Baseline { ">>" } else { "<<" };
            format!("{arrow} {}: {}", side.label(), name(side, call))
        }
    }
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

/// The summary as Markdown.
pub(super) fn markdown(
    analysis: &Analysis<'_>,
    summary: &Summary,
    top: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let totals = &analysis.account().totals;
    writeln!(out, "| {} | rows | trace1 ms | trace2 ms | diff ms | ratio |", summary.measure)?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    let mut line = |name: &str, rows: u64, time: PerSide<Nanos>, ratio: Option<f64>| {
        writeln!(
            out,
            "| {} | {rows} | {:.3} | {:.3} | {:+.3} | {} |",
            name.replace('|', "\\|"),
            time.baseline.as_millis(),
            time.candidate.as_millis(),
            (time.candidate - time.baseline).as_millis(),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        )
    };
    let total = PerSide::from_fn(|side| totals[side].time);
    line("**total**", analysis.rows().len() as u64, total, summary.ratio)?;
    for group in analysis.by_name().iter().take(top) {
        line(
            &format!("`{}`", group.name.replace('`', "'")),
            group.row_count,
            group.time,
            group.ratio(),
        )?;
    }
    Ok(())
}

/// A note as one line for stderr.
pub(super) fn note_line(note: &SideNote) -> String {
    let style = AnsiColor::Yellow.on_default();
    let side = note.side.map_or_else(String::new, |side| format!("{side}: "));
    let hint = match note.note.hint {
        "" => String::new(),
        hint => format!(" ({hint})"),
    };
    format!("{style}{}{style:#}: {side}{}{hint}", note.note.code, note.note.message)
}
