//! Package of Python stubs.
//!
//! A tool is a class with `__call__`, since one call takes named arguments and one dictionary alike and
//! has `raw` beside it. A result is a record that may be awaited: both ways of calling type-check, with
//! the same types. A server is a class with a tool for each attribute.

use limbeck_domain::Language;

use super::stub::{Classes, Way};
use crate::identifiers::{UniqueNames, attribute, module_name, type_name};
use crate::names;
use crate::server::{Match, ServerTools};
use crate::signature::{self, Extent, Object, Type, one_of_intersection, python};
use crate::tool::Tool;

/// Directory of the package.
const PACKAGE: &str = "limbeck_types";
/// Imports of every module, needed or not.
const IMPORTS: &str = "\
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, overload

from typing_extensions import Never, NotRequired, TypedDict, Unpack

";

/// Stubs of `servers`, one module for each.
pub(super) fn package(servers: &[&ServerTools]) -> Vec<(String, String)> {
    let mut modules = UniqueNames::without(&["_limbeck"]);
    let mut files = vec![
        (format!("{PACKAGE}/py.typed"), String::new()),
        (
            format!("{PACKAGE}/_limbeck.pyi"),
            include_str!("_limbeck.pyi").to_owned(),
        ),
    ];
    let mut imports = String::new();
    let mut members = Vec::new();
    for server in servers {
        let module = modules.take(&module_name(server.name().as_str()));
        let (class, text) = module_of(server);
        files.push((format!("{PACKAGE}/{module}.pyi"), text));
        // A server may have the name of a module of the package itself.
        imports.push_str(&format!("from . import {module} as _m_{module}\n"));
        members.push(Member {
            name: server.name().as_str(),
            line: server.line(),
            attribute: attribute_of_server(server, servers),
            class: format!("_m_{module}.{class}"),
        });
    }
    files.push((format!("{PACKAGE}/__init__.pyi"), init(&imports, &members)));
    files.sort();
    files
}

fn init(imports: &str, members: &[Member<'_>]) -> String {
    let mut text = String::from(
        "\"\"\"The globals of a program, for type checkers. Made by `limbeck types`; nothing of it runs.\n\n\
         At the top of a program: `if TYPE_CHECKING: from limbeck_types import *`.\n\"\"\"\n\n",
    );
    text.push_str(IMPORTS);
    text.push_str(imports);
    text.push_str(
        "from ._limbeck import Artifacts, Server, Servers, Store, ToolError as ToolError\n\n",
    );
    text.push_str("class Tools:\n");
    write_attributes(&mut text, members);
    write_items(&mut text, members.iter(), "Server");
    text.push_str("\ntools: Tools\n\n");
    text.push_str(include_str!("__init__.pyi"));
    text
}

/// The name of the server's class, and the text of its module.
fn module_of(server: &ServerTools) -> (String, String) {
    let mut classes = Classes::new();
    let class = classes.names.take(&type_name(server.name().as_str()));
    let members: Vec<Member<'_>> = server
        .tools()
        .iter()
        .map(|tool| Member {
            name: &tool.id().tool,
            line: String::new(),
            attribute: attribute_of_tool(tool, server),
            class: tool_class(tool, &mut classes),
        })
        .collect();
    let mut text = String::from("\"\"\"Made by `limbeck types`.\"\"\"\n\n");
    text.push_str(IMPORTS);
    text.push_str("from ._limbeck import Call, Record, Result, Server, Tool\n\n");
    text.push_str(&classes.text);
    text.push_str(&format!("class {class}(Server):\n"));
    write_attributes(&mut text, &members);
    // Only names that are not attributes need items; there may be thousands of the others.
    let odd = members
        .iter()
        .filter(|member| member.attribute.as_deref() != Some(member.name));
    write_items(&mut text, odd, "Tool");
    (class, text)
}

/// Member of a class: a server of the package, or a tool of a server.
struct Member<'a> {
    name: &'a str,
    /// Description; may be empty.
    line: String,
    attribute: Option<String>,
    class: String,
}

fn write_attributes(text: &mut String, members: &[Member<'_>]) {
    for member in members {
        let Some(attribute) = &member.attribute else {
            continue;
        };
        if !member.line.is_empty() {
            text.push_str(&format!("    # {}\n", member.line));
        }
        text.push_str(&format!("    {attribute}: {}\n", member.class));
    }
}

/// Overloads of `__getitem__`: one for each name, and an untyped one for all others.
fn write_items<'a>(text: &mut String, members: impl Iterator<Item = &'a Member<'a>>, other: &str) {
    let overload = "    @overload\n";
    let before = text.len();
    for Member { name, class, .. } in members {
        let name = names::quoted_in(name, Language::Python);
        text.push_str(overload);
        text.push_str(&format!(
            "    def __getitem__(self, name: Literal[{name}], /) -> {class}: ...\n"
        ));
    }
    if text.len() > before {
        text.push_str(overload);
    }
    text.push_str(&format!(
        "    def __getitem__(self, name: str, /) -> {other}: ...\n"
    ));
}

