//! Compares the columns of all tables with `docs/report.md`, which is generated from them.
//!
//! `UPDATE_DOCS=1 cargo test --all-features --test report columns` updates the page.

use std::path::Path;
use tracetree::fleet::Fleet;
use tracetree::tables::{ColumnInfo, ColumnType, Table, TableKind};
use tracetree::{Comparison, ComparisonOptions, Side};

/// All tables.
fn tables() -> Vec<Table> {
    let comparison = Comparison::open(
        "examples/traces/resnet.rocm.json.gz",
        "examples/traces/resnet.cuda.json.gz",
        &ComparisonOptions::default(),
    );
    let comparison = comparison.expect("two traces");
    let mut tables: Vec<Table> =
        TableKind::ALL.into_iter().map(|kind| kind.of(comparison.analysis())).collect();
    tables.extend(Fleet::empty().tables());
    tables
}

/// The columns of a table as a Markdown table. Columns of both sides with the same meaning share a line.
fn described(table: &Table) -> String {
    let mut text = String::from("| column | unit | meaning |\n|---|---|---|\n");
    let mut columns = table.columns().iter().peekable();
    while let Some(column) = columns.next() {
        let other = columns.next_if(|next| {
            next.side == Some(Side::Candidate)
                && column.side == Some(Side::Baseline)
                && next.meaning == column.meaning
        });
        let name = match other {
            Some(other) if column.name.contains("trace1") => {
                assert_eq!(column.name.replace("trace1", "trace2"), other.name);
                format!("`{}`", column.name.replace("trace1", "trace1/2"))
            }
            Some(other) => format!("`{}`, `{}`", column.name, other.name),
            None => format!("`{}`", column.name),
        };
        let meaning = column.meaning.replace('|', "\\|");
        text.push_str(&format!("| {name} | {} | {meaning} |\n", unit(column)));
    }
    text
}

fn unit(column: &ColumnInfo) -> &str {
    if column.kind == ColumnType::Names {
        "list"
    } else if column.kind == ColumnType::Json {
        "JSON"
    } else {
        column.unit
    }
}

/// The page with the columns of `table` inserted between its marks.
fn with_columns(page: &str, table: &Table) -> String {
    let mark = format!("<!-- columns: {} -->\n", table.name());
    let (before, rest) = page.split_once(&mark).unwrap_or_else(|| {
        panic!("docs/report.md has no place for the columns of {}", table.name())
    });
    let (_, after) = rest.split_once("<!-- end -->").expect("an end of the columns");
    format!("{before}{mark}\n{}\n<!-- end -->{after}", described(table))
}

#[test]
fn the_page_describes_the_columns_as_the_tables_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/report.md");
    let page = std::fs::read_to_string(&path).expect("docs/report.md");
    let written = tables().iter().fold(page.clone(), |page, table| with_columns(&page, table));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &written).expect("a writable page");
    }
    assert!(
        page == written,
        "UPDATE_DOCS=1 cargo test --all-features --test report columns writes docs/report.md anew"
    );
}

#[test]
fn every_column_has_a_description_and_a_unique_name() {
    for table in tables() {
        let mut names: Vec<&str> = table.columns().iter().map(|column| &*column.name).collect();
        assert!(table.columns().iter().all(|column| !column.meaning.is_empty()), "{table:?}");
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "{table:?}");
    }
}
