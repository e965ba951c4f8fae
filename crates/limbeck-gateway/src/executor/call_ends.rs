//! Outcomes of the calls of a run, as far as its answer names them.

use std::collections::VecDeque;

use limbeck_domain::text::{cut, quoted};
use limbeck_domain::{CallCode, CallError, ErrorKind, ProgramError};

/// Tools named that may have written.
const WRITTEN_NAMED_MAX: usize = 8;
/// Failed writes that differ and are looked for in the answer.
const WRITES_MAX: usize = 64;
/// Failed writes named.
const FAILED_NAMED_MAX: usize = 3;
/// Bytes shown of the message of such a call.
const MESSAGE_BYTES_SHOWN: usize = 200;
/// Tools with refused calls that are named or looked for in the answer.
const REFUSED_MAX: usize = 8;
/// Bytes of a message that are enough to recognise it.
const COMPARED_BYTES_MIN: usize = 12;
/// Failed calls that are remembered: the error that ends a program is mostly the last one.
const FAILED_MAX: usize = 64;
/// Bytes of a message that are compared.
const COMPARED_BYTES_MAX: usize = 256;
/// Names of the classes of errors of calls, in both languages.
const CLASSES: [&str; 2] = ["ToolError: ", "MCPError: "];

/// Calls that reached their server and may have written there.
#[derive(Debug, Default)]
pub(super) struct WrittenCalls {
    /// Tools in the order of their first call, with the number of their calls.
    tools: Vec<(String, u32)>,
    /// Calls of tools that are not named.
    more: u32,
}

impl WrittenCalls {
    pub(super) fn add(&mut self, label: &str) {
        if let Some((_, calls)) = self.tools.iter_mut().find(|(tool, _)| tool == label) {
            *calls += 1;
        } else if self.tools.len() < WRITTEN_NAMED_MAX {
            self.tools.push((label.to_owned(), 1));
        } else {
            self.more += 1;
        }
    }

    /// For the answer of a program that failed: its reader may run it again. `None` when nothing was written.
    pub(super) fn warning(&self) -> Option<String> {
        let named = self.tools.iter().map(|(tool, calls)| match calls {
            1 => format!("`{tool}`"),
            calls => format!("`{tool}` ({calls} times)"),
        });
        let mut named: Vec<String> = named.collect();
        if named.is_empty() {
            return None;
        }
        if self.more > 0 {
            named.push(format!("{} calls of other tools", self.more));
        }
        Some(format!(
            "before it failed, the program called tools that may have written: {}; a program that is run again calls them again",
            named.join(", ")
        ))
    }
}

/// Calls that failed in a program that completed all the same.
#[derive(Debug, Default)]
pub(super) struct IgnoredFailures {
    /// Calls that may write, each tool, code and message once.
    writes: Vec<SameFailures>,
    /// Failed writes beyond those of `writes`.
    more_writes: u32,
    /// Calls that were refused before they were sent, of any tool.
    refused: Vec<SameFailures>,
    /// Refused calls beyond those of `refused`.
    more_refused: u32,
}

/// Failed calls of one tool with one code.
#[derive(Debug)]
struct SameFailures {
    label: String,
    code: CallCode,
    /// The beginning of that of the first.
    message: String,
    count: u32,
}

impl SameFailures {
    fn first(label: &str, error: &CallError) -> Self {
        Self {
            label: label.to_owned(),
            code: error.code,
            message: cut(&error.message, COMPARED_BYTES_MAX).to_owned(),
            count: 1,
        }
    }
}

/// Beginning of the lines that the JavaScript guest prints about errors that no code caught.
const UNCAUGHT: &str = "unhandled ";

/// What a program shows to its reader.
pub(super) struct ShownText<'a> {
    /// JSON text of the value; empty without one.
    pub(super) value: &'a str,
    pub(super) printed: [&'a str; 2],
}

impl IgnoredFailures {
    /// Adds a failed call that reached its server and may have written there.
    pub(super) fn add_write(&mut self, label: &str, error: &CallError) {
        let message = cut(&error.message, COMPARED_BYTES_MAX);
        let mut writes = self.writes.iter_mut();
        if let Some(same) =
            writes.find(|it| it.code == error.code && it.label == label && it.message == message)
        {
            same.count += 1;
        } else if self.writes.len() < WRITES_MAX {
            self.writes.push(SameFailures::first(label, error));
        } else {
            self.more_writes += 1;
        }
    }

