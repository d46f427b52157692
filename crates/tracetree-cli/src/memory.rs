//! `tracetree memory A.pickle B.pickle`: compares two memory snapshots by Python stack.

use super::examples;
use super::outcome::Outcome;
use super::output::Console;
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use tracetree::analysis::memory::bytes;
use tracetree::program::counted;
use tracetree::report::{one_line, write_csv};
use tracetree::snapshot::{DeviceSnapshot, Moment, Snapshot, SnapshotDiff, StackRow};
use tracetree::{PerSide, Result, Side};

#[derive(Args)]
#[command(after_help = examples::MEMORY)]
pub(super) struct MemoryArgs {
    /// The baseline snapshot: a file written by torch.cuda.memory._dump_snapshot, possibly compressed.
    baseline: PathBuf,
    /// The candidate snapshot.
    candidate: PathBuf,
    /// Number of stacks to show.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: MemoryFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MemoryFormat {
    /// The result as text for people.
    Text,
    /// A CSV table with every stack.
    Csv,
}

pub(super) fn run(args: &MemoryArgs, console: &mut Console) -> Result<Outcome> {
    let open = |path| Snapshot::open(path, console.reading());
    let sides = PerSide::new(open(&args.baseline)?, open(&args.candidate)?);
    let diff = Arc::new(SnapshotDiff { sides });
    match args.format {
        MemoryFormat::Text => console.print(|out| text(&diff, args.top, out))?,
        MemoryFormat::Csv => console.print(|out| write_csv(&diff.table(), out))?,
    }
    Ok(Outcome::Done)
}

/// A memory figure of a device: its label, a function that reads it from a snapshot, and a function that formats it.
type Figure = (&'static str, fn(&DeviceSnapshot) -> i64, fn(i64) -> String);

const FIGURES: [Figure; 4] = [
    ("peak", |device| device.peak, bytes),
    ("live at the end", |device| device.live, bytes),
    ("reserved at the end", |device| device.reserved, bytes),
    ("allocations", |device| device.allocations.cast_signed(), |count| count.to_string()),
];

fn text(diff: &SnapshotDiff, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let rows = diff.rows();
    if diff.devices().is_empty() {
        return writeln!(out, "No GPU has memory in either snapshot.");
    }
    for device in diff.devices() {
        writeln!(
            out,
            "{:<20} {:>12} {:>12} {:>12}",
            format!("gpu {device}"),
            "baseline",
            "candidate",
            "difference"
        )?;
        for (title, of, show) in FIGURES {
            let sides = Side::BOTH.map(|side| diff.sides[side].devices.get(&device).map(of));
            let [one, two] = sides.map(|value| value.map_or("–".to_owned(), show));
            let difference = match sides {
                [Some(one), Some(two)] => signed(two.saturating_sub(one), show),
                [_, _] => String::new(),
            };
            writeln!(out, "{title:<20} {one:>12} {two:>12} {difference:>12}")?;
        }
        for (moment, title) in [(Moment::Peak, "each side's peak"), (Moment::End, "the end")] {
            let of_moment = |row: &&StackRow| row.device == device && row.moment == moment;
            let all: Vec<&StackRow> = rows.iter().filter(of_moment).collect();
            let changed = all.iter().filter(|row| row.difference() != 0).count();
            writeln!(
                out,
                "\nLive at {title}, by stack: {} of {} differ",
                changed,
                counted(all.len() as u64, "stack")
            )?;
            for row in all.iter().take(top.min(changed)) {
                let [one, two] = Side::BOTH.map(|side| bytes(row.figures[side].bytes));
                let difference = signed(row.difference(), bytes);
                writeln!(out, "{difference:>12}  {one:>10} → {two:<10}  {}", place(row))?;
            }
            if changed > top {
                writeln!(
                    out,
                    "{:>12}  {} more; --top {changed} or --format csv lists all",
                    "",
                    changed - top
                )?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// `model.py: forward, in torch/nn/functional.py: linear`
fn place(row: &StackRow) -> String {
    let (frame, last) = (row.frame(), row.stack.last().map_or("", |frame| &**frame));
    if frame == last {
        one_line(frame).into_owned()
    } else {
        format!("{}, in {}", one_line(frame), one_line(last))
    }
}

fn signed(difference: i64, show: fn(i64) -> String) -> String {
    match difference {
        0 => "±0".to_owned(),
        1.. => format!("+{}", show(difference)),
        _ => format!("−{}", show(difference.saturating_neg())),
    }
}
