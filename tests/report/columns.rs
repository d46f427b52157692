//! Compares the columns of all tables with the pages in `docs/reference`, which are generated from
//! these columns.
//!
//! `UPDATE_DOCS=1 cargo test --all-features --test report columns` updates the pages.

use crate::support::enter_root;
use crate::support::root;
use std::path::PathBuf;
use tracetree::tables::{ColumnInfo, ColumnType, Table, TableKind};
use tracetree::{Comparison, ComparisonOptions, Side};
use tracetree_fleet::Fleet;

fn tables() -> Vec<Table> {
    enter_root();
    let comparison = Comparison::open(
        "examples/traces/resnet.rocm.json.gz",
        "examples/traces/resnet.cuda.json.gz",
        &ComparisonOptions::default(),
    );
    let comparison = comparison.expect("two traces");
    let mut tables: Vec<Table> =
        TableKind::ALL.into_iter().map(|kind| kind.of(comparison.analysis())).collect();
    tables.extend(Fleet::default().tables());
    tables
}

/// The columns in a table, as a Markdown table. If two columns differ only in their side, they share a line.
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

/// Replaces the text between the markers for `table` on a page by the table's columns; returns `None` if the page has
/// no such markers.
fn with_columns(page: &str, table: &Table) -> Option<String> {
    let mark = format!("<!-- columns: {} -->\n", table.name());
    let (before, rest) = page.split_once(&mark)?;
    let (_, after) = rest.split_once("<!-- end -->").expect("an end of the columns");
    Some(format!("{before}{mark}\n{}\n<!-- end -->{after}", described(table)))
}

#[test]
fn the_pages_describe_the_columns_as_the_tables_do() {
    let folder = root().join("docs/reference");
    let files = std::fs::read_dir(folder).expect("docs/reference");
    let paths = files.map(|file| file.expect("a file").path());
    let mut pages: Vec<(PathBuf, String, String)> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| {
            let page = std::fs::read_to_string(&path).expect("a page");
            (path, page.clone(), page)
        })
        .collect();
    for table in tables() {
        let described = pages.iter_mut().find_map(|(_, _, page)| {
            let written = with_columns(page, &table)?;
            *page = written;
            Some(())
        });
        assert!(
            described.is_some(),
            "no page in docs/reference has the mark <!-- columns: {} -->",
            table.name()
        );
    }
    for (path, page, written) in &pages {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, written).expect("a writable page");
            continue;
        }
        assert!(
            page == written,
            "{}: UPDATE_DOCS=1 cargo test --all-features --test report columns writes it anew",
            path.display()
        );
    }
}
