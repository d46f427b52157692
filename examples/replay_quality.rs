//! Prints how well replays reproduce each step of real traces or, for a pair of traces, the effect of each change.
//!
//! ```text
//! cargo run --release --all-features --example replay_quality            all traces
//! cargo run --release --all-features --example replay_quality A          one trace
//! cargo run --release --all-features --example replay_quality A B        one pair
//! ```
//! Real traces are read from the folder `TRACETREE_TRACES`.

use std::io::{Result, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tracetree::analysis::replay::{Recorded, Scenario};
use tracetree::program::Program;
use tracetree::trace::Nanos;
use tracetree::tree::CallTree;
use tracetree::{Comparison, ComparisonOptions, Trace};

fn main() -> Result<()> {
    let out = &mut stdout();
    let paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    match paths.as_slice() {
        [] => self_check(&all_traces(), out),
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

fn compared(one: &Path, two: &Path) -> Option<Comparison> {
    Comparison::open(one, two, &ComparisonOptions::default()).ok()
}

fn ms(time: Nanos) -> f64 {
    time.as_millis()
}

fn pair(one: &Path, two: &Path, out: &mut dyn Write) -> Result<()> {
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
