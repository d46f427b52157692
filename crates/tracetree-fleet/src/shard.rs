//! Stores the results of a compared pair as a *shard*: one Parquet file of a few kilobytes that contains everything
//! that `reduce` needs.
//!
//! A shard is a single file, so it is either complete or absent. The file contains one table. Its first row is of the
//! kind `pair`, and its cell `detail` contains the whole [`Shard`] as JSON, which is all that `reduce` reads. The other
//! rows are for people who query the shards: the work of each op, category and layer, without communication.

use super::collectives::Collectives;
use super::plan::PlannedPair;
use super::status::Status;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use tracetree::report::{Origin, read_texts, write_parquet};
use tracetree::side::PerSide;
use tracetree::tables::Table;
use tracetree::tables::table::{ColumnType, Columns};
use tracetree::trace::Nanos;

/// Version of the layout of shards.
const SHARD_SCHEMA: u32 = 5;

/// The column with the JSON.
const CONTENT: &str = "detail";

/// The shard of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Shard {
    pub(super) rank: Option<i64>,
    pub(super) status: Status,
    /// The results of the comparison; `None` if the pair was not compared.
    pub(super) facts: Option<Facts>,
}

/// The results for a compared pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub(super) notes: PerSide<String>,
    pub(super) roles: PerSide<String>,
    pub(super) parts: Vec<Part>,
    pub(super) step_list: Vec<Step>,
    pub(super) bill: Vec<Line>,
    /// The classes of work, if the sides ran on different devices.
    pub(super) classes: Vec<Class>,
    pub(super) collectives: PerSide<Collectives>,
}

/// Totals of the events on one side: the sum of their durations, the union of their time intervals, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) time: Nanos,
    pub(super) busy: Nanos,
    pub(super) events: u64,
}

/// What a [`Part`] covers: an op, a category or a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) enum PartKind {
    Op,
    Category,
    Layer,
}

impl PartKind {
    pub(super) fn label(self) -> &'static str {
        match self {
            PartKind::Op => "op",
            PartKind::Category => "category",
            PartKind::Layer => "layer",
        }
    }
}

/// The work of one op, category or layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) name: Arc<str>,
    /// Number of the layer in its stack; `None` for ops and categories.
    pub(super) number: Option<i64>,
    pub(super) time: PerSide<Nanos>,
    pub(super) count: PerSide<u64>,
}

/// One step, with its times on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) number: i64,
    pub(super) wall: PerSide<Nanos>,
    pub(super) busy: PerSide<Nanos>,
}

/// A line of the bill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

impl Shard {
    /// The shard of a pair that could not be compared.
    pub(super) fn failed(rank: Option<i64>, status: Status) -> Shard {
        Shard { rank, status, facts: None }
    }

    /// The table that the module documentation describes. The first row has no [`Part`].
    fn table(self) -> Table {
        const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
        const COUNT: (ColumnType, &str) = (ColumnType::Whole, "");
        Columns::default()
            .word("kind", "kind of row", |_: &Shard, part: &Option<Part>| {
                part.as_ref().map_or("pair", |part| part.kind.label()).into()
            })
            .whole("rank", "rank", |shard, _| shard.rank.into())
            .word("name", "op, category, or class of the layer stack", |_, part| {
                part.as_ref().map(|part| &*part.name).into()
            })
            .whole("number", "number of the layer", |_, part| {
                part.as_ref().and_then(|part| part.number).into()
            })
            .sides("time_us_*", TIME, "total time", |_, part, side| {
                part.as_ref().map(|part| part.time[side]).into()
            })
            .sides("count_*", COUNT, "number of events", |_, part, side| {
                part.as_ref().map(|part| part.count[side]).into()
            })
            .text(CONTENT, "everything about the pair, as JSON", |shard, part| {
                part.is_none().then(|| shard.to_json()).into()
            })
            .table(
                ("shard", "row for one pair; see docs/guides/fleet.md"),
                Arc::new(self),
                |shard| {
                    let parts = shard.facts.iter().flat_map(|facts| &facts.parts);
                    Box::new([None].into_iter().chain(parts.cloned().map(Some)))
                },
            )
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a shard contains only plain values")
    }

    /// The content of the shard's file.
    pub(super) fn to_parquet(&self, pair: &PlannedPair) -> io::Result<Vec<u8>> {
        let mut origin = Origin::new(SHARD_SCHEMA).with("key", &*pair.key);
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
        let (origin, texts) = read_texts(bytes, CONTENT).map_err(|why| broken(&why))?;
        let version = origin.get("tracetree_version").unwrap_or("an unknown version");
        let schema = origin.get("schema_version").unwrap_or_default();
        if version != env!("CARGO_PKG_VERSION") || schema != SHARD_SCHEMA.to_string() {
            let message = format!(
                "the shard was written by tracetree {version} (schema {schema}), but this is \
                 tracetree {} (schema {SHARD_SCHEMA}); compare the pair again with `tracetree \
                 fleet map`",
                env!("CARGO_PKG_VERSION")
            );
            return Err(Status::failed("OTHER_VERSION", message));
        }
        if origin.get("key") != Some(&pair.key) {
            return Err(Status::failed(
                "OTHER_VERSION",
                "the shard was written for different inputs or options; compare the pair again \
                 with `tracetree fleet map`",
            ));
        }
        let content = texts.first().ok_or_else(|| broken("rows are missing"))?;
        serde_json::from_str(content).map_err(|why| broken(&why.to_string()))
    }
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
        let kind = Kind { group: "0".to_owned(), name: "all_reduce".to_owned() };
        let collectives =
            Collectives::from(vec![(kind, vec![kernel(0, Some(7)), kernel(1, None)])]);
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
