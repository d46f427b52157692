//! Tests for memory snapshots: statistics are compared with values from Python's own unpickler, and hostile or damaged
//! files are read.

use crate::support::files::unpacked;
use crate::support::splitmix::SplitMix;
use crate::support::traces::example;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tracetree::snapshot::{DeviceSnapshot, Moment, Snapshot, SnapshotDiff};
use tracetree::trace::ReadOptions;
use tracetree::{Error, ErrorKind, PerSide, Side};

fn recorded(name: &str) -> PathBuf {
    example(&format!("memory/memory_{name}.pickle.gz"))
}

fn open(name: &str) -> Snapshot {
    Snapshot::open(recorded(name), &ReadOptions::default()).expect("a snapshot")
}

fn diff(baseline: &str, candidate: &str) -> SnapshotDiff {
    SnapshotDiff { sides: PerSide::new(open(baseline), open(candidate)) }
}

/// For each snapshot: the bytes live at the end, the peak of the live bytes, the reserved bytes, and the number of
/// allocations. The values were computed in Python with `pickle.load`, by going backwards from the blocks that are
/// active at the end.
const COUNTED: [(&str, [i64; 4]); 7] = [
    ("base", [280_025_344, 752_195_848, 807_403_520, 426]),
    ("again", [280_025_344, 752_195_848, 807_403_520, 426]),
    ("checkpoint", [281_073_920, 564_205_832, 715_128_832, 504]),
    ("batch", [280_091_136, 1_224_432_136, 1_386_217_472, 454]),
    ("empty_cache", [280_025_344, 752_195_848, 427_819_008, 426]),
    ("leak", [3_586_972_000, 3_793_709_408, 3_852_468_224, 426]),
    ("fragments", [760_025_344, 1_232_195_848, 1_342_177_280, 426]),
];

#[test]
fn the_figures_are_those_that_python_counts() {
    for (name, expected) in COUNTED {
        let snapshot = open(name);
        assert_eq!(snapshot.devices.keys().collect::<Vec<_>>(), [&0], "{name}");
        let device: &DeviceSnapshot = &snapshot.devices[&0];
        let allocations = device.allocations.cast_signed();
        let found = [device.live, device.peak, device.reserved, allocations];
        assert_eq!(found, expected, "{name}");
        let sum = |stacks: &tracetree::snapshot::LiveStacks| -> i64 {
            stacks.values().map(|figures| figures.bytes).sum()
        };
        assert_eq!(
            (sum(&device.at_end), sum(&device.at_peak)),
            (device.live, device.peak),
            "{name}"
        );
    }
}

#[test]
fn two_runs_of_one_program_have_no_difference_by_stack() {
    assert!(diff("base", "again").rows().iter().all(|row| row.difference() == 0));
}

#[test]
fn a_peak_that_moves_is_found_by_its_stack() {
    let diff = diff("base", "checkpoint");
    let rows = diff.rows();
    let at_peak = || rows.iter().filter(|row| row.moment == Moment::Peak);
    let total: i64 = at_peak().map(|row| row.difference()).sum();
    assert_eq!(total, 564_205_832 - 752_195_848);
    // Checkpointing recomputes the activations of the transformer blocks instead of keeping them, which causes the
    // largest difference.
    let first = at_peak().next().expect("a row");
    assert!(first.difference() < 0, "{first:?}");
    assert!(first.frame().contains(".py: forward"), "{}", first.frame());
    let is_plain = |frame: &Arc<str>| !frame.starts_with('/') && !frame.contains("(0)");
    assert!(rows.iter().flat_map(|row| row.stack.iter()).all(is_plain));
}

#[test]
fn exchanged_sides_exchange_the_figures() {
    let (one, two) = (diff("base", "batch").rows(), diff("batch", "base").rows());
    assert_eq!(one.len(), two.len());
    for row in &one {
        let same = |other: &&tracetree::snapshot::StackRow| {
            other.stack == row.stack && other.moment == row.moment && other.device == row.device
        };
        let other = two.iter().find(same).expect("the same stack");
        assert_eq!(row.figures, other.figures.swap());
    }
}

