//! Prints three tables about the quality of replays of real traces. The first table shows how well a replay reproduces
//! each step. The second table shows how well the dependency graph of one trace predicts the step time of a second
//! trace if it is replayed with the durations from the second trace. The third table shows the computed effects of
//! changes whose size is known.
//!
//! ```text
//! cargo run --release --all-features --example replay_quality            all tables
//! cargo run --release --all-features --example replay_quality A          one trace
//! cargo run --release --all-features --example replay_quality A B        one pair
//! ```
//! Real traces are read from the folder `TRACETREE_TRACES`.

use std::collections::BTreeSet;
use std::io::{Result, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tracetree::analysis::Analysis;
use tracetree::analysis::replay::{Point, Recorded, Replays, Scenario};
use tracetree::program::Program;
use tracetree::trace::Nanos;
use tracetree::tree::{CallId, CallTree};
use tracetree::{Comparison, ComparisonOptions, Side, Trace};

fn main() -> Result<()> {
    let out = &mut stdout();
    let paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    match paths.as_slice() {
        [] => {
            self_check(&all_traces(), out)?;
            pairs(out)?;
            known(out)
        }
        [path] => self_check(std::slice::from_ref(path), out),
        [one, two] => pair(one, two, out),
        _ => Err(std::io::Error::other("usage: replay_quality [BASELINE [CANDIDATE]]")),
    }
}

/// All traces in `examples/traces` and in the folder `TRACETREE_TRACES`, except damaged traces and excerpts.
fn all_traces() -> Vec<PathBuf> {
    const LEFT_OUT: [&str; 7] =
        ["malformed", "model", "align", "capture", "efficiency", "jax", "nsys"];
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("examples/traces")];
    folders.extend(std::env::var_os("TRACETREE_TRACES").map(PathBuf::from));
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            if LEFT_OUT.iter().any(|word| name == *word || name.contains(".capture.")) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".json.gz") || name.ends_with(".json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".gz").trim_end_matches(".json");
    format!("{folder}/{}", name.trim_end_matches(".pt.trace"))
}

fn self_check(paths: &[PathBuf], out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "Self-check: how far (in %) replays with typical latencies and gaps differ from recordings"
    )?;
    writeln!(
        out,
        "{:<44} {:>6} {:>7} {:>7} {:>10} window, steps",
        "trace", "points", "works", "streams", "step ms"
    )?;
    let (mut with_gpu, mut crossing, mut refused) = (Vec::new(), Vec::new(), 0);
    for path in paths {
        let Ok(trace) = Trace::open(path) else { continue };
        let program = Program::of(CallTree::build(trace));
        let name = name_of(path);
        let recorded = match Recorded::of(program.tree(), program.steps()) {
            Ok(recorded) => recorded,
            Err(reason) => {
                refused += 1;
                writeln!(out, "{name:<44} no effect: {reason}")?;
                continue;
            }
        };
        let replayed = recorded.replay(&Scenario::RECORDED);
        let errors = recorded.errors(&replayed.steps, replayed.end);
        let all: Vec<String> =
            errors.iter().take(8).map(|error| format!("{:+.2}", 100.0 * error)).collect();
        let steps = recorded.measured.steps.len().max(1) as f64;
        let verdict = match recorded.check() {
            Ok(()) => {
                let list = if recorded.is_crossing { &mut crossing } else { &mut with_gpu };
                if !recorded.works.is_empty() {
                    list.extend(errors.iter().map(|error| error.abs()));
                }
                String::new()
            }
            Err(reason) => {
                refused += 1;
                format!("  no effect: {reason}")
            }
        };
        writeln!(
            out,
            "{name:<44} {:>6} {:>7} {:>7} {:>10.3} {}{verdict}",
            recorded.items.len(),
            recorded.works.len(),
            recorded.streams.len(),
            recorded.measured.end as f64 / 1e6 / steps,
            all.join(" ")
        )?;
    }
    for (what, mut errors) in [("one stream", with_gpu), ("streams that wait", crossing)] {
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| errors.get(((errors.len() as f64 - 1.0) * share) as usize);
        let shown = |share: f64| at(share).map_or(0.0, |error| 100.0 * error);
        let (median, most, worst) = (shown(0.5), shown(0.9), shown(1.0));
        writeln!(
            out,
            "{what}: {} windows and steps with GPU work: median {median:.2}%, 90% within {most:.2}%, worst \
             {worst:.2}%",
            errors.len()
        )?;
    }
    writeln!(out, "effects cannot be computed for {refused} of {} traces", paths.len())
}

