//! Ways to remove or damage data in an intact trace.

use crate::support::splitmix::SplitMix;
use serde_json::{Value, json};

/// The parsed document of a trace.
pub(super) struct Document(pub(super) Value);

/// Selects the events to change.
type Wanted<'a> = &'a dyn Fn(&Value) -> bool;

impl Document {
    pub(super) fn parse(bytes: &[u8]) -> Document {
        Document(serde_json::from_slice(bytes).expect("a sound trace is JSON"))
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).expect("a value is JSON")
    }

    pub(super) fn events(&mut self) -> &mut Vec<Value> {
        self.0["traceEvents"].as_array_mut().expect("a list of events")
    }

    pub(super) fn remove(&mut self, wanted: Wanted<'_>) {
        self.events().retain(|event| !wanted(event));
    }

    /// Removes the selected events except the first `kept`.
    pub(super) fn keep_first(&mut self, kept: usize, wanted: Wanted<'_>) {
        let mut seen = 0;
        self.events().retain(|event| {
            seen += usize::from(wanted(event));
            !wanted(event) || seen <= kept
        });
    }

    /// Removes one in `of` of the selected events, chosen at random, but at least one event.
    pub(super) fn thin(&mut self, of: usize, random: &mut SplitMix, wanted: Wanted<'_>) {
        let all: Vec<usize> =
            (0..self.events().len()).filter(|&at| wanted(&self.events()[at])).collect();
        let mut gone = random.sample(&all, (all.len() / of).max(1));
        gone.sort_unstable();
        let mut at = 0;
        self.events().retain(|_| {
            at += 1;
            gone.binary_search(&(at - 1)).is_err()
        });
    }

    /// Sets a field of all selected events.
    pub(super) fn set(&mut self, field: &str, value: &Value, wanted: Wanted<'_>) {
        for event in self.events().iter_mut().filter(|event| wanted(event)) {
            event[field] = value.clone();
        }
    }

    /// Sets an argument of all selected events.
    pub(super) fn set_argument(&mut self, name: &str, value: &Value, wanted: Wanted<'_>) {
        for event in self.events().iter_mut().filter(|event| wanted(event)) {
            event["args"][name] = value.clone();
        }
    }

    /// Removes the named arguments from every event.
    pub(super) fn remove_arguments(&mut self, names: &[&str]) {
        for event in self.events().iter_mut() {
            if let Some(args) = event["args"].as_object_mut() {
                names.iter().for_each(|name| drop(args.remove(*name)));
            }
        }
    }

    /// Removes the selected launches together with the GPU events that they launched.
    pub(super) fn remove_work(&mut self, wanted: Wanted<'_>) {
        let ids: std::collections::BTreeSet<i64> =
            self.events().iter().filter(|event| wanted(event)).filter_map(correlation).collect();
        self.remove(&|event| {
            (is_gpu(event) || is_runtime(event))
                && correlation(event).is_some_and(|id| ids.contains(&id))
        });
    }

    /// Start and end times of the recorded steps, sorted by start.
    pub(super) fn steps(&mut self) -> Vec<(f64, f64)> {
        let mut steps: Vec<(f64, f64)> = self
            .events()
            .iter()
            .filter(|event| is_step(event))
            .map(|event| (start(event), start(event) + event["dur"].as_f64().unwrap_or(0.0)))
            .collect();
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        steps
    }

    /// Selects the runtime calls in a recorded step.
    pub(super) fn is_launched_in(&mut self, step: usize) -> impl Fn(&Value) -> bool + use<> {
        let (begin, end) = self.steps()[step];
        move |event| is_runtime(event) && (begin..end).contains(&start(event))
    }
}

pub(super) fn category(event: &Value) -> &str {
    event["cat"].as_str().unwrap_or_default()
}

pub(super) fn name(event: &Value) -> &str {
    event["name"].as_str().unwrap_or_default()
}

