//! Host calls that the gateway answers itself: search, descriptions, servers, the key-value store.

use std::sync::Arc;

use limbeck_catalog::{Catalog, Tool};
use limbeck_domain::limits::{STORE_KEY_BYTES_MAX, STORE_VALUE_BYTES_MAX};
use limbeck_domain::{CallCode, CallError, HostCall, HostOp, Language, ServerName};
use limbeck_policy::PolicyNote;
use limbeck_store::ArtifactInfo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Broker;
use super::answer_budget::{AnswerPermit, CALL_BYTES_MIN};
use super::artifacts::ArtifactBody;
use super::prepare::server_out_of_scope;
use super::skills::SkillBody;
use super::workspace::WorkspaceBody;
use crate::live_catalog::FIRST_LIST_TIMEOUT;
use crate::policy_notes::{self, PolicyNotes};
use crate::program_listings;
use crate::search::{LIMIT_DEFAULT, LIMIT_MAX, SearchRequest};
use crate::store_errors::query_error;

/// A list of tools or servers that is longer than most.
const LISTING_BYTES: usize = 256 << 10;
/// Bytes of a tool in the description of its server, besides its names and signature: the first sentence about it.
const TOOL_LISTED_BYTES: usize = 512;

/// Where `save_tool` of a Python program keeps functions, by name. It reads all of them and writes them with its own, so
/// they are added to what is there: programs that save at the same time do not undo each other.
const SAVED_TOOLS_KEY: &str = "limbeck:saved_tools";

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
    /// Absent when `tool` is a full name.
    #[serde(default)]
    server: Option<String>,
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

/// Answer to a call of the gateway's own.
pub(super) struct QueryAnswer {
    /// JSON text.
    pub(super) json: String,
    /// The artifact that the answer is a part of.
    pub(super) part_of: Option<ArtifactInfo>,
}

impl From<String> for QueryAnswer {
    fn from(json: String) -> Self {
        Self {
            json,
            part_of: None,
        }
    }
}

/// Room that a call of the gateway's own needs before its answer is known. For an artifact this is the room to look it
/// up; its content needs more.
pub(super) fn room_of(call: &HostCall) -> usize {
    // The body is copied into the value that is stored, or into the answer.
    let body = 2 * call.body.len();
    let answer = match call.op {
        HostOp::StoreGet => STORE_VALUE_BYTES_MAX,
        HostOp::Search => search_bytes(&call.body),
        HostOp::Describe | HostOp::Servers => LISTING_BYTES,
        // Sources of skills, or a list of them.
        HostOp::Skill => LISTING_BYTES,
        HostOp::Workspace => STORE_VALUE_BYTES_MAX,
        HostOp::StoreSet
        | HostOp::Artifact
        | HostOp::Emit
        | HostOp::Tool
        | HostOp::Read
        | HostOp::Llm => 0,
    };
    CALL_BYTES_MIN + body + answer
}

/// Room of the answer to a search: its hits have whole schemas.
fn search_bytes(body: &str) -> usize {
    let limit = parse::<SearchBody>(body).ok().and_then(|body| body.limit);
    let hits = limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    LISTING_BYTES * hits.div_ceil(LIMIT_DEFAULT)
}

/// Room of the description of a server, without whole definitions: a little more than it has. `note` is what its listing says
/// about calls of a tool.
fn room_of_description(
    catalog: &Catalog,
    server: &ServerName,
    language: Language,
    note: impl Fn(&Tool) -> Option<PolicyNote>,
) -> usize {
    let tools = catalog.tools_of(server).iter();
    let bytes = tools.map(|tool| {
        let names = server.as_str().len() + 3 * tool.id().tool.len();
        let signature = policy_notes::signature(tool, language, note(tool).as_ref());
        TOOL_LISTED_BYTES + names + signature.len()
    });
    CALL_BYTES_MIN + bytes.sum::<usize>()
}

