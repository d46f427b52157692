//! Tests for the evidence that is used to match calls. Each test covers one kind of evidence and fails if that evidence
//! is disabled.

use crate::support::compared::{align_threads as look, compare_texts, shaped};
use crate::support::find::{call, calls, relation};
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use tracetree::diff::{MergedNode, Relation, TraceDiff};
use tracetree::tree::CallId;
use tracetree::{PerSide, Side};

fn dims(diff: &TraceDiff, side: Side, call: CallId) -> &str {
    let tree = diff.tree(side);
    tree.arguments(call).map_or("", |arguments| tree.trace().text(arguments.dims))
}

/// Whether every selected baseline call has a counterpart with the same shapes. A call is selected if `names` returns
/// true for its name.
fn keep_their_shapes(diff: &TraceDiff, names: impl Fn(&str) -> bool) -> bool {
    let tree = diff.tree(Side::Baseline);
    tree.calls().filter(|&call| names(tree.name(call))).all(|call| {
        let counterpart = diff.counterpart(Side::Baseline, call);
        counterpart.is_some_and(|counterpart| {
            dims(diff, Side::Baseline, call) == dims(diff, Side::Candidate, counterpart)
        })
    })
}

/// A linear layer, as recorded with or without Python stacks.
fn layer(t: &mut HostThread<'_>, stacks: bool, number: i64) {
    let ops = |t: &mut HostThread<'_>| {
        t.op(shaped("aten::linear", number), |t| {
            t.leaf(shaped("aten::t", number));
            t.op(shaped("aten::addmm", number), |t| t.kernel("gemm", 5.0));
        });
    };
    if stacks {
        t.frame(&format!("model.py({number}): block"), |t| {
            t.module(&format!("Linear_{number}"), |t| {
                t.frame("torch/nn/modules/linear.py(124): forward", ops);
            });
        })
    } else {
        ops(t)
    }
}

#[test]
fn stacks_missing_on_one_side_are_not_evidence_against_a_match() {
    let run = |stacks: bool| {
        move |t: &mut HostThread<'_>| {
            for number in 1..30 {
                layer(t, stacks, number);
            }
        }
    };
    look(run(true), run(false), |diff| {
        let tree = diff.tree(Side::Baseline);
        for name in ["aten::linear", "aten::addmm", "gemm"] {
            for call in calls(tree, name) {
                assert_eq!(diff.relation(Side::Baseline, call), Relation::Same, "{name}");
            }
        }
        assert!(keep_their_shapes(diff, |name| name == "aten::linear"));
        // In the merged tree, the frames still enclose the matched calls.
        let merged = diff.merged();
        let linear = merged.of(Side::Baseline, calls(tree, "aten::linear")[0]);
        let above = merged.parent(linear).map(|parent| merged.node(parent));
        let frame = calls(tree, "torch/nn/modules/linear.py(124): forward")[0];
        assert_eq!(above, Some(MergedNode::Only(Side::Baseline, frame)));
    });
}

#[test]
fn swapped_modules_are_matched_by_their_contents_and_not_by_their_numbers() {
    let norms = |rows: [i64; 2]| {
        move |t: &mut HostThread<'_>| {
            t.frame("model.py(5): forward", |t| {
                for (number, rows) in rows.into_iter().enumerate() {
                    t.module(&format!("RMSNorm_{number}"), |t| {
                        t.op(shaped("aten::rms_norm", rows), |t| t.kernel("rms", 5.0));
                    });
                }
            });
        }
    };
    look(norms([491_520, 122_880]), norms([122_880, 491_520]), |diff| {
        assert!(keep_their_shapes(diff, |name| name == "aten::rms_norm"));
    });
}

