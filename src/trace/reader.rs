//! A file of bytes → [`Trace`].

use super::columns::*;
use super::notes::Notes;
use super::texts::TextId;
use super::time::Nanos;
use crate::error::{Error, ErrorKind, Result};
use simd_json::OwnedValue as Value;
use simd_json::prelude::*;
use std::io::Read;
use std::path::Path;

/// How a trace is read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Repairs become errors.
    pub strict: bool,
}

impl Trace {
    /// Reads the trace at `path`: JSON, plain or gzip (decided by its first bytes, not its name).
    ///
    /// # Errors
    /// If the file cannot be opened, is not JSON, or holds no trace.
    pub fn read(path: impl AsRef<Path>) -> Result<Trace> {
        Trace::read_with(path, &ReadOptions::default())
    }

    /// Like [`Trace::read`], with options.
    ///
    /// # Errors
    /// Like [`Trace::read`].
    pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Trace> {
        let path = path.as_ref();
        let file = std::fs::File::open(path).map_err(|e| Error::io(path, "open the trace", e))?;
        Trace::from_reader(&path.display().to_string(), file, options)
    }

    /// Reads a trace from any source of bytes; `name` stands for it in messages.
    ///
    /// # Errors
    /// Like [`Trace::read`].
    pub fn from_reader(name: &str, mut source: impl Read, _options: &ReadOptions) -> Result<Trace> {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).map_err(|e| Error::io(name, "read the trace", e))?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let mut out = Vec::new();
            flate2::read::MultiGzDecoder::new(&bytes[..])
                .read_to_end(&mut out)
                .map_err(|e| Error::io(name, "unpack the trace", e))?;
            bytes = out;
        }
        let mut t = Trace { source: name.to_owned(), notes: Notes::default(), ..Trace::default() };
        t.unpacked_bytes = bytes.len() as u64;
        let v: Value = simd_json::to_owned_value(&mut bytes)
            .map_err(|e| Error::new(ErrorKind::Malformed, name, format!("not JSON: {e}")))?;
        let events = match &v {
            Value::Array(a) => a,
            v => v
                .get_array("traceEvents")
                .ok_or_else(|| Error::new(ErrorKind::NotATrace, name, "no traceEvents"))?,
        };
        let mut threads = std::collections::HashMap::new();
        let mut args_ids = std::collections::HashMap::new();
        for (i, e) in events.iter().enumerate() {
            let uid = Uid(i as u32);
            let ns = |k: &str| {
                e.get(k)
                    .map(|v| match v.as_f64() {
                        Some(f) => Nanos((f * 1000.0).round() as i64),
                        None => Nanos(
                            (v.as_str().and_then(|s| s.parse::<f64>().ok()).unwrap_or(0.0) * 1000.0)
                                .round() as i64,
                        ),
                    })
                    .unwrap_or_default()
            };
            let txt = |k: &str| {
                e.get(k)
                    .map(|v| v.as_str().map_or_else(|| v.encode(), str::to_owned))
                    .unwrap_or_default()
            };
            let cat = txt("cat");
            let ph = txt("ph");
            let key = (txt("pid"), txt("tid"));
            let mut thread = |t: &mut Trace| {
                *threads.entry(key.clone()).or_insert_with(|| {
                    let th = Thread {
                        pid: t.texts.intern(&key.0),
                        tid: t.texts.intern(&key.1),
                        name: TextId::EMPTY,
                    };
                    t.threads.push(th);
                    ThreadId(t.threads.len() as u32 - 1)
                })
            };
            let args = e.get("args");
            let int = |k: &str| {
                args.and_then(|a| a.get(k))
                    .and_then(|v| v.as_i64().or_else(|| v.as_str().and_then(|s| s.parse().ok())))
            };
            t.total_events += 1;
            if ph == "s" || ph == "f" || ph == "t" {
                let thread = thread(&mut t);
                let category = t.texts.intern(&cat);
                t.flows.push(FlowPoint {
                    uid,
                    id: e.get_i64("id").unwrap_or(0),
                    category,
                    end: if ph == "s" { FlowEnd::Start } else { FlowEnd::Finish },
                    thread,
                    time: ns("ts"),
                });
                continue;
            }
            if ph == "M" && txt("name") == "thread_name" {
                let th = thread(&mut t);
                let n = args.and_then(|a| a.get_str("name")).unwrap_or("");
                t.threads[th.index()].name = t.texts.intern(n);
            }
            if ph != "X" {
                continue;
            }
            let category = match cat.as_str() {
                "cpu_op" | "Operator" => Category::CpuOp,
                "python_function" => Category::PythonFunction,
                "cuda_runtime" | "cuda_driver" | "Runtime" => Category::Runtime,
                "kernel" | "Kernel" => Category::Kernel,
                "gpu_memcpy" | "Memcpy" => Category::Memcpy,
                "gpu_memset" | "Memset" => Category::Memset,
                "user_annotation" => Category::UserAnnotation,
                "gpu_user_annotation" => Category::GpuUserAnnotation,
                _ => continue,
            };
            let id = EventId(t.uids.len() as u32);
            t.uids.push(uid);
            t.categories.push(category);
            let n = t.texts.intern(&txt("name"));
            t.names.push(n);
            let th = thread(&mut t);
            t.event_threads.push(th);
            t.starts.push(ns("ts"));
            t.durations.push(ns("dur"));
            let mut raw = |k: &str| {
                args.and_then(|a| a.get(k))
                    .map(|v| v.encode().replace(',', ", "))
                    .map_or(TextId::EMPTY, |s| t.texts.intern(&s))
            };
            let mut a = Arguments {
                dims: raw("Input Dims"),
                types: raw("Input type"),
                strides: raw("Input Strides"),
                concrete: raw("Concrete Inputs"),
            };
            if a.dims == TextId::EMPTY {
                a.dims = raw("Input dims");
            }
            let aid = if a == Arguments::default() {
                u32::MAX
            } else {
                *args_ids.entry(a).or_insert_with(|| {
                    t.arguments.push(a);
                    t.arguments.len() as u32 - 1
                })
            };
            t.event_arguments.push(aid);
            if category.is_gpu() || category == Category::Runtime {
                if let Some(c) = int("correlation") {
                    t.correlations.push(id, c);
                }
            }
            if let Some(c) = int("External id").or_else(|| int("external id")) {
                t.external_ids.push(id, c);
            }
            if let Some(number) = int("Sequence number") {
                t.sequences.push(
                    id,
                    Sequence { number, forward_thread: int("Fwd thread id").unwrap_or(0) },
                );
            }
            if category.is_gpu() {
                t.gpu_details.push(
                    id,
                    GpuDetails {
                        device: int("device").unwrap_or(0),
                        stream: int("stream").unwrap_or(0),
                        bytes: None,
                        graph_node: None,
                        collective: TextId::EMPTY,
                    },
                );
            }
        }
        Ok(t)
    }
}
