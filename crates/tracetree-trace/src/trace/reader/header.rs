//! Reads the metadata of a trace into a [`Header`]: the members of the top-level JSON object other
//! than the event list.
//!
//! Only the keys that are listed in this file are parsed. The `metadata` and environment blocks are
//! skipped, because they contain credentials in real traces. Programs also add their own metadata
//! at the top level, so a version is read only if its key is known and its value looks like a
//! version.

use super::cursor::Value;
use super::numbers;
use crate::trace::header::{Device, Distributed, Header};
use crate::trace::time::Nanos;
use serde_json::Value as Json;

/// Recording options. A recording option is treated as enabled unless its value is `0`, `false` or
/// empty.
const OPTIONS: [&[u8]; 5] =
    [b"record_shapes", b"with_stack", b"with_modules", b"profile_memory", b"with_flops"];

/// Version keys that profilers write or that users add.
const VERSIONS: [&[u8]; 22] = [
    b"cann_version",
    b"cublas_version",
    b"cuda_driver_version",
    b"cuda_runtime_version",
    b"cuda_version",
    b"cudnn_version",
    b"cupti_version",
    b"driver_version",
    b"hip_driver_version",
    b"hip_runtime_version",
    b"hip_version",
    b"kineto_version",
    b"miopen_version",
    b"nccl_version",
    b"python_version",
    b"pytorch_version",
    b"rccl_version",
    b"rocm_version",
    b"rocprofiler_version",
    b"roctracer_version",
    b"torch_version",
    b"triton_version",
];

/// Maximum length of a version, and of each component of a version, in bytes. These limits allow a
/// commit hash, which is usually shortened to about ten digits, but not an access token.
const LONGEST_VERSION: usize = 40;
const LONGEST_PART: usize = 12;

/// Whether the header stores the value of this key.
pub(super) fn is_wanted(key: &[u8]) -> bool {
    matches!(
        key,
        b"schemaVersion" | b"deviceProperties" | b"distributedInfo" | b"baseTimeNanoseconds"
    ) || VERSIONS.contains(&key)
        || OPTIONS.contains(&key)
}

/// Stores the value of a needed key in `header`; returns `false` if the value has the wrong type.
pub(super) fn set(header: &mut Header, key: &[u8], value: Value<'_>) -> bool {
    match key {
        b"schemaVersion" => replace(&mut header.schema_version, integer(value)),
        b"baseTimeNanoseconds" => replace(&mut header.base_time, integer(value).map(Nanos)),
        b"deviceProperties" => match json(value) {
            Some(Json::Array(list)) => {
                header.devices =
                    list.iter().enumerate().map(|(at, device)| read_device(at, device)).collect();
                true
            }
            _ => value == Value::Null,
        },
        b"distributedInfo" => match json(value) {
            Some(info @ Json::Object(_)) => {
                header.distributed = Some(read_distributed(&info));
                true
            }
            _ => value == Value::Null,
        },
        _ if OPTIONS.contains(&key) => set_option(header, key, value),
        _ => set_version(header, key, value),
    }
}

fn replace<T>(field: &mut Option<T>, value: Option<T>) -> bool {
    let is_right = value.is_some();
    *field = value.or(field.take());
    is_right
}

fn integer(value: Value<'_>) -> Option<i64> {
    value.bytes().and_then(numbers::integer)
}

fn json(value: Value<'_>) -> Option<Json> {
    match value {
        Value::Composite(text) => serde_json::from_slice(text).ok(),
        Value::Absent | Value::Text(_) | Value::Scalar(_) | Value::Null => None,
    }
}

fn set_option(header: &mut Header, key: &[u8], value: Value<'_>) -> bool {
    let Some(bytes) = value.bytes() else {
        return value == Value::Null;
    };
    let is_on = !matches!(bytes, b"0" | b"false" | b"False" | b"");
    let name = String::from_utf8_lossy(key).into_owned();
    if let (true, Err(at)) = (is_on, header.options.binary_search(&name)) {
        header.options.insert(at, name);
    }
    true
}

fn set_version(header: &mut Header, key: &[u8], value: Value<'_>) -> bool {
    let Some(bytes) = value.bytes() else {
        return value == Value::Null;
    };
    if !is_version(bytes) {
        return false;
    }
    let name = String::from_utf8_lossy(key).into_owned();
    let version = String::from_utf8_lossy(bytes).into_owned();
    match header.versions.binary_search_by(|(other, _)| other.cmp(&name)) {
        Ok(at) => header.versions[at].1 = version,
        Err(at) => header.versions.insert(at, (name, version)),
    }
    true
}

