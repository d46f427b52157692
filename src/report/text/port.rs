//! Describes the comparison of two platforms: what the hardware explains, what is slower than that, and where to look.

use crate::analysis::Analysis;
use crate::analysis::efficiency::DevicePeaks;
use crate::analysis::kernel_facts::Role;
use crate::analysis::porting::{Differs, Explained, Porting, PortingRow, PortingSums};
use crate::analysis::wall::{IdleKind, idle_owner_name};
use crate::escape::one_line;
use crate::order::Order as _;
use crate::program::{Measure, counted};
use crate::report::text::figures::{both, shorten};
use crate::side::{PerSide, Side};
use crate::signed::{rounds_to_zero, signed};
use crate::trace::Nanos;
use crate::tree::ModuleName;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// If the name of a side is longer, the columns are titled `baseline` and `candidate`.
const TITLE: usize = 12;
/// Maximum length of the library in a row of classes, which is a kernel name if the library is unknown.
const LIBRARY: usize = 40;
/// Above this share of idle time on both sides, the host limits the step.
const IDLE: f64 = 0.5;
/// Below this share on both sides, the GPU does.
const BUSY: f64 = 0.2;
/// An owner of idle time is named if it has this share of the step on a side.
const OWNER: f64 = 0.18;
/// Maximum number of classes and of items in each list.
const CLASSES: usize = 5;
const ITEMS: usize = 4;
/// A class is listed if it has this share of the GPU time of a side.
const LISTED: f64 = 0.002;

/// The comparison of two platforms in words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct Port {
    /// What limits the step: the host, the GPU, or neither alone.
    pub limit: String,
    /// The difference in GPU time, and the parts that explain it.
    pub split: String,
    /// The ratios of the devices' peaks; empty if the devices are the same or a device is unknown.
    pub peaks: String,
    /// The unit of the times in `classes` and in the lists, such as `ms`.
    pub unit: &'static str,
    /// A row for each large class of work, with the columns of [`Port::titles`]: the class, the time per step on each
    /// side, the ratio of the times, the ratio that the hardware explains (`neither` if no side comes near its peaks), the
    /// part of the difference that the hardware does not explain, the minimum time as a percentage of the time, and the
    /// libraries on both sides. Unknown figures are empty.
    pub classes: Vec<[String; 8]>,
    /// On each side, the ops that are slower there than the hardware explains, the largest part first.
    pub slower_on: PerSide<Vec<PortItem>>,
    /// What concerns both sides.
    pub both: Vec<String>,
    /// The kernels of a convolution on each side; empty if there are none or if they are the same.
    pub lowering: Vec<String>,
}

/// An op that is slower on one side than the hardware explains.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct PortItem {
    /// The software part of the difference per step, with its sign and unit.
    pub cost: String,
    /// The op, its shape, its times and how near it comes to the peaks.
    pub sentence: String,
    /// What runs it on each side, and what to try.
    pub why: String,
    /// The absolute value of the cost.
    pub size: Nanos,
}

impl Port {
    /// The description; `None` unless both sides have GPU events, and either the devices differ or other versions run
    /// other kernels.
    pub(super) fn of(analysis: &Analysis) -> Option<Port> {
        // The comparison is not computed if devices and versions are the same.
        let differs = Differs::of(analysis.comparability())?;
        let porting = analysis.porting();
        let has_both = porting.time.baseline > Nanos::ZERO && porting.time.candidate > Nanos::ZERO;
        if analysis.ledger().measure() != Measure::GpuTime || !has_both {
            return None;
        }
        let writer = Writer::new(analysis, porting);
        match differs {
            Differs::Devices => Some(writer.port()),
            Differs::Versions => writer.upgrade(),
        }
    }
}

impl Port {
    /// The most important statements, at most five: how the difference splits, what limits the step, where to look.
    pub fn sentences(&self) -> Vec<String> {
        let items = self.slower_on.baseline.iter().chain(&self.slower_on.candidate);
        let mut items: Vec<&PortItem> = items.collect();
        items.sort_by_key(|item| Reverse(item.size));
        let items = items.into_iter().map(|item| format!("{} {}", item.cost, item.sentence));
        let said = [&self.split, &self.limit].into_iter().filter(|text| !text.is_empty()).cloned();
        said.chain(items.take(3)).collect()
    }

