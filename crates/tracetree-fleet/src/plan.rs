//! Makes a [`Plan`] for two folders with the traces of many ranks: which traces are compared, and under which key each
//! result is stored.
//!
//! Only the heads of the files are read. The plan also lists each unmatched trace and the reason, so no file is
//! forgotten: compared + failed + unmatched = planned.

use super::heads::{self, Head};
use super::pairing;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tracetree::ComparisonOptions;
use tracetree::analysis::AnalysisOptions;
use tracetree::analysis::categories::Categories;
use tracetree::diff::{Aliases, DiffOptions};
use tracetree::error::{Error, ErrorKind, Result};
use tracetree::escape::in_json;
use tracetree::program::{Phase, RepeatDetection, Selection, StepRange};
use tracetree::side::{PerSide, Side};
use tracetree::storage::{self, Stored};
use tracetree::trace::ReadOptions;
use tracetree::tree::{Frames, TreeOptions};

/// Version of the layout of plans, tables and `fleet.json`. The version increases when a field or column is removed or changes its
/// meaning.
pub const FLEET_SCHEMA: u32 = 4;

const FORMAT: &str = "tracetree fleet plan";

/// Lists the traces to compare, and the options of the comparisons. Written as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    format: String,
    schema_version: u32,
    tracetree_version: String,
    /// The folder with the baseline traces.
    pub baseline: String,
    /// The folder with the candidate traces.
    pub candidate: String,
    /// The options of each comparison.
    pub options: PlanOptions,
    /// The pairs, sorted by rank, step and name.
    pub pairs: Vec<PlannedPair>,
    /// Traces without a counterpart.
    pub unmatched: Vec<Unmatched>,
    /// Irregularities in the folders, each described in one sentence.
    pub notes: Vec<String>,
}

/// A baseline trace and the candidate trace to compare it with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPair {
    /// The rank; `None` if the rank is unknown and the files were matched by name.
    pub rank: Option<i64>,
    /// The step in the file names, if any.
    pub step: Option<i64>,
    /// The folder of the pair's own report.
    pub folder: String,
    /// Hash of the two trace files, the options and the tracetree version. The shard of the pair is named after this
    /// hash.
    pub key: String,
    /// The baseline trace.
    pub baseline: PlannedFile,
    /// The candidate trace.
    pub candidate: PlannedFile,
}

impl PlannedPair {
    /// The file on one side.
    pub fn file(&self, side: Side) -> &PlannedFile {
        match side {
            Side::Baseline => &self.baseline,
            Side::Candidate => &self.candidate,
        }
    }
}

/// A trace file as it was when the plan was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFile {
    /// The file.
    pub path: String,
    /// Size of the file in bytes.
    pub size: u64,
    /// A value that changes whenever the file's content does: the modification time in ns, or the ETag of a remote
    /// object.
    pub version: String,
    /// Number of processes of the job, as recorded at the start of the trace.
    pub world_size: Option<i64>,
    /// The first device recorded at the start of the trace; empty if no device is recorded there.
    pub device: String,
}

impl PlannedPair {
    /// The pair with the paths of its files as reports show them.
    pub(super) fn shown(&self, reading: &ReadOptions) -> PlannedPair {
        let mut shown = self.clone();
        for file in [&mut shown.baseline, &mut shown.candidate] {
            file.path = reading.shown(&file.path);
        }
        shown
    }
}

impl PlannedFile {
    fn of(head: &Head) -> PlannedFile {
        PlannedFile {
            path: head.stored.path.display().to_string(),
            size: head.stored.size,
            version: head.stored.version.clone(),
            world_size: head.world_size,
            device: head.device.clone(),
        }
    }

    /// Whether the file is unchanged since the plan was made.
    pub(super) fn is_unchanged(&self) -> Result<bool> {
        Ok(storage::stat(Path::new(&self.path))? == self.stored())
    }

    /// The file as it was when the plan was made.
    pub(super) fn stored(&self) -> Stored {
        Stored { path: (&self.path).into(), size: self.size, version: self.version.clone() }
    }
}

/// A trace without a counterpart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The rank, if known.
    pub rank: Option<i64>,
    /// The side whose folder contains the file.
    pub side: Side,
    /// The file.
    pub path: String,
    /// Why the file has no counterpart: `NO_PARTNER` or `DUPLICATE_RANK`. If the start of the file could not be read,
    /// the code of that error.
    pub code: String,
    /// The explanation of the code.
    pub message: String,
}