/// Pairs of traces. The two traces in each pair have the same structure.
const PAIRS: [(&str, &str); 22] = [
    ("h100/resnet_eager", "h100/resnet_eager_again"),
    ("h100/resnet_eager", "h100/resnet_eager_third"),
    ("h100/resnet_eager", "h100/resnet_tf32_off"),
    ("h100/resnet_eager", "h100/resnet_tf32_off_again"),
    ("h100/resnet_tf32_off", "h100/resnet_eager"),
    ("h100/resnet_eager", "h100/resnet_benchmark"),
    ("h100/resnet_eager", "h100/resnet_channels_last"),
    ("h100/resnet_eager", "h200/resnet_eager"),
    ("h100/tfm_flash", "h100/tfm_math"),
    ("h100/tfm_math", "h100/tfm_flash"),
    ("h100/tfm_flash", "h100/tfm_efficient"),
    ("h100/tfm_flash", "h200/tfm_flash"),
    ("h100/train_base", "h100/train_again"),
    ("h100/train_base", "h100/train_relu"),
    ("h100/train_base", "h100/train_batch"),
    ("h100/train_base", "h100/train_loader"),
    ("known/host_base", "known/host_again"),
    ("known/host_base", "known/host_third"),
    ("known/gpu_base", "known/gpu_again"),
    ("known/gpu_base", "known/gpu_third"),
    ("resnet.rocm", "resnet.cuda"),
    ("cnn", "cnn_rerun"),
];

fn example(name: &str) -> PathBuf {
    let path = |end: &str| PathBuf::from(format!("examples/traces/{name}{end}"));
    let recorded = path(".pt.trace.json.gz");
    if recorded.exists() { recorded } else { path(".json.gz") }
}

fn pairs(out: &mut dyn Write) -> Result<()> {
    writeln!(out, "\nAcross pairs: the baseline's graph with the candidate's durations")?;
    for (one, two) in PAIRS {
        transferred(&example(one), &example(two), out)?;
    }
    if let Some(folder) = std::env::var_os("TRACETREE_TRACES").map(PathBuf::from) {
        for model in ["timesformer", "bert", "vit"] {
            let path = |device: &str| folder.join(format!("mi300_h100/{model}.{device}.json.gz"));
            transferred(&path("mi300"), &path("h100"), out)?;
        }
    }
    Ok(())
}

fn compared(one: &Path, two: &Path) -> Option<Comparison> {
    Comparison::open(one, two, &ComparisonOptions::default()).ok()
}

fn ms(time: Nanos) -> f64 {
    time.as_millis()
}

fn transferred(one: &Path, two: &Path, out: &mut dyn Write) -> Result<()> {
    let Some(comparison) = compared(one, two) else { return Ok(()) };
    let (analysis, name) = (comparison.analysis(), format!("{} → {}", name_of(one), name_of(two)));
    let replays = match Replays::of(
        analysis.diff(),
        analysis.ledger(),
        analysis.wall(),
        analysis.comparability(),
        analysis.changes(),
    ) {
        Ok(replays) => replays,
        Err((_, reason)) => return writeln!(out, "{name:<64} no effect: {reason}"),
    };
    let check = replays.transferred(analysis.diff(), analysis.ledger(), analysis.changes());
    let change = analysis.bounds().as_ref().map_or(Nanos::ZERO, |bounds| {
        bounds.checks.candidate.recorded - bounds.checks.baseline.recorded
    });
    let error = check.replayed - check.recorded;
    writeln!(
        out,
        "{name:<64} {:>9.3} ms, predicted {:>9.3}: {:+.2}% of the step, change {:+.3}",
        ms(check.recorded),
        ms(check.replayed),
        100.0 * ms(error) / ms(check.recorded),
        ms(change)
    )
}

