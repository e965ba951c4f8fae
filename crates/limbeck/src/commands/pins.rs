//! `limbeck pins`: which definitions of tools were accepted, what changed since, and the user's decision about it.
//!
//! What is accepted is a definition that was shown: in the same run, before the user answered on the terminal, or in an earlier
//! run whose hash the user names. `--yes` accepts what this run shows.

mod decide;
mod show;
mod verify;

use std::collections::BTreeMap;

use anyhow::anyhow;
use limbeck_domain::ServerName;
use limbeck_domain::text::clean_line;
use limbeck_gateway::{Gateway, PinReport, PinState, PinVerdict};
use serde_json::json;

use crate::cli::{PinsArgs, PinsCommand};
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::wiring::{GatewayLifetime, GatewaySession, WayIn};

/// Longest name in a message, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// Runs one of the commands.
pub(super) async fn pins(
    invocation: &Invocation,
    arguments: &PinsArgs,
) -> Result<ExitStatus, CommandError> {
    // As on a terminal: the preset that the user is under, and a preset that a file names counts everywhere.
    let session =
        GatewaySession::open_serving(invocation, GatewayLifetime::Command, WayIn::Terminal);
    let session = session.await?;
    let done = match &arguments.command {
        None => list(invocation, &session, arguments),
        Some(PinsCommand::Diff(arguments)) => show::diff(invocation, &session, arguments).await,
        Some(PinsCommand::Accept(arguments)) => {
            decide::decide(invocation, &session, arguments, PinVerdict::Accept).await
        }
        Some(PinsCommand::Reject(arguments)) => {
            decide::decide(invocation, &session, arguments, PinVerdict::Reject).await
        }
        Some(PinsCommand::Verify(arguments)) => {
            verify::verify(invocation, &session, arguments).await
        }
        Some(PinsCommand::Lock(arguments)) => verify::lock(invocation, &session, arguments).await,
    };
    session.close().await;
    done
}

fn list(
    invocation: &Invocation,
    session: &GatewaySession,
    arguments: &PinsArgs,
) -> Result<ExitStatus, CommandError> {
    let (printer, gateway) = (&invocation.printer, &session.gateway);
    let server = match &arguments.server {
        Some(name) => Some(named(session, name)?),
        None => None,
    };
    let pins = gateway.pins(server.as_ref());
    if arguments.json {
        printer.json(&json!({"preset": gateway.pin_preset().as_str(), "pins": pins}))?;
        return Ok(ExitStatus::Completed);
    }
    show::table(printer, &pins, server.is_some());
    if pins.is_empty() {
        printer.note("no tools are pinned: a server's first list of tools is taken as right");
        session.note_if_empty(printer);
    } else if let Some(held) = pins.iter().find(|pin| pin.state == PinState::Held) {
        let server = crate::shell::quoted(&held.server);
        printer.hint(&format!(
            "see what changed with `limbeck pins diff {server}`"
        ));
    }
    Ok(ExitStatus::Completed)
}

/// The server that a user names.
fn named(session: &GatewaySession, name: &str) -> Result<ServerName, CommandError> {
    let found = session.gateway.server_named(name);
    found.map_err(|error| session.call_error(&error))
}

/// Tools by their server.
type Chosen = BTreeMap<ServerName, Vec<PinReport>>;

/// The tools that targets name, `server` or `server.tool`; without targets those of all servers. Of a server only the tools
/// that differ are taken.
fn chosen(session: &GatewaySession, targets: &[String]) -> Result<Chosen, CommandError> {
    let gateway = &session.gateway;
    let mut chosen = Chosen::new();
    if targets.is_empty() {
        for pin in gateway.pins(None).into_iter().filter(differs) {
            let server = ServerName::from(pin.server.as_str());
            chosen.entry(server).or_default().push(pin);
        }
        return Ok(chosen);
    }
    for target in targets {
        let (server, tool) = split(gateway, session, target)?;
        let mut pins = gateway.pins(Some(&server));
        match tool {
            None => pins.retain(differs),
            Some(tool) => {
                pins.retain(|pin| pin.tool == tool);
                if pins.is_empty() {
                    let error = anyhow!(
                        "no tool of server `{server}` that was ever listed is called `{}`",
                        clean_line(&tool, NAME_BYTES_MAX)
                    );
                    let hint = format!(
                        "run `limbeck pins {}`",
                        crate::shell::quoted(server.as_str())
                    );
                    return Err(CommandError::usage(error).with_hint(hint));
                }
            }
        }
        let of_server = chosen.entry(server).or_default();
        for pin in pins {
            if !of_server.iter().any(|known| known.tool == pin.tool) {
                of_server.push(pin);
            }
        }
    }
    Ok(chosen)
}

/// Reads `server` or `server.tool`. A server may have dots in its name, so the longest that is one is taken.
fn split(
    gateway: &Gateway,
    session: &GatewaySession,
    target: &str,
) -> Result<(ServerName, Option<String>), CommandError> {
    let exact = |name: &str| {
        gateway
            .server_named(name)
            .ok()
            .filter(|server| server.as_str() == name)
    };
    if let Some(server) = exact(target) {
        return Ok((server, None));
    }
    let dots = target.match_indices('.').map(|(at, _)| at).rev();
    for at in dots {
        if let Some(server) = exact(&target[..at]) {
            return Ok((server, Some(target[at + 1..].to_owned())));
        }
    }
    let (server, tool) = match target.split_once('.') {
        Some((server, tool)) => (server, Some(tool.to_owned())),
        None => (target, None),
    };
    Ok((named(session, server)?, tool))
}

/// Whether there is something to look at.
fn differs(pin: &PinReport) -> bool {
    match pin.state {
        PinState::Changed | PinState::New | PinState::Held => true,
        PinState::Pinned => pin.current.is_some(),
        PinState::Removed => false,
    }
}
