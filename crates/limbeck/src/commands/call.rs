//! `limbeck call`: one tool call outside of any program.

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_domain::{CallCode, CallError, Envelope, ExecutionStatus, Language};
use limbeck_gateway::{
    AnswerForm, CallReport, ExecuteRequest, LOCAL_PRINCIPAL, ModelsRequest, ONE_CALL_ORIGIN, OnAsk,
};
use limbeck_policy::Scope;
use serde_json::{Value, json};

use super::questions::TerminalQuestions;
use super::run::whole;
use super::signals::{EndSignal, EndSignals};
use crate::cli::CallArgs;
use crate::command_form::command_form;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::report::print_value;
use crate::shell::quoted;
use crate::terminal::{Terminal, is_typed};
use crate::wiring::{GatewayLifetime, GatewaySession, WayIn};

/// Longest name of a server in a message, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// Calls a tool and prints its result.
pub(super) async fn call(
    invocation: &Invocation,
    arguments: &CallArgs,
) -> Result<ExitStatus, CommandError> {
    check_arguments(arguments)?;
    let mut signals = EndSignals::listen()?;
    let way_in = match is_typed() {
        true => WayIn::Terminal,
        false => WayIn::Command,
    };
    let session =
        GatewaySession::open_serving(invocation, GatewayLifetime::Command, way_in).await?;
    let CallArgs { server, tool, .. } = arguments;
    let waits_for = format!(
        "waiting for server `{}`",
        clean_line(server, NAME_BYTES_MAX)
    );
    let (called, signal) = signals
        .cancelling(async |cancel| {
            let call = session
                .gateway
                .call(server, tool, &arguments.arguments, cancel);
            invocation.printer.reporting(&waits_for, call).await
        })
        .await;
    let exit = match called {
        Ok(report) => print(&invocation.printer, &report, arguments),
        // Nothing was sent.
        Err(error) if error.code == CallCode::ApprovalRequired && signal.is_none() => {
            match Terminal::open() {
                Some(terminal) => ask(&session, invocation, arguments, terminal, &mut signals).await,
                None => Err(failure(&session, &error).with_hint(
                    "run this command on a terminal: it shows the call and asks you before it is sent",
                )),
            }
        }
        Err(error) => Err(signal.map_or_else(|| failure(&session, &error), EndSignal::error)),
    };
    // Servers must be stopped on errors as well, so the session is closed before the result is returned.
    session.close().await;
    exit
}

/// Asks about a call that has to be approved, and makes it when the person says yes.
///
/// The call is made by a program, which pauses for the question: so it is recorded, and what was approved is what is sent.
async fn ask(
    session: &GatewaySession,
    invocation: &Invocation,
    arguments: &CallArgs,
    terminal: Terminal,
    signals: &mut EndSignals,
) -> Result<ExitStatus, CommandError> {
    let request = ExecuteRequest {
        // Its numbers keep all their digits.
        language: Language::Python,
        program: program(arguments),
        input: arguments.arguments.clone(),
        timeout_ms: None,
        scope: Scope::everything(),
        principal: LOCAL_PRINCIPAL.to_owned(),
        origin: ONE_CALL_ORIGIN.to_owned(),
        answer: AnswerForm::default(),
        on_ask: OnAsk::Pause,
        models: ModelsRequest::default(),
    };
    let (paused, signal) = signals
        .cancelling(async |cancel| session.gateway.execute(request, cancel).await)
        .await;
    if let Some(signal) = signal {
        return Err(signal.error());
    }
    let questions = TerminalQuestions {
        gateway: &session.gateway,
        printer: &invocation.printer,
        world: &invocation.world,
        terminal,
        answer: AnswerForm::default(),
    };
    let (envelope, signal) = questions.until_answered(paused, signals).await?;
    if let Some(signal) = signal {
        return Err(signal.error());
    }
    let envelope = whole(&session.gateway, envelope).await;
    print_answered(invocation, &envelope, arguments)
}

/// Program that makes the call. Its result is that of the server, or the value that a program gets of it.
fn program(arguments: &CallArgs) -> String {
    let CallArgs { server, tool, .. } = arguments;
    // JSON strings are strings of Python too.
    let (server, tool) = (json!(server), json!(tool));
    let raw = if arguments.json { ".raw" } else { "" };
    format!("return await tools[{server}][{tool}]{raw}(input)")
}