/// Whether a call changes something. The work of one that does not is cancelled when the program has ended.
pub(super) fn writes(call: &HostCall) -> bool {
    match call.op {
        HostOp::StoreSet | HostOp::Emit => true,
        HostOp::Artifact => parse::<ArtifactBody>(&call.body).is_ok_and(|body| body.writes()),
        HostOp::Skill => parse::<SkillBody>(&call.body).is_ok_and(|body| body.writes()),
        HostOp::Workspace => parse::<WorkspaceBody>(&call.body).is_ok_and(|body| body.writes()),
        HostOp::Search
        | HostOp::Describe
        | HostOp::Servers
        | HostOp::StoreGet
        | HostOp::Tool
        | HostOp::Read
        | HostOp::Llm => false,
    }
}

/// Whether a list is asked for of what is left of budgets, and not of the servers.
fn asks_for_budgets(body: &str) -> bool {
    #[derive(Deserialize)]
    struct ServersBody {
        #[serde(default)]
        budgets: bool,
    }
    serde_json::from_str::<ServersBody>(body).is_ok_and(|body| body.budgets)
}

impl Broker {
    pub(super) async fn query(
        &self,
        call: &HostCall,
        room: &mut AnswerPermit,
    ) -> Result<QueryAnswer, CallError> {
        if call.op == HostOp::Artifact {
            return self.artifact(parse(&call.body)?, room).await;
        }
        let json = match call.op {
            HostOp::Search => self.search(parse(&call.body)?).await,
            HostOp::Describe => self.describe(parse(&call.body)?, room).await,
            HostOp::Servers if asks_for_budgets(&call.body) => self.budgets_left().await,
            HostOp::Servers => self.servers().await,
            HostOp::StoreGet => self.store_get(parse(&call.body)?).await,
            HostOp::StoreSet => self.store_set(parse(&call.body)?).await,
            HostOp::Emit => self.emit(call.id, parse(&call.body)?, room).await,
            HostOp::Skill => self.skill(parse(&call.body)?).await,
            HostOp::Workspace => self.workspace(parse(&call.body)?).await,
            HostOp::Artifact | HostOp::Tool | HostOp::Read | HostOp::Llm => Err(CallError::new(
                CallCode::GatewayFault,
                "a call to a server is not a query",
            )),
        };
        json.map(QueryAnswer::from)
    }

    async fn search(&self, body: SearchBody) -> Result<String, CallError> {
        self.context.live_catalog.discover(FIRST_LIST_TIMEOUT).await;
        let request = SearchRequest {
            queries: vec![body.query],
            server: body.server,
            limit: body.limit,
            language: self.language,
            ..SearchRequest::default()
        };
        let search = &self.context.search;
        search
            .program_hits(&self.principal, request, &self.scope, self.policy_notes())
            .await
    }

    async fn describe(
        &self,
        body: DescribeBody,
        room: &mut AnswerPermit,
    ) -> Result<String, CallError> {
        let target = limbeck_domain::ToolTarget {
            server: body.server.clone(),
            tool: body.tool.clone().unwrap_or_default(),
            form: limbeck_domain::CallForm::Value,
        };
        if body.tool.is_some() {
            let resolved = self
                .resolve(&target)
                .await
                .map_err(|refused| refused.error)?;
            let (language, tool) = (self.language, resolved.tool);
            let note = self.policy_notes().of(&tool);
            let described =
                move || program_listings::tool_json(&tool, language, note.as_ref()).to_string();
            return self.computed(described).await;
        }
        let named = body.server.as_deref().unwrap_or_default();
        let server = self.resolve_server(named).await?.map_err(|error| {
            server_out_of_scope(&self.scope, named).unwrap_or_else(|| error.into())
        })?;
        let is_listed = !self
            .context
            .live_catalog
            .snapshot()
            .tools_of(&server)
            .is_empty();
        if !is_listed {
            self.list_for(&server, &target)
                .await
                .map_err(|refused| refused.error)?;
        }
        let catalog = self.context.live_catalog.snapshot();
        let full = body.detail.as_deref() == Some("full");
        let cut = self.context.listings.cut(&catalog, &server);
        let (scope, language) = (Arc::clone(&self.scope), self.language);
        // A server may have a thousand tools; of whole definitions two descriptions are made at a time.
        let bytes = match full {
            true => usize::MAX,
            false => {
                let (catalog, server) = (Arc::clone(&catalog), server.clone());
                let notes = self.policy_notes();
                let note = move |tool: &Tool| notes.of(tool);
                self.computed(move || room_of_description(&catalog, &server, language, note))
                    .await?
            }
        };
        room.exchange(bytes).await;
        let notes = self.policy_notes();
        self.computed(move || {
            let note = |tool: &Tool| notes.of(tool);
            let described =
                program_listings::server_json(&catalog, &server, &scope, language, full, cut, note);
            described.to_string()
        })
        .await
    }

