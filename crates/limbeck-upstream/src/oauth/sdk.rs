//! Environment of the SDK's OAuth client: a credential store in memory, and no logs.

use std::sync::{Arc, Mutex};

use futures::Future;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

use crate::sync::lock;

/// Credential store of the SDK in memory. The tokens are written to disk by us, together with data that the SDK
/// does not store.
#[derive(Clone, Default)]
pub(super) struct CapturedCredentials(pub(super) Arc<Mutex<Option<StoredCredentials>>>);

impl CapturedCredentials {
    pub(super) fn take(&self) -> Option<StoredCredentials> {
        lock(&self.0).take()
    }
}

#[async_trait::async_trait]
impl CredentialStore for CapturedCredentials {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(lock(&self.0).clone())
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        *lock(&self.0) = Some(credentials);
        Ok(())
    }

    async fn clear(&self) -> Result<(), AuthError> {
        *lock(&self.0) = None;
        Ok(())
    }
}

/// Runs a future of the SDK without a log subscriber.
pub(super) async fn without_logs<F: Future>(future: F) -> F::Output {
    future.with_subscriber(NoSubscriber::default()).await
}
