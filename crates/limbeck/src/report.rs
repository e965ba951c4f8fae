//! Execution envelopes, errors with their source lines, and sandboxes as text for people.

use limbeck_domain::text::clean_line;
use limbeck_domain::{
    ArtifactId, ArtifactView, Envelope, ExecutionStatus, Layer, PendingApproval, ProgramError,
    Sandbox,
};

use crate::commands::shown_tool;
use crate::format::{counted, grouped_digits};
use crate::printer::Printer;

/// Longest part of a source line that is shown with an error, in characters.
const SOURCE_LINE_CHARS: usize = 120;
/// Longest name of a server, tool or rule, in bytes.
const NAME_BYTES_MAX: usize = 120;

/// Program text that errors refer to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramSource<'a> {
    /// File name of the program.
    pub(crate) name: &'a str,
    /// Text of the program.
    pub(crate) text: &'a str,
}

/// Prints the output and value of an execution on standard output, and everything else on standard error.
pub(crate) fn print_envelope(printer: &Printer, envelope: &Envelope, source: ProgramSource<'_>) {
    if !envelope.stdout.is_empty() {
        printer.data_line(&envelope.stdout);
    }
    if !envelope.stderr.is_empty() {
        printer.note(&envelope.stderr);
    }
    if let Some(value) = &envelope.value {
        print_value(printer, value.get());
    }
    for artifact in &envelope.artifacts {
        print_artifact(printer, artifact);
    }
    for block in &envelope.emitted {
        match &block.text {
            Some(text) => printer.data_line(text),
            None => printer.note(&format!(
                "emitted {}: {} bytes",
                block.mime_type.as_deref().unwrap_or(&block.kind),
                grouped_digits(block.bytes as u64)
            )),
        }
    }
    for warning in &envelope.warnings {
        printer.warning(warning);
    }
    if let Some(error) = &envelope.error {
        print_error(printer, error, source);
    }
}

/// Prints what a paused execution waits for, and how a person answers, on standard error; nothing of any other. `limbeck` is the
/// beginning of a command with the configuration of this one.
pub(crate) fn print_pending(printer: &Printer, envelope: &Envelope, limbeck: &str) {
    if envelope.status != ExecutionStatus::Paused {
        return;
    }
    let id = &envelope.execution_id;
    if envelope.pending.is_empty() {
        printer.note("paused: the execution was interrupted, or waits for room for its questions");
        printer.hint(&format!("`{limbeck} resume {id}` goes on with it"));
        return;
    }
    let calls = counted(envelope.pending.len(), "question");
    printer.note(&format!("paused: {calls} about calls that were not sent"));
    for pending in &envelope.pending {
        printer.note(&pending_line(pending));
    }
    printer.hint(&format!(
        "`limbeck approvals` shows the questions; answer with `{limbeck} resume {id} --approve` or `--deny`"
    ));
}

/// A question in one line: `  ap_… mail.send (write), line 3: rule mail-outside: mail leaves the company`.
fn pending_line(pending: &PendingApproval) -> String {
    let PendingApproval {
        approval_id,
        server,
        tool,
        class,
        line,
        rule,
        reason,
        plan_lines,
        expires_at,
        // `limbeck approvals` shows them, which the hint names.
        arguments: _,
    } = pending;
    let shown = |text: &str| clean_line(text, NAME_BYTES_MAX);
    let (tool, class) = (shown_tool(server, tool), class.as_str());
    let mut text = match plan_lines {
        None => format!("  {approval_id} {tool} ({class})"),
        Some(lines) => {
            let lines = counted(*lines as usize, "line");
            format!("  {approval_id} plan of {lines}, first {tool}")
        }
    };
    if let Some(line) = line {
        text.push_str(&format!(", line {line}"));
    }
    if let Some(rule) = rule {
        text.push_str(&format!(", rule {}", shown(rule)));
    }
    if let Some(reason) = reason {
        text.push_str(&format!(": {}", clean_line(reason, reason.len())));
    }
    text.push_str(&format!("; expires {expires_at}"));
    text
}

/// Prints the sample of an artifact on standard output, and its shape, size and id on standard error.
fn print_artifact(printer: &Printer, artifact: &ArtifactView) {
    if let Some(sample) = &artifact.sample {
        print_value(printer, sample.get());
    }
    let shape = artifact.shape.as_deref().unwrap_or("text");
    let ArtifactView { what, open, .. } = artifact;
    let id = artifact.id.as_ref().map_or("", ArtifactId::as_str);
    let bytes = grouped_digits(artifact.counts.bytes as u64);
    printer.note(&format!(
        "{what} left out: {shape}, {bytes} bytes, {id}; {open}"
    ));
}

/// Tier and layers of a sandbox in one line: `strict (17 of 18 layers; missing: speculation)`.
pub(crate) fn sandbox_line(sandbox: &Sandbox) -> String {
    let all = Layer::ALL.len();
    let missing = Layer::ALL.iter().copied();
    let missing = missing.filter(|layer| !sandbox.held.contains(layer));
    let missing: Vec<&str> = missing.map(Layer::as_str).collect();
    let tier = sandbox.tier;
    match all - missing.len() {
        held if held == all => format!("{tier} (all {all} layers)"),
        0 => format!("{tier} (none of {all} layers)"),
        held => format!(
            "{tier} ({held} of {all} layers; missing: {})",
            missing.join(", ")
        ),
    }
}

/// Prints a JSON string as its text and every other value as indented JSON.
pub(crate) fn print_value(printer: &Printer, json: &str) {
    let text = match serde_json::from_str(json) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(value) => format!("{value:#}"),
        // A program may return JSON that is nested deeper than the parser allows.
        Err(_) => json.to_owned(),
    };
    printer.data_line(&text);
}

