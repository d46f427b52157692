//! Converts between a [`CallTree`] and a [`StoredTree`], which consists of columns of numbers that
//! can be stored in a file.
//!
//! Calls are stored in preorder with their depths, so they can be nested and linked again without
//! times or ids. Most Python frames are stored without times. When the tree is restored, a frame
//! without times gets the time span of the host calls below it. If there are no host calls below
//! the frame, it gets the start of the last host call with times before it on the same thread. Each
//! start is stored as the distance from the previous start, so two steps with the same timing are
//! stored as equal numbers.
//!
//! Annotations are not calls, but they mark steps and phases, so they are stored in a separate
//! list. Flow arrows, ids, notes and memory events are omitted, because the alignment does not use
//! them.

mod read;
mod write;

use crate::trace::{CapturedAs, Category, Header};
use serde::{Deserialize, Serialize};

/// The columns that represent a tree in a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct StoredTree {
    texts: Vec<String>,
    /// `pid`, `tid` and name of each thread.
    threads: Vec<[u32; 3]>,
    streams: Vec<(i64, i64)>,
    /// For each argument record, its dims, types, strides and concrete inputs.
    arguments: Vec<[u32; 4]>,
    header: Header,
    /// Depth of each call, in preorder.
    depths: Vec<u32>,
    /// For each call, the index of its category in [`KINDS`], or the code of a root.
    kinds: Vec<u8>,
    /// For each call, the index of its name or, for a thread root, the index of the thread.
    names: Vec<u32>,
    thread_of: Vec<u32>,
    starts: Vec<i64>,
    durations: Vec<i64>,
    /// For each call, the index of its arguments plus 1, or 0 if the call has no arguments.
    arguments_of: Vec<u32>,
    /// For each annotation, its name, thread, start (as the distance from the previous start) and
    /// duration.
    annotations: Vec<(u32, u32, i64, i64)>,
    /// This column and the columns after it contain values for only a few calls.
    captured: Column<u8>,
    stream_of: Column<u32>,
    bytes: Column<u64>,
    grids: Column<[u32; 2]>,
    sequences: Column<(i64, i64)>,
    regions: Column<u32>,
    collectives: Column<u32>,
    groups: Column<u32>,
    messages: Column<(u64, u64, u64, u32)>,
}

/// A column with values for only a few calls. For each value, `at` contains the number of calls
/// without a value directly before it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Column<T> {
    at: Vec<u32>,
    values: Vec<T>,
    /// The call after the last call that has a value.
    #[serde(skip)]
    next: usize,
}

/// The categories of events that become calls. The code of a category is its position in this list.
const KINDS: [Category; 6] = [
    Category::PythonFunction,
    Category::CpuOp,
    Category::Runtime,
    Category::Kernel,
    Category::Memcpy,
    Category::Memset,
];
/// Codes of the two kinds of roots.
const THREAD: u8 = 6;
const UNLINKED_ROOT: u8 = 7;

/// The variants of [`CapturedAs`]. The code of a variant is its position in this list.
const CAPTURED: [CapturedAs; 2] = [CapturedAs::Call, CapturedAs::Part];

/// Times are clamped to at most this value, so that the sum of two times does not overflow.
const LONGEST: i64 = i64::MAX / 4;

impl<T> Column<T> {
    /// Adds the value of a call that is after all calls with a value.
    fn push(&mut self, call: usize, value: T) {
        self.at.push((call - self.next) as u32);
        self.values.push(value);
        self.next = call + 1;
    }

    /// The calls that have a value in this column.
    fn calls(&self) -> impl Iterator<Item = usize> {
        self.at.iter().scan(0_usize, |next, &distance| {
            let at = *next + distance as usize;
            *next = at + 1;
            Some(at)
        })
    }

    /// The calls that have a value in this column, with their values.
    fn entries(self, calls: usize) -> Result<Vec<(usize, T)>, String> {
        if self.at.len() != self.values.len() {
            return Err("the columns differ in length".to_owned());
        }
        let at: Vec<usize> = self.calls().collect();
        match at.last().filter(|&&last| last >= calls) {
            Some(last) => Err(format!("call {last} does not exist")),
            None => Ok(at.into_iter().zip(self.values).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::{ReadOptions, Trace};
    use crate::tree::CallTree;

    #[test]
    fn a_column_without_values_for_its_calls_is_refused() {
        let text = r#"[{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2}]"#;
        let trace = Trace::from_reader("a trace", text.as_bytes(), &ReadOptions::default());
        let tree = CallTree::build(trace.expect("a trace"));
        let time = |event| (tree.trace().start(event), tree.trace().duration(event));
        let stored = || tree.stored(|_| true, |_| true, time, |name| name.into());
        assert_eq!(stored().restored("a tree").map(|tree| tree.len()), Ok(tree.len()));
        let mut damaged = stored();
        damaged.captured.at = vec![0; 3];
        assert!(damaged.restored("a tree").is_err());
    }
}
