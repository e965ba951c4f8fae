//! Configuration of this start: discovery, trust in files of a repository, warnings.

use std::path::Path;

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_setup::{
    AcceptedBy, ConfigError, Configuration, Diagnostic, Discovery, ManagedFile, OwnFile,
    ProgramFingerprint, ServerEntry, Severity, Transport, TrustPolicy, TrustRecord, TrustRecords,
    TrustState, ValueError, World,
};
use limbeck_upstream::StdioSpec;

use super::redaction::make_known;
use super::servers::start_directory;
use super::state::trust_file;
use crate::cli::GlobalOptions;
use crate::exit::CommandError;
use crate::invocation::{FindingsReport, Invocation};
use crate::shell::quoted;

/// The administrator's file of rules, on systems where the owner of a file is known. No variable moves it: it would be a way
/// past the rules.
const MANAGED_FILE: &str = "/etc/limbeck/policy.toml";
/// Number of the administrator.
const ROOT: u32 = 0;
/// Variable with the effect of `--trust-project`, for clients whose command line the user cannot change.
const TRUST_EVERYTHING: &str = "LIMBECK_TRUST_PROJECT";
/// File in the home directory in which a client keeps servers, and which is searched.
const CLIENT_STATE: &str = ".claude.json";
/// Files in the home directory in which clients keep servers, and which are not searched.
const CLIENT_FILES: &[&str] = &[
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".config/Code/User/mcp.json",
    ".codeium/windsurf/mcp_config.json",
    ".gemini/settings.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    "AppData/Roaming/Claude/claude_desktop_config.json",
    ".config/zed/settings.json",
    "AppData/Roaming/Zed/settings.json",
];
/// Files in the directory of a project in which clients keep servers, and which are not searched.
const PROJECT_FILES: &[&str] = &[".vscode/mcp.json", ".cursor/mcp.json"];
/// Sentences about errors that clients receive; the others are counted.
const NOTICES_MAX: usize = 3;
/// Longest such sentence in bytes.
const NOTICE_BYTES_MAX: usize = 240;
/// Longest warning in bytes.
const WARNING_BYTES_MAX: usize = 1 << 10;

/// Reads the configuration and prints its warnings.
///
/// # Errors
///
/// A configuration file that was named and cannot be used.
pub(crate) fn configuration(invocation: &Invocation) -> Result<Configuration, CommandError> {
    let configuration = read_configuration(invocation)?;
    let world = &invocation.world;
    let own = [OwnFile::of(world), OwnFile::imported(world)].map(Result::ok);
    let home = invocation.world.home.as_ref();
    let of_client = home.map(|home| home.join(CLIENT_STATE));
    let is_own_file = |note: &&Diagnostic| {
        let mut own = own.iter().flatten();
        note.severity == Severity::Error
            && note.is_of_whole_file
            && (own.any(|own| own.path() == note.file) || of_client.as_ref() == Some(&note.file))
    };
    // First: without a file of the user, the other findings are of another configuration than the user's.
    for note in configuration.diagnostics.iter().filter(is_own_file) {
        invocation.printer.error(&note.to_string());
        invocation.printer.hint(&format!(
            "correct {}; until then none of its servers and settings is used",
            limbeck_setup::shown_path(&note.file)
        ));
    }
    let mut findings: Vec<&Diagnostic> = Vec::new();
    let others = |note: &&Diagnostic| !is_own_file(note);
    for note in configuration.diagnostics.iter().filter(others) {
        match note.severity {
            Severity::Detail => tracing::debug!("{note}"),
            Severity::Info => tracing::info!("{note}"),
            Severity::Warning | Severity::Error => findings.push(note),
        }
    }
    report(invocation, &configuration, findings);
    for warning in replaced_programs(invocation, &configuration) {
        invocation.printer.warning(&warning);
    }
    Ok(configuration)
}

