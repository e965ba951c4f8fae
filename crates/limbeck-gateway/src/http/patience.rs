//! Signs of life for a client whose answer takes long.
//!
//! The SDK sends nothing before it knows what its first message is, not even a head. Clients and
//! proxies give up on that after 30 s or more, and a program may run for five minutes. So an answer that
//! is not there when the time for a sign of life comes is begun as an event stream, with comments until
//! it is there; every client of the protocol takes both forms.

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

use super::body::{Answer, AnswerBody, typed};

const EVENTS: &str = "text/event-stream";
/// A comment, which clients skip.
const SIGN_OF_LIFE: &[u8] = b": waiting\n\n";

/// Awaits an answer; one that is not there after `period` becomes an event stream with a comment every
/// `period`. Dropping that stream drops what is awaited.
pub(crate) async fn answer(mut answer: BoxFuture<'static, Answer>, period: Duration) -> Answer {
    if let Ok(answer) = timeout(period, &mut answer).await {
        return answer;
    }
    let mut signs = interval_at(Instant::now(), period);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let event = answer.then(as_events).boxed();
    let stream = Stream::Waiting { event, signs };
    let mut answer = Response::new(stream.boxed_unsync());
    let events = HeaderValue::from_static(EVENTS);
    answer.headers_mut().insert(header::CONTENT_TYPE, events);
    answer
}

/// The events of an answer that is not an event stream yet, or those it is.
async fn as_events(answer: Answer) -> AnswerBody {
    let media_type = answer.headers().get(header::CONTENT_TYPE);
    if media_type.is_some_and(|media_type| media_type.as_bytes() == EVENTS.as_bytes()) {
        return answer.into_body();
    }
    let Ok(body) = answer.into_body().collect().await;
    // A message is one line: JSON has no line ends but between its parts, and the SDK writes none.
    let event = [b"data: ", &*body.to_bytes(), b"\n\n"].concat();
    typed(StatusCode::OK, EVENTS, event).into_body()
}

enum Stream {
    Waiting {
        event: BoxFuture<'static, AnswerBody>,
        signs: Interval,
    },
    Sending(AnswerBody),
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
                Self::Waiting { event, signs } => match event.poll_unpin(context) {
                    Poll::Ready(body) => *self = Self::Sending(body),
                    Poll::Pending => {
                        let sign = Frame::data(Bytes::from_static(SIGN_OF_LIFE));
                        return signs.poll_tick(context).map(|_| Some(Ok(sign)));
                    }
                },
            }
        }
    }
}
