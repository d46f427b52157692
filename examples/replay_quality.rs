//! Prints how well the replay of real traces reproduces them.

#[path = "../src/analysis/replay/mod.rs"]
#[allow(dead_code)]
mod replay;

use replay::{Recorded, Scale};
use std::io::{Result, Write, stdout};
use std::path::PathBuf;
use tracetree::program::{Program, Steps};
use tracetree::tree::CallTree;
use tracetree::{Comparison, ComparisonOptions, Side, Trace, analysis, diff, program, side, trace, tree};

fn main() -> Result<()> {
    let files: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let out = &mut stdout();
    if files.len() == 3 && files[0].as_os_str() == "pair" {
        return pair(&files[1], &files[2], out);
    }
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
    writeln!(out)?;
    if std::env::var("DBG").is_ok() {
        let t = tree.trace();
        let w0 = steps.spans().first().map_or(0, |s| s.start.0);
        let mut last = 0;
        for (w, (s, e)) in recorded.works.iter().zip(recorded.starts()) {
            let ev = tree.event(w.call).unwrap();
            let d = s - (t.start(ev).0 - w0);
            let l = tree.running_launch(w.call).map(|l| (t.start(tree.event(l).unwrap()).0 - w0, t.duration(tree.event(l).unwrap()).0, tree.name(l)));
            writeln!(out, "  s{} {:>9} rec {:>9} rep {:>9} dur {:>7} diff {:>7} ({:+}) lat {:?} waits {:?} launch {:?} {}", w.stream, t.uid(ev).0, t.start(ev).0 - w0, s, e - s, d, d - last, w.latency, w.waits, l, &tree.name(w.call)[..tree.name(w.call).len().min(40)])?;
            last = d;
        }
    }
    Ok(())
}

fn pair(one: &PathBuf, two: &PathBuf, out: &mut dyn Write) -> Result<()> {
    let c = Comparison::open(one.as_path(), two.as_path(), &ComparisonOptions::default()).map_err(std::io::Error::other)?;
    let a = c.analysis();
    let n = |p: &PathBuf| p.file_name().map(|n| n.to_string_lossy().split('.').next().unwrap_or_default().to_owned()).unwrap_or_default();
    let e = match replay::Effects::of(a) { Ok(e) => e, Err((side, r)) => return writeln!(out, "{} {} {:?} {:?}", n(one), n(two), side, r) };
    let ms = |x: trace::Nanos| x.0 as f64 / 1e6;
    writeln!(out, "{:>24} -> {:<24} rec {:8.3} {:8.3} d {:+8.3} | self {:+.2}% {:+.2}% | cross {:8.3} ({:+.2}%) match {:.0}% | joint {:+.3} {:+.3}", n(one), n(two), ms(e.recorded.baseline), ms(e.recorded.candidate), ms(e.measured),
        100.0*(ms(e.replayed.baseline)/ms(e.recorded.baseline)-1.0), 100.0*(ms(e.replayed.candidate)/ms(e.recorded.candidate)-1.0), ms(e.transferred), 100.0*(ms(e.transferred)/ms(e.recorded.candidate)-1.0), 100.0*e.matched_share, ms(e.joint.alone), ms(e.joint.last))?;
    for (ch, ef) in a.changes().list().iter().zip(&e.of_changes).take(6) {
        writeln!(out, "      cost {:+8.3} alone {:+8.3} last {:+8.3}  {} {}", ms(ch.cost), ms(ef.alone), ms(ef.last), ch.kind.label(), ch.sentence.chars().take(90).collect::<String>())?;
    }
    let _ = Side::Baseline;
    Ok(())
}
