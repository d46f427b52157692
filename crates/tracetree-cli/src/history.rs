//! `tracetree history`: finds where the times in a series of baselines changed.

use super::examples;
use super::headings;
use super::limit;
use super::outcome::Outcome;
use super::output::Console;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use tracetree::{Error, ErrorKind, Result};
use tracetree_gate::{History, Search};

#[derive(Args)]
#[command(after_help = examples::HISTORY)]
pub(super) struct HistoryArgs {
    /// Baseline files, oldest first, or a folder of baseline files, which are sorted by file name.
    #[arg(required = true, value_name = "BASELINE")]
    baselines: Vec<PathBuf>,
    /// Output format.
    #[arg(long, default_value = "text")]
    format: Format,
    /// Ignore relative changes smaller than this value.
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = limit::share, help_heading = headings::LIMITS)]
    least: f64,
    /// Report only changes with a p-value below this value.
    #[arg(long, value_name = "P", default_value_t = 0.001, help_heading = headings::LIMITS)]
    most_p: f64,
    /// Number of baselines per search window.
    #[arg(long, value_name = "N", default_value_t = 50)]
    window: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
    Html,
}

pub(super) fn run(args: &HistoryArgs, console: &mut Console) -> Result<Outcome> {
    let files = match &args.baselines[..] {
        [folder] if folder.is_dir() => baselines_in(folder)?,
        files => files.to_vec(),
    };
    let search = Search { window: args.window, most_p: args.most_p, least_change: args.least };
    let history = History::read(&files, &search)?;
    let width = console.width();
    console.print(|out| match args.format {
        Format::Text => history.write_text(width, out),
        Format::Json => history.write_json(out),
        Format::Html => history.write_html(out),
    })?;
    Ok(Outcome::Done)
}

/// The baseline files of a folder, sorted by name.
fn baselines_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = |error| Error::io(folder, "list the folder", error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let name = path.to_string_lossy();
        if path.is_file() && (name.ends_with(".ttb") || name.ends_with(".ttb.gz")) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        Err(Error::new(ErrorKind::Usage, folder, "contains no baseline (*.ttb)")
            .remedy("record baselines with `tracetree baseline record`"))
    } else {
        Ok(files)
    }
}