/// How the pairs of a plan are compared. The plan contains all options, including the text of rule files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanOptions {
    /// Ignore Python frames.
    pub no_python: bool,
    /// Do not treat repetitions of a call as steps.
    pub no_repeats: bool,
    /// Compare only work in this phase.
    pub phase: Option<String>,
    /// Compare only these steps of the baseline.
    pub base_steps: Option<String>,
    /// Compare only these steps of the candidate.
    pub new_steps: Option<String>,
    /// The content of an alias file: names that count as the same name, in TOML.
    pub aliases: Option<String>,
    /// The content of a category file: rules that assign work to categories, in TOML.
    pub categories: Option<String>,
    /// Treat damage in a trace as an error.
    pub strict: bool,
    /// Maximum size of a decompressed trace, in bytes.
    pub max_unpacked: Option<u64>,
    /// Write a report for each pair.
    pub reports: bool,
    /// Describes all other settings that affect the result of a pair. The string becomes part of each pair's key.
    pub also: String,
}

impl PlanOptions {
    /// The options of each comparison.
    ///
    /// # Errors
    /// Fails if an option is invalid.
    pub fn comparison(&self) -> Result<ComparisonOptions> {
        let frames = if self.no_python { Frames::LeftOut } else { Frames::Kept };
        let repeats = if self.no_repeats { RepeatDetection::Off } else { RepeatDetection::Found };
        let mut diff = DiffOptions::default().repeats(repeats);
        if let Some(text) = &self.aliases {
            diff = diff.aliases(Aliases::parse(text, "aliases of the plan")?);
        }
        let mut analysis = AnalysisOptions::default();
        if let Some(text) = &self.categories {
            analysis = analysis.categories(Categories::parse(text, "categories of the plan")?);
        }
        Ok(ComparisonOptions::default()
            .read(self.reading())
            .selection(self.selection(&self.base_steps)?, self.selection(&self.new_steps)?)
            .tree(TreeOptions::default().frames(frames))
            .diff(diff)
            .analysis(analysis))
    }

    /// The options for reading the traces.
    pub fn reading(&self) -> ReadOptions {
        let mut reading = ReadOptions::default();
        (reading.strict, reading.max_unpacked) = (self.strict, self.max_unpacked);
        reading
    }

    fn selection(&self, steps: &Option<String>) -> Result<Selection> {
        let phase = self.phase.as_deref().map(|text| {
            let known = || Phase::ALL.map(Phase::label).join(", ");
            Phase::from_label(text).ok_or_else(|| {
                Error::usage(text, "unknown phase").remedy(format!("use one of {}", known()))
            })
        });
        let steps = steps.as_deref().map(StepRange::from_str);
        Ok(Selection { phase: phase.transpose()?, steps: steps.transpose()? })
    }
}

impl Plan {
    /// Finds the traces in two folders and matches them by rank and step, then by rank, then by name.
    ///
    /// The rank is taken from the head of a file, or from the number after `rank` in its name.
    ///
    /// # Errors
    /// Fails if a folder cannot be listed or contains no trace, or if no trace has a counterpart.
    pub fn make(baseline: &Path, candidate: &Path, options: PlanOptions) -> Result<Plan> {
        let folders = PerSide::new(baseline, candidate);
        let reading = options.reading();
        options.comparison()?;
        let found = PerSide::new(
            heads::of_folder(baseline, &reading)?,
            heads::of_folder(candidate, &reading)?,
        );
        let mut notes = Vec::new();
        for side in Side::BOTH {
            let foreign = found[side].foreign.iter();
            notes.extend(
                foreign.map(|path| format!("{} is not a trace and is ignored", path.display())),
            );
        }
        notes.extend(about_worlds(&found.as_ref().map(|found| found.heads.as_slice()), folders));
        let paired = pairing::pair(&found.map(|found| found.heads));
        if paired.pairs.iter().any(|pair| pair.is_by_name) {
            notes.push(
                "some files contain no rank or the same rank as another file, so these files are \
                 matched by name; check the matches in the plan"
                    .to_owned(),
            );
        }
        let mut taken = BTreeSet::new();
        let pairs: Vec<PlannedPair> =
            paired.pairs.iter().map(|pair| planned(pair, &options, &mut taken)).collect();
        if pairs.is_empty() {
            return Err(nothing_paired(folders, &paired.single));
        }
        Ok(Plan {
            format: FORMAT.to_owned(),
            schema_version: FLEET_SCHEMA,
            tracetree_version: env!("CARGO_PKG_VERSION").to_owned(),
            baseline: baseline.display().to_string(),
            candidate: candidate.display().to_string(),
            options,
            pairs,
            unmatched: paired.single.iter().map(unmatched).collect(),
            notes,
        })
    }

