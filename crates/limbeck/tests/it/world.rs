//! Isolated home, working directory and state directory of one test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Executable under test.
pub(crate) const LIMBECK: &str = env!("CARGO_BIN_EXE_limbeck");

/// Directories and environment of the processes of one test.
pub(crate) struct World {
    directory: TempDir,
}

/// Exit code and output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    /// Creates an empty home and an empty working directory.
    pub(crate) fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["home", "work"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    /// Configures the sample server as `shop` in `.mcp.json` of the working directory.
    pub(crate) fn with_shop() -> Self {
        let world = Self::empty();
        let shop = json!({"command": LIMBECK, "args": ["demo-upstream"]});
        world.file(
            ".mcp.json",
            &json!({"mcpServers": {"shop": shop}}).to_string(),
        );
        world
    }

    /// Has the user trust what `server` says of its tools.
    pub(crate) fn trusting(self, server: &str) -> Self {
        let directory = self.home().join(".config/limbeck");
        std::fs::create_dir_all(&directory).unwrap();
        let text = format!("[policy]\npreset = 'observe'\ntrust_annotations = ['{server}']\n");
        std::fs::write(directory.join("config.toml"), text).unwrap();
        self
    }

    /// The directory that has everything of this world.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Writes a file into the working directory.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.work().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Command of the executable with `arguments` in this world, with empty standard input. Servers of files in the
    /// working directory are trusted.
    pub(crate) fn command<I, A>(&self, arguments: I) -> Command
    where
        I: IntoIterator<Item = A>,
        A: AsRef<std::ffi::OsStr>,
    {
        self.command_of(Path::new(LIMBECK), arguments)
    }

    /// [`World::command`] of a copy of the executable.
    pub(crate) fn command_of<I, A>(&self, executable: &Path, arguments: I) -> Command
    where
        I: IntoIterator<Item = A>,
        A: AsRef<std::ffi::OsStr>,
    {
        let mut command = Command::new(executable);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", search_path())
            .env("LIMBECK_TRUST_PROJECT", "1")
            .current_dir(self.work())
            .stdin(Stdio::null());
        command
    }

    /// Runs the executable to its end.
    pub(crate) fn limbeck<const N: usize>(&self, arguments: [&str; N]) -> CommandOutcome {
        CommandOutcome::of(self.command(arguments).output().unwrap())
    }

    /// Runs the executable with `input` on standard input.
    pub(crate) fn limbeck_reading<const N: usize>(
        &self,
        arguments: [&str; N],
        input: &str,
    ) -> CommandOutcome {
        let path = self.directory.path().join("stdin");
        std::fs::write(&path, input).unwrap();
        let mut command = self.command(arguments);
        command.stdin(std::fs::File::open(path).unwrap());
        CommandOutcome::of(command.output().unwrap())
    }

    /// Runs a program with `run --json` and returns its envelope.
    pub(crate) fn envelope(&self, program: &str) -> Value {
        self.limbeck_reading(["run", "-", "--json"], program).json()
    }
}

impl CommandOutcome {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Standard output as one JSON object on one line.
    pub(crate) fn json(&self) -> Value {
        let mut lines = self.stdout.lines();
        let line = lines
            .next()
            .unwrap_or_else(|| panic!("no output: {self:?}"));
        assert_eq!(lines.next(), None, "more than one line: {self:?}");
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts the exit code and returns the outcome.
    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// `PATH` of this process.
#[expect(
    clippy::disallowed_methods,
    reason = "tests pass one variable on, and name it here"
)]
pub(crate) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Processes whose working directory is in `directory`. Servers inherit the working directory of their command, and
/// must end with it.
pub(crate) fn processes_in(directory: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let there = std::fs::read_link(entry.path().join("cwd"));
        if there.is_ok_and(|there| there.starts_with(directory)) {
            found.push(pid);
        }
    }
    found
}
