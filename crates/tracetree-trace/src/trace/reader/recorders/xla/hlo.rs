//! Reads the name stack and the inputs of each op from a compiled program in `/host:metadata`, and what the whole
//! program computes.
//!
//! A fusion often has no name stack of its own. A fusion without a name stack gets the name stack
//! of its root instruction. If the root instruction has none, the fusion gets the name stack of its
//! last instruction that has a name stack.

use super::scopes;
use super::wire::{Message, Read};
use crate::trace::compiled::{CompiledProgram, ProgramInput};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Maximum depth to which nested computations are searched for a name stack.
const DEEPEST: usize = 8;

/// Maximum length of a name stack in bytes; a longer name stack is ignored.
const LONGEST_STACK: usize = 4096;

/// Maximum number of instructions to search for a name stack in a fusion.
const MOST_SEARCHED: usize = 1024;

/// Maximum number of inputs to list for an op, and of dimensions to list for an input.
const MOST_INPUTS: usize = 64;

/// A compiled program.
#[derive(Debug, Default)]
pub(super) struct Program<'a> {
    instructions: Vec<Instruction<'a>>,
    by_name: FxHashMap<&'a str, usize>,
    by_id: FxHashMap<u64, usize>,
    computations: FxHashMap<u64, Computation>,
    by_kernel: FxHashMap<String, usize>,
    /// Id of the computation that runs first.
    entry: u64,
}

#[derive(Debug, Default)]
struct Instruction<'a> {
    id: u64,
    name: &'a str,
    opcode: &'a str,
    /// The position of a parameter among the parameters of its computation.
    position: u64,
    stack: &'a str,
    shape: Shape,
    operands: Vec<u64>,
    called: Vec<u64>,
}

#[derive(Debug, Default)]
struct Computation {
    root: u64,
    /// The computation's instructions are at the positions `first..end`.
    first: usize,
    end: usize,
}

#[derive(Debug, Default, Clone)]
struct Shape {
    element: u64,
    dimensions: Vec<u64>,
}

impl<'a> Program<'a> {
    /// Reads an `HloProto`.
    pub(super) fn read(proto: Message<'a>) -> Read<Program<'a>> {
        let mut program = Program::default();
        for field in proto.fields() {
            let (1, module) = field? else { continue };
            for field in module.message().fields() {
                match field? {
                    (3, value) => program.add_computation(value.message())?,
                    (6, value) => program.entry = value.number(),
                    _ => {}
                }
            }
        }
        for (at, instruction) in program.instructions.iter().enumerate() {
            program.by_name.insert(instruction.name, at);
            program.by_id.insert(instruction.id, at);
            program.by_kernel.insert(kernel_name(instruction.name), at);
        }
        Ok(program)
    }

    fn add_computation(&mut self, computation: Message<'a>) -> Read<()> {
        let (mut id, mut root, first) = (0, 0, self.instructions.len());
        for field in computation.fields() {
            match field? {
                (2, value) => self.instructions.push(read_instruction(value.message())?),
                (5, value) => id = value.number(),
                (6, value) => root = value.number(),
                _ => {}
            }
        }
        let end = self.instructions.len();
        self.computations.insert(id, Computation { root, first, end });
        Ok(())
    }

    /// The op with this name. The name can also be that of a kernel: `fusion_3` finds the op
    /// `fusion.3`.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).or_else(|| self.by_kernel.get(name)).copied()
    }

