//! Compiles or fuses parts of a recording, and records which calls each region and each fused kernel replaced.

use super::recording::{Event, Forest, Kind, Recording};
use super::splitmix::SplitMix;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// A compiled region that replaced a sequence of sibling ops; all calls are given as positions in `traceEvents`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlantedRegion {
    /// Position of the region in the changed recording.
    pub region: u32,
    /// Positions of the replaced calls in the original recording.
    pub replaced: Vec<u32>,
}

/// How ops are fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fuse {
    /// The ops are fused into one kernel that is named after these ops.
    Named,
    /// The ops are fused into one kernel that has an unrelated name and receives the inputs of all fused ops.
    Otherwise,
    /// Two matrix products and a softmax are fused into one attention kernel.
    Attention,
    /// Three matrix products with a common input are fused into one product. The fused product is in the original
    /// recording, and the three products are in the changed recording.
    Products,
}

/// A fused kernel, which may occur several times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlantedFusion {
    /// Name of the fused kernel.
    pub kernel: String,
    /// Number of kernels that one occurrence of the fused kernel replaces.
    pub kernels: usize,
}

/// A copy of a recording that is being changed. Removed events stay in this copy until [`Draft::finish`].
struct Draft<'a> {
    events: &'a [Event],
    forest: Rc<Forest>,
    changed: Recording,
    gone: Vec<bool>,
    next_correlation: i64,
}

