//! Client credentials grant (SEP-1046): tokens without a user.

use rmcp::transport::auth::{ClientCredentialsConfig, JwtSigningAlgorithm};
use secrecy::ExposeSecret as _;

use super::blocking::blocking;
use super::discovery::{self, AuthChallenge, explain};
use super::error::OAuthError;
use super::login::SignInOutcome;
use super::record::{RegisteredClient, SignInRecord, TokenSet};
use super::sdk::{CapturedCredentials, without_logs};
use super::server_auth::ServerAuth;
use super::settings::{KeyAlgorithm, OAuthGrant};

impl ServerAuth {
    /// Requests a token without the user and stores it.
    ///
    /// # Errors
    ///
    /// [`OAuthError::Settings`] when the entry has another grant, else any error of the authorization server.
    pub async fn sign_in_unattended(&self) -> Result<SignInOutcome, OAuthError> {
        let mut record = self.record_to_replace().await?;
        record.tokens = None;
        let tokens = without_logs(self.exchange(&mut record)).await?;
        record.tokens = Some(tokens);
        self.store_record(record).await
    }

    /// Requests a token during a call. Call it under both locks.
    pub(super) async fn fetch(&self, mut record: SignInRecord) -> Result<TokenSet, OAuthError> {
        let tokens = self.exchange(&mut record).await?;
        record.tokens = Some(tokens.clone());
        self.write(record).await?;
        Ok(tokens)
    }

    async fn exchange(&self, record: &mut SignInRecord) -> Result<TokenSet, OAuthError> {
        let http = self.http();
        let demand = match &record.challenge {
            Some(challenge) => AuthChallenge::Header(challenge.clone()),
            None => self.probe(&http).await?,
        };
        let found = discovery::discover(&http, &self.url, &self.settings, &demand).await?;
        let mut manager = found.manager;
        let wanted = std::mem::take(&mut record.wanted);
        let kept = [record.requested.as_slice(), &wanted].concat();
        // Earlier scopes apply to their issuer only.
        let kept = match record.issuer == found.published.issuer {
            true => kept,
            false => Vec::new(),
        };
        let mut scopes = discovery::scopes(&manager, &self.settings, &kept).await?;
        // This grant has no refresh tokens.
        scopes.retain(|scope| scope != "offline_access");
        let resource = discovery::resource(&mut manager, &self.url).await;
        let config = self.credentials_config(scopes.clone(), resource).await?;
        let checked = manager.validate_client_credentials_metadata(&config);
        let configured = checked.and_then(|()| manager.configure_client_credentials(&config));
        configured.map_err(|error| explain(error, &http))?;
        let captured = CapturedCredentials::default();
        manager.set_credential_store(captured.clone());
        // The SDK's future is not `Send` (rmcp 3.9: a form serializer lives across an await), so it runs on a
        // thread of its own.
        let runtime = tokio::runtime::Handle::current();
        let exchanged = blocking(move || {
            runtime.block_on(without_logs(manager.exchange_client_credentials(&config)))
        });
        exchanged.await.map_err(|error| explain(error, &http))?;
        let stored = captured.take();
        let tokens = stored.as_ref().map(TokenSet::of).transpose()?.flatten();
        let tokens = tokens.ok_or(OAuthError::Expired)?;
        record.issuer = found.published.issuer;
        record.token_origin = Some(found.published.token_origin);
        record.client = self.settings.client_id.clone().map(|id| RegisteredClient {
            id,
            // The secret stays in the entry.
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
            OAuthGrant::AuthorizationCode => Err(lacks("to be chosen in the entry")),
            OAuthGrant::ClientSecret => {
                let secret = self.settings.secret().await?;
                let secret = secret.ok_or_else(|| lacks("`clientSecret` or `privateKey`"))?;
                Ok(ClientCredentialsConfig::ClientSecret {
                    client_id,
                    client_secret: secret.expose_secret().to_owned(),
                    scopes,
                    resource,
                })
            }
            OAuthGrant::PrivateKey { key, algorithm } => {
                Ok(ClientCredentialsConfig::PrivateKeyJwt {
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
                })
            }
        }
    }
}
