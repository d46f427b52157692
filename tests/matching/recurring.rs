//! Tests with repeated layers in which ops were renamed. The alignment copies the matches inside the first layer to the
//! later layers, but only to layers that do not differ.

use crate::support::compared::{compare_texts, shaped};
use crate::support::find::calls;
use crate::support::trace_builder::{HostThread, TraceBuilder};
use tracetree::diff::{Relation, TraceDiff};
use tracetree::{PerSide, Side};

/// The name of each op on each side.
const NAMES: [[&str; 2]; 4] = [
    ["old::attention", "new::fused_attention"],
    ["old::scores", "new::qk"],
    ["old::weigh", "new::softmax_v"],
    ["old::project", "new::output"],
];
const LAYERS: usize = 8;

/// A layer with four renamed ops and two ops that keep their names.
fn layer(t: &mut HostThread<'_>, side: usize, inside: impl Fn(&mut HostThread<'_>)) {
    let [all, scores, weigh, project] = NAMES.map(|names| names[side]);
    t.op(shaped(all, 64), |t| {
        t.op(shaped(scores, 32), |t| t.kernel("gemm_a", 20.0));
        t.op(shaped(weigh, 16), |t| {
            inside(t);
            t.op(shaped("aten::div", 16), |t| t.kernel("divide", 3.0));
            t.kernel("gemm_b", 30.0);
        });
        t.op(shaped(project, 8), |t| {
            t.kernel("gemm_c", 10.0);
            t.kernel("bias", 2.0);
        });
    });
    t.op(shaped("aten::add", 64), |t| t.kernel("add", 5.0));
}

/// Aligns both sides and checks the matches in all layers. The function `inside` receives the side and the layer, and
/// may add calls to one op in that layer.
fn align(inside: fn(&mut HostThread<'_>, usize, usize)) {
    let traces = [0, 1].map(|side| {
        let builder = TraceBuilder::cuda().thread("main", |t| {
            for at in 0..LAYERS {
                layer(t, side, |t| inside(t, side, at));
            }
        });
        builder.json()
    });
    let [one, two] = traces;
    compare_texts(&PerSide::new(one, two), |analysis| all_in_their_layers(analysis.diff()));
}

/// Checks that the counterpart of each op in a layer, and of each kernel of these ops, is in the same layer.
fn all_in_their_layers(diff: &TraceDiff) {
    let kernels = ["gemm_a", "gemm_b", "gemm_c", "bias", "divide", "aten::div"];
    for [mine, theirs] in NAMES.into_iter().chain(kernels.map(|name| [name; 2])) {
        let [mine_calls, their_calls] = [(Side::Baseline, mine), (Side::Candidate, theirs)]
            .map(|(side, name)| calls(diff.tree(side), name));
        assert_eq!((mine_calls.len(), their_calls.len()), (LAYERS, LAYERS), "{mine}");
        for (at, (&one, &two)) in mine_calls.iter().zip(&their_calls).enumerate() {
            assert_eq!(diff.counterpart(Side::Baseline, one), Some(two), "{mine} of layer {at}");
            let expected = if mine == theirs { Relation::Same } else { Relation::Renamed };
            assert_eq!(diff.relation(Side::Baseline, one), expected, "{mine} of layer {at}");
        }
    }
}

#[test]
fn every_layer_is_matched_like_the_first() {
    align(|_, _, _| ());
}

#[test]
fn an_extra_query_in_one_layer_does_not_shift_the_others() {
    // The fingerprint of a subtree ignores query calls, because these calls may differ between two runs of one program.
    let some = |t: &mut HostThread<'_>, side: usize, at: usize| {
        if (side, at) == (1, 5) || (side, at) == (0, 6) {
            t.call("cudaFuncGetAttributes");
        }
    };
    align(some);
}
