//! A compared pair → its shard: one Parquet file of a few kilobytes with all that the reduction needs.
//!
//! One file, so that it is there whole or not at all; one table in it, whose rows are of several kinds:
//!
//! | kind | a row is |
//! |---|---|
//! | `status` | the pair: `name` is `ok` or `failed`, `place` the code, `detail` why |
//! | `fact` | one fact of the pair, by `name`: `points`, `exact`, `comparable`, `role`, `notes` |
//! | `account` | the totals |
//! | `op`, `category`, `layer` | work of one name, communication left out |
//! | `step` | a step |
//! | `cause` | a cause: `name` is the reason |
//! | `collective` | a communication kernel of one side |

use super::collectives::{Collectives, Kernel, Kind};
use super::plan::{FLEET_SCHEMA, PlannedPair};
use super::status::Status;
use crate::report::{Origin, ParquetFile, write_parquet};
use crate::side::{PerSide, Side};
use crate::tables::Table;
use crate::tables::table::{ColumnType, Columns};
use crate::trace::Nanos;
use std::io;
use std::sync::Arc;

/// The shard of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shard {
    pub(super) rank: Option<i64>,
    pub(super) status: Status,
    /// `None` where nothing was compared.
    pub(super) facts: Option<Facts>,
}

/// What is known of a compared pair.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Facts {
    pub(super) account: PerSide<Sum>,
    /// Wall time of the window's own work.
    pub(super) wall: PerSide<Nanos>,
    /// Steps; at least 1.
    pub(super) steps: PerSide<u64>,
    pub(super) is_exact: bool,
    pub(super) is_comparable: bool,
    pub(super) points: u64,
    pub(super) notes: PerSide<Arc<str>>,
    pub(super) roles: PerSide<Arc<str>>,
    pub(super) parts: Vec<Part>,
    pub(super) step_list: Vec<Step>,
    pub(super) causes: Vec<Cause>,
    pub(super) collectives: PerSide<Collectives>,
}

/// Time, its union, and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sum {
    pub(super) time: Nanos,
    pub(super) busy: Nanos,
    pub(super) events: u64,
}

/// What a part of the work is named by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PartKind {
    Op,
    Category,
    Layer,
}

impl PartKind {
    pub(super) const ALL: [PartKind; 3] = [PartKind::Op, PartKind::Category, PartKind::Layer];

    pub(super) fn label(self) -> &'static str {
        match self {
            PartKind::Op => "op",
            PartKind::Category => "category",
            PartKind::Layer => "layer",
        }
    }
}

/// Work of one name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) name: Arc<str>,
    /// Of a layer its number in the stack.
    pub(super) number: Option<i64>,
    pub(super) time: PerSide<Nanos>,
    pub(super) count: PerSide<u64>,
}

/// A step on both sides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) number: i64,
    pub(super) wall: PerSide<Nanos>,
    pub(super) busy: PerSide<Nanos>,
}

/// A cause of a difference.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cause {
    pub(super) reason: Arc<str>,
    pub(super) place: Arc<str>,
    /// Class of the module around it.
    pub(super) module: Arc<str>,
    /// Per step.
    pub(super) difference: Nanos,
    /// Whether all its kernels are communication.
    pub(super) is_communication: bool,
    pub(super) evidence: Arc<str>,
}

/// A row of the table.
#[derive(Debug, Clone, Default)]
struct Row {
    kind: &'static str,
    side: Option<Side>,
    name: Arc<str>,
    place: Arc<str>,
    module: Arc<str>,
    number: Option<i64>,
    sequence: Option<i64>,
    start: Option<Nanos>,
    duration: Option<Nanos>,
    time: PerSide<Option<Nanos>>,
    busy: PerSide<Option<Nanos>>,
    wall: PerSide<Option<Nanos>>,
    count: PerSide<Option<u64>>,
    difference: Option<Nanos>,
    text: PerSide<Arc<str>>,
    detail: Arc<str>,
}

impl Shard {
    /// The shard of a pair that could not be compared.
    pub(super) fn failed(rank: Option<i64>, status: Status) -> Shard {
        Shard { rank, status, facts: None }
    }

