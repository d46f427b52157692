//! What a gate says of the structure of real pairs, of runs of one program, and of steps of one run.

mod support;

use std::path::Path;
use support::traces::real;
use tracetree::gate::{Digest, Digester, Structure};
use tracetree::program::{Selection, Steps};
use tracetree::trace::Trace;
use tracetree::tree::CallTree;

fn digest(tree: CallTree) -> Digest {
    let mut digester = Digester::default();
    digester.add(tree).expect("a run");
    digester.finish()
}

fn file(path: &Path) -> Digest {
    digest(CallTree::build(Trace::open(path).expect("a readable trace")))
}

fn told(structure: &Structure) -> Vec<String> {
    structure
        .changes
        .iter()
        .map(|change| {
            let items: Vec<String> = change
                .items
                .iter()
                .map(|item| format!("{} {} → {}", item.what, item.before, item.after))
                .collect();
            let site = change.site.as_ref().map(ToString::to_string).unwrap_or_default();
            format!(
                "{} at {} [{site}] {}: {}",
                change.rule.label(),
                change.place.words(),
                change.place.phase,
                items.join("; ")
            )
        })
        .collect()
}

#[test]
fn look() {
    for (a, b) in [
        ("cnn", "cnn_rerun"),
        ("cnn", "cnn_extra_op"),
        ("cnn", "cnn_extra_layer"),
        ("cnn", "cnn_conv5x5"),
        ("cnn", "cnn_mem"),
        ("cnn_nostack", "cnn_extra_op_nostack"),
        ("tfm", "tfm_rerun"),
        ("tfm", "tfm_unfused_qkv"),
        ("tfm", "tfm_nostack"),
        ("cnn", "cnn_nostack"),
        ("cnn_extra_op", "cnn"),
        ("tfm_unfused_qkv", "tfm"),
    ] {
        let Some(one) = real(&format!("cpu/{a}.pt.trace.json.gz")) else { return };
        let two = real(&format!("cpu/{b}.pt.trace.json.gz")).expect("a file");
        let structure = Structure::of(&file(&one), &file(&two));
        println!(
            "== {a} {b}: {} changes, {} follow, {} variable",
            structure.changes.len(),
            structure.follow.len(),
            structure.variable.len()
        );
        for line in told(&structure) {
            println!("  {}", line.chars().take(420).collect::<String>());
        }
    }
    for name in [
        "training/eager.a100",
        "training/compiled_graphs.v100",
        "training/resnet50_ddp.a100",
        "training/resnet_act_checkpoint.mi300",
        "old/resnet50_2021.num_workers_0",
        "old/resnet50_2021.num_workers_4",
        "old/resnet50_2021_array.num_workers_0",
        "inference/sglang_decode.mi300",
        "odd/minitoy.mi250",
    ] {
        let path = real(&format!("{name}.json.gz")).expect("a file");
        let tree = CallTree::build(Trace::open(&path).expect("a trace"));
        let count = Steps::of(&tree).len();
        let steps: Vec<Digest> = (0..count as u32)
            .map(|at| {
                let selection = Selection {
                    phase: None,
                    steps: Some(at.to_string().parse().expect("a range")),
                };
                digest(CallTree::build(selection.cut(&tree).expect("a step")))
            })
            .collect();
        for a in 0..count {
            for b in 0..count {
                if a == b {
                    continue;
                }
                let structure = Structure::of(&steps[a], &steps[b]);
                if structure.changes.is_empty() {
                    continue;
                }
                println!(
                    "== {name} {a} {b}: {} changes, {} follow, {} variable",
                    structure.changes.len(),
                    structure.follow.len(),
                    structure.variable.len()
                );
                if a > 1 && b > 1 && (a != 2 || b != 3) {
                    continue;
                }
                for line in told(&structure).iter().take(6) {
                    println!("  {}", line.chars().take(300).collect::<String>());
                }
            }
        }
    }
}
