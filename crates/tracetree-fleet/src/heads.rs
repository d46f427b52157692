//! Reads the start (the *head*) of each trace in a folder: rank, world size and device. The step comes from the file
//! name.

use rayon::prelude::*;
use std::path::{Path, PathBuf};
use tracetree::error::{Error, ErrorKind, Result};
use tracetree::program::rank_of;
use tracetree::storage::{self, Stored};
use tracetree::trace::{Header, ReadOptions, Trace};

/// Suffixes of trace file names. `.json.gz` comes before `.gz`, so that the longest matching suffix is found first.
const ENDINGS: [&str; 4] = [".json.gz", ".json.zst", ".json", ".gz"];

/// The properties of a trace that are known without reading its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) stored: Stored,
    pub(super) rank: Option<i64>,
    pub(super) world_size: Option<i64>,
    pub(super) device: String,
    pub(super) step: Option<i64>,
    /// Why the trace cannot be read: a code and a message.
    pub(super) damage: Option<(&'static str, String)>,
}

impl Head {
    pub(super) fn name(&self) -> String {
        file_name(&self.stored.path)
    }
}

/// The traces in a folder, and the files in the folder that are not traces.
pub(super) struct Heads {
    pub(super) heads: Vec<Head>,
    pub(super) foreign: Vec<PathBuf>,
}

/// Lists a folder and reads the head of each trace in it.
pub(super) fn of_folder(folder: &Path, options: &ReadOptions) -> Result<Heads> {
    let mut files = storage::list(folder)?;
    files.retain(|file| is_called_like_a_trace(&file.path));
    if files.is_empty() {
        return Err(Error::new(ErrorKind::NoTraces, folder, "no trace in this folder")
            .remedy("pass a folder that contains .json, .json.gz, .json.zst or .gz files"));
    }
    let read = || files.par_iter().map(|file| head_of(file.clone(), options)).collect();
    let read: Vec<Option<Head>> = storage::at_once(folder, read);
    let mut found = Heads { heads: Vec::new(), foreign: Vec::new() };
    for (file, head) in files.into_iter().zip(read) {
        match head {
            Some(head) => found.heads.push(head),
            None => found.foreign.push(file.path),
        }
    }
    Ok(found)
}

/// Whether a file name has the suffix of a trace.
pub(super) fn is_called_like_a_trace(path: &Path) -> bool {
    let name = file_name(path);
    !name.starts_with('.') && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The head of a file; `None` if the file is not a trace and its name contains no rank.
fn head_of(stored: Stored, options: &ReadOptions) -> Option<Head> {
    let name = file_name(&stored.path);
    let (named, step) = (rank_of(&Header::default(), &name), step_of(&name));
    let mut head =
        Head { stored, rank: named, world_size: None, device: String::new(), step, damage: None };
    let read = Trace::read_header_with(&head.stored.path, options).and_then(|header| {
        // If neither the head nor the file name contains the rank, the whole file is read, because some files record
        // the rank after the events.
        match rank_of(&header, &name) {
            Some(_) => Ok(header),
            None => Ok(Trace::open_with(&head.stored.path, options)?.header().clone()),
        }
    });
    match read {
        Ok(header) => {
            head.rank = rank_of(&header, &name);
            head.world_size = header.distributed.as_ref().and_then(|group| group.world_size);
            head.device = header.devices.first().map_or_else(String::new, |d| d.name.clone());
        }
        Err(error) if error.kind() == ErrorKind::NotATrace && named.is_none() => return None,
        Err(error) => head.damage = Some((super::status::code_of(&error), error.to_string())),
    }
    Some(head)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The number after `step` in a file name such as `rank3.step5.json`.
fn step_of(name: &str) -> Option<i64> {
    let name = name.to_lowercase();
    name.match_indices("step").find_map(|(at, word)| {
        let rest = name[at + word.len()..].trim_start_matches(['_', '-', '=', '.']);
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    })
}

/// The file name of a trace without the suffix.
pub(super) fn stem(name: &str) -> &str {
    let ending = ENDINGS.iter().find(|ending| name.ends_with(*ending));
    ending.map_or(name, |ending| &name[..name.len() - ending.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_and_step_are_read_from_the_name() {
        for (name, rank, step) in [
            ("rank_3.json.gz", Some(3), None),
            ("rank12.step5.json", Some(12), Some(5)),
            ("host7.Rank-0.pt.trace.json", Some(0), None),
            ("franked.json", None, None),
            ("host_3.json", None, None),
        ] {
            assert_eq!((rank_of(&Header::default(), name), step_of(name)), (rank, step), "{name}");
        }
    }
}
