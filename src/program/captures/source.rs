//! Where the captures of a trace come from → [`Captures`].

use super::Captures;
use crate::error::{Error, ErrorKind, Result};
use crate::trace::{ByName, CAPTURE_FOLDER, CaptureFile, Category, ReadOptions, Trace};
use crate::tree::{CallTree, Capture, TreeOptions, names_graph_launch};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the captures of a trace's graphs come from.
///
/// A trace in which graphs are both captured and launched is a capture of its own, whatever else is
/// given.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum CaptureSource {
    /// The folder `capture_traces` beside the trace, where there is one.
    #[default]
    Beside,
    /// Files, and folders of files.
    Files(Vec<PathBuf>),
    /// Traces that were read before.
    Traces(Vec<Arc<Trace>>),
    /// Nowhere: graphs are taken as they are, whatever their kernels name.
    Nowhere,
}

/// The notes of a tree that say that a capture is of no use; errors under `--strict`.
const USELESS: [&str; 6] = [
    "CAPTURE_UNREADABLE",
    "CAPTURE_WITHOUT_GRAPH",
    "CAPTURE_WITHOUT_LAUNCHES",
    "CAPTURE_CUT_OFF",
    "CAPTURE_MISFIT",
    "CAPTURE_UNUSED",
];

impl CaptureSource {
    /// Reads the captures for a trace, which was read from `path` if that is known. Without a graph
    /// launch in the trace nothing is read.
    ///
    /// # Errors
    /// If a file or folder that the user gave cannot be read. One that was found beside the trace and
    /// cannot be read is noted instead, but for [`ReadOptions::strict`].
    pub fn open(
        &self,
        trace: &Arc<Trace>,
        path: Option<&Path>,
        options: &ReadOptions,
    ) -> Result<Captures> {
        let mut captures = Captures::default();
        let mut graphs = ByName::new(trace);
        let mut runtime_calls =
            trace.own_events().filter(|&event| trace.category(event) == Category::Runtime);
        let launches_graphs = runtime_calls.any(|event| {
            graphs.get(trace.name_id(event), || names_graph_launch(trace.name(event)))
        });
        match (self, path) {
            (CaptureSource::Nowhere, _) => {
                captures.leaves_graphs = true;
                return Ok(captures);
            }
            _ if !launches_graphs => {
                if matches!(self, CaptureSource::Files(_) | CaptureSource::Traces(_)) {
                    let message = "captures are given, but the trace launches no graph".to_owned();
                    captures.note("CAPTURE_UNUSED", "", message);
                }
                return Ok(captures);
            }
            (CaptureSource::Files(paths), _) => {
                for file in CaptureFile::of(paths)? {
                    captures.push(Trace::open_with(&file.path, options)?, file.batch);
                }
            }
            (CaptureSource::Traces(traces), _) => {
                traces.iter().for_each(|trace| captures.push(trace.clone(), None));
            }
            (CaptureSource::Beside, Some(path)) => captures.add_beside(path, options)?,
            (CaptureSource::Beside, None) => {}
        }
        if Capture::is_one(trace) {
            captures.push(trace.clone(), None);
        }
        Ok(captures)
    }
}

impl Captures {
    fn add_beside(&mut self, path: &Path, options: &ReadOptions) -> Result<()> {
        let hint = "repair or remove the folder, or give the files of the captures";
        let files = match CaptureFile::beside(path) {
            Ok(files) => files,
            Err(error) if options.strict => return Err(error),
            Err(error) => {
                self.note("CAPTURE_UNREADABLE", hint, error.to_string());
                return Ok(());
            }
        };
        if !files.is_empty() {
            let found = format!("{} traces in {CAPTURE_FOLDER}/ beside the trace", files.len());
            self.note("CAPTURE_FOUND", "--no-captures leaves them aside", found);
        }
        for file in files {
            match Trace::open_with(&file.path, options) {
                Ok(trace) => self.push(trace, file.batch),
                Err(error) if options.strict || error.kind() == ErrorKind::Cancelled => {
                    return Err(error);
                }
                Err(error) => self.note("CAPTURE_UNREADABLE", hint, error.to_string()),
            }
        }
        Ok(())
    }

    /// The tree with captured calls, and with the parts of the program that kernels of graphs name; as it is where
    /// graphs are to be left as they are.
    ///
    /// # Errors
    /// If `reading` is strict and a capture was of no use.
    pub fn complete(
        &self,
        tree: CallTree,
        options: TreeOptions,
        reading: &ReadOptions,
    ) -> Result<CallTree> {
        let names_parts = !self.leaves_graphs && !tree.trace().regions().is_empty();
        if self.is_empty() && self.notes().is_empty() && !names_parts {
            return Ok(tree);
        }
        let tree = self.add_to(&tree, options);
        if reading.strict {
            Captures::strictly(&tree)?;
        }
        Ok(tree)
    }

    /// An error where a tree's notes say that a capture was of no use.
    ///
    /// # Errors
    /// If there is such a note.
    fn strictly(tree: &CallTree) -> Result<()> {
        match USELESS.iter().find_map(|code| tree.notes().get(code)) {
            None => Ok(()),
            Some(note) => Err(Error::new(
                ErrorKind::Malformed,
                tree.trace().source(),
                format!("{}: {}", note.code, note.message),
            )
            .remedy("without --strict the trace is read without this capture")),
        }
    }
}
