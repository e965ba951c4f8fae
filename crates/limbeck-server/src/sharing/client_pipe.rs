//! The client's end: passes the lines of this process's client on to a gateway, and its lines back.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::future::pending;
use std::io;
use std::time::Duration;

use limbeck_domain::limits::{CALLS_BYTES_MAX, STDIO_LINE_BYTES_MAX};
use rmcp::transport::{StdioReader, StdioWriter};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;

use super::bounded_lines::{BoundedLines, Part};
use super::message::{self, News};
use super::remembered::{FromClient, LostExecution, Remembered};
use crate::surface::{InputEnd, Output, PIPED_END, has_reader, line_too_long};
use limbeck_upstream::Redaction;

/// Lines of the client that are read ahead.
const LINES_AHEAD: usize = 4;
/// Longest line of a gateway, which is of this version and bounds its answers itself.
const GATEWAY_LINE_BYTES_MAX: usize = CALLS_BYTES_MAX;
/// Interval of checks whether a client that sends no more still reads.
const LOOK: Duration = Duration::from_millis(50);

/// The client of this process, and what is remembered of its session.
pub struct ClientPipe {
    lines: mpsc::Receiver<Input>,
    output: Output<StdioWriter>,
    session: RefCell<Remembered>,
    /// Whether the client sends no more and waits for answers.
    has_ended: Cell<bool>,
}

/// Why a pipe is no longer attached to a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeEnd {
    /// The client has left.
    ClientLeft,
    /// The gateway has ended, or this pipe left it; another takes over.
    GatewayLeft,
}

enum Input {
    Line(Vec<u8>),
    TooLong,
    End(InputEnd),
}

impl ClientPipe {
    /// Reads the client on standard input, from now on and for good.
    pub fn on_stdio() -> Self {
        let (input, output) = rmcp::transport::stdio_pipes();
        let (to, lines) = mpsc::channel(LINES_AHEAD);
        tokio::spawn(read(input, to));
        Self {
            lines,
            // The gateway has taken secrets out of what it sends.
            output: Output::new(output, Redaction::default()),
            session: RefCell::default(),
            has_ended: Cell::new(false),
        }
    }

    /// Passes lines on until client or gateway has left. Once `leave` is ready, no further request is passed on, and
    /// the pipe leaves the gateway as soon as it has answered those in flight.
    pub async fn attach(&mut self, stream: UnixStream, leave: impl Future<Output = ()>) -> PipeEnd {
        let (from, mut to) = stream.into_split();
        let from = BoundedLines::new(from, GATEWAY_LINE_BYTES_MAX);
        let (replay, keys) = self.session.borrow_mut().replay();
        let is_replayed = to.write_all(&replay).await.is_ok();
        if is_replayed {
            let mut session = self.session.borrow_mut();
            keys.iter().for_each(|key| session.sent(key));
        }
        let leaving = Leaving::default();
        let Self {
            lines,
            output,
            session,
            has_ended,
        } = self;
        let upward = async {
            if !is_replayed {
                // What the gateway has written is read to its end.
                return pending().await;
            }
            upward(lines, &mut to, output, session, has_ended, &leaving).await
        };
        let downward = downward(from, output, session, has_ended, &leaving);
        let left = async {
            leave.await;
            leaving.begin();
            pending::<PipeEnd>().await
        };
        tokio::select! {
            end = upward => end,
            end = downward => end,
            end = left => end,
        }
    }

    /// Answers what the gateway that is gone cannot answer any more; `find` looks an execution up in the store.
    ///
    /// # Errors
    ///
    /// The client does not read any more.
    pub async fn answer_lost(
        &mut self,
        find: impl AsyncFn(&str) -> LostExecution,
    ) -> io::Result<()> {
        let lost = self.session.borrow_mut().lost();
        for cancelled in &lost.cancelled {
            self.output.message(cancelled).await?;
        }
        for request in &lost.failed {
            let found = match &request.execution {
                Some(execution) => Some(find(execution).await),
                None => None,
            };
            let answer: Value = request.answer(found);
            self.output.message(&answer).await?;
        }
        Ok(())
    }

    /// Whether the client sends no more and has all its answers.
    pub fn is_done(&self) -> bool {
        self.has_ended.get() && self.session.borrow().is_idle()
    }
}

