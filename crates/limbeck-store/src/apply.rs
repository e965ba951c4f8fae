//! Statements of one operation, and their result.

use rusqlite::Transaction;

use crate::error::StoreError;

/// Result of one operation in a transaction.
///
/// The inner error belongs to this operation alone and is found before it changes anything, so the
/// rest of the batch can be committed. The outer error ends the whole transaction.
pub(crate) type Applied = rusqlite::Result<Result<(), StoreError>>;

/// Statements of one operation, ready to run.
pub(crate) type Apply = Box<dyn FnOnce(&Transaction<'_>) -> Applied + Send>;
