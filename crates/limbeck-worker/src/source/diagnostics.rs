//! Errors of the parser in the words and places of the model's own text.

use limbeck_wire::Fault;
use limbeck_wire::domain::text::cut;
use limbeck_wire::domain::{ErrorKind, ProgramError};
use limbeck_wire::limits::ERROR_TEXT_BYTES_MAX;
use oxc::allocator::Allocator;
use oxc::diagnostics::OxcDiagnostic;
use oxc::parser::{ParseOptions, Parser};
use oxc::span::SourceType;

use super::positions::{Origin, position_of_byte};

/// Tells the first error of a text.
pub(super) fn syntax(error: &OxcDiagnostic, text: &str, origin: Origin) -> Fault {
    let label = error.labels.iter().find(|label| label.primary());
    let label = label.or_else(|| error.labels.first());
    let at = label.map_or(0, |label| label.offset() as usize);
    if is_jsx(text) {
        let hint = "build strings or plain objects; there is nothing here that renders JSX";
        return fault(
            "JSX is not supported".to_owned(),
            Some(hint),
            text,
            at,
            origin,
        );
    }
    let hint = error.help.as_deref();
    fault(error.message.to_string(), hint, text, at, origin)
}

/// An error at a byte of the text.
pub(super) fn fault(
    message: String,
    hint: Option<&str>,
    text: &str,
    at: usize,
    origin: Origin,
) -> Fault {
    let message = format!("SyntaxError: {message}");
    let mut error = ProgramError::new(ErrorKind::Syntax, cut(&message, ERROR_TEXT_BYTES_MAX));
    let (line, column) = position_of_byte(text, at, origin);
    error.line = Some(line);
    error.column = Some(column);
    error.hint = hint.map(|hint| cut(hint, ERROR_TEXT_BYTES_MAX).to_owned());
    error.into()
}

/// Whether a text that is no TypeScript would be with JSX. Only asked when there is an error.
fn is_jsx(text: &str) -> bool {
    if !text.contains("</") && !text.contains("/>") {
        return false;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::tsx())
        .with_options(ParseOptions {
            allow_return_outside_function: true,
            ..ParseOptions::default()
        })
        .parse();
    !parsed.diagnostics.has_errors()
}
