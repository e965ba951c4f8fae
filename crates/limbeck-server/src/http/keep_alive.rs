//! Keep-alive comments for a client whose response takes long.
//!
//! The SDK sends no byte, not even a head, before its first message is ready. Clients and proxies time out
//! after 30 s or more, and a program may run for five minutes. So a response that is not ready in time is
//! started as an event stream, with comments until it is ready. Clients of the protocol must accept both
//! forms.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use super::bodies::{HttpResponse, ResponseBody, typed};

const EVENTS: &str = "text/event-stream";
/// Event-stream comment, which clients ignore.
const KEEP_ALIVE_COMMENT: &[u8] = b": waiting\n\n";

/// Awaits a response. One that is not ready after `period` becomes an event stream with a comment every
/// `period`. Dropping that stream drops the awaited future.
pub(crate) async fn with_keep_alive(
    mut answer: BoxFuture<'static, HttpResponse>,
    period: Duration,
) -> HttpResponse {
    if let Ok(answer) = timeout(period, &mut answer).await {
        return answer;
    }
    let mut ticks = interval_at(Instant::now(), period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let event = answer.then(as_events).boxed();
    let stream = Stream::Waiting { event, ticks };
    let mut answer = Response::new(stream.boxed_unsync());
    let events = HeaderValue::from_static(EVENTS);
    answer.headers_mut().insert(header::CONTENT_TYPE, events);
    answer
}

/// Body of a response as an event stream; a body that is one already is returned unchanged.
async fn as_events(answer: HttpResponse) -> ResponseBody {
    let media_type = answer.headers().get(header::CONTENT_TYPE);
    if media_type.is_some_and(|media_type| media_type.as_bytes() == EVENTS.as_bytes()) {
        return answer.into_body();
    }
    let Ok(body) = answer.into_body().collect().await;
    // One `data:` line holds the message: the SDK writes compact JSON, which has no line ends.
    let event = [b"data: ", &*body.to_bytes(), b"\n\n"].concat();
    typed(StatusCode::OK, EVENTS, event).into_body()
}

enum Stream {
    Waiting {
        event: BoxFuture<'static, ResponseBody>,
        ticks: Interval,
    },
    Sending(ResponseBody),
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            match &mut *self {
                Self::Sending(body) => return Pin::new(body).poll_frame(context),
                Self::Waiting { event, ticks } => match event.poll_unpin(context) {
                    Poll::Ready(body) => *self = Self::Sending(body),
                    Poll::Pending => {
                        let comment = Frame::data(Bytes::from_static(KEEP_ALIVE_COMMENT));
                        return ticks.poll_tick(context).map(|_| Some(Ok(comment)));
                    }
                },
            }
        }
    }
}