/// Prints an error, its source line with a caret under the column, and the next step.
pub(crate) fn print_error(printer: &Printer, error: &ProgramError, source: ProgramSource<'_>) {
    printer.error(&error.message);
    if let Some(line) = error.line {
        note_place(printer, source, line, error.column);
    }
    if let Some(hint) = &error.hint {
        printer.hint(hint);
    }
}

/// Prints a place in the program: its line and a caret under the column.
pub(crate) fn note_place(
    printer: &Printer,
    source: ProgramSource<'_>,
    line: u32,
    column: Option<u32>,
) {
    printer.note(&place(source, line, column));
}

fn place(source: ProgramSource<'_>, line: u32, column: Option<u32>) -> String {
    let name = source.name;
    let column_text = column
        .map(|column| format!(":{column}"))
        .unwrap_or_default();
    let mut text = format!("  at {name}:{line}{column_text}\n");
    let index = line.checked_sub(1).map(|index| index as usize);
    let Some(source_line) = index.and_then(|index| source.text.lines().nth(index)) else {
        return text;
    };
    let column = column.map(|column| column.saturating_sub(1) as usize);
    let (shown, caret) = window(source_line, column);
    let gutter = " ".repeat(line.to_string().len());
    text.push_str(&format!("  {gutter} |\n  {line} | {shown}\n"));
    if let Some(caret) = caret {
        text.push_str(&format!("  {gutter} | {}^\n", " ".repeat(caret)));
    }
    text
}

/// Part of a line around `column` (counted from 0), and the position of the column in that part.
fn window(line: &str, column: Option<usize>) -> (String, Option<usize>) {
    let chars: Vec<char> = line
        .chars()
        // The caret counts characters, and a tab has no fixed width.
        .map(|c| if c == '\t' { ' ' } else { c })
        .collect();
    // The error may refer to text that the worker rewrote, beyond the end of this line.
    let column = column.filter(|column| *column <= chars.len());
    let start = match column {
        Some(column) if chars.len() > SOURCE_LINE_CHARS => {
            let latest = chars.len() - SOURCE_LINE_CHARS;
            column.saturating_sub(SOURCE_LINE_CHARS / 2).min(latest)
        }
        Some(_) | None => 0,
    };
    let shown = chars.iter().skip(start).take(SOURCE_LINE_CHARS).collect();
    (shown, column.map(|column| column - start))
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ApprovalId, EffectClass};

    use super::*;

    const SOURCE: ProgramSource<'_> = ProgramSource {
        name: "report.ts",
        text: "const a = 1;\n\treturn missing(a);\n",
    };

    #[test]
    fn a_place_shows_its_line_with_a_caret_under_the_column() {
        assert_eq!(
            place(SOURCE, 2, Some(9)),
            "  at report.ts:2:9\n    |\n  2 |  return missing(a);\n    |         ^\n"
        );
    }

    #[test]
    fn a_question_is_one_line_and_shows_no_hidden_character() {
        let mut pending = PendingApproval {
            approval_id: ApprovalId::new("ap_1"),
            server: "mail".to_owned(),
            tool: "send\u{202e}".to_owned(),
            class: EffectClass::Write,
            line: Some(3),
            rule: Some("mail-outside".to_owned()),
            reason: Some("mail leaves\nthe company".to_owned()),
            arguments: None,
            plan_lines: None,
            expires_at: "2026-11-24T08:00:00.000000Z".to_owned(),
        };
        assert_eq!(
            pending_line(&pending),
            "  ap_1 mail.\"send\" (write), line 3, rule mail-outside: mail leaves the company; expires 2026-11-24T08:00:00.000000Z"
        );
        (pending.line, pending.rule, pending.reason) = (None, None, None);
        assert_eq!(
            pending_line(&pending),
            "  ap_1 mail.\"send\" (write); expires 2026-11-24T08:00:00.000000Z"
        );
        (pending.line, pending.plan_lines) = (Some(3), Some(2));
        assert_eq!(
            pending_line(&pending),
            "  ap_1 plan of 2 lines, first mail.\"send\", line 3; expires 2026-11-24T08:00:00.000000Z"
        );
    }

    #[test]
    fn a_place_outside_the_text_is_named_and_nothing_is_shown() {
        assert_eq!(place(SOURCE, 40, Some(1)), "  at report.ts:40:1\n");
        assert_eq!(
            place(SOURCE, 1, Some(400)),
            "  at report.ts:1:400\n    |\n  1 | const a = 1;\n"
        );
        assert_eq!(place(SOURCE, 0, None), "  at report.ts:0\n");
    }

    #[test]
    fn a_sandbox_is_one_line_with_and_without_missing_layers() {
        let all = Sandbox::of(Layer::ALL.to_vec(), Vec::new());
        assert_eq!(sandbox_line(&all), "strict (all 18 layers)");
        let most = Layer::ALL.iter().copied();
        let most = most.filter(|layer| !matches!(layer, Layer::Landlock | Layer::NoNewCode));
        assert_eq!(
            sandbox_line(&Sandbox::of(most.collect(), Vec::new())),
            "wasm (16 of 18 layers; missing: landlock, no_new_code)"
        );
        assert_eq!(
            sandbox_line(&Sandbox::wasm_only("no")),
            "wasm (none of 18 layers)"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_column() {
        let line = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let (shown, caret) = window(&line, Some(500));
        assert_eq!(shown.chars().count(), SOURCE_LINE_CHARS);
        assert_eq!(shown.chars().nth(caret.unwrap()), Some('X'));
        let (shown, caret) = window(&line, Some(1_000));
        assert!(shown.ends_with('b') && caret == Some(119));
    }
}
