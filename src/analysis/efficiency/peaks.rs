//! Looks up the peak rates of a device by its name: operations per second for each precision, and bytes per second.
//!
//! Peak rates are never guessed. For an unknown device, the achieved rates of ops are reported without their share of
//! the peak rate.

use super::demand::Unit;
use crate::analysis::precision::Precision;
use crate::error::{Error, ErrorKind, Result};
use crate::trace::{Device, Header};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

const BUILTIN: &str = include_str!("peaks.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    device: Vec<DevicePeaks>,
}

/// Peak rates of a kind of device.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[doc(hidden)]
pub struct DevicePeaks {
    /// Display name of the device.
    pub name: String,
    /// Substrings that identify the device by its name in a trace.
    names: Vec<String>,
    /// Substrings of the names of other devices. A device whose name contains one of them does not match, even if its
    /// name contains an entry of `names`.
    #[serde(default)]
    except: Vec<String>,
    /// Minimum and maximum memory size, which distinguish devices with the same name.
    memory_gib: Option<[f64; 2]>,
    /// Memory bandwidth, in 10^12 bytes per second.
    pub memory_tb_per_s: f64,
    /// Peak rate of tensor or matrix cores for each precision, in 10^12 operations per second.
    #[serde(default)]
    matrix: BTreeMap<String, f64>,
    /// Peak rate of all other units for each precision, in 10^12 operations per second.
    #[serde(default)]
    vector: BTreeMap<String, f64>,
    /// Source of the published operation rates.
    pub source: String,
    /// Source of the published bandwidth.
    pub memory_source: String,
    /// The rates that the best known kernels reach; `None` if they are unknown.
    achievable: Option<Achievable>,
}

/// The rates that the best known kernels reach on a device.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Achievable {
    /// Bandwidth in 10^12 bytes per second.
    memory_tb_per_s: f64,
    /// Rate of products of bfloat16 matrices, in 10^12 operations per second.
    bf16: f64,
    /// Source of both rates.
    source: String,
}

impl DevicePeaks {
    /// The shares of the published rates that the best known kernels reach: the share of the bandwidth, and the share of
    /// the rate of matrix products. `None` if they are unknown.
    pub fn achievable_shares(&self) -> Option<(f64, f64)> {
        let achievable = self.achievable.as_ref()?;
        let matrix = self.matrix.get(Precision::Bf16.label())?;
        Some((achievable.memory_tb_per_s / self.memory_tb_per_s, achievable.bf16 / matrix))
    }

    /// Peak rate in 10^12 operations per second; `None` if no rate is known for this precision.
    pub fn tflops_per_s(&self, unit: Unit, precision: Precision) -> Option<f64> {
        let of = |table: &BTreeMap<String, f64>| table.get(precision.label()).copied();
        match unit {
            Unit::Matrix => of(&self.matrix).or_else(|| of(&self.vector)),
            Unit::Vector => of(&self.vector),
        }
    }

    /// Length of the longest entry in `names` that the device's name contains; `None` if the device does not match.
    fn fits(&self, device: &Device) -> Option<usize> {
        let gib = device.memory_bytes.map(|bytes| bytes as f64 / f64::from(1 << 30));
        let has_memory = match (self.memory_gib, gib) {
            (None, _) => true,
            (Some([least, most]), Some(gib)) => (least..=most).contains(&gib),
            (Some(_), None) => false,
        };
        let is_another = self.except.iter().any(|part| contains_words(&device.name, part));
        let parts = self.names.iter().filter(|part| contains_words(&device.name, part));
        parts.map(String::len).max().filter(|_| has_memory && !is_another)
    }
}

/// Whether a name contains `part`, and no letter or digit follows: `MI250` does not match `MI250X`.
fn contains_words(name: &str, part: &str) -> bool {
    let (name, part) = (name.to_ascii_lowercase(), part.to_ascii_lowercase());
    let ends = |at: usize| !name[at..].starts_with(|c: char| c.is_ascii_alphanumeric());
    name.match_indices(&part).any(|(at, _)| ends(at + part.len()))
}

