//! `tracetree what-if BASE NEW`: replays the effect of each change on the step time, and the step
//! time in hypothetical scenarios.

use super::compare::CompareArgs;
use super::output::Console;
use super::{Outcome, examples, load};
use clap::Args;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tracetree::analysis::Analysis;
use tracetree::analysis::replay::{Effect, Limit, PathPart, Reason, Replays, Scenario};
use tracetree::program::{Query, Word, is_synchronisation};
use tracetree::report::one_line;
use tracetree::trace::Nanos;
use tracetree::tree::{CallId, CallKind, CallTree};
use tracetree::{Error, ErrorKind, PerSide, Result, Side};

#[derive(Args)]
#[command(after_help = examples::WHAT_IF)]
pub(super) struct WhatIfArgs {
    /// The baseline's trace.
    baseline: PathBuf,
    /// The candidate's trace. If it is omitted, only scenarios of the baseline are replayed.
    candidate: Option<PathBuf>,
    /// Print only the change with this number, as in changes.csv. Repeatable.
    #[arg(long, value_name = "N")]
    change: Vec<usize>,
    /// Multiply the time of GPU work at and below matching calls: `kernel("*softmax*")=0.5`. Repeatable.
    #[arg(long, value_name = "QUERY=FACTOR", value_parser = scale)]
    scale: Vec<(Query, f64)>,
    /// Multiply all host times; 0 gives a lower bound.
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    host: Option<f64>,
    /// Do not wait for the GPU at matching runtime calls: `sync`, or `call("cudaStreamSynchronize")`.
    /// Repeatable.
    #[arg(long, value_name = "QUERY", value_parser = without)]
    without: Vec<Without>,
    #[command(flatten)]
    compare: CompareArgs,
}

/// The calls at which the host does not wait.
#[derive(Clone)]
enum Without {
    All,
    Some(Query),
}

fn factor(text: &str) -> std::result::Result<f64, String> {
    let factor = text.parse::<f64>().map_err(|_| "expected a number, such as 0.5".to_owned())?;
    match factor.is_finite() && (0.0..=1e6).contains(&factor) {
        true => Ok(factor),
        false => Err("expected a number from 0 to 1000000".to_owned()),
    }
}

fn scale(text: &str) -> std::result::Result<(Query, f64), String> {
    let (query, by) =
        text.rsplit_once('=').ok_or("expected QUERY=FACTOR, such as kernel(\"*gemm*\")=0.5")?;
    Ok((query.parse::<Query>().map_err(|error| error.to_string())?, factor(by.trim())?))
}

fn without(text: &str) -> std::result::Result<Without, String> {
    if matches!(text.trim(), "sync" | "sync()") {
        return Ok(Without::All);
    }
    let query = text.parse::<Query>().map_err(|error| error.to_string())?;
    match query.finds() {
        Word::Call => Ok(Without::Some(query)),
        Word::Module | Word::Frame | Word::Op | Word::Kernel => {
            Err("expected `sync`, or a query for runtime calls, such as call(\"cuda*Synchronize\")"
                .to_owned())
        }
    }
}

pub(super) fn run(args: &WhatIfArgs, console: &mut Console) -> Result<Outcome> {
    let candidate = args.candidate.as_ref().unwrap_or(&args.baseline);
    let paths = PerSide::new(args.baseline.as_path(), candidate.as_path());
    let comparison = load::comparison(paths, args.compare.options()?, console)?;
    let analysis = comparison.analysis();
    let sides = if args.candidate.is_some() { &Side::BOTH[..] } else { &[Side::Baseline] };
    let numbers = analysis.changes().list().len();
    if let Some(number) = args.change.iter().find(|&&number| number >= numbers) {
        let message = format!("there is no change {number}: the comparison has {numbers} changes");
        return Err(Error::usage("--change", message).remedy("changes are numbered from 0"));
    }
    let replays = Replays::of(analysis).map_err(|reason| refused(paths, reason))?;
    let scenarios = match args.host.is_some() || !args.scale.is_empty() || !args.without.is_empty()
    {
        true => Some(scenario_times(args, analysis, &replays, sides)?),
        false => None,
    };
    console.print(|out| {
        if args.candidate.is_some() && scenarios.is_none() {
            changes(args, analysis, out)?;
        }
        match &scenarios {
            Some(times) => steps("scenario", times, out),
            None => limits(analysis, sides, out),
        }
    })?;
    Ok(Outcome::Done)
}

fn refused(paths: PerSide<&Path>, (side, reason): (Option<Side>, Reason)) -> Error {
    let path = paths[side.unwrap_or(Side::Baseline)];
    Error::new(ErrorKind::Usage, path, format!("no effect can be given: {reason}"))
        .remedy("see docs/guides/what-if.md for what can be replayed")
}

