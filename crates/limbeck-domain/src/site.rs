//! Call sites of a program, as its parser found them before anything runs.
//!
//! The worker reports them about an untrusted text, so the gateway only checks them against the catalog; they
//! cause no call.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::limits::{SITES_BYTES_MAX, SITES_MAX};
use crate::{ErrorKind, ProgramError};

/// Tool calls written in one program, in the order of its text: what a worker sends to have them checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sites {
    /// At most [`SITES_MAX`]; further ones are not checked.
    #[serde(deserialize_with = "at_most_sites_max")]
    pub sites: Vec<Site>,
    /// Places where tools are called, or passed on to be called, under names that are computed at run time; at
    /// most [`SITES_MAX`].
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most_sites_max"
    )]
    pub dynamic: Vec<DynamicSite>,
    /// Calls behind those of `sites` that are too many to be listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<UnreadSites>,
    /// What the program reads of `input`.
    #[serde(default, skip_serializing_if = "InputUse::is_nothing")]
    pub input: InputUse,
    /// Places where a tool is named as a statement and not called, which does nothing.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most_sites_max"
    )]
    pub named: Vec<DynamicSite>,
}

/// What a program does with its `input`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputUse {
    /// Parts that it reads, where the analysis is certain.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most_sites_max"
    )]
    pub reads: Vec<SiteRead>,
    /// First place that takes the whole value for a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<SiteListing>,
    /// Whether the program also takes the whole value for a text.
    #[serde(default, skip_serializing_if = "is_no")]
    pub as_text: bool,
}

impl InputUse {
    /// Whether the analysis knows of no use.
    pub fn is_nothing(&self) -> bool {
        self.reads.is_empty() && self.listed.is_none()
    }
}

/// Place where a program takes a value for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteListing {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Whether the items are only counted there, as in `r.length`. Otherwise they are taken, by place or one after another.
    #[serde(default, skip_serializing_if = "is_no")]
    pub counted: bool,
}

/// Constants with which a program compares a part of a value in one condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteComparison {
    /// Line of the part, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// Names from the result to the part, as in [`SiteRead::path`].
    pub path: Vec<String>,
    /// The constants.
    pub values: Vec<String>,
}

/// Calls of a program that were found and left out of [`Sites::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnreadSites {
    /// Line of the first, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// How many there are.
    pub count: u32,
}

/// A call site whose tool is known only at run time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DynamicSite {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The server, when the program names it as a constant.
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
    /// Arguments whose names are in the text.
    #[serde(default)]
    pub arguments: Vec<SiteArgument>,
    /// Whether `arguments` is complete; false when a spread or a variable may add more.
    pub complete: bool,
    /// Positional arguments beyond the one object that is accepted.
    #[serde(default, skip_serializing_if = "is_none")]
    pub positional: u32,
    /// False only where a missing `await` is certainly a mistake.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub awaited: bool,
    /// Whether the program may catch the call's error: it may expect the call to fail.
    #[serde(default, skip_serializing_if = "is_no")]
    pub guarded: bool,
    /// How often the call is made, as far as the text shows.
    #[serde(default, skip_serializing_if = "Repeat::is_once")]
    pub repeat: Repeat,
    /// Parts of the result that the program reads, where the analysis is certain.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most_sites_max"
    )]
    pub reads: Vec<SiteRead>,
    /// Parts of the result that the program compares with constant texts.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most_sites_max"
    )]
    pub compared: Vec<SiteComparison>,
    /// First place that takes the whole result for a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<SiteListing>,
    /// Whether the program also takes the whole result for a text: it parses, cuts or searches it, or asks for its type.
    #[serde(default, skip_serializing_if = "is_no")]
    pub as_text: bool,
    /// Whether the program surely makes the call: it is in no branch, in no function, and behind no statement that may end
    /// the program before.
    #[serde(default, skip_serializing_if = "is_no")]
    pub certain: bool,
    /// Whether the call is in a function of the program that nothing in it mentions, so that it is never made.
    #[serde(default, skip_serializing_if = "is_no")]
    pub idle: bool,
    /// Whether a program that completes has made the call.
    #[serde(default, skip_serializing_if = "Reach::is_open")]
    pub reach: Reach,
    /// Indices in [`Sites::sites`] of the calls whose results are used in the arguments.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most_sites_max"
    )]
    pub uses: Vec<u32>,
}

/// Whether a program that completes has made a call, as far as its text shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Not known: a condition or a failure may decide.
    #[default]
    Open,
    /// No condition decides; there may be no item to make it for, or nothing to call the function that it is in.
    Unconditional,
    /// The program means to make it in every run.
    Always,
}