impl<'a> Draft<'a> {
    fn of(recording: &'a Recording) -> Draft<'a> {
        let gone = vec![false; recording.events.len()];
        let next_correlation = recording.free_correlation();
        let changed = recording.clone();
        let forest = Rc::new(Forest::of(&recording.events));
        Draft { events: &recording.events, forest, changed, gone, next_correlation }
    }

    /// Removes the given calls and all calls below them.
    fn take_out(&mut self, run: &[usize]) {
        for &at in run {
            for below in self.forest.subtree(at) {
                self.gone[below] = true;
            }
        }
    }

    /// Adds an op with the given span; its launch and its kernel are copied from the call `like`. Returns the op's
    /// position in the draft.
    fn add_op(&mut self, like: usize, op: &str, kernel: &str, span: (i64, i64)) -> usize {
        let below = self.forest.subtree(like);
        let of_kind = |kind| below.iter().map(|&at| &self.events[at]).find(|e| e.kind == kind);
        let launch = of_kind(Kind::Runtime).expect("a launch").clone();
        let gpu = below.iter().map(|&at| &self.events[at]).find(|event| is_kernel(event));
        let gpu = gpu.expect("a kernel").clone();
        let id = self.next_correlation;
        self.next_correlation += 1;
        let (start, end) = span;
        let inner = (start + (end - start) / 4, end - (end - start) / 4);
        let at = self.changed.events.len();
        let event = &self.events[like];
        self.changed.events.push(Event::new(Kind::Op, &event.category, op, &event.lane, span));
        let call = Event::new(Kind::Runtime, &launch.category, &launch.name, &launch.lane, inner);
        self.changed.events.push(call.correlated(id));
        let run = Event::new(Kind::Gpu, &gpu.category, kernel, &gpu.lane, (gpu.start, gpu.end));
        self.changed.events.push(run.correlated(id));
        at
    }

    /// Copies a call and all calls below it, and adds the copies with new correlation ids.
    fn add_copy(&mut self, root: usize) {
        let mut ids: BTreeMap<i64, i64> = BTreeMap::new();
        for at in self.forest.subtree(root) {
            let mut event = self.events[at].clone();
            event.origin = None;
            if let Some(old) = event.correlation {
                let id = *ids.entry(old).or_insert_with(|| {
                    self.next_correlation += 1;
                    self.next_correlation - 1
                });
                event = event.correlated(id);
            }
            self.changed.events.push(event);
        }
    }

    /// Returns the changed recording, and a function that converts positions in the draft to
    /// positions in the recording.
    fn finish(mut self) -> (Recording, impl Fn(usize) -> u32) {
        let mut gone = self.gone;
        gone.resize(self.changed.events.len(), false);
        self.changed.remove(&gone);
        let mut before = vec![0];
        gone.iter().for_each(|&gone| before.push(before[before.len() - 1] + u32::from(!gone)));
        (self.changed, move |at| before[at])
    }
}

fn is_kernel(event: &Event) -> bool {
    event.category.eq_ignore_ascii_case("kernel")
}

/// Positions of the kernels at or below a call.
fn kernels(events: &[Event], forest: &Forest, root: usize) -> Vec<usize> {
    forest.subtree(root).into_iter().filter(|&at| is_kernel(&events[at])).collect()
}

/// Names, without namespace, of the innermost ops that launch the kernels below the given ops.
fn launching_ops(events: &[Event], forest: &Forest, run: &[usize]) -> BTreeSet<String> {
    let ops = run.iter().flat_map(|&at| kernels(events, forest, at)).filter_map(|kernel| {
        let mut above = std::iter::successors(forest.parents[kernel], |&at| forest.parents[at]);
        above.find(|&at| events[at].kind == Kind::Op)
    });
    ops.map(|at| events[at].name.rsplit("::").next().unwrap_or_default().to_owned()).collect()
}

/// The sequences of adjacent sibling ops that launch kernels, in eager code only.
fn runs<'a>(events: &'a [Event], forest: &'a Forest) -> Vec<Vec<usize>> {
    let compiled = |at: usize| {
        let name = &events[at].name;
        ["triton_", "Torch-Compiled", "CompiledFunction"].iter().any(|part| name.contains(part))
    };
    let above = |at: usize| std::iter::successors(Some(at), |&at| forest.parents[at]);
    let launched = |at: usize| {
        let launches = forest.subtree(at).into_iter().filter(|&at| events[at].kind == Kind::Gpu);
        launches.count() > 0 && !kernels(events, forest, at).is_empty()
    };
    let works = |at: &usize| {
        // Gradient accumulation and collectives happen outside of compiled code.
        let is_compiled = !["AccumulateGrad", "c10d::", "nccl", "record_param_comms"]
            .iter()
            .any(|part| events[*at].name.contains(part));
        is_compiled && events[*at].kind == Kind::Op && launched(*at) && !above(*at).any(compiled)
    };
    let mut found = Vec::new();
    for (_, list) in forest.sibling_lists() {
        let host: Vec<usize> =
            list.iter().copied().filter(|&at| events[at].kind.is_host()).collect();
        let flags: Vec<bool> = host.iter().map(works).collect();
        let pairs: Vec<(usize, bool)> = host.into_iter().zip(flags).collect();
        for run in pairs.chunk_by(|one, two| one.1 && two.1).filter(|run| run[0].1 && run.len() > 1)
        {
            found.push(run.iter().map(|pair| pair.0).collect());
        }
    }
    found
}

fn is_product(name: &str) -> bool {
    ["mm", "linear", "conv", "matmul"].iter().any(|part| name.contains(part))
}

