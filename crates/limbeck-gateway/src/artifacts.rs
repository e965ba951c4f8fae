//! Artifacts: content that is too large for a model or is binary, kept by its hash for one principal.
//!
//! They come from answers over their budget, from binary content of tools' results, and from programs
//! (`artifacts.save`). They are read by later programs (`artifacts.open`) and as MCP resources.

pub(crate) mod binary;
pub(crate) mod outline;
pub(crate) mod select;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use limbeck_domain::ArtifactId;
use limbeck_domain::limits::ARTIFACT_KEPT_MS;
use limbeck_store::{ArtifactInfo, NewArtifact, Store, StoreError};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::admission::{Admission, AdmissionSize};
use crate::clock::now_us;

/// Media type of values.
pub(crate) const JSON: &str = "application/json";
/// Media type of printed text.
pub(crate) const TEXT: &str = "text/plain";

/// Where the client reads an artifact as a resource.
pub fn uri_of(id: &ArtifactId) -> String {
    format!("{URI_PREFIX}{id}")
}

/// Beginning of the address of every artifact.
pub const URI_PREFIX: &str = "limbeck://artifacts/";

/// Bytes as Base64.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a Base64 text, padded or not; `None` for any other text.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD
        .decode(text)
        .or_else(|_| STANDARD_NO_PAD.decode(text))
        .ok()
}

/// The id of content: its media type is part of it, so that one text may be kept as text and as JSON.
pub(crate) fn id_of(media_type: &str, content: &[u8]) -> ArtifactId {
    let mut hash = Sha256::new();
    hash.update(media_type.as_bytes());
    hash.update([0]);
    hash.update(content);
    ArtifactId::of_digest(&hash.finalize().into())
}

/// Content that is not in the store yet.
#[derive(Clone, Debug)]
pub(crate) struct UnsavedArtifact {
    pub(crate) id: ArtifactId,
    pub(crate) media_type: String,
    pub(crate) name: Option<String>,
    pub(crate) content: Vec<u8>,
}

impl UnsavedArtifact {
    pub(crate) fn new(media_type: impl Into<String>, content: Vec<u8>) -> Self {
        let media_type = media_type.into();
        Self {
            id: id_of(&media_type, &content),
            media_type,
            name: None,
            content,
        }
    }
}

/// Paths evaluated over artifacts at the same time, one of each principal: some 300 MB of memory at most.
const PATH_EVALUATIONS: AdmissionSize = AdmissionSize {
    running: 2,
    running_each: 1,
    queued: usize::MAX,
    queued_each: usize::MAX,
};
/// Artifacts read in other ways at the same time: some 300 MB of content and answers at most.
const READINGS: AdmissionSize = AdmissionSize {
    running: 4,
    running_each: 2,
    queued: usize::MAX,
    queued_each: usize::MAX,
};

/// Keeps artifacts in the store, and bounds the work on their contents. Principals take turns.
#[derive(Clone, Debug)]
pub(crate) struct ArtifactStore {
    store: Store,
    /// Turns to evaluate a path: each evaluation holds a tree of the whole artifact.
    pub(crate) path_evaluations: Admission,
    /// Turns to load an artifact and read it otherwise.
    pub(crate) readings: Admission,
}

impl ArtifactStore {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            path_evaluations: Admission::new(PATH_EVALUATIONS),
            readings: Admission::new(READINGS),
        }
    }

    /// Keeps content for `principal` for [`ARTIFACT_KEPT_MS`] from now.
    pub(crate) async fn keep(
        &self,
        principal: &str,
        artifact: UnsavedArtifact,
    ) -> Result<ArtifactInfo, StoreError> {
        let created_us = now_us();
        let UnsavedArtifact {
            id,
            media_type,
            name,
            content,
        } = artifact;
        let new = NewArtifact {
            id,
            media_type,
            name,
            content,
            created_us,
            expires_us: created_us + ARTIFACT_KEPT_MS * 1_000,
        };
        let info = ArtifactInfo {
            id: new.id.clone(),
            media_type: new.media_type.clone(),
            name: new.name.clone(),
            bytes: new.content.len(),
            created_us: new.created_us,
            expires_us: new.expires_us,
        };
        self.store.keep_artifact(principal, new).await?;
        Ok(info)
    }
}

/// What a program and a listing read of an artifact.
pub(crate) fn info_json(info: &ArtifactInfo) -> Value {
    let mut json = json!({
        "id": info.id,
        "mimeType": info.media_type,
        "bytes": info.bytes,
        "created": when(info.created_us),
        "expires": when(info.expires_us),
    });
    if let Some(name) = &info.name {
        json["name"] = name.as_str().into();
    }
    json
}

/// `2026-05-09T07:29:33Z`; nothing for a time no calendar has.
pub fn when(us: u64) -> String {
    let seconds = i64::try_from(us / 1_000_000).unwrap_or(i64::MAX);
    OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_content_has_one_id_and_another_media_type_another() {
        assert_eq!(id_of(TEXT, b"a"), id_of(TEXT, b"a"));
        assert_ne!(id_of(TEXT, b"a"), id_of(JSON, b"a"));
        assert_ne!(id_of(TEXT, b"a"), id_of(TEXT, b"b"));
        assert_eq!(when(1_778_311_773_000_000), "2026-05-09T07:29:33Z");
    }
}
