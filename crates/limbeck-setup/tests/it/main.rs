//! Configuration as users write it: files on disk in, servers and messages out.

#![expect(clippy::unwrap_used, reason = "a helper that fails, fails its test")]

mod budgets;
mod clients;
mod discovery;
mod earlier_systems;
mod embeddings;
mod examples;
mod hostile;
#[cfg(unix)]
mod llm;
mod managed;
mod notify;
mod oauth;
mod own_file;
mod policy;
mod trust;

use std::path::{Path, PathBuf};

use limbeck_setup::{
    ConfigError, Configuration, Discovery, OperatingSystem, Severity, TrustPolicy, World,
};

/// A world with a fixed environment.
fn world(home: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> World {
    let variables = [
        ("TOKEN", "s3cret"),
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/me"),
        ("SHELL", "() { :; }"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    World {
        home: Some(home.into()),
        ..World::new(OperatingSystem::CURRENT, cwd, variables.into())
    }
}

/// Loads only named files, as `--no-discover --config FILE` does.
fn given(files: &[&Path]) -> Result<Configuration, ConfigError> {
    let files: Vec<PathBuf> = files.iter().map(|file| file.to_path_buf()).collect();
    limbeck_setup::load(&Discovery {
        world: &world("/home/me", "/project"),
        config_files: &files,
        discover: false,
        managed: None,
        trust_policy: TrustPolicy::Everything,
    })
}

/// A temporary directory with a home and a project directory.
struct TestProject {
    root: tempfile::TempDir,
}

impl TestProject {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("home")).unwrap();
        std::fs::create_dir_all(root.path().join("project")).unwrap();
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file; `$ROOT` in its content is the temporary directory.
    fn file(self, name: &str, content: &str) -> Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let root = self.root.path().display().to_string();
        std::fs::write(path, content.replace("$ROOT", &root)).unwrap();
        self
    }

    /// Loads every file, and accepts the servers of repositories.
    fn load(&self, config: &[&str]) -> Result<Configuration, ConfigError> {
        self.load_trusting(config, TrustPolicy::Everything)
    }

    fn load_trusting(
        &self,
        config: &[&str],
        trust_policy: TrustPolicy<'_>,
    ) -> Result<Configuration, ConfigError> {
        let files: Vec<PathBuf> = config.iter().map(PathBuf::from).collect();
        limbeck_setup::load(&Discovery {
            world: &world(self.path("home"), self.path("project")),
            config_files: &files,
            discover: true,
            managed: None,
            trust_policy,
        })
    }

    /// `text` with the temporary directory, which differs from run to run, as `$ROOT`.
    fn redact(&self, text: impl ToString) -> String {
        let root = self.root.path().display().to_string();
        text.to_string().replace(&root, "$ROOT")
    }

    fn messages(&self, found: &Configuration, severity: Severity) -> Vec<String> {
        let diagnostics = found.diagnostics.iter();
        diagnostics
            .filter(|diagnostic| diagnostic.severity == severity)
            .map(|diagnostic| self.redact(diagnostic))
            .collect()
    }

    /// `name origin` of every server, in order.
    fn origins(&self, found: &Configuration) -> Vec<String> {
        let shown = |server: &limbeck_setup::ServerEntry| {
            self.redact(format!("{} {}", server.name, server.origin))
        };
        found.servers.iter().map(shown).collect()
    }
}
