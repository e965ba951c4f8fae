//! JSON with comments and TOML as one kind of tree that remembers where everything stands.
//!
//! Both parsers are asked for positions, so that an error can name file, line, column and key, and
//! for duplicate keys, which JSON parsers usually resolve in silence, each in its own way.

use std::borrow::Cow;
use std::collections::HashMap;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use limbeck_domain::text;
use toml::de::{DeTable, DeValue};

use crate::error::{Fault, Weight};

/// Nesting of a configuration file; real ones stay under 10.
const DEPTH_MAX: usize = 64;
/// Bytes of a key shown in a message.
const KEY_SHOWN_BYTES: usize = 80;

/// Syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

/// One value and where it begins.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    data: Data<'a>,
    at: usize,
}

#[derive(Debug)]
enum Data<'a> {
    Null,
    Boolean(bool),
    /// Digits as written.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    Date,
    List(Vec<Node<'a>>),
    Table(Vec<Member<'a>>),
}

#[derive(Debug)]
struct Member<'a> {
    key: Cow<'a, str>,
    at: usize,
    value: Node<'a>,
}

impl Data<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Date => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "an object",
        }
    }
}

/// Parses `text`.
///
/// # Errors
///
/// A fault at the first place that does not fit the syntax, or that is nested too deeply.
pub(crate) fn parse(text: &str, syntax: Syntax) -> Result<Node<'_>, Fault> {
    match syntax {
        Syntax::Json => parse_json(text),
        Syntax::Toml => parse_toml(text),
    }
}

fn parse_json(text: &str) -> Result<Node<'_>, Fault> {
    let collect = jsonc_parser::CollectOptions {
        comments: jsonc_parser::CommentCollectionStrategy::Off,
        tokens: false,
    };
    let accepted = jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &collect, &accepted).map_err(|error| {
        let problem = error.kind().to_string();
        Fault::malformed(error.range().start, "", lower_first(&problem))
    })?;
    match parsed.value {
        Some(value) => from_json(value, 0),
        None => Err(Fault::malformed(0, "", "is empty, expected an object")),
    }
}