/// Prints findings in the form of the command.
fn report(invocation: &Invocation, configuration: &Configuration, mut findings: Vec<&Diagnostic>) {
    match &invocation.findings {
        FindingsReport::BesideServers => {
            findings.retain(|note| !is_error_of_server(&configuration.servers, note));
        }
        FindingsReport::CountedBeside(server) => {
            let mut entries = configuration.servers.iter();
            let named = entries.find(|entry| entry.name.as_str() == server);
            findings.retain(|note| !is_error_of_server(named, note));
        }
        FindingsReport::Each | FindingsReport::Counted => {}
    }
    let is_counted = match invocation.findings {
        FindingsReport::Counted | FindingsReport::CountedBeside(_) => findings.len() > 1,
        FindingsReport::Each | FindingsReport::BesideServers => false,
    };
    if is_counted {
        let mut files: Vec<String> = Vec::new();
        for note in &findings {
            let file = short_path(&invocation.world, &note.file);
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let summary = format!(
            "{} findings about the configuration in {}; `limbeck doctor` shows each",
            findings.len(),
            files.join(", ")
        );
        let summary = clean_line(&summary, WARNING_BYTES_MAX);
        return invocation.printer.warning(&summary);
    }
    for note in findings {
        invocation.printer.warning(&note.to_string());
    }
}

/// Whether a listing of these servers prints this finding: it is the reason why an entry cannot be used. An entry that waits
/// for trust or is disabled is listed with that reason instead.
fn is_error_of_server<'e>(
    servers: impl IntoIterator<Item = &'e ServerEntry>,
    note: &Diagnostic,
) -> bool {
    servers.into_iter().any(|entry| {
        // The finding may have the next step as well, which the listing prints as a hint.
        let is_reason = |error: &ValueError| note.message.starts_with(&error.to_string());
        entry.origin.file == note.file
            && !entry.disabled
            && !entry.is_held_back()
            && entry.definition.as_ref().is_err_and(is_reason)
    })
}

/// Hint of an error about a server that is not known: the first file that could not be read, which may have the server.
pub(crate) fn unreadable(configuration: &Configuration) -> Option<String> {
    let is_unread = |note: &&Diagnostic| note.severity == Severity::Error && note.is_of_whole_file;
    let note = configuration.diagnostics.iter().find(is_unread)?;
    let place = note
        .at
        .map(|(line, column)| format!(":{line}:{column}"))
        .unwrap_or_default();
    let hint = format!(
        "{}{place} could not be read: {}; correct it first, it may have the server",
        limbeck_setup::shown_path(&note.file),
        note.message
    );
    Some(clean_line(&hint, WARNING_BYTES_MAX))
}

/// Warnings about trusted servers of a repository whose program changed since the user accepted them.
fn replaced_programs(invocation: &Invocation, configuration: &Configuration) -> Vec<String> {
    let records = trust_file(invocation).and_then(|file| file.read().ok());
    let Some(records) = records else {
        return Vec::new();
    };
    let accepted = configuration
        .servers
        .iter()
        .filter(|entry| entry.trust == TrustState::Accepted);
    let replaced = accepted.filter_map(|entry| {
        let then = records.get(&entry.origin.file, &entry.name)?.program.as_ref()?;
        let now = program_of(&invocation.world, entry);
        let how = match &now {
            // Path and digest are equal.
            Some(now) if now == then => return None,
            Some(now) if now.path != then.path => format!("is now {}", limbeck_setup::shown_path(&now.path)),
            Some(_) => "was changed".to_owned(),
            None => "is missing".to_owned(),
        };
        let warning = format!(
            "the program of server `{}` ({}) {how} since the server was trusted; if this is expected, run `limbeck trust {}`",
            entry.name,
            limbeck_setup::shown_path(&then.path),
            quoted(entry.name.as_str())
        );
        Some(clean_line(&warning, WARNING_BYTES_MAX))
    });
    replaced.collect()
}

/// Path and digest of the program that an entry starts.
fn program_of(world: &World, entry: &ServerEntry) -> Option<ProgramFingerprint> {
    let Ok(Transport::Stdio {
        command,
        args,
        env,
        cwd,
    }) = &entry.definition
    else {
        return None;
    };
    let spec = StdioSpec {
        command: command.clone(),
        args: args.clone(),
        env: env.clone(),
        cwd: Some(cwd.clone().unwrap_or_else(|| start_directory(entry))),
    };
    ProgramFingerprint::read(world, spec.program().ok()?)
}

/// Sentences about files that cannot be read and entries that cannot be used, for clients that see no warnings. They
/// have no text of an entry, which may be a stranger's.
pub(super) fn notices(world: &World, configuration: &Configuration) -> Vec<String> {
    let errors = configuration.diagnostics.iter();
    let errors: Vec<_> = errors
        .filter(|note| note.severity == Severity::Error)
        .collect();
    let mut notices: Vec<String> = errors
        .iter()
        .take(NOTICES_MAX)
        .map(|note| {
            let file = short_path(world, &note.file);
            let place = note
                .at
                .map(|(line, column)| format!(":{line}:{column}"))
                .unwrap_or_default();
            let notice = if note.is_of_whole_file {
                format!("The configuration file {file}{place} cannot be used: {}.", note.message)
            } else {
                format!("An entry of the configuration file {file}{place} cannot be used; `limbeck doctor` explains it.")
            };
            clean_line(&notice, NOTICE_BYTES_MAX)
        })
        .collect();
    if errors.len() > NOTICES_MAX {
        let more = errors.len() - NOTICES_MAX;
        notices.push(format!(
            "{more} more errors of the configuration: `limbeck doctor`."
        ));
    }
    notices
}

