//! Store of sign-in records: one owner-only file per server.
//!
//! The file's name is made of the server's name and address, so an entry whose address changes finds
//! nothing. Writers hold the lock beside the file; a reader needs none, because a file is replaced whole.
//!
//! Tokens that an earlier system left in `~/.claude/mcp-tokens` are read where we have no word of our
//! own about a server, and taken over at the first refresh or sign-in. They carry no address: the first
//! one configured under the name gets them, and no other after it.

use std::fs::File;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::error::OAuthError;
use super::file;
use super::record::{RegisteredClient, SignInRecord, TokenSet, VERSION};
use crate::known_secrets::KnownSecrets;

/// Bytes of a server's name that are shown in a file's name.
const NAME_BYTES_MAX: usize = 40;

/// The directory of token files, and what goes with it.
#[derive(Clone, Debug)]
pub struct TokenStore {
    directory: PathBuf,
    seed: Option<PathBuf>,
    known: KnownSecrets,
}

impl TokenStore {
    /// Files in `directory`, which is made when something is first written.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            seed: None,
            known: KnownSecrets::default(),
        }
    }

    /// Adds each token that is read or written to `known`.
    #[must_use]
    pub fn known_to(mut self, known: KnownSecrets) -> Self {
        self.known = known;
        self
    }

    /// Reads tokens of an earlier system from `directory` as well; nothing is ever written there.
    pub fn with_earlier(mut self, directory: impl Into<PathBuf>) -> Self {
        self.seed = Some(directory.into());
        self
    }

    /// The place of one server.
    pub(super) fn slot(&self, server: &str, url: &str) -> RecordFile {
        self.slot_of(server, url, None)
    }

    fn slot_of(&self, server: &str, url: &str, principal: Option<&str>) -> RecordFile {
        let stem = stem(server, url, principal);
        RecordFile {
            path: self.directory.join(format!("{stem}.json")),
            lock: self.directory.join(format!("{stem}.lock")),
            server: server.to_owned(),
            url: url.to_owned(),
            principal: principal.map(str::to_owned),
            store: self.clone(),
        }
    }
}

/// File name `NAME-HASH`: readable, and unique for each name, address and principal.
fn stem(server: &str, url: &str, principal: Option<&str>) -> String {
    let mut hash = Sha256::new();
    // The length prefix keeps a name and an address from running into each other.
    hash.update((server.len() as u64).to_le_bytes());
    hash.update(server.as_bytes());
    hash.update(url.as_bytes());
    if let Some(principal) = principal {
        // No url contains a NUL, so another url cannot produce the same bytes.
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

/// File of one server's record.
#[derive(Clone, Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    lock: PathBuf,
    server: String,
    url: String,
    /// Principal; `None` is the user who runs the gateway.
    principal: Option<String>,
    store: TokenStore,
}

/// Location of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordLocation {
    /// In this file.
    File(PathBuf),
    /// In a file of an earlier system.
    Earlier(PathBuf),
}

impl RecordFile {
    /// File of another principal's record of the same server.
    pub(super) fn of(&self, principal: &str) -> Self {
        // In a directory beside the default one, so that `name_is_taken` does not count these files.
        let mut directory = self.store.directory.clone().into_os_string();
        directory.push("-of-principals");
        let store = TokenStore::new(directory).known_to(self.store.known.clone());
        store.slot_of(&self.server, &self.url, Some(principal))
    }

    /// Principal of the record; `None` is the user who runs the gateway.
    pub(super) fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    /// Reads the record and its location.
    pub(super) fn read(&self) -> Result<Option<(SignInRecord, RecordLocation)>, OAuthError> {
        let read = self.read_file()?;
        if let Some((record, _)) = &read {
            self.add_to_known(record);
        }
        Ok(read)
    }

