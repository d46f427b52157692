//! Lowers convolutions, batch norms and matrix products to backend ops and launches on each platform.

use super::arguments::{Arg, op};
use super::{Script, kernels};
use crate::support::trace_builder::{HostThread, Platform};

/// A convolution: image shape (batch, channels, height, width), weight shape (out, in, height, width), and stride.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conv {
    pub(super) input: [i64; 4],
    pub(super) weight: [i64; 4],
    pub(super) stride: i64,
}

impl Conv {
    /// The shape of the convolution's output. The padding compensates for the kernel size, so only the stride changes
    /// the height and the width.
    pub(super) fn output(&self) -> [i64; 4] {
        let [batch, _, height, width] = self.input;
        [batch, self.weight[0], height / self.stride, width / self.stride]
    }

    /// Creates the arguments of the convolution as owned values, including the strings that list arguments borrow.
    pub(super) fn arguments(&self) -> ConvArguments {
        ConvArguments {
            conv: *self,
            bias: [self.weight[0]],
            bias_sizes: format!("[{}]", self.weight[0]),
            stride: format!("[{0}, {0}]", self.stride),
            padding: format!("[{0}, {0}]", self.weight[2] / 2),
        }
    }

    fn multiplications(&self) -> i64 {
        elements(&self.output()) * elements(&self.weight[1..])
    }

    /// The tile size that a library would choose for the given number of channels.
    fn tile(&self) -> i64 {
        if self.weight[0] >= 64 { 128 } else { 64 }
    }
}

/// The arguments of a convolution. Lists are stored as strings.
#[derive(Debug)]
pub(super) struct ConvArguments {
    conv: Conv,
    bias: [i64; 1],
    bias_sizes: String,
    stride: String,
    padding: String,
}

impl ConvArguments {
    /// The arguments of `aten::_convolution`: image, weight, bias, stride, padding, dilation, transposed, output
    /// padding, groups, four backend flags. `aten::convolution` takes only the first nine arguments of
    /// `aten::_convolution`.
    pub(super) fn list(&self) -> Vec<Arg<'_>> {
        let [stride, padding, dilation] = self.window();
        let mut list = self.tensors();
        list.extend([stride, padding, dilation, Arg::Scalar("False"), Arg::List("[0, 0]")]);
        list.push(Arg::Scalar("1"));
        list.extend(["False", "False", "True", "True"].map(Arg::Scalar));
        list
    }

    /// The arguments of `aten::conv2d`: image, weight, bias, stride, padding, dilation, groups.
    pub(super) fn of_conv2d(&self) -> Vec<Arg<'_>> {
        let mut list = self.tensors();
        list.extend(self.window());
        list.push(Arg::Scalar("1"));
        list
    }

    /// The arguments of `aten::convolution_backward` after the gradient: image, weight, bias sizes, stride, padding,
    /// dilation, transposed, output padding, groups, and which gradients are requested.
    pub(super) fn of_backward(&self) -> Vec<Arg<'_>> {
        let [stride, padding, dilation] = self.window();
        let mut list = self.tensors();
        list[2] = Arg::List(&self.bias_sizes);
        list.extend([stride, padding, dilation, Arg::Scalar("False"), Arg::List("[0, 0]")]);
        list.extend([Arg::Scalar("1"), Arg::List("[True, True, True]")]);
        list
    }

    /// The arguments of the backend ops: padding precedes stride, and cuDNN gets no bias.
    fn of_backend(&self, platform: Platform) -> Vec<Arg<'_>> {
        let [stride, padding, dilation] = self.window();
        let mut list = self.tensors();
        list.extend([padding, stride, dilation, Arg::Scalar("1")]);
        match platform {
            Platform::Rocm => {}
            Platform::Cuda => {
                list.remove(2);
                list.push(Arg::Scalar("True"));
            }
        }
        list.extend(["False", "False"].map(Arg::Scalar));
        list
    }

    fn tensors(&self) -> Vec<Arg<'_>> {
        let Conv { input, weight, .. } = &self.conv;
        vec![Arg::Tensor(input), Arg::Tensor(weight), Arg::Tensor(&self.bias)]
    }

    /// Stride, padding, dilation.
    fn window(&self) -> [Arg<'_>; 3] {
        [Arg::List(&self.stride), Arg::List(&self.padding), Arg::List("[1, 1]")]
    }
}

