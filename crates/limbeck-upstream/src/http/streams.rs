//! Event streams: of one answer, of a session, and of the old transport.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use limbeck_domain::limits;
use tokio::time::{Instant, sleep, timeout};

use crate::UpstreamError;
use crate::stdio::tap::AnswerFault;

use super::events::{Event, Parser};
use super::exchange::{Request, media_type};
use super::guard::Response;
use super::session::{Session, Speech, fault};

/// A server that answered closes the stream; one that does not has it closed after this time.
const CLOSE_GRACE: Duration = Duration::from_millis(500);
/// Pause before a stream is resumed, when the server names none.
const RETRY: Duration = Duration::from_secs(1);
/// Bounds of what a server may name.
const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// Times in a row that resuming an answer may bring nothing new.
const RESUMES_IN_VAIN_MAX: u32 = 5;
/// Longest pause before a session's stream is opened again.
const LISTEN_PAUSE_MAX: Duration = Duration::from_secs(60);

/// Why reading a stream stopped.
enum End {
    /// The server closed it, or it broke.
    Closed,
    /// One event is above the bound.
    TooLarge { head: Vec<u8>, bytes: u64 },
}

/// A stream being read.
struct Stream {
    response: Response,
    chunk: Bytes,
    parser: Parser,
}

impl Stream {
    fn new(response: Response) -> Self {
        Self {
            response,
            chunk: Bytes::new(),
            parser: Parser::new(limits::UPSTREAM_LINE_BYTES_MAX),
        }
    }

    async fn next(&mut self) -> Result<Event, End> {
        loop {
            match self.parser.next(&mut self.chunk) {
                Ok(Some(event)) => return Ok(event),
                Ok(None) => {}
                Err(large) => {
                    return Err(End::TooLarge {
                        head: large.head,
                        bytes: large.bytes,
                    });
                }
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.chunk = chunk,
                Ok(None) | Err(_) => return Err(End::Closed),
            }
            // A server that sends without end takes turns with everybody else.
            tokio::task::consume_budget().await;
        }
    }
}

/// Whether an event carries a message.
fn is_message(event: &Event) -> bool {
    matches!(event.kind.as_str(), "" | "message") && !event.data.is_empty()
}

impl Session {
    /// Reads the stream of an answer to its end, resuming it where the server lets us.
    pub(super) async fn follow(
        &self,
        request: &Request,
        response: Response,
    ) -> Result<(), AnswerFault> {
        let mut stream = Stream::new(response);
        let mut in_vain = 0;
        loop {
            let heard = self.read_answer(request, &mut stream).await?;
            if !self.tap.waits_for(request.id) {
                return Ok(());
            }
            in_vain = if heard { 0 } else { in_vain + 1 };
            let last_id = stream.parser.last_id.clone();
            let (Speech::Legacy, Some(last_id), true) =
                (self.speech, last_id, in_vain < RESUMES_IN_VAIN_MAX)
            else {
                return Err(cut_off());
            };
            sleep(pause(stream.parser.retry_ms)).await;
            let mut resumed = Stream::new(self.resume(&last_id).await?);
            resumed.parser.last_id = Some(last_id);
            resumed.parser.retry_ms = stream.parser.retry_ms;
            stream = resumed;
        }
    }

    /// Delivers messages until the stream ends; says whether there were any.
    async fn read_answer(
        &self,
        request: &Request,
        stream: &mut Stream,
    ) -> Result<bool, AnswerFault> {
        let mut heard = false;
        loop {
            let next = if self.tap.waits_for(request.id) {
                stream.next().await
            } else {
                match timeout(CLOSE_GRACE, stream.next()).await {
                    Ok(next) => next,
                    Err(_) => return Ok(heard),
                }
            };
            match next {
                Ok(event) if is_message(&event) => {
                    heard = true;
                    self.deliver(request, &event.data).await;
                }
                Ok(_) => {}
                Err(End::Closed) => return Ok(heard),
                Err(End::TooLarge { bytes, .. }) => return Err(AnswerFault::TooLarge { bytes }),
            }
        }
    }

