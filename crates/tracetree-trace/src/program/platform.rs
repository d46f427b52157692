//! Determines which vendor made the GPU in a trace, and collects the evidence. No single field of a
//! trace identifies the vendor reliably.

use crate::trace::{Category, TextId, Trace};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// The vendor of a trace's GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[doc(hidden)]
pub enum Vendor {
    /// CUDA.
    Nvidia,
    /// ROCm.
    Amd,
    /// Ascend NPUs.
    Ascend,
    /// Meta's MTIA.
    Mtia,
    /// An accelerator from a vendor that is not listed.
    Other,
    /// The trace has no events from a GPU or another accelerator.
    Cpu,
    /// The trace has GPU events, but no evidence for a vendor, or equally strong evidence for two
    /// vendors.
    Unknown,
}

impl Vendor {
    /// `nvidia`, `amd`, `ascend`, `mtia`, `other`, `cpu` or `unknown`.
    pub fn label(self) -> &'static str {
        match self {
            Vendor::Nvidia => "nvidia",
            Vendor::Amd => "amd",
            Vendor::Ascend => "ascend",
            Vendor::Mtia => "mtia",
            Vendor::Other => "other",
            Vendor::Cpu => "cpu",
            Vendor::Unknown => "unknown",
        }
    }
}

/// The platform of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Platform {
    /// The vendor with the most evidence.
    pub vendor: Vendor,
    /// A description of the evidence for the vendor.
    pub evidence: Vec<String>,
}

impl Platform {
    /// Determines the platform from versions, device names, warp sizes, launch calls and kernel
    /// names.
    #[doc(hidden)]
    pub fn of(trace: &Trace) -> Platform {
        let mut found = Votes::default();
        let names = Names::of(trace);
        found.read_header(trace);
        found.read_events(&names);
        if let Some((vendor, evidence)) = accelerator(trace, &names) {
            found.evidence.push(evidence);
            return Platform { vendor, evidence: found.evidence };
        }
        let has_gpu = names.counts.keys().any(|(category, _)| category.is_gpu());
        let vendor = match (has_gpu, found.nvidia.cmp(&found.amd)) {
            (false, _) => Vendor::Cpu,
            (true, std::cmp::Ordering::Greater) => Vendor::Nvidia,
            (true, std::cmp::Ordering::Less) => Vendor::Amd,
            (true, std::cmp::Ordering::Equal) => Vendor::Unknown,
        };
        Platform { vendor, evidence: found.evidence }
    }
}

/// How often each name occurs in a trace. A trace has few distinct names, so each name is checked
/// once.
struct Names<'t> {
    trace: &'t Trace,
    counts: FxHashMap<(Category, TextId), u64>,
}

impl<'t> Names<'t> {
    /// Counts how often each name of a runtime call or a GPU event occurs.
    fn of(trace: &'t Trace) -> Names<'t> {
        let mut counts = FxHashMap::default();
        for event in trace.events() {
            let category = trace.category(event);
            if category.is_gpu() || category == Category::Runtime {
                *counts.entry((category, trace.name_id(event))).or_default() += 1;
            }
        }
        Names { trace, counts }
    }

    fn all(&self) -> impl Iterator<Item = (Category, &'t str, u64)> {
        let named = self.counts.iter();
        named.map(|(&(category, name), &count)| (category, self.trace.text(name), count))
    }

    /// How many events in a category have a CUDA name, and how many have a ROCm name.
    fn votes(&self, category: Category, vendor: fn(&str) -> Option<Vendor>) -> [u64; 2] {
        let mut votes = [0; 2];
        for (_, name, count) in self.all().filter(|&(other, ..)| other == category) {
            match vendor(name) {
                Some(Vendor::Nvidia) => votes[0] += count,
                Some(Vendor::Amd) => votes[1] += count,
                _ => {}
            }
        }
        votes
    }
}

/// The evidence collected so far, by vendor.
#[derive(Default)]
struct Votes {
    nvidia: u32,
    amd: u32,
    evidence: Vec<String>,
}

impl Votes {
    fn add(&mut self, vendor: Vendor, evidence: String) {
        match vendor {
            Vendor::Nvidia => self.nvidia += 1,
            Vendor::Amd => self.amd += 1,
            Vendor::Ascend | Vendor::Mtia | Vendor::Other | Vendor::Cpu | Vendor::Unknown => return,
        }
        self.evidence.push(evidence);
    }

    fn read_header(&mut self, trace: &Trace) {
        for (key, _) in &trace.header().versions {
            if ["cuda", "cupti"].iter().any(|prefix| key.starts_with(prefix)) {
                self.add(Vendor::Nvidia, format!("field {key}"));
            } else if ["hip", "roctracer", "rocm"].iter().any(|prefix| key.starts_with(prefix)) {
                self.add(Vendor::Amd, format!("field {key}"));
            }
        }
        for device in &trace.header().devices {
            let name = device.name.to_ascii_lowercase();
            let is_nvidia =
                ["nvidia", "tesla", "geforce", "quadro"].iter().any(|w| name.contains(w));
            let is_amd = ["amd", "instinct", "radeon"].iter().any(|w| name.contains(w));
            match (is_nvidia, is_amd, device.warp_size) {
                (true, false, _) => self.add(Vendor::Nvidia, format!("device {}", device.name)),
                (false, true, _) => self.add(Vendor::Amd, format!("device {}", device.name)),
                (_, _, Some(64)) => self.add(Vendor::Amd, "warp size 64".to_owned()),
                (_, _, _) => {}
            }
        }
        self.evidence.dedup();
    }