impl Script {
    /// Runs the calls below `aten::_convolution`. On ROCm, the bias is added inside the backend's
    /// op.
    pub(super) fn convolve(&mut self, t: &mut HostThread<'_>, conv: &Conv) {
        let arguments = conv.arguments();
        let args = arguments.of_backend(self.platform);
        match self.platform {
            Platform::Rocm => t.op(op("aten::miopen_convolution", &args), |t| {
                t.leaf(op("aten::resize_", &args[1..2]));
                t.leaf(op("aten::resize_", &args[..1]));
                t.call("hipGetDevicePropertiesR0600");
                self.igemm(t, "fwd", conv);
                self.add_bias(t, conv);
            }),
            Platform::Cuda => {
                t.op(op("aten::cudnn_convolution", &args), |t| {
                    ask_stream(t);
                    t.memset(elements(&conv.output()) as u64 * 4, self.gpu.stream(0));
                    self.xmma(t, "fprop", conv);
                });
                self.add_bias(t, conv);
            }
        }
    }

    fn add_bias(&mut self, t: &mut HostThread<'_>, conv: &Conv) {
        let (output, bias) = (conv.output(), [conv.weight[0]]);
        t.op(op("aten::reshape", &[Arg::Tensor(&bias), Arg::List("[1, -1, 1, 1]")]), |t| {
            t.leaf(op("aten::view", &[Arg::Tensor(&bias), Arg::List("[1, -1, 1, 1]")]));
        });
        let wide = [1, bias[0], 1, 1];
        t.op(
            op("aten::add_", &[Arg::Tensor(&output), Arg::Tensor(&wide), Arg::Scalar("1")]),
            |t| {
                t.kernel(kernels::ADD_BROADCAST, self.gpu.stream(8 * elements(&output)));
            },
        );
    }

    /// Runs the calls below `aten::convolution_backward`.
    pub(super) fn convolve_backward(&mut self, t: &mut HostThread<'_>, conv: &Conv) {
        let (output, weight) = (conv.output(), Arg::Tensor(&conv.weight));
        match self.platform {
            Platform::Rocm => {
                t.leaf(op("aten::resize_", &[weight]));
                t.call("hipGetDevicePropertiesR0600");
                self.igemm(t, "bwd", conv);
                t.leaf(op("aten::empty", &[Arg::List("[]")]));
                t.call("hipGetDevicePropertiesR0600");
                self.igemm(t, "wrw", conv);
            }
            Platform::Cuda => {
                ask_stream(t);
                self.xmma(t, "dgrad", conv);
                t.leaf(op("aten::empty", &[Arg::List("[]")]));
                ask_stream(t);
                t.memset(elements(&conv.weight) as u64 * 4, self.gpu.stream(0));
                self.xmma(t, "wgrad", conv);
            }
        }
        t.op(op("aten::sum", &[Arg::Tensor(&output), Arg::List("[0, 2, 3]")]), |t| {
            t.kernel(kernels::SUM, self.gpu.stream(4 * elements(&output)));
        });
    }

    /// Launches MIOpen's implicit matrix product, with transposing copies before and after it.
    fn igemm(&mut self, t: &mut HostThread<'_>, direction: &str, conv: &Conv) {
        let tile = conv.tile();
        let product = format!(
            "igemm_{direction}_gtcx3_nhwc_fp32_bx0_ex1_bt{tile}x64x16_wt32x32x2_ws1x1_wr1x1_ta1x4x1x1_1x4x1x64_tb1x4x1x1_1x4x1x64"
        );
        let image = 8 * elements(&conv.input);
        let api = "hipExtModuleLaunchKernel";
        t.launch(api).kernel("SubTensorOpWithScalar1d", self.gpu.stream(image / 2));
        t.launch(api).kernel("batched_transpose_32x32_dword", self.gpu.stream(image));
        let weight = self.gpu.stream(8 * elements(&conv.weight));
        t.launch(api).kernel("batched_transpose_16x32_dword", weight);
        t.launch(api).kernel(&product, self.gpu.product(conv.multiplications()));
        let back = self.gpu.stream(8 * elements(&conv.output()));
        t.launch(api).kernel("batched_transpose_32x16_dword", back);
    }

    /// Launches cuDNN's implicit matrix product, with copies that change the layout before and after it.
    fn xmma(&mut self, t: &mut HostThread<'_>, direction: &str, conv: &Conv) {
        let tile = conv.tile();
        let product = format!(
            "sm90_xmma_{direction}_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize{tile}x64x32_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"
        );
        let to = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>(cudnn::ops::nchw2nhwc_params_t<float>, float const*, float*)";
        let back = "void cudnn::ops::nhwcToNchwKernel<float, float, float, true, false, (cudnnKernelDataType_t)0>(cudnn::ops::nhwc2nchw_params_t<float>, float const*, float*)";
        for tensor in [&conv.input, &conv.weight] {
            t.launch("cudaLaunchKernel").kernel(to, self.gpu.stream(8 * elements(tensor)));
        }
        t.call("cudaFuncSetAttribute");
        let micros = self.gpu.product(conv.multiplications());
        t.launch("cudaLaunchKernelExC").kernel(&product, micros);
        let micros = self.gpu.stream(8 * elements(&conv.output()));
        t.launch("cudaLaunchKernel").kernel(back, micros);
    }