    /// Adds a call of a tool that was not sent. A call that ended with the execution is not counted.
    pub(super) fn add_unsent(&mut self, label: &str, error: &CallError) {
        match error.code {
            CallCode::UnknownServer
            | CallCode::UnknownTool
            | CallCode::InvalidArguments
            | CallCode::Denied
            | CallCode::ApprovalRequired
            | CallCode::NotSent
            | CallCode::ServerUnavailable => {}
            CallCode::Timeout
            | CallCode::ConnectionLost
            | CallCode::UpstreamError
            | CallCode::ToolFailed
            | CallCode::InputRequired
            | CallCode::LimitExceeded
            | CallCode::Cancelled
            | CallCode::InDoubt
            | CallCode::Unsupported
            | CallCode::GatewayFault => return,
        }
        let mut refused = self.refused.iter_mut();
        if let Some(same) = refused.find(|it| it.code == error.code && it.label == label) {
            same.count += 1;
        } else if self.refused.len() < REFUSED_MAX {
            self.refused.push(SameFailures::first(label, error));
        } else {
            self.more_refused += 1;
        }
    }

    /// For the answer of a program that completed: it may not have looked at these errors, above all at those of calls that
    /// it did not await. An error that the answer shows is left out. `None` when no other such call failed.
    pub(super) fn warning(&self, shown: &ShownText<'_>) -> Option<String> {
        let (hidden, count) = not_shown(&self.writes, self.more_writes, shown);
        let writes = (count > 0).then(|| {
            let calls = match count {
                1 => "1 call that may write failed".to_owned(),
                more => format!("{more} calls that may write failed"),
            };
            let first = hidden.iter().take(FAILED_NAMED_MAX);
            let first: Vec<String> = first
                .map(|calls| named(&calls.label, calls.code, &calls.message))
                .collect();
            match first.as_slice() {
                [] => format!("{calls} beside those whose errors the answer shows"),
                first => format!("{calls}: {}", first.join(", ")),
            }
        });
        let (hidden, count) = not_shown(&self.refused, self.more_refused, shown);
        let refused = (count > 0).then(|| {
            let calls = match count {
                1 => "1 call was".to_owned(),
                more => format!("{more} calls were"),
            };
            match hidden.first() {
                Some(first) => {
                    let first = named(&first.label, first.code, &first.message);
                    format!("{calls} not sent, and the answer does not show why: {first}")
                }
                // Their errors are not remembered, so they are not looked for in the answer.
                None => format!("{calls} not sent beside those whose errors the answer shows"),
            }
        });
        let failures: Vec<String> = writes.into_iter().chain(refused).collect();
        if failures.is_empty() {
            return None;
        }
        Some(format!(
            "{}; the program completed all the same, so check what it reports as done",
            failures.join("; ")
        ))
    }
}

/// The calls whose errors the answer does not show, and how many these are with `more` that were not compared.
fn not_shown<'f>(
    failures: &'f [SameFailures],
    more: u32,
    shown: &ShownText<'_>,
) -> (Vec<&'f SameFailures>, u32) {
    let hidden = failures.iter().filter(|calls| !shown.has(calls));
    let hidden: Vec<&SameFailures> = hidden.collect();
    let count: u32 = hidden.iter().map(|calls| calls.count).sum();
    (hidden, count + more)
}

/// A failed call in a warning. The message is mostly the server's.
fn named(label: &str, code: CallCode, message: &str) -> String {
    let message = quoted(message, MESSAGE_BYTES_SHOWN);
    format!("`{label}` ({}: {message})", code.as_str())
}

