//! Artifacts as MCP resources: `limbeck://artifacts/ID`, for the principal they were made for.

use limbeck_domain::ArtifactId;
use limbeck_domain::limits::ARTIFACTS_LISTED_MAX;
use rmcp::ErrorData;
use rmcp::model::{CacheScope, ReadResourceResult, Resource, ResourceContents};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;

use super::client_surface::Surface;
use crate::answer_place;
use limbeck_gateway::artifacts::{base64, uri_of, when};
use limbeck_gateway::clock::now_us;

impl Surface {
    /// Lists the newest artifacts of this principal. A failure of the store is logged and gives an empty list.
    pub(super) async fn artifact_resources(&self) -> Vec<Resource> {
        let store = self.gateway.store();
        let found = store
            .artifacts(&self.principal, now_us(), ARTIFACTS_LISTED_MAX)
            .await;
        let found = found.unwrap_or_else(|error| {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "artifacts cannot be listed"
            );
            Vec::new()
        });
        let resources = found.iter().map(|info| {
            let name = info.name.clone().unwrap_or_else(|| info.id.to_string());
            let expires = when(info.expires_us);
            let mut resource = Resource::new(uri_of(&info.id), name)
                .with_description(format!("{} bytes, kept until {expires}", info.bytes))
                .with_mime_type(info.media_type.as_str());
            resource.size = Some(info.bytes as u64);
            resource
        });
        resources.collect()
    }

    /// Reads an artifact when there is room for it. Its content never changes, so the client may cache it until it
    /// expires.
    pub(super) async fn read_artifact(
        &self,
        id: &str,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let unknown = || {
            let about = Some(json!({ "uri": uri }));
            ErrorData::resource_not_found("artifact expired or unknown", about)
        };
        let id = ArtifactId::parse(id).ok_or_else(unknown)?;
        let store = self.gateway.store();
        let info = store.artifact_info(&self.principal, &id, now_us()).await;
        let bytes = info.map_err(unreadable)?.ok_or_else(unknown)?.bytes;
        // As Base64; what a text takes in fact is counted when its answer is made.
        answer_place::take(context, bytes.saturating_add(bytes / 3), 0).await?;
        let now_us = now_us();
        let found = store.artifact(&self.principal, &id, now_us).await;
        let (info, content) = found.map_err(unreadable)?.ok_or_else(unknown)?;
        let contents = match String::from_utf8(content) {
            Ok(text) => ResourceContents::text(text, uri),
            Err(binary) => ResourceContents::blob(base64(binary.as_bytes()), uri),
        };
        let contents = contents.with_mime_type(info.media_type);
        let ttl_ms = info.expires_us.saturating_sub(now_us) / 1_000;
        Ok(ReadResourceResult::new(vec![contents])
            .with_ttl_ms(ttl_ms)
            .with_cache_scope(CacheScope::Private))
    }
}

fn unreadable(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
