//! Syntax errors with positions in the model's own text.

use limbeck_domain::limits::ERROR_TEXT_BYTES_MAX;
use limbeck_domain::text::cut;
use limbeck_domain::{ErrorKind, ProgramError};
use oxc::allocator::Allocator;
use oxc::diagnostics::OxcDiagnostic;
use oxc::parser::{ParseOptions, Parser};
use oxc::span::SourceType;

use super::positions::{TextOrigin, position_of_byte};

/// Makes the error of a parser's diagnostic.
pub(super) fn syntax(diagnostic: &OxcDiagnostic, text: &str, origin: TextOrigin) -> ProgramError {
    let label = diagnostic.labels.iter().find(|label| label.primary());
    let label = label.or_else(|| diagnostic.labels.first());
    let at = label.map_or(0, |label| label.offset() as usize);
    if is_jsx(text) {
        let hint = "build strings or plain objects; programs cannot render JSX";
        return error(
            "JSX is not supported".to_owned(),
            Some(hint),
            text,
            at,
            origin,
        );
    }
    let hint = diagnostic.help.as_deref();
    error(diagnostic.message.to_string(), hint, text, at, origin)
}

/// An error at a byte of the text.
pub(super) fn error(
    message: String,
    hint: Option<&str>,
    text: &str,
    at: usize,
    origin: TextOrigin,
) -> ProgramError {
    let message = format!("SyntaxError: {message}");
    let mut error = ProgramError::new(ErrorKind::Syntax, cut(&message, ERROR_TEXT_BYTES_MAX));
    let (line, column) = position_of_byte(text, at, origin);
    error.line = Some(line);
    error.column = Some(column);
    error.hint = hint.map(|hint| cut(hint, ERROR_TEXT_BYTES_MAX).to_owned());
    error
}

/// Whether text that is not TypeScript would parse with JSX. Called only when there is an error.
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
