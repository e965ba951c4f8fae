//! Parsers of JSON and TOML.

use std::borrow::Cow;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use toml::de::{DeTable, DeValue};

use super::{Member, Node, NodeData};
use crate::diagnostic::ValueError;

/// Nesting of a configuration file; real ones stay under 10.
const DEPTH_MAX: usize = 64;

/// Syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

/// Parses `text`.
///
/// # Errors
///
/// [`ValueError`] at the first place that is not of the syntax, or that is nested too deeply.
pub(crate) fn parse(text: &str, syntax: Syntax) -> Result<Node<'_>, ValueError> {
    match syntax {
        Syntax::Json => parse_json(text),
        Syntax::Toml => parse_toml(text),
    }
}

/// Parses JSON into the parser's own tree, which has the range of every value; `None` for a text without a value.
///
/// # Errors
///
/// As [`parse`].
pub(crate) fn parse_json_tree(text: &str) -> Result<Option<ast::Value<'_>>, ValueError> {
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
        ValueError::malformed(error.range().start, "", lower_first(&problem))
    })?;
    Ok(parsed.value)
}

fn parse_json(text: &str) -> Result<Node<'_>, ValueError> {
    match parse_json_tree(text)? {
        Some(value) => from_json(value, 0),
        None => Err(ValueError::malformed(0, "", "is empty, expected an object")),
    }
}

fn from_json(value: ast::Value<'_>, depth: usize) -> Result<Node<'_>, ValueError> {
    let at = value.start();
    check_depth(depth, at)?;
    let data = match value {
        ast::Value::NullKeyword(_) => NodeData::Null,
        ast::Value::BooleanLit(found) => NodeData::Boolean(found.value),
        ast::Value::NumberLit(found) => NodeData::Number(Cow::Borrowed(found.value)),
        ast::Value::StringLit(found) => NodeData::Text(found.value),
        ast::Value::Array(found) => NodeData::List(
            found
                .elements
                .into_iter()
                .map(|element| from_json(element, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(found) => NodeData::Table(
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
                .collect::<Result<_, ValueError>>()?,
        ),
    };
    Ok(Node { data, at })
}

fn parse_toml(text: &str) -> Result<Node<'_>, ValueError> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        // The parser lists what it would have accepted on further lines.
        let problem = error.message().lines().collect::<Vec<_>>().join(", ");
        ValueError::malformed(at, "", lower_first(&problem))
    })?;
    Ok(Node {
        at: 0,
        data: from_table(table.into_inner(), 0)?,
    })
}

fn from_toml(value: toml::Spanned<DeValue<'_>>, depth: usize) -> Result<Node<'_>, ValueError> {
    let at = value.span().start;
    check_depth(depth, at)?;
    let data = match value.into_inner() {
        DeValue::String(found) => NodeData::Text(found),
        DeValue::Integer(found) if found.radix() == 10 => {
            NodeData::Number(Cow::Owned(found.as_str().to_owned()))
        }
        DeValue::Integer(found) => NodeData::Number(Cow::Owned(found.to_string())),
        DeValue::Float(found) => NodeData::Number(Cow::Owned(found.to_string())),
        DeValue::Boolean(found) => NodeData::Boolean(found),
        DeValue::Datetime(found) => NodeData::Date(found.to_string()),
        DeValue::Array(found) => NodeData::List(
            found
                .into_iter()
                .map(|element| from_toml(element, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(found) => from_table(found, depth)?,
    };
    Ok(Node { data, at })
}

fn from_table(table: DeTable<'_>, depth: usize) -> Result<NodeData<'_>, ValueError> {
    let mut members = table
        .into_iter()
        .map(|(key, value)| {
            Ok(Member {
                at: key.span().start,
                key: key.into_inner(),
                value: from_toml(value, depth + 1)?,
            })
        })
        .collect::<Result<Vec<_>, ValueError>>()?;
    // The parser sorts by key; users expect the order of their file.
    members.sort_by_key(|member| member.at);
    Ok(NodeData::Table(members))
}

fn check_depth(depth: usize, at: usize) -> Result<(), ValueError> {
    if depth < DEPTH_MAX {
        Ok(())
    } else {
        let problem = format!("nested deeper than {DEPTH_MAX} levels");
        Err(ValueError::malformed(at, "", problem))
    }
}

/// Makes a parser's sentence look like Limbeck's own messages, which are lowercase fragments.
fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(characters).collect()
    })
}
