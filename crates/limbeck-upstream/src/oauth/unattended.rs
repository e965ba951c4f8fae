//! Tokens of a client that is its own account: the client credentials grant (SEP-1046).

use rmcp::transport::auth::{ClientCredentialsConfig, JwtSigningAlgorithm};
use secrecy::ExposeSecret as _;

use super::discovery::{self, Demand, explain};
use super::error::OAuthError;
use super::login::SignedIn;
use super::record::{Client, Record, Tokens};
use super::settings::{Grant, KeyAlgorithm};
use super::{Captured, ServerAuth, blocking, unheard};

impl ServerAuth {
    /// Gets a token without a person and keeps it.
    ///
    /// # Errors
    ///
    /// [`OAuthError::Settings`] when the entry has no such grant, else what the authorization server did.
    pub async fn sign_in_unattended(&self) -> Result<SignedIn, OAuthError> {
        let mut record = self.record_to_replace().await?;
        record.tokens = None;
        let tokens = unheard(self.exchange(&mut record)).await?;
        record.tokens = Some(tokens);
        self.keep(record).await
    }

    /// The same for a request under way. Call it under the locks.
    pub(super) async fn fetch(&self, mut record: Record) -> Result<Tokens, OAuthError> {
        let tokens = self.exchange(&mut record).await?;
        record.tokens = Some(tokens.clone());
        self.write(record).await?;
        Ok(tokens)
    }

    async fn exchange(&self, record: &mut Record) -> Result<Tokens, OAuthError> {
        let http = self.http();
        let demand = match &record.challenge {
            Some(challenge) => Demand::Challenge(challenge.clone()),
            None => self.probe(&http).await?,
        };
        let found = discovery::discover(&http, &self.url, &self.settings, &demand).await?;
        let mut manager = found.manager;
        let wanted = std::mem::take(&mut record.wanted);
        let kept = [record.requested.as_slice(), &wanted].concat();
        // What was kept counts for the issuer it was asked of.
        let kept = match record.issuer == found.published.issuer {
            true => kept,
            false => Vec::new(),
        };
        let mut scopes = discovery::scopes(&manager, &self.settings, &kept).await?;
        // There is no refresh token to be had in this grant.
        scopes.retain(|scope| scope != "offline_access");
        let resource = discovery::resource(&mut manager, &self.url).await;
        let config = self.credentials_config(scopes.clone(), resource).await?;
        let checked = manager.validate_client_credentials_metadata(&config);
        let configured = checked.and_then(|()| manager.configure_client_credentials(&config));
        configured.map_err(|error| explain(error, &http))?;
        let captured = Captured::default();
        manager.set_credential_store(captured.clone());
        // The SDK's future cannot change threads (rmcp 3.9: a form serializer lives across an await),
        // so it gets one of its own.
        let runtime = tokio::runtime::Handle::current();
        let exchanged = blocking(move || {
            runtime.block_on(unheard(manager.exchange_client_credentials(&config)))
        });
        exchanged.await.map_err(|error| explain(error, &http))?;
        let stored = captured.take();
        let tokens = stored.as_ref().map(Tokens::of).transpose()?.flatten();
        let tokens = tokens.ok_or(OAuthError::Expired)?;
        record.issuer = found.published.issuer;
        record.client = self.settings.client_id.clone().map(|id| Client {
            id,
            // The entry has it.
            secret: None,
        });
        record.requested = scopes;
        Ok(tokens)
    }

    async fn credentials_config(
        &self,
        scopes: Vec<String>,
        resource: String,
    ) -> Result<ClientCredentialsConfig, OAuthError> {
        let lacks = |what: &str| OAuthError::Settings {
            reason: format!("the grant `client_credentials` needs {what}"),
        };
        let client_id = self.settings.client_id.clone();
        let client_id = client_id.ok_or_else(|| lacks("`clientId`"))?;
        let resource = Some(resource);
        match &self.settings.grant {
            Grant::AuthorizationCode => Err(lacks("to be chosen in the entry")),
            Grant::ClientSecret => {
                let secret = self.settings.secret().await?;
                let secret = secret.ok_or_else(|| lacks("`clientSecret` or `privateKey`"))?;
                Ok(ClientCredentialsConfig::ClientSecret {
                    client_id,
                    client_secret: secret.expose_secret().to_owned(),
                    scopes,
                    resource,
                })
            }
            Grant::PrivateKey { key, algorithm } => Ok(ClientCredentialsConfig::PrivateKeyJwt {
                client_id,
                signing_key: key.get().await?.expose_secret().as_bytes().to_vec(),
                signing_algorithm: match algorithm {
                    KeyAlgorithm::Rs256 => JwtSigningAlgorithm::RS256,
                    KeyAlgorithm::Rs384 => JwtSigningAlgorithm::RS384,
                    KeyAlgorithm::Rs512 => JwtSigningAlgorithm::RS512,
                    KeyAlgorithm::Es256 => JwtSigningAlgorithm::ES256,
                    KeyAlgorithm::Es384 => JwtSigningAlgorithm::ES384,
                },
                token_endpoint_audience: None,
                scopes,
                resource,
            }),
        }
    }
}
