//! Compares pairs of recordings between which known changes were made, in both directions, and counts how many of the
//! changes tracetree names.
//!
//! ```text
//! cargo run --release --all-features --example change_quality            all pairs
//! cargo run --release --all-features --example change_quality WORD       the pairs whose line contains WORD
//! cargo run --release --all-features --example change_quality A B        the changes between two traces
//! cargo run --release --all-features --example change_quality --folds [WORD]
//! ```
//! With `--folds`, each comparison also runs once without each fold of consequences, and only the last lines are
//! printed: how many more changes are then missed, how many more are claimed falsely, and how many more are listed.
//!
//! The pairs are: one change; two, three or four changes; one change where one recording lacks Python stacks, shapes or
//! GPU events; and the same program, also where one recording lacks something or has times in whole microseconds. Pairs
//! with compiled code or graphs are counted separately. Each pair with a missed change or a false claim is printed with
//! the changes that were listed; the last lines are totals for each class of pairs.
//!
//! A change is *named* if a change of its kind is listed and, for ops, arguments and layers, this change shares an op or
//! class with the known words. A *false claim* is a certain change of a kind that was not made and that is not a
//! consequence of every change: memory use, loaded or compiled code, and what was recorded. If a part is missing, a
//! change may be described by its ops or kernels: this is *weaker*. A change is *not recorded* if the screen says so: the
//! part that is missing is the one that states changes of this kind, and a line of its own, or the end of the headline,
//! says that it is missing. If one recording runs compiled code, a change is not recorded, too, if the compiler decides
//! about it, or if it is made by ops that compiled code does not call: layouts, recomputation, hooks, and fused ops.
//!
//! Real traces are read from the folder `TRACETREE_TRACES`.

#[path = "../tests/changes/crosses.rs"]
mod crosses;
#[path = "../tests/changes/pairs.rs"]
mod pairs;
#[path = "../tests/changes/parts.rs"]
mod parts;
#[path = "../tests/support/mod.rs"]
mod support;

use crosses::{Made, crosses, false_claims, named};
use pairs::{JAX, JAX_SAME, KNOWN, Known, SAME, compare, file};
use parts::{Part, without};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Result, Write, stdout};
use support::compared::{compare_files, compare_texts};
use tracetree::PerSide;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;

fn main() -> Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    match paths.as_slice() {
        [] => table("", &mut stdout()),
        [option] if option == "--folds" => ablation("", &mut stdout()),
        [option, word] if option == "--folds" => ablation(word, &mut stdout()),
        [word] => table(word, &mut stdout()),
        [baseline, candidate] => {
            let paths = PerSide::new(baseline, candidate);
            compare_files(paths, |analysis| list(analysis, &mut stdout()))
        }
        _ => Err(std::io::Error::other("usage: change_quality [WORD | BASELINE CANDIDATE]")),
    }
}

fn list(analysis: &Analysis, out: &mut dyn Write) -> Result<()> {
    for change in analysis.changes().list() {
        let (cost, kind) = (change.cost.as_millis(), change.kind.label());
        writeln!(out, "{cost:+10.3} ms  {kind:<17} {}  {}", change.sentence, change.place)?;
    }
    for part in analysis.changes().without_change() {
        writeln!(out, "{:+10.3} ms  {}", part.cost.as_millis(), part.name)?;
    }
    Ok(())
}

/// Whether one of the recordings runs compiled code or graphs.
fn hides(made: &[Made]) -> bool {
    let is_compiled = |kind| matches!(kind, ChangeKind::Compilation | ChangeKind::Graphs);
    made.len() > 1 && made.iter().any(|made| is_compiled(made.kind))
}

/// Whether compiled code hides a change: library ops are still called, with the same parameters.
fn is_hidden(made: &Made) -> bool {
    let is_of_library = ["conv", "embedding_bag"].iter().any(|op| made.words.contains(op));
    let is_inside =
        matches!(made.kind, ChangeKind::Checkpointing | ChangeKind::MemoryFormat | ChangeKind::Ops);
    is_inside || made.kind == ChangeKind::Arguments && !is_of_library
}

/// Whether a recording without a part does not state changes of a kind.
fn is_of_part(part: Part, kind: ChangeKind) -> bool {
    match part {
        Part::Nothing | Part::Nanoseconds => false,
        Part::Stacks => kind == ChangeKind::Python,
        Part::Shapes => matches!(
            kind,
            ChangeKind::Arguments
                | ChangeKind::MemoryFormat
                | ChangeKind::Precision
                | ChangeKind::Shapes
        ),
        Part::Kernels => {
            matches!(kind, ChangeKind::Graphs | ChangeKind::KernelSelection | ChangeKind::MathMode)
        }
    }
}

