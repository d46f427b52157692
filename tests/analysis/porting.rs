//! Checks the comparison of two platforms: exact sums, a recount from the raw traces, both directions, settings that
//! stay changes, and known times injected into a real trace.

use crate::support::compared::{analyse_texts, compare_files};
use crate::support::enter_root;
use crate::support::files::unpacked;
use crate::support::traces::platform_pair;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::ChangeKind;
use tracetree::analysis::porting::{Explained, Porting, PortingRow};
use tracetree::report::Narrative;
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

const BUNDLED: [(&str, &str); 3] = [
    ("examples/traces/resnet.rocm.json.gz", "examples/traces/resnet.cuda.json.gz"),
    (
        "examples/traces/h100/resnet_eager.pt.trace.json.gz",
        "examples/traces/h200/resnet_eager.pt.trace.json.gz",
    ),
    (
        "examples/traces/h100/tfm_flash.pt.trace.json.gz",
        "examples/traces/h200/tfm_flash.pt.trace.json.gz",
    ),
];

fn paths((one, two): (&str, &str)) -> PerSide<PathBuf> {
    PerSide::new(PathBuf::from(one), PathBuf::from(two))
}

/// All pairs of two platforms, in both directions.
fn pairs() -> Vec<PerSide<PathBuf>> {
    let mut pairs: Vec<PerSide<PathBuf>> = BUNDLED.into_iter().map(paths).collect();
    for model in ["vit", "bert", "timesformer"] {
        pairs.extend(platform_pair(model));
    }
    let swapped: Vec<_> = pairs.iter().map(|pair| pair.clone().swap()).collect();
    pairs.into_iter().chain(swapped).collect()
}

fn adds_up(porting: &Porting, about: &str) {
    let sums = porting.sums();
    let parts = [sums.hardware, sums.software, sums.short, sums.not_modelled, sums.changed];
    assert_eq!(parts.into_iter().sum::<Nanos>(), sums.difference, "{about}");
    for row in &porting.rows {
        if row.explained == Explained::Modelled {
            assert_eq!(row.hardware + row.software, row.difference, "{about}: {}", row.name);
        } else {
            assert_eq!((row.hardware, row.software), Default::default(), "{about}: {}", row.name);
        }
    }
    let classes = porting.classes();
    let of_classes: Nanos = classes.iter().map(|(_, sums)| sums.difference).sum();
    assert_eq!(of_classes, sums.difference, "{about}");
}

