//! `tracetree explain BASE NEW --baseline UID` or `tracetree explain REPORT UID`: prints how an
//! event was matched.

use super::compare::CompareArgs;
use super::examples;
use super::load;
use super::outcome::Outcome;
use super::output::Console;
use super::uid::{self, EventRef, Source, Wanted};
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tracetree::analysis::Analysis;
use tracetree::diff::{Confidence, Explanation, PairEvidence, SharedWord, TraceDiff, UidPair};
use tracetree::program::counted;
use tracetree::report::{one_line, read_inputs, read_uid_map};
use tracetree::tree::CallId;
use tracetree::{Comparison, Error, ErrorKind, Result, Side};

#[derive(Args)]
#[command(after_help = examples::EXPLAIN)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    compare: CompareArgs,
}

pub(super) fn run(args: &ExplainArgs, console: &mut Console) -> Result<Outcome> {
    let (source, side, uid) = args.wanted.event()?;
    let (inputs, report) = match source {
        Source::Traces(paths) => (paths.map(Path::to_owned), None),
        Source::Report(folder) => (read_inputs(folder)?, Some(folder)),
    };
    let paths = inputs.as_ref().map(PathBuf::as_path);
    let comparison = load::comparison(paths, args.compare.options()?, console)?;
    let diff = comparison.diff();
    let tree = diff.tree(side);
    let call = uid.event(tree.trace()).and_then(|event| tree.call_of(event));
    let call = call.ok_or_else(|| uid::no_call(Some(tree), paths[side], side, uid))?;
    if let Some(folder) = report {
        agree(folder, &comparison, side, uid)?;
    }
    let explanation = diff.explain(side, call);
    console.print(|out| print(comparison.analysis(), &explanation, out))?;
    Ok(Outcome::Done)
}

/// Fails if the report and the new comparison match the event differently. A report does not record the options that it
/// was created with. With different options, the new comparison may find a different match, so its explanation would
/// not apply to the report.
fn agree(folder: &Path, comparison: &Comparison, side: Side, uid: EventRef) -> Result<()> {
    let Some(uid) = uid.uid_in_trace() else { return Ok(()) };
    let shown = uid::find(read_uid_map(folder)?, side, uid);
    let found = uid::find(comparison.diff().uid_map(), side, uid);
    // Reports written by earlier versions do not contain the confidence of a match.
    let match_of = |pair: UidPair| (pair.baseline, pair.candidate, pair.relation, pair.region);
    if shown.map(match_of) == found.map(match_of) {
        Ok(())
    } else {
        Err(Error::new(
            ErrorKind::Usage,
            folder,
            "the report contains a different match for this event",
        )
        .remedy(
            "pass the options that the report was created with, such as --no-python or --alias",
        ))
    }
}

pub(super) fn print(
    analysis: &Analysis,
    explanation: &Explanation,
    out: &mut dyn Write,
) -> io::Result<()> {
    let diff = analysis.diff();
    let (side, other) = (explanation.side, explanation.side.other());
    writeln!(out, "{:<9}  {}", side.word(), named(diff, side, explanation.call))?;
    path(diff, side, explanation.call, out)?;
    match &explanation.counterpart {
        Some(counterpart) => {
            writeln!(out, "{:<9}  {}", other.word(), named(diff, other, counterpart.call))?;
            path(diff, other, counterpart.call, out)?;
            writeln!(out, "relation   {}", explanation.relation.label())?;
            if let Some(confidence) = diff.confidence(side, explanation.call) {
                writeln!(out, "confidence {}", sure(confidence))?;
            }
            if let Some(pass) = explanation.pass {
                writeln!(out, "matched    because {} (pass {})", pass.evidence(), pass.name())?;
            }
            evidence(counterpart, out)?;
        }
        None => writeln!(out, "relation   {}: no counterpart", explanation.relation.label())?,
    }
    if !explanation.others.is_empty() {
        writeln!(out, "alternative counterparts at the same position")?;
    }
    for candidate in &explanation.others {
        let name = named(diff, other, candidate.call);
        writeln!(out, "  {name}: {}", explanation.why_not(candidate))?;
    }
    change(analysis, side, explanation.call, out)
}

/// Prints the change to which a call belongs, or to which the nearest call around it belongs.
fn change(analysis: &Analysis, side: Side, call: CallId, out: &mut dyn Write) -> io::Result<()> {
    let diff = analysis.diff();
    let around = std::iter::once(call).chain(diff.tree(side).ancestors(call));
    let mut nodes = around.map(|call| (call, diff.merged().of(side, call)));
    let found = nodes.find_map(|(around, node)| {
        let mut changes = analysis.changes().list().iter();
        changes.find(|change| change.nodes.contains(&node)).map(|change| (around, node, change))
    });
    let Some((around, node, change)) = found else { return Ok(()) };
    writeln!(out, "change     {}", one_line(&change.sentence))?;
    if around != call {
        writeln!(out, "  at       {}", named(diff, side, around))?;
    }
    if let Some((fold, reason)) = change.consequence(node) {
        writeln!(out, "  a consequence, because {reason} (fold {fold})")?;
    }
    Ok(())
}

fn sure(confidence: Confidence) -> String {
    match confidence {
        Confidence::Firm | Confidence::Likely => confidence.label().to_owned(),
        Confidence::Interchangeable { group } => {
            format!("interchangeable with the calls of group {group} in uid_map.csv")
        }
    }
}

fn evidence(counterpart: &PairEvidence, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |what: &str, holds: bool| {
        writeln!(out, "  {what:<22}{}", if holds { "equal" } else { "differs" })
    };
    line("kind and name", counterpart.same_key)?;
    line("exact name", counterpart.same_name)?;
    line("arguments", counterpart.same_arguments)?;
    line("subtree", counterpart.same_subtree)?;
    line("except kernel names", counterpart.same_shape)?;
    writeln!(out, "  {:<22}{} of {}", "in common", counterpart.shared, counterpart.of)?;
    for SharedWord { word, weight } in &counterpart.words {
        let role =
            if *weight >= 1.0 { "sufficient on its own" } else { "too common to be sufficient" };
        writeln!(
            out,
            "  {:<22}{}, weight {weight:.2}: {role}",
            "word in both names",
            one_line(word)
        )?;
    }
    let apart = counted(u64::from(counterpart.distance), "sibling");
    writeln!(out, "  {:<22}{apart} apart", "position")
}

/// Prints the ancestors of a call, outermost first.
fn path(diff: &TraceDiff, side: Side, call: CallId, out: &mut dyn Write) -> io::Result<()> {
    let mut above: Vec<CallId> = diff.tree(side).ancestors(call).collect();
    above.reverse();
    for call in above {
        let relation = diff.relation(side, call).label();
        writeln!(out, "    {} ({relation})", named(diff, side, call))?;
    }
    Ok(())
}

fn named(diff: &TraceDiff, side: Side, call: CallId) -> String {
    let tree = diff.tree(side);
    let name = one_line(tree.name(call));
    match tree.event(call) {
        Some(event) if tree.is_captured(call) => {
            format!("{name} [{}, captured]", tree.trace().uid_label(event))
        }
        Some(event) => format!("{name} [{}]", tree.trace().uid(event).0),
        None => name.into_owned(),
    }
}
