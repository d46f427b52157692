//! Reads the JSON that `rocprofv3 --output-format json` writes.
//!
//! ```text
//! agents            GPUs                        kernel_dispatch, memory_copy   on a stream
//! kernel_symbols    names of kernels                 │ correlation_id.internal
//! strings           names of calls and ranges   hip_api, hsa_api               on a thread
//!                                               marker_api, rccl_api
//! ```
//!
//! A file contains a list of processes. The uid of a record is its position among the records of
//! all [`LISTS`](records::LISTS), first by process, then by list, then by position.

mod names;
mod records;

use super::super::options::ReadOptions;
use super::super::source::Source;
use super::rows::Rows;
use super::source::{TraceSource, begins};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::trace::columns::Trace;
use crate::trace::header::Recorder;

/// The key that contains everything else.
const TOP: &str = "rocprofiler-sdk-tool";

/// The beginning of a file, without white space.
const HEAD: &[u8] = br#"{"rocprofiler-sdk-tool""#;

/// JSON from rocprofv3.
pub(super) struct Rocprof;

impl TraceSource for Rocprof {
    fn recognises(&self, head: &[u8]) -> bool {
        begins(head, HEAD) == Some(true)
    }

    fn needs_more(&self, head: &[u8]) -> bool {
        begins(head, HEAD).is_none()
    }

    fn read(&self, mut source: Source<'_>, options: &ReadOptions) -> Result<Trace> {
        let rows = read(source.name(), &mut source.whole()?)?;
        rows.finish(source, options)
    }
}

/// Reads the records of all processes. Overwrites the bytes, because strings are unescaped in
/// place.
fn read(name: &str, bytes: &mut [u8]) -> Result<Rows> {
    let malformed = |offset: usize, message: String| {
        Error::new(ErrorKind::Malformed, name, message)
            .at(Place { offset: offset as u64, event: None })
            .remedy("copy the file again, or record again with rocprofv3 --output-format json")
    };
    let tape = simd_json::to_tape(bytes).map_err(|error| {
        malformed(error.index(), format!("the file is truncated or damaged: {error}"))
    })?;
    let processes = tape.as_value().get_array(TOP);
    let processes =
        processes.ok_or_else(|| malformed(0, format!("`{TOP}` is not a list of processes")))?;
    let mut rows = Rows::default();
    rows.header().recorder = Recorder::Rocprof;
    for process in &processes {
        records::read(name, &process, &mut rows)?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognized_by_its_first_key() {
        assert!(Rocprof.recognises(b"{\"rocprofiler-sdk-tool\": [{"));
        assert!(Rocprof.recognises(b"\n{\n  \"rocprofiler-sdk-tool\" : ["));
        assert!(!Rocprof.recognises(b"{\"rocprofiler-sdk\": 1}"));
        assert!(Rocprof.needs_more(b"{\"rocprof") && !Rocprof.needs_more(b"{\"traceEvents"));
    }

    #[test]
    fn damage_has_a_position_and_a_remedy() {
        let mut text = b"{\"rocprofiler-sdk-tool\": [{]}".to_vec();
        let error = read("t", &mut text).err().expect("damaged").to_string();
        assert!(error.starts_with("t: byte ") && error.contains("--output-format json"), "{error}");
        let mut text = b"{\"rocprofiler-sdk-tool\": 3}".to_vec();
        let error = read("t", &mut text).err().expect("no list").to_string();
        assert!(error.contains("is not a list of processes"), "{error}");
    }
}