/// Replaces sequences of two to eight ops, each by one region. Matrix products stay unchanged; the ops between two
/// matrix products become one kernel that is named after these ops, as in Inductor. At least one uncompiled op remains
/// between two regions.
pub fn with_regions(
    recording: &Recording,
    most: usize,
    random: &mut SplitMix,
) -> Option<(Recording, Vec<PlantedRegion>)> {
    let mut draft = Draft::of(recording);
    let mut windows: Vec<Vec<usize>> = Vec::new();
    for run in runs(draft.events, &draft.forest) {
        let mut rest = &run[..];
        while rest.len() > 1 {
            let length = (2 + random.below(7)).min(rest.len());
            windows.push(rest[..length].to_vec());
            rest = &rest[(length + 1).min(rest.len())..];
        }
    }
    let numbers: Vec<usize> = (0..windows.len()).collect();
    let mut chosen = random.sample(&numbers, most);
    chosen.sort_unstable();
    // If a chosen sequence is inside an op of another chosen sequence, it is compiled as part of that sequence's
    // region.
    let tops: BTreeSet<usize> = chosen.iter().flat_map(|&at| windows[at].iter().copied()).collect();
    chosen.retain(|&at| {
        let mut above = std::iter::successors(draft.forest.parents[windows[at][0]], |&above| {
            draft.forest.parents[above]
        });
        !above.any(|above| tops.contains(&above))
    });
    let mut planted = Vec::new();
    for (number, run) in chosen.into_iter().map(|at| windows[at].clone()).enumerate() {
        let (first, last) = (draft.events[run[0]].clone(), &draft.events[run[run.len() - 1]]);
        let span = (first.start, last.end);
        let region = draft.changed.events.len();
        let name = format!("Torch-Compiled Region: {number}/0");
        let event = Event::new(Kind::Op, &first.category, &name, &first.lane, span);
        draft.changed.events.push(event);
        let product = |at: &usize| is_product(&draft.events[*at].name);
        let groups: Vec<Vec<usize>> = run
            .chunk_by(|one, two| !product(one) && !product(two))
            .map(<[usize]>::to_vec)
            .collect();
        for (at, group) in groups.iter().enumerate() {
            let (one, end) = (&draft.events[group[0]], draft.events[group[group.len() - 1]].end);
            if is_product(&one.name) {
                draft.add_copy(group[0]);
                continue;
            }
            let ops: Vec<String> =
                launching_ops(draft.events, &draft.forest, group).into_iter().collect();
            let name = format!("triton_poi_fused_{}_{at}", ops.join("_"));
            // The op's span must be strictly inside the region, even if the group covers the whole region.
            let inset = ((end - one.start) / 8).max(i64::from(end - one.start > 2));
            let span = (one.start + inset, end - inset);
            draft.add_op(group[0], &name, &name, span);
        }
        let replaced = run.iter().map(|&at| at as u32).collect();
        draft.take_out(&run);
        planted.push((region, replaced));
    }
    let (changed, place) = draft.finish();
    let planted: Vec<PlantedRegion> = planted
        .into_iter()
        .map(|(region, replaced)| PlantedRegion { region: place(region), replaced })
        .collect();
    (!planted.is_empty()).then_some((changed, planted))
}