pub(super) fn start(event: &Value) -> f64 {
    event["ts"].as_f64().unwrap_or(0.0)
}

pub(super) fn correlation(event: &Value) -> Option<i64> {
    event["args"]["correlation"].as_i64().filter(|&id| id > 0)
}

pub(super) fn is_kernel(event: &Value) -> bool {
    category(event) == "kernel"
}

pub(super) fn is_gpu(event: &Value) -> bool {
    matches!(category(event), "kernel" | "gpu_memcpy" | "gpu_memset")
}

pub(super) fn is_runtime(event: &Value) -> bool {
    matches!(category(event), "cuda_runtime" | "cuda_driver")
}

pub(super) fn is_launch(event: &Value) -> bool {
    is_runtime(event) && name(event).contains("Launch")
}

pub(super) fn is_op(event: &Value) -> bool {
    category(event) == "cpu_op"
}

pub(super) fn is_step(event: &Value) -> bool {
    category(event) == "user_annotation" && name(event).starts_with("ProfilerStep#")
}

/// A way to damage a parsed trace.
pub(super) type Way = fn(&mut Document, &mut SplitMix);

/// Ways to damage a trace with GPU work, on one side or on both.
pub(super) const OF_GPU_WORK: [(&str, Way); 37] = [
    ("all GPU events but one gone", |d, _| d.keep_first(1, &is_gpu)),
    ("all GPU events gone", |d, _| d.remove(&is_gpu)),
    ("half of the kernels gone", |d, r| d.thin(2, r, &is_kernel)),
    ("a tenth of the kernels gone", |d, r| d.thin(10, r, &is_kernel)),
    ("one kernel in a hundred gone", |d, r| d.thin(100, r, &is_kernel)),
    ("one kernel gone", |d, r| d.thin(1_000_000, r, &is_kernel)),
    ("the second half of the kernels gone", |d, _| d.keep_first(350, &is_kernel)),
    ("kernels of the last step gone", |d, _| {
        let in_step = d.is_launched_in(4);
        let ids: Vec<i64> =
            d.events().iter().filter(|e| in_step(e)).filter_map(correlation).collect();
        d.remove(&|e| is_gpu(e) && correlation(e).is_some_and(|id| ids.contains(&id)));
    }),
    ("matrix products gone", |d, _| d.remove(&|e| is_kernel(e) && name(e).contains("gemm"))),
    ("copies gone", |d, _| d.remove(&|e| category(e) == "gpu_memcpy")),
    ("kernels of an unknown category", |d, _| d.set("cat", &json!("kernell"), &is_kernel)),
    ("GPU events of an unknown category", |d, _| d.set("cat", &json!("gpu_work"), &is_gpu)),
    ("GPU events without a category", |d, _| d.set("cat", &Value::Null, &is_gpu)),
    ("kernels that are annotations", |d, _| {
        d.set("cat", &json!("gpu_user_annotation"), &is_kernel)
    }),
    ("kernels of an unknown phase", |d, _| d.set("ph", &json!("Q"), &is_kernel)),
    ("kernels that are instants", |d, _| d.set("ph", &json!("i"), &is_kernel)),
    ("GPU durations null", |d, _| d.set("dur", &Value::Null, &is_gpu)),
    ("GPU durations 0", |d, _| d.set("dur", &json!(0), &is_gpu)),
    ("GPU durations negative", |d, _| d.set("dur", &json!(-5.0), &is_gpu)),
    ("GPU durations absurd", |d, _| d.set("dur", &json!(1e15), &is_gpu)),
    ("GPU durations that are words", |d, _| d.set("dur", &json!("long"), &is_gpu)),
    ("durations of matrix products 0", |d, _| {
        d.set("dur", &json!(0), &|e| is_kernel(e) && name(e).contains("gemm"));
    }),
    ("GPU starts null", |d, _| d.set("ts", &Value::Null, &is_gpu)),
    ("GPU starts that are words", |d, _| d.set("ts", &json!("later"), &is_gpu)),
    ("GPU starts 0", |d, _| d.set("ts", &json!(0), &is_gpu)),
    ("GPU events replaced by null", |d, _| {
        d.events().iter_mut().filter(|e| is_gpu(e)).for_each(|e| *e = Value::Null);
    }),
    ("GPU events replaced by nothing", |d, _| {
        d.events().iter_mut().filter(|e| is_gpu(e)).for_each(|e| *e = json!({}));
    }),
    ("all launches gone", |d, _| d.remove(&is_launch)),
    ("half of the launches gone", |d, r| d.thin(2, r, &is_launch)),
    ("launches of an unknown category", |d, _| d.set("cat", &json!("calls"), &is_launch)),
    ("kernels without correlation", |d, _| d.set_argument("correlation", &Value::Null, &is_kernel)),
    ("launches without correlation", |d, _| d.set_argument("correlation", &json!(0), &is_launch)),
    ("all correlations 0", |d, _| {
        d.set_argument("correlation", &json!(0), &|e| is_gpu(e) || is_runtime(e));
    }),
    ("correlations of kernels off by a million", |d, _| {
        for event in d.events().iter_mut().filter(|e| is_kernel(e)) {
            let id = correlation(event).unwrap_or(0) + 1_000_000;
            event["args"]["correlation"] = json!(id);
        }
    }),
    ("a step in the middle gone with its work", |d, _| {
        let (begin, end) = d.steps()[2];
        let in_step = d.is_launched_in(2);
        d.remove_work(&in_step);
        d.remove(&|e| (begin..end).contains(&start(e)));
    }),
    ("an annotation in the middle gone", |d, _| {
        let (begin, _) = d.steps()[2];
        d.remove(&|e| is_step(e) && start(e) == begin);
    }),
    ("step annotations of length 0", |d, _| d.set("dur", &json!(0), &is_step)),
];

