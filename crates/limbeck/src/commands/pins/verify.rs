//! `limbeck pins verify` and `lock`: pins beside what servers list now, and beside the lock file of the repository.

use std::collections::BTreeSet;

use anyhow::{Context as _, anyhow};
use limbeck_domain::text::clean_line;
use limbeck_domain::{PinnedDefinition, ServerName};
use limbeck_gateway::{PinLock, PinState, ServerReport};
use serde_json::{Value, json};

use super::{NAME_BYTES_MAX, named};
use crate::cli::{PinsLockArgs, PinsVerifyArgs};
use crate::commands::tools::{LIST_TIMEOUT, naming_awaited, works};
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::wiring::{GatewaySession, read_pin_lock};

/// Something that differs.
struct Difference {
    server: String,
    tool: Option<String>,
    problem: String,
}

/// Servers that are compared: those that are named, or all that may be used. Each is listed first.
async fn listed(
    invocation: &Invocation,
    session: &GatewaySession,
    names: &[String],
) -> Result<(BTreeSet<ServerName>, Vec<ServerReport>), CommandError> {
    let gateway = &session.gateway;
    let mut chosen = BTreeSet::new();
    for name in names {
        chosen.insert(named(session, name)?);
    }
    let now = || gateway.servers_now();
    let listing = async {
        if names.is_empty() {
            return gateway.servers(None, LIST_TIMEOUT).await;
        }
        let servers: Vec<ServerName> = chosen.iter().cloned().collect();
        gateway.list_for_pins(&servers, LIST_TIMEOUT).await;
        Ok(gateway.servers_now())
    };
    let reports = naming_awaited(invocation, now, listing).await;
    let mut reports = reports.map_err(|error| session.call_error(&error))?;
    if names.is_empty() {
        chosen = reports
            .iter()
            .map(|report| ServerName::from(report.name.as_str()))
            .collect();
    } else {
        reports.retain(|report| chosen.contains(&ServerName::from(report.name.as_str())));
    }
    Ok((chosen, reports))
}

/// Compares; exit code 1 when something differs or could not be compared.
pub(super) async fn verify(
    invocation: &Invocation,
    session: &GatewaySession,
    arguments: &PinsVerifyArgs,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let lock = read_pin_lock(invocation).map_err(|error| {
        CommandError::new(ExitStatus::Failed, error)
            .with_hint("write it again with `limbeck pins lock`")
    })?;
    let (servers, reports) = listed(invocation, session, &arguments.servers).await?;
    let mut found = Vec::new();
    let mut compared = 0;
    for report in &reports {
        if !works(report) {
            let error = report.error.as_deref().unwrap_or("it did not answer");
            found.push(Difference {
                server: report.name.clone(),
                tool: None,
                problem: format!("could not be compared: {}", clean_line(error, 400)),
            });
        }
    }
    for pin in session.gateway.pins(None) {
        if !servers.contains(&ServerName::from(pin.server.as_str())) {
            continue;
        }
        compared += 1;
        let problem = match pin.state {
            PinState::Pinned if pin.current.is_none() => continue,
            PinState::Removed => "the server does not list it any more".to_owned(),
            PinState::Pinned | PinState::Changed | PinState::New | PinState::Held => {
                let texts: Vec<&str> = pin
                    .change
                    .iter()
                    .map(|change| change.text.as_str())
                    .collect();
                format!("{}: {}", pin.state.as_str(), texts.join("; "))
            }
        };
        found.push(Difference {
            server: pin.server,
            tool: Some(pin.tool),
            problem,
        });
    }
    found.extend(missing(
        session,
        &lock,
        &servers,
        arguments.servers.is_empty(),
    ));
    if arguments.json {
        let differences: Vec<Value> = found
            .iter()
            .map(|it| json!({"server": it.server, "tool": it.tool, "problem": it.problem}))
            .collect();
        printer.json(&json!({
            "ok": found.is_empty(),
            "tools": compared,
            "locked": !lock.is_empty(),
            "differences": differences,
        }))?;
    } else {
        for Difference {
            server,
            tool,
            problem,
        } in &found
        {
            let tool = tool
                .as_ref()
                .map(|tool| format!(".{tool}"))
                .unwrap_or_default();
            printer.data_line(&clean_line(&format!("{server}{tool}: {problem}"), 2_000));
        }
        let with = if lock.is_empty() {
            "their pins"
        } else {
            "their pins and mcp.lock"
        };
        printer.note(&format!(
            "{} compared with {with}; {}",
            counted(compared, "tool"),
            match found.len() {
                0 => "nothing differs".to_owned(),
                1 => "1 difference".to_owned(),
                more => format!("{more} differences"),
            }
        ));
    }
    Ok(if found.is_empty() {
        ExitStatus::Completed
    } else {
        ExitStatus::Failed
    })
}

