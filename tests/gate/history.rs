//! Compares the change points that the library finds with those that an independent program found, and tests the
//! history of baselines.

use serde_json::Value;
use tracetree_gate::{Search, change_points};

/// Series from Apache Otava's own tests, and generated series with planted shifts, each with the change points found by
/// Otava 0.8.0 (`otava.analysis.compute_change_points`). When Otava 0.8.0 removes a change point, it recomputes the
/// next two change points to the right, but not the next one to the left. For the expected points, the neighbors on
/// both sides were recomputed. The flag `as_released` shows whether the released Otava 0.8.0 finds the same points.
const ORACLE: &str = include_str!("../data/change_points.json");

fn numbers(values: &Value) -> Vec<f64> {
    let values = values.as_array().expect("a list");
    values.iter().map(|value| value.as_f64().expect("a number")).collect()
}

fn number(value: &Value) -> f64 {
    // Otava writes NaN for the mean of an empty range, but no series here has an empty range.
    value.as_f64().expect("a number")
}

#[test]
fn change_points_equal_those_of_an_independent_program() {
    let oracle: Value = serde_json::from_str(ORACLE).expect("JSON");
    let cases = oracle["expected"].as_array().expect("cases");
    let mut found_any = 0;
    for case in cases {
        let name = case["name"].as_str().expect("a name");
        let series = numbers(&oracle["series"][name]);
        let search = Search {
            window: case["window"].as_u64().expect("a window") as usize,
            most_p: number(&case["most_p"]),
            least_change: number(&case["least_change"]),
        };
        let found = change_points(&series, &search);
        let expected = case["points"].as_array().expect("points");
        let at: Vec<u64> = found.iter().map(|point| point.at as u64).collect();
        let expected_at: Vec<u64> =
            expected.iter().map(|point| point["at"].as_u64().expect("a position")).collect();
        assert_eq!(at, expected_at, "{name} {search:?}");
        found_any += at.len();
        let is_usual = search == Search::default();
        assert!(!is_usual || case["as_released"] == true, "{name}");
        for (point, expected) in found.iter().zip(expected) {
            for (value, expected) in [
                (point.before, number(&expected["before"])),
                (point.after, number(&expected["after"])),
                (point.p, number(&expected["p"])),
            ] {
                let distance = (value - expected).abs();
                assert!(distance <= 1e-9 * expected.abs().max(1e-12), "{name}: {value} {expected}");
            }
        }
    }
    assert!(found_any > 40, "{found_any}");
}