    /// Adds the secrets of a record to those that are taken out of answers.
    fn add_to_known(&self, record: &SignInRecord) {
        let tokens = record.tokens.iter();
        let tokens = tokens.flat_map(|tokens| [Some(&tokens.access), tokens.refresh.as_ref()]);
        let client = record.client.iter().map(|client| client.secret.as_ref());
        for secret in tokens.chain(client).flatten() {
            let source = self.path.to_string_lossy();
            self.store.known.add_secret(&source, secret.expose_secret());
        }
    }

    fn read_file(&self) -> Result<Option<(SignInRecord, RecordLocation)>, OAuthError> {
        let Some(content) = file::read(&self.path)? else {
            return Ok(self.earlier());
        };
        let unusable = |reason: &str| OAuthError::Content {
            path: self.path.clone(),
            reason: reason.to_owned(),
        };
        let record: SignInRecord =
            serde_json::from_slice(&content).map_err(|_| unusable("it is not what was written"))?;
        if record.version != VERSION {
            return Err(unusable("it is of another version"));
        }
        if record.server != self.server || record.url != self.url {
            return Err(unusable("it belongs to another server"));
        }
        Ok(Some((record, RecordLocation::File(self.path.clone()))))
    }

    /// Replaces the record. Call it under [`RecordFile::lock`].
    pub(super) fn write(&self, record: &SignInRecord) -> Result<(), OAuthError> {
        // Before anything can send a token that came with it.
        self.add_to_known(record);
        file::make_directory(&self.store.directory)?;
        let text = serde_json::to_vec_pretty(record).map_err(|_| OAuthError::Content {
            path: self.path.clone(),
            reason: "it cannot be written".to_owned(),
        })?;
        file::write(&self.path, &text)
    }

    /// Removes the record. Tokens of an earlier system stay in their file, so a record without tokens is
    /// written to hide them. Call it under [`RecordFile::lock`].
    pub(super) fn forget(&self) -> Result<(), OAuthError> {
        if self.seed_file().is_some_and(|path| path.exists()) {
            return self.write(&SignInRecord::new(&self.server, &self.url));
        }
        file::remove(&self.path)
    }

    /// Waits until no other process writes this record.
    pub(super) async fn lock(&self) -> Result<File, OAuthError> {
        file::make_directory(&self.store.directory)?;
        file::lock(&self.lock).await
    }

    /// Path of the record.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn seed_file(&self) -> Option<PathBuf> {
        // The earlier system used the name as file name, so a name with other characters could leave the
        // directory.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
        let is_plain = self.server.chars().all(plain) && !self.server.starts_with('.');
        let directory = self.store.seed.as_ref().filter(|_| is_plain)?;
        Some(directory.join(format!("{}.json", self.server)))
    }

    /// Reads tokens of an earlier system, unless this name already has a record under any address.
    fn earlier(&self) -> Option<(SignInRecord, RecordLocation)> {
        let path = self.seed_file()?;
        let content = file::read_foreign(&path)?;
        if self.name_is_taken() {
            return None;
        }
        let mut record = SignInRecord::new(&self.server, &self.url);
        let value: Value = serde_json::from_slice(&content).ok()?;
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let secret = |pointer: &str| text(pointer).filter(|text| !text.is_empty());
        record.client = text("/clientInfo/client_id").map(|id| RegisteredClient {
            id: id.to_owned(),
            secret: secret("/clientInfo/client_secret").map(SecretString::from),
        });
        let access = secret("/tokens/access_token")?;
        if !access.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let scope = text("/tokens/scope").unwrap_or_default();
        record.requested = scope.split_whitespace().map(str::to_owned).collect();
        record.tokens = Some(TokenSet {
            access: access.into(),
            refresh: secret("/tokens/refresh_token").map(SecretString::from),
            // The earlier system stores milliseconds.
            received_at: value["tokensIssuedAt"].as_u64().unwrap_or(0) / 1000,
            expires_in: value.pointer("/tokens/expires_in").and_then(Value::as_u64),
            scopes: record.requested.clone(),
        });
        Some((record, RecordLocation::Earlier(path)))
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
    fn a_changed_address_name_or_principal_is_another_file() {
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