/// Whether the pipe leaves its gateway.
#[derive(Default)]
struct Leaving {
    has_begun: Cell<bool>,
    /// It has begun, or a request was answered.
    changed: Notify,
}

impl Leaving {
    fn begin(&self) {
        self.has_begun.set(true);
        self.changed.notify_one();
    }
}

/// Passes lines of the client on.
async fn upward(
    lines: &mut mpsc::Receiver<Input>,
    to: &mut tokio::net::unix::OwnedWriteHalf,
    output: &Output<StdioWriter>,
    session: &RefCell<Remembered>,
    has_ended: &Cell<bool>,
    leaving: &Leaving,
) -> PipeEnd {
    loop {
        if leaving.has_begun.get() && session.borrow().is_idle() {
            return PipeEnd::GatewayLeft;
        }
        if has_ended.get() {
            // The gateway answers what is in flight, and closes.
            let _ = to.shutdown().await;
            while is_stdout_read() {
                sleep(LOOK).await;
            }
            return PipeEnd::ClientLeft;
        }
        let input = tokio::select! {
            input = lines.recv(), if !leaving.has_begun.get() => input,
            () = leaving.changed.notified() => continue,
        };
        match input {
            Some(Input::Line(line)) => {
                let passed = session.borrow_mut().see_of_client(&line);
                let FromClient::Forward(passed, key) = passed else {
                    continue;
                };
                if to.write_all(&passed).await.is_err() {
                    // It was not sent. What the gateway has written is read to its end.
                    return pending().await;
                }
                if let Some(key) = key {
                    session.borrow_mut().sent(&key);
                }
            }
            Some(Input::TooLong) => {
                if output.message(&line_too_long()).await.is_err() {
                    return PipeEnd::ClientLeft;
                }
            }
            Some(Input::End(InputEnd::Closed)) => return PipeEnd::ClientLeft,
            Some(Input::End(InputEnd::Piped)) | None => has_ended.set(true),
        }
    }
}

/// Passes lines of the gateway on.
async fn downward(
    mut from: BoundedLines<tokio::net::unix::OwnedReadHalf>,
    output: &Output<StdioWriter>,
    session: &RefCell<Remembered>,
    has_ended: &Cell<bool>,
    leaving: &Leaving,
) -> PipeEnd {
    while let Ok(Part::Line(line)) = from.next().await {
        match message::read::<News>(&line) {
            Some(News::Ending) => leaving.begin(),
            Some(begun) => session.borrow_mut().begun(&begun),
            None => {
                let passed: Option<Cow<'_, [u8]>> = session.borrow_mut().see_of_gateway(&line);
                if let Some(passed) = passed
                    && output.line(&passed).await.is_err()
                {
                    return PipeEnd::ClientLeft;
                }
                leaving.changed.notify_one();
            }
        }
    }
    match has_ended.get() && session.borrow().is_idle() {
        true => PipeEnd::ClientLeft,
        false => PipeEnd::GatewayLeft,
    }
}

/// Queues the lines of the client.
async fn read(input: StdioReader, to: mpsc::Sender<Input>) {
    let mut lines = BoundedLines::new(input, STDIO_LINE_BYTES_MAX);
    loop {
        let input = match lines.next().await {
            Ok(Part::Line(line)) => Input::Line(line),
            Ok(Part::TooLong) => Input::TooLong,
            Ok(Part::End { mut rest }) => {
                let is_soon = lines.last().elapsed() < PIPED_END;
                // The last line of a pipe may lack its newline; half a message means that the client was killed.
                let is_whole =
                    serde_json::from_slice::<&serde_json::value::RawValue>(&rest).is_ok();
                let is_blank = rest.trim_ascii().is_empty();
                if is_whole && !is_blank {
                    rest.push(b'\n');
                    if to.send(Input::Line(rest)).await.is_err() {
                        return;
                    }
                }
                Input::End(match is_soon && (is_whole || is_blank) {
                    true => InputEnd::Piped,
                    false => InputEnd::Closed,
                })
            }
            Err(_) => Input::End(InputEnd::Closed),
        };
        let is_end = matches!(input, Input::End(_));
        if to.send(input).await.is_err() || is_end {
            return;
        }
    }
}

fn is_stdout_read() -> bool {
    has_reader(&io::stdout())
}
