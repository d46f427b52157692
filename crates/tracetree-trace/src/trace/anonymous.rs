//! Replaces what names the recording machine and its user: folders above a project, users and hosts.
//!
//! ```text
//! /home/alice/project/train.py(3): step   →   /path-1f0c2d3e/project/train.py(3): step
//! alice@gpu-node-17.example.org           →   user-5d41402a@host-7b8b965a
//! ```
//! A pseudonym is a hash of the name, so the same name has the same pseudonym in every trace and report. Whoever
//! guesses a name can therefore confirm the guess.
//!
//! The names are replaced once, in the strings of a trace right after reading. Everything after that only knows the
//! pseudonyms.

use super::columns::Trace;
use super::texts::{Texts, hash_bytes};
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use twox_hash::XxHash3_128;

/// Replaces the names of users, hosts and folders in strings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anonymizer {
    users: BTreeSet<String>,
    hosts: BTreeSet<String>,
}

/// The name of a user in the path of a home folder, of a scratch folder, or of a folder that Inductor creates. A name
/// with spaces must be followed by a separator.
static USERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"[/\\](?:home|homes|Users)[/\\]+(?:(?P<a>[\w.-]+(?: [\w.-]+){0,2})[/\\]|(?P<b>[\w.-]+))|(?:^|[^\w.~-])[/\\](?:scratch|users)[/\\]+(?P<c>[\w.-]+)[/\\]|torchinductor_(?P<d>[A-Za-z][\w.-]*)",
    )
});

/// A user at a host, a fully qualified host name, the name of a compute node, or an IPv4 address.
static HOSTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?P<user>[a-z_][\w.-]*)@(?P<at>[a-z][a-z0-9]*(?:[.-][a-z0-9-]+)+|[a-z]+[0-9]+)\b|\b(?P<host>(?:[A-Za-z0-9][\w-]*\.)+(?:com|net|org|edu|gov|local|internal|lan|cluster|corp|cloud)|(?:[a-z0-9]+-)*(?:node|host|dgx|hgx|login|compute|server)-?[0-9][a-z0-9-]*|ip(?:-[0-9]{1,3}){4}|(?:[0-9]{1,3}\.){3}[0-9]{1,3})\b",
    )
});

/// The name of a file that PyTorch's `tensorboard_trace_handler` writes: host, process and time.
static TRACE_FILE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"([\w.-]+?)_[0-9]+\.[0-9]{10,}\.pt\.trace\.json"));

/// The folders of an absolute path, with the separator after the last one.
static FOLDERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?P<before>^|[^\w.~\\-])(?P<folders>(?:[A-Za-z]:)?[/\\]+(?:[^/\\\s:;,'()<>|?*\[\]{}\x22]+[/\\]+)+)|(?P<home>[/\\](?:home|homes|Users)[/\\]+(?:[^/\\\s:;,'()<>|?*\[\]{}\x22]+[/\\]+)+)",
    )
});

/// Folders that every machine has, so their names say nothing about the machine.
const COMMON: [&str; 6] = ["usr", "opt", "lib", "bin", "proc", "dev"];

/// Names of users that every machine or image has.
const NOT_USERS: [&str; 8] =
    ["root", "user", "ubuntu", "runner", "runneradmin", "public", "Public", "jovyan"];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

impl Anonymizer {
    /// Also replaces the users and hosts that occur in `text`, such as the path of an input.
    #[must_use]
    pub fn with_names_in(mut self, text: &str) -> Anonymizer {
        self.learn(text);
        self
    }

