//! Checks that a wait in a range that PyTorch or the program marked is named, with its time.

use crate::support::compared::{compare_files, compare_texts};
use crate::support::traces::real;
use serde_json::Value;
use tracetree::analysis::Analysis;
use tracetree::report::{Line, Narrative};
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

fn loaders() -> Option<PerSide<std::path::PathBuf>> {
    let file = |time: u32| real(&format!("certain/loader_{time}ms.json"));
    Some(PerSide::new(file(20)?, file(44)?))
}

fn lines(analysis: &Analysis) -> Vec<Line> {
    let narrative = Narrative::of(analysis);
    let parts = [&narrative.other_speed, &narrative.within_noise];
    parts.into_iter().flat_map(|layer| layer.lines.clone()).collect()
}

#[test]
fn a_slower_data_loader_is_named_with_its_time() {
    let Some(pair) = loaders() else { return };
    // The time of the ranges, recounted from the files.
    let recounted = pair.as_ref().map(|path| {
        let text = std::fs::read_to_string(path).expect("a trace");
        let trace: Value = serde_json::from_str(&text).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events").clone();
        let is_load = |event: &&Value| {
            event["name"].as_str().is_some_and(|n| n.starts_with("enumerate(DataLoader)"))
        };
        let times =
            events.iter().filter(is_load).map(|event| event["dur"].as_f64().expect("a time"));
        let times: Vec<f64> = times.collect();
        times.iter().sum::<f64>() / times.len() as f64
    });
    let expected = recounted.candidate - recounted.baseline;
    for is_swapped in [false, true] {
        let pair = if is_swapped { pair.clone().swap() } else { pair.clone() };
        let sign = if is_swapped { -1.0 } else { 1.0 };
        compare_files(pair, |analysis| {
            let lines = lines(analysis);
            assert!(
                lines[0].sentence.contains("waits for the data loader"),
                "{}",
                lines[0].sentence
            );
            let cost = lines[0].cost.as_micros();
            assert!((cost - sign * expected).abs() < 20.0, "{cost} µs, recounted {expected} µs");
            let sum: Nanos = lines.iter().map(|line| line.cost).sum();
            let difference = analysis.changes().difference();
            assert!((sum - difference).abs() < Nanos(1_000), "{sum} of {difference}");
        });
    }
}

#[test]
fn a_range_of_the_program_is_named_as_written_and_no_wait_is_claimed() {
    let Some(pair) = loaders() else { return };
    let texts = pair.map(|path| {
        let text = std::fs::read_to_string(path).expect("a trace");
        text.replace("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "tokenize")
    });
    compare_texts(&texts, |analysis| {
        let lines = lines(analysis);
        assert!(lines[0].sentence.contains("in the range tokenize"), "{}", lines[0].sentence);
        assert!(lines.iter().all(|line| !line.sentence.contains("data loader")));
    });
    let same = PerSide::new(texts.baseline.clone(), texts.baseline);
    compare_texts(&same, |analysis| {
        assert!(analysis.changes().between_calls_in().is_none());
        assert!(Side::BOTH.iter().all(|&side| analysis.wall().totals(side).steps == 4));
    });
}
