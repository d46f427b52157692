//! Compares the inputs of a compiled program by their names.

use super::sentence::{Stated, list};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::phrases::short;
use crate::analysis::changes::rules::arguments::plain_type;
use crate::program::counted;
use crate::trace::{CompiledProgram, ProgramInput};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The fields of optax with values that an optimizer averages over the steps.
const AVERAGES: [&str; 6] = ["mu", "nu", "sum_of_squares", "trace", "v_col", "v_row"];

/// The inputs of a program on both sides.
pub(super) struct Inputs<'p> {
    one: &'p CompiledProgram,
    two: &'p CompiledProgram,
    /// The number of inputs on each side whose names differ only in numbers, by this name.
    counts: BTreeMap<String, [usize; 2]>,
}

impl<'p> Inputs<'p> {
    pub(super) fn new(one: &'p CompiledProgram, two: &'p CompiledProgram) -> Inputs<'p> {
        let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for (side, program) in [one, two].into_iter().enumerate() {
            for input in &program.inputs {
                counts.entry(class(&input.name)).or_default()[side] += 1;
            }
        }
        Inputs { one, two, counts }
    }

    /// One side has more inputs of a kind, as a program with more layers has.
    pub(super) fn repeated(&self) -> Option<Stated> {
        let others = self.counts.iter().filter(|(_, [one, two])| one != two && one.min(two) > &0);
        let shown: Vec<String> = others
            .map(|(class, [one, two])| format!("{two} instead of {one} inputs {class}"))
            .collect();
        (!shown.is_empty()).then(|| Stated {
            kind: ChangeKind::Layers,
            sentence: format!("{} has {}", self.one.name, list(&shown)),
            usual: "",
        })
    }

    /// The inputs with names that the other side does not have, of each side.
    fn only(&self) -> [Vec<&'p ProgramInput>; 2] {
        [(self.one, 1), (self.two, 0)].map(|(program, other)| {
            let inputs = program.inputs.iter();
            inputs.filter(|input| self.counts[&class(&input.name)][other] == 0).collect()
        })
    }

    /// Only one side keeps values that an optimizer of optax averages over the steps.
    pub(super) fn optimizer(&self) -> Option<Stated> {
        let [gone, new] = self.only().map(|inputs| {
            let fields =
                inputs.iter().filter_map(|input| input.name.split_once("].")?.1.split('[').next());
            fields.filter(|field| AVERAGES.contains(field)).collect::<BTreeSet<&str>>()
        });
        let words = |fields: &BTreeSet<&str>| {
            let of = if fields.contains("nu") { " (Adam)" } else { "" };
            list(&fields.iter().collect::<Vec<_>>()) + of
        };
        let program = &self.one.name;
        let sentence = match (gone.is_empty(), new.is_empty()) {
            (true, true) => return None,
            (true, false) => format!("The optimizer of {program} also keeps {}", words(&new)),
            (false, true) => format!("The optimizer of {program} no longer keeps {}", words(&gone)),
            (false, false) => {
                format!(
                    "The optimizer of {program} keeps {} instead of {}",
                    words(&new),
                    words(&gone)
                )
            }
        };
        Some(Stated { kind: ChangeKind::Optimizer, sentence, usual: "" })
    }

    /// Inputs with names that the other side does not have, unless it has the same inputs under other names.
    pub(super) fn one_sided(&self) -> Option<Stated> {
        let [gone, new] = self.only();
        let forms = |inputs: &[&ProgramInput]| {
            let mut forms: Vec<(Vec<u64>, &str)> =
                inputs.iter().map(|input| (input.dimensions.clone(), input.element)).collect();
            forms.sort_unstable();
            forms
        };
        if forms(&gone) == forms(&new) {
            return None;
        }
        let names = |inputs: &[&ProgramInput]| {
            let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
            list(&names)
        };
        let program = &self.one.name;
        let sentence = match (gone.is_empty(), new.is_empty()) {
            (true, _) => format!("Inputs were added to {program}: {}", names(&new)),
            (_, true) => format!("Inputs were removed from {program}: {}", names(&gone)),
            (false, false) => {
                format!("The inputs of {program} are {} instead of {}", names(&new), names(&gone))
            }
        };
        Some(Stated { kind: ChangeKind::Arguments, sentence, usual: "" })
    }

    /// The inputs that both sides have. If the sides number a kind of inputs differently, equal numbers do not mean the
    /// same input.
    fn pairs(&self) -> Vec<(&'p ProgramInput, &'p ProgramInput)> {
        let of_two: BTreeMap<&str, &ProgramInput> =
            self.two.inputs.iter().map(|input| (input.name.as_str(), input)).collect();
        let is_same = |input: &&ProgramInput| {
            let [one, two] = self.counts[&class(&input.name)];
            one == two
        };
        let own = self.one.inputs.iter().filter(is_same);
        own.filter_map(|one| Some((one, *of_two.get(one.name.as_str())?))).collect()
    }

    pub(super) fn sizes(&self) -> Option<Stated> {
        let pairs = self.pairs();
        let other: Vec<_> =
            pairs.iter().filter(|(one, two)| one.dimensions != two.dimensions).collect();
        let program = &self.one.name;
        let size = |input: &ProgramInput| format!("{:?}", input.dimensions);
        let shown: Vec<String> = other
            .iter()
            .map(|(one, two)| format!("{} is {} instead of {}", one.name, size(two), size(one)))
            .collect();
        let sentence = match other.as_slice() {
            [] => return None,
            [(one, two)] => {
                let (larger, one_size, two_size) = (larger(one, two), size(one), size(two));
                format!(
                    "The input {} of {program} is {larger}{two_size} instead of {one_size}",
                    one.name
                )
            }
            _ => {
                let count = counted(other.len() as u64, "input");
                format!("{count} of {program} have other sizes: {}", list(&shown))
            }
        };
        // Another model has weights of other sizes, and most inputs are weights.
        let usual = match (2 * other.len()).cmp(&pairs.len()) {
            Ordering::Less => "batch size, sequence length",
            Ordering::Equal => "",
            Ordering::Greater => "model size",
        };
        Some(Stated { kind: ChangeKind::Shapes, sentence, usual })
    }

    /// Inputs of other floating-point types or, if these are the same, results.
    pub(super) fn types(&self) -> Option<Stated> {
        let types = |&(one, two): &(&ProgramInput, &ProgramInput)| {
            Some((plain_type(one.element)?, plain_type(two.element)?))
        };
        let floats: Vec<_> = self.pairs().iter().filter_map(types).collect();
        let other: Vec<_> = floats.iter().filter(|(one, two)| one != two).collect();
        let program = &self.one.name;
        let sentence = match other.first() {
            Some((one, two)) => {
                let inputs = match (other.len(), floats.len()) {
                    (some, all) if some == all => format!("The inputs of {program} are"),
                    (1, all) => format!("1 of {all} inputs of {program} is"),
                    (some, all) => format!("{some} of {all} inputs of {program} are"),
                };
                format!("{inputs} {two} instead of {one}")
            }
            None => {
                let [one, two] = [&self.one.elements, &self.two.elements].map(floats_of);
                // A library may add up parts of a product in a larger type, so this type says nothing.
                let is_reduced = |name: &&str| !matches!(*name, "float32" | "float64");
                let reduced =
                    |of: &[&'static str]| of.iter().copied().filter(is_reduced).collect::<Vec<_>>();
                if reduced(&one) == reduced(&two) || one.is_empty() || two.is_empty() {
                    return None;
                }
                let [one, two] = [one, two].map(|types| types.join(" and "));
                format!("{program} computes in {two} instead of {one}")
            }
        };
        Some(Stated { kind: ChangeKind::Precision, sentence, usual: "the dtype of the model" })
    }
}

