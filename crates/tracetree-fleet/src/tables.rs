//! Converts the rows of a fleet to the tables that `docs/reference/fleet-tables.md` documents.

use super::Fleet;
use super::rank_table;
use super::rows::{
    ClassRow, CollectiveRow, GroupRow, LineRow, OutlierRow, PairRow, PartRow, RoleRow, Shared,
    StepRow,
};
use super::stats::Quantiles;
use std::sync::Arc;
use tracetree::tables::Table;
use tracetree::tables::table::{Column, ColumnType, Columns};

const TIME: (ColumnType, &str) = (ColumnType::Time, "µs");
const RATE: (u8, &str) = (3, "µs");

impl Fleet {
    /// All tables: `ranks`, `fleet_pairs`, `fleet_roles`, `fleet_parts`, `fleet_outliers`,
    /// `fleet_collectives`, `fleet_groups`, `fleet_bill`, `fleet_classes`, `fleet_steps`.
    pub fn tables(&self) -> Vec<Table> {
        vec![
            self.table(),
            pairs(self.pairs.clone()),
            roles(self.roles.clone()),
            parts(self.parts.clone()),
            outliers(self.outliers.clone()),
            collectives(self.collectives.clone()),
            groups(self.groups.clone()),
            bill(self.bill.clone()),
            classes(self.classes.clone()),
            steps(self.steps.clone()),
        ]
    }

    /// The table `ranks`.
    pub fn table(&self) -> Table {
        rank_table::table(self.ranks.clone())
    }
}

