//! Identifies the memory that is compared between the sides: the host's, or that of a numbered GPU.

use crate::trace::MemoryDevice;
use std::fmt;

/// The memory of the host or of a GPU, whatever its vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryPlace {
    /// A GPU with this number, or with `None` if the trace does not record the number.
    Gpu(Option<i64>),
    /// The memory of the host.
    Host,
    /// Memory of a device whose kind the trace does not record.
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
