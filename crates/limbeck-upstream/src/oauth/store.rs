//! Where the records are: one owner-only file a server.
//!
//! The file's name is made of the server's name and address, so an entry whose address changes finds
//! nothing. Writers hold the lock beside the file; a reader needs none, because a file is replaced whole.
//!
//! Tokens that an earlier system left in `~/.claude/mcp-tokens` are read where we have no word of our
//! own about a server, and taken over at the first refresh or sign-in. They carry no address: the first
//! one configured under the name gets them, and no other after it.

use std::fs::File;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::error::OAuthError;
use super::file;
use super::record::{Client, Record, Tokens, VERSION};

/// Bytes of a server's name that are shown in a file's name.
const NAME_BYTES_MAX: usize = 40;

/// The directory of token files, and what goes with it.
#[derive(Clone, Debug)]
pub struct TokenStore {
    directory: PathBuf,
    seed: Option<PathBuf>,
}

impl TokenStore {
    /// Files in `directory`, which is made when something is first written.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            seed: None,
        }
    }

    /// Reads tokens of an earlier system from `directory` as well; nothing is ever written there.
    pub fn with_earlier(mut self, directory: impl Into<PathBuf>) -> Self {
        self.seed = Some(directory.into());
        self
    }

    /// The place of one server.
    pub(super) fn slot(&self, server: &str, url: &str) -> Slot {
        self.slot_of(server, url, None)
    }

    fn slot_of(&self, server: &str, url: &str, principal: Option<&str>) -> Slot {
        let stem = stem(server, url, principal);
        Slot {
            path: self.directory.join(format!("{stem}.json")),
            lock: self.directory.join(format!("{stem}.lock")),
            server: server.to_owned(),
            url: url.to_owned(),
            principal: principal.map(str::to_owned),
            store: self.clone(),
        }
    }
}

/// `NAME-HASH`: readable, and one for every name, address and principal.
fn stem(server: &str, url: &str, principal: Option<&str>) -> String {
    let mut hash = Sha256::new();
    hash.update((server.len() as u64).to_le_bytes());
    hash.update(server.as_bytes());
    hash.update(url.as_bytes());
    if let Some(principal) = principal {
        // No url has a NUL, so these are no other url's bytes.
        hash.update([0]);
        hash.update(principal.as_bytes());
    }
    let hash: String = hash.finalize()[..10]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{}-{hash}", readable(server))
}

fn readable(server: &str) -> String {
    let name = server.chars().take(NAME_BYTES_MAX);
    name.map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

/// The place of one server's record.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    path: PathBuf,
    lock: PathBuf,
    server: String,
    url: String,
    /// Whose, where that is not the user who runs us.
    principal: Option<String>,
    store: TokenStore,
}

/// Where a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// In this file.
    File(PathBuf),
    /// In a file of an earlier system.
    Earlier(PathBuf),
}

impl Slot {
    /// The place of another principal's record of the same server.
    pub(super) fn of(&self, principal: &str) -> Self {
        // Beside ours, so that no name counts as taken by them.
        let mut directory = self.store.directory.clone().into_os_string();
        directory.push("-of-principals");
        let store = TokenStore::new(directory);
        store.slot_of(&self.server, &self.url, Some(principal))
    }

    /// Whose record it is, where that is not the user who runs us.
    pub(super) fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// The record, and where it is.
    pub(super) fn read(&self) -> Result<Option<(Record, Stored)>, OAuthError> {
        let Some(content) = file::read(&self.path)? else {
            return Ok(self.earlier());
        };
        let unusable = |reason: &str| OAuthError::Content {
            path: self.path.clone(),
            reason: reason.to_owned(),
        };
        let record: Record =
            serde_json::from_slice(&content).map_err(|_| unusable("it is not what was written"))?;
        if record.version != VERSION {
            return Err(unusable("it is of another version"));
        }
        if record.server != self.server || record.url != self.url {
            return Err(unusable("it belongs to another server"));
        }
        Ok(Some((record, Stored::File(self.path.clone()))))
    }

    /// Replaces the record. Call it under [`Slot::lock`].
    pub(super) fn write(&self, record: &Record) -> Result<(), OAuthError> {
        file::make_directory(&self.store.directory)?;
        let text = serde_json::to_vec_pretty(record).map_err(|_| OAuthError::Content {
            path: self.path.clone(),
            reason: "it cannot be written".to_owned(),
        })?;
        file::write(&self.path, &text)
    }

    /// Forgets the record. Tokens of an earlier system stay where they are, so a record without tokens
    /// stands before them. Call it under [`Slot::lock`].
    pub(super) fn forget(&self) -> Result<(), OAuthError> {
        if self.seed_file().is_some_and(|path| path.exists()) {
            return self.write(&Record::new(&self.server, &self.url));
        }
        file::remove(&self.path)
    }

    /// Waits until no other process writes this record.
    pub(super) async fn lock(&self) -> Result<File, OAuthError> {
        file::make_directory(&self.store.directory)?;
        file::lock(&self.lock).await
    }

    /// Where a record would be written.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn seed_file(&self) -> Option<PathBuf> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
        let is_plain = self.server.chars().all(plain) && !self.server.starts_with('.');
        let directory = self.store.seed.as_ref().filter(|_| is_plain)?;
        Some(directory.join(format!("{}.json", self.server)))
    }

    /// The tokens of an earlier system, unless this name has had an address of ours already.
    fn earlier(&self) -> Option<(Record, Stored)> {
        let path = self.seed_file()?;
        let content = file::read_foreign(&path)?;
        if self.name_is_taken() {
            return None;
        }
        let mut record = Record::new(&self.server, &self.url);
        let value: Value = serde_json::from_slice(&content).ok()?;
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let secret = |pointer: &str| text(pointer).filter(|text| !text.is_empty());
        record.client = text("/clientInfo/client_id").map(|id| Client {
            id: id.to_owned(),
            secret: secret("/clientInfo/client_secret").map(SecretString::from),
        });
        let access = secret("/tokens/access_token")?;
        if !access.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let scope = text("/tokens/scope").unwrap_or_default();
        record.requested = scope.split_whitespace().map(str::to_owned).collect();
        record.tokens = Some(Tokens {
            access: access.into(),
            refresh: secret("/tokens/refresh_token").map(SecretString::from),
            // Milliseconds there.
            received_at: value["tokensIssuedAt"].as_u64().unwrap_or(0) / 1000,
            expires_in: value.pointer("/tokens/expires_in").and_then(Value::as_u64),
            scopes: record.requested.clone(),
        });
        Some((record, Stored::Earlier(path)))
    }

    /// Whether there is a record for this name under any address.
    fn name_is_taken(&self) -> bool {
        let Ok(entries) = std::fs::read_dir(&self.store.directory) else {
            return false;
        };
        let prefix = format!("{}-", readable(&self.server));
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&prefix) && name.ends_with(".json")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_address_name_or_principal_is_another_place() {
        let places = [
            stem("a", "https://x/mcp", None),
            stem("a", "https://x/mcp2", None),
            stem("b", "https://x/mcp", None),
            stem("ahttps", "://x/mcp", None),
            stem("a", "https://x/mcp", Some("b")),
            stem("../../etc/passwd", "https://x/mcp", None),
        ];
        let distinct: std::collections::BTreeSet<_> = places.iter().collect();
        assert_eq!(distinct.len(), places.len());
        assert!(places[5].starts_with("______etc_passwd-"), "{}", places[5]);
    }
}
