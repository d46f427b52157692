//! Reads `op_mapping.yaml`. The file lists the kernel type of each op, and marks the ops that cost nothing.
//!
//! Real mapping files contain their entries under `operator_mappings:`. The tool whose comparison `model-diff`
//! reproduces expects the entries at the top level instead. Both layouts are accepted; entries under
//! `operator_mappings:` take precedence.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::input;
use super::kernel_type::KernelType;
use tracetree_trace::error::{Error, ErrorKind, Result};

/// All mapping files shipped with the database contain their entries under this key.
const ENTRIES: &str = "operator_mappings";

/// What an op runs on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lowering {
    /// The op runs nothing on the device (`zero_cost: true`): it is a view, or fused into another op.
    ZeroCost,
    /// The op runs a kernel of the given type.
    Kernel(KernelType),
    /// The op is listed, but has no kernel of its own because it is a composite op.
    Unnamed,
}

/// The kernel types of ops, keyed by the op's name without `torch.ops.`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpMapping {
    lowerings: BTreeMap<String, Lowering>,
}

impl OpMapping {
    /// Reads an op mapping from a plain or gzipped file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not YAML, or lists no operator.
    pub fn read(path: impl AsRef<Path>) -> Result<OpMapping> {
        let path = path.as_ref();
        OpMapping::from_bytes(&input::read(path, "op mapping")?, path)
    }

    /// Parses an op mapping from decompressed YAML. `path` is used only in error messages.
    ///
    /// # Errors
    /// Fails if the bytes are not YAML or list no operator.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<OpMapping> {
        let path = path.as_ref();
        let document = parse(bytes, path)?;
        let lowerings = match document.get(ENTRIES) {
            Some(entries) => entries.as_object().map(named_entries).unwrap_or_default(),
            None => document.as_object().map(loose_entries).unwrap_or_default(),
        };
        if lowerings.is_empty() {
            return Err(without_operators(path));
        }
        Ok(OpMapping { lowerings })
    }

    /// Looks up the entry for an op, whose name may begin with `torch.ops.`.
    pub fn lowering(&self, op: &str) -> Option<&Lowering> {
        self.lowerings.get(short_name(op))
    }

    /// Number of listed ops.
    pub fn len(&self) -> usize {
        self.lowerings.len()
    }

    /// Returns `true` if no op is listed, for example because the user gave no mapping.
    pub fn is_empty(&self) -> bool {
        self.lowerings.is_empty()
    }
}

/// The name of an op without the prefix `torch.ops.`, which some versions write.
pub(crate) fn short_name(op: &str) -> &str {
    op.strip_prefix("torch.ops.").unwrap_or(op)
}

fn parse(bytes: &[u8], path: &Path) -> Result<Value> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let at = tracetree_trace::error::Place { offset: e.valid_up_to() as u64, event: None };
        Error::new(ErrorKind::Malformed, path, "the op mapping is not UTF-8")
            .at(at)
            .remedy("save it as UTF-8")
    })?;
    let options = serde_saphyr::options! {
        with_snippet: false,
        // A kernel type `Y` must be read as a name, not as a boolean.
        strict_booleans: true,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|e| not_yaml(&e, bytes, path))
}

/// The entries below `operator_mappings`. Each entry whose value is a mapping is an operator.
fn named_entries(entries: &Map<String, Value>) -> BTreeMap<String, Lowering> {
    let operators = entries.iter().filter_map(|(op, entry)| Some((op, entry.as_object()?)));
    operators.map(|(op, entry)| (short_name(op).to_owned(), lowering(entry))).collect()
}

/// The operators at the top level. Files also have policies and versions at the top level, so only entries with a
/// kernel type or `zero_cost` are treated as operators.
fn loose_entries(document: &Map<String, Value>) -> BTreeMap<String, Lowering> {
    let mut entries = named_entries(document);
    entries.retain(|_, lowering| *lowering != Lowering::Unnamed);
    entries
}

fn lowering(entry: &Map<String, Value>) -> Lowering {
    if entry.get("zero_cost").is_some_and(is_true) {
        return Lowering::ZeroCost;
    }
    let kernel = entry.get("kernel_type").and_then(Value::as_str).and_then(KernelType::new);
    kernel.map_or(Lowering::Unnamed, Lowering::Kernel)
}

