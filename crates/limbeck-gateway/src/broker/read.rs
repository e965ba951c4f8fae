//! Reads of resources and prompts, decided and journalled like calls of read tools.
//!
//! A program gets all pages of a list as one array, the contents of a resource, and the whole result of a prompt.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use limbeck_domain::limits::{CALL_ARGS_BYTES_MAX, CALL_RESULT_BYTES_MAX, LIST_PAGES_MAX};
use limbeck_domain::{
    CallCode, CallError, CallForm, CompactArguments, EffectClass, HostCall, ReadMethod, ServerName,
    ToolId, ToolTarget,
};
use limbeck_store::{Charge, Counted};
use limbeck_upstream::{CallContext, RawResult, Turn, UpstreamError};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::admit_read::AdmittedRead;
use super::journal::Intent;
use super::prepare::{RefusedCall, out_of_scope};
use super::queries::parse;
use super::send::is_withdrawn;
use super::{Answer, Broker, result_bytes};
use crate::approvals::Approved;

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

/// What the reader of a read gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadForm {
    /// A program gets all pages of a list, and the contents of a resource.
    Value,
    /// A client gets the result of one request as the server sent it.
    Raw,
}

/// Request for resources or prompts of one server.
pub(super) struct Reading {
    pub(super) server: ServerName,
    pub(super) method: ReadMethod,
    /// JSON text of one object, without white space and without a key given twice.
    pub(super) params: String,
    /// What a person allowed.
    pub(super) approved: Option<Arc<Approved>>,
    /// Place among the requests that the server serves at a time, for all pages of a list; `None` before the read is
    /// admitted, and where the server has no such bound.
    pub(super) place: Option<Arc<Turn>>,
    /// Whether the server may have received a request of this read.
    pub(super) reached: AtomicBool,
}

impl Reading {
    /// The name of the read in errors and in the journal.
    pub(super) fn target(&self) -> ToolId {
        ToolId::new(self.server.clone(), self.method.as_str())
    }
}

impl Broker {
    /// Answers one read of a program and writes both ends of it into the journal.
    pub(super) async fn answer_read(&self, call: HostCall) -> Answer {
        self.answer_read_as(call, ReadForm::Value).await
    }

    /// Answers one read of a program or of a client, and writes both ends of it into the journal.
    pub(crate) async fn answer_read_as(&self, call: HostCall, form: ReadForm) -> Answer {
        let (id, started) = (call.id, Instant::now());
        let admitted = tokio::select! {
            biased;
            () = self.reads.cancelled() => Err(RefusedCall::cancelled()),
            // A refused read must not be journalled as sent. Each request is decided again when it is sent.
            admitted = self.admit_read(&call) => admitted,
        };
        let AdmittedRead {
            mut reading,
            mut room,
            slot,
            note,
        } = match admitted {
            Ok(admitted) => admitted,
            Err(RefusedCall { error, tool }) => {
                return self.refuse(call, tool, error, started).await;
            }
        };
        let budgets = self.budgets_of(&reading.target(), EffectClass::Read, reading.params.len());
        let again = (!budgets.counts_nothing()).then(|| call.clone());
        // After the place was taken: a read in the queue was not sent, also when the gateway is killed meanwhile.
        match self
            .write_read(call, &reading, budgets.charges(false))
            .await
        {
            Ok(Counted::Now) => {}
            Ok(Counted::Over(over)) => {
                let error = budgets.refusal(&over);
                return match again {
                    Some(call) => {
                        self.refuse(call, Some(reading.target()), error, started)
                            .await
                    }
                    None => Answer::of(id, Err(error)),
                };
            }
            Err(error) => return Answer::of(id, Err(error)),
        }
        let result = match form {
            ReadForm::Value => self.read(&reading).await,
            ReadForm::Raw => {
                let sent = self.send_read(&reading).await;
                sent.map(|result| result.get().to_owned())
            }
        };
        room.set(result_bytes(&result));
        reading.place = None;
        drop(slot);
        let text = result.as_ref().map(String::as_str);
        self.count_received(&budgets, result_bytes(&result)).await;
        let not_sent = !reading.reached.load(Ordering::Relaxed);
        let journal = &self.journal;
        let outcome = journal.outcome_of(id, text, EffectClass::Read, not_sent, started);
        let result = match outcome.await {
            Ok(()) => result,
            Err(error) => Err(error),
        };
        Answer {
            reached: (!not_sent).then_some(EffectClass::Read),
            note,
            permit: Some(room),
            ..Answer::of(id, result)
        }
    }

