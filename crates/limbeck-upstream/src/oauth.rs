//! OAuth 2.1 client: signs in to HTTP servers and refreshes their tokens.
//!
//! The SDK's `AuthorizationManager` implements the protocol. This module decides the rest: which addresses are
//! used ([`address`]), which responses are accepted ([`http`]), where tokens are stored and who may refresh
//! them when ([`store`], [`tokens`]), and how a user gets from a url to a code ([`login`], [`callback`]).
//!
//! Four properties hold and are tested in `tests/it/oauth/`:
//! - A token is sent only to the address it was issued for. The same entry with another address has no token.
//! - A token is refreshed by one task of one process at a time; the others wait and use its result.
//! - Only [`PendingLogin`] waits for a person. A gateway that needs a sign-in fails the call with that error.
//! - No token, code, verifier or client secret is in a log, in an error or in `Debug`. The SDK logs codes and
//!   responses at some levels, so it runs without a subscriber.
//!
//! Start reading at [`ServerAuth`].

mod address;
mod authorization_response;
mod blocking;
mod callback;
mod discovery;
mod error;
mod file;
mod http;
mod login;
pub(crate) mod login_command;
mod logout;
mod random;
mod record;
mod sdk;
mod server_auth;
mod settings;
mod status;
mod store;
mod tokens;
mod unattended;

pub use authorization_response::AuthorizationResponse;
pub use error::OAuthError;
pub use login::{PendingLogin, SignInOutcome};
pub use logout::SignOutOutcome;
pub use server_auth::ServerAuth;
pub use settings::{ClientSecret, KeyAlgorithm, OAuthGrant, OAuthSettings};
pub use status::{SignInState, SignInStatus};
pub use store::{RecordLocation, TokenStore};