    /// Also replaces `name`, which is treated as the name of a host.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Anonymizer {
        if !name.is_empty() {
            self.hosts.insert(name.to_owned());
        }
        self
    }

    /// Collects the names of users and hosts.
    fn learn(&mut self, text: &str) {
        for found in USERS.captures_iter(text) {
            let names = ["a", "b", "c", "d"].into_iter().filter_map(|name| found.name(name));
            names.for_each(|user| self.learn_user(user.as_str()));
        }
        for found in HOSTS.captures_iter(text) {
            if let Some(user) = found.name("user") {
                self.learn_user(user.as_str());
            }
            if let Some(host) = found.name("at").or(found.name("host")) {
                self.learn_host(host.as_str());
            }
        }
        TRACE_FILE.captures_iter(text).for_each(|found| self.learn_host(&found[1]));
    }

    fn learn_host(&mut self, name: &str) {
        if !is_pseudonym(name) {
            self.hosts.insert(name.to_owned());
        }
    }

    fn learn_user(&mut self, name: &str) {
        if !NOT_USERS.contains(&name) && !is_pseudonym(name) {
            self.users.insert(name.to_owned());
        }
    }

    /// The string with pseudonyms.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = Cow::Borrowed(text);
        for (names, kind) in [(&self.hosts, "host"), (&self.users, "user")] {
            // Longer names first: `node17.example.org` contains `node17`.
            let mut names: Vec<&String> =
                names.iter().filter(|&name| shown.contains(name)).collect();
            names.sort_by_key(|name| std::cmp::Reverse(name.len()));
            for name in names {
                shown = Cow::Owned(replaced(&shown, name, kind));
            }
        }
        if !shown.contains(['/', '\\']) {
            return shown;
        }
        let folders = FOLDERS.replace_all(&shown, |found: &Captures<'_>| {
            let text = |name| found.name(name).map_or("", |text| text.as_str());
            format!("{}{}{}", text("before"), project(text("folders")), project(text("home")))
        });
        Cow::Owned(folders.into_owned())
    }

    /// Replaces the names in all strings of a trace.
    pub(super) fn apply(&self, trace: &mut Trace) {
        let mut known = self.clone();
        known.learn(&trace.source);
        let texts = std::mem::take(&mut trace.texts);
        let all = || (1..texts.len() as u32).map(|id| texts.get(super::texts::TextId(id)));
        all().for_each(|text| known.learn(text));
        // Every string keeps its id, even if two strings become equal.
        let mut shown = Texts::default();
        for text in all() {
            let text = known.text(text);
            shown.insert(hash_bytes(text.as_bytes()), &text);
        }
        trace.texts = shown;
        let own = |text: &mut String| *text = known.text(text).into_owned();
        own(&mut trace.source);
        trace.capture_sources.iter_mut().for_each(own);
        trace.left_out.iter_mut().for_each(|(name, _)| own(name));
        trace.header.devices.iter_mut().for_each(|device| own(&mut device.name));
        trace.notes.for_each_message(own);
    }
}

impl Trace {
    /// Whether a string of the trace contains the path of a home folder.
    #[doc(hidden)]
    pub fn has_home_paths(&self) -> bool {
        let is_home = |text: &str| {
            text.contains(['/', '\\'])
                && USERS.captures_iter(text).any(|found| {
                    let user = found.name("a").or(found.name("b"));
                    user.is_some_and(|user| !is_pseudonym(user.as_str()))
                })
        };
        let texts = (1..self.texts.len() as u32).map(super::texts::TextId);
        is_home(&self.source) || texts.into_iter().any(|id| is_home(self.texts.get(id)))
    }
}

/// The pseudonym of a name.
fn pseudonym(kind: &str, name: &str) -> String {
    format!("{kind}-{:08x}", XxHash3_128::oneshot(name.as_bytes()) as u32)
}

