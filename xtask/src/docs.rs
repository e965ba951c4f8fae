//! Check of the documents: their links, and every fenced block of README.md, CONTRIBUTING.md and docs/.
//!
//! - `sh`: a script, run with `bash -eu` and `limbeck` on its PATH, in a directory and home of the
//!   document's own, so that a later block sees the files of an earlier one. Blocks of the README and
//!   of CONTRIBUTING start in the repository.
//! - `ts`, `py`: a program, run with `limbeck run` against the sample server of `limbeck demo`.
//! - `json`: must parse, and is a configuration when it has `mcpServers`, read by `limbeck tools`. Its servers need
//!   not be there.
//! - `toml`: a configuration.
//! - `text`: output or a picture; not run.
//!
//! A block of any other kind fails the check, so that no block is left out by a typing error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, bail, ensure};

mod links;

/// Commands that run this check themselves.
const RUNNING_ALREADY: [&str; 2] = ["cargo xtask check", "cargo xtask test"];

struct Block {
    document: PathBuf,
    line: usize,
    kind: String,
    text: String,
}

/// Checks every link and runs every block of every document.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    links::check(root)?;
    let mut run = 0;
    for document in documents(root)? {
        let blocks = blocks(&document)?;
        let place = Place::new(root, &document)?;
        for block in blocks {
            place
                .run(&block)
                .with_context(|| format!("{}:{}", block.document.display(), block.line))?;
            run += 1;
        }
    }
    ensure!(run > 0, "the documents have no blocks");
    eprintln!("{run} blocks of documents passed");
    Ok(())
}

/// README.md, CONTRIBUTING.md and the pages below `docs/`.
fn documents(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut documents = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let mut directories = vec![root.join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents.sort();
    Ok(documents)
}

fn blocks(document: &Path) -> anyhow::Result<Vec<Block>> {
    let text = fs::read_to_string(document)?;
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(kind)) => {
                open = Some(Block {
                    document: document.to_owned(),
                    line: at + 1,
                    kind: kind.trim().to_owned(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    ensure!(
        open.is_none(),
        "a block of {} is not closed",
        document.display()
    );
    Ok(blocks)
}

/// Directories and environment for the blocks of one document.
struct Place {
    start: PathBuf,
    scratch: PathBuf,
    path: String,
}

impl Place {
    fn new(root: &Path, document: &Path) -> anyhow::Result<Self> {
        let name = document.strip_prefix(root)?.with_extension("");
        let scratch = root.join("target/documents").join(name);
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(scratch.join("home"))?;
        fs::create_dir_all(scratch.join("work"))?;
        fs::write(
            scratch.join("demo.json"),
            r#"{"mcpServers": {"shop": {"command": "limbeck", "args": ["demo-upstream"]}}}"#,
        )?;
        let in_docs = document.starts_with(root.join("docs"));
        let path = format!(
            "{}:{}",
            root.join("target/release").display(),
            path_variable()?
        );
        Ok(Self {
            start: if in_docs {
                scratch.join("work")
            } else {
                root.to_owned()
            },
            scratch,
            path,
        })
    }

    fn run(&self, block: &Block) -> anyhow::Result<()> {
        match block.kind.as_str() {
            "sh" if RUNNING_ALREADY.contains(&block.text.trim()) => Ok(()),
            "sh" => self.script(&block.text),
            "ts" | "py" => self.program(block),
            "json" | "toml" => self.configuration(block),
            "text" => Ok(()),
            kind => bail!("no way to check a block of kind `{kind}`"),
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.start)
            .env("PATH", &self.path)
            .stdin(Stdio::null());
        command
    }

    /// Runs a script. `limbeck` has a home of its own; cargo needs the user's.
    fn script(&self, text: &str) -> anyhow::Result<()> {
        let mut command = self.command("bash");
        command.args(["-euo", "pipefail", "-c", text]);
        if !text.contains("cargo ") {
            command.env("HOME", self.scratch.join("home"));
        }
        to_end(&mut command)
    }

    fn program(&self, block: &Block) -> anyhow::Result<()> {
        let file = self.scratch.join(format!("program.{}", block.kind));
        fs::write(&file, &block.text)?;
        let mut command = self.command("limbeck");
        command
            .args(["--no-discover", "--config"])
            .arg(self.scratch.join("demo.json"))
            .arg("run")
            .arg(&file)
            .env("HOME", self.scratch.join("home"));
        to_end(&mut command)
    }

    fn configuration(&self, block: &Block) -> anyhow::Result<()> {
        let file = self.scratch.join(format!("block.{}", block.kind));
        fs::write(&file, &block.text)?;
        if block.kind == "json" && !block.text.contains("mcpServers") {
            let _: serde_json::Value = serde_json::from_str(&block.text)?;
            return Ok(());
        }
        let mut command = self.command("limbeck");
        command
            .args(["--no-discover", "--config"])
            .arg(&file)
            .args(["tools", "--json"])
            .env("HOME", self.scratch.join("home"));
        let output = command
            .output()
            .with_context(|| format!("start {command:?}"))?;
        ensure!(
            was_read(&output),
            "{command:?} ended with {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}

/// Whether `limbeck tools --json` read its configuration. It ends with 1 when the tools of a server cannot be listed, and
/// most servers of the documents are not installed where this check runs; with 2 when the configuration is wrong.
fn was_read(output: &Output) -> bool {
    let listed: Option<serde_json::Value> = serde_json::from_slice(&output.stdout).ok();
    let servers = listed
        .as_ref()
        .and_then(|listed| listed["servers"].as_array());
    match output.status.code() {
        Some(0) => true,
        Some(1) => servers.is_some_and(|servers| !servers.is_empty()),
        _ => false,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore runs in the environment of the person who starts it"
)]
fn path_variable() -> anyhow::Result<String> {
    std::env::var("PATH").context("PATH is not set")
}

fn to_end(command: &mut Command) -> anyhow::Result<()> {
    let output = command
        .output()
        .with_context(|| format!("start {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