#[test]
fn the_running_number_of_a_generated_kernel_is_not_evidence() {
    let chain = |first: usize| {
        move |t: &mut HostThread<'_>| {
            for (number, rows) in (first..).zip([8, 16, 8, 32, 64, 8]) {
                let name = format!("triton_poi_fused_add_{number}");
                t.op(shaped(&name, rows), |t| t.kernel(&name, 5.0));
            }
        }
    };
    // The candidate runs an additional kernel first, so the numbers in the names of all later kernels are higher by
    // one.
    let one_more = move |t: &mut HostThread<'_>| {
        t.op(shaped("triton_red_fused_mean_0", 4), |t| t.kernel("triton_red_fused_mean_0", 5.0));
        chain(1)(t);
    };
    look(chain(0), one_more, |diff| {
        assert!(keep_their_shapes(diff, |name| name.starts_with("triton_poi")));
        let first = calls(diff.tree(Side::Baseline), "triton_poi_fused_add_0");
        for call in first {
            assert_eq!(diff.relation(Side::Baseline, call), Relation::Same);
        }
    });
}

#[test]
fn a_word_in_many_names_does_not_make_two_ops_variants() {
    let backward = |odd: &'static str, kernels: usize| {
        move |t: &mut HostThread<'_>| {
            for number in 0..12 {
                let name = format!("autograd::engine::evaluate_function: Op{number}Backward0");
                t.op(shaped(&name, 3), |t| t.kernel("k", 5.0));
            }
            t.op(Op::new(&format!("autograd::engine::evaluate_function: {odd}")), |t| {
                for number in 0..kernels {
                    t.op(format!("{odd}::inner_{number}").as_str(), |t| t.kernel(odd, 5.0));
                }
            });
        }
    };
    look(backward("MeanBackward0", 1), backward("ThirdFunctionBackward", 4), |diff| {
        let name = "autograd::engine::evaluate_function: MeanBackward0";
        assert_eq!(relation(diff, Side::Baseline, name), (Relation::OnlyBaseline, None));
    });
}

#[test]
fn a_word_in_few_names_makes_two_ops_variants() {
    let convolution = |name: &'static str, inner: &'static str| {
        move |t: &mut HostThread<'_>| {
            t.op(shaped("aten::_convolution", 3), |t| {
                t.op(Op::new(name), |t| t.op(inner, |t| t.kernel(inner, 5.0)));
                t.op(shaped("aten::add_", 3), |t| t.kernel("add", 5.0));
            });
        }
    };
    let (mine, theirs) = ("aten::miopen_convolution", "aten::cudnn_convolution");
    look(convolution(mine, "winograd"), convolution(theirs, "implicit"), |diff| {
        assert_eq!(relation(diff, Side::Baseline, mine), (Relation::Renamed, Some(theirs)));
    });
}

#[test]
fn a_compiler_generated_op_is_never_a_rename() {
    let run = |name: &'static str| {
        move |t: &mut HostThread<'_>| {
            t.op(shaped("aten::matmul", 3), |t| {
                t.op(shaped("aten::expand", 3), |_| ());
                t.op(shaped(name, 3), |t| t.kernel(name, 5.0));
            });
        }
    };
    look(run("aten::reshape"), run("triton_poi_fused_reshape_bmm_0"), |diff| {
        let op = calls(diff.tree(Side::Baseline), "aten::reshape")[0];
        assert_eq!(diff.counterpart(Side::Baseline, op), None);
    });
}

#[test]
fn missing_calls_are_those_of_whole_steps() {
    let steps = |numbers: &'static [u32]| {
        move |t: &mut HostThread<'_>| {
            // The op before the first step equals the last op in each step, so a range of missing calls that starts one
            // op earlier would fit equally well.
            t.op(shaped("aten::mul", 3), |t| t.kernel("k", 5.0));
            for &number in numbers {
                t.step(number, |t| {
                    for name in ["aten::add", "aten::relu", "aten::mul"] {
                        t.op(shaped(name, 3), |t| t.kernel("k", 5.0));
                    }
                });
            }
        }
    };
    look(steps(&[1, 2, 3, 4]), steps(&[1, 2]), |diff| {
        let tree = diff.tree(Side::Baseline);
        let gone = ["aten::add", "aten::relu", "aten::mul"].map(|name| {
            let gone = calls(tree, name).into_iter();
            let gone = gone.filter(|&call| diff.counterpart(Side::Baseline, call).is_none());
            gone.map(|call| diff.program(Side::Baseline).steps().step(call)).collect::<Vec<_>>()
        });
        assert_eq!(gone[0].len(), 2);
        assert!(gone[0] == gone[1] && gone[1] == gone[2], "{gone:?}");
    });
}

