//! Computes the keys of calls. Two calls from different traces count as the same call only if they have the same key.
//!
//! The key of a call is its kind and its name without anything that may differ between two runs of the same code:
//! addresses, line numbers, install prefixes of file paths, hashes of compiled graphs, the vendor's prefix of runtime
//! calls, and the numbers in the names of modules, steps, compiled regions and generated kernels.

use super::Aliases;
use super::windows::{self, Window};
use crate::trace::{Category, TextId};
use crate::tree::{CallId, CallKind, CallTree, ModuleName, names_graph_launch};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The key of a call, as an integer. The keys of both trees are numbered consecutively from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key(pub(super) u32);

/// The distinct keys of both trees.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    ids: FxHashMap<(CallKind, String), u32>,
    aliases: &'a Aliases,
    /// Classes of modules whose instance number identifies the layer.
    windows: &'a [Window],
}

impl<'a> Keys<'a> {
    pub(super) fn new(aliases: &'a Aliases, windows: &'a [Window]) -> Self {
        Keys { ids: FxHashMap::default(), aliases, windows }
    }

    /// The key of all calls of a kind with the same normalized name.
    pub(super) fn intern(&mut self, kind: CallKind, text: &str) -> Key {
        let next = self.ids.len() as u32;
        // `entry` needs an owned string, so every look-up allocates one. These allocations are acceptable, because
        // callers cache the keys.
        Key(*self.ids.entry((kind, text.to_owned())).or_insert(next))
    }

    /// The keys of all calls of a tree, in preorder.
    pub(super) fn of_tree(&mut self, tree: &CallTree) -> Vec<Key> {
        let mut cache = Cache::default();
        tree.calls().map(|call| self.of_call(tree, call, &mut cache)).collect()
    }

    fn of_call(&mut self, tree: &CallTree, call: CallId, cache: &mut Cache) -> Key {
        let kind = tree.kind(call);
        let Some(event) = tree.event(call) else {
            return self.intern(kind, "");
        };
        let name = tree.trace().name_id(event);
        if kind == CallKind::Runtime && tree.is_gpu_path(call) {
            let launched = tree.children(call).find(|&child| tree.kind(child) == CallKind::Gpu);
            let launched =
                launched.and_then(|child| tree.event(child)).map(|e| tree.trace().category(e));
            let key = cache.launches.entry((name, launched));
            return *key.or_insert_with(|| self.of_launch(tree.trace().text(name), launched));
        }
        let slots = &mut cache.others[kind as usize];
        if slots.len() <= name.index() {
            slots.resize(name.index() + 1, None);
        }
        *slots[name.index()].get_or_insert_with(|| {
            let name = self.aliases.apply(tree.trace().text(name));
            if kind == CallKind::Frame && windows::is_numbered(self.windows, &name) {
                self.intern(kind, &name)
            } else {
                self.intern(kind, &normalise(kind, &name))
            }
        })
    }

    /// The key of a launch. If the name of the launch does not show what is launched, the key is based on the kind of
    /// the launched GPU event.
    fn of_launch(&mut self, name: &str, launched: Option<Category>) -> Key {
        let name = self.aliases.apply(name);
        let name = runtime_name(&name);
        let known = LAUNCH_KINDS.contains(&name.as_ref());
        match launched.filter(|_| !known) {
            Some(category) => self.intern(CallKind::Runtime, launch_of(category)),
            None => self.intern(CallKind::Runtime, &name),
        }
    }
}

/// Caches keys by their inputs, so every distinct name is normalized only once.
#[derive(Default)]
struct Cache {
    /// The keys of all calls except launches, by kind of call and name.
    others: [Vec<Option<Key>>; 6],
    /// The keys of launches, by the name of the launch and the category of the first GPU event that it launches.
    launches: FxHashMap<(TextId, Option<Category>), Key>,
}

const LAUNCH_KINDS: [&str; 4] = ["launch", "graph launch", "memcpy", "memset"];

fn launch_of(launched: Category) -> &'static str {
    match launched {
        Category::Memcpy => "memcpy",
        Category::Memset => "memset",
        Category::Kernel
        | Category::CpuOp
        | Category::PythonFunction
        | Category::Runtime
        | Category::UserAnnotation
        | Category::GpuUserAnnotation => "launch",
    }
}

/// The name of a call without anything that may differ between two runs of the same code.
pub fn normalise(kind: CallKind, name: &str) -> Cow<'_, str> {
    match kind {
        CallKind::Runtime => runtime_name(name),
        CallKind::Frame => frame_name(name),
        CallKind::Op => op_name(name),
        CallKind::Gpu => without_counter(name),
        CallKind::Thread | CallKind::Unlinked => Cow::Borrowed(name),
    }
}

