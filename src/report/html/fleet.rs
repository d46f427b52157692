//! The comparison of many ranks → `fleet.html`: one page that needs no network.
//!
//! The answer, the findings, the causes and the ranks are plain HTML; the script draws the ranks as dots and the
//! heat maps from embedded columns.

use super::data::without_tags;
use super::policy::policy;
use super::{BARS, Head, STYLE};
use crate::escape::JsonWriter;
use askama::Template;
use serde::Serialize;
use std::io::{self, Write};

const FLEET_STYLE: &str = include_str!("fleet.css");
const SCRIPT: &str = include_str!("script/fleet.js");

/// Maximum number of rows and of columns in a heat map. If there are more, neighbours share a cell, which
/// shows the largest of their values.
const MOST: usize = 512;

/// Maximum number of ranks and of causes listed; the tables have all of them.
const LISTED: usize = 500;

/// The content of `fleet.html`.
#[derive(Debug, Clone, Default)]
pub struct FleetPage {
    /// The two folders.
    pub folders: [String; 2],
    /// How many ranks were compared.
    pub coverage: String,
    /// The answer: which rank, or what on all ranks.
    pub headline: String,
    /// Why, in one sentence; may be empty.
    pub lead: String,
    /// The ranks by their time without waits.
    pub dots: Vec<FleetDot>,
    /// The ops in which ranks stand out.
    pub outliers: FleetOutliers,
    /// The ranks that come last in collectives, those that cost the others most time first.
    pub last: Vec<FleetLast>,
    /// How many collectives of the candidate were matched.
    pub collectives: u64,
    /// Code, ranks and text of each finding.
    pub findings: Vec<[String; 3]>,
    /// The causes.
    pub causes: Vec<FleetCauseLine>,
    /// The heat maps.
    pub maps: Vec<HeatMap>,
    /// The ranks.
    pub ranks: Vec<FleetRankLine>,
    /// Anomalies.
    pub notes: Vec<String>,
}

/// A rank among the others: its GPU time per step without waits, candidate / baseline.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FleetDot {
    /// Its name.
    pub name: String,
    /// Link to its report; empty if there is none.
    pub link: String,
    /// Candidate / baseline.
    pub ratio: f64,
    /// The quartiles of its role.
    pub band: [f64; 2],
    /// Whether it is an outlier of its role.
    pub is_outlier: bool,
}

/// The ranks that stand out most × the ops in which they do.
#[derive(Debug, Clone, Default)]
pub struct FleetOutliers {
    /// Names of the ops.
    pub columns: Vec<String>,
    /// The ranks.
    pub rows: Vec<FleetOutlierRow>,
}

/// A rank that stands out.
#[derive(Debug, Clone, Default)]
pub struct FleetOutlierRow {
    /// Its name.
    pub name: String,
    /// Link to its report; empty if there is none.
    pub link: String,
    /// For each op, a text and the style of the page for it; empty within the spread of the role.
    pub cells: Vec<(String, &'static str)>,
}

/// A rank for which others wait.
#[derive(Debug, Clone, Default)]
pub struct FleetLast {
    /// Its name.
    pub name: String,
    /// Link to its report; empty if there is none.
    pub link: String,
    /// In how many collectives it comes last.
    pub count: u64,
    /// The same in percent of all collectives.
    pub percent: f64,
    /// By how much it comes later than the second to last rank: the sum, with its unit.
    pub margin: String,
}

/// A cause on the page.
#[derive(Debug, Clone, Default)]
pub struct FleetCauseLine {
    /// Reason and call site.
    pub what: String,
    /// How many ranks share it, and which ones.
    pub whom: String,
    /// Share of the ranks in percent, for a bar.
    pub percent: f64,
    /// Candidate − baseline per step, as text.
    pub difference: String,
    /// The evidence.
    pub evidence: String,
}

/// A rank on the page.
#[derive(Debug, Clone, Default)]
pub struct FleetRankLine {
    /// Its name.
    pub name: String,
    /// Link to its report; empty if there is none.
    pub link: String,
    /// Texts of the cells: role, times, waits, anomalies.
    pub cells: Vec<String>,
}

/// Values by rank and step, or rank and collective.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub about: String,
    /// Unit of the values.
    pub unit: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The values by row, then column; `None` for no value.
    pub values: Vec<Option<f64>>,
}

impl HeatMap {
    /// Fills the map from cells of row, column and value. It has at most 512 rows and columns. If there are
    /// more, neighbours share a cell, which keeps the value with the largest magnitude.
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

/// The names of groups of `by` neighbours.
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
    causes: &'a [FleetCauseLine],
    ranks: &'a [FleetRankLine],
    data: String,
}

/// What the script draws.
#[derive(Serialize)]
struct Data<'a> {
    maps: &'a [HeatMap],
    dots: &'a [FleetDot],
}

/// Writes `fleet.html`.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_fleet_page(page: &FleetPage, out: &mut dyn Write) -> io::Result<()> {
    let (style, script) = (format!("{STYLE}{FLEET_STYLE}"), format!("{BARS}{SCRIPT}"));
    let template = Page {
        head: Head {
            policy: policy(&style, &script),
            style: &style,
            version: env!("CARGO_PKG_VERSION"),
            sides: page.folders.each_ref().map(String::as_str),
        },
        script: &script,
        page,
        causes: &page.causes[..page.causes.len().min(LISTED)],
        ranks: &page.ranks[..page.ranks.len().min(LISTED)],
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