/// Chooses up to four different sequences of ops, each of which occurs at least twice. Fuses all occurrences of these
/// sequences in the given way. The changed recording contains the fused kernels. With [`Fuse::Products`], all suitable
/// products are chosen, and the fused kernels are in the original recording instead.
pub fn with_fusions(
    recording: &Recording,
    how: Fuse,
    random: &mut SplitMix,
) -> Option<(Recording, Vec<PlantedFusion>)> {
    if how == Fuse::Products {
        return split_products(recording);
    }
    let mut draft = Draft::of(recording);
    let mut sorts: BTreeMap<(String, Vec<String>), Vec<Vec<usize>>> = BTreeMap::new();
    for run in runs(draft.events, &draft.forest) {
        for window in windows(draft.events, &run, how) {
            let names = window.iter().map(|&at| draft.events[at].name.to_string()).collect();
            // Without recorded inputs, nothing would show which ops are replaced by an op with an unrelated name.
            if how == Fuse::Otherwise && !takes_tensors(&draft, window[0]) {
                continue;
            }
            let above = draft.forest.parents[window[0]].map(|at| plain(&draft.events[at].name));
            sorts.entry((above.unwrap_or_default(), names)).or_default().push(window);
        }
    }
    let often: Vec<_> = sorts.into_iter().filter(|sort| sort.1.len() > 1).collect();
    let numbers: Vec<usize> = (0..often.len()).collect();
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let mut planted = Vec::new();
    for at in random.sample(&numbers, 4) {
        let windows = &often[at].1;
        let forest = Rc::clone(&draft.forest);
        let size = |window: &Vec<usize>| -> usize {
            window.iter().map(|&at| kernels(draft.events, &forest, at).len()).sum()
        };
        let count = size(&windows[0]);
        let neighbours = |window: &Vec<usize>| -> Vec<usize> {
            let list = forest.parents[window[0]].map(|at| &forest.children[at]);
            let Some(list) = list else { return window.clone() };
            let at = list.iter().position(|&at| at == window[0]).unwrap_or(0);
            list[at.saturating_sub(1)..(at + window.len() + 1).min(list.len())].to_vec()
        };
        if windows.iter().any(|window| {
            size(window) != count || neighbours(window).iter().any(|at| used.contains(at))
        }) {
            continue;
        }
        let ops = launching_ops(draft.events, &draft.forest, &windows[0]);
        let words = ops.into_iter().collect::<Vec<_>>().join("_");
        let (op, kernel) = match how {
            Fuse::Named if at % 2 == 0 => {
                (format!("triton_poi_fused_{words}_{at}"), format!("triton_poi_fused_{words}_{at}"))
            }
            Fuse::Named => (format!("mine::fused_{words}"), format!("fused_{words}_kernel_{at}")),
            Fuse::Attention => {
                let op = "aten::_flash_attention_forward".to_owned();
                (op, format!("flash_fwd_kernel_{at}"))
            }
            Fuse::Otherwise | Fuse::Products => {
                (format!("mine::step_{at}"), format!("step_kernel_{at}"))
            }
        };
        let mut any = false;
        for window in windows {
            if neighbours(window).iter().any(|at| used.contains(at)) {
                continue;
            }
            used.extend(window.iter().copied());
            let span = (draft.events[window[0]].start, draft.events[window[window.len() - 1]].end);
            let new = draft.add_op(window[0], &op, &kernel, span);
            let from = innermost(draft.events, &draft.forest, window[0]);
            let args = Arc::clone(&draft.events[from].args);
            draft.changed.events[new].args = inputs(&args);
            draft.take_out(window);
            any = true;
        }
        if any {
            planted.push(PlantedFusion { kernel, kernels: count });
        }
    }
    let (changed, _) = draft.finish();
    (!planted.is_empty()).then_some((changed, planted))
}

/// Whether the trace contains input shapes for the op that [`innermost`] returns for a call.
fn takes_tensors(draft: &Draft<'_>, call: usize) -> bool {
    let op = &draft.events[innermost(draft.events, &draft.forest, call)];
    let dims = op.args.get("Input Dims").or_else(|| op.args.get("Input dims"));
    dims.and_then(Value::as_array).is_some_and(|dims| {
        dims.iter().any(|dims| dims.as_array().is_some_and(|dims| !dims.is_empty()))
    })
}

/// The first op that directly launches GPU work below the given call. The inputs of this op are computed outside of the
/// call.
fn innermost(events: &[Event], forest: &Forest, call: usize) -> usize {
    let op = |kernel: usize| {
        let mut above = std::iter::successors(Some(kernel), |&at| forest.parents[at]);
        above.find(|&at| events[at].kind == Kind::Op)
    };
    let ops = kernels(events, forest, call).into_iter().filter_map(op);
    ops.min_by_key(|&at| (events[at].start, std::cmp::Reverse(events[at].end))).unwrap_or(call)
}