    /// The table; see the head of this file.
    fn table(self) -> Table {
        const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
        const TEXT: (ColumnType, &str) = (ColumnType::Word, "");
        Columns::new()
            .word("kind", "what the row is", |_: &Shard, r: &Row| r.kind.into())
            .whole("rank", "the rank", |shard, _| shard.rank.into())
            .word("side", "of a collective", |_, r| r.side.map(side_label).into())
            .word("name", "op, category, class of layers, reason, collective", |_, r| {
                (&*r.name).into()
            })
            .word("place", "place of a cause, process group, code", |_, r| (&*r.place).into())
            .word("module_class", "class of the module around it", |_, r| (&*r.module).into())
            .whole("number", "step, layer, collective of its rank", |_, r| r.number.into())
            .whole("sequence", "number in the process group", |_, r| r.sequence.into())
            .whole("start_ns", "when it began", |_, r| r.start.map(|time| time.0).into())
            .whole("duration_ns", "how long it took", |_, r| r.duration.map(|time| time.0).into())
            .sides("time_us_*", TIME, "sum of the times", |_, r, side| r.time[side].into())
            .sides("busy_us_*", TIME, "union of the intervals", |_, r, side| r.busy[side].into())
            .sides("wall_us_*", TIME, "wall time", |_, r, side| r.wall[side].into())
            .sides("count_*", (ColumnType::Whole, ""), "events", |_, r, side| r.count[side].into())
            .micros_difference("difference_us", "of a cause, per step", |_, r| r.difference.into())
            .sides("text_*", TEXT, "role, notes, files", |_, r, side| (&*r.text[side]).into())
            .text("detail", "in words", |_, r| (&*r.detail).into())
            .table(("shard", "row of one pair; see docs/fleet.md"), Arc::new(self), |shard| {
                Box::new(shard.rows().into_iter())
            })
    }

    /// The bytes of its file.
    pub(super) fn to_parquet(&self, pair: &PlannedPair) -> io::Result<Vec<u8>> {
        let mut origin = Origin::new(FLEET_SCHEMA).with("key", &*pair.key);
        for (name, file) in [("baseline", &pair.baseline), ("candidate", &pair.candidate)] {
            origin = origin
                .with(name, &*file.path)
                .with(&format!("{name}_size"), file.size.to_string())
                .with(&format!("{name}_version"), &*file.version);
        }
        let mut out = Vec::new();
        write_parquet(&self.clone().table(), &origin, &mut out)?;
        Ok(out)
    }

    fn rows(&self) -> Vec<Row> {
        let status = Row {
            kind: "status",
            name: self.status.label().into(),
            place: self.status.code().into(),
            detail: self.status.message().into(),
            ..Row::default()
        };
        let facts = self.facts.iter().flat_map(fact_rows);
        [status].into_iter().chain(facts).collect()
    }

    /// Reads a shard; why not, as a status, where it is none of this pair and version.
    pub(super) fn read(bytes: Vec<u8>, pair: &PlannedPair) -> Result<Shard, Status> {
        let broken =
            |why: &str| Status::failed("BROKEN_SHARD", format!("its shard is broken: {why}"));
        let file = ParquetFile::read(bytes).map_err(|why| broken(&why))?;
        let version = file.origin("tracetree_version").unwrap_or("an unknown version");
        let schema = file.origin("schema_version").unwrap_or_default();
        if version != env!("CARGO_PKG_VERSION") || schema != FLEET_SCHEMA.to_string() {
            let message = format!(
                "its shard is of tracetree {version} (schema {schema}), this is {} ({FLEET_SCHEMA})",
                env!("CARGO_PKG_VERSION")
            );
            return Err(Status::failed("OTHER_VERSION", message));
        }
        if file.origin("key") != Some(&pair.key) {
            return Err(Status::failed("OTHER_VERSION", "its shard is of other inputs or options"));
        }
        read_rows(&file).ok_or_else(|| broken("columns are missing"))
    }
}

fn side_label(side: Side) -> &'static str {
    match side {
        Side::Baseline => "baseline",
        Side::Candidate => "candidate",
    }
}

fn fact_rows(facts: &Facts) -> Vec<Row> {
    let number = |name: &str, number: u64| Row {
        kind: "fact",
        name: name.into(),
        number: Some(number as i64),
        ..Row::default()
    };
    let texts = |name: &str, text: &PerSide<Arc<str>>| Row {
        kind: "fact",
        name: name.into(),
        text: text.clone(),
        ..Row::default()
    };
    let mut rows = vec![
        number("points", facts.points),
        number("exact", u64::from(facts.is_exact)),
        number("comparable", u64::from(facts.is_comparable)),
        texts("notes", &facts.notes),
        texts("role", &facts.roles),
        Row { kind: "fact", name: "steps".into(), count: facts.steps.map(Some), ..Row::default() },
        Row {
            kind: "account",
            time: facts.account.map(|sum| Some(sum.time)),
            busy: facts.account.map(|sum| Some(sum.busy)),
            wall: facts.wall.map(Some),
            count: facts.account.map(|sum| Some(sum.events)),
            ..Row::default()
        },
    ];
    rows.extend(facts.parts.iter().map(|part| Row {
        kind: part.kind.label(),
        name: part.name.clone(),
        number: part.number,
        time: part.time.map(Some),
        count: part.count.map(Some),
        ..Row::default()
    }));
    rows.extend(facts.step_list.iter().map(|step| Row {
        kind: "step",
        number: Some(step.number),
        wall: step.wall.map(Some),
        busy: step.busy.map(Some),
        ..Row::default()
    }));
    rows.extend(facts.causes.iter().map(|cause| Row {
        kind: "cause",
        name: cause.reason.clone(),
        place: cause.place.clone(),
        module: cause.module.clone(),
        number: Some(i64::from(cause.is_communication)),
        difference: Some(cause.difference),
        detail: cause.evidence.clone(),
        ..Row::default()
    }));
    for side in Side::BOTH {
        rows.extend(facts.collectives[side].list().into_iter().map(|(kind, kernel)| Row {
            kind: "collective",
            side: Some(side),
            name: kind.name.as_str().into(),
            place: kind.group.as_str().into(),
            number: Some(kernel.position as i64),
            sequence: kernel.sequence,
            start: Some(kernel.end - kernel.duration),
            duration: Some(kernel.duration),
            ..Row::default()
        }));
    }
    rows
}

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
        PerSide::from_fn(|side| self.time(&format!("{stem}_{}_us", side_label(side)), row))
    }

    fn counts(&self, row: usize) -> PerSide<u64> {
        let count = |side| self.whole(&format!("count_{}", side_label(side)), row);
        PerSide::from_fn(|side| count(side).unwrap_or(0).unsigned_abs())
    }

    fn texts(&self, row: usize) -> PerSide<Arc<str>> {
        PerSide::from_fn(|side| self.text(&format!("text_{}", side_label(side)), row))
    }
}

