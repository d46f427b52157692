//! Reads devices and versions from the plane statistics.

use super::space::Stat;
use crate::trace::header::Device;

/// Keys of the versions that are read from the metadata.
const VERSIONS: [&str; 5] = [
    "cuda_driver_version",
    "cuda_runtime_version",
    "jax_version",
    "jaxlib_version",
    "rocm_version",
];

/// Maximum length of a version string.
const LONGEST_VERSION: usize = 40;

/// The versions in the metadata statistics.
pub(super) fn versions(stats: &[(&str, Stat<'_>)]) -> Vec<(String, String)> {
    let version = |(key, stat): &(&str, Stat<'_>)| match *stat {
        Stat::Text(text)
            if VERSIONS.contains(key)
                && text.len() <= LONGEST_VERSION
                && text.starts_with(|first: char| first.is_ascii_digit()) =>
        {
            Some(((*key).to_owned(), text.to_owned()))
        }
        Stat::Text(_) | Stat::Number(_) | Stat::Bytes(_) => None,
    };
    stats.iter().filter_map(version).collect()
}

/// The GPU that the plane with this number describes.
pub(super) fn read(number: &str, stats: &[(&str, Stat<'_>)]) -> Device {
    let find = |key: &str| stats.iter().find(|(name, _)| *name == key).map(|(_, stat)| *stat);
    let number_of = |key: &str| find(key)?.number();
    let text = |key: &str| match find(key) {
        Some(Stat::Text(text)) => text,
        Some(Stat::Number(_) | Stat::Bytes(_)) | None => "",
    };
    let (name, vendor) = (text("gpu_device_name"), text("device_vendor"));
    Device {
        id: number.parse().unwrap_or(0),
        name: if name.is_empty() && !vendor.is_empty() {
            format!("{vendor} GPU")
        } else {
            name.to_owned()
        },
        capability: number_of("compute_cap_major").zip(number_of("compute_cap_minor")),
        memory_bytes: number_of("memory_size").and_then(|bytes| u64::try_from(bytes).ok()),
        multiprocessors: number_of("core_count"),
        warp_size: None,
    }
}