#[test]
fn all_threads_agree_which_steps_are_unmatched() {
    let steps = |count: u32, noisy: u32| {
        let trace = TraceBuilder::cuda().thread("main", |t| {
            for number in 0..count {
                t.step(number, |t| {
                    t.op(shaped("aten::mm", 3), |t| t.kernel("k", 5.0));
                    t.wait_for("autograd", |t| {
                        t.op(shaped("MmBackward0", 3), |t| {
                            // The additional call makes the step exactly equal to a step at a different position.
                            if number == noisy {
                                t.call("cudaEventRecord");
                            }
                            t.kernel("k", 5.0);
                        });
                    });
                });
            }
        });
        trace.json()
    };
    compare_texts(&PerSide::new(steps(2, 1), steps(5, 4)), |analysis| {
        let diff = analysis.diff();
        for name in ["aten::mm", "MmBackward0"] {
            let counterparts = calls(diff.tree(Side::Baseline), name).into_iter().map(|call| {
                let counterpart = diff.counterpart(Side::Baseline, call)?;
                diff.program(Side::Candidate).steps().step(counterpart).map(|step| step.0)
            });
            assert_eq!(counterparts.collect::<Vec<_>>(), [Some(0), Some(1)], "{name}");
        }
    });
}

#[test]
fn an_op_that_casts_and_calls_itself_is_expanded_even_if_its_lowering_differs() {
    let convolution = |lowered: &'static str, kernel: &'static str| {
        move |t: &mut HostThread<'_>| {
            t.op("aten::convolution", |t| {
                t.op("aten::_convolution", |t| {
                    t.op(lowered, |t| {
                        t.leaf("aten::empty");
                        t.leaf("aten::resize_");
                        t.kernel(kernel, 5.0);
                    });
                });
            });
        }
    };
    let plain = |t: &mut HostThread<'_>| {
        t.op("aten::conv2d", convolution("aten::_conv_depthwise2d", "depthwise_kernel"));
    };
    let cast = |t: &mut HostThread<'_>| {
        t.op("aten::conv2d", |t| {
            t.op("aten::to", |t| t.kernel("copy_kernel", 2.0));
            t.op("aten::conv2d", convolution("aten::cudnn_convolution", "shmem_tiling"));
        });
    };
    look(plain, cast, |diff| {
        for name in ["aten::convolution", "aten::_convolution"] {
            assert_eq!(relation(diff, Side::Baseline, name), (Relation::Same, Some(name)));
        }
    });
}

fn mul(t: &mut HostThread<'_>) {
    t.op(shaped("aten::mul", 3), |t| t.kernel("mul", 5.0));
}

#[test]
fn a_split_product_is_matched_by_the_longest_of_its_kernels() {
    let product = |kernels: &'static [(&'static str, f64)]| {
        move |t: &mut HostThread<'_>| {
            t.op(shaped("aten::mm", 3), |t| {
                for &(name, micros) in kernels {
                    t.kernel(name, micros);
                }
            });
        }
    };
    let split: &[(&str, f64)] = &[("clear", 1.0), ("gemm_splitk", 30.0), ("reduce", 3.0)];
    look(product(&[("gemm", 40.0)]), product(split), |diff| {
        let gemm = relation(diff, Side::Baseline, "gemm");
        assert_eq!(gemm, (Relation::Renamed, Some("gemm_splitk")));
        assert_eq!(relation(diff, Side::Candidate, "reduce"), (Relation::OnlyCandidate, None));
    });
}