    /// Adds two votes: one for the vendor that most runtime calls indicate, and one for the vendor
    /// that most kernel names indicate.
    fn read_events(&mut self, names: &Names<'_>) {
        self.vote("runtime calls", names.votes(Category::Runtime, of_call));
        self.vote("kernel names", names.votes(Category::Kernel, of_kernel));
    }

    fn vote(&mut self, what: &str, [nvidia, amd]: [u64; 2]) {
        match nvidia.cmp(&amd) {
            std::cmp::Ordering::Greater => self.add(Vendor::Nvidia, format!("{what} of CUDA")),
            std::cmp::Ordering::Less => self.add(Vendor::Amd, format!("{what} of ROCm")),
            std::cmp::Ordering::Equal => {}
        }
    }
}

/// An accelerator that uses neither CUDA nor HIP, and the evidence for it. The profiler for such an
/// accelerator records categories, calls or kernels with special names. Comparisons ignore most
/// events with such categories, so the categories are also looked up among the ignored events.
fn accelerator(trace: &Trace, names: &Names<'_>) -> Option<(Vendor, String)> {
    let ignored = trace.left_out().iter().map(|(category, _)| &**category);
    let of_category = trace.accelerator.into_iter().chain(ignored).find_map(|category| {
        let name = category.to_ascii_lowercase();
        let known = CATEGORIES.iter().find(|(mark, _)| name.contains(mark));
        known.map(|&(_, vendor)| (vendor, format!("category {category}")))
    });
    let of_name = || {
        let mut counts = [0_u64; NAMES.len()];
        let mut all = 0_u64;
        for (_, name, count) in names.all() {
            all += count;
            let at = NAMES.iter().position(|(mark, ..)| name.starts_with(mark));
            at.into_iter().for_each(|at| counts[at] += count);
        }
        // A prefix counts as evidence only if the names of more than 10% of the runtime calls and
        // GPU events begin with it. A trace of a CUDA or HIP device may also contain a few such
        // names.
        let most = (0..NAMES.len()).max_by_key(|&at| counts[at])?;
        let (mark, vendor) = NAMES[most];
        (counts[most] * 10 > all).then(|| (vendor, format!("names with {mark}")))
    };
    of_category.or_else(of_name)
}

/// Substrings that occur only in the trace categories of accelerators that use neither CUDA nor
/// HIP.
const CATEGORIES: [(&str, Vendor); 5] = [
    ("mtia", Vendor::Mtia),
    ("ascend", Vendor::Ascend),
    ("xpu", Vendor::Other),
    ("hpu", Vendor::Other),
    ("privateuse1", Vendor::Other),
];

/// Prefixes of the call and kernel names of accelerators that use neither CUDA nor HIP.
const NAMES: [(&str, Vendor); 4] = [
    ("aclnn", Vendor::Ascend),
    ("AscendCL@", Vendor::Ascend),
    ("mtia", Vendor::Mtia),
    ("zeCommand", Vendor::Other),
];

fn of_call(name: &str) -> Option<Vendor> {
    match name {
        _ if name.starts_with("hip") => Some(Vendor::Amd),
        // Matches the runtime's `cudaLaunchKernel` and the driver's `cuLaunchKernel`.
        _ if name.starts_with("cu") => Some(Vendor::Nvidia),
        _ => None,
    }
}

/// Recognizes a vendor's libraries in kernel names.
fn of_kernel(name: &str) -> Option<Vendor> {
    const AMD: [&str; 6] = ["Cijk_", "ck_tile", "miopen", "__hip", "amd_", "aiter"];
    const NVIDIA: [&str; 6] = ["cutlass", "cublas", "cudnn", "sm80_", "sm90_", "nvjet"];
    if AMD.iter().any(|mark| name.contains(mark)) {
        return Some(Vendor::Amd);
    }
    NVIDIA.iter().any(|mark| name.contains(mark)).then_some(Vendor::Nvidia)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendor_is_known_from_runtime_and_driver_calls() {
        assert_eq!(of_call("hipLaunchKernel"), Some(Vendor::Amd));
        assert_eq!(of_call("cudaLaunchKernel"), Some(Vendor::Nvidia));
        assert_eq!(of_call("cuLaunchKernelEx"), Some(Vendor::Nvidia));
        assert_eq!(of_call("launchKernel"), None);
    }

    #[test]
    fn libraries_leave_their_mark_in_kernels() {
        for name in ["Cijk_Ailk_Bljk_HHS", "miopenSp3AsmConv", "__hip_fill", "aiter::rmsnorm"] {
            assert_eq!(of_kernel(name), Some(Vendor::Amd), "{name}");
        }
        for name in ["cutlass_80_tensorop", "sm90_xmma_fprop", "nvjet_hsh_256x128"] {
            assert_eq!(of_kernel(name), Some(Vendor::Nvidia), "{name}");
        }
        assert_eq!(of_kernel("triton_poi_fused_add_0"), None);
    }
}
