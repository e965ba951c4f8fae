//! Calls as they stand in a program: what its parser saw, before anything runs.
//!
//! The worker makes these, so they are facts about a text that nobody trusts: the gateway's catalogue judges them,
//! and nothing is called because of them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::limits::{SITES_BYTES_MAX, SITES_MAX};
use crate::{ErrorKind, ProgramError};

/// Body of [`HostOp::Check`](crate::HostOp): the calls of one program, in the order of its text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sites {
    /// At most [`SITES_MAX`]; those behind are not judged.
    #[serde(deserialize_with = "at_most_sites_max")]
    pub sites: Vec<Site>,
    /// Places where tools are called, or given away to be called, under names that only the running
    /// program knows; at most [`SITES_MAX`].
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most_sites_max"
    )]
    pub dynamic: Vec<DynamicSite>,
}

/// A place whose tool is not known before the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DynamicSite {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The server, when that much is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// One call of a tool whose names are constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Line of the call, from 1.
    pub line: u32,
    /// Column of the call, from 1; in the units of the program's language.
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
    #[serde(default, skip_serializing_if = "is_none")]
    pub positional: u32,
    /// False only where a missing `await` is surely a mistake.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub awaited: bool,
    /// Whether the program may catch the refusal of the call: it may try it on purpose.
    #[serde(default, skip_serializing_if = "is_no")]
    pub guarded: bool,
    /// How often the call is made, as far as the text says.
    #[serde(default, skip_serializing_if = "Repeat::is_once")]
    pub repeat: Repeat,
    /// What the program reads of the result, where that is followed without doubt.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most_sites_max"
    )]
    pub reads: Vec<SiteRead>,
    /// The calls whose results go into the arguments, by their place in [`Sites::sites`].
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most_sites_max"
    )]
    pub uses: Vec<u32>,
}

/// How often a call is made when the program runs once. A call that stands in a branch may not be made
/// at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// Once.
    #[default]
    Once,
    /// So many times at most: a loop over constants.
    AtMost(u32),
    /// For each item of some data, or until some condition holds.
    Many,
    /// In a loop that nothing in its head ends.
    Endless,
}

impl Repeat {
    /// How often what is made this often is made inside of what is made `outer` often.
    #[must_use]
    pub fn within(self, outer: Self) -> Self {
        match (self, outer) {
            (Self::Endless, _) | (_, Self::Endless) => Self::Endless,
            (Self::Many, _) | (_, Self::Many) => Self::Many,
            (Self::Once, other) | (other, Self::Once) => other,
            (Self::AtMost(inner), Self::AtMost(outer)) => Self::AtMost(inner.saturating_mul(outer)),
        }
    }

    fn is_once(&self) -> bool {
        *self == Self::Once
    }
}

/// One read of a part of a call's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteRead {
    /// Line of the last name, from 1.
    pub line: u32,
    /// Column of the last name, from 1.
    pub column: u32,
    /// Names from the result to the part; [`ANY_ITEM`] stands for an item of a list.
    pub path: Vec<String>,
    /// Whether the program provides for the part not being there.
    #[serde(default, skip_serializing_if = "is_no")]
    pub optional: bool,
}

/// Stands in [`SiteRead::path`] for an item of a list, whichever.
pub const ANY_ITEM: &str = "[]";

/// Answer to [`HostOp::Check`](crate::HostOp): whether the program may start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Why it may not, by line and column.
    #[serde(default)]
    pub errors: Vec<SiteError>,
    /// What the model should know although it may.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// One reason why a program may not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteError {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Verdict {
    /// Why the program may not start, in the words the model reads: the first error in front, and all of
    /// them in the text. `None` when it may.
    pub fn error(&self) -> Option<ProgramError> {
        let first = self.errors.first()?;
        let line = |error: &SiteError| format!("line {}: {}", error.line, error.message);
        let message = match self.errors.as_slice() {
            [only] => only.message.clone(),
            errors => errors.iter().map(line).collect::<Vec<_>>().join("\n"),
        };
        Some(ProgramError {
            line: Some(first.line),
            column: Some(first.column),
            hint: first.hint.clone(),
            ..ProgramError::new(ErrorKind::Contract, message)
        })
    }
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
    /// out at the end.
    pub fn into_body(mut self) -> String {
        self.sites.truncate(SITES_MAX);
        self.dynamic.truncate(SITES_MAX);
        loop {
            let body = serde_json::to_string(&self).expect("keys are strings and numbers finite");
            if body.len() <= SITES_BYTES_MAX {
                return body;
            }
            self.sites.truncate(self.sites.len() / 2);
            self.dynamic.truncate(self.dynamic.len() / 2);
        }
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_yes(value: &bool) -> bool {
    *value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_no(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

/// A value that is there, null included, where plain `Option` reads null as absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn at_most_sites_max<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(SitesVisitor(PhantomData))
}

struct SitesVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SitesVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {SITES_MAX} entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            if entries.len() == SITES_MAX {
                return Err(A::Error::invalid_length(SITES_MAX + 1, &self));
            }
            entries.push(entry);
        }
        Ok(entries)
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
            guarded: false,
            repeat: Repeat::Once,
            reads: Vec::new(),
            uses: Vec::new(),
        };
        assert_eq!(Sites::default().into_body(), r#"{"sites":[]}"#);
        let many = Sites {
            sites: vec![site("s.t".into()); SITES_MAX + 1],
            ..Sites::default()
        };
        let body = many.into_body();
        assert_eq!(Sites::parse(&body).unwrap().sites.len(), SITES_MAX);
        let long = Sites {
            sites: vec![site("x".repeat(SITES_BYTES_MAX / 3)); 4],
            ..Sites::default()
        };
        let body = long.into_body();
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
