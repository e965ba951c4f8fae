//! Event streams of one response, of a session, and of the old transport.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use limbeck_domain::limits;
use tokio::time::{Instant, sleep, timeout};

use crate::error::UpstreamError;
use crate::rpc::pending::ResponseError;

use super::dialect::HttpDialect;
use super::events::{EventParser, SseEvent};
use super::exchange::{OutgoingRequest, media_type};
use super::guard::GuardedResponse;
use super::session::{HttpSession, upstream_error};

/// Time for a server to close the stream after its response; then the gateway closes it.
const CLOSE_GRACE: Duration = Duration::from_millis(500);
/// Pause before a stream is resumed, when the server names none.
const RETRY: Duration = Duration::from_secs(1);
/// Bounds of the pause that a server may name.
const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// Consecutive resumptions without a new message after which a response is given up.
const RESUMES_WITHOUT_MESSAGE_MAX: u32 = 5;
/// Longest pause before a session's stream is opened again.
const LISTEN_PAUSE_MAX: Duration = Duration::from_secs(60);

/// Reason why reading a stream stopped.
enum StreamEnd {
    /// The server closed it, or it broke.
    Closed,
    /// One event is larger than allowed.
    TooLarge { head: Vec<u8>, bytes: u64 },
}

/// An event stream being read.
struct EventStream {
    response: GuardedResponse,
    chunk: Bytes,
    parser: EventParser,
}

impl EventStream {
    fn new(response: GuardedResponse) -> Self {
        Self {
            response,
            chunk: Bytes::new(),
            parser: EventParser::new(limits::UPSTREAM_LINE_BYTES_MAX),
        }
    }

    async fn next(&mut self) -> Result<SseEvent, StreamEnd> {
        loop {
            match self.parser.next(&mut self.chunk) {
                Ok(Some(event)) => return Ok(event),
                Ok(None) => {}
                Err(large) => {
                    return Err(StreamEnd::TooLarge {
                        head: large.head,
                        bytes: large.bytes,
                    });
                }
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.chunk = chunk,
                Ok(None) | Err(_) => return Err(StreamEnd::Closed),
            }
            // Yield regularly, so that a server that sends without end does not starve other tasks.
            tokio::task::consume_budget().await;
        }
    }
}

/// Whether an event carries a message.
fn is_message(event: &SseEvent) -> bool {
    matches!(event.kind.as_str(), "" | "message") && !event.data.is_empty()
}

impl HttpSession {
    /// Reads the stream of a response to its end, resuming it where the server supports that.
    pub(super) async fn read_response_stream(
        &self,
        request: &OutgoingRequest,
        response: GuardedResponse,
    ) -> Result<(), ResponseError> {
        let mut stream = EventStream::new(response);
        let mut without_message = 0;
        loop {
            let received = self.read_answer(request, &mut stream).await?;
            // The response has been delivered; what follows on the stream is of no use.
            if !self.pending.is_waiting(request.id) {
                return Ok(());
            }
            without_message = if received { 0 } else { without_message + 1 };
            let last_id = stream.parser.last_id.clone();
            // Modern servers do not support resumption; a lost stream is a lost call.
            let (HttpDialect::Legacy, Some(last_id), true) = (
                self.dialect,
                last_id,
                without_message < RESUMES_WITHOUT_MESSAGE_MAX,
            ) else {
                return Err(cut_off());
            };
            sleep(pause(stream.parser.retry_ms)).await;
            let mut resumed = EventStream::new(self.resume(&last_id).await?);
            // The new stream may end before its first id; then the next attempt resumes from the same place.
            resumed.parser.last_id = Some(last_id);
            resumed.parser.retry_ms = stream.parser.retry_ms;
            stream = resumed;
        }
    }

    /// Delivers messages until the stream ends; returns whether there were any.
    async fn read_answer(
        &self,
        request: &OutgoingRequest,
        stream: &mut EventStream,
    ) -> Result<bool, ResponseError> {
        let mut received = false;
        loop {
            let next = if self.pending.is_waiting(request.id) {
                stream.next().await
            } else {
                match timeout(CLOSE_GRACE, stream.next()).await {
                    Ok(next) => next,
                    Err(_) => return Ok(received),
                }
            };
            match next {
                Ok(event) if is_message(&event) => {
                    received = true;
                    self.deliver(request, &event.data).await;
                }
                Ok(_) => {}
                Err(StreamEnd::Closed) => return Ok(received),
                Err(StreamEnd::TooLarge { bytes, .. }) => {
                    return Err(ResponseError::TooLarge { bytes });
                }
            }
        }
    }

    async fn resume(&self, last_id: &str) -> Result<GuardedResponse, ResponseError> {
        match self.open_stream(Some(last_id)).await {
            Ok(Some(response)) => Ok(response),
            Ok(None) => Err(cut_off()),
            Err(error) => Err(ResponseError::Failed(error)),
        }
    }

