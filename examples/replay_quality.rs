//! Prints how well the replay of real traces reproduces them.

#[path = "../src/analysis/replay/mod.rs"]
#[allow(dead_code)]
mod replay;

use replay::{Recorded, Scale};
use std::io::{Result, Write, stdout};
use std::path::PathBuf;
use tracetree::program::{Program, Steps};
use tracetree::tree::CallTree;
use tracetree::{Trace, program, trace, tree};

fn main() -> Result<()> {
    let files: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let out = &mut stdout();
    for file in files {
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default().to_owned();
        let Ok(trace) = Trace::open(&file) else { continue };
        let program = Program::of(CallTree::build(trace));
        line(&name, program.tree(), program.steps(), out)?;
    }
    Ok(())
}

fn line(name: &str, tree: &CallTree, steps: &Steps, out: &mut dyn Write) -> Result<()> {
    let recorded = match Recorded::of(tree, steps) {
        Ok(recorded) => recorded,
        Err(reason) => return writeln!(out, "{name:<34} {reason:?}"),
    };
    let replayed = recorded.replay(Scale::NONE);
    let error = |a: i64, b: i64| 100.0 * (a - b) as f64 / b.max(1) as f64;
    write!(
        out,
        "{name:<34} {:>5} items {:>5} works {} streams{} {:>4.0}% unl {:>9.3} ms {:+6.2}% |",
        recorded.items.len(),
        recorded.works.len(),
        recorded.streams.len(),
        if recorded.is_crossing { "x" } else { " " },
        100.0 * recorded.unlaunched,
        recorded.measured.end as f64 / 1e6,
        error(replayed.end, recorded.measured.end)
    )?;
    let mut before = (0, 0);
    for (&a, &b) in replayed.steps.iter().zip(&recorded.measured.steps) {
        write!(out, " {:+.2}", error(a - before.0, b - before.1))?;
        before = (a, b);
    }
    writeln!(out)
}