/// Whether the screen says that something was not recorded on one side.
fn says_what_lacks(analysis: &Analysis) -> bool {
    let changes = analysis.changes();
    changes.list().iter().any(|change| change.sentence.contains("was recorded with"))
}

/// What is lost without a fold, as numbers of changes.
#[derive(Default)]
struct Lost {
    missed: usize,
    claims: usize,
    listed: usize,
}

/// Counts of a class of pairs.
#[derive(Default)]
struct Total {
    pairs: usize,
    made: usize,
    named: usize,
    weaker: usize,
    not_recorded: usize,
    claims: usize,
}

struct Table<'a> {
    /// Only pairs whose line contains this word are compared.
    word: &'a str,
    out: &'a mut dyn Write,
    totals: BTreeMap<&'static str, Total>,
    /// For each fold, what is lost without it; `None` if this is not measured.
    folds: Option<BTreeMap<&'static str, Lost>>,
}

impl Table<'_> {
    /// Checks a comparison of which all changes are known. Without changes, the programs must be called identical.
    fn check(
        &mut self,
        class: &'static str,
        pair: &str,
        (made, part): (&[Made], Part),
        analysis: &Analysis,
    ) -> Result<()> {
        let mut named = named(analysis, made);
        let mut kinds: Vec<ChangeKind> = made.iter().map(|made| made.kind).collect();
        let is_identical = analysis.changes().is_identical();
        let (mut weaker, mut not_recorded) = (0, 0);
        if part != Part::Nothing && !made.is_empty() {
            kinds.extend([ChangeKind::Ops, ChangeKind::KernelSelection]);
            let is_honest = says_what_lacks(analysis) && is_of_part(part, made[0].kind);
            not_recorded = usize::from(!named[0] && is_honest);
            weaker = usize::from(!named[0] && !is_honest && !is_identical);
        }
        if hides(made) {
            let missed = made.iter().zip(&named).filter(|(_, is_named)| !**is_named);
            not_recorded = missed.filter(|(made, _)| is_hidden(made)).count();
        }
        if made.is_empty() {
            // Without GPU events on one side, no two programs are identical.
            let is_empty =
                analysis.changes().list().iter().all(|c| c.kind == ChangeKind::Recording);
            named.push(if part == Part::Kernels { is_empty } else { is_identical });
        }
        let claims = false_claims(analysis, &kinds);
        if let Some(folds) = &mut self.folds {
            for fold in tracetree::analysis::changes::folds() {
                let mut options = analysis.options().clone();
                options.without_folds = vec![fold];
                let without = Analysis::with_options(analysis.diff().clone(), options);
                let lost = folds.entry(fold).or_default();
                let count =
                    |named: Vec<bool>| named.into_iter().filter(|is_named| *is_named).count();
                let [before, after] =
                    [analysis, &without].map(|of| count(crosses::named(of, made)));
                lost.missed += before.saturating_sub(after);
                lost.claims += false_claims(&without, &kinds).len().saturating_sub(claims.len());
                let [before, after] = [analysis, &without].map(|of| of.changes().list().len());
                lost.listed += after.saturating_sub(before);
            }
            return Ok(());
        }
        let total = self.totals.entry(class).or_default();
        total.pairs += 1;
        total.made += named.len();
        total.named += named.iter().filter(|is_named| **is_named).count();
        total.weaker += weaker;
        total.not_recorded += not_recorded;
        total.claims += claims.len();
        if claims.is_empty() && named.iter().all(|is_named| *is_named) {
            return Ok(());
        }
        writeln!(self.out, "{class}: {pair}")?;
        let missed = made.iter().zip(&named).filter(|(_, is_named)| !**is_named);
        for (made, _) in missed {
            writeln!(self.out, "    missed  {:<17} {}", made.kind.label(), made.words)?;
        }
        for change in analysis.changes().list() {
            let mark = if claims.contains(&change) { "false" } else { "" };
            let kind = change.kind.label();
            writeln!(self.out, "    {mark:<7} {kind:<17} {}  {}", change.sentence, change.place)?;
        }
        if let Some(remainder) = analysis.changes().remainder() {
            writeln!(self.out, "    rest    {remainder}")?;
        }
        Ok(())
    }

    fn files(&mut self, class: &'static str, one: &str, two: &str, made: &[Made]) -> Result<()> {
        let pair = format!("{one} → {two}");
        if !format!("{class}: {pair}").contains(self.word) {
            return Ok(());
        }
        compare(one, two, |analysis| self.check(class, &pair, (made, Part::Nothing), analysis))
            .unwrap_or(Ok(()))
    }

    /// Compares two files without a part of one side, and then without this part of the other side.
    fn stripped(&mut self, one: &str, two: &str, part: Part, made: &[Made]) -> Result<()> {
        let (Some(a), Some(b)) = (file(one), file(two)) else { return Ok(()) };
        let class = match (part, made.is_empty()) {
            (Part::Nothing, _) => "one change",
            (Part::Stacks, false) => "one change, one side without stacks",
            (Part::Shapes, false) => "one change, one side without shapes",
            (Part::Kernels, false) => "one change, one side without GPU events",
            (Part::Nanoseconds, false) => "one change, one side in microseconds",
            (Part::Stacks, true) => "same program, one side without stacks",
            (Part::Shapes, true) => "same program, one side without shapes",
            (Part::Kernels, true) => "same program, one side without GPU events",
            (Part::Nanoseconds, true) => "same program, one side in microseconds",
        };
        if !format!("{class}: {one} → {two}").contains(self.word) {
            return Ok(());
        }
        let (full, full_two) = (without(&a, Part::Nothing), without(&b, Part::Nothing));
        let (less, less_two) = (without(&a, part), without(&b, part));
        if less == full || less_two == full_two {
            return Ok(());
        }
        for (side, texts) in [
            ("baseline", PerSide::new(less, full_two)),
            ("candidate", PerSide::new(full, less_two)),
        ] {
            let pair = format!("{one} → {two}, {side}");
            compare_texts(&texts, |analysis| self.check(class, &pair, (made, part), analysis))?;
        }
        Ok(())
    }
}

