//! Tests for `tracetree info`, which describes the contents of a trace: as a Rust value, as a line of text, as a list
//! of fields, and as JSON.

use crate::support::compared::trace;
use crate::support::trace_builder::{HostThread, Op, TraceBuilder};
use crate::support::traces;
use crate::support::tracetree;
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;
use tracetree::program::{Architecture, Contents, Model, Platform, TraceInfo, Vendor};
use tracetree::trace::Trace;
use tracetree::tree::CallTree;

fn recorded() -> String {
    TraceBuilder::rocm()
        .header("distributedInfo", json!({"backend": "nccl", "rank": 3, "world_size": 8}))
        .thread("main", |t| {
            for number in 0..2 {
                t.step(number, |t| {
                    t.annotation("step[DECODE bs=4]", |t| {
                        t.module("Model_0", |t| {
                            let op = Op::new("aten::mm").dims(&[&[4, 8]]);
                            t.op(op, |t| t.kernel("Cijk_gemm", 30.0));
                            t.launch("hipGraphLaunch").graph(|graph| graph.kernel("k", 10.0));
                        });
                    });
                });
            }
        })
        .unlinked_kernel("warm_up", 20.0)
        .json()
}

#[test]
fn info_reports_the_contents_of_a_trace() {
    let info = TraceInfo::of(&trace("a trace", &recorded()));
    assert_eq!((info.head.rank, info.head.world_size), (Some(3), Some(8)));
    assert_eq!(info.head.devices[0].name, "AMD Instinct MI300X");
    assert_eq!(info.platform.vendor, Vendor::Amd);
    assert_eq!((info.gpu_events, info.gpu_time_us), (5, 100.0));
    assert_eq!(info.launched_share, Some(0.8));
    assert_eq!((info.steps, info.batches), (2, 2));
    assert_eq!(info.phases, ["decode"]);
    let all =
        Contents { shapes: true, stacks: true, modules: true, graphs: true, annotations: true };
    assert_eq!(info.contents, all);
    let kernels = info.categories.iter().find(|kind| kind.category == "kernel").expect("kernels");
    assert_eq!(kernels.count, 5);
}

#[test]
fn equal_devices_are_counted() {
    let device = |id: u32, name: &str| json!({"id": id, "name": name, "warpSize": 32});
    let devices = json!([
        device(0, "NVIDIA H100"),
        device(1, "NVIDIA A100"),
        device(2, "NVIDIA H100"),
        device(3, "NVIDIA H100"),
    ]);
    let recorded = TraceBuilder::cuda().header("deviceProperties", devices).json();
    let found = TraceInfo::of(&trace("a trace", &recorded)).head.devices;
    let found: Vec<(&str, usize)> =
        found.iter().map(|device| (&*device.name, device.count as usize)).collect();
    assert_eq!(found, [("NVIDIA H100", 3), ("NVIDIA A100", 1)]);
}

#[test]
fn phases_come_from_annotations() {
    let phases = |names: &[&str]| {
        let builder = names.iter().fold(TraceBuilder::cuda(), |builder, name| {
            builder.thread("main", |t| t.annotation(name, |t| t.leaf("aten::mm")))
        });
        TraceInfo::of(&trace("a trace", &builder.json())).phases
    };
    assert_eq!(phases(&["step[IDLE bs=0]", "step[MIXED bs=2]"]), ["mixed", "idle"]);
    assert_eq!(phases(&["step[EXTEND bs=2]", "step[DECODE bs=2]"]), ["prefill", "decode"]);
    // A forward pass alone is not training.
    assert_eq!(phases(&["forward"]), [""; 0]);
    assert_eq!(phases(&["forward", "backward"]), ["train.forward", "train.backward"]);
    assert_eq!(phases(&["forward", "optimizer"]), ["train.forward", "train.optimizer"]);
}

