//! Tests that the ops of two vendors' libraries are matched if each is the only such op below the same call.

use crate::support::compared::{align_threads, compare_files, shaped};
use crate::support::find::{calls, relation};
use crate::support::trace_builder::HostThread;
use crate::support::traces::platform_pair;
use tracetree::Side;
use tracetree::diff::Relation;

fn work(t: &mut HostThread<'_>, name: &str, rows: i64) {
    t.op(shaped(name, rows), |t| t.kernel("kernel", 5.0));
}

#[test]
fn the_only_vendor_ops_below_a_call_are_counterparts() {
    let convolution = |vendor: &'static str, adds_bias: bool| {
        move |t: &mut HostThread<'_>| {
            t.op("aten::_convolution", |t| {
                t.op(shaped(vendor, if adds_bias { 8 } else { 9 }), |t| {
                    t.kernel(&format!("{vendor}_kernel"), 30.0);
                });
                if adds_bias {
                    t.op(shaped("aten::reshape", 4), |_| ());
                    work(t, "aten::add_", 4);
                }
            });
            // Many names contain the word, so it says little.
            for at in 0..20 {
                work(t, &format!("my::convolution_{at}"), 4);
            }
        }
    };
    let miopen = convolution("aten::miopen_convolution", false);
    align_threads(miopen, convolution("aten::cudnn_convolution", true), |diff| {
        let found = relation(diff, Side::Baseline, "aten::miopen_convolution");
        assert_eq!(found, (Relation::Renamed, Some("aten::cudnn_convolution")));
    });
}

#[test]
fn the_convolutions_of_real_models_on_two_platforms_are_counterparts() {
    for pair in ["vit", "timesformer"].into_iter().filter_map(platform_pair) {
        for (pair, name, other) in [
            (pair.clone(), "aten::miopen_convolution", "aten::cudnn_convolution"),
            (pair.swap(), "aten::cudnn_convolution", "aten::miopen_convolution"),
        ] {
            compare_files(pair, |analysis| {
                let diff = analysis.diff();
                let tree = diff.tree(Side::Baseline);
                let convolutions = calls(tree, name);
                assert!(!convolutions.is_empty());
                for call in convolutions {
                    let counterpart = diff.counterpart(Side::Baseline, call);
                    let counterpart = counterpart.map(|call| diff.tree(Side::Candidate).name(call));
                    assert_eq!(counterpart, Some(other), "{}", tree.trace().source());
                }
            });
        }
    }
}
