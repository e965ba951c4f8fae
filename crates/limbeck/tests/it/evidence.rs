//! Every test that `docs/internals/security-tests.md` names exists, and every property has a test or is listed as not
//! claimed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Properties that version 0.1 covers beside the first ones.
const PROPERTIES: &[&str] = &["S42", "S46", "S54", "S99", "S100", "S103"];
/// Number of the last property of the series from S01.
const FIRST_PROPERTIES: u32 = 39;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/internals/security-tests.md")).unwrap()
}

/// Row of the table of claims.
struct Row {
    line: usize,
    property: String,
    evidence: Vec<String>,
    last_result: String,
}

/// Rows of the page with a property in the second cell, above the list of properties that are not claimed.
fn rows(page: &str) -> Vec<Row> {
    let claimed = page.split("## Not claimed").next().unwrap();
    let mut rows = Vec::new();
    for (at, line) in claimed.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", _, property, evidence, last_result, ""] = cells[..]
            && is_property(property)
        {
            rows.push(Row {
                line: at + 1,
                property: property.to_owned(),
                evidence: quoted(evidence),
                last_result: last_result.to_owned(),
            });
        }
    }
    rows
}

fn is_property(text: &str) -> bool {
    let number = text.strip_prefix('S');
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Texts between backquotes.
fn quoted(text: &str) -> Vec<String> {
    let parts = text.split('`').enumerate();
    let inside = parts.filter(|(index, _)| index % 2 == 1);
    inside.map(|(_, part)| part.to_owned()).collect()
}

/// Reason why `evidence`, a file or `FILE::TEST`, does not exist; `None` when it exists.
fn missing(evidence: &str) -> Option<String> {
    let (path, test) = match evidence.split_once("::") {
        Some((path, test)) => (path, Some(test)),
        None => (evidence, None),
    };
    let file = root().join(path);
    if !file.exists() {
        return Some(format!("there is no {path}"));
    }
    let test = test?;
    let source = std::fs::read_to_string(&file).unwrap();
    let defined = ["fn ", "def "]
        .iter()
        .any(|word| source.contains(&format!("{word}{test}(")));
    (!defined).then(|| format!("{path} has no test {test}"))
}

#[test]
fn every_test_that_the_security_page_names_exists() {
    let rows = rows(&page());
    assert!(rows.len() > 40, "the table was not read: {}", rows.len());
    let mut problems = Vec::new();
    for row in &rows {
        let place = format!(
            "docs/internals/security-tests.md:{}: {}",
            row.line, row.property
        );
        if row.evidence.is_empty() {
            problems.push(format!("{place} names no test"));
        }
        if row.last_result.is_empty() {
            problems.push(format!("{place} has no last result"));
        }
        let absent = row.evidence.iter().filter_map(|one| missing(one));
        problems.extend(absent.map(|why| format!("{place}: {why}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // The control: a missing test is detected.
    assert!(missing("crates/limbeck/tests/it/evidence.rs::no_such_test").is_some());
    assert!(missing("no/such/file.rs").is_some());
}

#[test]
fn every_property_is_claimed_with_a_test_or_listed_as_not_claimed() {
    let page = page();
    let claimed: BTreeSet<String> = rows(&page).into_iter().map(|row| row.property).collect();
    let (_, unclaimed) = page.split_once("## Not claimed").unwrap();
    let first = (1..=FIRST_PROPERTIES).map(|number| format!("S{number:02}"));
    let others = PROPERTIES.iter().map(|id| (*id).to_owned());
    for property in first.chain(others) {
        let listed = unclaimed.contains(&format!("| {property} |"));
        assert!(
            claimed.contains(&property) || listed,
            "{property} is neither claimed nor listed as not claimed"
        );
    }
}

#[test]
fn no_engine_and_no_parser_of_programs_is_linked_beside_the_credentials() {
    let engines = [
        "oxc",
        "ruff",
        "wasmtime",
        "rquickjs",
        "limbeck-analysis",
        "limbeck-worker",
        "limbeck-guest",
    ];
    let depends_on_engine = |name: &str| {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let (_, dependencies) = manifest.split_once("[dependencies]").unwrap();
        let found = engines.iter().filter(|engine| {
            let mut lines = dependencies.lines();
            lines.any(|line| line.starts_with(*engine))
        });
        found.count() > 0
    };
    let gateway = [
        "gateway", "domain", "catalog", "policy", "upstream", "store", "launcher", "wire",
    ];
    for name in gateway {
        assert!(!depends_on_engine(&format!("limbeck-{name}")), "{name}");
    }
    // The control: the crate with the engines is detected.
    assert!(depends_on_engine("limbeck-worker"));
}