#[test]
fn missing_launches_reduce_the_launched_share_of_gpu_time() {
    let share = |builder: TraceBuilder| {
        let tree = CallTree::build(trace("a trace", &builder.json()));
        let (of_trace, of_tree) =
            (TraceInfo::of(tree.trace()).launched_share, TraceInfo::of_tree(&tree).launched_share);
        assert_eq!(of_trace, of_tree);
        of_trace
    };
    let run = |micros: f64| {
        TraceBuilder::cuda().thread("main", |t| t.op("aten::mm", |t| t.kernel("a_kernel", micros)))
    };
    assert_eq!(share(run(30.0).unlinked_kernel("b", 10.0)), Some(0.75));
    assert_eq!(share(run(30.0)), Some(1.0));
    assert_eq!(share(TraceBuilder::cuda().unlinked_kernel("b", 10.0)), Some(0.0));
    assert_eq!(share(TraceBuilder::cuda().thread("main", |t| t.leaf("aten::mm"))), None);
}

#[test]
fn the_platform_is_decided_from_all_evidence() {
    let vendor = |builder: TraceBuilder| Platform::of(&trace("a trace", &builder.json())).vendor;
    let run = |builder: TraceBuilder| {
        builder.thread("main", |t| t.op("aten::mm", |t| t.kernel("a_kernel", 1.0)))
    };
    assert_eq!(vendor(run(TraceBuilder::cuda())), Vendor::Nvidia);
    assert_eq!(vendor(run(TraceBuilder::rocm())), Vendor::Amd);
    assert_eq!(vendor(TraceBuilder::cuda().thread("main", |t| t.leaf("aten::mm"))), Vendor::Cpu);
    // A version header alone does not determine the vendor.
    let misled = run(TraceBuilder::rocm()).header("cuda_runtime_version", json!(12040));
    assert_eq!(vendor(misled), Vendor::Amd);
}

/// Runs `tracetree info` in a folder with the trace `a.json`.
fn run(arguments: &[&str]) -> (String, Option<i32>) {
    let folder: TempDir = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("a.json"), recorded()).expect("a trace");
    let mut command = tracetree();
    let output = command.current_dir(folder.path()).arg("info").args(arguments).output();
    let output = output.expect("the program runs");
    (String::from_utf8(output.stdout).expect("UTF-8"), output.status.code())
}

#[test]
fn info_prints_one_line_per_trace() {
    let (out, code) = run(&["a.json"]);
    assert_eq!((out.lines().count(), code), (1, Some(0)), "{out}");
    for part in ["a.json · 1 x AMD Instinct MI300X", "rank 3 of 8", "amd", "2 steps", "decode"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(out.contains("80.0% of GPU time was launched within the trace"), "{out}");
    assert_eq!(run(&["a.json", "a.json"]).0, out.repeat(2));
}

#[test]
fn verbose_prints_all_fields() {
    let (out, _) = run(&["-v", "a.json"]);
    for field in
        ["devices", "versions", "rank", "size", "platform", "events", "GPU", "span", "contains"]
    {
        assert!(out.lines().any(|line| line.starts_with(&format!("  {field} "))), "{field}: {out}");
    }
}

#[test]
fn json_is_a_list_of_objects() {
    let (out, _) = run(&["--format", "json", "a.json", "a.json"]);
    let value: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value.as_array().map(Vec::len), Some(2));
    assert_eq!(value[0]["head"]["rank"], 3);
    assert_eq!(value[0]["gpu_events"], 5);
    assert!(value[0]["file_bytes"].as_u64().is_some_and(|bytes| bytes > 1000));
}

#[test]
fn profiler_metadata_is_never_shown() {
    let folder: TempDir = tempfile::tempdir().expect("a temporary folder");
    let secret = json!({"HF_TOKEN": "hf_secret", "env": {"API_KEY": "hf_secret"}});
    let text = TraceBuilder::cuda()
        .header("metadata", secret)
        .thread("main", |t| t.op("aten::mm", |t| t.kernel("gemm", 1.0)))
        .json();
    fs::write(folder.path().join("a.json"), text).expect("a trace");
    for arguments in [vec!["-v", "a.json"], vec!["--format", "json", "a.json"]] {
        let mut command = tracetree();
        let output = command.current_dir(folder.path()).arg("info").args(arguments).output();
        let output = output.expect("the program runs");
        assert!(output.status.success());
        assert!(!String::from_utf8_lossy(&output.stdout).contains("hf_secret"));
        assert!(!String::from_utf8_lossy(&output.stderr).contains("hf_secret"));
    }
}

