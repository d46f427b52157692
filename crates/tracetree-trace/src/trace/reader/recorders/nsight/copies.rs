//! Converts CUPTI's numeric codes for copies to the names that Kineto writes.

/// `Memcpy HtoD (Pageable -> Device)`.
pub(super) fn copy_name(kind: i64, from: Option<i64>, to: Option<i64>) -> String {
    let kind = match kind {
        1 => "HtoD",
        2 => "DtoH",
        3 => "HtoA",
        4 => "AtoH",
        5 => "AtoA",
        6 => "AtoD",
        7 => "DtoA",
        8 => "DtoD",
        9 => "HtoH",
        10 => "PtoP",
        11 => "Unified HtoD",
        12 => "Unified DtoH",
        13 => "Unified DtoD",
        _ => "Unknown",
    };
    match (from, to) {
        (Some(from), Some(to)) => format!("Memcpy {kind} ({} -> {})", memory(from), memory(to)),
        _ => format!("Memcpy {kind}"),
    }
}

/// `Memset (Device)`.
pub(super) fn set_name(kind: Option<i64>) -> String {
    kind.map_or_else(|| "Memset".to_owned(), |kind| format!("Memset ({})", memory(kind)))
}

fn memory(kind: i64) -> &'static str {
    match kind {
        0 => "Pageable",
        1 => "Pinned",
        2 => "Device",
        3 => "Array",
        4 => "Managed",
        5 => "Device Static",
        6 => "Managed Static",
        _ => "Unknown",
    }
}
