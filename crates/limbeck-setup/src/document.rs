//! Configuration files as trees: JSON with comments and TOML in one form, with the position of every value.
//!
//! Both parsers are asked for positions, so that an error can name file, line, column and key, and for
//! duplicate keys, which JSON parsers usually resolve without a word, each in its own way.

mod line_index;
mod place;
mod syntax;

use std::borrow::Cow;

use crate::escaped_text;

pub(crate) use line_index::LineIndex;
pub(crate) use place::ConfigPlace;
pub(crate) use syntax::{Syntax, parse, parse_json_tree};

/// One value of a document.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    data: NodeData<'a>,
    /// Byte offset of the value.
    at: usize,
}

/// The value itself.
#[derive(Debug)]
enum NodeData<'a> {
    Null,
    Boolean(bool),
    /// Digits as written.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    /// A date as written.
    Date(String),
    List(Vec<Node<'a>>),
    Table(Vec<Member<'a>>),
}

/// One member of an object.
#[derive(Debug)]
struct Member<'a> {
    key: Cow<'a, str>,
    /// Byte offset of the key.
    at: usize,
    value: Node<'a>,
}

impl NodeData<'_> {
    /// Word for the kind of value, as messages have it.
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Date(_) => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "an object",
        }
    }
}

impl Node<'_> {
    /// Writes the value in its canonical form; the recursion is bounded because [`parse`] bounds nesting.
    fn write_canonical(&self, out: &mut String) {
        match &self.data {
            NodeData::Null => out.push_str("null"),
            NodeData::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            NodeData::Number(digits) => out.push_str(digits),
            NodeData::Text(text) => write_string(text, out),
            NodeData::Date(date) => out.push_str(date),
            NodeData::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_canonical(out);
                }
                out.push(']');
            }
            NodeData::Table(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by(|a, b| a.key.cmp(&b.key));
                out.push('{');
                for (index, member) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(&member.key, out);
                    out.push(':');
                    member.value.write_canonical(out);
                }
                out.push('}');
            }
        }
    }
}

impl Node<'_> {
    /// The canonical form without the member that the keys of `path` lead to.
    pub(crate) fn canonical_without(&self, path: &[&str]) -> String {
        let mut out = String::new();
        let (Some((key, rest)), NodeData::Table(members)) = (path.split_first(), &self.data) else {
            self.write_canonical(&mut out);
            return out;
        };
        let mut parts: Vec<String> = Vec::new();
        for member in members {
            let mut part = String::new();
            write_string(&member.key, &mut part);
            part.push(':');
            if member.key != *key {
                member.value.write_canonical(&mut part);
            } else if rest.is_empty() {
                continue;
            } else {
                part.push_str(&member.value.canonical_without(rest));
            }
            parts.push(part);
        }
        parts.sort();
        out.push_str(&parts.join(","));
        out
    }
}

impl Node<'_> {
    /// Writes the value as it is written in the file, in the order of the file, with strings escaped.
    fn write_escaped(&self, out: &mut String) {
        match &self.data {
            NodeData::Null => out.push_str("null"),
            NodeData::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            NodeData::Number(digits) => out.push_str(digits),
            NodeData::Text(text) => out.push_str(&escaped_text::word(text)),
            NodeData::Date(date) => out.push_str(date),
            NodeData::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    item.write_escaped(out);
                }
                out.push(']');
            }
            NodeData::Table(members) => {
                out.push('{');
                for (index, member) in members.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    out.push_str(&escaped_text::word(&member.key));
                    out.push_str(": ");
                    member.value.write_escaped(out);
                }
                out.push('}');
            }
        }
    }
}

/// Writes a JSON string.
fn write_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}
