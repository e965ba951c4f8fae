//! Check that every file and every test that a document names exists.
//!
//! A document names them between backquotes. `FILE::NAME` is a test, when the file is of Rust or Python. Without
//! `::NAME` a text is a path when it begins with one of [`DIRECTORIES`]. A path counts from the root of the repository
//! or from a directory above its page; in ARCHITECTURE.md it may also begin with a crate, without `limbeck-`.
//! Fenced blocks are not read. A path with white space or `*` is not looked for.
//!
//! [`FINDINGS`] also has one row for each finding of a section: of two, one is out of date.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::command;

/// Directories of the repository that documents name files of.
const DIRECTORIES: [&str; 7] = [
    "attacks", "benches", "crates", "docs", "fuzz", "tests", "xtask",
];
/// The page of findings and their ends.
const FINDINGS: &str = "docs/internals/review.md";
/// Pages that are lists of tests. One in which none is found was not read.
const LISTS: [&str; 3] = [
    "docs/internals/bad-inputs.md",
    FINDINGS,
    "docs/internals/security-tests.md",
];

/// Looks for everything that the documents name.
///
/// # Errors
///
/// When something does not exist, with the page, the line and what it names; when a section has two rows of one finding.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut git = Command::new("git");
    let pages = command::output(git.args(["ls-files", "*.md"]).current_dir(root))?;
    let mut problems = Vec::new();
    for page in pages.lines() {
        let text = fs::read_to_string(root.join(page)).with_context(|| format!("read {page}"))?;
        let mut tests = 0;
        for (line, name) in quoted(&text) {
            tests += usize::from(test(&name).is_some());
            if let Some(problem) = problem(root, page, &name) {
                problems.push(format!("{page}:{line}: {problem}"));
            }
        }
        if page == FINDINGS {
            for (line, first) in repeated_rows(&text) {
                let problem = format!("the finding of line {first} has a second row");
                problems.push(format!("{page}:{line}: {problem}"));
            }
        }
        ensure!(
            tests > 0 || !LISTS.contains(&page),
            "{page} names no test, so it was not read"
        );
    }
    if !problems.is_empty() {
        bail!(
            "documents name what does not exist, or a finding twice:\n{}",
            problems.join("\n")
        );
    }
    Ok(())
}

/// The texts between backquotes outside of fenced blocks, each with the line that it begins in.
fn quoted(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut is_fenced = false;
    for (at, line) in text.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        if is_fenced || is_fence || line.trim().is_empty() {
            // A backquote that is not closed ends with its paragraph, so that it does not change the pairs below.
            open = None;
            continue;
        }
        for (index, part) in line.split('`').enumerate() {
            if index > 0 {
                match open.take() {
                    Some(done) => found.push(done),
                    None => open = Some((at + 1, String::new())),
                }
            }
            if let Some((_, text)) = &mut open {
                text.push_str(part);
            }
        }
        if let Some((_, text)) = &mut open {
            text.push(' ');
        }
    }
    found
}

/// Rows of tables whose first cell another row above them in their section has: their lines, and those of these rows.
fn repeated_rows(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut rows: HashMap<&str, usize> = HashMap::new();
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            rows.clear();
        }
        let cell = line.strip_prefix("| ").map(first_cell);
        // Every table of a section has the same head.
        let Some(cell) = cell.filter(|cell| *cell != "finding") else {
            continue;
        };
        match rows.get(cell) {
            Some(first) => found.push((at + 1, *first)),
            None => {
                rows.insert(cell, at + 1);
            }
        }
    }
    found
}

/// The text up to the first bar that ends a cell.
fn first_cell(row: &str) -> &str {
    let mut bars = row.match_indices('|').map(|(at, _)| at);
    let end = bars.find(|at| !row[..*at].ends_with('\\'));
    row[..end.unwrap_or(row.len())].trim()
}

/// The file and the name of a test, when `name` has the form of one.
fn test(name: &str) -> Option<(&str, &str)> {
    let (path, test) = name.split_once("::")?;
    let is_source = path.ends_with(".rs") || path.ends_with(".py");
    is_source.then_some((path, test))
}

/// What is wrong with `name`, a text that `page` has between backquotes; `None` when it names nothing that is looked
/// for, or something that exists.
fn problem(root: &Path, page: &str, name: &str) -> Option<String> {
    let Some((path, test)) = test(name) else {
        let (first, _) = name.split_once('/')?;
        let is_one_file = !name.contains(|it: char| it.is_whitespace() || it == '*');
        let is_path = DIRECTORIES.contains(&first) || in_crate(root, page, name).is_some();
        let is_missing = is_one_file && is_path && find(root, page, name).is_none();
        return is_missing.then(|| format!("there is no {name}"));
    };
    let Some(file) = find(root, page, path) else {
        return Some(format!("there is no {path}"));
    };
    let source = fs::read_to_string(file).unwrap_or_default();
    let has_test = if path.ends_with(".rs") {
        has_rust_test(&source, test)
    } else {
        has_python_test(&source, test)
    };
    (!has_test).then(|| format!("{path} has no test `{test}`"))
}

/// The file or directory that `page` calls `path`, if it exists.
fn find(root: &Path, page: &str, path: &str) -> Option<PathBuf> {
    let above = Path::new(page).ancestors().skip(1);
    let places = above.map(|directory| root.join(directory).join(path));
    let mut places = places.chain(in_crate(root, page, path));
    places.find(|place| place.exists())
}

/// `path` below the crate that it begins with, on the page that leaves out `crates/limbeck-`.
fn in_crate(root: &Path, page: &str, path: &str) -> Option<PathBuf> {
    let (name, rest) = path.split_once('/')?;
    let crates = root.join("crates");
    let mut places = [crates.join(name), crates.join(format!("limbeck-{name}"))].into_iter();
    let directory = places.find(|place| place.is_dir())?;
    (page == "ARCHITECTURE.md").then(|| directory.join(rest))
}