/// Prints what each fold of consequences contributes.
fn ablation(word: &str, out: &mut dyn Write) -> Result<()> {
    let mut table = Table { word, out, totals: BTreeMap::new(), folds: Some(BTreeMap::new()) };
    all(&mut table)?;
    let Table { out, folds, .. } = table;
    writeln!(
        out,
        "{:<24} {:>12} {:>18} {:>12}",
        "without", "more missed", "more false claims", "more listed"
    )?;
    for (fold, Lost { missed, claims, listed }) in folds.into_iter().flatten() {
        writeln!(out, "{fold:<24} {missed:>12} {claims:>18} {listed:>12}")?;
    }
    Ok(())
}

/// Compares all pairs.
fn all(table: &mut Table<'_>) -> Result<()> {
    let mut recordings: BTreeSet<&str> = BTreeSet::new();
    for pair in KNOWN {
        let made = [Made { kind: pair.kind, words: pair.words }];
        let (one, two) = (pair.baseline, pair.candidate);
        table.files("one change", one, two, &made)?;
        table.files("one change", two, one, &made)?;
        for part in [Part::Stacks, Part::Shapes, Part::Kernels] {
            table.stripped(one, two, part, &made)?;
        }
        recordings.extend([one, two]);
    }
    for Known { baseline, candidate, kind, words } in JAX {
        let made = [Made { kind, words }];
        table.files("one change, JAX", baseline, candidate, &made)?;
        table.files("one change, JAX", candidate, baseline, &made)?;
    }
    for cross in crosses() {
        let class = match (hides(&cross.made), cross.made.len()) {
            (true, _) => "several changes, compiled",
            (false, 2) => "two changes",
            (false, 3) => "three changes",
            (false, _) => "four changes",
        };
        table.files(class, cross.baseline, cross.candidate, &cross.made)?;
    }
    for (one, two) in SAME.into_iter().chain(JAX_SAME) {
        table.files("same program", one, two, &[])?;
        table.files("same program", two, one, &[])?;
    }
    for name in recordings {
        for part in [Part::Stacks, Part::Shapes, Part::Kernels, Part::Nanoseconds] {
            table.stripped(name, name, part, &[])?;
        }
    }
    Ok(())
}

fn table(word: &str, out: &mut dyn Write) -> Result<()> {
    let mut table = Table { word, out, totals: BTreeMap::new(), folds: None };
    all(&mut table)?;
    let Table { out, totals, .. } = table;
    writeln!(
        out,
        "{:<44} {:>5} {:>13} {:>7} {:>13} {:>13}",
        "", "pairs", "named", "weaker", "not recorded", "false claims"
    )?;
    for (class, Total { pairs, made, named, weaker, not_recorded, claims }) in totals {
        let share = format!("{named} of {made}");
        writeln!(
            out,
            "{class:<44} {pairs:>5} {share:>13} {weaker:>7} {not_recorded:>13} {claims:>13}"
        )?;
    }
    Ok(())
}
