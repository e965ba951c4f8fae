//! `limbeck doctor`: what is configured, what works, and how programs are confined.

mod clients;
mod embeddings;
mod fix;
mod machine;
mod paused;
mod preset;
mod running;
mod sandbox;
mod sign_ins;
mod untrusted;

use std::cell::OnceCell;
use std::path::PathBuf;

use limbeck_domain::{Language, Layer, Sandbox, Tier};
use limbeck_gateway::{BudgetLeft, ServerReport};
use limbeck_launcher::{SandboxFloor, WorkerError};
use limbeck_setup::{Configuration, Diagnostic, World};
use serde::{Serialize, Serializer};

use super::signals::{EndSignal, EndSignals};
use super::{policy, tools};
use crate::cli::DoctorArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::limit_text;
use crate::invocation::Invocation;
use crate::listed_surfaces::ListedSurfaces;
use crate::printer::Printer;
use crate::report::sandbox_line;
use crate::table::TextTable;
use crate::wiring::{self, EffectiveSetting, GatewayLifetime, GatewaySession, WayIn, call_error};
use clients::Finding;
use embeddings::EmbeddingsReport;
use paused::PausedReport;
use sandbox::{MachineInfo, SandboxReport};

/// Counters of budgets that are listed.
const BUDGETS_SHOWN: usize = 20;

/// Prints the state of the installation, or all details of the sandbox.
pub(super) async fn doctor(
    invocation: &Invocation,
    arguments: &DoctorArgs,
) -> Result<ExitStatus, CommandError> {
    if let Some(code) = &arguments.fix {
        return fix::fix(invocation, arguments, code).await;
    }
    let configuration = wiring::configuration(invocation)?;
    let minimum = wiring::minimum_tier(&invocation.global, &configuration.settings);
    let floor = wiring::sandbox_floor(&invocation.global, &configuration.settings);
    let printer = &invocation.printer;
    let ok = if arguments.sandbox {
        let report = inspect_sandbox(minimum, floor).await?;
        if arguments.json {
            printer.json(&report)?;
        } else {
            report.print(printer);
        }
        report.ok
    } else {
        let report =
            DoctorReport::of_everything(invocation, arguments, &configuration, minimum, floor)
                .await?;
        if let Some(signal) = report.ended_by {
            // Half a report is for people alone.
            if !arguments.json {
                report.print(printer, &invocation.world);
            }
            return Err(signal.error());
        }
        if arguments.json {
            printer.json(&report)?;
        } else {
            report.print(printer, &invocation.world);
        }
        report.ok
    };
    Ok(if ok {
        ExitStatus::Completed
    } else {
        ExitStatus::Failed
    })
}

/// Starts a worker of any tier, reads its sandbox, and makes every escape attempt in it.
async fn inspect_sandbox(
    minimum: EffectiveSetting<Tier>,
    floor: SandboxFloor,
) -> Result<SandboxReport, CommandError> {
    let launcher = wiring::launcher(Tier::Wasm.into())?;
    let looked = async {
        let worker = launcher.launch(Language::Typescript).await?;
        let sandbox = worker.sandbox().clone();
        worker.kill().await;
        let memory_bound = launcher.memory_bound(Language::Typescript).await?;
        Ok((sandbox, memory_bound, launcher.probe().await?))
    };
    let looked: Result<_, WorkerError> = looked.await;
    launcher.shutdown().await;
    let (sandbox, memory_bound, probes) = looked.map_err(CommandError::fault)?;
    Ok(SandboxReport::new(
        &sandbox,
        minimum,
        &floor,
        memory_bound,
        &probes,
        MachineInfo::read(),
    ))
}

/// JSON of `limbeck doctor --json`.
#[derive(Serialize)]
struct DoctorReport<'a> {
    version: &'static str,
    #[serde(flatten)]
    machine: MachineInfo,
    state: StateReport,
    configuration: ConfigurationReport<'a>,
    minimum_tier: EffectiveSetting<Tier>,
    /// Layers that have to hold in any tier.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    require_layers: Vec<Layer>,
    #[serde(skip)]
    floor: SandboxFloor,
    wall_ms: EffectiveSetting<u64>,
    surfaces: EffectiveSetting<Vec<&'static str>>,
    sandbox: Option<Sandbox>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    embeddings: Option<EmbeddingsReport>,
    servers: Vec<ServerReport>,
    /// Paused executions, by the guest that they need.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paused: Vec<PausedReport>,
    /// What is left of budgets and rates.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_json")]
    budgets: Vec<BudgetLeft>,
    /// Files that were searched for servers, when none is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_in: Option<String>,
    /// What could be better, each with its remedy.
    findings: Vec<Finding>,
    ok: bool,
    /// Signal that ended the inspection: what is not known by then is left out.
    #[serde(skip)]
    ended_by: Option<EndSignal>,
}

