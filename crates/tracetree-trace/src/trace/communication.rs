//! Determines whether a kernel or op with a given name communicates with other ranks.
//!
//! The names of collectives (`all_reduce`, `ncclDevKernel`) have many spellings, prefixes and
//! suffixes. This module therefore searches names for substrings, after removing all `_` and
//! converting the name to lower case. Template arguments and parameters are ignored, because they
//! contain the names of other kernels.

/// Substrings that indicate communication in both kernel names and op names: the names of
/// collectives, and the names of libraries whose ops and kernels have similar names.
const OF_BOTH: [&str; 9] = [
    "allreduce",
    "allgather",
    "reducescatter",
    "alltoall",
    "all2all",
    "sendrecv",
    "multimem",
    "deepep::",
    "quickreduce",
];

/// Substrings that indicate communication only in kernel names.
const OF_KERNELS: [&str; 17] = [
    "ncclkernel",
    "nccldev",
    "ncclsym",
    "rcclkernel",
    "rcclgeneric",
    "msccl",
    "nvshmem",
    "rocshmem",
    "crossdevicereduce",
    "crossdevicestore",
    "lamport",
    "userbuffers",
    "ringexchange",
    "::epdispatch",
    "::epcombine",
    "a2adispatch",
    "a2acombine",
];

/// Prefix of the names of Ascend's collectives (`hcom_allReduce_`). Elsewhere in a name, this
/// string does not indicate communication.
const ASCEND: &str = "hcom";

/// Substrings that indicate communication only in op names.
const OF_OPS: [&str; 7] = [
    "recordparamcomms",
    "c10d::",
    "c10dfunctional",
    "nccl:",
    "symmmem::",
    "customar::",
    "dispatchcombine",
];

/// Substrings in the names of ops that only copy data, to arrange it for a collective or to unpack
/// the collective's result (FSDP's `all_gather_copy_in`).
const LAYS_OUT: [&str; 3] = ["copyin", "copyout", "chunkcat"];

/// Whether a kernel with this name communicates with other ranks.
pub fn is_communication_kernel(name: &str) -> bool {
    let name = squeezed(without_return_type(name));
    name.starts_with(ASCEND) || contains_any(&name, &OF_BOTH) || contains_any(&name, &OF_KERNELS)
}

/// Whether an op with this name communicates with other ranks.
pub(crate) fn is_communication_op(name: &str) -> bool {
    let name = squeezed(name);
    (contains_any(&name, &OF_BOTH) || contains_any(&name, &OF_OPS))
        && !contains_any(&name, &LAYS_OUT)
}

fn contains_any(name: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| name.contains(part))
}

/// Strips the return type and a leading anonymous namespace, whose parenthesis would otherwise be
/// mistaken for the beginning of the parameter list: `void (anonymous
/// namespace)::multimem_all_reduce<c10::Half>(…)`.
fn without_return_type(name: &str) -> &str {
    let rest = name.strip_prefix("void ").unwrap_or(name);
    ["(anonymous namespace)::", "<unnamed>::"]
        .iter()
        .find_map(|space| rest.strip_prefix(space))
        .unwrap_or(rest)
}

/// Returns the part of a name before its template arguments or parameters, in lower case and
/// without `_`.
fn squeezed(name: &str) -> String {
    let end = name.find(['<', '(']).unwrap_or(name.len());
    name[..end].chars().filter(|&c| c != '_').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_recognized_after_its_return_type_and_anonymous_namespace() {
        for name in [
            "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int*)",
            "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
            "ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymkDevWorkArgs)",
            "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(int*)",
            "_ZN5aiter26reduce_scatter_cross_device_storeIDF16b",
            "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)",
            "mscclKernel_Sum_half_Simple_false(ncclDevComm*)",
            "hcom_broadcast__673_0_1",
        ] {
            assert!(is_communication_kernel(name), "{name}");
        }
    }

    #[test]
    fn words_in_template_arguments_and_ordinary_reductions_are_not_communication() {
        for name in [
            "void at::native::reduce_kernel<512, 1, all_reduce>(int)",
            "void at::native::vectorized_gather_kernel<16, long>(char*)",
            "void at::native::_scatter_gather_elementwise_kernel<128, 4>(int)",
            "Cijk_Alik_Bljk_BBS_BH",
            "void batch_compute_step_dispatch(int)",
        ] {
            assert!(!is_communication_kernel(name), "{name}");
        }
    }

    #[test]
    fn an_op_that_copies_data_for_a_collective_is_not_a_collective() {
        assert!(is_communication_op("c10d::allreduce_") && is_communication_op("nccl:all_reduce"));
        assert!(is_communication_op("symm_mem::multimem_all_reduce_"));
        assert!(!is_communication_op("fsdp::all_gather_copy_in"));
        assert!(!is_communication_op("aten::all") && !is_communication_op("aten::gather"));
    }
}