/// `path` with `~` for the home directory and `.` for the working directory.
fn short_path(world: &World, path: &Path) -> String {
    let below = |directory: &Path, short: &str| {
        let rest = path.strip_prefix(directory).ok()?;
        Some(format!("{short}/{}", rest.display()))
    };
    let home = world.home.as_deref();
    below(&world.cwd, ".")
        .or_else(|| below(home?, "~"))
        .unwrap_or_else(|| limbeck_setup::shown_path(path))
}

/// `place` of an entry, a file with its line, with `~` for the home directory and `.` for the working directory.
pub(crate) fn short_place(world: &World, place: &str) -> String {
    let below = |directory: &Path, short: &str| {
        let rest = place.strip_prefix(directory.to_str()?)?;
        rest.starts_with(std::path::MAIN_SEPARATOR)
            .then(|| format!("{short}{rest}"))
    };
    let home = world.home.as_deref();
    below(&world.cwd, ".")
        .or_else(|| below(home?, "~"))
        .unwrap_or_else(|| place.to_owned())
}

/// Reads the configuration without printing its warnings.
///
/// # Errors
///
/// A configuration file that was named and cannot be used.
pub(crate) fn read_configuration(invocation: &Invocation) -> Result<Configuration, CommandError> {
    let records = trusted(invocation)?;
    let loaded = load(&invocation.world, &invocation.global, records.as_ref());
    used(invocation, loaded)
}

/// Reads `file` alone, as `--config FILE --no-discover` does; the administrator's rules count there too.
///
/// # Errors
///
/// The file cannot be used.
pub(crate) fn read_file_alone(
    invocation: &Invocation,
    file: &Path,
) -> Result<Configuration, CommandError> {
    let global = GlobalOptions {
        config: vec![file.to_owned()],
        no_discover: true,
        ..invocation.global.clone()
    };
    used(invocation, load(&invocation.world, &global, None))
}

/// Reads the configuration for a gateway that runs: a file of a client may have many megabytes, which are read on another thread.
///
/// # Errors
///
/// A configuration file that was named and cannot be used.
pub(super) async fn read_configuration_aside(
    invocation: &Invocation,
) -> Result<Configuration, CommandError> {
    let records = trusted(invocation)?;
    let (world, global) = (invocation.world.clone(), invocation.global.clone());
    let loading = tokio::task::spawn_blocking(move || load(&world, &global, records.as_ref()));
    used(invocation, loading.await.map_err(CommandError::fault)?)
}

/// Reads the configuration. `records` are those of trusted servers; `None` trusts every server.
fn load(
    world: &World,
    global: &GlobalOptions,
    records: Option<&TrustRecords>,
) -> Result<Configuration, ConfigError> {
    let trust_policy = match records {
        Some(records) => TrustPolicy::Recorded(records),
        None => TrustPolicy::Everything,
    };
    // Entries that start this executable are skipped: the gateway would start itself as its server.
    limbeck_setup::load(&discovery(world, global, trust_policy))
}

/// A configuration that was read, with the servers that the user accepted in a client.
fn used(
    invocation: &Invocation,
    loaded: Result<Configuration, ConfigError>,
) -> Result<Configuration, CommandError> {
    let mut configuration = loaded.map_err(|error: ConfigError| {
        let hint = error.hint();
        CommandError::usage(error).with_hint(hint)
    })?;
    // After loading, because only now is the definition behind an approved name known.
    record_client_approvals(invocation, &mut configuration);
    make_known(invocation, &configuration);
    Ok(configuration)
}

fn managed_file() -> Option<ManagedFile<'static>> {
    if !cfg!(unix) {
        return None;
    }
    Some(ManagedFile {
        path: Path::new(MANAGED_FILE),
        owner: ROOT,
    })
}