#[test]
fn unknown_version_keys_and_malformed_versions_are_never_shown() {
    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let folder: TempDir = tempfile::tempdir().expect("a temporary folder");
    let text = TraceBuilder::cuda()
        .header("secret_version", json!(TOKEN))
        .header("torch_version", json!(format!("2.6.0+{TOKEN}")))
        .header("nccl_version", json!("2.27.7"))
        .thread("main", |t| t.op("aten::mm", |t| t.kernel("gemm", 1.0)))
        .json();
    fs::write(folder.path().join("a.json"), text).expect("a trace");
    let run = |arguments: &[&str]| {
        let mut command = tracetree();
        let output = command.current_dir(folder.path()).args(arguments).output();
        let output = output.expect("the program runs");
        assert!(output.status.code().is_some_and(|code| code != 2), "{arguments:?}");
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    let [shown, _] = run(&["info", "-v", "a.json"]);
    assert!(shown.contains("nccl_version 2.27.7") && shown.contains("cuda_runtime_version 12040"));
    for arguments in [
        &["info", "-v", "a.json"][..],
        &["info", "--format", "json", "a.json"],
        &["diff", "a.json", "a.json", "-o", "report", "--emit", "html,md"],
        &["baseline", "record", "a.json", "-o", "base.ttb"],
        &["gate", "--baseline", "base.ttb", "a.json"],
    ] {
        for text in run(arguments) {
            assert!(!text.contains(TOKEN) && !text.contains("secret_version"), "{text}");
        }
    }
    for file in fs::read_dir(folder.path().join("report")).expect("a report") {
        let path = file.expect("a file").path();
        let bytes = fs::read(&path).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(TOKEN), "{}", path.display());
    }
}

#[test]
fn a_missing_trace_is_an_error() {
    assert_eq!(run(&["missing.json"]).1, Some(2));
}

#[test]
fn the_platform_of_real_traces_is_recognised() {
    for (name, vendor) in [
        ("mi300_h100/bert.mi300.json.gz", Vendor::Amd),
        ("mi300_h100/bert.h100.json.gz", Vendor::Nvidia),
        ("inference/vllm_eager.b200.json.gz", Vendor::Nvidia),
        ("odd/gpu_only.mi210.json.gz", Vendor::Amd),
        ("odd/minitoy.mi250.json.gz", Vendor::Amd),
        ("odd/ascend_trace_view.json.gz", Vendor::Ascend),
        ("old/resnet50_2021.num_workers_0.json.gz", Vendor::Nvidia),
        ("training/compiled_graphs.v100.json.gz", Vendor::Nvidia),
        ("cpu/cnn.pt.trace.json.gz", Vendor::Cpu),
    ] {
        let Some(path) = traces::real(name) else { return };
        let trace = Trace::open(path).expect("a readable trace");
        assert_eq!(Platform::of(&trace).vendor, vendor, "{name}");
    }
}

fn model_of(path: &std::path::Path) -> Model {
    Model::of(&CallTree::build(Trace::open(path).expect("a readable trace")))
}