/// Peak rates of known devices.
#[derive(Debug, Clone, PartialEq)]
pub struct Peaks {
    devices: Vec<DevicePeaks>,
    /// Number of user-defined devices. They are at the start of `devices` and take precedence.
    own: usize,
}

impl Default for Peaks {
    fn default() -> Self {
        Peaks::builtin()
    }
}

impl Peaks {
    /// Peak rates of the built-in devices only.
    #[doc(hidden)]
    pub fn builtin() -> Peaks {
        Peaks { devices: parse(BUILTIN).expect("the built-in peaks are valid"), own: 0 }
    }

    /// Peak rates of the built-in devices and of the devices in a TOML file. The devices in the file take
    /// precedence.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not valid TOML, or contains an invalid device.
    #[doc(hidden)]
    pub fn extended(path: impl AsRef<Path>) -> Result<Peaks> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::io(path, "read the device peaks", error))?;
        let mut devices = parse(&text).map_err(|message| {
            Error::new(ErrorKind::Malformed, path, message).remedy(
                "write [[device]] tables with name, names, memory_tb_per_s, matrix, vector, source, memory_source",
            )
        })?;
        let own = devices.len();
        devices.extend(Peaks::builtin().devices);
        Ok(Peaks { devices, own })
    }

    /// Peak rates of a device; `None` if its name is unknown.
    pub fn of(&self, device: &Device) -> Option<&DevicePeaks> {
        let best = |devices: &'_ [DevicePeaks]| {
            let fitting = devices
                .iter()
                .enumerate()
                .filter_map(|(at, peaks)| Some((peaks.fits(device)?, at)));
            // If several entries match with the same length, the first of them wins.
            fitting.max_by_key(|&(length, at)| (length, std::cmp::Reverse(at))).map(|(_, at)| at)
        };
        let (own, others) = self.devices.split_at(self.own);
        let found = best(own).map(|at| &own[at]);
        found.or_else(|| best(others).map(|at| &others[at]))
    }

    /// Peak rates of the devices in a trace; `None` if a device is unknown or if the devices have different
    /// rates.
    pub(crate) fn of_trace(&self, header: &Header) -> Option<&DevicePeaks> {
        let mut found = header.devices.iter().map(|device| self.of(device));
        let first = found.next()??;
        found.all(|other| other == Some(first)).then_some(first)
    }
}

fn parse(text: &str) -> std::result::Result<Vec<DevicePeaks>, String> {
    let file: File = toml::from_str(text)
        .map_err(|error| error.message().lines().collect::<Vec<_>>().join(" "))?;
    for device in &file.device {
        check(device)?;
    }
    Ok(file.device)
}

