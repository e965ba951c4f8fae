//! `limbeck doctor`: what is configured, what works, and how programs are confined.

mod embeddings;
mod sandbox;

use std::path::PathBuf;

use limbeck_gateway::ServerReport;
use limbeck_gateway::domain::{Language, Sandbox, Tier};
use limbeck_gateway::launcher::WorkerError;
use limbeck_setup::{Configuration, Note};
use serde::{Serialize, Serializer};

use super::{Invocation, tools};
use crate::cli::DoctorArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::report::sandbox_line;
use crate::table::Table;
use crate::wiring::{self, Decided, Lifetime, Session, call_failure};
use embeddings::EmbeddingsReport;
use sandbox::{Machine, SandboxReport};

/// Prints the state of everything, or of the sandbox in full.
pub(super) async fn doctor(
    invocation: &Invocation,
    arguments: &DoctorArgs,
) -> Result<Exit, Failure> {
    let configuration = wiring::configuration(invocation)?;
    let minimum = wiring::minimum_tier(&invocation.global, &configuration.settings);
    let printer = &invocation.printer;
    let ok = if arguments.sandbox {
        let report = look_at_sandbox(minimum).await?;
        if arguments.json {
            printer.json(&report)?;
        } else {
            report.print(printer);
        }
        report.ok
    } else {
        let report = Report::of_everything(invocation, &configuration, minimum).await?;
        if arguments.json {
            printer.json(&report)?;
        } else {
            report.print(printer);
        }
        report.ok
    };
    Ok(if ok { Exit::Completed } else { Exit::Failed })
}

/// Starts a worker of whatever tier it reaches, asks what it found, and makes every attempt.
async fn look_at_sandbox(minimum: Decided<Tier>) -> Result<SandboxReport, Failure> {
    let launcher = wiring::launcher(Tier::Wasm)?;
    let looked = async {
        let worker = launcher.launch(Language::Typescript).await?;
        let sandbox = worker.sandbox().clone();
        worker.kill().await;
        Ok((sandbox, launcher.probe().await?))
    };
    let looked: Result<_, WorkerError> = looked.await;
    launcher.shutdown().await;
    let (sandbox, probes) = looked.map_err(Failure::fault)?;
    Ok(SandboxReport::new(
        &sandbox,
        minimum,
        &probes,
        Machine::read(),
    ))
}

/// `doctor --json`.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    #[serde(flatten)]
    machine: Machine,
    state: State,
    configuration: Sources<'a>,
    minimum_tier: Decided<Tier>,
    wall_ms: Decided<u64>,
    sandbox: Option<Sandbox>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    embeddings: Option<EmbeddingsReport>,
    servers: Vec<ServerReport>,
    ok: bool,
}

/// Where journal, cache and key-value state live.
#[derive(Serialize)]
struct State {
    path: Option<PathBuf>,
    /// Whether anything is recorded there.
    usable: bool,
}

/// Files that were read and what is to be known of them.
#[derive(Serialize)]
struct Sources<'a> {
    files: &'a [PathBuf],
    #[serde(serialize_with = "as_text")]
    notes: &'a [Note],
}

impl<'a> Report<'a> {
    async fn of_everything(
        invocation: &Invocation,
        configuration: &'a Configuration,
        minimum_tier: Decided<Tier>,
    ) -> Result<Self, Failure> {
        // Workers of any tier: what they lack is to be seen here, and nothing runs in them.
        let session =
            Session::with(invocation, configuration, Lifetime::Command, Tier::Wasm).await?;
        let found = session.gateway.sandbox().await;
        let servers = session.gateway.servers(None, tools::PATIENCE).await;
        let embeddings = EmbeddingsReport::of(invocation, &configuration.settings).await;
        let path = wiring::state_file(invocation);
        let usable = path.as_deref() == Some(session.gateway.store().path());
        session.close().await;
        let servers = servers.map_err(|error| call_failure(&error))?;
        let confined = found
            .as_ref()
            .is_ok_and(|sandbox| sandbox.tier >= minimum_tier.value);
        let ok = confined
            && usable
            && servers.iter().all(works)
            && embeddings.as_ref().is_none_or(EmbeddingsReport::works);
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            machine: Machine::read(),
            state: State { path, usable },
            configuration: Sources {
                files: &configuration.sources,
                notes: &configuration.notes,
            },
            minimum_tier,
            wall_ms: wiring::wall_ms(&configuration.settings),
            sandbox_error: found.as_ref().err().map(with_cause),
            sandbox: found.ok(),
            embeddings,
            servers,
            ok,
        })
    }

    fn print(&self, printer: &Printer) {
        let mut table = Table::default();
        table.row(["limbeck", &format!("{} on {}", self.version, self.machine)]);
        table.row(["state", &self.state.text()]);
        for (index, file) in self.configuration.files.iter().enumerate() {
            let label = if index == 0 { "configuration" } else { "" };
            table.row([label, &file.display().to_string()]);
        }
        if self.configuration.files.is_empty() {
            table.row(["configuration", "none"]);
        }
        let (wall_ms, minimum) = (&self.wall_ms, &self.minimum_tier);
        let wall = format!("{} ms ({})", wall_ms.value, wall_ms.source);
        table.row(["wall clock", &wall]);
        let sandbox = match &self.sandbox {
            Some(sandbox) => sandbox_line(sandbox),
            None => "unknown".to_owned(),
        };
        table.row(["sandbox", &sandbox]);
        let minimum = format!("{} ({})", minimum.value, minimum.source);
        table.row(["minimum tier", &minimum]);
        if let Some(embeddings) = &self.embeddings {
            table.row(["embeddings", &embeddings.line()]);
        }
        table.row(["servers", &self.servers.len().to_string()]);
        printer.data(&table.text());
        if !self.servers.is_empty() {
            printer.data("\n");
            tools::print(printer, &self.servers, false);
        }
        self.print_sandbox_problem(printer);
        if let Some(embeddings) = &self.embeddings {
            embeddings.print_problem(printer);
        }
    }

    fn print_sandbox_problem(&self, printer: &Printer) {
        let minimum = self.minimum_tier.value;
        match &self.sandbox {
            None => {
                let error = self.sandbox_error.as_deref().unwrap_or_default();
                printer.error(&format!("no worker could be started: {error}"));
            }
            Some(sandbox) if sandbox.tier < minimum => {
                let refusal = limbeck_gateway::sandbox::refusal(sandbox, minimum);
                printer.error(
                    &refusal
                        .message
                        .replacen("so nothing ran", "so nothing runs", 1),
                );
                if let Some(hint) = refusal.hint {
                    printer.hint(&hint);
                }
            }
            Some(sandbox) => {
                if let Some(warning) = limbeck_gateway::sandbox::warning(sandbox) {
                    printer.warning(&warning);
                }
            }
        }
    }
}

impl State {
    fn text(&self) -> String {
        match &self.path {
            Some(path) if self.usable => path.display().to_string(),
            Some(path) => format!("{} cannot be used; nothing is recorded", path.display()),
            None => "nowhere; nothing is recorded".to_owned(),
        }
    }
}

/// Whether a server does what its entry wants, as far as this version can tell, or waits for its user.
fn works(server: &ServerReport) -> bool {
    ["ready", "disabled", "unsupported", "untrusted"].contains(&server.state)
}

fn as_text<S: Serializer>(notes: &[Note], serializer: S) -> Result<S::Ok, S::Error> {
    let text = |note: &Note| format!("{}: {note}", note.level);
    serializer.collect_seq(notes.iter().map(text))
}

fn with_cause(error: &WorkerError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
