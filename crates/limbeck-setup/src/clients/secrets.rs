//! Secrets of moved entries: their values go into files that only the user can read, and the entry refers to these.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use toml_edit::{Table, Value};

use crate::entry_reader::is_file_reference;
use crate::world::World;

/// Words in the name of a variable or a header whose value is a secret.
const WORDS: &[&str] = &[
    "AUTH",
    "COOKIE",
    "CREDENTIAL",
    "KEY",
    "PASSWD",
    "PASSWORD",
    "PWD",
    "SECRET",
    "TOKEN",
];
/// Beginnings of values that are secrets under any name.
const BEGINNINGS: &[&str] = &[
    "AKIA",
    "Bearer ",
    "eyJ",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "npm_",
    "pypi-",
    "sk-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
];
/// Longest secret that a file may hold.
const SECRET_BYTES_MAX: usize = 16 << 10;

/// A file with one secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SecretFile {
    /// Path in the world.
    pub(super) path: PathBuf,
    /// The value and a line end.
    pub(super) content: String,
}

/// Omits the secret.
impl std::fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Directory of the files with secrets.
pub(super) fn directory(world: &World) -> Option<PathBuf> {
    Some(world.config_directory()?.join("limbeck").join("secrets"))
}

/// Replaces the secrets in `table` by references to files, and returns the files.
pub(super) fn move_out(
    world: &World,
    server: &str,
    table: &mut Table,
    taken: &mut HashSet<PathBuf>,
) -> Vec<SecretFile> {
    let mut files = Vec::new();
    let Some(directory) = directory(world) else {
        return files;
    };
    for key in ["env", "headers"] {
        let pairs = table.get_mut(key).and_then(|item| item.as_table_like_mut());
        let Some(pairs) = pairs else { continue };
        for (name, item) in pairs.iter_mut() {
            let name = name.get().to_owned();
            let Some(value) = item.as_str() else { continue };
            let (word, secret) = split(key, value);
            if !is_moved(key, &name, value, secret) {
                continue;
            }
            let path = free(&directory, server, &name, taken);
            let reference = format!("{word}file:{}", path.display());
            files.push(SecretFile {
                path,
                content: format!("{secret}\n"),
            });
            *item = toml_edit::Item::Value(Value::from(reference));
        }
    }
    files
}

/// The first secret that is written into `table` as it is: its key and its value.
pub(super) fn literal(table: &Table) -> Option<(String, String)> {
    ["env", "headers"].into_iter().find_map(|key| {
        let pairs = table.get(key)?.as_table_like()?;
        pairs.iter().find_map(|(name, item)| {
            let value = item.as_str()?;
            let (_, secret) = split(key, value);
            is_moved(key, name, value, secret).then(|| (name.to_owned(), secret.to_owned()))
        })
    })
}

/// Splits the value of a header into a word such as `Bearer` and the secret. A variable is one value.
fn split<'v>(key: &str, value: &'v str) -> (&'v str, &'v str) {
    match value.split_once(' ') {
        Some((word, secret)) if key == "headers" && !word.contains(':') => {
            (&value[..word.len() + 1], secret)
        }
        _ => ("", value),
    }
}

fn is_moved(key: &str, name: &str, value: &str, secret: &str) -> bool {
    // A reference to a variable stays one.
    let is_literal = !secret.is_empty() && !value.contains("${") && secret.len() < SECRET_BYTES_MAX;
    let is_reference = key == "headers"
        && ["env:", "exec:", "file:", "keychain:"]
            .iter()
            .any(|scheme| secret.starts_with(scheme));
    // In Limbeck's own file this value of a variable would be read as a reference.
    let would_be_read = key == "env" && is_file_reference(value);
    is_literal && !is_reference && (would_be_read || is_secret(name, value))
}

/// Whether a value is a secret, by its name or by itself.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let has_user = value.split_once("://").is_some_and(|(_, rest)| {
        let host = rest.split('/').next().unwrap_or_default();
        host.split_once('@')
            .is_some_and(|(user, _)| user.contains(':'))
    });
    WORDS.iter().any(|word| name.contains(word))
        || BEGINNINGS
            .iter()
            .any(|beginning| value.starts_with(beginning))
        || has_user
}

/// A path that no other secret has.
fn free(directory: &Path, server: &str, name: &str, taken: &mut HashSet<PathBuf>) -> PathBuf {
    let plain = |text: &str| -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        };
        text.chars().take(64).map(plain).collect()
    };
    let stem = format!("{}.{}", plain(server), plain(name));
    let numbered = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem}.{n}")));
    let mut paths = numbered.map(|name| directory.join(name));
    let path = paths
        .find(|path| !taken.contains(path))
        .unwrap_or_else(|| directory.join(stem));
    taken.insert(path.clone());
    path
}

/// What a value of Limbeck's own file refers to, when that is a file of this module.
pub(super) fn resolved(world: &World, value: &str) -> Option<String> {
    let directory = directory(world)?;
    let (word, reference) = match value.split_once(' ') {
        Some((word, reference)) => (&value[..word.len() + 1], reference),
        None => ("", value),
    };
    let path = Path::new(reference.strip_prefix("file:")?);
    if path.parent() != Some(&directory) {
        return None;
    }
    let content = crate::file_content::read(world, path, SECRET_BYTES_MAX + 2).ok()??;
    let secret = content.text.strip_suffix('\n').unwrap_or(&content.text);
    Some(format!("{word}{secret}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_name_or_their_beginning() {
        for (name, value) in [
            ("GITHUB_TOKEN", "x"),
            ("api_key", "x"),
            ("URL", "postgres://me:pw@db/x"),
            ("X", "ghp_abc"),
            ("Authorization", "Basic eDp5"),
        ] {
            assert!(is_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("REGION", "eu"),
            ("URL", "https://db/x@y"),
            ("PATH", "/usr/bin"),
        ] {
            assert!(!is_secret(name, value), "{name}");
        }
    }
}