impl ShownText<'_> {
    /// Whether the code or the message of an error is in the text.
    fn has(&self, calls: &SameFailures) -> bool {
        // Up to what JSON or Python write in another form.
        let is_other = |c: char| !c.is_ascii() || c.is_ascii_control() || matches!(c, '"' | '\\');
        let message = calls.message.split(is_other).next().unwrap_or_default();
        // What the guest says of errors that no code caught is not the program's own text.
        let printed = self.printed.into_iter().flat_map(str::lines);
        let printed = printed.filter(|line| !line.starts_with(UNCAUGHT));
        let printed: Vec<&str> = printed.collect();
        let has = |words: &str| {
            let mut texts = [self.value].into_iter().chain(printed.iter().copied());
            texts.any(|text| text.contains(words))
        };
        has(calls.code.as_str()) || (message.len() >= COMPARED_BYTES_MIN && has(message))
    }
}

/// Errors that calls gave to the program.
#[derive(Debug, Default)]
pub(super) struct FailedCalls {
    last: VecDeque<(String, CallCode)>,
}

impl FailedCalls {
    pub(super) fn add(&mut self, error: &CallError) {
        if error.message.is_empty() {
            return;
        }
        if self.last.len() == FAILED_MAX {
            self.last.pop_front();
        }
        let message = cut(&error.message, COMPARED_BYTES_MAX).to_owned();
        self.last.push_back((message, error.code));
    }

