//! Window in which calls may be handed to their servers.
//!
//! What allowed a call may be withdrawn while the call waits for a place or for the start of its server. Closing the
//! window withdraws every pass at once and waits for the calls that are being handed over at that moment, so that
//! afterwards none of them is.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::sync::lock;

/// Window in which calls with a [`SendPass`] may be handed to their servers. Closing it is final.
#[derive(Debug, Default)]
pub struct SendWindow {
    closed: CancellationToken,
    /// Calls whose pass is not used yet.
    passes: TaskTracker,
}

impl SendWindow {
    /// A pass for one call. One of a closed window is void.
    pub fn pass(&self) -> SendPass {
        // Counted before anyone looks whether the window is closed: `close` then waits for it, or it is void.
        let held = self.passes.token();
        SendPass {
            closed: self.closed.clone(),
            held: Arc::new(Mutex::new(Some(held))),
        }
    }

    /// Whether the window is closed.
    pub fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Closes the window. When it returns, each call with a pass was handed over before, or never is.
    pub async fn close(&self) {
        self.closed.cancel();
        self.passes.close();
        self.passes.wait().await;
    }
}

/// Permission to hand one call to its server while its [`SendWindow`] is open. Clones are of the same call. The default
/// is of no window and never becomes void.
#[derive(Clone, Debug, Default)]
pub struct SendPass {
    closed: CancellationToken,
    /// Given back when the call was handed over, while the context of the call lives on.
    held: Arc<Mutex<Option<TaskTrackerToken>>>,
}

impl SendPass {
    /// Waits until the pass is void.
    pub(crate) async fn voided(&self) {
        self.closed.cancelled().await;
    }

    /// Hands a call over with `send`, whose future gives the request to the connection when it is first polled, and
    /// waits for the result. `None` when the pass is void: then `send` is not called.
    pub(crate) async fn hand_over<F: Future>(&self, send: impl FnOnce() -> F) -> Option<F::Output> {
        if self.closed.is_cancelled() {
            drop(lock(&self.held).take());
            return None;
        }
        let mut sending = pin!(send());
        let first = poll_fn(|context| Poll::Ready(sending.as_mut().poll(context))).await;
        drop(lock(&self.held).take());
        Some(match first {
            Poll::Ready(result) => result,
            Poll::Pending => sending.await,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_closed_window_lets_no_call_pass_and_an_open_one_does() {
        let window = SendWindow::default();
        let (early, late) = (window.pass(), window.pass());
        assert_eq!(early.hand_over(|| async { 1 }).await, Some(1));
        // The other call waits for something else when the window is closed.
        let mut closing = Box::pin(window.close());
        assert!((&mut closing).now_or_never().is_none());
        assert!(window.is_closed());
        late.voided().await;
        assert_eq!(late.hand_over(|| async { 2 }).await, None);
        closing.await;
        assert_eq!(window.pass().hand_over(|| async { 3 }).await, None);
        // A call without a window.
        assert_eq!(SendPass::default().hand_over(|| async { 4 }).await, Some(4));
    }

    #[tokio::test]
    async fn closing_does_not_wait_for_the_answer_of_a_call_that_was_handed_over() {
        let window = SendWindow::default();
        let pass = window.pass();
        let (answer, answered) = oneshot::channel::<u8>();
        let mut call = Box::pin(pass.hand_over(|| answered));
        assert!((&mut call).now_or_never().is_none());
        window.close().await;
        answer.send(7).unwrap();
        assert_eq!(call.await, Some(Ok(7)));
    }
}