    /// The name stack of an op; empty if there is none.
    pub(super) fn stack(&self, op: usize) -> &'a str {
        self.stack_below(op, 0)
    }

    fn stack_below(&self, op: usize, depth: usize) -> &'a str {
        let instruction = &self.instructions[op];
        if !instruction.stack.is_empty() || depth == DEEPEST {
            return instruction.stack;
        }
        // Only the first called computation is searched, because a search through all of them could
        // visit the same computation many times.
        let called = instruction.called.first().and_then(|id| self.computations.get(id));
        let Some(called) = called else { return "" };
        let root = self.by_id.get(&called.root).filter(|&&root| root != op);
        let of_root = root.map_or("", |&root| self.stack_below(root, depth + 1));
        let has_stack = |other: &&Instruction<'a>| !other.stack.is_empty();
        let others = &self.instructions[called.first..called.end];
        match others.iter().rev().take(MOST_SEARCHED).find(has_stack) {
            Some(other) if of_root.is_empty() => other.stack,
            Some(_) | None => of_root,
        }
    }

    /// Two JSON lists in Kineto's format: the shapes and the element types of an op's inputs.
    pub(super) fn inputs(&self, op: usize) -> (String, String) {
        let operands = self.instructions[op].operands.iter().take(MOST_INPUTS);
        let shapes = operands.filter_map(|id| Some(&self.instructions[*self.by_id.get(id)?].shape));
        let (mut dims, mut types) = (Vec::new(), Vec::new());
        for shape in shapes {
            let sizes: Vec<String> =
                shape.dimensions.iter().take(MOST_INPUTS).map(u64::to_string).collect();
            dims.push(format!("[{}]", sizes.join(", ")));
            types.push(format!("\"{}\"", element(shape.element)));
        }
        (format!("[{}]", dims.join(", ")), format!("[{}]", types.join(", ")))
    }

    /// What the profile states about the program, which is the module `name`.
    pub(super) fn stated(&self, name: &str) -> CompiledProgram {
        let is_parameter = |instruction: &&Instruction<'a>| instruction.opcode == "parameter";
        let entry = self.computations.get(&self.entry);
        let entry = entry.map_or(&[][..], |entry| &self.instructions[entry.first..entry.end]);
        let mut parameters: Vec<&Instruction<'a>> = entry.iter().filter(is_parameter).collect();
        parameters.sort_by_key(|parameter| parameter.position);
        let input = |parameter: &&Instruction<'a>| ProgramInput {
            name: match parameter.stack {
                "" => parameter.name.to_owned(),
                name => name.to_owned(),
            },
            dimensions: parameter.shape.dimensions.clone(),
            element: element(parameter.shape.element),
        };
        let mut program = CompiledProgram {
            name: name.to_owned(),
            inputs: parameters.iter().map(input).collect(),
            ..CompiledProgram::default()
        };
        let mut stacks: BTreeSet<&str> = BTreeSet::new();
        for instruction in self.instructions.iter().filter(|one| !is_parameter(one)) {
            // An instruction that replaces several others has the name stacks of all of them.
            stacks.extend(instruction.stack.split(';'));
            program.elements.insert(element(instruction.shape.element));
        }
        // A copy of an input has the name of the input instead of a name stack.
        stacks.retain(|stack| stack.split('/').next().is_some_and(|first| first.contains('(')));
        let scopes = stacks.into_iter().map(|stack| scopes::of(stack, name).join("/"));
        program.stacks = scopes.filter(|stack| !stack.is_empty()).collect();
        program
    }
}

/// XLA names a kernel after the instruction, with `_` in place of characters that C names must not
/// contain.
fn kernel_name(instruction: &str) -> String {
    instruction.replace(['.', '-'], "_")
}

fn read_instruction(message: Message<'_>) -> Read<Instruction<'_>> {
    let mut read = Instruction::default();
    for field in message.fields() {
        match field? {
            (1, value) => read.name = value.message().text(),
            (2, value) => read.opcode = value.message().text(),
            (3, value) => read.shape = read_shape(value.message())?,
            (7, value) => {
                for field in value.message().fields() {
                    if let (2, stack) = field? {
                        let stack = Some(stack.message().text());
                        let stack = stack.filter(|stack| stack.len() <= LONGEST_STACK);
                        read.stack = stack.unwrap_or_default();
                    }
                }
            }
            (9, value) => read.position = value.number(),
            (35, value) => read.id = value.number(),
            (36, value) => value.add_numbers(&mut read.operands)?,
            (38, value) => value.add_numbers(&mut read.called)?,
            _ => {}
        }
    }
    Ok(read)
}

fn read_shape(message: Message<'_>) -> Read<Shape> {
    let mut shape = Shape::default();
    for field in message.fields() {
        match field? {
            (2, value) => shape.element = value.number(),
            (3, value) => value.add_numbers(&mut shape.dimensions)?,
            _ => {}
        }
    }
    Ok(shape)
}

/// PyTorch's name for an element type, so that types from both frameworks can be compared.
fn element(kind: u64) -> &'static str {
    match kind {
        1 => "bool",
        2 => "signed char",
        3 => "short",
        4 => "int",
        5 => "long int",
        6 => "unsigned char",
        7 => "unsigned short",
        8 => "unsigned int",
        9 => "unsigned long",
        10 => "c10::Half",
        11 => "float",
        12 => "double",
        13 => "tuple",
        15 => "c10::complex<float>",
        16 => "c10::BFloat16",
        18 => "c10::complex<double>",
        19 => "c10::Float8_e5m2",
        20 => "c10::Float8_e4m3fn",
        _ => "",
    }
}