fn from_json(value: ast::Value<'_>, depth: usize) -> Result<Node<'_>, Fault> {
    let at = value.start();
    bounded(depth, at)?;
    let data = match value {
        ast::Value::NullKeyword(_) => Data::Null,
        ast::Value::BooleanLit(found) => Data::Boolean(found.value),
        ast::Value::NumberLit(found) => Data::Number(Cow::Borrowed(found.value)),
        ast::Value::StringLit(found) => Data::Text(found.value),
        ast::Value::Array(found) => Data::List(
            found
                .elements
                .into_iter()
                .map(|element| from_json(element, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(found) => Data::Table(
            found
                .properties
                .into_iter()
                .map(|property| {
                    Ok(Member {
                        at: property.range.start,
                        key: match property.name {
                            ast::ObjectPropName::String(name) => name.value,
                            ast::ObjectPropName::Word(name) => Cow::Borrowed(name.value),
                        },
                        value: from_json(property.value, depth + 1)?,
                    })
                })
                .collect::<Result<_, Fault>>()?,
        ),
    };
    Ok(Node { data, at })
}

fn parse_toml(text: &str) -> Result<Node<'_>, Fault> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        // Later lines of the parser's message list what it would have accepted.
        let problem = error.message().lines().collect::<Vec<_>>().join(", ");
        Fault::malformed(at, "", lower_first(&problem))
    })?;
    Ok(Node {
        at: 0,
        data: from_table(table.into_inner(), 0)?,
    })
}

fn from_toml(value: toml::Spanned<DeValue<'_>>, depth: usize) -> Result<Node<'_>, Fault> {
    let at = value.span().start;
    bounded(depth, at)?;
    let data = match value.into_inner() {
        DeValue::String(found) => Data::Text(found),
        DeValue::Integer(found) if found.radix() == 10 => {
            Data::Number(Cow::Owned(found.as_str().to_owned()))
        }
        DeValue::Integer(found) => Data::Number(Cow::Owned(found.to_string())),
        DeValue::Float(found) => Data::Number(Cow::Owned(found.to_string())),
        DeValue::Boolean(found) => Data::Boolean(found),
        DeValue::Datetime(_) => Data::Date,
        DeValue::Array(found) => Data::List(
            found
                .into_iter()
                .map(|element| from_toml(element, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(found) => from_table(found, depth)?,
    };
    Ok(Node { data, at })
}

fn from_table(table: DeTable<'_>, depth: usize) -> Result<Data<'_>, Fault> {
    let mut members = table
        .into_iter()
        .map(|(key, value)| {
            Ok(Member {
                at: key.span().start,
                key: key.into_inner(),
                value: from_toml(value, depth + 1)?,
            })
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    // The parser sorts by key; the order of the file is the one people expect to see.
    members.sort_by_key(|member| member.at);
    Ok(Data::Table(members))
}

fn bounded(depth: usize, at: usize) -> Result<(), Fault> {
    if depth < DEPTH_MAX {
        Ok(())
    } else {
        let problem = format!("nested deeper than {DEPTH_MAX} levels");
        Err(Fault::malformed(at, "", problem))
    }
}

/// Messages of ours are lowercase fragments, those of the parsers are sentences.
fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(characters).collect()
    })
}

/// A value together with the keys that lead to it.
#[derive(Clone, Debug)]
pub(crate) struct Place<'d> {
    node: &'d Node<'d>,
    /// `mcpServers.github.args`; empty at the root.
    pub(crate) path: String,
    /// Where its key stands, or the value itself where it has none.
    pub(crate) at: usize,
}

impl<'d> Place<'d> {
    pub(crate) fn root(node: &'d Node<'d>) -> Self {
        Self {
            node,
            path: String::new(),
            at: node.at,
        }
    }

    /// A fault of this place.
    pub(crate) fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::malformed(self.node.at, self.path.clone(), problem)
    }

    /// A well-formed value that cannot be used.
    pub(crate) fn unusable(&self, problem: impl Into<String>) -> Fault {
        Fault::unusable(self.node.at, self.path.clone(), problem)
    }

    /// A well-formed value of a kind that nothing here can use.
    pub(crate) fn unsupported(&self, problem: impl Into<String>) -> Fault {
        Fault {
            weight: Weight::Unsupported,
            ..self.unusable(problem)
        }
    }

    fn expected(&self, what: &str) -> Fault {
        self.fault(format!("expected {what}, found {}", self.node.data.kind()))
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

    fn members(&self) -> Result<&'d [Member<'d>], Fault> {
        match &self.node.data {
            Data::Table(members) => Ok(members),
            _ => Err(self.expected("an object")),
        }
    }

    /// The member `key` of an object, if it is there; any other members may be anything.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Self>, Fault> {
        let mut found = self.members()?.iter().filter(|member| member.key == key);
        let first = found.next();
        if let (Some(first), Some(second)) = (first, found.next()) {
            return Err(self.twice(first, second));
        }
        Ok(first.map(|member| self.child(member)))
    }

    /// All members of an object, in the order of the file.
    pub(crate) fn entries(&self) -> Result<Vec<(&'d str, Self)>, Fault> {
        let members = self.members()?;
        let mut seen = HashMap::with_capacity(members.len());
        for member in members {
            if let Some(first) = seen.insert(member.key.as_ref(), member) {
                return Err(self.twice(first, member));
            }
        }
        Ok(members
            .iter()
            .map(|member| (member.key.as_ref(), self.child(member)))
            .collect())
    }

    fn twice(&self, first: &Member<'_>, second: &'d Member<'d>) -> Fault {
        Fault {
            at: second.at,
            also: Some(first.at),
            ..Fault::malformed(0, self.child(second).path, "stands there twice")
        }
    }

    pub(crate) fn list(&self) -> Result<Vec<Self>, Fault> {
        let Data::List(elements) = &self.node.data else {
            return Err(self.expected("a list"));
        };
        let element = |(index, node): (usize, &'d Node<'d>)| Self {
            node,
            path: format!("{}[{index}]", self.path),
            at: node.at,
        };
        Ok(elements.iter().enumerate().map(element).collect())
    }

    pub(crate) fn text(&self) -> Result<&'d str, Fault> {
        match &self.node.data {
            Data::Text(text) => Ok(text),
            _ => Err(self.expected("a string")),
        }
    }

    pub(crate) fn boolean(&self) -> Result<bool, Fault> {
        match &self.node.data {
            Data::Boolean(value) => Ok(*value),
            _ => Err(self.expected("true or false")),
        }
    }

    /// A whole number from `min` to `max`, written with digits alone.
    pub(crate) fn number(&self, min: u64, max: u64) -> Result<u64, Fault> {
        let Data::Number(digits) = &self.node.data else {
            return Err(self.expected(&format!("a whole number from {min} to {max}")));
        };
        digits
            .parse()
            .ok()
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| self.fault(format!("expected a whole number from {min} to {max}")))
    }
}

impl Place<'_> {
    /// A time of at least a millisecond and at most `ms_max`, written in units of `unit_ms`; a fraction of
    /// one is fine.
    pub(crate) fn milliseconds(&self, unit_ms: u64, ms_max: u64) -> Result<u64, Fault> {
        let most = ms_max / unit_ms;
        let Data::Number(digits) = &self.node.data else {
            return Err(self.expected(&format!("a number above 0, at most {most}")));
        };
        let ms = digits.parse::<f64>().map_or(0.0, |n| n * unit_ms as f64);
        if ms.is_finite() && ms >= 1.0 && ms <= ms_max as f64 {
            // Within bounds that both kinds of number hold exactly.
            Ok(ms as u64)
        } else {
            Err(self.fault(format!("expected a number above 0, at most {most}")))
        }
    }

    /// The value in one spelling: keys sorted, no white space, numbers as written, references not filled in.
    pub(crate) fn canonical(&self) -> String {
        let mut out = String::new();
        self.node.write(&mut out);
        out
    }
}

impl Node<'_> {
    /// Nesting is bounded by [`parse`].
    fn write(&self, out: &mut String) {
        match &self.data {
            Data::Null => out.push_str("null"),
            Data::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Data::Number(digits) => out.push_str(digits),
            Data::Text(text) => quote(text, out),
            Data::Date => out.push_str("date"),
            Data::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Data::Table(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by(|a, b| a.key.cmp(&b.key));
                out.push('{');
                for (index, member) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    quote(&member.key, out);
                    out.push(':');
                    member.value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// A JSON string.
fn quote(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// Where lines begin, to turn offsets into what editors show.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        Self { text, starts }
    }

    /// Line and column of a byte offset, from 1; the column counts characters.
    pub(crate) fn position(&self, at: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= at).max(1);
        let start = self.starts[line - 1];
        let column = self
            .text
            .get(start..at.min(self.text.len()))
            .map_or(0, |before| before.chars().count());
        (saturated(line), saturated(column + 1))
    }
}

fn saturated(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
