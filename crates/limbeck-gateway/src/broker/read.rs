//! Reads of resources and prompts, decided and journalled like calls of read tools.
//!
//! A program gets all pages of a list as one array, the contents of a resource, and the whole result of a prompt.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use limbeck_domain::limits::{CALL_ARGS_BYTES_MAX, CALL_RESULT_BYTES_MAX, LIST_PAGES_MAX};
use limbeck_domain::{
    CallCode, CallError, CallForm, EffectClass, HostCall, ReadMethod, ServerName, ToolId,
    ToolTarget,
};
use limbeck_policy::{ReadPermit, ReadRequest};
use limbeck_upstream::{CallContext, RawResult, Turn, UpstreamError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::answer_budget::{CALL_BYTES_MIN, Work};
use super::prepare::{RefusedCall, denied_error, out_of_scope};
use super::queries::parse;
use super::send::is_withdrawn;
use super::{Answer, Broker, result_bytes};
use crate::config::other_principal;
use crate::policy_in_force::PolicyVersion;

/// JSON-RPC's code for a request the server does not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// Body of [`limbeck_domain::HostOp::Read`].
#[derive(Deserialize)]
struct ReadBody {
    server: String,
    method: ReadMethod,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

/// Request for resources or prompts of one server.
struct Reading {
    server: ServerName,
    method: ReadMethod,
    params: String,
    /// Place among the requests that the server serves at a time, for all pages of a list; `None` before the read is
    /// admitted, and where the server has no such bound.
    place: Option<Arc<Turn>>,
    /// Whether the server may have received a request of this read.
    reached: AtomicBool,
}

impl Reading {
    /// The name of the read in errors and in the journal.
    fn target(&self) -> ToolId {
        ToolId::new(self.server.clone(), self.method.as_str())
    }
}

impl Broker {
    /// Answers one read and writes both ends of it into the journal.
    pub(super) async fn answer_read(&self, call: HostCall) -> Answer {
        let (id, started) = (call.id, Instant::now());
        let reading = tokio::select! {
            biased;
            () = self.reads.cancelled() => Err(RefusedCall::cancelled().error),
            reading = self.reading(&call.body) => reading,
        };
        let reading = reading.and_then(|reading| {
            // A refused read must not be journalled as sent. Each request is decided again when it is sent.
            let permit = self.permit_of(&reading, &reading.params);
            permit.map(|_| reading)
        });
        let mut reading = match reading {
            Ok(reading) => reading,
            Err(error) => return self.refuse(call, None, error, started).await,
        };
        let target = reading.target();
        let admitted = tokio::select! {
            biased;
            () = self.reads.cancelled() => None,
            admitted = async {
                let room = self.answers.reserve(Work::Remote, CALL_BYTES_MIN).await;
                let slot = self.slot_at(&reading.server).await;
                let principal = other_principal(&self.principal);
                let upstreams = &self.context.upstreams;
                let place = upstreams.place(&reading.server, principal.as_ref()).await;
                (room, slot, place)
            } => Some(admitted),
        };
        let Some((mut room, slot, place)) = admitted else {
            let RefusedCall { error, .. } = RefusedCall::cancelled();
            return self.refuse(call, Some(target), error, started).await;
        };
        reading.place = place;
        // After the place was taken: a read in the queue was not sent, also when the gateway is killed meanwhile.
        self.journal
            .call(call, Some(target), EffectClass::Read, true)
            .await;
        let result = self.read(&reading).await;
        room.set(result_bytes(&result));
        reading.place = None;
        drop(slot);
        let text = result.as_ref().map(String::as_str);
        let not_sent = !reading.reached.load(Ordering::Relaxed);
        let journal = &self.journal;
        let outcome = journal.outcome_of(id, text, EffectClass::Read, not_sent, started);
        let result = match outcome.await {
            Ok(()) => result,
            Err(error) => Err(error),
        };
        Answer {
            reached: (!not_sent).then_some(EffectClass::Read),
            permit: Some(room),
            ..Answer::of(id, result)
        }
    }

    async fn reading(&self, body: &str) -> Result<Reading, CallError> {
        if body.len() > CALL_ARGS_BYTES_MAX {
            return Err(CallError::new(
                CallCode::LimitExceeded,
                format!(
                    "request of {} bytes, at most {CALL_ARGS_BYTES_MAX} are allowed",
                    body.len()
                ),
            ));
        }
        let body: ReadBody = parse(body)?;
        let server = self.resolve_server(&body.server).await?.map_err(|error| {
            let target = ToolTarget {
                server: Some(body.server.clone()),
                tool: body.method.as_str().to_owned(),
                form: CallForm::Value,
            };
            out_of_scope(&self.scope, &target).unwrap_or_else(|| error.into())
        })?;
        Ok(Reading {
            server,
            method: body.method,
            params: body
                .params
                .map_or_else(|| "{}".to_owned(), |params| params.get().to_owned()),
            place: None,
            reached: AtomicBool::new(false),
        })
    }

    async fn read(&self, reading: &Reading) -> Result<String, CallError> {
        match reading.method {
            ReadMethod::ListResources => self.pages(reading, "resources").await,
            ReadMethod::ListResourceTemplates => self.pages(reading, "resourceTemplates").await,
            ReadMethod::ListPrompts => self.pages(reading, "prompts").await,
            ReadMethod::ReadResource => {
                let result = self.send_read(reading, reading.params.clone()).await?;
                match member(&result, "contents", reading)? {
                    Some(contents) => Ok(contents.get().to_owned()),
                    None => Err(unusable(reading, "it has no `contents`")),
                }
            }
            ReadMethod::GetPrompt | ReadMethod::Complete => {
                let result = self.send_read(reading, reading.params.clone()).await?;
                Ok(result.get().to_owned())
            }
        }
    }

    /// All pages of a list as one JSON array; empty for a server that does not know the method.
    async fn pages(&self, reading: &Reading, key: &str) -> Result<String, CallError> {
        let mut params: Map<String, Value> = parse(&reading.params)?;
        let mut list = String::from("[");
        let mut seen = HashSet::new();
        for number in 1.. {
            let asked = Value::Object(params.clone()).to_string();
            let page = match self.send_read_raw(reading, asked).await? {
                Ok(page) => page,
                Err(UpstreamError::Protocol { code, .. }) if code == METHOD_NOT_FOUND => {
                    return Ok("[]".to_owned());
                }
                Err(error) => return Err(error.to_call_error(&reading.target())),
            };
            let items = member(&page, key, reading)?
                .map(RawValue::get)
                .and_then(|items| items.strip_prefix('['))
                .and_then(|items| items.strip_suffix(']'))
                .ok_or_else(|| unusable(reading, &format!("it has no list of `{key}`")))?;
            if list.len() + items.len() > CALL_RESULT_BYTES_MAX {
                return Err(too_long(reading, &too_many_bytes()));
            }
            if list.len() > 1 && !items.trim().is_empty() {
                list.push(',');
            }
            list.push_str(items.trim());
            let next = member(&page, "nextCursor", reading)?
                .and_then(|cursor| serde_json::from_str::<String>(cursor.get()).ok());
            let Some(cursor) = next.filter(|cursor| !cursor.is_empty()) else {
                break;
            };
            // A part of the list would look like all of it, so neither of these ends it.
            if number == LIST_PAGES_MAX {
                return Err(too_long(
                    reading,
                    &format!("list of more than {number} pages"),
                ));
            }
            if !seen.insert(cursor.clone()) {
                let reason = format!("page {number} ends in a cursor that was used before");
                return Err(unusable(reading, &reason));
            }
            params.insert("cursor".to_owned(), cursor.into());
        }
        list.push(']');
        Ok(list)
    }

    async fn send_read(&self, reading: &Reading, params: String) -> Result<RawResult, CallError> {
        let sent = self.send_read_raw(reading, params).await?;
        let result = sent.map_err(|error| error.to_call_error(&reading.target()))?;
        if result.get().len() > CALL_RESULT_BYTES_MAX {
            return Err(too_long(reading, &too_many_bytes()));
        }
        Ok(result)
    }

    /// Decides about one request by the newest policy.
    fn permit_of(
        &self,
        reading: &Reading,
        params: &str,
    ) -> Result<(ReadPermit, Arc<PolicyVersion>), CallError> {
        let request = ReadRequest {
            server: reading.server.clone(),
            method: reading.method,
            params: params.to_owned(),
        };
        let by = self.context.policy.newest();
        let decided = by.decide_read(request, &self.scope, &self.requester());
        let permit = decided.map_err(|denied| denied_error(&denied))?;
        Ok((permit, by))
    }

    /// Sends one request with a permit for it alone. Where another policy comes into force before the server has it, that
    /// one decides.
    async fn send_read_raw(
        &self,
        reading: &Reading,
        params: String,
    ) -> Result<Result<RawResult, UpstreamError>, CallError> {
        let result = loop {
            let (permit, by) = self.permit_of(reading, &params)?;
            let context = CallContext {
                place: reading.place.clone(),
                pass: by.pass(),
                ..self.call_context(self.reads.child_token())
            };
            let sent = self.context.upstreams.request(permit, context).await;
            if !is_withdrawn(&sent, &by) || self.reads.is_cancelled() {
                break sent;
            }
        };
        if !matches!(&result, Err(error) if error.had_no_effect()) {
            reading.reached.store(true, Ordering::Relaxed);
        }
        Ok(result)
    }
}

/// One member of a result, unparsed.
fn member<'a>(
    result: &'a RawResult,
    key: &str,
    reading: &Reading,
) -> Result<Option<&'a RawValue>, CallError> {
    let members: std::collections::HashMap<String, &RawValue> = serde_json::from_str(result.get())
        .map_err(|error| unusable(reading, &error.to_string()))?;
    Ok(members.get(key).copied())
}

fn unusable(reading: &Reading, reason: &str) -> CallError {
    UpstreamError::InvalidAnswer {
        reason: format!("`{}`: {reason}", reading.method),
    }
    .to_call_error(&reading.target())
}

fn too_many_bytes() -> String {
    format!("answer of more than {CALL_RESULT_BYTES_MAX} bytes")
}

fn too_long(reading: &Reading, what: &str) -> CallError {
    let target = reading.target();
    CallError::new(CallCode::LimitExceeded, what).with_target(target.server.as_str(), &*target.tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_without_a_known_method_is_refused() {
        for body in [
            r#"{"server":"s","method":"tools/call"}"#,
            r#"{"server":"s"}"#,
            "[]",
        ] {
            assert!(parse::<ReadBody>(body).is_err(), "{body}");
        }
        let body = r#"{"server":"s","method":"resources/read","params":{"uri":"x:1"}}"#;
        let body = parse::<ReadBody>(body).unwrap();
        assert_eq!(body.method, ReadMethod::ReadResource);
    }
}