/// Reduces the name of a launch API to the kind of launch; from any other name, removes only the vendor's prefix.
///
/// `hipExtModuleLaunchKernel` and `cudaLaunchKernelExC` → `launch`; `hipMemcpyWithStream` → `memcpy`;
/// `cudaStreamSynchronize` → `StreamSynchronize`.
fn runtime_name(name: &str) -> Cow<'_, str> {
    let rest =
        ["cuda", "hip", "cu"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let is = |part: &str| rest.contains(part);
    Cow::Borrowed(if names_graph_launch(name) {
        "graph launch"
    } else if is("LaunchKernel") || is("LaunchCooperativeKernel") || is("LaunchHostFunc") {
        "launch"
    } else if rest.starts_with("Memcpy") {
        "memcpy"
    } else if rest.starts_with("Memset") {
        "memset"
    } else {
        rest.split_once("R0").map_or(rest, |(stem, version)| match version.parse::<u32>() {
            Ok(_) => stem,
            Err(_) => rest,
        })
    })
}

/// - `…/site-packages/torch/nn/modules/module.py(1501): _call_impl` →
///   `torch/nn/modules/module.py: _call_impl`
/// - `nn.Module: Linear_3` → `nn.Module: Linear`
/// - Example: `<built-in method add of type object at 0x7f…>` →
///   `<built-in method add of type object>`.
/// - Example: `<built-in method run of pybind11_builtins.… object at 0x7f…>` →
///   `<built-in method run of PyCapsule object>`, the name that older versions of pybind11 give to
///   the same method
fn frame_name(name: &str) -> Cow<'_, str> {
    if let Some(module) = ModuleName::of(name) {
        return Cow::Owned(format!("nn.Module: {}", module.class));
    }
    match split_frame(name) {
        Some((file, function)) => {
            let function = without_addresses(function);
            Cow::Owned(format!("{}: {function}", without_install_prefix(file)))
        }
        None => match name.split_once(" of pybind11_builtins.") {
            Some((method, _)) => Cow::Owned(format!("{method} of PyCapsule object>")),
            None => without_addresses(name),
        },
    }
}

/// The name of a frame without the install folder of its file. `normalise` returns the same result for the names with
/// and without the folder. `/home/me/project/train/loop.py(12): step` → `train/loop.py(12): step`.
pub fn portable_frame(name: &str) -> Cow<'_, str> {
    let Some((file, _)) = split_frame(name) else { return without_addresses(name) };
    let kept = ["/site-packages/", "/dist-packages/", "/lib/python"];
    let from = match kept.iter().find_map(|marker| file.rfind(marker)) {
        Some(at) => at,
        None if file.starts_with('/') => last_folder(file),
        None => 0,
    };
    Cow::Borrowed(&name[from..])
}

/// Where the last two components of a path begin.
fn last_folder(path: &str) -> usize {
    path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1)
}

/// `file.py(12): function` → (`file.py`, `function`).
pub(super) fn split_frame(name: &str) -> Option<(&str, &str)> {
    let (place, function) = name.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    is_number(line).then_some((file, function))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The path of a file below a known install folder is shortened to the part below that folder. Any other absolute path
/// is shortened to its last two components. Inductor names a generated file after a hash of its content
/// (`4i/c4ik75qotyqpqz….py`). This hash changes with the code, so the name of such a file is replaced with
/// `generated code`.
fn without_install_prefix(path: &str) -> String {
    let path = path.replace('\\', "/");
    let file = path.rsplit('/').next().unwrap_or_default();
    if file.strip_suffix(".py").is_some_and(is_hash) {
        return "generated code".to_owned();
    }
    for marker in ["/site-packages/", "/dist-packages/"] {
        if let Some((_, rest)) = path.rsplit_once(marker) {
            return rest.to_owned();
        }
    }
    if let Some((_, rest)) = path.rsplit_once("/lib/python")
        && let Some((_, rest)) = rest.split_once('/')
    {
        return rest.to_owned();
    }
    let absolute = path.starts_with('/') || path.get(1..3) == Some(":/");
    if absolute { path[last_folder(&path)..].to_owned() } else { path }
}

/// Reduces `ProfilerStep#12` to `ProfilerStep#`; drops hashes of compiled graphs and addresses.
fn op_name(name: &str) -> Cow<'_, str> {
    for counted in ["ProfilerStep#", "Torch-Compiled Region: "] {
        if name.starts_with(counted) {
            return Cow::Borrowed(counted);
        }
    }
    match without_counter(name) {
        Cow::Borrowed(name) => without_addresses(name),
        stem @ Cow::Owned(_) => stem,
    }
}