    /// The titles of the columns of `classes`.
    pub fn titles(&self, names: &PerSide<String>) -> [String; 8] {
        let time = format!("per step, {}", self.unit);
        let of = |text: &str| text.to_owned();
        let is_short = Side::BOTH.iter().all(|&side| names[side].chars().count() <= TITLE);
        let [a, b] = Side::BOTH.map(|side| match is_short {
            true => names[side].clone(),
            false => side.word().to_owned(),
        });
        [time, a, b, of("ratio"), of("hardware"), of("software"), of("% of peak"), of("library")]
    }
}

struct Writer<'a> {
    analysis: &'a Analysis,
    porting: &'a Porting,
    names: PerSide<String>,
    devices: PerSide<Option<(i64, i64)>>,
    unit: &'static str,
    scale: f64,
    decimals: usize,
}

impl<'a> Writer<'a> {
    fn new(analysis: &'a Analysis, porting: &'a Porting) -> Writer<'a> {
        let per_step = |side: Side| porting.time[side].0 as f64 / porting.steps[side].max(1) as f64;
        let (unit, scale, decimals) = match per_step(Side::Baseline).max(per_step(Side::Candidate))
        {
            30e6.. => ("ms", 1e6, 1),
            3e6.. => ("ms", 1e6, 2),
            _ => ("µs", 1e3, 1),
        };
        let devices = PerSide::from_fn(|side| {
            let devices = &analysis.tree(side).trace().header().devices;
            devices.first().and_then(|device| device.capability)
        });
        let names = PerSide::from_fn(|side| one_line(&analysis.names()[side]).into_owned());
        Writer { analysis, porting, names, devices, unit, scale, decimals }
    }

    fn port(&self) -> Port {
        let items = |side: Side| {
            self.porting.slower_on(side).take(ITEMS).map(|row| self.item(row)).collect()
        };
        Port {
            limit: self.limit(),
            split: self.split(),
            peaks: self.peaks(),
            unit: self.unit,
            classes: self.classes(),
            slower_on: PerSide::from_fn(items),
            both: self.both(),
            lowering: self.lowering(),
        }
    }

    /// The ops for which other versions on one device run other kernels; `None` if none of them matters. The hardware is
    /// the same, so it explains nothing.
    fn upgrade(&self) -> Option<Port> {
        let rows = PerSide::from_fn(|side| -> Vec<&PortingRow> {
            let rows = self.porting.slower_on(side);
            rows.filter(|row| row.kernels.baseline.main != row.kernels.candidate.main).collect()
        });
        let all = || rows.baseline.iter().chain(&rows.candidate);
        let difference: Nanos = all().map(|row| row.difference).sum();
        let ops = counted(all().count() as u64, "op");
        let items = |rows: &Vec<&PortingRow>| {
            rows.iter().take(ITEMS).map(|row| self.item(row)).collect::<Vec<PortItem>>()
        };
        all().next().is_some().then(|| Port {
            limit: String::new(),
            split: format!(
                "Other versions run other kernels for {ops}: GPU time {} {}",
                self.signed(difference),
                self.unit
            ),
            peaks: String::new(),
            unit: self.unit,
            classes: Vec::new(),
            slower_on: rows.as_ref().map(items),
            both: Vec::new(),
            lowering: Vec::new(),
        })
    }

    fn per_step(&self, side: Side, time: Nanos) -> f64 {
        time.0 as f64 / self.porting.steps[side].max(1) as f64
    }

    fn show(&self, side: Side, time: Nanos) -> String {
        format!("{:.*}", self.decimals, self.per_step(side, time) / self.scale)
    }

    fn signed(&self, difference: Nanos) -> String {
        signed(difference.0 as f64 / self.scale, self.decimals)
    }

    fn limit(&self) -> String {
        let totals = PerSide::from_fn(|side| self.analysis.wall().totals(side));
        let idle = totals.map(|of| of.idle_share().unwrap_or_default());
        let percent = idle.map(|share| format!("{:.0}", 100.0 * share));
        let shares = format!("{} → {}% idle", percent.baseline, percent.candidate);
        if idle.baseline.min(idle.candidate) > IDLE {
            return format!("The host limits both ({shares}): {}", self.host());
        }
        if idle.baseline.max(idle.candidate) < BUSY {
            return format!("The GPU limits both, so kernels decide: {shares}");
        }
        format!("GPU and host both matter: {shares}")
    }

    /// The call for which the GPU waits longest, or how short the kernels are.
    fn host(&self) -> String {
        let wall = self.analysis.wall();
        let of_host = |kind: IdleKind| matches!(kind, IdleKind::Host | IdleKind::Tail);
        // A trace has many calls but few names.
        let mut numbers: FxHashMap<Cow<'_, str>, usize> = FxHashMap::default();
        let mut times: Vec<(Cow<'_, str>, PerSide<Nanos>)> = Vec::new();
        for row in wall.idle().iter().filter(|row| of_host(row.kind)) {
            let name = idle_owner_name(self.analysis.diff(), row);
            let at = *numbers.entry(name).or_insert_with_key(|name| {
                times.push((name.clone(), PerSide::default()));
                times.len() - 1
            });
            for side in Side::BOTH {
                times[at].1[side] += row.time[side];
            }
        }
        let mut owners: BTreeMap<String, PerSide<Nanos>> = BTreeMap::new();
        for (name, time) in times {
            let sum = owners.entry(plain_function(&name)).or_default();
            for side in Side::BOTH {
                sum[side] += time[side];
            }
        }
        let largest = |time: &PerSide<Nanos>| time.baseline.max(time.candidate);
        let owner = owners.iter().max_by_key(|(_, time)| largest(time));
        let share =
            |side: Side, time: Nanos| time.0 as f64 / wall.totals(side).own().0.max(1) as f64;
        if let Some((name, time)) = owner
            && Side::BOTH.into_iter().any(|side| share(side, time[side]) > OWNER)
        {
            let [a, b] =
                Side::BOTH.map(|side| format!("{:.1}", self.per_step(side, time[side]) / 1e6));
            return format!("the GPU waits {a} → {b} ms for {name}");
        }
        let events = PerSide::from_fn(|side| {
            let rows = self.porting.rows.iter();
            rows.flat_map(|row| row.kernels[side].roles.values())
                .map(|&(count, _)| count)
                .sum::<u64>()
        });
        let mean = |side: Side, time: Nanos| time.as_micros() / events[side].max(1) as f64;
        let [every_a, every_b] = Side::BOTH.map(|side| mean(side, wall.totals(side).own()));
        let [runs_a, runs_b] = Side::BOTH.map(|side| mean(side, self.porting.time[side]));
        format!(
            "a kernel every {every_a:.0} → {every_b:.0} µs that runs {runs_a:.1} → {runs_b:.1} µs, so no kernel change can \
             help; capture a graph, use torch.compile, or a larger batch"
        )
    }

    fn split(&self) -> String {
        let sums = self.porting.sums();
        let mut parts = vec![
            format!("hardware explains {}", self.signed(sums.hardware)),
            format!("software {}", self.signed(sums.software)),
        ];
        for (what, part) in [
            ("short kernels", sums.short),
            ("work without a model", sums.not_modelled),
            ("changes of the program", sums.changed),
        ] {
            if !rounds_to_zero(part.0 as f64 / self.scale, self.decimals) {
                parts.push(format!("{what} {}", self.signed(part)));
            }
        }
        let difference = self.signed(sums.difference);
        let comparability = self.analysis.comparability();
        let lacks = |side: Side| comparability.sides[side].get("NO_SHAPES").is_some();
        let is_whole = sums.not_modelled == Nanos::ZERO;
        let unknown = Side::BOTH.into_iter().filter(|&side| self.peaks_of(side).is_none());
        let unknown: Vec<&str> = unknown.map(|side| self.names[side].as_str()).collect();
        let remedy = if !unknown.is_empty() {
            format!("; the peaks of {} are unknown (--peaks FILE)", unknown.join(" and "))
        } else if !is_whole && Side::BOTH.into_iter().any(lacks) {
            "; record shapes to split it (record_shapes=True)".to_owned()
        } else {
            String::new()
        };
        format!("GPU time {difference} {}: {}{remedy}", self.unit, parts.join(", "))
    }

    fn peaks_of(&self, side: Side) -> Option<&DevicePeaks> {
        self.analysis.efficiency()[side].peaks()
    }

    fn peaks(&self) -> String {
        let peaks = Side::BOTH.map(|side| self.peaks_of(side));
        let [Some(a), Some(b)] = peaks else { return String::new() };
        let achievable = |of: &DevicePeaks| of.achievable_shares().unwrap_or((1.0, 1.0));
        let has_both = a.achievable_shares().is_some() && b.achievable_shares().is_some();
        let range = |published: f64, achieved: f64| {
            if !has_both || (published - achieved).abs() < 0.005 {
                format!("{published:.2}×")
            } else {
                format!("{:.2}–{:.2}×", published.min(achieved), published.max(achieved))
            }
        };
        let memory = a.memory_tb_per_s / b.memory_tb_per_s;
        let by_memory = memory * achievable(a).0 / achievable(b).0;
        let mut text = format!(
            "Hardware: {} → {} TB/s ({} the time)",
            a.memory_tb_per_s,
            b.memory_tb_per_s,
            range(memory, by_memory)
        );
        let matrix = |of: &DevicePeaks| {
            use crate::analysis::efficiency::{Precision, Unit};
            of.tflops_per_s(Unit::Matrix, Precision::Bf16)
        };
        if let (Some(one), Some(two)) = (matrix(a), matrix(b)) {
            let by_matrix = one / two * achievable(a).1 / achievable(b).1;
            text +=
                &format!(", bf16 {one:.0} → {two:.0} TFLOP/s ({})", range(one / two, by_matrix));
        }
        text
    }

    fn classes(&self) -> Vec<[String; 8]> {
        let all = self.porting.time;
        let share = |sums: &PortingSums| {
            let of = |side: Side| sums.time[side].0 as f64 / all[side].0.max(1) as f64;
            of(Side::Baseline).max(of(Side::Candidate))
        };
        let classes = self.porting.classes();
        let listed = classes.iter().filter(|(_, sums)| share(sums) > LISTED);
        // Convolutions are what people port for, so they are always among the classes.
        let (first, others): (Vec<_>, Vec<_>) =
            listed.partition(|(class, _)| *class == "convolution");
        let rest = others.into_iter().take(CLASSES - first.len());
        let mut shown: Vec<&(&str, PortingSums)> = rest.chain(first).collect();
        let longest = |sums: &PortingSums| sums.time.baseline.max(sums.time.candidate);
        shown.order_by(|a, b| longest(&b.1).cmp(&longest(&a.1)));
        shown.into_iter().map(|(class, sums)| self.class(class, sums)).collect()
    }

    fn class(&self, class: &str, sums: &PortingSums) -> [String; 8] {
        let rows = || self.porting.rows.iter().filter(|row| row.class == class);
        let is_modelled = rows().any(|row| row.rho.is_some());
        let [one, two] = Side::BOTH.map(|side| self.show(side, sums.time[side]));
        let [a, b] = Side::BOTH.map(|side| self.per_step(side, sums.time[side]));
        let library = PerSide::from_fn(|side| {
            let longest = rows().max_by_key(|row| row.time[side]);
            longest.map_or_else(String::new, |row| {
                let implementation = row.library(side, self.devices[side]);
                shorten(&implementation, LIBRARY).into_owned()
            })
        });
        let percent = |pct: Option<f64>| pct.map(|pct| format!("{pct:.0}"));
        let peak = sums.peak_pct.map(percent);
        let ratio = if a > 0.0 && b > 0.0 { format!("{:.2}×", b / a) } else { String::new() };
        let hardware = match sums.rho {
            Some((low, high)) => range(low, high),
            None if is_modelled => "neither".to_owned(),
            None => String::new(),
        };
        let software = if is_modelled { self.signed(sums.software) } else { String::new() };
        let peak = match (peak.baseline, peak.candidate) {
            (Some(a), Some(b)) if is_modelled => format!("{a} → {b}"),
            (_, _) => String::new(),
        };
        [class.to_owned(), one, two, ratio, hardware, software, peak, both(library)]
    }

    fn item(&self, row: &PortingRow) -> PortItem {
        let [a, b] = Side::BOTH.map(|side| self.show(side, row.time[side]));
        let ratio = row.ratio(self.porting.steps);
        let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio:.2}×"));
        let peak = row.peak_pct.map(|pct| pct.map(|pct| format!("{pct:.0}")));
        let peak = match (peak.baseline, peak.candidate) {
            (Some(a), Some(b)) => format!(", {a} → {b}% of peak"),
            (_, _) => String::new(),
        };
        let calls =
            row.calls.baseline.max(row.calls.candidate) / self.porting.steps.baseline.max(1);
        let module = match row.module.as_str() {
            "" => String::new(),
            module => format!(", {module}"),
        };
        let hardware = match row.rho {
            _ if self.porting.differs == Some(Differs::Versions) => String::new(),
            Some((low, high)) if row.is_near_peak => format!(" (hardware {})", range(low, high)),
            _ => " (neither is near its peak)".to_owned(),
        };
        let [one, two] = Side::BOTH.map(|side| row.implementation(side, self.devices[side]));
        // The same library may choose another kernel.
        let [one, two] = if one == two {
            Side::BOTH.map(|side| row.kernels[side].main.clone())
        } else {
            [one, two]
        };
        let hints = row.hints.iter().map(|hint| hint.words(|side| self.names[side].clone()));
        let kernels = if one == two { format!("both {one}") } else { format!("{one} → {two}") };
        let why: Vec<String> = std::iter::once(kernels).chain(hints).collect();
        PortItem {
            cost: format!("{} {}", self.signed(row.software), self.unit),
            sentence: format!(
                "{}{}, {calls}×{module}: {a} → {b} {}{ratio}{hardware}{peak}",
                plain_op(&row.name),
                shape(&row.dims.baseline),
                self.unit,
            ),
            why: why.join("; "),
            size: row.software.abs(),
        }
    }

    fn both(&self) -> Vec<String> {
        let mut both = Vec::new();
        if let Some(unfused) = self.porting.unfused.first() {
            let [a, b] = Side::BOTH.map(|side| self.show(side, unfused.time[side]));
            let share = |side: Side| {
                100.0 * unfused.time[side].0 as f64 / self.porting.time[side].0.max(1) as f64
            };
            both.push(format!(
                "attention is not fused: {a} → {b} {}, {:.0} → {:.0}% of GPU time; use SDPA",
                self.unit,
                share(Side::Baseline),
                share(Side::Candidate)
            ));
        }
        let other: Vec<&PortingRow> = self
            .porting
            .rows
            .iter()
            // If the program was changed, the change states the precisions and the number of ops.
            .filter(|row| row.explained != Explained::Changed)
            .filter(|row| row.hints.iter().any(|hint| hint.side.is_none()))
            .collect();
        if let Some(row) = other.first() {
            let count: u64 = other.iter().map(|row| row.calls.candidate).sum();
            let count = count / self.porting.steps.candidate.max(1);
            let [a, b] = Side::BOTH.map(|side| row.kernels[side].precision.unwrap_or_default());
            both.push(format!(
                "{count} ops multiply in {a} on {} and in {b} on {}: the results differ, too",
                self.names.baseline, self.names.candidate
            ));
        }
        both
    }

    /// The kernels of the longest convolution.
    fn lowering(&self) -> Vec<String> {
        let convolutions = self.porting.rows.iter().filter(|row| row.class == "convolution");
        let longest = convolutions.max_by_key(|row| row.time.baseline.max(row.time.candidate));
        let Some(row) = longest.filter(|row| row.calls.baseline > 0 && row.calls.candidate > 0)
        else {
            return Vec::new();
        };
        let sides = PerSide::from_fn(|side| lane(row, side, self.devices[side]));
        if sides.baseline == sides.candidate {
            return Vec::new();
        }
        let name = format!("{}{}", plain_op(&row.name), shape(&row.dims.baseline));
        Side::BOTH.map(|side| format!("{name} on {}: {}", self.names[side], sides[side])).into()
    }
}

