//! Signatures of tools: calls with input and output types, in the language of the program.
//!
//! [`type_reader`] converts a schema to a small type tree, and [`typescript`] or [`python`] prints it. Schemas come from
//! upstreams, so trees are bounded in depth and in nodes; when the text is still too long, the schema is read again with
//! tighter bounds until it fits. A part that was left out is `unknown` or `Any` with a note, so a signature may be less
//! precise than the schema but never wrong.

mod bounds;
mod doc;
mod keywords;
mod named_values;
pub(crate) mod python;
mod type_reader;
mod types;
pub(crate) mod typescript;

use limbeck_domain::{Language, ToolDefinition};
use serde_json::{Map, Value};

use crate::identifiers::{UniqueNames, type_name};
use crate::names::call_expression;
use crate::observed::{OutputShape, Provenance};
pub(crate) use bounds::{Extent, Style};
pub(crate) use types::{Definition, Field, Object, Tree, Type, one_of_intersection};

/// Note on a result without a declared type. `string` would be wrong: some servers send structured content that they
/// did not declare.
const UNDECLARED: &str = "usually text";

/// Signature on one line: `tools.s.t(args: …): Promise<…>`, or `tools.s.t(*, …) -> …`.
pub(crate) fn signature(
    definition: &ToolDefinition,
    output_shape: Option<OutputShape<'_>>,
    language: Language,
) -> String {
    let extent = Extent::Signature;
    let arguments = arguments_tree(&definition.input_schema, extent, language);
    let parameters = parameters(&arguments, extent.style(), language, &[]);
    let output = output_shape.map(|shape| {
        let extent = match shape.provenance {
            Provenance::Declared => extent,
            Provenance::Observed { .. } => Extent::Observed,
        };
        let tree = output_tree(shape.schema, extent, language);
        text(&tree.kind, extent.style(), language, &[])
    });
    call(
        definition,
        &parameters,
        output.as_deref(),
        output_shape,
        language,
    )
}

/// Declaration with one property per line and its comments, preceded by the named types.
pub(crate) fn declaration(
    definition: &ToolDefinition,
    output_shape: Option<OutputShape<'_>>,
    language: Language,
) -> String {
    let extent = Extent::Declaration;
    let mut names = UniqueNames::without(match language {
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
    let output = output_shape.map(|shape| output_tree(shape.schema, extent, language));
    let output = output.map(|tree| {
        let taken = if tree.definitions == arguments.definitions {
            taken.clone()
        } else {
            declare(&tree)
        };
        text(&tree.kind, extent.style(), language, &taken)
    });
    declared
        + &call(
            definition,
            &parameters,
            output.as_deref(),
            output_shape,
            language,
        )
}

/// Combines the name of a tool with its parameters and the type of its result.
fn call(
    definition: &ToolDefinition,
    parameters: &str,
    output: Option<&str>,
    output_shape: Option<OutputShape<'_>>,
    language: Language,
) -> String {
    let call = call_expression(definition.id.server.as_str(), &definition.id.tool);
    let unknown = match language {
        Language::Typescript => "unknown",
        Language::Python => "Any",
    };
    let output = output.unwrap_or(unknown);
    let note = match output_shape {
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

/// Parameter list of a signature; empty for a tool without arguments.
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

/// Declaration of a named type, with its line end.
fn named(definition: &Definition, name: &str, names: &[String], language: Language) -> String {
    let written = text(&definition.kind, Style::Block, language, names);
    match (language, definition.doc.as_str()) {
        (Language::Typescript, "") => format!("type {name} = {written};\n"),
        (Language::Typescript, doc) => format!("/** {doc} */\ntype {name} = {written};\n"),
        (Language::Python, "") => format!("{name} = {written}\n"),
        (Language::Python, doc) => format!("# {}\n{name} = {written}\n", python::comment(doc)),
    }
}

/// Type of a call's arguments, within the bounds of `extent`.
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

/// Type of a result, within the bounds of `extent`.
pub(crate) fn output_tree(schema: &Value, extent: Extent, language: Language) -> Tree {
    fitted(schema, extent, language, |_| {})
}

/// Whether the schema of arguments lists properties, and the list is empty. In other schemas an empty list has no meaning.
fn lists_no_properties(schema: &Value) -> bool {
    let is_listed = schema.get("properties").and_then(Value::as_object);
    is_listed.is_some_and(Map::is_empty)
        && ["additionalProperties", "patternProperties", "required"]
            .into_iter()
            .all(|keyword| schema.get(keyword).is_none())
}

fn fitted(schema: &Value, extent: Extent, language: Language, adapt: impl Fn(&mut Tree)) -> Tree {
    for bounds in extent.bounds() {
        let mut tree = type_reader::read(schema, extent, *bounds, language);
        adapt(&mut tree);
        if length(&tree, extent.style(), language) <= extent.bytes_max() {
            return tree;
        }
    }
    Type::cut("too large to show").into()
}

/// Bytes of a tree as text, including its definitions.
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
