//! An entry as its file has it: what a person is shown before a server is trusted, and what the trust is
//! bound to.

use std::path::Path;

use limbeck_domain::{ServerName, text};
use sha2::{Digest as _, Sha256};

use crate::document::Place;
use crate::{environment, pinned};

/// Bytes shown of one line; a longer one says so.
const LINE_BYTES_MAX: usize = 2 << 10;
/// Keys that hold names with secrets as their values: the names are shown.
const NAMES_ONLY: &[&str] = &["auth", "env", "headers", "http_headers", "oauth"];
/// Distinguishes these hashes from any others, and from those of a later form.
const HASHED: &[u8] = b"limbeck definition 1";

/// What an entry says, references to variables not filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// SHA-256, in hexadecimal, over the file, the server's name and every key and value of the entry.
    pub sha256: String,
    /// The entry for people, cleaned: a label and a line each, command or url first. Of variables and headers the
    /// names alone, but of variables that choose code the values too.
    pub lines: Vec<(String, String)>,
}

impl Written {
    /// The entry at `place`, which may be anything.
    pub(crate) fn read(file: &Path, name: &ServerName, place: &Place<'_>) -> Self {
        Self {
            sha256: hash(file, name, &place.canonical()),
            lines: lines(place),
        }
    }
}

/// Every part is preceded by its length, so that no two definitions share their bytes.
fn hash(file: &Path, name: &ServerName, canonical: &str) -> String {
    let mut hash = Sha256::new();
    for part in [
        HASHED,
        file.as_os_str().as_encoded_bytes(),
        name.as_str().as_bytes(),
        canonical.as_bytes(),
    ] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lines(place: &Place<'_>) -> Vec<(String, String)> {
    let Ok(entries) = place.entries() else {
        return vec![("entry".to_owned(), shown(&place.canonical()))];
    };
    let mut lines = Vec::new();
    if let Some(command) = command_line(place) {
        lines.push(("command".to_owned(), shown(&command)));
    }
    if let Some(package) = unpinned(place) {
        let line =
            format!("`{package}` is not pinned: each start runs what the registry has that day");
        lines.push(("version".to_owned(), shown(&line)));
    }
    for (key, value) in entries {
        let line = match key {
            "command" | "args" => continue,
            _ if NAMES_ONLY.contains(&key) => names(&value),
            _ => value
                .text()
                .map_or_else(|_| value.canonical(), str::to_owned),
        };
        let line = (shown(key), shown(&line));
        if key.to_ascii_lowercase().ends_with("url") || key == "uri" {
            lines.insert(0, line);
        } else {
            lines.push(line);
        }
    }
    lines
}

/// Program and arguments as a shell would take them.
fn command_line(place: &Place<'_>) -> Option<String> {
    let mut words = vec![place.get("command").ok()??];
    if let Ok(Some(args)) = place.get("args") {
        match args.list() {
            Ok(args) => words.extend(args),
            Err(_) => words.push(args),
        }
    }
    let word = |word: &Place<'_>| match word.text() {
        Ok(text) => quoted(text),
        Err(_) => word.canonical(),
    };
    Some(words.iter().map(word).collect::<Vec<_>>().join(" "))
}

fn unpinned(place: &Place<'_>) -> Option<String> {
    let command = place.get("command").ok()??;
    let args = place.get("args").ok()?;
    let args = args.and_then(|args| args.list().ok()).unwrap_or_default();
    let args: Vec<&str> = args.iter().filter_map(|arg| arg.text().ok()).collect();
    pinned::unpinned(command.text().ok()?, &args)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn names(place: &Place<'_>) -> String {
    let Ok(entries) = place.entries() else {
        return place.canonical();
    };
    let name = |(name, value): &(&str, Place<'_>)| match value.text() {
        Ok(text) if environment::chooses_code(name) => format!("{name}={}", quoted(text)),
        _ => (*name).to_owned(),
    };
    entries.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn shown(line: &str) -> String {
    text::clean_line(line, LINE_BYTES_MAX)
}