fn pair(one: &Path, two: &Path, out: &mut dyn Write) -> Result<()> {
    transferred(one, two, out)?;
    let Some(comparison) = compared(one, two) else { return Ok(()) };
    let analysis = comparison.analysis();
    let begin = Instant::now();
    let (Ok(effects), Ok(bounds)) = (analysis.effects(), analysis.bounds()) else { return Ok(()) };
    writeln!(out, "effects and bounds took {:?}", begin.elapsed())?;
    for (change, effect) in analysis.changes().list().iter().zip(&effects.of_changes) {
        let Some(effect) = effect else { continue };
        writeln!(
            out,
            "{:+9.3} alone {:+9.3} last {:+9.3} attributed  {}",
            ms(effect.alone),
            ms(effect.last),
            ms(change.cost),
            change.sentence
        )?;
    }
    let rest = [("all changes", effects.joint), ("host", bounds.host), ("kernels", bounds.kernels)];
    for (what, effect) in rest {
        writeln!(out, "{:+9.3} alone {:+9.3} last  {what}", ms(effect.alone), ms(effect.last))?;
    }
    Ok(())
}

/// Prints the computed effects of known delays that were injected into programs. Recordings without Python stacks
/// contain no call for a sleep on the host. The effect of a sleep is therefore computed from the host time before the
/// first op of each step. The effects of the other changes are computed from the calls that have no counterpart.
fn known(out: &mut dyn Write) -> Result<()> {
    writeln!(out, "\nKnown changes (ms per step): recorded difference, effect, injected delay")?;
    for (program, injected) in [
        ("host", [("again", 0.0), ("sleep", 3.0), ("spin", 0.0), ("sync", f64::NAN)]),
        ("gpu", [("again", 0.0), ("sleep", 0.0), ("spin", 1.0), ("sync", f64::NAN)]),
    ] {
        for (variant, truth) in injected {
            let path = |variant: &str| example(&format!("known/{program}_{variant}"));
            let Some(comparison) = compared(&path("base"), &path(variant)) else { continue };
            let analysis = comparison.analysis();
            let Ok(replays) = Replays::of(
                analysis.diff(),
                analysis.ledger(),
                analysis.wall(),
                analysis.comparability(),
                analysis.changes(),
            ) else {
                continue;
            };
            let effect = match variant {
                "sleep" => {
                    let first =
                        [Side::Baseline, Side::Candidate].map(|side| first_ops(&replays, side));
                    replays.effect_of(analysis.diff(), |side, item| {
                        first[side as usize].contains(&item.point)
                    })
                }
                _ => replays
                    .effect_of(analysis.diff(), |side, item| is_alone(analysis, side, item.point)),
            };
            let Ok(bounds) = analysis.bounds() else { continue };
            let checks = &bounds.checks;
            let difference = checks.candidate.recorded - checks.baseline.recorded;
            writeln!(
                out,
                "{program:<5} {variant:<6} {:+8.3}  alone {:+8.3} last {:+8.3}  {truth:+.1}",
                ms(difference),
                ms(effect.alone),
                ms(effect.last)
            )?;
        }
    }
    Ok(())
}

fn is_alone(analysis: &Analysis, side: Side, point: Point) -> bool {
    let is_alone = |call: CallId| analysis.diff().counterpart(side, call).is_none();
    match point {
        Point::Start(call) | Point::End(call) => is_alone(call),
        Point::Step(_) => false,
    }
}

/// The start of the first call in each step.
fn first_ops(replays: &Replays, side: Side) -> BTreeSet<Point> {
    let items = &replays.recorded(side).items;
    let is_first = |at: usize| at == 0 || matches!(items[at - 1].point, Point::Step(_));
    (0..items.len()).filter(|&at| is_first(at)).map(|at| items[at].point).collect()
}
