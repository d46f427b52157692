//! [`Trace`] and a choice of its events → a trace of the chosen events alone, uids unchanged.

use super::columns::Trace;
use super::ids::EventId;
use super::sparse::Sparse;

impl Trace {
    /// The trace with only the events for which `keep` holds. Uids, header and notes stay; event ids
    /// are dense again and do not compare with those of this trace.
    ///
    /// Flow arrows stay as they are: one whose event is gone points at nothing and is not used.
    #[must_use]
    pub fn select(&self, keep: impl Fn(EventId) -> bool) -> Trace {
        let kept: Vec<EventId> = self.events().filter(|&event| keep(event)).collect();
        Trace {
            source: self.source.clone(),
            uids: pick(&self.uids, &kept),
            categories: pick(&self.categories, &kept),
            names: pick(&self.names, &kept),
            event_threads: pick(&self.event_threads, &kept),
            starts: pick(&self.starts, &kept),
            durations: pick(&self.durations, &kept),
            event_arguments: pick(&self.event_arguments, &kept),
            correlations: pick_sparse(&self.correlations, &kept),
            external_ids: pick_sparse(&self.external_ids, &kept),
            sequences: pick_sparse(&self.sequences, &kept),
            streams: pick_sparse(&self.streams, &kept),
            all_streams: self.all_streams.clone(),
            gpu_bytes: pick_sparse(&self.gpu_bytes, &kept),
            graph_nodes: pick_sparse(&self.graph_nodes, &kept),
            graphs: pick_sparse(&self.graphs, &kept),
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
            flows: self.flows.clone(),
            texts: self.texts.clone(),
            arguments: self.arguments.clone(),
            threads: self.threads.clone(),
            header: self.header.clone(),
            notes: self.notes.clone(),
            total_events: self.total_events,
            left_out: self.left_out.clone(),
            unpacked_bytes: self.unpacked_bytes,
            content_hash: self.content_hash,
        }
    }
}

fn pick<T: Copy>(column: &[T], kept: &[EventId]) -> Vec<T> {
    kept.iter().map(|event| column[event.index()]).collect()
}

fn pick_sparse<T: Clone>(column: &Sparse<T>, kept: &[EventId]) -> Sparse<T> {
    let mut picked = Sparse::default();
    for (new, &old) in kept.iter().enumerate() {
        if let Some(value) = column.get(old) {
            picked.push(EventId(new as u32), value.clone());
        }
    }
    picked
}
