//! Check of the links in every Markdown file of the repository.
//!
//! A relative link must lead to a file, and its fragment to a heading of that file. Links to other sites are
//! not followed. A path of `docs/` that any other file names, such as a comment in the code, must exist too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::command::output;

/// Fails with a list of every broken link of the repository.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let files = output(Command::new("git").current_dir(root).args(["ls-files"]))?;
    let mut problems = Vec::new();
    let mut checked = 0;
    for file in files.lines() {
        // Files that are not text, and those that are deleted and not yet committed, have no links.
        let Ok(text) = fs::read_to_string(root.join(file)) else {
            continue;
        };
        if Path::new(file).extension().is_some_and(|end| end == "md") {
            for (line, target) in links(&text) {
                checked += 1;
                if let Some(problem) = broken(root, file, &target)? {
                    problems.push(format!("{file}:{line}: {problem}"));
                }
            }
        }
        for (line, page) in pages_named(&text) {
            checked += 1;
            if !root.join(&page).is_file() && !NO_PAGES.contains(&page.as_str()) {
                problems.push(format!("{file}:{line}: there is no {page}"));
            }
        }
    }
    ensure!(
        problems.is_empty(),
        "broken links:\n{}",
        problems.join("\n")
    );
    ensure!(checked > 0, "the documents have no links");
    eprintln!("{checked} links of documents lead somewhere");
    Ok(())
}

/// Paths that are not pages of this repository: test data names one.
const NO_PAGES: [&str; 1] = ["docs/index.md"];

/// Relative links of a Markdown text with their line numbers, outside of code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        for part in without_code(line).split("](").skip(1) {
            let Some((target, _)) = part.split_once(')') else {
                continue;
            };
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push((at + 1, target.to_owned()));
            }
        }
    }
    found
}

/// A line without its inline code. Code spans in this repository do not cross lines.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Paths of the form `docs/….md` in a text, with their line numbers.
fn pages_named(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for (start, _) in line.match_indices("docs/") {
            let in_word = line[..start]
                .ends_with(|before: char| before.is_alphanumeric() || "/.-_".contains(before));
            let end =
                line[start..].find(|c: char| !(c.is_ascii_alphanumeric() || "/.-_".contains(c)));
            let path = &line[start..end.map_or(line.len(), |length| start + length)];
            let path = path.trim_end_matches('.');
            if !in_word && path.ends_with(".md") {
                found.push((at + 1, path.to_owned()));
            }
        }
    }
    found
}

/// Reason why the link `target` of `file` is broken; `None` when it is not.
fn broken(root: &Path, file: &str, target: &str) -> anyhow::Result<Option<String>> {
    let (path, fragment) = match target.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (target, None),
    };
    let destination: PathBuf = if path.is_empty() {
        root.join(file)
    } else {
        root.join(file).with_file_name(path)
    };
    if !destination.exists() {
        return Ok(Some(format!("there is no {target}")));
    }
    let Some(fragment) = fragment else {
        return Ok(None);
    };
    let text = fs::read_to_string(&destination)
        .with_context(|| format!("read {}", destination.display()))?;
    Ok((!anchors(&text).contains(fragment))
        .then(|| format!("{target}: no heading has this anchor")))
}

/// Anchors of the headings of a page, by the rule of GitHub for headings that differ.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let title = heading.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{anchors, broken, check, links, pages_named};
    use std::path::Path;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("xtask is in the repository")
    }

    #[test]
    fn every_link_of_the_repository_leads_somewhere() {
        check(root()).unwrap();
    }

    #[test]
    fn links_in_code_and_links_to_other_sites_are_not_checked() {
        let text =
            "[a](b.md), `x[1](y)` and [c](https://example.org)\n```ts\n[d](e.md)\n```\n[f](#g)";
        assert_eq!(links(text), [(1, "b.md".to_owned()), (5, "#g".to_owned())]);
    }

    #[test]
    fn a_missing_file_and_a_missing_heading_are_broken_links() {
        assert_eq!(broken(root(), "README.md", "docs/README.md").unwrap(), None);
        assert!(
            broken(root(), "README.md", "docs/index.md")
                .unwrap()
                .is_some()
        );
        assert!(
            broken(root(), "README.md", "#no-such-heading")
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn an_anchor_is_the_heading_in_lower_case_with_hyphens_and_without_punctuation() {
        let anchors = anchors("# `limbeck run`: a Program\n\ntext\n");
        assert!(anchors.contains("limbeck-run-a-program"), "{anchors:?}");
    }

    #[test]
    fn pages_are_found_in_comments_and_not_inside_longer_paths() {
        let text = "//! See `docs/README.md`.\n/// other/docs/y.md docs/z.rs";
        assert_eq!(pages_named(text), [(1, "docs/README.md".to_owned())]);
    }
}
