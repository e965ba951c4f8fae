//! Tools and their arguments as Cedar knows them.

use std::fmt::Write as _;

use limbeck_domain::text::clean_line;
use serde_json::Value;

use super::KnownTool;
use super::expression::text;

/// Levels of records. Deeper ones are left out.
const DEPTH_MAX: usize = 8;

/// Arguments of a tool that Cedar has types for.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    pub(super) members: Vec<Argument>,
    /// Names of those that it has none for.
    pub(super) left_out: Vec<String>,
}

/// One argument, or a member of one.
#[derive(Clone, Debug)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    /// Whether it may be null, which the context does not tell from one that is not given.
    pub(super) may_be_null: bool,
}

/// Type of a value.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Text,
    Whole,
    Boolean,
    Texts,
    Record(Arguments),
}

impl Arguments {
    /// Those of a JSON Schema.
    pub(super) fn of(schema: &Value) -> Self {
        Self::within(schema, 0)
    }

    fn within(schema: &Value, depth: usize) -> Self {
        let mut arguments = Self::default();
        let required = schema["required"].as_array();
        let is_required = |name: &str| {
            required.is_some_and(|names| names.iter().any(|it| it.as_str() == Some(name)))
        };
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            match kind_of(property, depth) {
                Some((kind, may_be_null)) => arguments.members.push(Argument {
                    name: name.clone(),
                    kind,
                    is_required: is_required(name) && !may_be_null,
                    may_be_null,
                }),
                None => arguments.left_out.push(name.clone()),
            }
        }
        arguments
    }

    pub(super) fn get(&self, name: &str) -> Option<&Argument> {
        self.members.iter().find(|argument| argument.name == name)
    }
}

fn kind_of(property: &Value, depth: usize) -> Option<(Kind, bool)> {
    let (name, may_be_null) = match &property["type"] {
        Value::String(name) => (name.as_str(), false),
        Value::Array(names) => {
            let others = names.iter().filter_map(Value::as_str);
            let others: Vec<&str> = others.filter(|name| *name != "null").collect();
            let [one] = others.as_slice() else {
                return None;
            };
            (*one, names.len() > 1)
        }
        _ => return None,
    };
    let kind = match name {
        "string" => Kind::Text,
        "integer" => Kind::Whole,
        "boolean" => Kind::Boolean,
        "array" if property["items"]["type"] == "string" => Kind::Texts,
        "object" if depth < DEPTH_MAX => Kind::Record(Arguments::within(property, depth + 1)),
        _ => return None,
    };
    Some((kind, may_be_null))
}

/// The schema of these tools.
pub(super) fn written(tools: &[KnownTool<'_>]) -> String {
    let mut out = String::from(
        "namespace Limbeck {\n  entity Group;\n  entity User in [Group];\n  entity Server;\n",
    );
    for known in tools {
        // Writing into a text does not fail.
        let _ = write!(
            out,
            "\n  // class {}\n  action {} appliesTo {{\n    principal: [User],\n    resource: [Server],\n    context: {{ \"arguments\": ",
            known.class.class.as_str(),
            text(&known.tool.id().to_string())
        );
        record(&known.arguments, 3, &mut out);
        out.push_str(" }\n  };\n");
    }
    out.push_str("}\n");
    out
}

fn record(arguments: &Arguments, level: usize, out: &mut String) {
    let indent = "  ".repeat(level);
    out.push('{');
    for argument in &arguments.members {
        let optional = if argument.is_required { "" } else { "?" };
        let _ = write!(out, "\n{indent}{}{optional}: ", text(&argument.name));
        match &argument.kind {
            Kind::Text => out.push_str("String"),
            Kind::Whole => out.push_str("Long"),
            Kind::Boolean => out.push_str("Bool"),
            Kind::Texts => out.push_str("Set<String>"),
            Kind::Record(members) => record(members, level + 1, out),
        }
        out.push(',');
    }
    for name in &arguments.left_out {
        let _ = write!(out, "\n{indent}// left out: {}", clean_line(name, 80));
    }
    if !arguments.members.is_empty() || !arguments.left_out.is_empty() {
        let _ = write!(out, "\n{}", "  ".repeat(level - 1));
    }
    out.push('}');
}
