//! Host calls that ask the gateway itself: the catalogue, the servers, the key-value store.

use std::time::Duration;

use limbeck_domain::limits::{STORE_KEY_BYTES_MAX, STORE_VALUE_BYTES_MAX};
use limbeck_domain::{CallCode, CallError, HostCall, HostOp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Broker;
use crate::listing;
use crate::search::{SearchRequest, connect_named, program_hits};

/// How long a search waits for servers that were never listed before. Package runners download.
pub(crate) const FIRST_LIST_PATIENCE: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
struct SearchBody {
    query: String,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct DescribeBody {
    server: String,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    detail: Option<String>,
}

#[derive(Deserialize)]
struct KeyBody {
    key: String,
}

#[derive(Deserialize)]
struct KeyValueBody {
    key: String,
    value: Box<RawValue>,
}

impl Broker {
    pub(super) async fn answer_query(&self, call: &HostCall) -> Result<String, CallError> {
        match call.op {
            HostOp::Search => self.search(parse(&call.body)?).await,
            HostOp::Describe => self.describe(parse(&call.body)?).await,
            HostOp::Servers => Ok(self.servers()),
            HostOp::StoreGet => self.store_get(parse(&call.body)?).await,
            HostOp::StoreSet => self.store_set(parse(&call.body)?).await,
            HostOp::Check => self.check(&call.body).await,
            HostOp::Artifact => self.artifact(parse(&call.body)?).await,
            HostOp::Emit => self.emit(call.id, parse(&call.body)?).await,
            HostOp::Tool | HostOp::Read => Err(CallError::new(
                CallCode::GatewayFault,
                "what reaches a server is no query",
            )),
        }
    }

    async fn search(&self, body: SearchBody) -> Result<String, CallError> {
        self.shared.catalogue.discover(FIRST_LIST_PATIENCE).await;
        let request = SearchRequest {
            queries: vec![body.query],
            server: body.server,
            limit: body.limit,
            language: self.language,
            ..SearchRequest::default()
        };
        let catalog = self.shared.catalogue.snapshot();
        connect_named(&self.shared, &catalog, &request, &self.scope);
        let hits = program_hits(&self.shared, &catalog, &request, &self.scope).await;
        Ok(hits.to_string())
    }

    async fn describe(&self, body: DescribeBody) -> Result<String, CallError> {
        let target = limbeck_domain::ToolTarget {
            server: Some(body.server.clone()),
            tool: body.tool.clone().unwrap_or_default(),
            form: limbeck_domain::CallForm::Value,
        };
        if body.tool.is_some() {
            let resolved = self
                .resolve(&target)
                .await
                .map_err(|refused| refused.error)?;
            self.cover(&resolved.tool)
                .map_err(|refused| refused.error)?;
            return Ok(listing::tool_json(&resolved.tool, self.language).to_string());
        }
        let server = self
            .shared
            .catalogue
            .snapshot()
            .resolve_server(&body.server)
            .map_err(CallError::from)?;
        if self
            .shared
            .catalogue
            .snapshot()
            .tools_of(&server)
            .is_empty()
        {
            self.list_for(&server, &target)
                .await
                .map_err(|refused| refused.error)?;
        }
        let catalog = self.shared.catalogue.snapshot();
        let full = body.detail.as_deref() == Some("full");
        Ok(listing::server_json(&catalog, &server, &self.scope, self.language, full).to_string())
    }

    fn servers(&self) -> String {
        listing::servers_json(&self.shared, &self.scope).to_string()
    }

    async fn store_get(&self, body: KeyBody) -> Result<String, CallError> {
        check_key(&body.key)?;
        let value = self.shared.store.kv_get(&self.principal, &body.key).await;
        let value = value.map_err(|error| store_fault(&error))?;
        Ok(value.unwrap_or_else(|| "null".to_owned()))
    }

    async fn store_set(&self, body: KeyValueBody) -> Result<String, CallError> {
        check_key(&body.key)?;
        let text = body.value.get();
        if text.len() > STORE_VALUE_BYTES_MAX {
            return Err(CallError::new(
                CallCode::LimitExceeded,
                format!(
                    "value of {} bytes for key `{}`, at most {STORE_VALUE_BYTES_MAX} are allowed",
                    text.len(),
                    body.key
                ),
            ));
        }
        let value = (text != "null").then(|| text.to_owned());
        let written = self
            .shared
            .store
            .kv_set(&self.principal, &body.key, value)
            .await;
        written.map_err(|error| store_fault(&error))?;
        Ok("null".to_owned())
    }
}

pub(super) fn parse<T: DeserializeOwned>(body: &str) -> Result<T, CallError> {
    serde_json::from_str(body)
        .map_err(|error| CallError::new(CallCode::InvalidArguments, error.to_string()))
}

fn check_key(key: &str) -> Result<(), CallError> {
    if (1..=STORE_KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(());
    }
    Err(CallError::new(
        CallCode::InvalidArguments,
        format!(
            "key of {} bytes, 1 to {STORE_KEY_BYTES_MAX} are allowed",
            key.len()
        ),
    ))
}

pub(super) fn store_fault(error: &limbeck_store::StoreError) -> CallError {
    tracing::error!(error = error as &dyn std::error::Error, "store failed");
    CallError::new(CallCode::GatewayFault, format!("the store failed: {error}"))
        .with_hint("free disk space or choose another `--state-dir`")
}
