//! `limbeck reconcile`: calls of which it is not known whether they happened, and a person's word about them.

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_domain::{CallId, ExecutionId, Settlement};
use limbeck_gateway::clock::rfc3339;
use limbeck_store::DoubtfulCall;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::questions::{decider, resume_failure};
use crate::cli::ReconcileArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::table::TextTable;
use crate::wiring::{GatewayLifetime, GatewaySession};

/// Longest name of a tool, in bytes.
const NAME_BYTES_MAX: usize = 120;
/// Bytes of the arguments in the table; `--json` has all.
const ARGUMENTS_SHOWN_BYTES: usize = 200;

/// Lists the calls in doubt, or settles one of them.
pub(super) async fn reconcile(
    invocation: &Invocation,
    arguments: &ReconcileArgs,
) -> Result<ExitStatus, CommandError> {
    let settled = match arguments.call {
        Some(call) => Some((CallId(call), settlement(arguments)?)),
        None => None,
    };
    // The rules of the configuration say who may settle a call.
    let session = match settled {
        Some(_) => GatewaySession::open(invocation, GatewayLifetime::Command).await?,
        None => GatewaySession::open_past(invocation).await?,
    };
    let done = list_or_settle(&session, invocation, arguments, settled).await;
    session.close().await;
    done.map(|()| ExitStatus::Completed)
}

async fn list_or_settle(
    session: &GatewaySession,
    invocation: &Invocation,
    arguments: &ReconcileArgs,
    settled: Option<(CallId, Settlement)>,
) -> Result<(), CommandError> {
    let printer = &invocation.printer;
    let gateway = &session.gateway;
    let (id, mut calls) = gateway
        .in_doubt(&arguments.execution)
        .await
        .map_err(resume_failure)?;
    let Some((call, how)) = settled else {
        return list(printer, &id, &calls, arguments.json);
    };
    if !calls.iter().any(|doubtful| doubtful.call.id == call) {
        let error = anyhow!("call {} of execution `{id}` is not in doubt", call.0);
        return Err(CommandError::usage(error)
            .with_hint(format!("`limbeck reconcile {id}` lists the calls in doubt")));
    }
    let name = name_of(&how);
    gateway
        .settle(id.as_str(), call, how, decider())
        .await
        .map_err(resume_failure)?;
    calls.retain(|doubtful| doubtful.call.id != call);
    if arguments.json {
        return printer.json(&SettledJson {
            execution_id: id.as_str(),
            call_id: call.0,
            settled: name,
            in_doubt: calls.iter().map(DoubtfulJson::new).collect(),
        });
    }
    printer.note(&format!("call {} is settled: {name}", call.0));
    printer.hint(&if calls.is_empty() {
        format!("`limbeck resume {id}` goes on with the execution")
    } else {
        let left = counted(calls.len(), "call");
        format!("{left} left in doubt: `limbeck reconcile {id}`")
    });
    Ok(())
}

/// The answer that the arguments give about a call.
fn settlement(arguments: &ReconcileArgs) -> Result<Settlement, CommandError> {
    if arguments.happened {
        let result = arguments.result.as_deref().map(checked_result);
        return Ok(Settlement::Happened {
            result: result.transpose()?,
        });
    }
    if arguments.did_not_happen {
        return Ok(Settlement::DidNotHappen);
    }
    if arguments.retry {
        return Ok(Settlement::Retry);
    }
    // The parser requires one of the four.
    Ok(Settlement::GiveUp)
}

/// The text of a `CallToolResult`.
fn checked_result(json: &str) -> Result<String, CommandError> {
    let hint = "give what the server would have answered: `--result '{\"content\": [{\"type\": \"text\", \"text\": \"sent\"}]}'`";
    let value: Value = serde_json::from_str(json).map_err(|error| {
        let error = anyhow::Error::new(error).context("`--result` is not JSON");
        CommandError::usage(error).with_hint(hint)
    })?;
    if value
        .get("content")
        .is_none_or(|content| !content.is_array())
    {
        let error = anyhow!("`--result` is not a `CallToolResult`: it has no list `content`");
        return Err(CommandError::usage(error).with_hint(hint));
    }
    Ok(json.to_owned())
}

/// A settlement as the options and the JSON write it.
fn name_of(how: &Settlement) -> &'static str {
    match how {
        Settlement::Happened { .. } => "happened",
        Settlement::DidNotHappen => "did_not_happen",
        Settlement::Retry => "retry",
        Settlement::GiveUp => "give_up",
    }
}