    /// The code of the failed call whose error ended the program. The text is the program's, so the code is only ever one
    /// that a call of it failed with.
    pub(super) fn code_of(&self, error: &ProgramError) -> Option<CallCode> {
        let is_of_a_call = CLASSES.iter().any(|class| error.message.starts_with(class));
        if error.kind != ErrorKind::Exception || !is_of_a_call {
            return None;
        }
        let mut last = self.last.iter().rev();
        let found = last.find(|(message, _)| error.message.contains(message.as_str()));
        found.map(|(_, code)| *code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_wrote_are_named_once_with_their_number_and_further_ones_counted() {
        let mut wrote = WrittenCalls::default();
        assert_eq!(wrote.warning(), None);
        for label in ["t.a", "t.b", "t.a"] {
            wrote.add(label);
        }
        let warning = wrote.warning().unwrap();
        assert!(
            warning.contains("written: `t.a` (2 times), `t.b`;"),
            "{warning}"
        );
        for n in 0..100 {
            wrote.add(&format!("t.more_{n}"));
        }
        let warning = wrote.warning().unwrap();
        assert!(warning.contains("94 calls of other tools"), "{warning}");
    }

    #[test]
    fn writes_that_failed_are_counted_and_three_are_named_with_the_words_of_their_servers_quoted() {
        let mut failed = IgnoredFailures::default();
        assert_eq!(failed.warning(&NOTHING_SHOWN), None);
        let error = |message: &str| CallError::new(CallCode::ToolFailed, message);
        failed.add_write("t.a", &error("full\nok: \"all written\""));
        let warning = failed.warning(&NOTHING_SHOWN).unwrap();
        assert!(warning.starts_with("1 call that may write failed: `t.a` (tool_failed: \"full"));
        assert!(!warning.contains('\n'), "{warning}");
        for n in 0..100 {
            failed.add_write(&format!("t.more_{n}"), &error(&"x".repeat(10_000)));
        }
        let warning = failed.warning(&NOTHING_SHOWN).unwrap();
        assert!(warning.starts_with("101 calls that may write failed: "));
        assert!(
            warning.len() < 1_200 && !warning.contains("t.more_2`"),
            "{warning}"
        );
    }

    #[test]
    fn writes_that_failed_are_left_out_where_the_answer_shows_their_errors() {
        let error = |n: u32| CallError::new(CallCode::ToolFailed, format!("ticket {n} is locked"));
        let mut failed = IgnoredFailures::default();
        failed.add_write("t.close", &error(5));
        failed.add_write("t.close", &error(6));
        let shown = |value| ShownText {
            value,
            printed: [""; 2],
        };
        for value in [
            r#"[{"id":5,"why":"ticket 5 is locked"},{"id":6,"why":"ToolError: ticket 6 is locked"}]"#,
            r#"{"codes":["tool_failed","tool_failed"]}"#,
        ] {
            assert_eq!(failed.warning(&shown(value)), None, "{value}");
        }
        // The control: one of them is not shown.
        let warning = failed.warning(&shown(r#"["ticket 5 is locked"]"#)).unwrap();
        assert!(
            warning.starts_with(
                "1 call that may write failed: `t.close` (tool_failed: \"ticket 6 is locked\")"
            ),
            "{warning}"
        );
        for n in 0..100 {
            failed.add_write("t.close", &error(n));
        }
        let warning = failed.warning(&shown("\"tool_failed\"")).unwrap();
        assert!(
            warning.starts_with(
                "36 calls that may write failed beside those whose errors the answer shows;"
            ),
            "{warning}"
        );
    }

    const NOTHING_SHOWN: ShownText<'static> = ShownText {
        value: "",
        printed: [""; 2],
    };

    #[test]
    fn calls_that_were_not_sent_are_counted_unless_the_answer_shows_their_error() {
        let unknown = CallError::new(CallCode::UnknownTool, "`t` has no tool \"nope\"");
        let mut failed = IgnoredFailures::default();
        failed.add_unsent("t.nope", &unknown);
        failed.add_unsent("t.nope", &unknown);
        let ended = CallError::new(CallCode::Cancelled, "the execution ended");
        failed.add_unsent("t.n", &ended);
        let warning = failed.warning(&NOTHING_SHOWN).unwrap();
        assert!(
            warning.starts_with(
                "2 calls were not sent, and the answer does not show why: `t.nope` (unknown_tool: "
            ),
            "{warning}"
        );
        for (value, printed) in [
            ("{\"code\":\"unknown_tool\"}", ""),
            ("\"ToolError: `t` has no tool \\\"nope\\\"\"", ""),
            ("\"done\"", "`t` has no tool \"nope\""),
        ] {
            let shown = ShownText {
                value,
                printed: ["", printed],
            };
            assert_eq!(failed.warning(&shown), None, "{value} {printed}");
        }
        // Another error that the answer does not show, and more than are remembered.
        for n in 0..100 {
            let denied = CallError::new(CallCode::Denied, "x".repeat(10_000));
            failed.add_unsent(&format!("t.more_{n}"), &denied);
        }
        let shown = ShownText {
            value: "\"unknown_tool\"",
            printed: [""; 2],
        };
        let warning = failed.warning(&shown).unwrap();
        assert!(warning.starts_with("100 calls were not sent"), "{warning}");
        assert!(warning.len() < 500, "{warning}");
    }

    #[test]
    fn calls_that_were_not_sent_are_counted_also_when_the_answer_shows_all_errors_that_are_remembered()
     {
        let denied = CallError::new(CallCode::Denied, "not allowed here");
        let shown = ShownText {
            value: "\"denied\"",
            printed: [""; 2],
        };
        let mut failed = IgnoredFailures::default();
        for n in 0..REFUSED_MAX {
            failed.add_unsent(&format!("t.tool_{n}"), &denied);
        }
        // The control: the errors of all calls are remembered, and the answer shows them.
        assert_eq!(failed.warning(&shown), None);
        for n in 0..2 {
            failed.add_unsent(&format!("t.more_{n}"), &denied);
        }
        let warning = failed.warning(&shown).unwrap();
        assert!(
            warning
                .starts_with("2 calls were not sent beside those whose errors the answer shows;"),
            "{warning}"
        );
    }

    #[test]
    fn the_code_is_that_of_the_call_whose_message_the_error_has() {
        let mut failed = FailedCalls::default();
        failed.add(&CallError::new(CallCode::ToolFailed, "no such file"));
        failed.add(&CallError::new(CallCode::Timeout, "x".repeat(10_000)));
        let code_of =
            |message: &str| failed.code_of(&ProgramError::new(ErrorKind::Exception, message));
        assert_eq!(
            code_of("ToolError: no such file"),
            Some(CallCode::ToolFailed)
        );
        assert_eq!(
            code_of("ToolError: MCP Error [tool_failed]: no such file"),
            Some(CallCode::ToolFailed)
        );
        let long = format!("ToolError: {}", "x".repeat(4_000));
        assert_eq!(code_of(&long), Some(CallCode::Timeout));
        // An error of the program's own, and one that no call failed with.
        assert_eq!(code_of("Error: no such file"), None);
        assert_eq!(code_of("ToolError: denied"), None);
        let limit = ProgramError::new(ErrorKind::Timeout, "ToolError: no such file");
        assert_eq!(failed.code_of(&limit), None);
    }
}
