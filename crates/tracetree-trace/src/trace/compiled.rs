//! What a profile states about a compiled program: its inputs, and what each of its parts computes.

use std::collections::BTreeSet;

/// A program that XLA compiled and that ran in the recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct CompiledProgram {
    /// The name of the module, such as `jit_train_step`.
    pub name: String,
    /// The inputs, in the order of the program's parameters.
    pub inputs: Vec<ProgramInput>,
    /// The name stacks of all instructions, such as `jvp(layer_0)/dot_general`, without the scope of the program.
    pub stacks: BTreeSet<String>,
    /// PyTorch's names of the element types of all results.
    pub elements: BTreeSet<&'static str>,
}

/// An input of a compiled program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[doc(hidden)]
pub struct ProgramInput {
    /// The name in the user's program, such as `weights[0]`.
    pub name: String,
    /// Sizes of the dimensions.
    pub dimensions: Vec<u64>,
    /// PyTorch's name of the element type; empty if PyTorch has no such type.
    pub element: &'static str,
}
