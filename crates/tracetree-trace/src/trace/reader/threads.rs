//! Maps the `pid` and `tid` of events to threads. The names of the threads come from metadata
//! events.

use super::cursor::Value;
use super::strings::{Form, Strings};
use crate::trace::columns::Thread;
use crate::trace::ids::ThreadId;
use crate::trace::texts::TextId;
use rustc_hash::FxHashMap;

/// Number of slots for recent threads, a power of two. Successive events often alternate between a
/// few threads.
const RECENT: usize = 16;

/// The threads of the trace that is being read.
#[derive(Debug, Default)]
pub(super) struct Threads {
    list: Vec<Thread>,
    ids: FxHashMap<(TextId, TextId), ThreadId>,
    thread_names: FxHashMap<(TextId, TextId), TextId>,
    process_names: FxHashMap<TextId, TextId>,
    recent: [Option<Recent>; RECENT],
}

/// A thread of recent events, with the raw bytes of its `pid` and `tid`. Most events belong to such
/// a thread.
#[derive(Debug)]
struct Recent {
    pid: Vec<u8>,
    tid: Vec<u8>,
    thread: ThreadId,
}

impl Threads {
    /// Returns the thread of an event and adds the thread if it is new.
    #[inline]
    pub(super) fn resolve(
        &mut self,
        pid: Value<'_>,
        tid: Value<'_>,
        strings: &mut Strings,
    ) -> ThreadId {
        let (pid, tid) = (raw(pid), raw(tid));
        let slot = slot(pid, tid);
        match &self.recent[slot] {
            Some(recent) if recent.pid == pid && recent.tid == tid => recent.thread,
            _ => self.find_or_add(pid, tid, slot, strings),
        }
    }

    #[inline(never)]
    fn find_or_add(
        &mut self,
        pid: &[u8],
        tid: &[u8],
        slot: usize,
        strings: &mut Strings,
    ) -> ThreadId {
        let key = (strings.intern(pid, Form::Text).0, strings.intern(tid, Form::Text).0);
        let thread = *self.ids.entry(key).or_insert_with(|| {
            let id = ThreadId(u32::try_from(self.list.len()).expect("fewer threads than events"));
            self.list.push(Thread { pid: key.0, tid: key.1, name: TextId::EMPTY });
            id
        });
        self.recent[slot] = Some(Recent { pid: pid.to_vec(), tid: tid.to_vec(), thread });
        thread
    }

    pub(super) fn get(&self, thread: ThreadId) -> &Thread {
        &self.list[thread.index()]
    }

    /// Remembers a `thread_name`.
    pub(super) fn name_thread(
        &mut self,
        pid: Value<'_>,
        tid: Value<'_>,
        name: TextId,
        strings: &mut Strings,
    ) {
        let key = (strings.intern(raw(pid), Form::Text).0, strings.intern(raw(tid), Form::Text).0);
        self.thread_names.insert(key, name);
    }

    /// Remembers a `process_name`.
    pub(super) fn name_process(&mut self, pid: Value<'_>, name: TextId, strings: &mut Strings) {
        let pid = strings.intern(raw(pid), Form::Text).0;
        self.process_names.insert(pid, name);
    }

    /// The name of a process, if an earlier metadata event named the process.
    pub(super) fn process_name(&self, pid: Value<'_>, strings: &mut Strings) -> Option<TextId> {
        if self.process_names.is_empty() {
            return None;
        }
        let pid = strings.intern(raw(pid), Form::Text).0;
        self.process_names.get(&pid).copied()
    }

    /// All threads that have events, with their names.
    pub(super) fn into_list(mut self) -> Vec<Thread> {
        for thread in &mut self.list {
            if let Some(&name) = self.thread_names.get(&(thread.pid, thread.tid)) {
                thread.name = name;
            }
        }
        self.list
    }
}

/// The bytes of a value; empty for `null`, an absent value, and a list or object.
pub(super) fn raw(value: Value<'_>) -> &[u8] {
    value.bytes().unwrap_or_default()
}

fn slot(pid: &[u8], tid: &[u8]) -> usize {
    let last = |bytes: &[u8]| bytes.last().copied().map_or(0, usize::from);
    (last(pid) * 3 + last(tid) + tid.len()) % RECENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_its_pid_and_tid_as_text() {
        let mut strings = Strings::default();
        let mut threads = Threads::default();
        let a = threads.resolve(Value::Scalar(b"7"), Value::Text(b"stream 7"), &mut strings);
        let b = threads.resolve(Value::Text(b"7"), Value::Text(b"stream 7"), &mut strings);
        let c = threads.resolve(Value::Null, Value::Scalar(b"7"), &mut strings);
        assert_eq!(a, b);
        assert_ne!(a, c);
        let name = strings.intern(b"main", Form::Text).0;
        threads.name_thread(Value::Scalar(b"7"), Value::Text(b"stream 7"), name, &mut strings);
        assert_eq!(threads.into_list()[a.index()].name, name);
    }
}