/// Ways to remove calls together with all events that refer to these calls. Only a comparison with an intact trace can
/// detect such a removal.
pub(super) const OF_ONE_SIDE: [(&str, Way); 16] = [
    ("five launches gone", |d, _| {
        let mut seen = 0;
        d.events().retain(|e| {
            seen += usize::from(is_launch(e));
            !is_launch(e) || !(200..205).contains(&seen)
        });
    }),
    ("launches and their kernels gone", |d, _| d.remove_work(&is_launch)),
    ("a tenth of the launches and their kernels gone", |d, r| {
        let all: Vec<i64> =
            d.events().iter().filter(|e| is_launch(e)).filter_map(correlation).collect();
        let gone = r.sample(&all, all.len() / 10);
        d.remove_work(&|e| is_launch(e) && correlation(e).is_some_and(|id| gone.contains(&id)));
    }),
    ("matrix products and their launches gone", |d, _| {
        d.remove_work(&|e| is_kernel(e) && name(e).contains("gemm"));
    }),
    ("copies and their calls gone", |d, _| d.remove_work(&|e| category(e) == "gpu_memcpy")),
    ("work of the last step gone", |d, _| {
        let in_step = d.is_launched_in(4);
        d.remove_work(&in_step);
    }),
    ("ops gone", |d, _| d.remove(&is_op)),
    ("a tenth of the ops gone", |d, r| d.thin(10, r, &is_op)),
    ("one op gone", |d, _| {
        let at = d.events().iter().position(|e| name(e) == "aten::mm").expect("a matrix product");
        d.events().remove(at);
    }),
    ("ops of an unknown category", |d, _| d.set("cat", &json!("op"), &is_op)),
    ("step annotations gone", |d, _| d.remove(&is_step)),
    ("step annotations of an unknown category", |d, _| d.set("cat", &json!("step"), &is_step)),
    ("the last step gone with its work", |d, _| {
        let (begin, _) = d.steps()[4];
        let in_step = d.is_launched_in(4);
        d.remove_work(&in_step);
        d.remove(&|e| start(e) >= begin && !is_gpu(e));
    }),
    ("the first half of the list", |d, _| {
        let half = d.events().len() / 2;
        d.events().truncate(half);
    }),
    ("shapes gone", |d, _| d.remove_arguments(&["Input Dims", "Input type"])),
    ("everything of the backward thread gone", |d, _| {
        let threads: std::collections::BTreeSet<String> = d
            .events()
            .iter()
            .filter(|e| is_op(e) && name(e).contains("Backward"))
            .map(|e| e["tid"].to_string())
            .collect();
        d.remove(&|e| threads.contains(&e["tid"].to_string()) && !is_gpu(e) && !is_step(e));
    }),
];

