//! Writes `fleet.html`, one page that compares many ranks and needs no network.
//!
//! The headline, findings, bill and ranks are plain HTML. The script draws the heat maps, and the dots that represent
//! ranks, from embedded columns.

use super::data::without_tags;
use super::policy::{FLEET, base64};
use super::{BARS, Head, STYLE, base_name};
use crate::escape::JsonWriter;
use askama::Template;
use serde::Serialize;
use std::io::{self, Write};

const FLEET_STYLE: &str = include_str!("fleet.css");
const SCRIPT: &str = include_str!("script/fleet.js");

/// Maximum number of rows and columns in a heat map. In larger maps, several neighboring rows or columns share a cell,
/// which shows the value with the largest magnitude.
const MOST: usize = 512;

/// Maximum number of ranks, and of lines of the bill, on the page. The CSV tables contain all of them.
const LISTED: usize = 500;

/// The content of `fleet.html`.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct FleetPage {
    /// The folders of the baseline's and the candidate's traces.
    pub folders: [String; 2],
    /// A sentence that says how many ranks were compared.
    pub coverage: String,
    /// The headline: which rank is slower, or what changed on all ranks.
    pub headline: String,
    /// A sentence that explains the headline; may be empty.
    pub lead: String,
    /// The lag of the rank that the headline is about; `None` if there is no such rank, or if it has no report.
    pub lag: Option<FleetLag>,
    /// One dot for each rank with complete traces, in the order of the ranks.
    pub dots: Vec<FleetDot>,
    /// The ranks that are outliers in at least one op.
    pub outliers: FleetOutliers,
    /// The ranks that arrive last at collectives, sorted by how much they delay the other ranks in total, largest delay
    /// first.
    pub last: Vec<FleetLast>,
    /// Number of the candidate's collectives that were matched across ranks.
    pub collectives: u64,
    /// For each finding, its code, the affected ranks, and its message.
    pub findings: Vec<[String; 3]>,
    /// The lines of the bill.
    pub bill: Vec<FleetBillLine>,
    /// The classes of work on two platforms: the name, the times in ms, their ratio, and the hardware's and the software's
    /// part of the difference.
    pub classes: Vec<(String, [String; 5])>,
    /// The heat maps.
    pub maps: Vec<HeatMap>,
    /// The ranks.
    pub ranks: Vec<FleetRankLine>,
    /// Anomalies.
    pub notes: Vec<String>,
}

/// How far a rank is behind its baseline.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct FleetLag {
    /// Name of the rank.
    pub rank: String,
    /// Link to the rank's report.
    pub link: String,
    /// The curve, as the SVG file in the rank's report.
    pub picture: String,
}

/// A rank, drawn as a dot whose position is [`FleetDot::ratio`].
#[derive(Debug, Clone, Default, Serialize)]
#[doc(hidden)]
pub struct FleetDot {
    /// Name of the rank.
    pub name: String,
    /// Link to the rank's report; empty if there is none.
    pub link: String,
    /// GPU time per step without waits, candidate / baseline.
    pub ratio: f64,
    /// The first and the third quartile of the ratio among the ranks with the same role.
    pub band: [f64; 2],
    /// Whether the rank is an outlier among the ranks with the same role.
    pub is_outlier: bool,
}

/// A table of outliers: the most unusual ranks, and the ops that make them unusual.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct FleetOutliers {
    /// The title of the table, and what its ratios compare.
    pub title: &'static str,
    pub about: &'static str,
    /// Names of the ops, one for each column of the table.
    pub columns: Vec<String>,
    /// The ranks.
    pub rows: Vec<FleetOutlierRow>,
}

/// A line for a rank that is an outlier in at least one op.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct FleetOutlierRow {
    /// Name of the rank.
    pub name: String,
    /// Link to the rank's report; empty if there is none.
    pub link: String,
    /// For each op, the cell's content and style. Content and style are empty if the rank is within the spread of the
    /// ranks with the same role.
    pub cells: Vec<(String, &'static str)>,
}

/// A rank that makes other ranks wait in collectives.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct FleetLast {
    /// Name of the rank.
    pub name: String,
    /// Link to the rank's report; empty if there is none.
    pub link: String,
    /// Number of collectives where the rank arrives last.
    pub count: u64,
    /// `count` as a percentage of all collectives.
    pub percent: f64,
    /// Total delay that the rank causes in these collectives: how much later than the second-to-last rank it arrives,
    /// summed up, with a unit.
    pub margin: String,
}

/// A line of the bill.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct FleetBillLine {
    /// What happened.
    pub sentence: String,
    /// How many ranks share the line, and their names.
    pub whom: String,
    /// Length of the bar: the percentage of ranks that share the line.
    pub percent: f64,
    /// Median price per step, candidate − baseline, formatted.
    pub price: String,
    /// The rank with the largest price, and this price.
    pub worst: String,
}

