//! Writes the files of a [`Fleet`]: its tables, `fleet.json` and `fleet.html`.

use super::Fleet;
use super::plan::FLEET_SCHEMA;
use super::reduce::Counts;
use super::rows::{ClassRow, Finding, LineRow, RoleRow};
use serde::Serialize;
use std::path::Path;
use tracetree::error::{Error, Result};
use tracetree::escape::in_json;
use tracetree::report::{CsvTexts, Existing, Origin, TableFormat, write_csv_with, write_parquet};
use tracetree::storage;
use tracetree::tables::Table;

/// The JSON file with the results, for programs. A folder that contains `fleet.json` is the folder of a fleet.
const DOCUMENT: &str = "fleet.json";
/// The HTML page with the results, for people.
const PAGE: &str = "fleet.html";

/// Which files to write for a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetFiles {
    /// File formats of the tables. `ranks.csv` is always written.
    pub tables: Vec<TableFormat>,
    /// Whether strings in CSV files are escaped or written unchanged.
    pub csv_texts: CsvTexts,
    /// What to do if a file with the same name exists that tracetree did not write.
    pub existing: Existing,
    /// Whether to write `fleet.html`.
    pub has_page: bool,
    /// Whether each rank has its own report, which the page can link to.
    pub has_reports: bool,
}

impl Default for FleetFiles {
    /// Writes Parquet tables, and a page without links to reports.
    fn default() -> FleetFiles {
        FleetFiles {
            tables: vec![TableFormat::Parquet],
            csv_texts: CsvTexts::default(),
            existing: Existing::default(),
            has_page: true,
            has_reports: false,
        }
    }
}

impl FleetFiles {
    /// Checks that writing would not replace files that tracetree did not write. Files count as written by
    /// tracetree if the folder contains a `fleet.json` that tracetree wrote.
    ///
    /// # Errors
    /// Fails if writing would replace a file that tracetree did not write, unless [`FleetFiles::existing`] allows it.
    pub fn check_target(&self, folder: &Path) -> Result<()> {
        if self.existing == Existing::Replace || storage::is_remote(folder) || is_fleet(folder) {
            return Ok(());
        }
        let taken =
            self.names().into_iter().map(|name| folder.join(name)).find(|path| path.exists());
        taken.map_or(Ok(()), |path| Err(storage::foreign(&path)))
    }

    /// Names of the files to write.
    fn names(&self) -> Vec<String> {
        let mut names = vec![DOCUMENT.to_owned()];
        if self.has_page {
            names.push(PAGE.to_owned());
        }
        for table in Fleet::default().tables() {
            if self.has_csv(&table) {
                names.push(format!("{}.csv", table.name()));
            }
            if self.tables.contains(&TableFormat::Parquet) {
                names.push(format!("{}.parquet", table.name()));
            }
        }
        names
    }

    fn has_csv(&self, table: &Table) -> bool {
        table.name() == "ranks" || self.tables.contains(&TableFormat::Csv)
    }
}

/// Whether a folder already contains the results of a fleet, written by tracetree.
fn is_fleet(folder: &Path) -> bool {
    let text = std::fs::read(folder.join(DOCUMENT)).unwrap_or_default();
    let document: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    document.is_some_and(|document| document.get("tracetree_version").is_some())
}

/// The content of `fleet.json`.
#[derive(Serialize)]
struct Document<'f> {
    schema_version: u32,
    tracetree_version: &'static str,
    baseline: &'f str,
    candidate: &'f str,
    planned: usize,
    ok: usize,
    failed: usize,
    unmatched: usize,
    coverage: f64,
    findings: &'f [Finding],
    roles: &'f [RoleRow],
    bill: &'f [LineRow],
    classes: Vec<ClassDocument<'f>>,
    identical_ranks: &'f str,
    notes: &'f [String],
}

#[derive(Serialize)]
struct ClassDocument<'f> {
    class: &'f str,
    ranks: u64,
    baseline_us: f64,
    candidate_us: f64,
    hardware_us: f64,
    software_us: f64,
}

impl<'f> From<&'f ClassRow> for ClassDocument<'f> {
    fn from(row: &'f ClassRow) -> ClassDocument<'f> {
        ClassDocument {
            class: &row.name,
            ranks: row.ranks,
            baseline_us: row.time_us.baseline,
            candidate_us: row.time_us.candidate,
            hardware_us: row.hardware_us,
            software_us: row.software_us,
        }
    }
}

impl Fleet {
    /// Writes `ranks.csv`, the tables, `fleet.json` and `fleet.html` into `folder`. Returns the file names.
    ///
    /// # Errors
    /// Fails if a file cannot be written, or would replace a file that tracetree did not write. If writing fails, no
    /// file is half-written: each file has either its old or its new content.
    pub fn write(&self, folder: &Path, files: &FleetFiles) -> Result<Vec<String>> {
        files.check_target(folder)?;
        let mut written = Vec::new();
        let mut write = |name: String, bytes: std::io::Result<Vec<u8>>| {
            let path = folder.join(&name);
            let bytes = bytes.map_err(|error| Error::io(&path, "write the file", error))?;
            written.push(name);
            storage::replace(&path, &bytes)
        };
        let origin = Origin::new(FLEET_SCHEMA)
            .with("baseline", &*self.baseline)
            .with("candidate", &*self.candidate);
        for table in self.tables() {
            if files.has_csv(&table) {
                let mut bytes = Vec::new();
                let done = write_csv_with(&table, files.csv_texts, &mut bytes);
                write(format!("{}.csv", table.name()), done.map(|()| bytes))?;
            }
            if files.tables.contains(&TableFormat::Parquet) {
                let mut bytes = Vec::new();
                let done = write_parquet(&table, &origin, &mut bytes);
                write(format!("{}.parquet", table.name()), done.map(|()| bytes))?;
            }
        }
        write(DOCUMENT.to_owned(), Ok(self.to_json().into_bytes()))?;
        #[cfg(feature = "html")]
        if files.has_page {
            let mut bytes = Vec::new();
            let page = super::page::page(self, files.has_reports.then_some(folder));
            let done = tracetree::report::write_fleet_page(&page, &mut bytes);
            write(PAGE.to_owned(), done.map(|()| bytes))?;
        }
        Ok(written)
    }

    /// The content of `fleet.json`: counts, findings, roles, the bill and the classes of work.
    pub fn to_json(&self) -> String {
        let Counts { planned, ok, failed, unmatched } = self.counts();
        let document = Document {
            schema_version: FLEET_SCHEMA,
            tracetree_version: env!("CARGO_PKG_VERSION"),
            baseline: &self.baseline,
            candidate: &self.candidate,
            planned,
            ok,
            failed,
            unmatched,
            coverage: self.counts().coverage(),
            findings: &self.findings,
            roles: &self.roles,
            bill: &self.bill,
            classes: self.classes.iter().map(ClassDocument::from).collect(),
            identical_ranks: &self.identical_list,
            notes: &self.notes,
        };
        let text = serde_json::to_string_pretty(&document).expect("plain values");
        in_json(&text).into_owned() + "\n"
    }
}
