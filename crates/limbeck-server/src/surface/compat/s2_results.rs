//! Results of `run_python`: what was printed as plain text, or the whole payload in TOON.

use limbeck_domain::ErrorKind;
use limbeck_gateway::render;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use super::alias_arguments::ArgumentMistake;
use super::finished_run::FinishedRun;
use super::options::PayloadForm;
use crate::surface::built_in_results::{emitted_blocks, failed, text};

/// Name that Python puts before what a program exits with.
const EXIT: &str = "SystemExit";

/// A payload; empty fields are left out.
#[derive(Debug, Default)]
struct Payload {
    status: &'static str,
    summary: String,
    exit_code: Option<i64>,
    servers: Vec<String>,
    stdout: Vec<String>,
    stderr: Vec<String>,
    error: Option<String>,
    timeout_s: Option<u64>,
    notes: Vec<String>,
}

/// Result of a program that was to use `servers`.
pub(super) fn result(run: &FinishedRun, servers: &[String], form: PayloadForm) -> CallToolResult {
    let mut payload = Payload::of(run);
    payload.servers = servers.to_vec();
    let mut result = payload.shown(form);
    result.content.extend(emitted_blocks(&run.envelope));
    result
}

/// Result of a call whose arguments are wrong.
pub(super) fn refused(mistake: &ArgumentMistake, form: PayloadForm) -> CallToolResult {
    let (status, error) = match mistake {
        // Written by the library that checked the published schema, without a payload.
        ArgumentMistake::Schema(mistakes) => {
            return failed(format!("Input validation error: {mistakes}"));
        }
        ArgumentMistake::AfterReading(mistake) | ArgumentMistake::Allowlist(mistake) => {
            ("validation_error", mistake.clone())
        }
        ArgumentMistake::NoProgram => ("validation_error", "Missing 'code' argument".to_owned()),
        ArgumentMistake::ServerPolicy(text)
        | ArgumentMistake::TooMany(text)
        | ArgumentMistake::TurnedOff(text) => ("error", text.clone()),
        ArgumentMistake::UnknownServer(name) => ("error", format!("Unknown MCP server: {name}")),
        ArgumentMistake::UnavailableServer(name) => {
            ("error", format!("Server '{name}' is not available"))
        }
    };
    let payload = Payload {
        status,
        summary: error.clone(),
        error: Some(error),
        ..Payload::default()
    };
    payload.shown(form)
}

impl Payload {
    fn of(run: &FinishedRun) -> Self {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let mut payload = Self {
            stdout: lines(&run.envelope.stdout),
            stderr: lines(&run.envelope.stderr),
            notes: run.notes(),
            ..Self::default()
        };
        let message = run.message();
        if run.succeeded() {
            payload.succeed();
            return payload;
        }
        payload.status = "error";
        match run.error_kind() {
            Some(ErrorKind::Timeout) => {
                let seconds = run.timeout_ms.div_ceil(1_000);
                payload.status = "timeout";
                payload.summary = format!("Timeout: execution exceeded {seconds}s");
                payload.error = Some(format!("Execution timed out after {seconds}s"));
                payload.timeout_s = Some(seconds);
            }
            Some(ErrorKind::Exception | ErrorKind::Syntax) => {
                let (code, text) = exit_of(&message);
                if code == 0 {
                    payload.succeed();
                    return payload;
                }
                payload.exit_code = Some(code);
                payload.summary = format!("Sandbox exited with code {code}");
                payload.error = Some(payload.summary.clone());
                let text = text.unwrap_or_default();
                if !payload
                    .stderr
                    .iter()
                    .any(|line| text.ends_with(line.as_str()))
                {
                    payload.stderr.extend(lines(text));
                }
                payload
                    .stderr
                    .extend(run.hint().map(|hint| format!("hint: {hint}")));
            }
            _ => {
                let hint = run.hint().map(|hint| format!("\nhint: {hint}"));
                payload.summary = message.clone();
                payload.error = Some(message + &hint.unwrap_or_default());
            }
        }
        payload
    }

    fn succeed(&mut self) {
        self.status = "success";
        self.exit_code = Some(0);
        self.summary = match self.stdout.is_empty() && self.stderr.is_empty() {
            true => "Success (no output)".to_owned(),
            false => "Success".to_owned(),
        };
    }

    fn is_success(&self) -> bool {
        self.status == "success"
    }

