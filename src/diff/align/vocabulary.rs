//! Compares names by the rare words that they share and by their first words.
//!
//! ```text
//! aten::miopen_convolution   aten::cudnn_convolution     `convolution` occurs in a handful of names:
//!                                                       variants of one op
//! evaluate_function: MeanBackward0                       `evaluate` occurs in the name of every step
//! evaluate_function: CompiledFunctionBackward            of a backward pass and means nothing
//! ```

use crate::diff::keys::{self, Key};
use crate::diff::outline::Outline;
use crate::diff::regions;
use crate::diff::weights::{TELLING_NAMES, TELLING_WORD};
use crate::diff::windows::{self, Window};
use crate::program::Words;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::{FxHashMap, FxHashSet};

/// The words that occur in the names of ops and frames in either tree. Each distinct name is split into words once.
#[derive(Debug)]
pub(in crate::diff) struct Vocabulary {
    words: Vec<String>,
    /// For each word, the number of distinct names in each tree that contain it.
    names_with: PerSide<Vec<u32>>,
    /// The names split into words, indexed by key; `None` for keys of calls that are neither ops nor frames.
    names: Vec<Option<Name>>,
    /// Whether some names contain a number that identifies the call.
    has_numbered: bool,
}

/// The words of the distinctive part of a name: `miopen_convolution` in `aten::miopen_convolution`.
#[derive(Debug, Default)]
struct Name {
    /// The long words, as sorted indices without duplicates.
    words: Vec<u32>,
    /// The first word of the distinctive part, without leading underscores.
    stem: Option<u32>,
    /// For a frame, the file name without the folder, and the function name.
    code: Option<u32>,
    /// Whether the call replaces several calls: a compiler generated it, or it is a multi-tensor op.
    generated: bool,
    /// Whether the number in the name identifies the call.
    numbered: bool,
    /// Whether the call is a module.
    module: bool,
    /// For an op of a vendor's library, the name without the vendor: `convolution` in `miopen_convolution`.
    of_vendor: Option<u32>,
}

impl Vocabulary {
    pub(in crate::diff) fn new(
        trees: PerSide<&CallTree>,
        outlines: PerSide<&Outline<'_>>,
        windows: &[Window],
    ) -> Self {
        let mut words = Vocabulary {
            words: Vec::new(),
            names_with: PerSide::default(),
            names: Vec::new(),
            has_numbered: false,
        };
        let mut ids = FxHashMap::default();
        for side in Side::BOTH {
            let keys = outlines[side].keys.iter().map(|key| key.0 as usize + 1).max();
            let mut seen = vec![false; keys.unwrap_or(0)];
            // An op and the autograd step that runs the op have the same distinctive part, so their names count as one
            // name.
            let mut parts: FxHashSet<&str> = FxHashSet::default();
            for (call, &key) in (0..).zip(&outlines[side].keys) {
                let tells = outlines[side].is_op_or_frame(call) && !outlines[side].is_hidden(call);
                if tells && !std::mem::replace(&mut seen[key.0 as usize], true) {
                    let (kind, name) =
                        (trees[side].kind(CallId(call)), trees[side].name(CallId(call)));
                    if words.name(key).is_none() {
                        let numbered = windows::is_numbered(windows, name);
                        words.has_numbered |= numbered;
                        let name = Name { numbered, ..words.take_apart(kind, name, &mut ids) };
                        let at = key.0 as usize;
                        words.names.resize_with(words.names.len().max(at + 1), || None);
                        words.names[at] = Some(name);
                    }
                    if parts.insert(telling_part(kind, name)) {
                        words.count(side, key);
                    }
                }
            }
        }
        words
    }

    fn take_apart(&mut self, kind: CallKind, name: &str, ids: &mut FxHashMap<String, u32>) -> Name {
        let part = telling_part(kind, name);
        let mut id = |word: String| {
            *ids.entry(word).or_insert_with_key(|word| {
                self.words.push(word.clone());
                self.words.len() as u32 - 1
            })
        };
        let mut words: Vec<u32> = long_words(part).into_iter().map(&mut id).collect();
        words.sort_unstable();
        words.dedup();
        let code = keys::split_frame(name).map(|(file, function)| {
            let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
            id(format!("{file}: {function}"))
        });
        let stem = stem(part).map(|stem| id(format!("{stem}…")));
        let is_multi_tensor = || regions::single_tensor_op(name).is_some();
        let generated = kind == CallKind::Op && (regions::is_generated(name) || is_multi_tensor());
        let of_vendor = Some(part).filter(|_| kind == CallKind::Op).and_then(without_vendor);
        let of_vendor = of_vendor.map(|rest| id(format!("…{rest}")));
        let module = kind == CallKind::Frame && ModuleName::of(name).is_some();
        Name { words, stem, code, generated, numbered: false, module, of_vendor }
    }

    fn name(&self, key: Key) -> Option<&Name> {
        self.names.get(key.0 as usize)?.as_ref()
    }

    fn count(&mut self, side: Side, key: Key) {
        let counts = &mut self.names_with[side];
        counts.resize(self.words.len(), 0);
        let name = self.names[key.0 as usize].iter();
        for &word in name.flat_map(|name| &name.words) {
            counts[word as usize] += 1;
        }
    }