/// The arguments that describe an op's inputs.
fn inputs(args: &serde_json::Map<String, Value>) -> super::recording::Args {
    let kept = args.iter().filter(|(key, _)| key.to_lowercase().starts_with("input"));
    Arc::new(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Disjoint windows in a sequence of ops. The ops in each window may be fused together.
fn windows(events: &[Event], run: &[usize], how: Fuse) -> Vec<Vec<usize>> {
    if how == Fuse::Attention {
        let is = |at: usize, part: &str| events[at].name.contains(part);
        let product = |at: usize| is(at, "bmm") || is(at, "matmul");
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(first) = (from..run.len()).find(|&i| product(run[i])) {
            let softmax = (first + 1..run.len().min(first + 4)).find(|&i| is(run[i], "softmax"));
            let last =
                softmax.and_then(|at| (at + 1..run.len().min(at + 4)).find(|&i| product(run[i])));
            if let Some(last) = last {
                found.push(run[first..=last].to_vec());
            }
            from = last.unwrap_or(first) + 1;
        }
        return found;
    }
    let letters: usize = run.iter().map(|&at| events[at].name.len()).sum();
    let length = 2 + letters % 3;
    // At least one op remains unfused between two windows.
    let chunks = run.chunks(length + 1).map(|chunk| chunk[..chunk.len().min(length)].to_vec());
    chunks.filter(|window| window.len() == length).collect()
}

fn plain(name: &str) -> String {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()
}

/// A copy of the recording in which each linear op with a suitable [`width`] is split into three ops.
fn split_products(recording: &Recording) -> Option<(Recording, Vec<PlantedFusion>)> {
    let mut draft = Draft::of(recording);
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    for at in draft.forest.preorder.clone() {
        let event = &draft.events[at];
        let is_linear = &*event.name == "aten::linear" && event.kind == Kind::Op;
        let launches = kernels(draft.events, &draft.forest, at);
        if let (true, Some(width), [kernel]) = (is_linear, width(event), &launches[..]) {
            let dims = event.args.get("Input Dims").or_else(|| event.args.get("Input dims"));
            let sort = (draft.events[*kernel].name.to_string(), format!("{dims:?}"));
            *found.entry(sort).or_default() += 1;
            chosen.push((at, width, *kernel));
        }
    }
    // Each of the three ops takes a third of the product's time.
    for (at, width, _) in chosen {
        let below = draft.forest.subtree(at);
        let (start, end) = (draft.events[at].start, draft.events[at].end);
        for part in 0..3 {
            let third = |time: i64| start + (time - start) / 3 + part * ((end - start) / 3);
            let id = draft.next_correlation;
            draft.next_correlation += 1;
            for &inner in &below {
                let mut event = draft.events[inner].clone();
                event.origin = None;
                match event.kind {
                    Kind::Gpu => {
                        let length = (event.end - event.start) / 3;
                        event.start += part * length;
                        event.end = event.start + length;
                    }
                    Kind::Op | Kind::Frame | Kind::Runtime | Kind::Annotation | Kind::Other => {
                        (event.start, event.end) = (third(event.start), third(event.end));
                    }
                }
                event.args = narrowed(&event.args, width);
                if event.correlation.is_some() {
                    event = event.correlated(id);
                }
                draft.changed.events.push(event);
            }
        }
        draft.take_out(&[at]);
    }
    let (changed, _) = draft.finish();
    let often = found.into_iter().filter(|sort| sort.1 > 1);
    let mut planted: Vec<PlantedFusion> =
        often.map(|((kernel, _), _)| PlantedFusion { kernel, kernels: 3 }).collect();
    planted.dedup();
    (!planted.is_empty()).then_some((changed, planted))
}

/// The output width of a linear op; `None` unless the width is divisible by three and differs from all other
/// dimensions.
fn width(event: &Event) -> Option<i64> {
    let dims = event.args.get("Input Dims").or_else(|| event.args.get("Input dims"))?;
    let dims: Vec<Vec<i64>> = serde_json::from_value(dims.clone()).ok()?;
    let (input, weight) = (dims.first()?, dims.get(1)?);
    let width = *weight.first()?;
    (weight.len() == 2 && width % 3 == 0 && !input.contains(&width) && weight[1] != width)
        .then_some(width)
}

/// The arguments of an op, with the output width divided by three.
fn narrowed(args: &serde_json::Map<String, Value>, width: i64) -> super::recording::Args {
    fn walk(value: &mut Value, width: i64) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|value| walk(value, width)),
            Value::Number(number) if number.as_i64() == Some(width) => {
                *value = Value::from(width / 3);
            }
            Value::Number(_)
            | Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Object(_) => {}
        }
    }
    let mut args = args.clone();
    for (_, value) in args.iter_mut().filter(|(key, _)| key.to_lowercase().contains("dims")) {
        walk(value, width);
    }
    Arc::new(args)
}
