//! Results of `executeTypescript` and `executePython`: a text in sections, and the same as structured content.

use std::fmt::Write as _;

use limbeck_domain::{ErrorKind, Language, ToolId};
use limbeck_gateway::ToolCount;
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::alias_arguments::ArgumentMistake;
use super::durations::shown;
use super::finished_run::FinishedRun;
use super::sampling;
use crate::surface::built_in_results::{emitted_blocks, failed, text};

/// Characters at the beginning of an output that is cut, and at its end. With the notice they are below 25,000, which
/// prompts name as the limit.
const HEAD_CHARS: usize = 18_000;
const TAIL_CHARS: usize = 6_500;
/// Characters of an output that is not cut.
const OUTPUT_CHARS_MAX: usize = 25_000;

/// Result of a program that ran, or of one that was refused by the gateway.
pub(super) fn result(run: &FinishedRun, language: Language) -> CallToolResult {
    if run.was_refused() {
        let kind = match run.error_kind() {
            Some(ErrorKind::Request) => "validation",
            _ => "execution",
        };
        return refusal(&run.message(), kind, run.hint());
    }
    let succeeded = run.succeeded();
    let output = cut_output(&output(run, language));
    let error = (!succeeded).then(|| cut_output(&error_text(run)));
    let status = match &error {
        None => "SUCCESS",
        Some(error) if error.to_lowercase().contains("timeout") => "TIMEOUT",
        Some(_) => "FAILURE",
    };
    let notes = run.notes();
    let mut structured = json!({
        "success": succeeded,
        "output": output,
        "executionTimeMs": run.took_ms,
        "toolCallsMade": run.calls.made.iter().map(full_name).collect::<Vec<_>>(),
        "toolCallSummary": run.calls.tools.iter().map(summary).collect::<Vec<_>>(),
    });
    if let Some(error) = &error {
        structured["error"] = error.as_str().into();
    }
    if !notes.is_empty() {
        structured["warnings"] = json!(notes);
    }
    if run.models.is_enabled {
        structured["samplingCalls"] = sampling::calls(&run.models);
        structured["samplingMetrics"] = sampling::metrics(&run.models);
    }
    let mut sections = String::new();
    let _ = write!(
        sections,
        "Status: {status}\n\nStdout:\n{}",
        indented(&output)
    );
    let _ = write!(
        sections,
        "\n\nStderr:\n{}",
        indented(error.as_deref().unwrap_or_default())
    );
    let _ = write!(
        sections,
        "\n\nDuration: {}\n\nTool Calls:\n{}",
        shown(run.took_ms),
        calls(run)
    );
    if !notes.is_empty() {
        let _ = write!(sections, "\n\nNotes:\n{}", indented(&notes.join("\n")));
    }
    let mut result = text(sections, !succeeded);
    result.content.extend(emitted_blocks(&run.envelope));
    result.structured_content = Some(structured);
    result
}

/// Result of a call whose arguments are wrong.
pub(super) fn refused(mistake: &ArgumentMistake, tool: &str) -> CallToolResult {
    match mistake {
        ArgumentMistake::Schema(mistakes) => failed(format!(
            "MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {mistakes}"
        )),
        ArgumentMistake::AfterReading(mistake) => {
            let error = format!("Input validation failed: {mistake}");
            pretty_failure(&json!({
                "success": false,
                "output": "",
                "error": error,
                "executionTimeMs": 0,
            }))
        }
        ArgumentMistake::Allowlist(error) => refusal(
            &format!("allowedTools: {error}"),
            "validation",
            Some(
                "write full names such as `mcp__server__tool`, or patterns such as `mcp__server__*`",
            ),
        ),
        ArgumentMistake::UnknownServer(name) | ArgumentMistake::UnavailableServer(name) => refusal(
            &format!("server `{name}` cannot be used"),
            "validation",
            None,
        ),
        ArgumentMistake::NoProgram => refusal("the program is empty", "validation", None),
        ArgumentMistake::ServerPolicy(text) => refusal(
            text,
            "security",
            Some("ask for tools that `security.allowedTools` of .code-executor.json has"),
        ),
        ArgumentMistake::TooMany(text) => refusal(
            text,
            "validation",
            Some("wait, or raise `security.rateLimit`"),
        ),
        ArgumentMistake::TurnedOff(text) => refusal(text, "security", None),
    }
}

fn refusal(error: &str, kind: &str, suggestion: Option<&str>) -> CallToolResult {
    let mut body = json!({"error": error, "errorType": kind});
    if let Some(suggestion) = suggestion {
        body["suggestion"] = suggestion.into();
    }
    pretty_failure(&body)
}

fn pretty_failure(body: &Value) -> CallToolResult {
    failed(format!("{body:#}"))
}

/// What the program printed, and its value: of Python behind what was printed, of TypeScript in its place when nothing was.
fn output(run: &FinishedRun, language: Language) -> String {
    let mut output = without_colours(&run.envelope.stdout);
    let value = run.envelope.value.as_ref().map(|value| value.get());
    let value = value.filter(|value| *value != "null");
    let shows_value = match language {
        Language::Typescript => output.is_empty(),
        Language::Python => true,
    };
    if let (Some(value), true) = (value, shows_value) {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        match serde_json::from_str::<String>(value) {
            Ok(text) => output.push_str(&text),
            Err(_) => output.push_str(value),
        }
    }
    output
}