/// Where this start looks for configuration.
pub(super) fn discovery<'a>(
    world: &'a World,
    global: &'a GlobalOptions,
    trust_policy: TrustPolicy<'a>,
) -> Discovery<'a> {
    Discovery {
        world,
        config_files: &global.config,
        discover: !global.no_discover,
        managed: managed_file(),
        trust_policy,
    }
}

/// Records of trusted servers; `None` when every server is trusted for this start. Records that cannot be read are a
/// warning, and no server is trusted.
fn trusted(invocation: &Invocation) -> Result<Option<TrustRecords>, CommandError> {
    let everything = match invocation.world.nonempty_variable(TRUST_EVERYTHING) {
        None | Some("0" | "false") => false,
        Some("1" | "true") => true,
        Some(_) => {
            let error = anyhow!("{TRUST_EVERYTHING} must be `1` or `0`");
            return Err(CommandError::usage(error)
                .with_hint("unset it and trust single servers with `limbeck trust SERVER`"));
        }
    };
    if everything || invocation.global.trust_project {
        return Ok(None);
    }
    let records = match trust_file(invocation).map(|file| file.read()) {
        None => TrustRecords::default(),
        Some(Ok(records)) => records,
        Some(Err(error)) => {
            let hint = error.hint();
            let error = anyhow!(error);
            invocation
                .printer
                .warning(&format!("{error:#}; no server of a repository is trusted"));
            invocation.printer.hint(&hint);
            TrustRecords::default()
        }
    };
    Ok(Some(records))
}

/// Records the definitions of servers that the user accepted by name in a client, when they are first seen. A definition
/// that cannot be recorded is not trusted, because a later change of it would go unnoticed.
fn record_client_approvals(invocation: &Invocation, configuration: &mut Configuration) {
    let is_new = |entry: &&mut ServerEntry| entry.trust == TrustState::AcceptedByClient;
    let mut new: Vec<&mut ServerEntry> = configuration.servers.iter_mut().filter(is_new).collect();
    if new.is_empty() {
        return;
    }
    let recorded = trust_file(invocation).is_some_and(|file| {
        let recorded = file.change(|records| {
            for entry in &new {
                if let Some(record) = trust_record(&invocation.world, entry, AcceptedBy::Client) {
                    records.accept(record);
                }
            }
        });
        if let Err(error) = &recorded {
            tracing::warn!("{error}");
        }
        recorded.is_ok()
    });
    for entry in &mut new {
        entry.trust = if recorded {
            TrustState::Accepted
        } else {
            TrustState::Waiting
        };
    }
}

/// Trust record of an entry of a repository; `None` for other entries.
pub(crate) fn trust_record(
    world: &World,
    entry: &ServerEntry,
    by: AcceptedBy,
) -> Option<TrustRecord> {
    Some(TrustRecord {
        file: entry.origin.file.clone(),
        server: entry.name.clone(),
        sha256: entry.definition_text.as_ref()?.sha256.clone(),
        by,
        at_us: world.now_us(),
        program: program_of(world, entry),
    })
}

/// Files of other clients that exist and have servers, as a shell accepts them.
pub(crate) fn importable(world: &World) -> Vec<String> {
    let Ok(own) = OwnFile::of(world) else {
        return Vec::new();
    };
    let has_servers = |path: &Path| {
        let found = own.find_servers(path);
        found.is_ok_and(|found| found.entries().next().is_some())
    };
    let of_user = world.home.iter().flat_map(|home| {
        let files = CLIENT_FILES
            .iter()
            .map(|file| (home.join(file), "~/", *file));
        files.collect::<Vec<_>>()
    });
    let of_project = PROJECT_FILES
        .iter()
        .map(|file| (world.cwd.join(file), "", *file));
    of_user
        .chain(of_project)
        .filter(|(path, _, _)| has_servers(path))
        .map(|(_, place, file)| format!("{place}{}", quoted(file)))
        .collect()
}

/// List of the files that are searched for servers.
pub(super) fn looked_in(invocation: &Invocation) -> String {
    let mut places: Vec<String> = Vec::new();
    if !invocation.global.no_discover {
        places.extend(
            [
                "~/.claude.json",
                "./.mcp.json",
                "~/.config/limbeck/config.toml",
                "./limbeck.toml",
            ]
            .map(str::to_owned),
        );
    }
    let given = invocation.global.config.iter();
    places.extend(given.map(|file| limbeck_setup::shown_path(file)));
    if places.is_empty() {
        "no file, because `--no-discover` is given without `--config`".to_owned()
    } else {
        places.join(", ")
    }
}
