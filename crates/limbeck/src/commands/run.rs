//! `limbeck run`: execution of one program from a file or standard input.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use limbeck_domain::limits::PROGRAM_BYTES_MAX;
use limbeck_domain::{Envelope, ErrorKind, ExecutionStatus, Language};
use limbeck_gateway::{AnswerForm, ExecuteRequest, Gateway, LOCAL_PRINCIPAL, ModelsRequest, OnAsk};
use limbeck_policy::Scope;
use limbeck_upstream::{CallContext, CallObserver};
use serde::de::IgnoredAny;

use super::examine;
use super::questions::TerminalQuestions;
use super::signals::{EndSignal, EndSignals};
use crate::cli::RunArgs;
use crate::command_form::option_form;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::live_output::LiveOutput;
use crate::report::{ProgramSource, print_envelope, print_pending};
use crate::terminal::{Terminal, is_typed};
use crate::wiring::{GatewayLifetime, GatewaySession, WayIn};

/// Runs the program and prints its envelope.
pub(super) async fn run(
    invocation: &Invocation,
    arguments: &RunArgs,
) -> Result<ExitStatus, CommandError> {
    let request = request(arguments)?;
    let source = ProgramSource {
        name: &source_name(&arguments.file),
        text: &request.program.clone(),
    };
    if let Some(mode) = examine::mode(arguments) {
        return examine::run(invocation, arguments, request, mode, source).await;
    }
    // From here on a signal cancels the execution, so that its calls are cancelled at their servers.
    let mut signals = EndSignals::listen()?;
    let way_in = way_in(arguments);
    let session =
        GatewaySession::open_serving(invocation, GatewayLifetime::Command, way_in).await?;
    // A person at a terminal sees the output as it comes; a pipe gets it whole, with what belongs to it in order.
    let is_live = !arguments.json
        && arguments.max_output_tokens.is_none()
        && invocation.printer.width().is_some();
    let live = is_live.then(|| Arc::new(LiveOutput::new(invocation.redaction.clone())));
    let answer = request.answer;
    let (mut envelope, mut signal) = signals
        .cancelling(async |cancel| {
            let observer = live.clone().map(|live| live as Arc<dyn CallObserver>);
            let context = CallContext::new(cancel).with_observer(observer);
            session.gateway.execute(request, context).await
        })
        .await;
    let is_paused = signal.is_none() && envelope.status == ExecutionStatus::Paused;
    let terminal = is_paused.then(|| terminal(arguments)).flatten();
    let went_on = terminal.is_some();
    if let Some(terminal) = terminal {
        let questions = TerminalQuestions {
            gateway: &session.gateway,
            printer: &invocation.printer,
            world: &invocation.world,
            terminal,
            answer,
        };
        match questions.until_answered(envelope, &mut signals).await {
            Ok(answered) => (envelope, signal) = answered,
            Err(failure) => {
                session.close().await;
                return Err(failure);
            }
        }
    }
    if let (Some(_), Some(error)) = (signal, &mut envelope.error)
        && error.kind == ErrorKind::Cancelled
    {
        // The user did it, and there is no client.
        error.message = "interrupted".to_owned();
    }
    let printed = if arguments.json {
        invocation.printer.json(&envelope)
    } else {
        let mut shown = match arguments.max_output_tokens {
            // A limit was requested, so the output shows what a model would read.
            Some(_) => envelope.clone(),
            None => whole(&session.gateway, envelope.clone()).await,
        };
        if let Some(live) = &live {
            // The record does not say whether a part of the printed text was left out, and this answer does.
            let is_whole = envelope.printed_left_out == 0;
            live.remove_written(&mut shown, went_on, is_whole);
        }
        name_options(&mut shown);
        print_envelope(&invocation.printer, &shown, source);
        let limbeck = invocation.same_configuration();
        print_pending(&invocation.printer, &shown, &limbeck);
        let hint = shown.error.as_ref().and_then(|error| error.hint.as_deref());
        // The program called a server, and none is configured.
        if hint.is_some_and(|hint| hint.contains("`limbeck import FILE`")) {
            session.note_importable(&invocation.printer);
        }
        Ok(())
    };
    session.close().await;
    printed.map(|()| signal.map_or_else(|| ExitStatus::of(&envelope), EndSignal::exit))
}

