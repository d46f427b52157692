//! Pairs of recordings between which several known changes were made: each recording has other changes to the same
//! program.

use crate::pairs::KNOWN;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::{Certainty, Change, ChangeKind};

/// A change that was made to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) kind: ChangeKind,
    /// Words of the sentence about the change, if it was made to the candidate.
    pub(crate) words: &'static str,
}

/// A recording of a program, and the changes that were made to it.
#[derive(Debug, Clone)]
struct Variant {
    program: &'static str,
    file: &'static str,
    made: Vec<Made>,
}

/// Two recordings, and the changes between them.
#[derive(Debug, Clone)]
pub(crate) struct Cross {
    pub(crate) baseline: &'static str,
    pub(crate) candidate: &'static str,
    pub(crate) made: Vec<Made>,
}

/// Recordings with two changes to `cpu_base`. The first words of each change are also those of the recording with this
/// change only, if there is one.
const SEVERAL: [(&str, [(ChangeKind, &str); 2]); 4] = [
    (
        "examples/cpu/cpu_bf16+clip.pt.trace",
        [
            (ChangeKind::Precision, "bfloat16 instead of float32"),
            (ChangeKind::Ops, "aten::_foreach_norm"),
        ],
    ),
    (
        "examples/cpu/cpu_blocks+item.pt.trace",
        [
            (ChangeKind::Layers, "4 instead of 3 Block calls per step"),
            (ChangeKind::HostRead, "aten::item"),
        ],
    ),
    (
        "examples/cpu/cpu_length+adam.pt.trace",
        [
            (ChangeKind::Shapes, "Inputs are 1.5x as large"),
            (ChangeKind::Optimizer, "The optimizer is Adam instead of SGD"),
        ],
    ),
    (
        "examples/cpu/cpu_plain_attention+hook.pt.trace",
        [
            (ChangeKind::Attention, "instead of 3 × aten::scaled_dot_product_attention"),
            (ChangeKind::Ops, "Added in Block (record_cpu.py: forward): 6 × BackwardHookFunction"),
        ],
    ),
];