fn pairs(rows: Vec<PairRow>) -> Table {
    Columns::default()
        .whole("rank", "rank; empty if unknown", |_: &Vec<PairRow>, r: &PairRow| r.rank.into())
        .text("folder", "folder of the pair's report; empty for an unmatched trace", |_, r| {
            r.folder.as_str().into()
        })
        .word("status", "`ok`, `damaged`, `failed` or `unmatched`", |_, r| r.status.into())
        .word("code", "reason code; empty for `ok`; see docs/guides/fleet.md", |_, r| {
            r.code.as_str().into()
        })
        .text("message", "explanation of the code", |_, r| r.message.as_str().into())
        .sides("file_*", (ColumnType::Text, ""), "path of the trace", |_, r, side| {
            r.files[side].as_str().into()
        })
        .text("key", "file name of the shard, without its suffix", |_, r| r.key.as_str().into())
        .table(
            ("fleet_pairs", "planned pair or unmatched trace, in the order of the plan"),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn roles(rows: Vec<RoleRow>) -> Table {
    Columns::default()
        .word("role", "hash of the outline in the baseline", |_: &Vec<RoleRow>, r: &RoleRow| {
            (&*r.role).into()
        })
        .whole("ranks", "number of ranks with this role", |_, r| r.ranks.into())
        .text("rank_list", "the ranks", |_, r| r.rank_list.as_str().into())
        .word(
            "role_candidate",
            "hash of the outline that most ranks of the role have in the candidate",
            |_, r| (&*r.candidate).into(),
        )
        .text("other_ops", "ranks with a different outline in the candidate", |_, r| {
            r.odd.as_str().into()
        })
        .table(("fleet_roles", "role, ordered by its first rank"), Arc::new(rows), |rows| {
            Box::new(rows.iter().cloned())
        })
}

/// A function that returns one of the quantiles, such as the median.
type Pick = fn(&Quantiles) -> f64;

fn parts(rows: Vec<PartRow>) -> Table {
    let mut columns = Columns::default()
        .word("role", "as in `fleet_roles`", |_: &Vec<PartRow>, r: &PartRow| (&*r.role).into())
        .word("kind", "`op`, `category` or `layer`", |_, r| r.kind.into())
        .text("name", "name of the op or category, or class of the layer stack", |_, r| {
            (&*r.name).into()
        })
        .whole(
            "number",
            "position of the layer in its stack; empty for ops and categories",
            |_, r| r.number.into(),
        )
        .whole("ranks", "number of ranks in the role", |_, r| r.ranks.into());
    let quantiles: [(&str, &str, Pick); 5] = [
        ("min_us_*", "minimum over the ranks, per step", |q| q.min),
        ("q25_us_*", "lower quartile over the ranks, per step", |q| q.lower),
        ("median_us_*", "median over the ranks, per step", |q| q.median),
        ("q75_us_*", "upper quartile over the ranks, per step", |q| q.upper),
        ("max_us_*", "maximum over the ranks, per step", |q| q.max),
    ];
    for (name, meaning, pick) in quantiles {
        columns =
            columns.sides(name, (ColumnType::Decimal(3), "µs"), meaning, move |_, r, side| {
                pick(&r.quantiles[side]).into()
            });
    }
    let difference = Column::new(
        "median_us_diff",
        ColumnType::Decimal(3),
        "median of candidate − baseline over the ranks, per step",
        |_: &Vec<PartRow>, r: &PartRow| r.difference_us.into(),
    );
    columns
        .column(difference.unit("µs").difference())
        .text("worst_rank", "rank with the largest candidate − baseline", |_, r| {
            r.worst.as_str().into()
        })
        .decimal(
            "worst_difference_us",
            RATE,
            "candidate − baseline on the worst rank, per step",
            |_, r| r.worst_difference_us.into(),
        )
        .sides("outliers_*", (ColumnType::Whole, ""), "number of outlier ranks", |_, r, side| {
            r.outliers[side].into()
        })
        .table(
            ("fleet_parts", "one op, category or layer in a role, without communication"),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn outliers(rows: Vec<OutlierRow>) -> Table {
    Columns::default()
        .word("side", "`baseline` or `candidate`", |_: &Vec<OutlierRow>, r: &OutlierRow| {
            r.side.word().into()
        })
        .whole("rank", "rank", |_, r| r.rank.into())
        .text("folder", "folder of the rank's report", |_, r| r.folder.as_str().into())
        .word("role", "as in `fleet_roles`", |_, r| (&*r.role).into())
        .word("kind", "`op`, `category` or `layer`", |_, r| r.kind.into())
        .text("name", "as in `fleet_parts`", |_, r| (&*r.name).into())
        .whole(
            "number",
            "position of the layer in its stack; empty for ops and categories",
            |_, r| r.number.into(),
        )
        .decimal("time_us", RATE, "time per step", |_, r| r.time_us.into())
        .decimal("median_us", RATE, "median time per step over the ranks in the role", |_, r| {
            r.median_us.into()
        })
        .decimal(
            "robust_z",
            (2, ""),
            "distance from the median, in scaled median deviations; a rank is an outlier if this \
             value exceeds 3.5 and the distance is at least 5% of the median and 0.5% of a rank's \
             total work",
            |_, r| r.robust_z.into(),
        )
        .whole("ranks", "number of ranks in the role; at least four", |_, r| r.ranks.into())
        .table(
            (
                "fleet_outliers",
                "rank whose time for an op, category or layer is an outlier in its role, farthest \
                 from the median first",
            ),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn collectives(rows: Vec<CollectiveRow>) -> Table {
    Columns::default()
        .word("side", "`baseline` or `candidate`", |_: &Vec<CollectiveRow>, r: &CollectiveRow| {
            r.side.word().into()
        })
        .whole(
            "number",
            "number as in `last_in` of `ranks.csv`; empty if a rank lacks the collective",
            |_, r| r.number.into(),
        )
        .word("process_group", "process group; empty if not recorded", |_, r| {
            r.group.as_str().into()
        })
        .text(
            "name",
            "name of the collective, or of the kernel if the collective's name is not recorded",
            |_, r| r.name.as_str().into(),
        )
        .whole("sequence", "sequence number in its process group; empty if not recorded", |_, r| {
            r.sequence.into()
        })
        .whole("ranks", "number of ranks that recorded the collective", |_, r| r.ranks.into())
        .whole("last_rank", "rank that arrived last: its kernel is the shortest", |_, r| {
            r.last.into()
        })
        .text("last_folder", "folder of the rank's report", |_, r| r.last_folder.as_str().into())
        .micros(
            "margin_us",
            "how much later the last rank arrived than the second to last rank",
            |_, r| r.margin.into(),
        )
        .micros(
            "skew_us",
            "longest − shortest kernel duration: how long after the first rank the last rank \
             arrived",
            |_, r| r.skew.into(),
        )
        .micros("shortest_us", "duration of the shortest kernel", |_, r| r.shortest.into())
        .micros("longest_us", "duration of the longest kernel", |_, r| r.longest.into())
        .micros("wait_us", "total wait, summed over the ranks", |_, r| r.wait.into())
        .text(
            "absent",
            "ranks that did not record this collective, although they recorded earlier and later \
             collectives",
            |_, r| r.absent.as_str().into(),
        )
        .table(
            (
                "fleet_collectives",
                "collective that was matched across the ranks of its process group, in the order \
                 in which the first rank runs the collectives",
            ),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn groups(rows: Vec<GroupRow>) -> Table {
    Columns::default()
        .word("side", "`baseline` or `candidate`", |_: &Vec<GroupRow>, r: &GroupRow| {
            r.side.word().into()
        })
        .word("process_group", "process group; empty if not recorded", |_, r| {
            r.group.as_str().into()
        })
        .whole("ranks", "number of ranks in the process group", |_, r| r.ranks.into())
        .whole(
            "collectives",
            "number of collectives that all ranks of the group recorded",
            |_, r| r.collectives.into(),
        )
        .whole("incomplete", "number of collectives that some ranks of the group lack", |_, r| {
            r.incomplete.into()
        })
        .micros("time_us", "total duration of the group's communication kernels", |_, r| {
            r.time.into()
        })
        .micros(
            "wait_us",
            "part of `time_us` that the ranks spent waiting for each other",
            |_, r| r.wait.into(),
        )
        .decimal("median_wait_us", RATE, "median wait over the ranks", |_, r| {
            r.median_wait_us.into()
        })
        .text("last_most", "rank that arrived last most often", |_, r| r.last_most.as_str().into())
        .whole(
            "last_count",
            "number of collectives in which the rank `last_most` arrived last",
            |_, r| r.last_count.into(),
        )
        .text(
            "straggler",
            "rank that the other ranks wait for, as in `ranks.csv`; empty if a second rank waits \
             for almost as short a time",
            |_, r| r.straggler.as_str().into(),
        )
        .table(("fleet_groups", "process group on one side"), Arc::new(rows), |rows| {
            Box::new(rows.iter().cloned())
        })
}

fn bill(rows: Vec<LineRow>) -> Table {
    Columns::default()
        .word("kind", "as in `bill.csv`", |_: &Vec<LineRow>, r: &LineRow| (&*r.kind).into())
        .word("change_kind", "kind of change; empty if the line is not a change", |_, r| {
            (&*r.change_kind).into()
        })
        .text(
            "sentence",
            "as in `bill.csv`; of a line that is not a change, the sentence of the worst rank",
            |_, r| (&*r.sentence).into(),
        )
        .text("where", "as in `bill.csv`", |_, r| (&*r.place).into())
        .and(shared(
            |r: &LineRow| &r.shared,
            "number of ranks with this line; a line that is not a change counts from 0.5% of the wall time",
        ))
        .table(
            (
                "fleet_bill",
                "line of the bill with the ranks that share it; changes come first, those on the most ranks first",
            ),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

fn classes(rows: Vec<ClassRow>) -> Table {
    Columns::default()
        .word("class", "class of work, such as `linear`", |_: &Vec<ClassRow>, r: &ClassRow| {
            (&*r.name).into()
        })
        .whole("ranks", "number of ranks", |_, r| r.ranks.into())
        .sides("time_us_*", (ColumnType::Decimal(3), "µs"), "mean GPU time per step", |_, r, side| {
            r.time_us[side].into()
        })
        .decimal("hardware_us", RATE, "what the hardware explains, per step", |_, r| {
            r.hardware_us.into()
        })
        .decimal("software_us", RATE, "what the hardware does not explain, per step", |_, r| {
            r.software_us.into()
        })
        .table(
            (
                "fleet_classes",
                "class of work of a fleet on two platforms, as in `porting.csv`, the class with the most time first",
            ),
            Arc::new(rows),
            |rows| Box::new(rows.iter().cloned()),
        )
}

/// The columns that describe which ranks share a line.
fn shared<R: 'static>(of: fn(&R) -> &Shared, ranks: &'static str) -> Columns<Vec<R>, R> {
    Columns::default()
        .whole("ranks", ranks, move |_: &Vec<R>, r: &R| of(r).ranks.into())
        .decimal(
            "ranks_pct",
            (1, "%"),
            "share of the compared ranks that have the line",
            move |_, r| (100.0 * of(r).share).into(),
        )
        .word(
            "spread",
            "`all`: at least 90% of the ranks; `role`: at least 90% of the ranks in one or more \
             roles, and at most 10% other ranks; `few`: at most 10% of the ranks, or at most three \
             ranks; otherwise `some`",
            move |_, r| of(r).spread.label().into(),
        )
        .text(
            "roles",
            "the roles that share the line; empty unless `spread` is `role`",
            move |_, r| of(r).roles.as_str().into(),
        )
        .text("rank_list", "the ranks", move |_, r| of(r).rank_list.as_str().into())
        .decimal(
            "median_difference_us",
            RATE,
            "median of candidate − baseline over the ranks that share the line, per \
             step",
            move |_, r| of(r).median_us.into(),
        )
        .text(
            "worst_rank",
            "rank with the largest candidate − baseline in absolute value",
            move |_, r| of(r).worst.as_str().into(),
        )
        .decimal(
            "worst_difference_us",
            RATE,
            "candidate − baseline on the worst rank, per step",
            move |_, r| of(r).worst_us.into(),
        )
}

fn steps(rows: Vec<StepRow>) -> Table {
    Columns::default()
        .whole("rank", "rank", |_: &Vec<StepRow>, r: &StepRow| r.rank.into())
        .text("folder", "folder of the rank's report", |_, r| r.folder.as_str().into())
        .whole("step", "position of the step, from 0", |_, r| r.step.into())
        .sides("wall_us_*", TIME, "wall time of the step", |_, r, side| r.wall[side].into())
        .micros_difference("wall_us_diff", "wall time of the step", |_, r| {
            r.wall.difference().into()
        })
        .sides("busy_us_*", TIME, "time in which the GPU was busy", |_, r, side| {
            r.busy[side].into()
        })
        .table(("fleet_steps", "step of one rank"), Arc::new(rows), |rows| {
            Box::new(rows.iter().cloned())
        })
}
