//! Finds the names that the records of a process refer to by number: of devices, kernels, calls and
//! ranges.

use super::super::super::numbers;
use crate::trace::header::Device;
use rustc_hash::FxHashMap;
use simd_json::prelude::*;
use simd_json::tape::Value;

/// The agent type of a GPU.
const GPU: i64 = 2;

/// The names in one process.
pub(super) struct Names<'t> {
    /// The GPUs, by the handle of their agent. Other agents are CPUs.
    gpus: FxHashMap<i64, Device>,
    kernels: FxHashMap<i64, &'t str>,
    /// For each kind of record, the names of its operations.
    operations: FxHashMap<i64, Vec<&'t str>>,
    /// The texts of markers, by correlation id.
    markers: FxHashMap<i64, &'t str>,
}

impl<'t> Names<'t> {
    pub(super) fn of(process: &Value<'t, 't>) -> Names<'t> {
        let strings = process.get("strings");
        Names {
            gpus: list(process, "agents").filter_map(|agent| gpu(&agent)).collect(),
            kernels: list(process, "kernel_symbols").filter_map(kernel).collect(),
            operations: list_of(strings, "buffer_records").enumerate().map(operations).collect(),
            markers: list_of(strings, "marker_api").filter_map(marker).collect(),
        }
    }

    /// The GPUs of the process, sorted by number.
    pub(super) fn devices(&self) -> Vec<Device> {
        let mut devices: Vec<Device> = self.gpus.values().cloned().collect();
        devices.sort_by(|a, b| (a.id, &a.name).cmp(&(b.id, &b.name)));
        devices
    }

    /// The number of the GPU whose agent has a handle; `None` for the handle of a CPU.
    pub(super) fn gpu(&self, handle: i64) -> Option<i64> {
        self.gpus.get(&handle).map(|device| device.id)
    }

    pub(super) fn kernel(&self, id: i64) -> Option<&'t str> {
        self.kernels.get(&id).copied()
    }

    pub(super) fn operation(&self, kind: i64, operation: i64) -> Option<&'t str> {
        let names = self.operations.get(&kind)?;
        names.get(usize::try_from(operation).ok()?).copied()
    }

    pub(super) fn marker(&self, correlation: i64) -> Option<&'t str> {
        self.markers.get(&correlation).copied()
    }
}

fn gpu(agent: &Value<'_, '_>) -> Option<(i64, Device)> {
    (integer(agent, "type")? == GPU).then_some(())?;
    let handle = integer(&agent.get("id")?, "handle")?;
    let text = |key| agent.get_str(key).unwrap_or_default();
    let name = if text("product_name").is_empty() { "name" } else { "product_name" };
    let memory = list(agent, "mem_banks").filter_map(|bank| integer(&bank, "size_in_bytes")).max();
    let device = Device {
        id: integer(agent, "logical_node_id").or(integer(agent, "node_id")).unwrap_or(handle),
        name: text(name).to_owned(),
        capability: capability(text("name")),
        memory_bytes: memory.and_then(|bytes| u64::try_from(bytes).ok()),
        multiprocessors: integer(agent, "cu_count"),
        warp_size: integer(agent, "wave_front_size"),
    };
    Some((handle, device))
}

/// The major and the minor version in a name such as `gfx950` or `gfx90a`, whose last character is
/// the stepping.
fn capability(name: &str) -> Option<(i64, i64)> {
    let digits = name.strip_prefix("gfx")?;
    digits.is_ascii().then_some(())?;
    let (major, rest) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
    Some((major.parse().ok()?, i64::from_str_radix(&rest[..1], 16).ok()?))
}

fn kernel<'t>(symbol: Value<'t, 't>) -> Option<(i64, &'t str)> {
    let names = ["formatted_kernel_name", "truncated_kernel_name", "kernel_name"];
    let mut found = names.iter().filter_map(|key| symbol.get(*key)?.into_string());
    let name = found.find(|name| !name.is_empty())?;
    Some((integer(&symbol, "kernel_id")?, name.strip_suffix(".kd").unwrap_or(name)))
}

fn operations<'t>((kind, record): (usize, Value<'t, 't>)) -> (i64, Vec<&'t str>) {
    let names = list(&record, "operations").map(|name| name.into_string().unwrap_or_default());
    (kind as i64, names.collect())
}

fn marker<'t>(entry: Value<'t, 't>) -> Option<(i64, &'t str)> {
    Some((integer(&entry, "key")?, entry.get("value")?.into_string()?))
}

/// The elements of a list in an object; none if the object has no such list.
pub(super) fn list<'t>(
    object: &Value<'t, 't>,
    key: &str,
) -> impl Iterator<Item = Value<'t, 't>> + use<'t> {
    let all = object.get(key).and_then(|list| list.as_array());
    all.into_iter().flat_map(|list| list.iter().collect::<Vec<_>>())
}

fn list_of<'t>(
    object: Option<Value<'t, 't>>,
    key: &str,
) -> impl Iterator<Item = Value<'t, 't>> + use<'t> {
    object.map(|object| list(&object, key)).into_iter().flatten()
}

/// A whole number, which may be in quotes. An unsigned number of 64 bits keeps its bits.
pub(super) fn integer(object: &Value<'_, '_>, key: &str) -> Option<i64> {
    let value = object.get(key)?;
    let number = value.as_i64().or_else(|| value.as_u64().map(u64::cast_signed));
    number.or_else(|| numbers::id(value.into_string()?.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_gpu_contains_its_version() {
        assert_eq!(capability("gfx950"), Some((9, 5)));
        assert_eq!(capability("gfx90a"), Some((9, 0)));
        assert_eq!(capability("gfx1100"), Some((11, 0)));
        for other in ["", "gfx", "gfx9", "AMD EPYC", "gfxµµ", "gfx-"] {
            assert_eq!(capability(other), None, "{other}");
        }
    }
}
