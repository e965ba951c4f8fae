//! Encoding of outgoing messages and registration of their pending responses.

use std::io;

use rmcp::RoleClient;
use rmcp::model::{
    ClientNotification, ClientRequest, Extensions, GetExtensions, JsonRpcMessage, NumberOrString,
    ProgressToken, RequestId, RequestMetaObject,
};
use rmcp::service::TxJsonRpcMessage;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call_context::RequestKey;
use crate::call_feedback::CallFeedback;

use super::handshake_result::HandshakeKind;
use super::pending::{PendingRequests, RawArguments, ReplySlot};

/// Registers the pending response of a request before the request is sent, so that a fast response finds it.
pub(crate) fn register(pending: &PendingRequests, item: &TxJsonRpcMessage<RoleClient>) {
    match item {
        JsonRpcMessage::Request(request) => {
            let NumberOrString::Number(id) = request.id else {
                return;
            };
            match &request.request {
                ClientRequest::InitializeRequest(_) => {
                    pending.expect_handshake(id, HandshakeKind::Initialize);
                }
                ClientRequest::DiscoverRequest(_) => {
                    pending.expect_handshake(id, HandshakeKind::Discover);
                }
                // Only requests of callers carry feedback and a slot; `rmcp` handles its own requests itself.
                other => {
                    let extensions = other.extensions();
                    if let Some(feedback) = extensions.get::<CallFeedback>() {
                        pending.server_messages().register_call(
                            id,
                            progress_token(extensions),
                            feedback,
                        );
                    }
                    if let Some(slot) = extensions.get::<ReplySlot>() {
                        pending.expect_raw(id, slot);
                    }
                }
            }
        }
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                && let Some(NumberOrString::Number(id)) = cancelled.params.request_id
            {
                pending.forget(id);
            }
        }
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
    }
}

/// Id of the server's request that the message answers.
pub(crate) fn answered_id(item: &TxJsonRpcMessage<RoleClient>) -> Option<&RequestId> {
    match item {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

/// Feedback of the call that the message is sent for.
pub(crate) fn feedback_of(item: &TxJsonRpcMessage<RoleClient>) -> Option<&CallFeedback> {
    match item {
        JsonRpcMessage::Request(request) => request.request.extensions().get(),
        _ => None,
    }
}

/// Progress token that `rmcp` assigned to the request; it uses a counter.
fn progress_token(extensions: &Extensions) -> Option<i64> {
    let meta = extensions.get::<RequestMetaObject>()?;
    match meta.get_progress_token()? {
        ProgressToken(NumberOrString::Number(token)) => Some(token),
        ProgressToken(NumberOrString::String(_)) => None,
    }
}

/// Encodes the message as one line. Arguments of a call are copied from [`RawArguments`] unchanged.
pub(crate) fn encode(item: &TxJsonRpcMessage<RoleClient>) -> io::Result<Vec<u8>> {
    let mut line = match raw_arguments(item) {
        None => serde_json::to_vec(item)?,
        Some(arguments) => encode_call(item, &arguments.0)?,
    };
    line.push(b'\n');
    Ok(line)
}

/// Idempotency key that the message has beside its arguments.
pub(crate) fn request_key(item: &TxJsonRpcMessage<RoleClient>) -> Option<&RequestKey> {
    match item {
        JsonRpcMessage::Request(request) => request.request.extensions().get(),
        _ => None,
    }
}

fn raw_arguments(item: &TxJsonRpcMessage<RoleClient>) -> Option<&RawArguments> {
    match item {
        JsonRpcMessage::Request(request) => request.request.extensions().get(),
        _ => None,
    }
}

#[derive(Serialize)]
struct CallLine<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    method: &'a Value,
    params: CallParams<'a>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a Value>,
    name: &'a Value,
    arguments: &'a RawValue,
    #[serde(rename = "inputResponses", skip_serializing_if = "Option::is_none")]
    input_responses: Option<&'a Value>,
    #[serde(rename = "requestState", skip_serializing_if = "Option::is_none")]
    request_state: Option<&'a Value>,
}

fn encode_call(item: &TxJsonRpcMessage<RoleClient>, arguments: &RawValue) -> io::Result<Vec<u8>> {
    // Through a `Value` for everything but the arguments: `rmcp` would parse and re-serialize them, which
    // changes numbers and key order.
    let mut message = serde_json::to_value(item)?;
    if let Some(RequestKey::Meta { name, value }) = request_key(item) {
        message["params"]["_meta"][name] = Value::from(&**value);
    }
    let line = CallLine {
        jsonrpc: "2.0",
        id: &message["id"],
        method: &message["method"],
        params: CallParams {
            meta: message["params"].get("_meta"),
            name: &message["params"]["name"],
            arguments,
            input_responses: message["params"].get("inputResponses"),
            request_state: message["params"].get("requestState"),
        },
    };
    Ok(serde_json::to_vec(&line)?)
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolRequest, CallToolRequestParams, RequestMetaObject};

    use super::*;

    #[test]
    fn a_key_is_beside_the_other_members_of_meta() {
        let mut request = CallToolRequest::new(CallToolRequestParams::new("pay"));
        let mut meta = RequestMetaObject::default();
        meta.set_progress_token(ProgressToken(NumberOrString::Number(5)));
        request.extensions.insert(meta);
        let raw = RawValue::from_string("{}".to_owned()).unwrap();
        request.extensions.insert(RawArguments(raw.into()));
        request.extensions.insert(RequestKey::Meta {
            name: "example.com/key".to_owned(),
            value: "k1".to_owned(),
        });
        let item = TxJsonRpcMessage::<RoleClient>::request(
            ClientRequest::CallToolRequest(request),
            NumberOrString::Number(3),
        );
        let sent: Value = serde_json::from_slice(&encode(&item).unwrap()).unwrap();
        let expected = serde_json::json!({"progressToken": 5, "example.com/key": "k1"});
        assert_eq!(sent["params"]["_meta"], expected);
    }

    #[test]
    fn arguments_leave_in_the_bytes_they_came_in() {
        let arguments = r#"{"b": 1.0, "a":123456789012345678901234567890}"#;
        let mut request = CallToolRequest::new(CallToolRequestParams::new("say \"hi\""));
        request.extensions.insert(RequestMetaObject::default());
        request.extensions.insert(RawArguments(
            RawValue::from_string(arguments.to_owned()).unwrap().into(),
        ));
        let item = TxJsonRpcMessage::<RoleClient>::request(
            ClientRequest::CallToolRequest(request),
            NumberOrString::Number(3),
        );
        let line = String::from_utf8(encode(&item).unwrap()).unwrap();
        assert_eq!(
            line,
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":\
                 {{\"_meta\":{{}},\"name\":\"say \\\"hi\\\"\",\"arguments\":{arguments}}}}}\n"
            )
        );
    }
}
