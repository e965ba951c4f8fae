//! `artifacts` of a program: the artifacts of its principal, listed, saved and read in parts.
//!
//! Content is loaded once the call has room for it and its principal has a turn, and both are held until the work on it
//! has ended, also when the program ends before.

mod part;

use limbeck_domain::limits::{ARTIFACT_NAME_BYTES_MAX, ARTIFACTS_LISTED_MAX};
use limbeck_domain::text::clean_line;
use limbeck_domain::{ArtifactId, CallCode, CallError};
use limbeck_store::ArtifactInfo;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use part::{Opened, Part};

use super::Broker;
use super::answer_budget::AnswerPermit;
use super::queries::QueryAnswer;
use crate::admission::Admission;
use crate::artifacts::select::StopFlag;
use crate::artifacts::{JSON, TEXT, UnsavedArtifact, info_json, outline};
use crate::clock::now_us;
use crate::store_errors::query_error;

/// Copies of a content that the work on it makes: the content, and an answer that is longer by its escapes.
const CONTENT_COPIES: usize = 3;

/// Body of [`limbeck_domain::HostOp::Artifact`].
#[derive(Deserialize)]
pub(super) struct ArtifactBody {
    #[serde(rename = "do")]
    action: Action,
    #[serde(default)]
    id: Option<String>,
    /// Where a page begins: 0, or `next` of the page before.
    #[serde(default)]
    from: usize,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    value: Option<Box<RawValue>>,
    #[serde(default)]
    name: Option<String>,
}

/// What a program does with artifacts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Save,
    Info,
    Json,
    Text,
    Base64,
    Items,
    Select,
}

impl ArtifactBody {
    /// The part of an artifact that is read; `None` for a request of another kind.
    pub(super) fn part(&self) -> Option<Part> {
        match self.action {
            Action::List | Action::Save | Action::Info => None,
            Action::Json => Some(Part::Json),
            Action::Text => Some(Part::Text),
            Action::Base64 => Some(Part::Base64),
            Action::Items => Some(Part::Items(self.from)),
            Action::Select => Some(Part::Select(self.path.clone().unwrap_or_default())),
        }
    }

    /// Whether the request changes something, so that its work is finished after a program that did not await it.
    pub(super) fn writes(&self) -> bool {
        match self.action {
            Action::Save => true,
            Action::List
            | Action::Info
            | Action::Json
            | Action::Text
            | Action::Base64
            | Action::Items
            | Action::Select => false,
        }
    }
}

/// The part of an artifact that the body of a call asks for, as JSON text; for a replay.
pub(crate) fn part_again(body: &str, opened: &Opened) -> Option<Result<String, CallError>> {
    let body: ArtifactBody = serde_json::from_str(body).ok()?;
    Some(body.part()?.of(opened, &StopFlag::default()))
}

impl Broker {
    pub(super) async fn artifact(
        &self,
        body: ArtifactBody,
        room: &mut AnswerPermit,
    ) -> Result<QueryAnswer, CallError> {
        if let Some(part) = body.part() {
            let turns = match part {
                Part::Select(_) => &self.context.artifacts.path_evaluations,
                Part::Json | Part::Text | Part::Base64 | Part::Items(_) => {
                    &self.context.artifacts.readings
                }
            };
            let info = self.artifact_info(body.id.as_deref()).await?;
            let read = move |opened: &Opened, stop: &StopFlag| part.of(opened, stop);
            let json = self.with_content(info.clone(), room, turns, read).await?;
            return Ok(QueryAnswer {
                json,
                part_of: Some(info),
            });
        }
        let json = match body.action {
            Action::List => self.list_artifacts().await,
            Action::Save => self.save_artifact(body.value, body.name).await,
            _ => self.describe_artifact(body.id.as_deref(), room).await,
        };
        json.map(QueryAnswer::from)
    }

    async fn list_artifacts(&self) -> Result<String, CallError> {
        let store = &self.context.store;
        let found = store
            .artifacts(&self.principal, now_us(), ARTIFACTS_LISTED_MAX)
            .await
            .map_err(|error| query_error(&error))?;
        let found: Vec<_> = found.iter().map(info_json).collect();
        Ok(serde_json::Value::from(found).to_string())
    }