fn read_rows(file: &ParquetFile) -> Option<Shard> {
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
        "cause" => facts.causes.push(Cause {
            reason: read.text("name", row),
            place: read.text("place", row),
            module: read.text("module_class", row),
            difference: read.time("difference_us", row),
            is_communication: number == Some(1),
            evidence: read.text("detail", row),
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

#[cfg(test)]
mod tests {
    use super::super::plan::PlannedFile;
    use super::*;

    fn pair() -> PlannedPair {
        let file = |path: &str| PlannedFile {
            path: path.to_owned(),
            size: 1,
            version: "1".to_owned(),
            world_size: None,
            device: String::new(),
        };
        PlannedPair {
            rank: Some(3),
            step: None,
            folder: "rank_3".to_owned(),
            key: "k".to_owned(),
            baseline: file("a"),
            candidate: file("b"),
        }
    }

    fn shard() -> Shard {
        let kernel = |position, sequence| Kernel {
            position,
            sequence,
            end: Nanos(1_694_128_201_435_418_007),
            duration: Nanos(1_001),
        };
        let mut collectives = Collectives::default();
        let kind = Kind { group: "0".to_owned(), name: "all_reduce".to_owned() };
        collectives.add(kind.clone(), kernel(0, Some(7)));
        collectives.add(kind, kernel(1, None));
        let facts = Facts {
            account: PerSide::new(
                Sum { time: Nanos(123_456_789), busy: Nanos(5), events: 2 },
                Sum { time: Nanos(1), busy: Nanos(1), events: 1 },
            ),
            wall: PerSide::new(Nanos(9), Nanos(8)),
            steps: PerSide::new(2, 1),
            is_exact: true,
            is_comparable: false,
            points: 4,
            notes: PerSide::new("".into(), "LOST_EVENTS 2".into()),
            roles: PerSide::new("a1".into(), "b2".into()),
            parts: vec![Part {
                kind: PartKind::Layer,
                name: "Block".into(),
                number: Some(3),
                time: PerSide::new(Nanos(7), Nanos(0)),
                count: PerSide::new(1, 0),
            }],
            step_list: vec![Step {
                number: 0,
                wall: PerSide::new(Nanos(7), Nanos(6)),
                busy: PerSide::new(Nanos(5), Nanos(4)),
            }],
            causes: vec![Cause {
                reason: "new".into(),
                place: "aten::mm".into(),
                module: "Block".into(),
                difference: Nanos(-3),
                is_communication: true,
                evidence: "1 kernel".into(),
            }],
            collectives: PerSide::new(collectives, Collectives::default()),
        };
        Shard { rank: Some(3), status: Status::Compared, facts: Some(facts) }
    }

    #[test]
    fn a_shard_is_read_as_it_was_written() {
        let bytes = shard().to_parquet(&pair()).expect("memory");
        assert_eq!(bytes, shard().to_parquet(&pair()).expect("memory"));
        assert_eq!(Shard::read(bytes, &pair()).expect("a shard"), shard());
        let failed = Shard::failed(Some(3), Status::failed("NOT_A_TRACE", "it is none"));
        let bytes = failed.to_parquet(&pair()).expect("memory");
        assert_eq!(Shard::read(bytes, &pair()).expect("a shard"), failed);
    }

    #[test]
    fn half_a_shard_and_one_of_another_pair_are_told() {
        let bytes = shard().to_parquet(&pair()).expect("memory");
        for end in [0, 3, bytes.len() / 2, bytes.len() - 1] {
            let half = Shard::read(bytes[..end].to_vec(), &pair()).expect_err("half");
            assert_eq!(half.code(), "BROKEN_SHARD", "{end}");
        }
        let other = PlannedPair { key: "other".to_owned(), ..pair() };
        assert_eq!(Shard::read(bytes, &other).expect_err("another").code(), "OTHER_VERSION");
    }
}
