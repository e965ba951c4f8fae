//! Lock file of a repository: the definitions of tools that its people reviewed.
//!
//! It is a stranger's text: it can only hold tools, never accept one.

use std::collections::BTreeMap;

use limbeck_domain::PinnedDefinition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::sha256::sha256_hex;

/// Bytes of a lock file: a list of the largest known server has 3 MB.
pub const LOCK_BYTES_MAX: usize = 32 << 20;
/// Format of the file.
const VERSION: u32 = 1;

/// The definitions of a lock file, by server and tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinLock {
    servers: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFile {
    version: u32,
    servers: BTreeMap<String, BTreeMap<String, LockedTool>>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct LockedTool {
    sha256: String,
    #[serde(default)]
    definition: Option<Value>,
}

/// Why a lock file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It is longer than a lock file may be.
    #[error("it has {bytes} bytes, more than {LOCK_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It is not what `limbeck pins lock` writes.
    #[error("it is not a lock file: {0}")]
    Invalid(String),
    /// A newer version wrote it.
    #[error("it has format {found}; this version reads {VERSION}")]
    Newer {
        /// Its format.
        found: u32,
    },
    /// A definition does not have the hash beside it: a review would see other words than those that count.
    #[error("the definition of `{tool}` of server `{server}` does not have the hash beside it")]
    Altered {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
}

impl PinLock {
    /// Reads a lock file.
    ///
    /// # Errors
    ///
    /// [`LockError`]
    pub fn parse(text: &str) -> Result<Self, LockError> {
        if text.len() > LOCK_BYTES_MAX {
            return Err(LockError::TooLong { bytes: text.len() });
        }
        let file: LockFile = serde_json::from_str(text).map_err(|error| {
            LockError::Invalid(limbeck_domain::text::clean_line(&error.to_string(), 200))
        })?;
        if file.version != VERSION {
            return Err(LockError::Newer {
                found: file.version,
            });
        }
        let mut servers = BTreeMap::new();
        for (server, tools) in file.servers {
            let mut hashes = BTreeMap::new();
            for (tool, locked) in tools {
                if !is_of(&server, &tool, &locked) {
                    let shown = |name: &str| limbeck_domain::text::clean_line(name, 80);
                    return Err(LockError::Altered {
                        server: shown(&server),
                        tool: shown(&tool),
                    });
                }
                hashes.insert(tool, locked.sha256);
            }
            servers.insert(server, hashes);
        }
        Ok(Self { servers })
    }

    /// The text of a lock file with these definitions: keys in order, one member a line, so that a review sees what changed.
    pub fn text(definitions: &[PinnedDefinition]) -> String {
        let mut servers: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        for pinned in definitions {
            let id = &pinned.definition.id;
            let canonical = pinned.canonical();
            let locked = json!({
                "sha256": sha256_hex(canonical.as_bytes()),
                "definition": serde_json::from_str::<Value>(&canonical).unwrap_or_default(),
            });
            let tools = servers.entry(id.server.as_str()).or_default();
            tools.insert(id.tool.to_string(), locked);
        }
        let file = json!({"version": VERSION, "servers": servers});
        let sorted = limbeck_domain::pin::canonical_json(&file);
        let sorted: Value = serde_json::from_str(&sorted).unwrap_or_default();
        format!("{sorted:#}\n")
    }

    /// Whether it names no server.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Servers that it names.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Tools that it names of a server, each with the SHA-256 of its definition.
    pub fn tools(&self, server: &str) -> impl Iterator<Item = (&str, &str)> {
        let tools = self.servers.get(server).into_iter().flatten();
        tools.map(|(tool, sha256)| (tool.as_str(), sha256.as_str()))
    }

    /// How a tool differs from the file, as a fragment. `current` is the SHA-256 of its definition. A server that the file
    /// does not name is not locked.
    pub(crate) fn difference(
        &self,
        server: &str,
        tool: &str,
        current: Option<&str>,
    ) -> Option<String> {
        let tools = self.servers.get(server)?;
        match tools.get(tool) {
            None => Some("`mcp.lock` does not have it".to_owned()),
            Some(locked) if Some(locked.as_str()) != current => {
                Some("`mcp.lock` has another definition".to_owned())
            }
            Some(_) => None,
        }
    }
}

/// Whether the definition that is shown is the one that the hash is of.
fn is_of(server: &str, tool: &str, locked: &LockedTool) -> bool {
    let Some(definition) = &locked.definition else {
        return true;
    };
    let Some(pinned) = PinnedDefinition::from_value(definition.clone()) else {
        return false;
    };
    let id = &pinned.definition.id;
    id.server.as_str() == server
        && *id.tool == *tool
        && sha256_hex(pinned.canonical().as_bytes()) == locked.sha256
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::tool;
    use super::*;

    #[test]
    fn a_lock_file_is_read_back_and_says_what_differs() {
        let (one, other) = (tool("read", "Reads."), tool("write", "Writes."));
        let text = PinLock::text(&[other.clone(), one.clone()]);
        assert_eq!(text, PinLock::text(&[one.clone(), other]));
        let lock = PinLock::parse(&text).unwrap();
        let sha256 = sha256_hex(one.canonical().as_bytes());
        assert_eq!(lock.difference("s", "read", Some(&sha256)), None);
        assert!(lock.difference("s", "read", Some("other")).is_some());
        assert!(lock.difference("s", "new", Some(&sha256)).is_some());
        assert_eq!(lock.difference("t", "read", Some("other")), None);
        assert_eq!(lock.tools("s").count(), 2);
    }

    #[test]
    fn a_definition_that_is_not_the_one_of_its_hash_is_refused() {
        let text = PinLock::text(&[tool("read", "Reads.")]);
        let altered = text.replace("Reads.", "Writes.");
        assert!(matches!(
            PinLock::parse(&altered),
            Err(LockError::Altered { .. })
        ));
        assert!(matches!(PinLock::parse("{}"), Err(LockError::Invalid(_))));
        let newer = text.replace("\"version\": 1", "\"version\": 2");
        assert!(matches!(
            PinLock::parse(&newer),
            Err(LockError::Newer { found: 2 })
        ));
    }
}