fn check(device: &DevicePeaks) -> std::result::Result<(), String> {
    let figures = device.matrix.iter().chain(&device.vector);
    let known = |name: &str| Precision::ALL.iter().any(|precision| precision.label() == name);
    if let Some((name, _)) = figures.clone().find(|(name, _)| !known(name)) {
        return Err(format!("`{name}` is not a known precision (device `{}`)", device.name));
    }
    let all = figures.map(|(_, &figure)| figure).chain([device.memory_tb_per_s]);
    if all.into_iter().any(|figure| !figure.is_finite() || figure <= 0.0) {
        return Err(format!(
            "a peak rate of the device `{}` is not a positive number",
            device.name
        ));
    }
    let lacks = |text: &str| text.trim().is_empty();
    if device.names.is_empty() || device.names.iter().any(|name| lacks(name)) {
        return Err(format!(
            "the device `{}` has no `names`, or an empty name in `names`",
            device.name
        ));
    }
    if lacks(&device.source) || lacks(&device.memory_source) {
        return Err(format!("the device `{}` has no source or no memory_source", device.name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, gib: f64) -> Option<String> {
        let memory_bytes = Some((gib * f64::from(1 << 30)) as u64);
        let device = Device { name: name.to_owned(), memory_bytes, ..Device::default() };
        Peaks::builtin().of(&device).map(|peaks| peaks.name.clone())
    }

    #[test]
    fn devices_are_found_by_the_names_that_traces_give_them() {
        for (name, gib, peaks) in [
            ("NVIDIA H100 80GB HBM3", 79.2, "NVIDIA H100 SXM"),
            ("AMD Instinct MI300X VF", 191.5, "AMD Instinct MI300X"),
            ("NVIDIA A100-PG509-200", 39.5, "NVIDIA A100 40 GB"),
            ("NVIDIA A100-SXM4-80GB", 79.3, "NVIDIA A100 80 GB SXM"),
            ("Tesla V100-SXM2-16GB", 15.8, "NVIDIA V100 SXM"),
            ("NVIDIA H200 NVL", 140.0, "NVIDIA H200 NVL"),
            ("AMD Instinct MI250X", 64.0, "AMD Instinct MI250X (one die)"),
            ("NVIDIA GeForce RTX 4090", 23.6, "NVIDIA RTX 4090"),
            ("NVIDIA GeForce RTX 5090", 31.4, "NVIDIA RTX 5090"),
            ("NVIDIA GH200 480GB", 94.5, "NVIDIA GH200 96 GB"),
            ("NVIDIA GH200 144G HBM3e", 142.5, "NVIDIA GH200 144 GB"),
            ("NVIDIA GB200", 184.3, "NVIDIA GB200"),
            ("NVIDIA B300 SXM6 AC", 267.7, "NVIDIA B300"),
            ("NVIDIA H20", 95.0, "NVIDIA H20"),
            ("NVIDIA H800", 79.1, "NVIDIA H800 SXM"),
            ("NVIDIA H800 PCIe", 79.1, "NVIDIA H800 PCIe"),
            ("NVIDIA L4", 22.0, "NVIDIA L4"),
            ("NVIDIA L40S", 44.4, "NVIDIA L40S"),
            ("NVIDIA A10", 22.1, "NVIDIA A10"),
            ("AMD Instinct MI325X", 255.9, "AMD Instinct MI325X"),
            ("AMD Instinct MI350X", 287.9, "AMD Instinct MI350X"),
            ("AMD Instinct MI355X", 287.9, "AMD Instinct MI355X"),
            ("NVIDIA A10G", 22.1, "NVIDIA A10G"),
            ("NVIDIA A30", 23.5, "NVIDIA A30"),
            ("NVIDIA A40", 44.3, "NVIDIA A40"),
            ("NVIDIA L40", 44.4, "NVIDIA L40"),
            ("NVIDIA A800-SXM4-80GB", 79.3, "NVIDIA A800 80 GB SXM"),
            ("NVIDIA A800 80GB PCIe", 79.1, "NVIDIA A800 80 GB PCIe"),
            ("NVIDIA A800 40GB Active", 39.4, "NVIDIA A800 40 GB Active"),
            ("NVIDIA GB300", 276.6, "NVIDIA GB300"),
            ("GeForce RTX 2080 Ti", 10.8, "NVIDIA RTX 2080 Ti"),
            ("NVIDIA GeForce RTX 2080 Ti", 10.6, "NVIDIA RTX 2080 Ti"),
            ("NVIDIA GeForce RTX 3060", 11.8, "NVIDIA RTX 3060"),
            ("NVIDIA GeForce RTX 3090", 23.7, "NVIDIA RTX 3090"),
            ("NVIDIA RTX A6000", 47.5, "NVIDIA RTX A6000"),
            ("NVIDIA RTX 6000 Ada Generation", 47.5, "NVIDIA RTX 6000 Ada"),
            (
                "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
                94.9,
                "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            ),
            (
                "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
                94.9,
                "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            ),
            (
                "NVIDIA RTX PRO 6000 Blackwell Server Edition",
                95.0,
                "NVIDIA RTX PRO 6000 Blackwell Server Edition",
            ),
        ] {
            assert_eq!(found(name, gib).as_deref(), Some(peaks), "{name}");
        }
    }

    #[test]
    fn an_unknown_device_has_no_peaks() {
        for (name, gib) in [
            ("", 192.0),
            ("AMD Radeon Graphics", 64.0),
            ("NVIDIA A100X", 79.0),
            ("NVIDIA A100-SXM4-96GB", 95.0),
            ("NVIDIA GeForce RTX 4090 D", 23.6),
            ("NVIDIA GeForce RTX 4090 Laptop GPU", 16.0),
            ("NVIDIA GeForce RTX 5090 D", 31.4),
            ("NVIDIA GeForce RTX 5090 Laptop GPU", 23.9),
            ("NVIDIA GeForce RTX 3090 Ti", 23.7),
            ("NVIDIA GeForce RTX 3060", 7.8),
            ("NVIDIA GeForce RTX 3060 Ti", 7.8),
            ("NVIDIA GeForce RTX 3060 Laptop GPU", 5.8),
            ("NVIDIA GeForce RTX 2080", 7.8),
            ("NVIDIA GeForce RTX 2080 SUPER", 7.8),
            ("NVIDIA H20-3e", 140.4),
            ("NVIDIA GB10", 119.6),
            ("NVIDIA A1000 Laptop GPU", 6.0),
            ("NVIDIA A10M", 22.1),
            ("NVIDIA A30X", 23.5),
            ("NVIDIA A30 MIG 2g.12gb", 11.7),
            ("NVIDIA A400", 3.8),
            ("NVIDIA A40-8Q", 8.0),
            ("NVIDIA L40G", 23.5),
            ("NVIDIA L20", 44.4),
            ("NVIDIA RTX A4000", 15.7),
            ("NVIDIA RTX 5000 Ada Generation", 31.5),
            ("Quadro RTX 6000", 23.6),
            ("NVIDIA RTX PRO 5000 Blackwell", 47.4),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb", 23.6),
            ("AMD Instinct MI308X", 191.5),
        ] {
            assert_eq!(found(name, gib), None, "{name}");
        }
    }

    #[test]
    fn a_product_without_matrix_units_for_its_precision_uses_other_units() {
        let peaks = Peaks::builtin();
        let h100 = Device { name: "NVIDIA H100 PCIe".to_owned(), ..Device::default() };
        let h100 = peaks.of(&h100).expect("a known device");
        assert_eq!(h100.tflops_per_s(Unit::Matrix, Precision::Fp32), Some(51.2));
        assert_eq!(h100.tflops_per_s(Unit::Matrix, Precision::Bf16), Some(756.0));
        assert_eq!(h100.tflops_per_s(Unit::Matrix, Precision::Fp4), None);
    }

    #[test]
    fn peaks_without_a_source_or_with_an_unknown_precision_are_errors() {
        let text = |matrix: &str, source: &str| {
            format!(
                "[[device]]\nname = \"X\"\nnames = [\"X\"]\nmemory_tb_per_s = 1.0\nmatrix = {{ {matrix} }}\nsource = \"{source}\"\nmemory_source = \"m\"\n"
            )
        };
        assert!(parse(&text("bf16 = 1.0", "measured")).is_ok());
        assert!(parse(&text("bf17 = 1.0", "measured")).expect_err("an error").contains("bf17"));
        assert!(parse(&text("bf16 = 1.0", "")).expect_err("an error").contains("no source"));
        assert!(parse(&text("bf16 = 0.0", "s")).expect_err("an error").contains("positive"));
    }

    #[test]
    fn a_trace_has_peaks_if_all_its_devices_have_the_same_peaks() {
        let peaks = |names: &[&str]| {
            let device = |name: &&str| Device { name: (*name).to_owned(), ..Device::default() };
            let devices = names.iter().map(device).collect();
            let header = Header { devices, ..Header::default() };
            Peaks::builtin().of_trace(&header).map(|peaks| peaks.name.clone())
        };
        let h100 = "NVIDIA H100 80GB HBM3";
        assert_eq!(peaks(&[h100, h100]).as_deref(), Some("NVIDIA H100 SXM"));
        assert_eq!(peaks(&[h100, "NVIDIA H200 NVL"]), None);
        assert_eq!(peaks(&[h100, "an unknown device"]), None);
        assert_eq!(peaks(&["an unknown device", h100]), None);
        assert_eq!(peaks(&[]), None);
    }
}