/// Whether `source` has a function `name` under the attribute `test`, of the language or of a library.
fn has_rust_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let declaration = format!("fn {name}(");
    let is_declaration = |line: &str| {
        let before = line.find(&declaration).map(|at| &line[..at]);
        before.is_some_and(|before| matches!(before, "" | "async " | "pub " | "pub async "))
    };
    let is_attribute = |line: &&str| {
        let attribute = line.strip_prefix("#[");
        let path = attribute.and_then(|rest| rest.split(['(', ']']).next());
        path.is_some_and(|path| path == "test" || path.ends_with("::test"))
    };
    lines.iter().enumerate().any(|(at, line)| {
        // Between a function and the item before it are only its comments and attributes.
        let above = lines[..at].iter().rev();
        let mut above = above.take_while(|line| !line.is_empty() && !line.ends_with('}'));
        is_declaration(line) && above.any(is_attribute)
    })
}

/// Whether `source` has a function or method `name` that pytest runs.
fn has_python_test(source: &str, name: &str) -> bool {
    let declaration = format!("def {name}(");
    let mut lines = source.lines().map(str::trim_start);
    name.starts_with("test_")
        && lines.any(|line| {
            let line = line.strip_prefix("async ").unwrap_or(line);
            line.starts_with(&declaration)
        })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{has_python_test, has_rust_test, problem, quoted, repeated_rows};

    #[test]
    fn texts_between_backquotes_are_found_with_their_lines() {
        let text = "a `b` c `d\ne` f\n\n```sh\n`no`\n```\none ` alone\n\n`g`";
        let expected = [(1, "b"), (1, "d e"), (9, "g")];
        assert_eq!(
            quoted(text),
            expected.map(|(line, text)| (line, text.to_owned()))
        );
    }

    #[test]
    fn a_finding_with_two_rows_in_a_section_is_found() {
        let head = "| finding | end |\n|---|---|\n";
        let text = format!(
            "## One\n{head}| 1: a | mended |\n| 1: a \\| b | open |\n| 1: a | open |\n\n{head}| 2 | open |\n## Two\n{head}| 1: a | open |\n"
        );
        assert_eq!(repeated_rows(&text), [(6, 4)]);
        // The control: the same finding in another section, and one that has a bar in it.
        let once = text.replace("| 1: a | open |\n\n", "\n");
        assert!(repeated_rows(&once).is_empty());
    }

    #[test]
    fn a_test_of_rust_is_a_function_with_the_attribute() {
        let source = "#[test]\nfn one() {\n    two();\n}\n\nfn two() {}\n\n\
            /// Waits.\n#[tokio::test(flavor = \"multi_thread\")]\n#[ignore]\nasync fn three() {}\n";
        assert!(has_rust_test(source, "one"));
        assert!(has_rust_test(source, "three"));
        assert!(!has_rust_test(source, "two"), "a function beside a test");
        assert!(!has_rust_test(source, "hree"), "a part of a name");
        assert!(!has_rust_test("// fn one()", "one"), "a comment");
    }

    #[test]
    fn a_test_of_python_is_a_function_that_pytest_runs() {
        let source = "def test_one(world) -> None:\n    pass\n\nclass Of:\n    async def test_two(self):\n        pass\n\ndef three():\n    pass\n";
        assert!(has_python_test(source, "test_one"));
        assert!(has_python_test(source, "test_two"));
        assert!(!has_python_test(source, "test_on"), "a part of a name");
        assert!(!has_python_test(source, "three"), "no test");
    }

    #[test]
    fn what_a_document_names_and_does_not_exist_is_a_problem() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        let source = root.join("crates/limbeck-store/src/a.rs");
        fs::create_dir_all(source.parent().expect("a directory")).expect("created");
        fs::write(&source, "#[test]\nfn holds() {}\n").expect("written");
        let is_problem = |page: &str, name: &str| problem(root, page, name).is_some();

        assert!(!is_problem(
            "docs/glossary.md",
            "crates/limbeck-store/src/a.rs"
        ));
        assert!(is_problem(
            "docs/glossary.md",
            "crates/limbeck-store/src/b.rs"
        ));
        assert!(!is_problem(
            "docs/glossary.md",
            "crates/limbeck-store/src/a.rs::holds"
        ));
        assert!(is_problem(
            "docs/glossary.md",
            "crates/limbeck-store/src/a.rs::lacks"
        ));
        assert!(is_problem(
            "docs/glossary.md",
            "crates/limbeck-store/src/b.rs::holds"
        ));
        assert!(is_problem("docs/glossary.md", "src/a.rs::holds"));
        // A name with white space, as after a line break, or with a star names no test.
        assert!(is_problem(
            "docs/glossary.md",
            "crates/limbeck-store/src/a.rs:: holds"
        ));
        assert!(is_problem("docs/glossary.md", "crates/*/src/a.rs::holds"));
        // Only the page of the crates leaves out where they are.
        assert!(!is_problem("ARCHITECTURE.md", "store/src/a.rs"));
        assert!(is_problem("ARCHITECTURE.md", "store/src/b.rs"));
        // A page of a crate names the files of its crate.
        assert!(!is_problem(
            "crates/limbeck-store/README.md",
            "src/a.rs::holds"
        ));
        // These are no paths of the repository.
        for name in [
            "tools/list",
            "store::open",
            "~/.config/a.toml",
            "crates/limbeck-*",
            "store/src/b.rs",
        ] {
            assert!(!is_problem("docs/glossary.md", name), "{name}");
        }
    }
}