/// Path and state of the store.
#[derive(Serialize)]
struct StateReport {
    path: Option<PathBuf>,
    /// Whether the store could be opened.
    usable: bool,
}

/// Configuration files and the notes about them.
#[derive(Serialize)]
struct ConfigurationReport<'a> {
    files: &'a [PathBuf],
    #[serde(serialize_with = "as_text")]
    notes: &'a [Diagnostic],
}

impl<'a> DoctorReport<'a> {
    async fn of_everything(
        invocation: &Invocation,
        arguments: &DoctorArgs,
        configuration: &'a Configuration,
        minimum_tier: EffectiveSetting<Tier>,
        floor: SandboxFloor,
    ) -> Result<Self, CommandError> {
        let surfaces = ListedSurfaces::choose(invocation, None)?;
        let mut signals = EndSignals::listen()?;
        // Workers of any tier, to show which layers are missing; no program runs in them.
        let session = GatewaySession::with(
            invocation,
            configuration,
            GatewayLifetime::Command,
            WayIn::Command,
            Tier::Wasm.into(),
        )
        .await?;
        let found = OnceCell::new();
        let inspection = async {
            let _ = found.set(session.gateway.sandbox().await);
            let servers = session.gateway.servers(None, tools::LIST_TIMEOUT).await;
            let embeddings = EmbeddingsReport::of(invocation, &configuration.settings).await;
            (servers, embeddings)
        };
        let now = || session.gateway.servers_now();
        let inspection = tools::naming_awaited(invocation, now, inspection);
        let (servers, embeddings, ended_by) = tokio::select! {
            (servers, embeddings) = inspection => (servers, embeddings, None),
            signal = signals.received() => (Ok(now()), None, Some(signal)),
        };
        let looked_in = session.looked_in().map(str::to_owned);
        let path = wiring::state_file(invocation);
        // The session falls back to a store in memory when the file cannot be opened.
        let usable = path.as_deref() == Some(session.gateway.store().path());
        let paused = PausedReport::all(session.gateway.store()).await;
        let budgets = session.gateway.budgets_left().await;
        let space = session.gateway.store().check_disk();
        // The session must be closed before an early return, or its servers would outlive the command.
        session.close().await;
        let servers = servers.map_err(|error| call_error(&error))?;
        let (paused, budgets) = (paused?, budgets?);
        let found = found.into_inner();
        let (sandbox, sandbox_error) = match found {
            Some(Ok(sandbox)) => (Some(sandbox), None),
            Some(Err(error)) => (None, Some(with_cause(&error))),
            None => (None, None),
        };
        let client = arguments.client.as_deref();
        let mut findings = clients::findings(invocation, client);
        findings.extend(untrusted::finding(configuration).filter(|_| client.is_none()));
        findings.extend(preset::finding(&invocation.world, configuration));
        if client.is_none() {
            let world = &invocation.world;
            findings.extend(machine::missing_layers(world, sandbox.as_ref()));
            findings.extend(machine::full_disk(path.as_deref(), space));
            findings.extend(machine::other_side(world, configuration));
            findings.extend(machine::unset_variables(configuration));
            findings.extend(running::findings(invocation).await);
            findings.extend(sign_ins::findings(invocation, configuration).await);
        }
        let confined = sandbox
            .as_ref()
            .is_some_and(|sandbox| floor.is_met_by(sandbox));
        let ok = confined
            && usable
            && !wiring::is_broken(configuration)
            && servers.iter().all(tools::works)
            && embeddings.as_ref().is_none_or(EmbeddingsReport::works);
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            machine: MachineInfo::read(),
            state: StateReport { path, usable },
            configuration: ConfigurationReport {
                files: &configuration.sources,
                notes: &configuration.diagnostics,
            },
            minimum_tier,
            require_layers: floor.layers.clone(),
            floor,
            wall_ms: wiring::wall_ms(&configuration.settings),
            surfaces: surfaces.effective(),
            sandbox_error,
            sandbox,
            embeddings,
            servers,
            paused,
            budgets,
            looked_in,
            findings,
            ok,
            ended_by,
        })
    }

    fn print(&self, printer: &Printer, world: &World) {
        let mut table = TextTable::default();
        table.row(["limbeck", &format!("{} on {}", self.version, self.machine)]);
        table.row(["state", &self.state.text()]);
        for (index, file) in self.configuration.files.iter().enumerate() {
            let label = if index == 0 { "configuration" } else { "" };
            table.row([label, &limbeck_setup::shown_path(file)]);
        }
        if self.configuration.files.is_empty() {
            table.row(["configuration", "none"]);
        }
        let (wall_ms, minimum) = (&self.wall_ms, &self.minimum_tier);
        let wall = format!("{} ({})", limit_text(wall_ms.value), wall_ms.source);
        table.row(["time limit", &wall]);
        table.row(["surfaces", &self.surfaces_text()]);
        let sandbox = match &self.sandbox {
            Some(sandbox) => sandbox_line(sandbox),
            None => "unknown".to_owned(),
        };
        table.row(["sandbox", &sandbox]);
        let minimum = format!("{} ({})", self.floor, minimum.source);
        table.row(["minimum tier", &minimum]);
        if let Some(embeddings) = &self.embeddings {
            table.row(["embeddings", &embeddings.line()]);
        }
        let servers = match &self.looked_in {
            Some(looked_in) => format!("0; looked in {looked_in}"),
            None => self.servers.len().to_string(),
        };
        table.row(["servers", &servers]);
        for (index, paused) in self.paused.iter().enumerate() {
            table.row([if index == 0 { "paused" } else { "" }, &paused.line()]);
        }
        for (index, left) in self.budgets.iter().take(BUDGETS_SHOWN).enumerate() {
            let label = if index == 0 { "budgets" } else { "" };
            table.row([label, &policy::budgets::line(left)]);
        }
        if self.budgets.len() > BUDGETS_SHOWN {
            let more = self.budgets.len() - BUDGETS_SHOWN;
            table.row([
                "",
                &format!("{more} more counters: `limbeck policy budgets`"),
            ]);
        }
        printer.table(&table);
        if self.looked_in.is_some() {
            wiring::print_first_step(printer, &wiring::importable(world));
        }
        if !self.servers.is_empty() {
            printer.data("\n");
            match self.ended_by {
                Some(_) => tools::print_so_far(printer, world, self.servers.clone()),
                None => tools::print(printer, world, &self.servers, false),
            }
        }
        clients::print(printer, &self.findings);
        self.print_sandbox_problem(printer);
        for paused in &self.paused {
            paused.print_problem(printer);
        }
        if let Some(embeddings) = &self.embeddings {
            embeddings.print_problem(printer);
        }
    }

    fn surfaces_text(&self) -> String {
        let EffectiveSetting { value, source } = &self.surfaces;
        let listed = match value.is_empty() {
            true => "search and execute".to_owned(),
            false => value.join(", "),
        };
        format!("{listed} ({source})")
    }

    fn print_sandbox_problem(&self, printer: &Printer) {
        match &self.sandbox {
            None => {
                if let Some(error) = &self.sandbox_error {
                    printer.error(&format!("a worker could not be started: {error}"));
                }
            }
            Some(sandbox) if !self.floor.is_met_by(sandbox) => {
                let refusal = limbeck_gateway::sandbox::refusal(sandbox, &self.floor);
                printer.error(&refusal.message);
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

impl StateReport {
    fn text(&self) -> String {
        match &self.path {
            Some(path) if self.usable => limbeck_setup::shown_path(path),
            Some(path) => format!(
                "{} cannot be used; executions are not recorded",
                limbeck_setup::shown_path(path)
            ),
            None => "none; executions are not recorded".to_owned(),
        }
    }
}

fn as_json<S: Serializer>(left: &[BudgetLeft], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(left.iter().map(BudgetLeft::json))
}

fn as_text<S: Serializer>(notes: &[Diagnostic], serializer: S) -> Result<S::Ok, S::Error> {
    let text = |note: &Diagnostic| format!("{}: {note}", note.severity);
    serializer.collect_seq(notes.iter().map(text))
}

fn with_cause(error: &WorkerError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
