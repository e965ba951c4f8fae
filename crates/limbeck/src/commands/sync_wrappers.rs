//! `limbeck sync-wrappers`: files with a function for each tool, for programs outside of the gateway.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use limbeck_catalog::declarations::{WrapperCommand, wrapper, wrapper_file};
use limbeck_catalog::{ServerTools, Tool};
use limbeck_domain::{Language, ServerName};
use limbeck_gateway::ServerReport;
use limbeck_gateway::clock::{now_us, rfc3339};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::signals::EndSignals;
use super::tools::{LIST_TIMEOUT, STARTING, print_problems};
use crate::cli::{LanguageName, SyncWrappersArgs};
use crate::environment::own_executable;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::output_files;
use crate::wiring::{GatewayLifetime, GatewaySession};

/// Where code-executor-mcp had its files, below the home directory.
const HOME_DIRECTORY: &str = ".code-executor";
const WRAPPERS: &str = "wrappers";
const MANIFEST: &str = "wrapper-manifest.json";

pub(super) async fn sync_wrappers(
    invocation: &Invocation,
    arguments: &SyncWrappersArgs,
) -> Result<ExitStatus, CommandError> {
    let place = Place::of(invocation, arguments)?;
    let mut signals = EndSignals::listen()?;
    let session = GatewaySession::open(invocation, GatewayLifetime::Command).await?;
    let listing = session
        .gateway
        .servers(arguments.server.as_deref(), LIST_TIMEOUT);
    let listing = invocation.printer.reporting(STARTING, listing);
    let done = match signals.interrupting(listing).await {
        Ok(Ok(reports)) => {
            session.note_if_empty(&invocation.printer);
            write(invocation, &session, &reports, arguments, &place)
        }
        Ok(Err(error)) => Err(session.call_error(&error)),
        Err(interrupted) => Err(interrupted),
    };
    session.close().await;
    done
}

/// Where the files are written.
struct Place {
    wrappers: PathBuf,
    /// Directory of the manifest.
    manifest: PathBuf,
}

impl Place {
    fn of(invocation: &Invocation, arguments: &SyncWrappersArgs) -> Result<Self, CommandError> {
        if let Some(directory) = &arguments.output {
            return Ok(Self {
                wrappers: directory.clone(),
                manifest: directory.clone(),
            });
        }
        let Some(home) = &invocation.world.home else {
            let error = anyhow!("the home directory is unknown");
            return Err(CommandError::usage(error).with_hint("set a directory with `-o DIR`"));
        };
        let manifest = home.join(HOME_DIRECTORY);
        Ok(Self {
            wrappers: manifest.join(WRAPPERS),
            manifest,
        })
    }
}

fn write(
    invocation: &Invocation,
    session: &GatewaySession,
    reports: &[ServerReport],
    arguments: &SyncWrappersArgs,
    place: &Place,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let catalog = session.gateway.catalog();
    let command = command_of(invocation)?;
    let languages: Vec<Language> = [LanguageName::Ts, LanguageName::Py]
        .into_iter()
        .filter(|language| arguments.language.is_none_or(|wanted| wanted == *language))
        .map(Language::from)
        .collect();
    let mut entries = Vec::new();
    let mut written = 0;
    let mut exit = ExitStatus::Completed;
    for report in reports {
        let server = catalog.server(&ServerName::from(&*report.name));
        let Some(server) = server.filter(|server| !server.tools().is_empty()) else {
            print_problems(printer, report);
            if report.error.is_some() {
                exit = ExitStatus::Failed;
                entries.extend(
                    languages
                        .iter()
                        .map(|&language| failed(report, language, place)),
                );
            }
            continue;
        };
        for &language in &languages {
            let name = file_of(server.name().as_str(), language);
            let path = place.wrappers.join(&name);
            if !(arguments.missing && path.exists()) {
                let text = wrapper(server, language, &command);
                output_files::write(&place.wrappers, &name, &text)?;
                written += 1;
            }
            entries.push(json!({
                "mcpName": server.name(),
                "language": language.as_str(),
                "schemaHash": schema_hash(server),
                "outputPath": path,
                "generatedAt": timestamp(),
                "status": "success",
            }));
        }
    }
    let manifest = json!({"version": "1.0.0", "generatedAt": timestamp(), "wrappers": entries});
    let text = serde_json::to_string_pretty(&manifest).map_err(CommandError::fault)?;
    output_files::write(&place.manifest, MANIFEST, &format!("{text}\n"))?;
    if arguments.json {
        printer.json(&manifest)?;
    } else {
        printer.note(&format!(
            "wrote {} to {}",
            counted(written, "file"),
            place.wrappers.display()
        ));
    }
    Ok(exit)
}

/// Path of the file of a server below the directory of the wrappers.
fn file_of(server: &str, language: Language) -> String {
    format!("{}/{}", language.as_str(), wrapper_file(server, language))
}

fn failed(report: &ServerReport, language: Language, place: &Place) -> Value {
    json!({
        "mcpName": report.name,
        "language": language.as_str(),
        "schemaHash": "",
        "outputPath": place.wrappers.join(file_of(&report.name, language)),
        "generatedAt": timestamp(),
        "status": "failed",
        "errorMessage": report.error,
    })
}

/// SHA-256 of the definitions of all tools.
fn schema_hash(server: &ServerTools) -> String {
    let mut hasher = Sha256::new();
    for tool in server.tools() {
        hasher.update(Tool::hash(tool).as_bytes());
    }
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn timestamp() -> String {
    rfc3339(now_us()).unwrap_or_default()
}

/// How the files start this gateway: the same executable, with the same configuration.
fn command_of(invocation: &Invocation) -> Result<WrapperCommand, CommandError> {
    let cwd = &invocation.world.cwd;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    // Where it is, and not the name by which a process knows itself.
    let executable = own_executable().and_then(|path| path.canonicalize());
    let executable = executable.map_err(CommandError::fault)?;
    let mut command = vec![text(&executable)];
    for file in &invocation.global.config {
        command.extend(["--config".to_owned(), text(&cwd.join(file))]);
    }
    if invocation.global.no_discover {
        command.push("--no-discover".to_owned());
    }
    if let Some(directory) = &invocation.global.state_dir {
        command.extend(["--state-dir".to_owned(), text(&cwd.join(directory))]);
    }
    Ok(WrapperCommand {
        command,
        directory: text(cwd),
    })
}
