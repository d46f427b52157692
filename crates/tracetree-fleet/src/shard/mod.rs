//! Stores the results of a compared pair as a *shard*: one Parquet file of a few kilobytes that contains everything
//! that `reduce` needs.
//!
//! A shard is a single file, so it is either complete or absent. The file contains one table with several kinds of
//! rows:
//!
//! | kind | a row is |
//! |---|---|
//! | `status` | outcome of the pair: `name` is `ok`, `damaged` or `failed`, `place` is the code, `detail` says why |
//! | `fact` | fact about the pair: `name` is `points`, `exact`, `comparable`, `role`, `notes`, `steps` or `identical` |
//! | `account` | the totals |
//! | `op`, `category`, `layer` | the work of one op, category or layer, without communication |
//! | `step` | a step |
//! | `class` | a class of work on two platforms |
//! | `bill` | a line of the bill: `name` is its kind, `detail` is the sentence |
//! | `collective` | a communication kernel on one side |

mod read;

use super::collectives::Collectives;
use super::plan::{FLEET_SCHEMA, PlannedPair};
use super::status::Status;
use read::read_rows;
use std::io;
use std::sync::Arc;
use tracetree::report::{Origin, ParquetFile, write_parquet};
use tracetree::side::{PerSide, Side};
use tracetree::tables::Table;
use tracetree::tables::table::{ColumnType, Columns};
use tracetree::trace::Nanos;

/// The shard of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shard {
    pub(super) rank: Option<i64>,
    pub(super) status: Status,
    /// The results of the comparison; `None` if the pair was not compared.
    pub(super) facts: Option<Facts>,
}

/// The results for a compared pair.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Facts {
    pub(super) account: PerSide<Sum>,
    /// Busy and idle time of the window on each side, without the time of work that was launched before the window or
    /// that is not selected.
    pub(super) wall: PerSide<Nanos>,
    /// Number of steps; at least 1.
    pub(super) steps: PerSide<u64>,
    pub(super) is_exact: bool,
    pub(super) is_comparable: bool,
    /// Whether the two programs are identical.
    pub(super) is_identical: bool,
    pub(super) points: u64,
    pub(super) notes: PerSide<Arc<str>>,
    pub(super) roles: PerSide<Arc<str>>,
    pub(super) parts: Vec<Part>,
    pub(super) step_list: Vec<Step>,
    pub(super) bill: Vec<Line>,
    /// The classes of work, if the sides ran on different devices.
    pub(super) classes: Vec<Class>,
    pub(super) collectives: PerSide<Collectives>,
}

/// Totals of the events on one side: the sum of their durations, the union of their time intervals, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sum {
    pub(super) time: Nanos,
    pub(super) busy: Nanos,
    pub(super) events: u64,
}

/// What a [`Part`] covers: an op, a category or a layer.
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

/// The work of one op, category or layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) name: Arc<str>,
    /// Number of the layer in its stack; `None` for ops and categories.
    pub(super) number: Option<i64>,
    pub(super) time: PerSide<Nanos>,
    pub(super) count: PerSide<u64>,
}

/// One step, with its times on both sides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) number: i64,
    pub(super) wall: PerSide<Nanos>,
    pub(super) busy: PerSide<Nanos>,
}

/// A line of the bill.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// What the line is about, as in `bill.csv`.
    pub(super) kind: Arc<str>,
    /// The kind of change; empty if the line is not a change.
    pub(super) change_kind: Arc<str>,
    /// The first call site of a change, or the range of a wait.
    pub(super) place: Arc<str>,
    pub(super) sentence: Arc<str>,
    /// Candidate − baseline, per step.
    pub(super) price: Nanos,
}

/// A class of work on two platforms, such as `linear`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Class {
    pub(super) name: Arc<str>,
    /// Time in the compared steps.
    pub(super) time: PerSide<Nanos>,
    /// Number of compared steps; at least 1.
    pub(super) steps: PerSide<u64>,
    /// The part of the difference per step that the hardware explains.
    pub(super) hardware: Nanos,
    /// The part of the difference per step that the hardware does not explain.
    pub(super) software: Nanos,
}

/// A row of a shard's table.
#[derive(Debug, Clone, Default)]
struct Row {
    kind: &'static str,
    side: Option<Side>,
    name: Arc<str>,
    place: Arc<str>,
    change_kind: Arc<str>,
    number: Option<i64>,
    sequence: Option<i64>,
    start: Option<Nanos>,
    duration: Option<Nanos>,
    time: PerSide<Option<Nanos>>,
    busy: PerSide<Option<Nanos>>,
    wall: PerSide<Option<Nanos>>,
    count: PerSide<Option<u64>>,
    price: Option<Nanos>,
    hardware: Option<Nanos>,
    text: PerSide<Arc<str>>,
    detail: Arc<str>,
}

impl Shard {
    /// The shard of a pair that could not be compared.
    pub(super) fn failed(rank: Option<i64>, status: Status) -> Shard {
        Shard { rank, status, facts: None }
    }

