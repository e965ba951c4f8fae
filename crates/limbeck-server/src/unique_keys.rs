//! Whether a JSON text gives a key twice in one object. Of such keys readers take the first or the last, so that what is decided about
//! could differ from what a server reads.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Message of the error that a client receives.
pub(crate) const DUPLICATE_KEY: &str = "a key is given twice in one object";

/// Whether some object of `json` has a key twice; `false` also for a text that is not JSON.
pub(crate) fn has_duplicate_key(json: &[u8]) -> bool {
    let read = serde_json::from_slice::<UniqueKeys>(json);
    read.is_err_and(|error| error.to_string().starts_with(DUPLICATE_KEY))
}

struct UniqueKeys;

/// A key, which is borrowed where it has no escapes.
#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(Self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = members.next_key::<Key<'de>>()? {
            if !keys.insert(key) {
                return Err(A::Error::custom(DUPLICATE_KEY));
            }
            members.next_value::<Self>()?;
        }
        Ok(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::has_duplicate_key;

    #[test]
    fn a_key_that_is_given_twice_is_found_in_any_object_and_spelling() {
        for json in [
            r#"{"to":"a","to":"b"}"#,
            r#"{"to":"a","\u0074o":"b"}"#,
            r#"{"params":{"arguments":[{"x":1},{"y":{"z":1,"z":1}}]}}"#,
        ] {
            assert!(has_duplicate_key(json.as_bytes()), "{json}");
        }
        // The controls: one key in two objects, in two spellings of letters, and what is not JSON.
        for json in [
            r#"{"a":{"x":1},"b":{"x":1}}"#,
            r#"[{"to":1},{"to":1}]"#,
            r#"{"to":1,"TO":1}"#,
            r#"{"to":"#,
            "5",
        ] {
            assert!(!has_duplicate_key(json.as_bytes()), "{json}");
        }
    }
}
