//! Derives changes from what two profiles state about one compiled program: its inputs, and the functions in its scopes.
//!
//! ```text
//! jit_step(weights[0], weights[1], x: [256, 128])      jit_step(weights[0] … weights[2], x: [512, 128])
//!   layer_0: dot_general, tanh                ──▶        layer_0: dot_general, tanh
//!   layer_1: dot_general, tanh                           layer_1: dot_general, tanh
//!                                                        layer_2: dot_general, tanh
//! one layer more; x is 2x as large
//! ```
//! How the compiler fuses the instructions, and which kernels it chooses, are consequences of these changes.

mod inputs;
mod scopes;
mod sentence;

use crate::trace::CompiledProgram;
use inputs::Inputs;
use scopes::Scopes;
use sentence::Stated;

/// The changes between the two sides of a program, from the structure of the program to its data.
pub(super) fn changes(
    one: &CompiledProgram,
    two: &CompiledProgram,
    has_same_compiler: bool,
) -> Vec<Stated> {
    let inputs = Inputs::new(one, two);
    let optimizer = inputs.optimizer();
    let mut found = Vec::new();
    if !one.stacks.is_empty() && !two.stacks.is_empty() {
        let scopes = [Scopes::of(one), Scopes::of(two)];
        found.extend(scopes::layers(&scopes, &one.name));
        if found.is_empty() {
            found.extend(inputs.repeated());
        }
        found.extend(scopes::checkpointing(&scopes, &one.name));
        // A compiler of another version may lower a function differently.
        if has_same_compiler {
            found.extend(scopes::functions(&scopes, &one.name, optimizer.is_some()));
            found.extend(scopes::one_sided(&scopes, &one.name));
        }
    } else {
        found.extend(inputs.repeated());
    }
    found.extend(optimizer);
    if found.is_empty() {
        found.extend(inputs.one_sided());
    }
    found.extend(inputs.sizes());
    found.extend(inputs.types());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::ProgramInput;

    fn program(inputs: &[(&str, &[u64], &'static str)], stacks: &[&str]) -> CompiledProgram {
        let input = |&(name, dimensions, element): &(&str, &[u64], &'static str)| ProgramInput {
            name: name.to_owned(),
            dimensions: dimensions.to_vec(),
            element,
        };
        CompiledProgram {
            name: "jit_step".to_owned(),
            inputs: inputs.iter().map(input).collect(),
            stacks: stacks.iter().map(|stack| (*stack).to_owned()).collect(),
            elements: ["float"].into_iter().collect(),
        }
    }

    /// The sentences in both directions.
    fn shown(one: &CompiledProgram, two: &CompiledProgram) -> [Vec<String>; 2] {
        [(one, two), (two, one)].map(|(one, two)| {
            changes(one, two, true).into_iter().map(|change| change.sentence).collect()
        })
    }

    const LAYER: [&str; 4] = [
        "jvp(layer_0)/dot_general",
        "jvp(layer_0)/tanh",
        "transpose(jvp(layer_0))/dot_general",
        "transpose(jvp(layer_0))/mul",
    ];

    fn layers(count: usize) -> Vec<String> {
        let of = |at: usize| LAYER.map(|stack| stack.replace("layer_0", &format!("layer_{at}")));
        (0..count).flat_map(of).collect()
    }

    fn of_stacks(stacks: &[String]) -> CompiledProgram {
        program(&[("x", &[8, 4], "float")], &stacks.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn scopes_that_differ_only_in_their_numbers_are_layers() {
        assert_eq!(
            shown(&of_stacks(&layers(2)), &of_stacks(&layers(3))),
            [
                ["3 instead of 2 layer_# in jit_step (layer_2 was added)"],
                ["2 instead of 3 layer_# in jit_step (layer_2 was removed)"]
            ]
        );
        // A layer that is numbered from 1 is not another layer.
        let renumbered: Vec<String> =
            layers(2).iter().map(|stack| stack.replace("layer_0", "layer_2")).collect();
        assert_eq!(shown(&of_stacks(&layers(2)), &of_stacks(&renumbered)), [[""; 0], [""; 0]]);
    }

    #[test]
    fn an_inner_scope_is_part_of_the_layer() {
        let nested = |count: usize| -> Vec<String> {
            let inner = (0..count).flat_map(|at| {
                [0, 1].map(|dense| format!("jvp(Model)/block_{at}/Dense_{dense}/dot_general"))
            });
            inner.collect()
        };
        let [there, _] = shown(&of_stacks(&nested(2)), &of_stacks(&nested(4)));
        assert_eq!(
            there,
            ["4 instead of 2 Model/block_# in jit_step (block_2, block_3 were added)"]
        );
    }

    #[test]
    fn without_scopes_inputs_of_one_kind_are_counted() {
        let of = |count: usize| {
            let names: Vec<String> = (0..count).map(|at| format!("params[{at}]")).collect();
            let inputs: Vec<(&str, &[u64], &'static str)> =
                names.iter().map(|name| (name.as_str(), &[4_u64, 4][..], "float")).collect();
            program(&inputs, &["jvp()/dot_general"])
        };
        assert_eq!(shown(&of(2), &of(3))[0], ["jit_step has 3 instead of 2 inputs params[#]"]);
        assert_eq!(shown(&of(2), &of(2)), [[""; 0], [""; 0]]);
    }

    #[test]
    fn a_function_that_only_one_side_computes_is_named() {
        let relu: Vec<String> =
            layers(2).iter().map(|stack| stack.replace(")/tanh", ")/jit(relu)/max")).collect();
        let mut gelu = layers(2);
        gelu.extend(["jvp(layer_0)/integer_pow", "jvp(layer_1)/integer_pow"].map(str::to_owned));
        assert_eq!(
            shown(&of_stacks(&gelu), &of_stacks(&relu)),
            [
                ["layer_# computes max (relu) instead of integer_pow, tanh (gelu) in jit_step"],
                ["layer_# computes integer_pow, tanh (gelu) instead of max (relu) in jit_step"]
            ]
        );
        // Other ways to arrange or to scale the same values are not another function.
        let mut arranged = layers(2);
        arranged.extend(["jvp(layer_0)/transpose", "jvp(layer_1)/mul"].map(str::to_owned));
        assert_eq!(shown(&of_stacks(&layers(2)), &of_stacks(&arranged)), [[""; 0], [""; 0]]);
        // Another compiler may lower a function differently.
        assert_eq!(changes(&of_stacks(&gelu), &of_stacks(&relu), false), []);
    }

    #[test]
    fn a_scope_that_only_one_side_has_is_named_unless_it_was_renamed() {
        let mut more = layers(1);
        more.push("jvp(norm)/rsqrt".to_owned());
        assert_eq!(
            shown(&of_stacks(&layers(1)), &of_stacks(&more)),
            [["norm was added to jit_step"], ["norm was removed from jit_step"]]
        );
        let renamed: Vec<String> =
            more.iter().map(|stack| stack.replace("norm", "layer_norm")).collect();
        assert_eq!(shown(&of_stacks(&more), &of_stacks(&renamed)), [[""; 0], [""; 0]]);
        let other: Vec<String> =
            more.iter().map(|stack| stack.replace("norm)/rsqrt", "scale)/erf")).collect();
        assert_eq!(
            shown(&of_stacks(&more), &of_stacks(&other))[0],
            ["scale instead of norm in jit_step"]
        );
    }

    #[test]
    fn a_forward_pass_that_runs_again_is_checkpointed() {
        let again: Vec<String> = layers(2)
            .iter()
            .map(|stack| {
                let scope = stack.find("layer_").map_or("", |at| &stack[at..at + 7]);
                let inside = format!("transpose(jvp({scope}))/jvp({scope})/checkpoint/");
                match stack.split_once(")/") {
                    Some((_, "tanh")) => format!("{inside}rematted_computation/tanh"),
                    Some((before, after)) if before.starts_with("transpose") => {
                        format!("{inside}{}", after.trim_start_matches(")/"))
                    }
                    _ => stack.clone(),
                }
            })
            .collect();
        assert_eq!(
            shown(&of_stacks(&layers(2)), &of_stacks(&again)),
            [
                ["The backward pass of jit_step computes layer_# again"],
                ["The backward pass of jit_step no longer computes layer_# again"]
            ]
        );
        assert_eq!(shown(&of_stacks(&again), &of_stacks(&again)), [[""; 0], [""; 0]]);
    }

    #[test]
    fn inputs_of_other_sizes_and_types_are_named() {
        let of = |rows: u64, element: &'static str| {
            let weights = [("v", &[4_u64, 4][..], element), ("w", &[4, 4], element)];
            program(&[weights[0], weights[1], ("x", &[rows, 4], element)], &["jvp()/dot_general"])
        };
        let change = |one: &CompiledProgram, two: &CompiledProgram| changes(one, two, true);
        let sized = change(&of(8, "float"), &of(16, "float"));
        assert_eq!(sized.len(), 1);
        assert_eq!(
            sized[0].sentence,
            "The input x of jit_step is 2x as large: [16, 4] instead of [8, 4]"
        );
        assert_eq!(sized[0].usual, "batch size, sequence length");
        let typed = change(&of(8, "float"), &of(8, "c10::BFloat16"));
        assert_eq!(typed.len(), 1);
        assert_eq!(typed[0].sentence, "The inputs of jit_step are bfloat16 instead of float32");
        assert_eq!(change(&of(8, "float"), &of(8, "float")), []);
    }

    #[test]
    fn a_type_that_only_the_results_of_one_side_have_is_named() {
        let of = |types: &[&'static str]| CompiledProgram {
            elements: types.iter().copied().collect(),
            ..of_stacks(&layers(1))
        };
        let [there, back] = shown(&of(&["float", "int"]), &of(&["c10::BFloat16", "float"]));
        assert_eq!(there, ["jit_step computes in bfloat16 and float32 instead of float32"]);
        assert_eq!(back, ["jit_step computes in float32 instead of bfloat16 and float32"]);
        // A library may add up in float32.
        let split = of(&["c10::BFloat16", "float"]);
        assert_eq!(shown(&of(&["c10::BFloat16"]), &split), [[""; 0], [""; 0]]);
    }

    #[test]
    fn a_program_that_computes_no_gradients_is_not_one_with_other_functions() {
        let all = layers(2);
        let forward: Vec<String> =
            all.iter().filter(|stack| !stack.starts_with("transpose")).cloned().collect();
        let forward: Vec<String> =
            forward.iter().map(|stack| stack.replace("jvp(", "").replacen(')', "", 1)).collect();
        let mut trained = all;
        trained.push("transpose(jvp(layer_0))/scatter-add".to_owned());
        assert_eq!(
            shown(&of_stacks(&trained), &of_stacks(&forward)),
            [["jit_step no longer computes gradients"], ["jit_step computes gradients"]]
        );
    }

    #[test]
    fn an_optimizer_is_named_by_what_it_keeps() {
        let of = |names: &[&str], stacks: &[&str]| {
            let inputs: Vec<_> = names.iter().map(|name| (*name, &[4_u64][..], "float")).collect();
            program(&inputs, stacks)
        };
        let sgd = of(&["p['w']", "x"], &["jvp()/dot_general"]);
        let adam = of(
            &["p['w']", "o[0].mu['w']", "o[0].nu['w']", "o[0].count", "x"],
            &["jvp()/dot_general", "sqrt"],
        );
        assert_eq!(
            shown(&sgd, &adam),
            [
                ["The optimizer of jit_step also keeps mu, nu (Adam)"],
                ["The optimizer of jit_step no longer keeps mu, nu (Adam)"]
            ]
        );
        let other = of(&["p['w']", "s.scale", "x"], &["jvp()/dot_general"]);
        assert_eq!(shown(&sgd, &other)[0], ["Inputs were added to jit_step: s.scale"]);
    }

    #[test]
    fn inputs_that_only_one_side_has_are_named_unless_they_were_renamed() {
        let of = |names: &[&str]| {
            let inputs: Vec<_> = names.iter().map(|name| (*name, &[4_u64][..], "float")).collect();
            program(&inputs, &["jvp()/dot_general"])
        };
        assert_eq!(
            shown(&of(&["x"]), &of(&["x", "scale"])),
            [
                ["Inputs were added to jit_step: scale"],
                ["Inputs were removed from jit_step: scale"]
            ]
        );
        assert_eq!(shown(&of(&["x", "y"]), &of(&["x", "scale"])), [[""; 0], [""; 0]]);
    }
}
