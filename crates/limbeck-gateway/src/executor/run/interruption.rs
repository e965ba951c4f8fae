//! Work that the end of a run interrupts.

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Why the run no longer waits for something.
pub(super) enum Interruption {
    Cancelled,
    OutOfTime,
}

/// Waits for `work` until `deadline` at most, or until the run is cancelled.
pub(super) async fn interruptible<T>(
    cancel: &CancellationToken,
    deadline: Instant,
    work: impl Future<Output = T>,
) -> Result<T, Interruption> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Interruption::Cancelled),
        done = timeout_at(deadline, work) => done.map_err(|_| Interruption::OutOfTime),
    }
}