    /// Notes for the requester of this broker's calls.
    fn policy_notes(&self) -> PolicyNotes {
        PolicyNotes::new(self.context.policy.newest(), &self.principal)
    }

    async fn servers(&self) -> Result<String, CallError> {
        let (listings, scope) = (self.context.listings.clone(), Arc::clone(&self.scope));
        self.computed(move || listings.servers_json(&scope).to_string())
            .await
    }

    async fn store_get(&self, body: KeyBody) -> Result<String, CallError> {
        check_key(&body.key)?;
        let value = self.context.store.kv_get(&self.principal, &body.key).await;
        let value = value.map_err(|error| query_error(&error))?;
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
        let store = &self.context.store;
        let functions = (body.key == SAVED_TOOLS_KEY).then(|| serde_json::from_str(text).ok());
        let written = match functions.flatten() {
            Some(functions) => store.kv_merge(&self.principal, &body.key, functions).await,
            None => {
                let value = (text != "null").then(|| text.to_owned());
                store.kv_set(&self.principal, &body.key, value).await
            }
        };
        written.map_err(|error| query_error(&error))?;
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

#[cfg(test)]
mod tests {
    use limbeck_domain::{CallId, ToolDefinition, ToolId};
    use limbeck_policy::Scope;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_description_of_a_large_server_has_more_room_than_one_of_a_small_server() {
        let definition = |number: usize| ToolDefinition {
            id: ToolId::new("s", format!("tool_{number}")),
            title: None,
            description: Some("d".repeat(1_900)),
            input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            output_schema: None,
            annotations: Default::default(),
        };
        for count in [1, 1_700] {
            let definitions = (0..count).map(definition).collect();
            let name = ServerName::from("s");
            let tools = limbeck_catalog::ServerTools::new(name.clone(), definitions, None);
            let catalog = Catalog::new(vec![tools]);
            let language = Language::Typescript;
            let scope = Scope::everything();
            let described = program_listings::server_json(
                &catalog,
                &name,
                &scope,
                language,
                false,
                None,
                |_| None,
            );
            let room = room_of_description(&catalog, &name, language, |_| None);
            assert!(described.to_string().len() <= room, "{count} tools: {room}");
        }
    }

    #[test]
    fn a_search_for_many_tools_has_more_room_than_one_for_few() {
        let room = |body: &str| {
            room_of(&HostCall {
                id: CallId(1),
                op: HostOp::Search,
                head: String::new(),
                body: body.to_owned(),
            })
        };
        let usual = room(r#"{"query":"a"}"#);
        assert!(
            (LISTING_BYTES..2 * LISTING_BYTES).contains(&usual),
            "{usual}"
        );
        let many = room(r#"{"query":"a","limit":1000000}"#);
        assert!(many >= LIMIT_MAX / LIMIT_DEFAULT * LISTING_BYTES, "{many}");
    }
}
