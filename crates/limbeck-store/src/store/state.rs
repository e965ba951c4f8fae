//! Key-value state of each principal.

use limbeck_domain::limits::{STORE_KEY_BYTES_MAX, STORE_VALUE_BYTES_MAX};
use serde_json::{Map, Value};

use super::Store;
use crate::error::StoreError;
use crate::operation::{Durability, Write};
use crate::tables;

impl Store {
    /// The value of `key` in the state of `principal`: JSON text as it was set.
    ///
    /// # Errors
    ///
    /// [`StoreError::KeyLength`].
    pub async fn kv_get(&self, principal: &str, key: &str) -> Result<Option<String>, StoreError> {
        check_key(key)?;
        let (principal, key) = (principal.to_owned(), key.to_owned());
        let (by, read) = (principal.clone(), key.clone());
        let found = self.query_of(&principal, move |connection| {
            tables::state::get(connection, &by, &read)
        });
        let Some(found) = found.await? else {
            return Ok(None);
        };
        if found.is_use_due {
            let bytes = principal.len() + key.len();
            let touch = Write::new(bytes, move |transaction| {
                tables::state::touch(transaction, &principal, &key)
            });
            self.write(touch, Durability::Queued).await?;
        }
        Ok(Some(found.value))
    }

    /// Keys of a principal that begin with `prefix`, in order, with the bytes of their values; at most `limit`.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn kv_list(
        &self,
        principal: &str,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let (by, prefix) = (principal.to_owned(), prefix.to_owned());
        self.query_of(principal, move |connection| {
            tables::state::list(connection, &by, &prefix, limit)
        })
        .await
    }

    /// Adds the members of the JSON object `members` to the one that `key` has, in one transaction: of two callers that
    /// add at the same time, neither undoes what the other added. A value that is not an object is replaced.
    ///
    /// # Errors
    ///
    /// As [`Self::kv_set`].
    pub async fn kv_merge(
        &self,
        principal: &str,
        key: &str,
        members: Map<String, Value>,
    ) -> Result<(), StoreError> {
        self.check_durable()?;
        check_key(key)?;
        let by = principal;
        let (principal, key) = (principal.to_owned(), key.to_owned());
        let write = Write::checked(STORE_VALUE_BYTES_MAX, move |transaction| {
            let stored = tables::state::get(transaction, &principal, &key)?;
            let stored = stored.and_then(|found| serde_json::from_str(&found.value).ok());
            let mut merged: Map<String, Value> = stored.unwrap_or_default();
            merged.extend(members);
            let merged = Value::Object(merged).to_string();
            if merged.len() > STORE_VALUE_BYTES_MAX {
                return Ok(Err(StoreError::ValueTooLong {
                    bytes: merged.len(),
                }));
            }
            tables::state::set(transaction, &principal, &key, Some(&merged))
        });
        self.write_of(by, write, Durability::Synced).await
    }

    /// Sets `key` in the state of `principal` to a JSON text, or deletes it; returns once that is on disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::KeyLength`], [`StoreError::ValueTooLong`], [`StoreError::TooManyKeys`], [`StoreError::StateFull`].
    pub async fn kv_set(
        &self,
        principal: &str,
        key: &str,
        value: Option<String>,
    ) -> Result<(), StoreError> {
        self.check_durable()?;
        check_key(key)?;
        if let Some(value) = &value
            && value.len() > STORE_VALUE_BYTES_MAX
        {
            return Err(StoreError::ValueTooLong { bytes: value.len() });
        }
        let by = principal;
        let (principal, key) = (principal.to_owned(), key.to_owned());
        let bytes = key.len() + value.as_ref().map_or(0, String::len);
        let write = Write::checked(bytes, move |transaction| {
            tables::state::set(transaction, &principal, &key, value.as_deref())
        });
        self.write_of(by, write, Durability::Synced).await
    }
}

fn check_key(key: &str) -> Result<(), StoreError> {
    if (1..=STORE_KEY_BYTES_MAX).contains(&key.len()) {
        Ok(())
    } else {
        Err(StoreError::KeyLength { bytes: key.len() })
    }
}
