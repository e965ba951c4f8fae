//! The text of an entry: what the user sees before trusting a server, and the hash that the trust is bound to.
//!
//! The hash covers every key and value, so the text shows every key and value: as written, references not replaced,
//! with hidden characters escaped, and never cut. An entry whose text is too long to be reviewed is marked, so that it
//! cannot be accepted.

use std::path::Path;

use limbeck_domain::ServerName;
use sha2::{Digest as _, Sha256};

use crate::document::ConfigPlace;
use crate::escaped_text;
use crate::{choosing_variables, package_runner};

/// Bytes of a text that a person can review: some 200 lines. Entries of published servers stay under 2 KiB.
const REVIEWED_BYTES_MAX: usize = 16 << 10;
/// Distinguishes these hashes from all others, and from those of a later format.
const HASH_CONTEXT: &[u8] = b"limbeck definition 1";

/// Text of an entry, references to variables not replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionText {
    /// SHA-256, in hexadecimal, over the file, the server's name and every key and value of the entry.
    pub sha256: String,
    /// The server's name with hidden characters escaped.
    pub name: String,
    /// Key path and value of everything in the entry, each different from the others: url and command first. ASCII on
    /// one line each, so that text of the entry cannot look like anything else. Empty when the text is too long.
    pub lines: Vec<(String, String)>,
    /// Remarks about the entry: sentences of Limbeck, with text of the entry in backticks.
    pub remarks: Vec<String>,
    /// Bytes of a text that is too long to be reviewed, so that the entry must not be accepted.
    pub too_long: Option<usize>,
}

impl DefinitionText {
    /// Text of the entry at `place`, which may have any form.
    pub(crate) fn read(file: &Path, name: &ServerName, place: &ConfigPlace<'_>) -> Self {
        let mut lines = lines(place);
        let bytes = lines
            .iter()
            .map(|(label, line)| label.len() + line.len())
            .sum();
        let too_long = (bytes > REVIEWED_BYTES_MAX).then_some(bytes);
        let mut remarks = Vec::new();
        match too_long {
            Some(bytes) => {
                lines.clear();
                remarks.push(format!(
                    "the entry has {bytes} bytes, more than the {REVIEWED_BYTES_MAX} that can be shown, so it cannot be trusted"
                ));
            }
            None => remarks.extend(remarks_about(place)),
        }
        Self {
            sha256: hash(file, name, &place.canonical()),
            name: escaped_text::word(name.as_str()),
            lines,
            remarks,
            too_long,
        }
    }
}

/// Hashes the definition. Every part is preceded by its length, so that two definitions never have the same
/// input.
fn hash(file: &Path, name: &ServerName, canonical: &str) -> String {
    let mut hash = Sha256::new();
    for part in [
        HASH_CONTEXT,
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

fn lines(place: &ConfigPlace<'_>) -> Vec<(String, String)> {
    let Ok(entries) = place.entries() else {
        return vec![("entry".to_owned(), place.escaped())];
    };
    let mut lines = Vec::new();
    let command = command_line(place);
    let has_command = command.is_some();
    lines.extend(command.map(|command| ("command".to_owned(), command)));
    for (key, value) in entries {
        match key {
            "command" => {}
            // In the line of the command, where they are a list.
            "args" if has_command && value.list().is_ok() => {}
            _ if is_url(key) => lines.insert(0, (escaped_path_part(key), value.escaped())),
            _ => flatten(escaped_path_part(key), &value, &mut lines),
        }
    }
    lines
}

fn is_url(key: &str) -> bool {
    key.to_ascii_lowercase().ends_with("url") || key == "uri"
}

/// Adds a line for each value below `place`, with its key path.
fn flatten(path: String, place: &ConfigPlace<'_>, lines: &mut Vec<(String, String)>) {
    match place.entries() {
        Ok(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                flatten(format!("{path}.{}", escaped_path_part(key)), &value, lines);
            }
        }
        Ok(_) | Err(_) => lines.push((path, place.escaped())),
    }
}

/// A key within a path: in quotes where a dot of its own would look like a separator.
fn escaped_path_part(key: &str) -> String {
    if key.contains('.') {
        escaped_text::quoted(key)
    } else {
        escaped_text::word(key)
    }
}

/// Program and arguments; each word that is not plain is in double quotes.
fn command_line(place: &ConfigPlace<'_>) -> Option<String> {
    let mut words = vec![place.get("command").ok()??];
    if let Some(args) = place.get("args").ok()? {
        words.extend(args.list().unwrap_or_default());
    }
    let words: Vec<String> = words.iter().map(ConfigPlace::escaped).collect();
    Some(words.join(" "))
}

fn remarks_about(place: &ConfigPlace<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(package) = unpinned(place) {
        remarks.push(format!(
            "`{}` is not pinned: each start runs the version that the registry has then",
            escaped_text::word(&package)
        ));
    }
    if let Ok(Some(env)) = place.get("env")
        && let Ok(entries) = env.entries()
    {
        for (name, _) in entries {
            if let Some(what) = choosing_variables::choice_of(name) {
                remarks.push(format!("`env.{}` chooses {what}", escaped_path_part(name)));
            }
        }
    }
    remarks
}

fn unpinned(place: &ConfigPlace<'_>) -> Option<String> {
    let command = place.get("command").ok()??;
    let args = place.get("args").ok()?;
    let args = args.and_then(|args| args.list().ok()).unwrap_or_default();
    let args: Vec<&str> = args.iter().filter_map(|arg| arg.text().ok()).collect();
    package_runner::unpinned_package(command.text().ok()?, &args)
}
