//! Pairs of recordings whose change is known.

use crate::support::compared::compare_files;
use crate::support::traces::{example, h100, real};
use std::path::PathBuf;
use tracetree::PerSide;
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;

/// A pair of recordings with one change: the files, the kind of change, and words that the sentence about the change
/// must contain.
pub(crate) struct Known {
    pub(crate) baseline: &'static str,
    pub(crate) candidate: &'static str,
    pub(crate) kind: ChangeKind,
    /// Words that the sentence about the change must contain if the pair is compared in the given order.
    pub(crate) words: &'static str,
}

const fn known(
    baseline: &'static str,
    candidate: &'static str,
    kind: ChangeKind,
    words: &'static str,
) -> Known {
    Known { baseline, candidate, kind, words }
}

/// All pairs with one change. File names without a folder refer to `examples/traces/h100`.
pub(crate) const KNOWN: [Known; 80] = [
    known(
        "resnet_eager",
        "resnet_tf32_off",
        ChangeKind::MathMode,
        "Convolutions run in FP32 instead of TF32",
    ),
    known(
        "resnet_eager",
        "resnet_tf32_off_again",
        ChangeKind::MathMode,
        "Convolutions run in FP32 instead of TF32",
    ),
    known("resnet_eager", "resnet_amp", ChangeKind::Precision, "bfloat16 instead of float32"),
    known(
        "resnet_eager",
        "resnet_channels_last",
        ChangeKind::MemoryFormat,
        "channels_last instead of contiguous",
    ),
    known(
        "resnet_eager",
        "resnet_benchmark",
        ChangeKind::KernelSelection,
        "Convolutions run different kernels",
    ),
    known("resnet_eager", "resnet_compiled", ChangeKind::Compilation, "compiled regions replace"),
    known("resnet_eager", "resnet_reduce_overhead", ChangeKind::Graphs, "graph launches replace"),
    known("train_base", "train_item", ChangeKind::HostRead, "aten::item"),
    known(
        "train_base",
        "train_layer_gone",
        ChangeKind::Layers,
        "2 instead of 3 Block calls per step",
    ),
    known("train_base", "train_batch", ChangeKind::Shapes, "2x as large"),
    known(
        "train_base",
        "train_fused_adam",
        ChangeKind::Optimizer,
        "AdamW runs fused instead of foreach",
    ),
    known(
        "train_base",
        "train_foreach_off",
        ChangeKind::Optimizer,
        "one tensor at a time instead of foreach",
    ),
    known("train_base", "train_clip", ChangeKind::Ops, "aten::_foreach_norm"),
    known("train_base", "train_loader", ChangeKind::Python, "sleep"),
    known("train_base", "train_gelu", ChangeKind::Ops, "aten::gelu in Mlp"),
    known(
        "train_base",
        "train_dropout",
        ChangeKind::Ops,
        "Added in Attention (record_changes.py: forward): 3 × Dropout",
    ),
    known(
        "train_base",
        "train_relu",
        ChangeKind::Ops,
        "3 × aten::relu instead of 3 × aten::gelu in Mlp",
    ),
    known("tfm_flash", "tfm_math", ChangeKind::Attention, "math instead of Flash"),
    known("tfm_flash", "tfm_efficient", ChangeKind::Attention, "memory-efficient instead of Flash"),
    known("tfm_flash", "tfm_cudnn", ChangeKind::Attention, "cuDNN instead of Flash"),
    known("tfm_flash", "tfm_compiled", ChangeKind::Compilation, "compiled regions replace"),
    known("decode_eager", "decode_compiled", ChangeKind::Compilation, "compiled regions replace"),
    known("decode_eager", "decode_reduce_overhead", ChangeKind::Graphs, "graph launches replace"),
    known("decode_eager", "decode_graph", ChangeKind::Graphs, "Captured graphs are launched"),
    known("examples/cnn.pt.trace", "examples/cnn_extra_op.pt.trace", ChangeKind::Ops, "aten::sin"),
    known(
        "cpu/cnn.pt.trace",
        "cpu/cnn_extra_layer.pt.trace",
        ChangeKind::Layers,
        "4 instead of 3 Block calls per step",
    ),
    known("torch215/cnn_base_1", "torch215/cnn_extra_1", ChangeKind::Ops, "aten::cumsum"),
    known(
        "torch215/cnn_base_2",
        "torch215/cnn_gelu_2",
        ChangeKind::Ops,
        "3 × GELU instead of 3 × ReLU in CNN",
    ),
    known("torch215/cnn_base_3", "torch215/cnn_item_3", ChangeKind::HostRead, "50 × aten::item"),
    known("torch215/cnn_base_4", "torch215/cnn_sleep_1", ChangeKind::Python, "sleep"),
    known(
        "torch215/cnn_base_5",
        "torch215/cnn_bf16_2",
        ChangeKind::Precision,
        "bfloat16 instead of float32",
    ),
    known(
        "torch215/one_cnn_a",
        "torch215/one_cnn_adamw",
        ChangeKind::Optimizer,
        "The optimizer is AdamW instead of SGD",
    ),
    known(
        "torch215/one_cnn_a",
        "torch215/one_cnn_compile",
        ChangeKind::Compilation,
        "compiled regions replace",
    ),
    known(
        "resnet_tf32_off",
        "resnet_eager_third",
        ChangeKind::MathMode,
        "Convolutions run in TF32 instead of FP32",
    ),
    known(
        "mi300_h100/vit.mi300",
        "mi300_h100/vit.h100",
        ChangeKind::Environment,
        "AMD Instinct MI300X",
    ),
    known(
        "mi300_h100/bert.mi300",
        "mi300_h100/bert.h100",
        ChangeKind::Environment,
        "AMD Instinct MI300X",
    ),
    known(
        "cpu/cnn.pt.trace",
        "cpu/cnn_conv5x5.pt.trace",
        ChangeKind::Shapes,
        "The weight is 5×5 instead of 3×3",
    ),
    known(
        "old/resnet50_2021.num_workers_0",
        "old/resnet50_2021.num_workers_4",
        ChangeKind::InputPipeline,
        "The data loader runs in worker processes",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_accumulate.pt.trace",
        ChangeKind::Layers,
        "2 instead of 1 Net calls per step",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_checkpoint.pt.trace",
        ChangeKind::Checkpointing,
        "The backward pass runs 3 × Block again per step",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_hook.pt.trace",
        ChangeKind::Ops,
        "Added in Block (record_cpu.py: forward): 6 × BackwardHookFunction",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_zero_grad.pt.trace",
        ChangeKind::Optimizer,
        "SGD sets gradients to zero instead of None: 23 × aten::zero_",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_layer_norm.pt.trace",
        ChangeKind::Ops,
        "6 × LayerNorm instead of 6 × RMSNorm in Block",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_plain_attention.pt.trace",
        ChangeKind::Attention,
        "instead of 3 × aten::scaled_dot_product_attention",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_dropout.pt.trace",
        ChangeKind::Arguments,
        "aten::dropout is called with p = 0.3 instead of 0.1",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_bias.pt.trace",
        ChangeKind::Arguments,
        "aten::linear is called with an optional tensor, such as a bias",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_compiled.pt.trace",
        ChangeKind::Compilation,
        "compiled region",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_compiled_half.pt.trace",
        ChangeKind::Compilation,
        "4 compiled regions replace 90 calls per step",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_graph_break.pt.trace",
        ChangeKind::Compilation,
        "6 compiled regions replace 135 calls per step",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_workers.pt.trace",
        ChangeKind::InputPipeline,
        "The data loader runs in worker processes",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_adam.pt.trace",
        ChangeKind::Optimizer,
        "The optimizer is Adam instead of SGD",
    ),
    known(
        "examples/cpu/cpu_base.pt.trace",
        "examples/cpu/cpu_length.pt.trace",
        ChangeKind::Shapes,
        "Inputs are 1.5x as large",
    ),
    known(
        "examples/cpu/cpu_compiled.pt.trace",
        "examples/cpu/cpu_graph_break.pt.trace",
        ChangeKind::Compilation,
        "6 compiled functions instead of 1 per step",
    ),
    known(
        "examples/cpu/cpu_adam.pt.trace",
        "examples/cpu/cpu_adam_foreach.pt.trace",
        ChangeKind::Optimizer,
        "Adam runs foreach instead of one tensor at a time",
    ),
    known(
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/unet_silu.pt.trace",
        ChangeKind::Ops,
        "10 × SiLU instead of 10 × ReLU in Conv",
    ),
    known(
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/unet_groups.pt.trace",
        ChangeKind::Arguments,
        "aten::conv2d is called with groups = 2 instead of 1",
    ),
    known(
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/unet_upsample.pt.trace",
        ChangeKind::Ops,
        "2 × Sequential instead of 2 × ConvTranspose2d in UNet",
    ),
    known(
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/unet_frozen_norm.pt.trace",
        ChangeKind::Arguments,
        "aten::batch_norm is called with training = False instead of True",
    ),
    known(
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/unet_bf16.pt.trace",
        ChangeKind::Precision,
        "Inputs are bfloat16 instead of float32",
    ),
    known(
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/unet_channels_last.pt.trace",
        ChangeKind::MemoryFormat,
        "Tensors are channels_last instead of contiguous",
    ),
    known(
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/unet_accumulate.pt.trace",
        ChangeKind::Layers,
        "2 instead of 1 UNet calls per step",
    ),
    known(
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/unet_compiled.pt.trace",
        ChangeKind::Compilation,
        "2 compiled regions replace 38 calls per step",
    ),
    known(
        "examples/cpu/unet_base.pt.trace",
        "examples/cpu/unet_schedule.pt.trace",
        ChangeKind::Python,
        "A schedule sets the learning rate in record_models.py: step",
    ),
    known(
        "examples/cpu/lstm_base.pt.trace",
        "examples/cpu/lstm_gru.pt.trace",
        ChangeKind::Ops,
        "GRU instead of LSTM in Words",
    ),
    known(
        "examples/cpu/lstm_base.pt.trace",
        "examples/cpu/lstm_bidirectional.pt.trace",
        ChangeKind::Arguments,
        "aten::lstm is called with bidirectional = True instead of False",
    ),
    known(
        "examples/cpu/dlrm_base.pt.trace",
        "examples/cpu/dlrm_mean.pt.trace",
        ChangeKind::Arguments,
        "aten::embedding_bag is called with mode = mean instead of sum",
    ),
    known(
        "examples/cpu/dlrm_base.pt.trace",
        "examples/cpu/dlrm_compiled.pt.trace",
        ChangeKind::Compilation,
        "1 compiled region replaces",
    ),
    known(
        "examples/cpu/gpt_base.pt.trace",
        "examples/cpu/gpt_plain_attention.pt.trace",
        ChangeKind::Attention,
        "instead of 12 × aten::scaled_dot_product_attention",
    ),
    known(
        "examples/cpu/gpt_base.pt.trace",
        "examples/cpu/gpt_inference.pt.trace",
        ChangeKind::Python,
        "torch.no_grad, torch.inference_mode or torch.enable_grad was added or removed",
    ),
    known(
        "examples/cpu/gpt_base.pt.trace",
        "examples/cpu/gpt_top_k.pt.trace",
        ChangeKind::Ops,
        "3 × aten::topk instead of 3 × aten::argmax",
    ),
    known(
        "examples/known/host_base.pt.trace",
        "examples/known/host_spin.pt.trace",
        ChangeKind::Ops,
        "Added: spin_kernel per step launched outside of ops",
    ),
    known(
        "examples/known/gpu_base.pt.trace",
        "examples/known/gpu_spin.pt.trace",
        ChangeKind::Ops,
        "Added: spin_kernel per step launched outside of ops",
    ),
    known(
        "examples/known/host_base.pt.trace",
        "examples/known/host_sync.pt.trace",
        ChangeKind::Synchronization,
        "The host waits for the GPU: 3 × cudaDeviceSynchronize per step",
    ),
    known(
        "examples/known/gpu_base.pt.trace",
        "examples/known/gpu_sync.pt.trace",
        ChangeKind::Synchronization,
        "The host waits for the GPU: 3 × cudaDeviceSynchronize per step",
    ),
    known(
        "examples/memory/memory_base.pt.trace",
        "examples/memory/memory_batch.pt.trace",
        ChangeKind::Shapes,
        "Inputs are 2x as large",
    ),
    known(
        "examples/memory/memory_base.pt.trace",
        "examples/memory/memory_empty_cache.pt.trace",
        ChangeKind::Allocator,
        "12 cudaFrees, 12 cudaMallocs per step",
    ),
    known(
        "examples/layers/gpt_base.pt.trace",
        "examples/layers/gpt_half.pt.trace",
        ChangeKind::Compilation,
        "4 compiled regions replace 60 calls per step",
    ),
    known(
        "examples/layers/optimizer_foreach.pt.trace",
        "examples/layers/optimizer_loop.pt.trace",
        ChangeKind::Optimizer,
        "AdamW runs one tensor at a time instead of foreach",
    ),
    known(
        "examples/layers/experts_base.pt.trace",
        "examples/layers/experts_shuffled.pt.trace",
        ChangeKind::Ops,
        "The same calls run in a different order",
    ),
    known(
        "examples/serving/serving_base.pt.trace",
        "examples/serving/serving_math.pt.trace",
        ChangeKind::Attention,
        "Attention runs math instead of memory-efficient kernels",
    ),
];