/// What the lock file has and the servers have not.
fn missing(
    session: &GatewaySession,
    lock: &PinLock,
    servers: &BTreeSet<ServerName>,
    are_all: bool,
) -> Vec<Difference> {
    let mut missing = Vec::new();
    for locked in lock.servers() {
        let server = ServerName::from(locked);
        if !servers.contains(&server) {
            if are_all {
                missing.push(Difference {
                    server: locked.to_owned(),
                    tool: None,
                    problem: "mcp.lock has it, and no such server is configured".to_owned(),
                });
            }
            continue;
        }
        let pins = session.gateway.pins(Some(&server));
        for (tool, _) in lock.tools(locked) {
            if !pins.iter().any(|pin| pin.tool == tool) {
                missing.push(Difference {
                    server: locked.to_owned(),
                    tool: Some(tool.to_owned()),
                    problem: "mcp.lock has it, and the server never listed it".to_owned(),
                });
            }
        }
    }
    missing
}

/// Writes the lock file.
pub(super) async fn lock(
    invocation: &Invocation,
    session: &GatewaySession,
    arguments: &PinsLockArgs,
) -> Result<ExitStatus, CommandError> {
    let (servers, _) = listed(invocation, session, &arguments.servers).await?;
    let mut definitions: Vec<PinnedDefinition> = Vec::new();
    let mut left_out = 0;
    for server in &servers {
        let mut whole = session.gateway.pinned_definitions(server).await?;
        for pin in session.gateway.pins(Some(server)) {
            let is_unseen = pin.state == PinState::Held && pin.current.is_none() && !pin.accepted;
            if pin.state == PinState::Removed {
                continue;
            }
            match whole.remove(&pin.tool) {
                Some((Some(pinned), _)) if !is_unseen => definitions.push(pinned),
                _ => left_out += 1,
            }
        }
    }
    if definitions.is_empty() {
        let error = anyhow!("there is no accepted definition to write");
        return Err(CommandError::usage(error).with_hint("see `limbeck pins`"));
    }
    let cwd = &invocation.world.cwd;
    let path = cwd.join(arguments.output.as_deref().unwrap_or("mcp.lock".as_ref()));
    write(&path, &PinLock::text(&definitions))
        .with_context(|| {
            format!(
                "{} cannot be written",
                clean_line(&path.display().to_string(), NAME_BYTES_MAX * 4)
            )
        })
        .map_err(CommandError::usage)?;
    let printer = &invocation.printer;
    printer.note(&format!(
        "wrote {} of {} to {}",
        counted(definitions.len(), "tool"),
        counted(servers.len(), "server"),
        path.display()
    ));
    if left_out > 0 {
        printer.note(&format!(
            "left out {}, which no person has accepted: `limbeck pins diff`",
            counted(left_out, "tool")
        ));
    }
    Ok(ExitStatus::Completed)
}

/// Replaces a file as a whole, and not what a link at its place leads to.
fn write(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = std::fs::File::create_new(&beside)?;
    let written = std::io::Write::write_all(&mut file, text.as_bytes());
    let replaced = written.and_then(|()| std::fs::rename(&beside, path));
    if replaced.is_err() {
        // What is left of it is of no use; the first error says why.
        let _ = std::fs::remove_file(&beside);
    }
    replaced
}