/// Ways to damage a trace without GPU work.
pub(super) const OF_HOST_WORK: [(&str, Way); 9] = [
    ("ops gone", |d, _| d.remove(&is_op)),
    ("a tenth of the ops gone", |d, r| d.thin(10, r, &is_op)),
    ("ops of one name gone", |d, _| d.remove(&|e| name(e) == "aten::conv2d")),
    ("ops of an unknown category", |d, _| d.set("cat", &json!("op"), &is_op)),
    ("durations of ops null", |d, _| d.set("dur", &Value::Null, &is_op)),
    ("durations of ops negative", |d, _| d.set("dur", &json!(-1), &is_op)),
    ("starts of ops null", |d, _| d.set("ts", &Value::Null, &is_op)),
    ("step annotations gone", |d, _| d.remove(&is_step)),
    ("the first half of the list", |d, _| {
        let half = d.events().len() / 2;
        d.events().truncate(half);
    }),
];

/// A way to damage the bytes of a trace.
type ByteWay = fn(&[u8]) -> Vec<u8>;

/// Ways to damage the bytes of a trace.
pub(super) const OF_BYTES: [(&str, ByteWay); 15] = [
    ("a hole of zero bytes over 4%", |b| hole(b, 0.48, 0.04, 0)),
    ("a hole of zero bytes over 10%", |b| hole(b, 0.3, 0.1, 0)),
    ("a hole of zero bytes over 30%", |b| hole(b, 0.5, 0.3, 0)),
    ("a hole of zero bytes over 60%", |b| hole(b, 0.2, 0.6, 0)),
    ("a hole of one bits over 10%", |b| hole(b, 0.6, 0.1, 0xff)),
    ("a hole of blanks over 10%", |b| hole(b, 0.6, 0.1, b' ')),
    ("a hole of 4096 zero bytes", |b| hole(b, 0.7, 4096.0 / b.len() as f64, 0)),
    ("cut off at 25%", |b| b[..b.len() / 4].to_vec()),
    ("cut off at 50%", |b| b[..b.len() / 2].to_vec()),
    ("cut off at 99%", |b| b[..b.len() / 100 * 99].to_vec()),
    ("5% taken out", |b| [&b[..b.len() / 2], &b[b.len() / 20 * 11..]].concat()),
    ("two files in one", |b| [b, b].concat()),
    ("the second half alone", |b| b[b.len() / 2..].to_vec()),
    ("a gzip that is cut off", |b| {
        let packed = crate::support::files::gzipped(b);
        packed[..packed.len() / 10 * 9].to_vec()
    }),
    ("a gzip whose checksum does not match", |b| {
        let mut packed = crate::support::files::gzipped(b);
        let at = packed.len() - 6;
        packed[at] ^= 0x55;
        packed
    }),
];

fn hole(bytes: &[u8], from: f64, share: f64, filled: u8) -> Vec<u8> {
    let at = |share: f64| (bytes.len() as f64 * share) as usize;
    let mut damaged = bytes.to_vec();
    damaged[at(from)..at(from + share)].fill(filled);
    damaged
}
