//! Identifies the device whose memory is compared between the sides: the host, or the GPU with a given number.

use crate::trace::MemoryDevice;
use std::fmt;

/// Host memory, or the memory of a GPU from any vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum MemoryPlace {
    /// GPU memory, with the number of the GPU; `None` if the trace does not record the number.
    Gpu(Option<i64>),
    /// Host memory.
    Host,
    /// The memory of a device whose type the trace does not record.
    Unknown,
}

impl From<MemoryDevice> for MemoryPlace {
    fn from(device: MemoryDevice) -> MemoryPlace {
        match device.kind {
            Some(_) if device.is_host() => MemoryPlace::Host,
            Some(_) => MemoryPlace::Gpu(device.number),
            None => MemoryPlace::Unknown,
        }
    }
}

impl fmt::Display for MemoryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryPlace::Gpu(Some(number)) => write!(f, "gpu {number}"),
            MemoryPlace::Gpu(None) => f.write_str("gpu"),
            MemoryPlace::Host => f.write_str("cpu"),
            MemoryPlace::Unknown => f.write_str("(unknown device)"),
        }
    }
}

/// `275.6 MB`, `−3 B`.
#[doc(hidden)]
pub fn bytes(count: i64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let (sign, size) = (if count < 0 { "−" } else { "" }, count.unsigned_abs());
    let unit = UNITS.into_iter().find(|(unit, _)| size >= *unit);
    unit.map_or(format!("{sign}{size} B"), |(unit, name)| {
        format!("{sign}{:.1} {name}", size as f64 / unit as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_have_the_unit_of_their_size() {
        assert_eq!([0, 999, -1_000].map(bytes), ["0 B", "999 B", "−1.0 kB"]);
        assert_eq!([275_640_000, i64::MIN].map(bytes), ["275.6 MB", "−9223372036.9 GB"]);
    }
}
