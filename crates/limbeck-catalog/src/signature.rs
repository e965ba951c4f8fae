//! A tool as one call with input and output types, in the language of the program that will make it.
//!
//! [`read`] makes a small type tree of a schema and [`typescript`] or [`python`] writes it. Schemas
//! come from upstreams, so all are bounded: a tree has a depth and a number of nodes, and when its text
//! is still too long it is read again, shallower, until it fits. What was left out is `unknown` or `Any`
//! with a note, so a signature may say less than the schema and never something else.

mod bounds;
mod doc;
mod keywords;
pub(crate) mod python;
mod read;
mod types;
pub(crate) mod typescript;

use limbeck_domain::Language;
use serde_json::{Map, Value};

use crate::identifiers::{Names, type_name};
use crate::observed::{OutputShape, Provenance};
use crate::tool::Tool;
pub(crate) use bounds::{Extent, Style};
pub(crate) use types::{Definition, Field, Object, Tree, Type, one_of_intersection};

/// What a result is when its server does not say. Promising a text would be wrong: some servers send
/// structured content that they did not declare.
const UNDECLARED: &str = "usually text";

/// `tools.s.t(args: …): Promise<…>`, or `tools.s.t(*, …) -> …`, on one line.
pub(crate) fn signature(tool: &Tool, language: Language) -> String {
    let definition = tool.definition();
    let extent = Extent::Signature;
    let arguments = arguments_tree(&definition.input_schema, extent, language);
    let parameters = parameters(&arguments, extent.style(), language, &[]);
    let output = tool.output_shape().map(|shape| {
        let extent = match shape.provenance {
            Provenance::Declared => extent,
            Provenance::Observed { .. } => Extent::Observed,
        };
        let tree = output_tree(shape.schema, extent, language);
        text(&tree.kind, extent.style(), language, &[])
    });
    call(tool, &parameters, output.as_deref(), language)
}

/// The same with a property per line, each with its comment, behind the types that have a name.
pub(crate) fn declaration(tool: &Tool, language: Language) -> String {
    let definition = tool.definition();
    let extent = Extent::Declaration;
    let mut names = Names::without(match language {
        Language::Typescript => &typescript::TAKEN,
        Language::Python => &python::TAKEN,
    });
    let mut declared = String::new();
    let mut declare = |tree: &Tree| {
        let taken = tree.definitions.iter();
        let taken: Vec<String> = taken.map(|one| names.take(&type_name(&one.name))).collect();
        for (definition, name) in tree.definitions.iter().zip(&taken) {
            declared.push_str(&named(definition, name, &taken, language));
        }
        taken
    };
    let arguments = arguments_tree(&definition.input_schema, extent, language);
    let taken = declare(&arguments);
    let parameters = parameters(&arguments, extent.style(), language, &taken);
    let output = tool.output_shape();
    let output = output.map(|shape| output_tree(shape.schema, extent, language));
    let output = output.map(|tree| {
        let taken = if tree.definitions == arguments.definitions {
            taken.clone()
        } else {
            declare(&tree)
        };
        text(&tree.kind, extent.style(), language, &taken)
    });
    declared + &call(tool, &parameters, output.as_deref(), language)
}

/// Parameters and the type of a result around the name of a tool.
fn call(tool: &Tool, parameters: &str, output: Option<&str>, language: Language) -> String {
    let call = tool.call_expression();
    let unknown = match language {
        Language::Typescript => "unknown",
        Language::Python => "Any",
    };
    let output = output.unwrap_or(unknown);
    let note = match tool.output_shape() {
        Some(OutputShape { provenance, .. }) => provenance.note(),
        None => Some(UNDECLARED.to_owned()),
    };
    match (language, note) {
        (Language::Typescript, None) => format!("{call}({parameters}): Promise<{output}>"),
        (Language::Typescript, Some(note)) => {
            format!("{call}({parameters}): Promise<{output}> // {note}")
        }
        (Language::Python, None) => format!("{call}({parameters}) -> {output}"),
        (Language::Python, Some(note)) => format!("{call}({parameters}) -> {output}  # {note}"),
    }
}

/// The parameter list of a signature: empty, or what a call is given with its types.
pub(crate) fn arguments(schema: &Value, language: Language) -> String {
    let tree = arguments_tree(schema, Extent::Signature, language);
    parameters(&tree, Style::Line, language, &[])
}

fn parameters(arguments: &Tree, style: Style, language: Language, names: &[String]) -> String {
    let kind = &arguments.kind;
    match (language, kind) {
        (Language::Python, kind) => python::parameters(kind, style, names),
        (Language::Typescript, Type::Object(object)) if object.is_empty() => String::new(),
        (Language::Typescript, kind) => {
            let mark = if kind.accepts_empty_object() { "?" } else { "" };
            format!("args{mark}: {}", text(kind, style, language, names))
        }
    }
}

/// The declaration of a type with a name, ended.
fn named(definition: &Definition, name: &str, names: &[String], language: Language) -> String {
    let written = text(&definition.kind, Style::Block, language, names);
    match (language, definition.doc.as_str()) {
        (Language::Typescript, "") => format!("type {name} = {written};\n"),
        (Language::Typescript, doc) => format!("/** {doc} */\ntype {name} = {written};\n"),
        (Language::Python, "") => format!("{name} = {written}\n"),
        (Language::Python, doc) => format!("# {}\n{name} = {written}\n", python::comment(doc)),
    }
}

/// The type of a call's arguments, as much of it as fits.
pub(crate) fn arguments_tree(schema: &Value, extent: Extent, language: Language) -> Tree {
    fitted(schema, extent, language, |tree| {
        tree.kind.as_arguments();
        if let Type::Object(object) = &mut tree.kind
            && lists_no_properties(schema)
        {
            object.rest = None;
        }
    })
}

/// The type of a result, as much of it as fits.
pub(crate) fn output_tree(schema: &Value, extent: Extent, language: Language) -> Tree {
    fitted(schema, extent, language, |_| {})
}

/// Whether arguments are listed, and there are none. Anywhere else an empty list says nothing.
fn lists_no_properties(schema: &Value) -> bool {
    let is_listed = schema.get("properties").and_then(Value::as_object);
    is_listed.is_some_and(Map::is_empty)
        && ["additionalProperties", "patternProperties", "required"]
            .into_iter()
            .all(|keyword| schema.get(keyword).is_none())
}

fn fitted(schema: &Value, extent: Extent, language: Language, adapt: impl Fn(&mut Tree)) -> Tree {
    for bounds in extent.bounds() {
        let mut tree = read::read(schema, extent, *bounds, language);
        adapt(&mut tree);
        if length(&tree, extent.style(), language) <= extent.bytes_max() {
            return tree;
        }
    }
    Type::cut("too large to show").into()
}

/// Bytes of a tree as text, its definitions included.
fn length(tree: &Tree, style: Style, language: Language) -> usize {
    let names: Vec<String> = tree
        .definitions
        .iter()
        .map(|one| one.name.clone())
        .collect();
    let definitions = tree.definitions.iter();
    let definitions = definitions.map(|one| text(&one.kind, style, language, &names).len());
    text(&tree.kind, style, language, &names).len() + definitions.sum::<usize>()
}

fn text(kind: &Type, style: Style, language: Language, names: &[String]) -> String {
    match language {
        Language::Typescript => typescript::text(kind, style, names),
        Language::Python => python::text(kind, style, names),
    }
}