    /// Writes that a read is sent next, spends its approval and counts it, all together.
    async fn write_read(
        &self,
        call: HostCall,
        reading: &Reading,
        charges: Vec<Charge>,
    ) -> Result<Counted, CallError> {
        let tool = reading.target();
        let approval = reading.approved.as_ref().map(|approved| &approved.id);
        if charges.is_empty() && approval.is_none() {
            let journal = &self.journal;
            journal
                .call(call, Some(tool), EffectClass::Read, true)
                .await;
            return Ok(Counted::Now);
        }
        let intent = Intent {
            call,
            tool: &tool,
            effect: EffectClass::Read,
            key: None,
            plan_line: None,
        };
        self.write_counted(intent, approval, charges).await
    }

    /// The read that a program asks for.
    pub(super) async fn reading(&self, body: &str) -> Result<Reading, CallError> {
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
        let params = body.params.as_deref().map_or("{}", RawValue::get);
        // One form for the rules, for the person and for the server.
        let (params, _) = CompactArguments::parse(params).map_err(|error| {
            CallError::new(CallCode::InvalidArguments, error.to_string())
                .with_target(server.as_str(), body.method.as_str())
        })?;
        Ok(Reading {
            server,
            method: body.method,
            params: params.as_str().to_owned(),
            approved: None,
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
                let result = self.send_read(reading).await?;
                match member(&result, "contents", reading)? {
                    Some(contents) => Ok(contents.get().to_owned()),
                    None => Err(unusable(reading, "it has no `contents`")),
                }
            }
            ReadMethod::GetPrompt | ReadMethod::Complete => {
                let result = self.send_read(reading).await?;
                Ok(result.get().to_owned())
            }
        }
    }

    /// All pages of a list as one JSON array; empty for a server that does not know the method.
    async fn pages(&self, reading: &Reading, key: &str) -> Result<String, CallError> {
        let mut cursor: Option<String> = None;
        let mut list = String::from("[");
        let mut seen = HashSet::new();
        for number in 1.. {
            let page = match self.send_read_raw(reading, cursor.as_deref()).await? {
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
            let Some(next) = next.filter(|cursor| !cursor.is_empty()) else {
                break;
            };
            // A part of the list would look like all of it, so neither of these ends it.
            if number == LIST_PAGES_MAX {
                return Err(too_long(
                    reading,
                    &format!("list of more than {number} pages"),
                ));
            }
            if !seen.insert(next.clone()) {
                let reason = format!("page {number} ends in a cursor that was used before");
                return Err(unusable(reading, &reason));
            }
            cursor = Some(next);
        }
        list.push(']');
        Ok(list)
    }

    async fn send_read(&self, reading: &Reading) -> Result<RawResult, CallError> {
        let sent = self.send_read_raw(reading, None).await?;
        let result = sent.map_err(|error| error.to_call_error(&reading.target()))?;
        if result.get().len() > CALL_RESULT_BYTES_MAX {
            return Err(too_long(reading, &too_many_bytes()));
        }
        Ok(result)
    }

    /// Sends one request with a permit for it alone. Where another policy comes into force before the server has it, that
    /// one decides.
    async fn send_read_raw(
        &self,
        reading: &Reading,
        cursor: Option<&str>,
    ) -> Result<Result<RawResult, UpstreamError>, CallError> {
        let result = loop {
            let (permit, by) = self.permit_of(reading, cursor)?;
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
