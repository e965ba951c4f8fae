//! Runs every program of `tests/programs` and compares it with what its first lines expect.
//!
//! `// value: JSON` is the value returned, `// throws: TEXT` a part of the error's message,
//! `// stdout: LINE` and `// stderr: LINE` are the printed lines, all of them in order. A program
//! that expects no printed line may print what it likes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::gateway::{Outcome, Run};

#[derive(Debug, Default)]
struct Expected {
    value: Option<Value>,
    throws: Option<String>,
    stdout: Vec<String>,
    stderr: Vec<String>,
}

impl Expected {
    fn read(program: &str) -> Self {
        let mut expected = Self::default();
        for line in program.lines().map_while(|line| line.strip_prefix("//")) {
            let Some((key, text)) = line.trim_start().split_once(':') else {
                continue;
            };
            let text = text.strip_prefix(' ').unwrap_or(text);
            match key {
                "value" => {
                    let value = serde_json::from_str(text);
                    expected.value = Some(value.unwrap_or_else(|error| panic!("{text}: {error}")));
                }
                "throws" => expected.throws = Some(text.to_owned()),
                "stdout" => expected.stdout.push(text.to_owned()),
                "stderr" => expected.stderr.push(text.to_owned()),
                _ => {}
            }
        }
        expected
    }

    /// What is not as expected, in words.
    fn differences(&self, outcome: &Outcome) -> Vec<String> {
        let mut differences = Vec::new();
        match (outcome.result(), &self.throws) {
            (Ok(value), None) => {
                let value = value.map(|json| serde_json::from_str::<Value>(json).unwrap());
                if value != self.value {
                    differences.push(format!("returned {value:?}, not {:?}", self.value));
                }
            }
            (Err(fault), Some(text)) if fault.message.contains(text) => {}
            (result, _) => differences.push(format!("ended with {result:?}")),
        }
        for (name, expected, printed) in [
            ("stdout", &self.stdout, &outcome.stdout),
            ("stderr", &self.stderr, &outcome.stderr),
        ] {
            let printed = printed.lines().collect::<Vec<_>>();
            if !expected.is_empty() && *expected != printed {
                differences.push(format!("{name} is {printed:?}, not {expected:?}"));
            }
        }
        differences
    }
}

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut programs = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|kind| kind == "js" || kind == "ts")
        })
        .collect::<Vec<_>>();
    programs.sort();
    programs
}

#[test]
fn every_program_does_what_its_first_lines_say() {
    let mut differences = Vec::new();
    let programs = programs();
    assert!(!programs.is_empty());
    for path in programs {
        let program = fs::read_to_string(&path).unwrap();
        let expected = Expected::read(&program);
        let outcome = Run::new(&program).go();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for difference in expected.differences(&outcome) {
            differences.push(format!("{name}: {difference}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