/// The program of a recording without changes; `None` if the pair with this baseline compares two platforms.
fn program(baseline: &'static str) -> Option<&'static str> {
    match baseline {
        baseline if baseline.starts_with("mi300_h100/") => None,
        baseline if baseline.starts_with("torch215/cnn_base") => Some("torch215/cnn_base"),
        "examples/cnn.pt.trace" => Some("cpu/cnn.pt.trace"),
        baseline => Some(baseline),
    }
}

fn variants() -> Vec<Variant> {
    let known = KNOWN.iter().filter_map(|pair| {
        let made = vec![Made { kind: pair.kind, words: pair.words }];
        Some(Variant { program: program(pair.baseline)?, file: pair.candidate, made })
    });
    let several = SEVERAL.iter().map(|(file, made)| Variant {
        program: "examples/cpu/cpu_base.pt.trace",
        file,
        made: made.iter().map(|&(kind, words)| Made { kind, words }).collect(),
    });
    known.chain(several).collect()
}

/// Each pair of recordings of one program with several changes between them, in both directions.
pub(crate) fn crosses() -> Vec<Cross> {
    let all = variants();
    let mut crosses = Vec::new();
    for (at, one) in all.iter().enumerate() {
        if one.made.len() > 1 {
            let baseline = "examples/cpu/cpu_base.pt.trace";
            let made = || one.made.clone();
            crosses.push(Cross { baseline, candidate: one.file, made: made() });
            crosses.push(Cross { baseline: one.file, candidate: baseline, made: made() });
        }
        for two in all[..at].iter().filter(|two| two.program == one.program) {
            let made = between(&one.made, &two.made);
            if made.len() > 1 {
                let (baseline, candidate) = (two.file, one.file);
                crosses.push(Cross { baseline, candidate, made: made.clone() });
                crosses.push(Cross { baseline: candidate, candidate: baseline, made });
            }
        }
    }
    crosses
}

/// The changes that only one of two recordings has. Two values of one setting, such as two implementations of
/// attention, are one change.
fn between(one: &[Made], two: &[Made]) -> Vec<Made> {
    let mut made: Vec<Made> = one.iter().filter(|change| !two.contains(change)).copied().collect();
    for change in two.iter().filter(|change| !one.contains(change)) {
        if !made.iter().any(|other| is_one_setting(*other, *change)) {
            made.push(*change);
        }
    }
    made
}

fn is_one_setting(one: Made, two: Made) -> bool {
    let is_compiled = |kind| matches!(kind, ChangeKind::Compilation | ChangeKind::Graphs);
    let is_setting = matches!(
        one.kind,
        ChangeKind::Attention
            | ChangeKind::MathMode
            | ChangeKind::MemoryFormat
            | ChangeKind::Precision
    );
    // How the optimizer runs is one setting; which optimizer it is, and how it clears gradients, are others.
    let runs = |made: Made| made.words.contains("foreach");
    is_compiled(one.kind) && is_compiled(two.kind)
        || one.kind == two.kind && is_setting
        || one.kind == two.kind && one.kind == ChangeKind::Optimizer && runs(one) && runs(two)
}

/// For each made change, whether the analysis names it: a change of its kind is listed that has at least one op, class
/// or function in common with the known words. One listed change names two made changes only if it names calls of both.
pub(crate) fn named(analysis: &Analysis, made: &[Made]) -> Vec<bool> {
    let list = analysis.changes().list();
    let mut free = vec![true; list.len()];
    let mut is_named = vec![false; made.len()];
    for (is_named, made) in is_named.iter_mut().zip(made) {
        let is_found = |at: &usize| is_about(&list[*at], made);
        let all = 0..list.len();
        let found = all.clone().filter(|&at| free[at]).find(is_found);
        let shared = || all.filter(|_| !calls(made.words).is_empty()).find(is_found);
        if let Some(at) = found.or_else(shared) {
            free[at] = false;
            *is_named = true;
        }
    }
    is_named
}

fn is_about(change: &Change, made: &Made) -> bool {
    let by_name = matches!(made.kind, ChangeKind::Ops | ChangeKind::Arguments | ChangeKind::Layers);
    let known = calls(made.words);
    let said = calls(&change.sentence);
    let is_about = known.iter().any(|name| said.contains(name))
        || parameter(made.words).is_some_and(|name| parameter(&change.sentence) == Some(name));
    change.kind == made.kind && (!by_name || known.is_empty() || is_about)
        || setting(change) == Some(made.kind)
}

/// The kind of change that a library setting is: if other changes explain the kernels, the setting is listed as an
/// argument of the ops that record it.
fn setting(change: &Change) -> Option<ChangeKind> {
    let is = |name: &str| change.kind == ChangeKind::Arguments && change.sentence.contains(name);
    match () {
        () if is("cudnn.allow_tf32") => Some(ChangeKind::MathMode),
        () if is("cudnn.benchmark") => Some(ChangeKind::KernelSelection),
        () => None,
    }
}

/// The parameter that a sentence names: `groups` in `aten::conv2d is called with groups = 2 instead of 1`.
fn parameter(sentence: &str) -> Option<&str> {
    let (before, _) = sentence.split_once(" = ")?;
    before.rsplit(' ').next()
}

/// The ops and classes that a sentence names: `aten::layer_norm` and `LayerNorm` are `layernorm`.
fn calls(sentence: &str) -> Vec<String> {
    let words = sentence.split(|c: char| !(c.is_alphanumeric() || c == ':' || c == '_'));
    let words = words.map(|word| word.trim_end_matches(':'));
    let is_name = |word: &&str| {
        let is_class = word.starts_with(char::is_uppercase) && word.len() > 1;
        word.contains("::") || is_class && !["Added", "Removed", "The"].contains(word)
    };
    let plain =
        |word: &str| word.rsplit("::").next().unwrap_or(word).replace('_', "").to_lowercase();
    words.filter(is_name).map(plain).collect()
}

/// Listed changes that are false: they are certain, but their kind is none of the made changes, and none of the
/// consequences that every change may have. These are the memory that a program uses, and code that is compiled or
/// loaded in the recorded steps.
pub(crate) fn false_claims<'a>(analysis: &'a Analysis, kinds: &[ChangeKind]) -> Vec<&'a Change> {
    const CONSEQUENCES: [ChangeKind; 6] = [
        ChangeKind::Allocator,
        ChangeKind::Leak,
        ChangeKind::Memory,
        ChangeKind::Recording,
        ChangeKind::WarmUp,
        ChangeKind::Workspace,
    ];
    // Parameters that a layer or an option adds are all that compiled code leaves to see of it.
    let of_parameters = [ChangeKind::Arguments, ChangeKind::Layers, ChangeKind::Ops];
    let has_parameters = of_parameters.iter().any(|kind| kinds.contains(kind));
    let is_false = |change: &&Change| {
        change.certainty == Certainty::Certain
            && !CONSEQUENCES.contains(&change.kind)
            && !kinds.contains(&change.kind)
            && setting(change).is_none_or(|kind| !kinds.contains(&kind))
            && !(change.sentence.contains("get a gradient") && has_parameters)
    };
    analysis.changes().list().iter().filter(is_false).collect()
}
