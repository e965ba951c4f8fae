//! Body of a response, written to its client in small pieces.
//!
//! hyper lets go of a body when it has taken its last part, long before a client that reads slowly has all of it. So a
//! large part is copied piece by piece: it exists while this body exists, and its room is held for that time.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::bodies::ResponseBody;
use crate::answer_place::{AnswerPlace, SMALL_ANSWER_BYTES};

/// Response body that keeps its room, and a guard of its request, until it was sent or dropped.
pub(crate) struct AnswerBody<T> {
    body: ResponseBody,
    /// What is left of a large part.
    rest: Bytes,
    watch: Option<StallWatch>,
    /// Time in which a client takes at least one piece.
    stall: Duration,
    /// Closes the connection when cancelled.
    closed: CancellationToken,
    place: Arc<AnswerPlace>,
    _request: T,
}

/// Closes the connection of a client that takes nothing of a large part. A write to the connection does not show it: a
/// client of HTTP/2 can read everything except one stream.
struct StallWatch {
    pieces: Arc<AtomicUsize>,
    task: AbortHandle,
}

impl<T> AnswerBody<T> {
    pub(crate) fn new(
        body: ResponseBody,
        place: Arc<AnswerPlace>,
        request: T,
        stall: Duration,
        closed: CancellationToken,
    ) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            watch: None,
            stall,
            closed,
            place,
            _request: request,
        }
    }

    fn next_piece(&mut self) -> Bytes {
        let piece = Bytes::copy_from_slice(&self.rest[..self.rest.len().min(SMALL_ANSWER_BYTES)]);
        self.rest.advance(piece.len());
        if self.rest.is_empty() {
            self.rest = Bytes::new();
        }
        if let Some(watch) = &self.watch {
            watch.pieces.fetch_add(1, Ordering::Relaxed);
        }
        piece
    }
}

impl<T: Unpin> Body for AnswerBody<T> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            // The last piece was taken as well.
            this.watch = None;
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                ended => return Poll::Ready(ended),
            };
            let data = match frame.into_data() {
                Ok(data) => data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            if data.len() <= SMALL_ANSWER_BYTES {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            this.place.at_least(data.len());
            this.rest = data;
            this.watch = Some(StallWatch::start(this.stall, this.closed.clone()));
        }
        Poll::Ready(Some(Ok(Frame::data(this.next_piece()))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

impl<T> Drop for AnswerBody<T> {
    fn drop(&mut self) {
        self.rest = Bytes::new();
        self.place.release();
    }
}

impl StallWatch {
    fn start(limit: Duration, closed: CancellationToken) -> Self {
        let pieces = Arc::new(AtomicUsize::new(0));
        let taken = Arc::clone(&pieces);
        let watch = async move {
            loop {
                let before = taken.load(Ordering::Relaxed);
                sleep(limit).await;
                if taken.load(Ordering::Relaxed) == before {
                    return closed.cancel();
                }
            }
        };
        Self {
            pieces,
            task: tokio::spawn(watch).abort_handle(),
        }
    }
}

impl Drop for StallWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full};

    use super::*;
    use crate::answer_room::AnswerRoom;

    const LARGE: usize = 3 * SMALL_ANSWER_BYTES + 1;

    fn large(room: &AnswerRoom, stall: Duration, closed: &CancellationToken) -> AnswerBody<()> {
        let body = Full::new(Bytes::from(vec![b'x'; LARGE])).boxed_unsync();
        let place = Arc::new(AnswerPlace::new(room, &Arc::from("alice")));
        AnswerBody::new(body, place, (), stall, closed.clone())
    }

    #[tokio::test]
    async fn room_is_held_until_the_last_piece_is_taken() {
        let room = AnswerRoom::new(4 * LARGE, 2 * LARGE, Duration::ZERO);
        let closed = CancellationToken::new();
        let mut body = large(&room, Duration::from_secs(3_600), &closed);
        assert_eq!(body.size_hint().exact(), Some(LARGE as u64));
        let mut left = LARGE;
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            assert!(piece.len() <= SMALL_ANSWER_BYTES);
            left -= piece.len();
            assert_eq!(body.size_hint().exact(), Some(left as u64));
            assert_eq!(body.is_end_stream(), left == 0);
            assert_eq!(room.held(), LARGE);
        }
        assert_eq!(left, 0);
        drop(body);
        assert_eq!(room.held(), 0);
        assert!(!closed.is_cancelled());
    }

    #[tokio::test]
    async fn a_client_that_takes_no_further_piece_loses_its_connection() {
        let room = AnswerRoom::new(4 * LARGE, 2 * LARGE, Duration::ZERO);
        let closed = CancellationToken::new();
        let mut body = large(&room, Duration::from_millis(1), &closed);
        drop(body.frame().await);
        closed.cancelled().await;
        // The control: a body that was taken whole is not watched.
        let read = CancellationToken::new();
        let body = large(&room, Duration::from_secs(3_600), &read);
        assert_eq!(body.collect().await.unwrap().to_bytes().len(), LARGE);
        assert!(!read.is_cancelled());
    }
}
