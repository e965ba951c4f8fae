//! A value of a document together with its key path, and typed access to it.

use std::collections::HashMap;

use limbeck_domain::text;

use super::{Member, Node, NodeData};
use crate::diagnostic::{ValueError, ValueErrorKind};

/// Bytes of a key shown in a message.
const KEY_SHOWN_BYTES: usize = 80;

/// A value and the keys that lead to it.
#[derive(Clone, Debug)]
pub(crate) struct ConfigPlace<'d> {
    node: &'d Node<'d>,
    /// Key path such as `mcpServers.github.args`; empty at the root.
    pub(crate) path: String,
    /// Byte offset of its key, or of the value where it has no key.
    pub(crate) at: usize,
}

impl<'d> ConfigPlace<'d> {
    pub(crate) fn root(node: &'d Node<'d>) -> Self {
        Self {
            node,
            path: String::new(),
            at: node.at,
        }
    }

    /// An error: the value is not of the accepted form.
    pub(crate) fn malformed(&self, problem: impl Into<String>) -> ValueError {
        ValueError::malformed(self.node.at, self.path.clone(), problem)
    }

    /// [`Self::malformed`], reported at the key and not at the value.
    pub(crate) fn malformed_key(&self, problem: impl Into<String>) -> ValueError {
        ValueError {
            at: self.at,
            ..self.malformed(problem)
        }
    }

    /// An error: the value is well-formed and cannot be used here and now.
    pub(crate) fn unusable(&self, problem: impl Into<String>) -> ValueError {
        ValueError::unusable(self.node.at, self.path.clone(), problem)
    }

    /// An error: the value is well-formed and of a kind that this version does not support.
    pub(crate) fn unsupported(&self, problem: impl Into<String>) -> ValueError {
        ValueError {
            kind: ValueErrorKind::Unsupported,
            ..self.unusable(problem)
        }
    }

    fn expected(&self, what: &str) -> ValueError {
        self.malformed(format!("expected {what}, found {}", self.node.data.kind()))
    }

    fn child(&self, member: &'d Member<'d>) -> Self {
        let key = text::clean_line(&member.key, KEY_SHOWN_BYTES);
        let path = if self.path.is_empty() {
            key
        } else {
            format!("{}.{key}", self.path)
        };
        Self {
            node: &member.value,
            path,
            at: member.at,
        }
    }

    fn members(&self) -> Result<&'d [Member<'d>], ValueError> {
        match &self.node.data {
            NodeData::Table(members) => Ok(members),
            _ => Err(self.expected("an object")),
        }
    }

    /// The member `key` of an object; other members are not looked at.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Self>, ValueError> {
        let mut found = self.members()?.iter().filter(|member| member.key == key);
        let first = found.next();
        if let (Some(first), Some(second)) = (first, found.next()) {
            return Err(self.duplicate(first, second));
        }
        Ok(first.map(|member| self.child(member)))
    }

    /// All members of an object, in the order of the file.
    pub(crate) fn entries(&self) -> Result<Vec<(&'d str, Self)>, ValueError> {
        let members = self.members()?;
        let mut seen = HashMap::with_capacity(members.len());
        for member in members {
            if let Some(first) = seen.insert(member.key.as_ref(), member) {
                return Err(self.duplicate(first, member));
            }
        }
        Ok(members
            .iter()
            .map(|member| (member.key.as_ref(), self.child(member)))
            .collect())
    }

    fn duplicate(&self, first: &Member<'_>, second: &'d Member<'d>) -> ValueError {
        ValueError {
            at: second.at,
            first_at: Some(first.at),
            ..ValueError::malformed(0, self.child(second).path, "appears twice")
        }
    }

    pub(crate) fn list(&self) -> Result<Vec<Self>, ValueError> {
        let NodeData::List(elements) = &self.node.data else {
            return Err(self.expected("a list"));
        };
        let element = |(index, node): (usize, &'d Node<'d>)| Self {
            node,
            path: format!("{}[{index}]", self.path),
            at: node.at,
        };
        Ok(elements.iter().enumerate().map(element).collect())
    }

    pub(crate) fn text(&self) -> Result<&'d str, ValueError> {
        match &self.node.data {
            NodeData::Text(text) => Ok(text),
            _ => Err(self.expected("a string")),
        }
    }

    pub(crate) fn boolean(&self) -> Result<bool, ValueError> {
        match &self.node.data {
            NodeData::Boolean(value) => Ok(*value),
            _ => Err(self.expected("true or false")),
        }
    }

    /// A whole number from `min` to `max`, written in digits.
    pub(crate) fn number(&self, min: u64, max: u64) -> Result<u64, ValueError> {
        let NodeData::Number(digits) = &self.node.data else {
            return Err(self.expected(&format!("a whole number from {min} to {max}")));
        };
        digits
            .parse()
            .ok()
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| self.malformed(format!("expected a whole number from {min} to {max}")))
    }

    /// A time from 1 ms to `ms_max`, written in units of `unit_ms`; fractions are allowed.
    pub(crate) fn milliseconds(&self, unit_ms: u64, ms_max: u64) -> Result<u64, ValueError> {
        let most = ms_max / unit_ms;
        let NodeData::Number(digits) = &self.node.data else {
            return Err(self.expected(&format!("a number above 0, at most {most}")));
        };
        let ms = digits.parse::<f64>().map_or(0.0, |n| n * unit_ms as f64);
        if ms.is_finite() && ms >= 1.0 && ms <= ms_max as f64 {
            // Both types represent numbers within these bounds exactly.
            Ok(ms as u64)
        } else {
            Err(self.malformed(format!("expected a number above 0, at most {most}")))
        }
    }

    /// The value for a reader who reviews it: as written, references not replaced, on one line, every character visible.
    pub(crate) fn escaped(&self) -> String {
        let mut out = String::new();
        self.node.write_escaped(&mut out);
        out
    }

    /// The value in canonical form: keys sorted, no white space, numbers as written, references not replaced.
    pub(crate) fn canonical(&self) -> String {
        let mut out = String::new();
        self.node.write_canonical(&mut out);
        out
    }
}
