//! Locking without poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. Our data is consistent between any two statements, so a poisoned lock can be used.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