impl Reach {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

/// How often a call is made when the program runs once. A call in a branch may not be made at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// Once.
    #[default]
    Once,
    /// At most this many times: a loop over constants.
    AtMost(u32),
    /// For each item of a value, or until a condition holds.
    Many,
    /// In a loop whose head has no end condition.
    Endless,
}

impl Repeat {
    /// Combines the repetition of an inner loop with that of the outer one.
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
    /// Names from the result to the part; [`ANY_ITEM`] for an item of a list, [`ANY_MEMBER`] for a member of an object.
    pub path: Vec<String>,
    /// Whether the program handles that the part is absent.
    #[serde(default, skip_serializing_if = "is_no")]
    pub optional: bool,
    /// Whether an optional part that is absent leaves no value of the program empty: the program only asks for it, makes it
    /// itself, throws it, or has the whole result in its place.
    #[serde(default, skip_serializing_if = "is_no")]
    pub asked: bool,
    /// Number of the alternatives that the read is one of, as in `a ?? b`: reads of one result with the same number stand for
    /// each other. 0 for a read that is not one of them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub either: u32,
    /// Whether the program makes the read whenever there is a value of which it is a part, and goes on without an error where
    /// the part is absent. Only reads that are not optional are.
    #[serde(default, skip_serializing_if = "is_no")]
    pub certain: bool,
    /// Whether the program does the same where the part is absent as where all is well, as with `r.ok !== false`.
    #[serde(default, skip_serializing_if = "is_no")]
    pub absent_is_well: bool,
    /// Whether the program asks what the whole result is, as with `typeof r === "string"`: it knows of several forms.
    #[serde(default, skip_serializing_if = "is_no")]
    pub form_asked: bool,
    /// What the program decides by the part alone, where it does something other where the part is absent.
    #[serde(default, skip_serializing_if = "Decides::is_nothing")]
    pub decides: Decides,
}

/// What a program decides by a part of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decides {
    /// Nothing, or whether the part is there.
    #[default]
    Nothing,
    /// Whether it is a constant, as in `o.state === "open"`.
    Equality,
    /// Whether it is false, as in `!o.shipped`: a tool is called then, or an item is chosen.
    Negation,
    /// Which of two values it gives, as in `r.status === 200 ? "sent" : "failed"`.
    Report,
}

impl Decides {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

/// Element of [`SiteRead::path`] for any item of a list.
pub const ANY_ITEM: &str = "[]";

/// Element of [`SiteRead::path`] for any member of an object, as `Object.values` gives them.
pub const ANY_MEMBER: &str = "*";

/// Element of [`SiteRead::path`] for what a text holds, as `JSON.parse` and `json.loads` give it. A path has one at most.
pub const PARSED: &str = "()";

/// Answer to a check of [`Sites`]: whether the program may start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Errors that keep it from starting, by line and column.
    #[serde(default)]
    pub errors: Vec<SiteError>,
    /// Warnings for the model.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Error that keeps a program from starting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteError {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Message.
    pub message: String,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Verdict {
    /// The error that the model reads: the position of the first error, and all of them in the text. `None` when
    /// the program may start.
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
    /// Its value when it is a constant, null included, and no later part of the text may replace it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub value: Option<Value>,
}

/// Error of [`Sites::parse`].
#[derive(Debug, thiserror::Error)]
pub enum SitesError {
    /// The body is longer than that of any program.
    #[error("call sites of {bytes} bytes, at most {SITES_BYTES_MAX} are allowed")]
    TooLong {
        /// Length of the body.
        bytes: usize,
    },
    /// The body is malformed, or has more than [`SITES_MAX`] sites.
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

    /// The body of a check, within the bounds of [`Sites::parse`]; what exceeds them is cut off at the end.
    pub fn into_body(mut self) -> String {
        self.keep(SITES_MAX);
        self.dynamic.truncate(SITES_MAX);
        loop {
            let body = serde_json::to_string(&self).expect("keys are strings and numbers finite");
            if body.len() <= SITES_BYTES_MAX {
                return body;
            }
            self.keep(self.sites.len() / 2);
            self.dynamic.truncate(self.dynamic.len() / 2);
        }
    }

    /// Keeps the first `count` sites, and counts the others among the unread ones.
    fn keep(&mut self, count: usize) {
        let Some(first) = self.sites.get(count) else {
            return;
        };
        let more = self.unread.map_or(0, |unread| unread.count);
        let left_out = u32::try_from(self.sites.len() - count).unwrap_or(u32::MAX);
        self.unread = Some(UnreadSites {
            line: first.line,
            column: first.column,
            count: more.saturating_add(left_out),
        });
        self.sites.truncate(count);
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

/// Deserializes null as `Some(Value::Null)`, where a plain `Option` would read it as absent.
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
            compared: Vec::new(),
            listed: None,
            as_text: false,
            certain: false,
            idle: false,
            reach: Reach::Open,
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