/// The GPU time of a trace's steps, recounted from the file. Work of the compared steps is launched inside a range
/// `ProfilerStep#…`.
fn recount(path: &Path) -> (f64, BTreeMap<String, f64>) {
    enter_root();
    let text = unpacked(path).expect("a readable trace");
    let trace: Value = serde_json::from_slice(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let launches: BTreeMap<i64, &Value> = events
        .iter()
        .filter(|event| ["cuda_runtime", "cuda_driver"].contains(&text(event, "cat").as_str()))
        .filter_map(|event| Some((event["args"]["correlation"].as_i64()?, event)))
        .collect();
    let spans = |is: &dyn Fn(&Value) -> bool| {
        let spans = events.iter().filter(|event| event["ph"] == "X" && is(event));
        let span = |event: &Value| {
            (
                event["tid"].clone(),
                number(&event["ts"]),
                number(&event["ts"]) + number(&event["dur"]),
            )
        };
        spans.map(|event| (event.clone(), span(event))).collect::<Vec<_>>()
    };
    let steps = spans(&|event| {
        text(event, "cat") == "user_annotation" && text(event, "name").starts_with("ProfilerStep#")
    });
    let ops = spans(&|event| {
        text(event, "cat") == "cpu_op"
            && ["aten::bmm", "aten::convolution"].contains(&text(event, "name").as_str())
    });
    let (mut all, mut of_ops) = (0.0, BTreeMap::new());
    for event in events {
        if !["kernel", "gpu_memcpy", "gpu_memset"].contains(&text(event, "cat").as_str()) {
            continue;
        }
        let launch = event["args"]["correlation"].as_i64().and_then(|id| launches.get(&id));
        let Some(launch) = launch else { continue };
        let at = number(&launch["ts"]);
        let contains = |(tid, start, end): &(Value, f64, f64)| {
            *tid == launch["tid"] && (*start..=*end).contains(&at)
        };
        if !steps.is_empty()
            && !steps.iter().any(|(_, (_, start, end))| (*start..=*end).contains(&at))
        {
            continue;
        }
        all += number(&event["dur"]);
        if let Some((op, _)) = ops.iter().find(|(_, span)| contains(span)) {
            let key = format!("{} {}", text(op, "name"), op["args"]["Input Dims"]);
            *of_ops.entry(key).or_insert(0.0) += number(&event["dur"]);
        }
    }
    (all, of_ops)
}

#[test]
fn the_parts_add_up_to_the_difference_in_gpu_time() {
    for pair in pairs() {
        let about = format!("{} → {}", pair.baseline.display(), pair.candidate.display());
        let recounted = pair.as_ref().map(|path| recount(path));
        compare_files(pair.clone(), |analysis| {
            let porting = analysis.porting();
            adds_up(porting, &about);
            assert!(porting.rows.iter().any(|row| row.rho.is_some()), "{about}");
            for side in Side::BOTH {
                let (all, of_ops) = &recounted[side];
                let near = |measured: f64, counted: f64| {
                    (measured - counted).abs() < 0.01 + 1e-6 * counted
                };
                let time = porting.time[side].as_micros();
                assert!(near(time, *all), "{about}: {time} µs, recounted {all} µs");
                for (key, &counted) in of_ops {
                    let is_key = |row: &&PortingRow| {
                        let compact = row.dims[side].replace(' ', "");
                        *key == format!("{} {compact}", row.name)
                    };
                    let rows = porting.rows.iter().filter(is_key);
                    let time: f64 = rows.map(|row| row.time[side].as_micros()).sum();
                    assert!(near(time, counted), "{about}: {key}: {time}, recounted {counted}");
                }
            }
        });
    }
}

#[test]
fn the_largest_software_part_is_found_in_both_directions() {
    let largest = |pair: PerSide<PathBuf>| {
        compare_files(pair, |analysis| {
            let rows = &analysis.porting().rows;
            (rows[0].name.clone(), rows[0].module.clone(), rows[0].software)
        })
    };
    for pair in pairs().into_iter().filter(|pair| pair.baseline.to_string_lossy().contains("mi300"))
    {
        let (there, back) = (largest(pair.clone()), largest(pair.swap()));
        assert_eq!((&there.0, &there.1), (&back.0, &back.1));
        assert!((there.2.0 > 0) != (back.2.0 > 0), "{there:?} {back:?}");
    }
}

#[test]
fn an_op_has_the_same_class_of_work_in_both_directions() {
    let classes = |pair: PerSide<PathBuf>| {
        compare_files(pair, |analysis| {
            let rows = analysis.porting().rows.iter();
            let described = rows.map(|row| {
                let mut names: Vec<&str> = row.name.split(" | ").collect();
                names.sort_unstable();
                format!("{} {} {}", names.join(" | "), row.module, row.class)
            });
            let mut classes: Vec<String> = described.collect();
            classes.sort();
            classes
        })
    };
    for pair in pairs() {
        let there = classes(pair.clone());
        assert!(
            !there.iter().any(|row| row.starts_with("aten::addmm") && !row.ends_with("linear"))
        );
        assert_eq!(there, classes(pair.swap()));
    }
}

#[test]
fn without_shapes_the_remedy_is_named() {
    let text = |file: &str, with_shapes: bool| {
        let text = unpacked(Path::new(file)).expect("a readable trace");
        let mut trace: Value = serde_json::from_slice(&text).expect("JSON");
        for event in trace["traceEvents"].as_array_mut().expect("events") {
            if let Some(args) = event["args"].as_object_mut().filter(|_| !with_shapes) {
                args.remove("Input Dims");
            }
        }
        trace.to_string()
    };
    enter_root();
    let (one, two) = BUNDLED[0];
    let split = |with_shapes: PerSide<bool>| {
        let texts = PerSide::new(text(one, with_shapes.baseline), text(two, with_shapes.candidate));
        let analysis = analyse_texts(PerSide::new(one, two), &texts).expect("two traces");
        Narrative::of(&analysis).port.expect("two platforms").split
    };
    let remedy = "record shapes to split it (record_shapes=True)";
    assert!(!split(PerSide::new(true, true)).contains(remedy));
    assert!(split(PerSide::new(false, true)).ends_with(remedy));
    assert!(split(PerSide::new(true, false)).ends_with(remedy));
}

#[test]
fn a_device_without_known_peaks_is_named() {
    enter_root();
    let (one, two) = BUNDLED[0];
    let text = |file: &str| {
        let text = unpacked(Path::new(file)).expect("a readable trace");
        String::from_utf8(text).expect("UTF-8")
    };
    for device in ["MI300X", "MI999Y"] {
        let texts = PerSide::new(text(one).replace("MI300X", device), text(two));
        let analysis = analyse_texts(PerSide::new(one, two), &texts).expect("two traces");
        let split = Narrative::of(&analysis).port.expect("two platforms").split;
        let is_named = split.ends_with("; the peaks of MI999Y are unknown (--peaks FILE)");
        assert_eq!(is_named, device == "MI999Y", "{split}");
    }
}

#[test]
fn a_comparison_with_itself_has_no_differences() {
    for (path, _) in BUNDLED {
        compare_files(PerSide::new(path, path), |analysis| {
            let porting = analysis.porting();
            assert_eq!(porting.differs, None);
            assert!(porting.rows.iter().all(|row| row.difference == Nanos::ZERO));
            assert!(porting.rows.iter().all(|row| row.software == Nanos::ZERO));
        });
    }
}

#[test]
fn a_setting_stays_a_change_although_the_devices_differ() {
    let pair = PerSide::new(
        "examples/traces/h100/resnet_tf32_off.pt.trace.json.gz",
        "examples/traces/h200/resnet_eager.pt.trace.json.gz",
    );
    compare_files(pair, |analysis| {
        let changes = analysis.changes().list();
        let tf32 = changes.iter().find(|change| change.sentence.contains("TF32"));
        let tf32 = tf32.expect("the change of the math mode");
        assert_eq!(tf32.kind, ChangeKind::MathMode, "{}", tf32.sentence);
        let convolutions =
            || analysis.porting().rows.iter().filter(|row| row.class == "convolution");
        assert!(convolutions().any(|row| row.explained == Explained::Changed));
        assert!(convolutions().all(|row| row.explained != Explained::Modelled), "swallowed");
    });
}

#[test]
fn the_choice_of_kernels_belongs_to_the_platform() {
    compare_files(paths(BUNDLED[0]), |analysis| {
        let kinds: Vec<ChangeKind> =
            analysis.changes().list().iter().map(|change| change.kind).collect();
        assert!(!kinds.contains(&ChangeKind::KernelSelection), "{kinds:?}");
        let rows = &analysis.porting().rows;
        let convolution = rows.iter().find(|row| row.name == "aten::convolution");
        let convolution = convolution.expect("one row for all convolutions with these shapes");
        let libraries = convolution.kernels.as_ref().map(|kernels| kernels.libraries.as_str());
        assert!(libraries.baseline.contains("MIOpen"), "{libraries:?}");
        assert!(libraries.candidate.contains("cuDNN"), "{libraries:?}");
    });
}

/// The text of a trace whose kernels below the given op take `factor` times as long and have longer names.
fn slower(path: &Path, (op, prefix): (&str, &str), factor: i64) -> (String, f64) {
    enter_root();
    let text = unpacked(path).expect("a readable trace");
    let mut trace: Value = serde_json::from_slice(&text).expect("JSON");
    let events = trace["traceEvents"].as_array_mut().expect("events");
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let spans: Vec<(Value, f64, f64)> = events
        .iter()
        .filter(|event| event["cat"] == "cpu_op" && event["name"] == op)
        .map(|event| {
            (
                event["tid"].clone(),
                number(&event["ts"]),
                number(&event["ts"]) + number(&event["dur"]),
            )
        })
        .collect();
    let launched: Vec<i64> = events
        .iter()
        .filter(|event| event["cat"] == "cuda_runtime")
        .filter(|event| {
            let at = number(&event["ts"]);
            spans
                .iter()
                .any(|(tid, start, end)| *tid == event["tid"] && (*start..=*end).contains(&at))
        })
        .filter_map(|event| event["args"]["correlation"].as_i64())
        .collect();
    let mut added = 0.0;
    for event in events.iter_mut().filter(|event| event["cat"] == "kernel") {
        let id = event["args"]["correlation"].as_i64();
        if id.is_some_and(|id| launched.contains(&id)) {
            let before = number(&event["dur"]);
            let dur = before * factor as f64;
            added += dur - before;
            event["dur"] = serde_json::json!(dur);
            let name = format!("{prefix}{}", event["name"].as_str().expect("a name"));
            event["name"] = name.into();
        }
    }
    (trace.to_string(), added)
}

#[test]
fn an_op_that_gets_slower_on_one_device_is_a_software_part() {
    enter_root();
    let (one, two) = BUNDLED[2];
    let of = |analysis: &Analysis, op: &str| -> f64 {
        let rows = analysis.porting().rows.iter().filter(|row| row.name == op);
        rows.map(|row| row.software.as_micros()).sum()
    };
    let baseline = String::from_utf8(unpacked(Path::new(one)).expect("a trace")).expect("text");
    let op = "aten::scaled_dot_product_attention";
    let software = [1, 3].map(|factor| {
        let (candidate, added) = slower(Path::new(two), (op, ""), factor);
        let texts = PerSide::new(baseline.clone(), candidate);
        let analysis = analyse_texts(PerSide::new("h100", "h200"), &texts).expect("a comparison");
        adds_up(analysis.porting(), op);
        (of(&analysis, op), added / analysis.porting().steps.candidate as f64)
    });
    let [(before, _), (after, added)] = software;
    assert!(added > 100.0, "{added}");
    // Inside the range of the hardware, nothing counts as software, so less than the whole time may be added.
    assert!(after > 0.7 * added && after - before <= 1.05 * added, "{before} + {added} → {after}");
}

#[test]
fn other_kernels_of_other_versions_are_named_on_one_device() {
    enter_root();
    let path = Path::new("examples/traces/h100/resnet_eager.pt.trace.json.gz");
    let old = String::from_utf8(unpacked(path).expect("a trace")).expect("text");
    let port = |prefix: &str, version: i64, is_turned: bool| {
        let (text, _) = slower(path, ("aten::cudnn_convolution", prefix), 2);
        let mut new: Value = serde_json::from_str(&text).expect("JSON");
        new["cuda_runtime_version"] = version.into();
        let mut texts = PerSide::new(old.clone(), new.to_string());
        if is_turned {
            texts = texts.swap();
        }
        let analysis = analyse_texts(PerSide::new("one", "two"), &texts).expect("a comparison");
        Narrative::of(&analysis).port
    };
    for (is_turned, slower_side) in [(false, Side::Candidate), (true, Side::Baseline)] {
        let port = port("v2_", 12_080, is_turned).expect("other versions and other kernels");
        assert!(port.split.starts_with("Other versions run other kernels for"), "{}", port.split);
        let items = &port.slower_on[slower_side];
        assert!(items[0].sentence.starts_with("convolution"), "{items:?}");
        assert!(port.slower_on[slower_side.other()].is_empty(), "{port:?}");
        assert!(!items[0].sentence.contains("hardware"), "{items:?}");
    }
    assert_eq!(port("", 12_080, false), None, "the kernels are the same");
    assert_eq!(port("v2_", 13_000, false), None, "the versions are the same");
}
