//! Restricts a [`Trace`] to selected events without changing their uids.

use super::columns::Trace;
use super::ids::EventId;
use super::near::{Distance, Near, Number};
use super::spans::union;
use super::sparse::Sparse;

impl Trace {
    /// Returns the trace with only the events for which `keep` returns `true`. Uids, header and
    /// notes remain unchanged. Event ids are renumbered from 0 and cannot be compared with the
    /// event ids of the original trace. The time spans of dropped GPU events remain available as
    /// [`Trace::unselected`], because the device was not idle during these spans.
    ///
    /// Points of flow arrows are kept unchanged. A flow point whose event was dropped is ignored
    /// later. Memory events are also kept, because all earlier events determine which blocks are
    /// live, and so are intervals of overhead.
    #[must_use]
    #[doc(hidden)]
    pub fn select(&self, keep: impl Fn(EventId) -> bool) -> Trace {
        let (kept, gone): (Vec<EventId>, Vec<EventId>) =
            self.events().partition(|&event| keep(event));
        let gone = gone.into_iter().filter(|&event| self.category(event).is_gpu());
        let gone = gone.map(|event| (self.start(event), self.end(event)));
        Trace {
            source: self.source.clone(),
            uids: pick_near(&self.uids, &kept),
            categories: pick(&self.categories, &kept),
            names: pick(&self.names, &kept),
            event_threads: pick_near(&self.event_threads, &kept),
            starts: pick_near(&self.starts, &kept),
            durations: pick_near(&self.durations, &kept),
            event_arguments: pick(&self.event_arguments, &kept),
            correlations: pick_sparse(&self.correlations, &kept),
            external_ids: pick_sparse(&self.external_ids, &kept),
            sequences: pick_sparse(&self.sequences, &kept),
            streams: pick_sparse(&self.streams, &kept),
            all_streams: self.all_streams.clone(),
            gpu_bytes: pick_sparse(&self.gpu_bytes, &kept),
            graph_nodes: pick_sparse(&self.graph_nodes, &kept),
            graphs: pick_sparse(&self.graphs, &kept),
            regions: pick_sparse(&self.regions, &kept),
            launched_kernels: pick_sparse(&self.launched_kernels, &kept),
            grids: pick_sparse(&self.grids, &kept),
            captured: pick_sparse(&self.captured, &kept),
            capture_sources: self.capture_sources.clone(),
            captured_launches: pick_sparse(&self.captured_launches, &kept),
            collectives: pick_sparse(&self.collectives, &kept),
            process_groups: pick_sparse(&self.process_groups, &kept),
            collective_sequences: pick_sparse(&self.collective_sequences, &kept),
            messages: pick_sparse(&self.messages, &kept),
            call_stacks: pick_sparse(&self.call_stacks, &kept),
            recorded_durations: pick_sparse(&self.recorded_durations, &kept),
            stated: pick_sparse(&self.stated, &kept),
            flows: self.flows.clone(),
            memory: self.memory.clone(),
            overheads: self.overheads.clone(),
            programs: self.programs.clone(),
            accelerator: self.accelerator,
            texts: self.texts.clone(),
            arguments: self.arguments.clone(),
            threads: self.threads.clone(),
            header: self.header.clone(),
            notes: self.notes.clone(),
            losses: self.losses,
            total_events: self.total_events,
            left_out: self.left_out.clone(),
            unselected: union(self.unselected.iter().copied().chain(gone).collect()),
            unpacked_bytes: self.unpacked_bytes,
            content_hash: self.content_hash,
        }
    }
}

fn pick<T: Copy>(column: &[T], kept: &[EventId]) -> Vec<T> {
    kept.iter().map(|event| column[event.index()]).collect()
}

fn pick_near<T: Number, D: Distance>(column: &Near<T, D>, kept: &[EventId]) -> Near<T, D> {
    kept.iter().map(|event| column.get(event.index())).collect()
}