/// The kernels of a call by role, such as `MIOpen + 3 layout + fill (35% is not the work itself)`.
fn lane(row: &PortingRow, side: Side, device: Option<(i64, i64)>) -> String {
    let calls = row.calls[side].max(1);
    let count = |count: u64, what: &str| match count.div_ceil(calls) {
        1 => what.to_owned(),
        count => format!("{count} {what}"),
    };
    let mut parts = Vec::new();
    for (&role, &(number, _)) in &row.kernels[side].roles {
        parts.push(if role == Role::Work {
            count(number, &row.library(side, device))
        } else {
            count(number, role.label())
        });
    }
    let other = row.not_work_pct(side).filter(|pct| *pct >= 5.0);
    let other =
        other.map_or_else(String::new, |pct| format!(" ({pct:.0}% is not the work itself)"));
    format!("{}{other}", parts.join(" + "))
}

fn range(low: f64, high: f64) -> String {
    if high - low < 0.005 { format!("{low:.2}") } else { format!("{low:.2}–{high:.2}") }
}

fn plain_op(name: &str) -> String {
    let parts = name.split(" | ").map(|part| part.strip_prefix("aten::").unwrap_or(part));
    one_line(&parts.collect::<Vec<_>>().join(" | ")).into_owned()
}

/// The shape of the first tensor with more than one dimension: ` 96×3137×64`; empty if there is none.
fn shape(dims: &str) -> String {
    let lists = dims.split('[').filter_map(|part| part.split_once(']')).map(|(list, _)| list);
    let sizes = lists
        .map(|list| list.split(',').map(str::trim).collect::<Vec<_>>())
        .find(|sizes| sizes.len() > 1);
    sizes.map_or_else(String::new, |sizes| format!(" {}", sizes.join("×")))
}

