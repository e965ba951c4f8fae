//! Results of `execute_code`, `search_tools`, `get_tool_signature` and `list_servers`: one text of indented JSON.

use limbeck_domain::ErrorKind;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use super::alias_arguments::ArgumentMistake;
use super::finished_run::FinishedRun;
use crate::surface::built_in_results::{emitted_blocks, failed, text};

/// Name that JavaScript puts before the message of a plain error; the message alone was in a result.
const PLAIN_ERROR: &str = "Error: ";

/// Result of a program.
pub(super) fn result(run: &FinishedRun) -> CallToolResult {
    let succeeded = run.succeeded();
    let mut body = Map::new();
    body.insert("success".to_owned(), succeeded.into());
    let value = run.envelope.value.as_ref();
    if let Some(value) = value.and_then(|value| serde_json::from_str::<Value>(value.get()).ok()) {
        body.insert("result".to_owned(), value);
    }
    if !succeeded {
        body.insert("error".to_owned(), error_text(run).into());
        let failed = run.envelope.error.as_ref();
        if let Some(line) = failed.and_then(|error| error.line) {
            body.insert("line".to_owned(), line.into());
        }
        if let Some(hint) = run.hint() {
            body.insert("hint".to_owned(), hint.into());
        }
    }
    let logs = logs(run);
    if !logs.is_empty() {
        body.insert("logs".to_owned(), logs.into());
    }
    body.insert("execution_ms".to_owned(), run.took_ms.into());
    let notes = run.notes();
    if !notes.is_empty() {
        body.insert("warnings".to_owned(), json!(notes));
    }
    let mut result = text(format!("{:#}", Value::Object(body)), !succeeded);
    result.content.extend(emitted_blocks(&run.envelope));
    result
}

/// Result of a call whose arguments are wrong.
pub(super) fn refused(mistake: &ArgumentMistake, tool: &str) -> CallToolResult {
    let mistake = match mistake {
        ArgumentMistake::Schema(mistake)
        | ArgumentMistake::AfterReading(mistake)
        | ArgumentMistake::Allowlist(mistake)
        | ArgumentMistake::ServerPolicy(mistake)
        | ArgumentMistake::TooMany(mistake)
        | ArgumentMistake::TurnedOff(mistake) => mistake.clone(),
        ArgumentMistake::UnknownServer(name) | ArgumentMistake::UnavailableServer(name) => {
            format!("server `{name}` cannot be used")
        }
        ArgumentMistake::NoProgram => "`code` must not be empty".to_owned(),
    };
    failed(format!(
        "MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {mistake}"
    ))
}

/// Result of a question about servers and tools.
pub(super) fn answer(body: &Value) -> CallToolResult {
    text(format!("{body:#}"), false)
}

fn error_text(run: &FinishedRun) -> String {
    if run.error_kind() == Some(ErrorKind::Timeout) {
        return format!("Execution timed out after {}ms", run.timeout_ms);
    }
    let message = run.message();
    match message.strip_prefix(PLAIN_ERROR) {
        Some(plain) if run.error_kind() == Some(ErrorKind::Exception) => plain.to_owned(),
        _ => message,
    }
}

/// Lines that were printed; those of `console.error` and `console.warn` have a mark and follow the others.
fn logs(run: &FinishedRun) -> Vec<String> {
    let printed = run.envelope.stdout.lines().map(str::to_owned);
    let errors = run.envelope.stderr.lines();
    let errors = errors.map(|line| format!("[ERROR] {line}"));
    printed.chain(errors).collect()
}

#[cfg(test)]
mod tests {
    use limbeck_domain::ProgramError;

    use super::super::finished_run::tests::run;
    use super::*;

    fn shown(result: &CallToolResult) -> (Option<bool>, String) {
        assert_eq!(result.structured_content, None);
        let json = serde_json::to_value(result).unwrap();
        let text = json["content"][0]["text"].as_str().unwrap().to_owned();
        (result.is_error, text)
    }

    #[test]
    fn a_success_has_its_value_and_its_logs_and_nothing_empty() {
        let done = run(Some("{\"a\":1}"), ("one\ntwo\n", "careful\n"), None);
        let expected = "{\n  \"success\": true,\n  \"result\": {\n    \"a\": 1\n  },\n  \"logs\": [\n    \"one\",\n    \"two\",\n    \"[ERROR] careful\"\n  ],\n  \"execution_ms\": 1234\n}";
        let (is_error, text) = shown(&result(&done));
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!((is_error, read(&text)), (Some(false), read(expected)));
        assert!(text.starts_with("{\n  \""), "{text}");
        let (_, nothing) = shown(&result(&run(None, ("", ""), None)));
        assert_eq!(
            read(&nothing),
            json!({"success": true, "execution_ms": 1_234})
        );
        let (_, null) = shown(&result(&run(Some("null"), ("", ""), None)));
        assert_eq!(read(&null)["result"], Value::Null);
        assert!(null.contains("\"result\": null"), "{null}");
    }

    #[test]
    fn failures_have_the_message_alone_as_their_error() {
        let failure = |kind: ErrorKind, message: &str| {
            let done = run(None, ("", ""), Some(ProgramError::new(kind, message)));
            let (is_error, text) = shown(&result(&done));
            let body: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((is_error, &body["success"]), (Some(true), &json!(false)));
            assert_eq!(body.get("result"), None);
            body["error"].as_str().unwrap().to_owned()
        };
        assert_eq!(failure(ErrorKind::Exception, "Error: boom"), "boom");
        let other = "TypeError: x is not a function";
        assert_eq!(failure(ErrorKind::Exception, other), other);
        let syntax = "SyntaxError: Unexpected token";
        assert_eq!(failure(ErrorKind::Syntax, syntax), syntax);
        assert_eq!(
            failure(ErrorKind::Timeout, "the program ran longer than 30000 ms"),
            "Execution timed out after 30000ms"
        );
        let denied = "`git.push` is outside the tools this execution may use";
        assert_eq!(failure(ErrorKind::Contract, denied), denied);
    }

    #[test]
    fn wrong_arguments_name_the_tool() {
        let mistake = ArgumentMistake::Schema("`query` is required".to_owned());
        let (is_error, text) = shown(&refused(&mistake, "search_tools"));
        assert_eq!(is_error, Some(true));
        assert_eq!(
            text,
            "MCP error -32602: Input validation error: Invalid arguments for tool search_tools: `query` is required"
        );
    }
}