fn pick_sparse<T: Clone>(column: &Sparse<T>, kept: &[EventId]) -> Sparse<T> {
    let entry = |(&old, new)| Some((EventId(new), column.get(old)?.clone()));
    kept.iter().zip(0..).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::super::captured_call::{CapturedAs, CapturedCall};
    use super::super::category::Category;
    use super::super::columns::{Grid, Message, Sequence, Stated};
    use super::super::ids::{ThreadId, Uid};
    use super::super::texts::TextId;
    use super::super::time::Nanos;
    use super::*;
    use std::fmt::Debug;

    const CATEGORIES: [Category; 4] =
        [Category::CpuOp, Category::Runtime, Category::Kernel, Category::Memset];

    /// A column with a value for each of the four events. The function `value` computes the value
    /// from the event's number.
    fn filled<T>(value: impl Fn(u32) -> T) -> Sparse<T> {
        (0..4).map(|event| (EventId(event), value(event))).collect()
    }

    /// A trace of four events with different values in every column.
    fn full() -> Trace {
        let text = |event: u32| TextId(100 + event);
        Trace {
            uids: (0..4).map(|event| Uid(10 + event)).collect(),
            categories: CATEGORIES.to_vec(),
            names: (0..4).map(text).collect(),
            event_threads: (0..4).map(ThreadId).collect(),
            starts: (0..4).map(|event| Nanos(1_000 + event)).collect(),
            durations: (0..4).map(|event| Nanos(2_000 + event)).collect(),
            event_arguments: (0..4).collect(),
            correlations: filled(i64::from),
            external_ids: filled(|event| 10 + i64::from(event)),
            sequences: filled(|event| Sequence { number: i64::from(event), forward_thread: 1 }),
            streams: filled(|event| event),
            gpu_bytes: filled(u64::from),
            graph_nodes: filled(|event| 20 + u64::from(event)),
            graphs: filled(|event| 30 + u64::from(event)),
            regions: filled(text),
            launched_kernels: filled(text),
            grids: filled(|event| Grid { grid: text(event), block: text(event) }),
            captured: filled(|event| CapturedCall {
                known: CapturedAs::Call,
                launch: Uid(event),
                uid: Uid(event),
                source: 0,
                position: event,
                depth: 0,
            }),
            captured_launches: filled(Uid),
            collectives: filled(text),
            process_groups: filled(text),
            collective_sequences: filled(i64::from),
            messages: filled(|event| Message {
                sent: u64::from(event),
                received: 0,
                ranks: 2,
                dtype: TextId::EMPTY,
            }),
            call_stacks: filled(text),
            recorded_durations: filled(|event| Nanos(i64::from(event))),
            stated: filled(|event| Stated { order: Some(event.into()), ..Stated::default() }),
            ..Trace::default()
        }
    }

    fn assert_cut<T: Debug>(name: &str, whole: &Sparse<T>, cut: &Sparse<T>) {
        let values = |column: &Sparse<T>, events: [u32; 2]| {
            events.map(|event| format!("{:?}", column.get(EventId(event))))
        };
        assert!(whole.len() == 4 && cut.len() == 2, "{name}");
        assert_eq!(values(cut, [0, 1]), values(whole, [1, 3]), "{name}");
    }

    #[test]
    fn every_column_is_cut_to_the_events_that_are_kept() {
        let whole = full();
        // The pattern has no `..`, so adding a column causes a compile error until this test covers
        // that column.
        let Trace {
            source: _,
            uids,
            categories,
            names,
            event_threads,
            starts,
            durations,
            event_arguments,
            correlations,
            external_ids,
            sequences,
            streams,
            all_streams: _,
            gpu_bytes,
            graph_nodes,
            graphs,
            regions,
            launched_kernels,
            grids,
            captured,
            capture_sources: _,
            captured_launches,
            collectives,
            process_groups,
            collective_sequences,
            messages,
            call_stacks,
            recorded_durations,
            stated,
            flows: _,
            memory: _,
            overheads: _,
            programs: _,
            accelerator: _,
            texts: _,
            arguments: _,
            threads: _,
            header: _,
            notes: _,
            losses: _,
            total_events: _,
            left_out: _,
            unselected,
            unpacked_bytes: _,
            content_hash: _,
        } = whole.select(|event| event.0 % 2 == 1);
        assert_eq!(uids.iter().collect::<Vec<_>>(), [Uid(11), Uid(13)]);
        assert_eq!(unselected, [(Nanos(1_002), Nanos(3_004))], "the kernel that is left out");
        assert_eq!(categories, [Category::Runtime, Category::Memset]);
        assert_eq!(names, [TextId(101), TextId(103)]);
        assert_eq!(event_threads.iter().collect::<Vec<_>>(), [ThreadId(1), ThreadId(3)]);
        assert_eq!(starts.iter().collect::<Vec<_>>(), [Nanos(1_001), Nanos(1_003)]);
        assert_eq!(durations.iter().collect::<Vec<_>>(), [Nanos(2_001), Nanos(2_003)]);
        assert_eq!(event_arguments, [1, 3]);
        assert_cut("correlations", &whole.correlations, &correlations);
        assert_cut("external_ids", &whole.external_ids, &external_ids);
        assert_cut("sequences", &whole.sequences, &sequences);
        assert_cut("streams", &whole.streams, &streams);
        assert_cut("gpu_bytes", &whole.gpu_bytes, &gpu_bytes);
        assert_cut("graph_nodes", &whole.graph_nodes, &graph_nodes);
        assert_cut("graphs", &whole.graphs, &graphs);
        assert_cut("regions", &whole.regions, &regions);
        assert_cut("launched_kernels", &whole.launched_kernels, &launched_kernels);
        assert_cut("grids", &whole.grids, &grids);
        assert_cut("captured", &whole.captured, &captured);
        assert_cut("captured_launches", &whole.captured_launches, &captured_launches);
        assert_cut("collectives", &whole.collectives, &collectives);
        assert_cut("process_groups", &whole.process_groups, &process_groups);
        assert_cut("collective_sequences", &whole.collective_sequences, &collective_sequences);
        assert_cut("messages", &whole.messages, &messages);
        assert_cut("call_stacks", &whole.call_stacks, &call_stacks);
        assert_cut("recorded_durations", &whole.recorded_durations, &recorded_durations);
        assert_cut("stated", &whole.stated, &stated);
    }
}
