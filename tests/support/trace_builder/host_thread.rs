//! Generates the activity on a host thread: frames, ops, runtime calls and waiting.

use super::{Launch, Op, TraceBuilder, micros, nanos};
use serde_json::{Map, Value, json};

/// Host time in a call before its first child and after its last child, in ns.
const FRAME: (i64, i64) = (640, 410);
const OP: (i64, i64) = (1_830, 1_120);
const ANNOTATION: (i64, i64) = (900, 300);
/// Host time between two consecutive calls, in ns.
const BETWEEN: i64 = 130;
/// Host time in a runtime call that launches nothing, in ns.
const QUERY: i64 = 450;

/// A host thread of the trace under construction, to which calls are added.
#[derive(Debug)]
pub struct HostThread<'a> {
    pub(super) trace: &'a mut TraceBuilder,
    pub(super) index: usize,
}

impl HostThread<'_> {
    /// Adds a Python frame, such as `train.py(3): step`, around the calls in `body`.
    pub fn frame(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        self.trace.last_python_id += 1;
        let id = self.trace.last_python_id;
        let parent = self.clock().open_frames.last().copied();
        let mut args = Map::new();
        args.insert("Python id".to_owned(), json!(id));
        args.insert("Python parent id".to_owned(), json!(parent));
        if name.starts_with("nn.Module: ") {
            args.insert("Python module id".to_owned(), json!(instance_number(name)));
        }
        let slot = self.open("python_function", name, &args, FRAME.0);
        self.clock().open_frames.push(id);
        body(self);
        self.clock().open_frames.pop();
        self.close(slot, FRAME.1);
    }

    /// Adds a call of an `nn.Module`: `module("Linear_3", …)` is the frame `nn.Module: Linear_3`.
    pub fn module(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        self.frame(&format!("nn.Module: {name}"), body);
    }

    /// Adds an op around the calls in `body`.
    pub fn op(&mut self, op: impl Into<Op>, body: impl FnOnce(&mut Self)) {
        let Op { name, mut args } = op.into();
        self.trace.last_external_id += 1;
        let id = self.trace.last_external_id;
        args.insert("External id".to_owned(), json!(id));
        let slot = self.open("cpu_op", &name, &args, OP.0);
        self.clock().open_ops.push(id);
        body(self);
        self.clock().open_ops.pop();
        self.close(slot, OP.1);
    }

    /// Adds an op without any calls below it.
    pub fn leaf(&mut self, op: impl Into<Op>) {
        self.op(op, |_| {});
    }

    /// Adds a `user_annotation` around the calls in `body`. An annotation is an interval, not a
    /// call.
    pub fn annotation(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        self.trace.last_external_id += 1;
        let id = self.trace.last_external_id;
        let args = external_id(id);
        let slot = self.open("user_annotation", name, &args, ANNOTATION.0);
        body(self);
        self.close(slot, ANNOTATION.1);
    }

    /// Adds the recorded step `ProfilerStep#number` around the calls in `body`.
    pub fn step(&mut self, number: u32, body: impl FnOnce(&mut Self)) {
        self.annotation(&format!("ProfilerStep#{number}"), body);
    }

    /// Adds a runtime call that starts no GPU work, such as `cudaEventRecord`.
    pub fn call(&mut self, api: &str) {
        self.call_for(api, QUERY as f64 / 1000.0);
    }

    /// Adds a runtime call that takes `micros` µs and starts no GPU work, such as a synchronization.
    pub fn call_for(&mut self, api: &str, micros: f64) {
        let correlation = self.trace.next_correlation();
        let args = self.runtime_args(correlation);
        let slot = self.open(self.trace.platform.category_of(api), api, &args, nanos(micros));
        self.close(slot, 0);
    }

    /// Begins a launch with the runtime call `api`. Call a method of the returned value to specify
    /// the GPU work.
    pub fn launch(&mut self, api: &str) -> Launch<'_> {
        Launch::new(self.trace, self.index, api)
    }

    /// Adds a kernel launched through the API that ATen uses for its own kernels.
    pub fn kernel(&mut self, name: &str, micros: f64) {
        let api = self.trace.platform.launch_api();
        self.launch(api).kernel(name, micros);
    }

    /// Adds a copy, such as `Memcpy HtoD (Host -> Device)`.
    pub fn memcpy(&mut self, name: &str, bytes: u64, micros: f64) {
        let api = self.trace.platform.memcpy_api();
        self.launch(api).memcpy(name, bytes, micros);
    }

    /// Adds a memset call and its GPU event.
    pub fn memset(&mut self, bytes: u64, micros: f64) {
        let api = self.trace.platform.memset_api();
        self.launch(api).memset(bytes, micros);
    }

    /// Makes this thread wait while another thread runs `body`.
    pub fn wait_for(&mut self, thread: &str, body: impl FnOnce(&mut HostThread<'_>)) {
        let now = self.clock().now;
        let index = self.trace.thread_index(thread);
        let other = &mut self.trace.threads[index];
        other.now = other.now.max(now);
        body(&mut HostThread { trace: self.trace, index });
        let done = self.trace.threads[index].now;
        self.clock().now = done;
    }

    /// Makes this thread wait until the stream that it currently uses has finished all work.
    pub fn synchronize(&mut self, api: &str) {
        let stream = self.clock().stream;
        let at = self.trace.stream_index(stream);
        let wait = self.trace.streams[at].free - self.clock().now;
        self.call_for(api, micros(wait.max(QUERY)));
    }

    /// Sends the launches in `body` to the given stream.
    pub fn on_stream(&mut self, stream: i64, body: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.clock().stream, stream);
        body(self);
        self.clock().stream = before;
    }

    /// Adds `micros` µs of host time without recorded events.
    pub fn idle(&mut self, micros: f64) {
        self.clock().now += nanos(micros);
    }

    pub(super) fn runtime_args(&mut self, correlation: i64) -> Map<String, Value> {
        let mut args = match self.clock().open_ops.last() {
            Some(&id) => external_id(id),
            None => Map::new(),
        };
        args.insert(self.trace.platform.function_key().to_owned(), json!(211));
        args.insert("correlation".to_owned(), json!(correlation));
        args
    }

    /// Begins an event at the current time, and then advances the thread's time by `before` ns.
    pub(super) fn open(
        &mut self,
        category: &str,
        name: &str,
        args: &Map<String, Value>,
        before: i64,
    ) -> Slot {
        let start = self.clock().now;
        self.trace.events.push(json!({
            "ph": "X", "cat": category, "name": name,
            "pid": self.trace.platform.pid(), "tid": self.trace.tid(self.index),
            "ts": micros(start), "args": args,
        }));
        self.clock().now += before;
        Slot { position: self.trace.events.len() - 1, start }
    }

    /// Advances the thread's time by `after` ns, and then ends the event.
    pub(super) fn close(&mut self, slot: Slot, after: i64) {
        self.clock().now += after;
        let duration = self.clock().now - slot.start;
        self.trace.events[slot.position]["dur"] = json!(micros(duration));
        self.clock().now += BETWEEN;
    }

    pub(super) fn clock(&mut self) -> &mut super::ThreadClock {
        &mut self.trace.threads[self.index]
    }
}

/// An event that has begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    position: usize,
    start: i64,
}

fn external_id(id: i64) -> Map<String, Value> {
    Map::from_iter([("External id".to_owned(), json!(id))])
}

/// `nn.Module: Linear_3` → 3.
fn instance_number(name: &str) -> i64 {
    name.rsplit('_').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
