//! `tracetree what-if BASE NEW`: replays steps to compute the effect of each change on the step time, and the step time
//! in hypothetical scenarios.

use super::compare::CompareArgs;
use super::outcome::Outcome;
use super::output::Console;
use super::{examples, load};
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use tracetree::analysis::Analysis;
use tracetree::analysis::replay::{Effect, Limit, PathPart, StepTimes, WhatIf, Without};
use tracetree::program::Query;
use tracetree::report::one_line;
use tracetree::trace::Nanos;
use tracetree::{Error, PerSide, Result, Side};

#[derive(Args)]
#[command(after_help = examples::WHAT_IF)]
pub(super) struct WhatIfArgs {
    /// The baseline's trace.
    baseline: PathBuf,
    /// The candidate's trace. Without a candidate, only scenarios of the baseline are replayed.
    candidate: Option<PathBuf>,
    /// Print only the change with this number (the column `change` in bill.csv). Repeatable.
    #[arg(long, value_name = "N")]
    change: Vec<usize>,
    /// Multiply the time of GPU work at and below matching calls: `kernel("*softmax*")=0.5`. Repeatable.
    #[arg(long, value_name = "QUERY=FACTOR", value_parser = scale)]
    scale: Vec<(Query, f64)>,
    /// Multiply all host times; 0 gives a lower bound.
    #[arg(long, value_name = "FACTOR")]
    host: Option<f64>,
    /// Do not wait for the GPU at matching runtime calls: `sync`, or `call("cudaStreamSynchronize")`.
    /// Repeatable.
    #[arg(long, value_name = "QUERY")]
    without: Vec<Without>,
    #[command(flatten)]
    compare: CompareArgs,
}

fn scale(text: &str) -> std::result::Result<(Query, f64), String> {
    let expected = "expected QUERY=FACTOR, such as kernel(\"*gemm*\")=0.5";
    let (query, by) = text.rsplit_once('=').ok_or(expected)?;
    let factor = by.trim().parse().map_err(|_| expected)?;
    Ok((query.parse::<Query>().map_err(|error| error.to_string())?, factor))
}

impl WhatIfArgs {
    /// The hypothetical scenario that the options describe.
    fn asked(&self) -> Result<WhatIf> {
        let mut asked = WhatIf::default();
        for (query, factor) in &self.scale {
            asked = asked.scale(query.clone(), *factor)?;
        }
        for calls in &self.without {
            asked = asked.without(calls.clone());
        }
        match self.host {
            Some(host) => asked.host(host),
            None => Ok(asked),
        }
    }
}

pub(super) fn run(args: &WhatIfArgs, console: &mut Console) -> Result<Outcome> {
    let asked = args.asked()?;
    let candidate = args.candidate.as_ref().unwrap_or(&args.baseline);
    let paths = PerSide::new(args.baseline.as_path(), candidate.as_path());
    let comparison = load::comparison(paths, args.compare.options()?, console)?;
    let analysis = comparison.analysis();
    let sides = if args.candidate.is_some() { &Side::BOTH[..] } else { &[Side::Baseline] };
    let numbers = analysis.changes().list().len();
    if let Some(number) = args.change.iter().find(|&&number| number >= numbers) {
        let message = format!("there is no change {number}; the comparison has {numbers} changes");
        return Err(Error::usage("--change", message).remedy("changes are numbered from 0"));
    }
    let replays = analysis.replays()?;
    let times = |&side: &Side| Ok((side, asked.step_times(analysis.diff(), &replays, side)?));
    let scenarios = if asked.is_recording() {
        None
    } else {
        Some(sides.iter().map(times).collect::<Result<Vec<(Side, StepTimes)>>>()?)
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

fn changes(args: &WhatIfArgs, analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let (Ok(effects), Ok(bounds)) = (analysis.effects(), analysis.bounds()) else { return Ok(()) };
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
        let is_wanted = args.change.is_empty() || args.change.contains(&at);
        if let Some(effect) = effect.filter(|_| is_wanted) {
            line(effect, Some(change.cost), &format!("{at}: {}", change.sentence))?;
        }
    }
    if args.change.is_empty() {
        line(effects.joint, None, "all changes together")?;
        line(
            bounds.host,
            None,
            "host time differences at matched calls: noise, or a different host",
        )?;
        line(
            bounds.kernels,
            None,
            "kernel time differences at matched calls: noise, clocks, or a different device",
        )?;
    }
    writeln!(out)
}

fn signed(time: Nanos) -> String {
    format!("{:+.1}", time.as_micros())
}

fn steps(what: &str, times: &[(Side, StepTimes)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Step time by replay (µs)")?;
    writeln!(out, "{:<10} {:>12} {:>12} {what:>12}", "", "recorded", "replayed")?;
    for (side, times) in times {
        let [recorded, replayed, time] = [times.recorded, times.replayed, times.scenario]
            .map(|time| format!("{:.1}", time.as_micros()));
        writeln!(out, "{:<10} {recorded:>12} {replayed:>12} {time:>12}", side.word())?;
    }
    Ok(())
}

/// Prints lower bounds on the step time, and what the critical path of a step consists of.
fn limits(analysis: &Analysis, sides: &[Side], out: &mut dyn Write) -> io::Result<()> {
    let Ok(bounds) = analysis.bounds() else { return Ok(()) };
    let mut line = |text: &str, times: PerSide<Nanos>| {
        for &side in sides {
            write!(out, "{:>12.1} ", times[side].as_micros())?;
        }
        writeln!(out, " {text}")
    };
    line("step as recorded (µs)", bounds.checks.map(|check| check.recorded))?;
    line("step as replayed", bounds.checks.map(|check| check.replayed))?;
    for (limit, times) in Limit::ALL.into_iter().zip(bounds.limits) {
        line(limit.meaning(), times)?;
    }
    for (at, part) in PathPart::ALL.into_iter().enumerate() {
        let times = bounds.paths.map(|path| path.time[at]);
        line(&format!("on the critical path: {}", part.label()), times)?;
    }
    let before = PerSide::from_fn(|side| {
        let totals = analysis.wall().totals(side);
        Nanos(totals.before.0 / totals.steps.max(1) as i64)
    });
    if sides.iter().any(|&side| before[side] > Nanos::ZERO) {
        line(
            "in each of these step times: work launched before the window; diff excludes it",
            before,
        )?;
    }
    Ok(())
}