/// `triton_poi_fused_add_3` → `triton_poi_fused_add_#`. Inductor numbers its generated kernels, so
/// one additional kernel renumbers all later kernels.
fn without_counter(name: &str) -> Cow<'_, str> {
    let generated = name.starts_with("triton_") || name.contains("cpp_fused_");
    match name.rsplit_once('_').filter(|&(_, number)| generated && is_number(number)) {
        Some((stem, _)) => Cow::Owned(format!("{stem}_#")),
        None => Cow::Borrowed(name),
    }
}

/// Drops addresses (`object at 0x7f…`), and replaces hashes with `#`: hexadecimal hashes of at least 16 characters and
/// base-32 hashes of at least 40 characters.
fn without_addresses(name: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = name;
    while let Some((before, word, after)) = next_varying_word(rest) {
        match (before.strip_suffix(" at "), word.starts_with("0x")) {
            (Some(object), true) => kept.push_str(object),
            (None, true) => kept.extend([before, "0x"]),
            (_, false) => kept.extend([before, "#"]),
        }
        rest = after;
    }
    if kept.is_empty() && rest.len() == name.len() {
        return Cow::Borrowed(name);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// Finds the first word of `text` that is an address or a hash. Returns the text before the word, the word, and the
/// text after it.
fn next_varying_word(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while from < text.len() {
        let start = from + text[from..].find(|c: char| c.is_ascii_alphanumeric())?;
        let length =
            text[start..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len() - start);
        let word = &text[start..start + length];
        if is_address(word) || is_hash(word) {
            return Some((&text[..start], word, &text[start + length..]));
        }
        from = start + length;
    }
    None
}

fn is_address(word: &str) -> bool {
    word.strip_prefix("0x")
        .is_some_and(|digits| digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether a word is a hash. Inductor names a graph after the base-32 SHA-256 of its code; other tools use hexadecimal
/// digests.
fn is_hash(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let lower = word.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
    let hexadecimal = word.bytes().all(|b| b.is_ascii_hexdigit());
    (word.len() >= 16 && hexadecimal && digits >= 2) || (word.len() >= 40 && lower && digits >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_omit_what_may_differ_between_two_runs() {
        let frame = |name| normalise(CallKind::Frame, name).into_owned();
        assert_eq!(frame("nn.Module: Linear_3"), "nn.Module: Linear");
        assert_eq!(frame("nn.Module: My_Block_12"), "nn.Module: My_Block");
        assert_eq!(frame("nn.Module: Conv2d"), "nn.Module: Conv2d");
        assert_eq!(
            frame("torch/nn/modules/module.py(1501): _call_impl"),
            "torch/nn/modules/module.py: _call_impl"
        );
        assert_eq!(
            frame("/opt/venv/lib/python3.11/site-packages/timm/layers/mlp.py(40): forward"),
            "timm/layers/mlp.py: forward"
        );
        assert_eq!(
            frame("/usr/lib/python3.10/threading.py(973): _bootstrap"),
            "threading.py: _bootstrap"
        );
        assert_eq!(frame("C:\\work\\net\\model.py(7): forward"), "net/model.py: forward");
        assert_eq!(
            frame("4i/c4ik75qotyqpqzafnloucssczzlj45tnnkhpyzzn3gubuy7iqeq7.py(2301): call"),
            "generated code: call"
        );
        assert_eq!(
            frame("<built-in method conv2d of type object at 0x7f6e2a04c9a0>"),
            "<built-in method conv2d of type object>"
        );
        assert_eq!(
            frame(
                "<built-in method run of pybind11_builtins.function_record_v1 object at 0x7f6e2a04c9a0>"
            ),
            frame("<built-in method run of PyCapsule object at 0x7f6e2a04c9a0>")
        );
    }

    #[test]
    fn runtime_calls_have_keys_by_kind() {
        let call = |name| normalise(CallKind::Runtime, name).into_owned();
        for name in [
            "hipLaunchKernel",
            "hipExtModuleLaunchKernel",
            "cudaLaunchKernelExC",
            "cuLaunchKernelEx",
        ] {
            assert_eq!(call(name), "launch");
        }
        assert_eq!(call("hipMemcpyWithStream"), call("cudaMemcpyAsync"));
        assert_eq!(call("hipGraphLaunch"), call("cudaGraphLaunch"));
        assert_eq!(call("hipGetDevicePropertiesR0600"), "GetDeviceProperties");
        assert_eq!(call("cudaStreamSynchronize"), call("hipStreamSynchronize"));
    }

    #[test]
    fn hashes_of_compiled_graphs_are_dropped() {
        let op = |name| normalise(CallKind::Op, name).into_owned();
        assert_eq!(op("aten::add"), "aten::add");
        assert_eq!(op("ProfilerStep#7"), "ProfilerStep#");
        assert_eq!(
            op("## Call CompiledFxGraph fmbkyqhh5hybzr3a7ql4qhbpq4yjvkbsk3yvlj5hkpq7u2wd6xzu ##"),
            "## Call CompiledFxGraph # ##"
        );
    }

    #[test]
    fn numbers_of_generated_kernels_and_regions_are_not_part_of_a_key() {
        let of = |kind, name| normalise(kind, name).into_owned();
        for kind in [CallKind::Op, CallKind::Gpu] {
            assert_eq!(of(kind, "triton_poi_fused_add_3"), "triton_poi_fused_add_#");
            assert_eq!(of(kind, "graph_0_cpp_fused_mul_12"), "graph_0_cpp_fused_mul_#");
            assert_eq!(of(kind, "sm80_gemm_128"), "sm80_gemm_128");
        }
        assert_eq!(of(CallKind::Op, "Torch-Compiled Region: 3/1"), "Torch-Compiled Region: ");
    }

    #[test]
    fn long_words_of_hexadecimal_digits_are_hashes() {
        assert!(is_hash("0123456789abcdef") && is_hash("abcdefabcdefab01"));
        // The first word is too short to be a hash. All letters in the second word are hexadecimal digits, but only one
        // of its characters is a decimal digit.
        assert!(!is_hash("0123456789abcde") && !is_hash("abcdefabcdefabc1"));
        assert!(!is_hash("scaled_dot_product1234"));
        let inductor = "c4ik75qotyqpqzfmbkyqhhhybzrvaqlqhbpqyjvbsk";
        assert!(
            is_hash(inductor) && !is_hash(&inductor[..39]) && !is_hash(&inductor.to_uppercase())
        );
        assert!(!is_hash("convolutionbackwardoverrideablekernelname12"));
    }

    #[test]
    fn names_of_frames_begin_where_their_package_begins() {
        for (path, known) in [
            (
                "/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py",
                "torch/nn/functional.py",
            ),
            ("/usr/lib/python3/dist-packages/torch/serialization.py", "torch/serialization.py"),
            ("/usr/lib/python3.11/threading.py", "threading.py"),
            ("/home/someone/project/train/loop.py", "train/loop.py"),
            (r"C:\work\train\loop.py", "train/loop.py"),
            ("train/loop.py", "train/loop.py"),
            ("/cache/inductor/4i/c4ik75qotyqpqzfmbkyqhhhybzrvaqlqhbpqyjvbsk.py", "generated code"),
        ] {
            assert_eq!(without_install_prefix(path), known, "{path}");
        }
    }

    #[test]
    fn a_portable_frame_has_the_same_key_and_no_private_folder() {
        for (name, kept) in [
            (
                "/opt/venv/lib/python3.12/site-packages/timm/mlp.py(4): forward",
                "/site-packages/timm/mlp.py(4): forward",
            ),
            ("/usr/lib/python3.11/threading.py(9): run", "/lib/python3.11/threading.py(9): run"),
            ("/home/someone/project/train/loop.py(3): step", "train/loop.py(3): step"),
            ("/loop.py(3): step", "/loop.py(3): step"),
            ("train.py(3): step", "train.py(3): step"),
            (
                "/home/someone/cache/ob/cobfmbkyqhhhybzrvaqlqhbpqyjvbskqpqzfmbkyqhhhybzrvaqlq.py(3): call",
                "ob/cobfmbkyqhhhybzrvaqlqhbpqyjvbskqpqzfmbkyqhhhybzrvaqlq.py(3): call",
            ),
        ] {
            assert_eq!(portable_frame(name), kept);
            assert_eq!(frame_name(name), frame_name(kept));
        }
    }

    #[test]
    fn a_frame_has_a_line_number_between_its_file_and_its_function() {
        assert_eq!(split_frame("a.py(12): f"), Some(("a.py", "f")));
        assert_eq!(split_frame("(a)(1): f(x): g"), Some(("(a)", "f(x): g")));
        for name in ["a.py(): f", "a.py(1x): f", "a.py: f", "a.py(12) f"] {
            assert_eq!(split_frame(name), None, "{name}");
        }
    }
}
