//! K01: sign-ins that end soon and cannot be renewed.

use limbeck_setup::{Configuration, Transport};
use limbeck_upstream::oauth::SignInStatus;

use super::clients::Finding;
use crate::invocation::Invocation;
use crate::shell::quoted;
use crate::sign_in::server_auth;

/// A sign-in that ends within this time is worth a word, in seconds.
const SOON_S: u64 = 24 * 3_600;

/// A finding for each server whose token ends within a day, or has ended, and has no refresh token.
pub(super) async fn findings(
    invocation: &Invocation,
    configuration: &Configuration,
) -> Vec<Finding> {
    let now_s = invocation.world.now_us() / 1_000_000;
    let mut found = Vec::new();
    for entry in &configuration.servers {
        let is_http = matches!(entry.definition, Ok(Transport::Http { .. }));
        if !is_http || entry.disabled || entry.is_held_back() {
            continue;
        }
        // What cannot be set up or read is an error of the server, which is listed.
        let Ok(Some(auth)) = server_auth(invocation, entry) else {
            continue;
        };
        if let Ok(status) = auth.status().await {
            found.extend(finding(&status, now_s));
        }
    }
    found
}

fn finding(status: &SignInStatus, now_s: u64) -> Option<Finding> {
    let expires_s = status.expires_at?;
    if status.storage.is_none() || status.renewable || expires_s > now_s.saturating_add(SOON_S) {
        return None;
    }
    let server = &status.server;
    let when = match expires_s.checked_sub(now_s) {
        None | Some(0) => "has ended".to_owned(),
        Some(left_s) => format!("ends in {} min", left_s.div_ceil(60)),
    };
    Some(Finding {
        code: "K01",
        finding: format!("the sign-in to server `{server}` {when}, and cannot be renewed"),
        remedy: format!("limbeck auth login {}", quoted(server)),
        fix: false,
        is_proposal: false,
        is_command: true,
    })
}

#[cfg(test)]
mod tests {
    use limbeck_upstream::oauth::SignInState;

    use super::*;

    #[test]
    fn a_sign_in_that_ends_within_a_day_and_cannot_be_renewed_is_found() {
        let now_s = 1_700_000_000;
        let status = |expires_at: Option<u64>, renewable: bool| SignInStatus {
            server: "notes".to_owned(),
            url: "https://notes.example".to_owned(),
            state: SignInState::SignedIn,
            issuer: None,
            client_id: None,
            scopes: Vec::new(),
            wanted: Vec::new(),
            expires_at,
            renewable,
            storage: Some("file"),
            file: None,
        };
        let found = finding(&status(Some(now_s + 3_600), false), now_s).unwrap();
        assert_eq!(found.remedy, "limbeck auth login notes");
        assert!(
            found.finding.contains("ends in 60 min"),
            "{}",
            found.finding
        );
        let ended = finding(&status(Some(now_s - 1), false), now_s).unwrap();
        assert!(ended.finding.contains("has ended"));
        // The controls: it is renewed, it lasts, it has no end, and there is no sign-in.
        assert!(finding(&status(Some(now_s + 3_600), true), now_s).is_none());
        assert!(finding(&status(Some(now_s + 2 * SOON_S), false), now_s).is_none());
        assert!(finding(&status(None, false), now_s).is_none());
        let signed_out = SignInStatus {
            storage: None,
            ..status(Some(now_s), false)
        };
        assert!(finding(&signed_out, now_s).is_none());
    }
}