fn is_pseudonym(name: &str) -> bool {
    ["user-", "host-", "path-"].iter().any(|kind| {
        name.strip_prefix(kind).is_some_and(|hash| {
            hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    })
}

/// Replaces a name where it is a whole word, except in the name of an op (`alice::add`).
fn replaced(text: &str, name: &str, kind: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let last = before.chars().next_back().or(shown.chars().next_back());
        let is_word = !last.is_some_and(char::is_alphanumeric)
            && !after.starts_with(char::is_alphanumeric)
            && !after.starts_with("::");
        shown.push_str(before);
        if is_word {
            shown.push_str(&pseudonym(kind, name))
        } else {
            shown.push_str(name)
        }
        rest = after;
    }
    shown + rest
}

/// The folders of a path with a pseudonym for the folders above the project: the folder with the file, or an installed
/// package.
fn project(folders: &str) -> String {
    if folders.is_empty() {
        return String::new();
    }
    let separator = if folders.contains('\\') { '\\' } else { '/' };
    let names: Vec<&str> = folders.split(['/', '\\']).filter(|name| !name.is_empty()).collect();
    let is_drive = names.first().is_some_and(|name| name.ends_with(':'));
    let (drive, names) = names.split_at(usize::from(is_drive));
    let packages = names.iter().position(|name| {
        matches!(*name, "site-packages" | "dist-packages") || name.starts_with("python3.")
    });
    let kept = match packages {
        // `lib/python3.12/site-packages`
        Some(at) => at - usize::from(at > 0 && names[at - 1].starts_with("lib")),
        None => names.len().saturating_sub(1),
    };
    let (above, below) = names.split_at(kept);
    let is_common = above.first().is_none_or(|first| COMMON.contains(first) || is_pseudonym(first));
    if is_common {
        return folders.to_owned();
    }
    let mut shown: Vec<&str> = drive.to_vec();
    let hidden = pseudonym("path", &above.join("/"));
    shown.push(&hidden);
    shown.extend(below);
    let start = if is_drive { String::new() } else { separator.to_string() };
    format!("{start}{}{separator}", shown.join(&separator.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let anonymizer = Anonymizer::default().with_names_in(text);
        anonymizer.text(text).into_owned()
    }

    #[test]
    fn folders_above_the_project_users_and_hosts_are_replaced() {
        for text in [
            "/home/alice/project/train.py(3): step",
            "/home/alice/train.py(3): step",
            "/mnt/home/alice/a/b/c/train.py",
            "C:\\Users\\alice\\project\\train.py(3): step",
            "/Users/alice smith/project/train.py",
            "saved to /home/alice",
            "by alice@build-7",
            "/tmp/torchinductor_alice/ab/cdef.py",
            "kernel_of_/home/alice/build/k.cu",
            "<built-in method of alice@gpu-node-17.example.org>",
            "runs/alice.example.com_1234.1700000000.pt.trace.json.gz",
        ] {
            let shown = shown(text);
            for name in ["alice", "build-7", "example", "smith", "gpu-node"] {
                assert!(!shown.contains(name), "{text}: {shown}");
            }
            assert_eq!(shown.contains("project/train.py"), text.contains("project/train.py"));
        }
    }

    #[test]
    fn a_name_has_the_same_pseudonym_everywhere() {
        let one = shown("/home/alice/project/train.py(3): step");
        let two = shown("/home/alice/project/model.py(8): forward");
        assert_eq!(one.split("project").next(), two.split("project").next());
        assert_eq!(shown(&one), one);
        assert_ne!(shown("/home/bob/project/a.py"), shown("/home/alice/project/a.py"));
    }

    #[test]
    fn names_that_say_nothing_about_the_machine_are_kept() {
        for text in [
            "torch/nn/modules/conv.py(5): forward",
            "/usr/lib/python3.12/threading.py(3): run",
            "/opt/conda/lib/python3.11/site-packages/torch/x.py(1): f",
            "aten::add",
            "void kernel<a, b>(int) / 2",
            "[[1, 3], [2]]",
            "nn.Module: Conv2d_0",
            "12.8",
            "rank_0.pt.trace.json",
            "memcpy@GLIBC_2.14",
            "graph node id",
        ] {
            assert_eq!(shown(text), text);
        }
        let home = shown("/home/alice/env/lib/python3.12/site-packages/torch/nn/x.py(1): f");
        assert!(home.ends_with("/lib/python3.12/site-packages/torch/nn/x.py(1): f"), "{home}");
    }

    #[test]
    fn a_user_named_like_a_library_does_not_rename_ops() {
        let anonymizer = Anonymizer::default().with_names_in("/home/aten/project/a.py");
        assert_eq!(anonymizer.text("aten::add"), "aten::add");
        assert_eq!(Anonymizer::default().with_name("secret").text("a secret"), {
            format!("a {}", pseudonym("host", "secret"))
        });
    }
}
