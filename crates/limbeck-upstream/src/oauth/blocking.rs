//! Blocking file operations on threads that may block.

/// Runs `work` on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        // Such a task is never cancelled, so it panicked.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
