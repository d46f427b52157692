//! Formats [`TraceInfo`] as text: one line per trace, or all details with one field per line.

use std::io::{self, Write};
use tracetree::analysis::efficiency::{EfficiencyInfo, FurthestOp};
use tracetree::analysis::memory::{MemorySummary, bytes};
use tracetree::program::{
    CategoryCount, Contents, DeviceInfo, HeadInfo, Model, OverheadInfo, TraceInfo, counted,
};
use tracetree::report::{Width, one_line};

/// Writes text. On a screen, lines that are too wide are wrapped, and their continuation lines are indented.
pub(super) fn wrapped(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    for line in text.lines() {
        if width.is_whole() || line.chars().count() <= width.columns() {
            writeln!(out, "{line}")?;
            continue;
        }
        // Lines that fit are not passed to the wrapping code, because it would collapse the spaces that align columns.
        let indent = line.len() - line.trim_start().len();
        for (at, part) in width.lines(line, indent + 2, usize::MAX).iter().enumerate() {
            let indent = if at == 0 { indent } else { indent + 2 };
            writeln!(out, "{:indent$}{part}", "")?;
        }
    }
    Ok(())
}

/// Writes the second half of the line that describes a trace. On a screen, the second half gets a new, indented line,
/// because the first half was already printed before the events were read.
pub(super) fn continue_line(info: &TraceInfo, width: Width, out: &mut dyn Write) -> io::Result<()> {
    if width.is_whole() {
        return write_line(info, out);
    }
    let mut text = Vec::new();
    write_line(info, &mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    writeln!(out)?;
    for line in width.lines(text.trim().trim_start_matches("· "), 2, usize::MAX) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// Writes the first half of the line that describes a trace. The first half contains only data from the header, and has
/// no line break. Writes nothing if the header is empty.
pub(super) fn write_head(head: &HeadInfo, out: &mut dyn Write) -> io::Result<()> {
    let mut parts: Vec<String> = head.devices.iter().take(1).map(device).collect();
    if head.devices.len() > 1 {
        parts.push(counted(head.devices.len() as u64 - 1, "more kind") + " of device");
    }
    parts.extend(rank(head));
    if head.recorder != "Kineto" {
        parts.push(format!("recorded with {}", head.recorder));
    }
    if parts.is_empty() { Ok(()) } else { write!(out, " · {}", one_line(&parts.join(", "))) }
}

/// Writes which share of the time was spent in ops with an efficiency model, and lists the ops that are furthest from
/// their roofline. Writes nothing if no op has a model, for example because shapes were not recorded.
pub(super) fn write_efficiency(info: &EfficiencyInfo, out: &mut dyn Write) -> io::Result<()> {
    let Some(coverage) = info.coverage.filter(|_| !info.furthest.is_empty()) else { return Ok(()) };
    let launched = info.coverage_of_launched.filter(|&launched| launched - coverage >= 1e-3);
    let launched = launched.map_or_else(String::new, |launched| {
        format!(" ({:.1}% if only work launched within the trace counts)", 100.0 * launched)
    });
    let peaks = match &info.peaks_of {
        Some(device) => format!("peaks of {}", one_line(device)),
        None => "the peaks of this device are unknown (use --peaks FILE)".to_owned(),
    };
    writeln!(
        out,
        "  efficiency: {:.1}% of the time is in ops with a model{launched}; {peaks}",
        100.0 * coverage
    )?;
    info.furthest.iter().try_for_each(|op| furthest_op(op, out))
}

/// Writes a line for each device with memory events.
pub(super) fn write_memory(memory: &[MemorySummary], out: &mut dyn Write) -> io::Result<()> {
    memory.iter().try_for_each(|of| {
        write!(out, "  memory of {}: peak {}", of.device, bytes(of.peak_bytes))?;
        match of.before_bytes {
            Some(before) => write!(out, " ({} allocated before the recording)", bytes(before))?,
            None => write!(out, ", excluding memory allocated before the recording")?,
        }
        if let Some(reserved) = of.reserved_bytes {
            write!(out, ", {} reserved", bytes(reserved))?;
        }
        let allocations = counted(of.allocations, "allocation");
        writeln!(out, "; {allocations}, {} in all", bytes(of.allocated_bytes))
    })
}

/// Writes an op such as `62.912 of 68.689 ms above the roofline  12 x aten::_softmax [[8, 12, 3137,
/// 3137], …]  0.66 TB/s, …`.
fn furthest_op(op: &FurthestOp, out: &mut dyn Write) -> io::Result<()> {
    let time = op.time_us / 1e3;
    match op.savable_us {
        Some(saved) => {
            write!(out, "  {:>10.3} of {time:>10.3} ms above the roofline", saved / 1e3)?
        }
        None => write!(out, "  {time:>10.3} ms")?,
    }
    let shapes: String = op.input_shape.chars().take(60).collect();
    let cut = if shapes.len() < op.input_shape.len() { "…" } else { "" };
    write!(out, "  {} x {} {}{cut}", op.count, one_line(&op.op), one_line(&shapes))?;
    let rates = [(op.tflops_per_s.filter(|&rate| rate > 0.0), "TFLOP/s"), (op.tb_per_s, "TB/s")];
    for (rate, unit) in rates {
        match rate {
            // Small rates, such as those of a CPU, are printed with the prefix G instead of T.
            Some(rate) if rate < 0.01 => {
                write!(out, "  {:.3} {}", 1e3 * rate, unit.replace('T', "G"))?
            }
            Some(rate) => write!(out, "  {rate:.3} {unit}")?,
            None => {}
        }
    }
    match (op.bound, op.roofline_pct) {
        (Some(bound), Some(pct)) => {
            write!(out, "  {bound} bound, {pct:.1}% of the roofline")?;
        }
        (Some(_), None) => write!(
            out,
            "  above the peak: the data was cached, or the model overestimates the work"
        )?,
        (None, _) => {}
    }
    writeln!(out)
}

/// Writes the second half of the line that describes a trace, which contains data from the events.
fn write_line(info: &TraceInfo, out: &mut dyn Write) -> io::Result<()> {
    write!(out, " · {} · {}", info.platform.vendor.label(), counted(info.events, "event"))?;
    write!(out, ", {} on GPU", info.gpu_events)?;
    write!(out, " · {:.3} ms busy of {:.3} ms", info.gpu_busy_us / 1e3, info.span_us / 1e3)?;
    if let Some(captured) = &info.captured {
        let placed = captured.placed + captured.named;
        write!(
            out,
            " · {placed} of {} replayed kernels attributed to captured calls",
            captured.kernels
        )?;
    }
    if let Some(share) = info.launched_share.filter(|&share| share < 1.0) {
        write!(out, " · {:.1}% of GPU time was launched within the trace", 100.0 * share)?;
    }
    if let Some(without) = info.overhead.as_ref().filter(|overhead| overhead.is_large(info)) {
        let without = without.span_without_profiler_us / 1e3;
        write!(out, " · without the profiler: about {without:.3} ms")?;
    }
    for (count, noun) in [(info.steps, "step"), (info.batches, "batch")] {
        if count > 0 {
            write!(out, " · {}", counted(count, noun))?;
        }
    }
    if let Some(model) = info.model.as_ref().map(model_words).filter(|words| !words.is_empty()) {
        write!(out, " · {}", one_line(&model))?;
    }
    for names in [info.phases.clone(), present(&info.contents)] {
        if !names.is_empty() {
            write!(out, " · {}", one_line(&names.join(" ")))?;
        }
    }
    writeln!(out)
}

/// Writes the header fields of a trace, one per line.
pub(super) fn write_head_fields(head: &HeadInfo, out: &mut dyn Write) -> io::Result<()> {
    for (at, info) in head.devices.iter().enumerate() {
        field(out, if at == 0 { "devices" } else { "" }, &device(info))?;
    }
    let recorder = if head.recorder == "Kineto" { "" } else { head.recorder };
    optional_field(out, "recorded with", recorder)?;
    let versions: Vec<String> = head.versions.iter().map(|(key, v)| format!("{key} {v}")).collect();
    optional_field(out, "versions", &versions.join(", "))?;
    optional_field(out, "rank", &rank(head).unwrap_or_default())?;
    optional_field(out, "options", &head.options.join(", "))
}

/// Writes the fields computed from a trace's events, one per line.
pub(super) fn write_fields(info: &TraceInfo, out: &mut dyn Write) -> io::Result<()> {
    let size = info.file_bytes.map_or_else(String::new, |bytes| format!("{}, ", megabytes(bytes)));
    field(out, "size", &format!("{size}unpacked {}", megabytes(info.unpacked_bytes)))?;
    let evidence = info.platform.evidence.join(", ");
    field(out, "platform", &format!("{} ({evidence})", info.platform.vendor.label()))?;
    field(out, "events", &format!("{}: {}", info.events, counts(&info.categories)))?;
    optional_field(out, "ignored", &counts(&info.left_out))?;
    let gpu = format!(
        "{}, {:.3} µs, {:.3} µs busy",
        counted(info.gpu_events, "event"),
        info.gpu_time_us,
        info.gpu_busy_us
    );
    field(out, "GPU", &gpu)?;
    if let Some(share) = info.launched_share {
        field(
            out,
            "launches",
            &format!("{:.1}% of the GPU time was launched within the trace", 100.0 * share),
        )?;
    }
    if let Some(captured) = &info.captured {
        let mut text = format!(
            "{} of {} launches have a capture, {} of {} kernels are below their ops",
            captured.fitting, captured.launches, captured.placed, captured.kernels
        );
        if captured.named > 0 {
            text +=
                &format!(", {} are below the program region named in the kernel", captured.named);
        }
        field(out, "graphs", &text)?;
    }
    field(out, "span", &format!("{:.3} µs", info.span_us))?;
    if let Some(overhead) = &info.overhead {
        field(out, "overhead", &overhead_words(overhead))?;
    }
    field(out, "steps", &format!("{}, batches {}", info.steps, info.batches))?;
    optional_field(out, "phases", &info.phases.join(", "))?;
    if let Some(model) = &info.model {
        write_model(model, out)?;
    }
    field(out, "contains", &present(&info.contents).join(", "))?;
    field(out, "lacks", &absent(&info.contents).join(", "))?;
    for note in &info.notes {
        let hint = if note.hint.is_empty() { "" } else { ": " };
        field(out, note.code, &format!("{}{hint}{}", note.message, note.hint))?;
    }
    Ok(())
}

/// The recorded overhead, such as `profiler 6.000 ms, without the profiler: about 94.000 ms (1 Buffer
/// Flush 6.000 ms; also without a profiler: 8 Lazy Function Loading 24.000 ms)`.
fn overhead_words(overhead: &OverheadInfo) -> String {
    let kinds = |of_profiler: bool| {
        let own = overhead.kinds.iter().filter(move |kind| kind.is_of_profiler == of_profiler);
        own.map(|kind| format!("{} {} {:.3} ms", kind.count, kind.name, kind.time_us / 1e3))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut parts = vec![kinds(true)];
    let others = kinds(false);
    if !others.is_empty() {
        parts.push(format!("also without a profiler: {others}"));
    }
    parts.retain(|part| !part.is_empty());
    format!(
        "profiler {:.3} ms, without the profiler: about {:.3} ms ({})",
        overhead.profiler_us / 1e3,
        overhead.span_without_profiler_us / 1e3,
        parts.join("; ")
    )
}

/// A description of the model, such as `BertModel, encoder transformer, vLLM`; `?` marks weak evidence.
fn model_words(model: &Model) -> String {
    let thin = |is_thin: bool| if is_thin { "?" } else { "" };
    let architecture = model.architecture.as_ref();
    let engine = model.engine.as_ref();
    let words = [
        model.root.clone(),
        architecture.map(|found| format!("{}{}", found.what.label(), thin(found.is_thin))),
        engine.map(|found| format!("{}{}", found.what, thin(found.is_thin))),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Writes the kind of model that ran and the evidence for it.
fn write_model(model: &Model, out: &mut dyn Write) -> io::Result<()> {
    optional_field(out, "model", model.root.as_deref().unwrap_or_default())?;
    match &model.architecture {
        Some(found) => field(
            out,
            "network",
            &with_evidence(found.what.label(), &found.evidence, found.is_thin),
        )?,
        None => field(out, "network", "unknown: no module, op or kernel identifies it")?,
    }
    if let Some(found) = &model.engine {
        field(out, "engine", &with_evidence(&found.what, &found.evidence, found.is_thin))?;
    }
    optional_field(out, "layers", &model.layers.join(", "))?;
    let sizes = [
        ("heads", model.heads),
        ("head size", model.head_size),
        ("hidden size", model.hidden_size),
    ];
    let sizes = sizes.iter().filter_map(|(name, size)| Some(format!("{name} {}", (*size)?)));
    optional_field(out, "sizes", &sizes.collect::<Vec<_>>().join(", "))?;
    optional_field(out, "types", &model.types.join(", "))
}

fn with_evidence(what: &str, evidence: &[String], is_thin: bool) -> String {
    let little = if is_thin { ", weak evidence" } else { "" };
    format!("{what} ({}{little})", evidence.join(", "))
}

fn field(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {name:<10} {}", one_line(value))
}

fn optional_field(out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    if value.is_empty() { Ok(()) } else { field(out, name, value) }
}

/// A description of a device, such as `8 x NVIDIA H100 (9.0, 79.2 GiB, 132 SMs, warp 32)`.
fn device(info: &DeviceInfo) -> String {
    let name = if info.name.is_empty() { "unnamed device" } else { &info.name };
    let details: Vec<String> = [
        info.capability.clone(),
        info.memory_gib.map(|gib| format!("{gib:.1} GiB")),
        info.multiprocessors.map(|count| format!("{count} SMs")),
        info.warp_size.map(|size| format!("warp {size}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if details.is_empty() {
        format!("{} x {name}", info.count)
    } else {
        format!("{} x {name} ({})", info.count, details.join(", "))
    }
}

fn rank(head: &HeadInfo) -> Option<String> {
    let of = head.world_size.map_or_else(String::new, |size| format!(" of {size}"));
    let rank = head.rank?;
    match head.backend.as_str() {
        "" => Some(format!("rank {rank}{of}")),
        backend => Some(format!("rank {rank}{of} over {backend}")),
    }
}

fn counts(list: &[CategoryCount]) -> String {
    let texts: Vec<String> =
        list.iter().map(|kind| format!("{} {}", kind.count, kind.category)).collect();
    texts.join(", ")
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}

fn present(contents: &Contents) -> Vec<&'static str> {
    named(contents).into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
}

fn absent(contents: &Contents) -> Vec<&'static str> {
    named(contents).into_iter().filter(|(has, _)| !*has).map(|(_, name)| name).collect()
}

fn named(contents: &Contents) -> [(bool, &'static str); 5] {
    [
        (contents.shapes, "shapes"),
        (contents.stacks, "stacks"),
        (contents.modules, "modules"),
        (contents.graphs, "graphs"),
        (contents.annotations, "annotations"),
    ]
}

#[cfg(test)]
mod tests {
    use super::wrapped;
    use tracetree::report::Width;

    #[test]
    fn details_wrap_on_a_screen_and_not_in_a_pipe() {
        let line = format!("  options    {}", "with_stack ".repeat(30));
        let of = |width: Width| {
            let mut out = Vec::new();
            wrapped(|text| writeln!(text, "{line}"), width, &mut out).expect("memory");
            String::from_utf8(out).expect("UTF-8")
        };
        for columns in [60, 80, 100, 200] {
            let text = of(Width::Screen(columns));
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
            assert_eq!(text.matches("with_stack").count(), 30);
        }
        assert_eq!(of(Width::Pipe(60)).lines().count(), 1);
    }
}