/// Pairs of JAX profiles with one change. Parts of a profile cannot be removed as those of JSON text can.
pub(crate) const JAX: [Known; 8] = [
    known(
        "examples/jax/jax_base.xplane.pb",
        "examples/jax/jax_batch.xplane.pb",
        ChangeKind::Shapes,
        "The input x of jit_train_step is 2x as large: [4096, 1024] instead of [2048, 1024]",
    ),
    known(
        "examples/jax/jax_base.xplane.pb",
        "examples/jax/jax_layer_more.xplane.pb",
        ChangeKind::Layers,
        "4 instead of 3 layer_# in jit_train_step (layer_3 was added)",
    ),
    known(
        "examples/jax/jax_base.xplane.pb",
        "examples/jax/jax_relu.xplane.pb",
        ChangeKind::Ops,
        "layer_# computes max (relu) instead of integer_pow, tanh (gelu) in jit_train_step",
    ),
    known(
        "examples/jax/jax_cpu_base.xplane.pb",
        "examples/jax/jax_cpu_batch.xplane.pb",
        ChangeKind::Shapes,
        "The input x of jit_train_step is 2x as large: [512, 128] instead of [256, 128]",
    ),
    known(
        "examples/jax/jax_cpu_base.xplane.pb",
        "examples/jax/jax_cpu_bfloat16.xplane.pb",
        ChangeKind::Precision,
        "The inputs of jit_train_step are bfloat16 instead of float32",
    ),
    known(
        "examples/jax/jax_cpu_base.xplane.pb",
        "examples/jax/jax_cpu_checkpoint.xplane.pb",
        ChangeKind::Checkpointing,
        "The backward pass of jit_train_step computes layer_# again",
    ),
    known(
        "examples/jax/jax_cpu_base.xplane.pb",
        "examples/jax/jax_cpu_layer_more.xplane.pb",
        ChangeKind::Layers,
        "4 instead of 3 layer_# in jit_train_step (layer_3 was added)",
    ),
    known(
        "examples/jax/jax_cpu_base.xplane.pb",
        "examples/jax/jax_cpu_relu.xplane.pb",
        ChangeKind::Ops,
        "layer_# computes max (relu) instead of integer_pow, tanh (gelu) in jit_train_step",
    ),
];