    /// The number of pairs plus the number of unmatched traces.
    pub fn planned(&self) -> usize {
        self.pairs.len() + self.unmatched.len()
    }

    /// The plan as JSON.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("a plan contains only plain values");
        in_json(&text).into_owned() + "\n"
    }

    /// Reads a plan. `path` is only used in error messages.
    ///
    /// # Errors
    /// Fails if the text is not a plan, or if a different version of tracetree made the plan.
    pub fn parse(text: &str, path: &Path) -> Result<Plan> {
        #[derive(Deserialize)]
        struct Kind {
            format: Option<String>,
            schema_version: Option<u32>,
            tracetree_version: Option<String>,
        }
        let remedy = "make the plan again with `tracetree fleet plan`";
        let refused =
            |message: String| Error::new(ErrorKind::Malformed, path, message).remedy(remedy);
        let kind: Kind = serde_json::from_str(text)
            .map_err(|error| refused(format!("not a fleet plan: {error}")))?;
        if kind.format.as_deref() != Some(FORMAT) {
            return Err(refused("not a fleet plan".to_owned()));
        }
        let version = kind.tracetree_version.unwrap_or_default();
        if kind.schema_version != Some(FLEET_SCHEMA) || version != env!("CARGO_PKG_VERSION") {
            let message = format!(
                "the plan was made by tracetree {version}, but this is tracetree {}",
                env!("CARGO_PKG_VERSION")
            );
            return Err(refused(message));
        }
        serde_json::from_str(text).map_err(|error| refused(format!("the plan is damaged: {error}")))
    }

    /// Reads the plan at `path`.
    ///
    /// # Errors
    /// Fails if the file cannot be read, and for the same reasons as [`Plan::parse`].
    pub fn read(path: &Path) -> Result<Plan> {
        let bytes = storage::read(path)?.ok_or_else(|| {
            Error::io(path, "read the plan", io::ErrorKind::NotFound.into())
                .remedy("make a plan with `tracetree fleet plan`")
        })?;
        Plan::parse(&String::from_utf8_lossy(&bytes), path)
    }

    /// Writes the plan to `path`.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        storage::replace(path, self.to_json().as_bytes())
    }
}

/// Whether a path is a folder. A remote address counts as a folder unless its name ends with a trace file
/// suffix.
pub fn is_folder(path: &Path) -> bool {
    if storage::is_remote(path) { !heads::is_called_like_a_trace(path) } else { path.is_dir() }
}

/// Makes a local path absolute, because workers may run in a different folder.
pub fn whole_path(path: &Path) -> PathBuf {
    if storage::is_remote(path) {
        path.to_path_buf()
    } else {
        std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
    }
}

fn planned(
    pair: &pairing::Pair,
    options: &PlanOptions,
    taken: &mut BTreeSet<String>,
) -> PlannedPair {
    let rank = pair.heads.baseline.rank.or(pair.heads.candidate.rank).filter(|_| !pair.is_by_name);
    let step = pair.heads.baseline.step.filter(|_| !pair.is_by_name && pair.has_steps);
    let name = pair.heads.candidate.name();
    let folder = match (rank, step) {
        (Some(rank), Some(step)) => format!("rank_{rank}.step{step}"),
        (Some(rank), None) => format!("rank_{rank}"),
        (None, _) => heads::stem(&name).to_owned(),
    };
    // Files such as `x.json` and `x.json.gz` have the same stem, so the folder name may already be taken.
    let folder = if taken.insert(folder.clone()) { folder } else { name };
    let (baseline, candidate) =
        (PlannedFile::of(&pair.heads.baseline), PlannedFile::of(&pair.heads.candidate));
    let key = key(&[&baseline, &candidate], options);
    PlannedPair { rank, step, folder, key, baseline, candidate }
}

/// A hash of everything that affects the result for a pair.
fn key(files: &[&PlannedFile; 2], options: &PlanOptions) -> String {
    let of = (FLEET_SCHEMA, env!("CARGO_PKG_VERSION"), options, files);
    let text = serde_json::to_string(&of).expect("plain values");
    format!("{:032x}", twox_hash::XxHash3_128::oneshot(text.as_bytes()))
}

