//! Answers of the protocol without secrets.
//!
//! The SDK writes a message into the body of a response, or into an event of a stream, one frame each.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, SizeHint};
use limbeck_upstream::{Direction, Redaction};

use super::bodies::{HttpResponse, ResponseBody};

/// `answer` as it may leave.
pub(super) async fn redacted(answer: HttpResponse, redaction: &Redaction) -> HttpResponse {
    let (mut head, body) = answer.into_parts();
    let media_type = head.headers.get(header::CONTENT_TYPE);
    let is_stream = media_type.is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
    // What is replaced has another length.
    head.headers.remove(header::CONTENT_LENGTH);
    let body = if is_stream {
        Events {
            body,
            redaction: redaction.clone(),
        }
        .boxed_unsync()
    } else {
        let Ok(whole) = body.collect().await;
        Full::new(message(whole.to_bytes(), redaction)).boxed_unsync()
    };
    HttpResponse::from_parts(head, body)
}

fn message(bytes: Bytes, redaction: &Redaction) -> Bytes {
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return bytes;
    };
    match redaction.json(Direction::ToModel, text) {
        std::borrow::Cow::Borrowed(_) => bytes,
        std::borrow::Cow::Owned(text) => Bytes::from(text),
    }
}

/// A stream of events whose data are messages.
struct Events {
    body: ResponseBody,
    redaction: Redaction,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            ended => return Poll::Ready(ended),
        };
        Poll::Ready(Some(Ok(match frame.into_data() {
            Ok(event) => Frame::data(event_without(event, &this.redaction)),
            Err(other) => other,
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::new()
    }
}

fn event_without(event: Bytes, redaction: &Redaction) -> Bytes {
    let Ok(text) = std::str::from_utf8(&event) else {
        return event;
    };
    let mut out = String::new();
    let mut is_changed = false;
    for line in text.split_inclusive('\n') {
        let data = line.strip_prefix("data:");
        match data.map(|data| redaction.json(Direction::ToModel, data)) {
            Some(std::borrow::Cow::Owned(data)) => {
                is_changed = true;
                out.push_str("data:");
                out.push_str(&data);
            }
            Some(std::borrow::Cow::Borrowed(_)) | None => out.push_str(line),
        }
    }
    match is_changed {
        true => Bytes::from(out),
        false => event,
    }
}
