//! Adds the GPU events that a launch call starts: a kernel, a copy, a memset, or all kernels of a
//! graph.

use super::host_thread::{HostThread, Slot};
use super::{Flows, GpuWork, TraceBuilder, micros, nanos};
use serde_json::{Map, Value, json};

/// Host time in a launch call, in ns.
const LAUNCH: i64 = 4_700;

/// A launch call whose GPU work has not been specified yet.
#[derive(Debug)]
pub struct Launch<'a> {
    host: HostThread<'a>,
    slot: Slot,
    begun: i64,
    correlation: i64,
    external_id: Option<i64>,
    details: Map<String, Value>,
}

impl<'a> Launch<'a> {
    pub(super) fn new(trace: &'a mut TraceBuilder, index: usize, api: &str) -> Self {
        let mut host = HostThread { trace, index };
        let correlation = host.trace.next_correlation();
        let args = host.runtime_args(correlation);
        let begun = host.clock().now;
        let external_id = host.clock().open_ops.last().copied();
        let category = host.trace.platform.category_of(api);
        let slot = host.open(category, api, &args, LAUNCH);
        Launch { host, slot, begun, correlation, external_id, details: Map::new() }
    }

    /// Sets the kernel's grid and block.
    #[must_use]
    pub fn grid(mut self, grid: [u32; 3], block: [u32; 3]) -> Self {
        self.details.insert("grid".to_owned(), json!(grid));
        self.details.insert("block".to_owned(), json!(block));
        self
    }

    /// Starts one kernel that takes `micros` µs.
    pub fn kernel(mut self, name: &str, micros: f64) {
        let details = std::mem::take(&mut self.details);
        self.run("kernel", name, micros, details);
        self.end();
    }

    /// Starts one copy that takes `micros` µs.
    pub fn memcpy(mut self, name: &str, bytes: u64, micros: f64) {
        self.run("gpu_memcpy", name, micros, Map::from_iter([("bytes".to_owned(), json!(bytes))]));
        self.end();
    }

    /// Starts one memset that takes `micros` µs.
    pub fn memset(mut self, bytes: u64, micros: f64) {
        let details = Map::from_iter([("bytes".to_owned(), json!(bytes))]);
        self.run("gpu_memset", "Memset (Device)", micros, details);
        self.end();
    }

    /// Starts many kernels with this single launch, like the launch of a captured graph.
    pub fn graph(mut self, body: impl FnOnce(&mut Graph<'_, 'a>)) {
        body(&mut Graph { launch: &mut self });
        self.end();
    }

    /// Starts no GPU work: only the call is recorded.
    pub fn nothing(self) {
        self.end();
    }

    fn run(&mut self, category: &str, name: &str, micros: f64, mut details: Map<String, Value>) {
        if let Some(id) = self.external_id {
            details.insert("External id".to_owned(), json!(id));
        }
        let stream = self.host.clock().stream;
        let trace = &mut *self.host.trace;
        let ready = self.begun + trace.platform.launch_latency();
        let start = trace.run_on_gpu(GpuWork {
            category,
            name,
            stream,
            ready,
            duration: nanos(micros),
            correlation: self.correlation,
            args: details,
        });
        self.draw_flow(stream, start);
    }

    fn draw_flow(&mut self, stream: i64, arrives: i64) {
        let trace = &mut *self.host.trace;
        if trace.flows == Flows::Absent {
            return;
        }
        let (pid, tid) = (trace.platform.pid(), trace.tid(self.host.index));
        trace.events.push(json!({
            "ph": "s", "id": self.correlation, "pid": pid, "tid": tid,
            "ts": micros(self.begun), "cat": "ac2g", "name": "ac2g",
        }));
        trace.events.push(json!({
            "ph": "f", "id": self.correlation, "pid": trace.platform.device(), "tid": stream,
            "ts": micros(arrives), "cat": "ac2g", "name": "ac2g", "bp": "e",
        }));
    }

    fn end(mut self) {
        self.host.close(self.slot, 0);
    }
}

/// The kernels of one graph launch.
#[derive(Debug)]
pub struct Graph<'l, 'a> {
    launch: &'l mut Launch<'a>,
}

impl Graph<'_, '_> {
    /// Adds a kernel that takes `micros` µs to the graph.
    pub fn kernel(&mut self, name: &str, micros: f64) {
        self.launch.run("kernel", name, micros, Map::new());
    }

    /// Adds a kernel with additional arguments to the graph. The value `arguments` must be a JSON
    /// object.
    pub fn annotated(&mut self, name: &str, micros: f64, arguments: &Value) {
        let details = arguments.as_object().expect("arguments are an object").clone();
        self.launch.run("kernel", name, micros, details);
    }

    /// Adds a memset that takes `micros` µs to the graph.
    pub fn memset(&mut self, bytes: u64, micros: f64) {
        let details = Map::from_iter([("bytes".to_owned(), json!(bytes))]);
        self.launch.run("gpu_memset", "Memset (Device)", micros, details);
    }
}
