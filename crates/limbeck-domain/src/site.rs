//! Calls as they stand in a program: what its parser saw, before anything runs.
//!
//! The worker and the Python guest make these, so they are facts about a text that nobody trusts: the
//! gateway's catalogue judges them, and nothing is called because of them.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::limits::{SITES_BYTES_MAX, SITES_MAX};

/// Body of [`HostOp::Check`](crate::HostOp): the calls of one program, in the order of its text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sites {
    /// At most [`SITES_MAX`]; those behind are not judged.
    #[serde(deserialize_with = "at_most_sites_max")]
    pub sites: Vec<Site>,
}

/// One call of a tool whose names are constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Line of the call, from 1.
    pub line: u32,
    /// Column of the call, from 1.
    pub column: u32,
    /// Server as the program wrote it; absent when `tool` is a full name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Tool as the program wrote it.
    pub tool: String,
    /// Arguments that are named in the text.
    #[serde(default)]
    pub arguments: Vec<SiteArgument>,
    /// Whether these are all there are; false when a spread or a variable may bring more.
    pub complete: bool,
    /// Positional arguments beyond the one object that is accepted.
    #[serde(default)]
    pub positional: u32,
    /// False only where a missing `await` is surely a mistake.
    #[serde(default = "yes")]
    pub awaited: bool,
}

/// One named argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteArgument {
    /// Its name.
    pub name: String,
    /// Its value when that is a constant, null for example, and nothing behind it in the text may put
    /// another in its place.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub value: Option<Value>,
}

/// Why a body is no [`Sites`].
#[derive(Debug, thiserror::Error)]
pub enum SitesError {
    /// Longer than any program's can be.
    #[error("call sites of {bytes} bytes, at most {SITES_BYTES_MAX} are allowed")]
    TooLong {
        /// Length of the body.
        bytes: usize,
    },
    /// Not of the form, or more than [`SITES_MAX`].
    #[error("call sites cannot be read")]
    Malformed(#[source] serde_json::Error),
}

impl Sites {
    /// Reads the body of a check.
    ///
    /// # Errors
    ///
    /// [`SitesError`], for a body above [`SITES_BYTES_MAX`] before anything is allocated.
    pub fn parse(body: &str) -> Result<Self, SitesError> {
        if body.len() > SITES_BYTES_MAX {
            return Err(SitesError::TooLong { bytes: body.len() });
        }
        serde_json::from_str(body).map_err(SitesError::Malformed)
    }

    /// The body of a check, within the bounds that [`Sites::parse`] has: what is too much for them is left
    /// out at the end. `None` when there is nothing to judge.
    pub fn into_body(mut self) -> Option<String> {
        self.sites.truncate(SITES_MAX);
        while !self.sites.is_empty() {
            let body = serde_json::to_string(&self).expect("keys are strings and numbers finite");
            if body.len() <= SITES_BYTES_MAX {
                return Some(body);
            }
            self.sites.truncate(self.sites.len() / 2);
        }
        None
    }
}

fn yes() -> bool {
    true
}

/// A value that is there, null included, where plain `Option` reads null as absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn at_most_sites_max<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Site>, D::Error> {
    deserializer.deserialize_seq(SitesVisitor)
}

struct SitesVisitor;

impl<'de> Visitor<'de> for SitesVisitor {
    type Value = Vec<Site>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {SITES_MAX} call sites")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut sites = Vec::new();
        while let Some(site) = list.next_element()? {
            if sites.len() == SITES_MAX {
                return Err(A::Error::invalid_length(SITES_MAX + 1, &self));
            }
            sites.push(site);
        }
        Ok(sites)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_argument_that_is_null_is_a_constant_and_one_without_a_value_is_not() {
        let sites = Sites::parse(
            r#"{"sites":[{"line":3,"column":7,"server":"s","tool":"t","arguments":[{"name":"a","value":null},{"name":"b"}],"complete":true,"positional":0,"awaited":true}]}"#,
        )
        .unwrap();
        let [site] = sites.sites.as_slice() else {
            panic!("{sites:?}")
        };
        assert_eq!(site.arguments[0].value, Some(Value::Null));
        assert_eq!(site.arguments[1].value, None);
        let text = serde_json::to_string(&sites).unwrap();
        assert_eq!(Sites::parse(&text).unwrap(), sites);
    }

    #[test]
    fn a_body_holds_as_many_sites_as_fit() {
        let site = |text: String| Site {
            line: 1,
            column: 1,
            server: None,
            tool: text,
            arguments: Vec::new(),
            complete: true,
            positional: 0,
            awaited: true,
        };
        assert_eq!(Sites::default().into_body(), None);
        let many = Sites {
            sites: vec![site("s.t".into()); SITES_MAX + 1],
        };
        let body = many.into_body().unwrap();
        assert_eq!(Sites::parse(&body).unwrap().sites.len(), SITES_MAX);
        let long = Sites {
            sites: vec![site("x".repeat(SITES_BYTES_MAX / 3)); 4],
        };
        let body = long.into_body().unwrap();
        assert_eq!(Sites::parse(&body).unwrap().sites.len(), 2);
    }

    #[test]
    fn too_many_or_too_long_is_refused_and_the_most_is_read() {
        let body = |count: usize| {
            let site = json!({"line": 1, "column": 1, "tool": "s.t", "complete": true});
            json!({ "sites": vec![site; count] }).to_string()
        };
        assert_eq!(
            Sites::parse(&body(SITES_MAX)).unwrap().sites.len(),
            SITES_MAX
        );
        assert!(matches!(
            Sites::parse(&body(SITES_MAX + 1)),
            Err(SitesError::Malformed(_))
        ));
        let long = " ".repeat(SITES_BYTES_MAX + 1);
        assert!(matches!(
            Sites::parse(&long),
            Err(SitesError::TooLong { .. })
        ));
        assert!(Sites::parse(r#"{"sites":[{"line":1}]}"#).is_err());
    }
}
