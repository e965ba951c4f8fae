//! Names of the tests that failed, from the reports in JUnit's format that nextest and pytest write.
//!
//! Both print a test's output where it failed. The names are repeated in the summary of a chore, which is read first.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::command;

/// Runs tests that write `report`, in which files are relative to `directory`.
///
/// # Errors
///
/// As [`command::run`]; when the report has tests that failed, with their names, one a line.
pub(crate) fn run(
    tests: &mut Command,
    report: &Path,
    directory: Option<&str>,
) -> anyhow::Result<()> {
    // Tests that do not build write no report, and that of an earlier run would stay. There may be none.
    let _ = fs::remove_file(report);
    let Err(error) = command::run(tests) else {
        return Ok(());
    };
    let report = fs::read_to_string(report).unwrap_or_default();
    let failed = failed(&report, directory.unwrap_or("."));
    if failed.is_empty() {
        return Err(error);
    }
    let tests = if failed.len() == 1 { "test" } else { "tests" };
    bail!("{} {tests} failed\n{}", failed.len(), failed.join("\n"))
}

/// The tests of `report` with a failure or an error, by the names that a run of each alone is given.
fn failed(report: &str, directory: &str) -> Vec<String> {
    let cases = report.split("<testcase ").skip(1);
    let mut failed: Vec<String> = cases
        .filter_map(|case| {
            // One that passed may have no end of its own; what follows it has neither of the two then.
            let case = case.split("</testcase>").next()?;
            let is_failed = ["<failure", "<error"].iter().any(|tag| case.contains(tag));
            let start = case.split('>').next()?;
            is_failed.then(|| name_of(start, directory))
        })
        .collect();
    failed.dedup();
    failed
}

/// pytest's `FILE::NAME`, or nextest's name of the binary and of the test.
fn name_of(start: &str, directory: &str) -> String {
    let name = attribute(start, "name").unwrap_or_default();
    match (attribute(start, "file"), attribute(start, "classname")) {
        (Some(file), _) => format!("{directory}/{file}::{name}"),
        (None, Some(binary)) => format!("{binary} {name}"),
        (None, None) => name,
    }
}

/// The value of an attribute in the start of an element.
fn attribute(start: &str, name: &str) -> Option<String> {
    let key = format!("{name}=\"");
    let at = start
        .match_indices(&key)
        .find(|(at, _)| *at == 0 || start[..*at].ends_with(' '))?
        .0;
    let value = start[at + key.len()..].split('"').next()?;
    // The ampersand comes last, so that no escape is made of what was one character.
    let escapes = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    let mut value = value.to_owned();
    for (escape, character) in escapes {
        value = value.replace(escape, character);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::failed;

    #[test]
    fn of_a_report_of_nextest_the_failed_tests_are_named() {
        let report = r#"<testsuites name="nextest-run"><testsuite name="limbeck-wire" tests="3" errors="0" failures="2">
            <testcase name="codec::good" classname="limbeck-wire" time="0.1"></testcase>
            <testcase name="codec::bad" classname="limbeck-wire"><failure message="x" type="test failure">a &lt;testcase b</failure></testcase>
            <testcase name="codec::slow" classname="limbeck-wire::it"><failure type="test timeout"/></testcase>
            </testsuite></testsuites>"#;
        assert_eq!(
            failed(report, "."),
            ["limbeck-wire codec::bad", "limbeck-wire::it codec::slow"]
        );
    }

    #[test]
    fn of_a_report_of_pytest_the_failed_tests_are_named_with_their_file() {
        let report = r#"<testsuites><testsuite name="pytest" errors="1" failures="1"><testcase classname="test_a" name="test_good" file="test_a.py" line="3" time="0.1" /><testcase classname="test_a" name="test_bad[1 &lt; 2]" file="test_a.py" line="9"><failure message="m">text</failure></testcase><testcase classname="test_a" name="test_world" file="test_a.py"><error message="failed on setup">text</error></testcase><testcase name="test_skipped" file="test_a.py"><skipped /></testcase></testsuite></testsuites>"#;
        assert_eq!(
            failed(report, "tests/a"),
            [
                "tests/a/test_a.py::test_bad[1 < 2]",
                "tests/a/test_a.py::test_world"
            ]
        );
    }

    #[test]
    fn no_report_names_no_test() {
        assert!(failed("", ".").is_empty());
    }
}
