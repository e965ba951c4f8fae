//! `limbeck run`: one program, from a file or standard input.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use limbeck_gateway::domain::limits::PROGRAM_BYTES_MAX;
use limbeck_gateway::domain::{Envelope, Language};
use limbeck_gateway::policy::Scope;
use limbeck_gateway::{AnswerForm, ExecuteRequest, Gateway, LOCAL};
use serde::de::IgnoredAny;

use super::{Invocation, examine, signals::EndSignals};
use crate::cli::RunArgs;
use crate::exit::{Exit, Failure};
use crate::report::{Source, print_envelope};
use crate::wiring::{Lifetime, Session};

/// Runs the program and prints what came back.
pub(super) async fn run(invocation: &Invocation, arguments: &RunArgs) -> Result<Exit, Failure> {
    let request = request(arguments)?;
    let source = Source {
        name: &source_name(&arguments.file),
        text: &request.program.clone(),
    };
    if let Some(mode) = examine::mode(arguments) {
        return examine::run(invocation, arguments, request, mode, source).await;
    }
    let signals = EndSignals::listen()?;
    let session = Session::open(invocation, Lifetime::Command).await?;
    let envelope = signals
        .cancelling(async |cancel| session.gateway.execute(request, cancel).await)
        .await;
    let printed = if arguments.json {
        invocation.printer.json(&envelope)
    } else {
        let shown = match arguments.max_output_tokens {
            Some(_) => envelope.clone(),
            None => whole(&session.gateway, envelope.clone()).await,
        };
        print_envelope(&invocation.printer, &shown, source);
        Ok(())
    };
    session.close().await;
    printed.map(|()| Exit::of(&envelope))
}

fn request(arguments: &RunArgs) -> Result<ExecuteRequest, Failure> {
    let scope = if arguments.tools.is_empty() {
        Scope::everything()
    } else {
        Scope::parse(&arguments.tools)
            .context("`--tools` is not usable")
            .map_err(Failure::usage)?
    };
    Ok(ExecuteRequest {
        language: language(arguments),
        program: read_program(&arguments.file)?,
        input: input(arguments.input.as_deref())?,
        timeout_ms: arguments.timeout_ms,
        scope,
        principal: LOCAL.to_owned(),
        origin: "run".to_owned(),
        answer: AnswerForm {
            tokens_max: arguments.max_output_tokens,
            ..AnswerForm::default()
        },
    })
}

/// The language asked for, or else the one of the file's name.
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

fn input(json: Option<&str>) -> Result<String, Failure> {
    let json = json.unwrap_or("null");
    serde_json::from_str::<IgnoredAny>(json)
        .context("`--input` is not JSON")
        .map_err(|error| {
            Failure::usage(error).with_hint("quote it for the shell: `--input '{\"key\": 1}'`")
        })?;
    Ok(json.to_owned())
}

fn read_program(file: &Path) -> Result<String, Failure> {
    let name = source_name(file);
    let bytes = read_bounded(file)
        .with_context(|| format!("program {name} cannot be read"))
        .map_err(Failure::usage)?;
    if bytes.len() > PROGRAM_BYTES_MAX {
        let error = anyhow!("program {name} is larger than {PROGRAM_BYTES_MAX} bytes");
        return Err(Failure::usage(error).with_hint("pass data with `--input`"));
    }
    let program = String::from_utf8(bytes)
        .with_context(|| format!("program {name} is not UTF-8"))
        .map_err(Failure::usage)?;
    if program.trim().is_empty() {
        let error = anyhow!("program {name} is empty");
        return Err(Failure::usage(error).with_hint("try `echo 'return 1 + 1' | limbeck run -`"));
    }
    Ok(program)
}

/// The beginning of the file: one byte more than a program may have tells that it has too many.
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

/// The envelope with what a model would only be shown a part of: a person asked for it on a stream that
/// takes any length.
async fn whole(gateway: &Gateway, envelope: Envelope) -> Envelope {
    if envelope.artifacts.is_empty() {
        return envelope;
    }
    let id = envelope.execution_id.as_str();
    match gateway.store().execution(id).await {
        Ok(Some(record)) => record.envelope.unwrap_or(envelope),
        Ok(None) | Err(_) => envelope,
    }
}