#[test]
fn a_module_with_another_caller_is_moved() {
    let head = |t: &mut HostThread<'_>| {
        t.module("Head_0", |t| {
            t.op(shaped("aten::linear", 3), |t| {
                t.op(shaped("aten::addmm", 3), |t| t.kernel("gemm", 5.0));
            });
        });
    };
    let body = |t: &mut HostThread<'_>| t.op(shaped("aten::relu", 3), |t| t.kernel("relu", 5.0));
    let inside = move |t: &mut HostThread<'_>| {
        t.module("Model_0", |t| {
            body(t);
            head(t);
        });
        mul(t);
    };
    let beside = move |t: &mut HostThread<'_>| {
        t.module("Model_0", body);
        head(t);
        mul(t);
    };
    look(inside, beside, |diff| {
        let name = "nn.Module: Head_0";
        assert_eq!(relation(diff, Side::Baseline, name), (Relation::Moved, Some(name)));
        assert_eq!(relation(diff, Side::Baseline, "gemm").1, Some("gemm"));
    });
}

#[test]
fn a_frame_in_a_renamed_folder_is_renamed() {
    let script = |folder: &'static str| {
        move |t: &mut HostThread<'_>| {
            for function in ["load", "prepare", "train"] {
                t.frame(&format!("{folder}/run.py(12): {function}"), |t| {
                    t.leaf(shaped(&format!("aten::{function}"), 3));
                });
                // An empty frame can be identified only by its file and function.
                t.frame(&format!("{folder}/log.py(3): {function}"), |_| ());
            }
        }
    };
    look(script("one"), script("two"), |diff| {
        for (file, function) in [("run.py(12)", "prepare"), ("log.py(3)", "train")] {
            let name = |folder: &str| format!("{folder}/{file}: {function}");
            let found = relation(diff, Side::Baseline, &name("one"));
            assert_eq!(found, (Relation::Renamed, Some(name("two").as_str())));
        }
    });
}

#[test]
fn frames_of_other_functions_are_not_renamed() {
    let run = |name: &'static str| move |t: &mut HostThread<'_>| t.frame(name, |_| ());
    let name = "torch/compiler/__init__.py(301): is_compiling";
    look(run(name), run("torch/_dynamo/guards.py(12): _get_value"), |diff| {
        assert_eq!(relation(diff, Side::Baseline, name), (Relation::OnlyBaseline, None));
    });
}

#[test]
fn swapped_calls_of_one_name_are_matched_by_their_arguments() {
    let casts = |rows: [i64; 2]| {
        move |t: &mut HostThread<'_>| {
            for rows in rows {
                t.op(shaped("aten::to", rows), |t| {
                    t.op(shaped("aten::copy_", 7), |t| t.kernel("copy", 5.0));
                });
            }
        }
    };
    look(casts([3, 5]), casts([5, 3]), |diff| {
        assert!(keep_their_shapes(diff, |name| name == "aten::to"));
    });
}

#[test]
fn each_of_hundreds_of_threads_is_matched_with_its_counterpart() {
    // Each thread in the candidate has an additional call, so no baseline thread is identical to a candidate thread.
    let threads = |numbers: Vec<usize>, common: usize| {
        let built = numbers.into_iter().fold(TraceBuilder::cuda(), |built, number| {
            built.thread(&format!("worker {number}"), |t| {
                for part in 0..3 {
                    t.leaf(shaped(&format!("work_{number}::part_{part}"), number as i64));
                }
                (0..common).for_each(|_| t.leaf(shaped("aten::common", 3)));
            })
        });
        built.json()
    };
    let texts = PerSide::new(threads((0..600).collect(), 1), threads((0..600).rev().collect(), 2));
    compare_texts(&texts, |analysis| {
        let diff = analysis.diff();
        let tree = diff.tree(Side::Baseline);
        for number in (0..600).step_by(37) {
            let op = call(tree, &format!("work_{number}::part_1"));
            assert_eq!(diff.relation(Side::Baseline, op), Relation::Same, "thread {number}");
        }
        assert!(diff.notes().get("THREADS_CUT").is_some());
    });
}