/// What went wrong, behind what the program wrote to its standard error.
fn error_text(run: &FinishedRun) -> String {
    let message = match run.error_kind() {
        Some(ErrorKind::Timeout) => format!("Execution timeout after {}", shown(run.timeout_ms)),
        _ => run.message(),
    };
    let written = without_colours(&run.envelope.stderr);
    let mut error = written.trim_end().to_owned();
    // The traceback of Python ends with the message.
    if !error.contains(&message) {
        if !error.is_empty() {
            error.push('\n');
        }
        error.push_str(&message);
        let failed = run.envelope.error.as_ref();
        if let Some((line, column)) = failed.and_then(|error| error.line.zip(error.column)) {
            let _ = write!(error, "\n    at line {line}, column {column}");
        }
    }
    if let Some(hint) = run.hint() {
        let _ = write!(error, "\nhint: {hint}");
    }
    error
}

/// The name by which programs of code-executor-mcp call a tool.
pub(super) fn full_name(tool: &ToolId) -> String {
    format!("mcp__{}__{}", tool.server, tool.tool)
}

fn summary(tool: &ToolCount) -> Value {
    let milliseconds = |us: u64| us as f64 / 1_000.0;
    let mut summary = json!({
        "toolName": full_name(&tool.tool),
        "callCount": tool.calls(),
        "successCount": tool.succeeded,
        "errorCount": tool.failed,
        "totalDurationMs": milliseconds(tool.took_us),
        "averageDurationMs": milliseconds(tool.took_us) / tool.calls().max(1) as f64,
        "lastCallDurationMs": milliseconds(tool.last_us),
        "lastCallStatus": if tool.last_error.is_some() { "error" } else { "success" },
    });
    if let Some(error) = &tool.last_error {
        summary["lastErrorMessage"] = error.as_str().into();
    }
    summary
}

fn calls(run: &FinishedRun) -> String {
    let lines = run.calls.tools.iter().map(|tool| {
        let calls = match tool.calls() {
            1 => "1 call".to_owned(),
            calls => format!("{calls} calls"),
        };
        let failed = match tool.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        format!(
            "{}: {calls}{failed}, {}",
            full_name(&tool.tool),
            shown(tool.took_us / 1_000)
        )
    });
    let lines: Vec<String> = lines.collect();
    match lines.is_empty() {
        true => "  None".to_owned(),
        false => indented(&lines.join("\n")),
    }
}