    /// The words that two names share, each with its weight; a weight of 1 or more is enough evidence that
    /// the names are related.
    pub(in crate::diff) fn shared(&self, a: Key, b: Key) -> impl Iterator<Item = (&str, f64)> {
        let words = |key: Key| self.name(key).map_or(&[][..], |name| &name.words);
        let (mine, theirs) = (words(a), words(b));
        let shared = mine.iter().filter(|word| theirs.binary_search(word).is_ok());
        shared.map(|&word| (self.words[word as usize].as_str(), self.weight(word)))
    }

    /// The weight of a word as evidence that two names are related: the fewer names contain the word, the greater its
    /// weight. The larger of the two trees' counts is used instead of their sum, because each tree may have its own
    /// variant of each op.
    fn weight(&self, word: u32) -> f64 {
        let of = |side: Side| self.names_with[side].get(word as usize).copied().unwrap_or(0);
        f64::from(TELLING_NAMES) / f64::from(of(Side::Baseline).max(of(Side::Candidate)).max(1))
    }

    /// Whether the words that two names share are together enough evidence that the names are related, as for
    /// `miopen_convolution` and `cudnn_convolution`.
    pub(super) fn are_akin(&self, a: Key, b: Key) -> bool {
        self.shared(a, b).map(|(_, weight)| weight).sum::<f64>() >= 1.0
    }

    /// Whether two names begin with the same word, as `conv` and `conv_1` do.
    pub(super) fn begin_alike(&self, a: Key, b: Key) -> bool {
        self.agree(a, b, |name| name.stem)
    }

    /// Whether two frames have the same function name and the same file name, for example because a
    /// script was moved to a different folder.
    pub(super) fn are_one_code(&self, a: Key, b: Key) -> bool {
        self.agree(a, b, |name| name.code)
    }

    /// Whether [`Vocabulary::is_numbered`] is true for any call.
    pub(super) fn has_numbered(&self) -> bool {
        self.has_numbered
    }

    /// Whether a call is a layer that is identified by its number. Layers with different numbers are never
    /// counterparts.
    pub(super) fn is_numbered(&self, key: Key) -> bool {
        self.name(key).is_some_and(|name| name.numbered)
    }

    /// Whether a call is a module.
    pub(super) fn is_module(&self, key: Key) -> bool {
        self.name(key).is_some_and(|name| name.module)
    }

    /// Whether a call replaces several calls. For example, a compiler generates `triton_poi_fused_add_mul_0` from two
    /// ops, and `aten::_foreach_add_` adds to several tensors.
    pub(super) fn is_generated(&self, key: Key) -> bool {
        self.name(key).is_some_and(|name| name.generated)
    }

    /// Whether an op calls a vendor's library.
    pub(super) fn is_of_vendor(&self, key: Key) -> bool {
        self.name(key).is_some_and(|name| name.of_vendor.is_some())
    }

    /// Whether two ops do the same with the libraries of two vendors, as `miopen_convolution` and `cudnn_convolution`
    /// do.
    pub(super) fn are_vendor_twins(&self, a: Key, b: Key) -> bool {
        self.agree(a, b, |name| name.of_vendor)
    }

    fn agree(&self, a: Key, b: Key, part: impl Fn(&Name) -> Option<u32>) -> bool {
        let of = |key: Key| self.name(key).and_then(&part);
        of(a).is_some() && of(a) == of(b)
    }
}

/// The distinctive part of a name: the op without its namespace, the function without its file, the
/// class of a module, or the backward function that autograd evaluates.
fn telling_part(kind: CallKind, name: &str) -> &str {
    let last = |separator: &str, name| str::rsplit(name, separator).next().unwrap_or(name);
    match kind {
        CallKind::Frame => match keys::split_frame(name) {
            Some((_, function)) => function,
            None => built_in(name).unwrap_or_else(|| last(": ", name)),
        },
        CallKind::Op => last(": ", last("::", name)),
        CallKind::Runtime | CallKind::Gpu | CallKind::Thread | CallKind::Unlinked => name,
    }
}

/// For example, `<built-in method conv2d of type object at 0x7f…>` becomes `conv2d`.
fn built_in(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("<built-in ")?;
    let rest =
        rest.strip_prefix("method ").or_else(|| rest.strip_prefix("function ")).unwrap_or(rest);
    rest.split([' ', '>']).next()
}

/// The words of a name that are long enough to be distinctive. Names of autograd nodes and modules
/// are split at capitals: `ScaledDotProductFlashAttentionBackward0`.
fn long_words(name: &str) -> Vec<String> {
    let words = Words::of(name);
    let telling = words.iter().filter(|word| word.len() >= TELLING_WORD && !PHASES.contains(word));
    telling.map(str::to_owned).collect()
}

/// Words that indicate when an op runs, not what it does.
const PHASES: [&str; 2] = ["backward", "forward"];

/// The libraries that PyTorch names in its ops.
const VENDORS: [&str; 5] = ["cudnn_", "miopen_", "mkldnn_", "mps_", "xpu_"];

/// `convolution` for `miopen_convolution` and `cudnn_convolution`.
fn without_vendor(name: &str) -> Option<&str> {
    let name = name.trim_start_matches('_');
    VENDORS.iter().find_map(|vendor| name.strip_prefix(vendor))
}

fn stem(name: &str) -> Option<&str> {
    let stem = name.trim_start_matches('_').split('_').next().unwrap_or(name);
    (!stem.is_empty()).then_some(stem)
}