#[test]
fn the_architecture_of_real_traces_is_recognised() {
    use Architecture as A;
    for (name, architecture, engine) in [
        ("mi300_h100/bert.mi300.json.gz", A::EncoderTransformer, None),
        ("mi300_h100/vit.h100.json.gz", A::EncoderTransformer, None),
        ("mi300_h100/timesformer.h100.json.gz", A::EncoderTransformer, None),
        ("training/resnet50_ddp.a100.json.gz", A::Convolutional, None),
        ("old/resnet50_2021.num_workers_0.json.gz", A::Convolutional, None),
        ("ranks/dlrm.v100/rank_0.json.gz", A::Recommender, None),
        ("inference/vllm_eager.b200.json.gz", A::MixtureOfExperts, Some("vLLM")),
        ("inference/vllm_decode_graph.mi300.json.gz", A::MixtureOfExperts, Some("vLLM")),
        ("inference/sglang_decode.mi300.json.gz", A::DecoderTransformer, Some("SGLang")),
    ] {
        let Some(path) = traces::real(name) else { return };
        let model = model_of(&path);
        let found = model.architecture.as_ref().map(|found| found.what);
        assert_eq!(found, Some(architecture), "{name}: {model:?}");
        if let Some(engine) = engine {
            assert_eq!(
                model.engine.as_ref().map(|found| found.what.as_str()),
                Some(engine),
                "{name}"
            );
        }
    }
}

#[test]
fn sizes_and_root_of_a_model_are_read_from_modules_and_shapes() {
    let Some(path) = traces::real("mi300_h100/bert.h100.json.gz") else { return };
    let model = model_of(&path);
    assert!(model.root.as_deref().is_some_and(|root| root.starts_with("Bert")), "{model:?}");
    let (heads, size, hidden) = (model.heads, model.head_size, model.hidden_size);
    assert_eq!(heads.zip(size).map(|(heads, size)| heads * size), hidden, "{model:?}");
    assert!(hidden.is_some() && !model.types.is_empty(), "{model:?}");
}

#[test]
fn kernel_names_alone_are_thin_evidence_for_an_architecture() {
    let model = |kernel: &'static str| {
        let json = TraceBuilder::rocm()
            .thread("main", |t| t.launch("hipGraphLaunch").graph(|graph| graph.kernel(kernel, 5.0)))
            .json();
        Model::of(&CallTree::build(trace("a trace", &json)))
    };
    let found = model("kernel_unified_attention_2d").architecture.expect("an architecture");
    assert_eq!((found.what, found.is_thin), (Architecture::DecoderTransformer, true));
    assert_eq!(model("a_kernel").architecture, None);
}

