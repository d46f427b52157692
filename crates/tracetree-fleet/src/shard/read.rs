//! Reads the values in the table of a shard.

use super::{Class, Facts, Line, Part, PartKind, Shard, Step, Sum};
use crate::collectives::Kind;
use crate::matching::Kernel;
use crate::status::Status;
use std::sync::Arc;
use tracetree::report::ParquetFile;
use tracetree::side::{PerSide, Side};
use tracetree::trace::Nanos;

/// The columns of a shard, by name.
struct Read<'f> {
    file: &'f ParquetFile,
    empty: Arc<str>,
}

impl Read<'_> {
    fn text(&self, column: &str, row: usize) -> Arc<str> {
        let column = self.file.column(column);
        column.and_then(|column| column.text(row)).unwrap_or(&self.empty).clone()
    }

    fn whole(&self, column: &str, row: usize) -> Option<i64> {
        self.file.column(column)?.whole(row)
    }

    fn time(&self, column: &str, row: usize) -> Nanos {
        let micros = self.file.column(column).and_then(|column| column.number(row));
        Nanos((micros.unwrap_or(0.0) * 1e3).round() as i64)
    }

    fn times(&self, stem: &str, row: usize) -> PerSide<Nanos> {
        PerSide::from_fn(|side| self.time(&format!("{stem}_{}_us", side.word()), row))
    }

    fn counts(&self, row: usize) -> PerSide<u64> {
        let count = |side: Side| self.whole(&format!("count_{}", side.word()), row);
        PerSide::from_fn(|side| count(side).unwrap_or(0).unsigned_abs())
    }

    fn texts(&self, row: usize) -> PerSide<Arc<str>> {
        PerSide::from_fn(|side| self.text(&format!("text_{}", side.word()), row))
    }
}

pub(super) fn read_rows(file: &ParquetFile) -> Option<Shard> {
    let read = Read { file, empty: "".into() };
    let kinds = file.column("kind")?;
    file.column("duration_ns")?;
    let mut shard = Shard { rank: read.whole("rank", 0), status: Status::Compared, facts: None };
    for row in 0..file.rows {
        let kind = kinds.text(row)?;
        if &**kind == "status" {
            if &*read.text("name", row) != "ok" {
                let code = read.text("place", row);
                shard.status = Status::failed(&code, read.text("detail", row).to_string());
            }
        } else {
            read_row(&read, kind, row, shard.facts.get_or_insert_default())?;
        }
    }
    (file.rows > 0).then_some(shard)
}

fn read_row(read: &Read<'_>, kind: &str, row: usize, facts: &mut Facts) -> Option<()> {
    let number = read.whole("number", row);
    match kind {
        "fact" => match &*read.text("name", row) {
            "points" => facts.points = number?.unsigned_abs(),
            "exact" => facts.is_exact = number? == 1,
            "comparable" => facts.is_comparable = number? == 1,
            "identical" => facts.is_identical = number? == 1,
            "notes" => facts.notes = read.texts(row),
            "role" => facts.roles = read.texts(row),
            "steps" => facts.steps = read.counts(row).map(|steps| steps.max(1)),
            _ => return None,
        },
        "account" => {
            let (time, busy) = (read.times("time", row), read.times("busy", row));
            let events = read.counts(row);
            facts.wall = read.times("wall", row);
            facts.account = PerSide::from_fn(|side| Sum {
                time: time[side],
                busy: busy[side],
                events: events[side],
            });
        }
        "step" => facts.step_list.push(Step {
            number: number?,
            wall: read.times("wall", row),
            busy: read.times("busy", row),
        }),
        "bill" => facts.bill.push(Line {
            kind: read.text("name", row),
            change_kind: read.text("change_kind", row),
            place: read.text("place", row),
            sentence: read.text("detail", row),
            price: read.time("price_us", row),
        }),
        "class" => facts.classes.push(Class {
            name: read.text("name", row),
            time: read.times("time", row),
            steps: read.counts(row).map(|steps| steps.max(1)),
            hardware: read.time("hardware_us", row),
            software: read.time("price_us", row),
        }),
        "collective" => {
            let duration = Nanos(read.whole("duration_ns", row)?);
            let start = Nanos(read.whole("start_ns", row)?);
            let side = match &*read.text("side", row) {
                "baseline" => Side::Baseline,
                "candidate" => Side::Candidate,
                _ => return None,
            };
            let kind = Kind {
                group: read.text("place", row).to_string(),
                name: read.text("name", row).to_string(),
            };
            let position = usize::try_from(number?).ok()?;
            let sequence = read.whole("sequence", row);
            let kernel = Kernel { position, sequence, end: start + duration, duration };
            facts.collectives[side].add(kind, kernel);
        }
        _ => {
            let kind = PartKind::ALL.into_iter().find(|part| part.label() == kind)?;
            facts.parts.push(Part {
                kind,
                name: read.text("name", row),
                number,
                time: read.times("time", row),
                count: read.counts(row),
            });
        }
    }
    Some(())
}