    /// Every field that is not empty.
    fn whole(&self) -> Map<String, Value> {
        let mut whole = Map::new();
        let mut put = |name: &str, value: Value| whole.insert(name.to_owned(), value);
        put("status", self.status.into());
        put("summary", self.summary.as_str().into());
        if let Some(code) = self.exit_code {
            put("exitCode", code.into());
        }
        for (name, list) in [
            ("servers", &self.servers),
            ("stdout", &self.stdout),
            ("stderr", &self.stderr),
            ("warnings", &self.notes),
        ] {
            if !list.is_empty() {
                put(name, json!(list));
            }
        }
        if let Some(error) = &self.error {
            put("error", error.as_str().into());
        }
        if let Some(seconds) = self.timeout_s {
            put("timeoutSeconds", seconds.into());
        }
        whole
    }

    fn shown(&self, form: PayloadForm) -> CallToolResult {
        let (shown, structured) = match form {
            PayloadForm::Compact => (self.compact_text(), self.compact()),
            PayloadForm::Toon => {
                let whole = self.whole();
                let shown = match render::toon(&whole) {
                    Some(toon) => format!("```toon\n{toon}\n```"),
                    None => format!("```json\n{:#}\n```", Value::Object(whole.clone())),
                };
                (shown, whole)
            }
        };
        let mut result = text(shown, !self.is_success());
        result.structured_content = Some(Value::Object(structured));
        result
    }

    /// The payload without what is usual.
    fn compact(&self) -> Map<String, Value> {
        let mut compact = self.whole();
        if self.is_success() {
            compact.remove("status");
            if !self.stdout.is_empty() {
                compact.remove("summary");
            }
        }
        if self.exit_code == Some(0) {
            compact.remove("exitCode");
        }
        compact
    }

    fn compact_text(&self) -> String {
        let mut lines = Vec::new();
        if !self.is_success() {
            lines.push(format!("status: {}", self.status));
        }
        if let Some(code) = self.exit_code.filter(|code| *code != 0) {
            lines.push(format!("exit: {code}"));
        }
        lines.extend(self.stdout.iter().cloned());
        if !self.stderr.is_empty() {
            lines.push("stderr:".to_owned());
            lines.extend(self.stderr.iter().cloned());
        }
        if self.stdout.is_empty() && self.stderr.is_empty() {
            lines.push(self.summary.clone());
        }
        // What is in the summary or the exit code is not said twice.
        let error = self.error.as_ref();
        if let Some(error) = error
            .filter(|_| self.exit_code.is_none())
            .filter(|error| !lines.contains(error))
        {
            lines.push(format!("error: {error}"));
        }
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines.join("\n")
    }
}