/// The model that `tracetree info` reports for a trace whose main thread runs `body`.
fn model_of_thread(body: impl FnOnce(&mut HostThread<'_>)) -> Model {
    let json = TraceBuilder::cuda().thread("main", body).json();
    Model::of(&CallTree::build(trace("a trace", &json)))
}

#[test]
fn frames_and_annotations_outweigh_borrowed_ops_as_evidence_of_an_engine() {
    let found = |body: fn(&mut HostThread<'_>)| model_of_thread(body).engine;
    let borrowed = found(|t| {
        t.frame("sglang/srt/model_runner.py(7): forward", |t| {
            for _ in 0..3 {
                t.op("vllm::rms_norm", |t| t.kernel("vllm::rms_norm_kernel", 2.0));
            }
        });
    })
    .expect("an engine");
    assert_eq!((borrowed.what.as_str(), borrowed.is_thin), ("SGLang", false));
    assert_eq!(borrowed.evidence, ["frames of sglang/ (1)"]);
    let ops = found(|t| t.op("vllm::rms_norm", |t| t.kernel("a_kernel", 2.0))).expect("an engine");
    assert_eq!((ops.what.as_str(), ops.is_thin), ("vLLM", true));
    assert_eq!(ops.evidence, ["ops vllm:: (1)"]);
    let said = found(|t| t.annotation("step[DECODE bs=4]", |t| t.kernel("a_kernel", 2.0)));
    assert_eq!(said.map(|found| found.what), Some("SGLang".to_owned()));
    assert_eq!(found(|t| t.kernel("a_kernel", 2.0)), None);
}

#[test]
fn sizes_and_layers_of_a_pipeline_come_from_the_network_with_the_most_time() {
    let model = model_of_thread(|t| {
        let op = |t: &mut HostThread<'_>, name: &str, dims: &[i64], micros: f64| {
            t.op(Op::new(name).dims(&[dims]), |t| t.kernel("a_kernel", micros));
        };
        t.module("CLIPTextModel_0", |t| {
            for layer in 0..12 {
                t.module(&format!("CLIPEncoderLayer_{layer}"), |t| {
                    op(t, "aten::scaled_dot_product_attention", &[1, 12, 77, 64], 2.0);
                    op(t, "aten::native_layer_norm", &[1, 77, 768], 1.0);
                });
            }
        });
        t.module("FluxTransformer2DModel_0", |t| {
            for block in 0..3 {
                t.module(&format!("FluxTransformerBlock_{block}"), |t| {
                    op(t, "aten::scaled_dot_product_attention", &[1, 24, 4608, 128], 90.0);
                    op(t, "aten::native_layer_norm", &[1, 4608, 3072], 9.0);
                });
            }
        });
    });
    assert_eq!(model.root.as_deref(), Some("FluxTransformer2DModel"));
    assert_eq!(model.architecture.map(|found| found.what), Some(Architecture::Diffusion));
    assert_eq!((model.heads, model.head_size), (Some(24), Some(128)));
    assert_eq!(model.hidden_size, Some(3072));
    assert_eq!(model.layers, ["FluxTransformerBlock x 3"]);
}

#[test]
fn without_modules_sizes_come_from_the_ops_with_the_most_time() {
    let model = model_of_thread(|t| {
        let mut op = |name: &str, dims: &[i64], micros: f64| {
            t.op(Op::new(name).dims(&[dims]), |t| t.kernel("a_kernel", micros));
        };
        for _ in 0..12 {
            op("aten::scaled_dot_product_attention", &[1, 12, 77, 64], 2.0);
        }
        op("aten::scaled_dot_product_attention", &[1, 24, 4608, 128], 90.0);
    });
    assert_eq!((model.heads, model.head_size), (Some(24), Some(128)));
}

#[test]
fn a_softmax_between_matrix_products_is_attention() {
    let attention = |columns: i64| {
        model_of_thread(|t| {
            let mut op = |name: &str, dims: &[&[i64]]| {
                t.op(Op::new(name).dims(dims), |t| t.kernel("a_kernel", 2.0));
            };
            for _ in 0..4 {
                op("aten::bmm", &[&[16, 64, 32], &[16, 32, columns]]);
                op("aten::_softmax", &[&[4, 4, 64, 64]]);
                op("aten::bmm", &[&[16, 64, 64], &[16, 64, 32]]);
            }
        })
    };
    let model = attention(64);
    let found = model.architecture.expect("an architecture");
    assert_eq!((found.what, found.is_thin), (Architecture::Transformer, false));
    assert_eq!(found.evidence, ["softmax between matrix products (4)"]);
    assert_eq!((model.heads, model.head_size), (Some(4), Some(32)));
    // If the sizes of the two matrix products do not fit together, the ops are not treated as attention.
    assert_eq!(attention(65).architecture, None);
}

#[test]
fn a_network_is_named_after_its_module_even_if_backward_work_takes_most_of_the_time() {
    let thread = |t: &mut HostThread<'_>| {
        t.module("ResNet_0", |t| {
            for block in 0..8 {
                t.module(&format!("BasicBlock_{block}"), |t| t.kernel("a_kernel", 1.0));
            }
        });
        let backward = Op::new("ConvolutionBackward0").backward(5);
        t.op(backward, |t| t.kernel("a_kernel", 200.0));
    };
    let model = model_of_thread(thread);
    assert_eq!(model.root.as_deref(), Some("ResNet"));
    assert_eq!(model.architecture.map(|found| found.what), Some(Architecture::Convolutional));
    // A sampler module that runs next to graph replays is not the main network.
    let sampled = model_of_thread(|t| {
        t.module("Sampler_0", |t| t.kernel("a_kernel", 1.0));
        t.launch("cudaGraphLaunch").graph(|graph| graph.kernel("k", 200.0));
    });
    assert_eq!(sampled.root, None);
}