/// Prints the result of a call that was asked about.
fn print_answered(
    invocation: &Invocation,
    envelope: &Envelope,
    arguments: &CallArgs,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let exit = ExitStatus::of(envelope);
    if envelope.status == ExecutionStatus::Paused {
        let error = anyhow!("the call waits for a decision; nothing was sent");
        let (limbeck, id) = (invocation.same_configuration(), &envelope.execution_id);
        let hint = format!("`{limbeck} resume {id}` asks again");
        return Err(CommandError::new(exit, error).with_hint(hint));
    }
    if let Some(error) = &envelope.error {
        let failure = CommandError::new(exit, anyhow!("{}", error.message));
        return Err(match &error.hint {
            Some(hint) => failure.with_hint(command_form(hint)),
            None => failure,
        });
    }
    let value = envelope.value.as_ref().map_or("null", |value| value.get());
    if arguments.json {
        printer.data_line(value);
        let is_error = |result: Value| result["isError"] == true;
        let failed = serde_json::from_str(value).is_ok_and(is_error);
        return Ok(if failed { ExitStatus::Failed } else { exit });
    }
    if value != "null" {
        print_value(printer, value);
    }
    Ok(exit)
}

/// Checks the words of the command before servers are started, so that a typo of the shell quoting fails at once.
fn check_arguments(arguments: &CallArgs) -> Result<(), CommandError> {
    let CallArgs { server, tool, .. } = arguments;
    // The arguments are in the place of the tool.
    if tool.starts_with('{')
        && let Some((server, tool)) = server.split_once('.')
    {
        let error = anyhow!(
            "`{}` is no tool",
            clean_line(&arguments.tool, NAME_BYTES_MAX)
        );
        return Err(CommandError::usage(error).with_hint(format!(
            "did you mean `limbeck call {} {}` with these arguments?",
            quoted(server),
            quoted(tool)
        )));
    }
    let error = match serde_json::from_str::<Value>(&arguments.arguments) {
        Ok(Value::Object(_)) => return Ok(()),
        Ok(_) => {
            let error = anyhow!("the arguments are not a JSON object");
            return Err(CommandError::usage(error).with_hint(format!(
                "give an object with the arguments by name: `limbeck call {} {} '{{\"key\": 1}}'`",
                quoted(server),
                quoted(tool)
            )));
        }
        Err(error) => error,
    };
    let error = anyhow::Error::new(error).context("the arguments are not a JSON object");
    Err(CommandError::usage(error).with_hint(format!(
        "quote the JSON for the shell: `limbeck call {} {} '{{\"key\": 1}}'`",
        quoted(server),
        quoted(tool)
    )))
}

/// Error of a call, with its next step as a command.
fn failure(session: &GatewaySession, error: &CallError) -> CommandError {
    let mut failure = session.call_error(error);
    failure.hint = failure.hint.map(|hint| command_form(&hint));
    // As a program ends whose call was refused because no record can be kept: nothing was sent.
    if error.code == CallCode::GatewayFault && session.gateway.store().check_durable().is_err() {
        failure.exit = ExitStatus::Failed;
    }
    failure
}

fn print(
    printer: &Printer,
    report: &CallReport,
    arguments: &CallArgs,
) -> Result<ExitStatus, CommandError> {
    if let Some(note) = &report.note {
        printer.note(&format!("note: {note}"));
    }
    if let Some(how) = &report.contradiction {
        printer.warning(&format!(
            "the result does not match the output schema of the tool; by that schema: {how}"
        ));
    }
    if arguments.json {
        printer.data_line(report.result.get());
        return Ok(match report.value {
            Ok(_) => ExitStatus::Completed,
            Err(_) => ExitStatus::Failed,
        });
    }
    match &report.value {
        // A result without content has no value.
        Ok(value) if value == "null" => Ok(ExitStatus::Completed),
        Ok(value) => {
            print_value(printer, value);
            Ok(ExitStatus::Completed)
        }
        Err(error) => {
            let name = format!("{}.{}", arguments.server, arguments.tool);
            let failure = anyhow!("`{name}` failed: {}", error.message);
            Err(CommandError::new(ExitStatus::Failed, failure))
        }
    }
}