/// The code that a program exited with, and what it wrote when it did: `SystemExit: 3` is 3, a text is 1.
fn exit_of(message: &str) -> (i64, Option<&str>) {
    let Some(rest) = message.strip_prefix(EXIT) else {
        return (1, Some(message));
    };
    let with = rest.strip_prefix(':').map_or("", str::trim);
    match with.parse() {
        Ok(code) => (code, None),
        Err(_) if with.is_empty() || with == "None" => (0, None),
        Err(_) => (1, Some(with)),
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::ProgramError;

    use super::super::finished_run::tests::run;
    use super::*;

    fn shown(result: &CallToolResult) -> (Option<bool>, String, Value) {
        let json = serde_json::to_value(result).unwrap();
        let text = json["content"][0]["text"].as_str().unwrap().to_owned();
        (result.is_error, text, json["structuredContent"].clone())
    }

    fn compact(
        stdout: &str,
        stderr: &str,
        error: Option<(ErrorKind, &str)>,
    ) -> (Option<bool>, String, Value) {
        let error = error.map(|(kind, message)| ProgramError::new(kind, message));
        let done = run(Some("7"), (stdout, stderr), error);
        shown(&result(&done, &["crm".to_owned()], PayloadForm::Compact))
    }

    #[test]
    fn a_success_is_what_was_printed_blank_lines_included() {
        assert_eq!(
            compact("a\n\nb\n", "", None),
            (
                Some(false),
                "a\n\nb".to_owned(),
                json!({"servers": ["crm"], "stdout": ["a", "", "b"]})
            )
        );
        assert_eq!(
            compact("", "", None),
            (
                Some(false),
                "Success (no output)".to_owned(),
                json!({"summary": "Success (no output)", "servers": ["crm"]})
            )
        );
        assert_eq!(compact("a\n", "careful\n", None).1, "a\nstderr:\ncareful");
    }

    #[test]
    fn failures_have_status_and_exit_code() {
        let traceback = "Traceback\nZeroDivisionError: division by zero";
        let thrown = compact(
            "a\n",
            traceback,
            Some((ErrorKind::Exception, "ZeroDivisionError: division by zero")),
        );
        assert_eq!(
            thrown,
            (
                Some(true),
                format!("status: error\nexit: 1\na\nstderr:\n{traceback}"),
                json!({
                    "status": "error", "summary": "Sandbox exited with code 1", "exitCode": 1, "servers": ["crm"],
                    "stdout": ["a"], "stderr": ["Traceback", "ZeroDivisionError: division by zero"],
                    "error": "Sandbox exited with code 1",
                })
            )
        );
        let syntax = compact(
            "",
            "",
            Some((ErrorKind::Syntax, "SyntaxError: invalid syntax")),
        );
        assert_eq!(
            syntax.1,
            "status: error\nexit: 1\nstderr:\nSyntaxError: invalid syntax"
        );
        let late = compact(
            "a\n",
            "",
            Some((ErrorKind::Timeout, "the program ran longer than 30000 ms")),
        );
        assert_eq!(
            late,
            (
                Some(true),
                "status: timeout\na\nerror: Execution timed out after 30s".to_owned(),
                json!({
                    "status": "timeout", "summary": "Timeout: execution exceeded 30s", "servers": ["crm"], "stdout": ["a"],
                    "error": "Execution timed out after 30s", "timeoutSeconds": 30,
                })
            )
        );
        let denied = compact("", "", Some((ErrorKind::Contract, "`git.push` is outside")));
        assert_eq!(denied.1, "status: error\n`git.push` is outside");
    }

    #[test]
    fn a_program_ends_with_the_code_it_exits_with() {
        for (message, code, text) in [
            ("SystemExit: 3", 3, None),
            ("SystemExit", 0, None),
            ("SystemExit: 0", 0, None),
            ("SystemExit: None", 0, None),
            ("SystemExit: bye", 1, Some("bye")),
            ("ValueError: 3", 1, Some("ValueError: 3")),
        ] {
            assert_eq!(exit_of(message), (code, text), "{message}");
        }
        let ended = compact("", "", Some((ErrorKind::Exception, "SystemExit: 0")));
        assert_eq!(
            (ended.0, ended.1.as_str()),
            (Some(false), "Success (no output)")
        );
        assert_eq!(
            compact("", "", Some((ErrorKind::Exception, "SystemExit: 3"))).2["exitCode"],
            3
        );
    }

    #[test]
    fn toon_has_the_whole_payload() {
        let done = run(None, ("a\nb\n", ""), None);
        let (is_error, text, whole) = shown(&result(&done, &[], PayloadForm::Toon));
        assert_eq!(is_error, Some(false));
        assert_eq!(
            whole,
            json!({"status": "success", "summary": "Success", "exitCode": 0, "stdout": ["a", "b"]})
        );
        assert!(
            text.starts_with("```toon\nstatus: success\n") && text.ends_with("\n```"),
            "{text}"
        );
        assert!(text.contains("stdout[2]: a,b"), "{text}");
    }

    #[test]
    fn wrong_arguments_are_validation_errors_and_servers_are_named() {
        let refused = |mistake: ArgumentMistake| shown(&refused(&mistake, PayloadForm::Compact));
        assert_eq!(
            refused(ArgumentMistake::NoProgram),
            (
                Some(true),
                "status: validation_error\nMissing 'code' argument".to_owned(),
                json!({
                    "status": "validation_error", "summary": "Missing 'code' argument", "error": "Missing 'code' argument",
                })
            )
        );
        let unknown = refused(ArgumentMistake::UnknownServer("nope".to_owned()));
        assert_eq!(unknown.2["error"], "Unknown MCP server: nope");
        let schema = refused(ArgumentMistake::Schema(
            "`servers` must be a list of strings".to_owned(),
        ));
        assert_eq!(
            schema.1,
            "Input validation error: `servers` must be a list of strings"
        );
        assert_eq!(schema.2, Value::Null);
    }
}
