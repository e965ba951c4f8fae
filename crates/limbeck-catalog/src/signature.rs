//! A tool as one call with input and output types, in the language of the program that will make it.
//!
//! [`types`] reads a schema into a small type tree and [`typescript`] or [`python`] writes it. Schemas
//! come from upstreams, so all are bounded: a tree has a depth and a number of nodes, and when its text
//! is still too long it is read again, shallower, until it fits. What was left out is `unknown` or `Any`
//! with a note, so a signature may say less than the schema and never something else.

mod doc;
pub(crate) mod python;
mod types;
mod typescript;

use limbeck_domain::Language;
use serde_json::Value;

use crate::observed::{OutputShape, Provenance};
use crate::tool::Tool;
use types::Bounds;
pub(crate) use types::{Field, Object, Type};

/// Bytes of the types of a one-line signature, input and output each.
const LINE_BYTES_MAX: usize = 2 << 10;
/// Bytes of an observed output in a one-line signature: less than what a server says of itself.
const OBSERVED_LINE_BYTES_MAX: usize = 1 << 10;
/// Bytes of the types of a declaration in full, input and output each.
const BLOCK_BYTES_MAX: usize = 16 << 10;

/// How a signature is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// On one line, without comments on properties.
    Line,
    /// A property per line, each with its comment.
    Block,
}

/// What is tried for a line, in order, until it fits.
const LINE_BOUNDS: [Bounds; 6] = [
    Bounds::new(6, 400, 64, 32, 0),
    Bounds::new(4, 300, 48, 24, 0),
    Bounds::new(3, 200, 48, 16, 0),
    Bounds::new(2, 150, 40, 12, 0),
    Bounds::new(1, 100, 40, 8, 0),
    Bounds::new(1, 30, 20, 4, 0),
];
/// What is tried for a block, in order, until it fits.
const BLOCK_BOUNDS: [Bounds; 6] = [
    Bounds::new(8, 2_000, 256, 256, 2_000),
    Bounds::new(6, 1_000, 256, 128, 600),
    Bounds::new(6, 800, 128, 64, 160),
    Bounds::new(4, 400, 100, 48, 120),
    Bounds::new(2, 200, 100, 24, 0),
    Bounds::new(1, 60, 50, 8, 0),
];

/// What a result is when its server does not say.
const UNDECLARED: &str = "no output schema: text, unless the server sends structured content";

/// `tools.s.t(args: …): Promise<…>`, or `tools.s.t(*, …) -> …`.
pub(crate) fn render(tool: &Tool, style: Style, language: Language) -> String {
    let definition = tool.definition();
    let call = tool.call_expression();
    let arguments = arguments(&definition.input_schema, style, language);
    let (output, note) = output(tool, style, language);
    match (language, note) {
        (Language::Typescript, None) => format!("{call}({arguments}): Promise<{output}>"),
        (Language::Typescript, Some(note)) => {
            format!("{call}({arguments}): Promise<{output}> // {note}")
        }
        (Language::Python, None) => format!("{call}({arguments}) -> {output}"),
        (Language::Python, Some(note)) => format!("{call}({arguments}) -> {output}  # {note}"),
    }
}

/// The type of a result, and what a reader has to know of it when its server did not declare it.
fn output(tool: &Tool, style: Style, language: Language) -> (String, Option<String>) {
    let Some(OutputShape { schema, provenance }) = tool.output_shape() else {
        // Promising a string would be wrong: some servers send structured content undeclared.
        let unknown = text(&Type::Unknown(None), style, language);
        return (unknown, Some(UNDECLARED.to_owned()));
    };
    let bytes_max = match (provenance, style) {
        (Provenance::Observed { .. }, Style::Line) => OBSERVED_LINE_BYTES_MAX,
        (Provenance::Declared, Style::Line) => LINE_BYTES_MAX,
        (_, Style::Block) => BLOCK_BYTES_MAX,
    };
    let (_, output) = fitted_within(bytes_max, schema, style, language, |_| {});
    let note = match provenance {
        Provenance::Declared => None,
        Provenance::Observed { calls: 1 } => Some("observed in 1 call".to_owned()),
        Provenance::Observed { calls } => Some(format!("observed in {calls} calls")),
    };
    (output, note)
}

/// The parameter list: empty, or what a call is given with its types.
pub(crate) fn arguments(schema: &Value, style: Style, language: Language) -> String {
    let (arguments, text) = fitted(schema, style, language, Type::as_arguments);
    match (language, &arguments) {
        (Language::Python, arguments) => python::parameters(arguments, style),
        (Language::Typescript, Type::Object(object)) if object.is_empty() => String::new(),
        (Language::Typescript, arguments) if arguments.accepts_empty_object() => {
            format!("args?: {text}")
        }
        (Language::Typescript, _) => format!("args: {text}"),
    }
}

/// The type of a call's arguments, as much of it as fits a declaration in full.
pub(crate) fn arguments_type(schema: &Value, language: Language) -> (Type, String) {
    fitted(schema, Style::Block, language, Type::as_arguments)
}

/// The type of a result, as much of it as fits a declaration in full.
pub(crate) fn output_type(schema: &Value, language: Language) -> (Type, String) {
    fitted(schema, Style::Block, language, |_| {})
}

fn fitted(
    schema: &Value,
    style: Style,
    language: Language,
    adapt: impl Fn(&mut Type),
) -> (Type, String) {
    let bytes_max = match style {
        Style::Line => LINE_BYTES_MAX,
        Style::Block => BLOCK_BYTES_MAX,
    };
    fitted_within(bytes_max, schema, style, language, adapt)
}

fn fitted_within(
    bytes_max: usize,
    schema: &Value,
    style: Style,
    language: Language,
    adapt: impl Fn(&mut Type),
) -> (Type, String) {
    let bounds = match style {
        Style::Line => LINE_BOUNDS,
        Style::Block => BLOCK_BOUNDS,
    };
    for bounds in bounds {
        let mut read = types::read(schema, bounds, language);
        adapt(&mut read);
        let text = text(&read, style, language);
        if text.len() <= bytes_max {
            return (read, text);
        }
    }
    let unknown = Type::cut("too large to show");
    let text = text(&unknown, style, language);
    (unknown, text)
}

fn text(kind: &Type, style: Style, language: Language) -> String {
    match language {
        Language::Typescript => typescript::text(kind, style),
        Language::Python => python::text(kind, style),
    }
}