/// Whether a string looks like a version: it begins with a digit and has only short components,
/// such as `2.6.0.dev20241112+cu124` or `12040`.
fn is_version(text: &[u8]) -> bool {
    let is_separator = |byte: &u8| b".+-_".contains(byte);
    let mut parts = text.split(is_separator);
    text.len() <= LONGEST_VERSION
        && text.first().is_some_and(u8::is_ascii_digit)
        && parts
            .all(|part| part.len() <= LONGEST_PART && part.iter().all(u8::is_ascii_alphanumeric))
}

fn read_device(at: usize, device: &Json) -> Device {
    let number = |key: &str| device.get(key).and_then(Json::as_i64);
    let device = Device {
        id: number("id").unwrap_or(at as i64),
        name: text(device, "name"),
        capability: number("computeMajor").zip(number("computeMinor")),
        memory_bytes: device.get("totalGlobalMem").and_then(Json::as_u64),
        multiprocessors: number("numSms"),
        warp_size: number("warpSize"),
    };
    device.identified()
}

fn read_distributed(info: &Json) -> Distributed {
    let number = |key: &str| info.get(key).and_then(Json::as_i64);
    Distributed {
        backend: text(info, "backend"),
        rank: number("rank"),
        world_size: number("world_size"),
    }
}

fn text(object: &Json, key: &str) -> String {
    object.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_name_is_identified_by_its_properties() {
        let name = |name: &str, units: u64, memory: u64| {
            let device = serde_json::json!({
                "name": name, "computeMajor": 9, "computeMinor": 4, "numSms": units, "totalGlobalMem": memory,
            });
            read_device(0, &device).name
        };
        assert_eq!(name("", 304, 206_141_652_992), "AMD Instinct MI300X");
        assert_eq!(name("", 304, 274_000_000_000), "AMD Instinct MI325X");
        assert_eq!(name("AMD Instinct MI300X VF", 304, 205_571_227_648), "AMD Instinct MI300X VF");
        assert_eq!(name("", 80, 206_141_652_992), "");
    }

    #[test]
    fn a_header_is_read_key_by_key() {
        let mut header = Header::default();
        let devices = br#"[{"id": 3, "name": "MI300X", "computeMajor": 9, "computeMinor": 4, "warpSize": 64, "numSms": 304}]"#;
        assert!(set(&mut header, b"deviceProperties", Value::Composite(devices)));
        assert!(set(
            &mut header,
            b"distributedInfo",
            Value::Composite(br#"{"backend": "nccl", "rank": 1, "world_size": 8}"#)
        ));
        assert!(set(&mut header, b"hip_runtime_version", Value::Scalar(b"60200")));
        assert!(set(&mut header, b"with_stack", Value::Scalar(b"1")));
        assert!(set(&mut header, b"with_flops", Value::Scalar(b"0")));
        assert!(set(&mut header, b"baseTimeNanoseconds", Value::Scalar(b"1767189312000000000")));
        assert_eq!(header.devices[0].capability, Some((9, 4)));
        assert_eq!(header.devices[0].warp_size, Some(64));
        assert_eq!(header.distributed.as_ref().and_then(|d| d.rank), Some(1));
        assert_eq!(header.versions, [("hip_runtime_version".to_owned(), "60200".to_owned())]);
        assert_eq!(header.options, ["with_stack"]);
        assert_eq!(header.base_time, Some(Nanos(1_767_189_312_000_000_000)));
    }

    #[test]
    fn wrong_types_are_reported_and_secrets_are_skipped() {
        let mut header = Header::default();
        assert!(!set(&mut header, b"deviceProperties", Value::Scalar(b"7")));
        assert!(!set(&mut header, b"schemaVersion", Value::Text(b"one")));
        assert_eq!(header, Header::default());
        assert!(!is_wanted(b"metadata") && !is_wanted(b"env") && is_wanted(b"cupti_version"));
    }

    #[test]
    fn a_version_with_an_unknown_key_is_skipped() {
        assert!(VERSIONS.is_sorted() && VERSIONS.iter().all(|key| is_wanted(key)));
        assert!(!is_wanted(b"secret_version") && !is_wanted(b"token_version"));
    }

    #[test]
    fn a_value_that_is_not_a_version_is_not_read() {
        for version in
            ["12040", "4.1", "70226015", "2.27.7", "2.6.0.dev20241112+cu124", "2.4.0a0+gitee1b680"]
        {
            let mut header = Header::default();
            assert!(set(&mut header, b"torch_version", Value::Text(version.as_bytes())));
            assert_eq!(header.versions, [("torch_version".to_owned(), version.to_owned())]);
        }
        for value in [
            "",
            "main",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "2.6.0+ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "2.6.0 ghp_16C7e4",
            "2.6.0\n::error::forged",
            "1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1",
        ] {
            let mut header = Header::default();
            assert!(!set(&mut header, b"torch_version", Value::Text(value.as_bytes())));
            assert_eq!(header, Header::default(), "{value}");
        }
    }
}