fn list(
    printer: &Printer,
    id: &ExecutionId,
    calls: &[DoubtfulCall],
    as_json: bool,
) -> Result<(), CommandError> {
    if as_json {
        return printer.json(&InDoubtJson {
            execution_id: id.as_str(),
            in_doubt: calls.iter().map(DoubtfulJson::new).collect(),
        });
    }
    if calls.is_empty() {
        printer.note(&format!("no call of execution `{id}` is in doubt"));
        return Ok(());
    }
    let mut table = TextTable::with_header(["call", "tool", "sent", "key", "arguments"]).right([0]);
    for doubtful in calls {
        let tool = doubtful.tool.as_ref();
        let tool = tool.map_or_else(|| "unknown".to_owned(), ToString::to_string);
        let mut arguments = clean_line(&doubtful.call.body, ARGUMENTS_SHOWN_BYTES);
        if doubtful.call.body.len() > ARGUMENTS_SHOWN_BYTES {
            arguments.push_str(" … (whole with --json)");
        }
        table.row([
            doubtful.call.id.to_string(),
            clean_line(&tool, NAME_BYTES_MAX),
            doubtful
                .sent_us
                .map_or_else(|| "unknown".to_owned(), |us| printer.time(us)),
            doubtful.key.clone().unwrap_or_else(|| "none".to_owned()),
            arguments,
        ]);
    }
    printer.table(&table);
    printer.hint(&format!(
        "see at the server whether each happened, then `limbeck reconcile {id} CALL` with `--happened`, `--did-not-happen`, `--retry` or `--give-up`"
    ));
    Ok(())
}

#[derive(Serialize)]
struct InDoubtJson<'a> {
    execution_id: &'a str,
    in_doubt: Vec<DoubtfulJson<'a>>,
}

#[derive(Serialize)]
struct SettledJson<'a> {
    execution_id: &'a str,
    call_id: u32,
    settled: &'static str,
    /// The calls that are left.
    in_doubt: Vec<DoubtfulJson<'a>>,
}

#[derive(Serialize)]
struct DoubtfulJson<'a> {
    call_id: u32,
    server: Option<&'a str>,
    tool: Option<&'a str>,
    arguments: Option<&'a RawValue>,
    /// Idempotency key; null where none was sent.
    key: Option<&'a str>,
    /// Null where the journal does not have the time.
    sent_at: Option<String>,
}

impl<'a> DoubtfulJson<'a> {
    fn new(doubtful: &'a DoubtfulCall) -> Self {
        let tool = doubtful.tool.as_ref();
        Self {
            call_id: doubtful.call.id.0,
            server: tool.map(|tool| tool.server.as_str()),
            tool: tool.map(|tool| &*tool.tool),
            arguments: serde_json::from_str(&doubtful.call.body).ok(),
            key: doubtful.key.as_deref(),
            sent_at: doubtful.sent_us.and_then(rfc3339),
        }
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{HostCall, HostOp, ToolId};

    use super::*;

    #[test]
    fn the_result_of_a_call_is_a_call_tool_result() {
        let result = r#"{"content": [{"type": "text", "text": "sent"}]}"#;
        assert_eq!(checked_result(result).unwrap(), result);
        for wrong in ["", "sent", "{}", "[]", "null", r#"{"content": "sent"}"#] {
            assert!(checked_result(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_call_in_doubt_has_its_tool_and_its_exact_arguments() {
        let doubtful = DoubtfulCall {
            call: HostCall {
                id: CallId(3),
                op: HostOp::Tool,
                head: String::new(),
                body: r#"{"amount":9007199254740993}"#.to_owned(),
            },
            tool: Some(ToolId::new("bank", "pay")),
            key: Some("2f0d0cfb-7a6f-8c1a-9b1e-0f5d3c2b1a09".to_owned()),
            sent_us: Some(1_778_311_773_000_001),
        };
        let json = serde_json::to_string(&InDoubtJson {
            execution_id: "ex_1",
            in_doubt: vec![DoubtfulJson::new(&doubtful)],
        });
        assert_eq!(
            json.unwrap(),
            r#"{"execution_id":"ex_1","in_doubt":[{"call_id":3,"server":"bank","tool":"pay","arguments":{"amount":9007199254740993},"key":"2f0d0cfb-7a6f-8c1a-9b1e-0f5d3c2b1a09","sent_at":"2026-05-09T07:29:33.000001Z"}]}"#
        );
    }
}
