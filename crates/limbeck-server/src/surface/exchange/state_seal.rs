//! Sealed states, which clients keep for suspended requests.
//!
//! A state is encrypted and authenticated (AES-256-GCM) with the key of the state file. So another process, and this one after a
//! restart, can open it, and a client can neither read nor change it. It is bound to the principal, the method, the name and the
//! params of its request, and has an end.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use limbeck_domain::{ApprovalId, ExecutionId};
use limbeck_gateway::clock::now_us;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Bytes of a state; one with twenty questions has below 2 KiB.
const STATE_BYTES_MAX: usize = 16 << 10;
/// First bytes of the associated data: a key that is used for something else opens nothing of it here.
const PURPOSE: &[u8] = b"limbeck request state 1\0";

/// What a client keeps for a suspended request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateContent {
    /// Id of the suspended request, and of its single use.
    pub(crate) id: String,
    /// Execution that waits for the answers, also when the request is gone.
    pub(crate) execution: Option<ExecutionId>,
    /// Questions of the execution that the client was asked.
    pub(crate) approvals: Vec<ApprovalId>,
    /// When it is worth nothing any more, in microseconds since 1970.
    pub(crate) expires_us: u64,
}

/// Why a state is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StateError {
    /// It was not sealed here, was changed, or is that of another principal or request.
    #[error("is not that of this request")]
    Foreign,
    /// Its time has passed.
    #[error("has expired")]
    Expired,
}

/// The key of states.
pub(crate) struct StateSeal(RandomizedNonceKey);

impl std::fmt::Debug for StateSeal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateSeal").finish_non_exhaustive()
    }
}

impl StateSeal {
    /// The seal of a key of 32 bytes; `None` for one of another length.
    pub(crate) fn of(key: &[u8]) -> Option<Self> {
        RandomizedNonceKey::new(&AES_256_GCM, key).ok().map(Self)
    }

    /// Seals `content` for the request `of`. `None` when the system gives no random number.
    pub(crate) fn seal(&self, content: &StateContent, of: &[u8]) -> Option<String> {
        let mut sealed = serde_json::to_vec(content).ok()?;
        let bound = [PURPOSE, of].concat();
        let nonce = self
            .0
            .seal_in_place_append_tag(Aad::from(bound), &mut sealed);
        let mut state = nonce.ok()?.as_ref().to_vec();
        state.append(&mut sealed);
        Some(URL_SAFE_NO_PAD.encode(state))
    }

    /// Opens a state that a client sent with the request `of`.
    ///
    /// # Errors
    ///
    /// [`StateError`]
    pub(crate) fn open(&self, state: &str, of: &[u8]) -> Result<StateContent, StateError> {
        if state.len() > STATE_BYTES_MAX {
            return Err(StateError::Foreign);
        }
        let bytes = URL_SAFE_NO_PAD.decode(state);
        let mut bytes = bytes.map_err(|_| StateError::Foreign)?;
        let (nonce, sealed) = bytes
            .split_at_mut_checked(NONCE_LEN)
            .ok_or(StateError::Foreign)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| StateError::Foreign)?;
        let bound = [PURPOSE, of].concat();
        let opened = self.0.open_in_place(nonce, Aad::from(bound), sealed);
        let opened = opened.map_err(|_| StateError::Foreign)?;
        let content: StateContent =
            serde_json::from_slice(opened).map_err(|_| StateError::Foreign)?;
        if content.expires_us <= now_us() {
            return Err(StateError::Expired);
        }
        Ok(content)
    }
}

/// Digest of the params of a request; the order of their members does not count.
pub(crate) fn digest_of(params: Option<&Map<String, Value>>) -> [u8; 32] {
    let mut hash = Sha256::new();
    if let Some(params) = params {
        add_members(&mut hash, params);
    }
    hash.finalize().into()
}

fn add_members(hash: &mut Sha256, members: &Map<String, Value>) {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| name.as_str());
    hash.update(b"{");
    for (name, value) in sorted {
        // As JSON text, so that no name reads as another with its value.
        hash.update(Value::from(name.as_str()).to_string());
        hash.update(b":");
        add(hash, value);
        hash.update(b",");
    }
    hash.update(b"}");
}

fn add(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => add_members(hash, members),
        Value::Array(items) => {
            hash.update(b"[");
            for item in items {
                add(hash, item);
                hash.update(b",");
            }
            hash.update(b"]");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            hash.update(value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(expires_us: u64) -> StateContent {
        StateContent {
            id: "one".to_owned(),
            execution: Some(ExecutionId::new("ex_1")),
            approvals: vec![ApprovalId::new("ap_1")],
            expires_us,
        }
    }

    #[test]
    fn a_state_opens_for_its_request_and_key_alone_and_shows_nothing() {
        let seal = StateSeal::of(&[7; 32]).unwrap();
        let later = content(now_us() + 60_000_000);
        let state = seal.seal(&later, b"request").unwrap();
        // The control, with another handle on the same key as after a restart.
        let restarted = StateSeal::of(&[7; 32]).unwrap();
        assert_eq!(restarted.open(&state, b"request"), Ok(later.clone()));
        assert!(
            !String::from_utf8_lossy(&URL_SAFE_NO_PAD.decode(&state).unwrap()).contains("ex_1")
        );
        assert_ne!(seal.seal(&later, b"request").unwrap(), state);
        let foreign = Err(StateError::Foreign);
        assert_eq!(seal.open(&state, b"another"), foreign);
        assert_eq!(
            StateSeal::of(&[8; 32]).unwrap().open(&state, b"request"),
            foreign
        );
        for altered in [
            String::new(),
            "AAAA".to_owned(),
            state[..state.len() - 2].to_owned(),
            "A".repeat(20_000),
        ] {
            assert_eq!(seal.open(&altered, b"request"), foreign, "{altered}");
        }
        for index in 0..state.len() {
            let mut altered = state.clone().into_bytes();
            altered[index] = if altered[index] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(seal.open(&altered, b"request"), foreign, "{index}");
        }
        let past = seal.seal(&content(now_us() - 1), b"request").unwrap();
        assert_eq!(seal.open(&past, b"request"), Err(StateError::Expired));
        assert!(StateSeal::of(&[7; 31]).is_none());
    }

    #[test]
    fn the_digest_of_params_does_not_depend_on_the_order_of_members_and_on_all_else() {
        let of = |params: Value| digest_of(params.as_object());
        let first = of(json!({"a": 1, "b": {"c": [1, 2], "d": null}}));
        assert_eq!(first, of(json!({"b": {"d": null, "c": [1, 2]}, "a": 1})));
        for other in [
            json!({"a": 1, "b": {"c": [2, 1], "d": null}}),
            json!({"a": "1", "b": {"c": [1, 2], "d": null}}),
            json!({"a": 1, "b": {"c": [1, 2]}, "d": null}),
            json!({"a": 1}),
            json!({}),
        ] {
            assert_ne!(first, of(other.clone()), "{other}");
        }
        assert_ne!(of(json!({"a\":1,\"b": 2})), of(json!({"a": 1, "b": 2})));
    }
}