/// Whether a value is `true`, or one of the words that older YAML versions treat as true.
fn is_true(value: &Value) -> bool {
    let word = value.as_str().unwrap_or_default().to_ascii_lowercase();
    value.as_bool().unwrap_or(matches!(word.as_str(), "true" | "yes" | "on"))
}

fn not_yaml(error: &serde_saphyr::Error, bytes: &[u8], path: &Path) -> Error {
    let reason = error.to_string().replace(['\n', '\r'], " ");
    let built = Error::new(ErrorKind::Malformed, path, format!("not an op mapping: {reason}"))
        .remedy("write YAML: `op name: {kernel_type: …}` below `operator_mappings:`");
    match error.location() {
        Some(at) => built.at(input::place(bytes, line_number(at.line()), line_number(at.column()))),
        None => built,
    }
}

fn line_number(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn without_operators(path: &Path) -> Error {
    let message = "the op mapping lists no operators, neither below `operator_mappings:` nor at \
                   the top level";
    Error::new(ErrorKind::Malformed, path, message)
        .remedy("pass the op_mapping.yaml from the model's database")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(text: &str) -> OpMapping {
        OpMapping::from_bytes(text.as_bytes(), "m.yaml").expect("a mapping")
    }

    fn refused(text: &[u8]) -> String {
        OpMapping::from_bytes(text, "m.yaml").expect_err("an error").to_string()
    }

    fn kernel(name: &str) -> Lowering {
        Lowering::Kernel(KernelType::new(name).expect("a name"))
    }

    #[test]
    fn entries_are_found_under_their_key_and_at_the_top_level() {
        let entry = "\"aten.mm.default\": {kernel_type: MatMulV2}";
        let policy = "latency_policy:\n  kernel_overrides: {MatMulV2: {x: 1}}\n";
        for text in [
            format!("version: \"1\"\n{policy}operator_mappings:\n  {entry}\n"),
            format!("version: \"1\"\n{policy}{entry}\n"),
        ] {
            let mapping = mapping(&text);
            assert_eq!(mapping.lowering("aten.mm.default"), Some(&kernel("MatMulV2")), "{text}");
            assert_eq!(mapping.len(), 1, "{text}");
        }
    }

    #[test]
    fn the_torch_ops_prefix_is_optional_on_both_sides() {
        let mapping =
            mapping("operator_mappings: {torch.ops.a.b: {kernel_type: X}, c.d: {kernel_type: Y}}");
        assert_eq!(mapping.lowering("a.b"), Some(&kernel("X")));
        assert_eq!(mapping.lowering("torch.ops.c.d"), Some(&kernel("Y")));
        assert_eq!(mapping.lowering("e.f"), None);
    }

    #[test]
    fn zero_cost_wins_over_a_kernel_type() {
        let mapping = mapping(
            "operator_mappings:\n  a: {kernel_type: X, zero_cost: true}\n  \
             b: {kernel_type: X, zero_cost: false}\n  c: {composite: true}\n  d: {zero_cost: yes}\n",
        );
        assert_eq!(mapping.lowering("a"), Some(&Lowering::ZeroCost));
        assert_eq!(mapping.lowering("b"), Some(&kernel("X")));
        assert_eq!(mapping.lowering("c"), Some(&Lowering::Unnamed));
        assert_eq!(mapping.lowering("d"), Some(&Lowering::ZeroCost));
    }

    #[test]
    fn a_mapping_without_operators_is_an_error() {
        for text in ["version: 1\n", "operator_mappings:\n", "operator_mappings: {}\n", "[1]\n"] {
            assert!(refused(text.as_bytes()).contains("lists no operator"), "{text}");
        }
    }

    #[test]
    fn broken_yaml_is_an_error_with_its_place() {
        let error = OpMapping::from_bytes(b"a: 1\nb: [1\nc: }\n", "m.yaml").expect_err("broken");
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.place().is_some_and(|place| place.offset >= 5), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
        assert!(refused(b"a: \xff\n").contains("byte 3: the op mapping is not UTF-8"));
    }
}
