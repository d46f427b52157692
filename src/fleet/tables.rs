//! The rows of a fleet → tables, as `docs/report.md` describes them.

use super::rank_table;
use super::reduce::Fleet;
use super::rows::{
    CauseRow, CollectiveRow, GroupRow, OutlierRow, PairRow, PartRow, RoleRow, StepRow,
};
use super::stats::Quantiles;
use crate::side::Side;
use crate::tables::Table;
use crate::tables::table::{Column, ColumnType, Columns};
use std::sync::Arc;

const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
const RATE: (u8, &str) = (3, "µs");

impl Fleet {
    /// All tables: `ranks`, `fleet_pairs`, `fleet_roles`, `fleet_parts`, `fleet_outliers`,
    /// `fleet_collectives`, `fleet_groups`, `fleet_causes`, `fleet_steps`.
    pub fn tables(&self) -> Vec<Table> {
        vec![
            self.table(),
            pairs(self.pairs.clone()),
            roles(self.roles.clone()),
            parts(self.parts.clone()),
            outliers(self.outliers.clone()),
            collectives(self.collectives.clone()),
            groups(self.groups.clone()),
            causes(self.causes.clone()),
            steps(self.steps.clone()),
        ]
    }

    /// The ranks as a table.
    pub fn table(&self) -> Table {
        rank_table::table(self.ranks.clone())
    }

    /// The causes as a table.
    pub fn cause_table(&self) -> Table {
        causes(self.causes.clone())
    }

    /// A fleet without any rank, whose tables have columns alone.
    pub fn empty() -> Fleet {
        Fleet {
            baseline: String::new(),
            candidate: String::new(),
            pairs: Vec::new(),
            ranks: Vec::new(),
            roles: Vec::new(),
            parts: Vec::new(),
            outliers: Vec::new(),
            collectives: Vec::new(),
            groups: Vec::new(),
            steps: Vec::new(),
            causes: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
            waits: Vec::new(),
        }
    }
}

/// `baseline` or `candidate`.
pub(super) fn side_word(side: Side) -> &'static str {
    match side {
        Side::Baseline => "baseline",
        Side::Candidate => "candidate",
    }
}