/// A line in the page's table of ranks.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct FleetRankLine {
    /// Name of the rank.
    pub name: String,
    /// Link to the rank's report; empty if there is none.
    pub link: String,
    /// Contents of the line's cells: role, times, waits, irregularities.
    pub cells: Vec<String>,
}

/// Values for a heat map, with one row per rank and one column per step or collective.
#[derive(Debug, Clone, Default, Serialize)]
#[doc(hidden)]
pub struct HeatMap {
    /// Title of the heat map.
    pub title: String,
    /// A sentence that explains how to read the heat map.
    pub about: String,
    /// Unit of the heat map's values.
    pub unit: String,
    /// Names of the heat map's rows.
    pub rows: Vec<String>,
    /// Names of the heat map's columns.
    pub columns: Vec<String>,
    /// The values by row, then column; `None` for a missing value.
    pub values: Vec<Option<f64>>,
}

impl HeatMap {
    /// Fills the map from a list of cells: row, column and value. The map has at most 512 rows and
    /// columns. In larger maps, neighboring rows or columns share a cell, which keeps the value with the largest
    /// magnitude.
    #[must_use]
    pub fn with_cells(
        self,
        (rows, columns): (&[String], &[String]),
        cells: impl Iterator<Item = (usize, usize, f64)>,
    ) -> HeatMap {
        let of = |count: usize| count.div_ceil(MOST).max(1);
        let (by_row, by_column) = (of(rows.len()), of(columns.len()));
        let (rows, columns) = (shared(rows, by_row), shared(columns, by_column));
        let mut values: Vec<Option<f64>> = vec![None; rows.len() * columns.len()];
        for (row, column, value) in cells {
            let value = (value * 1e3).round() / 1e3;
            let cell = &mut values[row / by_row * columns.len() + column / by_column];
            if cell.is_none_or(|known| known.abs() < value.abs()) {
                *cell = Some(value);
            }
        }
        HeatMap { rows, columns, values, ..self }
    }
}

/// A name for each group of `by` neighboring rows or columns.
fn shared(names: &[String], by: usize) -> Vec<String> {
    let name = |some: &[String]| match some {
        [only] => only.clone(),
        [first, .., last] => format!("{first} … {last}"),
        [] => String::new(),
    };
    names.chunks(by).map(name).collect()
}

#[derive(Template)]
#[template(path = "fleet.html")]
struct Page<'a> {
    head: Head<'a>,
    script: &'a str,
    page: &'a FleetPage,
    /// The names of the page's folders, without the folders around them.
    folders: [&'a str; 2],
    bill: &'a [FleetBillLine],
    ranks: &'a [FleetRankLine],
    /// The address of the picture of the lag, which is in the page itself; empty if there is none.
    lag: String,
    data: String,
}

/// The data that the page's script draws.
#[derive(Serialize)]
struct Data<'a> {
    maps: &'a [HeatMap],
    dots: &'a [FleetDot],
}

/// The style sheet and the script of the page.
pub(super) fn parts() -> [String; 2] {
    [format!("{STYLE}{FLEET_STYLE}"), format!("{BARS}{SCRIPT}")]
}

/// Writes `fleet.html`.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_fleet_page(page: &FleetPage, out: &mut dyn Write) -> io::Result<()> {
    let [style, script] = parts();
    let folders = page.folders.each_ref().map(|folder| base_name(folder));
    let template = Page {
        head: Head {
            policy: FLEET.policy(),
            style: &style,
            version: env!("CARGO_PKG_VERSION"),
            sides: folders,
        },
        script: &script,
        page,
        folders,
        bill: &page.bill[..page.bill.len().min(LISTED)],
        ranks: &page.ranks[..page.ranks.len().min(LISTED)],
        lag: page.lag.as_ref().map_or_else(String::new, |lag| {
            format!("data:image/svg+xml;base64,{}", base64(lag.picture.as_bytes()))
        }),
        data: without_tags(&Data { maps: &page.maps, dots: &page.dots })?,
    };
    template.write_into(&mut JsonWriter(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_map_keeps_its_largest_values() {
        let names = |count: usize| (0..count).map(|at| at.to_string()).collect::<Vec<_>>();
        let all = (0..1000).flat_map(|row| (0..3).map(move |column| (row, column, 0.5)));
        let cells = all.chain([(999, 1, -7.0), (998, 1, 1.0)]);
        let small = HeatMap::default().with_cells((&names(1000), &names(3)), cells);
        assert_eq!((small.rows.len(), small.columns.len(), small.values.len()), (500, 3, 1500));
        assert_eq!(small.rows[499], "998 … 999");
        assert_eq!(small.values[499 * 3 + 1], Some(-7.0));
        assert_eq!(small.values[0], Some(0.5));
    }

    #[test]
    fn names_end_no_script() {
        let map = HeatMap { rows: vec!["</script>".to_owned()], ..HeatMap::default() };
        let mut out = Vec::new();
        let page = FleetPage { maps: vec![map], ..FleetPage::default() };
        write_fleet_page(&page, &mut out).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(text.matches("</script>").count(), 2, "that of the data and that of the script");
    }
}
