//! Checks that each page of `docs` is short, is in the table of contents, and has no broken links.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Maximum number of words on a page.
const WORDS: usize = 1500;

/// Folders with Markdown files, or with source files that mention pages.
const FOLDERS: [&str; 9] =
    ["docs", "src", "crates", "tests", "examples", "benches", "python", "fuzz", ".github"];

/// Folders with dependencies or expected output, which are not checked.
const SKIPPED: [&str; 5] = ["node_modules", "target", "data", "seeds", "corpus"];

/// All files below a folder, at any depth, with one of the given file name endings; sorted by path.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !SKIPPED.contains(&name.as_str()) {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The files with one of the given endings, directly in the repository root and in all listed folders.
fn all(endings: &[&str]) -> Vec<PathBuf> {
    let root =
        fs::read_dir(".").expect("the repository").map(|entry| entry.expect("a file").path());
    let is_wanted = |path: &PathBuf| {
        path.is_file() && endings.iter().any(|ending| path.to_string_lossy().ends_with(ending))
    };
    let mut found: Vec<PathBuf> = root.filter(is_wanted).collect();
    found.extend(FOLDERS.iter().flat_map(|folder| files(Path::new(folder), endings)));
    found.iter().map(|path| normal(path)).collect()
}

/// The path with `.` and `..` resolved.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(part),
        }
    }
    normal
}

/// All lines of a page except fenced code, each with its line number.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fence = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fence = !fence;
        } else if !fence {
            lines.push((at + 1, line));
        }
    }
    lines
}

/// The anchors that GitHub and mdBook derive from the headings on a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|&c| c.is_alphanumeric() || "-_ ".contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// The targets of the links on a line.
fn links(line: &str) -> Vec<&str> {
    let starts = line.match_indices("](").map(|(at, found)| &line[at + found.len()..]);
    let targets = starts.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.map(|target| target.split(' ').next().unwrap_or_default()).collect()
}

/// The problem with a link on a page; `None` if the link is valid.
fn fault(page: &Path, link: &str) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let folder = page.parent().unwrap_or(Path::new(""));
    let target = if path.is_empty() { page.to_path_buf() } else { normal(&folder.join(path)) };
    if !target.exists() {
        return Some("names no file");
    }
    if fragment.is_empty() || target.extension().is_none_or(|ending| ending != "md") {
        return None;
    }
    let text = fs::read_to_string(target).expect("a page");
    (!anchors(&text).contains(fragment)).then_some("names no heading")
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut faults = String::new();
    let mut checked = 0;
    for page in all(&[".md", "llms.txt"]) {
        // The third-party notices are generated, so the links in them are not checked.
        if page.ends_with("THIRD-PARTY.md") {
            continue;
        }
        let text = fs::read_to_string(&page).expect("a page");
        for (line, text) in prose(&text) {
            for link in links(text) {
                checked += 1;
                if let Some(fault) = fault(&page, link) {
                    writeln!(faults, "{}:{line}: {link} {fault}", page.display()).expect("a text");
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(checked > 200, "{checked} links");
}

#[test]
fn a_link_to_nothing_is_found() {
    let page = Path::new("docs/README.md");
    assert_eq!(fault(page, "no_such_page.md"), Some("names no file"));
    assert_eq!(fault(page, "concepts/glossary.md#no-such-term"), Some("names no heading"));
    assert_eq!(fault(page, "concepts/glossary.md#glossary"), None);
    assert_eq!(anchor("`diff_stats.csv`: of A and B"), "diff_statscsv-of-a-and-b");
    assert_eq!(links("[a](b.md) and ![c](d.png \"e\")"), ["b.md", "d.png"]);
}

/// Source files must mention only pages that exist; comments and messages refer to pages as `docs/…`.
#[test]
fn every_page_that_a_source_names_exists() {
    let mut faults = String::new();
    for source in all(&[".rs", ".py", ".pyi", ".toml", ".mjs", ".sh", ".yml", "justfile"]) {
        if source.ends_with("tests/site.rs") {
            continue;
        }
        let text = fs::read_to_string(&source).expect("a source");
        for (at, _) in text.match_indices("docs/") {
            let is_in_path = |c: char| c.is_alphanumeric() || "-_./".contains(c);
            let name: String = text[at..].chars().take_while(|&c| is_in_path(c)).collect();
            let is_page = name.ends_with(".md") || name.ends_with(".json");
            let is_longer = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if is_page && !is_longer && !Path::new(&name).exists() {
                writeln!(faults, "{}: {name}", source.display()).expect("a text");
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn the_table_of_contents_names_every_page() {
    let contents = fs::read_to_string("docs/SUMMARY.md").expect("the table of contents");
    let named: BTreeSet<PathBuf> = prose(&contents)
        .iter()
        .flat_map(|(_, line)| links(line))
        .map(|link| normal(&Path::new("docs").join(link)))
        .collect();
    for page in files(Path::new("docs"), &[".md"]) {
        assert!(
            page.ends_with("SUMMARY.md") || named.contains(&page),
            "{} is not in docs/SUMMARY.md",
            page.display()
        );
    }
}

#[test]
fn a_page_has_at_most_1500_words() {
    for page in files(Path::new("docs"), &[".md"]) {
        let words = fs::read_to_string(&page).expect("a page").split_whitespace().count();
        assert!(words <= WORDS, "{} has {words} words: split it", page.display());
    }
}
