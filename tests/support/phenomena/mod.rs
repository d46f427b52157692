//! Phenomena that occur in real pairs of traces. Each is reproduced with two traces that are as small as possible.
//!
//! Each phenomenon has a folder in `tests/fixtures` with a README and the two traces. The example `make_fixtures`
//! writes these traces from the closures defined in this folder.

mod gpu_work;
mod lowering;
mod order;
mod recorders;
mod threads;
mod wrappers;

use super::root;
use super::trace_builder::TraceBuilder;
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;
use tracetree::PerSide;

/// A phenomenon is one way in which two traces differ.
#[derive(Debug, Clone, Copy)]
pub struct Phenomenon {
    /// The name of the phenomenon's folder and snapshot.
    pub name: &'static str,
    build: fn() -> PerSide<String>,
}

/// All phenomena, sorted by name.
pub const ALL: [Phenomenon; 22] = [
    Phenomenon { name: "backward_thread", build: threads::backward_thread },
    Phenomenon { name: "bias_add", build: lowering::bias_add },
    Phenomenon { name: "bleeding_calls", build: recorders::bleeding_calls },
    Phenomenon { name: "cpu_only", build: gpu_work::cpu_only },
    Phenomenon { name: "dropped_op", build: order::dropped_op },
    Phenomenon { name: "external_id_era", build: recorders::external_id_era },
    Phenomenon { name: "format_2021", build: recorders::format_2021 },
    Phenomenon { name: "graph_launch", build: lowering::graph_launch },
    Phenomenon { name: "inserted_op", build: order::inserted_op },
    Phenomenon { name: "launch_without_op", build: gpu_work::launch_without_op },
    Phenomenon { name: "memset_on_one_side", build: lowering::memset_on_one_side },
    Phenomenon { name: "module_numbers", build: order::module_numbers },
    Phenomenon { name: "moved_neighbours", build: order::moved_neighbours },
    Phenomenon { name: "nothing_in_common", build: wrappers::nothing_in_common },
    Phenomenon { name: "overlapping_kernels", build: gpu_work::overlapping_kernels },
    Phenomenon { name: "rename", build: lowering::rename },
    Phenomenon { name: "step_numbers", build: order::step_numbers },
    Phenomenon { name: "threads_exchanged", build: threads::threads_exchanged },
    Phenomenon { name: "unlinked_gpu_events", build: gpu_work::unlinked_gpu_events },
    Phenomenon { name: "wrapper", build: wrappers::wrapper },
    Phenomenon { name: "wrappers_in_wrappers", build: wrappers::wrappers_in_wrappers },
    Phenomenon { name: "wrappers_on_both_sides", build: wrappers::wrappers_on_both_sides },
];

impl Phenomenon {
    /// The phenomenon with the given name.
    ///
    /// # Panics
    /// Panics if no phenomenon has this name, for example because a test misspells it.
    pub fn of(name: &str) -> Phenomenon {
        *ALL.iter().find(|known| known.name == name).expect("the name of a phenomenon")
    }

    /// The JSON text of both traces, with one event per line.
    pub fn texts(&self) -> PerSide<String> {
        (self.build)().map(|json| one_event_a_line(&json))
    }

    /// The phenomenon's folder.
    pub fn folder(&self) -> PathBuf {
        root().join("tests/fixtures").join(self.name)
    }

    /// The phenomenon's two trace files.
    pub fn files(&self) -> PerSide<PathBuf> {
        PerSide::new("baseline.json", "candidate.json").map(|file| self.folder().join(file))
    }
}

/// Builds two traces, and returns their JSON texts.
fn pair(baseline: TraceBuilder, candidate: TraceBuilder) -> PerSide<String> {
    PerSide::new(baseline.json(), candidate.json())
}

/// Writes a trace with one event per line, so that a diff of the file is readable.
fn one_event_a_line(json: &str) -> String {
    let mut trace: Value = serde_json::from_str(json).expect("the builder writes JSON");
    let fields = trace.as_object_mut().expect("a trace is an object");
    let events = fields.remove("traceEvents").unwrap_or_default();
    let mut text = String::from("{\n");
    for (key, value) in fields {
        writeln!(text, "\"{key}\": {value},").expect("writing to a string does not fail");
    }
    let lines: Vec<String> =
        events.as_array().into_iter().flatten().map(Value::to_string).collect();
    text.push_str("\"traceEvents\": [\n");
    text.push_str(&lines.join(",\n"));
    text.push_str("\n]\n}\n");
    text
}
