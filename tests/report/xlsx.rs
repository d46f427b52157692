//! Reads `report.xlsx` back, and tests that its numbers equal those in the CSV files and that names are text cells.

use crate::support::reports::{HOSTILE, hostile_pair, model_pair, write};
use calamine::{Data, Ods, Reader, Xlsx, open_workbook};
use std::fs;
use std::io::Write as _;
use std::process::Command;
use tempfile::TempDir;
use tracetree::PerSide;
use tracetree::report::Emit;

fn report(pair: &PerSide<String>) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(pair, &folder.path().join("report"), &[Emit::Xlsx]).expect("a report");
    folder
}

fn workbook(folder: &TempDir) -> Xlsx<std::io::BufReader<fs::File>> {
    open_workbook(folder.path().join("report/report.xlsx")).expect("a workbook")
}

fn csv_rows(folder: &TempDir, name: &str) -> Vec<Vec<String>> {
    let path = folder.path().join("report").join(name);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).expect("a table");
    reader.records().map(|row| row.expect("a row").iter().map(str::to_owned).collect()).collect()
}

#[test]
fn a_sheet_that_explains_comes_first_and_then_every_table() {
    let folder = report(&model_pair());
    let mut book = workbook(&folder);
    let mut tables: Vec<String> = fs::read_dir(folder.path().join("report"))
        .expect("a report")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(".csv").map(|stem| stem.replace("_summary", "")))
        .filter(|stem| stem != "uid_map")
        .collect();
    tables.sort();
    let mut sheets = book.sheet_names();
    assert_eq!(sheets.remove(0), "report");
    sheets.sort();
    assert_eq!(sheets, tables);
    let cover = book.worksheet_range("report").expect("the first sheet");
    let verdict = cover.get((0, 0)).expect("the first cell").to_string();
    assert!(verdict.contains(" → ") && verdict.ends_with(" per step"), "{verdict}");
    let texts: Vec<String> = cover.used_cells().map(|(_, _, cell)| cell.to_string()).collect();
    assert!(texts.iter().any(|text| text == "LAUNCH_NOT_CAPTURED"), "{texts:?}");
    assert!(texts.iter().any(|text| text.starts_with("H100 takes 1.")), "{texts:?}");
}

/// The cells after a title, in the same line of the first sheet.
fn line_of(cover: &calamine::Range<Data>, title: &str) -> Vec<Data> {
    let line = cover.rows().find(|row| row[0] == title);
    line.unwrap_or_else(|| panic!("no line {title}"))[1..].to_vec()
}

fn number(cell: &Data) -> f64 {
    if let Data::Float(value) = cell {
        return *value;
    }
    let Data::Int(value) = cell else { panic!("{cell:?} is no number") };
    *value as f64
}