fn indented(body: &str) -> String {
    let body = body.trim_end_matches('\n');
    if body.is_empty() {
        return "  (none)".to_owned();
    }
    let lines: Vec<String> = body.split('\n').map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// The beginning and the end of a long text, with the number of characters between them.
fn cut_output(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= OUTPUT_CHARS_MAX {
        return text.to_owned();
    }
    let head: String = text.chars().take(HEAD_CHARS).collect();
    let tail: String = text.chars().skip(chars - TAIL_CHARS).collect();
    let left_out = chars - HEAD_CHARS - TAIL_CHARS;
    format!(
        "{head}\n\n[Output truncated: {left_out} characters left out here. Print less, or filter in the program.]\n\n{tail}"
    )
}

/// A text without the sequences that set colours on a terminal: ESC, `[`, digits and semicolons, `m`.
fn without_colours(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        clean.push_str(before);
        let digits = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = match digits.strip_prefix('m') {
            Some(behind) => behind,
            None => {
                clean.push_str("\u{1b}[");
                after
            }
        };
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ErrorKind, ProgramError};

    use super::super::finished_run::tests::{one_call, run};
    use super::*;

    const TS: Language = Language::Typescript;

    fn shown_text(result: &CallToolResult) -> String {
        serde_json::to_value(result).unwrap()["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_success_has_its_sections_and_every_field() {
        let mut done = run(None, ("a\n\u{1b}[31mred\u{1b}[0m\n", "dropped"), None);
        done.calls = one_call();
        let result = result(&done, TS);
        assert_eq!(
            shown_text(&result),
            "Status: SUCCESS\n\nStdout:\n  a\n  red\n\nStderr:\n  (none)\n\nDuration: 1.23s\n\nTool Calls:\n  mcp__mail__send: 1 call, 2ms"
        );
        assert_eq!(result.is_error, Some(false));
        assert_eq!(
            result.structured_content,
            Some(json!({
                "success": true,
                "output": "a\nred\n",
                "executionTimeMs": 1_234,
                "toolCallsMade": ["mcp__mail__send"],
                "toolCallSummary": [{
                    "toolName": "mcp__mail__send", "callCount": 1, "successCount": 1, "errorCount": 0,
                    "totalDurationMs": 2.5, "averageDurationMs": 2.5, "lastCallDurationMs": 2.5,
                    "lastCallStatus": "success",
                }],
            }))
        );
    }

    #[test]
    fn a_value_is_shown_where_nothing_was_printed_and_behind_the_print_of_python() {
        let output = |value: &str, printed: &str, language: Language| {
            let result = result(&run(Some(value), (printed, ""), None), language);
            let structured = result.structured_content.unwrap();
            structured["output"].as_str().unwrap().to_owned()
        };
        assert_eq!(output("\"text\"", "", TS), "text");
        assert_eq!(output("{\"a\":1}", "", TS), "{\"a\":1}");
        assert_eq!(output("2", "printed\n", TS), "printed\n");
        assert_eq!(output("2", "printed\n", Language::Python), "printed\n2");
        assert_eq!(output("null", "printed\n", Language::Python), "printed\n");
    }

    #[test]
    fn failures_have_their_status_and_error() {
        let failure = |kind: ErrorKind, message: &str, stderr: &str| {
            let error = ProgramError {
                line: Some(2),
                column: Some(5),
                ..ProgramError::new(kind, message)
            };
            let done = run(None, ("before\n", stderr), Some(error));
            let result = result(&done, TS);
            assert_eq!(result.is_error, Some(true));
            let structured = result.structured_content.clone().unwrap();
            assert_eq!(structured["success"], false);
            assert_eq!(structured["output"], "before\n");
            assert_eq!(structured["toolCallsMade"], json!([]));
            let status = shown_text(&result).lines().next().unwrap().to_owned();
            (status, structured["error"].as_str().unwrap().to_owned())
        };
        let exception = failure(ErrorKind::Exception, "Error: boom", "warned\n");
        let expected = "warned\nError: boom\n    at line 2, column 5";
        assert_eq!(
            exception,
            ("Status: FAILURE".to_owned(), expected.to_owned())
        );
        let traceback = "Traceback\nZeroDivisionError: division by zero\n";
        let python = failure(
            ErrorKind::Exception,
            "ZeroDivisionError: division by zero",
            traceback,
        );
        assert_eq!(python.1, traceback.trim_end());
        let syntax = failure(ErrorKind::Syntax, "SyntaxError: Unexpected token", "");
        assert_eq!(syntax.0, "Status: FAILURE");
        let late = failure(
            ErrorKind::Timeout,
            "the program ran longer than 30000 ms",
            "",
        );
        assert_eq!(late.0, "Status: TIMEOUT");
        assert!(
            late.1.starts_with("Execution timeout after 30.00s"),
            "{late:?}"
        );
    }

    #[test]
    fn what_was_refused_before_it_ran_has_the_form_of_its_cause() {
        let json_of = |result: CallToolResult| -> Value {
            assert_eq!(
                (result.is_error, &result.structured_content),
                (Some(true), &None)
            );
            serde_json::from_str(&shown_text(&result)).unwrap()
        };
        let busy = ProgramError::new(ErrorKind::Busy, "all places are taken").with_hint("wait");
        assert_eq!(
            json_of(result(&run(None, ("", ""), Some(busy)), TS)),
            json!({"error": "all places are taken", "errorType": "execution", "suggestion": "wait"})
        );
        let late = ArgumentMistake::AfterReading("`timeoutMs` must be at most 300000".to_owned());
        assert_eq!(
            json_of(refused(&late, "executePython")),
            json!({
                "success": false, "output": "", "executionTimeMs": 0,
                "error": "Input validation failed: `timeoutMs` must be at most 300000",
            })
        );
        let allowlist = ArgumentMistake::Allowlist("empty tool pattern".to_owned());
        let body = json_of(refused(&allowlist, "executePython"));
        assert_eq!(body["errorType"], "validation");
        let schema = ArgumentMistake::Schema("`code` is required".to_owned());
        let text = shown_text(&refused(&schema, "executePython"));
        assert_eq!(
            text,
            "MCP error -32602: Input validation error: Invalid arguments for tool executePython: `code` is required"
        );
    }

    #[test]
    fn a_long_output_keeps_its_ends_on_success_and_on_failure() {
        let printed = format!("first{}last\n", "x".repeat(30_000));
        let error = ProgramError::new(ErrorKind::Exception, "Error: boom");
        for error in [None, Some(error)] {
            let result = result(&run(None, (&printed, ""), error), TS);
            let structured = result.structured_content.unwrap();
            let output = structured["output"].as_str().unwrap();
            let chars = output.chars().count();
            assert!((20_000..=25_000).contains(&chars), "{chars}");
            assert!(output.starts_with("first") && output.ends_with("last\n"));
            assert!(output.contains("[Output truncated: 5510 characters left out here."));
        }
        // The control.
        let whole = "é".repeat(25_000);
        let result = result(&run(None, (&whole, ""), None), TS);
        assert_eq!(result.structured_content.unwrap()["output"], whole);
    }

    #[test]
    fn only_sequences_that_set_colours_are_left_out() {
        for (text, clean) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}[2Jcleared", "\u{1b}[2Jcleared"),
            ("\u{1b}[", "\u{1b}["),
            ("plain", "plain"),
        ] {
            assert_eq!(without_colours(text), clean);
        }
    }
}
