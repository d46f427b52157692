//! [`CallTree`] → for each call the user's Python function around it.

use crate::trace::{ByName, TextId};
use crate::tree::{CallId, CallKind, CallTree};

/// The innermost frame around each call that is the user's: no module, nothing of torch, of an installed
/// package or of Python itself.
pub(super) struct Sites {
    of_calls: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Sites {
    pub(super) fn of(tree: &CallTree) -> Sites {
        let mut known = ByName::new(tree.trace());
        let mut of_calls = vec![NONE; tree.len()];
        for call in tree.calls() {
            let above = tree.parent(call).map_or(NONE, |above| of_calls[above.index()]);
            of_calls[call.index()] = match tree.event(call) {
                Some(event) if tree.kind(call) == CallKind::Frame => {
                    let name: TextId = tree.trace().name_id(event);
                    let is_users = known.get(name, || is_users(tree.trace().text(name)));
                    if is_users { call.index() as u32 } else { above }
                }
                Some(_) | None => above,
            };
        }
        Sites { of_calls }
    }

    /// The frame around a call; `None` where there is none.
    pub(super) fn frame(&self, tree: &CallTree, call: CallId) -> Option<CallId> {
        match self.of_calls[call.index()] {
            NONE => None,
            frame => tree.call_id(frame as usize),
        }
    }
}

/// Parts of paths that are not the user's.
const FOREIGN: [&str; 6] =
    ["site-packages", "dist-packages", "/lib/python", "torch/", "<frozen", "contextlib.py"];

/// Whether a frame is `file.py(12): function` of a file of the user's.
fn is_users(name: &str) -> bool {
    let Some((place, _)) = name.split_once("): ") else { return false };
    let Some((file, line)) = place.rsplit_once('(') else { return false };
    line.bytes().all(|byte| byte.is_ascii_digit())
        && !file.starts_with('<')
        && !FOREIGN.iter().any(|part| file.contains(part))
        && !["threading.py", "runpy.py"].contains(&file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_of_the_users_files_are_sites() {
        assert!(is_users("train.py(31): loss") && is_users("/srv/net/model.py(3): forward"));
        for name in [
            "nn.Module: Linear_3",
            "torch/nn/modules/module.py(1501): _call_impl",
            "/opt/lib/python3.11/site-packages/timm/mlp.py(4): forward",
            "<built-in method conv2d of type object at 0x7f6e2a04c9a0>",
            "<string>(2): __init__",
            "threading.py(973): _bootstrap",
        ] {
            assert!(!is_users(name), "{name}");
        }
    }
}
