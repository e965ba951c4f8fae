//! Configuration as its users write it: files on disk in, servers and messages out.

#![expect(clippy::unwrap_used, reason = "a helper that fails, fails its test")]

mod discovery;
mod embeddings;
mod examples;
mod hostile;
mod oauth;
mod trust;

use std::path::{Path, PathBuf};

use limbeck_setup::{ConfigError, Configuration, Discovery, Level, Trusting};

fn environment(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("s3cret".to_owned()),
        "PATH" => Some("/usr/bin:/bin".to_owned()),
        "HOME" => Some("/home/me".to_owned()),
        "SHELL" => Some("() { :; }".to_owned()),
        _ => None,
    }
}

/// Loads named files alone, as `--no-discover --config FILE` does.
fn given(files: &[&Path]) -> Result<Configuration, ConfigError> {
    let files: Vec<PathBuf> = files.iter().map(|file| file.to_path_buf()).collect();
    limbeck_setup::load(&Discovery {
        config_files: &files,
        discover: false,
        cwd: Path::new("/project"),
        home: Some(Path::new("/home/me")),
        env: &environment,
        self_exe: None,
        trusting: Trusting::Everything,
    })
}

/// A home and a project directory to discover things in.
struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("home")).unwrap();
        std::fs::create_dir_all(root.path().join("project")).unwrap();
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file; `$ROOT` in its content is the directory of this world.
    fn file(self, name: &str, content: &str) -> Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let root = self.root.path().display().to_string();
        std::fs::write(path, content.replace("$ROOT", &root)).unwrap();
        self
    }

    /// Everything that is there, with whatever the repository adds.
    fn load(&self, config: &[&str]) -> Result<Configuration, ConfigError> {
        self.load_trusting(config, Trusting::Everything)
    }

    fn load_trusting(
        &self,
        config: &[&str],
        trusting: Trusting<'_>,
    ) -> Result<Configuration, ConfigError> {
        let files: Vec<PathBuf> = config.iter().map(PathBuf::from).collect();
        limbeck_setup::load(&Discovery {
            config_files: &files,
            discover: true,
            cwd: &self.path("project"),
            home: Some(&self.path("home")),
            env: &environment,
            self_exe: None,
            trusting,
        })
    }

    /// `text` without the part of paths that differs from run to run.
    fn hide(&self, text: impl ToString) -> String {
        let root = self.root.path().display().to_string();
        text.to_string().replace(&root, "$ROOT")
    }

    fn notes(&self, found: &Configuration, level: Level) -> Vec<String> {
        let of_level = found.notes.iter().filter(|note| note.level == level);
        of_level.map(|note| self.hide(note)).collect()
    }

    /// `name origin` of every server, in order.
    fn origins(&self, found: &Configuration) -> Vec<String> {
        let shown = |server: &limbeck_setup::ServerEntry| {
            self.hide(format!("{} {}", server.name, server.origin))
        };
        found.servers.iter().map(shown).collect()
    }
}
