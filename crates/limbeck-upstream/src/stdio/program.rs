//! Lookup of an entry's program, without a shell.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::UpstreamError;
use crate::spec::StdioSpec;

impl StdioSpec {
    /// Returns the absolute path of the program that would be started now.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::DirectoryNotFound`], [`UpstreamError::ProgramNotFound`] and [`UpstreamError::Spawn`].
    pub fn program(&self) -> Result<PathBuf, UpstreamError> {
        resolve(self)
    }
}

/// Resolves the program of an entry to an absolute path.
///
/// A bare name is searched in the `PATH` of the entry's own environment, absolute directories only. A path is
/// relative to the entry's working directory.
///
/// # Errors
///
/// [`UpstreamError::DirectoryNotFound`] when the entry's working directory does not exist,
/// [`UpstreamError::ProgramNotFound`] when there is no such file, [`UpstreamError::Spawn`] when the file is not
/// executable.
pub(crate) fn resolve(spec: &StdioSpec) -> Result<PathBuf, UpstreamError> {
    let command = spec.command.as_path();
    // The system reports a missing directory as if the program were missing.
    if let Some(directory) = spec.cwd.as_deref().filter(|directory| !directory.is_dir()) {
        return Err(UpstreamError::DirectoryNotFound {
            directory: directory.display().to_string(),
        });
    }
    let not_found = |searched: String| UpstreamError::ProgramNotFound {
        program: command.display().to_string(),
        searched,
    };
    if is_bare_name(command) {
        return search(command, &path_of(spec)).ok_or_else(|| not_found("PATH".to_owned()));
    }
    let full = match (&spec.cwd, command.is_absolute()) {
        (Some(cwd), false) => cwd.join(command),
        _ => command.to_owned(),
    };
    let full = std::path::absolute(&full).unwrap_or(full);
    let program = with_extensions(&full).find(|candidate| is_executable(candidate));
    program.ok_or_else(|| match full.metadata() {
        Ok(found) => UpstreamError::Spawn {
            program: command.display().to_string(),
            source: Arc::new(io::Error::other(why_not(&found))),
        },
        Err(_) => {
            let directory = full.parent().unwrap_or(Path::new("/"));
            not_found(format!("`{}`", directory.display()))
        }
    })
}

fn why_not(found: &Metadata) -> &'static str {
    if found.is_dir() {
        "it is a directory"
    } else {
        "it is not executable"
    }
}

fn is_bare_name(command: &Path) -> bool {
    command.components().count() == 1 && !command.is_absolute() && !command.starts_with(".")
}

fn path_of(spec: &StdioSpec) -> String {
    let path = spec.env.iter().rev().find(|(name, _)| name == "PATH");
    path.map(|(_, value)| value.clone()).unwrap_or_default()
}

fn search(name: &Path, path: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        // A relative directory in `PATH` would run programs from wherever the gateway was started.
        .filter(|directory| directory.is_absolute())
        .flat_map(|directory| with_extensions(&directory.join(name)).collect::<Vec<_>>())
        .find(|candidate| is_executable(candidate))
}

/// The path itself and, on Windows, the path with each executable extension.
fn with_extensions(path: &Path) -> impl Iterator<Item = PathBuf> {
    let extensions: &[&str] = if cfg!(windows) {
        &["exe", "cmd", "bat"]
    } else {
        &[]
    };
    let plain = path.to_owned();
    let extended: Vec<_> = extensions
        .iter()
        .map(|e| path.with_added_extension(e))
        .collect();
    std::iter::once(plain).chain(extended)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.extension().is_some() && path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn spec(command: &str, path: &str) -> StdioSpec {
        StdioSpec {
            command: command.into(),
            args: Vec::new(),
            env: vec![("PATH".into(), path.into())],
            cwd: None,
        }
    }

    #[test]
    fn a_bare_name_is_found_in_the_entrys_path_and_nowhere_else() {
        let found = resolve(&spec("sh", "relative:/nowhere:/bin")).unwrap();
        assert_eq!(found, Path::new("/bin/sh"));
        for path in ["/nowhere", "", "bin"] {
            let error = resolve(&spec("sh", path)).unwrap_err();
            assert_eq!(error.to_string(), "program `sh` was not found in PATH");
        }
    }

    #[test]
    fn a_path_is_taken_as_it_is_and_must_be_executable() {
        assert_eq!(resolve(&spec("/bin/sh", "")).unwrap(), Path::new("/bin/sh"));
        let relative = StdioSpec {
            cwd: Some("/bin".into()),
            ..spec("./sh", "")
        };
        assert!(resolve(&relative).is_ok());
        let nowhere = StdioSpec {
            cwd: Some("/nowhere".into()),
            ..spec("sh", "/bin")
        };
        let error = resolve(&nowhere).unwrap_err();
        assert_eq!(error.full_text(), "its directory `/nowhere` does not exist");
        assert!(
            error
                .next_step(&"s".into())
                .unwrap()
                .contains("`cwd` of `s`")
        );
        for (program, why) in [
            (
                "/etc/passwd",
                "program `/etc/passwd` could not be started: it is not executable",
            ),
            (
                "/etc",
                "program `/etc` could not be started: it is a directory",
            ),
            (
                "/etc/nowhere",
                "program `/etc/nowhere` was not found in `/etc`",
            ),
        ] {
            assert_eq!(resolve(&spec(program, "")).unwrap_err().full_text(), why);
        }
    }
}