#[test]
fn without_modules_the_network_is_named_after_its_file() {
    let model = model_of_thread(|t| {
        t.frame("vllm/model_executor/models/qwen3.py(301): forward", |t| t.kernel("k", 1.0));
        t.frame("vllm/model_executor/models/utils.py(3): f", |t| t.kernel("k", 1.0));
    });
    assert_eq!(model.root.as_deref(), Some("qwen3.py"));
}

#[test]
fn an_encoder_with_a_decoder_is_not_a_decoder_transformer() {
    use Architecture as A;
    let found = |layers: &[&str]| {
        let model = model_of_thread(|t| {
            for (at, layer) in layers.iter().enumerate() {
                t.module(&format!("{layer}_{at}"), |t| {
                    t.op("aten::scaled_dot_product_attention", |t| t.kernel("k", 2.0));
                });
            }
        });
        model.architecture.map(|found| found.what)
    };
    assert_eq!(found(&["DetrEncoderLayer", "DetrDecoderLayer"]), Some(A::Transformer));
    assert_eq!(found(&["Owlv2EncoderLayer"]), Some(A::EncoderTransformer));
    assert_eq!(found(&["Qwen2DecoderLayer"]), Some(A::DecoderTransformer));
}

#[test]
fn the_network_of_real_traces_is_recognised() {
    for (name, root, sizes) in [
        ("training/resnet_act_checkpoint.mi300.json.gz", "ResNet", [None, None, None]),
        ("old/resnet50_2021.num_workers_0.json.gz", "resnet.py", [None, None, None]),
        ("inference/vllm_decode_graph.mi300.json.gz", "gpt_oss.py", [None, None, None]),
        ("mi300_h100/vit.h100.json.gz", "ViTModel", [Some(12), Some(64), Some(768)]),
        (
            "mi300_h100/timesformer.h100.json.gz",
            "TimesformerForVideoClassification",
            [Some(12), Some(64), Some(768)],
        ),
        (
            "inference/capture/sglang_decode.capture.mi300.json.gz",
            "Qwen3Model",
            [None, None, Some(4096)],
        ),
    ] {
        let Some(path) = traces::real(name) else { return };
        let model = model_of(&path);
        assert_eq!(model.root.as_deref(), Some(root), "{name}: {model:?}");
        assert_eq!([model.heads, model.head_size, model.hidden_size], sizes, "{name}: {model:?}");
        assert!(!model.types.iter().any(|kind| kind.contains("List")), "{name}: {model:?}");
    }
}

#[test]
fn heads_and_sizes_come_from_the_majority_of_ops() {
    let model = model_of_thread(|t| {
        let mut op = |name: &str, dims: &[i64]| {
            t.op(Op::new(name).dims(&[dims]), |t| t.kernel("a_kernel", 2.0));
        };
        for _ in 0..2 {
            op("aten::scaled_dot_product_attention", &[4, 12, 128, 64]);
            op("aten::native_layer_norm", &[4, 128, 768]);
        }
        op("aten::scaled_dot_product_attention", &[4, 16, 128, 80]);
        op("aten::native_layer_norm", &[4, 128, 1280]);
    });
    assert_eq!((model.heads, model.head_size), (Some(12), Some(64)));
    assert_eq!(model.hidden_size, Some(768));
}

#[test]
fn other_accelerators_are_not_reported_as_cpu() {
    let Some(path) = traces::real("odd/ascend_trace_view.json.gz") else { return };
    let platform = Platform::of(&Trace::open(&path).expect("a readable trace"));
    assert_eq!(platform.vendor, Vendor::Ascend, "{:?}", platform.evidence);
    let json = json!({"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 9},
        {"ph": "X", "cat": "mtia_ccp_events", "name": "mm", "pid": 0, "tid": 7, "ts": 3, "dur": 5},
    ]});
    let platform = Platform::of(&trace("mtia", &json.to_string()));
    assert_eq!(platform.vendor, Vendor::Mtia);
}