    /// The table that the module documentation describes.
    fn table(self) -> Table {
        const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
        const TEXT: (ColumnType, &str) = (ColumnType::Word, "");
        Columns::default()
            .word("kind", "kind of row", |_: &Shard, r: &Row| r.kind.into())
            .whole("rank", "rank", |shard, _| shard.rank.into())
            .word("side", "`baseline` or `candidate`, for collectives", |_, r| {
                r.side.map(Side::word).into()
            })
            .word(
                "name",
                "op, category, class of the layer stack, kind of a line of the bill, or collective",
                |_, r| (&*r.name).into(),
            )
            .word(
                "place",
                "call site of a change, range of a wait, process group, or code",
                |_, r| (&*r.place).into(),
            )
            .word("change_kind", "kind of change", |_, r| (&*r.change_kind).into())
            .whole(
                "number",
                "number of the step, the layer, or the collective on its rank",
                |_, r| r.number.into(),
            )
            .whole("sequence", "sequence number in the process group", |_, r| r.sequence.into())
            .whole("start_ns", "start time", |_, r| r.start.map(|time| time.0).into())
            .whole("duration_ns", "duration", |_, r| r.duration.map(|time| time.0).into())
            .sides("time_us_*", TIME, "total time", |_, r, side| r.time[side].into())
            .sides("busy_us_*", TIME, "union of the intervals", |_, r, side| r.busy[side].into())
            .sides("wall_us_*", TIME, "wall time", |_, r, side| r.wall[side].into())
            .sides("count_*", (ColumnType::Whole, ""), "number of events", |_, r, side| {
                r.count[side].into()
            })
            .micros_difference(
                "price_us",
                "price of a line, or the software's part of a class, per step",
                |_, r| r.price.into(),
            )
            .micros_difference("hardware_us", "the hardware's part of a class, per step", |_, r| {
                r.hardware.into()
            })
            .sides("text_*", TEXT, "role, notes or files", |_, r, side| (&*r.text[side]).into())
            .text("detail", "explanation", |_, r| (&*r.detail).into())
            .table(
                ("shard", "row for one pair; see docs/guides/fleet.md"),
                Arc::new(self),
                |shard| Box::new(shard.rows().into_iter()),
            )
    }

    /// The content of the shard's file.
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

    /// Reads a shard. If the bytes are not a shard of this pair and version, fails with a status that states the
    /// reason.
    pub(super) fn read(bytes: Vec<u8>, pair: &PlannedPair) -> Result<Shard, Status> {
        let broken = |why: &str| {
            Status::failed(
                "BROKEN_SHARD",
                format!(
                    "the shard is damaged ({why}); compare the pair again with `tracetree fleet \
                     map`"
                ),
            )
        };
        let file = ParquetFile::read(bytes).map_err(|why| broken(&why))?;
        let version = file.origin("tracetree_version").unwrap_or("an unknown version");
        let schema = file.origin("schema_version").unwrap_or_default();
        if version != env!("CARGO_PKG_VERSION") || schema != FLEET_SCHEMA.to_string() {
            let message = format!(
                "the shard was written by tracetree {version} (schema {schema}), but this is \
                 tracetree {} (schema {FLEET_SCHEMA}); compare the pair again with `tracetree \
                 fleet map`",
                env!("CARGO_PKG_VERSION")
            );
            return Err(Status::failed("OTHER_VERSION", message));
        }
        if file.origin("key") != Some(&pair.key) {
            return Err(Status::failed(
                "OTHER_VERSION",
                "the shard was written for different inputs or options; compare the pair again \
                 with `tracetree fleet map`",
            ));
        }
        read_rows(&file).ok_or_else(|| broken("columns are missing"))
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
        number("identical", u64::from(facts.is_identical)),
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
    rows.extend(facts.bill.iter().map(|line| Row {
        kind: "bill",
        name: line.kind.clone(),
        change_kind: line.change_kind.clone(),
        place: line.place.clone(),
        price: Some(line.price),
        detail: line.sentence.clone(),
        ..Row::default()
    }));
    rows.extend(facts.classes.iter().map(|class| Row {
        kind: "class",
        name: class.name.clone(),
        time: class.time.map(Some),
        count: class.steps.map(Some),
        price: Some(class.software),
        hardware: Some(class.hardware),
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

#[cfg(test)]
mod tests {
    use super::super::plan::PlannedFile;
    use super::*;
    use crate::collectives::Kind;
    use crate::matching::Kernel;

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
            is_identical: false,
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
            bill: vec![
                Line {
                    kind: "change".into(),
                    change_kind: "layers".into(),
                    place: "in Net (train.py: step)".into(),
                    sentence: "2 instead of 3 Block calls per step".into(),
                    price: Nanos(-1_000_003),
                },
                Line {
                    kind: "host".into(),
                    change_kind: "".into(),
                    place: "".into(),
                    sentence: "Host time of the same calls".into(),
                    price: Nanos(17),
                },
            ],
            classes: vec![Class {
                name: "linear".into(),
                time: PerSide::new(Nanos(4_000), Nanos(6_000)),
                steps: PerSide::new(2, 1),
                hardware: Nanos(3_000),
                software: Nanos(-1_000),
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
    fn truncated_shards_and_shards_of_other_pairs_are_reported() {
        let bytes = shard().to_parquet(&pair()).expect("memory");
        for end in [0, 3, bytes.len() / 2, bytes.len() - 1] {
            let half = Shard::read(bytes[..end].to_vec(), &pair()).expect_err("half");
            assert_eq!(half.code(), "BROKEN_SHARD", "{end}");
        }
        let other = PlannedPair { key: "other".to_owned(), ..pair() };
        assert_eq!(Shard::read(bytes, &other).expect_err("another").code(), "OTHER_VERSION");
    }
}