fn refused(bytes: &[u8]) -> Error {
    Snapshot::parse(bytes, "a.pickle").expect_err("no snapshot")
}

#[test]
fn a_small_file_that_unpacks_to_gigabytes_is_refused() {
    // Each of the 300 million lists needs 24 bytes.
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(b"\x80\x04").expect("memory");
    for _ in 0..300 {
        packer.write_all(&[b']'; 1_000_000]).expect("memory");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bomb.pickle.gz");
    std::fs::write(&path, packer.finish().expect("memory")).expect("written");
    let refused = |options: ReadOptions| Snapshot::open(&path, &options).expect_err("a bomb");
    let limited = refused(ReadOptions::default().max_unpacked(1_000_000));
    assert_eq!(limited.kind(), ErrorKind::LimitExceeded);
    assert!(limited.to_string().contains("--max-unpacked"), "{limited}");
    let unlimited = refused(ReadOptions::default().max_unpacked(1 << 40));
    assert_eq!(unlimited.kind(), ErrorKind::LimitExceeded);
    assert!(unlimited.to_string().contains("max_entries"), "{unlimited}");
}

#[test]
fn code_in_a_pickle_is_refused_and_not_run() {
    // os.system("touch run")
    let error = refused(b"\x80\x04cos\nsystem\n(\x8c\x09touch runtR.").to_string();
    assert!(error.contains("calls Python objects") && error.contains("byte 2"), "{error}");
    assert!(!std::path::Path::new("run").exists());
}

#[test]
fn other_pickles_are_named_as_such() {
    for (bytes, message) in [
        (&b"\x80\x04}."[..], "no list `segments`"),
        (b"\x80\x04K\x01.", "no list `segments`"),
        (b"\x80\x04}(\x8c\x08segmentsK\x01u.", "another value"),
        (b"not a pickle", "not a pickle"),
        (b"", "not a pickle"),
    ] {
        let error = refused(bytes).to_string();
        assert!(error.contains(message) && error.contains("_dump_snapshot"), "{error}");
    }
}

/// In this file, `device_traces` contains the same list of events many times, so a few bytes make the reader visit many
/// events.
#[test]
fn a_list_of_one_list_over_and_over_ends_early() {
    let mut bytes = b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces](".to_vec();
    bytes.extend(b"](}\x94(\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01\x8c\x04sizeK\x01u");
    bytes.extend(b"h\x00".repeat(50_000));
    bytes.extend(b"e\x94");
    bytes.extend(b"h\x01".repeat(50_000));
    bytes.extend(b"eu.");
    let error = refused(&bytes).to_string();
    assert!(error.contains("again and again"), "{error}");
}

/// In this file, each of the many events is the same record, so an event needs two bytes in the file and a block in
/// memory.
#[test]
fn a_file_whose_events_need_gigabytes_is_refused() {
    let mut bytes = b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces](](}\x94(".to_vec();
    bytes.extend(b"\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01\x8c\x04sizeK\x01u");
    bytes.extend(b"h\x00".repeat(5_000_000));
    bytes.extend(b"eeu.");
    let error = refused(&bytes);
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.to_string().contains("max_entries"), "{error}");
}

#[test]
fn a_cycle_ends() {
    // `segments` is a list that contains itself.
    let error = refused(b"\x80\x04}(\x8c\x08segments]\x94h\x00au.").to_string();
    assert!(error.contains("total_size"), "{error}");
}

#[test]
fn damaged_snapshots_never_panic() {
    let whole = unpacked(&recorded("base")).expect("a snapshot");
    for length in (0..whole.len()).step_by(4_001) {
        refused(&whole[..length]);
    }
    let mut random = SplitMix::new(52);
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        let read = Snapshot::parse(&bytes[..], "a.pickle");
        if let Ok(snapshot) = read {
            let diff = SnapshotDiff { sides: PerSide::new(snapshot.clone(), snapshot) };
            assert!(diff.rows().iter().all(|row| row.difference() == 0));
            assert!(Side::BOTH.iter().all(|&side| diff.sides[side].devices.len() <= whole.len()));
        }
    }
}