fn pairs(rows: Vec<PairRow>) -> Table {
    Columns::new()
        .whole("rank", "the rank; empty where it is not known", |_: &Vec<PairRow>, r: &PairRow| {
            r.rank.into()
        })
        .text("folder", "its report; empty without partner", |_, r| r.folder.as_str().into())
        .word("status", "`ok`, `failed` or `unmatched`", |_, r| r.status.into())
        .word("code", "why not; see docs/fleet.md", |_, r| r.code.as_str().into())
        .text("message", "the same in words", |_, r| r.message.as_str().into())
        .sides("file_*", (ColumnType::Text, ""), "its traces", |_, r, side| {
            r.files[side].as_str().into()
        })
        .text("key", "name of its shard", |_, r| r.key.as_str().into())
        .table(
            (
                "fleet_pairs",
                "pair or trace without partner that was planned, in the order of the plan",
            ),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn roles(rows: Vec<RoleRow>) -> Table {
    Columns::new()
        .word("role", "outline hash of the baseline", |_: &Vec<RoleRow>, r: &RoleRow| {
            (&*r.role).into()
        })
        .whole("ranks", "how many have it", |_, r| r.ranks.into())
        .text("rank_list", "which", |_, r| r.rank_list.as_str().into())
        .word("role_candidate", "the outline that most of them have in the candidate", |_, r| {
            (&*r.candidate).into()
        })
        .text("other_ops", "ranks that have another one there", |_, r| r.odd.as_str().into())
        .table(("fleet_roles", "role, by its first rank"), Arc::new(rows), |rows| {
            Box::new(rows.iter().cloned())
        })
}

fn parts(rows: Vec<PartRow>) -> Table {
    let mut columns = Columns::new()
        .word("role", "as in `fleet_roles`", |_: &Vec<PartRow>, r: &PartRow| (&*r.role).into())
        .word("kind", "`op`, `category` or `layer`", |_, r| r.kind.into())
        .text("name", "name of the rows or category, class of the layers", |_, r| (&*r.name).into())
        .whole("number", "of a layer its position in the stack", |_, r| r.number.into())
        .whole("ranks", "ranks of the role", |_, r| r.ranks.into());
    type Pick = fn(&Quantiles) -> f64;
    let quantiles: [(&str, &str, Pick); 5] = [
        ("min_us_*", "least over the ranks, per step", |q| q.min),
        ("q25_us_*", "lower quartile", |q| q.lower),
        ("median_us_*", "median", |q| q.median),
        ("q75_us_*", "upper quartile", |q| q.upper),
        ("max_us_*", "most", |q| q.max),
    ];
    for (name, meaning, pick) in quantiles {
        columns =
            columns.sides(name, (ColumnType::Decimal(3), "µs"), meaning, move |_, r, side| {
                pick(r.quantiles(side)).into()
            });
    }
    let difference = Column::new(
        "median_us_delta",
        ColumnType::Decimal(3),
        "median of candidate − baseline",
        |_: &Vec<PartRow>, r: &PartRow| r.difference_us.into(),
    );
    columns
        .column(difference.unit("µs").difference())
        .text("worst_rank", "where candidate − baseline is largest", |_, r| {
            r.worst.as_str().into()
        })
        .decimal("worst_difference_us", RATE, "candidate − baseline there", |_, r| {
            r.worst_difference_us.into()
        })
        .sides("outliers_*", (ColumnType::Whole, ""), "ranks that stand out", |_, r, side| {
            r.outliers[side].into()
        })
        .table(
            ("fleet_parts", "work of one name in a role, communication left out"),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn outliers(rows: Vec<OutlierRow>) -> Table {
    Columns::new()
        .word("side", "`baseline` or `candidate`", |_: &Vec<OutlierRow>, r: &OutlierRow| {
            side_word(r.side).into()
        })
        .whole("rank", "the rank", |_, r| r.rank.into())
        .text("folder", "its report", |_, r| r.folder.as_str().into())
        .word("role", "as in `fleet_roles`", |_, r| (&*r.role).into())
        .word("kind", "`op`, `category` or `layer`", |_, r| r.kind.into())
        .text("name", "as in `fleet_parts`", |_, r| (&*r.name).into())
        .whole("number", "of a layer its position in the stack", |_, r| r.number.into())
        .decimal("time_us", RATE, "time per step", |_, r| r.time_us.into())
        .decimal("median_us", RATE, "median of the role", |_, r| r.median_us.into())
        .decimal(
            "robust_z",
            (2, ""),
            "distance from the median in scaled median deviations: more than 3.5, at least 5 % of \
             the median and 0.5 % of all work of a rank of the role",
            |_, r| r.robust_z.into(),
        )
        .whole("ranks", "ranks of the role; four at least", |_, r| r.ranks.into())
        .table(
            (
                "fleet_outliers",
                "rank whose work of one name stands out in its role, the farthest first",
            ),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn collectives(rows: Vec<CollectiveRow>) -> Table {
    Columns::new()
        .word("side", "`baseline` or `candidate`", |_: &Vec<CollectiveRow>, r: &CollectiveRow| {
            side_word(r.side).into()
        })
        .whole("number", "as in `last_in` of `ranks.csv`; empty where a rank lacks it", |_, r| {
            r.number.into()
        })
        .word("process_group", "empty where it is not recorded", |_, r| r.group.as_str().into())
        .text("name", "the collective, else the kernel", |_, r| r.name.as_str().into())
        .whole("sequence", "number in its group, where it is recorded", |_, r| r.sequence.into())
        .whole("ranks", "ranks that have it", |_, r| r.ranks.into())
        .whole("last_rank", "the rank that came last: its kernel is the shortest", |_, r| {
            r.last.into()
        })
        .text("last_folder", "its report", |_, r| r.last_folder.as_str().into())
        .micros("margin_us", "how much later than the last but one", |_, r| r.margin.into())
        .micros(
            "skew_us",
            "longest − shortest: how long after the first the last one came",
            |_, r| r.skew.into(),
        )
        .micros("shortest_us", "the shortest kernel", |_, r| r.shortest.into())
        .micros("longest_us", "the longest", |_, r| r.longest.into())
        .micros("wait_us", "what all ranks waited", |_, r| r.wait.into())
        .text("absent", "ranks that have one before and one behind it, and not this one", |_, r| {
            r.absent.as_str().into()
        })
        .table(
            (
                "fleet_collectives",
                "collective of all ranks of its group, in the order of the first rank",
            ),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn groups(rows: Vec<GroupRow>) -> Table {
    Columns::new()
        .word("side", "`baseline` or `candidate`", |_: &Vec<GroupRow>, r: &GroupRow| {
            side_word(r.side).into()
        })
        .word("process_group", "empty where it is not recorded", |_, r| r.group.as_str().into())
        .whole("ranks", "its ranks", |_, r| r.ranks.into())
        .whole("collectives", "those that all of them have", |_, r| r.collectives.into())
        .whole("incomplete", "those that some lack", |_, r| r.incomplete.into())
        .micros("time_us", "sum of the kernels", |_, r| r.time.into())
        .micros("wait_us", "part of it in which the ranks waited for each other", |_, r| {
            r.wait.into()
        })
        .decimal("median_wait_us", RATE, "median over the ranks", |_, r| r.median_wait_us.into())
        .text("last_most", "the rank that came last most often", |_, r| r.last_most.as_str().into())
        .whole("last_count", "how often", |_, r| r.last_count.into())
        .text("straggler", "the rank that the others wait for, as in `ranks.csv`, where no other one waits as little", |_, r| {
            r.straggler.as_str().into()
        })
        .table(("fleet_groups", "process group of a side"), Arc::new(rows), |rows| {
            Box::new(rows.iter().cloned())
        })
}

fn causes(rows: Vec<CauseRow>) -> Table {
    Columns::new()
        .word("reason", "as in `causes.csv`", |_: &Vec<CauseRow>, r: &CauseRow| (&*r.reason).into())
        .text("place", "as in `causes.csv`", |_, r| (&*r.place).into())
        .text("module_class", "as in `causes.csv`", |_, r| (&*r.module).into())
        .whole("ranks", "ranks on which it is 0.5 % of the wall time or more", |_, r| r.ranks.into())
        .decimal("ranks_pct", (1, "%"), "their share of the compared ones", |_, r| {
            (100.0 * r.share).into()
        })
        .word(
            "spread",
            "`all`: nine tenths of the ranks; `role`: nine tenths of some roles and hardly anybody \
             else; `few`: a tenth, or three; else `some`",
            |_, r| r.spread.label().into(),
        )
        .text("roles", "the roles that share it", |_, r| r.roles.as_str().into())
        .text("rank_list", "the ranks", |_, r| r.rank_list.as_str().into())
        .decimal("median_difference_us", RATE, "candidate − baseline per step, median", |_, r| {
            r.median_us.into()
        })
        .text("worst_rank", "where it is largest", |_, r| r.worst.as_str().into())
        .decimal("worst_difference_us", RATE, "candidate − baseline per step there", |_, r| {
            r.worst_us.into()
        })
        .column(Column::new(
            "communication",
            ColumnType::Flag,
            "`yes` where all its kernels are communication: what they took may be other ranks' fault",
            |_: &Vec<CauseRow>, r: &CauseRow| r.is_communication.into(),
        ))
        .text("evidence", "what shows it on the worst rank", |_, r| (&*r.evidence).into())
        .table(
            ("fleet_causes", "cause and the ranks that share it, by what it comes to on all of them"),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn steps(rows: Vec<StepRow>) -> Table {
    Columns::new()
        .whole("rank", "the rank", |_: &Vec<StepRow>, r: &StepRow| r.rank.into())
        .text("folder", "its report", |_, r| r.folder.as_str().into())
        .whole("step", "position of the step, from 0", |_, r| r.step.into())
        .sides("wall_us_*", TIME, "wall time of the step", |_, r, side| r.wall[side].into())
        .micros_difference("wall_us_delta", "wall time of the step", |_, r| {
            r.wall.difference().into()
        })
        .sides("busy_us_*", TIME, "time in which the device was busy", |_, r, side| {
            r.busy[side].into()
        })
        .table(("fleet_steps", "step of a rank"), Arc::new(rows), |rows| {
            Box::new(rows.iter().cloned())
        })
}
