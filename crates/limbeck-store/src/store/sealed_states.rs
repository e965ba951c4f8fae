//! States that clients keep for the gateway: the key that seals them, and single use.

use super::Store;
use crate::error::StoreError;
use crate::operation::Durability;
use crate::tables::sealed_states;

impl Store {
    /// The key of this state file, which all processes that have it open share. Only the file's owner can read it. `candidate`
    /// becomes it when the file has no key; the key is on disk when this returns.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn sealing_key(&self, candidate: [u8; 32]) -> Result<Vec<u8>, StoreError> {
        self.write_returning(candidate.len(), Durability::Synced, move |transaction| {
            sealed_states::key(transaction, &candidate).map(Ok)
        })
        .await
    }

    /// Notes that the state `id` was used, and returns whether it was not used before: of several that try, in any process,
    /// exactly one may. `expires_us` is when the state is worth nothing any more, `now_us` the present, in microseconds since 1970.
    ///
    /// # Errors
    ///
    /// An error of SQLite; then it counts as used.
    pub async fn spend_state(
        &self,
        id: &str,
        expires_us: u64,
        now_us: u64,
    ) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.write_returning(id.len(), Durability::Synced, move |transaction| {
            sealed_states::spend(transaction, &id, expires_us, now_us).map(Ok)
        })
        .await
    }
}
