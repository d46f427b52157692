//! Writes the JSON text of a Kineto trace from nested closures. The nesting of the closures in a test equals the
//! nesting of the calls in the trace.
//!
//! ```ignore
//! let json = TraceBuilder::cuda()
//!     .thread("main", |t| {
//!         t.frame("train.py(3): step", |t| {
//!             t.op("aten::relu", |t| t.kernel("relu_kernel", 12.0));
//!         });
//!     })
//!     .json();
//! ```
//! Each call takes a fixed host time. Each kernel starts as soon as it has been launched and its stream is free. Times
//! do not depend on anything else, so identical closures produce identical bytes.

mod host_thread;
mod launch;
mod op;
mod platform;

pub use host_thread::HostThread;
pub use launch::Launch;
pub use op::Op;
pub use platform::Platform;

use serde_json::{Map, Value, json};

/// The time at which the clock of each thread starts, in ns after the trace's base time.
const START: i64 = 1_000_000;

/// A trace under construction.
#[derive(Debug)]
pub struct TraceBuilder {
    platform: Platform,
    events: Vec<Value>,
    threads: Vec<ThreadClock>,
    streams: Vec<StreamClock>,
    header: Map<String, Value>,
    flows: Flows,
    last_correlation: i64,
    last_external_id: i64,
    last_python_id: i64,
}

/// A host thread, with the thread's name and current time in ns.
#[derive(Debug)]
struct ThreadClock {
    name: String,
    now: i64,
    /// `External id` of each open op, outermost first.
    open_ops: Vec<i64>,
    /// `Python id` of each open frame, outermost first.
    open_frames: Vec<i64>,
    /// The stream that the thread's launches currently use.
    stream: i64,
}

/// A GPU stream, and the time at which it becomes free, in ns.
#[derive(Debug)]
struct StreamClock {
    stream: i64,
    free: i64,
}

/// GPU work to be queued on a stream, with times in ns.
#[derive(Debug)]
struct GpuWork<'a> {
    category: &'a str,
    name: &'a str,
    stream: i64,
    ready: i64,
    duration: i64,
    correlation: i64,
    args: Map<String, Value>,
}

/// Whether flow arrows from launches to GPU events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flows {
    Absent,
    Written,
}

impl TraceBuilder {
    /// An empty trace of an NVIDIA GPU.
    pub fn cuda() -> Self {
        Self::on(Platform::Cuda)
    }

    /// An empty trace of an AMD GPU.
    pub fn rocm() -> Self {
        Self::on(Platform::Rocm)
    }

    /// An empty trace of a given platform.
    pub fn on(platform: Platform) -> Self {
        TraceBuilder {
            platform,
            events: Vec::new(),
            threads: Vec::new(),
            streams: Vec::new(),
            header: platform.header(),
            flows: Flows::Absent,
            last_correlation: 0,
            last_external_id: 0,
            last_python_id: 0,
        }
    }

    /// Writes flow arrows from launches to GPU events, as in recorded traces.
    #[must_use]
    pub fn with_flows(mut self) -> Self {
        self.flows = Flows::Written;
        self
    }

    /// Sets a header field next to `traceEvents`.
    #[must_use]
    pub fn header(mut self, key: &str, value: Value) -> Self {
        self.header.insert(key.to_owned(), value);
        self
    }

    /// Runs `body` on the host thread named `name`; the thread is created if it does not exist yet.
    #[must_use]
    pub fn thread(mut self, name: &str, body: impl FnOnce(&mut HostThread<'_>)) -> Self {
        let index = self.thread_index(name);
        body(&mut HostThread { trace: &mut self, index });
        self
    }

    /// Adds a kernel whose launch is not in the trace, as if the kernel had been launched before the trace began.
    #[must_use]
    pub fn unlinked_kernel(mut self, name: &str, micros: f64) -> Self {
        let stream = self.platform.default_stream();
        let correlation = self.next_correlation();
        self.run_on_gpu(GpuWork {
            category: "kernel",
            name,
            stream,
            ready: 0,
            duration: nanos(micros),
            correlation,
            args: Map::new(),
        });
        self
    }

    /// Adds an event unchanged; use this method for events that no other method writes.
    #[must_use]
    pub fn event(mut self, event: Value) -> Self {
        self.events.push(event);
        self
    }

    /// The whole trace as JSON text, with one event per line. Events are written in the order in which they were added,
    /// so a host call precedes the calls below it. Thread names come last.
    pub fn json(mut self) -> String {
        self.name_threads();
        let fields = self.header.iter().map(|(key, value)| format!("{}: {value},\n", json!(key)));
        let events: Vec<String> = self.events.iter().map(Value::to_string).collect();
        let fields: String = fields.collect();
        format!("{{\n{fields}\"traceEvents\": [\n{}\n]}}\n", events.join(",\n"))
    }

    fn name_threads(&mut self) {
        let pid = self.platform.pid();
        self.events.push(metadata("process_name", pid, pid, "python3"));
        for index in 0..self.threads.len() {
            let tid = self.tid(index);
            let name = format!("thread {tid} ({})", self.threads[index].name);
            self.events.push(metadata("thread_name", pid, tid, &name));
        }
        for stream in self.streams.iter().map(|clock| clock.stream) {
            let name = format!("stream {stream} ");
            let device = self.platform.device();
            self.events.push(metadata("thread_name", device, stream, &name));
        }
    }

    fn thread_index(&mut self, name: &str) -> usize {
        if let Some(index) = self.threads.iter().position(|clock| clock.name == name) {
            return index;
        }
        self.threads.push(ThreadClock {
            name: name.to_owned(),
            now: START,
            open_ops: Vec::new(),
            open_frames: Vec::new(),
            stream: self.platform.default_stream(),
        });
        self.threads.len() - 1
    }

    /// The tid of a thread. The first thread is the main thread, whose tid equals the pid.
    fn tid(&self, thread: usize) -> i64 {
        self.platform.pid() + 97 * thread as i64
    }

    fn next_correlation(&mut self) -> i64 {
        self.last_correlation += 1;
        self.last_correlation
    }

    /// Queues GPU work on a stream and returns the start time. The work starts as soon as it is ready and the stream is
    /// free.
    fn run_on_gpu(&mut self, mut work: GpuWork<'_>) -> i64 {
        let clock = self.stream_index(work.stream);
        let start = work.ready.max(self.streams[clock].free);
        self.streams[clock].free = start + work.duration + self.platform.kernel_gap();
        let device = self.platform.device();
        work.args.insert("device".to_owned(), json!(device));
        work.args.insert("stream".to_owned(), json!(work.stream));
        work.args.insert("correlation".to_owned(), json!(work.correlation));
        self.events.push(json!({
            "ph": "X", "cat": work.category, "name": work.name, "pid": device, "tid": work.stream,
            "ts": micros(start), "dur": micros(work.duration), "args": work.args,
        }));
        start
    }

    fn stream_index(&mut self, stream: i64) -> usize {
        match self.streams.iter().position(|clock| clock.stream == stream) {
            Some(index) => index,
            None => {
                self.streams.push(StreamClock { stream, free: START });
                self.streams.len() - 1
            }
        }
    }
}

fn metadata(kind: &str, pid: i64, tid: i64, name: &str) -> Value {
    json!({"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0.0, "args": {"name": name}})
}

/// Converts ns to µs in the format used in traces.
fn micros(nanos: i64) -> f64 {
    nanos as f64 / 1000.0
}

/// Converts µs to ns.
fn nanos(micros: f64) -> i64 {
    (micros * 1000.0).round() as i64
}
