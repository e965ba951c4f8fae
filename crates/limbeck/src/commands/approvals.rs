//! `limbeck approvals`: questions about calls, as a list or one whole.

use anyhow::anyhow;
use limbeck_domain::text::{clean_line, is_clean, quoted};
use limbeck_domain::{Approval, ApprovalId, ApprovalState, ExecutionId};
use limbeck_gateway::Gateway;
use limbeck_gateway::approval_view::{ApprovalView, approval_view, approval_views, plan_lines};
use serde::Serialize;

use super::remembered::remembered;
use crate::cli::ApprovalsArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::{counted, grouped_digits};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::table::{LastColumn, TextTable, Tone};
use crate::wiring::GatewaySession;

/// Longest name of a tool or a principal, in bytes.
const NAME_BYTES_MAX: usize = 120;

/// Prints the list, or one question.
pub(super) async fn approvals(
    invocation: &Invocation,
    arguments: &ApprovalsArgs,
) -> Result<ExitStatus, CommandError> {
    let session = GatewaySession::open_past(invocation).await?;
    let printer = &invocation.printer;
    let printed = match (&arguments.remembered, &arguments.id) {
        (Some(command), _) => remembered(printer, &session.gateway, command).await,
        (None, Some(id)) => one(invocation, &session.gateway, id, arguments.json).await,
        (None, None) => list(invocation, &session.gateway, arguments).await,
    };
    session.close().await;
    printed.map(|()| ExitStatus::Completed)
}

async fn list(
    invocation: &Invocation,
    gateway: &Gateway,
    arguments: &ApprovalsArgs,
) -> Result<(), CommandError> {
    let printer = &invocation.printer;
    let approvals = gateway
        .pending_approvals(None, None, !arguments.all)
        .await?;
    if arguments.json {
        let approvals = approval_views(&approvals, usize::MAX);
        return printer.json(&ApprovalsJson { approvals });
    }
    if approvals.is_empty() {
        printer.note(if arguments.all {
            "no questions are recorded"
        } else {
            "no question waits"
        });
        return Ok(());
    }
    printer.table(&table(printer, &approvals));
    if approvals
        .iter()
        .any(|one| one.state == ApprovalState::Pending)
    {
        let limbeck = invocation.same_configuration();
        printer.hint(&format!(
            "`{limbeck} approvals ID` shows a question whole, `{limbeck} resume EXECUTION` asks for the decision"
        ));
    }
    Ok(())
}

/// JSON of the command. Not a parsed value: the arguments of a call keep their bytes.
#[derive(Serialize)]
struct ApprovalsJson<'a> {
    approvals: Vec<ApprovalView<'a>>,
}

fn table(printer: &Printer, approvals: &[Approval]) -> TextTable {
    let zone = printer.zone();
    let expires = format!("expires ({})", zone.name());
    let header = ["id", "execution", "state", &expires, "asked by", "call"];
    let mut table = TextTable::with_header(header)
        .tones(2, state_tone)
        .last(LastColumn::CutEnd);
    for approval in approvals {
        let asked_by = format!("{}, {}", approval.principal, approval.origin);
        table.row([
            approval.id.to_string(),
            approval.execution.to_string(),
            approval.state.as_str().to_owned(),
            zone.time(approval.expires_us),
            clean_line(&asked_by, NAME_BYTES_MAX),
            call_text(approval),
        ]);
    }
    table
}

/// Tool, class and line of the call that a question is about.
pub(super) fn call_text(approval: &Approval) -> String {
    let tool = shown_tool(approval.tool.server.as_str(), &approval.tool.tool);
    let class = approval.class.as_str();
    if let Some(lines) = plan_lines(approval) {
        let lines = counted(lines as usize, "line");
        return format!(
            "plan of {lines}, first {tool}, line {}",
            approval.line.unwrap_or(1)
        );
    }
    match approval.line {
        Some(line) => format!("{tool} ({class}), line {line}"),
        None => format!("{tool} ({class})"),
    }
}

/// The name of a tool, each part in quotation marks where it has other characters than names do: a server chose it, and it must not
/// pass for the words beside it.
pub(crate) fn shown_tool(server: &str, tool: &str) -> String {
    let shown = |name: &str| {
        let is_of_name = |c: char| c.is_alphanumeric() || "-_./:@".contains(c);
        let cleaned = clean_line(name, NAME_BYTES_MAX);
        match !cleaned.is_empty() && cleaned == name && cleaned.chars().all(is_of_name) {
            true => cleaned,
            false => quoted(name, NAME_BYTES_MAX),
        }
    };
    format!("{}.{}", shown(server), shown(tool))
}

