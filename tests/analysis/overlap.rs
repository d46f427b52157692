//! Compares the library's figures for concurrent GPU work with a second computation, which visits each interval between
//! consecutive start or end times of events.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::trace_builder::TraceBuilder;
use crate::support::traces::{example, real};
use std::collections::BTreeSet;
use std::path::PathBuf;
use tracetree::analysis::Analysis;
use tracetree::analysis::steps::{Overlap, overlap_rows};
use tracetree::trace::{Category, Nanos};
use tracetree::tree::CallKind;
use tracetree::{PerSide, Side};

fn files() -> Vec<PathBuf> {
    let mut files = vec![
        example("memory/memory_base.pt.trace.json.gz"),
        example("resnet.cuda.json.gz"),
        example("h100/train_base.pt.trace.json.gz"),
    ];
    files.extend(real("mi300_h100/vit.h100.json.gz"));
    files
}

#[test]
fn a_recount_of_every_moment_finds_the_same_concurrency() {
    for path in files() {
        let name = path.display().to_string();
        compare_files(PerSide::new(path.clone(), path), |analysis| {
            let whole = &overlap_rows(analysis.diff(), analysis.ledger(), analysis.compared())[0];
            assert!(whole.step.is_none());
            assert_eq!(whole.figures.baseline, whole.figures.candidate);
            assert_eq!(whole.figures.baseline, Some(recount(analysis)), "{name}");
        });
    }
}

/// Recomputes the overlap from the GPU events, by visiting each interval between consecutive start or end times of
/// events.
fn recount(analysis: &Analysis) -> Overlap {
    let tree = analysis.tree(Side::Baseline);
    let trace = tree.trace();
    let mut events = Vec::new();
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
        let event = tree.event(call).expect("an event");
        let communicates = trace.name(event).starts_with("nccl");
        let computes = trace.category(event) == Category::Kernel && !communicates;
        let span = (trace.start(event), trace.end(event));
        events.push((span, trace.stream(event), computes, communicates));
    }
    events.sort_by_key(|event| event.0);
    let edges: BTreeSet<Nanos> = events.iter().flat_map(|event| [event.0.0, event.0.1]).collect();
    let edges: Vec<Nanos> = edges.into_iter().collect();
    let mut found = Overlap::default();
    let used: BTreeSet<_> = events.iter().filter(|e| e.0.0 < e.0.1).map(|e| e.1).collect();
    found.streams = used.len() as u64;
    let mut first = 0;
    for span in edges.windows(2) {
        let (from, to) = (span[0], span[1]);
        while first < events.len() && events[first].0.1 <= from {
            first += 1;
        }
        let until = events.partition_point(|event| event.0.0 <= from);
        let running = || events[first.min(until)..until].iter().filter(|event| event.0.1 > from);
        let streams: BTreeSet<_> = running().map(|event| event.1).collect();
        let length = to - from;
        let add = |sum: &mut Nanos, counts: bool| {
            if counts {
                *sum += length;
            }
        };
        add(&mut found.busy, !streams.is_empty());
        add(&mut found.concurrent, streams.len() > 1);
        add(&mut found.communication, running().any(|event| event.3));
        let both = running().any(|event| event.3) && running().any(|event| event.2);
        add(&mut found.overlapped_communication, both);
    }
    found
}

#[test]
fn a_collective_on_another_stream_overlaps_with_computation() {
    let text = |stream: i64| {
        TraceBuilder::cuda()
            .thread("main", |t| {
                t.step(0, |t| {
                    t.on_stream(stream, |t| {
                        t.op("aten::x", |t| {
                            t.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40.0)
                        });
                    });
                    t.op("aten::mm", |t| t.kernel("gemm", 100.0));
                });
            })
            .json()
    };
    compare_texts(&PerSide::new(text(7), text(20)), |analysis| {
        let rows = overlap_rows(analysis.diff(), analysis.ledger(), analysis.compared());
        assert_eq!(rows.len(), 2);
        let step = rows[1].figures.map(|figures| figures.expect("a step"));
        assert_eq!((step.baseline.streams, step.candidate.streams), (1, 2));
        assert_eq!(step.baseline.overlapped_communication, Nanos::ZERO);
        assert!(step.candidate.overlapped_communication > Nanos::ZERO);
        assert_eq!(step.candidate.concurrent, step.candidate.overlapped_communication);
        assert_eq!(step.candidate.communication, Nanos(40_000));
    });
}