    async fn resume(&self, last_id: &str) -> Result<Response, AnswerFault> {
        match self.open_stream(Some(last_id)).await {
            Ok(Some(response)) => Ok(response),
            Ok(None) => Err(cut_off()),
            Err(error) => Err(AnswerFault::Failed(error)),
        }
    }

    /// Asks for an event stream; `None` when the server has none.
    async fn open_stream(&self, last_id: Option<&str>) -> Result<Option<Response>, UpstreamError> {
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
                self.end_soon("the server no longer knows the session");
                Ok(None)
            }
            status if status.is_server_error() => Err(UpstreamError::Http {
                status: status.as_u16(),
                reason: String::new(),
            }),
            _ => Ok(None),
        }
    }

    /// Hears what the server says outside of answers (legacy `GET`), for as long as the connection stands.
    pub(super) async fn listen(self: Arc<Self>) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.keep_listening() => {}
        }
    }

    async fn keep_listening(&self) {
        let mut last_id = None;
        let mut pause_next = RETRY;
        while !self.is_over() {
            let opened = Instant::now();
            if let Ok(opened) = self.open_stream(last_id.as_deref()).await {
                let Some(response) = opened else { return };
                let mut stream = Stream::new(response);
                while let Ok(event) = stream.next().await {
                    if is_message(&event) {
                        self.hand_over(None, &event.data).await;
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

    /// Opens the stream of the old transport and waits for the address for messages; everything the server
    /// says comes on it, so its end is the connection's.
    ///
    /// # Errors
    ///
    /// Why the server does not speak that way.
    pub(super) async fn open_events(self: &Arc<Self>) -> Result<(), UpstreamError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let url = &self.access.url;
        let response = self.request(Method::GET, url, headers, Vec::new()).await?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(UpstreamError::Http {
                status: status.as_u16(),
                reason: " when asked for an event stream".to_owned(),
            });
        }
        let kind = media_type(&response);
        if kind != "text/event-stream" {
            return Err(UpstreamError::InvalidAnswer {
                reason: format!("it is `{kind}` and no event stream"),
            });
        }
        let mut stream = Stream::new(response);
        while !self.has_endpoint() {
            match stream.next().await {
                Ok(event) if event.kind == "endpoint" => self.take_endpoint(&event.data)?,
                Ok(_) => {}
                Err(End::Closed | End::TooLarge { .. }) => {
                    return Err(UpstreamError::Handshake {
                        reason: "its event stream named no address for messages".to_owned(),
                    });
                }
            }
        }
        self.tracker.spawn(self.clone().read_events(stream));
        Ok(())
    }

    async fn read_events(self: Arc<Self>, mut stream: Stream) {
        let read = async {
            loop {
                match stream.next().await {
                    Ok(event) if is_message(&event) => self.hand_over(None, &event.data).await,
                    Ok(_) => {}
                    Err(End::Closed) => {
                        break self.tap.end_because("its event stream ended".into());
                    }
                    Err(End::TooLarge { head, bytes }) => {
                        self.reader(None).overlong(&head, &[], bytes).await;
                        break self
                            .tap
                            .end_because(format!("it sent an event of {bytes} bytes"));
                    }
                }
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = read => self.stop.cancel(),
        }
    }

    /// The data of the first message on a stream.
    pub(super) async fn first_event(
        &self,
        response: &mut Response,
    ) -> Result<Vec<u8>, AnswerFault> {
        let mut parser = Parser::new(limits::UPSTREAM_LINE_BYTES_MAX);
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|error| AnswerFault::Failed(fault(&error)))?;
            let mut chunk = chunk.ok_or_else(cut_off)?;
            loop {
                match parser.next(&mut chunk) {
                    Ok(Some(event)) if is_message(&event) => return Ok(event.data),
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(large) => return Err(AnswerFault::TooLarge { bytes: large.bytes }),
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

fn cut_off() -> AnswerFault {
    AnswerFault::Failed(UpstreamError::ConnectionLost {
        status: "its event stream ended before the answer".to_owned(),
        stderr_tail: String::new(),
    })
}