fn unmatched(single: &pairing::Single) -> Unmatched {
    let head = &single.head;
    let (code, message) = match (&head.damage, single.reason) {
        (Some((code, message)), _) => ((*code).to_owned(), message.clone()),
        (None, pairing::Reason::NoCounterpart) => (
            "NO_PARTNER".to_owned(),
            "has no counterpart on the other side and is ignored".to_owned(),
        ),
        (None, pairing::Reason::Duplicate) => {
            let rank = head.rank.unwrap_or_default();
            let message = format!(
                "is one of several files for rank {rank} and is ignored; keep one file per rank"
            );
            ("DUPLICATE_RANK".to_owned(), message)
        }
    };
    Unmatched {
        rank: head.rank,
        side: single.side,
        path: head.stored.path.display().to_string(),
        code,
        message,
    }
}

fn nothing_paired(folders: PerSide<&Path>, single: &[pairing::Single]) -> Error {
    if let Some((_, message)) = single.iter().find_map(|single| single.head.damage.as_ref()) {
        return Error::new(ErrorKind::Usage, folders.baseline, message)
            .remedy("no other file has a counterpart either");
    }
    let message =
        format!("no trace in this folder has a counterpart in {}", folders.candidate.display());
    Error::new(ErrorKind::Usage, folders.baseline, message).remedy(
        "files are matched by distributedInfo.rank or, if there is no rank, by name; make sure \
         that both folders use the same ranks or names",
    )
}

/// Notes about traces that record different world sizes, and about ranks that have no trace.
fn about_worlds(heads: &PerSide<&[Head]>, folders: PerSide<&Path>) -> Vec<String> {
    let sizes = |side: Side| -> BTreeSet<i64> {
        heads[side].iter().filter_map(|head| head.world_size).collect()
    };
    let mut notes = Vec::new();
    for side in Side::BOTH {
        let sizes = sizes(side);
        if sizes.len() > 1 {
            let folder = folders[side].display();
            notes.push(format!(
                "the files in {folder} report different world sizes ({}); the folder may mix \
                 several jobs",
                list(&sizes)
            ));
        }
    }
    let (before, after) = (sizes(Side::Baseline), sizes(Side::Candidate));
    if before.len() == 1 && after.len() == 1 && before != after {
        notes.push(format!(
            "the world size differs: {} in the baseline, {} in the candidate; ranks may do \
             different work",
            list(&before),
            list(&after)
        ));
    }
    let world = before.union(&after).max().copied().unwrap_or(0);
    let known: BTreeSet<i64> = Side::BOTH
        .iter()
        .flat_map(|&side| heads[side].iter().filter_map(|head| head.rank))
        .collect();
    let missing: Vec<u64> = (0..world.clamp(0, 1 << 20))
        .filter(|rank| !known.contains(rank))
        .map(|rank| rank as u64)
        .collect();
    if !missing.is_empty() && !known.is_empty() {
        let ranks = super::pattern::ranges(&missing, "");
        notes.push(format!(
            "{} of {world} ranks have no trace in either folder: {ranks}; findings do not cover \
             these ranks",
            missing.len()
        ));
    }
    notes
}

fn list(sizes: &BTreeSet<i64>) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, version: &str) -> PlannedFile {
        PlannedFile {
            path: path.to_owned(),
            size: 7,
            version: version.to_owned(),
            world_size: None,
            device: String::new(),
        }
    }

    #[test]
    fn a_key_depends_only_on_inputs_and_options() {
        let options = PlanOptions::default();
        let of = |version: &str, options: &PlanOptions| {
            key(&[&file("a", "1"), &file("b", version)], options)
        };
        assert_eq!(of("1", &options), of("1", &options));
        assert_ne!(of("1", &options), of("2", &options));
        let other = PlanOptions { no_python: true, ..PlanOptions::default() };
        assert_ne!(of("1", &options), of("1", &other));
    }

    #[test]
    fn invalid_plans_and_plans_of_other_versions_are_refused() {
        let refused = |text: &str| Plan::parse(text, Path::new("plan.json")).expect_err("refused");
        assert!(refused("{}").to_string().contains("not a fleet plan"));
        let other = r#"{"format": "tracetree fleet plan", "schema_version": 1, "tracetree_version": "0.0.1"}"#;
        assert!(refused(other).to_string().contains("tracetree 0.0.1"));
    }
}
