//! Third-party type checkers, as `cargo xtask test` installs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory that a checker reads.
pub(crate) struct Place {
    directory: PathBuf,
}

/// Lines of a program, each with the expected result.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) text: String,
    lines: usize,
}

impl Program {
    pub(crate) fn push(&mut self, line: &str) {
        assert!(!line.contains('\n'), "{line}");
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools")
}

impl Place {
    /// An empty directory called `name`.
    pub(crate) fn new(name: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("a directory of the test");
        Self { directory }
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.directory.join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("its directory");
        fs::write(&path, text).expect("a file of the test");
    }

    /// Output of `tsc --strict`; empty when it accepts the files.
    pub(crate) fn tsc(&self, files: &[&str]) -> String {
        let script = tools().join("node/node_modules/typescript/bin/tsc");
        assert!(
            script.is_file(),
            "{} is missing; `cargo xtask test` installs it",
            script.display()
        );
        let mut command = Command::new("node");
        command
            .arg(script)
            .args([
                "--strict", "--noEmit", "--target", "es2022", "--pretty", "false",
            ])
            .args(files);
        self.run(command)
    }

    /// Output of `mypy --strict`; empty when it accepts the files.
    pub(crate) fn mypy(&self, files: &[&str]) -> String {
        let python = tools().join("venv/bin/python");
        assert!(
            python.is_file(),
            "{} is missing; `cargo xtask test` installs it",
            python.display()
        );
        let mut command = Command::new(python);
        command
            .args([
                "-m",
                "mypy",
                "--strict",
                "--no-color-output",
                "--no-error-summary",
                "--cache-dir",
                "cache",
            ])
            .args(files);
        self.run(command)
    }

    fn run(&self, mut command: Command) -> String {
        let output = command
            .current_dir(&self.directory)
            .output()
            .expect("a checker starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), said.is_empty(), "{said}");
        said
    }

    /// The first complaints of a checker, each with the line it is about.
    pub(crate) fn explained(&self, said: &str) -> String {
        let mut text = String::new();
        for complaint in said.lines().take(40) {
            text.push_str(&complaint.chars().take(400).collect::<String>());
            let mut parts = complaint.split(['(', ',', ':']);
            if let (Some(file), Some(Ok(number))) =
                (parts.next(), parts.next().map(str::parse::<usize>))
                && let Ok(source) = fs::read_to_string(self.directory.join(file))
            {
                for line in source.lines().skip(number.saturating_sub(2)).take(2) {
                    text.push_str(&format!(
                        "\n    {}",
                        line.chars().take(600).collect::<String>()
                    ));
                }
            }
            text.push('\n');
        }
        format!("{} complaints\n{text}", said.lines().count())
    }
}