/// The name of a function without its file, line and decoration.
fn plain_function(name: &str) -> String {
    let name = ModuleName::class_or_name(name);
    let name = name.rsplit('/').next().unwrap_or(name);
    let built_in =
        name.strip_prefix("<built-in method ").or(name.strip_prefix("<built-in function "));
    let name = built_in.map_or(name, |rest| rest.split([' ', '>']).next().unwrap_or(rest));
    let mut text = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('(') {
        let Some((inside, behind)) = after.split_once(')') else { break };
        text += before;
        if !inside.bytes().all(|byte| byte.is_ascii_digit()) {
            text += &format!("({inside})");
        }
        rest = behind;
    }
    one_line(&(text + rest)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{plain_function, plain_op, shape};

    #[test]
    fn ops_shapes_and_functions_are_written_shortly() {
        assert_eq!(plain_op("aten::_convolution"), "_convolution");
        assert_eq!(shape("[[4, 3, 224, 224], [768, 3, 16, 16], []]"), " 4×3×224×224");
        assert_eq!(shape("[[768], [788, 3072]]"), " 788×3072");
        assert_eq!(shape(""), "");
        assert_eq!(
            plain_function("a/b/image_transforms.py(345): normalize"),
            "image_transforms.py: normalize"
        );
        assert_eq!(plain_function("<built-in method item of Tensor object at 0x7>"), "item");
        assert_eq!(plain_function("(between calls)"), "(between calls)");
    }
}
