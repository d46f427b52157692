//! Maps category names and process names, which differ between profilers and their versions, to a
//! [`Category`].

use crate::trace::category::Category;

/// The category with this name in `cat`; `None` for a category that comparisons ignore.
pub(super) fn from_name(name: &[u8]) -> Option<Category> {
    // `python_function` is tested before the `match` for speed: `match` compares names byte by
    // byte, and if Python stacks were recorded, most events have the category `python_function`.
    if name == b"python_function" {
        return Some(Category::PythonFunction);
    }
    Some(match name {
        b"cpu_op" | b"Operator" | b"operator" => Category::CpuOp,
        b"kernel" | b"Kernel" | b"concurrent_kernel" => Category::Kernel,
        b"gpu_memcpy" | b"Memcpy" => Category::Memcpy,
        b"gpu_memset" | b"Memset" => Category::Memset,
        b"user_annotation" => Category::UserAnnotation,
        b"gpu_user_annotation" => Category::GpuUserAnnotation,
        _ if is_runtime(name) => Category::Runtime,
        _ => return None,
    })
}

/// Whether the category contains host calls into a GPU runtime. Every Kineto backend has a
/// different category name for calls into its GPU runtime.
fn is_runtime(name: &[u8]) -> bool {
    matches!(
        name,
        b"cuda_runtime"
            | b"cuda_driver"
            | b"Runtime"
            | b"runtime"
            | b"hip_runtime"
            | b"hip_driver"
            | b"hip_api"
            | b"xpu_runtime"
            | b"xpu_driver"
            | b"mtia_runtime"
            | b"privateuse1_runtime"
            | b"privateuse1_driver"
    )
}

/// The category of an event whose `cat` only says that it comes from a device, determined from its
/// name, and the name of the `cat`. On MTIA, waits and records of events take time on a stream, but
/// do no work.
pub(super) fn from_device_name(category: &[u8], name: &[u8]) -> Option<(Category, &'static str)> {
    if category != MTIA.as_bytes() {
        return None;
    }
    match name {
        b"event_wait" | b"event_record" => None,
        b"dma_request" => Some((Category::Memcpy, MTIA)),
        _ => Some((Category::Kernel, MTIA)),
    }
}

/// The category of all events of MTIA devices.
const MTIA: &str = "mtia_ccp_events";

/// The category of an event without `cat`, determined from the name of its process. In traces from
/// rocprof and Ascend, nothing else indicates the category.
pub(super) fn from_process(name: &str) -> Option<Category> {
    Some(match name {
        "CPU HIP API" | "CPU HSA API" | "CANN" => Category::Runtime,
        "COPY" => Category::Memcpy,
        "Markers and Ranges" => Category::UserAnnotation,
        "Ascend Hardware" => Category::Kernel,
        _ => {
            let number = name.strip_prefix("GPU")?;
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            return is_number.then_some(Category::Kernel);
        }
    })
}

/// The category of an event without `cat`, determined from its `pid`. This is necessary for traces
/// from a PyTorch build without Kineto, whose profiler does not name processes.
pub(super) fn from_pid(pid: &str) -> Option<Category> {
    match pid {
        "CPU functions" => Some(Category::CpuOp),
        "CUDA functions" => Some(Category::Kernel),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_category_names_are_one_category() {
        for (old, new) in [
            ("Operator", "cpu_op"),
            ("Kernel", "kernel"),
            ("Memcpy", "gpu_memcpy"),
            ("Runtime", "cuda_runtime"),
        ] {
            assert_eq!(from_name(old.as_bytes()), from_name(new.as_bytes()));
            assert!(from_name(new.as_bytes()).is_some());
        }
        assert_eq!(from_name(b"cpu_instant_event"), None);
    }

    #[test]
    fn an_event_of_an_mtia_device_is_a_copy_a_kernel_or_a_wait() {
        let of = |name: &str| {
            from_device_name(MTIA.as_bytes(), name.as_bytes()).map(|(category, _)| category)
        };
        assert_eq!(of("dma_request"), Some(Category::Memcpy));
        assert_eq!(of("add-dtype_Float"), Some(Category::Kernel));
        assert_eq!((of("event_wait"), of("event_record")), (None, None));
        assert_eq!(from_device_name(b"mtia_insight", b"add-dtype_Float"), None);
    }

    #[test]
    fn the_category_follows_from_the_processes_of_other_profilers() {
        assert_eq!(from_process("GPU12"), Some(Category::Kernel));
        assert_eq!(from_process("GPU"), None);
        assert_eq!(from_process("Overlap Analysis"), None);
        assert_eq!(from_pid("CPU functions"), Some(Category::CpuOp));
    }
}
