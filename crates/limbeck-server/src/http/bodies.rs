//! Reading of request bodies, and construction of response bodies.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use limbeck_domain::limits::{HTTP_BODY_BYTES_MAX, HTTP_LARGE_BODIES_MAX, HTTP_SMALL_BODY_BYTES};
use limbeck_upstream::TurnQueue;
use serde_json::json;

use super::http_bounds::{HttpBounds, LARGE_BODIES_PER_PRINCIPAL_MAX};
use crate::answer_place::AnswerPlace;
use crate::request_memory::{HeldBytes, RequestMemory};

/// Body of a response.
pub(crate) type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;
/// Response to a client.
pub(crate) type HttpResponse = Response<ResponseBody>;

/// Reads request bodies. The large ones being read at the same time are bounded, in all and of each principal, and so
/// are the bytes of all requests until their work has ended.
#[derive(Debug)]
pub(crate) struct BodyReader {
    limit: Duration,
    large: TurnQueue,
    memory: RequestMemory,
}

impl BodyReader {
    /// A reader that waits at most `bounds.body` for each body.
    pub(crate) fn new(bounds: &HttpBounds) -> Self {
        Self {
            limit: bounds.body,
            large: TurnQueue::new(HTTP_LARGE_BODIES_MAX, LARGE_BODIES_PER_PRINCIPAL_MAX),
            memory: RequestMemory::new(bounds.request_bytes, bounds.request_bytes_each),
        }
    }

    /// Reads a whole body and returns it with its place in memory, which the caller keeps until the work of the request
    /// has ended. `Err` is the status that the request is rejected with.
    pub(crate) async fn read(
        &self,
        principal: &Arc<str>,
        headers: &HeaderMap,
        body: Incoming,
    ) -> Result<(Bytes, HeldBytes), StatusCode> {
        // Reject by `Content-Length` without reading the body.
        if announced(headers).is_some_and(|bytes| bytes > HTTP_BODY_BYTES_MAX as u64) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let read = tokio::time::timeout(self.limit, self.collect(principal, body)).await;
        read.unwrap_or(Err(StatusCode::REQUEST_TIMEOUT))
    }

    async fn collect(
        &self,
        principal: &Arc<str>,
        mut body: Incoming,
    ) -> Result<(Bytes, HeldBytes), StatusCode> {
        let mut collected = BytesMut::new();
        let mut held = self.memory.request_of(principal);
        let mut turn = None;
        while let Some(frame) = body.frame().await {
            // The connection broke, or the framing is malformed.
            let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
            // Trailers are not used.
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if collected.len() + data.len() > HTTP_BODY_BYTES_MAX {
                return Err(StatusCode::PAYLOAD_TOO_LARGE);
            }
            if turn.is_none() && collected.len() + data.len() > HTTP_SMALL_BODY_BYTES {
                turn = Some(self.large.take(Some(principal)).await);
            }
            if !held.take(data.len()) {
                return Err(StatusCode::TOO_MANY_REQUESTS);
            }
            collected.extend_from_slice(&data);
        }
        Ok((collected.freeze(), held))
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Response with a short text.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> HttpResponse {
    typed(status, "text/plain; charset=utf-8", text)
}

/// Response with a body of `media_type`.
pub(crate) fn typed(
    status: StatusCode,
    media_type: &'static str,
    body: impl Into<Bytes>,
) -> HttpResponse {
    let mut answer = Response::new(Full::new(body.into()).boxed_unsync());
    *answer.status_mut() = status;
    let value = HeaderValue::from_static(media_type);
    answer.headers_mut().insert(header::CONTENT_TYPE, value);
    answer
}

/// Response with the name of its status.
pub(crate) fn reason(status: StatusCode) -> HttpResponse {
    text(status, status.canonical_reason().unwrap_or("Refused"))
}

/// Response to a request that may be sent again.
pub(crate) fn later(status: StatusCode) -> HttpResponse {
    let mut answer = reason(status);
    let soon = HeaderValue::from_static("1");
    answer.headers_mut().insert(header::RETRY_AFTER, soon);
    answer
}

/// Counts the bytes of a whole answer, which may wait for room here. Events of a stream are counted when they are
/// written.
pub(crate) async fn counted(room: &AnswerPlace, answer: HttpResponse) -> HttpResponse {
    let Some(bytes) = answer.body().size_hint().exact() else {
        return answer;
    };
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if room.settle(bytes).await.is_ok() {
        return answer;
    }
    let message = "earlier answers that were not read take all room for answers";
    // Also as an event of a stream, for a client that has waited.
    let error =
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32603, "message": message}});
    let mut answer = later(StatusCode::TOO_MANY_REQUESTS);
    *answer.body_mut() = Full::new(Bytes::from(error.to_string())).boxed_unsync();
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}
