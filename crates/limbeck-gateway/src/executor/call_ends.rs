//! Outcomes of the calls of a run, as far as its answer names them.

use std::collections::VecDeque;

use limbeck_domain::text::{cut, quoted};
use limbeck_domain::{CallCode, CallError, ErrorKind, ProgramError};

/// Tools named that may have written.
const WRITTEN_NAMED_MAX: usize = 8;
/// Failed writes named.
const FAILED_NAMED_MAX: usize = 3;
/// Bytes shown of the message of such a call.
const MESSAGE_BYTES_SHOWN: usize = 200;
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

/// Calls that may write and failed.
#[derive(Debug, Default)]
pub(super) struct FailedWrites {
    count: u32,
    /// Tool, code and message, each once.
    named: Vec<String>,
}

impl FailedWrites {
    pub(super) fn add(&mut self, label: &str, error: &CallError) {
        self.count += 1;
        // The message is mostly the server's.
        let message = quoted(&error.message, MESSAGE_BYTES_SHOWN);
        let named = format!("`{label}` ({}: {message})", error.code.as_str());
        if self.named.len() < FAILED_NAMED_MAX && !self.named.contains(&named) {
            self.named.push(named);
        }
    }

    /// For the answer of a program that completed: it may not have looked at these errors, above all at those of calls that
    /// it did not await. `None` when no such call failed.
    pub(super) fn warning(&self) -> Option<String> {
        let calls = match self.count {
            0 => return None,
            1 => "1 call that may write failed".to_owned(),
            more => format!("{more} calls that may write failed"),
        };
        Some(format!(
            "{calls}: {}; the program completed all the same, so check what it reports as done",
            self.named.join(", ")
        ))
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
        let mut failed = FailedWrites::default();
        assert_eq!(failed.warning(), None);
        let error = |message: &str| CallError::new(CallCode::ToolFailed, message);
        failed.add("t.a", &error("full\nok: \"all written\""));
        let warning = failed.warning().unwrap();
        assert!(warning.starts_with("1 call that may write failed: `t.a` (tool_failed: \"full"));
        assert!(!warning.contains('\n'), "{warning}");
        for n in 0..100 {
            failed.add(&format!("t.more_{n}"), &error(&"x".repeat(10_000)));
        }
        let warning = failed.warning().unwrap();
        assert!(warning.starts_with("101 calls that may write failed: "));
        assert!(
            warning.len() < 1_200 && !warning.contains("t.more_2`"),
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