/// Step times of a side: as recorded, as replayed, and in the scenario.
type Times = Vec<(Side, Nanos, Nanos, Nanos)>;

fn scenario_times(
    args: &WhatIfArgs,
    analysis: &Analysis,
    replays: &Replays,
    sides: &[Side],
) -> Result<Times> {
    let mut times = Vec::new();
    for &side in sides {
        let tree = analysis.tree(side);
        let factors = factors(&args.scale, tree)?;
        let skipped = skipped(&args.without, tree)?;
        let scenario = Scenario {
            host: args.host.unwrap_or(1.0),
            work: &|call| factors.get(&call).copied().unwrap_or(1.0),
            waits: &|call| skipped.binary_search(&call).is_err(),
        };
        let recorded = replays.step_time(side, &Scenario::RECORDED);
        let measured = replays.recorded(side).measured.end;
        let steps = replays.recorded(side).measured.steps.len().max(1) as i64;
        times.push((side, Nanos(measured / steps), recorded, replays.step_time(side, &scenario)));
    }
    Ok(times)
}

/// The factor of each GPU event at or below a matching call.
fn factors(scale: &[(Query, f64)], tree: &CallTree) -> Result<BTreeMap<CallId, f64>> {
    let mut factors = BTreeMap::new();
    for (query, factor) in scale {
        for found in query.find_some(tree)? {
            for call in tree.subtree(found).filter(|&call| tree.kind(call) == CallKind::Gpu) {
                *factors.entry(call).or_insert(1.0) *= factor;
            }
        }
    }
    Ok(factors)
}

/// The calls at which the host does not wait, sorted.
fn skipped(without: &[Without], tree: &CallTree) -> Result<Vec<CallId>> {
    let mut skipped = Vec::new();
    for calls in without {
        match calls {
            Without::All => {
                let waits = |call: &CallId| is_synchronisation(tree.name(*call));
                skipped.extend(tree.calls().filter(waits));
            }
            Without::Some(query) => skipped.extend(query.find_some(tree)?),
        }
    }
    skipped.sort_unstable();
    Ok(skipped)
}

fn changes(args: &WhatIfArgs, analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let Ok(effects) = analysis.effects() else { return Ok(()) };
    writeln!(out, "Effect on the step, by replay (µs)")?;
    writeln!(out, "{:>12} {:>12} {:>12}", "alone", "last", "attributed")?;
    let mut line = |effect: Effect, cost: Option<Nanos>, text: &str| {
        let [alone, last] = [effect.alone, effect.last].map(signed);
        let cost = cost.map_or_else(String::new, signed);
        writeln!(out, "{alone:>12} {last:>12} {cost:>12}  {}", one_line(text))
    };
    for (at, (change, effect)) in
        analysis.changes().list().iter().zip(&effects.of_changes).enumerate()
    {
        if args.change.is_empty() || args.change.contains(&at) {
            line(*effect, Some(change.cost), &format!("{at}: {}", change.sentence))?;
        }
    }
    if args.change.is_empty() {
        line(effects.joint, None, "all changes together")?;
        line(effects.host, None, "host times of matched calls: noise, or another host")?;
        line(
            effects.kernels,
            None,
            "same kernels at matched calls: noise, clocks, or another device",
        )?;
    }
    writeln!(out)
}

fn signed(time: Nanos) -> String {
    format!("{:+.1}", time.as_micros())
}

fn steps(what: &str, times: &Times, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Step time by replay (µs)")?;
    writeln!(out, "{:<10} {:>12} {:>12} {what:>12}", "", "recorded", "replayed")?;
    for &(side, recorded, replayed, time) in times {
        let [recorded, replayed, time] =
            [recorded, replayed, time].map(|time| format!("{:.1}", time.as_micros()));
        writeln!(out, "{:<10} {recorded:>12} {replayed:>12} {time:>12}", side.word())?;
    }
    Ok(())
}

/// Prints the bounds and the critical path of a step.
fn limits(analysis: &Analysis, sides: &[Side], out: &mut dyn Write) -> io::Result<()> {
    let Ok(effects) = analysis.effects() else { return Ok(()) };
    let mut line = |text: &str, times: PerSide<Nanos>| {
        for &side in sides {
            write!(out, "{:>12.1} ", times[side].as_micros())?;
        }
        writeln!(out, " {text}")
    };
    line("step as recorded (µs)", effects.checks.map(|check| check.recorded))?;
    line("step as replayed", effects.checks.map(|check| check.replayed))?;
    for (limit, times) in Limit::ALL.into_iter().zip(effects.limits) {
        line(limit.meaning(), times)?;
    }
    for (at, part) in PathPart::ALL.into_iter().enumerate() {
        let times = effects.paths.map(|path| path.time[at]);
        line(&format!("on the critical path: {}", part.label()), times)?;
    }
    Ok(())
}