/// Pairs of JAX profiles of one unchanged program.
pub(crate) const JAX_SAME: [(&str, &str); 2] = [
    ("examples/jax/jax_base.xplane.pb", "examples/jax/jax_again.xplane.pb"),
    ("examples/jax/jax_cpu_base.xplane.pb", "examples/jax/jax_cpu_again.xplane.pb"),
];

/// Pairs of recordings of one unchanged program.
pub(crate) const SAME: [(&str, &str); 20] = [
    ("resnet_eager", "resnet_eager_again"),
    ("resnet_eager", "resnet_eager_third"),
    ("resnet_tf32_off", "resnet_tf32_off_again"),
    ("train_base", "train_again"),
    ("train_base", "train_five_steps"),
    ("examples/cnn.pt.trace", "examples/cnn_rerun.pt.trace"),
    ("examples/cpu/cpu_base.pt.trace", "examples/cpu/cpu_again.pt.trace"),
    ("examples/known/host_base.pt.trace", "examples/known/host_again.pt.trace"),
    ("examples/known/host_base.pt.trace", "examples/known/host_third.pt.trace"),
    ("examples/known/gpu_base.pt.trace", "examples/known/gpu_again.pt.trace"),
    ("examples/known/gpu_again.pt.trace", "examples/known/gpu_third.pt.trace"),
    ("examples/memory/memory_base.pt.trace", "examples/memory/memory_again.pt.trace"),
    ("examples/layers/gpt_base.pt.trace", "examples/layers/gpt_ranges.pt.trace"),
    ("examples/serving/serving_base.pt.trace", "examples/serving/serving_sglang.pt.trace"),
    ("cpu/cnn.pt.trace", "cpu/cnn_mem.pt.trace"),
    ("cpu/tfm.pt.trace", "cpu/tfm_rerun.pt.trace"),
    ("torch215/cnn_base_1", "torch215/cnn_base_2"),
    ("torch215/cnn_base_3", "torch215/cnn_base_12"),
    ("torch215/cnn_item_1", "torch215/cnn_item_2"),
    ("torch215/one_cnn_a", "torch215/one_cnn_mem"),
];

/// The path of a recording; `None` for real traces that are not available.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    let ending = if name.ends_with(".pb") { "gz" } else { "json.gz" };
    match name.split_once('/') {
        None => Some(h100(name)),
        Some(("examples", name)) => Some(example(&format!("{name}.{ending}"))),
        Some(_) => real(&format!("{name}.{ending}")),
    }
}

/// Compares two recordings if they are available.
pub(crate) fn compare<T>(
    baseline: &str,
    candidate: &str,
    look: impl FnOnce(&Analysis) -> T,
) -> Option<T> {
    let paths = PerSide::new(file(baseline)?, file(candidate)?);
    Some(compare_files(paths, look))
}