/// Writes the class of a tool and returns its name.
fn tool_class(tool: &Tool, classes: &mut Classes) -> String {
    let name = &*tool.id().tool;
    let definition = tool.definition();
    let returns = match &definition.output_schema {
        Some(schema) => {
            let tree = signature::output_tree(schema, Extent::File, Language::Python);
            classes.enter(&tree, name, Way::Out);
            returned(&tree.kind, &format!("{name}-result"), classes)
        }
        None => "Any".into(),
    };
    let schema = &definition.input_schema;
    let arguments = signature::arguments_tree(schema, Extent::File, Language::Python);
    classes.enter(&arguments, name, Way::In);
    let takes = parameters(&arguments.kind, &format!("{name}-arguments"), classes);
    let class = classes.names.take(&type_name(name));
    let mut text = format!(
        "class {class}(Tool):\n    \"\"\"{}\"\"\"\n\n",
        docstring(tool)
    );
    for parameters in &takes {
        if takes.len() > 1 {
            text.push_str("    @overload\n");
        }
        text.push_str(&format!(
            "    def __call__(self, {parameters}) -> {returns}: ...\n"
        ));
    }
    text.push('\n');
    classes.text.push_str(&text);
    class
}

/// Overloads of a call: named arguments, and one dictionary.
fn parameters(arguments: &Type, path: &str, classes: &mut Classes) -> Vec<String> {
    let default = if arguments.accepts_empty_object() {
        " = ..."
    } else {
        ""
    };
    match arguments {
        Type::Intersection(all) => parameters(&one_of_intersection(all), path, classes),
        Type::Object(object) if is_closed(object) => {
            let class = classes.dictionary(object, path, None);
            let one = format!("arguments: {class}{default}, /");
            if python::takes_keywords(object) {
                vec![format!("/, **arguments: Unpack[{class}]"), one]
            } else {
                vec![one]
            }
        }
        Type::Object(object) if object.is_empty() => {
            vec![format!("arguments: dict[str, Never]{default}, /")]
        }
        Type::Object(object) if !object.fields.is_empty() && python::takes_keywords(object) => {
            vec![
                open_parameters(object, path, classes),
                format!("arguments: Mapping[str, Any]{default}, /"),
            ]
        }
        // The tool accepts other names than the listed ones.
        Type::Object(_) | Type::Unknown(_) => {
            vec!["arguments: Mapping[str, Any] = ..., /, **named: Any".into()]
        }
        other => {
            let kind = classes.annotation(other, path, Way::In);
            vec![format!("arguments: {kind}{default}, /")]
        }
    }
}

/// Named arguments of a tool that accepts other names too.
fn open_parameters(object: &Object, path: &str, classes: &mut Classes) -> String {
    let mut text = String::from("/, *");
    for field in &object.fields {
        let kind = classes.annotation(&field.kind, &format!("{path}-{}", field.name), Way::In);
        let default = if field.optional { " = ..." } else { "" };
        text.push_str(&format!(", {}: {kind}{default}", field.name));
    }
    let others = match &object.rest {
        Some(rest) if object.hidden == 0 => classes.annotation(rest, path, Way::In),
        Some(_) | None => "Any".into(),
    };
    text.push_str(&format!(", **others: {others}"));
    text
}

/// Whether `object` has named properties and no others.
fn is_closed(object: &Object) -> bool {
    !object.fields.is_empty() && object.rest.is_none() && object.hidden == 0
}

/// Type of a call: a record that may be awaited too, or `Call` of any other type.
fn returned(kind: &Type, path: &str, classes: &mut Classes) -> String {
    match kind {
        Type::Unknown(_) | Type::Never => "Any".into(),
        Type::Object(object) => classes.record(object, path, "Result", None),
        Type::Commented(inner, _) => returned(inner, path, classes),
        Type::Intersection(all) => returned(&one_of_intersection(all), path, classes),
        Type::Plain(_)
        | Type::Literal(_)
        | Type::Array(_)
        | Type::Tuple(..)
        | Type::Union(_)
        | Type::Named(_) => {
            format!("Call[{}]", classes.annotation(kind, path, Way::Out))
        }
    }
}

/// Title, description and effect of a tool, escaped for a docstring.
fn docstring(tool: &Tool) -> String {
    let text = tool.comment("").replace("*\\/", "*/");
    let text = text.trim_end().replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\n    ").replace("\n    \n", "\n\n")
}

/// Attribute of `server`; `None` when another server has the same.
fn attribute_of_server(server: &ServerTools, all: &[&ServerTools]) -> Option<String> {
    let name = server.name().as_str();
    let made = attribute(name)?;
    let others = all.iter().filter(|other| other.name() != server.name());
    let mut others = others.filter_map(|other| attribute(other.name().as_str()));
    (made == name || others.all(|other| other != made)).then_some(made)
}

/// Attribute of `tool`; `None` when the gateway resolves it to another tool.
fn attribute_of_tool(tool: &Tool, server: &ServerTools) -> Option<String> {
    let made = attribute(&tool.id().tool)?;
    match server.find(&made) {
        Match::Exact(found) | Match::Alias(found) if found.id() == tool.id() => Some(made),
        Match::Exact(_) | Match::Alias(_) | Match::Many(_) | Match::None => None,
    }
}