#[test]
fn the_first_sheet_has_numbers_as_numbers_and_they_are_those_of_the_summary() {
    let folder = report(&model_pair());
    let cover = workbook(&folder).worksheet_range("report").expect("the first sheet");
    let text = fs::read_to_string(folder.path().join("report/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let near = |cell: &Data, wanted: f64| {
        let printed = number(cell);
        assert!((printed - wanted).abs() < 0.0005, "{printed} is not {wanted}");
    };
    let of = |side: &str, key: &str| summary[side][key].as_f64().expect("a number");
    for (title, key) in [
        ("attributed time, µs", "kernel_time_us"),
        ("busy time (union of intervals), µs", "busy_time_us"),
        ("in rows that only one side has, µs", "one_sided_us"),
        ("events in the file", "events"),
        ("attributed events", "accounted_events"),
    ] {
        let line = line_of(&cover, title);
        let (one, two) = (of("trace1", key), of("trace2", key));
        near(&line[0], one);
        near(&line[1], two);
        near(&line[2], two - one);
    }
    let wall = &summary["wall"];
    let walls = line_of(&cover, "wall time");
    for (at, side) in ["trace1", "trace2"].into_iter().enumerate() {
        near(&walls[at], wall[side]["step_wall_us"].as_f64().expect("a wall") / 1e3);
        let share = wall[side]["idle_share"].as_f64().expect("a share");
        near(&line_of(&cover, "idle share of the wall time, %")[at], share);
        let steps = wall[side]["steps"].as_f64().expect("steps");
        near(&line_of(&cover, "steps")[at], steps);
    }
    near(&walls[2], wall["step_difference_us"].as_f64().expect("a difference") / 1e3);
    let line = &summary["bill"][0];
    let sentence = line["sentence"].as_str().expect("a sentence");
    let first = cover.rows().find(|row| row[0] == sentence).expect("the first line of the bill");
    near(&first[2], line["price_us"].as_f64().expect("a price") / 1e3);
    let rows = csv_rows(&folder, "diff_stats.csv").len() as f64 - 1.0;
    near(&line_of(&cover, "diff_stats")[2], rows);
    // Values that are numbers in other files are numbers in the workbook, too, so no text cell contains only a number.
    for (row, column, cell) in cover.used_cells() {
        if let Data::String(text) = cell {
            assert!(text.parse::<f64>().is_err(), "{text} at {row}, {column} is a text");
        }
    }
}

/// Whether a cell in the workbook agrees with the CSV file.
fn agrees(cell: Option<&Data>, text: &str) -> bool {
    match cell {
        Some(Data::Float(value)) => text.parse().is_ok_and(|number: f64| number == *value),
        Some(Data::Int(value)) => text.parse().is_ok_and(|number: i64| number == *value),
        Some(Data::String(shown)) => shown == text,
        Some(Data::Empty) | None => text.is_empty(),
        Some(_) => false,
    }
}

#[test]
fn every_cell_agrees_with_its_table() {
    let folder = report(&model_pair());
    let mut book = workbook(&folder);
    for (sheet, file) in [
        ("diff_stats", "diff_stats.csv"),
        ("diff_stats_unique_args", "diff_stats_unique_args_summary.csv"),
        ("diff_stats_names", "diff_stats_names_summary.csv"),
        ("diff_stats_kernels", "diff_stats_kernels.csv"),
        ("kernels", "kernels.csv"),
        ("steps", "steps.csv"),
    ] {
        let range = book.worksheet_range(sheet).expect("a sheet");
        let rows = csv_rows(&folder, file);
        assert_eq!(range.height(), rows.len(), "{sheet}");
        for (at, row) in rows.iter().enumerate() {
            for (column, text) in row.iter().enumerate() {
                let cell = range.get_value((at as u32, column as u32));
                assert!(agrees(cell, text), "{sheet} {at} {column}: {cell:?} is not {text}");
            }
        }
    }
}

#[test]
fn times_are_numbers() {
    let folder = report(&model_pair());
    let range = workbook(&folder).worksheet_range("diff_stats_names").expect("a sheet");
    let header: Vec<String> =
        range.rows().next().expect("a header").iter().map(Data::to_string).collect();
    for (column, title) in header.iter().enumerate().skip(1) {
        for row in range.rows().skip(1) {
            assert!(
                matches!(row[column], Data::Float(_) | Data::Int(_)),
                "{title}: {:?}",
                row[column]
            );
        }
    }
}

#[test]
fn no_name_becomes_a_formula() {
    let folder = report(&hostile_pair());
    let mut book = workbook(&folder);
    for sheet in book.sheet_names() {
        let formulas = book.worksheet_formula(&sheet).expect("a sheet");
        assert_eq!(formulas.used_cells().count(), 0, "{sheet}");
    }
    let names = book.worksheet_range("diff_stats_names").expect("a sheet");
    let shown: Vec<String> = names.rows().map(|row| row[0].to_string()).collect();
    assert!(shown.iter().any(|name| name == HOSTILE[2]), "{shown:?}");
    assert!(shown.iter().any(|name| name == HOSTILE[0]), "{shown:?}");
    assert!(shown.iter().all(|name| !name.contains('\u{1b}') && name.chars().count() <= 2_000));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let bytes =
        || fs::read(report(&model_pair()).path().join("report/report.xlsx")).expect("a file");
    assert!(bytes() == bytes());
}

/// Converts the workbook of a report with LibreOffice; returns `None` if LibreOffice is not
/// installed.
fn converted(folder: &TempDir) -> Option<(Ods<std::io::BufReader<fs::File>>, String)> {
    let run = Command::new("soffice")
        .args(["--headless", "--convert-to", "ods", "--outdir"])
        .arg(folder.path())
        .arg(folder.path().join("report/report.xlsx"))
        .env("HOME", folder.path())
        .output()
        .ok()?;
    let messages = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{messages}");
    let book = open_workbook(folder.path().join("report.ods")).expect("a converted workbook");
    Some((book, messages))
}

#[test]
fn libreoffice_opens_it_without_a_warning_and_reads_the_same() {
    let folder = report(&hostile_pair());
    let Some((mut book, messages)) = converted(&folder) else {
        let _ = writeln!(std::io::stderr(), "xlsx: no LibreOffice here: no conversion is tested");
        return;
    };
    // A warning about a missing Java installation is ignored, because it does not mean that the workbook is faulty.
    let warnings: Vec<&str> = messages
        .lines()
        .filter(|line| line.to_lowercase().contains("warn") && !line.contains("javaldx"))
        .collect();
    assert_eq!(warnings, Vec::<&str>::new());
    let names = book.worksheet_range("diff_stats_names").expect("a sheet");
    let shown: Vec<String> = names.rows().map(|row| row[0].to_string()).collect();
    assert!(shown.iter().any(|name| name == HOSTILE[2]), "{shown:?}");
    assert_eq!(shown.len(), csv_rows(&folder, "diff_stats_names_summary.csv").len());
}