    /// Runs the backend's forward batch norm.
    pub(super) fn normalize(&mut self, t: &mut HostThread<'_>, input: &[i64; 4], sequence: i64) {
        let channels = [input[1]];
        let mut args = vec![Arg::Tensor(input)];
        args.extend([Arg::Tensor(&channels); 4]);
        let micros = self.gpu.stream(14 * elements(input));
        let name = self.batch_norm();
        t.op(op(name, &args).forward(sequence), |t| {
            t.op(op("aten::empty_like", &args[..1]), |t| {
                t.leaf(op("aten::empty", &[Arg::List("[]")]));
            });
            if self.platform == Platform::Cuda {
                ask_stream(t);
                t.leaf(op("aten::view", &args[..1]));
            }
            for _ in 0..3 {
                t.leaf(op("aten::empty", &[Arg::List("[]")]));
            }
            match self.platform {
                Platform::Cuda => t.launch("cudaLaunchKernel").kernel("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct, float const*, cudnnTensorStruct, float*, float const*, float const*, float, float, float*, float*, float*, float*, float, float)", micros),
                Platform::Rocm => t.launch("hipExtModuleLaunchKernel").kernel("MIOpenBatchNormFwdTrainSpatial", micros),
            }
        });
    }

    /// Runs the backend's backward batch norm.
    pub(super) fn normalize_backward(&mut self, t: &mut HostThread<'_>, input: &[i64; 4]) {
        let channels = [input[1]];
        let args = [Arg::Tensor(input), Arg::Tensor(input), Arg::Tensor(&channels)];
        let micros = self.gpu.stream(19 * elements(input));
        let name = format!("{}_backward", self.batch_norm());
        t.op(op(&name, &args), |t| {
            for _ in 0..3 {
                t.leaf(op("aten::empty", &[Arg::List("[]")]));
            }
            match self.platform {
                Platform::Cuda => {
                    ask_stream(t);
                    t.leaf(op("aten::view", &args[..1]));
                    t.launch("cudaLaunchKernel").kernel("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float, float, float, float, cudnnTensorStruct, float const*, cudnnTensorStruct, float const*, cudnnTensorStruct, float*, float const*, float*, float*, float const*, float const*, float)", micros);
                }
                Platform::Rocm => {
                    t.launch("hipExtModuleLaunchKernel").kernel("MIOpenBatchNormBwdSpatial", micros);
                }
            }
        });
    }

    fn batch_norm(&self) -> &'static str {
        match self.platform {
            Platform::Cuda => "aten::cudnn_batch_norm",
            Platform::Rocm => "aten::miopen_batch_norm",
        }
    }

    /// The name of the batch norm's node in the autograd graph.
    pub(super) fn batch_norm_node(&self) -> &'static str {
        match self.platform {
            Platform::Cuda => "CudnnBatchNormBackward0",
            Platform::Rocm => "MiopenBatchNormBackward0",
        }
    }

    /// Runs the calls below `aten::addmm` or `aten::mm` for a product with the dimensions (rows, inner, columns).
    pub(super) fn multiply(&mut self, t: &mut HostThread<'_>, [rows, inner, columns]: [i64; 3]) {
        let micros = self.gpu.product(rows * inner * columns);
        match self.platform {
            Platform::Rocm => {
                t.leaf(op("aten::empty", &[Arg::List("[79691776]")]));
                t.call("hipGetDevicePropertiesR0600");
                t.launch("hipExtModuleLaunchKernel").kernel("Cijk_Alik_Bljk_SB_Bias_HAS_SAV_UserArgs_MT16x16x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_ISA942", micros);
            }
            Platform::Cuda => {
                t.launch("cudaLaunchKernel").kernel("ampere_sgemm_32x32_sliced1x4_tn", micros);
                let reduce = self.gpu.stream(4 * rows * columns);
                t.launch("cudaLaunchKernel").kernel("void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true, true, false>(cublasLt::cublasSplitKParams<float>, float const*, float const*, float*, float const*)", reduce);
            }
        }
    }
}

/// Runs the query calls that cuDNN makes before it launches a kernel.
fn ask_stream(t: &mut HostThread<'_>) {
    for api in ["cudaEventRecord", "cudaStreamIsCapturing", "cudaStreamGetPriority"] {
        t.call(api);
    }
}

/// Number of elements in a tensor.
pub(super) fn elements(dims: &[i64]) -> i64 {
    dims.iter().product()
}
