//! A tool as one TypeScript call with input and output types.
//!
//! [`types`] reads a schema into a small type tree and [`render`] writes it. Schemas come from upstreams,
//! so both are bounded: a tree has a depth and a number of nodes, and when its text is still too long it
//! is read again, shallower, until it fits. What was left out is `unknown` with a comment, so a
//! signature may say less than the schema and never something else.

mod doc;
mod render;
mod types;

use serde_json::Value;

use crate::tool::Tool;
use render::Layout;
use types::{Bounds, Type};

/// Bytes of the types of a one-line signature, input and output each.
const LINE_BYTES_MAX: usize = 2 << 10;
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

/// `tools.s.t(args: …): Promise<…>`.
pub(crate) fn render(tool: &Tool, style: Style) -> String {
    let definition = tool.definition();
    let call = tool.call_expression();
    let arguments = arguments(&definition.input_schema, style);
    match &definition.output_schema {
        Some(schema) => {
            let output = fitted(schema, style, |_| {}).1;
            format!("{call}({arguments}): Promise<{output}>")
        }
        // Promising a string would be wrong: some servers send structured content undeclared.
        None => format!(
            "{call}({arguments}): Promise<unknown> // no output schema: text, unless the server sends structured content"
        ),
    }
}

/// The parameter list: empty, or `args` with its type.
pub(crate) fn arguments(schema: &Value, style: Style) -> String {
    let (arguments, text) = fitted(schema, style, Type::as_arguments);
    match &arguments {
        Type::Object(object) if object.is_empty() => String::new(),
        arguments if arguments.accepts_empty_object() => format!("args?: {text}"),
        _ => format!("args: {text}"),
    }
}

fn fitted(schema: &Value, style: Style, adapt: impl Fn(&mut Type)) -> (Type, String) {
    let (bounds, layout, bytes_max) = match style {
        Style::Line => (LINE_BOUNDS, Layout::Line, LINE_BYTES_MAX),
        Style::Block => (BLOCK_BOUNDS, Layout::Block, BLOCK_BYTES_MAX),
    };
    for bounds in bounds {
        let mut read = types::read(schema, bounds);
        adapt(&mut read);
        let text = render::text(&read, layout);
        if text.len() <= bytes_max {
            return (read, text);
        }
    }
    let unknown = Type::cut("too large to show");
    let text = render::text(&unknown, layout);
    (unknown, text)
}