    /// Opens an event stream; `None` when the server has none.
    async fn open_stream(
        &self,
        last_id: Option<&str>,
    ) -> Result<Option<GuardedResponse>, UpstreamError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert("last-event-id", id);
        }
        let url = &self.access.url;
        let response = self.request(Method::GET, url, headers, Vec::new()).await?;
        let is_stream = media_type(&response) == "text/event-stream";
        match response.status() {
            StatusCode::OK if is_stream => Ok(Some(response)),
            StatusCode::NOT_FOUND if self.has_session() => {
                self.end_when_idle("the server no longer knows the session");
                Ok(None)
            }
            status if status.is_server_error() => Err(UpstreamError::Http {
                status: status.as_u16(),
                reason: String::new(),
            }),
            _ => Ok(None),
        }
    }

    /// Reads the messages that a legacy server sends outside of responses (`GET`), until the connection ends.
    pub(super) async fn listen(self: Arc<Self>) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.keep_listening() => {}
        }
    }

    async fn keep_listening(&self) {
        let mut last_id = None;
        let mut pause_next = RETRY;
        while !self.is_closing() {
            let opened = Instant::now();
            if let Ok(opened) = self.open_stream(last_id.as_deref()).await {
                let Some(response) = opened else { return };
                let mut stream = EventStream::new(response);
                while let Ok(event) = stream.next().await {
                    if is_message(&event) {
                        self.pass_to_reader(None, &event.data).await;
                    }
                }
                pause_next = pause_next.max(pause(stream.parser.retry_ms));
                last_id = stream.parser.last_id.or(last_id);
            }
            if opened.elapsed() > LISTEN_PAUSE_MAX {
                pause_next = RETRY;
            }
            sleep(pause_next).await;
            pause_next = (pause_next * 2).min(LISTEN_PAUSE_MAX);
        }
    }

    /// Opens the stream of the old transport and waits for the address for messages. All messages of the server
    /// arrive on this stream, so its end is the end of the connection.
    ///
    /// # Errors
    ///
    /// Reason why the server does not support this transport.
    pub(super) async fn open_events(self: &Arc<Self>) -> Result<(), UpstreamError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let url = &self.access.url;
        let response = self.request(Method::GET, url, headers, Vec::new()).await?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(UpstreamError::Http {
                status: status.as_u16(),
                reason: " in response to a request for an event stream".to_owned(),
            });
        }
        let kind = media_type(&response);
        if kind != "text/event-stream" {
            return Err(UpstreamError::InvalidAnswer {
                reason: format!("it is `{kind}`, not an event stream"),
            });
        }
        let mut stream = EventStream::new(response);
        while !self.has_endpoint() {
            match stream.next().await {
                Ok(event) if event.kind == "endpoint" => self.take_endpoint(&event.data)?,
                Ok(_) => {}
                Err(StreamEnd::Closed | StreamEnd::TooLarge { .. }) => {
                    return Err(UpstreamError::Handshake {
                        reason: "its event stream named no address for messages".to_owned(),
                    });
                }
            }
        }
        self.tracker.spawn(self.clone().read_events(stream));
        Ok(())
    }

    async fn read_events(self: Arc<Self>, mut stream: EventStream) {
        let read = async {
            loop {
                match stream.next().await {
                    Ok(event) if is_message(&event) => self.pass_to_reader(None, &event.data).await,
                    Ok(_) => {}
                    Err(StreamEnd::Closed) => {
                        break self.pending.set_end_reason("its event stream ended".into());
                    }
                    Err(StreamEnd::TooLarge { head, bytes }) => {
                        self.reader(None).overlong(&head, &[], bytes).await;
                        break self
                            .pending
                            .set_end_reason(format!("it sent an event of {bytes} bytes"));
                    }
                }
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = read => self.stop.cancel(),
        }
    }

    /// Reads the data of the first message on a stream.
    pub(super) async fn first_event(
        &self,
        response: &mut GuardedResponse,
    ) -> Result<Vec<u8>, ResponseError> {
        let mut parser = EventParser::new(limits::UPSTREAM_LINE_BYTES_MAX);
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|error| ResponseError::Failed(upstream_error(&error)))?;
            let mut chunk = chunk.ok_or_else(cut_off)?;
            loop {
                match parser.next(&mut chunk) {
                    Ok(Some(event)) if is_message(&event) => return Ok(event.data),
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(large) => return Err(ResponseError::TooLarge { bytes: large.bytes }),
                }
            }
        }
    }
}

fn pause(retry_ms: Option<u64>) -> Duration {
    retry_ms.map_or(RETRY, |ms| {
        Duration::from_millis(ms).clamp(RETRY_MIN, RETRY_MAX)
    })
}

fn cut_off() -> ResponseError {
    ResponseError::Failed(UpstreamError::ConnectionLost {
        status: "its event stream ended before the answer".to_owned(),
        stderr_tail: String::new(),
    })
}
