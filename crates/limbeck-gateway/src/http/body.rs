//! Bodies: how requests' are read, and what answers are made of.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use limbeck_domain::limits::{HTTP_BODY_BYTES_MAX, HTTP_LARGE_BODIES_MAX, HTTP_SMALL_BODY_BYTES};
use tokio::sync::Semaphore;

/// An answer's body.
pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;
/// An answer.
pub(crate) type Answer = Response<AnswerBody>;

/// Reads bodies, so many large ones at a time.
#[derive(Debug)]
pub(crate) struct Bodies {
    limit: Duration,
    large: Semaphore,
}

impl Bodies {
    /// Each has `limit` to arrive.
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            limit,
            large: Semaphore::new(HTTP_LARGE_BODIES_MAX),
        }
    }

    /// Reads a whole body, or says with which status its request is refused.
    pub(crate) async fn read(
        &self,
        headers: &HeaderMap,
        body: Incoming,
    ) -> Result<Bytes, StatusCode> {
        // What is announced to be too large is not waited for.
        if announced(headers).is_some_and(|bytes| bytes > HTTP_BODY_BYTES_MAX as u64) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let read = tokio::time::timeout(self.limit, self.collect(body)).await;
        read.unwrap_or(Err(StatusCode::REQUEST_TIMEOUT))
    }

    async fn collect(&self, mut body: Incoming) -> Result<Bytes, StatusCode> {
        let mut collected = BytesMut::new();
        let mut turn = None;
        while let Some(frame) = body.frame().await {
            // The connection broke, or its framing did.
            let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
            // Trailers mean nothing to us.
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if collected.len() + data.len() > HTTP_BODY_BYTES_MAX {
                return Err(StatusCode::PAYLOAD_TOO_LARGE);
            }
            if turn.is_none() && collected.len() + data.len() > HTTP_SMALL_BODY_BYTES {
                let acquired = self.large.acquire().await;
                turn = Some(acquired.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?);
            }
            collected.extend_from_slice(&data);
        }
        Ok(collected.freeze())
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

/// A body that holds on to something until it was sent or given up.
pub(crate) struct Holding<T> {
    body: AnswerBody,
    _held: T,
}

impl<T> Holding<T> {
    pub(crate) fn new(body: AnswerBody, held: T) -> Self {
        Self { body, _held: held }
    }
}

impl<T: Unpin> Body for Holding<T> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A short text as an answer.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    typed(status, "text/plain; charset=utf-8", text)
}

/// An answer of a type.
pub(crate) fn typed(
    status: StatusCode,
    media_type: &'static str,
    body: impl Into<Bytes>,
) -> Answer {
    let mut answer = Response::new(Full::new(body.into()).boxed_unsync());
    *answer.status_mut() = status;
    let value = header::HeaderValue::from_static(media_type);
    answer.headers_mut().insert(header::CONTENT_TYPE, value);
    answer
}