/// PyTorch's names of the floating-point types.
fn floats_of(elements: &BTreeSet<&'static str>) -> Vec<&'static str> {
    elements
        .iter()
        .filter_map(|name| plain_type(name))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// A phrase such as `2x as large: `; empty if the numbers of elements do not have a ratio.
fn larger(one: &ProgramInput, two: &ProgramInput) -> String {
    let [one, two] = [one, two].map(|input| input.dimensions.iter().product::<u64>() as f64);
    match (one, two) {
        (one, two) if one == 0.0 || two == 0.0 || one == two => String::new(),
        (one, two) if two > one => format!("{}x as large: ", short(two / one)),
        (one, two) => format!("{}x smaller: ", short(one / two)),
    }
}

/// The name of an input without its numbers: `weights[3]` → `weights[#]`.
fn class(name: &str) -> String {
    let mut class = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '0'..='9' if class.ends_with('#') => {}
            '0'..='9' => class.push('#'),
            other => class.push(other),
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use super::{ProgramInput, larger};

    #[test]
    fn inputs_with_as_many_or_without_elements_have_no_ratio() {
        let input = |dimensions: &[u64]| ProgramInput {
            name: "x".to_owned(),
            dimensions: dimensions.to_vec(),
            element: "float32",
        };
        let ratio = |one: &[u64], two: &[u64]| larger(&input(one), &input(two));
        assert_eq!(ratio(&[2, 8], &[4, 8]), "2x as large: ");
        assert_eq!(ratio(&[4, 8], &[2, 8]), "2x smaller: ");
        for (one, two) in [([2, 8], [4, 4]), ([2, 8], [0, 8]), ([0, 8], [2, 8])] {
            assert_eq!(ratio(&one, &two), "");
        }
    }
}