    async fn save_artifact(
        &self,
        value: Option<Box<RawValue>>,
        name: Option<String>,
    ) -> Result<String, CallError> {
        let value = value.map_or_else(|| "null".to_owned(), |value| value.get().to_owned());
        let mut draft = match serde_json::from_str::<String>(&value) {
            Ok(text) => UnsavedArtifact::new(TEXT, text.into_bytes()),
            Err(_) => UnsavedArtifact::new(JSON, value.into_bytes()),
        };
        draft.name = name.map(|name| clean_line(&name, ARTIFACT_NAME_BYTES_MAX));
        let kept = self.context.artifacts.keep(&self.principal, draft).await;
        let info = kept.map_err(|error| query_error(&error))?;
        Ok(info_json(&info).to_string())
    }

    async fn describe_artifact(
        &self,
        id: Option<&str>,
        room: &mut AnswerPermit,
    ) -> Result<String, CallError> {
        let info = self.artifact_info(id).await?;
        let mut described = info_json(&info);
        let read = |opened: &Opened, _: &StopFlag| {
            let json = opened.json().ok();
            Ok(json.map(|json| (outline::shape(json), outline::count(json))))
        };
        let turns = &self.context.artifacts.readings;
        if let Some((shape, items)) = self.with_content(info, room, turns, read).await? {
            described["shape"] = shape.into();
            if let Some(items) = items {
                described["items"] = items.into();
            }
        }
        Ok(described.to_string())
    }

    /// Description of an artifact of this principal. An artifact of another principal is unknown.
    pub(super) async fn artifact_info(&self, id: Option<&str>) -> Result<ArtifactInfo, CallError> {
        let id = id.and_then(ArtifactId::parse).ok_or_else(unknown)?;
        let store = &self.context.store;
        let found = store.artifact_info(&self.principal, &id, now_us()).await;
        found
            .map_err(|error| query_error(&error))?
            .ok_or_else(unknown)
    }

    /// Loads an artifact and runs `work` on it, on a thread for blocking work.
    ///
    /// Waits first for room for the content, and then for one of `turns`. A task of its own holds both until the work
    /// has ended: when this future is dropped, the work is asked to stop, and what it takes is counted until it has.
    pub(super) async fn with_content<T: Send + 'static>(
        &self,
        info: ArtifactInfo,
        room: &mut AnswerPermit,
        turns: &Admission,
        work: impl FnOnce(&Opened, &StopFlag) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let bytes = CONTENT_COPIES.saturating_mul(info.bytes);
        room.exchange(bytes).await;
        // The queue has no bound of its own: what waits in it has room.
        let turn = turns.enter(&self.principal).await.map_err(|_| failed())?;
        let stop = StopFlag::default();
        let _stop_when_dropped = stop.clone().stop_when_dropped();
        let held = room.take();
        let (store, principal) = (self.context.store.clone(), self.principal.clone());
        let task = tokio::spawn(async move {
            let held = (held, turn);
            let found = store.artifact(&principal, &info.id, now_us()).await;
            let found = found.map_err(|error| query_error(&error));
            let (info, content) = match found.and_then(|found| found.ok_or_else(unknown)) {
                Ok(found) => found,
                Err(error) => return (Some(held.0), Err(error)),
            };
            let working = tokio::task::spawn_blocking(move || {
                let opened = Opened {
                    id: info.id,
                    media_type: info.media_type,
                    content,
                };
                let done = work(&opened, &stop);
                drop(opened);
                let (room, turn) = held;
                drop(turn);
                (Some(room), done)
            });
            working.await.unwrap_or_else(|_| (None, Err(failed())))
        });
        let (held, done) = task.await.unwrap_or_else(|_| (None, Err(failed())));
        if let Some(held) = held {
            *room = held;
        }
        done
    }
}

fn failed() -> CallError {
    CallError::new(
        CallCode::GatewayFault,
        "reading the artifact failed in the gateway",
    )
    .with_hint("look at the gateway's log on standard error")
}

fn unknown() -> CallError {
    CallError::new(CallCode::InvalidArguments, "artifact expired or unknown")
        .with_hint("ids look like `art_` and 32 digits; `artifacts.list()` lists the artifacts")
}