/// Names the option of this command where a text names the argument of `execute`, which a model sends.
fn name_options(envelope: &mut Envelope) {
    for warning in &mut envelope.warnings {
        *warning = option_form(warning);
    }
    let Some(error) = &mut envelope.error else {
        return;
    };
    error.message = option_form(&error.message);
    if let Some(hint) = &mut error.hint {
        *hint = option_form(hint);
    }
}

fn request(arguments: &RunArgs) -> Result<ExecuteRequest, CommandError> {
    let scope = if arguments.tools.is_empty() {
        Scope::everything()
    } else {
        Scope::parse(&arguments.tools)
            .context("`--tools` is not valid")
            .map_err(CommandError::usage)?
    };
    Ok(ExecuteRequest {
        language: language(arguments),
        program: read_program(&arguments.file)?,
        input: input(arguments.input.as_deref())?,
        timeout_ms: arguments.timeout_ms,
        scope,
        principal: LOCAL_PRINCIPAL.to_owned(),
        origin: "run".to_owned(),
        answer: AnswerForm {
            tokens_max: arguments.max_output_tokens,
            ..AnswerForm::default()
        },
        // On a terminal too: the question is asked there while the program is paused.
        on_ask: arguments.on_ask.map_or(OnAsk::Pause, OnAsk::from),
        models: ModelsRequest::default(),
    })
}

/// The terminal to ask on; none where the arguments say what else to do, or a script reads the answer.
fn terminal(arguments: &RunArgs) -> Option<Terminal> {
    if is_script(arguments) {
        return None;
    }
    Terminal::open()
}

/// Whether the arguments are those of a script.
fn is_script(arguments: &RunArgs) -> bool {
    arguments.on_ask.is_some() || arguments.json
}

/// Who may be asked about calls of the program decides what is asked where no file names a preset.
pub(super) fn way_in(arguments: &RunArgs) -> WayIn {
    match is_typed() && !is_script(arguments) {
        true => WayIn::Terminal,
        false => WayIn::Script,
    }
}

/// Language of the option, else of the file extension.
fn language(arguments: &RunArgs) -> Language {
    match arguments.language {
        Some(name) => name.into(),
        None if arguments
            .file
            .extension()
            .is_some_and(|extension| extension == "py") =>
        {
            Language::Python
        }
        None => Language::Typescript,
    }
}

fn input(json: Option<&str>) -> Result<String, CommandError> {
    let json = json.unwrap_or("null");
    serde_json::from_str::<IgnoredAny>(json)
        .context("`--input` is not JSON")
        .map_err(|error| {
            CommandError::usage(error).with_hint("quote it for the shell: `--input '{\"key\": 1}'`")
        })?;
    Ok(json.to_owned())
}

fn read_program(file: &Path) -> Result<String, CommandError> {
    let name = source_name(file);
    let bytes = read_bounded(file)
        .with_context(|| format!("program `{name}` could not be read"))
        .map_err(|error| {
            CommandError::usage(error)
                .with_hint("give the path of a program, or `-` to read it from standard input")
        })?;
    if bytes.len() > PROGRAM_BYTES_MAX {
        let error = anyhow!("program `{name}` is larger than {PROGRAM_BYTES_MAX} bytes");
        return Err(CommandError::usage(error).with_hint("pass large data with `--input`"));
    }
    let program = String::from_utf8(bytes)
        .with_context(|| format!("program `{name}` is not UTF-8"))
        .map_err(CommandError::usage)?;
    // An empty file would run and print nothing, which looks like a success.
    if program.trim().is_empty() {
        let error = anyhow!("program `{name}` is empty");
        return Err(
            CommandError::usage(error).with_hint("try `echo 'return 1 + 1' | limbeck run -`")
        );
    }
    Ok(program)
}

/// Reads a file up to one byte beyond the limit of a program, so that a larger file is detected without reading it all.
fn read_bounded(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = PROGRAM_BYTES_MAX as u64 + 1;
    if is_stdin(file) {
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_end(&mut bytes)?;
    } else {
        File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

fn source_name(file: &Path) -> String {
    if is_stdin(file) {
        "<stdin>".to_owned()
    } else {
        file.display().to_string()
    }
}

/// Recorded envelope, with the parts that an answer to a model leaves out: standard output takes any length.
pub(super) async fn whole(gateway: &Gateway, envelope: Envelope) -> Envelope {
    if envelope.artifacts.is_empty() {
        return envelope;
    }
    let id = envelope.execution_id.as_str();
    match gateway.store().execution(id).await {
        Ok(Some(record)) => record.envelope.unwrap_or(envelope),
        Ok(None) | Err(_) => envelope,
    }
}