/// Tone of a state by its name.
fn state_tone(state: &str) -> Tone {
    match ApprovalState::from_name(state) {
        Some(ApprovalState::Pending) => Tone::Attention,
        Some(ApprovalState::Approved | ApprovalState::Spent) => Tone::Good,
        Some(ApprovalState::Denied | ApprovalState::Expired) => Tone::Bad,
        Some(ApprovalState::Withdrawn) | None => Tone::Plain,
    }
}

async fn one(
    invocation: &Invocation,
    gateway: &Gateway,
    id: &str,
    as_json: bool,
) -> Result<(), CommandError> {
    let printer = &invocation.printer;
    let approval = &found(gateway, id).await?;
    if as_json {
        let execution = Some(&approval.execution);
        let of_execution = gateway.pending_approvals(None, execution, true).await?;
        let approvals = vec![approval_view(approval, &of_execution)];
        return printer.json(&ApprovalsJson { approvals });
    }
    printer.data_line(&gateway.question_text(approval).await);
    let state = approval.state.as_str();
    printer.data_line(&format!(
        "\n{} of execution {}: {state}",
        approval.id, approval.execution
    ));
    let bytes = grouped_digits(approval.arguments.len() as u64);
    let what = if approval.is_plan() {
        "plan"
    } else {
        "arguments"
    };
    printer.data_line(&format!(
        "{what}, {bytes} bytes, sha256 {}:\n{}",
        approval.sha256,
        visible_json(&approval.arguments)
    ));
    for decision in &approval.decisions {
        let answer = if decision.approve {
            "approved"
        } else {
            "denied"
        };
        let reason = decision.reason.as_deref();
        let reason = reason.map_or_else(String::new, |reason| {
            format!(": {}", clean_line(reason, reason.len()))
        });
        let by = clean_line(&decision.by, NAME_BYTES_MAX);
        let channel = decision.channel.as_str();
        let when = printer.time(decision.at_us);
        printer.data_line(&format!("{answer} by {by} ({channel}) {when}{reason}"));
    }
    if approval.state == ApprovalState::Pending {
        let execution: &ExecutionId = &approval.execution;
        printer.hint(&format!(
            "answer with `{limbeck} resume {execution} --approve {id}` or `--deny {id}`",
            limbeck = invocation.same_configuration(),
            id = approval.id
        ));
    }
    Ok(())
}

/// The approval of a whole id, or of the beginning of one.
async fn found(gateway: &Gateway, id: &str) -> Result<Approval, CommandError> {
    if let Some(approval) = gateway.approval(&ApprovalId::new(id)).await? {
        return Ok(approval);
    }
    let all = gateway.pending_approvals(None, None, false).await?;
    named(&all, id).cloned()
}

/// JSON text in which every hidden character is an escape sequence of JSON: it has the same value, and shows all of it.
fn visible_json(json: &str) -> String {
    let mut visible = String::with_capacity(json.len());
    for character in json.chars() {
        let mut buffer = [0; 4];
        if is_clean(character.encode_utf8(&mut buffer)) {
            visible.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            visible.push_str(&format!("\\u{unit:04x}"));
        }
    }
    visible
}

/// The approval that an id, or the beginning of one, means.
///
/// # Errors
///
/// No such approval, or several.
pub(super) fn named<'a>(approvals: &'a [Approval], id: &str) -> Result<&'a Approval, CommandError> {
    let shown = clean_line(id, NAME_BYTES_MAX);
    let mut found = approvals
        .iter()
        .filter(|approval| !id.is_empty() && approval.id.as_str().starts_with(id));
    match (found.next(), found.next()) {
        (Some(approval), None) => Ok(approval),
        // A whole id is never the beginning of another: all have one length.
        (Some(_), Some(_)) => {
            let error = anyhow!("`{shown}` is the beginning of several questions");
            Err(CommandError::usage(error).with_hint("write more of the id"))
        }
        (None, _) => {
            let error = anyhow!("no question has the id `{shown}`");
            Err(CommandError::usage(error)
                .with_hint("`limbeck approvals --all` lists the questions"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_of_arguments_are_shown_and_mean_the_same() {
        let json = "{\"to\":\"anna\u{202e}gro\u{e0041}\",\"text\":\"é 1.10\"}";
        let visible = visible_json(json);
        assert_eq!(
            visible,
            "{\"to\":\"anna\\u202egro\\udb40\\udc41\",\"text\":\"é 1.10\"}"
        );
        let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parsed(&visible), parsed(json));
    }

    #[test]
    fn a_name_that_could_pass_for_words_of_the_list_is_quoted_and_others_are_not() {
        assert_eq!(
            shown_tool("mail", "get_info (read), line 1; safe"),
            "mail.\"get_info (read), line 1; safe\""
        );
        assert_eq!(shown_tool("a\u{202e}", "b"), "\"a\".b");
        for (server, tool) in [("mail", "send"), ("io.github.acme/bank", "résumé-2")] {
            assert_eq!(shown_tool(server, tool), format!("{server}.{tool}"));
        }
    }
}
