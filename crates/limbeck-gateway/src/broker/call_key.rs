//! Idempotency keys, where the operator says that a server knows by it a call that it had before.
//!
//! A key is a hash of the execution, the number of the call and the place of the key, so a call that is sent a second time has the
//! one that it had.

use std::borrow::Cow;
use std::collections::BTreeMap;

use limbeck_domain::{CallCode, CallError, CallId, ExecutionId, ToolId};
use limbeck_policy::KeyPlace;
use limbeck_upstream::RequestKey;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::Broker;

/// Key of one call, and where the call has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallKey {
    place: KeyPlace,
    value: String,
}

impl CallKey {
    /// The key of a call of an execution; one of its own for a call outside of any, which is never repeated.
    pub(crate) fn new(place: KeyPlace, execution: Option<&ExecutionId>, call: CallId) -> Self {
        let value = match execution {
            Some(execution) => hashed(&place, execution, call),
            None => Uuid::now_v7(),
        };
        Self {
            place,
            value: value.to_string(),
        }
    }

    /// The key itself.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// The arguments with the key, where it is one of them; text that is no object is left to the validation.
    ///
    /// # Errors
    ///
    /// [`CallError`] when the program gives the argument itself.
    pub(super) fn added_to<'a>(&self, arguments: &'a str) -> Result<Cow<'a, str>, CallError> {
        let KeyPlace::Argument(name) = &self.place else {
            return Ok(arguments.into());
        };
        let parsed: Result<BTreeMap<Cow<'_, str>, &RawValue>, _> = serde_json::from_str(arguments);
        let (Ok(members), Some(rest)) = (parsed, arguments.trim_start().strip_prefix('{')) else {
            return Ok(arguments.into());
        };
        if let Some(given) = members.get(name.as_str()) {
            // What an approver was shown has it.
            let is_same =
                serde_json::from_str::<String>(given.get()).is_ok_and(|given| given == self.value);
            if is_same {
                return Ok(arguments.into());
            }
            let message = format!("the argument `{name}` is filled by the gateway");
            return Err(CallError::new(CallCode::InvalidArguments, message)
                .with_hint(format!("leave `{name}` out")));
        }
        let comma = if members.is_empty() { "" } else { "," };
        Ok(format!("{{{}{comma}{rest}", self.member(name)).into())
    }

    /// Arguments without the key, as the program gave them: by these it is known that a call is the same as another.
    fn without<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        let KeyPlace::Argument(name) = &self.place else {
            return arguments.into();
        };
        let rest = arguments.strip_prefix('{');
        match rest.and_then(|rest| rest.strip_prefix(&*self.member(name))) {
            Some(rest) => format!("{{{}", rest.strip_prefix(',').unwrap_or(rest)).into(),
            None => arguments.into(),
        }
    }

    /// The key as the member of an object.
    fn member(&self, name: &str) -> String {
        let (name, value) = (serde_json::json!(name), serde_json::json!(self.value));
        format!("{name}:{value}")
    }

    /// The key of a request that has it beside the arguments.
    pub(super) fn beside_arguments(self) -> Option<RequestKey> {
        let Self { place, value } = self;
        match place {
            KeyPlace::Argument(_) => None,
            KeyPlace::Meta(name) => Some(RequestKey::Meta { name, value }),
            KeyPlace::Header(name) => Some(RequestKey::Header { name, value }),
        }
    }
}

fn hashed(place: &KeyPlace, execution: &ExecutionId, call: CallId) -> Uuid {
    let parts = [
        "limbeck-idempotency-v1",
        execution.as_str(),
        &call.0.to_string(),
        place.kind(),
        place.name(),
    ];
    let mut bytes: [u8; 32] = Sha256::digest(parts.join("\0")).into();
    // Version 8 of RFC 9562: many servers accept only a UUID.
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let (first, _) = bytes.split_at(16);
    Uuid::from_slice(first).unwrap_or_default()
}

impl Broker {
    /// The key of a call of `tool`, where the operator says that its calls have one. `None` too where the server cannot get it.
    pub(super) fn key_of(&self, tool: &ToolId, call: CallId) -> Option<CallKey> {
        let newest = self.context.policy.newest();
        let place = newest.policy().in_doubt.of(tool)?.key.clone()?;
        let has_headers = || self.context.upstreams.has_headers(&tool.server);
        if matches!(place, KeyPlace::Header(_)) && !has_headers() {
            return None;
        }
        Some(CallKey::new(place, self.journal.execution(), call))
    }

    /// Arguments of a call that will be sent, without its key.
    pub(crate) fn without_key<'a>(
        &self,
        tool: &ToolId,
        call: CallId,
        arguments: &'a str,
    ) -> Cow<'a, str> {
        match self.key_of(tool, call) {
            Some(key) => key.without(arguments),
            None => arguments.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(place: KeyPlace, execution: &str, call: u32) -> CallKey {
        CallKey::new(place, Some(&ExecutionId::new(execution)), CallId(call))
    }

    fn argument() -> KeyPlace {
        KeyPlace::Argument("id".to_owned())
    }

    #[test]
    fn a_key_is_of_one_call_and_one_place_and_the_same_each_time() {
        let one = key(argument(), "ex_1", 1);
        assert_eq!(one, key(argument(), "ex_1", 1));
        assert_eq!(Uuid::parse_str(one.value()).unwrap().get_version_num(), 8);
        for other in [
            key(argument(), "ex_1", 2),
            key(argument(), "ex_2", 1),
            key(KeyPlace::Argument("key".to_owned()), "ex_1", 1),
            key(KeyPlace::Meta("id".to_owned()), "ex_1", 1),
        ] {
            assert_ne!(one.value(), other.value());
        }
        let outside = || CallKey::new(argument(), None, CallId(1));
        assert_ne!(outside().value(), outside().value());
    }

    #[test]
    fn the_key_is_added_to_the_arguments_and_nothing_else_of_them_changes() {
        let one = key(argument(), "ex_1", 1);
        let value = one.value();
        let added = |arguments: &str| one.added_to(arguments).map(Cow::into_owned);
        assert_eq!(added("{}").unwrap(), format!(r#"{{"id":"{value}"}}"#));
        assert_eq!(
            added(r#" {"n": 9007199254740993, "b":1.0}"#).unwrap(),
            format!(r#"{{"id":"{value}","n": 9007199254740993, "b":1.0}}"#)
        );
        for arguments in ["{}", r#"{"n":9007199254740993,"b":1.0}"#] {
            assert_eq!(one.without(&added(arguments).unwrap()), arguments);
            assert_eq!(one.without(arguments), arguments);
        }
        // An approver saw the arguments with the key.
        let shown = format!(r#"{{"n":1,"id":"{value}"}}"#);
        assert_eq!(added(&shown).unwrap(), shown);
        let error = added(r#"{"id":"mine"}"#).unwrap_err();
        assert_eq!(error.code, CallCode::InvalidArguments);
        for other in ["[]", "", "{\"a\"", "null"] {
            assert_eq!(added(other).unwrap(), other);
        }
        let beside = key(KeyPlace::Meta("id".to_owned()), "ex_1", 1);
        assert_eq!(beside.added_to("{}").unwrap(), "{}");
    }
}
